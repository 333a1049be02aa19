//! Matrix products on devices.

use crate::is_there;
use deltaray::concrete::Array;
use deltaray::export::{self, Program as Text};
use deltaray::opencl::{OpenCl, ProductKernel, Program, Tile};
use deltaray::simplify::fold_constants;

#[path = "../random/chance.rs"]
#[allow(dead_code)]
pub(crate) mod chance;
use chance::Random;

/// A program, and its inputs.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) program: Text,
    pub(crate) inputs: Vec<Array>,
    pub(crate) is_single: bool,
}

pub(crate) fn array(is_single: bool, shape: &[usize], random: &mut Random) -> Array {
    let numbers = (0..shape.iter().product()).map(|_| random.between(-1.0, 1.0));
    if is_single {
        return Array::from_vec(shape, numbers.map(|x| x as f32).collect());
    }
    Array::from_vec(shape, numbers.collect())
}

fn case(text: String, shapes: &[Vec<usize>], is_single: bool, random: &mut Random) -> Case {
    let program = export::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let inputs = shapes.iter().map(|shape| array(is_single, shape, random)).collect();
    Case { text, program, inputs, is_single }
}

/// Extents of one or two axes with so many positions at most.
fn extents(most: usize, random: &mut Random) -> Vec<usize> {
    match random.below(3) {
        0 => {
            let first = 1 + random.below(7);
            vec![first, 1 + random.below((most / first).max(1))]
        }
        _ => vec![1 + random.below(most)],
    }
}

pub(crate) fn shuffled<T>(mut all: Vec<T>, random: &mut Random) -> Vec<T> {
    for at in (1..all.len()).rev() {
        all.swap(at, random.below(at + 1));
    }
    all
}

/// A product of arrays whose axes are in any order, and that are parts of others, backwards or not.
fn random_case(random: &mut Random) -> Case {
    let is_single = random.chance(0.5);
    let dtype = if is_single { "f32" } else { "f64" };
    let mut labels = "abcdefgh".chars();
    let mut role = |most: usize, random: &mut Random| -> Vec<(char, usize)> {
        extents(most, random).into_iter().map(|extent| (labels.next().expect("a letter"), extent)).collect()
    };
    let batches = if random.chance(0.4) { role(4, random) } else { Vec::new() };
    let (rows, summed, columns) = (role(70, random), role(70, random), role(70, random));
    let all = |parts: [&[(char, usize)]; 3], random: &mut Random| shuffled(parts.concat(), random);
    let left = all([&batches, &rows, &summed], random);
    let right = all([&batches, &summed, &columns], random);
    let result = all([&batches, &rows, &columns], random);
    let mut shapes = Vec::new();
    let mut operand = |name: &str, axes: &[(char, usize)], random: &mut Random| {
        let mut shape: Vec<usize> = axes.iter().map(|&(_, extent)| extent).collect();
        let (axis, mut text) = (random.below(shape.len()), name.to_string());
        let extent = shape[axis];
        match random.below(5) {
            0 => text = format!("(reverse[{axis}] {name})"),
            1 => {
                shape[axis] += 3;
                text = format!("(slice[{axis}: 2..{}] {name})", extent + 2);
            }
            2 if extent > 1 => {
                shape[axis] = 2 * extent;
                text = format!("(slice[{axis}: 0..{} by 2] {name})", 2 * extent);
            }
            3 => {
                let whole = shape.remove(axis);
                let order: Vec<usize> = (0..=shape.len())
                    .map(|at| {
                        if at == axis {
                            0
                        } else if at < axis {
                            at + 1
                        } else {
                            at
                        }
                    })
                    .collect();
                text = format!("(transpose{order:?} (replicate[{whole}] {name}))");
            }
            _ => {}
        }
        shapes.push(shape.clone());
        (format!("{name}: {dtype}{shape:?}"), text)
    };
    let ((x, left_text), (y, right_text)) = (operand("x", &left, random), operand("y", &right, random));
    let names = |axes: &[(char, usize)]| axes.iter().map(|(label, _)| *label).collect::<String>();
    let shape: Vec<usize> = result.iter().map(|&(_, extent)| extent).collect();
    let spec = format!("{},{}->{}", names(&left), names(&right), names(&result));
    let text = format!(
        "program product({x}, {y}) -> product: {dtype}{shape:?}:\n    contract \"{spec}\" {left_text} {right_text}\n"
    );
    let text = text.replace("f64[]", "f64").replace("f32[]", "f32");
    case(text, &shapes, is_single, random)
}

fn numbers(array: &Array) -> Vec<f64> {
    array
        .to_vec::<f64>()
        .unwrap_or_else(|| array.to_vec::<f32>().expect("an array of floats").into_iter().map(f64::from).collect())
}

/// Compares all results with the interpreter's; the source has to have products in tiles if the options ask for them. Results
/// in the programs.
pub(crate) fn compare(cases: &[Case], options: &OpenCl, kernels: &str) -> Vec<Program> {
    let bodies: Vec<_> = cases.iter().map(|case| fold_constants(&case.program.body)).collect();
    let programs = Program::all(&bodies, options).unwrap_or_else(|error| panic!("{error}"));
    let source = programs[0].source();
    assert!(source.contains(kernels), "no `{kernels}` in:\n{source}");
    for (program, case) in programs.iter().zip(cases) {
        let given: Vec<_> = case.inputs.iter().map(|array| program.upload(array).unwrap()).collect();
        let expected = case.program.interpret(&case.inputs).unwrap();
        let found = program.run(&given).unwrap_or_else(|error| panic!("{error}\n{}", case.text));
        for (expected, found) in expected.iter().zip(&found) {
            let (expected, found) = (numbers(expected), numbers(&found.download().unwrap()));
            let largest = expected.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
            let within = largest.max(1e-3) * if case.is_single { 1e-5 } else { 1e-12 };
            let wrong = expected.iter().zip(&found).position(|(a, b)| (a - b).is_nan() || (a - b).abs() > within);
            if let Some(at) = wrong {
                panic!("{}\nelement {at}: {} instead of {}\n{source}", case.text, found[at], expected[at]);
            }
            assert_eq!(expected.len(), found.len());
        }
    }
    programs
}

const GROUPS: Tile = Tile { rows: 16, columns: 32, summed: 8, item_rows: 2, item_columns: 4 };
const ITEMS: Tile = Tile { rows: 12, columns: 32, summed: 16, item_rows: 4, item_columns: 16 };

#[test]
fn random_products_of_groups() {
    if !is_there() {
        return;
    }
    let mut random = Random::new(1);
    let cases: Vec<Case> = (0..12).map(|_| random_case(&mut random)).collect();
    compare(&cases, &OpenCl::default().with_product_kernel(ProductKernel::Groups(GROUPS)), "left_tile");
    let few = [(1, 3), (3, 4)].map(|(item_rows, item_columns)| Tile {
        rows: 3 * item_rows,
        columns: 5 * item_columns,
        summed: 7,
        item_rows,
        item_columns,
    });
    for (seed, tile) in few.into_iter().enumerate() {
        let mut random = Random::new(2 + seed as u64);
        let cases: Vec<Case> = (0..3).map(|_| random_case(&mut random)).collect();
        let options = OpenCl::default().with_product_kernel(ProductKernel::Groups(tile)).with_product_parts(3);
        compare(&cases, &options, "sum_of_parts");
    }
}

#[test]
fn random_products_of_work_items() {
    if !is_there() {
        return;
    }
    let mut random = Random::new(11);
    let cases: Vec<Case> = (0..12).map(|_| random_case(&mut random)).collect();
    compare(&cases, &OpenCl::default().with_product_kernel(ProductKernel::Items(ITEMS)), "left_tile");
    let narrow = Tile { rows: 10, columns: 9, summed: 5, item_rows: 5, item_columns: 3 };
    let cases: Vec<Case> = (0..12).map(|_| random_case(&mut random)).collect();
    let options = OpenCl::default().with_product_kernel(ProductKernel::Items(narrow)).with_product_parts(2);
    compare(&cases, &options, "sum_of_parts");
}

#[test]
fn random_products_by_the_kernels_that_are_chosen() {
    if !is_there() {
        return;
    }
    let mut random = Random::new(21);
    let mut cases: Vec<Case> = (0..12).map(|_| random_case(&mut random)).collect();
    for (rows, summed, columns) in [(4, 5000, 6), (130, 70, 129), (64, 1000, 5)] {
        let text = format!(
            "program product(x: f64[{rows}, {summed}], y: f64[{summed}, {columns}]) -> product: f64[{rows}, {columns}]:\n    \
             contract \"ik,kj->ij\" x y\n"
        );
        cases.push(case(text, &[vec![rows, summed], vec![summed, columns]], false, &mut random));
    }
    let text = "program empty(x: f64[0, 20, 20], y: f64[0, 20, 20]) -> empty: f64[0, 20, 20]:\n    \
                contract \"bik,bkj->bij\" x y\n";
    cases.push(case(text.into(), &[vec![0, 20, 20], vec![0, 20, 20]], false, &mut random));
    let text =
        "program integers(x: i64[30, 20], y: i64[20, 30]) -> integers: i64[30, 30]:\n    contract \"ik,kj->ij\" x y\n";
    let program = export::parse(text).unwrap();
    let integers = |shape: &[usize]| Array::from_vec(shape, (0..600).map(|at| (at * 7919 % 101) as i64 - 50).collect());
    let inputs = vec![integers(&[30, 20]), integers(&[20, 30])];
    let bodies = [fold_constants(&program.body)];
    let compiled = Program::all(&bodies, &OpenCl::default()).unwrap();
    let given: Vec<_> = inputs.iter().map(|array| compiled[0].upload(array).unwrap()).collect();
    let found = compiled[0].run(&given).unwrap()[0].download().unwrap();
    assert_eq!(found.to_vec::<i64>(), program.interpret(&inputs).unwrap()[0].to_vec::<i64>());
    compare(&cases, &OpenCl::default(), "sum_of_parts");
}

/// Programs of products of 37 rows, 19 positions of the summed axis, and 45 columns, and how many kernels each of them has if
/// none of its products is taken in parts, and how many elements it has in memory meanwhile.
fn epilogues(is_single: bool, random: &mut Random) -> (Vec<Case>, Vec<(usize, usize)>) {
    let dtype = if is_single { "f32" } else { "f64" };
    let with = |parameters: &[(&str, &[usize])], results: &str, block: &str, random: &mut Random| {
        let typed: Vec<String> = parameters.iter().map(|(name, shape)| format!("{name}: T{shape:?}")).collect();
        let text = format!("program p({}) -> {results}:\n    {block}\n", typed.join(", "));
        let text = text.replace(": T", &format!(": {dtype}"));
        let shapes: Vec<Vec<usize>> = parameters.iter().map(|(_, shape)| shape.to_vec()).collect();
        case(text, &shapes, is_single, random)
    };
    let (x, w, b): ((&str, &[usize]), (&str, &[usize]), (&str, &[usize])) =
        (("x", &[37, 19]), ("w", &[19, 45]), ("b", &[45]));
    let product = "let z: T[37, 45] = contract \"ik,kj->ij\" x w\n    ";
    let biased = "tanh ((contract \"ik,kj->ij\" x w) + replicate[37] b)";
    let all = vec![
        // A layer.
        (with(&[x, w, b], "y: T[37, 45]", biased, random), (1, 0)),
        // Both the product and the result computed from it are used.
        (with(&[x, w], "(y: T[37, 45], z: T[37, 45])", &format!("{product}(z * tanh z, z)"), random), (1, 0)),
        // A later step reads the product: the sum is a kernel of its own.
        (with(&[x, w], "(y: T[37, 45], s: T[45])", &format!("{product}(exp z, sum[0] (z * z))"), random), (2, 37 * 45)),
        // The sum is taken of a value computed from the product, which is stored nowhere else.
        (
            with(
                &[x, w, ("h", &[37, 45])],
                "(d: T[37, 45], s: T[45])",
                "let d: T[37, 45] = (contract \"ik,kj->ij\" x w) * (h - h * h)\n    (d, sum[0] d)",
                random,
            ),
            (2, 0),
        ),
        // Two products of one nest.
        (
            with(
                &[x, w, ("h", &[37, 20]), ("u", &[20, 45]), b],
                "y: T[37, 45]",
                "tanh ((contract \"ik,kj->ij\" x w) + (contract \"ik,kj->ij\" h u) + replicate[37] b)",
                random,
            ),
            (2, 37 * 45),
        ),
        // The result is in another order than the product, and by columns.
        (with(&[x, w, ("c", &[37])], "y: T[45, 37]", "(contract \"ik,kj->ji\" x w) * replicate[45] c", random), (1, 0)),
        // Matrices, with something else for each of them, its rows and its columns.
        (
            with(
                &[("x", &[3, 17, 19]), ("w", &[3, 19, 18]), ("b", &[3, 18]), ("c", &[17])],
                "y: T[3, 17, 18]",
                "(contract \"bik,bkj->bij\" x w) * (replicate[1: 17] b) + replicate[0: 3, 2: 18] c",
                random,
            ),
            (1, 0),
        ),
        // Rows of two axes.
        (
            with(
                &[("x", &[4, 9, 19]), w, ("b", &[9, 45])],
                "y: T[4, 9, 45]",
                "(contract \"aik,kj->aij\" x w) * (replicate[4] b)",
                random,
            ),
            (1, 0),
        ),
        // A mask, and an operand that is smaller.
        (
            with(
                &[x, w, ("h", &[37, 42])],
                "y: T[37, 45]",
                &format!("{product}select(z < pad[1: 1, 2] h, exp z, z)"),
                random,
            ),
            (1, 0),
        ),
        // A step of an optimiser.
        (
            with(
                &[("w", &[19, 45]), ("r", &[19, 45]), ("x", &[37, 19]), ("d", &[37, 45])],
                "y: T[19, 45]",
                "w - r * (contract \"ik,ij->kj\" x d)",
                random,
            ),
            (1, 0),
        ),
        // Elements at several places are wanted at each: they have to be in memory.
        (with(&[x, w], "y: T[37, 45]", &format!("{product}z + exp (reverse[1] z)"), random), (2, 37 * 45)),
    ];
    all.into_iter().unzip()
}

#[test]
#[ignore = "compilers of devices take a minute for it: `scripts/test --long`"]
fn elementwise_work_on_products_is_done_in_their_kernels() {
    if !is_there() {
        return;
    }
    // Small blocks, which are compiled soon.
    let groups = Tile { rows: 16, columns: 16, summed: 8, item_rows: 2, item_columns: 2 };
    let items = Tile { rows: 12, columns: 16, summed: 16, item_rows: 2, item_columns: 4 };
    for (is_single, kernel) in [(true, ProductKernel::Groups(groups)), (false, ProductKernel::Items(items))] {
        let (cases, expected) = epilogues(is_single, &mut Random::new(51));
        let options = OpenCl::default().with_product_kernel(kernel);
        // Arrays take whole lines of the cache.
        let bytes = |elements: usize| (elements * if is_single { 4 } else { 8 }).next_multiple_of(64);
        let programs = compare(&cases, &options, "left_tile");
        for ((program, case), (kernels, elements)) in programs.iter().zip(&cases).zip(expected) {
            assert_eq!((program.kernels(), program.memory()), (kernels, bytes(elements)), "{}", case.text);
        }
        // Parts are put together by one more kernel for each product.
        let (mut cases, expected) = epilogues(!is_single, &mut Random::new(52));
        cases.truncate(5);
        let programs = compare(&cases, &options.with_product_parts(2), "sum_of_parts");
        for ((program, case), (kernels, _)) in programs.iter().zip(&cases).zip(expected) {
            assert_eq!(program.kernels(), kernels + case.text.matches("contract").count(), "{}", case.text);
        }
    }
}

#[test]
fn tiles_that_a_device_has_no_room_for_are_an_error() {
    if !is_there() {
        return;
    }
    let text = "program p(x: f64[64, 64], y: f64[64, 64]) -> p: f64[64, 64]:\n    contract \"ik,kj->ij\" x y\n";
    let body = export::parse(text).unwrap().body;
    for tile in [
        Tile { rows: 1024, columns: 1024, summed: 1024, item_rows: 8, item_columns: 8 },
        Tile { rows: 10, columns: 16, summed: 8, item_rows: 4, item_columns: 4 },
        Tile { rows: 0, columns: 0, summed: 0, item_rows: 0, item_columns: 0 },
        Tile { rows: usize::MAX, columns: 16, summed: usize::MAX, item_rows: 4, item_columns: 4 },
    ] {
        for kernel in [ProductKernel::Groups(tile), ProductKernel::Items(tile)] {
            let error = Program::new(&body, &OpenCl::default().with_product_kernel(kernel)).unwrap_err().to_string();
            assert!(error.contains("of local memory for each group"), "{error}");
        }
    }
}

/// Times of products of square matrices, beside those of the processor's engine: `cargo test --release --features opencl --test
/// devices times_of_products -- --ignored --nocapture`. Kernels that are named in `DELTARAY_KERNELS`, as they are displayed, are
/// timed too.
#[test]
#[ignore = "measures, which takes a while"]
fn times_of_products() {
    if !is_there() {
        return;
    }
    let mut random = Random::new(31);
    let least = |seconds: &mut dyn FnMut() -> f64| (0..7).map(|_| seconds()).fold(f64::INFINITY, f64::min);
    for dtype in ["f32", "f64"] {
        for size in [64usize, 256, 512, 1024] {
            let ty = format!("{dtype}[{size}, {size}]");
            let text = format!("program p(x: {ty}, y: {ty}) -> p: {ty}:\n    contract \"ik,kj->ij\" x y\n");
            let case = case(text, &[vec![size; 2], vec![size; 2]], dtype == "f32", &mut random);
            let flops = 2.0 * (size as f64).powi(3);
            let host = deltaray::engine::cpu::Program::new(&case.program.body, &Default::default()).unwrap();
            let seconds = least(&mut || {
                let started = std::time::Instant::now();
                host.run(&case.inputs).unwrap();
                started.elapsed().as_secs_f64()
            });
            println!("{dtype} {size}: processor {:.1} µs, {:.1} GFLOP/s", seconds * 1e6, flops / seconds * 1e-9);
            let mut kernels = vec![None, Some(ProductKernel::Elements)];
            let named = std::env::var("DELTARAY_KERNELS").unwrap_or_default();
            kernels.extend(named.split(',').filter(|name| !name.is_empty()).map(|name| Some(name.parse().unwrap())));
            for kernel in kernels {
                let options =
                    kernel.map_or_else(OpenCl::default, |kernel| OpenCl::default().with_product_kernel(kernel));
                let program = Program::new(&case.program.body, &options).unwrap();
                let given: Vec<_> = case.inputs.iter().map(|array| program.upload(array).unwrap()).collect();
                let times = if size > 512 && kernel == Some(ProductKernel::Elements) { 1 } else { 8 };
                let seconds = least(&mut || {
                    let started = std::time::Instant::now();
                    let results: Vec<_> = (0..times).map(|_| program.run(&given).unwrap()).collect();
                    results[times - 1][0].download().unwrap();
                    started.elapsed().as_secs_f64() / times as f64
                });
                let name = kernel.map_or("chosen".to_string(), |kernel| kernel.to_string());
                println!("    {name}: {:.1} µs, {:.1} GFLOP/s", seconds * 1e6, flops / seconds * 1e-9);
            }
        }
    }
}

#[test]
fn kernels_of_products_are_measured_and_remembered() {
    if !is_there() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("deltaray-measured-products-{}", std::process::id()));
    let files = || std::fs::read_dir(&folder).map_or(0, |files| files.count());
    let mut random = Random::new(41);
    let text = "program p(x: f64[96, 70], y: f64[90, 70]) -> p: f64[96, 90]:\n    contract \"ik,jk->ij\" x y\n";
    // One of the same kind computes an operand as it loads it.
    let computed = text.replace("\" x y", "\" (x * x) y");
    let cases = [text.to_string(), computed];
    let cases = cases.map(|text| case(text, &[vec![96, 70], vec![90, 70]], false, &mut random));
    let options = OpenCl::default().cache_in(&folder).measure_products();
    let programs = compare(&cases, &options, "left_tile");
    assert_eq!(programs.iter().map(Program::memory).max(), Some(0), "an operand is in memory");
    let found = files();
    assert!(found > 0, "nothing was kept");
    // The same kind again needs no kernel of another tile.
    compare(&cases, &options, "left_tile");
    assert_eq!(files(), found);
    std::fs::remove_dir_all(&folder).unwrap();
}

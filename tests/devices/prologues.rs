//! Operands of matrix products that are computed where they are loaded.

use crate::products::chance::Random;
use crate::products::{Case, array, compare, shuffled};
use crate::{is_there, of_few_arrays};
use deltaray::concrete::Array;
use deltaray::engine::cpu;
use deltaray::export;
use deltaray::opencl::{DeviceKind, OpenCl, ProductKernel, Program, Tile};
use deltaray::prelude::*;
use deltaray::simplify::fold_constants;

/// Small blocks, which are compiled soon.
const GROUPS: Tile = Tile { rows: 16, columns: 16, summed: 8, item_rows: 2, item_columns: 2 };
const ITEMS: Tile = Tile { rows: 12, columns: 16, summed: 16, item_rows: 2, item_columns: 4 };

/// Products by groups of work items, as graphics processors have them. Sums are one kernel each.
fn groups() -> OpenCl {
    by_groups(OpenCl::default())
}

/// The same on some device.
fn by_groups(on: OpenCl) -> OpenCl {
    on.written_for(DeviceKind::Gpu).least_steps(4096).with_product_kernel(ProductKernel::Groups(GROUPS))
}

/// Products by independent work items.
fn items() -> OpenCl {
    OpenCl::default().written_for(DeviceKind::Cpu).with_product_kernel(ProductKernel::Items(ITEMS))
}

/// The expected form of a program with a prologue: its kernels, if no summed axis is split, the elements that are in memory
/// meanwhile, and the operands that are computed where they are loaded.
#[derive(Clone, Copy)]
struct Expected {
    kernels: usize,
    elements: usize,
    computed: usize,
}

fn input(dtype: &str, shape: &[usize], random: &mut Random) -> Array {
    let count = shape.iter().product();
    match dtype {
        "bool" => Array::from_vec(shape, (0..count).map(|_| random.chance(0.5)).collect::<Vec<bool>>()),
        "i64" => Array::from_vec(shape, (0..count).map(|_| random.whole(-3, 9)).collect::<Vec<i64>>()),
        "i32" => Array::from_vec(shape, (0..count).map(|_| random.whole(-3, 9) as i32).collect::<Vec<i32>>()),
        dtype => array(dtype == "f32", shape, random),
    }
}

/// A program whose text has `T` for its type of floats, as in `x: T[3, 4]`.
fn case(is_single: bool, parameters: &str, results: &str, block: &str, random: &mut Random) -> Case {
    let dtype = if is_single { "f32" } else { "f64" };
    let text = format!("program p({parameters}) -> {results}:\n    {block}\n");
    let text = text.replace("T[", &format!("{dtype}[")).replace("cast T", &format!("cast {dtype}"));
    let program = export::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let typed = text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).expect("parameters").0;
    let inputs = typed.split("], ").map(|parameter| {
        let (_, ty) = parameter.split_once(": ").expect("a name and a type");
        let (dtype, shape) = ty.trim_end_matches(']').split_once('[').expect("a shape");
        let shape: Vec<usize> = shape.split(", ").map(|extent| extent.parse().expect("an extent")).collect();
        input(dtype, &shape, random)
    });
    let inputs = inputs.collect();
    Case { text, program, inputs, is_single }
}

/// Products of 37 rows, 19 positions of the summed axis, and 45 columns, none of which is a multiple of a tile's.
fn computed_operands(is_single: bool, random: &mut Random) -> Vec<(Case, Expected)> {
    let (z, s) = ("z: T[37, 45]", "(z: T[37, 45], s: T[19])");
    let one = |computed: usize| Expected { kernels: 1, elements: 0, computed };
    let more = |kernels: usize, elements: usize, computed: usize| Expected { kernels, elements, computed };
    let all: &[(&str, &str, &str, Expected)] = &[
        // The left operand, around means; and the right one, through a mask.
        ("x: T[37, 19], m: T[19], w: T[19, 45]", z, "contract \"ik,kj->ij\" (x - replicate[37] m) w", one(1)),
        ("x: T[37, 19], m: bool[19, 45], w: T[19, 45]", z, "contract \"ik,kj->ij\" x (w * cast T m)", one(1)),
        (
            "x: T[37, 19], m: bool[19, 45], w: T[19, 45], v: T[19, 45]",
            z,
            "contract \"ik,kj->ij\" x (select(m, w, v))",
            one(1),
        ),
        // Both operands, one of whole numbers; and a result computed from the product.
        (
            "g: T[37, 19], h: T[37, 19], n: i64[19, 45], b: T[45]",
            z,
            "tanh ((contract \"ik,kj->ij\" (g * (1.0 - h * h)) (cast T n)) + replicate[37] b)",
            one(2),
        ),
        // Transposed ones, whose lines are neighbours and are not.
        ("x: T[19, 37], m: T[37], w: T[45, 19]", z, "contract \"ki,jk->ij\" (x - replicate[19] m) (tanh w)", one(2)),
        // A transposed read, and a reversed one.
        (
            "x: T[37, 19], y: T[19, 37], w: T[19, 45]",
            z,
            "contract \"ik,kj->ij\" (x * transpose[1, 0] y) (exp (reverse[1] w))",
            one(2),
        ),
        // Matrices, with something else for each of them.
        (
            "x: T[3, 17, 19], c: T[3], w: T[3, 19, 18], d: i32[3, 18]",
            "z: T[3, 17, 18]",
            "contract \"bik,bkj->bij\" (x * replicate[1: 17, 2: 19] c) (w * replicate[1: 19] (cast T d))",
            one(2),
        ),
        // Rows of two axes, which are adjacent in the operand but not in the arrays that it is computed from.
        (
            "x: T[4, 9, 19], b: T[9, 19], w: T[19, 45]",
            "z: T[4, 9, 45]",
            "contract \"aik,kj->aij\" (x * replicate[4] b) w",
            one(1),
        ),
        // Summed axes of two axes.
        (
            "x: T[37, 4, 5], b: T[4], w: T[4, 5, 45]",
            z,
            "contract \"ikl,klj->ij\" (x * replicate[0: 37, 2: 5] b) w",
            one(1),
        ),
        // Part of an array, backwards, and every element several times.
        (
            "x: T[40, 19], y: T[40, 19], w: T[19, 45]",
            z,
            "let d: T[40, 19] = tanh (x * y)\n    contract \"ik,kj->ij\" (slice[0: 2..39] (reverse[1] d)) w",
            one(1),
        ),
        (
            "x: T[19], y: T[19], w: T[19, 45]",
            z,
            "let d: T[19] = tanh (x * y)\n    contract \"ik,kj->ij\" (replicate[37] d) w",
            one(1),
        ),
        // A known array, and a read at computed positions, some of them outside.
        (
            "x: T[37, 19], t: T[7], n: i64[19, 45]",
            z,
            "contract \"ik,kj->ij\" (x * replicate[37] (cast T (iota 19))) (exp (gather t [n]))",
            more(1, 19, 2),
        ),
        // The array that is read is smaller than the operand.
        ("x: T[37, 16], y: T[37, 19], w: T[19, 45]", z, "contract \"ik,kj->ij\" (y + pad[1: 1, 2] x) w", one(1)),
        // Values that would be NaN beyond the edges.
        ("x: T[37, 19], w: T[19, 45]", z, "contract \"ik,kj->ij\" (ln (x * x)) (1.0 / (w * w + 0.5))", one(2)),
        // An array by itself.
        (
            "x: T[37, 19], m: T[19]",
            "c: T[19, 19]",
            "let d: T[37, 19] = x - replicate[37] m\n    contract \"ki,kj->ij\" d d",
            one(2),
        ),
        // A second product reads it.
        (
            "x: T[37, 19], m: T[19], w: T[19, 45], v: T[37, 20]",
            "(z: T[37, 45], y: T[19, 20])",
            "let d: T[37, 19] = x - replicate[37] m\n    (contract \"ik,kj->ij\" d w, contract \"ki,kj->ij\" d v)",
            more(2, 0, 2),
        ),
        // A sum of the same, which computes it too.
        (
            "x: T[37, 19], w: T[19, 45]",
            s,
            "let d: T[37, 19] = 2.0 * x\n    (contract \"ik,kj->ij\" d w, sum[0] d)",
            more(2, 0, 1),
        ),
        // Other arrays that the nest writes are read back instead of computed again.
        (
            "x: T[37, 19], y: T[37, 19], w: T[19, 45]",
            "(z: T[37, 45], e: T[37, 19])",
            "let e: T[37, 19] = exp (tanh (x * y))\n    (contract \"ik,kj->ij\" (e * e) w, e)",
            more(2, 0, 1),
        ),
        // It is wanted itself; and at other places.
        (
            "x: T[37, 19], y: T[37, 19], w: T[19, 45]",
            "(z: T[37, 45], d: T[37, 19])",
            "let d: T[37, 19] = x - y\n    (contract \"ik,kj->ij\" d w, d)",
            more(2, 0, 0),
        ),
        (
            "x: T[37, 19], y: T[37, 19], w: T[19, 45]",
            s,
            "let d: T[37, 19] = exp (tanh (x * exp y))\n    \
             (contract \"ik,kj->ij\" d w, sum[0] (d * reverse[0] d))",
            more(3, 37 * 19, 0),
        ),
        // A product's epilogue is another product's operand, which is therefore in memory.
        (
            "x: T[37, 19], w: T[19, 45], v: T[45, 20]",
            "y: T[37, 20]",
            "let z: T[37, 45] = contract \"ik,kj->ij\" x w\n    contract \"ik,kj->ij\" (tanh z) v",
            more(2, 37 * 45, 0),
        ),
    ];
    all.iter()
        .map(|&(parameters, results, block, expected)| (case(is_single, parameters, results, block, random), expected))
        .collect()
}

/// How many operands a program's products compute.
fn computed(program: &Program) -> usize {
    let count = |name: &str| name.matches(", left nest").count() + name.matches(", right nest").count();
    program.report().kernels.iter().map(|kernel| count(&kernel.name)).sum()
}

/// Compares those programs with operands that are computed where they are loaded that are chosen by their positions.
fn check(is_single: bool, options: &OpenCl, is_chosen: impl Fn(usize) -> bool) {
    let all = computed_operands(is_single, &mut Random::new(61)).into_iter().enumerate();
    let (cases, expected): (Vec<Case>, Vec<Expected>) =
        all.filter(|&(at, _)| is_chosen(at)).map(|(_, chosen)| chosen).unzip();
    // Arrays take whole lines of the cache.
    let bytes = |elements: usize| (elements * if is_single { 4 } else { 8 }).next_multiple_of(64);
    let programs = compare(&cases, options, "left_tile");
    for ((program, case), expected) in programs.iter().zip(&cases).zip(&expected) {
        let Expected { kernels, elements, computed: operands } = *expected;
        let found = (program.kernels(), program.memory(), computed(program));
        assert_eq!(found, (kernels, bytes(elements), operands), "{}\n{}", case.text, program.report());
    }
    // Parts are put together by one more kernel for each product.
    let programs = compare(&cases, &options.clone().with_product_parts(2), "sum_of_parts");
    for ((program, case), expected) in programs.iter().zip(&cases).zip(&expected) {
        let kernels = expected.kernels + case.text.matches("contract").count();
        assert_eq!((program.kernels(), computed(program)), (kernels, expected.computed), "{}", case.text);
    }
}

#[test]
fn some_operands_are_computed_where_they_are_loaded() {
    if !is_there() {
        return;
    }
    check(true, &groups(), |at| at % 4 == 3);
    check(false, &items(), |at| at % 4 == 1);
}

#[test]
#[ignore = "compilers of devices take a minute for it: `scripts/test --long`"]
fn elementwise_work_on_operands_is_done_where_they_are_loaded() {
    if !is_there() {
        return;
    }
    for is_single in [true, false] {
        check(is_single, &groups(), |_| true);
        check(is_single, &items(), |_| true);
    }
}

#[test]
fn what_tiles_would_compute_too_often_is_in_memory() {
    if !is_there() {
        return;
    }
    let mut random = Random::new(62);
    // The left operand is loaded once for each sixteen columns.
    let mut with = |columns: usize, operand: &str| {
        let matrices: String = ["x", "y", "u", "v", "t"].iter().map(|name| format!("{name}: T[64, 64], ")).collect();
        let parameters = format!("{matrices}m: T[64], w: T[64, {columns}]");
        let block = format!("contract \"ik,kj->ij\" ({operand}) w");
        case(true, &parameters, &format!("z: T[64, {columns}]"), &block, &mut random)
    };
    let cases = [
        with(32, "x * y"),
        with(32, "tanh x"),
        with(320, "x - replicate[64] m"),
        with(2000, "x * y"),
        with(2000, "tanh x"),
        // Many times as much would be read.
        with(32, "x * y * u * v * t"),
    ];
    let programs = compare(&cases, &groups(), "left_tile");
    let found: Vec<(usize, usize)> = programs.iter().map(|program| (program.kernels(), program.memory())).collect();
    let (computed, stored) = ((1, 0), (2, 4 * 64 * 64));
    assert_eq!(found, [computed, computed, computed, stored, stored, stored]);
}

#[test]
fn kernels_of_products_take_no_more_arrays_than_a_device_does() {
    if !is_there() {
        return;
    }
    let mut random = Random::new(63);
    // Each operand alone is of few enough.
    let list = |name: &str, count: usize, extent: usize| -> String {
        (0..count).map(|at| format!(", {name}{at}: T[{extent}]")).collect()
    };
    let sum = |name: &str, count: usize, view: &str| -> String {
        (0..count).map(|at| format!(" + {view} {name}{at}")).collect()
    };
    let mut with = |count: usize| {
        let parameters = format!("x: T[37, 19], w: T[19, 45]{}{}", list("a", count, 19), list("c", count, 45));
        let (left, right) = (sum("a", count, "replicate[37]"), sum("c", count, "replicate[19]"));
        let block = format!("contract \"ik,kj->ij\" (x{left}) (w{right})");
        case(false, &parameters, "z: T[37, 45]", &block, &mut random)
    };
    // And of too many values.
    let cases = [with(10), with(31), with(40)];
    let programs = compare(&cases, &by_groups(of_few_arrays()), "left_tile");
    let found: Vec<(usize, usize)> = programs.iter().map(|program| (program.kernels(), computed(program))).collect();
    assert_eq!(found, [(1, 2), (2, 1), (3, 0)]);
}

#[test]
fn names_of_arrays_that_operands_are_computed_of_stand_in_the_source() {
    if !is_there() {
        return;
    }
    let parameters = "pixels: T[37, 19], means: T[19], weights: T[19, 45]";
    let block = "contract \"ik,kj->ij\" (pixels - replicate[37] means) weights";
    let case = case(true, parameters, "scores: T[37, 45]", block, &mut Random::new(64));
    let program = Program::named(&case.program, &groups()).unwrap();
    let source = program.source();
    for name in ["pixels", "means", "weights", "scores"] {
        assert!(source.contains(&format!(": {name} */")), "no {name} in:\n{source}");
    }
    let report = program.report();
    assert_eq!(report.kernels[0].name, "product0: product 37x19x45, left nest 37x19 (sub)");
    // Additions and multiplications, and of each element of the operand the subtraction and that it is put somewhere.
    assert_eq!(report.kernels[0].operations, (2 * 37 * 19 * 45 + 2 * 37 * 19) as f64);
    assert_eq!(report.kernels[0].bytes, (4 * (37 * 19 + 19 + 19 * 45 + 37 * 45)) as f64);
}

type Weights<A> = (Matrix<A, f32>, Vector<A, f32>, Matrix<A, f32>);
type Data<A> = (Matrix<A, f32>, Vector<A, f32>, Vector<A, f32>, Matrix<A, f32>);

/// The error of two layers, the first of which takes features in units of their deviations from means.
fn error<A: Algebra>((w, b, v): &Weights<A>, (x, means, scales, y): &Data<A>) -> Scalar<A, f32> {
    let hidden = (((x - means) * scales).dot(w) + b).tanh();
    (hidden.dot(v) - y).powi(2).mean()
}

#[test]
fn a_gradient_of_two_layers_computes_operands_where_it_loads_them() {
    if !is_there() {
        return;
    }
    let mut random = Random::new(65);
    let mut matrix = |[rows, columns]: [usize; 2]| {
        Matrix::from_elements([rows, columns], (0..rows * columns).map(|_| random.between(-1.0, 1.0) as f32).collect())
    };
    let (w, v, x, y) = (matrix([24, 40]), matrix([40, 12]), matrix([70, 24]), matrix([70, 12]));
    let vector = |count: usize| Vector::from((0..count).map(|at| 0.5 + at as f32 / 64.0).collect::<Vec<f32>>());
    let (weights, data) = ((w, vector(40), v), (x, vector(24), vector(24), y));
    let staged = stage(
        |(weights, data): &(Weights<_>, Data<_>)| {
            value_and_grad(|weights: &Weights<_>| error(weights, &data.lift()), weights)
        },
        (&weights, &data),
    );
    let staged = staged.unwrap();
    let expected = staged.compile(Cpu::default()).unwrap().call((&weights, &data)).unwrap();
    for options in [groups(), items()] {
        let compiled = staged.compile(options).unwrap();
        let (program, found) = (compiled.program(), compiled.call((&weights, &data)).unwrap());
        let close = |found: Vec<f32>, expected: Vec<f32>| {
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{a} for {b}\n{program}");
            }
        };
        close(vec![found.0.item()], vec![expected.0.item()]);
        close(found.1.0.reshape([24 * 40]).to_vec(), expected.1.0.reshape([24 * 40]).to_vec());
        close(found.1.1.to_vec(), expected.1.1.to_vec());
        close(found.1.2.reshape([40 * 12]).to_vec(), expected.1.2.reshape([40 * 12]).to_vec());
        // The features, which two products read, and the second layer's weights as the mean scales them were kernels of their own.
        let found = (program.kernels(), computed(program));
        assert_eq!(found, (8, 3), "8 kernels, where 10 were without prologues:\n{}", program.report());
        assert!(program.memory() < 56_832, "no less memory than without prologues:\n{}", program.report());
    }
}

/// An elementwise expression of these arrays of one shape, and of others that are views of smaller ones.
fn expression(random: &mut Random, depth: usize, leaves: &[String]) -> String {
    if depth == 0 || random.chance(0.15) {
        return leaves[random.below(leaves.len())].clone();
    }
    let mut inner = || expression(random, depth - 1, leaves);
    let (a, b, c) = (inner(), inner(), inner());
    match random.below(9) {
        0 => format!("({a} + {b})"),
        1 | 2 => format!("({a} * {b})"),
        3 => format!("({a} - {b})"),
        4 => format!("(tanh {a})"),
        5 => format!("(sqrt ({a} * {a}))"),
        6 => format!("({a} / ({b} * {b} + 0.5))"),
        7 => format!("(max({a}, {b}))"),
        _ => format!("(select({a} < {b}, {c}, {a}))"),
    }
}

/// A product of operands of one to three axes in any order, each of which is an elementwise expression or an array.
fn random_case(random: &mut Random) -> Case {
    let mut labels = "abcdefgh".chars();
    let mut role = |most: usize, random: &mut Random| -> Vec<(char, usize)> {
        let extents = match random.below(3) {
            0 => vec![1 + random.below(5), 8 + random.below(most / 4)],
            _ => vec![16 + random.below(most - 16)],
        };
        extents.into_iter().map(|extent| (labels.next().expect("a letter"), extent)).collect()
    };
    let batches = if random.chance(0.3) { vec![('z', 2 + random.below(3))] } else { Vec::new() };
    let (rows, summed, columns) = (role(50, random), role(40, random), role(50, random));
    let mut parameters = String::new();
    let mut operand = |name: &str, axes: &[(char, usize)], random: &mut Random| {
        let shape: Vec<usize> = axes.iter().map(|&(_, extent)| extent).collect();
        let all: Vec<usize> = (0..shape.len()).collect();
        let mut leaves = Vec::new();
        let mut parameter = |dtype: &str, shape: &[usize], view: &dyn Fn(&str) -> String| {
            let name = format!("{name}{}", leaves.len());
            let comma = if parameters.is_empty() { "" } else { ", " };
            parameters.push_str(&format!("{comma}{name}: {dtype}{shape:?}"));
            leaves.push(format!("({})", view(&name)));
        };
        parameter("T", &shape, &str::to_string);
        parameter("i64", &shape, &|name| format!("cast T {name}"));
        let axis = random.below(shape.len());
        parameter("T", &shape, &|name| format!("reverse[{axis}] {name}"));
        let kept = random.below(shape.len());
        let replicated = all.iter().filter(|&&other| other != kept).map(|&other| format!("{other}: {}", shape[other]));
        let replicated = replicated.collect::<Vec<String>>().join(", ");
        let along = format!("replicate[{replicated}]");
        parameter("T", &shape[kept..=kept], &|name| {
            if replicated.is_empty() { name.into() } else { format!("{along} {name}") }
        });
        let backwards: Vec<usize> = shape.iter().rev().copied().collect();
        let order: Vec<usize> = all.iter().rev().copied().collect();
        parameter("T", &backwards, &|name| format!("transpose{order:?} {name}"));
        let computed = expression(random, 2, &leaves);
        match random.below(5) {
            0 => format!("(reverse[{axis}] {computed})"),
            _ => computed,
        }
    };
    let left = shuffled([&batches[..], &rows, &summed].concat(), random);
    let right = shuffled([&batches[..], &summed, &columns].concat(), random);
    let result = [batches, rows, columns].concat();
    let (x, y) = (operand("x", &left, random), operand("y", &right, random));
    let names = |axes: &[(char, usize)]| axes.iter().map(|(label, _)| *label).collect::<String>();
    let shape: Vec<usize> = result.iter().map(|&(_, extent)| extent).collect();
    let block = format!("contract \"{},{}->{}\" {x} {y}", names(&left), names(&right), names(&result));
    case(random.chance(0.5), &parameters, &format!("p: T{shape:?}"), &block, random)
}

#[test]
fn random_operands_are_computed_where_they_are_loaded() {
    if !is_there() {
        return;
    }
    let mut random = Random::new(66);
    for options in [groups(), items()] {
        let cases: Vec<Case> = (0..12).map(|_| random_case(&mut random)).collect();
        let programs = compare(&cases, &options, "left_tile");
        let found: usize = programs.iter().map(computed).sum();
        assert!(found >= 12, "{found} operands of {} products are computed", cases.len());
    }
}

#[test]
fn elements_far_outside_of_an_array_are_not_inside_by_overflow() {
    if !is_there() {
        return;
    }
    // Every 2^30th row of an array that continues with zeros.
    let far = "slice[0: 0..39728447488 by 1073741824] (pad[0: 0, 39728447485] h)";
    let (x, h) = ("x: T[37, 19], w: T[19, 45]", ["h: T[3, 45]", "h: T[3, 19]"]);
    let blocks =
        [format!("(contract \"ik,kj->ij\" x w) + {far}"), format!("contract \"ik,kj->ij\" (x * exp ({far})) w")];
    for (h, block) in h.into_iter().zip(&blocks) {
        let case = case(true, &format!("{x}, {h}"), "z: T[37, 45]", block, &mut Random::new(67));
        let body = fold_constants(&case.program.body);
        let expected = cpu::Program::new(&body, &Cpu::default()).unwrap().run(&case.inputs).unwrap();
        let program = Program::new(&body, &groups()).unwrap();
        assert_eq!(program.kernels(), 1, "{}", program.report());
        let given: Vec<_> = case.inputs.iter().map(|array| program.upload(array).unwrap()).collect();
        assert!(!program.source().contains("const int i0"), "positions are counted in ints:\n{program}");
        let found = program.run(&given).unwrap()[0].download().unwrap().to_vec::<f32>().unwrap();
        for (a, b) in found.iter().zip(expected[0].to_vec::<f32>().unwrap()) {
            assert!((a - b).abs() <= 1e-4, "{a} for {b}\n{program}");
        }
    }
}

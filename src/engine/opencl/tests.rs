use super::code::COPIED;
use super::{Device, DeviceKind, OpenCl, devices};
use crate::linalg::Triangle;
use crate::prelude::*;
use crate::staged::Staged;

#[test]
fn a_device_that_is_not_there_is_an_error_that_lists_those_that_are() {
    let error = OpenCl::named("no such device").device().unwrap_err().to_string();
    let expected = if devices().unwrap().is_empty() {
        "no driver of any device"
    } else {
        "no device is called `no such device`; there are"
    };
    assert!(error.contains(expected), "{error}");
}

/// A device that no other test uses, so that its use can be counted.
pub(super) fn own_device(number: u64) -> Option<Device> {
    let mut device = devices().unwrap().into_iter().next()?;
    device.memory -= number;
    Some(device)
}

fn halvings<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let known = constant::<A, Vector<_, f64>>(&Vector::from((0..100).map(f64::from).collect::<Vec<f64>>()));
    let counted = iterate(x.clone(), 9, |x: Vector<A, f64>| x * 0.5 + known.sin());
    let (sum, _) = while_loop(
        (counted, scalar(1.0)),
        |(_, n): &(Vector<A, f64>, Scalar<A, f64>)| n.lt(&scalar(50.0)),
        |(x, n)| (x.cos(), n * 2.0),
    );
    sum.sum()
}

#[test]
fn the_memory_of_a_program_is_what_is_taken_for_it() {
    let Some(device) = own_device(1) else { return };
    let x = Vector::from(vec![0.5; 100]);
    let staged = stage(halvings, &x).unwrap();
    let expected = staged.call(&x).unwrap().item();
    let compiled = staged.compile(OpenCl::on(&device)).unwrap();
    let there = compiled.upload(&x).unwrap();
    let before = compiled.program().taken();
    let result = compiled.call_on_device(&there).unwrap();
    // The result takes 64 bytes.
    assert_eq!(compiled.program().taken() - before - 64, compiled.program().memory() as u64);
    approx::assert_relative_eq!(result.download().unwrap().item(), expected, max_relative = 1e-12);
    let moved = compiled.program().transfers();
    // Whether the host reads conditions depends on the device.
    assert_eq!((moved.uploads, moved.downloads), (1, 1));
    // Once the program is gone nothing waits.
    let other = staged.compile(OpenCl::on(&device)).unwrap();
    drop(compiled);
    assert_eq!(other.program().taken(), before + 64);
    drop((there, result));
    assert_eq!(other.program().taken(), 0);
}

#[test]
fn a_gradient_is_computed_on_a_device() {
    if devices().unwrap().is_empty() {
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "no OpenCL driver is installed");
        eprintln!("skipped: no OpenCL driver is installed (pocl-opencl-icd is one)");
        return;
    }
    fn loss<A: Algebra>((x, w): &(Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
        x.dot(w).tanh().sum()
    }
    let (x, w) = (Matrix::from([[1.0, 2.0], [3.0, 4.0], [0.5, 0.25]]), Vector::from(vec![0.25, -0.5]));
    let staged = stage(loss, (&x, &w)).unwrap().value_and_grad().unwrap();
    let (value, slope) = staged.call((&x, &w)).unwrap();
    let compiled = staged.compile(OpenCl::default()).unwrap();
    println!("{}", compiled.program());
    let (found, found_slope) = compiled.call((&x, &w)).unwrap();
    approx::assert_relative_eq!(found.item(), value.item(), max_relative = 1e-12);
    for (a, b) in found_slope.to_vec().iter().zip(slope.to_vec()) {
        approx::assert_relative_eq!(*a, b, max_relative = 1e-12);
    }
    // Arrays stay where they are.
    let (there, weights) = (compiled.upload(&x).unwrap(), compiled.upload(&w).unwrap());
    let result = compiled.call_on_device((&there, &weights)).unwrap();
    assert_eq!(result.download().unwrap().0.item(), found.item());
    let other = compiled.upload(&Matrix::from([[1.0]])).unwrap();
    let error = compiled.call_on_device((&other, &weights)).unwrap_err().to_string();
    assert!(error.contains("f64[3, 2], but f64[1, 1] was given"), "{error}");
    assert!(matches!(compiled.program().device().kind, DeviceKind::Cpu | DeviceKind::Gpu | DeviceKind::Accelerator));
}

/// Sums and extremes of floats and of integers, and sums of rows.
#[allow(clippy::type_complexity)]
fn reductions<A: Algebra>(
    (x, n, rows): &(Vector<A, f64>, Vector<A, i64>, Matrix<A, f32>),
) -> (Scalar<A, f64>, Scalar<A, i64>, Scalar<A, i64>, Scalar<A, f64>, Vector<A, f32>) {
    (x.sum(), n.sum(), n.max_axis(0), x.max_axis(0), rows.sum_axis(1))
}

#[test]
fn subgroups_of_any_size_put_reductions_together() {
    let Some(mut device) = own_device(2) else { return };
    // One that has no subgroups is given some of a single item each.
    device.limits.subgroups = device.limits.subgroups.or(Some(
        "-cl-std=CL1.2 -Dsub_group_reduce_add(x)=(x) -Dsub_group_reduce_max(x)=(x) -Dget_num_sub_groups()=get_local_size(0) \
         -Dget_sub_group_size()=1 -Dget_sub_group_id()=get_local_id(0) -Dget_sub_group_local_id()=0",
    ));
    let x = Vector::from((0..5000).map(|at| (f64::from(at) * 0.37).sin()).collect::<Vec<f64>>());
    let n = Vector::from((0..4000).map(|at| at * 7919 % 1001 - 500).collect::<Vec<i64>>());
    let rows = Matrix::from_elements([3, 2000], (0..6000).map(|at| (at % 50) as f32).collect());
    let staged = stage(reductions, (&x, &n, &rows)).unwrap();
    let expected = staged.call((&x, &n, &rows)).unwrap();
    let on = OpenCl::on(&device).written_for(DeviceKind::Gpu).least_steps(1);
    for (options, kernels) in [(on.clone(), 2), (on.clone().vector_width(4), 2), (on.deterministic(), 1)] {
        let compiled = staged.compile(options.without_cache()).unwrap();
        let source = compiled.program().source();
        println!("{source}");
        let using = source.split("__kernel").filter(|kernel| kernel.contains("sub_group_reduce")).count();
        assert!(using == kernels, "{using} kernels with subgroups instead of {kernels}:\n{source}");
        assert!(source.contains("shared0[local_item]"), "extremes of floats are put together by a tree:\n{source}");
        let found = compiled.call((&x, &n, &rows)).unwrap();
        approx::assert_relative_eq!(found.0.item(), expected.0.item(), max_relative = 1e-10);
        assert_eq!((found.1.item(), found.2.item()), (expected.1.item(), expected.2.item()));
        assert_eq!(found.3.item(), expected.3.item());
        assert_eq!(found.4.to_vec(), expected.4.to_vec());
    }
}

/// A linear recurrence and sums whose numbers depend on the order in which they are rounded.
fn recurrences<A: Algebra>((a, x): &(Matrix<A, f64>, Matrix<A, f64>)) -> (Matrix<A, f64>, Matrix<A, f64>) {
    (linear_recurrence(&x.sum_axis(0), a, x), x.cumsum_reverse(0))
}

#[test]
fn what_is_carried_is_the_same_wherever_it_is_found() {
    let Some(mut device) = own_device(5) else { return };
    // Groups look at as few flags at once.
    device.limits.group = 24;
    for (length, places) in [(6000, 1), (4000, 20)] {
        let elements = |rate: f64| (0..length * places).map(|at| (at as f64 * rate).sin()).collect();
        let matrix = |rate: f64| Matrix::from_elements([length, places], elements(rate));
        let (a, x) = (matrix(0.37), matrix(0.11));
        let staged = stage(recurrences, (&a, &x)).unwrap();
        let expected = staged.call((&a, &x)).unwrap();
        let mut first = None;
        // Carries are told after every span of tiles, after every third one, and after none.
        for apart in [1, 3, usize::MAX] {
            device.limits.spans_apart = apart;
            let options = OpenCl::on(&device).written_for(DeviceKind::Gpu).least_steps(1);
            let compiled = staged.compile(options.without_cache()).unwrap();
            let (solved, sums) = compiled.call((&a, &x)).unwrap();
            for (found, expected) in [(&solved, &expected.0), (&sums, &expected.1)] {
                for (a, b) in found.to_vec().iter().zip(expected.to_vec()) {
                    assert!((a - b).abs() < 1e-10, "{a} for {b}, {places} places:\n{}", compiled.program());
                }
            }
            let bits = |array: &Matrix<Concrete, f64>| array.to_vec().iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
            let found = [bits(&solved), bits(&sums)];
            assert!(*first.get_or_insert(found.clone()) == found, "{places} places, {apart} spans apart");
        }
    }
}

/// Kernels of many kinds: reductions of both kinds, running totals, sorts, products, and sums at computed positions.
#[allow(clippy::type_complexity)]
fn kinds<A: Algebra>(
    (x, rows, bins): &(Vector<A, f64>, Matrix<A, f64>, Vector<A, i64>),
) -> (Scalar<A, f64>, Vector<A, f64>, Vector<A, f64>, Vector<A, i64>, Matrix<A, f64>, Vector<A, f64>) {
    let totals = ones(bins.len()).scatter(bins, [5]);
    (x.sum(), rows.sum_axis(1), x.cumsum(0), x.argsort(0), rows.dot(&rows.transpose()), totals)
}

#[test]
fn kernels_with_many_registers_are_written_for_smaller_groups() {
    let Some(mut device) = own_device(3) else { return };
    let x = Vector::from((0..3000).map(|at| f64::from(at * 7919 % 1001) - 500.0).collect::<Vec<f64>>());
    let rows = Matrix::from_elements([70, 90], (0..6300).map(|at| f64::from(at % 50)).collect());
    let bins = Vector::from((0..4000).map(|at| at % 5).collect::<Vec<i64>>());
    let staged = stage(kinds, (&x, &rows, &bins)).unwrap();
    let expected = staged.call((&x, &rows, &bins)).unwrap();
    let groups = |source: &str| -> Vec<usize> {
        let group = |text: &str| text.split(',').next().and_then(|group| group.parse().ok());
        source.split("reqd_work_group_size(").skip(1).filter_map(group).collect()
    };
    let mut compile = |registers| {
        device.limits.kernel_group = registers;
        staged.compile(OpenCl::on(&device).written_for(DeviceKind::Gpu).least_steps(1).without_cache())
    };
    for (registers, largest) in [(usize::MAX, 256), (100, 64), (16, 16), (1, 1)] {
        let compiled = compile(registers).unwrap();
        let groups = groups(compiled.program().source());
        assert_eq!(groups.len(), compiled.program().kernels());
        assert_eq!(groups.iter().max(), Some(&largest), "{groups:?}");
        let found = compiled.call((&x, &rows, &bins)).unwrap();
        assert_eq!((found.0.item(), found.1.to_vec()), (expected.0.item(), expected.1.to_vec()));
        assert_eq!((found.2.to_vec(), found.3.to_vec()), (expected.2.to_vec(), expected.3.to_vec()));
        assert_eq!((found.4.to_vec(), found.5.to_vec()), (expected.4.to_vec(), expected.5.to_vec()));
    }
    let text = compile(0).unwrap_err().to_string();
    assert!(text.contains("runs in groups of") && text.contains("there are registers for 0"), "{text}");
    // If the user asks for a kernel with larger groups, that is the error.
    device.limits.kernel_group = 16;
    let tiles =
        OpenCl::on(&device).written_for(DeviceKind::Gpu).with_product_kernel("groups 16 16 16 1 1".parse().unwrap());
    let text = staged.compile(tiles.without_cache()).unwrap_err().to_string();
    assert!(text.contains("runs in groups of 256 work items, and there are registers for 16"), "{text}");
}

/// A loop whose steps the host launches: one kernel each, of the carry and of an array that stays the same.
fn shifts<A: Algebra>((x, y): &(Vector<A, f64>, Vector<A, f64>), steps: usize) -> Vector<A, f64> {
    iterate(x.clone(), steps, |x: Vector<A, f64>| build(x.len(), |i| x.at(x.len() - 1 - i) * 0.5) + y)
}

#[test]
fn steps_tell_kernels_of_what_changes_alone() {
    let Some(device) = own_device(4) else { return };
    let (x, y) = (Vector::from(vec![1.0; 32]), Vector::from(vec![2.0; 32]));
    let run = |steps: usize| {
        let staged = stage(|given: &(Vector<_, f64>, Vector<_, f64>)| shifts(given, steps), (&x, &y)).unwrap();
        let compiled = staged.compile(OpenCl::on(&device).single_item(0)).unwrap();
        let there = (compiled.upload(&x).unwrap(), compiled.upload(&y).unwrap());
        let told = || {
            let before = compiled.program().told();
            let found = compiled.call_on_device((&there.0, &there.1)).unwrap();
            assert!(found.download().unwrap().to_vec().iter().all(|&x| x <= 4.0));
            compiled.program().told() - before
        };
        let first = told();
        (compiled.program().kernels(), first, told())
    };
    let ((kernels, first, warm), (_, longer, longer_warm)) = (run(20), run(120));
    assert_eq!(kernels, 1);
    // The array that a step takes and the one that it makes change places; where they begin, and the array that all take, are
    // told once.
    assert_eq!((first, longer), (2 * 20 + 4, 2 * 120 + 4));
    assert!(warm <= 2 * 20 && longer_warm <= 2 * 120, "{warm} and {longer_warm} in a second run");
}

/// A chain over the elements of an array, each a function of the one before, that ends by a condition.
fn chain<A: Algebra>(x: &Vector<A, f64>, steps: usize) -> Vector<A, f64> {
    let step = |(x, k): (Vector<A, f64>, Scalar<A, i64>)| {
        let next = x.at(&k).sin() * x.at(&(&k + 1));
        (x.with(&(&k + 1), &next), k + 1)
    };
    while_loop((x.clone(), scalar(0)), move |(_, k)| k.lt(steps as i64), step).0
}

/// The same, with every third state stored.
fn chain_with_checkpoints<A: Algebra>(x: &Vector<A, f64>, steps: usize) -> Vector<A, f64> {
    let step = |x: Vector<A, f64>, k: Scalar<A, i64>| {
        let next = x.at(&k).sin() * x.at(&(&k + 1));
        (x.with(&(k + 1), &next), ())
    };
    Checkpoints::Every(steps / 3).scan(x.clone(), &iota(steps), steps, step).0
}

#[test]
fn arrays_that_steps_change_are_not_copied_in_each() {
    let Some(device) = own_device(6) else { return };
    let n = COPIED / 8 + 1;
    let x = Vector::from((0..n).map(|at| 1.0 + (at as f64 * 0.37).sin()).collect::<Vec<f64>>());
    // The whole arrays that runs have copied.
    let copied = |function: fn(&Vector<Staged, f64>, usize) -> Vector<Staged, f64>, steps: usize| {
        let program = stage(|x| function(x, steps).powi(2).sum(), &x).unwrap().value_and_grad().unwrap();
        // The host launches each step.
        let compiled = program.compile(OpenCl::on(&device).single_item(0)).unwrap();
        let (value, gradient) = compiled.call(&x).unwrap();
        let (expected, with) = program.compile(Cpu::default()).unwrap().call(&x).unwrap();
        approx::assert_relative_eq!(value.item(), expected.item(), max_relative = 1e-12);
        approx::assert_relative_eq!(&gradient.to_vec()[..], &with.to_vec()[..], max_relative = 1e-10);
        compiled.program().copied() / (8 * n as u64)
    };
    let [few, many] = [12, 24].map(|steps| copied(chain, steps));
    assert!(few == many && few < 12, "{few} and {many} copies");
    let [few, many] = [12, 24].map(|steps| copied(chain_with_checkpoints, steps));
    assert!(few == many && few < 20, "{few} and {many} copies");
}

/// A few launches for each panel of 32 columns, whatever the matrices are, and one for small matrices.
#[test]
fn matrices_are_launches_for_panels() {
    let Some(device) = own_device(9) else { return };
    fn launches<O: crate::tensor::Tree<Staged>>(
        device: &Device,
        n: usize,
        f: impl Fn(&Matrix<Staged, f32>) -> O,
    ) -> u64 {
        let a: Matrix<Concrete, f32> = eye(n);
        let program = super::Program::new(stage(|a| f(a), &a).unwrap().program(), &OpenCl::on(device)).unwrap();
        let a = program.upload(&a.into_array()).unwrap();
        program.run(&[a]).unwrap();
        program.launches()
    }
    for (n, panels) in [(32, 1), (256, 8), (512, 16)] {
        let is_large = u64::from(panels > 1);
        let found = [
            launches(&device, n, |a| crate::linalg::cholesky(a)),
            launches(&device, n, |a| crate::linalg::solve_triangular(a, a, Triangle::LOWER)),
            launches(&device, n, |a| crate::linalg::lu(a).packed),
        ];
        // Symmetric parts, copies and the order of rows come first; nothing is left of a matrix after its last panel.
        let expected = [3 * panels - 2 + is_large, 2 * panels - 1 + is_large, (3 * panels - 2 + panels) * is_large + 1];
        assert_eq!(found, expected, "{n}");
    }
}

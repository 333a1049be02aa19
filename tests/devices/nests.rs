//! Nests as kernels.

use crate::{is_there, of_few_arrays};
use deltaray::opencl::{DeviceKind, OpenCl};
use deltaray::prelude::*;

/// Sums and extremes along rows and columns, beside an array that is written everywhere, and a sum of all.
#[allow(clippy::type_complexity)]
fn reductions<A: Algebra>(
    x: &Matrix<A, f64>,
) -> (Vector<A, f64>, Vector<A, f64>, Vector<A, f64>, Matrix<A, f64>, Scalar<A, f64>) {
    let y = x.sin();
    (y.sum_axis(0), y.sum_axis(1), y.max_axis(1), &y * 2.0, y.sum())
}

/// Everything that kernels share among work items, with few steps for each of them.
fn shared() -> OpenCl {
    OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1)
}

#[test]
fn reductions_are_shared_in_all_ways() {
    if !is_there() {
        return;
    }
    for [rows, columns] in [[33, 70], [1, 5000], [2000, 3], [0, 3]] {
        let elements = (0..rows * columns).map(|at| (at as f64 * 0.37).sin()).collect();
        let x = Matrix::from_elements([rows, columns], elements);
        let staged = stage(reductions, &x).unwrap();
        let expected = staged.interpret(&x).unwrap();
        for options in [shared(), OpenCl::default(), OpenCl::default().written_for(DeviceKind::Gpu)] {
            let compiled = staged.compile(options).unwrap();
            let found = compiled.call(&x).unwrap();
            let close = |found: Vec<f64>, expected: Vec<f64>| {
                assert_eq!(found.len(), expected.len());
                for (a, b) in found.iter().zip(&expected) {
                    assert!(
                        (a - b).abs() <= 1e-10 || a == b,
                        "{rows} x {columns}: {a} for {b}\n{}",
                        compiled.program()
                    );
                }
            };
            close(found.0.to_vec(), expected.0.to_vec());
            close(found.1.to_vec(), expected.1.to_vec());
            close(found.2.to_vec(), expected.2.to_vec());
            close(found.3.reshape([rows * columns]).to_vec(), expected.3.reshape([rows * columns]).to_vec());
            close(vec![found.4.item()], vec![expected.4.item()]);
        }
    }
}

/// A histogram, windows that overlap, and sums by computed rows.
#[allow(clippy::type_complexity)]
fn scatters<A: Algebra>(
    (x, at, rows): &(Vector<A, f64>, Vector<A, i64>, Matrix<A, f32>),
) -> (Vector<A, f64>, Vector<A, i64>, Matrix<A, f32>, Vector<A, f64>) {
    let windows = grad(|x: &Vector<_, f64>| build([98, 3], |[i, j]| x.at(&(i + j)).exp()).sum(), x);
    (x.scatter(at, [7]), at.scatter(at, [7]), rows.scatter(at, [9]), windows)
}

#[test]
fn sums_by_computed_positions_come_to_all_of_their_elements() {
    if !is_there() {
        return;
    }
    let count = 2000;
    let x = Vector::from((0..count).map(|at| f64::from(at) * 0.01).collect::<Vec<f64>>());
    // Some are outside.
    let at = Vector::from((0..count).map(|at| i64::from(at) * i64::from(at) % 11 - 2).collect::<Vec<i64>>());
    let rows = Matrix::from_elements([2000, 5], (0..10_000).map(|at| (at % 50) as f32).collect());
    let staged = stage(scatters, (&x, &at, &rows)).unwrap();
    let expected = staged.interpret((&x, &at, &rows)).unwrap();
    let alone = OpenCl::default().written_for(DeviceKind::Cpu);
    // Work items of a device at the same time exchange numbers atomically, where their order may be any.
    let all = [(alone, false), (shared(), true), (shared().deterministic(), false)];
    let is_processor = OpenCl::default().device().unwrap().kind == DeviceKind::Cpu;
    for (options, is_exchanged) in all {
        let compiled = staged.compile(options.clone()).unwrap();
        let source = compiled.program().source();
        assert_eq!(source.contains("table"), source.contains("local_atomic_sum_i64("));
        // A graphics processor has so many units that exchanges pay for kernels of a processor too.
        if is_exchanged || is_processor {
            assert_eq!(source.contains("atomic_sum_f64("), is_exchanged, "{options:?}");
        }
        for _ in 0..10 {
            let found = compiled.call((&x, &at, &rows)).unwrap();
            approx::assert_relative_eq!(found.0.to_vec()[..], expected.0.to_vec()[..], max_relative = 1e-12);
            assert_eq!(found.1.to_vec(), expected.1.to_vec());
            assert_eq!(found.2.to_ndarray(), expected.2.to_ndarray());
            approx::assert_relative_eq!(found.3.to_vec()[..], expected.3.to_vec()[..], max_relative = 1e-12);
        }
    }
}

#[test]
fn integers_are_added_by_functions_of_the_device_and_wrap() {
    if !is_there() {
        return;
    }
    let count = 3000;
    let x = Vector::from((0..count).map(|at| i32::MAX / 3 - at).collect::<Vec<i32>>());
    let y = Vector::from((0..count).map(|at| i64::MIN / 5 + i64::from(at)).collect::<Vec<i64>>());
    let at = Vector::from((0..count).map(|at| i64::from(at) * i64::from(at) % 13).collect::<Vec<i64>>());
    // Into a table, and into more elements than a group has memory for.
    for (places, functions) in [
        (7, &["atomic_add((volatile __local", "atom_add((volatile __local"][..]),
        (50_000, &["atomic_add((volatile __global", "atom_add((volatile __global"]),
    ] {
        let staged = stage(|(x, y, at)| (x.scatter(at, [places]), y.scatter(at, [places])), (&x, &y, &at)).unwrap();
        let expected = staged.interpret((&x, &y, &at)).unwrap();
        let compiled = staged.compile(shared()).unwrap();
        let source = compiled.program().source();
        for function in functions {
            assert!(source.contains(function), "{function}\n{source}");
        }
        assert!(!source.contains("cmpxchg"), "{source}");
        let found = compiled.call((&x, &y, &at)).unwrap();
        assert_eq!((found.0.to_vec(), found.1.to_vec()), (expected.0.to_vec(), expected.1.to_vec()));
    }
}

/// A vector as `Vec`s of them are in trees.
#[allow(clippy::ptr_arg)] // A tree is a `Vec`, not a slice.
fn sum_of_many<A: Algebra>(all: &Vec<Vector<A, f64>>) -> (Vector<A, f64>, Scalar<A, f64>) {
    let sum = all.iter().skip(1).fold(all[0].clone(), |sum, one| sum + one.sin());
    let total = sum.sum();
    (sum, total)
}

#[test]
fn kernels_of_more_arrays_than_a_device_takes_are_several() {
    if !is_there() {
        return;
    }
    let all: Vec<Vector<Concrete, f64>> =
        (0..150).map(|at| Vector::from(vec![f64::from(at), 1.0, f64::from(at) * 0.1])).collect();
    let staged = stage(sum_of_many, &all).unwrap();
    let expected = staged.interpret(&all).unwrap();
    for options in [of_few_arrays(), of_few_arrays().written_for(DeviceKind::Gpu).least_steps(1)] {
        let compiled = staged.compile(options).unwrap();
        assert!(compiled.program().kernels() > 2);
        let found = compiled.call(&all).unwrap();
        approx::assert_relative_eq!(found.0.to_vec()[..], expected.0.to_vec()[..], max_relative = 1e-12);
        approx::assert_relative_eq!(found.1.item(), expected.1.item(), max_relative = 1e-12);
    }
}

#[allow(clippy::ptr_arg)] // A tree is a `Vec`, not a slice.
fn many_sums<A: Algebra>(all: &Vec<Vector<A, f64>>) -> Vec<Scalar<A, f64>> {
    all.iter().map(|one| one.sin().sum()).collect()
}

#[test]
fn reductions_of_more_arrays_than_a_device_takes_are_several_kernels() {
    if !is_there() {
        return;
    }
    let all: Vec<Vector<Concrete, f64>> = (0..150).map(|at| Vector::from(vec![f64::from(at), 1.0, 0.5])).collect();
    let staged = stage(many_sums, &all).unwrap();
    let expected = staged.interpret(&all).unwrap();
    let compiled = staged.compile(of_few_arrays()).unwrap();
    assert!(compiled.program().kernels() > 2);
    for (found, expected) in compiled.call(&all).unwrap().iter().zip(&expected) {
        approx::assert_relative_eq!(found.item(), expected.item(), max_relative = 1e-12);
    }
}

/// A histogram, a running sum, an order, a product, and sums.
#[allow(clippy::type_complexity)]
fn of_groups<A: Algebra>(
    (x, at, rows): &(Vector<A, f64>, Vector<A, i64>, Matrix<A, f32>),
) -> (Vector<A, f64>, Vector<A, f64>, Vector<A, i64>, Matrix<A, f32>, Vector<A, f32>) {
    (x.scatter(at, [50]), x.cumsum(0), x.argsort(0), rows.dot(&rows.transpose()), rows.sum_axis(0))
}

#[test]
fn groups_take_no_more_local_memory_than_there_is() {
    if !is_there() {
        return;
    }
    let x = Vector::from((0..3000).map(|at| (f64::from(at) * 0.37).sin()).collect::<Vec<f64>>());
    let at = Vector::from((0..3000).map(|at| at * 7919 % 50).collect::<Vec<i64>>());
    let rows = Matrix::from_elements([60, 70], (0..4200).map(|at| (at % 50) as f32 * 0.01).collect());
    let staged = stage(of_groups, (&x, &at, &rows)).unwrap();
    let expected = staged.interpret((&x, &at, &rows)).unwrap();
    let mut device = OpenCl::default().device().unwrap();
    for local in [24 << 10, 4 << 10, 2 << 10] {
        device.local_memory = local;
        let compiled = staged.compile(OpenCl::on(&device).written_for(DeviceKind::Gpu).least_steps(1)).unwrap();
        for kernel in compiled.program().source().split("__kernel").skip(1) {
            let arrays = kernel.lines().filter_map(|line| line.trim().strip_prefix("__local ")?.strip_suffix("];"));
            let bytes = arrays.map(|array| {
                let (head, length) = array.split_once('[').unwrap();
                let of_element = match head.split_once(' ').unwrap().0 {
                    "double" | "long" => 8,
                    "float" | "int" | "uint" => 4,
                    other => panic!("arrays of {other} in\n{kernel}"),
                };
                of_element * length.parse::<u64>().unwrap()
            });
            assert!(bytes.sum::<u64>() <= local, "more than {local} bytes in\n{kernel}");
        }
        let found = compiled.call((&x, &at, &rows)).unwrap();
        approx::assert_relative_eq!(found.0.to_vec()[..], expected.0.to_vec()[..], max_relative = 1e-10);
        approx::assert_relative_eq!(found.1.to_vec()[..], expected.1.to_vec()[..], max_relative = 1e-9, epsilon = 1e-9);
        assert_eq!(found.2.to_vec(), expected.2.to_vec());
        approx::assert_relative_eq!(
            found.3.reshape([3600]).to_vec()[..],
            expected.3.reshape([3600]).to_vec()[..],
            max_relative = 1e-4
        );
        approx::assert_relative_eq!(found.4.to_vec()[..], expected.4.to_vec()[..], max_relative = 1e-5);
    }
}

fn weighted<A: Algebra>((weights, bias): &(Matrix<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
    weights.sum_axis(1) + bias
}

#[test]
fn kernels_call_arrays_as_the_user_does() {
    if !is_there() {
        return;
    }
    let compiled = stage(weighted, (&Matrix::from([[1.0, 2.0]]), &Vector::from(vec![3.0])))
        .unwrap()
        .vjp()
        .unwrap()
        .compile(OpenCl::default())
        .unwrap();
    let source = compiled.program().source();
    assert!(source.contains(": value */") && source.contains(": cotangent */"), "{source}");
}

macro_rules! infinite {
    ($x:expr, $ty:ident) => {{
        let (x, largest) = ($x, $ty::INFINITY);
        [x.pow(largest), x.atan2(-largest), x.hypot($ty::NAN), x.max(-largest).pow(-largest)]
    }};
}

#[test]
fn functions_of_numbers_that_are_not_finite() {
    if !is_there() {
        return;
    }
    fn all<A: Algebra>((x, y): &(Vector<A, f64>, Vector<A, f32>)) -> ([Vector<A, f64>; 4], [Vector<A, f32>; 4]) {
        (infinite!(x, f64), infinite!(y, f32))
    }
    let x = Vector::from(vec![-2.0, -0.5, 0.0, 0.5, 1.0, 3.0]);
    let arguments = (x.clone(), x.cast::<f32>());
    let staged = stage(all, &arguments).unwrap();
    let expected = staged.interpret(&arguments).unwrap();
    let found = staged.compile(OpenCl::default()).unwrap().call(&arguments).unwrap();
    for (found, expected) in found.leaves().iter().zip(expected.leaves()) {
        for at in 0..found.size() {
            let (a, b) = (found.element(at).to_f64(), expected.element(at).to_f64());
            assert!((a - b).abs() < 1e-6 || a == b || a.is_nan() && b.is_nan(), "element {at}: {a} for {b}");
        }
    }
}

#[test]
fn reductions_of_which_an_item_takes_any_number_of_steps() {
    if !is_there() {
        return;
    }
    let x = Matrix::from_elements([300, 4], (0..1200).map(f64::from).collect());
    let at = Vector::from((0..300).map(|at| at % 3).collect::<Vec<i64>>());
    let program = |(x, at): &(Matrix<_, f64>, Vector<_, i64>)| (x.sum(), x.scatter(at, [3]), x.argsort(0), x.cumsum(0));
    let staged = stage(program, (&x, &at)).unwrap();
    let expected = staged.interpret((&x, &at)).unwrap();
    for steps in [0, usize::MAX] {
        let options = OpenCl::default().written_for(DeviceKind::Gpu).least_steps(steps);
        let found = staged.compile(options).unwrap().call((&x, &at)).unwrap();
        assert_eq!(found.0.item(), expected.0.item());
        assert_eq!(found.1.to_ndarray(), expected.1.to_ndarray());
        assert_eq!(found.2.to_ndarray(), expected.2.to_ndarray());
        assert_eq!(found.3.to_ndarray(), expected.3.to_ndarray());
    }
}

/// A layer, whose outputs are as many as its inputs.
fn layer<A: Algebra>(weights: &Vector<A, f64>, x: &Vector<A, f64>) -> Vector<A, f64> {
    let weighted = weights * x;
    (weighted.cumsum(0) + weighted).tanh()
}

#[differentiable]
fn layers(first: &Vector<f64>, second: &Vector<f64>, third: &Vector<f64>, x: Vector<f64>) -> Vector<f64> {
    layer(third, &layer(second, &layer(first, x)))
}

#[test]
fn kernels_that_do_the_same_are_compiled_once() {
    if !is_there() {
        return;
    }
    let x = Vector::from(vec![0.5, -1.0, 2.0]);
    let [first, second, third] = [1.0, 0.5, -0.5].map(|weight| Vector::from(vec![weight, 1.0, -weight]));
    let arguments = (&first, &second, &third, &x);
    let staged = stage(layers {}.closure(), arguments).unwrap();
    let expected = staged.interpret(arguments).unwrap();
    for options in [OpenCl::default(), shared().single_item(0)] {
        let compiled = staged.compile(options).unwrap();
        let (program, source) = (compiled.program(), compiled.program().source());
        let written = source.matches("__kernel ").count();
        // The first layer's product, each layer's running sums, the work between layers, and the last layer's end.
        assert_eq!((written, program.kernels()), (4, 7), "{source}");
        let found = compiled.call(arguments).unwrap();
        approx::assert_relative_eq!(found.to_vec()[..], expected.to_vec()[..], max_relative = 1e-12);
        // Each of them is reported, with the names of its arrays.
        assert_eq!(program.report().kernels.len(), program.kernels());
        let comments: Vec<&str> = source.lines().filter(|line| line.starts_with("/*")).collect();
        assert!(
            comments[..2].iter().all(|line| line.ends_with(": first */") || line.ends_with(": x */")),
            "{comments:?}"
        );
        assert!(comments[2].ends_with(": second */") && !comments[2].contains(" once more, "), "{comments:?}");
        assert!(
            comments[3].starts_with("/* nest2 once more, b") && comments[3].ends_with(": third */"),
            "{comments:?}"
        );
    }
}

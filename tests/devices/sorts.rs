//! Sorts, and sums by computed places that are the same in every run.

use crate::is_there;
use deltaray::opencl::{DeviceKind, OpenCl};
use deltaray::prelude::*;

/// Work shared among work items, on any device.
fn shared() -> OpenCl {
    OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1)
}

/// The positions of vectors' beginnings of these lengths in the order of their elements, smallest and largest first.
fn orders<A: Algebra, E: Number>(x: &Vector<A, E>, lengths: &[usize]) -> Vec<(Vector<A, i64>, Vector<A, i64>)> {
    let orders = lengths.iter().map(|&length| {
        let part = x.slice(0, ..length);
        (part.argsort(0), part.argsort_descending(0))
    });
    orders.collect()
}

/// Around powers of two, within the runs that groups sort and beyond. A kernel of each is built, which takes a while.
const LENGTHS: [usize; 18] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 70, 255, 257, 1000, 1025, 2049, 5000];

/// Numbers that are far from any order.
fn scrambled(count: usize) -> impl Iterator<Item = u64> {
    (0..count as u64).scan(12345u64, |state, _| {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        Some(*state >> 33)
    })
}

/// Keys with many equal ones, and with all special floats.
fn floats(count: usize) -> Vec<f64> {
    let float = |(at, number): (usize, u64)| match at % 17 {
        3 => f64::NAN,
        5 => f64::INFINITY,
        7 => f64::NEG_INFINITY,
        11 => -0.0,
        13 => 0.0,
        _ => (number % 400) as f64 - 200.0,
    };
    scrambled(count).enumerate().map(float).collect()
}

/// Whether a device finds the orders that the interpreter does.
macro_rules! assert_orders {
    ($options:expr, $ty:ty, $lengths:expr, $elements:expr) => {{
        let lengths: Vec<usize> = $lengths;
        let x: Vector<_, $ty> = Vector::from($elements);
        let staged = stage(|x: &Vector<_, $ty>| orders(x, &lengths), &x).unwrap();
        let expected = staged.interpret(&x).unwrap();
        let compiled = staged.compile($options).unwrap();
        let found = compiled.call(&x).unwrap();
        for ((length, found), expected) in lengths.iter().zip(&found).zip(&expected) {
            assert_eq!(found.0.to_vec(), expected.0.to_vec(), "{length}, smallest first");
            assert_eq!(found.1.to_vec(), expected.1.to_vec(), "{length}, largest first");
        }
        compiled.program().source().to_string()
    }};
}

#[test]
fn sorts_of_all_lengths_keep_the_order_of_equal_keys() {
    if !is_there() {
        return;
    }
    let source = assert_orders!(shared(), f64, LENGTHS.to_vec(), floats(5000));
    // Long rows are merged.
    assert!(source.contains("__local double keys[") && source.contains("const long width"), "{source}");
    // Also where items run in turn, if there are several units.
    let processor = OpenCl::default().written_for(DeviceKind::Cpu);
    let source = assert_orders!(processor, f64, vec![300, 5000, 9000], floats(9000));
    assert!(!source.contains("__local double keys["), "{source}");
}

#[test]
fn keys_of_all_types_are_sorted() {
    if !is_there() {
        return;
    }
    let lengths = || vec![70, 5000];
    assert_orders!(shared(), f32, lengths(), floats(5000).into_iter().map(|x| x as f32).collect::<Vec<f32>>());
    let integers = || scrambled(5000).map(|number| (number % 1000) as i32 - 500);
    assert_orders!(shared(), i32, lengths(), integers().collect::<Vec<i32>>());
    assert_orders!(shared(), i64, lengths(), integers().map(|x| i64::from(x) << 40).collect::<Vec<i64>>());
}

/// The orders along all axes.
#[allow(clippy::type_complexity)]
#[allow(clippy::ptr_arg)] // A tree is a `Vec`, not a slice.
fn along_axes<A: Algebra>(
    arrays: &Vec<Tensor<A, f64, R3>>,
) -> Vec<(Tensor<A, i64, R3>, Tensor<A, i64, R3>, Tensor<A, i64, R3>)> {
    arrays.iter().map(|x| (x.argsort(0), x.argsort_descending(1), x.argsort(2))).collect()
}

#[test]
fn rows_are_sorted_along_any_axis() {
    if !is_there() {
        return;
    }
    let shapes = [[3, 5, 4], [2, 70, 3], [5, 1, 7], [1, 1500, 3]];
    let arrays: Vec<_> =
        shapes.iter().map(|&shape| Tensor::from_elements(shape, floats(shape.iter().product()))).collect();
    let staged = stage(along_axes, &arrays).unwrap();
    let expected = staged.interpret(&arrays).unwrap();
    for options in [shared(), OpenCl::default()] {
        let found = staged.compile(options).unwrap().call(&arrays).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.0.to_ndarray(), expected.0.to_ndarray());
            assert_eq!(found.1.to_ndarray(), expected.1.to_ndarray());
            assert_eq!(found.2.to_ndarray(), expected.2.to_ndarray());
        }
    }
}

/// Sums by computed positions, of numbers, rows and truth values, and of windows that overlap.
#[allow(clippy::type_complexity)]
fn scatters<A: Algebra>(
    (x, at, few, rows, truths): &(Vector<A, f64>, Vector<A, i64>, Vector<A, i64>, Matrix<A, f32>, Vector<A, bool>),
) -> (Vector<A, f64>, Vector<A, f64>, Vector<A, i64>, Matrix<A, f32>, Vector<A, bool>, Vector<A, f64>) {
    let count = x.len();
    let windows = grad(|x: &Vector<_, f64>| build([count - 2, 3], |[i, j]| x.at(&(i + j)).exp()).sum(), x);
    (
        (x * x).scatter(few, [9]),
        x.scatter(at, [700]),
        at.scatter(few, [9]),
        (rows * 0.5).scatter(few, [9]),
        truths.scatter(at, [700]),
        windows,
    )
}

#[test]
fn sums_by_computed_places_are_the_same_in_every_run() {
    if !is_there() {
        return;
    }
    for count in [100, 9000] {
        let x = Vector::from(scrambled(count).map(|number| number as f64 * 1e-9).collect::<Vec<f64>>());
        // Some are outside.
        let positions = |extent: i64| {
            Vector::from(scrambled(count).map(|number| number as i64 / 7 % (extent + 4) - 2).collect::<Vec<i64>>())
        };
        let (at, few) = (positions(700), positions(9));
        let rows = Matrix::from_elements([count, 5], (0..5 * count).map(|at| (at % 64) as f32).collect());
        let truths = Vector::from(scrambled(count).map(|number| number % 3 == 0).collect::<Vec<bool>>());
        let arguments = (&x, &at, &few, &rows, &truths);
        let staged = stage(scatters, arguments).unwrap();
        let expected = staged.interpret(arguments).unwrap();
        let is_processor = OpenCl::default().device().unwrap().kind == DeviceKind::Cpu;
        for (options, is_shared) in [(shared(), true), (OpenCl::default(), !is_processor && count > 1000)] {
            let compiled = staged.compile(options.deterministic()).unwrap();
            assert_eq!(compiled.program().source().contains("void segments"), is_shared, "{count}");
            let first = compiled.call(arguments).unwrap();
            approx::assert_relative_eq!(first.0.to_vec()[..], expected.0.to_vec()[..], max_relative = 1e-12);
            approx::assert_relative_eq!(first.1.to_vec()[..], expected.1.to_vec()[..], max_relative = 1e-12);
            assert_eq!(first.2.to_vec(), expected.2.to_vec());
            // These are sums of halves that floats hold.
            assert_eq!(first.3.to_ndarray(), expected.3.to_ndarray());
            assert_eq!(first.4.to_vec(), expected.4.to_vec());
            approx::assert_relative_eq!(first.5.to_vec()[..], expected.5.to_vec()[..], max_relative = 1e-12);
            for _ in 0..4 {
                let next = compiled.call(arguments).unwrap();
                assert_eq!(next.0.to_vec(), first.0.to_vec());
                assert_eq!(next.1.to_vec(), first.1.to_vec());
                assert_eq!(next.5.to_vec(), first.5.to_vec());
            }
        }
    }
}

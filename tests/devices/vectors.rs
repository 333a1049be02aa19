//! Neighbours that are loaded and stored at once.

use crate::is_there;
use deltaray::concrete::Array;
use deltaray::opencl::{DeviceKind, OpenCl, Program};
use deltaray::prelude::*;
use deltaray::simplify::fold_constants;
use deltaray::term::Body;

/// Elements of all types, and a number for all of them.
type Given<A> = (Vector<A, f64>, Vector<A, f32>, Vector<A, i32>, Vector<A, bool>, Scalar<A, f64>);

/// Maps of each type, and of all of them together, on vectors and on tables with an axis along which some do not move.
#[allow(clippy::type_complexity)]
fn maps<A: Algebra>(
    (x, y, n, mask, c): &Given<A>,
) -> (Vector<A, f64>, Vector<A, f32>, Vector<A, i32>, Vector<A, bool>, Vector<A, f64>, Matrix<A, f32>) {
    let mixed = mask.select(x * c, y.cast::<f64>() + n.cast::<f64>());
    let table = &y.sin().reshape([y.len(), 1]) + &y.reshape([1, y.len()]);
    (x.sin() * c, y * y + 1.0, n * 3 - 1, mixed.gt(x), mixed, table)
}

/// Parts of vectors that begin anywhere.
#[allow(clippy::type_complexity)]
fn slices<A: Algebra>(
    (x, y, n, mask, c): &Given<A>,
) -> (Vector<A, f64>, Vector<A, f32>, Vector<A, i32>, Vector<A, bool>) {
    let all = x.len();
    let mask = mask.slice(0, 1..all - 2);
    let x = x.slice(0, 1..all - 2) * x.slice(0, 3..) + x.slice(0, 2..all - 1) * c;
    (mask.select(&x, -&x), y.slice(0, 3..) - y.slice(0, ..all - 3), n.slice(0, 1..) * n.slice(0, ..all - 1), mask)
}

fn given(length: usize) -> Given<Concrete> {
    let all = || 0..length;
    (
        Vector::from(all().map(|at| (at as f64 * 0.37).sin()).collect::<Vec<f64>>()),
        Vector::from(all().map(|at| (at as f32 * 0.11).cos()).collect::<Vec<f32>>()),
        Vector::from(all().map(|at| at as i32 * 7919 % 1001 - 500).collect::<Vec<i32>>()),
        Vector::from(all().map(|at| at % 3 == 1).collect::<Vec<bool>>()),
        scalar(1.7),
    )
}

/// Checks that an array is the expected one: exactly where nothing is rounded, and up to `close` where it is.
fn assert_same(found: &Array, expected: &Array, close: f64, of: &str) {
    assert_eq!(found.ty(), expected.ty(), "{of}");
    for at in 0..expected.size() {
        let (a, b) = (found.element(at).to_f64(), expected.element(at).to_f64());
        let close = if expected.dtype().is_float() { close * (1.0 + b.abs()) } else { 0.0 };
        assert!((a - b).abs() <= close || a == b, "{of}, element {at} of {}: {a} for {b}", expected.size());
    }
}

/// Compares programs on a device, all in one source, with the interpreter's results; returns the source.
fn compare(programs: &[(Body, Vec<Array>, Vec<Array>)], options: &OpenCl) -> String {
    let compiled = Program::all(programs.iter().map(|(body, ..)| body), options).unwrap();
    for (program, (_, arguments, expected)) in compiled.iter().zip(programs) {
        let arguments: Vec<_> = arguments.iter().map(|array| program.upload(array).unwrap()).collect();
        let found = program.run(&arguments).unwrap();
        assert_eq!(found.len(), expected.len());
        for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
            let of = format!("result {number} with {options:?}");
            assert_same(&found.download().unwrap(), expected, 1e-5, &of);
        }
    }
    compiled[0].source().to_string()
}

/// A function with arguments of some lengths, and the interpreter's results.
macro_rules! programs {
    ($function:expr, $lengths:expr) => {
        $lengths.into_iter().map(|length| {
            let given = given(length);
            let staged = stage($function, &given).unwrap();
            let expected = staged.interpret(&given).unwrap().leaves();
            (fold_constants(staged.program()), given.leaves(), expected)
        })
    };
}

#[test]
fn elements_are_what_they_are_alone_whatever_the_width() {
    if !is_there() {
        return;
    }
    let mut programs: Vec<_> = programs!(maps, [0, 1, 7, 16, 29, 70, 1000]).collect();
    programs.extend(programs!(slices, [3, 11, 19, 70]));
    for width in [1, 2, 4, 8] {
        let source = compare(&programs, &OpenCl::default().vector_width(width));
        for size in [2, 4, 8, 16] {
            let found = source.contains(&format!("vload{size}(")) && source.contains(&format!("vstore{size}("));
            assert_eq!(found, size == width, "vectors of {size} with a width of {width}");
        }
    }
}

/// Reductions along rows, beside writes of each element, and reductions of everything and of parts that begin anywhere.
#[allow(clippy::type_complexity)]
fn reductions<A: Algebra>(
    (x, y, n, mask, c): &Given<A>,
) -> (Scalar<A, f64>, Vector<A, f64>, Scalar<A, f32>, Scalar<A, i32>, Vector<A, f64>, Scalar<A, f64>) {
    let table = &x.reshape([x.len(), 1]) * &x.reshape([1, x.len()]);
    let waves = x.sin();
    let picked = mask.select(&waves, 0.0);
    (waves.sum(), waves * c, (y * y).sum(), n.slice(0, 1..).max_axis(0), table.slice(1, 1..).sum_axis(1), picked.sum())
}

#[test]
fn reductions_of_vectors_have_all_elements_once() {
    if !is_there() {
        return;
    }
    let programs: Vec<_> = programs!(reductions, [2, 33, 70, 500]).collect();
    let shared = OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1);
    for width in [1, 4] {
        for options in [shared.clone(), shared.clone().least_steps(3)] {
            let source = compare(&programs, &options.clone().vector_width(width));
            let has_vectors =
                source.split("__kernel").any(|kernel| kernel.contains("sum0 = ") && kernel.contains("vload"));
            assert_eq!(has_vectors, width > 1, "{options:?}");
        }
    }
}

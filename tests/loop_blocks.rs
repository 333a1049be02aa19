//! Loops over the columns of large arrays, which run for some rows at a time.

use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;

type M<A> = Matrix<A, f64>;

/// Each column depends on the two before it.
#[differentiable]
fn forward(x: Matrix<f64>, a: Vector<f64>) -> Matrix<f64> {
    let mut y = x * 0.0;
    for j in rolled(2..x.shape()[1]) {
        let from = a * x[(.., j)] + x[(.., j - 1)];
        y[(.., j)] = from + 0.3 * y[(.., j - 1)] - 0.2 * y[(.., j - 2)];
    }
    y
}

/// Each column depends on the one after it.
#[differentiable]
fn backward(x: Matrix<f64>, a: Vector<f64>) -> Matrix<f64> {
    let columns = x.shape()[1];
    let mut y = x * 1.0;
    for j in rolled((0..columns - 1).rev()) {
        y[(.., j)] = a * x[(.., j)] + 0.5 * y[(.., j + 1)].tanh();
    }
    y
}

/// All elements of a state change in each step, which is not in place.
#[differentiable]
fn repeated(x: Matrix<f64>, a: Vector<f64>) -> Matrix<f64> {
    let mut y = x * 1.0;
    for _step in rolled(0..9) {
        y = y.sin() + a.reshape((x.shape()[0], 1)) * y;
    }
    y
}

/// Each row depends on the one above it, so that rows can't run one after the other.
#[differentiable]
fn neighbours(x: Matrix<f64>, a: Vector<f64>) -> Matrix<f64> {
    let (rows, columns) = (x.shape()[0], x.shape()[1]);
    let mut y = x * 1.0;
    for j in rolled(1..columns) {
        y[(1.., j)] = 0.5 * y[(..rows - 1, j - 1)] + a.slice(0, 1..) * x[(1.., j)];
    }
    y
}

/// A sum over all rows goes into each step.
#[differentiable]
fn with_sums(x: Matrix<f64>, a: Vector<f64>) -> Matrix<f64> {
    let mut y = x * 1.0;
    for j in rolled(1..x.shape()[1]) {
        y[(.., j)] = a * x[(.., j)] + 0.001 * y[(.., j - 1)].sum();
    }
    y
}

/// The columns of another array are rows of this one.
#[differentiable]
fn of_columns(x: Matrix<f64>, a: Vector<f64>) -> Matrix<f64> {
    let z = x.t().exp();
    let mut y = x * 1.0;
    for j in rolled(1..x.shape()[1]) {
        y[(.., j)] = a * z[(j, ..)] + 0.5 * y[(.., j - 1)];
    }
    y
}

/// A sum in each step that is the same for all rows, and would be taken for each block.
#[differentiable]
fn with_tables(x: Matrix<f64>, a: Vector<f64>) -> Matrix<f64> {
    let table = x.slice(0, ..300).t().sin();
    let mut y = x * 1.0;
    for j in rolled(1..x.shape()[1]) {
        y[(.., j)] = a * x[(.., j)] + 0.001 * table[(j, ..)].powi(2).sum() * y[(.., j - 1)];
    }
    y
}

fn arguments(rows: usize, columns: usize) -> (M<Concrete>, Vector<Concrete, f64>) {
    let numbers = |count: usize| (0..count).map(|k| ((k * k + 3 * k) % 101) as f64 / 101.0 - 0.4).collect::<Vec<_>>();
    (M::from_elements((rows, columns), numbers(rows * columns)), numbers(rows).into())
}

fn close(found: &[f64], expected: &[f64], name: &str) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= 1e-12 * expected.abs().max(1.0),
            "{name}: {found}, not {expected}, at {at}"
        );
    }
}

/// Checks the value, and the gradient of a sum of squares, against plain and dual arrays, on several threads. `in_blocks` says
/// whether the value's loop runs in blocks.
macro_rules! check {
    ($function:ident, $in_blocks:expr, $sizes:expr) => {
        for (rows, columns) in $sizes {
            let name = format!("{} of {rows} × {columns}", stringify!($function));
            let at = arguments(rows, columns);
            let squares = |at: &(M<_>, Vector<_, f64>)| $function {}.call(at).powi(2).sum();
            let expected = $function {}.call::<Concrete>(&at);
            let (of_x, of_a) = grad(squares, &at);
            for threads in [1, 2, 3] {
                let cpu = || Cpu::default().threads(threads);
                let value = stage(|at| $function {}.call(at), &at).unwrap().compile(cpu()).unwrap();
                assert_eq!(value.to_string().contains("rows:"), $in_blocks, "{name}: {value}");
                close(&value.call(&at).unwrap().to_vec(), &expected.to_vec(), &name);
                let squares = |at: &(M<_>, Vector<_, f64>)| $function {}.call(at).powi(2).sum();
                let gradient = stage(squares, &at).unwrap().grad().unwrap().compile(cpu()).unwrap();
                let (found_x, found_a) = gradient.call(&at).unwrap();
                close(&found_x.to_vec(), &of_x.to_vec(), &name);
                close(&found_a.to_vec(), &of_a.to_vec(), &name);
            }
        }
    };
}

/// Blocks that are whole, and that leave one row and all but one.
const SIZES: [(usize, usize); 4] = [(512, 320), (513, 320), (519, 300), (1000, 150)];

#[test]
fn loops_over_columns_run_for_some_rows_at_a_time() {
    check!(forward, true, SIZES);
    check!(backward, true, SIZES);
    check!(of_columns, true, [(513, 320)]);
}

#[test]
fn steps_on_all_elements_run_for_some_rows_at_a_time() {
    check!(repeated, true, [(600, 301)]);
}

#[test]
fn small_arrays_are_one_block() {
    check!(forward, false, [(200, 20), (70, 9)]);
}

#[test]
fn rows_that_depend_on_each_other_run_together() {
    check!(neighbours, false, [(513, 320)]);
    check!(with_sums, false, [(513, 320)]);
}

#[test]
fn what_every_block_would_repeat_keeps_rows_together() {
    check!(with_tables, false, [(513, 320)]);
}

//! How long loops take that write an element or a row at each step, forward and with the gradient.
//!
//! ```sh
//! cargo run --release --example writes
//! ```
//!
//! Each line has the number of steps, milliseconds of the value and of the value with the gradient, compiled for one thread, and
//! both in nanoseconds a step.

#[path = "timing/mod.rs"]
#[allow(dead_code)]
mod timing;

use deltaray::derivative::ArrayFn;
use deltaray::prelude::*;

/// Each element is multiplied by a sine of the one before it.
#[differentiable]
fn chain(mut x: Vector<f64>) -> Scalar<f64> {
    for k in rolled(0..x.len() - 1) {
        x[k + 1] = x[k].sin() * x[k + 1];
    }
    x.sum()
}

/// Four sweeps over the rows of a grid, each row from its neighbours as they are then.
#[differentiable]
fn rows(mut a: Matrix<f64>) -> Scalar<f64> {
    let n = a.len();
    for _ in rolled(0..4) {
        for i in rolled(1..n - 1) {
            a[(i, ..)] = (a[(i - 1, ..)] + a[(i, ..)] * 2.0 + a[(i + 1, ..)]).sin();
        }
    }
    a.sum()
}

/// The Cholesky factor, column by column: each step divides a column by its root, and takes its products off the later columns.
#[differentiable]
fn columns(mut a: Matrix<f64>) -> Scalar<f64> {
    let n = a.len();
    for j in rolled(0..n) {
        a[(j, j)] = (a[(j, j)] - a[(j, ..j)].dot(&a[(j, ..j)])).sqrt();
        for i in rolled(j + 1..n) {
            a[(i, j)] = (a[(i, j)] - a[(i, ..j)].dot(&a[(j, ..j)])) / a[(j, j)];
        }
    }
    a.sum()
}

/// A number is written at each of many positions in turn.
#[differentiable]
fn set(mut x: Vector<f64>, positions: Vector<i64>) -> Scalar<f64> {
    for k in rolled(0..positions.len()) {
        x[positions[k]] = x[positions[k]] * 0.5;
    }
    x.sum()
}

/// A number is added at each of many positions in turn.
#[differentiable]
fn add(mut x: Vector<f64>, positions: Vector<i64>) -> Scalar<f64> {
    let y = x.clone();
    for k in rolled(0..positions.len()) {
        x[positions[k]] += y[positions[k]].powi(2);
    }
    x.sum()
}

/// Prints a line of a loop that takes so many steps.
fn measure<F>(name: &str, steps: usize, function: F, at: &<F::In as Family>::At<Concrete>) -> deltaray::Result<()>
where
    F: ArrayFn<Out = Scalar<Concrete, f64>>,
{
    let one = || Cpu::default().threads(1);
    let staged = stage(function.closure(), at)?;
    let (value, gradient) = (staged.compile(one())?, staged.value_and_grad()?.compile(one())?);
    let ([alone, together], _) = timing::measured(&value, &gradient, at)?;
    let each = |milliseconds: f64| 1e6 * milliseconds / steps as f64;
    println!("{name:<16} {steps:>9} {alone:>10.3} {together:>10.3} {:>8.1} {:>8.1}", each(alone), each(together));
    Ok(())
}

/// Numbers that look random, between 0 and 1.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|k| (k as f64 * 0.618_033_988_75).fract()).collect()
}

fn main() -> deltaray::Result<()> {
    println!("{:<16} {:>9} {:>10} {:>10} {:>8} {:>8}", "", "steps", "value", "and grad", "ns", "ns");
    for n in [1_000, 4_000, 16_000, 64_000, 1_000_000] {
        measure("chain", n, chain {}, &numbers(n).into())?;
    }
    for n in [200, 400] {
        measure("rows", 4 * n, rows {}, &Matrix::from_elements((n, n), numbers(n * n)))?;
        let element = |at: usize| if at.is_multiple_of(n + 1) { n as f64 } else { 0.5 };
        measure("cholesky", n, columns {}, &Matrix::from_elements((n, n), (0..n * n).map(element).collect()))?;
    }
    for n in [1_000, 10_000, 100_000] {
        let x: Vector<Concrete, f64> = numbers(n).into();
        let positions: Vec<i64> = numbers(10_000).into_iter().map(|x| (x * n as f64) as i64).collect();
        let at = (x, positions.into());
        measure("set", 10_000, set {}, &at)?;
        measure("add", 10_000, add {}, &at)?;
    }
    Ok(())
}

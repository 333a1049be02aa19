//! Names of other libraries, and methods that arrays, trees and slices don't have.

use deltaray::prelude::*;
use deltaray::tensor::TreeArithmetic;

#[derive(Tree)]
#[tree(arithmetic)]
struct Params<A: Algebra> {
    weights: Vector<A, f64>,
    bias: Scalar<A, f64>,
}

#[derive(Tree)]
struct Plain<A: Algebra> {
    weights: Vector<A, f64>,
}

#[differentiable]
fn spread(x: Matrix<f64>) -> Scalar<f64> {
    x.std() + x.trace()
}

#[differentiable]
fn bounded(x: Vector<f64>, y: Vector<f64>) -> Vector<f64> {
    x.minimum(y).maximum(0.0)
}

#[differentiable]
fn elementwise(x: Vector<f64>) -> Vector<f64> {
    x.square() + x.log() + x.log1p() + x.rsqrt() + x.clamp(0.0, 1.0) + x.softmax()
}

#[differentiable]
fn extents(x: Matrix<f64>) -> Vector<f64> {
    let (n, m): (usize, usize) = (x.nrows(), x.ncols());
    x.row(n - 1) + x.column(m - 1) * x.prod() / x.var()
}

#[differentiable]
fn mean(x: Vector<f64>) -> Scalar<f64> {
    x.sum() / x.len()
}

#[differentiable]
fn largest(x: Vector<f64>) -> Scalar<f64> {
    x.max()
}

#[differentiable]
fn squares_of_slices(x: Vector<f64>) -> Scalar<f64> {
    let mut sum = 0.0;
    for k in rolled(0..x.len()) {
        sum += x[..k].powi(2).sum();
    }
    sum
}

#[differentiable]
fn scaled_from_the_left(p: Params) -> Params {
    let factor = p.bias;
    factor * p
}

#[differentiable]
fn squares(p: Params) -> Params {
    p * p
}

#[differentiable]
fn sum_without_arithmetic(p: Plain) -> Plain {
    p + p
}

#[differentiable]
fn of_each_array(p: Params) -> Params {
    p.map(|x| x * x)
}

#[differentiable]
fn clipping(p: Params) -> Scalar<f64> {
    (1.0 / p.norm()).min(1.0)
}

#[differentiable]
fn both(p: Params) -> (Params, Params) {
    (p.clone(), p)
}

#[differentiable]
fn negated(x: Vector<f64>) -> Vector<f64> {
    let negate = |v| -v;
    negate(x)
}

#[differentiable]
fn step(x: Vector<f64>, #[plain] h: f64) -> Vector<f64> {
    x * h
}

#[differentiable]
fn steps(x: Matrix<f64>) -> Matrix<f64> {
    vmap(|row| step(row, 0.1), x)
}

fn main() {}

use deltaray::prelude::*;

#[differentiable]
fn wrong_rank(x: Vector<f64>) -> Matrix<f64> {
    x * 2.0
}

#[differentiable]
fn single_with_double(x: Vector<f32>, y: Vector<f64>) -> Vector<f32> {
    x * y
}

#[differentiable]
fn compared_with_double(x: Vector<f32>, y: Vector<f64>) -> Vector<f32> {
    (x < y).select(x, 0.0)
}

#[differentiable]
fn float_literal(k: Vector<i64>, #[plain] n: usize, x: Vector<f64>) -> Vector<i64> {
    let scaled = x * n;
    k * 0.5
}

#[differentiable]
fn too_many_axes(x: Tensor3<f64>, y: Matrix<f64>) -> Tensor3<f64> {
    x.dot(y)
}

#[differentiable]
fn total(x: Vector<f64>) -> Scalar<f64> {
    x.sum()
}

#[differentiable]
fn missing_reference(x: Vector<f64>) -> Scalar<f64> {
    let y = x * 2.0;
    total(y)
}

#[differentiable]
fn wrong_argument(x: Matrix<f64>) -> Scalar<f64> {
    total(x)
}

struct Plain {
    size: usize,
}

#[differentiable]
fn no_tree(x: Vector<f64>, plain: &Plain) -> Vector<f64> {
    x
}

fn main() {}

use deltaray::prelude::*;

#[differentiable]
fn with_effects(x: Scalar<f64>) -> Scalar<f64> {
    let mut y = x;
    if x > 1.0 {
        return y;
    }
    y * 2.0
}

#[differentiable]
fn of_plain_values(x: Scalar<f64>) -> Scalar<f64> {
    let mut count = 0;
    if x > 1.0 {
        count += 2;
    }
    x * count
}

#[differentiable]
fn by_a_mask(x: Vector<f64>) -> Vector<f64> {
    if x > 0.0 { x } else { x * 0.1 }
}

#[differentiable]
fn by_a_number(x: Scalar<f64>, #[plain] n: usize) -> Scalar<f64> {
    let y = if x { x } else { -x };
    if n { y } else { x }
}

#[differentiable]
fn by_two_kinds(x: Scalar<f64>, #[plain] n: usize) -> Scalar<f64> {
    if n && x > 0.0 { x } else { -x }
}

#[differentiable]
fn with_a_literal(x: Vector<f64>) -> Vector<f64> {
    if x.sum() > 0.0 { x } else { 0.0 }
}

fn main() {}

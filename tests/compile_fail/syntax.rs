use deltaray::prelude::*;

#[differentiable]
fn yields(x: Vector<f64>) -> Vector<f64> {
    yield x * 2.0;
    x
}

#[differentiable]
fn tries(x: Vector<f64>) -> Option<Vector<f64>> {
    try { x * 2.0 }
}

#[differentiable]
fn of_any_number(x: Vector<f64>, ...) -> Vector<f64> {
    x
}

fn main() {}

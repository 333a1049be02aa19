use deltaray::prelude::*;

#[differentiable]
fn assigned(x: Matrix<f64>, w: Vector<f64>) -> Matrix<f64> {
    let mut y = x * 2.0;
    y[0][1] = w[1];
    y[(0, 0)] = w;
    y
}

#[differentiable]
fn of_a_parameter(x: Vector<f64>) -> Vector<f64> {
    x[0] = 1.0;
    x
}

#[differentiable]
fn accumulated(x: Vector<f64>) -> Scalar<f64> {
    let mut s = 0.0;
    for i in 0..x.len() {
        s += x[i];
    }
    s
}

#[differentiable]
fn summed(x: Vector<f64>) -> Scalar<f64> {
    let mut s = 0.0;
    for i in 0..x.len() {
        s = s + x[i];
    }
    s
}

#[differentiable]
fn by_float(x: Vector<f64>, i: Scalar<f64>) -> Scalar<f64> {
    x[i] + x[1.0]
}

#[differentiable]
fn by_computed_range(x: Vector<f64>, i: Scalar<i64>) -> Vector<f64> {
    x[i..i + 2]
}

#[differentiable]
fn at_many_positions(mut y: Vector<f64>, at: Vector<i64>, u: Vector<f64>) -> Vector<f64> {
    y[at] = u;
    y[at] += u;
    y[at] *= u;
    y
}

#[differentiable]
fn moved(x: Vector<f64>, #[plain] names: &[String]) -> Vector<f64> {
    let name = names[0];
    x
}

fn main() {}

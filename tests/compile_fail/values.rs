use deltaray::prelude::*;

const TABLE: [f64; 3] = [1.0, 2.0, 3.0];

#[differentiable]
fn last(x: Vector<f64>, y: Matrix<f64>) -> Scalar<f64> {
    x[-1] + y[(0, -2)] + x[..-1].sum()
}

#[differentiable]
fn sized(x: Vector<f64>) -> Vector<f64> {
    build(x.len(), |i| x[i as usize])
}

#[differentiable]
fn from_a_table(x: Vector<f64>, #[plain] weights: &[f64]) -> Vector<f64> {
    build(x.len(), |i| x[i] * TABLE[i] + weights[i])
}

#[differentiable]
fn by_cases(x: Vector<f64>) -> Vector<f64> {
    build(x.len(), |i| match i {
        0 => x[0],
        _ => x[i] * 2.0,
    })
}

#[differentiable]
fn over_elements(x: Vector<f64>) -> Scalar<f64> {
    let mut s = scalar(0.0);
    for v in x {
        s += v;
    }
    s
}

#[differentiable]
fn through_an_iterator(x: Vector<f64>) -> Vector<f64> {
    x.iter().map(|v| v * 2.0).collect()
}

#[differentiable]
fn by_a_float_function(x: Vector<f64>) -> Vector<f64> {
    build(x.len(), |i| f64::max(x[i], 0.0))
}

#[differentiable]
fn early(x: Vector<f64>) -> Vector<f64> {
    build(x.len(), |i| {
        if i == 0 {
            return x[i];
        }
        x[i] * 2.0
    })
}

#[differentiable]
fn of_another_type(x: Vector<f64>) -> Vector<f64> {
    let bytes: Vector<u8> = zeros(3);
    x
}

#[differentiable]
fn scaled(k: Vector<i64>) -> Vector<f64> {
    2.5 * k
}

#[differentiable]
fn total_of_a_vector(x: Vector<f64>) -> Scalar<f64> {
    x * 2.0
}

#[differentiable]
fn from_a_number(x: Vector<f64>) -> Scalar<f64> {
    fold(0.0, x, |s, v| s + v)
}

fn generic<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    build(x.len(), |i| x.at(&i) * (i as f64))
}

fn main() {}

#[differentiable]
fn last_column(y: Matrix<f64>) -> Scalar<f64> {
    y[(0, -2)]
}

use deltaray::prelude::*;

#[differentiable]
fn blocks(x: Vector<f64>) -> Vector<f64> {
    let later = async { 1.0 };
    let pointer = unsafe { *std::ptr::null::<f64>() };
    let closure = async |y: f64| y;
    x * later.await
}

#[differentiable]
fn rolled_loops(x: Vector<f64>) -> Scalar<f64> {
    let mut s = scalar(0.0);
    for t in rolled(0..3) {
        s = s + x[t];
        if s > 1.0 {
            break;
        }
    }
    for t in rolled(0..3) {
        let y = x[t];
    }
    'named: for t in rolled(0..3) {
        s = s + x[t];
    }
    for t in rolled(0..3) {
        if x.len() > 2 {
            return s;
        }
        s = s + x[t];
    }
    let positions = rolled(0..3);
    for t in rolled(0, 3) {
        s = s + x[t];
    }
    s
}

#[differentiable]
fn nearly_rolled(x: Vector<f64>) -> Vector<f64> {
    let y = zeros(x.len());
    for i in rolled(0..3) {
        y[i] = x[i];
    }
    let mut z = y;
    for i in rolled(0..3) {
        for j in 0..i {
            z[i] += x[j];
        }
        if i == 1 {
            continue;
        }
        z[i] *= 2.0;
    }
    z
}

fn main() {}

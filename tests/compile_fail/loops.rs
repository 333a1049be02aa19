use deltaray::prelude::*;

#[differentiable]
fn goes_on(x: Scalar<f64>) -> Scalar<f64> {
    let mut y = x;
    while y > 1.0 {
        y = y / 2.0;
    }
    loop {
        if y < 0.1 {
            break;
        }
        y = y / 2.0;
    }
    y
}

#[differentiable]
fn over_slices(x: Matrix<f64>) -> Vector<f64> {
    let mut total = x[0];
    for row in rolled(&x) {
        total = total + row;
    }
    total
}

#[differentiable]
fn carries_numbers(x: Vector<f64>) -> Scalar<f64> {
    let mut names = Vec::<String>::new();
    for t in rolled(0..3) {
        names = vec![];
    }
    x.sum()
}

fn main() {}

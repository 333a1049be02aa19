use deltaray::prelude::*;

#[differentiable]
fn collects(x: Vector<f64>) -> Vector<f64> {
    let mut list = vec![];
    let mut count = 0;
    build(x.len(), |i| {
        list.push(x[i]);
        count += 1;
        x[i]
    })
}

#[differentiable]
fn collects_in_a_loop(x: Vector<f64>) -> Scalar<f64> {
    let mut list = vec![];
    let mut s = scalar(0.0);
    for t in rolled(0..x.len()) {
        s = s + x[t];
        list.push(s.clone());
    }
    s
}

#[differentiable]
fn swaps_in_a_loop(x: Vector<f64>) -> Scalar<f64> {
    let mut a = x[0];
    let mut b = x[1];
    let mut n = 0;
    for t in rolled(0..x.len()) {
        n += 1;
        std::mem::swap(&mut a, &mut b);
    }
    a
}

#[differentiable]
fn counts_steps(x: Vector<f64>) -> Scalar<f64> {
    let mut last = x[0];
    fold(x[0], x, |s, v| {
        last = v;
        s + v
    })
}

fn generic<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    let mut count = 0;
    build(x.len(), |i| {
        count += 1;
        x.at(&i)
    })
}

fn main() {}

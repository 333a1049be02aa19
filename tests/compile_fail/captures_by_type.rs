use deltaray::prelude::*;

struct Opaque(f64);

fn consume(rate: Opaque) -> f64 {
    rate.0
}

#[differentiable]
fn takes_the_next(x: Vector<f64>) -> Scalar<f64> {
    let mut positions = 0..2usize;
    cond(x[0].gt(0.0), || x[positions.next().unwrap_or(0)], || x[1])
}

#[differentiable]
fn assigns_in_a_variable(x: Vector<f64>) -> Scalar<f64> {
    let mut s = scalar(0.0);
    let side = || {
        s = x[1];
        x[0]
    };
    cond(x[0].gt(0.0), side, || x[1])
}

#[differentiable]
fn takes_what_has_no_copy(x: Vector<f64>) -> Scalar<f64> {
    let rate = Opaque(0.5);
    cond(x[0].gt(0.0), || x[0] * consume(rate), || x[1])
}

fn moved_away<A: Algebra>(a: Vector<A, f64>) -> Scalar<A, f64> {
    let b = a.with(0, 1.0);
    a.sum() + b.sum()
}

fn main() {}

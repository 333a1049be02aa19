use deltaray::prelude::*;

#[derive(Tree)]
struct Line<A: Algebra> {
    slope: Scalar<A, f64>,
    offset: Scalar<A, f64>,
}

struct Opaque(f64);

fn consume(rate: Opaque) -> f64 {
    rate.0
}

#[differentiable]
fn moved_into_blocks(x: Scalar<f64>) -> Scalar<f64> {
    let rate = Opaque(0.5);
    if x > 0.0 { x * consume(rate) } else { x }
}

#[differentiable]
fn counts(x: Vector<f64>) -> Scalar<f64> {
    let mut s = scalar(0.0);
    let mut n: usize = 0;
    for t in rolled(0..3) {
        s = s + x[t];
        n = n + 1;
    }
    s
}

#[differentiable]
fn carries_opaque(x: Vector<f64>) -> Scalar<f64> {
    let mut last = Opaque(0.0);
    for t in rolled(0..3) {
        last = Opaque(1.0);
    }
    x.sum()
}

#[differentiable]
fn carries_two_algebras(x: Vector<f64>, #[plain] w: Vector<Concrete, f64>) -> Scalar<f64> {
    let mut s = x.sum();
    let mut last = w.clone();
    for t in rolled(0..3) {
        s = s + x[t];
        last = w.clone();
    }
    s
}

fn begins_with_opaque<A: Algebra>(x: &Vector<A, f64>) -> Opaque {
    fold(Opaque(0.0), x, |s, _| s)
}

fn reads_structs<A: Algebra>(lines: &Line<A>, x: &Scalar<A, f64>) -> Scalar<A, f64> {
    scan(x.clone(), lines, 3, |x, line| (x * line.slope, ())).0
}

fn reads_numbers<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    scan(x.clone(), &vec![1.0, 2.0], 2, |x, _| (x, ())).0
}

fn gives_numbers<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    scan(x.sum(), x, 3, |s, v| (s + v, 1.0)).0
}

fn gives_opaque<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    scan(x.sum(), x, 3, |s, v| (s + v, Opaque(0.0))).0
}

fn main() {}

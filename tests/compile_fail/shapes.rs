use deltaray::prelude::*;

fn of_floats(n: f64) -> Vector<Concrete, f64> {
    zeros(n)
}

fn of_arrays(n: &Scalar<Concrete, i64>) -> Vector<Concrete, f64> {
    full((n, n), 1.0).sum_axis(0)
}

fn built_of_integers(x: &Vector<Concrete, f64>, n: i64) -> Vector<Concrete, f64> {
    build(n, |i| x.at(&i))
}

#[differentiable]
fn built_of_arrays(x: Vector<f64>, n: Scalar<i64>) -> Vector<f64> {
    build(n, |i| x[i])
}

fn main() {}

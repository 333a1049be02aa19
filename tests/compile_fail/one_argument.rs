//! Derivatives by one array, and functions of one argument.

use deltaray::prelude::*;

#[derive(Tree)]
struct Params<A: Algebra> {
    weights: Vector<A, f64>,
    bias: Scalar<A, f64>,
}

#[differentiable]
fn loss(p: Params) -> Scalar<f64> {
    p.weights.sum() * p.bias
}

#[differentiable]
fn of_two(x: Vector<f64>, y: Vector<f64>) -> Scalar<f64> {
    (x * y).sum()
}

fn matrices(p: Params<Concrete>) {
    let by_a_tree = hessian(loss, &p);
    let in_columns = jacfwd(loss, &p);
}

fn slices(x: Vector<Concrete, f64>) -> deltaray::Result<()> {
    let over = stage(|(x, y)| of_two(x, y), (&x, &x))?.over_slices::<f64>()?;
    Ok(())
}

fn main() {}

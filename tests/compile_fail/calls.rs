use deltaray::prelude::*;

#[differentiable]
fn loss(x: Vector<f64>) -> Scalar<f64> {
    x.sum()
}

#[differentiable]
fn loss_of_two(x: Vector<f64>, w: Vector<f64>) -> Scalar<f64> {
    (x * w).sum()
}

#[differentiable]
fn loss_with_a_power(x: Vector<f64>, #[plain] power: i32) -> Scalar<f64> {
    x.powi(power).sum()
}

fn a_value_for_a_closure(x: &Vector<Concrete, f64>) {
    grad(loss {}, x);
    stage(loss {}, x);
}

fn one_argument_for_two(x: &Vector<Concrete, f64>) {
    grad(loss, (x, x));
    grad(loss_of_two, (x, x));
    grad(loss_with_a_power, x);
    grad(|x| loss_of_two(x, x), (x, x));
}

fn by_value(x: Vector<Concrete, f64>) {
    grad(loss, x);
}

fn from_outside<A: Algebra>(x: &Vector<A, f64>, w: &Vector<A, f64>) {
    grad(|y| (y * w).sum(), x);
    grad(|y| y.dot(w), x);
}

fn of_a_vector(x: &Vector<Concrete, f64>) {
    grad(|x| x.sin(), x);
}

fn main() {}

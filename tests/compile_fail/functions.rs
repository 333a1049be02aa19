use deltaray::derivative::{ArrayFn, Jvp, custom_vjp};
use deltaray::prelude::*;

fn double<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    x * 2.0
}

#[derive(Clone)]
struct Rule;

impl ArrayFn for Rule {
    type In = (Vector<Concrete, f64>, Vector<Concrete, f64>, Vector<Concrete, f64>);
    type Out = Vector<Concrete, f64>;
    fn call<A: Algebra>(&self, (_, _, g): &(Vector<A, f64>, Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
        g * 2.0
    }
}

fn of_a_function(x: &Vector<Concrete, f64>) -> Vector<Concrete, f64> {
    custom_vjp(&double::<Concrete>, &Rule, x)
}

fn of_a_closure() -> impl ArrayFn {
    Jvp(|x: &Vector<Concrete, f64>| x * 2.0)
}

struct OfNames;

impl ArrayFn for OfNames {
    type In = String;
    type Out = Vector<Concrete, f64>;
    fn call<A: Algebra>(&self, _: &String) -> Vector<A, f64> {
        zeros(1)
    }
}

struct OfOne<A: Algebra>(Vector<A, f64>);

impl<A: Algebra> ArrayFn for OfOne<A> {
    type In = Vector<A, f64>;
    type Out = Vector<Concrete, f64>;
    fn call<B: Algebra>(&self, _: &Vector<A, f64>) -> Vector<B, f64> {
        zeros(1)
    }
}

fn main() {}

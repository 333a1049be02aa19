use deltaray::prelude::*;

fn at_floats<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    x.at(0.5)
}

fn at_positions_from_outside(x: &Vector<Concrete, f64>, i: &Scalar<Concrete, i64>) -> Vector<Concrete, f64> {
    grad(|x| x.at(i), x)
}

fn gathers_at_floats<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    x.gather(x)
}

fn gathers_at_plain_positions<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    x.gather(vec![0, 1])
}

fn gathers_from_outside(x: &Vector<Concrete, f64>, i: &Vector<Concrete, i64>) -> Vector<Concrete, f64> {
    grad(|x| x.gather(i).sum(), x)
}

fn main() {}

use deltaray::prelude::*;

#[derive(Tree)]
struct Unbounded<A> {
    w: Vector<A, f64>,
}

#[derive(Tree)]
struct OfElements<E: Element> {
    w: Vector<Concrete, E>,
}

#[derive(Tree)]
struct OfTwo<A: Algebra, B: Algebra> {
    w: Vector<A, f64>,
    v: Vector<B, f64>,
}

fn main() {}

use deltaray::prelude::*;

#[derive(Tree)]
struct Lacking {
    w: Vector<f64>,
}

#[derive(Tree)]
enum Chosen {
    One(Matrix<f64>),
}

#[derive(Tree)]
enum Nothing {}

#[derive(Tree)]
union Either {
    a: u8,
}

#[derive(Tree)]
struct Referring<'a, A: Algebra> {
    w: &'a Vector<A, f64>,
}

#[derive(Tree)]
struct Marked<A: Algebra> {
    #[tree(static)]
    w: Vector<A, f64>,
}

#[derive(Tree)]
struct Numbered<A: Algebra> {
    w: Vector<A, f64>,
    rate: f64,
}

fn main() {}

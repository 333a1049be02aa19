//! Derives that arrays of every algebra don't have.

use deltaray::prelude::*;

#[derive(Tree, Clone, PartialEq)]
struct Compared<A: Algebra> {
    weights: Vector<A, f64>,
}

#[derive(Tree, Clone, Default)]
struct Empty<A: Algebra> {
    weights: Vector<A, f64>,
}

fn main() {}

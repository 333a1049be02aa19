//! User code: operators, literals, broadcasting, indexing, loops, trees, conversions and derivatives, as users write them:
//! closures without annotations, and functions with one bound.

use approx::assert_relative_eq;
use deltaray::algebra::Algebra;
use deltaray::prelude::*;
// Both preludes together: no name clashes.
#[allow(unused_imports)]
use ndarray::prelude::*;

type C = Concrete;

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

fn close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{a:?} and {b:?}");
    for (x, y) in a.iter().zip(b) {
        assert_relative_eq!(x, y, epsilon = 1e-12, max_relative = 1e-9);
    }
}

/// The message of the panic that a computation ends in.
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    let Err(payload) = result else { panic!("no panic") };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => panic!("a panic without text"),
    }
}

#[path = "surface/arithmetic.rs"]
mod arithmetic;
#[path = "surface/batches.rs"]
mod batches;
#[path = "surface/binders.rs"]
mod binders;
#[path = "surface/derivatives.rs"]
mod derivatives;
#[path = "surface/errors.rs"]
mod errors;
#[path = "surface/modules.rs"]
mod modules;
#[path = "surface/operators.rs"]
mod operators;
#[path = "surface/rooms.rs"]
mod rooms;
#[path = "surface/structure.rs"]
mod structure;
#[path = "surface/traced.rs"]
mod traced;
#[path = "surface/trees.rs"]
mod trees;

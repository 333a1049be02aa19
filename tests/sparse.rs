//! Sparse Jacobians and Hessians: patterns against dense derivatives, colours against known optima, and the cost of evaluation.

use deltaray::prelude::*;

#[path = "random/chance.rs"]
#[allow(dead_code)]
mod chance;
#[path = "corpus/row.rs"]
#[allow(dead_code, unused_imports, unused_macros)]
mod row;

#[path = "sparse/bundle.rs"]
mod bundle;
#[path = "complexity/counting.rs"]
mod counting;
#[path = "sparse/hessians.rs"]
mod hessians;
#[path = "sparse/interface.rs"]
mod interface;
#[path = "sparse/matrices.rs"]
mod matrices;
#[path = "sparse/rules.rs"]
mod rules;

type C = Concrete;

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

/// The numbers 1 to n, moved a little so that no two functions of them agree by chance.
fn numbers(n: usize) -> Vector<C, f64> {
    Vector::from((0..n).map(|i| 0.3 + (i as f64 * 0.7).sin().abs() + i as f64 / n as f64).collect::<Vec<f64>>())
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "element {at} is {a} instead of {b}");
    }
}

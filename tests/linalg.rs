//! Linear algebra: matrices without good answers on all engines, values and derivatives by others' code, and the laws that
//! factors satisfy.

#[path = "linalg/derivatives.rs"]
mod derivatives;
#[path = "linalg/engines.rs"]
mod engines;
mod exported;
#[path = "linalg/failures.rs"]
mod failures;
#[path = "linalg/laws.rs"]
mod laws;
#[path = "linalg/oracles.rs"]
mod oracles;
#[cfg(feature = "opencl")]
#[path = "devices/presence.rs"]
mod presence;
mod random;
#[path = "linalg/ranges.rs"]
mod ranges;
#[path = "linalg/residuals.rs"]
mod residuals;
#[path = "linalg/sparse.rs"]
mod sparse;
#[path = "linalg/special.rs"]
mod special;
#[path = "linalg/spectra.rs"]
mod spectra;
#[path = "linalg/spectral.rs"]
mod spectral;

use deltaray::linalg::Triangle;
use deltaray::prelude::*;
use random::chance::Random;

type C = Concrete;
type M = Matrix<C, f64>;

/// All kinds of triangles.
fn triangles() -> impl Iterator<Item = Triangle> {
    [Triangle::LOWER, Triangle::UPPER]
        .into_iter()
        .flat_map(|kind| [kind, kind.transposed()].into_iter().flat_map(|kind| [kind, kind.unit()]))
}

/// A matrix of numbers between −1 and 1.
fn matrix<E: Float>(random: &mut Random, rows: usize, columns: usize) -> Matrix<C, E> {
    let elements = (0..rows * columns).map(|_| E::from_number(random.between(-1.0, 1.0)));
    Matrix::from_elements((rows, columns), elements.collect())
}

/// A positive definite matrix whose condition number is moderate.
fn definite<E: Float>(random: &mut Random, n: usize) -> Matrix<C, E> {
    let x = matrix(random, n, n);
    x.dot(&x.t()) * scalar(E::from_number(1.0 / n.max(1) as f64)) + eye(n)
}

/// The largest magnitude, or NaN where there is one.
fn largest<E: Float>(a: &Matrix<C, E>) -> f64 {
    let sizes = a.cast::<f64>().abs().to_vec();
    if sizes.iter().any(|x| x.is_nan()) { f64::NAN } else { sizes.into_iter().fold(0.0, f64::max) }
}

fn identity<E: Float>(n: usize) -> Matrix<C, E> {
    eye(n)
}

/// Numbers, rounded to an element type.
fn numbers<E: Float>(x: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let elements: Vec<E> = x.into_iter().map(E::from_number).collect();
    Vector::<C, E>::from(elements).cast::<f64>().to_vec()
}

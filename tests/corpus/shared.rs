//! Short names for the families and inputs of rows, and functions that several rows use.

use crate::random::chance::Random;
use deltaray::algebra::Algebra;
use deltaray::prelude::*;
use deltaray::tensor::IntoShape;

/// A float.
pub type S = Scalar<Concrete, f64>;
/// Floats.
pub type V = Vector<Concrete, f64>;
/// A table of floats.
pub type M = Matrix<Concrete, f64>;
/// Floats with three axes.
pub type T3 = Tensor3<Concrete, f64>;
/// Floats with four axes.
pub type T4 = Tensor4<Concrete, f64>;
/// Floats with five axes.
pub type T5 = Tensor5<Concrete, f64>;
/// An integer.
pub type N = Scalar<Concrete, i64>;
/// Integers.
pub type Ns = Vector<Concrete, i64>;
/// A table of integers.
pub type Nm = Matrix<Concrete, i64>;
/// Truth values.
pub type Bs = Vector<Concrete, bool>;
/// Single precision.
pub type F = Scalar<Concrete, f32>;
/// Single precision.
pub type Fs = Vector<Concrete, f32>;
/// Single precision.
pub type Fm = Matrix<Concrete, f32>;

/// A float.
pub fn s(x: f64) -> S {
    scalar(x)
}

/// Floats.
pub fn v<const K: usize>(elements: [f64; K]) -> V {
    elements.into()
}

/// A table of floats.
pub fn m<const K: usize, const L: usize>(rows: [[f64; L]; K]) -> M {
    rows.into()
}

/// An integer.
pub fn n(x: i64) -> N {
    scalar(x)
}

/// Integers.
pub fn ns<const K: usize>(elements: [i64; K]) -> Ns {
    elements.into()
}

/// Single precision.
pub fn f<const K: usize>(elements: [f32; K]) -> Fs {
    elements.into()
}

/// Known floats of any shape.
pub fn t<X: IntoShape>(shape: X, elements: &[f64]) -> Tensor<Concrete, f64, X::Rank> {
    Tensor::from_elements(shape, elements.to_vec())
}

/// Floats that look random, between −1 and 1 and not near 0, the same in every run.
pub fn some<X: IntoShape + Clone>(shape: X, seed: u64) -> Tensor<Concrete, f64, X::Rank> {
    let mut random = Random::new(seed);
    let count = deltaray::shape::size(&shape.clone().into_shape());
    let mut element = || random.between(0.1, 1.0) * if random.chance(0.5) { 1.0 } else { -1.0 };
    let elements = (0..count).map(|_| element()).collect();
    Tensor::from_elements(shape, elements)
}

/// As [`some`], positive.
pub fn positive<X: IntoShape + Clone>(shape: X, seed: u64) -> Tensor<Concrete, f64, X::Rank> {
    some(shape, seed).abs()
}

/// `atan2(z, w) + z·w` with a shared `w = x·sin y`.
pub fn foo<A: Algebra, R: Rank>(
    x: &Tensor<A, f64, R>,
    y: &Tensor<A, f64, R>,
    z: &Tensor<A, f64, R>,
) -> Tensor<A, f64, R> {
    let w = x * y.sin();
    z.atan2(&w) + z * w
}

/// The same of two, twice.
pub fn bar<A: Algebra, R: Rank>(x: &Tensor<A, f64, R>, y: &Tensor<A, f64, R>) -> Tensor<A, f64, R> {
    let w = foo(x, y, x) * y.sin();
    x.atan2(&w) + y * w
}

/// The position that is nearest within bounds.
pub fn clamp<A: Algebra>(x: &Scalar<A, i64>, low: i64, high: i64) -> Scalar<A, i64> {
    x.max(low).min(high)
}

/// Sixteen numbers of different magnitudes.
pub const T16: [f64; 16] =
    [5.0, 2.0, 6.0, 1.0, -2.0, 1e-6, 0.1, -0.2, 13.1, 9.0, 8.0, -4.0, 34.0, 2.99432, -33.0, 26.0];

/// Sixteen more, one large.
pub const T16B: [f64; 16] =
    [5.0, 2.0, 6.0, 1.0, -2.0, 0.0, 0.1, -0.2, 13.1, 9.0, 8.0, -4.0, 582934.0, 2.99432, -335.0, 26.0];

/// A value as a loop step's next carry, and as its output.
pub fn twice<T: Clone>(x: T) -> (T, T) {
    (x.clone(), x)
}

/// A function that can be part of a function with rules, or of an equation.
pub trait Part: ArrayFn + Copy + Send + Sync + 'static {}
impl<F: ArrayFn + Copy + Send + Sync + 'static> Part for F {}

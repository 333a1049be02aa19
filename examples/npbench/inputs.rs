//! Inputs of kernels: numbers that look random, the same in every run.

use deltaray::prelude::*;

/// The extents of arrays, and numbers of steps.
pub struct Sizes {
    /// Rows of matrices.
    pub matrix: usize,
    /// Rows of grids in two dimensions.
    pub grid: usize,
    /// Rows of grids in three dimensions.
    pub cube: usize,
    /// Steps in time.
    pub steps: usize,
}

impl Sizes {
    /// The sizes of a name.
    pub fn named(name: &str) -> Option<Sizes> {
        match name {
            "S" => Some(Sizes { matrix: 60, grid: 50, cube: 25, steps: 8 }),
            "M" => Some(Sizes { matrix: 200, grid: 100, cube: 40, steps: 15 }),
            "L" => Some(Sizes { matrix: 400, grid: 200, cube: 70, steps: 40 }),
            _ => None,
        }
    }
}

/// Numbers between −0.5 and 0.5.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

/// A vector of numbers between −0.5 and 0.5.
pub fn vector(count: usize, seed: u64) -> Vector<Concrete, f64> {
    numbers(count, seed).into()
}

/// A matrix of them.
pub fn table(rows: usize, columns: usize, seed: u64) -> Matrix<Concrete, f64> {
    Matrix::from_elements((rows, columns), numbers(rows * columns, seed))
}

/// A cube of them.
pub fn grid(rows: usize, seed: u64) -> Tensor3<Concrete, f64> {
    Tensor3::from_elements((rows, rows, rows), numbers(rows * rows * rows, seed))
}

/// A symmetric positive definite matrix, of a diagonal that outweighs the rest.
pub fn positive(rows: usize) -> Matrix<Concrete, f64> {
    let any = table(rows, rows, 7);
    let symmetric = &any + any.transpose();
    symmetric + build((rows, rows), |(i, j)| i.equal(j).cast::<f64>()) * rows as f64
}

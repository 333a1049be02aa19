//! Inputs of kernels: numbers that look random, the same in every run.

use deltaray::prelude::*;

/// The sizes that kernels run at: NPBench's, and smaller ones for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests run at it"))]
    Test,
    S,
    M,
    L,
    Paper,
}

impl Preset {
    /// The preset of a name on the command line.
    pub fn named(name: &str) -> Option<Preset> {
        Some(match name {
            "S" => Preset::S,
            "M" => Preset::M,
            "L" => Preset::L,
            "paper" => Preset::Paper,
            _ => return None,
        })
    }

    /// The extents for a test, or those of this preset among four.
    pub fn of<const COUNT: usize>(self, test: [usize; COUNT], presets: [[usize; COUNT]; 4]) -> [usize; COUNT] {
        match self {
            Preset::Test => test,
            preset => presets[preset as usize - 1],
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

/// An array of three axes of them.
pub fn grid(shape: [usize; 3], seed: u64) -> Tensor3<Concrete, f64> {
    let [a, b, c] = shape;
    Tensor3::from_elements((a, b, c), numbers(a * b * c, seed))
}

/// An array of four axes of them.
pub fn images(shape: [usize; 4], seed: u64) -> Tensor4<Concrete, f64> {
    let [a, b, c, d] = shape;
    Tensor4::from_elements((a, b, c, d), numbers(a * b * c * d, seed))
}

/// A symmetric positive definite matrix, of a diagonal that outweighs the rest.
pub fn positive(rows: usize) -> Matrix<Concrete, f64> {
    let any = table(rows, rows, 7);
    let symmetric = &any + any.transpose();
    symmetric + build((rows, rows), |(i, j)| i.equal(j).cast::<f64>()) * rows as f64
}

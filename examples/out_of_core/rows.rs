//! Rows that are made up.

use crate::Chunk;
use deltaray::prelude::*;

/// The features of a row.
pub const FEATURES: usize = 31;

/// Chunks of rows, each of which depends on its position alone: equally distributed features, and a class by their sum.
pub struct Rows {
    rows: usize,
    each: usize,
    next: usize,
}

impl Rows {
    /// So many rows, in chunks of so many.
    pub fn new(rows: usize, each: usize) -> Rows {
        Rows { rows, each, next: 0 }
    }
}

impl Iterator for Rows {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let count = self.each.min(self.rows - self.next);
        if count == 0 {
            return None;
        }
        let mut numbers = Vec::with_capacity(count * (FEATURES + 1));
        for row in self.next..self.next + count {
            let class = numbers.len();
            numbers.push(0.0);
            numbers.extend((0..FEATURES).map(|feature| number(row * FEATURES + feature)));
            let sum: f64 = numbers[class + 1..].iter().sum();
            numbers[class] = f64::from(sum > 0.0);
        }
        self.next += count;
        Some(Vector::from(numbers).reshape((count, FEATURES + 1)))
    }
}

/// A number between −1 and 1 for a position, by the mixing function of the generator SplitMix64 (Steele, Lea, Flood; OOPSLA 2014).
fn number(at: usize) -> f64 {
    let mut x = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x ^ (x >> 31)) as i64 as f64 / 2f64.powi(63)
}

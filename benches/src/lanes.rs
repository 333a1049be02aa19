//! Numbers that stay side by side: the compiler makes one or more vectors of them.

use crate::machine::Machine;
use std::ops::{Deref, DerefMut};

/// As many numbers of double precision as the widest vectors have.
pub(crate) type Lanes = [f64; 8];

/// Numbers that one weight or factor is applied to at once, enough to hide the latency of an operation.
pub(crate) const BLOCK: usize = 64;
pub(crate) type Block = [f64; BLOCK];

/// Numbers that begin where a line of a cache does, so that no vector is in two of them.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Aligned<T>(pub(crate) T);

impl<T> Deref for Aligned<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

// Loops in functions that are always inlined: closures, as `array::from_fn` takes them, stay calls in a function that is
// compiled for other instructions than they are.

#[inline(always)]
pub(crate) fn plus(a: Lanes, b: Lanes) -> Lanes {
    let mut sums = [0.0; 8];
    for lane in 0..8 {
        sums[lane] = a[lane] + b[lane];
    }
    sums
}

#[inline(always)]
pub(crate) fn times(a: Lanes, b: Lanes) -> Lanes {
    let mut products = [0.0; 8];
    for lane in 0..8 {
        products[lane] = a[lane] * b[lane];
    }
    products
}

/// a b + c.
#[inline(always)]
pub(crate) fn fused<M: Machine>(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
    let mut sums = [0.0; 8];
    for lane in 0..8 {
        sums[lane] = M::fused(a[lane], b[lane], c[lane]);
    }
    sums
}

/// The lanes' sum, halves with halves.
#[inline(always)]
pub(crate) fn total(x: Lanes) -> f64 {
    let x = [x[0] + x[4], x[1] + x[5], x[2] + x[6], x[3] + x[7]];
    (x[0] + x[2]) + (x[1] + x[3])
}

/// The sum of any count of numbers, in lanes.
#[inline(always)]
pub(crate) fn sum(numbers: &[f64]) -> f64 {
    let (pairs, rest) = numbers.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for pair in pairs {
        for lane in 0..16 {
            sums[lane] += pair[lane];
        }
    }
    let (mut folded, mut last) = ([0.0; 8], 0.0);
    for lane in 0..8 {
        folded[lane] = sums[lane] + sums[8 + lane];
    }
    let (chunk, rest) = rest.as_chunks::<8>();
    if let [chunk] = chunk {
        folded = plus(folded, *chunk);
    }
    for x in rest {
        last += x;
    }
    total(folded) + last
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The largest of some numbers.
#[inline(always)]
pub(crate) fn largest(numbers: &[f64]) -> f64 {
    let (chunks, rest) = numbers.as_chunks::<8>();
    let mut lanes = [f64::NEG_INFINITY; 8];
    for chunk in chunks {
        for lane in 0..8 {
            lanes[lane] = larger(chunk[lane], lanes[lane]);
        }
    }
    let lanes = [
        larger(lanes[0], lanes[4]),
        larger(lanes[1], lanes[5]),
        larger(lanes[2], lanes[6]),
        larger(lanes[3], lanes[7]),
    ];
    let mut largest = larger(larger(lanes[0], lanes[2]), larger(lanes[1], lanes[3]));
    for x in rest {
        largest = larger(*x, largest);
    }
    largest
}

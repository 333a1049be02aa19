//! Running sums and products: eight at once from the value before them, so that few operations wait for each other.

// The loops compile to shuffles of vectors; copied slices would be calls.
#![allow(clippy::manual_memcpy)]

use crate::lanes::{Lanes, fused, plus, times, total};
use crate::machine::{Machine, compiled};

/// The numbers that are so many places before each, or the filling.
#[inline(always)]
fn earlier<const PLACES: usize>(x: Lanes, filling: f64) -> Lanes {
    let mut moved = [filling; 8];
    for at in PLACES..8 {
        moved[at] = x[at - PLACES];
    }
    moved
}

/// The numbers that are so many places after each, or the filling.
#[inline(always)]
fn later<const PLACES: usize>(x: Lanes, filling: f64) -> Lanes {
    let mut moved = [filling; 8];
    for at in PLACES..8 {
        moved[at - PLACES] = x[at];
    }
    moved
}

/// The sums up to each number.
#[inline(always)]
fn sums_from_first(x: Lanes) -> Lanes {
    let x = plus(x, earlier::<1>(x, 0.0));
    let x = plus(x, earlier::<2>(x, 0.0));
    plus(x, earlier::<4>(x, 0.0))
}

/// The sums from each number on.
#[inline(always)]
fn sums_to_last(x: Lanes) -> Lanes {
    let x = plus(x, later::<1>(x, 0.0));
    let x = plus(x, later::<2>(x, 0.0));
    plus(x, later::<4>(x, 0.0))
}

/// The products up to each number.
#[inline(always)]
fn products_from_first(x: Lanes) -> Lanes {
    let x = times(x, earlier::<1>(x, 1.0));
    let x = times(x, earlier::<2>(x, 1.0));
    times(x, earlier::<4>(x, 1.0))
}

compiled! {
    /// Σ w · (running sum of x)², and its derivative by x.
    pub fn cumulative_sum(x: &[f64], w: &[f64], gradient: &mut [f64]) -> f64 = cumulative_sum_kernel;
}

#[inline(always)]
fn cumulative_sum_kernel<M: Machine>(x: &[f64], w: &[f64], gradient: &mut [f64]) -> f64 {
    let (x, x_rest) = x.as_chunks::<8>();
    let (w, w_rest) = w.as_chunks::<8>();
    let (derivatives, derivatives_of_rest) = gradient.as_chunks_mut::<8>();
    let (w, derivatives) = (&w[..x.len()], &mut derivatives[..x.len()]);
    let (mut before, mut values) = ([0.0; 8], [0.0; 8]);
    for at in 0..x.len() {
        let inside = sums_from_first(x[at]);
        let running = plus(before, inside);
        // One addition is all that the next eight wait for.
        before = plus(before, [inside[7]; 8]);
        let weighted = times(w[at], running);
        values = fused::<M>(weighted, running, values);
        derivatives[at] = plus(weighted, weighted);
    }
    let (mut running, mut value) = (before[0], total(values));
    for ((x, w), derivative) in x_rest.iter().zip(w_rest).zip(&mut *derivatives_of_rest) {
        running += x;
        value += w * running * running;
        *derivative = 2.0 * w * running;
    }
    let mut after = 0.0;
    for derivative in derivatives_of_rest.iter_mut().rev() {
        after += *derivative;
        *derivative = after;
    }
    let mut after = [after; 8];
    for at in (0..x.len()).rev() {
        let inside = sums_to_last(derivatives[at]);
        derivatives[at] = plus(after, inside);
        after = plus(after, [inside[0]; 8]);
    }
    value
}

compiled! {
    /// Σ w · (running product of x), and its derivative by x, for any x.
    pub fn cumulative_product(x: &[f64], w: &[f64], gradient: &mut [f64]) -> f64 = cumulative_product_kernel;
}

/// Forward it writes the product of all numbers before each number, backward it multiplies by the derivative d of everything
/// behind. Passing a number y, and the weight w in front of it, turns d into w + y d.
#[inline(always)]
fn cumulative_product_kernel<M: Machine>(x: &[f64], w: &[f64], gradient: &mut [f64]) -> f64 {
    let (x, x_rest) = x.as_chunks::<8>();
    let (w, w_rest) = w.as_chunks::<8>();
    let (derivatives, derivatives_of_rest) = gradient.as_chunks_mut::<8>();
    let (w, derivatives) = (&w[..x.len()], &mut derivatives[..x.len()]);
    let (mut before, mut values) = ([1.0; 8], [0.0; 8]);
    for at in 0..x.len() {
        let inside = products_from_first(x[at]);
        derivatives[at] = times(before, earlier::<1>(inside, 1.0));
        values = fused::<M>(w[at], times(before, inside), values);
        before = times(before, [inside[7]; 8]);
    }
    let (mut running, mut value) = (before[0], total(values));
    for ((x, w), derivative) in x_rest.iter().zip(w_rest).zip(&mut *derivatives_of_rest) {
        *derivative = running;
        running *= x;
        value += w * running;
    }
    let mut after = 0.0;
    for ((x, w), derivative) in x_rest.iter().zip(w_rest).zip(derivatives_of_rest).rev() {
        after += w;
        *derivative *= after;
        after *= x;
    }
    let mut after = [after; 8];
    for at in (0..x.len()).rev() {
        // The derivative behind a number, for the derivative d behind all: offset + factor · d, doubled three times.
        let (factor, offset) = (later::<1>(x[at], 1.0), w[at]);
        let offset = fused::<M>(factor, later::<1>(offset, 0.0), offset);
        let factor = times(factor, later::<1>(factor, 1.0));
        let offset = fused::<M>(factor, later::<2>(offset, 0.0), offset);
        let factor = times(factor, later::<2>(factor, 1.0));
        let offset = fused::<M>(factor, later::<4>(offset, 0.0), offset);
        let factor = times(factor, later::<4>(factor, 1.0));
        derivatives[at] = times(derivatives[at], fused::<M>(factor, after, offset));
        after = fused::<M>([x[at][0] * factor[0]; 8], after, [x[at][0] * offset[0]; 8]);
    }
    value
}

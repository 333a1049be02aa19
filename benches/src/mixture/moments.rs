//! Sums over points of the products of their coordinates, from which the gradient of a mixture of Gaussians is made.

use super::{Mixture, Wishart};
use crate::lanes::{Aligned, BLOCK, Block, Lanes, total};
use crate::machine::Machine;

/// The index of an element of a triangular matrix.
#[inline(always)]
pub(crate) fn place(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

/// A block's numbers, added to sums in lanes.
#[inline(always)]
fn folded(numbers: &Block, mut sums: Lanes) -> Lanes {
    for part in 0..BLOCK / 8 {
        for lane in 0..8 {
            sums[lane] += numbers[8 * part + lane];
        }
    }
    sums
}

/// A block's products, added to sums in lanes.
#[inline(always)]
fn folded_products<M: Machine>(a: &Block, b: &Block, mut sums: Lanes) -> Lanes {
    for part in 0..BLOCK / 8 {
        for lane in 0..8 {
            sums[lane] = M::fused(a[8 * part + lane], b[8 * part + lane], sums[lane]);
        }
    }
    sums
}

#[inline(always)]
fn products(a: &Block, b: &Block) -> Block {
    let mut products = [0.0; BLOCK];
    for at in 0..BLOCK {
        products[at] = a[at] * b[at];
    }
    products
}

/// Sums of the products of coordinates, each times the share of its point: all that a component's gradient needs.
pub(crate) struct Moments {
    d: usize,
    pub(crate) shares: Lanes,
    first: Vec<Lanes>,
    second: Vec<Aligned<Lanes>>,
}

impl Moments {
    pub(crate) fn new(d: usize) -> Moments {
        Moments { d, shares: [0.0; 8], first: vec![[0.0; 8]; d], second: vec![Aligned([0.0; 8]); d * (d + 1) / 2] }
    }

    pub(crate) fn clear(&mut self) {
        self.shares = [0.0; 8];
        self.first.fill([0.0; 8]);
        self.second.fill(Aligned([0.0; 8]));
    }

    #[inline(always)]
    pub(crate) fn add<M: Machine>(&mut self, centred: &[Aligned<Block>], shares: &Block) {
        self.shares = folded(shares, self.shares);
        // Two rows at once read each coordinate once; the first row of an odd number stands alone.
        if self.d % 2 == 1 {
            let weighted = products(shares, &centred[0]);
            self.first[0] = folded(&weighted, self.first[0]);
            *self.second[0] = folded_products::<M>(&weighted, &centred[0], *self.second[0]);
        }
        for row in (self.d % 2..self.d).step_by(2) {
            let (weighted, below) = (products(shares, &centred[row]), products(shares, &centred[row + 1]));
            self.first[row] = folded(&weighted, self.first[row]);
            self.first[row + 1] = folded(&below, self.first[row + 1]);
            let (sums, sums_below) = self.second[place(row, 0)..].split_at_mut(row + 1);
            for column in 0..=row {
                let x = &centred[column];
                let (mut sum, mut sum_below) = (*sums[column], *sums_below[column]);
                for part in 0..BLOCK / 8 {
                    for lane in 0..8 {
                        let at = 8 * part + lane;
                        sum[lane] = M::fused(x[at], weighted[at], sum[lane]);
                        sum_below[lane] = M::fused(x[at], below[at], sum_below[lane]);
                    }
                }
                (*sums[column], *sums_below[column]) = (sum, sum_below);
            }
            let last = &mut sums_below[row + 1];
            **last = folded_products::<M>(&below, &centred[row + 1], **last);
        }
    }

    /// With the moments s and S the gradient by Q is the gradient of Σ ln(diagonal) − ½ tr(Q S Qᵀ): below the diagonal it is −Q
    /// S; and by the mean it is QᵀQ s.
    #[inline(always)]
    pub(crate) fn gradient(&self, factor: &[f64], prior: Wishart, component: usize, gradient: &mut Mixture) {
        let d = self.d;
        let (square, share) = (prior.gamma * prior.gamma, total(self.shares));
        let first: Vec<f64> = self.first.iter().map(|lanes| total(*lanes)).collect();
        let mut second = vec![0.0; d * d];
        for row in 0..d {
            for column in 0..=row {
                let moment = total(*self.second[place(row, column)]);
                second[row * d + column] = moment;
                second[column * d + row] = moment;
            }
        }
        let means = &mut gradient.means[component * d..][..d];
        means.fill(0.0);
        let lower = &mut gradient.lower[component * d * (d - 1) / 2..][..d * (d - 1) / 2];
        let mut sums = vec![0.0; d];
        for row in 0..d {
            let factors = &factor[place(row, 0)..=place(row, row)];
            let projected: f64 = factors.iter().zip(&first).map(|(factor, x)| factor * x).sum();
            means.iter_mut().zip(factors).for_each(|(mean, factor)| *mean += factor * projected);
            sums.fill(0.0);
            for (factor, moments) in factors.iter().zip(second.chunks_exact(d)) {
                sums[..=row].iter_mut().zip(moments).for_each(|(sum, moment)| *sum += factor * moment);
            }
            let diagonal = factors[row];
            let slope = share + prior.m - diagonal * (sums[row] + square * diagonal);
            gradient.log_diagonals[component * d + row] = slope;
            for column in 0..row {
                // Columns follow each other, each one shorter than the one before.
                let at = column * (2 * d - column - 1) / 2 + row - column - 1;
                lower[at] = -sums[column] - square * factors[column];
            }
        }
    }
}

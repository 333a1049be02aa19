//! The squared distances of points from the nearest of some centres, summed: gradient and Hessian diagonal.

use crate::lanes::Aligned;
use crate::machine::{Machine, compiled};
use std::hint::black_box;

compiled! {
    /// The gradient, by the centres, of the sum of points' squared distances from the nearest centre, and the diagonal of its
    /// Hessian. Centres and points are rows of so many columns.
    pub fn k_means(
        centres: &[f32],
        points: &[f32],
        columns: usize,
        gradient: &mut [f32],
        curvature: &mut [f32],
    ) -> () = k_means_kernel;
}

/// Points whose nearest centres are searched together.
const POINTS: usize = 64;

/// Columns that are in registers at once.
const PANEL: usize = 48;

/// Coordinates in a panel of columns.
type Panel = Aligned<[[f32; 16]; PANEL / 16]>;

/// Sums of this many points are added in single precision, larger ones in double.
const TILE: usize = 64 * POINTS;

/// The gradient is 2 (n c − Σ p) for a centre c and the n points p that it is nearest to, the Hessian's diagonal 2 n.
#[inline(always)]
fn k_means_kernel<M: Machine>(
    centres: &[f32],
    points: &[f32],
    columns: usize,
    gradient: &mut [f32],
    curvature: &mut [f32],
) {
    let (k, n, panels) = (centres.len() / columns, points.len() / columns, columns.div_ceil(PANEL));
    let mut directions = Directions::new(centres, columns);
    let (mut totals, mut counts) = (vec![0.0; centres.len()], vec![0_u32; k]);
    let mut sums = vec![Aligned([[0.0_f32; 16]; PANEL / 16]); k * panels];
    // A row's last panel reads on into the following rows; some numbers must follow the last row.
    let mut last = vec![0.0; (POINTS - 1) * columns + panels * PANEL];
    for first in (0..n).step_by(POINTS) {
        let (mut block, count) = (&points[first * columns..], POINTS.min(n - first));
        if block.len() < last.len() {
            last[..count * columns].copy_from_slice(&block[..count * columns]);
            block = &last;
        }
        let nearest = directions.nearest::<M>(block, columns);
        for at in 0..count {
            let centre = nearest[at] as usize;
            counts[centre] += 1;
            for panel in 0..panels {
                // Otherwise the compiler makes vectors across panels, which are few.
                let x = black_box(window(block, at * columns + panel * PANEL));
                let mut sum = *sums[centre * panels + panel];
                for part in 0..PANEL / 16 {
                    for lane in 0..16 {
                        sum[part][lane] += x[16 * part + lane];
                    }
                }
                *sums[centre * panels + panel] = sum;
            }
        }
        if (first + POINTS).is_multiple_of(TILE) || first + POINTS >= n {
            for centre in 0..k {
                for column in 0..columns {
                    let (panel, rest) = (column / PANEL, column % PANEL);
                    totals[centre * columns + column] += f64::from(sums[centre * panels + panel][rest / 16][rest % 16]);
                }
            }
            sums.fill(Aligned([[0.0; 16]; PANEL / 16]));
        }
    }
    for centre in 0..k {
        let count = f64::from(counts[centre]);
        for at in centre * columns..(centre + 1) * columns {
            curvature[at] = (2.0 * count) as f32;
            gradient[at] = (2.0 * (count * f64::from(centres[at]) - totals[at])) as f32;
        }
    }
}

#[inline(always)]
fn window(points: &[f32], start: usize) -> &[f32; PANEL] {
    points[start..start + PANEL].first_chunk().expect("a panel has as many columns")
}

/// The centres c. The nearest centre to a point p has the smallest |c|² − 2 p·c, which is |p − c|² − |p|².
struct Directions {
    /// −2 c in panels, centre by centre, with zeros for missing columns.
    factors: Vec<Panel>,
    /// |c|².
    squares: Vec<f32>,
    /// For each centre the products p·c of a block of points, in four parts that are not yet added.
    products: Vec<Aligned<[[f32; 4]; POINTS]>>,
}

impl Directions {
    fn new(centres: &[f32], columns: usize) -> Directions {
        let mut factors = Vec::new();
        for coordinates in centres.chunks_exact(columns).flat_map(|centre| centre.chunks(PANEL)) {
            let mut panel = [[0.0; 16]; PANEL / 16];
            for (factor, c) in panel.as_flattened_mut().iter_mut().zip(coordinates) {
                *factor = -2.0 * c;
            }
            factors.push(Aligned(panel));
        }
        let squares = centres.chunks_exact(columns).map(|centre| centre.iter().map(|c| c * c).sum());
        let products = vec![Aligned([[0.0; 4]; POINTS]); centres.len() / columns];
        Directions { factors, squares: squares.collect(), products }
    }

    /// The nearest centre of each point of a block.
    #[inline(always)]
    fn nearest<M: Machine>(&mut self, points: &[f32], columns: usize) -> [u32; POINTS] {
        let panels = self.factors.len() / self.squares.len();
        for panel in 0..panels {
            for at in 0..POINTS {
                let x = window(points, at * columns + panel * PANEL);
                for centre in 0..self.squares.len() {
                    let factors = &self.factors[centre * panels + panel];
                    let mut sums = [0.0; 16];
                    for part in 0..PANEL / 16 {
                        for lane in 0..16 {
                            sums[lane] = M::fused_single(x[16 * part + lane], factors[part][lane], sums[lane]);
                        }
                    }
                    // The compiler is not to see that only sums of four are asked for, or it makes vectors of four only.
                    let sums = black_box(sums);
                    let mut quarters = if panel == 0 { [0.0; 4] } else { self.products[centre][at] };
                    for lane in 0..4 {
                        quarters[lane] += (sums[lane] + sums[lane + 8]) + (sums[lane + 4] + sums[lane + 12]);
                    }
                    self.products[centre][at] = quarters;
                }
            }
        }
        let (mut smallest, mut nearest) = ([f32::INFINITY; POINTS], [0; POINTS]);
        for centre in 0..self.squares.len() {
            let (square, products) = (self.squares[centre], &self.products[centre]);
            for at in 0..POINTS {
                let product = products[at];
                let score = square + ((product[0] + product[1]) + (product[2] + product[3]));
                nearest[at] = if score < smallest[at] { centre as u32 } else { nearest[at] };
                smallest[at] = if score < smallest[at] { score } else { smallest[at] };
            }
        }
        nearest
    }
}

//! The method of Levenberg and Marquardt, with the damping of Nielsen (1999): steps d of (Jᵀ J + μ D) d = −Jᵀ r, where D is the
//! diagonal of Jᵀ J.

use crate::model::{Observed, Scene, residuals};
use deltaray::Result;
use deltaray::derivative::StagedFn;
use deltaray::prelude::*;
use deltaray::sparse::{Pattern, SparseCholesky, SparseJacobian};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// An adjustment is done where a step promises less than this part of the cost.
const TOLERANCE: f64 = 1e-4;

type Residuals = StagedFn<fn(Scene<Concrete>, Observed<Concrete>) -> Matrix<Concrete, f64>>;
type Jacobian = SparseJacobian<(Scene<Concrete>, Observed<Concrete>), f64>;
/// Jᵀ J and Jᵀ r.
type Equations = (Csr<f64>, Vector<Concrete, f64>);

/// All that is found once for problems of one structure: programs, patterns, and the analysis of the factor.
pub struct Adjustment {
    residuals: Residuals,
    jacobian: Jacobian,
    /// Where the normal equations have entries, and which of them are on the diagonal.
    pattern: Arc<Pattern>,
    diagonal: Vec<usize>,
    cholesky: SparseCholesky,
    /// Entries of the Jacobian, and the seconds that the analysis of the factor took.
    entries: usize,
    seconds: f64,
}

/// An accepted or rejected step.
pub struct Step {
    number: usize,
    cost: f64,
    damping: f64,
    is_accepted: bool,
    seconds: f64,
}

/// The result of an adjustment.
pub struct Found {
    pub scene: Scene<Concrete>,
    pub cost: f64,
    pub iterations: usize,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { number, cost, damping, is_accepted, seconds } = self;
        let rejected = if *is_accepted { "" } else { ", rejected" };
        write!(f, "iteration {number:2}: cost {cost:16.6}, damping {damping:.1e}, {seconds:.3} s{rejected}")
    }
}

impl Adjustment {
    /// The programs and patterns for problems with these pairs.
    pub fn new(scene: &Scene<Concrete>, observed: &Observed<Concrete>) -> Result<Adjustment> {
        let residuals: Residuals = stage(residuals, (scene, observed))?;
        let jacobian = residuals.sparse_jacobian()?;
        let of_residuals = jacobian.compressed((scene, observed))?;
        let pattern = Arc::new(of_residuals.pattern().gram());
        let start = Instant::now();
        let cholesky = SparseCholesky::new(&pattern)?;
        let seconds = start.elapsed().as_secs_f64();
        let place = |row: usize| pattern.row_offsets()[row] + pattern.row(row).partition_point(|&column| column < row);
        let diagonal = (0..pattern.rows()).map(place).collect();
        let entries = of_residuals.nonzeros();
        Ok(Adjustment { residuals, jacobian, pattern, diagonal, cholesky, entries, seconds })
    }

    /// A line about the sizes of matrices.
    pub fn facts(&self) -> String {
        let (rows, entries, filled) = (self.pattern.rows(), self.pattern.nonzeros(), self.cholesky.factor_nonzeros());
        format!(
            "{} entries of the Jacobian, {rows} unknowns, {entries} entries of its square, {filled} of the factor \
             (analysed in {:.3} s): ready",
            self.entries, self.seconds
        )
    }

    /// Half of the sum of squares.
    pub fn cost(&self, scene: &Scene<Concrete>, observed: &Observed<Concrete>) -> Result<f64> {
        Ok(0.5 * self.residuals.call((scene, observed))?.powi(2).sum().item())
    }

    /// The best scene that is found from a start. The last argument is told of each step.
    pub fn run(
        &self,
        start: Scene<Concrete>,
        observed: &Observed<Concrete>,
        iterations: usize,
        mut observe: impl FnMut(&Step),
    ) -> Result<Found> {
        let mut found = Found { cost: self.cost(&start, observed)?, scene: start, iterations: 0 };
        let (mut damping, mut growth) = (1e-3, 2.0);
        let mut equations = self.equations(&found.scene, observed)?;
        while found.iterations < iterations {
            let clock = Instant::now();
            found.iterations += 1;
            let step = self.step(&equations, damping);
            let scene = moved(&found.scene, &step);
            let cost = self.cost(&scene, observed)?;
            // The decrease that the equations promise: half of dᵀ (μ D d − Jᵀ r).
            let damped = self.diagonal(&equations.0) * damping * &step;
            let promise = 0.5 * step.dot(&(damped - &equations.1)).item();
            let ratio = (found.cost - cost) / promise;
            // The cost, or the step, may be NaN.
            let is_accepted = ratio > 0.0;
            if is_accepted {
                (damping, growth) = (damping * (1.0 - (2.0 * ratio - 1.0).powi(3)).max(1.0 / 3.0), 2.0);
                (found.scene, found.cost) = (scene, cost);
                equations = self.equations(&found.scene, observed)?;
            } else {
                (damping, growth) = (damping * growth, growth * 2.0);
            }
            let seconds = clock.elapsed().as_secs_f64();
            observe(&Step { number: found.iterations, cost: found.cost, damping, is_accepted, seconds });
            if promise <= TOLERANCE * found.cost {
                break;
            }
        }
        Ok(found)
    }

    /// Jᵀ J and Jᵀ r.
    fn equations(&self, scene: &Scene<Concrete>, observed: &Observed<Concrete>) -> Result<Equations> {
        let jacobian = self.jacobian.call((scene, observed))?;
        let residuals = self.residuals.call((scene, observed))?.flatten();
        Ok((jacobian.gram(&self.pattern), jacobian.transpose().dot(&residuals)))
    }

    fn diagonal(&self, matrix: &Csr<f64>) -> Vector<Concrete, f64> {
        let values = matrix.values().to_vec();
        self.diagonal.iter().map(|&at| values[at]).collect::<Vec<f64>>().into()
    }

    fn step(&self, (matrix, gradient): &Equations, damping: f64) -> Vector<Concrete, f64> {
        let mut values = matrix.values().to_vec();
        self.diagonal.iter().for_each(|&at| values[at] *= 1.0 + damping);
        self.cholesky.solve(&values.into(), &-gradient)
    }
}

/// A scene after a step, whose elements are those of cameras, and then of points.
fn moved(scene: &Scene<Concrete>, step: &Vector<Concrete, f64>) -> Scene<Concrete> {
    let count = 11 * scene.cameras.len();
    let part = |range: std::ops::Range<usize>, like: &Matrix<Concrete, f64>| {
        let shape = like.shape();
        step.slice(0, range).reshape((shape[0], shape[1]))
    };
    Scene {
        cameras: &scene.cameras + part(0..count, &scene.cameras),
        points: &scene.points + part(count..step.len(), &scene.points),
    }
}

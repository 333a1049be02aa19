//! Problems by chance, whose truth is known: cameras around a ball of points, all looking at its centre.

use crate::model::{Observed, Scene, residuals};
use crate::random::Random;
use deltaray::prelude::*;

/// How many cameras, points and observations there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub cameras: usize,
    pub points: usize,
    pub observations: usize,
}

/// A problem: the truth, a guess to begin with, and the observations.
pub struct Problem {
    pub truth: Scene<Concrete>,
    pub guess: Scene<Concrete>,
    pub observed: Observed<Concrete>,
}

/// The standard deviation of observations, in pixels.
pub const NOISE: f64 = 0.5;
/// Those of guessed cameras, in the order of their parameters, and points.
const CAMERA: [f64; 11] = [0.01, 0.01, 0.01, 0.05, 0.05, 0.05, 10.0, 1.0, 1.0, 0.01, 0.01];
const POINT: f64 = 0.05;
/// The distance of cameras from the centre.
const DISTANCE: f64 = 6.0;

impl Size {
    /// The size that a file of ADBench begins with.
    pub fn of_file(text: &str) -> Option<Size> {
        let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
        Some(Size { cameras: numbers.next()?, points: numbers.next()?, observations: numbers.next()? })
    }

    /// Checks that every point is seen, and by no camera more than once.
    pub fn check(&self) -> Result<(), String> {
        let Size { cameras, points, observations } = *self;
        let (least, most) = (points, points.saturating_mul(cameras));
        if points == 0 || !(least..=most).contains(&observations) {
            return Err(format!(
                "{points} points and {cameras} cameras have {least} to {most} observations, not {observations}"
            ));
        }
        Ok(())
    }
}

/// A camera whose axis, the third, goes through the centre of the points.
fn camera(random: &mut Random) -> [f64; 11] {
    let direction: [f64; 3] = std::array::from_fn(|_| random.normal());
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [x, y, z] = direction.map(|x| x / length);
    // The rotation that takes the direction to the centre, which is opposite, to the third axis.
    let sine = x.hypot(y).max(1e-12);
    let angle = sine.atan2(-z) / sine;
    let centre = [x, y, z].map(|x| x * DISTANCE);
    let focal = 1000.0 + 20.0 * random.normal();
    [-y * angle, x * angle, 0.0, centre[0], centre[1], centre[2], focal, 0.0, 0.0, -0.1, 0.02]
}

/// The same matrix with noise, of a standard deviation for each column.
fn moved(a: &Matrix<Concrete, f64>, deviations: &[f64], random: &mut Random) -> Matrix<Concrete, f64> {
    let noise = (0..a.len()).flat_map(|_| deviations).map(|deviation| deviation * random.normal());
    a + Matrix::from_elements((a.len(), deviations.len()), noise.collect())
}

/// A problem of this size. Each point is seen by cameras that follow each other around.
pub fn draw(size: Size, seed: u64) -> Problem {
    let Size { cameras, points, observations } = size;
    let mut random = Random::new(seed);
    let cameras: Vec<f64> = (0..cameras).flat_map(|_| camera(&mut random)).collect();
    let positions: Vec<f64> = (0..3 * points).map(|_| 2.0 * random.uniform() - 1.0).collect();
    let truth = Scene {
        cameras: Matrix::from_elements((size.cameras, 11), cameras),
        points: Matrix::from_elements((points, 3), positions),
    };
    let first: Vec<usize> = (0..points).map(|_| (random.uniform() * size.cameras as f64) as usize).collect();
    let pairs = (0..observations).flat_map(|at| {
        let (point, round) = (at % points, at / points);
        [((first[point] + round) % size.cameras) as i64, point as i64]
    });
    let mut observed = Observed {
        pairs: fixed(Matrix::from_elements((observations, 2), pairs.collect())),
        features: zeros((observations, 2)),
        weights: ones(observations),
    };
    let seen = residuals(&(truth.clone(), observed.clone()));
    observed.features = moved(&seen, &[NOISE; 2], &mut random);
    let guess = Scene {
        cameras: moved(&truth.cameras, &CAMERA, &mut random),
        points: moved(&truth.points, &[POINT; 3], &mut random),
    };
    Problem { truth, guess, observed }
}

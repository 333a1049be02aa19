//! The eight schools of Rubin (1981), sampled by nuts-rs with gradients made here.
//!
//! ```sh
//! cargo run --release --manifest-path examples/nuts/Cargo.toml
//! ```

use deltaray::prelude::*;
use nuts_rs::rand::{Rng, SeedableRng, rngs::StdRng};
use nuts_rs::{Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings};
use std::collections::HashMap;

/// The mean and the spread of the schools' effects, and how far each is from the mean, in units of the spread.
#[derive(Tree)]
struct Schools<A: Algebra> {
    mean: Scalar<A, f64>,
    log_spread: Scalar<A, f64>,
    offsets: Vector<A, f64>,
}

/// The logarithm of the posterior density, up to a constant: a normal prior on the mean, half a Cauchy on the spread.
#[differentiable]
fn log_density(schools: Schools, effects: Vector<f64>, errors: Vector<f64>) -> Scalar<f64> {
    let spread = schools.log_spread.exp();
    let residuals = (effects - schools.mean - spread * schools.offsets) / errors;
    let prior = (schools.mean / 5.0).powi(2) + schools.offsets.powi(2).sum();
    schools.log_spread - (spread / 5.0).powi(2).ln_1p() - 0.5 * (prior + residuals.powi(2).sum())
}

#[derive(Clone)]
struct Posterior(SliceFunction<f64>);

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Failure(#[from] deltaray::Error);

impl LogpError for Failure {
    fn is_recoverable(&self) -> bool {
        false
    }
}

impl HasDims for Posterior {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".into(), self.0.len() as u64)])
    }
}

impl CpuLogpFunc for Posterior {
    type LogpError = Failure;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        self.0.len()
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, Failure> {
        Ok(self.0.value_and_grad(position, gradient)?)
    }

    fn expand_vector<R: Rng + ?Sized>(&mut self, _: &mut R, position: &[f64]) -> Result<Vec<f64>, CpuMathError> {
        Ok(position.to_vec())
    }
}

const EFFECTS: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Schools { mean: scalar(0.0), log_spread: scalar(0.0), offsets: zeros(8) };
    let (effects, errors) = (Vector::from(EFFECTS), Vector::from(ERRORS));
    let staged =
        stage(|(schools, effects, errors)| log_density(schools, effects, errors), (&start, &effects, &errors))?;
    let posterior = Posterior(staged.over_slices_with((&effects, &errors))?);

    let settings = DiagNutsSettings { num_tune: 1000, ..Default::default() };
    let mut rng = StdRng::seed_from_u64(1);
    let mut chain = settings.new_chain(0, CpuMath::new(posterior), &mut rng)?;
    chain.set_position(&[0.1; 10])?;
    let (count, mut mean, mut spread) = (10_000, 0.0, 0.0);
    for draw in 0..1000 + count {
        let (position, _) = chain.draw()?;
        if draw >= 1000 {
            mean += position[0] / count as f64;
            spread += position[1].exp() / count as f64;
        }
    }
    println!("posterior means of {count} draws: effect {mean:.2}, spread {spread:.2}");
    // The reference posterior of posteriordb has 4.4 and 3.6.
    assert!((mean - 4.4).abs() < 0.3 && (spread - 3.6).abs() < 0.4);
    Ok(())
}

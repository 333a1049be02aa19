//! A Kalman filter and smoother whose noise is learnt by the gradient of the likelihood, which goes through a loop over time with a
//! Cholesky factor in each step. The filter is Kalman's (1960), the smoother that of Rauch, Tung and Striebel (1965).
//!
//! ```sh
//! cargo run --release --example kalman
//! cargo run --release --example kalman -- --dimension 20
//! ```
//!
//! The use of deltaray is in `model.rs`; `data.rs` simulates masses that are joined by springs.

mod data;
#[path = "../gaussian_process/lbfgs.rs"]
mod lbfgs;
mod learn;
mod model;
#[path = "../device/options.rs"]
mod options;
#[path = "../digits/random.rs"]
#[allow(dead_code, reason = "it also shuffles")]
mod random;
#[cfg(test)]
mod tests;

use deltaray::prelude::*;
use learn::{Likelihood, root_mean_square};
use model::track;
use options::{at_least_one, unknown, value};
use std::error::Error;
use std::time::Instant;

const HELP: &str = "\
Learns the noise of a system of masses and springs from measurements of positions.

usage: cargo run --release --example kalman -- [options]

  --dimension N      elements of the state, an even number up to 20: a position and a velocity of each mass; 4 unless given
  --steps N          steps of time; 200 unless given
  --report           prints the kernels of the gradient with their times
  --help             prints this
";

struct Options {
    masses: usize,
    steps: usize,
    report: bool,
}

impl Options {
    /// The options, or none where help is asked for.
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let mut options = Options { masses: 2, steps: 200, report: false };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--dimension" => {
                    let dimension = at_least_one(&word, &value(&word, &mut words)?)?;
                    if dimension % 2 == 1 || dimension > 20 {
                        return Err(format!("{word} needs an even number up to 20, but `{dimension}` was given"));
                    }
                    options.masses = dimension / 2;
                }
                "--steps" => options.steps = at_least_one(&word, &value(&word, &mut words)?)?,
                "--report" => options.report = true,
                "--help" | "-h" => return Ok(None),
                _ => return Err(unknown(&word)),
            }
        }
        Ok(Some(options))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        print!("{HELP}");
        return Ok(());
    };
    let (system, truth) = (data::masses(options.masses), data::truth(options.masses));
    let (states, measurements) = data::simulate(&system, &truth, options.steps, 1);
    let start = Instant::now();
    let likelihood = Likelihood::new(&system, &measurements, options.report)?;
    println!("ready after {:.3} s", start.elapsed().as_secs_f64());

    let start = Instant::now();
    let (guess, mut values) = (data::guess(options.masses), Vec::new());
    let learnt = likelihood.learn(guess.clone(), |value| values.push(value))?;
    let seconds = start.elapsed().as_secs_f64();
    let (before, after) = (values[0], values[values.len() - 1]);
    println!("log-likelihood {before:.3} before, {after:.3} after {} iterations", learnt.iterations);
    println!("{} gradients in {seconds:.3} s, {:.5} s each", learnt.evaluations, seconds / learnt.evaluations as f64);
    print("process noise", &learnt.parameters.log_process, &truth.log_process);
    print("measurement noise", &learnt.parameters.log_measurement, &truth.log_measurement);

    let tracked = stage(track {}.closure(), (&guess, &system, &measurements))?;
    let error = |of: &Matrix<Concrete, f64>| root_mean_square(&(of - &states));
    for (name, noise) in [("guessed", &guess), ("learnt", &learnt.parameters), ("true", &truth)] {
        let (filtered, smoothed) = tracked.call((noise, &system, &measurements))?;
        println!(
            "root mean square error with {name} noise: filter {:.4}, smoother {:.4}",
            error(&filtered),
            error(&smoothed)
        );
    }
    if options.report {
        println!("\n{}", likelihood.report());
    }
    Ok(())
}

/// Prints standard deviations beside the true ones.
fn print(name: &str, found: &Vector<Concrete, f64>, expected: &Vector<Concrete, f64>) {
    println!("{name}: {:.3?}, in truth {:.3?}", found.exp().to_vec(), expected.exp().to_vec());
}

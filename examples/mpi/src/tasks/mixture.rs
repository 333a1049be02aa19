//! A mixture of Gaussians with full covariances: its posterior, as ADBench has it.

use super::{Shards, first_centres, points};
use crate::job::{Job, Method, Rows};
use crate::objective::{Mixture, Wishart, log_densities, log_prior};
use crate::options::Options;
use deltaray::prelude::*;
use std::error::Error;

/// A part's share of the mean over all rows of −ln of the posterior density.
#[differentiable]
fn loss((mixture, part): (Mixture<f64>, Rows), #[plain] rows: usize) -> Scalar<f64> {
    let prior = log_prior(&mixture, &Wishart { gamma: scalar(1.0), m: scalar(0.0) });
    let densities = part.weights.dot(&log_densities(&mixture, &part.x));
    -(densities + prior * part.weights.sum() / rows as f64) / rows as f64
}

/// The sum over a part's rows of ln of the density.
#[differentiable]
fn score((mixture, part): (Mixture<f64>, Rows)) -> Scalar<f64> {
    part.weights.dot(&log_densities(&mixture, &part.x))
}

pub fn job(options: &Options, shards: &Shards) -> Result<Job, Box<dyn Error>> {
    let (k, d) = (options.clusters, options.features);
    let start = Mixture::<Concrete> {
        alpha: zeros(k),
        means: first_centres(options),
        log_diagonals: zeros((k, d)),
        lower: zeros((k, d * (d - 1) / 2)),
    };
    let data = shards.data(options.features, |shard, part, rows| points(options, shard, part, rows));
    let kind = (Method::Descent, "mean of ln of the density");
    Ok(Job::new(options, kind, &start, &data, (&loss { rows: options.rows }, &score {}))?)
}

//! Centres of clusters, by Newton's method: each centre becomes the mean of the points that are nearest to it.

use super::{Shards, first_centres, points};
use crate::job::{Job, Method, Rows};
use crate::options::Options;
use deltaray::prelude::*;
use std::error::Error;

/// The squared distances of a part's points from the nearest of the centres [k, d], summed; |p − c|² = |p|² − 2 p·c + |c|².
#[differentiable]
fn distances((centres, part): (Matrix<f64>, Rows)) -> Scalar<f64> {
    let from_origin = centres.powi(2).sum_axis(1) - 2.0 * part.x.dot(&centres.transpose());
    part.weights.dot(&(part.x.powi(2).sum_axis(1) + from_origin.min_axis(1)))
}

/// A part's share of the mean over all rows.
#[differentiable]
fn loss((centres, part): (Matrix<f64>, Rows), #[plain] rows: usize) -> Scalar<f64> {
    distances(&(centres, part)) / rows as f64
}

pub fn job(options: &Options, shards: &Shards) -> Result<Job, Box<dyn Error>> {
    let start = first_centres(options);
    let data = shards.data(options.features, |shard, part, rows| points(options, shard, part, rows));
    let kind = (Method::Newton, "mean of the squared distance");
    Ok(Job::new(options, kind, &start, &data, (&loss { rows: options.rows }, &distances {}))?)
}

//! A logistic regression, with a small penalty on its weights.

use super::{Shards, of_row};
use crate::job::{Job, Method, Rows};
use crate::options::Options;
use crate::random::Random;
use deltaray::prelude::*;
use deltaray_example_mpi::shard::Shard;
use std::error::Error;
use std::ops::Range;

/// A plane: what is above it has the label 1, and what is below it 0.
#[derive(Tree)]
struct Plane<A: Algebra> {
    slope: Vector<A, f64>,
    offset: Scalar<A, f64>,
}

type Labelled<A> = (Rows<A>, Vector<A, f64>);

/// A part's share of the mean over all rows.
#[differentiable]
fn loss((plane, (part, labels)): (Plane, Labelled), #[plain] rows: usize) -> Scalar<f64> {
    let scores = part.x.dot(plane.slope) + plane.offset;
    let penalty = 1e-3 * plane.slope.powi(2).sum();
    part.weights.dot(&(scores.softplus() - labels * scores + penalty)) / rows as f64
}

/// The number of a part's rows that are on the right side.
#[differentiable]
fn score((plane, (part, labels)): (Plane, Labelled)) -> Scalar<f64> {
    let scores = part.x.dot(plane.slope) + plane.offset;
    part.weights.dot(&scores.gt(0.0).equal(labels.gt(0.5)).select(1.0, 0.0))
}

/// Rows of a range, with labels of which some are wrong.
fn labelled(options: &Options, shard: &Shard, part: &Range<usize>, rows: Range<usize>) -> Labelled<Concrete> {
    let mut random = Random::new(options.seed);
    let plane: Vec<f64> = (0..options.features).map(|_| random.normal()).collect();
    let (mut x, mut labels) = (Vec::with_capacity(shard.height() * options.features), Vec::new());
    for row in rows {
        let mut random = of_row(options.seed, row);
        let mut score = 0.3 + random.normal();
        x.extend(plane.iter().map(|slope| {
            let feature = random.normal();
            score += slope * feature;
            feature
        }));
        labels.push(f64::from(score > 0.0));
    }
    x.resize(shard.height() * options.features, 0.0);
    labels.resize(shard.height(), 0.0);
    let x = Matrix::from_elements((shard.height(), options.features), x);
    (Rows { x, weights: shard.weights(part).into() }, labels.into())
}

pub fn job(options: &Options, shards: &Shards) -> Result<Job, Box<dyn Error>> {
    let start = Plane::<Concrete> { slope: zeros(options.features), offset: scalar(0.0) };
    let data = shards.data(options.features, |shard, part, rows| labelled(options, shard, part, rows));
    let kind = (Method::Descent, "accuracy");
    Ok(Job::new(options, kind, &start, &data, (&loss { rows: options.rows }, &score {}))?)
}

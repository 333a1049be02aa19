//! The perceptron of the example `digits`, in double precision, trained by all images at once.

use crate::data::{self, Dataset};
use crate::job::{Data, Job, Method, Rows};
use crate::options::Options;
use crate::perceptron::{Mlp, scores};
use crate::random::Random;
use deltaray::prelude::*;
use deltaray_example_mpi::shard::Shard;
use std::error::Error;
use std::ops::Range;
use std::path::Path;

type Labelled<A> = (Rows<A>, Vector<A, i64>);

/// A part's share of the mean over all images of the cross-entropy between softmax and label.
#[differentiable]
fn loss((perceptron, (part, labels)): (Mlp<f64>, Labelled), #[plain] rows: usize) -> Scalar<f64> {
    let scores = scores(&perceptron, &part.x);
    let right = build(labels.len(), |image| scores[(image, labels[image])]);
    part.weights.dot(&(scores.logsumexp_axis(1) - right)) / rows as f64
}

/// The number of a part's images that are taken for the right digit.
#[differentiable]
fn score((perceptron, (part, labels)): (Mlp<f64>, Labelled)) -> Scalar<f64> {
    part.weights.dot(&scores(&perceptron, &part.x).argmax_axis(1).equal(labels).select(1.0, 0.0))
}

/// The images at some of the positions.
fn labelled(data: &Dataset, shard: &Shard, part: &Range<usize>, positions: &[usize]) -> Labelled<Concrete> {
    let (images, digits) = data.rows(&positions[part.clone()]);
    let width = images.ncols();
    let mut x: Vec<f64> = images.iter().map(|&pixel| f64::from(pixel)).collect();
    let mut labels: Vec<i64> = digits.into_iter().map(i64::from).collect();
    x.resize(shard.height() * width, 0.0);
    labels.resize(shard.height(), 0);
    let x = Matrix::from_elements((shard.height(), width), x);
    (Rows { x, weights: shard.weights(part).into() }, labels.into())
}

pub fn job(options: &Options, shard: impl Fn(usize) -> Shard) -> Result<Job, Box<dyn Error>> {
    let digits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/digits.csv.gz");
    let data = data::load(options.data.as_deref().unwrap_or(&digits))?;
    let mut random = Random::new(options.seed);
    let split = data.split(&mut random);
    let rows = split.training.len();
    let (training, test) = (shard(rows), shard(split.test.len()));
    let start = Mlp::random(data.images.ncols(), &mut random);
    let part = |shard: &Shard, positions: &[usize]| -> Vec<Labelled<Concrete>> {
        shard.parts().map(|part| labelled(&data, shard, &part, positions)).collect()
    };
    let (parts, test_parts) = (part(&training, &split.training), part(&test, &split.test));
    let data = Data { features: data.images.ncols(), training, test, parts, test_parts };
    Ok(Job::new(options, (Method::Descent, "accuracy"), &start, &data, (&loss { rows }, &score {}))?)
}

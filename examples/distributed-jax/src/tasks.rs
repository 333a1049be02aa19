//! The tasks: a mixture of Gaussians of ADBench's objective, and the perceptron of the example `digits`.

use crate::data::{self, Dataset};
use crate::objective::{Mixture, Wishart, log_likelihood, log_prior};
use crate::perceptron::{Mlp, cross_entropy, scores};
use crate::random::Random;
use crate::{Export, Task};
use deltaray::prelude::*;
use std::error::Error;
use std::path::Path;

/// Points for the mixture, at most, their dimension, and the number of Gaussians.
const POINTS: usize = 4000;
const DIMENSION: usize = 8;
const GAUSSIANS: usize = 5;

/// How many rows each shard has.
fn height(rows: usize, shards: usize) -> Result<usize, String> {
    match rows / shards {
        0 => Err(format!("{rows} rows are too few for {shards} shards")),
        height => Ok(height),
    }
}

/// A shard's share of the mean over all rows of −ln of the posterior density of a mixture.
#[differentiable]
fn share_of_mixture(
    (mixture, points): (Mixture<f64>, Matrix<f64>),
    #[plain] rows: usize,
    #[plain] shards: usize,
) -> Scalar<f64> {
    let prior = log_prior(&mixture, &Wishart { gamma: scalar(1.0), m: scalar(0.0) });
    -(log_likelihood(&mixture, &points) + prior / shards as f64) / rows as f64
}

/// Points around as many places as there are Gaussians, which start beside these.
pub fn mixture(export: &mut Export) -> Result<(), Box<dyn Error>> {
    let (shards, random) = (export.shards, &mut Random::new(0));
    let mut normal = |count: usize| -> Vec<f64> { (0..count).map(|_| random.normal()).collect() };
    let places: Vec<f64> = normal(GAUSSIANS * DIMENSION).into_iter().map(|x| 3.0 * x).collect();
    let height = height(POINTS, shards)?;
    let rows = height * shards;
    let mut points = normal(rows * DIMENSION);
    points.iter_mut().enumerate().for_each(|(at, x)| *x += places[at % places.len()]);
    let means = places.iter().zip(normal(places.len())).map(|(place, x)| place + x).collect();
    let start = Mixture::<Concrete> {
        alpha: zeros(GAUSSIANS),
        means: Matrix::from_elements((GAUSSIANS, DIMENSION), means),
        log_diagonals: zeros((GAUSSIANS, DIMENSION)),
        lower: zeros((GAUSSIANS, DIMENSION * (DIMENSION - 1) / 2)),
    };
    let points: Matrix<Concrete, f64> = Matrix::from_elements((rows, DIMENSION), points);
    let shard = points.slice(0, ..height);
    let task = Task { name: "mixture", start, rows: points, shard, rate: 0.05 };
    export.add(task, &share_of_mixture { rows, shards }, &share_of_mixture { rows, shards: 1 })
}

/// Images, one a row, and the digits on them.
#[derive(Tree)]
struct Batch<A: Algebra> {
    images: Matrix<A, f64>,
    labels: Vector<A, i64>,
}

/// A shard's share of the mean over all images of the cross-entropy between softmax and label.
#[differentiable]
fn share_of_perceptron((mlp, batch): (Mlp<f64>, Batch), #[plain] shards: usize) -> Scalar<f64> {
    cross_entropy(&scores(&mlp, &batch.images), &batch.labels) / shards as f64
}

/// The images of handwritten digits, without those left over where there are as many for each shard.
pub fn perceptron(export: &mut Export) -> Result<(), Box<dyn Error>> {
    let digits = data::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/digits.csv.gz"))?;
    let shards = export.shards;
    let height = height(digits.labels.len(), shards)?;
    let start = Mlp::random(digits.images.ncols(), &mut Random::new(0));
    let (rows, shard) = (batch(&digits, height * shards), batch(&digits, height));
    let task = Task { name: "perceptron", start, rows, shard, rate: 0.5 };
    export.add(task, &share_of_perceptron { shards }, &share_of_perceptron { shards: 1 })
}

/// As many images, from the first.
fn batch(digits: &Dataset, count: usize) -> Batch<Concrete> {
    let (images, labels) = digits.rows(&(0..count).collect::<Vec<usize>>());
    let labels: Vec<i64> = labels.into_iter().map(i64::from).collect();
    Batch { images: images.mapv(f64::from).into(), labels: labels.into() }
}

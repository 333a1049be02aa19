//! The tasks: data, loss and score of each.

mod digits;
mod kmeans;
mod logistic;
mod mixture;

use crate::job::{Data, Job, Rows};
use crate::options::Options;
use crate::random::Random;
use deltaray::prelude::*;
use deltaray_example_mpi::shard::Shard;
use std::error::Error;
use std::ops::Range;

/// A task for this rank, whose shard of a number of rows the function gives.
pub fn job(options: &Options, shard: impl Fn(usize) -> Shard) -> Result<Job, String> {
    let job = match options.task.as_str() {
        "mixture" => mixture::job(options, &Shards::synthetic(options, shard)),
        "kmeans" => kmeans::job(options, &Shards::synthetic(options, shard)),
        "logistic" => logistic::job(options, &Shards::synthetic(options, shard)),
        "digits" => digits::job(options, shard),
        task => return Err(format!("unknown task `{task}`; --help lists those there are")),
    };
    job.map_err(|error: Box<dyn Error>| error.to_string())
}

/// The rows of this rank: for training, and others for testing.
struct Shards {
    training: Shard,
    test: Shard,
}

impl Shards {
    fn synthetic(options: &Options, shard: impl Fn(usize) -> Shard) -> Shards {
        Shards { training: shard(options.rows), test: shard(options.rows.div_ceil(4)) }
    }

    /// The parts, of rows that are made each by itself.
    fn data<T>(&self, features: usize, part: impl Fn(&Shard, &Range<usize>, Range<usize>) -> T) -> Data<T> {
        let Shards { training, test } = *self;
        let parts = training.parts().map(|rows| part(&training, &rows, rows.clone())).collect();
        let after = |rows: &Range<usize>| rows.start + training.rows..rows.end + training.rows;
        let test_parts = test.parts().map(|rows| part(&test, &rows, after(&rows))).collect();
        Data { features, training, test, parts, test_parts }
    }
}

/// The random numbers of a row, which are the same on whichever rank it is.
fn of_row(seed: u64, row: usize) -> Random {
    Random::new(seed.wrapping_mul(0xa076_1d64_78bd_642f) ^ (row as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95))
}

/// Where the points of each cluster are: [clusters, features].
fn places(options: &Options) -> Vec<f64> {
    let mut random = Random::new(options.seed);
    (0..options.clusters * options.features).map(|_| 3.0 * random.normal()).collect()
}

/// Where a fit of the clusters starts: beside them.
fn first_centres(options: &Options) -> Matrix<Concrete, f64> {
    let mut random = Random::new(!options.seed);
    let centres = places(options).into_iter().map(|place| place + random.normal()).collect();
    Matrix::from_elements((options.clusters, options.features), centres)
}

/// Points around the places of clusters, made row by row: those in a range, at the beginning of arrays for a part of the shard.
fn points(options: &Options, shard: &Shard, part: &Range<usize>, rows: Range<usize>) -> Rows<Concrete> {
    let (places, width) = (places(options), options.features);
    let mut x = Vec::with_capacity(shard.height() * width);
    for row in rows {
        let mut random = of_row(options.seed, row);
        let place = &places[row % options.clusters * width..][..width];
        x.extend(place.iter().map(|place| place + random.normal()));
    }
    x.resize(shard.height() * width, 0.0);
    Rows { x: Matrix::from_elements((shard.height(), width), x), weights: shard.weights(part).into() }
}

//! Finds clusters of points by Newton's method, whose step for k-means is its classical one: each centre becomes the mean of
//! the points that are nearest to it. Points and centres stay where the program runs.
//!
//! ```text
//! cargo run --release --example kmeans
//! cargo run --release --features opencl --example kmeans -- --device opencl
//! ```

#[path = "device/mod.rs"]
mod device;
#[path = "digits/random.rs"]
#[allow(dead_code)]
mod random;

use deltaray::prelude::*;
use device::Device;
use device::options::{at_least_one, unknown, value};
use random::Random;
use std::error::Error;
use std::time::Instant;

const HELP: &str = "\
Finds clusters of random points.

usage: cargo run --release --example kmeans -- [options]

  --device WHERE     interpreter, cpu (compiled), opencl (the first device), or opencl:NAME, which is part of a
                     device's name, or one of gpu, cpu and accelerator; cpu unless given
  --points N         points; 20000 unless given
  --clusters N       clusters; 10 unless given
  --dimensions N     numbers of each point; 8 unless given
  --steps N          steps at most; 50 unless given
  --report           prints the kernels there and on the processor, side by side, with their times
  --help             prints this
";

/// The squared distances of points [n, d] from the nearest of the centres [k, d], summed; |p − c|² = |p|² − 2 p·c + |c|².
#[differentiable]
fn cost((centres, points): (Matrix<f64>, Matrix<f64>)) -> Scalar<f64> {
    let from_origin = centres.powi(2).sum_axis(1) - 2.0 * points.dot(&centres.transpose());
    points.powi(2).sum() + from_origin.min_axis(1).sum()
}

/// The centres after a step, and the cost before it. The Hessian is diagonal: its product with ones is that diagonal. Centres
/// that no point is nearest to stay where they are.
#[differentiable]
fn step((centres, points): (Matrix<f64>, Matrix<f64>)) -> (Matrix<f64>, Scalar<f64>) {
    let along = ones(&centres.shape()[..]).into_rank();
    let ((value, gradient), (_, curvature)) =
        jvp(|(centres, points)| value_and_grad(cost, (centres, points)), (centres, points), &along);
    let is_empty = curvature.equal(0.0);
    (centres - gradient / is_empty.select(1.0, curvature), value)
}

struct Options {
    device: Device,
    points: usize,
    clusters: usize,
    dimensions: usize,
    steps: usize,
    report: bool,
}

impl Options {
    /// The options, or none where help is asked for.
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let mut options =
            Options { device: Device::Cpu, points: 20_000, clusters: 10, dimensions: 8, steps: 50, report: false };
        while let Some(word) = words.next() {
            let mut value = || value(&word, &mut words);
            let number = |text: String| at_least_one(&word, &text);
            match word.as_str() {
                "--device" => options.device = Device::parse(&value()?)?,
                "--points" => options.points = number(value()?)?,
                "--clusters" => options.clusters = number(value()?)?,
                "--dimensions" => options.dimensions = number(value()?)?,
                "--steps" => options.steps = number(value()?)?,
                "--report" => options.report = true,
                "--help" | "-h" => return Ok(None),
                _ => return Err(unknown(&word)),
            }
        }
        match options.points < options.clusters {
            true => Err(format!("{} clusters are more than the {} points", options.clusters, options.points)),
            false => Ok(Some(options)),
        }
    }
}

/// Points around as many places as there are clusters, and some of them to begin with.
fn clusters(options: &Options) -> (Matrix<Concrete, f64>, Matrix<Concrete, f64>) {
    let mut random = Random::new(2);
    let Options { points: n, clusters: k, dimensions: d, .. } = *options;
    let places: Vec<f64> = (0..k * d).map(|_| 20.0 * random.uniform()).collect();
    let points: Vec<f64> = (0..n * d).map(|at| places[at / d % k * d + at % d] + random.normal()).collect();
    let mut some = || (random.uniform() * n as f64) as usize % n;
    let centres = (0..k).flat_map(|_| points[some() * d..][..d].to_vec()).collect();
    (Matrix::from_elements((k, d), centres), Matrix::from_elements((n, d), points))
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        print!("{HELP}");
        return Ok(());
    };
    let (centres, points) = clusters(&options);
    let start = Instant::now();
    let staged = stage(step, (&centres, &points))?;
    let program = options.device.prepare(staged, options.report)?;
    eprintln!("ready after {:.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let (mut state, rest) = (program.bring(centres.clone())?, program.bring(points.clone())?);
    let mut last = f64::INFINITY;
    for number in 0..options.steps {
        let cost = program.step(&mut state, &rest)?.item();
        println!("after {number:2} steps: the mean squared distance is {:.6}", cost / options.points as f64);
        if last - cost <= 1e-9 * cost {
            break;
        }
        last = cost;
    }
    let found = state.fetch()?;
    eprintln!("steps: {:.3} s", start.elapsed().as_secs_f64());
    println!("first centre: {:.4?}", &found.to_vec()[..options.dimensions]);
    if options.report {
        let processor = Device::Cpu.prepare(stage(step, (&centres, &points))?, true)?;
        for _ in 0..3 {
            processor.call((&centres, &points))?;
        }
        println!("\n{}", beside(&program.report(), &processor.report()));
    }
    Ok(())
}

/// Two tables beside each other.
fn beside(left: &str, right: &str) -> String {
    let (left, right): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let width = left.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let line = |at: usize| {
        let (own, other) = (left.get(at).unwrap_or(&""), right.get(at).unwrap_or(&""));
        let blanks = width - own.chars().count();
        format!("{own}{:blanks$}   │ {other}\n", "")
    };
    (0..left.len().max(right.len())).map(line).collect()
}

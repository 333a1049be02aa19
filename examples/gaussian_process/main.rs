//! Gaussian-process regression: hyperparameters by the marginal likelihood, whose gradient goes through a Cholesky factor, and
//! predictions with intervals, which solve with that factor. The formulas are those of "Gaussian Processes for Machine Learning"
//! (Rasmussen, Williams; 2006), chapters 2 and 5.
//!
//! ```sh
//! cargo run --release --example gaussian_process
//! ```
//!
//! The use of deltaray is in `model.rs` and `fit.rs`; the other files make observations, minimise, and draw.

mod data;
mod fit;
mod lbfgs;
mod model;
#[path = "../device/options.rs"]
mod options;
mod plot;
#[path = "../digits/random.rs"]
#[allow(dead_code, reason = "it also shuffles")]
mod random;
#[cfg(test)]
mod tests;

use fit::{Fit, coverage, half_width};
use options::{at_least_one, unknown, value};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

const HELP: &str = "\
Fits a Gaussian process to random observations of a function.

usage: cargo run --release --example gaussian_process -- [options]

  --points N         observations; 1000 unless given
  --plot PATH        the SVG file for observations and predictions; target/gaussian_process.svg unless given
  --report           prints the kernels of the gradient with their times
  --help             prints this
";

struct Options {
    points: usize,
    plot: PathBuf,
    report: bool,
}

impl Options {
    /// The options, or none where help is asked for.
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let plot = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/gaussian_process.svg");
        let mut options = Options { points: 1000, plot, report: false };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--points" => options.points = at_least_one(&word, &value(&word, &mut words)?)?,
                "--plot" => options.plot = value(&word, &mut words)?.into(),
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
    let [points, held_out] = data::draw(options.points, 3);
    let start = Instant::now();
    let fit = Fit::new(&points, options.report)?;
    println!("ready after {:.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let minimum = fit.run(data::guess(), &points, |number, likelihood, at| {
        let values = at.named().map(|(name, value)| format!("{name} {value:.4}")).join(", ");
        println!("after {number:2} iterations: log marginal likelihood {likelihood:12.4}, {values}");
    })?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{} gradients in {seconds:.3} s, {:.4} s each", minimum.evaluations, seconds / minimum.evaluations as f64);
    for ((name, found), (_, expected)) in minimum.parameters.named().into_iter().zip(data::truth().named()) {
        println!("{name:<9} {found:.4}, in truth {expected:.4}");
    }

    let start = Instant::now();
    let posterior = fit::posterior(&minimum.parameters, &points)?;
    let (mean, deviation) = fit::predictions(&posterior, &held_out.x)?;
    let share = coverage(&held_out.y, &mean, &deviation);
    println!("{:.1} % of {} observations held out are in intervals of 95 %", 100.0 * share, held_out.y.len());
    let along: Vec<f64> = (0..=800).map(|at| data::RANGE * f64::from(at) / 800.0).collect();
    let (mean, deviation) = fit::predictions(&posterior, &along.clone().into())?;
    println!("predictions after {:.3} s", start.elapsed().as_secs_f64());
    let (mean, half) = (mean.to_vec(), half_width(&deviation).to_vec());
    let title = format!("Gaussian process, {} observations", options.points);
    let band = plot::Band { x: &along, mean: &mean, half: &half };
    write(&options.plot, &plot::svg(&title, [&points.x.to_vec(), &points.y.to_vec()], &band))?;
    println!("plot: {}", options.plot.display());
    if options.report {
        println!("\n{}", fit.report());
    }
    Ok(())
}

fn write(path: &Path, picture: &str) -> Result<(), String> {
    let problem = |error| format!("{}: {error}", path.display());
    path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, picture)).map_err(problem)
}

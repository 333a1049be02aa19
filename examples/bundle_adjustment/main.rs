//! Bundle adjustment: cameras and points that explain best where cameras saw points, by the method of Levenberg and Marquardt. Its
//! steps solve sparse normal equations: the Jacobian is sparse, and so is the Cholesky factor of its square.
//!
//! ```sh
//! cargo run --release --example bundle_adjustment
//! cargo run --release --example bundle_adjustment -- --cameras 20 --points 500 --observations 4000
//! ```
//!
//! The use of deltaray is in `model.rs` and `adjust.rs`; `data.rs` draws a problem whose truth is known. A file of ADBench's bundle
//! adjustment has the size of a problem and no more, one camera and one point: it can be given instead of a size.

mod adjust;
#[path = "../objectives/ba.rs"]
#[allow(dead_code, reason = "adjusted weights are ADBench's")]
mod ba;
mod data;
mod model;
#[path = "../device/options.rs"]
mod options;
#[path = "../digits/random.rs"]
#[allow(dead_code, reason = "it also shuffles")]
mod random;
#[cfg(test)]
mod tests;

use adjust::Adjustment;
use data::Size;
use options::{at_least_one, unknown, value};
use std::error::Error;
use std::time::Instant;

const HELP: &str = "\
Adjusts cameras and points to observations.

usage: cargo run --release --example bundle_adjustment -- [options]

  --cameras N        cameras; 49 unless given
  --points N         points; 7776 unless given
  --observations N   observations of points by cameras, one of each point at least; 31843 unless given
  --file PATH        takes these three numbers from a file of ADBench
  --iterations N     iterations at most; 30 unless given
  --help             prints this
";

struct Options {
    size: Size,
    iterations: usize,
}

impl Options {
    /// The options, or none where help is asked for.
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let mut options = Options { size: Size { cameras: 49, points: 7776, observations: 31843 }, iterations: 30 };
        while let Some(word) = words.next() {
            let mut count = || value(&word, &mut words).and_then(|text| at_least_one(&word, &text));
            match word.as_str() {
                "--cameras" => options.size.cameras = count()?,
                "--points" => options.size.points = count()?,
                "--observations" => options.size.observations = count()?,
                "--iterations" => options.iterations = count()?,
                "--file" => {
                    let path = value(&word, &mut words)?;
                    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
                    options.size = Size::of_file(&text).ok_or(format!("{path} does not begin with three numbers"))?;
                }
                "--help" | "-h" => return Ok(None),
                _ => return Err(unknown(&word)),
            }
        }
        options.size.check()?;
        Ok(Some(options))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        print!("{HELP}");
        return Ok(());
    };
    let Size { cameras, points, observations } = options.size;
    println!("{cameras} cameras, {points} points, {observations} observations");
    let problem = data::draw(options.size, 1);
    let start = Instant::now();
    let adjustment = Adjustment::new(&problem.guess, &problem.observed)?;
    println!("{} after {:.3} s", adjustment.facts(), start.elapsed().as_secs_f64());

    println!("cost {:.6} at the beginning", adjustment.cost(&problem.guess, &problem.observed)?);
    let start = Instant::now();
    let found =
        adjustment.run(problem.guess.clone(), &problem.observed, options.iterations, |step| println!("{step}"))?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{} iterations in {seconds:.3} s, {:.4} s each", found.iterations, seconds / found.iterations as f64);
    let error = |cost: f64| (2.0 * cost / observations as f64).sqrt();
    let truth = adjustment.cost(&problem.truth, &problem.observed)?;
    println!("root mean square error {:.4} pixels, {:.4} in truth", error(found.cost), error(truth));
    Ok(())
}

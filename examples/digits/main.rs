//! Trains a two-layer perceptron on images of handwritten digits: a loss is written once, staged and differentiated once,
//! and the resulting program is run for every batch of images.
//!
//! ```text
//! cargo run --release --example digits
//! ```
//!
//! The use of deltaray is in `perceptron.rs` and `model.rs`; the other files read data and show results.

mod arguments;
mod confusion;
mod data;
#[path = "../device/mod.rs"]
#[allow(dead_code)]
mod device;
mod model;
mod perceptron;
mod plot;
#[cfg(all(test, feature = "opencl"))]
#[path = "../../tests/devices/presence.rs"]
mod presence;
mod progress;
mod random;

use arguments::{Arguments, HELP};
use confusion::Confusion;
use data::{Dataset, Split};
use model::{Batch, Programs, Training};
use plot::{Line, Panel};
use progress::Progress;
use random::Random;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("digits: {problem}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments, &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    if arguments.help {
        return Ok(write!(out, "{HELP}")?);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = arguments.data.clone().unwrap_or_else(|| root.join("examples/data/digits.csv.gz"));
    let dataset = data::load(&path)?;
    let sizes = dataset.split(&mut Random::new(arguments.seed));
    if sizes.training.len() < arguments.batch {
        let (batch, training) = (arguments.batch, sizes.training.len());
        return Err(format!("a batch of {batch} is more than the {training} images for training").into());
    }

    let pixels = dataset.images.ncols();
    if arguments.print_gradient {
        return Ok(writeln!(out, "{}", model::gradient_program(pixels, arguments.batch)?)?);
    }
    let start = Instant::now();
    let programs = Programs::stage(&arguments.device, pixels, arguments.batch, sizes.test.len())?;
    let staging = start.elapsed();

    let mut runs = Vec::new();
    for seed in (0..arguments.seeds as u64).map(|at| arguments.seed.wrapping_add(at)) {
        let run = train(&dataset, &programs, arguments, seed)?;
        if arguments.seeds > 1 {
            writeln!(out, "seed {seed}: test accuracy {:.4}", run.confusion.accuracy())?;
        }
        runs.push(run);
    }
    writeln!(out, "{}\n", runs.last().expect("at least one seed").confusion)?;
    let curve = arguments.curve.clone().unwrap_or_else(|| root.join("target/digits.svg"));
    write_curve(&curve, &runs)?;
    writeln!(out, "learning curve: {}", curve.display())?;
    let training: Duration = runs.iter().map(|run| run.training).sum();
    eprintln!("staging {:.3} s, training {:.3} s", staging.as_secs_f64(), training.as_secs_f64());
    let accuracy = mean(runs.iter().map(|run| run.confusion.accuracy()));
    if runs.len() > 1 {
        writeln!(out, "mean over {} seeds, from {} on:", runs.len(), arguments.seed)?;
    }
    Ok(writeln!(out, "test accuracy: {accuracy:.3}")?)
}

/// The record of a training: one number an epoch, and the last predictions.
struct Run {
    training_loss: Vec<f64>,
    test_loss: Vec<f64>,
    test_accuracy: Vec<f64>,
    confusion: Confusion,
    /// Time spent on batches and steps, without the tests in between.
    training: Duration,
}

fn train(dataset: &Dataset, programs: &Programs, arguments: &Arguments, seed: u64) -> Result<Run, Box<dyn Error>> {
    let mut random = Random::new(seed);
    let Split { training: mut order, test } = dataset.split(&mut random);
    let (images, labels) = dataset.rows(&test);
    let test = Batch::new(images, &labels);
    let mut training = Training::new(programs, dataset.images.ncols(), &mut random)?;
    let mut run = Run {
        training_loss: Vec::new(),
        test_loss: Vec::new(),
        test_accuracy: Vec::new(),
        confusion: Confusion::default(),
        training: Duration::ZERO,
    };
    let mut progress = Progress::new(arguments.epochs);
    for epoch in 1..=arguments.epochs {
        let start = Instant::now();
        random.shuffle(&mut order);
        // The program is staged for full batches: the images left over at the end of an epoch wait for another one,
        // in which the order is another.
        let mut losses = Vec::new();
        for positions in order.chunks_exact(arguments.batch) {
            let (images, labels) = dataset.rows(positions);
            losses.push(f64::from(training.step(Batch::new(images, &labels))?));
        }
        run.training += start.elapsed();
        let (loss, predictions) = training.evaluate(&test)?;
        run.confusion = Confusion::new(&labels, &predictions);
        run.training_loss.push(mean(losses.into_iter()));
        run.test_loss.push(f64::from(loss));
        run.test_accuracy.push(run.confusion.accuracy());
        let remark =
            format!("epochs  loss {:.4}  accuracy {:.3}", run.training_loss[epoch - 1], run.confusion.accuracy());
        progress.show(epoch, &remark);
    }
    progress.clear();
    Ok(run)
}

/// Draws the losses and the accuracy over the epochs; of several runs the mean, with each behind it.
fn write_curve(path: &Path, runs: &[Run]) -> Result<(), String> {
    let curves = |name: &str, color: &'static str, of: fn(&Run) -> &Vec<f64>| {
        let epochs = runs.iter().map(|run| of(run).len()).min().unwrap_or(0);
        let means = (0..epochs).map(|epoch| mean(runs.iter().map(|run| of(run)[epoch]))).collect();
        let mut lines = vec![Line { name: Some(name.into()), color, values: means }];
        if runs.len() > 1 {
            lines.extend(runs.iter().map(|run| Line { name: None, color, values: of(run).clone() }));
        }
        lines
    };
    let mut losses = curves("training", "#0969da", |run| &run.training_loss);
    losses.extend(curves("test", "#bc4c00", |run| &run.test_loss));
    let accuracies = curves("test", "#bc4c00", |run| &run.test_accuracy);
    let title = match runs.len() {
        1 => "Handwritten digits, two-layer perceptron".to_string(),
        seeds => format!("Handwritten digits, two-layer perceptron: mean of {seeds} seeds"),
    };
    let picture = plot::svg(
        &title,
        &[
            Panel { title: "loss (cross-entropy, logarithmic)", logarithmic: true, lines: losses },
            Panel { title: "accuracy", logarithmic: false, lines: accuracies },
        ],
    );
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    std::fs::write(path, picture).map_err(|error| format!("{}: {error}", path.display()))
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    values.sum::<f64>() / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(line: &str) -> Result<String, Box<dyn Error>> {
        let arguments = Arguments::parse(line.split_whitespace().map(String::from)).unwrap();
        let mut out = Vec::new();
        run(&arguments, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn two_epochs_teach_a_good_deal() {
        let curve = std::env::temp_dir().join(format!("deltaray-digits-curve-{}.svg", std::process::id()));
        let text = output(&format!("--epochs 2 --seeds 2 --seed 5 --curve {}", curve.display())).unwrap();
        let accuracy = text.lines().last().unwrap().strip_prefix("test accuracy: ").unwrap();
        assert!((0.85..1.0).contains(&accuracy.parse::<f64>().unwrap()), "{text}");
        assert!(text.starts_with("seed 5: ") && text.contains("\nseed 6: "), "{text}");
        let picture = std::fs::read_to_string(&curve).unwrap();
        std::fs::remove_file(&curve).unwrap();
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    }

    #[test]
    fn the_gradient_program_has_one_contraction_for_each_matrix_and_way() {
        // Two on the way forward; on the way back two for the weights, and one for the hidden layer.
        let text = output("--print-gradient --batch 8").unwrap();
        assert_eq!(text.matches("contract").count(), 5, "{text}");
        assert!(text.contains("f32[8, 128]") && !text.contains("build"), "{text}");
    }

    /// Other orders of additions may turn a few answers after two epochs, but not many.
    #[test]
    fn compiled_programs_learn_the_same() {
        let accuracy = |device: &str| -> f64 {
            let name = format!("deltaray-digits-{device}-{}.svg", std::process::id());
            let curve = std::env::temp_dir().join(name);
            let text = output(&format!("--epochs 2 --device {device} --curve {}", curve.display())).unwrap();
            std::fs::remove_file(&curve).unwrap();
            text.lines().last().unwrap().strip_prefix("test accuracy: ").unwrap().parse().unwrap()
        };
        let expected = accuracy("interpreter");
        assert!((accuracy("cpu") - expected).abs() <= 0.02);
        #[cfg(feature = "opencl")]
        if presence::is_there() {
            assert!((accuracy("opencl") - expected).abs() <= 0.02);
        }
    }

    #[test]
    fn problems_are_one_line() {
        for line in ["--data /nowhere", "--batch 1438"] {
            let problem = output(line).unwrap_err().to_string();
            assert!(!problem.contains('\n') && !problem.is_empty(), "{problem}");
        }
    }
}

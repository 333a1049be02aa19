//! Times objectives and derivatives of common tasks on random inputs, for comparisons with other libraries:
//! `scripts/compare` runs the same tasks in those.
//!
//! ```text
//! cargo run --release --example tasks -- --threads 1 chain logistic
//! ```
//!
//! Prints a line for each task whose name begins with one of the words, or for all: the medians in microseconds. After
//! `--task` comes the whole name of one.

/// The part of the digits example's data that its model needs.
mod data {
    pub const CLASSES: usize = 10;
}
#[path = "../device/mod.rs"]
#[allow(dead_code)]
mod device;
mod functions;
mod inputs;
mod kalman;
mod linear_algebra;
#[path = "../digits/model.rs"]
#[allow(dead_code)]
mod model;
mod networks;
#[path = "../objectives/mod.rs"]
#[allow(dead_code)]
mod objectives;
#[path = "../digits/perceptron.rs"]
mod perceptron;
#[path = "../digits/random.rs"]
#[allow(dead_code)]
mod random;

use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use deltaray::tensor::{Args, Family, Float};
use functions::*;
use networks::*;
use objectives::{ba, lstm};
use std::error::Error;
use std::time::{Duration, Instant};

/// Runs last so long, and there are at least and at most so many.
const TIME: Duration = Duration::from_secs(1);
const RUNS: [usize; 2] = [5, 400];

#[derive(Default)]
struct Options {
    threads: usize,
    words: Vec<String>,
    tasks: Vec<String>,
    print: bool,
}

impl Options {
    fn wants(&self, task: &str) -> bool {
        let all = self.words.is_empty() && self.tasks.is_empty();
        all || self.words.iter().any(|word| task.starts_with(word.as_str())) || self.tasks.iter().any(|it| it == task)
    }

    /// Compiles a function and its derivative, and times them in turns.
    fn run<I: Family, O: Family, D: Family, F: Family, G: Family>(
        &self,
        task: &str,
        objective: Function<I, O, F>,
        derivative: Function<I, D, G>,
        arguments: impl Args<Concrete, Family = I> + Copy,
    ) -> Result<(), Box<dyn Error>> {
        let cpu = Cpu::default().threads(self.threads).profile(self.print);
        let (f, g) = (objective.compile(cpu.clone())?, derivative.compile(cpu)?);
        let (mut value, mut gradient) = (f.call(arguments)?, g.call(arguments)?);
        let (mut objectives, mut gradients) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while objectives.len() < RUNS[0] || (start.elapsed() < TIME && objectives.len() < RUNS[1]) {
            let before = Instant::now();
            f.call_into(arguments, &mut value)?;
            objectives.push(before.elapsed());
            let before = Instant::now();
            g.call_into(arguments, &mut gradient)?;
            gradients.push(before.elapsed());
        }
        if self.print {
            println!("{objective}\n{}\n{derivative}\n{}", f.program().report(), g.program().report());
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e6
        };
        println!("deltaray {task} {:.2} {:.2}", median(&mut objectives), median(&mut gradients));
        Ok(())
    }
}

/// A task whose derivative is the gradient by the first argument.
macro_rules! gradient {
    ($options:ident, $name:expr, $function:expr, $arguments:expr) => {
        if $options.wants($name) {
            let arguments = $arguments;
            let objective = stage($function, arguments)?;
            let gradient = objective.value_and_grad()?;
            $options.run($name, objective, gradient, arguments)?;
        }
    };
}

/// The tasks of linear algebra on so many matrices of n rows.
fn on_matrices<E: Float>(options: &Options, of: &str, count: usize, n: usize) -> Result<(), Box<dyn Error>> {
    let name = |task: &str| format!("{task}-{of}{n}");
    let matrices = || inputs::matrices(count, n).cast::<E>();
    let definite = || inputs::definite(count, n).cast::<E>();
    let right = || inputs::table(count, n).cast::<E>();
    gradient!(options, &name("cholesky"), linear_algebra::cholesky, &definite());
    gradient!(options, &name("logdet"), linear_algebra::log_determinant, &definite());
    gradient!(options, &name("solve"), linear_algebra::solve, (&matrices(), &right()));
    gradient!(options, &name("lu"), linear_algebra::lu, &matrices());
    gradient!(options, &name("qr"), linear_algebra::qr, &matrices());
    gradient!(options, &name("eigh"), linear_algebra::eigenvalues, &definite());
    gradient!(options, &name("svd"), linear_algebra::singular_values, &matrices());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options { threads: 1, ..Options::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threads" => options.threads = arguments.next().ok_or("--threads N")?.parse()?,
            "--task" => options.tasks.push(arguments.next().ok_or("--task NAME")?),
            "--print" => options.print = true,
            _ => options.words.push(argument),
        }
    }
    let million = 1_000_000;
    gradient!(options, "chain", chain, &inputs::normals(million));
    gradient!(options, "cumsum", cumulative_sum, (&inputs::near_one(million), &inputs::normals(million)));
    gradient!(options, "cumprod", cumulative_product, (&inputs::near_one(million), &inputs::normals(million)));
    gradient!(options, "logsumexp", log_sum_exp, &inputs::table(10_000, 100));
    if options.wants("logistic") {
        let (points, labels) = (inputs::table(100_000, 100), inputs::halves(100_000));
        gradient!(options, "logistic", logistic, (&inputs::normals(100), &points, &labels));
    }
    for (name, [k, n, d]) in [("kmeans-5", [5, 494_019, 35]), ("kmeans-1024", [1024, 10_000, 256])] {
        if options.wants(name) {
            let (centres, points) = inputs::clusters(k, n, d);
            let arguments = (&centres, &points);
            options.run(name, stage(k_means, arguments)?, stage(k_means_derivatives, arguments)?, arguments)?;
        }
    }
    if options.wants("kmeans-sparse") {
        let (centres, points) = inputs::sparse_clusters(10, 28_323, 193_886, 98);
        let arguments = (&centres, &points);
        let (objective, derivatives) =
            (stage(sparse_k_means, arguments)?, stage(sparse_k_means_derivatives, arguments)?);
        options.run("kmeans-sparse", objective, derivatives, arguments)?;
    }
    for (name, [n, d, k]) in
        [("gmm-10-25", [1000, 10, 25]), ("gmm-20-50", [10_000, 20, 50]), ("gmm-64-200", [1000, 64, 200])]
    {
        if options.wants(name) {
            let (mixture, points, prior) = inputs::mixture(n, d, k);
            gradient!(options, name, gaussian_mixture, (&mixture, &points, &prior));
        }
    }
    if options.wants("gmm-f32") {
        let (mixture, points, prior) = inputs::single_mixture(1000, 64, 200);
        gradient!(options, "gmm-f32", gaussian_mixture, (&mixture, &points, &prior));
    }
    if options.wants("lstm") {
        let (network, state, text) = inputs::text(2, 1024, 14);
        gradient!(options, "lstm", lstm::loss, (&network, &state, &text));
    }
    if options.wants("lstm-batched") {
        let (network, state, inputs, targets) = inputs::sequences(1024, 20, 300, 192);
        gradient!(options, "lstm-batched", memories, (&network, &state, &inputs, &targets));
    }
    if options.wants("ba") {
        let (scene, observed) = inputs::scene(49, 7776, 31843);
        let arguments = (&scene, &observed);
        options.run("ba", stage(ba::errors, arguments)?, stage(ba::jacobian, arguments)?, arguments)?;
    }
    if options.wants("mlp") {
        let (layers, images, digits) = inputs::images(&[784, 300, 100, 10], 64);
        gradient!(options, "mlp", perceptron, (&layers, &images, &digits));
    }
    if options.wants("cnn") {
        let (network, images, digits) = inputs::pictures(64);
        gradient!(options, "cnn", le_net, (&network, &images, &digits));
    }
    for (count, n) in [(100_000, 4), (10_000, 16), (1, 100), (1, 400), (1, 1000)] {
        on_matrices::<f64>(&options, "", count, n)?;
        on_matrices::<f32>(&options, "f32-", count, n)?;
    }
    for n in [100, 400, 1000] {
        let (x, y) = (0.1 * inputs::normals(n), inputs::normals(n));
        let parameters = Vector::from([-1.0, 0.0, -1.0]);
        gradient!(options, &format!("gp-{n}"), linear_algebra::gaussian_process, (&parameters, &x, &y));
    }
    for n in [4, 20] {
        let (system, noise) = (kalman::data::masses(n / 2), kalman::data::truth(n / 2));
        let (_, measurements) = kalman::data::simulate(&system, &noise, 200, 1);
        gradient!(options, &format!("kalman-{n}"), kalman::surprise {}.closure(), (&noise, &system, &measurements));
    }
    if options.wants("digits") {
        let (_, images, digits) = inputs::images(&[64, 10], 32);
        let labels: Vec<u8> = digits.to_vec().into_iter().map(|digit| digit as u8).collect();
        let batch = model::Batch::new(images.to_ndarray(), &labels);
        let perceptron = perceptron::Mlp::random(64, &mut random::Random::new(1));
        gradient!(options, "digits", model::loss, (&perceptron, &batch));
    }
    Ok(())
}

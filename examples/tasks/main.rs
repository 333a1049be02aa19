//! Times objectives and gradients of common tasks, for comparisons with other libraries: `scripts/compare`.
//!
//! ```text
//! cargo run --release --example tasks -- --threads 1 chain logistic
//! ```
//!
//! Prints a line for each task whose name contains one of the words, or for all: the medians in microseconds.

mod functions;

use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use functions::*;
use std::error::Error;
use std::time::Instant;

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
    }

    fn normals(&mut self, count: usize, scale: f64) -> Vec<f64> {
        (0..count).map(|_| scale * self.normal()).collect()
    }

    fn singles(&mut self, count: usize, scale: f64) -> Vec<f32> {
        (0..count).map(|_| (scale * self.normal()) as f32).collect()
    }
}

struct Options {
    threads: usize,
    words: Vec<String>,
    print: bool,
}

impl Options {
    fn wants(&self, task: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| task.contains(word.as_str()))
    }

    fn cpu(&self) -> Cpu {
        Cpu::default().threads(self.threads)
    }

    /// Times two functions, alternately.
    fn time(
        &self,
        task: &str,
        mut objective: impl FnMut() -> deltaray::Result<()>,
        mut gradient: impl FnMut() -> deltaray::Result<()>,
    ) -> Result<(), Box<dyn Error>> {
        objective()?;
        gradient()?;
        let (mut objectives, mut gradients) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while objectives.len() < 5 || (start.elapsed().as_secs_f64() < 2.0 && objectives.len() < 400) {
            let before = Instant::now();
            objective()?;
            objectives.push(before.elapsed());
            let before = Instant::now();
            gradient()?;
            gradients.push(before.elapsed());
        }
        let median = |times: &mut Vec<std::time::Duration>| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e6
        };
        let (f, g) = (median(&mut objectives), median(&mut gradients));
        println!("deltaray {task:28} obj {f:12.2} us  grad {g:12.2} us  ratio {:6.2}", g / f);
        Ok(())
    }
}

macro_rules! task {
    ($options:ident, $name:expr, $function:expr, $arguments:expr) => {
        if $options.wants($name) {
            let arguments = $arguments;
            let objective = stage($function, arguments)?;
            let gradient = objective.value_and_grad()?;
            let (f, g) = (objective.compile($options.cpu())?, gradient.compile($options.cpu())?);
            if $options.print {
                println!("{objective}{f}{gradient}{g}");
            }
            $options.time($name, || f.call(arguments).map(|_| ()), || g.call(arguments).map(|_| ()))?;
        }
    };
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options { threads: 1, words: Vec::new(), print: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threads" => options.threads = arguments.next().ok_or("--threads N")?.parse()?,
            "--print" => options.print = true,
            _ => options.words.push(argument),
        }
    }
    let mut numbers = Numbers(1);
    let million = 1_000_000;
    let x: Vector<Concrete, f64> = numbers.normals(million, 1.0).into();
    task!(options, "chain 1e6 f64", chain, &x);
    let near_one: Vector<Concrete, f64> = x.to_vec().iter().map(|x| 1.0 + 1e-3 * x).collect::<Vec<_>>().into();
    let weights: Vector<Concrete, f64> = numbers.normals(million, 1.0).into();
    task!(options, "cumsum 1e6 f64", cumulative_sum, (&near_one, &weights));
    task!(options, "cumprod 1e6 f64", cumulative_product, (&near_one, &weights));
    let table = Matrix::<Concrete, f64>::from_elements((10_000, 100), numbers.normals(million, 1.0));
    task!(options, "lse 10000x100 f64", log_sum_exp, &table);
    {
        let (n, d) = (100_000, 100);
        let points = Matrix::<Concrete, f64>::from_elements((n, d), numbers.normals(n * d, 1.0));
        let labels: Vector<Concrete, f64> = (0..n).map(|i| (i % 2) as f64).collect::<Vec<_>>().into();
        let weights: Vector<Concrete, f64> = numbers.normals(d, 0.1).into();
        task!(options, "logreg 1e5x100 f64", logistic, (&weights, &points, &labels));
    }
    for (k, n, d) in [(5, 494_019, 35), (1024, 10_000, 256)] {
        let name = format!("kmeans {k},{n},{d} f32");
        if options.wants(&name) {
            let points: Vec<f32> = (0..n * d).map(|_| numbers.uniform() as f32).collect();
            let centres = points.iter().rev().take(k * d).copied().collect();
            let points = Matrix::<Concrete, f32>::from_elements((n, d), points);
            let centres = Matrix::<Concrete, f32>::from_elements((k, d), centres);
            let arguments = (&centres, &points);
            let (objective, step) = (stage(k_means, arguments)?, stage(k_means_derivatives, arguments)?);
            let (f, g) = (objective.compile(options.cpu())?, step.compile(options.cpu())?);
            if options.print {
                println!("{objective}{f}{step}{g}");
            }
            options.time(&name, || f.call(arguments).map(|_| ()), || g.call(arguments).map(|_| ()))?;
        }
    }
    let sizes = [784, 300, 100, 10];
    let mut layer = |a: usize, b: usize| Layer {
        weights: Matrix::<Concrete, f32>::from_elements((a, b), numbers.singles(a * b, 1.0 / (a as f64).sqrt())),
        bias: zeros(b),
    };
    let layers: Vec<Layer<Concrete>> = sizes.windows(2).map(|pair| layer(pair[0], pair[1])).collect();
    let images = Matrix::<Concrete, f32>::from_elements((64, 784), numbers.singles(64 * 784, 1.0));
    let digits: Vector<Concrete, i64> = (0..64).map(|i| i % 10).collect::<Vec<_>>().into();
    task!(options, "mlp 784-300-100-10 b64 f32", perceptron, (&layers, &images, &digits));
    Ok(())
}

//! Tasks on a device beside the engine for processors, in turns: `cargo bench -p deltaray-benches --features opencl --bench
//! devices`, then words that names of tasks begin with, or none for all.
//!
//! `--device NAME` chooses the device, `--large` sizes for graphics processors, and `--markdown` prints a table. Switch off the
//! driver's cache of compiled programs (`POCL_KERNEL_CACHE=0`), or compile times are those of a second compilation.
//!
//! For each task it prints the time to compile it, the medians of runs with arguments and results where the program runs, and,
//! where the number of bytes that must be moved is known, the fraction of the device's copy bandwidth. Before them it prints
//! how long the host takes for each launch of a loop's steps, which it launches one after the other.

#[path = "../examples/tasks/functions.rs"]
#[allow(dead_code)]
mod functions;
#[path = "../examples/tasks/inputs.rs"]
#[allow(dead_code)]
mod inputs;
#[path = "../examples/tasks/linear_algebra.rs"]
#[allow(dead_code)]
mod linear_algebra;
#[path = "../examples/tasks/networks.rs"]
#[allow(dead_code)]
mod networks;
#[path = "../examples/objectives/mod.rs"]
#[allow(dead_code)]
mod objectives;
#[path = "../examples/digits/random.rs"]
#[allow(dead_code, unused_imports)]
mod random;

use deltaray::derivative::Function;
use deltaray::engine::cpu::Cpu;
use deltaray::opencl::OpenCl;
use deltaray::prelude::*;
use deltaray::tensor::{Args, Family, Tree};
use std::time::{Duration, Instant};

/// Runs in turns last so long, and there are at least so many.
const TIME: Duration = Duration::from_millis(800);
const RUNS: usize = 5;

struct Bench {
    words: Vec<String>,
    device: OpenCl,
    is_large: bool,
    is_markdown: bool,
    /// Bytes that a copy moves in a second.
    bandwidth: f64,
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Bench {
    /// Runs a program in both places; `bytes` are those that must be moved, if that says something.
    fn run<I: Family, O: Family, T: Tree<Concrete, Family = I>>(
        &self,
        name: &str,
        staged: deltaray::Result<Function<I, O, impl Family>>,
        arguments: &T,
        bytes: Option<usize>,
    ) where
        for<'a> &'a T: Args<Concrete, Family = I>,
    {
        if !self.words.is_empty() && !self.words.iter().any(|word| name.starts_with(word.as_str())) {
            return;
        }
        let staged = staged.expect("the task is staged");
        let mut here = None;
        let compile_here = seconds(|| here = Some(staged.compile(Cpu::default()).expect("the task compiles")));
        let here = here.expect("it was compiled");
        let mut result = here.call(arguments).expect("the task runs");
        let mut there = None;
        // Drivers compile kernels when they are first launched.
        let compile_there = seconds(|| {
            let program = staged.compile(self.device.clone().without_cache()).expect("the task compiles");
            let given = program.upload(arguments).expect("there is room");
            let found = program.call_on_device(&given).expect("the task runs");
            found.wait().expect("the task runs");
            there = Some((program, given));
        });
        let (there, given) = there.expect("it was compiled");
        let (mut times_here, mut times_there) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while start.elapsed() < TIME || times_here.len() < RUNS {
            times_here.push(seconds(|| here.call_into(arguments, &mut result).expect("the task runs")));
            times_there.push(seconds(|| {
                there.call_on_device(&given).and_then(|result| result.wait()).expect("the task runs");
            }));
        }
        let (here, there_time) = (median(times_here), median(times_there));
        let part = bytes.map(|bytes| bytes as f64 / there_time / self.bandwidth);
        let part = part.map_or_else(|| "–".into(), |part| format!("{:.0} %", 100.0 * part));
        let columns = [
            name.to_string(),
            format!("{:.0}", 1e3 * compile_here),
            format!("{:.0}", 1e3 * compile_there),
            format!("{:.3}", 1e3 * here),
            format!("{:.3}", 1e3 * there_time),
            format!("{:.2}", there_time / here),
            part,
        ];
        self.line(&columns);
    }

    fn line(&self, columns: &[String]) {
        match self.is_markdown {
            true => println!("| {} |", columns.join(" | ")),
            false => {
                let padded: Vec<String> = columns.iter().map(|column| format!("{column:>14}")).collect();
                println!("{}", padded.join(" "));
            }
        }
    }
}

/// A number in each of a few bins: how often each occurs.
fn histogram<A: Algebra>((at, bins): &(Vector<A, i64>, Vector<A, f32>)) -> Vector<A, f32> {
    bins + ones(at.len()).scatter(at, [bins.len()])
}

fn double<A: Algebra>(x: &Vector<A, f32>) -> Vector<A, f32> {
    x * 2.0
}

fn elementwise<A: Algebra>(x: &Vector<A, f32>) -> Vector<A, f32> {
    (x * x + 1.0).sqrt() / (x.abs() + 0.5)
}

fn total<A: Algebra>(x: &Vector<A, f32>) -> Scalar<A, f32> {
    x.sum()
}

fn totals_of_rows<A: Algebra>(x: &Matrix<A, f32>) -> Vector<A, f32> {
    x.sum_axis(1)
}

fn totals_of_columns<A: Algebra>(x: &Matrix<A, f32>) -> Vector<A, f32> {
    x.sum_axis(0)
}

fn running<A: Algebra>(x: &Vector<A, f32>) -> Vector<A, f32> {
    x.cumsum(0)
}

fn product<A: Algebra, E: Float>((x, y): &(Matrix<A, E>, Matrix<A, E>)) -> Matrix<A, E> {
    x.dot(y)
}

fn one<A: Algebra>(x: &Scalar<A, f32>) -> Scalar<A, f32> {
    x + 1.0
}

/// Steps that the host launches, one kernel each.
const STEPS: usize = 10_000;

fn shifts<A: Algebra>((x, y): &(Vector<A, f32>, Vector<A, f32>)) -> Vector<A, f32> {
    iterate(x.clone(), STEPS, |x: Vector<A, f32>| build(x.len(), |i| x.at(x.len() - 1 - i) * 0.5) + y)
}

/// Microseconds that a launch takes: of the host until it goes on, and until it is done.
fn launches(device: &OpenCl) -> (f64, f64) {
    let given = (floats(64), floats(64));
    let program = stage(shifts, (&given.0, &given.1)).and_then(|staged| staged.compile(device.clone().single_item(0)));
    let program = program.expect("it compiles");
    let given = program.upload(&given).expect("there is room");
    let run = || {
        let mut result = None;
        let host = seconds(|| result = Some(program.call_on_device(&given).expect("it runs")));
        let rest = seconds(|| result.expect("it was launched").wait().expect("it runs"));
        (host, host + rest)
    };
    run();
    let (host, all): (Vec<f64>, Vec<f64>) = (0..15).map(|_| run()).unzip();
    (1e6 * median(host) / STEPS as f64, 1e6 * median(all) / STEPS as f64)
}

fn floats(count: usize) -> Vector<Concrete, f32> {
    inputs::normals(count).cast()
}

fn main() {
    let mut bench =
        Bench { words: Vec::new(), device: OpenCl::default(), is_large: false, is_markdown: false, bandwidth: 1.0 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match &word[..] {
            "--device" => bench.device = OpenCl::named(words.next().expect("the name of a device")),
            "--large" => bench.is_large = true,
            "--markdown" => bench.is_markdown = true,
            // `cargo bench` passes this to all of its programs.
            "--bench" => {}
            _ => bench.words.push(word),
        }
    }
    let device = bench.device.device().expect("a device");
    println!("{device}, driver {}, {} units\n", device.driver, device.units);
    let n = if bench.is_large { 1 << 26 } else { 1 << 22 };
    // A program that moves every element once is as fast as a copy can be.
    let (x, program) = (floats(n), stage(double, &floats(n)).and_then(|staged| staged.compile(bench.device.clone())));
    let program = program.expect("it compiles");
    let given = program.upload(&x).expect("there is room");
    let times = (0..20).map(|_| seconds(|| program.call_on_device(&given).and_then(|y| y.wait()).expect("it runs")));
    bench.bandwidth = 8.0 * n as f64 / median(times.collect());
    println!("doubling {n} numbers moves {:.1} GB/s\n", bench.bandwidth / 1e9);
    let (host, all) = launches(&bench.device);
    println!("a launch takes {host:.2} µs of the host, and {all:.2} µs until it is done\n");
    let head = ["task", "compile cpu ms", "compile device", "cpu ms", "device ms", "device/cpu", "of copy"];
    bench.line(&head.map(String::from));
    if bench.is_markdown {
        bench.line(&head.map(|_| "--:".to_string()));
    }
    bench.run("launch", stage(one, &Scalar::from(1.0_f32)), &Scalar::from(1.0_f32), None);
    bench.run("elementwise", stage(elementwise, &x), &x, Some(8 * n));
    bench.run("sum", stage(total, &x), &x, Some(4 * n));
    for columns in [64, 4096] {
        let table: Matrix<Concrete, f32> = x.reshape([n / columns, columns]);
        bench.run(&format!("sum-rows-{columns}"), stage(totals_of_rows, &table), &table, Some(4 * n));
        bench.run(&format!("sum-columns-{columns}"), stage(totals_of_columns, &table), &table, Some(4 * n));
    }
    bench.run("cumsum", stage(running, &x), &x, Some(8 * n));
    for bins in [256, 65_536] {
        let at = Vector::from((0..n).map(|at| (at * 7919 % bins) as i64).collect::<Vec<i64>>());
        let given = (at, zeros(bins));
        bench.run(&format!("histogram-{bins}"), stage(histogram, (&given.0, &given.1)), &given, Some(8 * n));
    }
    let sizes: &[usize] = if bench.is_large { &[256, 512, 1024, 2048, 4096, 8192] } else { &[64, 128, 256, 512, 1024] };
    for &size in sizes {
        let table = inputs::table(size, size);
        let single: Matrix<Concrete, f32> = table.cast();
        let given = (single.clone(), single);
        bench.run(&format!("product-f32-{size}"), stage(product::<_, f32>, (&given.0, &given.1)), &given, None);
        let given = (table.clone(), table);
        bench.run(&format!("product-f64-{size}"), stage(product::<_, f64>, (&given.0, &given.1)), &given, None);
    }
    let x = inputs::normals(1_000_000);
    let gradient = stage(functions::chain, &x).and_then(|staged| staged.value_and_grad());
    bench.run("chain", gradient, &x, None);
    let table = inputs::table(10_000, 100);
    let gradient = stage(functions::log_sum_exp, &table).and_then(|staged| staged.value_and_grad());
    bench.run("logsumexp", gradient, &table, None);
    for (name, [k, n, d]) in [("kmeans-5", [5, 494_019, 35]), ("kmeans-1024", [1024, 10_000, 256])] {
        let given = inputs::clusters(k, n, d);
        bench.run(name, stage(functions::k_means_derivatives, (&given.0, &given.1)), &given, None);
    }
    let given = inputs::sparse_clusters(10, 28_323, 193_886, 98);
    bench.run("kmeans-sparse", stage(functions::sparse_k_means_derivatives, (&given.0, &given.1)), &given, None);
    let given = inputs::mixture(1000, 64, 200);
    let gradient = stage(functions::gaussian_mixture, (&given.0, &given.1, &given.2));
    bench.run("gmm-64-200", gradient.and_then(|staged| staged.value_and_grad()), &given, None);
    let given = inputs::single_mixture(1000, 64, 200);
    let gradient = stage(functions::gaussian_mixture, (&given.0, &given.1, &given.2));
    bench.run("gmm-f32", gradient.and_then(|staged| staged.value_and_grad()), &given, None);
    let given = inputs::sequences(1024, 20, 300, 192);
    let gradient = stage(networks::memories, (&given.0, &given.1, &given.2, &given.3));
    bench.run("lstm-batched", gradient.and_then(|staged| staged.value_and_grad()), &given, None);
    for (count, n) in [(100_000, 4), (10_000, 16), (1, 100), (1, 400)] {
        let (a, right) = (inputs::definite(count, n), inputs::table(count, n));
        let gradient = stage(linear_algebra::cholesky, &a).and_then(|staged| staged.value_and_grad());
        bench.run(&format!("cholesky-{n}"), gradient, &a, None);
        let gradient = stage(linear_algebra::solve, (&a, &right)).and_then(|staged| staged.value_and_grad());
        bench.run(&format!("solve-{n}"), gradient, &(a, right), None);
    }
    let given = inputs::images(&[784, 300, 100, 10], 64);
    let gradient = stage(networks::perceptron, (&given.0, &given.1, &given.2));
    bench.run("mlp", gradient.and_then(|staged| staged.value_and_grad()), &given, None);
}

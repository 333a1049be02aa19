//! Times the factorisations of `examples/tasks` by faer, which has no derivatives: `deltaray-benches-faer cholesky-100 ..`.
//!
//! Prints a line for each task that faer has: the median in microseconds, and 0 for the derivative.

use faer::prelude::Solve;
use faer::traits::RealField;
use faer::{Mat, MatRef, Par, Side};
use std::time::{Duration, Instant};

/// Runs last so long, and there are at least and at most so many.
const TIME: Duration = Duration::from_secs(1);
const RUNS: [usize; 2] = [5, 400];

/// Uniform numbers from -1 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// A number of either type.
trait Number: RealField + Copy + std::iter::Sum {
    fn of(x: f64) -> Self;
    fn ln(self) -> Self;
}

impl Number for f64 {
    fn of(x: f64) -> f64 {
        x
    }
    fn ln(self) -> f64 {
        self.ln()
    }
}

impl Number for f32 {
    fn of(x: f64) -> f32 {
        x as f32
    }
    fn ln(self) -> f32 {
        self.ln()
    }
}

/// Matrices of n rows, and positive definite ones.
fn matrices<T: Number>(count: usize, n: usize, is_definite: bool) -> Vec<Mat<T>> {
    let mut random = Random(1);
    let mut matrix = || -> Mat<f64> {
        let own = (n as f64).sqrt();
        let a = Mat::from_fn(n, n, |i, j| 1.7 * random.next() + if i == j { own } else { 0.0 });
        if is_definite { Mat::<f64>::identity(n, n) + &a * a.transpose() * faer::Scale(1.0 / n as f64) } else { a }
    };
    (0..count).map(|_| matrix()).map(|a| Mat::from_fn(n, n, |i, j| T::of(a[(i, j)]))).collect()
}

fn total<T: Number>(a: MatRef<T>) -> T {
    a.col_iter().flat_map(|column| column.iter().copied()).sum()
}

/// Times a function of each matrix.
fn time<T: Number>(task: &str, matrices: &[Mat<T>], f: impl Fn(&Mat<T>) -> T) {
    let run = || std::hint::black_box(matrices.iter().map(&f).sum::<T>());
    run();
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < RUNS[0] || (start.elapsed() < TIME && times.len() < RUNS[1]) {
        let before = Instant::now();
        run();
        times.push(before.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    println!("faer {task} {:.2} 0.00", times[times.len() / 2] * 1e6);
}

fn run<T: Number>(task: &str, operation: &str, count: usize, n: usize) {
    let is_definite = ["cholesky", "logdet", "eigh"].contains(&operation);
    let all = || matrices::<T>(count, n, is_definite);
    let converges = "the matrix has values";
    match operation {
        "cholesky" => time(task, &all(), |a| total(a.llt(Side::Lower).expect("positive definite").L())),
        "logdet" => time(task, &all(), |a| {
            let factor = a.llt(Side::Lower).expect("positive definite");
            factor.L().diagonal().column_vector().iter().map(|x| x.ln()).sum()
        }),
        "solve" => {
            let b = Mat::<T>::from_fn(n, 1, |i, _| T::of(i as f64 / n as f64));
            time(task, &all(), |a| total(a.partial_piv_lu().solve(&b).as_ref()));
        }
        "lu" => time(task, &all(), |a| total(a.partial_piv_lu().U())),
        "qr" => time(task, &all(), |a| {
            let factors = a.qr();
            std::hint::black_box(factors.compute_thin_Q());
            total(factors.thin_R())
        }),
        "eigh" => time(task, &all(), |a| {
            a.self_adjoint_eigenvalues(Side::Lower).expect(converges).into_iter().map(|x| x.ln()).sum()
        }),
        "svd" => time(task, &all(), |a| a.singular_values().expect(converges).into_iter().sum()),
        _ => {}
    }
}

fn main() {
    faer::set_global_parallelism(Par::Seq);
    for task in std::env::args().skip(1) {
        let words: Vec<&str> = task.split('-').collect();
        let (operation, is_single) = (words[0], words.get(1) == Some(&"f32"));
        let Some(n) = words.last().and_then(|n| n.parse().ok()) else { continue };
        let count = match n {
            4 => 100_000,
            16 => 10_000,
            _ => 1,
        };
        match is_single {
            true => run::<f32>(&task, operation, count, n),
            false => run::<f64>(&task, operation, count, n),
        }
    }
}

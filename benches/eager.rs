//! Programs that run at once, on plain and dual arrays: `cargo bench -p deltaray-benches --bench eager`, with names of programs as
//! arguments. The table has nanoseconds for each operation, the least of as many runs as half a second holds. To compare two states
//! of the library, keep the binary of each (`--no-run` says where it is) and run them in turns.

use deltaray::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long each program runs.
const BUDGET: Duration = Duration::from_millis(500);

#[differentiable]
fn recurrence(x: Scalar<f64>, #[plain] steps: usize) -> Scalar<f64> {
    let mut y = x;
    for _ in 0..steps {
        y = (y * x + 0.5).sin() - x;
    }
    y
}

#[differentiable]
fn recurrence_of_vectors(x: Vector<f64>, #[plain] steps: usize) -> Scalar<f64> {
    let mut y = x;
    for _ in 0..steps {
        y = (y * x + 0.5).sin() - x;
    }
    y.sum()
}

#[differentiable]
fn choices(x: Scalar<f64>, #[plain] steps: usize) -> Scalar<f64> {
    let mut y = x;
    for _ in 0..steps {
        y = (y > 0.5).select(y - x, y + x);
    }
    y
}

#[differentiable]
fn reads(x: Vector<f64>) -> Scalar<f64> {
    let mut sum = scalar(0.0);
    for k in 0..x.len() {
        sum += 2.0 * x[k];
    }
    sum
}

#[differentiable]
fn gathers(x: Vector<f64>, at: Vector<i64>, #[plain] steps: usize) -> Scalar<f64> {
    let mut sum = scalar(0.0);
    for _ in 0..steps {
        sum += x.gather(at).sum();
    }
    sum
}

#[differentiable]
fn products(x: Matrix<f64>, #[plain] steps: usize) -> Scalar<f64> {
    let mut y = x;
    for _ in 0..steps {
        y = y.dot(x).transpose() * 0.1;
    }
    y.sum()
}

#[differentiable]
fn convolution(x: Vector<f64>, w: Vector<f64>) -> Scalar<f64> {
    let n = x.len() - w.len();
    build(n, |i| build(w.len(), |k| w[k] * x[i + k]).sum()).powi(2).sum()
}

/// Prints the time of a program that takes so many operations.
fn report(name: &str, operations: usize, run: &mut dyn FnMut()) {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part)) {
        return;
    }
    let (start, mut least) = (Instant::now(), Duration::MAX);
    while start.elapsed() < BUDGET {
        let one = Instant::now();
        run();
        least = least.min(one.elapsed());
    }
    println!("| {name} | {:.0} |", least.as_nanos() as f64 / operations as f64);
}

fn main() {
    let x = scalar::<Concrete, f64>(0.7);
    let three = Vector::from([0.7, 0.2, -0.4]);
    let many = Vector::from_elements(1000, (0..1000).map(|at| (at as f64).sin()).collect::<Vec<_>>());
    let long: Vector<Concrete, f64> =
        Vector::from_elements(200_000, (0..200_000).map(|at| (at as f64).sin()).collect::<Vec<_>>());
    let at = Vector::from(vec![1i64, 5, 3, 999]);
    let matrix: Matrix<Concrete, f64> =
        Matrix::from_elements((8, 8), (0..64).map(|at| (at as f64).sin()).collect::<Vec<_>>());
    let signal: Vector<Concrete, f64> =
        Vector::from_elements(4_216, (0..4_216).map(|at| (at as f64).sin()).collect::<Vec<_>>());
    let window: Vector<Concrete, f64> =
        Vector::from_elements(36, (0..36).map(|at| (at as f64).cos()).collect::<Vec<_>>());
    println!("| program | ns an operation |\n|---|--:|");
    let both = |name: &str, operations: usize, value: &dyn Fn(), gradient: &dyn Fn()| {
        report(name, operations, &mut || value());
        report(&format!("{name}, gradient"), operations, &mut || gradient());
    };
    both("numbers", 4_000, &|| drop(black_box(recurrence(&x, 1000))), &|| {
        drop(black_box(grad(|x| recurrence(x, 1000), &x)))
    });
    both("vectors of three", 4_000, &|| drop(black_box(recurrence_of_vectors(&three, 1000))), &|| {
        drop(black_box(grad(|x| recurrence_of_vectors(x, 1000), &three)))
    });
    both("choices", 4_000, &|| drop(black_box(choices(&x, 1000))), &|| drop(black_box(grad(|x| choices(x, 1000), &x))));
    both("reads of elements", 3_000, &|| drop(black_box(reads(&many))), &|| drop(black_box(grad(reads, &many))));
    both("gathers", 3_000, &|| drop(black_box(gathers(&many, &at, 1000))), &|| {
        drop(black_box(grad(|(x, at)| gathers(x, at, 1000), (&many, &at))))
    });
    both("products of matrices of 8 rows", 3_000, &|| drop(black_box(products(&matrix, 1000))), &|| {
        drop(black_box(grad(|x| products(x, 1000), &matrix)))
    });
    both("vectors of 200,000", 40, &|| drop(black_box(recurrence_of_vectors(&long, 10))), &|| {
        drop(black_box(grad(|x| recurrence_of_vectors(x, 10), &long)))
    });
    both("a convolution by build", 1, &|| drop(black_box(convolution(&signal, &window))), &|| {
        drop(black_box(grad(|(x, w)| convolution(x, w), (&signal, &window))))
    });
}

//! How long it takes to make a gradient program ready to run, phase by phase, for programs of growing size:
//! `cargo run --release --example latency -- [chain] [layers] [slices] [nodes ..]`.

use deltaray::derivative::program;
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::prelude::*;
use deltaray::staged::Staged;
use deltaray::term::{Body, Build};
use std::time::Instant;

type V<A> = Vector<A, f64>;

/// A chain of elementwise operations, each of which needs the one before.
fn chain<A: Algebra>(x: &V<A>, nodes: usize) -> Scalar<A, f64> {
    let mut y = x.clone();
    for _ in 0..nodes / 4 {
        y = &y - (&y * x).sin() * x;
    }
    y.sum()
}

/// Layers of a perceptron, with weights that all layers share.
fn layers<A: Algebra>((x, weights): &(V<A>, Matrix<A, f64>), nodes: usize) -> Scalar<A, f64> {
    let mut y = x.clone();
    for _ in 0..nodes / 4 {
        y = (weights.dot(&y) + x).tanh();
    }
    y.sum()
}

/// Sums of reductions of shifted slices: wide rather than deep.
fn slices<A: Algebra>(x: &V<A>, nodes: usize) -> Scalar<A, f64> {
    let mut total = scalar(0.0);
    for at in 0..nodes / 5 {
        let part = x.slice(0, at % 8..at % 8 + 8);
        total += (&part * (1.0 + at as f64)).cos().sum();
    }
    total
}

/// The seconds of each phase, and the size of the source program and of its gradient.
fn phases(source: impl FnOnce() -> Body<Build>) -> (Vec<(&'static str, f64)>, usize, usize) {
    let mut times = Vec::new();
    let mut time = |name, start: Instant| times.push((name, start.elapsed().as_secs_f64()));
    let start = Instant::now();
    let source = source();
    time("stage", start);
    let start = Instant::now();
    let bulk = program::bulk(&source);
    time("simplify", start);
    let start = Instant::now();
    let gradient = program::value_and_gradient(&bulk, 1).expect("a scalar function");
    time("differentiate", start);
    let start = Instant::now();
    let gradient = program::tidy(&gradient);
    time("simplify gradient", start);
    let start = Instant::now();
    let compiled = Program::new(&gradient, &Cpu::default().threads(1)).expect("there is memory");
    time("lower", start);
    assert!(compiled.kernels() > 0);
    let start = Instant::now();
    drop(compiled);
    time("drop", start);
    (times, source.nodes().len(), gradient.nodes().len())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes: Vec<usize> = arguments.iter().filter_map(|size| size.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1_000, 10_000] } else { sizes };
    let names = ["chain", "layers", "slices"].into_iter().filter(|name| arguments.iter().any(|other| other == name));
    let names: Vec<&str> = names.collect();
    let names = if names.is_empty() { vec!["chain", "layers", "slices"] } else { names };
    let vector = deltaray::shape::Type::new(deltaray::shape::DType::F64, &[16]);
    let matrix = deltaray::shape::Type::new(deltaray::shape::DType::F64, &[16, 16]);
    let wrap = |array: &<Staged as Algebra>::Array| V::<Staged>::from_array(array.clone()).expect("a vector");
    for name in names {
        for &nodes in &sizes {
            let types = if name == "layers" { vec![vector.clone(), matrix.clone()] } else { vec![vector.clone()] };
            let source = || {
                let body = deltaray::staged::stage(&types, |arguments| {
                    let x = wrap(&arguments[0]);
                    let value = match name {
                        "chain" => chain(&x, nodes),
                        "layers" => {
                            let weights = Matrix::from_array(arguments[1].clone()).expect("a matrix");
                            layers(&(x, weights), nodes)
                        }
                        _ => slices(&x, nodes),
                    };
                    vec![value.into_array()]
                });
                body.expect("the function fits its arguments")
            };
            let (times, before, after) = phases(source);
            let total: f64 = times.iter().map(|(_, seconds)| seconds).sum();
            print!("{name:7} {before:7} nodes, gradient {after:7}: {:8.1} ms", total * 1e3);
            for (phase, seconds) in times {
                print!(", {phase} {:.1}", seconds * 1e3);
            }
            println!();
        }
    }
}

//! Sizes of programs and memory, counted: every pass and instance is linear in the program, whatever it shares, and none
//! recurses over its length. No test measures time; the guard of some minutes only ends runs that would never end.

// `--cfg counted` is set by hand, see `growth`.
#![allow(unexpected_cfgs)]

#[path = "complexity/chains.rs"]
mod chains;
#[path = "complexity/counting.rs"]
mod counting;
#[path = "complexity/doublings.rs"]
mod doublings;
#[path = "complexity/eager.rs"]
mod eager;
#[path = "complexity/growth.rs"]
mod growth;
#[path = "complexity/implicit.rs"]
mod implicit;
#[path = "complexity/memory.rs"]
mod memory;
#[path = "complexity/nests.rs"]
mod nests;
#[path = "complexity/parallel.rs"]
mod parallel;
#[path = "complexity/passes.rs"]
mod passes;
#[path = "complexity/rules.rs"]
mod rules;
mod sample;
#[path = "complexity/tape.rs"]
mod tape;
#[path = "complexity/writes.rs"]
mod writes;
#[path = "complexity/writes_exported.rs"]
mod writes_exported;
#[path = "complexity/writes_memory.rs"]
mod writes_memory;

use counting::{MEGABYTE, measured};
use deltaray::algebra::Algebra;
use deltaray::derivative::{Function, program, stage};
use deltaray::prelude::*;
use deltaray::staged::Staged;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

type C = Concrete;

/// Runs a test in a thread with a small stack, and gives up on it after some minutes.
fn guarded(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let run = move || {
        test();
        done.send(()).expect("the test waits");
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread starts");
    match wait.recv_timeout(Duration::from_secs(300)) {
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
        Err(RecvTimeoutError::Timeout) => panic!("still running after five minutes"),
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

/// A recurrence that uses its value more than once in each step: without sharing it costs 2ⁿ.
fn blow_up<A: Algebra, R: Rank>(kind: usize, n: usize, x: &Tensor<A, f64, R>) -> Tensor<A, f64, R> {
    let mut y = x.clone();
    for _ in 0..n {
        y = match kind {
            0 => &y + &y,
            1 => &y * &y,
            2 => 0.499999985 * (&y + &y),
            3 => 0.5 * (y.sin() * y.cos() + &y),
            _ => y.gt(0.0).select(&y * 0.5 + &y, &y - 1.0),
        };
    }
    y
}

const KINDS: usize = 5;

/// Number of nodes and printed length.
fn size<In: Family, Out: Family, First: Family>(function: &Function<In, Out, First>) -> (usize, usize) {
    (function.program().node_count(), function.to_string().len())
}

/// The sizes of the programs that a function of vectors leads to, pass by pass.
fn sizes(f: &dyn Fn(&Vector<Staged, f64>) -> Vector<Staged, f64>) -> Vec<(&'static str, (usize, usize))> {
    let x = v(&[0.5, 0.25, -0.5]);
    let staged = stage(|x| f(x), &x).unwrap();
    let source = staged.source();
    let vectorised = deltaray::vectorise::vectorise(source);
    let pushed = deltaray::vectorise::push_reads(&vectorised);
    let loss = stage(|x| f(x).sum(), &x).unwrap();
    let transposed = program::value_and_gradient(loss.program(), 1).unwrap();
    let gradient = loss.value_and_grad().unwrap();
    let inner = stage(|x| grad(|y| f(y).sum(), x), &x).unwrap();
    vec![
        ("staged", (source.node_count(), source.to_string().len())),
        ("vectorised", (vectorised.node_count(), vectorised.to_string().len())),
        ("reads pushed", (pushed.node_count(), pushed.to_string().len())),
        ("simplified", size(&staged)),
        ("transposed", (transposed.node_count(), transposed.to_string().len())),
        ("gradient", size(&gradient)),
        ("vjp", size(&staged.vjp().unwrap())),
        ("jvp", size(&staged.jvp().unwrap())),
        ("gradient inside", size(&inner)),
        ("second derivative", size(&inner.jvp().unwrap())),
    ]
}

/// The sizes of a family of programs grow at most in proportion to `n`.
fn assert_linear(n: usize, f: &dyn Fn(usize, &Vector<Staged, f64>) -> Vector<Staged, f64>) {
    let (once, twice) = (sizes(&|x| f(n, x)), sizes(&|x| f(2 * n, x)));
    for ((pass, (nodes, text)), (_, (more, longer))) in once.into_iter().zip(twice) {
        assert!(10 * more <= 22 * nodes + 200, "{pass}: {nodes} nodes for {n}, {more} for {}", 2 * n);
        // Larger numbers in names and more digits: a little more than proportional.
        assert!(10 * longer <= 25 * text + 5000, "{pass}: {text} bytes for {n}, {longer} for {}", 2 * n);
    }
}

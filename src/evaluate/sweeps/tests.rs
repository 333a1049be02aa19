//! The number of steps that are run and of states that are stored, compared with theory.

use super::*;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::DType;
use crate::term::{Body, Checkpoints, Graph, Op, Sweep, advance_by};
use std::sync::Arc;

fn number() -> Type {
    Type::scalar(DType::F64)
}

/// `x ← sin x`, which keeps `x`, and with it the transpose `y ← y cos x`.
fn sines(steps: Steps, checkpoints: Checkpoints) -> Sweeps {
    let mut forward = Graph::new(&[number()], 0);
    let sine = forward.add(Op::Unary(Unary::Sin), &[0]);
    let mut backward = Graph::new(&[number(), number()], 0);
    let cosine = backward.add(Op::Unary(Unary::Cos), &[1]);
    let product = backward.add(Op::Binary(Binary::Mul), &[0, cosine]);
    let sweeps = vec![
        Sweep { body: Arc::new(forward.finish(&[sine, 0])), carries: 1, inputs: 0, reads: vec![], keeps: 1 },
        Sweep { body: Arc::new(backward.finish(&[product])), carries: 1, inputs: 0, reads: vec![(0, 0)], keeps: 0 },
    ];
    Sweeps { steps, sweeps, reverse: false, checkpoints }
}

/// While x > 0.05.
fn condition() -> Arc<Body> {
    let mut graph = Graph::new(&[number()], 0);
    let bound = graph.add(Op::Constant(Array::full(&[], Value::F64(0.05))), &[]);
    let holds = graph.add(Op::Compare(Comparison::Greater), &[0, bound]);
    Arc::new(graph.finish(&[holds]))
}

fn go(steps: Steps, checkpoints: Checkpoints) -> (Vec<f64>, Counts) {
    let start = |x| Array::full(&[], Value::F64(x));
    let (results, counts) =
        run_counted(crate::evaluate::run, &sines(steps, checkpoints), vec![start(0.9), start(1.0)]).unwrap();
    (results.iter().map(|result| result.element(0).to_f64()).collect(), counts)
}

fn choose(n: u128, k: u128) -> u128 {
    (1..=k).fold(1, |product, i| product * (n - k + i) / i)
}

/// How many steps must be run in advance to go back over n steps with s snapshots (Griewank and Walther).
fn theory(n: usize, s: usize) -> usize {
    let (n, s) = (n as u128, s as u128);
    let times = (0..).find(|&r| choose(s + r, s) >= n).unwrap();
    if times == 0 { 0 } else { (times * n - choose(s + times, times - 1)) as usize }
}

/// The least number of steps in advance, by trying all first snapshots.
fn least(n: usize, s: usize) -> usize {
    match (n, s) {
        (0 | 1, _) => 0,
        (n, 1) => n * (n - 1) / 2,
        (n, s) => (1..n).map(|m| m + least(n - m, s - 1) + least(m, s)).min().unwrap(),
    }
}

#[test]
fn the_theory_is_the_least_there_is() {
    for n in 1..13 {
        for s in 1..6 {
            assert_eq!(theory(n, s), least(n, s), "{n} steps, {s} snapshots");
        }
    }
}

#[test]
fn snapshots_are_where_the_fewest_steps_are_run_again() {
    let expected = go(Steps::Count(10_000), Checkpoints::All);
    assert_eq!((expected.1.steps, expected.1.kept), (10_000, 10_000));
    for (n, s) in [(10_000, 20), (10_000, 3), (10_626, 20), (10_627, 20), (100, 1), (17, 100), (1, 1), (2, 1)] {
        let all = go(Steps::Count(n), Checkpoints::All).0;
        let (results, counts) = go(Steps::Count(n), Checkpoints::Snapshots(s));
        assert_eq!(results, all, "{n} steps, {s} snapshots");
        assert_eq!(counts.steps - counts.kept, theory(n, s), "{n} steps, {s} snapshots");
        assert_eq!(counts.kept, n);
        assert!(counts.snapshots <= s, "{} snapshots of {s}", counts.snapshots);
    }
    // An example in numbers: less than four times the steps, with twenty states.
    assert_eq!(theory(10_000, 20), 37_976);
}

#[test]
fn even_checkpoints_run_every_step_again_but_the_last_ones() {
    let all = go(Steps::Count(1000), Checkpoints::All).0;
    for k in [1, 7, 100, 999, 1000, 5000] {
        let (results, counts) = go(Steps::Count(1000), Checkpoints::Every(k));
        assert_eq!(results, all, "every {k}");
        let last = (1000 - 1) % k + 1;
        assert_eq!(counts.steps, 1000 + 1000 - last, "every {k}");
        assert_eq!(counts.snapshots, 1000usize.div_ceil(k));
    }
}

#[test]
fn conditions_end_where_they_end_whatever_is_kept() {
    let all = go(Steps::While(condition()), Checkpoints::All);
    let n = all.1.steps;
    assert!(n > 1000, "{n} steps");
    assert!(all.0[0] <= 0.05);
    for checkpoints in [
        Checkpoints::Every(10),
        Checkpoints::Snapshots(5),
        Checkpoints::Snapshots(0),
        Checkpoints::Every(0),
        Checkpoints::Bytes(0),
        Checkpoints::Bytes(10_000),
        Checkpoints::Bytes(1 << 30),
    ] {
        if !matches!(checkpoints, Checkpoints::Snapshots(0) | Checkpoints::Bytes(0)) {
            assert_eq!(go(Steps::While(condition()), checkpoints).0, all.0, "{checkpoints:?}");
        }
    }
    // Snapshots run all steps once to count them.
    let counts = go(Steps::While(condition()), Checkpoints::Snapshots(5)).1;
    assert_eq!(counts.steps, n + theory(n, 5) + n);
    // One snapshot is quadratic: a short loop for that.
    for checkpoints in [Checkpoints::Snapshots(0), Checkpoints::Snapshots(1), Checkpoints::Bytes(0)] {
        assert_eq!(go(Steps::Count(50), checkpoints).0, go(Steps::Count(50), Checkpoints::All).0, "{checkpoints:?}");
    }
}

#[test]
fn bytes_are_kept_while_there_are_few() {
    let n = 10_000;
    let each = size_of::<Array>();
    let (all, counts) = go(Steps::Count(n), Checkpoints::Bytes(n * each));
    assert_eq!(counts.steps, n);
    // One too few: the steps so far are run for nothing, then a few steps at a time are kept.
    let (results, counts) = go(Steps::Count(n), Checkpoints::Bytes(n * each - 1));
    assert_eq!(results, all);
    assert!(counts.steps <= 3 * n, "{} steps", counts.steps);
}

#[test]
fn advances_are_never_nothing_nor_everything() {
    for steps in 2..200 {
        for snapshots in 1..20 {
            let by = advance_by(steps, snapshots);
            assert!(0 < by && by < steps, "{by} of {steps} with {snapshots}");
        }
    }
}

//! Later loops recompute values, and these are the same.

use super::recompute::recomputed;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::prelude::*;
use crate::term::interpret::interpret;
use crate::term::{Body, Checkpoints, Op, Sweep};

/// Bytes that all loops leave for others.
fn left(body: &Body) -> usize {
    let bytes = |ty: &crate::shape::Type| ty.size() * ty.dtype.bytes();
    let of = |node: &crate::term::Node| match &node.op {
        Op::Scan(scan) => node.types[scan.carries..].iter().map(bytes).sum(),
        // The bytes of a step.
        Op::Sweeps(sweeps) => {
            let kept = |sweep: &Sweep| {
                sweep.body.results[sweep.carries..][..sweep.keeps]
                    .iter()
                    .map(|&id| bytes(sweep.body.node(id).ty()))
                    .sum::<usize>()
            };
            sweeps.sweeps.iter().map(kept).sum::<usize>()
        }
        _ => 0,
    };
    body.nodes.iter().map(of).sum()
}

fn bits(arrays: &[Array]) -> Vec<u64> {
    let elements = |array: &Array| (0..array.size()).map(|at| array.element(at).to_f64().to_bits()).collect::<Vec<_>>();
    arrays.iter().flat_map(elements).collect()
}

/// Bytes that loops leave for others, before and after; values are the same bits.
fn compared(body: &Body) -> (usize, usize) {
    let again = recomputed(body, 0).into_owned();
    assert!(again.is_well_formed());
    let argument = |at: usize| {
        let ty = body.parameter_type(at);
        Array::from_vec(&ty.shape, (0..ty.size()).map(|i| ((i * 7 + at) % 11) as f64 / 8.0 - 0.6).collect())
    };
    let arguments: Vec<Array> = (0..body.arity()).map(argument).collect();
    let (found, expected) =
        (interpret::<Concrete>(&again, arguments.clone()), interpret::<Concrete>(body, arguments.clone()));
    assert_eq!(bits(&found), bits(&expected), "{again}");
    (left(body), left(&again))
}

/// Two products of neighbours in each step.
fn neighbours<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = x.len();
    let moved = |y: &Vector<A, f64>| x * concatenate(0, &[ones(1), y.slice(0, ..n - 1)]);
    iterate(zeros(n), 6, |y| {
        let first = moved(&y);
        let second = moved(&(&y + 0.25 * &first));
        y + first * 0.5 + second
    })
    .at(n - 1)
}

/// Exponentials of values that are read and of values that are carried.
fn gates<A: Algebra>(x: &Vector<A, f64>, w: &Vector<A, f64>) -> Scalar<A, f64> {
    let (state, _) = scan(zeros(x.len()), &stack(&[x.clone(), x * 2.0, x * 3.0]), 3, |state: Vector<A, f64>, input| {
        let gate = (&state * w + &input).exp();
        let state = &state * &gate * (&gate + &input);
        (state.clone(), state)
    });
    state.sum()
}

#[test]
fn what_is_cheap_is_computed_again_from_carries() {
    let x = Vector::from(vec![0.5; 5]);
    let gradient = stage(neighbours, &x).unwrap().grad().unwrap();
    // One of three stacks of six times five remains: the carries.
    let (before, after) = compared(gradient.program());
    assert_eq!((before, after), (2 * 6 * 5 * 8, 6 * 5 * 8));
}

/// As [`neighbours`], with a few steps kept at a time.
fn checkpointed<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let (x, n) = (x.clone(), x.len());
    let moved = move |y: &Vector<A, f64>| &x * concatenate(0, &[ones(1), y.slice(0, ..n - 1)]);
    let step = move |y: Vector<A, f64>, (): ()| {
        let first = moved(&y);
        let second = moved(&(&y + 0.25 * &first));
        (y + first * 0.5 + second, ())
    };
    Checkpoints::Every(2).scan(zeros(n), &(), 6, step).0.at(n - 1)
}

#[test]
fn sweeps_compute_again_what_is_cheap() {
    let x = Vector::from(vec![0.5; 5]);
    let gradient = stage(checkpointed, &x).unwrap().grad().unwrap();
    // The carry replaces two values of a step.
    let (before, after) = compared(gradient.program());
    assert_eq!((before, after), (2 * 5 * 8, 5 * 8));
    // The values of two steps at a time, which are kept where they are small.
    let body = gradient.program();
    assert_eq!(*recomputed(body, 2 * left(body)), *body);
    assert_ne!(*recomputed(body, 2 * left(body) - 1), *body);
    let second = stage(|x| grad(checkpointed, x).powi(2).sum(), &x).unwrap().grad().unwrap();
    let (before, after) = compared(second.program());
    assert!(after < before, "{after} of {before}");
}

#[test]
fn exponentials_are_read() {
    let (x, w) = (Vector::from(vec![0.5; 5]), Vector::from(vec![0.25; 5]));
    let gradient = stage(|(x, w)| gates(x, w), (&x, &w)).unwrap().grad().unwrap();
    let (before, after) = compared(gradient.program());
    assert!(after < before);
    let exponentials = |body: &Body| body.to_string().matches("exp").count();
    assert_eq!(exponentials(&recomputed(gradient.program(), 0)), exponentials(gradient.program()));
}

#[test]
fn derivatives_of_derivatives_compute_again_what_is_there() {
    let x = Vector::from(vec![0.5; 5]);
    let second = stage(|x| grad(neighbours, x).powi(2).sum(), &x).unwrap().grad().unwrap();
    let (before, after) = compared(second.program());
    assert!(after < before, "{after} of {before}");
}

#[test]
fn little_stays_in_the_cache() {
    let x = Vector::from(vec![0.5; 5]);
    let gradient = stage(neighbours, &x).unwrap().grad().unwrap();
    let body = gradient.program();
    assert_eq!(*recomputed(body, left(body)), *body);
}

//! What later loops compute again, and that it is the same.

use super::recompute::recomputed;
use crate::concrete::{Array, Concrete};
use crate::prelude::*;
use crate::term::interpret::interpret;
use crate::term::{Body, Op};

/// Bytes that all loops leave for others.
fn left(body: &Body) -> usize {
    let outputs = body.nodes.iter().filter_map(|node| match &node.op {
        Op::Scan(scan) => Some(&node.types[scan.carries..]),
        _ => None,
    });
    outputs.flatten().map(|ty| ty.size() * ty.dtype.bytes()).sum()
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

/// Exponentials of what is read and of what is carried.
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
    // Of three stacks of six times five, one remains: that of the carries.
    let (before, after) = compared(gradient.program());
    assert_eq!((before, after), (2 * 6 * 5 * 8, 6 * 5 * 8));
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

//! Loops that read what the step before wrote: as machine code they compute what the instructions do.

use crate::engine::cpu::{Cpu, Program};
use crate::prelude::*;
use crate::term::Body;

/// Checks that machine code computes a program as the interpreter of its instructions does, bit for bit, and that there are some.
fn is_the_same(body: &Body, arguments: &[crate::array::Array]) {
    let [by_code, by_instructions] =
        [true, false].map(|is_code| Program::new(body, &Cpu::default().threads(1).machine_code(is_code)).unwrap());
    assert!(!by_code.machine.scalars().is_empty(), "no instructions for {body}");
    let [found, expected] = [by_code, by_instructions].map(|program| program.run(arguments).unwrap());
    for (found, expected) in found.iter().zip(&expected) {
        for at in 0..found.size() {
            let [found, expected] = [found, expected].map(|array| array.element(at));
            assert_eq!(found.bits(), expected.bits(), "{found:?} instead of {expected:?} at {at} of {body}");
        }
    }
}

/// Steps at positions, each of which mixes the element at one into the element at another, twice.
fn mixed<A: Algebra, T: Float>((x, from, to): &(Vector<A, T>, Vector<A, i64>, Vector<A, i64>)) -> Vector<A, T> {
    fold(x.clone(), &(from.clone(), to.clone()), |x: Vector<A, T>, (from, to)| {
        let sum = x.at(&to) + x.at(&from);
        let x = x.with(&to, sum);
        let third = x.at(&to) / 3;
        x.with(&to, third)
    })
}

fn of_type<T: Float>() {
    let n = 40i64;
    let x: Vec<T> = (0..n).map(|k| T::from_f64(1.0 + 0.37 * k as f64)).collect();
    let up: Vec<i64> = (0..n - 1).collect();
    let positions: [(Vec<i64>, Vec<i64>); 8] = [
        // The one before, the one behind, and the one that is written.
        (up.clone(), up.iter().map(|k| k + 1).collect()),
        (up.iter().rev().map(|k| k + 1).collect(), up.iter().rev().copied().collect()),
        (up.clone(), up.clone()),
        // One place for all steps, as what is read, as what is written, and both.
        (vec![3; 39], up.clone()),
        (up.clone(), vec![3; 39]),
        (vec![3; 39], vec![3; 39]),
        // Some of them outside.
        (up.iter().map(|k| 5 * k - 60).collect(), up.iter().map(|k| 7 * k - 90).collect()),
        (up.iter().map(|k| (k * k) % 5).collect(), up.iter().map(|k| (k * k + k) % 4).collect()),
    ];
    for (from, to) in positions {
        let arguments = (Vector::<Concrete, T>::from(x.clone()), Vector::from(from), Vector::from(to));
        let function = stage(|at: &(Vector<_, T>, Vector<_, i64>, Vector<_, i64>)| mixed(at), &arguments).unwrap();
        is_the_same(function.program(), &arguments.leaves());
        let total = stage(|at: &(Vector<_, T>, Vector<_, i64>, Vector<_, i64>)| mixed(at).powi(2).sum(), &arguments);
        is_the_same(total.unwrap().grad().unwrap().program(), &arguments.leaves());
    }
}

#[test]
fn elements_of_the_step_before_are_those_in_memory() {
    of_type::<f64>();
    of_type::<f32>();
}

/// Rows of a matrix, relaxed in place again and again, each loop beginning with nothing of the one before.
fn relaxed<A: Algebra>(x: &Matrix<A, f64>) -> Matrix<A, f64> {
    let n = x.shape()[0];
    iterate(x.clone(), 3, |x: Matrix<A, f64>| {
        fold(x, &iota(n - 1), |x: Matrix<A, f64>, i: Scalar<A, i64>| {
            fold(x, &iota(n - 1), |x: Matrix<A, f64>, j: Scalar<A, i64>| {
                let (i, next) = (&i + 1, &j + 1);
                let sum = x.at((&i, &next)) + x.at((&i, &j)) + x.at((&(&i - 1), &next));
                x.with((&i, &next), sum / 9.0)
            })
        })
    })
}

/// Each pass begins with the element that the pass before wrote last, and that has changed since.
fn in_rounds<A: Algebra>((x, before): &(Vector<A, f64>, Vector<A, i64>)) -> Vector<A, f64> {
    let last = x.len() as i64 - 1;
    iterate(x.clone(), 4, |x: Vector<A, f64>| {
        let steps = (before.clone(), iota(before.len()));
        let x = fold(x, &steps, |x: Vector<A, f64>, (before, k): (Scalar<A, i64>, Scalar<A, i64>)| {
            let sum = x.at(&before) + x.at(&k);
            x.with(&k, sum / 3)
        });
        let next = 2 * x.at(last) + 1;
        x.with(last, next)
    })
}

#[test]
fn loops_in_loops_begin_anew() {
    let x = Matrix::<Concrete, f64>::from_elements((9, 9), (0..81).map(f64::from).collect::<Vec<_>>());
    let function = stage(|x: &Matrix<_, f64>| relaxed(x), &x).unwrap();
    is_the_same(function.program(), &x.leaves());
    let total = stage(|x: &Matrix<_, f64>| relaxed(x).powi(2).sum(), &x).unwrap();
    is_the_same(total.grad().unwrap().program(), &x.leaves());

    let x = Vector::<Concrete, f64>::from((0..12).map(f64::from).collect::<Vec<_>>());
    let at = (x, Vector::from([11].into_iter().chain(0..11).collect::<Vec<i64>>()));
    let function = stage(|at: &(Vector<_, f64>, Vector<_, i64>)| in_rounds(at), &at).unwrap();
    is_the_same(function.program(), &at.leaves());
}

/// Two arrays are changed by one loop; and integers are.
#[test]
fn other_writes_are_seen() {
    type Pair<A> = (Vector<A, f64>, Vector<A, f64>);
    fn two<A: Algebra>(pair: &Pair<A>) -> Pair<A> {
        fold(pair.clone(), &iota(pair.0.len() - 1), |(x, y): Pair<A>, k: Scalar<A, i64>| {
            let next = &k + 1;
            let (a, b) = (x.at(&k) * y.at(&next) + x.at(&next), y.at(&k) - x.at(&next));
            (x.with(&next, a), y.with(&next, b))
        })
    }
    let x: Vector<Concrete, f64> = (0..30).map(|k| 1.0 / f64::from(k + 1)).collect::<Vec<_>>().into();
    let pair = (x.clone(), x);
    is_the_same(stage(|pair: &Pair<_>| two(pair), &pair).unwrap().program(), &pair.leaves());

    fn counts<A: Algebra>(x: &Vector<A, i64>) -> Vector<A, i64> {
        fold(x.clone(), &iota(x.len() - 1), |x: Vector<A, i64>, k: Scalar<A, i64>| {
            let sum = x.at(&k) + x.at(&(&k + 1));
            x.with(&(&k + 1), sum)
        })
    }
    let x: Vector<Concrete, i64> = (0..30).collect::<Vec<i64>>().into();
    is_the_same(stage(|x: &Vector<_, i64>| counts(x), &x).unwrap().program(), &x.leaves());
}

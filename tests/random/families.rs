//! Random programs of kinds that those written step by step seldom or never are: rows of large arrays, which kernels go
//! through in blocks; loops with checkpoints; loops in conditionals in loops; sorts of keys of all kinds; loops that write.
//!
//! They are written as users write them; a seed takes the choices.

use super::chance::Random;
use super::writes;
use deltaray::algebra::Order;
use deltaray::concrete::Array;
use deltaray::operation::{Binary, Comparison, Unary};
use deltaray::prelude::*;
use deltaray::shape::{DType, Type};
use deltaray::term::{Body, Build, Graph, Op};

type M<A> = Matrix<A, f64>;
type V<A> = Vector<A, f64>;

/// A program and inputs for it.
pub struct Member {
    /// Its family, and its number there.
    pub name: String,
    /// The program.
    pub body: Body<Build>,
    /// An array for each parameter.
    pub inputs: Vec<Array>,
}

fn numbers(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| random.between(-1.5, 1.5)).collect()
}

fn matrix(random: &mut Random, rows: usize, columns: usize) -> M<Concrete> {
    Matrix::from_elements((rows, columns), numbers(random, rows * columns))
}

fn vector(random: &mut Random, count: usize) -> V<Concrete> {
    numbers(random, count).into()
}

/// Elementwise steps, norms and products of rows, and reductions of all rows.
fn rows<A: Algebra>(seed: u64, (x, w, v): &(M<A>, M<A>, V<A>)) -> (Scalar<A, f64>, V<A>, V<A>) {
    let mut random = Random::new(seed);
    let mut at = x.clone();
    for _ in 0..random.whole(3, 6) {
        let per_row = |values: V<A>| values.insert_axis(1);
        at = match random.below(8) {
            0 => at.tanh(),
            1 => (&at * random.between(0.5, 2.0)).sin(),
            2 => &at - per_row(at.max_axis(1)),
            3 => &at * per_row(v.clone()),
            4 => {
                let powers = at.tanh().exp();
                &powers / per_row(powers.sum_axis(1))
            }
            5 => (at.dot(w).dot(&w.transpose()) * 0.1).tanh(),
            6 => at.gt(0.0).select(&at * x, at.cos()),
            _ => &at * per_row((&at * x).mean_axis(1)),
        };
    }
    (at.powi(2).sum() * 1e-3, at.mean_axis(0), (&at * 0.5).logsumexp_axis(1))
}

/// A loop that carries rows, and sums of products over all of them, on which the next rows depend.
fn summed<A: Algebra>(seed: u64, (x, w): &(M<A>, M<A>)) -> (M<A>, Scalar<A, f64>) {
    let mut random = Random::new(seed);
    let (kind, factor, is_turned) = (random.below(3), random.between(0.4, 1.2), random.chance(0.5));
    let step = |(rows, sums): (M<A>, M<A>)| {
        let mixed = (&rows + x) * (sums.at((0, 0)) * 1e-3 + factor);
        let next = match kind {
            0 => mixed.sin(),
            1 => mixed.tanh() * x,
            _ => &mixed / (mixed.powi(2) + 1.0),
        };
        let added = match is_turned {
            true => (&next * x).transpose().dot(&next),
            false => next.transpose().dot(&(&next * &rows)),
        };
        (next, sums + added)
    };
    let (rows, sums) = iterate((x.cos(), w.clone()), 3, step);
    (sums * 1e-2, rows.powi(2).sum() * 1e-3)
}

/// A recurrence over the rows of `x` whose reverse derivative keeps only some states; steps may have loops of their own.
fn checkpointed<A: Algebra>(seed: u64, (x, w): &(M<A>, M<A>)) -> (V<A>, M<A>) {
    let mut random = Random::new(seed);
    let few = 1 + random.below(3);
    let checkpoints = random.pick(&[
        Checkpoints::Every(few),
        Checkpoints::Snapshots(few),
        Checkpoints::Bytes(40 * few),
        Checkpoints::Bytes(400 * few),
    ]);
    let (inner, gated, backwards) = (random.below(3), random.chance(0.4), random.chance(0.3));
    let (first, w) = (w.sum_axis(1).tanh(), w.clone());
    let step = move |carry: V<A>, row: V<A>| {
        let mixed = (w.dot(&carry) + &row).tanh();
        let (row, mixed_again) = (row.clone(), mixed.clone());
        let next = match inner {
            0 => mixed,
            1 => iterate(mixed, 3, |y: V<A>| (y * 0.9 + &mixed_again).sin()),
            _ => {
                let damped = move |y: V<A>, ()| ((y * &row).cos() * 0.8, ());
                Checkpoints::Snapshots(1).scan(mixed, &(), 3, damped).0
            }
        };
        let next = match gated {
            true => cond(carry.sum().gt(0.0), || &next * 0.5, || next.sin()),
            false => next,
        };
        (next.clone(), next)
    };
    match backwards {
        true => checkpoints.scan_reverse(first, x, x.len(), step),
        false => checkpoints.scan(first, x, x.len(), step),
    }
}

/// Conditionals whose sides have loops, in which there are loops and conditionals again.
fn nested<A: Algebra>(seed: u64, (x, y): &(V<A>, V<A>)) -> (Scalar<A, f64>, V<A>) {
    let mut random = Random::new(seed);
    let (outer, inner) = (random.below(4), 1 + random.below(3));
    let (gate, factor) = (random.between(-1.0, 1.0), random.between(0.4, 0.9));
    let counts_itself = random.chance(0.5);
    let inside = |z: V<A>| -> V<A> {
        if counts_itself {
            let most = 3.5;
            while_loop((scalar(0.0), z), |(n, _)| n.lt(most), |(n, z)| (n + 1.0, (z * factor + y).sin())).1
        } else {
            iterate(z, inner, |z: V<A>| cond(z.sum().gt(gate), || (&z * factor).cos(), || &z * y))
        }
    };
    let looped = || {
        let step = |(total, z): (Scalar<A, f64>, V<A>), x: Scalar<A, f64>| {
            let z = inside(z) * &x;
            (total + z.sum(), z)
        };
        fold((scalar(0.5), x.cos()), x, step)
    };
    let other = || {
        let z = iterate(x.sin(), outer, |z: V<A>| inside(z).tanh());
        (z.powi(2).sum(), z)
    };
    let (total, z) = cond(x.at(0).gt(gate), looped, other);
    (total.sin(), z)
}

/// Sorts by keys that are any numbers, NaN among them, or truth values; and other arrays in that order.
fn sorted<A: Algebra>(seed: u64, (keys, x): &(M<A>, M<A>)) -> (M<A>, M<A>, Matrix<A, i64>) {
    let mut random = Random::new(seed);
    let axis = random.below(2);
    let positions = match random.below(3) {
        0 => keys.argsort(axis),
        1 => keys.argsort_descending(axis),
        _ => (keys * 2.0).round().cast::<i64>().argsort(axis),
    };
    let moved = x.take_along_axis(&positions, axis) * x;
    let sorted = match random.chance(0.5) {
        true => keys.sort(axis),
        false => keys.sort_descending(axis),
    };
    (moved.exp(), sorted, positions)
}

/// Truth values in order, as users can not write it: how positions of elements come into the order of where they are the
/// smaller ones.
fn sorted_truths(seed: u64, types: &[Type]) -> Body<Build> {
    let mut random = Random::new(seed);
    let (axis, order) = (random.below(2), random.pick(&[Order::Ascending, Order::Descending]));
    let mut graph: Graph<Build> = Graph::new(types, 0);
    let sine = graph.add(Op::Unary(Unary::Sin), &[1]);
    let mask = graph.add(Op::Compare(random.pick(&[Comparison::Less, Comparison::NotEqual])), &[0, sine]);
    let positions = graph.add(Op::ArgSort(order, axis), &[mask]);
    let numbers = graph.add(Op::Cast(DType::F64), &[positions]);
    let product = graph.add(Op::Binary(Binary::Mul), &[numbers, sine]);
    graph.finish(&[product, positions])
}

/// One program of each family: small ones may have arrays without elements.
fn some_of_each(number: u64) -> Vec<Member> {
    let seed = Random::new(number ^ 0x5eed).bits();
    let random = &mut Random::new(seed);
    let written = |family: &str, body: &Body<Build>, inputs: Vec<Array>| Member {
        name: format!("{family} {number}"),
        body: body.clone(),
        inputs,
    };
    let staged = "functions of families can be staged";
    let mut members = Vec::new();

    // Arrays of more than half a megabyte, for which blocks of rows make sense; with and without a last block of other size.
    let (n, m, k) = (random.pick(&[1536, 1601, 2049]), random.pick(&[48, 61]), random.pick(&[2, 5]));
    let inputs = (matrix(random, n, m), matrix(random, m, k), vector(random, n));
    let function = stage(|at| rows(seed, at), &inputs).expect(staged);
    members.push(written("rows", function.source(), inputs.leaves()));

    let (n, m) = (random.pick(&[1000, 1203]), random.pick(&[64, 70]));
    let inputs = (matrix(random, n, m), matrix(random, m, m));
    let function = stage(|at| summed(seed, at), &inputs).expect(staged);
    members.push(written("summed", function.source(), inputs.leaves()));

    let (n, k) = (random.pick(&[0, 1, 5, 7, 12]), random.pick(&[1, 2, 3, 0]));
    let inputs = (matrix(random, n, k), matrix(random, k, k));
    let function = stage(|at| checkpointed(seed, at), &inputs).expect(staged);
    members.push(written("checkpointed", function.source(), inputs.leaves()));

    let n = random.pick(&[1, 2, 4]);
    let inputs = (vector(random, n), vector(random, n));
    let function = stage(|at| nested(seed, at), &inputs).expect(staged);
    members.push(written("nested", function.source(), inputs.leaves()));

    let (n, m) = (random.pick(&[0, 1, 4, 9, 33]), random.pick(&[1, 3, 6, 0]));
    let mut keys = numbers(random, n * m);
    for key in &mut keys {
        *key = random.weighted(&[(6, *key), (2, f64::NAN), (2, (*key).round()), (1, -0.0), (1, f64::INFINITY)]);
    }
    let inputs = (Matrix::from_elements((n, m), keys), matrix(random, n, m));
    let function = stage(|at| sorted(seed, at), &inputs).expect(staged);
    let inputs = inputs.leaves();
    members.push(written("sorted", function.source(), inputs.clone()));
    let types: Vec<Type> = inputs.iter().map(Array::ty).collect();
    members.push(written("sorted truths", &sorted_truths(seed, &types), inputs));

    let case = writes::case(seed);
    members.push(written("loop that writes", &case.body, case.inputs));
    members
}

/// So many programs of each family.
pub fn members(count: u64) -> impl Iterator<Item = Member> {
    (0..count).flat_map(some_of_each)
}

//! Loops that leave out positions where a nest changes nothing: how many elements they go over, and their results.

use crate::array::Array;
use crate::concrete::Concrete;
use crate::engine::cpu::code::ELEMENTS;
use crate::engine::cpu::{Cpu, Program};
use crate::evaluate::run;
use crate::kernel::stretch::LATE_BY;
use crate::operation::{Binary, Comparison, Reduction};
use crate::prelude::*;
use crate::shape::{DType, Type, Value};
use crate::staged::Staged;
use crate::term::{Graph, Op};
use smallvec::smallvec;

type M<A> = Matrix<A, f64>;

fn table(n: usize) -> M<Concrete> {
    Matrix::from_elements((n, n), (0..n * n).map(|at| ((at * 7919 % 1000) as f64 - 500.0) / 250.0).collect::<Vec<_>>())
}

/// Sums over the positions that a comparison leaves.
fn sums<A: Algebra>(a: &M<A>, choose: impl Fn(&Scalar<A, i64>, &Scalar<A, i64>) -> Scalar<A, bool>) -> Vector<A, f64> {
    let n = a.len();
    fold(zeros(n), &iota(n), |sums: Vector<A, f64>, j: Scalar<A, i64>| {
        let sum = build(n, |k| choose(&k, &j).select(a.at((&j, &k)) * a.at((&k, 0)), 0.0)).sum();
        sums.with(&j, sum)
    })
}

/// How many elements instructions go over when a function runs as kernels. Its results must equal those of plain arrays.
macro_rules! elements {
    ($f:expr, $at:expr) => {{
        let (at, expected) = ($at, $f(&$at));
        let mut counts = Vec::new();
        for threads in [1, 3] {
            let cpu = Cpu::default().threads(threads).machine_code(false);
            let program = stage($f, &at).unwrap().compile(cpu).unwrap();
            let before = ELEMENTS.get();
            let found = program.call(&at).unwrap();
            counts.push(ELEMENTS.get() - before);
            for (found, expected) in found.to_vec().into_iter().zip(expected.to_vec()) {
                assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found} instead of {expected}");
            }
        }
        counts[0]
    }};
}

#[test]
fn a_sum_to_a_bound_of_the_step_goes_over_the_triangle() {
    let n = 120;
    let whole = elements!(|a: &M<_>| sums(a, |k, _| k.ge(0)), table(n));
    let to = |name: &str, count: usize| assert!(count <= whole / 2 + 40 * n, "{name}: {count} of {whole}");
    to("k < j", elements!(|a: &M<_>| sums(a, |k, j| k.lt(j)), table(n)));
    to("k <= j", elements!(|a: &M<_>| sums(a, |k, j| k.le(j)), table(n)));
    to("j > k", elements!(|a: &M<_>| sums(a, |k, j| j.gt(k)), table(n)));
    to("k > j", elements!(|a: &M<_>| sums(a, |k, j| k.gt(j)), table(n)));
    to("!(k < j)", elements!(|a: &M<_>| sums(a, |k, j| !k.lt(j)), table(n)));
    to("k < j - 1", elements!(|a: &M<_>| sums(a, |k, j| k.lt(j - 1)), table(n)));
    let few = elements!(|a: &M<_>| sums(a, |k, j| k.ge(j) & k.lt(j + 3)), table(n));
    assert!(few <= 40 * n, "{few}");
    let one = elements!(|a: &M<_>| sums(a, |k, j| k.equal(j)), table(n));
    assert!(one <= 40 * n, "{one}");
}

/// Slices whose ends move are such sums.
#[test]
fn a_slice_to_a_bound_goes_over_the_triangle() {
    let n = 120;
    macro_rules! elements_of_slices {
        (|$a:ident, $j:ident| $sum:expr) => {
            elements!(
                |$a: &M<_>| fold(zeros(n), &iota(n), |sums: Vector<_, f64>, $j: Scalar<_, i64>| {
                    let sum = $sum;
                    sums.with(&$j, sum)
                }),
                table(n)
            )
        };
    }
    let whole = elements!(|a: &M<_>| sums(a, |k, _| k.ge(0)), table(n));
    let to = |name: &str, count: usize| assert!(count <= whole / 2 + 40 * n, "{name}: {count} of {whole}");
    to("a[(j, ..j)]", elements_of_slices!(|a, j| a.moving_slice((&j, ..&j)).sum()));
    to("a row and a column", {
        elements_of_slices!(|a, j| a.moving_slice((&j, ..&j)).dot(&a.moving_slice((..&j, 0))))
    });
    to("a[(j, j..)]", elements_of_slices!(|a, j| a.moving_slice((&j, &j..)).sum()));
    to("a[(j, j + 1..)]", elements_of_slices!(|a, j| a.moving_slice((&j, &j + 1..)).max_all().max(-9.0)));
    let few = elements_of_slices!(|a, j| a.moving_slice((&j, j.clone()..&j + 3)).sum());
    assert!(few <= 40 * n, "{few}");
}

/// Both bounds may be outside of the loop.
#[test]
fn bounds_outside_of_the_loop_leave_all_or_nothing() {
    let n = 20;
    for offset in [-100, -20, -1, 0, 1, 19, 20, 21, 1000, i64::MAX - 80, i64::MIN + 80] {
        elements!(|a: &M<_>| sums(a, |k, j| k.lt(j + offset)), table(n));
        elements!(|a: &M<_>| sums(a, |k, j| k.gt(j + offset)), table(n));
        elements!(|a: &M<_>| sums(a, |k, j| k.ge(j) & k.lt(j + offset)), table(n));
    }
}

/// Numbers that are compared may leave their range on the way, which is no bound of positions.
#[test]
fn positions_that_wrap_around_are_no_bounds() {
    let n = 20;
    for (op, offset, bound) in [
        (Binary::Add, i64::MAX - 5, 0),
        (Binary::Add, i64::MAX, -3),
        (Binary::Sub, i64::MIN, 0),
        (Binary::Sub, i64::MIN + 8, 7),
        (Binary::Add, 3, 9),
        (Binary::Sub, 3, 9),
    ] {
        let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[n])], 0);
        let full = |graph: &mut Graph, value: i64| graph.add(Op::Constant(Array::full(&[n], Value::I64(value))), &[]);
        let positions = graph.add(Op::Iota(n), &[]);
        let offset = full(&mut graph, offset);
        let moved = graph.add(Op::Binary(op), &[positions, offset]);
        let bound = full(&mut graph, bound);
        let mask = graph.add(Op::Compare(Comparison::Less), &[moved, bound]);
        let zeros = graph.add(Op::Constant(Array::full(&[n], Value::F64(0.0))), &[]);
        let chosen = graph.add(Op::Select, &[mask, 0, zeros]);
        let sum = graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[chosen]);
        let body = graph.finish(&[sum]);
        let x = [Array::from_vec(&[n], (0..n).map(|k| (1 << k) as f64).collect::<Vec<_>>())];
        let expected = run(&body, x.to_vec()).expect("there is memory");
        let found = Program::new(&body, &Cpu::default()).expect("there is memory").run(&x).expect("it runs");
        assert_eq!(found, expected, "{op:?}");
    }
}

/// A write that a mask leaves out, by a position before the first.
#[test]
fn a_write_to_a_bound_goes_over_the_triangle() {
    fn written<A: Algebra>(a: &M<A>, bound: impl Fn(&Scalar<A, i64>) -> Scalar<A, i64>) -> M<A> {
        let n = a.len();
        fold(a.clone(), &iota(n), |a: M<A>, j: Scalar<A, i64>| {
            let (row, k) = (a.at(&j) * 0.5, iota(n));
            a.scatter_add((j.broadcast_to(n), k.lt(bound(&j)).select(&k, -1)), &row)
        })
    }
    let n = 120;
    let count = elements!(|a: &M<_>| written(a, |j| j.clone()), table(n));
    let whole = elements!(|a: &M<_>| written(a, |j| j + 1000), table(n));
    assert!(count <= whole * 6 / 10 + 40 * n, "{count} of {whole}");
}

/// Loops in one nest whose bounds are each other's positions.
#[test]
fn a_triangle_of_one_nest_goes_over_half_of_it() {
    fn low<A: Algebra>(a: &M<A>) -> Vector<A, f64> {
        let n = a.len();
        build(n, |i| build(n, |k| k.lt(&i).select(a.at((&i, &k)).exp(), 0.0)).sum())
    }
    let n = 100;
    let count = elements!(low, table(n));
    let whole = elements!(|a: &M<_>| a.exp().sum_axis(1), table(n));
    assert!(count <= whole * 7 / 10 + 40 * n, "{count} of {whole}");
}

/// Where loops begin or end one position too early or too late, results tell.
#[test]
fn a_stretch_off_by_one_is_found() {
    type Number = Scalar<Staged, i64>;
    fn of_slices(a: &M<Staged>, sum: impl Fn(&Number) -> Scalar<Staged, f64>) -> Vector<Staged, f64> {
        fold(zeros(a.len()), &iota(a.len()), |sums: Vector<Staged, f64>, j| {
            let sum = sum(&j);
            sums.with(&j, sum)
        })
    }
    fn written(
        a: &M<Staged>,
        choose: fn(&Vector<Staged, i64>, &Number) -> Vector<Staged, bool>,
    ) -> Vector<Staged, f64> {
        let step = |a: M<Staged>, j: Number| {
            let (row, k) = (a.at(&j) * 0.5, iota(a.len()));
            a.scatter_add((j.broadcast_to(a.len()), choose(&k, &j).select(&k, -1)), &row)
        };
        fold(a.clone(), &iota(a.len()), step).sum_axis(1)
    }
    // Each with whether it has limits below and above.
    let programs: [(fn(&M<Staged>) -> Vector<Staged, f64>, [bool; 2]); 8] = [
        (|a| sums(a, |k, j| k.ge(j)), [true, false]),
        (|a| sums(a, |k, j| k.lt(j)), [false, true]),
        (|a| sums(a, |k, j| k.ge(j) & k.lt(j + 3)), [true, true]),
        (|a| sums(a, |k, j| k.equal(j)), [true, true]),
        (|a| of_slices(a, |j| a.moving_slice((j, ..j)).sum()), [false, true]),
        (|a| of_slices(a, |j| a.moving_slice((j, j + 1..)).sum()), [true, false]),
        (|a| written(a, |k, j| k.lt(j)), [false, true]),
        (|a| written(a, |k, j| k.gt(j)), [true, false]),
    ];
    // Smaller ones run otherwise.
    let x = table(40);
    for (number, (program, limits)) in programs.into_iter().enumerate() {
        let function = stage(program, &x).unwrap();
        let expected = function.interpret(&x).unwrap().to_vec();
        for late_by in [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]] {
            LATE_BY.set(late_by);
            let compiled = function.compile(Cpu::default().threads(1));
            LATE_BY.set([0; 2]);
            let found = compiled.unwrap().call(&x).unwrap().to_vec();
            let differs = found.iter().zip(&expected).any(|(a, b)| (a - b).abs() > 1e-12);
            let is_wrong = (0..2).any(|edge| late_by[edge] != 0 && limits[edge]);
            assert_eq!(differs, is_wrong, "program {number}, late by {late_by:?}: {found:?} and {expected:?}");
        }
    }
}

/// The gradient of an extreme goes to the first element that is it, which is looked for in the slice.
#[test]
fn gradients_of_extremes_of_moving_slices_go_over_the_slices() {
    let extremes = |x: &Vector<Staged, f64>| {
        let n = x.len();
        let last = fold(x * 0.5, &iota(n - 3), |y: Vector<_, f64>, k| {
            let (low, high) =
                (y.moving_slice(k.clone()..&k + 3).min_all(), x.moving_slice(k.clone()..&k + 2).max_all());
            y.with(&k + 3, low * 0.9 + high)
        });
        last.sum()
    };
    let count = |n: usize| {
        let x = Vector::from((0..n).map(|at| ((at * 37 % 101) as f64) / 101.0 - 0.4).collect::<Vec<_>>());
        let staged = stage(extremes, &x).unwrap().value_and_grad().unwrap();
        let program = staged.compile(Cpu::default().threads(1)).unwrap();
        let before = ELEMENTS.get();
        let (_, gradient) = program.call(&x).unwrap();
        let count = ELEMENTS.get() - before;
        assert_eq!(gradient.to_vec(), staged.interpret(&x).unwrap().1.to_vec());
        count
    };
    let (small, large) = (count(400), count(800));
    assert!(large <= 2 * small + 400 && small <= 400 * 80, "{small} and {large}");
}

/// The first of all elements where a slice has none, or none that is better than nothing; else the first in the slice, of numbers
/// that are none the first.
#[test]
fn positions_of_extremes_in_slices_are_those_among_all() {
    let n = 6;
    let values = [f64::NEG_INFINITY, f64::INFINITY, f64::NAN, 0.5, -2.0];
    for case in 0..values.len().pow(3) {
        let of = |at: usize| values[case / values.len().pow(at as u32 % 3) % values.len()];
        let x = Vector::<Concrete, f64>::from((0..n).map(of).collect::<Vec<_>>());
        for (start, end) in [(0, 0), (2, 2), (0, 3), (1, 4), (3, 6), (-2, 2), (5, 9)] {
            let bounds = Vector::<Concrete, i64>::from(vec![start, end]);
            macro_rules! positions {
                () => {
                    |(x, bounds)| {
                        let k = iota(n);
                        let inside = k.ge(bounds.at(0)) & k.lt(bounds.at(1));
                        let highest = inside.select(x, f64::NEG_INFINITY).argmax();
                        let lowest = inside.select(x, f64::INFINITY).argmin();
                        let outside = (!inside).select(f64::NEG_INFINITY, x).argmax();
                        highest * 100 + lowest * 10 + outside
                    }
                };
            }
            let staged = stage(positions!(), (&x, &bounds)).unwrap();
            let expected = staged.interpret((&x, &bounds)).unwrap().item();
            let found = staged.compile(Cpu::default()).unwrap().call((&x, &bounds)).unwrap().item();
            assert_eq!(found, expected, "{:?} in {start}..{end}", x.to_vec());
        }
    }
}

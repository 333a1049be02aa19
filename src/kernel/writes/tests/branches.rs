//! Arrays from outside that a side of a conditional reads by elements.

use super::written;
use crate::kernel::lower_in_place;
use crate::prelude::*;
use crate::staged::Staged;

/// The elements that the gradient by all arguments of a function writes, for two sizes, one twice the other.
fn written_by<F>(function: F, n: usize) -> [usize; 2]
where
    F: Fn(&(Matrix<Staged, f64>, Vector<Staged, f64>)) -> Scalar<Staged, f64>,
{
    [n, 2 * n].map(|n| {
        let (l, b) = (Matrix::from_elements([n, n], vec![0.5; n * n]), Vector::from(vec![1.0; n]));
        let gradient = stage(&function, (&l, &b)).unwrap().value_and_grad().unwrap();
        written(&lower_in_place(gradient.program()))
    })
}

/// Forward substitution by elements.
fn solve<A: Algebra>((l, b): &(Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
    let n = b.len();
    let outer = fold(b * 1.0, &iota(n), |y: Vector<A, f64>, i| {
        let inner = fold(y, &iota(n - 1), |y: Vector<A, f64>, j| {
            cond(j.lt(&i), || y.clone().with_added(&i, -(l.at((&i, &j)) * y.at(&j))), || y.clone())
        });
        let last = inner.at(&i) / l.at((&i, &i));
        inner.with(&i, last)
    });
    outer.sum()
}

#[test]
fn elements_of_cotangents_are_added_where_a_side_has_read_them() {
    let [small, large] = written_by(solve, 80);
    // Each step of the inner loops writes some numbers, whatever the size.
    assert!(large < 9 * small / 2 && small < 40 * 80 * 80, "{small} and {large}");
}

#[test]
fn both_sides_may_read_the_same_array() {
    let either = |(l, b): &(Matrix<_, f64>, Vector<_, f64>)| {
        let n = b.len();
        let last = fold(b.sin(), &iota(n - 1), |y: Vector<_, f64>, k| {
            cond(
                y.at(&k).gt(0.5),
                || y.clone().with(&(&k + 1), y.at(&k) * l.at((&k, &k)) - l.at((0, &k))),
                || y.clone().with(&k, y.at(&k) * l.at((&k, &(&k + 1))).sin()),
            )
        });
        last.sum()
    };
    let [small, large] = written_by(either, 80);
    // The gradient by the matrix begins with zeros.
    assert!(small < 80 * 80 * 3 + 60 * 80 && large < 160 * 160 * 3 + 60 * 160, "{small} and {large}");
}

/// The inner conditional leaves one of the arrays as it was, on both sides.
#[test]
fn conditionals_in_conditionals_write_elements() {
    let three_ways = |(_, b): &(Matrix<_, f64>, Vector<_, f64>)| {
        let n = b.len();
        let (y, z) = fold((b * 0.5, b * 0.3), &iota(n - 2), |(y, z): (Vector<_, f64>, Vector<_, f64>), k| {
            cond(
                y.at(&k).gt(0.0),
                || (y.clone().with(&k + 1, z.at(&k).sin()), z.clone()),
                || {
                    cond(
                        z.at(&k).gt(0.1),
                        || (y.clone(), z.clone().with_added(&k + 1, -y.at(&k))),
                        || (y.clone().with(&k + 2, b.at(&k)), z.clone()),
                    )
                },
            )
        });
        y.sum() + z.sum()
    };
    let [small, large] = written_by(three_ways, 200);
    // The gradient by the matrix is zeros, which are written.
    assert!(large - small < 3 * 200 * 200 + 80 * 200, "{small} and {large}");
}

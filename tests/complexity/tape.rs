//! How much a loop keeps for its derivative, by the sizes of what it leaves: what is written over, however large the array is,
//! and however the writes are nested.

use super::*;
use deltaray::term::{Body, Op};

type M<A> = Matrix<A, f64>;
type V<A> = Vector<A, f64>;
type N<A> = Scalar<A, i64>;

/// Rows of the arrays.
const ROWS: usize = 40;

fn row_times_row<A: Algebra>(left: &V<A>, right: &V<A>, bound: &N<A>) -> Scalar<A, f64> {
    build(left.len(), |k| k.lt(bound).select(left.at(&k) * right.at(&k), 0.0)).sum()
}

/// Elements of a triangle, each from two rows, and a diagonal.
fn factorisation<A: Algebra>(a: &M<A>) -> M<A> {
    fold(a.clone(), &iota(ROWS), |a, i: N<A>| {
        let a = fold(a, &iota(ROWS), |a, j: N<A>| {
            cond(
                j.lt(&i),
                || {
                    let dot = row_times_row(&a.at(&i), &a.at(&j), &j);
                    let a = a.clone().with_added((&i, &j), -dot);
                    let quotient = a.at((&i, &j)) / a.at((&j, &j));
                    a.with((&i, &j), quotient)
                },
                || a.clone(),
            )
        });
        let root = (a.at((&i, &i)) - row_times_row(&a.at(&i), &a.at(&i), &i)).sqrt();
        a.with((&i, &i), root)
    })
}

/// Writes whose own derivative needs nothing, between reads of all of it.
fn copies<A: Algebra>(a: &M<A>) -> M<A> {
    fold(a.clone(), &iota(ROWS), |a, i: N<A>| {
        let sum = (&a * &a).sum();
        let a = fold(a, &iota(ROWS / 4), |a, j: N<A>| {
            let element = a.at((&i, &j + 1)) * 2.0;
            a.with((&i, &j), element)
        });
        let value = (&a * &a * &a).sum() * sum;
        a.with((&i, 0), value)
    })
}

/// The array before the inner loop and after it at once.
fn before_and_after<A: Algebra>(a: &M<A>) -> M<A> {
    fold(a.clone(), &iota(ROWS), |a, i: N<A>| {
        let after = fold(a.clone(), &iota(ROWS / 4), |a, j: N<A>| {
            let value = (&a * &a).sum().sin();
            a.with((&i, &j), value)
        });
        let both = (&after * &a).sum();
        after.with((&i, 0), both)
    })
}

/// Another place in each side of a conditional.
fn sides<A: Algebra>(a: &M<A>) -> M<A> {
    fold(a.clone(), &iota(ROWS), |a, i: N<A>| {
        let is_positive = a.at((&i, 0)).gt(0.0);
        cond(
            is_positive,
            || {
                let first = a.clone().with((&i, 1), (&a * &a).sum());
                let second = (&first * &first).sum();
                first.with((&i, 2), second)
            },
            || {
                fold(a.clone(), &iota(3), |a, j: N<A>| {
                    let value = a.at(&j).dot(&a.at(&i));
                    a.with((&i, &j), value)
                })
            },
        )
    })
}

/// Three loops, one in the other.
fn three_deep<A: Algebra>(a: &M<A>) -> M<A> {
    iterate(a.clone(), 2, |a| {
        fold(a, &iota(ROWS / 8), |a, i: N<A>| {
            fold(a, &iota(ROWS / 2), |a, j: N<A>| {
                let value = a.at(&i).dot(&a.at(&j)).sin();
                a.with((&i, &j), value)
            })
        })
    })
}

/// The elements that the loops of a program leave.
fn left(body: &Body) -> usize {
    let nodes = body.nodes().iter().filter(|node| matches!(node.op, Op::Scan(_)));
    nodes.flat_map(|node| &node.types).map(|ty| ty.shape.iter().product::<usize>()).sum()
}

#[test]
fn nested_writes_keep_what_they_write_over() {
    type Program = fn(&M<Staged>) -> M<Staged>;
    let programs: [(&str, Program); 5] = [
        ("factorisation", factorisation),
        ("copies", copies),
        ("before and after", before_and_after),
        ("sides", sides),
        ("three deep", three_deep),
    ];
    let a: M<C> = full((ROWS, ROWS), 0.5);
    for (name, program) in programs {
        let first = stage(|a| program(a).sin().sum(), &a).unwrap().grad().unwrap();
        // The arrays themselves, and some numbers a write.
        let kept = left(first.program());
        assert!(kept <= 12 * ROWS * ROWS, "{name}: {kept} elements are kept of {ROWS} rows\n{first}");
    }
}

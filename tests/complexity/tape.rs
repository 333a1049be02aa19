//! The memory that a loop keeps for its derivative, by the sizes of the values that it leaves: the overwritten elements,
//! however large the array is, and however the writes are nested.

use super::*;
use deltaray::term::{Body, Node, Op, Sweep};

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

/// An element of each row, from all of the array.
fn while_rows_are_left<A: Algebra>(a: &M<A>) -> M<A> {
    let rows = a.len() as i64;
    let step = |(a, k): (M<A>, N<A>)| {
        let value = (&a * &a).sum().sin();
        (a.with((&k, 0), value), k + 1)
    };
    while_loop((a.clone(), scalar(0i64)), |(_, k)| k.lt(rows), step).0
}

/// Elements of each row, from two rows, by a loop in the loop.
fn with_checkpoints<A: Algebra>(a: &M<A>, checkpoints: Checkpoints) -> M<A> {
    let step = |a: M<A>, i: N<A>| {
        let a = fold(a, &iota(3), |a, j: N<A>| {
            let value = a.at(&j).dot(&a.at(&i)).sin();
            a.with((&i, &j), value)
        });
        (a, ())
    };
    checkpoints.scan(a.clone(), &iota(ROWS), ROWS, step).0
}

fn with_checkpoint_of_rows<A: Algebra>(a: &M<A>) -> M<A> {
    with_checkpoints(a, Checkpoints::Every(4))
}

fn with_everything_kept<A: Algebra>(a: &M<A>) -> M<A> {
    with_checkpoints(a, Checkpoints::All)
}

/// The elements that loops with conditions or checkpoints keep of a step.
fn kept_of_step(body: &Body) -> usize {
    let sizes = |sweep: &Sweep| {
        let kept = &sweep.body.results()[sweep.carries..sweep.carries + sweep.keeps];
        kept.iter().map(|&id| sweep.body.nodes()[id as usize].ty().size()).sum::<usize>()
    };
    let of = |node: &Node| match &node.op {
        Op::Sweeps(sweeps) => sweeps.sweeps.iter().map(sizes).sum(),
        _ => 0,
    };
    body.nodes().iter().map(of).sum()
}

#[test]
fn steps_of_loops_with_conditions_and_checkpoints_keep_what_they_write_over() {
    type Program = fn(&M<Staged>) -> M<Staged>;
    let programs: [(&str, Program); 3] = [
        ("while rows are left", while_rows_are_left),
        ("with checkpoints", with_checkpoint_of_rows),
        ("with everything kept", with_everything_kept),
    ];
    let a: M<C> = full((ROWS, ROWS), 0.5);
    for (name, program) in programs {
        let first = stage(|a| program(a).sin().sum(), &a).unwrap().grad().unwrap();
        let kept = kept_of_step(first.program());
        assert!(kept > 0, "{name}: nothing is kept\n{first}");
        assert!(kept <= 16, "{name}: {kept} elements are kept of a step\n{first}");
    }
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

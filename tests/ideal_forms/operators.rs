//! Reductions and scans with the user's operator, where it is an operation of the library.

use super::*;
use deltaray::staged::Staged;
use deltaray::tensor::{associative_scan_axis, associative_scan_reverse};

#[test]
fn a_sum_is_a_sum() {
    for sum in [
        stage(|x| reduce(scalar(0.0), x, |a, b| a + b), &vector(9)).unwrap(),
        stage(|x| reduce(scalar(0.0), x, |a, b| b + a), &vector(9)).unwrap(),
    ] {
        prints(
            checked(&sum),
            "x",
            r#"
            program f(x: f64[9]) -> f64:
                sum[0] x
            "#,
        );
        prints(
            &cotangents(sum.program()),
            "x dt",
            r#"
            program f(x: f64[9], dt: f64) -> f64[9]:
                replicate[9] dt
            "#,
        );
    }
}

#[test]
fn extremes_move_with_their_position() {
    let largest = stage(|x| reduce(scalar(f64::NEG_INFINITY), x, |a, b| a.max(b)), &vector(9)).unwrap();
    prints(
        &with_gradient(checked(&largest)),
        "x dt",
        r#"
        program f(x: f64[9], dt: f64) -> (f64, f64[9]):
            (max[0] x, scatter [9] dt [argmax[0] x])
        "#,
    );
    let pair = |x: &Matrix<_, f64>| {
        let first = (full(4, f64::INFINITY), scalar(true));
        reduce(first, &(x.clone(), x.sum_axis(1).gt(0.0)), |(a, p), (b, q)| (a.min(b), p & q))
    };
    let pair = stage(pair, &matrix(3, 4)).unwrap();
    prints(
        checked(&pair),
        "x",
        r#"
        program f(x: f64[3, 4]) -> (f64[4], bool):
            (min[0] x, min[0] (sum[1] x > 0.0))
        "#,
    );
}

/// At a tie the derivative goes to the last: no reduction does that.
#[test]
fn extremes_of_exchanged_operands_stay_levels() {
    let largest = stage(|x| reduce(scalar(f64::NEG_INFINITY), x, |a, b| b.max(a)), &vector(4)).unwrap();
    prints(
        checked(&largest),
        "x",
        r#"
        program f(x: f64[4]) -> f64:
            let m1: f64[2] = max(slice[0: 1..4 by 2] x, slice[0: 0..3 by 2] x)
            max(m1[1], m1[0])
        "#,
    );
}

#[test]
fn scans_are_running_totals() {
    let x = matrix(7, 3);
    let same = |a: &Body, b: &Body| assert_eq!(a.to_string(), b.to_string());
    let programs = |f: fn(&Matrix<Staged, f64>) -> Matrix<Staged, f64>| checked(&stage(f, &x).unwrap()).clone();
    same(&programs(|x| associative_scan(x, |a, b| a + b)), &programs(|x| x.cumsum(0)));
    same(&programs(|x| associative_scan_axis(1, x, |a, b| a * b)), &programs(|x| x.cumprod(1)));
    same(&programs(|x| associative_scan_reverse(x, |a, b| a.max(b))), &programs(|x| x.cummax_reverse(0)));
    same(&programs(|x| associative_scan(x, |a, b| a.logaddexp(&b))), &programs(|x| x.cumlogsumexp(0)));
}

#[test]
fn sums_by_key_are_scatters() {
    let sums = |(x, k): &(Matrix<_, f64>, Vector<_, i64>)| reduce_by_index(zeros(4), k, x, 5, |a, b| a + b);
    let sums = stage(sums, &(matrix(9, 4), zeros(9))).unwrap();
    prints(
        &with_gradient(checked(&sums)),
        "x k dt",
        r#"
        program f(x: f64[9, 4], k: i64[9], dt: f64[5, 4]) -> (f64[5, 4], f64[9, 4], i64[9]):
            (scatter [5] x [k], gather dt [k], full 0 [9])
        "#,
    );
    let sums = |(x, k): &(Vector<_, f64>, Vector<_, i64>)| reduce_by_index(scalar(1.0), k, x, 5, |a, b| a + b);
    let sums = stage(sums, &(vector(9), zeros(9))).unwrap();
    prints(
        checked(&sums),
        "x k",
        r#"
        program f(x: f64[9], k: i64[9]) -> f64[5]:
            select(scatter [5] (full true [9]) [k], scatter [5] x [k], 1.0)
        "#,
    );
}

/// An operator that uses a captured array, or mixes the arrays of a tree, is no operation of two operands.
#[test]
fn other_operators_stay_levels() {
    let less = |(x, w): &(Vector<_, f64>, Scalar<_, f64>)| reduce(w.clone(), x, |a, b| a + b - w);
    let less = stage(less, &(vector(4), scalar(0.0))).unwrap();
    let crossed = |(x, y): &(Vector<_, f64>, Vector<_, f64>)| {
        reduce((scalar(0.0), scalar(0.0)), &(x.clone(), y.clone()), |(a, b), (c, d)| (&a + &d, b * c))
    };
    let crossed = stage(crossed, &(vector(4), vector(4))).unwrap();
    for program in [checked(&less), checked(&crossed)] {
        assert_eq!(count(program, |op| matches!(op, Op::Reduce(..))), 0);
    }
    let mixed = |x: &Vector<_, f64>| {
        reduce((scalar(0.0), scalar(0.0)), &(x.clone(), x * 2.0), |(a, p), (b, q)| (&a + &b, p + q + a * b))
    };
    let mixed = stage(mixed, &vector(4)).unwrap();
    assert_eq!(count(checked(&mixed), |op| matches!(op, Op::Reduce(..))), 0);
}

//! Running totals and linear recurrences: loops of an operation or two, and so are their derivatives.

use super::{checked, count, gradient, matrix, prints, vector, with_gradient};
use deltaray::derivative::{grad, jvp, stage};
use deltaray::prelude::*;
use deltaray::term::Op;

#[test]
fn a_running_sum_is_a_loop_and_its_gradient_the_loop_backwards() {
    let sum = stage(|(x, w)| (w * x.cumsum(0).powi(2)).sum(), &(vector(9), vector(9))).unwrap();
    prints(
        checked(&sum),
        "x w",
        r#"
        program f(x: f64[9], w: f64[9]) -> f64:
            let (m1: f64, m2: f64[9]) = scan[9] from (0.0) over (x) λ(s1: f64, e1: f64).
                let m3: f64 = s1 + e1
                (m3, m3)
            contract "i,i->" w (powi[2] m2)
        "#,
    );
    prints(
        &with_gradient(sum.program()),
        "x w dt",
        r#"
        program f(x: f64[9], w: f64[9], dt: f64) -> (f64, f64[9], f64[9]):
            let (m1: f64, m2: f64[9]) = scan[9] from (0.0) over (x) λ(s1: f64, e1: f64).
                let m3: f64 = s1 + e1
                (m3, m3)
            let m4: f64[9] = powi[2] m2
            let m5: f64[9] = replicate[9] dt
            let (m6: f64, m7: f64[9]) = scan[9, reverse] from (0.0) over (w * m5 * (m2 * 2.0)) λ(s2: f64,
                    e2: f64).
                let m8: f64 = s2 + e2
                (m8, m8)
            (contract "i,i->" w m4, m7, m5 * m4)
        "#,
    );
    gradient(sum.program());
}

#[test]
fn a_running_product_is_a_loop_without_quotients() {
    let product = stage(|(x, w)| (w * x.cumprod(0)).sum(), &(vector(9), vector(9))).unwrap();
    prints(
        checked(&product),
        "x w",
        r#"
        program f(x: f64[9], w: f64[9]) -> f64:
            let (m1: f64, m2: f64[9]) = scan[9] from (1.0) over (x) λ(s1: f64, e1: f64).
                let m3: f64 = s1 * e1
                (m3, m3)
            contract "i,i->" w m2
        "#,
    );
    prints(
        &with_gradient(product.program()),
        "x w dt",
        r#"
        program f(x: f64[9], w: f64[9], dt: f64) -> (f64, f64[9], f64[9]):
            let (m1: f64, m2: f64[9], m3: f64[9]) = scan[9] from (1.0) over (x) λ(s1: f64, e1: f64).
                let m4: f64 = s1 * e1
                (m4, m4, s1)
            let m5: f64[9] = replicate[9] dt
            let (m6: f64, m7: f64[9]) = scan[9, reverse] from (0.0) over (w * m5, m3, x) λ(s2: f64, e2: f64,
                    e3: f64, e4: f64).
                let m8: f64 = s2 + e2
                (m8 * e4, m8 * e3)
            (contract "i,i->" w m2, m7, m5 * m2)
        "#,
    );
    gradient(product.program());
}

#[test]
fn running_extremes_are_loops() {
    let largest = stage(|(x, w)| (w * x.cummax(0)).sum(), &(vector(9), vector(9))).unwrap();
    prints(
        checked(&largest),
        "x w",
        r#"
        program f(x: f64[9], w: f64[9]) -> f64:
            let (m1: f64, m2: f64[9]) = scan[9] from (x[0]) over (x) λ(s1: f64, e1: f64).
                let m3: f64 = max(s1, e1)
                (m3, m3)
            contract "i,i->" w m2
        "#,
    );
    prints(
        &with_gradient(largest.program()),
        "x w dt",
        r#"
        program f(x: f64[9], w: f64[9], dt: f64) -> (f64, f64[9], f64[9]):
            let (m1: f64, m2: f64[9], m3: bool[9], m4: bool[9]) = scan[9] from (x[0]) over (x) λ(s1: f64,
                    e1: f64).
                let m5: f64 = max(s1, e1)
                (m5, m5, s1 >= e1, e1 > s1)
            let m6: f64[9] = replicate[9] dt
            let (m7: f64, m8: f64[9]) = scan[9, reverse] from (0.0) over (w * m6, m3, m4) λ(s2: f64,
                    e2: f64, e3: bool, e4: bool).
                let m9: f64 = s2 + e2
                (select(e3, m9, 0.0), select(e4, m9, 0.0))
            (contract "i,i->" w m2, m8 + pad[0: 0, 8] (replicate[1] m7), m6 * m2)
        "#,
    );
    gradient(largest.program());
    let smallest = stage(|x| x.cummin_reverse(1), &matrix(3, 4)).unwrap();
    prints(
        checked(&smallest),
        "x",
        r#"
        program f(x: f64[3, 4]) -> f64[3, 4]:
            let (m1: f64[3], m2: f64[4, 3]) = scan[4, reverse] from (x[:, 3]) over (transpose[1,
                    0] x) λ(s1: f64[3], e1: f64[3]).
                let m3: f64[3] = min(s1, e1)
                (m3, m3)
            transpose[1, 0] m2
        "#,
    );
}

#[test]
fn a_running_sum_of_rows_is_one_loop() {
    let rows = stage(|a| build(3, |i| a.at(i).cumsum(0)), &matrix(3, 9)).unwrap();
    prints(
        &with_gradient(checked(&rows)),
        "a dt",
        r#"
        program f(a: f64[3, 9], dt: f64[3, 9]) -> (f64[3, 9], f64[3, 9]):
            let (m1: f64[3], m2: f64[9, 3]) = scan[9] from (full 0.0 [3]) over (transpose[1,
                    0] a) λ(s1: f64[3], e1: f64[3]).
                let m3: f64[3] = s1 + e1
                (m3, m3)
            let (m4: f64[3], m5: f64[9, 3]) = scan[9, reverse] from (full 0.0 [3]) over (transpose[1,
                    0] dt) λ(s2: f64[3], e2: f64[3]).
                let m6: f64[3] = s2 + e2
                (m6, m6)
            (transpose[1, 0] m2, transpose[1, 0] m5)
        "#,
    );
}

#[test]
fn a_linear_recurrence_is_a_loop() {
    let recurrence =
        stage(|(y, a, b)| linear_recurrence(y, a, b), &(scalar::<Concrete, f64>(0.0), vector(9), vector(9))).unwrap();
    prints(
        &with_gradient(checked(&recurrence)),
        "y a b dt",
        r#"
        program f(y: f64, a: f64[9], b: f64[9], dt: f64[9]) -> (f64[9], f64, f64[9], f64[9]):
            let (m1: f64, m2: f64[9], m3: f64[9]) = scan[9] from (y) over (a, b) λ(s1: f64, e1: f64,
                    e2: f64).
                let m4: f64 = e1 * s1 + e2
                (m4, m4, s1)
            let (m5: f64, m6: f64[9], m7: f64[9]) = scan[9, reverse] from (0.0) over (dt, m3, a) λ(s2: f64,
                    e3: f64, e4: f64, e5: f64).
                let m8: f64 = s2 + e3
                (m8 * e5, m8 * e4, m8)
            (m2, m5, m6, m7)
        "#,
    );
}

#[test]
fn other_derivatives_are_loops_too() {
    let forwards = stage(|(x, d)| jvp(|x| x.cumprod(0), x, d).1, &(vector(9), vector(9))).unwrap();
    prints(
        checked(&forwards),
        "x d",
        r#"
        program f(x: f64[9], d: f64[9]) -> f64[9]:
            let (m1: f64, m2: f64, m3: f64[9]) = scan[9] from (1.0, 0.0) over (x, d) λ(s1: f64, s2: f64,
                    e1: f64, e2: f64).
                let m4: f64 = s2 * e1 + e2 * s1
                (s1 * e1, m4, m4)
            m3
        "#,
    );
    let second = stage(|(x, d)| jvp(|x| grad(|x| x.cumprod(0).sum(), x), x, d).1, &(vector(9), vector(9))).unwrap();
    prints(
        checked(&second),
        "x d",
        r#"
        program f(x: f64[9], d: f64[9]) -> f64[9]:
            let (m1: f64, m2: f64, m3: f64[9], m4: f64[9]) = scan[9] from (1.0, 0.0) over (x, d) λ(s1: f64,
                    s2: f64, e1: f64, e2: f64).
                (s1 * e1, s2 * e1 + e2 * s1, s1, s2)
            let (m5: f64, m6: f64, m7: f64[9]) = scan[9, reverse] from (0.0, 0.0) over (m3, x, m4,
                    d) λ(s3: f64, s4: f64, e3: f64, e4: f64, e5: f64, e6: f64).
                let m8: f64 = s3 + 1.0
                (m8 * e4, s4 * e4 + e6 * m8, s4 * e3 + e5 * m8)
            m7
        "#,
    );
    for program in [forwards.program(), second.program()] {
        assert_eq!(count(program, |op| matches!(op, Op::Concatenate(_))), 0);
    }
}

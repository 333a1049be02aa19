//! Loops with independent steps become no loops.

use super::{checked, count, gradient, matrix, prints, vector, vector_32};
use deltaray::derivative::stage;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use deltaray::term::Op;

#[test]
fn the_gradient_of_a_sum_by_a_loop_is_no_loop() {
    let sum = stage(|x| scan(scalar(0.0), x, x.len(), |s, e| (s + e.sin(), ())).0, &vector(5)).unwrap();
    prints(
        &gradient(checked(&sum)),
        "x dt",
        r#"
        program f(x: f64[5], dt: f64) -> f64[5]:
            replicate[5] dt * cos x
        "#,
    );
    let reverse = stage(|x| scan_reverse(scalar(0.0), x, x.len(), |s, e| (e.sin() + s, ())).0, &vector_32(5)).unwrap();
    prints(
        &gradient(checked(&reverse)),
        "x dt",
        r#"
        program f(x: f32[5], dt: f32) -> f32[5]:
            replicate[5] dt * cos x
        "#,
    );
    let rows = stage(|a| scan(zeros(3), a, 4, |s, row| (s + row.exp(), ())).0.sum(), &matrix(4, 3)).unwrap();
    prints(
        &gradient(checked(&rows)),
        "a dt",
        r#"
        program f(a: f64[4, 3], dt: f64) -> f64[4, 3]:
            replicate[4, 3] dt * exp a
        "#,
    );
    let captured = stage(
        |(x, w)| scan(scalar(0.0), x, x.len(), |s, e| (s + (e * w).sin(), ())).0,
        &(vector(5), scalar::<Concrete, f64>(0.0)),
    )
    .unwrap();
    prints(
        &gradient(checked(&captured)),
        "x w dt",
        r#"
        program f(x: f64[5], w: f64, dt: f64) -> (f64[5], f64):
            let m1: f64[5] = replicate[5] w
            let m2: f64[5] = replicate[5] dt * cos (x * m1)
            (m2 * m1, contract "i,i->" m2 x)
        "#,
    );
}

#[test]
fn outputs_that_depend_on_no_carry_leave_the_loop() {
    let both = stage(
        |x| {
            let (last, (all, squares)) = scan(scalar(0.0), x, x.len(), |s, e| {
                let square = &e * &e;
                let next = (s + &square).sin();
                (next.clone(), (next, square))
            });
            (last, all, squares)
        },
        &vector(5),
    )
    .unwrap();
    prints(
        checked(&both),
        "x",
        r#"
        program f(x: f64[5]) -> (f64, f64[5], f64[5]):
            let m1: f64[5] = x * x
            let (m2: f64, m3: f64[5]) = scan[5] from (0.0) over (m1) λ(s1: f64, e1: f64).
                let m4: f64 = sin (s1 + e1)
                (m4, m4)
            (m2, m3, m1)
        "#,
    );
    // Large intermediates are kept one at a time.
    let waves = |n: usize| {
        stage(|x| scan((), x, x.len(), |(), e| ((), (e * iota(n).cast::<f64>()).sin().sum())).1, &vector(500)).unwrap()
    };
    assert_eq!(count(checked(&waves(1000)), |op| matches!(op, Op::Scan(_))), 1);
    assert_eq!(count(checked(&waves(3)), |op| matches!(op, Op::Scan(_))), 0);
}

#[test]
fn the_gradient_of_a_loop_with_a_condition_goes_forwards_and_back() {
    // It ends wherever it begins.
    let powers = |x: &Scalar<Staged, f64>| {
        while_loop((scalar(0), x.clone()), |(n, y)| n.lt(20) & y.lt(10.0), |(n, y)| (n + 1, y * x)).1
    };
    prints(
        &gradient(checked(&stage(powers, &scalar(2.0)).unwrap())),
        "x dt",
        r#"
        program f(x: f64, dt: f64) -> f64:
            let (m1: i32, m2: f64, m3: f64, m4: f64) = sweeps[while, bytes 1073741824]
                while λ(s1: i32, s2: f64). and(s1 < 20, s2 < 10.0)
                forwards from (0_i32, x) keep 1 λ(s3: i32, s4: f64). (s3 + 1, s4 * x, s4)
                backwards from (dt, 0.0) read (0.0) λ(s5: f64, s6: f64, e1: f64). (s5 * x, s6 + s5 * e1)
            m3 + m4
        "#,
    );
    let elements = |x: &Vector<Staged, f64>| build(5, |i| powers(&x.at(i))).sum();
    prints(
        &gradient(checked(&stage(elements, &vector(5)).unwrap())),
        "x dt",
        r#"
        program f(x: f64[5], dt: f64) -> f64[5]:
            let (m1: i32[5], m2: f64[5], m3: f64[5], m4: f64[5]) = sweeps[while, bytes 1073741824]
                while λ(s1: i32[5], s2: f64[5]). sum[0] and(s1 < 20, s2 < 10.0)
                forwards from (full 0_i32 [5], x) keep 2 λ(s3: i32[5], s4: f64[5]).
                    let m5: bool[5] = and(s3 < 20, s4 < 10.0)
                    (select(m5, s3 + 1, s3), select(m5, s4 * x, s4), s4, m5)
                backwards from (replicate[5] dt, full 0.0 [5]) read (0.0, 0.1) λ(s5: f64[5], s6: f64[5],
                        e1: f64[5], e2: bool[5]).
                    let m6: f64[5] = select(e2, s5, 0.0)
                    (select(e2, 0.0, s5) + keep_zero(m6, x), s6 + keep_zero(m6, e1))
            m3 + m4
        "#,
    );
    let snapshots = stage(
        |(a, x)| {
            let a = a.clone();
            Checkpoints::Snapshots(20)
                .scan(x.clone(), &(), 1000, move |x: Vector<Staged, f64>, ()| (a.dot(&x).tanh(), ()))
                .0
                .sum()
        },
        &(matrix(3, 3), vector(3)),
    );
    prints(
        &gradient(checked(&snapshots.unwrap())),
        "a x dt",
        r#"
        program f(a: f64[3, 3], x: f64[3], dt: f64) -> (f64[3, 3], f64[3]):
            let (m1: f64[3], m2: f64[3], m3: f64[3, 3]) = sweeps[1000, snapshots 20]
                forwards from (x) keep 2 λ(s1: f64[3]).
                    let m4: f64[3] = tanh (contract "ij,j->i" a s1)
                    (m4, s1, 1.0 - m4 * m4)
                backwards from (replicate[3] dt, full 0.0 [3, 3]) read (0.0, 0.1) λ(s2: f64[3],
                        s3: f64[3, 3], e1: f64[3], e2: f64[3]).
                    let m5: f64[3] = s2 * e2
                    (contract "ij,i->j" a m5, s3 + contract "i,j->ij" m5 e1)
            (m3, m2)
        "#,
    );
}

#[test]
fn the_gradient_of_a_recurrent_network_contracts_stacks() {
    let network = stage(
        |(w, x)| {
            let (_, outputs) = scan(zeros(3), x, 5, |h, e| {
                let next = (h * w.at(0) + e * w.at(1)).tanh();
                (next.clone(), next)
            });
            outputs.sum()
        },
        &(matrix(2, 3), matrix(5, 3)),
    )
    .unwrap();
    prints(
        &gradient(checked(&network)),
        "w x dt",
        r#"
        program f(w: f64[2, 3], x: f64[5, 3], dt: f64) -> (f64[2, 3], f64[5, 3]):
            let m1: f64[3] = w[1]
            let m2: f64[3] = w[0]
            let m3: f64[3] = replicate[3] dt
            let (m4: f64[3], m5: f64[5, 3],
                    m6: f64[5, 3]) = scan[5] from (full 0.0 [3]) over (x) λ(s1: f64[3], e1: f64[3]).
                let m7: f64[3] = tanh (s1 * m2 + e1 * m1)
                (m7, s1, 1.0 - m7 * m7)
            let (m8: f64[3], m9: f64[5, 3], m10: f64[5, 3]) = scan[5,
                    reverse] from (full 0.0 [3]) over (m6) λ(s2: f64[3], e2: f64[3]).
                let m11: f64[3] = (s2 + m3) * e2
                (m11 * m2, m11 * m1, m11)
            let m12: f64[1, 3] = replicate[1] (contract "ij,ij->j" m10 m5)
            (concatenate[0] m12 (replicate[1] (contract "ij,ij->j" m10 x)), m9)
        "#,
    );
}

//! Loops of which steps take nothing from each other: no loops.

use super::{checked, count, gradient, matrix, prints, vector, vector_32};
use deltaray::derivative::stage;
use deltaray::prelude::*;
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
            let m2: f64[5] = cos (x * m1)
            (replicate[5] dt * m2 * m1, dt * contract "i,i->" m2 x)
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

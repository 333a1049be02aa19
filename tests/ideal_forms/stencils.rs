//! Reads of neighbours: slices, also where the ends are treated apart.

use super::{checked, gradient, matrix, prints, vector, vector_32};
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;

#[test]
fn a_stencil_is_slices() {
    let stencil = stage(|x| build(9, |i| x.at(&i - 1) + 2.0 * x.at(&i) + x.at(&i + 1)), &vector(9)).unwrap();
    prints(
        checked(&stencil),
        "x",
        r#"
        program f(x: f64[9]) -> f64[9]:
            pad[0: 1, 0] (slice[0: 0..8] x) + x * 2.0 + pad[0: 0, 1] (slice[0: 1..9] x)
        "#,
    );
    prints(
        &gradient(checked(&stencil)),
        "x dt",
        r#"
        program f(x: f64[9], dt: f64[9]) -> f64[9]:
            let m1: f64[9] = pad[0: 0, 1] (slice[0: 1..9] dt) + dt * 2.0
            m1 + pad[0: 1, 0] (slice[0: 0..8] dt)
        "#,
    );
    let inner = stage(|x| build(7, |i| x.at(&i) - x.at(&i + 2)), &vector(9)).unwrap();
    prints(
        checked(&inner),
        "x",
        r#"
        program f(x: f64[9]) -> f64[7]:
            slice[0: 0..7] x - slice[0: 2..9] x
        "#,
    );
    prints(
        &gradient(checked(&inner)),
        "x dt",
        r#"
        program f(x: f64[9], dt: f64[7]) -> f64[9]:
            pad[0: 0, 2] dt + pad[0: 2, 0] (-dt)
        "#,
    );
}

/// `out_0 = a_0 + b_1`, `out_i = a_i + b_(i+1) + c_(i-1)`, and at the other end `a_i + c_(i-1)`.
fn ends<A: Algebra>(a: &Vector<A, f64>, b: &Vector<A, f64>, c: &Vector<A, f64>) -> Vector<A, f64> {
    let n = a.len();
    build(n, |i| {
        cond(
            i.equal(0),
            || a.at(&i) + b.at(&i + 1),
            || cond(i.equal(n as i64 - 1), || a.at(&i) + c.at(&i - 1), || a.at(&i) + b.at(&i + 1) + c.at(&i - 1)),
        )
    })
}

#[test]
fn a_stencil_with_conditional_ends() {
    let stencil = stage(|(a, b, c)| ends(a, b, c), &(vector(10), vector(10), vector(10))).unwrap();
    prints(
        checked(&stencil),
        "a b c",
        r#"
        program f(a: f64[10], b: f64[10], c: f64[10]) -> f64[10]:
            let m1: f64[10] = pad[0: 1, 0] (slice[0: 0..9] c)
            let m2: f64[10] = a + pad[0: 0, 1] (slice[0: 1..10] b)
            let m3: i64[10] = iota 10
            select(m3 == 0, m2, select(m3 == 9, a + m1, m2 + m1))
        "#,
    );
    prints(
        &gradient(checked(&stencil)),
        "a b c dt",
        r#"
        program f(a: f64[10], b: f64[10], c: f64[10], dt: f64[10]) -> (f64[10], f64[10], f64[10]):
            (dt, pad[0: 1, 0] (slice[0: 0..9] dt), pad[0: 0, 1] (slice[0: 1..10] dt))
        "#,
    );
    let plain =
        stage(|(a, b, c)| build(10, |i| a.at(&i) + b.at(&i + 1) + c.at(&i - 1)), &(vector(10), vector(10), vector(10)))
            .unwrap();
    prints(
        checked(&plain),
        "a b c",
        r#"
        program f(a: f64[10], b: f64[10], c: f64[10]) -> f64[10]:
            a + pad[0: 0, 1] (slice[0: 1..10] b) + pad[0: 1, 0] (slice[0: 0..9] c)
        "#,
    );
    prints(
        &gradient(checked(&plain)),
        "a b c dt",
        r#"
        program f(a: f64[10], b: f64[10], c: f64[10], dt: f64[10]) -> (f64[10], f64[10], f64[10]):
            (dt, pad[0: 1, 0] (slice[0: 0..9] dt), pad[0: 0, 1] (slice[0: 1..10] dt))
        "#,
    );
}

#[test]
fn variants_of_the_stencil() {
    let columns_first = stage(|x| build((4, 3), |(j, i)| x.at((&i, &j)) + x.at((&i + 1, &j))), &matrix(4, 4)).unwrap();
    prints(
        checked(&columns_first),
        "x",
        r#"
        program f(x: f64[4, 4]) -> f64[4, 3]:
            slice[1: 0..3] (transpose[1, 0] x) + slice[1: 1..4] (transpose[1, 0] x)
        "#,
    );
    prints(
        &gradient(checked(&columns_first)),
        "x dt",
        r#"
        program f(x: f64[4, 4], dt: f64[4, 3]) -> f64[4, 4]:
            pad[0: 0, 1] (transpose[1, 0] dt) + pad[0: 1, 0] (transpose[1, 0] dt)
        "#,
    );
    let transposed = stage(
        |x| {
            let t = x.transpose();
            build((3, 4), |(i, j)| t.at((&i + 1, &j)) - t.at((&i, &j)))
        },
        &matrix(4, 4),
    )
    .unwrap();
    prints(
        checked(&transposed),
        "x",
        r#"
        program f(x: f64[4, 4]) -> f64[3, 4]:
            slice[0: 1..4] (transpose[1, 0] x) - slice[0: 0..3] (transpose[1, 0] x)
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "x dt",
        r#"
        program f(x: f64[4, 4], dt: f64[3, 4]) -> f64[4, 4]:
            pad[1: 1, 0] (transpose[1, 0] dt) + pad[1: 0, 1] (transpose[1, 0] (-dt))
        "#,
    );
    let weighted = stage(|(x, w)| build(7, |i| w.at(&i) * (x.at(&i + 1) - x.at(&i))), &(vector(8), vector(7))).unwrap();
    prints(
        checked(&weighted),
        "x w",
        r#"
        program f(x: f64[8], w: f64[7]) -> f64[7]:
            w * (slice[0: 1..8] x - slice[0: 0..7] x)
        "#,
    );
    prints(
        &gradient(checked(&weighted)),
        "x w dt",
        r#"
        program f(x: f64[8], w: f64[7], dt: f64[7]) -> (f64[8], f64[7]):
            let m1: f64[7] = dt * w
            (pad[0: 1, 0] m1 + pad[0: 0, 1] (-m1), dt * (slice[0: 1..8] x - slice[0: 0..7] x))
        "#,
    );
    let masked =
        stage(|x| build(8, |i| cond(i.gt(0), || x.at(&i) - x.at(&i - 1), || scalar(0.0))), &vector(8)).unwrap();
    prints(
        checked(&masked),
        "x",
        r#"
        program f(x: f64[8]) -> f64[8]:
            select(iota 8 > 0, x - pad[0: 1, 0] (slice[0: 0..7] x), 0.0)
        "#,
    );
    prints(
        &gradient(checked(&masked)),
        "x dt",
        r#"
        program f(x: f64[8], dt: f64[8]) -> f64[8]:
            select(iota 8 > 0, dt, 0.0) - pad[0: 0, 1] (slice[0: 1..8] dt)
        "#,
    );
    let single = stage(|x| build(6, |i| x.at(&i) * 0.5f32 + x.at(&i + 2)), &vector_32(8)).unwrap();
    prints(
        checked(&single),
        "x",
        r#"
        program f(x: f32[8]) -> f32[6]:
            slice[0: 0..6] x * 0.5 + slice[0: 2..8] x
        "#,
    );
    prints(
        &gradient(checked(&single)),
        "x dt",
        r#"
        program f(x: f32[8], dt: f32[6]) -> f32[8]:
            pad[0: 0, 2] (dt * 0.5) + pad[0: 2, 0] dt
        "#,
    );
}

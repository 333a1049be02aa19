//! Work that is shared is done once, in programs and in their gradients.

use super::{checked, count, gradient, matrix, prints, vector, vector_32, with_gradient};
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::operation::{Binary, Unary};
use deltaray::prelude::*;
use deltaray::term::{Body, Op};

type Three<A> = (Scalar<A, f64>, Scalar<A, f64>, Scalar<A, f64>);

/// `w` is used twice.
fn foo<A: Algebra>((x, y, z): &Three<A>) -> Scalar<A, f64> {
    let w = x * y.sin();
    z.atan2(&w) + z * &w
}

fn occurrences(body: &Body, op: Unary) -> usize {
    count(body, |other| *other == Op::Unary(op))
}

#[test]
fn a_shared_value_is_computed_once() {
    let like = || scalar::<Concrete, f64>(0.0);
    let program = stage(foo, &(like(), like(), like())).unwrap();
    prints(
        checked(&program),
        "x y z",
        r#"
        program f(x: f64, y: f64, z: f64) -> f64:
            let m1: f64 = x * sin y
            atan2(z, m1) + z * m1
        "#,
    );
    let form = gradient(checked(&program));
    prints(
        &form,
        "x y z dt",
        r#"
        program f(x: f64, y: f64, z: f64, dt: f64) -> (f64, f64, f64):
            let m1: f64 = sin y
            let m2: f64 = x * m1
            let m3: f64 = hypot(z, m2)
            let m4: f64 = dt * recip m3
            let m5: f64 = m4 * -(z / m3) + dt * z
            (m5 * m1, m5 * x * cos y, m4 * (m2 / m3) + dt * m2)
        "#,
    );
    for (op, expected) in [(Unary::Sin, 1), (Unary::Cos, 1), (Unary::Recip, 1)] {
        assert_eq!(occurrences(&form, op), expected, "{op:?}");
    }
    let both = with_gradient(checked(&program));
    assert_eq!(occurrences(&both, Unary::Sin), 1);
    assert_eq!(count(&both, |op| *op == Op::Binary(Binary::Atan2)), 1);
}

#[test]
fn a_shared_value_is_computed_once_for_every_element() {
    let elementwise =
        stage(|(x, y, z)| build(4, |i| foo(&(x.at(&i), y.at(&i), z.at(&i)))), &(vector(4), vector(4), vector(4)))
            .unwrap();
    prints(
        &gradient(checked(&elementwise)),
        "x y z dt",
        r#"
        program f(x: f64[4], y: f64[4], z: f64[4], dt: f64[4]) -> (f64[4], f64[4], f64[4]):
            let m1: f64[4] = sin y
            let m2: f64[4] = x * m1
            let m3: f64[4] = hypot(z, m2)
            let m4: f64[4] = dt * recip m3
            let m5: f64[4] = m4 * -(z / m3) + dt * z
            (m5 * m1, m5 * x * cos y, m4 * (m2 / m3) + dt * m2)
        "#,
    );
    let outside = stage(
        |x| {
            let w = x.sum().exp();
            build(3, |i| x.at(&i) * &w * &w)
        },
        &vector_32(3),
    )
    .unwrap();
    prints(
        checked(&outside),
        "x",
        r#"
        program f(x: f32[3]) -> f32[3]:
            let m1: f32[3] = replicate[3] (exp (sum[0] x))
            x * m1 * m1
        "#,
    );
    prints(
        &gradient(checked(&outside)),
        "x dt",
        r#"
        program f(x: f32[3], dt: f32[3]) -> f32[3]:
            let m1: f32 = exp (sum[0] x)
            let m2: f32[3] = replicate[3] m1
            let m3: f32[3] = dt * m2
            let m4: f32[3] = replicate[3] (sum[0] (dt * (x * m2) + m3 * x) * m1)
            m3 * m2 + m4
        "#,
    );
}

#[test]
fn variants_of_a_shared_value() {
    let single = stage(
        |(x, y, z): &(Scalar<_, f32>, Scalar<_, f32>, Scalar<_, f32>)| {
            let w = y.sin() * x;
            &w * z + z.atan2(&w)
        },
        &(scalar::<Concrete, f32>(0.0), scalar::<Concrete, f32>(0.0), scalar::<Concrete, f32>(0.0)),
    )
    .unwrap();
    prints(
        &gradient(checked(&single)),
        "x y z dt",
        r#"
        program f(x: f32, y: f32, z: f32, dt: f32) -> (f32, f32, f32):
            let m1: f32 = sin y
            let m2: f32 = m1 * x
            let m3: f32 = hypot(z, m2)
            let m4: f32 = dt * recip m3
            let m5: f32 = dt * z + m4 * -(z / m3)
            (m5 * m1, m5 * x * cos y, dt * m2 + m4 * (m2 / m3))
        "#,
    );
    let scaled = stage(
        |x| {
            let w = x.sin();
            3.0 * (&w * x) + &w
        },
        &scalar::<Concrete, f64>(0.0),
    )
    .unwrap();
    prints(
        &gradient(checked(&scaled)),
        "x dt",
        r#"
        program f(x: f64, dt: f64) -> f64:
            let m1: f64 = dt * 3.0
            m1 * sin x + (dt + m1 * x) * cos x
        "#,
    );
    let masked = stage(
        |(x, y)| {
            let w = (x * y).exp();
            build(4, |i| cond(i.lt(2), || &w * &w, || w.clone()))
        },
        &(scalar::<Concrete, f64>(0.0), scalar::<Concrete, f64>(0.0)),
    )
    .unwrap();
    prints(
        &gradient(checked(&masked)),
        "x y dt",
        r#"
        program f(x: f64, y: f64, dt: f64[4]) -> (f64, f64):
            let m1: f64 = exp (x * y)
            let m2: bool[4] = iota 4 < 2
            let m3: f64 = keep_zero(sum[0] select(m2, dt, 0.0), m1)
            let m4: f64 = keep_zero(m3 + m3 + sum[0] select(m2, 0.0, dt), m1)
            (keep_zero(m4, y), keep_zero(m4, x))
        "#,
    );
    for body in [checked(&single), checked(&scaled)] {
        assert_eq!(occurrences(&with_gradient(body), Unary::Sin), 1);
    }
    assert_eq!(occurrences(&with_gradient(checked(&masked)), Unary::Exp), 1);
}

#[test]
fn a_condition_that_always_holds_leaves_nothing() {
    let bounded = stage(
        |(a, b)| {
            build((2, 4), |(i, j)| {
                build(3, |p| cond(p.lt(3), || a.at((&i, &p)) * b.at((&p, &j)), || a.at((&i, &p)))).sum()
            })
        },
        &(matrix(2, 3), matrix(3, 4)),
    )
    .unwrap();
    prints(
        checked(&bounded),
        "a b",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4]) -> f64[2, 4]:
            contract "ij,jk->ik" a b
        "#,
    );
    prints(
        &gradient(checked(&bounded)),
        "a b dt",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], dt: f64[2, 4]) -> (f64[2, 3], f64[3, 4]):
            (contract "ij,kj->ik" dt b, contract "ij,ik->jk" a dt)
        "#,
    );
    let elementwise = stage(|x| build(4, |i| cond(i.ge(0), || x.at(&i).exp(), || x.at(&i))), &vector(4)).unwrap();
    prints(
        checked(&elementwise),
        "x",
        r#"
        program f(x: f64[4]) -> f64[4]:
            exp x
        "#,
    );
    prints(
        &gradient(checked(&elementwise)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[4]) -> f64[4]:
            dt * exp x
        "#,
    );
}

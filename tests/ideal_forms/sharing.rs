//! Work that is shared is done once, in programs and in their gradients.

use super::{count, gradient, prints, vector, vector_32, with_gradient};
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
        program.program(),
        "x y z",
        r#"
        program f(x: f64, y: f64, z: f64) -> f64:
            let m1: f64 = x * sin y
            atan2(z, m1) + z * m1
        "#,
    );
    let form = gradient(program.program());
    prints(
        &form,
        "x y z dt",
        r#"
        program f(x: f64, y: f64, z: f64, dt: f64) -> (f64, f64, f64):
            let m1: f64 = sin y
            let m2: f64 = x * m1
            let m3: f64 = dt * recip (z * z + m2 * m2)
            let m4: f64 = m3 * -z + dt * z
            (m4 * m1, m4 * x * cos y, m3 * m2 + dt * m2)
        "#,
    );
    for (op, expected) in [(Unary::Sin, 1), (Unary::Cos, 1), (Unary::Recip, 1)] {
        assert_eq!(occurrences(&form, op), expected, "{op:?}");
    }
    let both = with_gradient(program.program());
    assert_eq!(occurrences(&both, Unary::Sin), 1);
    assert_eq!(count(&both, |op| *op == Op::Binary(Binary::Atan2)), 1);
}

#[test]
fn a_shared_value_is_computed_once_for_every_element() {
    let elementwise =
        stage(|(x, y, z)| build(4, |i| foo(&(x.at(&i), y.at(&i), z.at(&i)))), &(vector(4), vector(4), vector(4)))
            .unwrap();
    prints(
        &gradient(elementwise.program()),
        "x y z dt",
        r#"
        program f(x: f64[4], y: f64[4], z: f64[4], dt: f64[4]) -> (f64[4], f64[4], f64[4]):
            let m1: f64[4] = sin y
            let m2: f64[4] = x * m1
            let m3: f64[4] = dt * recip (z * z + m2 * m2)
            let m4: f64[4] = m3 * -z + dt * z
            (m4 * m1, m4 * x * cos y, m3 * m2 + dt * m2)
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
        outside.program(),
        "x",
        r#"
        program f(x: f32[3]) -> f32[3]:
            let m1: f32[3] = replicate[3] (exp (sum[0] x))
            x * m1 * m1
        "#,
    );
    prints(
        &gradient(outside.program()),
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

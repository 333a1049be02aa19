//! Only the elements of a huge array that are read are computed.

use super::{cotangents, prints, vector_32, with_gradient};
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;

/// Row `i` of a triangle of ones: 0 where `i <= j`.
fn triangle<A: Algebra>(x: &Scalar<A, f64>, n: usize) -> Matrix<A, f64> {
    build((n, n), |(i, j)| cond(i.le(&j), || scalar(0.0), || x.clone()))
}

#[test]
fn a_huge_triangle_is_never_built() {
    const N: usize = 1_000_000;
    let like = scalar::<Concrete, f64>(0.0);
    let element = stage(|x| triangle(x, N).at((7, 3)), &like).unwrap();
    prints(
        element.program(),
        "x",
        r#"
        program f(x: f64) -> f64:
            x
        "#,
    );
    prints(
        &cotangents(element.program()),
        "x dt",
        r#"
        program f(x: f64, dt: f64) -> f64:
            dt
        "#,
    );
    let row = stage(|x| triangle(x, N).at(5).sum(), &like).unwrap();
    prints(
        row.program(),
        "x",
        r#"
        program f(x: f64) -> f64:
            sum[0] select(iota 1000000 >= 5, 0.0, replicate[1000000] x)
        "#,
    );
    prints(
        &cotangents(row.program()),
        "x dt",
        r#"
        program f(x: f64, dt: f64) -> f64:
            sum[0] select(iota 1000000 >= 5, 0.0, replicate[1000000] dt)
        "#,
    );
    let column = stage(|x| triangle(x, N).transpose().at(5).sum(), &like).unwrap();
    prints(
        column.program(),
        "x",
        r#"
        program f(x: f64) -> f64:
            sum[0] select(iota 1000000 <= 5, 0.0, replicate[1000000] x)
        "#,
    );
    prints(
        &cotangents(column.program()),
        "x dt",
        r#"
        program f(x: f64, dt: f64) -> f64:
            sum[0] select(iota 1000000 <= 5, 0.0, replicate[1000000] dt)
        "#,
    );
    let scaled = stage(|x| (triangle(x, N) * 2.0).at((7, 3)), &like).unwrap();
    prints(
        scaled.program(),
        "x",
        r#"
        program f(x: f64) -> f64:
            x * 2.0
        "#,
    );
    let computed = stage(|(x, p)| triangle(x, N).at(p).sum(), &(like.clone(), scalar::<Concrete, i64>(0))).unwrap();
    prints(
        computed.program(),
        "x p",
        r#"
        program f(x: f64, p: i64) -> f64:
            let m1: f64[1000000] = replicate[1000000] select(and(p >= 0, p < 1000000), x, 0.0)
            sum[0] select(replicate[1000000] p <= iota 1000000, 0.0, m1)
        "#,
    );
    prints(
        &cotangents(computed.program()),
        "x p dt",
        r#"
        program f(x: f64, p: i64, dt: f64) -> (f64, i64):
            let m1: bool[1000000] = replicate[1000000] p <= iota 1000000
            let m2: f64 = sum[0] select(m1, 0.0, replicate[1000000] dt)
            (select(and(p >= 0, p < 1000000), m2, 0.0), 0)
        "#,
    );
    let vectors = stage(
        |(v, w)| build((N, N), |(i, j)| cond(i.le(&j), || v.at(&i) * w.at(&j), || scalar(0.0f32))).at(9).sum(),
        &(vector_32(N), vector_32(N)),
    )
    .unwrap();
    prints(
        vectors.program(),
        "v w",
        r#"
        program f(v: f32[1000000], w: f32[1000000]) -> f32:
            sum[0] select(iota 1000000 >= 9, replicate[1000000] v[9] * w, 0.0)
        "#,
    );
    prints(
        &cotangents(vectors.program()),
        "v w dt",
        r#"
        program f(v: f32[1000000], w: f32[1000000], dt: f32) -> (f32[1000000], f32[1000000]):
            let m1: bool[1000000] = iota 1000000 >= 9
            let m2: f32[1000000] = select(m1, replicate[1000000] dt, 0.0)
            let m3: f32[1000000] = pad[0: 9, 999990] (replicate[1] (dt * sum[0] select(m1, w, 0.0)))
            (m3, keep_zero(m2, replicate[1000000] v[9]))
        "#,
    );
    let (x, five) = (scalar(3.0), scalar(5i64));
    let ones = full(N, 1.0f32);
    assert_eq!(element.call(&x).unwrap().item(), 3.0);
    assert_eq!(row.call(&x).unwrap().item(), 15.0);
    assert_eq!(column.call(&x).unwrap().item(), 3.0 * (N - 6) as f64);
    assert_eq!(computed.call(&(x, five)).unwrap().item(), 15.0);
    assert_eq!(vectors.call(&(ones.clone(), ones)).unwrap().item(), (N - 9) as f32);
    for body in
        [element.program(), row.program(), column.program(), scaled.program(), computed.program(), vectors.program()]
    {
        assert!(body.cost().largest <= N as u128);
        assert!(with_gradient(body).cost().largest <= N as u128);
    }
}

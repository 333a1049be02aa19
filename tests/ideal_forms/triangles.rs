//! Products of triangular matrices, written as a conditional in a loop.

use super::{checked, contractions, gradient, matrix, matrix_32, prints, with_gradient};
use deltaray::derivative::stage;
use deltaray::prelude::*;

#[test]
fn a_triangular_product_is_a_contraction_of_a_masked_matrix() {
    let like = (matrix(3, 3), matrix(3, 4));
    let upper = stage(
        |(a, b)| {
            build((3, 4), |(i, j)| {
                build(3, |p| cond(i.le(&p), || a.at((&i, &p)) * b.at((&p, &j)), || scalar(0.0))).sum()
            })
        },
        &like,
    )
    .unwrap();
    prints(
        checked(&upper),
        "a b",
        r#"
        program f(a: f64[3, 3], b: f64[3, 4]) -> f64[3, 4]:
            let m1: i64[3] = iota 3
            let m2: f64[3, 3] = select(replicate[1: 3] m1 <= replicate[3] m1, a, 0.0)
            contract "ij,jk->ik" m2 b
        "#,
    );
    prints(
        &gradient(checked(&upper)),
        "a b dt",
        r#"
        program f(a: f64[3, 3], b: f64[3, 4], dt: f64[3, 4]) -> (f64[3, 3], f64[3, 4]):
            let m1: i64[3] = iota 3
            let m2: bool[3, 3] = replicate[1: 3] m1 <= replicate[3] m1
            (select(m2, contract "ij,kj->ik" dt b, 0.0), contract "ij,ik->jk" select(m2, a, 0.0) dt)
        "#,
    );
    assert_eq!(contractions(&with_gradient(checked(&upper))), 3);
    let lower = stage(
        |(a, b)| {
            build((4, 3), |(j, i)| {
                build(3, |p| cond(p.lt(&i), || b.at((&j, &p)) * a.at((&i, &p)), || scalar(0.0f32))).sum()
            })
        },
        &(matrix_32(3, 3), matrix_32(4, 3)),
    )
    .unwrap();
    prints(
        checked(&lower),
        "a b",
        r#"
        program f(a: f32[3, 3], b: f32[4, 3]) -> f32[4, 3]:
            let m1: i64[3] = iota 3
            let m2: f32[3, 3] = select(replicate[3] m1 < replicate[1: 3] m1, a, 0.0)
            contract "ij,kj->ik" b m2
        "#,
    );
    prints(
        &gradient(checked(&lower)),
        "a b dt",
        r#"
        program f(a: f32[3, 3], b: f32[4, 3], dt: f32[4, 3]) -> (f32[3, 3], f32[4, 3]):
            let m1: i64[3] = iota 3
            let m2: bool[3, 3] = replicate[3] m1 < replicate[1: 3] m1
            (select(m2, contract "ij,ik->jk" dt b, 0.0), contract "ij,jk->ik" dt select(m2, a, 0.0))
        "#,
    );
}

#[test]
fn variants_of_the_triangular_product() {
    let like = (matrix(3, 3), matrix(3, 4));
    let zero_first = stage(
        |(a, b)| {
            build((3, 4), |(i, j)| {
                build(3, |p| cond(i.gt(&p), || scalar(0.0), || a.at((&i, &p)) * b.at((&p, &j)))).sum()
            })
        },
        &like,
    )
    .unwrap();
    prints(
        checked(&zero_first),
        "a b",
        r#"
        program f(a: f64[3, 3], b: f64[3, 4]) -> f64[3, 4]:
            let m1: i64[3] = iota 3
            let m2: f64[3, 3] = select(replicate[1: 3] m1 <= replicate[3] m1, a, 0.0)
            contract "ij,jk->ik" m2 b
        "#,
    );
    prints(
        &gradient(checked(&zero_first)),
        "a b dt",
        r#"
        program f(a: f64[3, 3], b: f64[3, 4], dt: f64[3, 4]) -> (f64[3, 3], f64[3, 4]):
            let m1: i64[3] = iota 3
            let m2: bool[3, 3] = replicate[1: 3] m1 <= replicate[3] m1
            (select(m2, contract "ij,kj->ik" dt b, 0.0), contract "ij,ik->jk" select(m2, a, 0.0) dt)
        "#,
    );
    let band = stage(
        |(a, b)| {
            build((3, 4), |(i, j)| {
                build(3, |p| {
                    cond(
                        i.le(&p),
                        || cond(p.le(&i + 1), || a.at((&i, &p)), || scalar(0.0)) * 0.5 * b.at((&p, &j)),
                        || scalar(0.0),
                    )
                })
                .sum()
            })
        },
        &like,
    )
    .unwrap();
    prints(
        checked(&band),
        "a b",
        r#"
        program f(a: f64[3, 3], b: f64[3, 4]) -> f64[3, 4]:
            let m1: i64[3] = iota 3
            let m2: i64[3, 3] = replicate[3] m1
            let m3: bool[3, 3] = and(replicate[1: 3] m1 <= m2, m2 <= replicate[1: 3] (m1 + 1))
            contract "ij,jk->ik" select(m3, a * 0.5, 0.0) b
        "#,
    );
    prints(
        &gradient(checked(&band)),
        "a b dt",
        r#"
        program f(a: f64[3, 3], b: f64[3, 4], dt: f64[3, 4]) -> (f64[3, 3], f64[3, 4]):
            let m1: i64[3] = iota 3
            let m2: i64[3, 3] = replicate[3] m1
            let m3: bool[3, 3] = and(replicate[1: 3] m1 <= m2, m2 <= replicate[1: 3] (m1 + 1))
            let m4: f64[3, 3] = select(m3, contract "ij,kj->ik" dt b, 0.0) * 0.5
            (m4, contract "ij,ik->jk" select(m3, a * 0.5, 0.0) dt)
        "#,
    );
    let triangle =
        stage(|(a, b)| build((3, 3), |(i, j)| cond(j.le(&i), || a.at((&i, &j)), || scalar(0.0))).matmul(b), &like)
            .unwrap();
    prints(
        checked(&triangle),
        "a b",
        r#"
        program f(a: f64[3, 3], b: f64[3, 4]) -> f64[3, 4]:
            let m1: i64[3] = iota 3
            let m2: f64[3, 3] = select(replicate[3] m1 <= replicate[1: 3] m1, a, 0.0)
            contract "ij,jk->ik" m2 b
        "#,
    );
    prints(
        &gradient(checked(&triangle)),
        "a b dt",
        r#"
        program f(a: f64[3, 3], b: f64[3, 4], dt: f64[3, 4]) -> (f64[3, 3], f64[3, 4]):
            let m1: i64[3] = iota 3
            let m2: bool[3, 3] = replicate[3] m1 <= replicate[1: 3] m1
            (select(m2, contract "ij,kj->ik" dt b, 0.0), contract "ij,ik->jk" select(m2, a, 0.0) dt)
        "#,
    );
}

//! Reads at single or computed positions: one-hots merge, repetition is summed, nothing large appears.

use super::{checked, gradient, matrix, prints, scatters, vector, vector_32, with_gradient};
use deltaray::derivative::stage;
use deltaray::prelude::*;

#[test]
fn a_product_of_elements_shares_prefixes_and_suffixes() {
    let product = stage(|x| x.at(0) * x.at(1) * x.at(2) * x.at(3), &vector(4)).unwrap();
    prints(
        checked(&product),
        "x",
        r#"
        program f(x: f64[4]) -> f64:
            x[0] * x[1] * x[2] * x[3]
        "#,
    );
    prints(
        &gradient(checked(&product)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64) -> f64[4]:
            let m1: f64 = x[2]
            let m2: f64 = x[1]
            let m3: f64 = x[0]
            let m4: f64 = m3 * m2
            let m5: f64 = dt * x[3]
            let m6: f64 = m5 * m1
            let m7: f64[1] = replicate[1] (m6 * m2)
            let m8: f64[1] = replicate[1] (dt * (m4 * m1))
            concatenate[0] m7 (replicate[1] (m6 * m3)) (replicate[1] (m5 * m4)) m8
        "#,
    );
    let grouped = stage(|x| (x.at(3) * x.at(2)) * (x.at(1) * x.at(0)), &vector(4)).unwrap();
    prints(
        &gradient(checked(&grouped)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64) -> f64[4]:
            let m1: f64 = x[2]
            let m2: f64 = x[0]
            let m3: f64 = x[1]
            let m4: f64 = dt * (m3 * m2)
            let m5: f64 = x[3]
            let m6: f64 = dt * (m5 * m1)
            let m7: f64[1] = replicate[1] (m6 * m3)
            let m8: f64[1] = replicate[1] (m6 * m2)
            concatenate[0] m7 m8 (replicate[1] (m4 * m5)) (replicate[1] (m4 * m1))
        "#,
    );
    let scaled = stage(|x| 2.0f32 * x.at(0) * x.at(1) * x.at(2) * x.at(3), &vector_32(4)).unwrap();
    prints(
        &gradient(checked(&scaled)),
        "x dt",
        r#"
        program f(x: f32[4], dt: f32) -> f32[4]:
            let m1: f32 = x[2]
            let m2: f32 = x[1]
            let m3: f32 = x[0] * 2.0
            let m4: f32 = m3 * m2
            let m5: f32 = dt * x[3]
            let m6: f32 = m5 * m1
            let m7: f32[1] = replicate[1] (m6 * m2 * 2.0)
            let m8: f32[1] = replicate[1] (dt * (m4 * m1))
            concatenate[0] m7 (replicate[1] (m6 * m3)) (replicate[1] (m5 * m4)) m8
        "#,
    );
    let column = stage(
        |x| {
            let t = x.transpose();
            t.at((0, 1)) * t.at((1, 1)) * t.at((2, 1))
        },
        &matrix(2, 3),
    )
    .unwrap();
    prints(
        &gradient(checked(&column)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64) -> f64[2, 3]:
            let m1: f64 = x[1, 1]
            let m2: f64 = x[1, 0]
            let m3: f64 = dt * x[1, 2]
            let m4: f64[1, 1] = replicate[1, 1] (dt * (m2 * m1))
            let m5: f64[1, 3] = concatenate[1] (replicate[1, 1] (m3 * m1)) (replicate[1, 1] (m3 * m2)) m4
            pad[0: 1, 0] m5
        "#,
    );
    let masked = stage(|x| cond(x.at(0).gt(0.0), || x.at(0) * x.at(1) * x.at(2), || x.at(3)), &vector(4)).unwrap();
    prints(
        &gradient(checked(&masked)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64) -> f64[4]:
            let m1: f64 = x[0]
            let m2: bool = m1 > 0.0
            let m3: f64 = x[1]
            let m4: f64 = select(m2, dt, 0.0)
            let m5: f64 = keep_zero(m4, x[2])
            let m6: f64[1] = replicate[1] keep_zero(m4, m1 * m3)
            let m7: f64[1] = replicate[1] select(m2, 0.0, dt)
            let m8: f64[1] = replicate[1] keep_zero(m5, m3)
            concatenate[0] m8 (replicate[1] keep_zero(m5, m1)) m6 m7
        "#,
    );
}

#[test]
fn one_hots_merge() {
    let taken = stage(|x| x.slice(0, 0..12).sum(), &vector(15)).unwrap();
    prints(
        &gradient(checked(&taken)),
        "x dt",
        r#"
        program f(x: f64[15], dt: f64) -> f64[15]:
            pad[0: 0, 3] (replicate[12] dt)
        "#,
    );
    let appended = stage(
        |r| build(7, |i| concatenate(0, &[r.replicate(5), i.cast::<f64>().replicate(1), r.replicate(13)])).sum(),
        &scalar::<Concrete, f64>(0.0),
    )
    .unwrap();
    prints(
        checked(&appended),
        "r",
        r#"
        program f(r: f64) -> f64:
            r * 35.0 + 21.0 + r * 91.0
        "#,
    );
    prints(
        &gradient(checked(&appended)),
        "r dt",
        r#"
        program f(r: f64, dt: f64) -> f64:
            dt * 126.0
        "#,
    );
    let sum = stage(|x| x.at(1) + 2.0 * x.at(3) + x.at(4) * x.at(5), &vector(7)).unwrap();
    prints(
        &gradient(checked(&sum)),
        "x dt",
        r#"
        program f(x: f64[7], dt: f64) -> f64[7]:
            let m1: f64[1] = replicate[1] (dt * x[5])
            let m2: f64[1] = replicate[1] (dt * x[4])
            let m3: f64[1] = replicate[1] (dt * 2.0)
            pad[0: 1, 1] (concatenate[0] (replicate[1] dt) (full 0.0 [1]) m3 m1 m2)
        "#,
    );
    let halves = stage(|x| x.slice(0, 0..3) * x.slice(0, 3..6), &vector(6)).unwrap();
    prints(
        &gradient(checked(&halves)),
        "x dt",
        r#"
        program f(x: f64[6], dt: f64[3]) -> f64[6]:
            concatenate[0] (dt * slice[0: 3..6] x) (dt * slice[0: 0..3] x)
        "#,
    );
}

#[test]
fn a_periodic_sum() {
    let periodic = stage(|v| build(50, |i| v.at(i % 28)).sum(), &vector(28)).unwrap();
    prints(
        checked(&periodic),
        "v",
        r#"
        program f(v: f64[28]) -> f64:
            sum[0] v + sum[0] (slice[0: 0..22] v)
        "#,
    );
    prints(
        &gradient(checked(&periodic)),
        "v dt",
        r#"
        program f(v: f64[28], dt: f64) -> f64[28]:
            replicate[28] dt + pad[0: 0, 6] (replicate[22] dt)
        "#,
    );
    let doubled = stage(|v| build((50, 2), |(i, j)| v.at(i % 28) * j.cast::<f64>()).sum(), &vector(28)).unwrap();
    prints(
        &gradient(checked(&doubled)),
        "v dt",
        r#"
        program f(v: f64[28], dt: f64) -> f64[28]:
            replicate[28] dt + pad[0: 0, 6] (replicate[22] dt)
        "#,
    );
    let single = stage(|v| build(50, |i| v.at(i % 28) * 3.0f32).sum(), &vector_32(28)).unwrap();
    prints(
        &gradient(checked(&single)),
        "v dt",
        r#"
        program f(v: f32[28], dt: f32) -> f32[28]:
            let m1: f32 = dt * 3.0
            replicate[28] m1 + pad[0: 0, 6] (replicate[22] m1)
        "#,
    );
    let masked = stage(|v| build(56, |i| cond(i.lt(28), || v.at(&i % 28), || scalar(0.0))).sum(), &vector(28)).unwrap();
    prints(
        &gradient(checked(&masked)),
        "v dt",
        r#"
        program f(v: f64[28], dt: f64) -> f64[28]:
            sum[0] (reshape [2, 28] select(iota 56 < 28, replicate[56] dt, 0.0))
        "#,
    );
    let transposed = stage(|v| build((50, 3), |(i, j)| v.transpose().at((i % 28, j))).sum(), &matrix(3, 28)).unwrap();
    prints(
        &gradient(checked(&transposed)),
        "v dt",
        r#"
        program f(v: f64[3, 28], dt: f64) -> f64[3, 28]:
            let m1: f64[3, 28] = pad[1: 0, 6] (transpose[1, 0] (replicate[22, 3] dt))
            replicate[3, 28] dt + m1
        "#,
    );
    for body in [checked(&periodic), checked(&doubled), checked(&single), checked(&masked), checked(&transposed)] {
        assert!(with_gradient(body).cost().largest <= 100);
        assert_eq!(scatters(&gradient(body)), 0);
    }
}

#[test]
fn a_gather_that_ignores_a_variable_is_repeated() {
    let positions = || constant::<_, Vector<Concrete, i64>>(&Vector::from_slice(&[2, 0, 2, 3]));
    let ignored = stage(|x| build((3, 4), |(_, j)| x.at(&positions().at(&j))), &vector(4)).unwrap();
    prints(
        checked(&ignored),
        "x",
        r#"
        program f(x: f64[4]) -> f64[3, 4]:
            replicate[3] (gather x [[2, 0, 2, 3]])
        "#,
    );
    prints(
        &gradient(checked(&ignored)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[3, 4]) -> f64[4]:
            scatter [4] (sum[0] dt) [[2, 0, 2, 3]]
        "#,
    );
    let columns_first = stage(|x| build((4, 3), |(j, _)| x.at(&positions().at(&j))), &vector(4)).unwrap();
    prints(
        checked(&columns_first),
        "x",
        r#"
        program f(x: f64[4]) -> f64[4, 3]:
            replicate[1: 3] (gather x [[2, 0, 2, 3]])
        "#,
    );
    prints(
        &gradient(checked(&columns_first)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[4, 3]) -> f64[4]:
            scatter [4] (sum[1] dt) [[2, 0, 2, 3]]
        "#,
    );
    let weighted =
        stage(|(x, w)| build((3, 4), |(i, j)| w.at(&i) * x.at(&positions().at(&j))), &(vector(4), vector(3))).unwrap();
    prints(
        checked(&weighted),
        "x w",
        r#"
        program f(x: f64[4], w: f64[3]) -> f64[3, 4]:
            replicate[1: 4] w * replicate[3] (gather x [[2, 0, 2, 3]])
        "#,
    );
    prints(
        &gradient(checked(&weighted)),
        "x w dt",
        r#"
        program f(x: f64[4], w: f64[3], dt: f64[3, 4]) -> (f64[4], f64[3]):
            let m1: i64[4] = [2, 0, 2, 3]
            (scatter [4] (contract "ij,i->j" dt w) [m1], contract "ij,j->i" dt (gather x [m1]))
        "#,
    );
    let single = stage(|x| build((3, 4), |(_, j)| x.at(&positions().at(&j))), &vector_32(4)).unwrap();
    prints(
        &gradient(checked(&single)),
        "x dt",
        r#"
        program f(x: f32[4], dt: f32[3, 4]) -> f32[4]:
            scatter [4] (sum[0] dt) [[2, 0, 2, 3]]
        "#,
    );
    let transposed =
        stage(|x| build((3, 4), |(_, j)| x.transpose().at((&positions().at(&j), 1))), &matrix(2, 4)).unwrap();
    prints(
        checked(&transposed),
        "x",
        r#"
        program f(x: f64[2, 4]) -> f64[3, 4]:
            replicate[3] (gather x [full 1 [4], [2, 0, 2, 3]])
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "x dt",
        r#"
        program f(x: f64[2, 4], dt: f64[3, 4]) -> f64[2, 4]:
            scatter [2, 4] (sum[0] dt) [full 1 [4], [2, 0, 2, 3]]
        "#,
    );
    let replicated = stage(|x| build(3, |_| x.at(2)), &vector(4)).unwrap();
    prints(
        checked(&replicated),
        "x",
        r#"
        program f(x: f64[4]) -> f64[3]:
            replicate[3] x[2]
        "#,
    );
    prints(
        &gradient(checked(&replicated)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[3]) -> f64[4]:
            pad[0: 2, 1] (replicate[1] (sum[0] dt))
        "#,
    );
}

#[test]
fn one_hots_of_matrices_merge() {
    let reads =
        stage(|a| a.at((1, 2)).exp() + a.at((3, 1)) * 2.0 + a.at((0, 0)).sin() + a.at((4, 3)), &matrix(5, 4)).unwrap();
    prints(
        &gradient(checked(&reads)),
        "a dt",
        r#"
        program f(a: f64[5, 4], dt: f64) -> f64[5, 4]:
            let m1: f64[1] = replicate[1] (dt * exp a[1, 2])
            let m2: f64[1] = replicate[1] (dt * cos a[0, 0])
            let m3: f64[4] = concatenate[0] m1 (replicate[1] (dt * 2.0)) m2 (replicate[1] dt)
            scatter [5, 4] m3 [[1, 3, 0, 4], [2, 1, 0, 3]]
        "#,
    );
    let columns = stage(|a| build(3, |i| a.transpose().at((&i, 5)) * a.at((9, i))).sum(), &matrix(20, 3)).unwrap();
    prints(
        &gradient(checked(&columns)),
        "a dt",
        r#"
        program f(a: f64[20, 3], dt: f64) -> f64[20, 3]:
            let m1: f64[3] = replicate[3] dt
            let m2: f64[1, 3] = replicate[1] (m1 * a[9])
            let m3: f64[5, 3] = concatenate[0] m2 (full 0.0 [3, 3]) (replicate[1] (a[5] * m1))
            pad[0: 5, 10] m3
        "#,
    );
}

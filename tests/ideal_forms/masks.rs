//! Conditions elementwise: masks, and no scatter.

use super::{checked, gradient, matrix, prints, scatters, vector, vector_32};
use deltaray::derivative::stage;
use deltaray::prelude::*;

#[test]
fn relu_has_a_masked_gradient() {
    let relu = stage(|x: &Vector<_, f64>| x.relu(), &vector(4)).unwrap();
    prints(
        &gradient(checked(&relu)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[4]) -> f64[4]:
            select(x > 0.0, dt, 0.0)
        "#,
    );
    let maximum = stage(|x| x.max(0.0), &vector(4)).unwrap();
    prints(
        &gradient(checked(&maximum)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[4]) -> f64[4]:
            select(x > 0.0, dt, 0.0)
        "#,
    );
    let conditional = stage(|x| build(4, |i| cond(x.at(&i).gt(0.0), || x.at(&i), || scalar(0.0))), &vector(4)).unwrap();
    prints(
        checked(&conditional),
        "x",
        r#"
        program f(x: f64[4]) -> f64[4]:
            select(x > 0.0, x, 0.0)
        "#,
    );
    prints(
        &gradient(checked(&conditional)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[4]) -> f64[4]:
            select(x > 0.0, dt, 0.0)
        "#,
    );
    let built = stage(|x| build(4, |i| x.at(&i).relu()), &vector(4)).unwrap();
    assert_eq!(checked(&built).to_string(), checked(&relu).to_string());
    for body in [checked(&relu), checked(&maximum), checked(&conditional)] {
        assert_eq!(scatters(&gradient(body)), 0);
    }
}

#[test]
fn variants_of_relu() {
    let columns_first = stage(|x| build((3, 2), |(j, i)| x.at((&i, &j)).relu()), &matrix(2, 3)).unwrap();
    prints(
        checked(&columns_first),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[3, 2]:
            transpose[1, 0] (relu x)
        "#,
    );
    prints(
        &gradient(checked(&columns_first)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[3, 2]) -> f64[2, 3]:
            select(x > 0.0, transpose[1, 0] dt, 0.0)
        "#,
    );
    let transposed = stage(
        |x| {
            let t = x.transpose();
            build((3, 2), |(i, j)| cond(t.at((&i, &j)).gt(0.0), || t.at((&i, &j)), || scalar(0.0)))
        },
        &matrix(2, 3),
    )
    .unwrap();
    prints(
        &gradient(checked(&transposed)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[3, 2]) -> f64[2, 3]:
            select(x > 0.0, transpose[1, 0] dt, 0.0)
        "#,
    );
    let scaled = stage(|(x, r)| (x * r).relu(), &(vector(4), scalar::<Concrete, f64>(0.0))).unwrap();
    prints(
        &gradient(checked(&scaled)),
        "x r dt",
        r#"
        program f(x: f64[4], r: f64, dt: f64[4]) -> (f64[4], f64):
            let m1: f64[4] = replicate[4] r
            let m2: f64[4] = select(x * m1 > 0.0, dt, 0.0)
            (m2 * m1, contract "i,i->" m2 x)
        "#,
    );
    let masked = stage(|x| build(4, |i| cond(i.lt(2), || x.at(&i).relu(), || x.at(&i) * 0.5)), &vector(4)).unwrap();
    prints(
        checked(&masked),
        "x",
        r#"
        program f(x: f64[4]) -> f64[4]:
            select(iota 4 < 2, relu x, x * 0.5)
        "#,
    );
    prints(
        &gradient(checked(&masked)),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[4]) -> f64[4]:
            let m1: bool[4] = iota 4 < 2
            select(and(x > 0.0, m1), dt, 0.0) + select(m1, 0.0, dt) * 0.5
        "#,
    );
    let single = stage(|x| build(4, |i| x.at(&i).max(0.0f32)), &vector_32(4)).unwrap();
    prints(
        &gradient(checked(&single)),
        "x dt",
        r#"
        program f(x: f32[4], dt: f32[4]) -> f32[4]:
            select(x > 0.0, dt, 0.0)
        "#,
    );
}

#[test]
fn softmax_cross_entropy_has_softmax_less_one_hots_as_gradient() {
    let labels: Vector<Concrete, i64> = vec![0; 4].into();
    let loss = stage(|(x, t)| deltaray::functions::softmax_cross_entropy(x, t), &(matrix(4, 3), labels)).unwrap();
    prints(
        loss.vjp().unwrap().program(),
        "x t dt",
        r#"
        program f(x: f64[4, 3], t: i64[4], dt: f64) -> (f64, f64[4, 3], i64[4]):
            let m1: i64[4] = iota 4
            let m2: f64[4, 3] = x - replicate[1: 3] (max[1] x)
            let m3: f64[4, 3] = exp m2
            let m4: f64[4] = sum[1] m3
            let m5: f64[4, 3] = replicate[1: 3] (replicate[4] (dt * 0.25) * recip m4) * m3
            let m6: f64[4, 3] = m5 + scatter [4, 3] (replicate[4] (dt * -0.25)) [m1, t]
            (sum[0] (ln m4 - gather m2 [m1, t]) / 4.0, m6, full 0 [4])
        "#,
    );
}

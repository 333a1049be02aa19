//! Reads at affine positions: reversals, diagonals, transpositions, sums.

use super::{checked, gradient, matrix, matrix_32, prints, vector, vector_32};
use deltaray::derivative::stage;
use deltaray::prelude::*;

#[test]
fn reads_from_the_end_are_a_reversal() {
    let reversed = stage(|x| build(5, |i| x.at(4 - &i)), &vector(5)).unwrap();
    prints(
        checked(&reversed),
        "x",
        r#"
        program f(x: f64[5]) -> f64[5]:
            reverse[0] x
        "#,
    );
    prints(
        &gradient(checked(&reversed)),
        "x dt",
        r#"
        program f(x: f64[5], dt: f64[5]) -> f64[5]:
            reverse[0] dt
        "#,
    );
    let columns_first = stage(|x| build((3, 5), |(j, i)| x.at((4 - &i, &j))), &matrix(5, 3)).unwrap();
    prints(
        checked(&columns_first),
        "x",
        r#"
        program f(x: f64[5, 3]) -> f64[3, 5]:
            reverse[1] (transpose[1, 0] x)
        "#,
    );
    prints(
        &gradient(checked(&columns_first)),
        "x dt",
        r#"
        program f(x: f64[5, 3], dt: f64[3, 5]) -> f64[5, 3]:
            reverse[0] (transpose[1, 0] dt)
        "#,
    );
    let transposed = stage(|x| build(3, |i| x.transpose().at(2 - &i)), &matrix(5, 3)).unwrap();
    prints(
        checked(&transposed),
        "x",
        r#"
        program f(x: f64[5, 3]) -> f64[3, 5]:
            reverse[0] (transpose[1, 0] x)
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "x dt",
        r#"
        program f(x: f64[5, 3], dt: f64[3, 5]) -> f64[5, 3]:
            reverse[1] (transpose[1, 0] dt)
        "#,
    );
    let scaled = stage(|x| build(5, |i| 2.0 * x.at(4 - &i)), &vector(5)).unwrap();
    prints(
        checked(&scaled),
        "x",
        r#"
        program f(x: f64[5]) -> f64[5]:
            reverse[0] (x * 2.0)
        "#,
    );
    prints(
        &gradient(checked(&scaled)),
        "x dt",
        r#"
        program f(x: f64[5], dt: f64[5]) -> f64[5]:
            reverse[0] (dt * 2.0)
        "#,
    );
    let masked = stage(|x| build(5, |i| cond(i.gt(1), || x.at(4 - &i), || scalar(0.0))), &vector(5)).unwrap();
    prints(
        checked(&masked),
        "x",
        r#"
        program f(x: f64[5]) -> f64[5]:
            select(iota 5 > 1, reverse[0] x, 0.0)
        "#,
    );
    prints(
        &gradient(checked(&masked)),
        "x dt",
        r#"
        program f(x: f64[5], dt: f64[5]) -> f64[5]:
            select(iota 5 < 3, reverse[0] dt, 0.0)
        "#,
    );
    let single = stage(|x| build(5, |i| x.at(4 - &i)), &vector_32(5)).unwrap();
    prints(
        checked(&single),
        "x",
        r#"
        program f(x: f32[5]) -> f32[5]:
            reverse[0] x
        "#,
    );
    prints(
        &gradient(checked(&single)),
        "x dt",
        r#"
        program f(x: f32[5], dt: f32[5]) -> f32[5]:
            reverse[0] dt
        "#,
    );
}

#[test]
fn a_diagonal() {
    let diagonal = stage(|x| build(3, |i| x.at((&i, &i))), &matrix(3, 3)).unwrap();
    prints(
        checked(&diagonal),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3]:
            diagonal x
        "#,
    );
    prints(
        &gradient(checked(&diagonal)),
        "x dt",
        r#"
        program f(x: f64[3, 3], dt: f64[3]) -> f64[3, 3]:
            view [3, 3] (replicate[1: 1] dt) ([i, j] -> [i, -i + j])
        "#,
    );
    let backwards = stage(|x| build(3, |i| x.at((2 - &i, 2 - &i))), &matrix(3, 3)).unwrap();
    prints(
        checked(&backwards),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3]:
            view [3] x ([i] -> [2 - i, 2 - i])
        "#,
    );
    prints(
        &gradient(checked(&backwards)),
        "x dt",
        r#"
        program f(x: f64[3, 3], dt: f64[3]) -> f64[3, 3]:
            view [3, 3] (replicate[1: 1] dt) ([i, j] -> [2 - i, -i + j])
        "#,
    );
    let transposed = stage(|x| build(3, |i| x.transpose().at((&i, &i))), &matrix(3, 3)).unwrap();
    prints(
        checked(&transposed),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3]:
            diagonal x
        "#,
    );
    let scaled = stage(|(x, w)| build(3, |i| x.at((&i, &i)) * w.at(&i)), &(matrix(3, 3), vector(3))).unwrap();
    prints(
        checked(&scaled),
        "x w",
        r#"
        program f(x: f64[3, 3], w: f64[3]) -> f64[3]:
            diagonal x * w
        "#,
    );
    prints(
        &gradient(checked(&scaled)),
        "x w dt",
        r#"
        program f(x: f64[3, 3], w: f64[3], dt: f64[3]) -> (f64[3, 3], f64[3]):
            (view [3, 3] (replicate[1: 1] (dt * w)) ([i, j] -> [i, -i + j]), dt * diagonal x)
        "#,
    );
    let single = stage(|x| build(3, |i| x.at((&i, &i))), &matrix_32(3, 3)).unwrap();
    prints(
        checked(&single),
        "x",
        r#"
        program f(x: f32[3, 3]) -> f32[3]:
            diagonal x
        "#,
    );
    prints(
        &gradient(checked(&single)),
        "x dt",
        r#"
        program f(x: f32[3, 3], dt: f32[3]) -> f32[3, 3]:
            view [3, 3] (replicate[1: 1] dt) ([i, j] -> [i, -i + j])
        "#,
    );
}

#[test]
fn a_transposition() {
    let transposed = stage(|x| build((3, 2), |(i, j)| x.at((&j, &i))), &matrix(2, 3)).unwrap();
    prints(
        checked(&transposed),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[3, 2]:
            transpose[1, 0] x
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[3, 2]) -> f64[2, 3]:
            transpose[1, 0] dt
        "#,
    );
    let twice = stage(|x| build(2, |j| build(3, |i| x.transpose().at((&i, &j)))), &matrix(2, 3)).unwrap();
    prints(
        checked(&twice),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[2, 3]:
            x
        "#,
    );
    prints(
        &gradient(checked(&twice)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[2, 3]) -> f64[2, 3]:
            dt
        "#,
    );
    let scaled = stage(|x| build((3, 2), |(i, j)| -x.at((&j, &i))), &matrix(2, 3)).unwrap();
    prints(
        checked(&scaled),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[3, 2]:
            transpose[1, 0] (-x)
        "#,
    );
    prints(
        &gradient(checked(&scaled)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[3, 2]) -> f64[2, 3]:
            transpose[1, 0] (-dt)
        "#,
    );
    let masked =
        stage(|x| build((3, 3), |(i, j)| cond(i.lt(&j), || x.at((&j, &i)), || scalar(0.0))), &matrix(3, 3)).unwrap();
    prints(
        checked(&masked),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3, 3]:
            let m1: i64[3] = iota 3
            select(replicate[1: 3] m1 < replicate[3] m1, transpose[1, 0] x, 0.0)
        "#,
    );
    prints(
        &gradient(checked(&masked)),
        "x dt",
        r#"
        program f(x: f64[3, 3], dt: f64[3, 3]) -> f64[3, 3]:
            let m1: i64[3] = iota 3
            select(replicate[3] m1 < replicate[1: 3] m1, transpose[1, 0] dt, 0.0)
        "#,
    );
    let single = stage(|x| build((3, 2), |(i, j)| x.at((&j, &i))), &matrix_32(2, 3)).unwrap();
    prints(
        checked(&single),
        "x",
        r#"
        program f(x: f32[2, 3]) -> f32[3, 2]:
            transpose[1, 0] x
        "#,
    );
    prints(
        &gradient(checked(&single)),
        "x dt",
        r#"
        program f(x: f32[2, 3], dt: f32[3, 2]) -> f32[2, 3]:
            transpose[1, 0] dt
        "#,
    );
}

#[test]
fn a_row_sum() {
    let rows = stage(|x| build(2, |i| build(3, |j| x.at((&i, &j))).sum()), &matrix(2, 3)).unwrap();
    prints(
        checked(&rows),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[2]:
            sum[1] x
        "#,
    );
    prints(
        &gradient(checked(&rows)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[2]) -> f64[2, 3]:
            replicate[1: 3] dt
        "#,
    );
    let columns_first = stage(|x| build(3, |j| build(2, |i| x.at((&i, &j)))).sum_axis(0), &matrix(2, 3)).unwrap();
    prints(
        checked(&columns_first),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[2]:
            sum[1] x
        "#,
    );
    prints(
        &gradient(checked(&columns_first)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[2]) -> f64[2, 3]:
            replicate[1: 3] dt
        "#,
    );
    let transposed = stage(|x| build(3, |i| x.transpose().at(&i).sum()), &matrix(2, 3)).unwrap();
    prints(
        checked(&transposed),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[3]:
            sum[0] x
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[3]) -> f64[2, 3]:
            replicate[2] dt
        "#,
    );
    let scaled = stage(|x| build(2, |i| build(3, |j| 2.0 * x.at((&i, &j))).sum()), &matrix(2, 3)).unwrap();
    prints(
        checked(&scaled),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[2]:
            sum[1] x * 2.0
        "#,
    );
    prints(
        &gradient(checked(&scaled)),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[2]) -> f64[2, 3]:
            replicate[1: 3] (dt * 2.0)
        "#,
    );
    let masked =
        stage(|x| build(3, |i| build(3, |j| cond(j.le(&i), || x.at((&i, &j)), || scalar(0.0))).sum()), &matrix(3, 3))
            .unwrap();
    prints(
        checked(&masked),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3]:
            let m1: i64[3] = iota 3
            sum[1] select(replicate[3] m1 <= replicate[1: 3] m1, x, 0.0)
        "#,
    );
    prints(
        &gradient(checked(&masked)),
        "x dt",
        r#"
        program f(x: f64[3, 3], dt: f64[3]) -> f64[3, 3]:
            let m1: i64[3] = iota 3
            select(replicate[3] m1 <= replicate[1: 3] m1, replicate[1: 3] dt, 0.0)
        "#,
    );
    let single = stage(|x| build(2, |i| build(3, |j| x.at((&i, &j))).sum()), &matrix_32(2, 3)).unwrap();
    prints(
        checked(&single),
        "x",
        r#"
        program f(x: f32[2, 3]) -> f32[2]:
            sum[1] x
        "#,
    );
    prints(
        &gradient(checked(&single)),
        "x dt",
        r#"
        program f(x: f32[2, 3], dt: f32[2]) -> f32[2, 3]:
            replicate[1: 3] dt
        "#,
    );
}

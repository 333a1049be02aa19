//! Reads at affine positions: slices, reversals, diagonals, transpositions, sums.

use super::{gradient, matrix, matrix_32, prints, vector, vector_32};
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;

#[test]
fn a_stencil_is_slices() {
    let stencil = stage(|x| build(9, |i| x.at(&i - 1) + 2.0 * x.at(&i) + x.at(&i + 1)), &vector(9)).unwrap();
    prints(
        stencil.program(),
        "x",
        r#"
        program f(x: f64[9]) -> f64[9]:
            pad[0: 1, 0] (slice[0: 0..8] x) + x * 2.0 + pad[0: 0, 1] (slice[0: 1..9] x)
        "#,
    );
    prints(
        &gradient(stencil.program()),
        "x dt",
        r#"
        program f(x: f64[9], dt: f64[9]) -> f64[9]:
            let m1: f64[9] = pad[0: 0, 1] (slice[0: 1..9] dt) + dt * 2.0
            m1 + pad[0: 1, 0] (slice[0: 0..8] dt)
        "#,
    );
    let inner = stage(|x| build(7, |i| x.at(&i) - x.at(&i + 2)), &vector(9)).unwrap();
    prints(
        inner.program(),
        "x",
        r#"
        program f(x: f64[9]) -> f64[7]:
            slice[0: 0..7] x - slice[0: 2..9] x
        "#,
    );
    prints(
        &gradient(inner.program()),
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
        stencil.program(),
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
        &gradient(stencil.program()),
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
        plain.program(),
        "a b c",
        r#"
        program f(a: f64[10], b: f64[10], c: f64[10]) -> f64[10]:
            a + pad[0: 0, 1] (slice[0: 1..10] b) + pad[0: 1, 0] (slice[0: 0..9] c)
        "#,
    );
    prints(
        &gradient(plain.program()),
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
        columns_first.program(),
        "x",
        r#"
        program f(x: f64[4, 4]) -> f64[4, 3]:
            slice[1: 0..3] (transpose[1, 0] x) + slice[1: 1..4] (transpose[1, 0] x)
        "#,
    );
    prints(
        &gradient(columns_first.program()),
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
        transposed.program(),
        "x",
        r#"
        program f(x: f64[4, 4]) -> f64[3, 4]:
            slice[0: 1..4] (transpose[1, 0] x) - slice[0: 0..3] (transpose[1, 0] x)
        "#,
    );
    prints(
        &gradient(transposed.program()),
        "x dt",
        r#"
        program f(x: f64[4, 4], dt: f64[3, 4]) -> f64[4, 4]:
            pad[1: 1, 0] (transpose[1, 0] dt) + pad[1: 0, 1] (transpose[1, 0] (-dt))
        "#,
    );
    let weighted = stage(|(x, w)| build(7, |i| w.at(&i) * (x.at(&i + 1) - x.at(&i))), &(vector(8), vector(7))).unwrap();
    prints(
        weighted.program(),
        "x w",
        r#"
        program f(x: f64[8], w: f64[7]) -> f64[7]:
            w * (slice[0: 1..8] x - slice[0: 0..7] x)
        "#,
    );
    prints(
        &gradient(weighted.program()),
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
        masked.program(),
        "x",
        r#"
        program f(x: f64[8]) -> f64[8]:
            select(iota 8 > 0, x - pad[0: 1, 0] (slice[0: 0..7] x), 0.0)
        "#,
    );
    prints(
        &gradient(masked.program()),
        "x dt",
        r#"
        program f(x: f64[8], dt: f64[8]) -> f64[8]:
            select(iota 8 > 0, dt, 0.0) - pad[0: 0, 1] (slice[0: 1..8] dt)
        "#,
    );
    let single = stage(|x| build(6, |i| x.at(&i) * 0.5f32 + x.at(&i + 2)), &vector_32(8)).unwrap();
    prints(
        single.program(),
        "x",
        r#"
        program f(x: f32[8]) -> f32[6]:
            slice[0: 0..6] x * 0.5 + slice[0: 2..8] x
        "#,
    );
    prints(
        &gradient(single.program()),
        "x dt",
        r#"
        program f(x: f32[8], dt: f32[6]) -> f32[8]:
            pad[0: 0, 2] (dt * 0.5) + pad[0: 2, 0] dt
        "#,
    );
}

#[test]
fn reads_from_the_end_are_a_reversal() {
    let reversed = stage(|x| build(5, |i| x.at(4 - &i)), &vector(5)).unwrap();
    prints(
        reversed.program(),
        "x",
        r#"
        program f(x: f64[5]) -> f64[5]:
            reverse[0] x
        "#,
    );
    prints(
        &gradient(reversed.program()),
        "x dt",
        r#"
        program f(x: f64[5], dt: f64[5]) -> f64[5]:
            reverse[0] dt
        "#,
    );
    let columns_first = stage(|x| build((3, 5), |(j, i)| x.at((4 - &i, &j))), &matrix(5, 3)).unwrap();
    prints(
        columns_first.program(),
        "x",
        r#"
        program f(x: f64[5, 3]) -> f64[3, 5]:
            reverse[1] (transpose[1, 0] x)
        "#,
    );
    prints(
        &gradient(columns_first.program()),
        "x dt",
        r#"
        program f(x: f64[5, 3], dt: f64[3, 5]) -> f64[5, 3]:
            reverse[0] (transpose[1, 0] dt)
        "#,
    );
    let transposed = stage(|x| build(3, |i| x.transpose().at(2 - &i)), &matrix(5, 3)).unwrap();
    prints(
        transposed.program(),
        "x",
        r#"
        program f(x: f64[5, 3]) -> f64[3, 5]:
            reverse[0] (transpose[1, 0] x)
        "#,
    );
    prints(
        &gradient(transposed.program()),
        "x dt",
        r#"
        program f(x: f64[5, 3], dt: f64[3, 5]) -> f64[5, 3]:
            reverse[1] (transpose[1, 0] dt)
        "#,
    );
    let scaled = stage(|x| build(5, |i| 2.0 * x.at(4 - &i)), &vector(5)).unwrap();
    prints(
        scaled.program(),
        "x",
        r#"
        program f(x: f64[5]) -> f64[5]:
            reverse[0] (x * 2.0)
        "#,
    );
    prints(
        &gradient(scaled.program()),
        "x dt",
        r#"
        program f(x: f64[5], dt: f64[5]) -> f64[5]:
            reverse[0] (dt * 2.0)
        "#,
    );
    let masked = stage(|x| build(5, |i| cond(i.gt(1), || x.at(4 - &i), || scalar(0.0))), &vector(5)).unwrap();
    prints(
        masked.program(),
        "x",
        r#"
        program f(x: f64[5]) -> f64[5]:
            select(iota 5 > 1, reverse[0] x, 0.0)
        "#,
    );
    prints(
        &gradient(masked.program()),
        "x dt",
        r#"
        program f(x: f64[5], dt: f64[5]) -> f64[5]:
            select(iota 5 < 3, reverse[0] dt, 0.0)
        "#,
    );
    let single = stage(|x| build(5, |i| x.at(4 - &i)), &vector_32(5)).unwrap();
    prints(
        single.program(),
        "x",
        r#"
        program f(x: f32[5]) -> f32[5]:
            reverse[0] x
        "#,
    );
    prints(
        &gradient(single.program()),
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
        diagonal.program(),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3]:
            diagonal x
        "#,
    );
    prints(
        &gradient(diagonal.program()),
        "x dt",
        r#"
        program f(x: f64[3, 3], dt: f64[3]) -> f64[3, 3]:
            view [3, 3] (replicate[1: 1] dt) ([i, j] -> [i, -i + j])
        "#,
    );
    let backwards = stage(|x| build(3, |i| x.at((2 - &i, 2 - &i))), &matrix(3, 3)).unwrap();
    prints(
        backwards.program(),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3]:
            view [3] x ([i] -> [2 - i, 2 - i])
        "#,
    );
    prints(
        &gradient(backwards.program()),
        "x dt",
        r#"
        program f(x: f64[3, 3], dt: f64[3]) -> f64[3, 3]:
            view [3, 3] (replicate[1: 1] dt) ([i, j] -> [2 - i, -i + j])
        "#,
    );
    let transposed = stage(|x| build(3, |i| x.transpose().at((&i, &i))), &matrix(3, 3)).unwrap();
    prints(
        transposed.program(),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3]:
            diagonal x
        "#,
    );
    let scaled = stage(|(x, w)| build(3, |i| x.at((&i, &i)) * w.at(&i)), &(matrix(3, 3), vector(3))).unwrap();
    prints(
        scaled.program(),
        "x w",
        r#"
        program f(x: f64[3, 3], w: f64[3]) -> f64[3]:
            diagonal x * w
        "#,
    );
    prints(
        &gradient(scaled.program()),
        "x w dt",
        r#"
        program f(x: f64[3, 3], w: f64[3], dt: f64[3]) -> (f64[3, 3], f64[3]):
            (view [3, 3] (replicate[1: 1] (dt * w)) ([i, j] -> [i, -i + j]), dt * diagonal x)
        "#,
    );
    let single = stage(|x| build(3, |i| x.at((&i, &i))), &matrix_32(3, 3)).unwrap();
    prints(
        single.program(),
        "x",
        r#"
        program f(x: f32[3, 3]) -> f32[3]:
            diagonal x
        "#,
    );
    prints(
        &gradient(single.program()),
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
        transposed.program(),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[3, 2]:
            transpose[1, 0] x
        "#,
    );
    prints(
        &gradient(transposed.program()),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[3, 2]) -> f64[2, 3]:
            transpose[1, 0] dt
        "#,
    );
    let twice = stage(|x| build(2, |j| build(3, |i| x.transpose().at((&i, &j)))), &matrix(2, 3)).unwrap();
    prints(
        twice.program(),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[2, 3]:
            x
        "#,
    );
    prints(
        &gradient(twice.program()),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[2, 3]) -> f64[2, 3]:
            dt
        "#,
    );
    let scaled = stage(|x| build((3, 2), |(i, j)| -x.at((&j, &i))), &matrix(2, 3)).unwrap();
    prints(
        scaled.program(),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[3, 2]:
            transpose[1, 0] (-x)
        "#,
    );
    prints(
        &gradient(scaled.program()),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[3, 2]) -> f64[2, 3]:
            transpose[1, 0] (-dt)
        "#,
    );
    let masked =
        stage(|x| build((3, 3), |(i, j)| cond(i.lt(&j), || x.at((&j, &i)), || scalar(0.0))), &matrix(3, 3)).unwrap();
    prints(
        masked.program(),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3, 3]:
            let m1: i64[3] = iota 3
            select(replicate[1: 3] m1 < replicate[3] m1, transpose[1, 0] x, 0.0)
        "#,
    );
    prints(
        &gradient(masked.program()),
        "x dt",
        r#"
        program f(x: f64[3, 3], dt: f64[3, 3]) -> f64[3, 3]:
            let m1: i64[3] = iota 3
            select(replicate[3] m1 < replicate[1: 3] m1, transpose[1, 0] dt, 0.0)
        "#,
    );
    let single = stage(|x| build((3, 2), |(i, j)| x.at((&j, &i))), &matrix_32(2, 3)).unwrap();
    prints(
        single.program(),
        "x",
        r#"
        program f(x: f32[2, 3]) -> f32[3, 2]:
            transpose[1, 0] x
        "#,
    );
    prints(
        &gradient(single.program()),
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
        rows.program(),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[2]:
            sum[1] x
        "#,
    );
    prints(
        &gradient(rows.program()),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[2]) -> f64[2, 3]:
            replicate[1: 3] dt
        "#,
    );
    let columns_first = stage(|x| build(3, |j| build(2, |i| x.at((&i, &j)))).sum_axis(0), &matrix(2, 3)).unwrap();
    prints(
        columns_first.program(),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[2]:
            sum[1] x
        "#,
    );
    prints(
        &gradient(columns_first.program()),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[2]) -> f64[2, 3]:
            replicate[1: 3] dt
        "#,
    );
    let transposed = stage(|x| build(3, |i| x.transpose().at(&i).sum()), &matrix(2, 3)).unwrap();
    prints(
        transposed.program(),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[3]:
            sum[0] x
        "#,
    );
    prints(
        &gradient(transposed.program()),
        "x dt",
        r#"
        program f(x: f64[2, 3], dt: f64[3]) -> f64[2, 3]:
            replicate[2] dt
        "#,
    );
    let scaled = stage(|x| build(2, |i| build(3, |j| 2.0 * x.at((&i, &j))).sum()), &matrix(2, 3)).unwrap();
    prints(
        scaled.program(),
        "x",
        r#"
        program f(x: f64[2, 3]) -> f64[2]:
            sum[1] x * 2.0
        "#,
    );
    prints(
        &gradient(scaled.program()),
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
        masked.program(),
        "x",
        r#"
        program f(x: f64[3, 3]) -> f64[3]:
            let m1: i64[3] = iota 3
            sum[1] select(replicate[3] m1 <= replicate[1: 3] m1, x, 0.0)
        "#,
    );
    prints(
        &gradient(masked.program()),
        "x dt",
        r#"
        program f(x: f64[3, 3], dt: f64[3]) -> f64[3, 3]:
            let m1: i64[3] = iota 3
            select(replicate[3] m1 <= replicate[1: 3] m1, replicate[1: 3] dt, 0.0)
        "#,
    );
    let single = stage(|x| build(2, |i| build(3, |j| x.at((&i, &j))).sum()), &matrix_32(2, 3)).unwrap();
    prints(
        single.program(),
        "x",
        r#"
        program f(x: f32[2, 3]) -> f32[2]:
            sum[1] x
        "#,
    );
    prints(
        &gradient(single.program()),
        "x dt",
        r#"
        program f(x: f32[2, 3], dt: f32[2]) -> f32[2, 3]:
            replicate[1: 3] dt
        "#,
    );
}

//! Several reads of each element: work is not doubled, and products of neighbours are products of slices.

use super::{checked, contractions, gradient, matrix, matrix_32, prints, vector, vector_32, with_gradient};
use deltaray::derivative::stage;
use deltaray::operation::Unary;
use deltaray::prelude::*;
use deltaray::term::Op;

#[test]
fn two_reads_of_each_element_do_not_double_the_work() {
    const N: usize = 10;
    let like = (vector(N), zeros::<Concrete, i64, _>(N), zeros::<Concrete, i64, _>(N));
    let chain = stage(
        |(u, p, q)| {
            let mut u = u.clone();
            for _ in 0..20 {
                u = build(N, |i| (u.at(p.at(&i)) + u.at(q.at(&i))).exp());
            }
            u
        },
        &like,
    )
    .unwrap();
    let value_and_gradient = with_gradient(chain.program());
    for body in [chain.program(), &value_and_gradient] {
        let exponentials = body.nodes().iter().filter(|node| node.op == Op::Unary(Unary::Exp));
        assert!(exponentials.clone().all(|node| node.ty().size() == N));
        assert_eq!(exponentials.count(), 20);
        assert!(body.cost().largest <= 2 * N as u128);
    }
    let two = stage(
        |(u, p, q)| {
            let mut u = u.clone();
            for _ in 0..2 {
                u = build(N, |i| (u.at(p.at(&i)) + u.at(q.at(&i))).exp());
            }
            u
        },
        &like,
    )
    .unwrap();
    prints(
        checked(&two),
        "u p q",
        r#"
        program f(u: f64[10], p: i64[10], q: i64[10]) -> f64[10]:
            let m1: f64[10] = exp (gather u [p] + gather u [q])
            exp (gather m1 [p] + gather m1 [q])
        "#,
    );
    prints(
        &gradient(checked(&two)),
        "u p q dt",
        r#"
        program f(u: f64[10], p: i64[10], q: i64[10], dt: f64[10]) -> (f64[10], i64[10], i64[10]):
            let m1: i64[20] = concatenate[0] p q
            let m2: f64[10] = exp (gather u [p] + gather u [q])
            let m3: f64[10] = dt * exp (gather m2 [p] + gather m2 [q])
            let m4: f64[10] = scatter [10] (concatenate[0] m3 m3) [m1] * m2
            (scatter [10] (concatenate[0] m4 m4) [m1], full 0 [10], full 0 [10])
        "#,
    );
}

#[test]
fn variants_of_two_reads() {
    let like = (vector_32(6), zeros::<Concrete, i64, _>(6), zeros::<Concrete, i64, _>(6));
    let scaled = stage(
        |(u, p, q)| {
            let first = build(6, |i| (u.at(q.at(&i)) * 0.5 + u.at(p.at(&i))).exp());
            build(6, |i| (first.at(p.at(&i)) - first.at(q.at(&i))).exp())
        },
        &like,
    )
    .unwrap();
    prints(
        &gradient(checked(&scaled)),
        "u p q dt",
        r#"
        program f(u: f32[6], p: i64[6], q: i64[6], dt: f32[6]) -> (f32[6], i64[6], i64[6]):
            let m1: f32[6] = exp (gather u [q] * 0.5 + gather u [p])
            let m2: f32[6] = dt * exp (gather m1 [p] - gather m1 [q])
            let m3: f32[6] = scatter [6] (concatenate[0] m2 (-m2)) [concatenate[0] p q] * m1
            (scatter [6] (concatenate[0] (m3 * 0.5) m3) [concatenate[0] q p], full 0 [6], full 0 [6])
        "#,
    );
    let rows = stage(
        |(u, p, q)| {
            let t = u.transpose();
            let first = build(6, |i| (t.at(p.at(&i)) + t.at(q.at(&i))).exp());
            build((2, 6), |(j, i)| (first.at((p.at(&i), &j)) + first.at((q.at(&i), &j))).exp())
        },
        &(matrix(2, 6), zeros::<Concrete, i64, _>(6), zeros::<Concrete, i64, _>(6)),
    )
    .unwrap();
    prints(
        checked(&rows),
        "u p q",
        r#"
        program f(u: f64[2, 6], p: i64[6], q: i64[6]) -> f64[2, 6]:
            let m1: f64[6, 2] = transpose[1, 0] u
            let m2: f64[6, 2] = exp (gather m1 [p] + gather m1 [q])
            transpose[1, 0] (exp (gather m2 [p] + gather m2 [q]))
        "#,
    );
    prints(
        &gradient(checked(&rows)),
        "u p q dt",
        r#"
        program f(u: f64[2, 6], p: i64[6], q: i64[6], dt: f64[2, 6]) -> (f64[2, 6], i64[6], i64[6]):
            let m1: i64[12] = concatenate[0] p q
            let m2: f64[6, 2] = transpose[1, 0] u
            let m3: f64[6, 2] = exp (gather m2 [p] + gather m2 [q])
            let m4: f64[6, 2] = transpose[1, 0] dt * exp (gather m3 [p] + gather m3 [q])
            let m5: f64[6, 2] = scatter [6] (concatenate[0] m4 m4) [m1] * m3
            (transpose[1, 0] (scatter [6] (concatenate[0] m5 m5) [m1]), full 0 [6], full 0 [6])
        "#,
    );
    let masked = stage(
        |(u, p, q)| {
            let first = build(6, |i| cond(i.lt(3), || u.at(p.at(&i)), || u.at(q.at(&i))).exp());
            build(6, |i| (first.at(p.at(&i)) + first.at(q.at(&i))).exp())
        },
        &like,
    )
    .unwrap();
    prints(
        &gradient(checked(&masked)),
        "u p q dt",
        r#"
        program f(u: f32[6], p: i64[6], q: i64[6], dt: f32[6]) -> (f32[6], i64[6], i64[6]):
            let m1: i64[12] = concatenate[0] p q
            let m2: bool[6] = iota 6 < 3
            let m3: f32[6] = exp select(m2, gather u [p], gather u [q])
            let m4: f32[6] = dt * exp (gather m3 [p] + gather m3 [q])
            let m5: f32[6] = scatter [6] (concatenate[0] m4 m4) [m1] * m3
            (scatter [6] (concatenate[0] select(m2, m5, 0.0) select(m2, 0.0, m5)) [m1], full 0 [6],
                    full 0 [6])
        "#,
    );
    for body in [scaled.program(), rows.program(), masked.program()] {
        let both = with_gradient(body);
        assert_eq!(both.nodes().iter().filter(|node| node.op == Op::Unary(Unary::Exp)).count(), 2);
    }
}

#[test]
fn a_sum_of_products_of_neighbours() {
    let toms = stage(
        |a| {
            let inner = build((4, 4), |(p, q)| a.at((&p, &q)) * a.at((&p, &q + 1))).sum();
            build((4, 5), |(i, _)| i.cast::<f64>() * &inner).sum()
        },
        &matrix(4, 5),
    )
    .unwrap();
    prints(
        checked(&toms),
        "a",
        r#"
        program f(a: f64[4, 5]) -> f64:
            contract "ij,ij->" (slice[1: 0..4] a) (slice[1: 1..5] a) * 30.0
        "#,
    );
    prints(
        &gradient(checked(&toms)),
        "a dt",
        r#"
        program f(a: f64[4, 5], dt: f64) -> f64[4, 5]:
            let m1: f64[4, 4] = replicate[4, 4] (dt * 30.0)
            let m2: f64[4, 5] = pad[1: 0, 1] (m1 * slice[1: 1..5] a)
            m2 + pad[1: 1, 0] (slice[1: 0..4] a * m1)
        "#,
    );
    assert_eq!(contractions(checked(&toms)), 1);
    let slices = stage(|a| (a.slice(1, 0..4) * a.slice(1, 1..5)).sum(), &matrix(4, 5)).unwrap();
    prints(
        checked(&slices),
        "a",
        r#"
        program f(a: f64[4, 5]) -> f64:
            contract "ij,ij->" (slice[1: 0..4] a) (slice[1: 1..5] a)
        "#,
    );
    prints(
        &gradient(checked(&slices)),
        "a dt",
        r#"
        program f(a: f64[4, 5], dt: f64) -> f64[4, 5]:
            let m1: f64[4, 4] = replicate[4, 4] dt
            let m2: f64[4, 5] = pad[1: 0, 1] (m1 * slice[1: 1..5] a)
            m2 + pad[1: 1, 0] (slice[1: 0..4] a * m1)
        "#,
    );
}

#[test]
fn variants_of_a_sum_of_products_of_neighbours() {
    let rows_first =
        stage(|a| build(5, |q| build(3, |p| a.at((&p, &q)) * a.at((&p + 1, &q))).sum()).sum(), &matrix(4, 5)).unwrap();
    prints(
        checked(&rows_first),
        "a",
        r#"
        program f(a: f64[4, 5]) -> f64:
            contract "ij,ij->" (slice[0: 0..3] a) (slice[0: 1..4] a)
        "#,
    );
    prints(
        &gradient(checked(&rows_first)),
        "a dt",
        r#"
        program f(a: f64[4, 5], dt: f64) -> f64[4, 5]:
            let m1: f64[3, 5] = replicate[3, 5] dt
            let m2: f64[4, 5] = pad[0: 0, 1] (m1 * slice[0: 1..4] a)
            m2 + pad[0: 1, 0] (slice[0: 0..3] a * m1)
        "#,
    );
    let transposed = stage(
        |a| {
            let t = a.transpose();
            build((4, 4), |(p, q)| t.at((&q, &p)) * t.at((&q + 1, &p))).sum()
        },
        &matrix(4, 5),
    )
    .unwrap();
    prints(
        checked(&transposed),
        "a",
        r#"
        program f(a: f64[4, 5]) -> f64:
            contract "ij,ij->" (slice[1: 0..4] a) (slice[1: 1..5] a)
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "a dt",
        r#"
        program f(a: f64[4, 5], dt: f64) -> f64[4, 5]:
            let m1: f64[4, 4] = replicate[4, 4] dt
            let m2: f64[4, 5] = pad[1: 0, 1] (m1 * slice[1: 1..5] a)
            m2 + pad[1: 1, 0] (slice[1: 0..4] a * m1)
        "#,
    );
    let weighted = stage(
        |(a, w)| build((4, 4), |(p, q)| w.at(&p) * a.at((&p, &q)) * a.at((&p, &q + 1))).sum(),
        &(matrix_32(4, 5), vector_32(4)),
    )
    .unwrap();
    prints(
        checked(&weighted),
        "a w",
        r#"
        program f(a: f32[4, 5], w: f32[4]) -> f32:
            contract "ij,ij->" (replicate[1: 4] w * slice[1: 0..4] a) (slice[1: 1..5] a)
        "#,
    );
    prints(
        &gradient(checked(&weighted)),
        "a w dt",
        r#"
        program f(a: f32[4, 5], w: f32[4], dt: f32) -> (f32[4, 5], f32[4]):
            let m1: f32[4, 4] = replicate[4, 4] dt
            let m2: f32[4, 4] = slice[1: 0..4] a
            let m3: f32[4, 4] = replicate[1: 4] w
            let m4: f32[4, 4] = m1 * slice[1: 1..5] a
            (pad[1: 0, 1] (m4 * m3) + pad[1: 1, 0] (m3 * m2 * m1), contract "ij,ij->i" m4 m2)
        "#,
    );
    let outside = stage(|a| build((4, 5), |(p, q)| a.at((&p, &q)) * a.at((&p, &q + 1))).sum(), &matrix(4, 5)).unwrap();
    prints(
        checked(&outside),
        "a",
        r#"
        program f(a: f64[4, 5]) -> f64:
            contract "ij,ij->" a (pad[1: 0, 1] (slice[1: 1..5] a))
        "#,
    );
    prints(
        &gradient(checked(&outside)),
        "a dt",
        r#"
        program f(a: f64[4, 5], dt: f64) -> f64[4, 5]:
            let m1: f64[4, 5] = replicate[4, 5] dt
            let m2: f64[4, 5] = pad[1: 1, 0] (slice[1: 0..4] a) * pad[1: 1, 0] (slice[1: 0..4] m1)
            m1 * pad[1: 0, 1] (slice[1: 1..5] a) + m2
        "#,
    );
}

#[test]
fn components_of_small_vectors_are_no_arrays() {
    // A concatenation that is only read part by part is not made, even with work in between.
    let like = (vector(10), vector(10));
    let products = stage(
        |(x, y)| {
            build(10, |i| {
                let p = stack(&[x.at(&i), y.at(&i)]).sin() * 2.0;
                p.at(0) * p.at(1)
            })
        },
        &like,
    )
    .unwrap();
    prints(
        checked(&products),
        "x y",
        r#"
        program f(x: f64[10], y: f64[10]) -> f64[10]:
            sin x * 2.0 * (sin y * 2.0)
        "#,
    );
}

#[test]
fn levels_of_a_reduction_stay_levels() {
    let product = stage(|x| reduce(scalar(1.0), x, |a, b| a * b), &vector(8)).unwrap();
    prints(
        checked(&product),
        "x",
        r#"
        program f(x: f64[8]) -> f64:
            let m1: f64[4] = slice[0: 0..7 by 2] x * slice[0: 1..8 by 2] x
            let m2: f64[2] = slice[0: 0..3 by 2] m1 * slice[0: 1..4 by 2] m1
            m2[0] * m2[1]
        "#,
    );
}

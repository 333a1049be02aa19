//! Reads at single or computed positions: one-hots merge, repetition is summed, nothing large appears.

use super::{contractions, gradient, matrix, prints, scatters, vector, vector_32, with_gradient};
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::operation::Unary;
use deltaray::prelude::*;
use deltaray::term::Op;

#[test]
fn a_product_of_elements_shares_prefixes_and_suffixes() {
    let product = stage(|x| x.at(0) * x.at(1) * x.at(2) * x.at(3), &vector(4)).unwrap();
    prints(
        product.program(),
        "x",
        r#"
        program f(x: f64[4]) -> f64:
            x[0] * x[1] * x[2] * x[3]
        "#,
    );
    prints(
        &gradient(product.program()),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64) -> f64[4]:
            let m1: f64 = x[2]
            let m2: f64 = x[1]
            let m3: f64 = x[0]
            let m4: f64 = m3 * m2
            let m5: f64 = dt * x[3]
            let m6: f64 = m5 * m1
            let m7: f64[1] = replicate[1] (dt * (m4 * m1))
            let m8: f64[1] = replicate[1] (m6 * m2)
            concatenate[0] m8 (replicate[1] (m6 * m3)) (replicate[1] (m5 * m4)) m7
        "#,
    );
    let grouped = stage(|x| (x.at(3) * x.at(2)) * (x.at(1) * x.at(0)), &vector(4)).unwrap();
    prints(
        &gradient(grouped.program()),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64) -> f64[4]:
            let m1: f64 = x[2]
            let m2: f64 = x[0]
            let m3: f64 = x[1]
            let m4: f64 = dt * (m3 * m2)
            let m5: f64 = x[3]
            let m6: f64 = dt * (m5 * m1)
            let m7: f64[1] = replicate[1] (m6 * m2)
            let m8: f64[1] = replicate[1] (m6 * m3)
            concatenate[0] m8 m7 (replicate[1] (m4 * m5)) (replicate[1] (m4 * m1))
        "#,
    );
    let scaled = stage(|x| 2.0f32 * x.at(0) * x.at(1) * x.at(2) * x.at(3), &vector_32(4)).unwrap();
    prints(
        &gradient(scaled.program()),
        "x dt",
        r#"
        program f(x: f32[4], dt: f32) -> f32[4]:
            let m1: f32 = x[2]
            let m2: f32 = x[1]
            let m3: f32 = x[0] * 2.0
            let m4: f32 = m3 * m2
            let m5: f32 = dt * x[3]
            let m6: f32 = m5 * m1
            let m7: f32[1] = replicate[1] (dt * (m4 * m1))
            let m8: f32[1] = replicate[1] (m6 * m2 * 2.0)
            concatenate[0] m8 (replicate[1] (m6 * m3)) (replicate[1] (m5 * m4)) m7
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
        &gradient(column.program()),
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
        &gradient(masked.program()),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64) -> f64[4]:
            let m1: f64 = x[0]
            let m2: bool = m1 > 0.0
            let m3: f64 = x[1]
            let m4: f64 = select(m2, dt, 0.0)
            let m5: f64 = keep_zero(m4, x[2])
            let m6: f64[1] = replicate[1] select(m2, 0.0, dt)
            let m7: f64[1] = replicate[1] keep_zero(m4, m1 * m3)
            let m8: f64[1] = replicate[1] keep_zero(m5, m1)
            concatenate[0] (replicate[1] keep_zero(m5, m3)) m8 m7 m6
        "#,
    );
}

#[test]
fn one_hots_merge() {
    let taken = stage(|x| x.slice(0, 0..12).sum(), &vector(15)).unwrap();
    prints(
        &gradient(taken.program()),
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
        appended.program(),
        "r",
        r#"
        program f(r: f64) -> f64:
            r * 35.0 + 21.0 + r * 91.0
        "#,
    );
    prints(
        &gradient(appended.program()),
        "r dt",
        r#"
        program f(r: f64, dt: f64) -> f64:
            dt * 126.0
        "#,
    );
    let sum = stage(|x| x.at(1) + 2.0 * x.at(3) + x.at(4) * x.at(5), &vector(7)).unwrap();
    prints(
        &gradient(sum.program()),
        "x dt",
        r#"
        program f(x: f64[7], dt: f64) -> f64[7]:
            let m1: f64[1] = replicate[1] (dt * x[4])
            let m2: f64[1] = replicate[1] (dt * x[5])
            let m3: f64[1] = replicate[1] (dt * 2.0)
            pad[0: 1, 1] (concatenate[0] (replicate[1] dt) (full 0.0 [1]) m3 m2 m1)
        "#,
    );
    let halves = stage(|x| x.slice(0, 0..3) * x.slice(0, 3..6), &vector(6)).unwrap();
    prints(
        &gradient(halves.program()),
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
        periodic.program(),
        "v",
        r#"
        program f(v: f64[28]) -> f64:
            sum[0] v + sum[0] (slice[0: 0..22] v)
        "#,
    );
    prints(
        &gradient(periodic.program()),
        "v dt",
        r#"
        program f(v: f64[28], dt: f64) -> f64[28]:
            replicate[28] dt + pad[0: 0, 6] (replicate[22] dt)
        "#,
    );
    let doubled = stage(|v| build((50, 2), |(i, j)| v.at(i % 28) * j.cast::<f64>()).sum(), &vector(28)).unwrap();
    prints(
        &gradient(doubled.program()),
        "v dt",
        r#"
        program f(v: f64[28], dt: f64) -> f64[28]:
            replicate[28] dt + pad[0: 0, 6] (replicate[22] dt)
        "#,
    );
    let single = stage(|v| build(50, |i| v.at(i % 28) * 3.0f32).sum(), &vector_32(28)).unwrap();
    prints(
        &gradient(single.program()),
        "v dt",
        r#"
        program f(v: f32[28], dt: f32) -> f32[28]:
            let m1: f32 = dt * 3.0
            replicate[28] m1 + pad[0: 0, 6] (replicate[22] m1)
        "#,
    );
    let masked = stage(|v| build(56, |i| cond(i.lt(28), || v.at(&i % 28), || scalar(0.0))).sum(), &vector(28)).unwrap();
    prints(
        &gradient(masked.program()),
        "v dt",
        r#"
        program f(v: f64[28], dt: f64) -> f64[28]:
            sum[0] (reshape [2, 28] select(iota 56 < 28, replicate[56] dt, 0.0))
        "#,
    );
    let transposed = stage(|v| build((50, 3), |(i, j)| v.transpose().at((i % 28, j))).sum(), &matrix(3, 28)).unwrap();
    prints(
        &gradient(transposed.program()),
        "v dt",
        r#"
        program f(v: f64[3, 28], dt: f64) -> f64[3, 28]:
            let m1: f64[3, 28] = pad[1: 0, 6] (transpose[1, 0] (replicate[22, 3] dt))
            replicate[3, 28] dt + m1
        "#,
    );
    for body in [periodic.program(), doubled.program(), single.program(), masked.program(), transposed.program()] {
        assert!(with_gradient(body).cost().largest <= 100);
        assert_eq!(scatters(&gradient(body)), 0);
    }
}

#[test]
fn a_gather_that_ignores_a_variable_is_repeated() {
    let positions = || constant::<_, Vector<Concrete, i64>>(&Vector::from_slice(&[2, 0, 2, 3]));
    let ignored = stage(|x| build((3, 4), |(_, j)| x.at(&positions().at(&j))), &vector(4)).unwrap();
    prints(
        ignored.program(),
        "x",
        r#"
        program f(x: f64[4]) -> f64[3, 4]:
            replicate[3] (gather x [[2, 0, 2, 3]])
        "#,
    );
    prints(
        &gradient(ignored.program()),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[3, 4]) -> f64[4]:
            scatter [4] (sum[0] dt) [[2, 0, 2, 3]]
        "#,
    );
    let columns_first = stage(|x| build((4, 3), |(j, _)| x.at(&positions().at(&j))), &vector(4)).unwrap();
    prints(
        columns_first.program(),
        "x",
        r#"
        program f(x: f64[4]) -> f64[4, 3]:
            replicate[1: 3] (gather x [[2, 0, 2, 3]])
        "#,
    );
    prints(
        &gradient(columns_first.program()),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[4, 3]) -> f64[4]:
            scatter [4] (sum[1] dt) [[2, 0, 2, 3]]
        "#,
    );
    let weighted =
        stage(|(x, w)| build((3, 4), |(i, j)| w.at(&i) * x.at(&positions().at(&j))), &(vector(4), vector(3))).unwrap();
    prints(
        weighted.program(),
        "x w",
        r#"
        program f(x: f64[4], w: f64[3]) -> f64[3, 4]:
            replicate[1: 4] w * replicate[3] (gather x [[2, 0, 2, 3]])
        "#,
    );
    prints(
        &gradient(weighted.program()),
        "x w dt",
        r#"
        program f(x: f64[4], w: f64[3], dt: f64[3, 4]) -> (f64[4], f64[3]):
            let m1: i64[4] = [2, 0, 2, 3]
            (scatter [4] (contract "ij,i->j" dt w) [m1], contract "ij,j->i" dt (gather x [m1]))
        "#,
    );
    let single = stage(|x| build((3, 4), |(_, j)| x.at(&positions().at(&j))), &vector_32(4)).unwrap();
    prints(
        &gradient(single.program()),
        "x dt",
        r#"
        program f(x: f32[4], dt: f32[3, 4]) -> f32[4]:
            scatter [4] (sum[0] dt) [[2, 0, 2, 3]]
        "#,
    );
    let transposed =
        stage(|x| build((3, 4), |(_, j)| x.transpose().at((&positions().at(&j), 1))), &matrix(2, 4)).unwrap();
    prints(
        transposed.program(),
        "x",
        r#"
        program f(x: f64[2, 4]) -> f64[3, 4]:
            replicate[3] (gather x [full 1 [4], [2, 0, 2, 3]])
        "#,
    );
    prints(
        &gradient(transposed.program()),
        "x dt",
        r#"
        program f(x: f64[2, 4], dt: f64[3, 4]) -> f64[2, 4]:
            scatter [2, 4] (sum[0] dt) [full 1 [4], [2, 0, 2, 3]]
        "#,
    );
    let replicated = stage(|x| build(3, |_| x.at(2)), &vector(4)).unwrap();
    prints(
        replicated.program(),
        "x",
        r#"
        program f(x: f64[4]) -> f64[3]:
            replicate[3] x[2]
        "#,
    );
    prints(
        &gradient(replicated.program()),
        "x dt",
        r#"
        program f(x: f64[4], dt: f64[3]) -> f64[4]:
            pad[0: 2, 1] (replicate[1] (sum[0] dt))
        "#,
    );
}

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
        &gradient(element.program()),
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
        &gradient(row.program()),
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
        &gradient(column.program()),
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
        &gradient(computed.program()),
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
            v[9] * sum[0] select(iota 1000000 >= 9, w, 0.0)
        "#,
    );
    prints(
        &gradient(vectors.program()),
        "v w dt",
        r#"
        program f(v: f32[1000000], w: f32[1000000], dt: f32) -> (f32[1000000], f32[1000000]):
            let m1: bool[1000000] = iota 1000000 >= 9
            let m2: f32[1000000] = pad[0: 9, 999990] (replicate[1] (dt * sum[0] select(m1, w, 0.0)))
            (m2, select(m1, replicate[1000000] (dt * v[9]), 0.0))
        "#,
    );
    for body in
        [element.program(), row.program(), column.program(), scaled.program(), computed.program(), vectors.program()]
    {
        assert!(body.cost().largest <= N as u128);
        assert!(with_gradient(body).cost().largest <= N as u128);
    }
}

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
        let exponentials = body.nodes.iter().filter(|node| node.op == Op::Unary(Unary::Exp));
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
        two.program(),
        "u p q",
        r#"
        program f(u: f64[10], p: i64[10], q: i64[10]) -> f64[10]:
            let m1: f64[10] = exp (gather u [p] + gather u [q])
            exp (gather m1 [p] + gather m1 [q])
        "#,
    );
    prints(
        &gradient(two.program()),
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
        toms.program(),
        "a",
        r#"
        program f(a: f64[4, 5]) -> f64:
            contract "ij,ij->" (slice[1: 1..5] a) (slice[1: 0..4] a) * 30.0
        "#,
    );
    prints(
        &gradient(toms.program()),
        "a dt",
        r#"
        program f(a: f64[4, 5], dt: f64) -> f64[4, 5]:
            let m1: f64[4, 4] = replicate[4, 4] (dt * 30.0)
            let m2: f64[4, 5] = pad[1: 0, 1] (slice[1: 1..5] a * m1)
            m2 + pad[1: 1, 0] (m1 * slice[1: 0..4] a)
        "#,
    );
    assert_eq!(contractions(toms.program()), 1);
    let slices = stage(|a| (a.slice(1, 0..4) * a.slice(1, 1..5)).sum(), &matrix(4, 5)).unwrap();
    prints(
        slices.program(),
        "a",
        r#"
        program f(a: f64[4, 5]) -> f64:
            contract "ij,ij->" (slice[1: 1..5] a) (slice[1: 0..4] a)
        "#,
    );
    prints(
        &gradient(slices.program()),
        "a dt",
        r#"
        program f(a: f64[4, 5], dt: f64) -> f64[4, 5]:
            let m1: f64[4, 4] = replicate[4, 4] dt
            let m2: f64[4, 5] = pad[1: 0, 1] (slice[1: 1..5] a * m1)
            m2 + pad[1: 1, 0] (m1 * slice[1: 0..4] a)
        "#,
    );
}

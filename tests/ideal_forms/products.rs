//! Products written as loops, and their gradients: contractions and nothing else.

use super::{checked, contractions, gradient, matrix, matrix_32, prints, vector, vector_32, with_gradient};
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;

/// The product of matrices, element by element.
fn naive<A: Algebra>(a: &Matrix<A, f64>, b: &Matrix<A, f64>) -> Matrix<A, f64> {
    let ((n, k), m) = ((a.shape()[0], a.shape()[1]), b.shape()[1]);
    build(n, |i| build(m, |j| build(k, |p| a.at((&i, &p)) * b.at((&p, &j))).sum()))
}

#[test]
fn a_naive_matrix_product_is_one_contraction() {
    let like = (matrix(2, 3), matrix(3, 4));
    let product = stage(|(a, b)| naive(a, b), &like).unwrap();
    prints(
        checked(&product),
        "a b",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4]) -> f64[2, 4]:
            contract "ij,jk->ik" a b
        "#,
    );
    let form = gradient(checked(&product));
    prints(
        &form,
        "a b dt",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], dt: f64[2, 4]) -> (f64[2, 3], f64[3, 4]):
            (contract "ij,kj->ik" dt b, contract "ij,ik->jk" a dt)
        "#,
    );
    assert_eq!(contractions(&with_gradient(checked(&product))), 3);
    let matmul = stage(|(a, b)| a.matmul(b), &like).unwrap();
    let dot = stage(|(a, b)| a.dot(b), &like).unwrap();
    let rows = stage(|(a, b)| build(2, |i| build(4, |j| (a.at(&i) * b.transpose().at(&j)).sum())), &like).unwrap();
    let vectors = stage(|(a, b)| build(2, |i| b.transpose().dot(&a.at(&i))), &like).unwrap();
    for other in [checked(&matmul), checked(&dot), checked(&rows), checked(&vectors)] {
        assert_eq!(other.to_string(), checked(&product).to_string());
        assert_eq!(gradient(other).to_string(), form.to_string());
    }
}

#[test]
fn variants_of_the_naive_matrix_product() {
    let like = (matrix(2, 3), matrix(3, 4));
    let columns_first =
        stage(|(a, b)| build(4, |j| build(2, |i| build(3, |p| a.at((&i, &p)) * b.at((&p, &j))).sum())), &like).unwrap();
    prints(
        checked(&columns_first),
        "a b",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4]) -> f64[4, 2]:
            contract "ij,ki->jk" b a
        "#,
    );
    prints(
        &gradient(checked(&columns_first)),
        "a b dt",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], dt: f64[4, 2]) -> (f64[2, 3], f64[3, 4]):
            (contract "ij,ki->jk" dt b, contract "ij,ki->jk" a dt)
        "#,
    );
    let sum_first =
        stage(|(a, b)| build(3, |p| build((2, 4), |(i, j)| a.at((&i, &p)) * b.at((&p, &j)))).sum_axis(0), &like)
            .unwrap();
    prints(
        checked(&sum_first),
        "a b",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4]) -> f64[2, 4]:
            contract "ij,jk->ik" a b
        "#,
    );
    prints(
        &gradient(checked(&sum_first)),
        "a b dt",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], dt: f64[2, 4]) -> (f64[2, 3], f64[3, 4]):
            (contract "ij,kj->ik" dt b, contract "ij,ik->jk" a dt)
        "#,
    );
    let transposed = stage(
        |(a, b)| build((2, 4), |(i, j)| build(3, |p| a.at((&i, &p)) * b.at((&j, &p))).sum()),
        &(matrix(2, 3), matrix(4, 3)),
    )
    .unwrap();
    prints(
        checked(&transposed),
        "a b",
        r#"
        program f(a: f64[2, 3], b: f64[4, 3]) -> f64[2, 4]:
            contract "ij,kj->ik" a b
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "a b dt",
        r#"
        program f(a: f64[2, 3], b: f64[4, 3], dt: f64[2, 4]) -> (f64[2, 3], f64[4, 3]):
            (contract "ij,jk->ik" dt b, contract "ij,ik->jk" dt a)
        "#,
    );
    let scaled =
        stage(|(a, b)| build((2, 4), |(i, j)| build(3, |p| 0.5 * a.at((&i, &p)) * b.at((&p, &j))).sum()), &like)
            .unwrap();
    prints(
        checked(&scaled),
        "a b",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4]) -> f64[2, 4]:
            contract "ij,jk->ik" (a * 0.5) b
        "#,
    );
    prints(
        &gradient(checked(&scaled)),
        "a b dt",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], dt: f64[2, 4]) -> (f64[2, 3], f64[3, 4]):
            (contract "ij,kj->ik" dt b * 0.5, contract "ij,ik->jk" (a * 0.5) dt)
        "#,
    );
    let single = stage(
        |(a, b)| build((2, 4), |(i, j)| build(3, |p| a.at((&i, &p)) * b.at((&p, &j))).sum()),
        &(matrix_32(2, 3), matrix_32(3, 4)),
    )
    .unwrap();
    prints(
        checked(&single),
        "a b",
        r#"
        program f(a: f32[2, 3], b: f32[3, 4]) -> f32[2, 4]:
            contract "ij,jk->ik" a b
        "#,
    );
    prints(
        &gradient(checked(&single)),
        "a b dt",
        r#"
        program f(a: f32[2, 3], b: f32[3, 4], dt: f32[2, 4]) -> (f32[2, 3], f32[3, 4]):
            (contract "ij,kj->ik" dt b, contract "ij,ik->jk" a dt)
        "#,
    );
}

#[test]
fn a_dot_product() {
    let written = stage(|(v, w)| build(5, |i| v.at(&i) * w.at(&i)).sum(), &(vector(5), vector(5))).unwrap();
    prints(
        checked(&written),
        "v w",
        r#"
        program f(v: f64[5], w: f64[5]) -> f64:
            contract "i,i->" v w
        "#,
    );
    let form = gradient(checked(&written));
    prints(
        &form,
        "v w dt",
        r#"
        program f(v: f64[5], w: f64[5], dt: f64) -> (f64[5], f64[5]):
            let m1: f64[5] = replicate[5] dt
            (m1 * w, v * m1)
        "#,
    );
    let dot = stage(|(v, w)| v.dot(w), &(vector(5), vector(5))).unwrap();
    let product = stage(|(v, w)| (v * w).sum(), &(vector(5), vector(5))).unwrap();
    for other in [checked(&dot), checked(&product)] {
        assert_eq!(other.to_string(), checked(&written).to_string());
        assert_eq!(gradient(other).to_string(), form.to_string());
    }
    let reversed = stage(|(v, w)| build(5, |i| v.at(4 - &i) * w.at(&i)).sum(), &(vector(5), vector(5))).unwrap();
    prints(
        checked(&reversed),
        "v w",
        r#"
        program f(v: f64[5], w: f64[5]) -> f64:
            contract "i,i->" (reverse[0] v) w
        "#,
    );
    prints(
        &gradient(checked(&reversed)),
        "v w dt",
        r#"
        program f(v: f64[5], w: f64[5], dt: f64) -> (f64[5], f64[5]):
            let m1: f64[5] = replicate[5] dt
            (m1 * reverse[0] w, reverse[0] v * m1)
        "#,
    );
    let scaled =
        stage(|(v, w)| build(5, |i| v.at(&i) * 3.0f32 * w.at(&i)).sum(), &(vector_32(5), vector_32(5))).unwrap();
    prints(
        checked(&scaled),
        "v w",
        r#"
        program f(v: f32[5], w: f32[5]) -> f32:
            contract "i,i->" v w * 3.0
        "#,
    );
    prints(
        &gradient(checked(&scaled)),
        "v w dt",
        r#"
        program f(v: f32[5], w: f32[5], dt: f32) -> (f32[5], f32[5]):
            let m1: f32[5] = replicate[5] (dt * 3.0)
            (m1 * w, v * m1)
        "#,
    );
    let masked = stage(
        |(v, w)| build(5, |i| cond(i.lt(3), || v.at(&i) * w.at(&i), || scalar(0.0))).sum(),
        &(vector(5), vector(5)),
    )
    .unwrap();
    prints(
        checked(&masked),
        "v w",
        r#"
        program f(v: f64[5], w: f64[5]) -> f64:
            contract "i,i->" select(iota 5 < 3, v, 0.0) w
        "#,
    );
    prints(
        &gradient(checked(&masked)),
        "v w dt",
        r#"
        program f(v: f64[5], w: f64[5], dt: f64) -> (f64[5], f64[5]):
            let m1: f64[5] = replicate[5] dt
            let m2: bool[5] = iota 5 < 3
            (select(m2, m1 * w, 0.0), select(m2, v, 0.0) * m1)
        "#,
    );
}

#[test]
fn a_matrix_times_a_vector() {
    let like = (matrix(3, 5), vector(5));
    let written = stage(|(m, v)| build(3, |i| build(5, |j| m.at((&i, &j)) * v.at(&j)).sum()), &like).unwrap();
    prints(
        checked(&written),
        "m v",
        r#"
        program f(m: f64[3, 5], v: f64[5]) -> f64[3]:
            contract "ij,j->i" m v
        "#,
    );
    let form = gradient(checked(&written));
    prints(
        &form,
        "m v dt",
        r#"
        program f(m: f64[3, 5], v: f64[5], dt: f64[3]) -> (f64[3, 5], f64[5]):
            (contract "i,j->ij" dt v, contract "ij,i->j" m dt)
        "#,
    );
    let dot = stage(|(m, v)| m.dot(v), &like).unwrap();
    let rows = stage(|(m, v)| build(3, |i| m.at(&i).dot(v)), &like).unwrap();
    let replicated = stage(|(m, v)| (m * v.replicate(3)).sum_axis(1), &like).unwrap();
    for other in [checked(&dot), checked(&rows), checked(&replicated)] {
        assert_eq!(other.to_string(), checked(&written).to_string());
        assert_eq!(gradient(other).to_string(), form.to_string());
    }
    let columns = stage(|(m, v)| build(5, |j| m.transpose().at(&j) * v.at(&j)).sum_axis(0), &like).unwrap();
    prints(
        checked(&columns),
        "m v",
        r#"
        program f(m: f64[3, 5], v: f64[5]) -> f64[3]:
            contract "ij,j->i" m v
        "#,
    );
    prints(
        &gradient(checked(&columns)),
        "m v dt",
        r#"
        program f(m: f64[3, 5], v: f64[5], dt: f64[3]) -> (f64[3, 5], f64[5]):
            (contract "i,j->ij" dt v, contract "ij,i->j" m dt)
        "#,
    );
    let transposed =
        stage(|(m, v)| build(5, |j| build(3, |i| m.at((&i, &j)) * v.at(&i)).sum()), &(matrix_32(3, 5), vector_32(3)))
            .unwrap();
    prints(
        checked(&transposed),
        "m v",
        r#"
        program f(m: f32[3, 5], v: f32[3]) -> f32[5]:
            contract "ij,i->j" m v
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "m v dt",
        r#"
        program f(m: f32[3, 5], v: f32[3], dt: f32[5]) -> (f32[3, 5], f32[3]):
            (contract "i,j->ij" v dt, contract "ij,j->i" m dt)
        "#,
    );
    let between =
        stage(|(m, v, s)| build(3, |i| (m.at(&i) * s.at(&i) * v).sum()), &(matrix(3, 5), vector(5), vector(3)))
            .unwrap();
    prints(
        checked(&between),
        "m v s",
        r#"
        program f(m: f64[3, 5], v: f64[5], s: f64[3]) -> f64[3]:
            contract "ij,j->i" (m * replicate[1: 5] s) v
        "#,
    );
    prints(
        &gradient(checked(&between)),
        "m v s dt",
        r#"
        program f(m: f64[3, 5], v: f64[5], s: f64[3], dt: f64[3]) -> (f64[3, 5], f64[5], f64[3]):
            let m1: f64[3, 5] = replicate[1: 5] s
            let m2: f64[3, 5] = contract "i,j->ij" dt v
            (m2 * m1, contract "ij,i->j" (m * m1) dt, contract "ij,ij->i" m2 m)
        "#,
    );
    let masked = stage(
        |(m, v)| build(3, |i| build(5, |j| cond(j.ge(&i), || m.at((&i, &j)), || scalar(0.0)) * v.at(&j)).sum()),
        &like,
    )
    .unwrap();
    prints(
        checked(&masked),
        "m v",
        r#"
        program f(m: f64[3, 5], v: f64[5]) -> f64[3]:
            let m1: f64[3, 5] = select(replicate[3] (iota 5) >= replicate[1: 5] (iota 3), m, 0.0)
            contract "ij,j->i" m1 v
        "#,
    );
    prints(
        &gradient(checked(&masked)),
        "m v dt",
        r#"
        program f(m: f64[3, 5], v: f64[5], dt: f64[3]) -> (f64[3, 5], f64[5]):
            let m1: bool[3, 5] = replicate[3] (iota 5) >= replicate[1: 5] (iota 3)
            (select(m1, contract "i,j->ij" dt v, 0.0), contract "ij,i->j" select(m1, m, 0.0) dt)
        "#,
    );
}

#[test]
fn a_quotient_between_product_and_sum() {
    let like = (matrix(2, 3), matrix(3, 4), vector(2), scalar::<Concrete, f64>(0.0));
    let quarter =
        stage(|(a, b, _, _)| build((2, 4), |(i, j)| build(3, |k| a.at((&i, &k)) * b.at((&k, &j)) / 4.0).sum()), &like)
            .unwrap();
    prints(
        checked(&quarter),
        "a b v s",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], v: f64[2], s: f64) -> f64[2, 4]:
            contract "ij,jk->ik" a b / 4.0
        "#,
    );
    let by_row = stage(
        |(a, b, v, _)| build((2, 4), |(i, j)| build(3, |k| b.at((&k, &j)) * a.at((&i, &k)) / v.at(&i)).sum()),
        &like,
    )
    .unwrap();
    prints(
        checked(&by_row),
        "a b v s",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], v: f64[2], s: f64) -> f64[2, 4]:
            contract "ij,jk->ik" a b / replicate[1: 4] v
        "#,
    );
    prints(
        &gradient(checked(&by_row)),
        "a b v s dt",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], v: f64[2], s: f64, dt: f64[2, 4]) -> (f64[2, 3], f64[3, 4],
                f64[2], f64):
            let m1: f64[2, 4] = dt * replicate[1: 4] (recip v)
            let m2: f64[2] = -contract "ij,ij->i" m1 (contract "ij,jk->ik" a b / replicate[1: 4] v)
            (contract "ij,kj->ik" m1 b, contract "ij,ik->jk" a m1, m2, 0.0)
        "#,
    );
    let by_one = stage(
        |(a, b, _, s)| build(3, |k| a.transpose().at(&k).dot(&a.at((0, &k)).replicate(2)) * b.at((k, 0)) / s).sum(),
        &like,
    );
    prints(
        checked(&by_one.unwrap()),
        "a b v s",
        r#"
        program f(a: f64[2, 3], b: f64[3, 4], v: f64[2], s: f64) -> f64:
            sum[0] (sum[0] a * a[0] * b[:, 0] / replicate[3] s)
        "#,
    );
}

//! Convolutions written as loops.

use super::{checked, contractions, gradient, prints, scatters, vector, vector_32};
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;

type Images<A> = (Tensor4<A, f64>, Tensor4<A, f64>);

/// `out[n, o, i, j] = Σ a[n, c, i + p - shift, j + q - shift] · k[o, c, p, q]`, of this height and width.
fn convolution<A: Algebra>((k, a): &Images<A>, shift: i64, height: usize, width: usize) -> Tensor4<A, f64> {
    let (kernels, images) = (k.shape(), a.shape());
    build((images[0], kernels[0], height, width), |(n, o, i, j)| {
        build((kernels[1], kernels[2], kernels[3]), |(c, p, q)| {
            a.at((&n, &c, &i + &p - shift, &j + &q - shift)) * k.at((&o, &c, &p, &q))
        })
        .sum()
    })
}

fn images(kernel: [usize; 4], images: [usize; 4]) -> Images<Concrete> {
    (zeros(kernel), zeros(images))
}

#[test]
fn a_convolution_has_contractions_of_views_as_gradients() {
    let like = images([3, 2, 2, 2], [2, 2, 4, 5]);
    let shrinking = stage(|x| convolution(x, 0, 3, 4), &like).unwrap();
    prints(
        checked(&shrinking),
        "k a",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5]) -> f64[2, 3, 3, 4]:
            let m1: f64[2, 3, 4, 2, 2, 2] = view [2, 3, 4, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            contract "ijklmn,olmn->iojk" m1 k
        "#,
    );
    let form = gradient(checked(&shrinking));
    prints(
        &form,
        "k a dt",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5], dt: f64[2, 3, 3, 4]) -> (f64[3, 2, 2, 2],
                f64[2, 2, 4, 5]):
            let m1: f64[2, 3, 4, 2, 2, 2] = view [2, 3, 4, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            let m2: f64[2, 4, 5, 2, 2, 3] = view [2, 4, 5, 2, 2, 3] dt ([i, j, k, l, m, n] -> [i, n, j - l,
                    k - m])
            (contract "ijkl,iklmno->jmno" dt m1, contract "ijklmn,nolm->iojk" m2 k)
        "#,
    );
    assert_eq!((contractions(&form), scatters(&form)), (2, 0));
    let preserving = stage(|x| convolution(x, 0, 4, 5), &like).unwrap();
    prints(
        checked(&preserving),
        "k a",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5]) -> f64[2, 3, 4, 5]:
            let m1: f64[2, 4, 5, 2, 2, 2] = view [2, 4, 5, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            contract "ijklmn,olmn->iojk" m1 k
        "#,
    );
    prints(
        &gradient(checked(&preserving)),
        "k a dt",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5], dt: f64[2, 3, 4, 5]) -> (f64[3, 2, 2, 2],
                f64[2, 2, 4, 5]):
            let m1: f64[2, 4, 5, 2, 2, 2] = view [2, 4, 5, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            let m2: f64[2, 4, 5, 2, 2, 3] = view [2, 4, 5, 2, 2, 3] dt ([i, j, k, l, m, n] -> [i, n, j - l,
                    k - m])
            (contract "ijkl,iklmno->jmno" dt m1, contract "ijklmn,nolm->iojk" m2 k)
        "#,
    );
    let padded = stage(|x| convolution(x, 1, 5, 6), &like).unwrap();
    prints(
        checked(&padded),
        "k a",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5]) -> f64[2, 3, 5, 6]:
            let m1: f64[2, 5, 6, 2, 2, 2] = view [2, 5, 6, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l,
                    j + m - 1, k + n - 1])
            contract "ijklmn,olmn->iojk" m1 k
        "#,
    );
    prints(
        &gradient(checked(&padded)),
        "k a dt",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5], dt: f64[2, 3, 5, 6]) -> (f64[3, 2, 2, 2],
                f64[2, 2, 4, 5]):
            let m1: f64[2, 5, 6, 2, 2, 2] = view [2, 5, 6, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l,
                    j + m - 1, k + n - 1])
            let m2: f64[2, 4, 5, 2, 2, 3] = view [2, 4, 5, 2, 2, 3] dt ([i, j, k, l, m, n] -> [i, n,
                    j - l + 1, k - m + 1])
            (contract "ijkl,iklmno->jmno" dt m1, contract "ijklmn,nolm->iojk" m2 k)
        "#,
    );
}

#[test]
fn a_self_convolution_is_a_dot_product() {
    let convolution = stage(|x| build(10, |i| x.at(&i) * x.at(9 - &i)).sum(), &vector(10)).unwrap();
    prints(
        checked(&convolution),
        "x",
        r#"
        program f(x: f64[10]) -> f64:
            contract "i,i->" x (reverse[0] x)
        "#,
    );
    prints(
        &gradient(checked(&convolution)),
        "x dt",
        r#"
        program f(x: f64[10], dt: f64) -> f64[10]:
            let m1: f64[10] = reverse[0] x * replicate[10] dt
            m1 + m1
        "#,
    );
    let full = stage(|x| build(9, |i| build(5, |j| x.at(&j) * x.at(&i - &j)).sum()), &vector_32(5)).unwrap();
    prints(
        checked(&full),
        "x",
        r#"
        program f(x: f32[5]) -> f32[9]:
            contract "ij,j->i" (view [9, 5] x ([i, j] -> [i - j])) x
        "#,
    );
    prints(
        &gradient(checked(&full)),
        "x dt",
        r#"
        program f(x: f32[5], dt: f32[9]) -> f32[5]:
            let m1: f32[5] = contract "ij,i->j" (view [9, 5] x ([i, j] -> [i - j])) dt
            m1 + contract "ij,j->i" (view [5, 5] dt ([i, j] -> [i + j])) x
        "#,
    );
}

#[test]
fn variants_of_the_convolution() {
    let like = images([3, 2, 2, 2], [2, 2, 4, 5]);
    let other_order = stage(
        |(k, a)| {
            build((3, 4, 3, 2), |(i, j, o, n)| {
                build((2, 2, 2), |(q, c, p)| k.at((&o, &c, &p, &q)) * a.at((&n, &c, &i + &p, &j + &q))).sum()
            })
        },
        &like,
    )
    .unwrap();
    prints(
        checked(&other_order),
        "k a",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5]) -> f64[3, 4, 3, 2]:
            let m1: f64[3, 4, 2, 2, 2, 2] = view [3, 4, 2, 2, 2, 2] a ([i, j, k, l, m, n] -> [k, m, i + n,
                    j + l])
            contract "ijklmn,omnl->ijok" m1 k
        "#,
    );
    prints(
        &gradient(checked(&other_order)),
        "k a dt",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5], dt: f64[3, 4, 3, 2]) -> (f64[3, 2, 2, 2],
                f64[2, 2, 4, 5]):
            let m1: f64[3, 4, 2, 2, 2, 2] = view [3, 4, 2, 2, 2, 2] a ([i, j, k, l, m, n] -> [k, m, i + n,
                    j + l])
            let m2: f64[2, 4, 5, 2, 2, 3] = view [2, 4, 5, 2, 2, 3] dt ([i, j, k, l, m, n] -> [j - m, k - l,
                    n, i])
            (contract "ijkl,ijlmno->knom" dt m1, contract "ijklmn,noml->iojk" m2 k)
        "#,
    );
    let transposed = stage(
        |(k, a)| {
            let k = k.tr(&[1, 0, 3, 2]);
            convolution(&(k, a.clone()), 0, 3, 4)
        },
        &images([2, 3, 2, 2], [2, 2, 4, 5]),
    )
    .unwrap();
    prints(
        checked(&transposed),
        "k a",
        r#"
        program f(k: f64[2, 3, 2, 2], a: f64[2, 2, 4, 5]) -> f64[2, 3, 3, 4]:
            let m1: f64[2, 3, 4, 2, 2, 2] = view [2, 3, 4, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            contract "ijklmn,lonm->iojk" m1 k
        "#,
    );
    prints(
        &gradient(checked(&transposed)),
        "k a dt",
        r#"
        program f(k: f64[2, 3, 2, 2], a: f64[2, 2, 4, 5], dt: f64[2, 3, 3, 4]) -> (f64[2, 3, 2, 2],
                f64[2, 2, 4, 5]):
            let m1: f64[2, 3, 4, 2, 2, 2] = view [2, 3, 4, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            let m2: f64[2, 4, 5, 2, 2, 3] = view [2, 4, 5, 2, 2, 3] dt ([i, j, k, l, m, n] -> [i, n, j - l,
                    k - m])
            (contract "ijklmn,iojk->lonm" m1 dt, contract "ijklmn,onml->iojk" m2 k)
        "#,
    );
    let scaled = stage(|(k, a)| (convolution(&(k * 0.5, a.clone()), 0, 3, 4) * 2.0).relu(), &like).unwrap();
    prints(
        checked(&scaled),
        "k a",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5]) -> f64[2, 3, 3, 4]:
            let m1: f64[2, 3, 4, 2, 2, 2] = view [2, 3, 4, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            relu (contract "ijklmn,olmn->iojk" m1 (k * 0.5) * 2.0)
        "#,
    );
    prints(
        &gradient(checked(&scaled)),
        "k a dt",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[2, 2, 4, 5], dt: f64[2, 3, 3, 4]) -> (f64[3, 2, 2, 2],
                f64[2, 2, 4, 5]):
            let m1: f64[2, 3, 4, 2, 2, 2] = view [2, 3, 4, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            let m2: bool[2, 3, 3, 4] = contract "ijklmn,olmn->iojk" m1 (k * 0.5) * 2.0 > 0.0
            let m3: f64[2, 3, 3, 4] = select(m2, dt, 0.0)
            let m4: f64[2, 4, 5, 2, 2, 3] = view [2, 4, 5, 2, 2, 3] m3 ([i, j, k, l, m, n] -> [i, n, j - l,
                    k - m])
            (contract "ijkl,iklmno->jmno" m3 m1, contract "ijklmn,nolm->iojk" m4 k)
        "#,
    );
    let line =
        stage(|(k, a)| build(7, |i| build(3, |p| a.at(&i + &p - 1) * k.at(&p)).sum()), &(vector_32(3), vector_32(7)))
            .unwrap();
    prints(
        checked(&line),
        "k a",
        r#"
        program f(k: f32[3], a: f32[7]) -> f32[7]:
            contract "ij,j->i" (view [7, 3] a ([i, j] -> [i + j - 1])) k
        "#,
    );
    prints(
        &gradient(checked(&line)),
        "k a dt",
        r#"
        program f(k: f32[3], a: f32[7], dt: f32[7]) -> (f32[3], f32[7]):
            let m1: f32[3] = contract "ij,i->j" (view [7, 3] a ([i, j] -> [i + j - 1])) dt
            (m1, contract "ij,j->i" (view [7, 3] dt ([i, j] -> [i - j + 1])) k)
        "#,
    );
    for body in [other_order.program(), transposed.program(), scaled.program(), line.program()] {
        assert_eq!(scatters(&gradient(body)), 0);
    }
}

//! Convolutions written as loops.

use super::{contractions, gradient, prints, scatters, vector, vector_32};
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
    let like = images([3, 2, 2, 2], [5, 2, 7, 6]);
    let shrinking = stage(|x| convolution(x, 0, 6, 5), &like).unwrap();
    prints(
        shrinking.program(),
        "k a",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[5, 2, 7, 6]) -> f64[5, 3, 6, 5]:
            let m1: f64[5, 6, 5, 2, 2, 2] = view [5, 6, 5, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            contract "ijklmn,olmn->iojk" m1 k
        "#,
    );
    let form = gradient(shrinking.program());
    prints(
        &form,
        "k a dt",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[5, 2, 7, 6], dt: f64[5, 3, 6, 5]) -> (f64[3, 2, 2, 2], f64[5,
                2, 7, 6]):
            let m1: f64[5, 6, 5, 2, 2, 2] = view [5, 6, 5, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            let m2: f64[5, 7, 6, 2, 2, 3] = view [5, 7, 6, 2, 2, 3] dt ([i, j, k, l, m, n] -> [i, n, j - l,
                    k - m])
            (contract "ijkl,iklmno->jmno" dt m1, contract "ijklmn,nolm->iojk" m2 k)
        "#,
    );
    assert_eq!((contractions(&form), scatters(&form)), (2, 0));
    let preserving = stage(|x| convolution(x, 0, 7, 6), &like).unwrap();
    prints(
        preserving.program(),
        "k a",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[5, 2, 7, 6]) -> f64[5, 3, 7, 6]:
            let m1: f64[5, 7, 6, 2, 2, 2] = view [5, 7, 6, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            contract "ijklmn,olmn->iojk" m1 k
        "#,
    );
    prints(
        &gradient(preserving.program()),
        "k a dt",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[5, 2, 7, 6], dt: f64[5, 3, 7, 6]) -> (f64[3, 2, 2, 2], f64[5,
                2, 7, 6]):
            let m1: f64[5, 7, 6, 2, 2, 2] = view [5, 7, 6, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l, j + m,
                    k + n])
            let m2: f64[5, 7, 6, 2, 2, 3] = view [5, 7, 6, 2, 2, 3] dt ([i, j, k, l, m, n] -> [i, n, j - l,
                    k - m])
            (contract "ijkl,iklmno->jmno" dt m1, contract "ijklmn,nolm->iojk" m2 k)
        "#,
    );
    let padded = stage(|x| convolution(x, 1, 8, 7), &like).unwrap();
    prints(
        padded.program(),
        "k a",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[5, 2, 7, 6]) -> f64[5, 3, 8, 7]:
            let m1: f64[5, 8, 7, 2, 2, 2] = view [5, 8, 7, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l,
                    j + m - 1, k + n - 1])
            contract "ijklmn,olmn->iojk" m1 k
        "#,
    );
    prints(
        &gradient(padded.program()),
        "k a dt",
        r#"
        program f(k: f64[3, 2, 2, 2], a: f64[5, 2, 7, 6], dt: f64[5, 3, 8, 7]) -> (f64[3, 2, 2, 2], f64[5,
                2, 7, 6]):
            let m1: f64[5, 8, 7, 2, 2, 2] = view [5, 8, 7, 2, 2, 2] a ([i, j, k, l, m, n] -> [i, l,
                    j + m - 1, k + n - 1])
            let m2: f64[5, 7, 6, 2, 2, 3] = view [5, 7, 6, 2, 2, 3] dt ([i, j, k, l, m, n] -> [i, n,
                    j - l + 1, k - m + 1])
            (contract "ijkl,iklmno->jmno" dt m1, contract "ijklmn,nolm->iojk" m2 k)
        "#,
    );
}

#[test]
fn a_self_convolution_is_a_dot_product() {
    let convolution = stage(|x| build(10, |i| x.at(&i) * x.at(9 - &i)).sum(), &vector(10)).unwrap();
    prints(
        convolution.program(),
        "x",
        r#"
        program f(x: f64[10]) -> f64:
            contract "i,i->" x (reverse[0] x)
        "#,
    );
    prints(
        &gradient(convolution.program()),
        "x dt",
        r#"
        program f(x: f64[10], dt: f64) -> f64[10]:
            let m1: f64[10] = reverse[0] x * replicate[10] dt
            m1 + m1
        "#,
    );
    let full = stage(|x| build(9, |i| build(5, |j| x.at(&j) * x.at(&i - &j)).sum()), &vector_32(5)).unwrap();
    prints(
        full.program(),
        "x",
        r#"
        program f(x: f32[5]) -> f32[9]:
            contract "ij,j->i" (view [9, 5] x ([i, j] -> [i - j])) x
        "#,
    );
    prints(
        &gradient(full.program()),
        "x dt",
        r#"
        program f(x: f32[5], dt: f32[9]) -> f32[5]:
            let m1: f32[5] = contract "ij,i->j" (view [9, 5] x ([i, j] -> [i - j])) dt
            m1 + contract "ij,j->i" (view [5, 5] dt ([i, j] -> [i + j])) x
        "#,
    );
}

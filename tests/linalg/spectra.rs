//! Eigenvalues and singular values that are equal, or nearly so: functions that do not depend on the choice among vectors.

use deltaray::linalg::*;
use deltaray::prelude::*;

type C = Concrete;

/// An orthogonal matrix.
fn rotation() -> Matrix<C, f64> {
    full_qr(&Matrix::from([[0.3, -0.8, 0.5], [0.7, 0.2, -0.4], [-0.1, 0.9, 0.6]])).q
}

/// The matrix with these eigenvalues, and the rotation's columns for vectors.
pub(crate) fn with_values(values: [f64; 3]) -> Matrix<C, f64> {
    let vectors = rotation();
    (&vectors * Vector::from(values)).dot(&vectors.t())
}

pub(crate) fn distance(a: &Matrix<C, f64>, b: &Matrix<C, f64>) -> f64 {
    (a - b).abs().max_all().item()
}

#[test]
fn gradients_of_symmetric_functions_are_functions_of_the_matrix() {
    // Σ exp λ moves by the trace of exp(A) Ȧ.
    let mut all = vec![[1.0; 3], [1.0, 1.0, 2.0], [-3.0, 0.5, 2.0], [0.0; 3]];
    all.extend((2..=17).map(|power| [1.0, 1.0 + 10.0_f64.powi(-power), 2.0]));
    for values in all {
        let a = with_values(values);
        let expected = with_values(values.map(f64::exp));
        let gradient = grad(|a: &Matrix<_, f64>| eigh_values(a).exp().sum(), &a);
        assert!(distance(&gradient, &expected) < 1e-13, "{values:?}: {gradient:?}");
        let staged = stage(|a: &Matrix<_, f64>| eigh(a).values.exp().sum(), &a).unwrap().grad().unwrap();
        assert!(distance(&staged.call(&a).unwrap(), &expected) < 1e-13, "{values:?}");
        let (_, moved) = jvp(|a: &Matrix<_, f64>| eigh_values(a).exp().sum(), &a, &eye(3));
        assert!((moved.item() - trace(&expected).item()).abs() < 1e-12, "{values:?}");
    }
}

#[test]
fn projectors_on_all_vectors_of_equal_values_move_as_differences_do() {
    let weight: Matrix<C, f64> = [[0.2, 0.7, -0.3], [0.1, -0.5, 0.4], [0.9, 0.3, 0.6]].into();
    for gap in [0.0, 1e-17, 1e-15, 1e-6, 1e-2] {
        let a = with_values([1.0, 1.0 + gap, 2.0]);
        let on_two = |a: &Matrix<C, f64>| {
            let two = eigh(a).vectors.slice(1, 0..2);
            (two.dot(&two.t()) * &weight).sum().item()
        };
        let gradient = grad(
            |a: &Matrix<_, f64>| {
                let two = eigh(a).vectors.slice(1, 0..2);
                (two.dot(&two.t()) * weight.lift()).sum()
            },
            &a,
        );
        // Pairs that are all but equal turn by large angles, of which the sum keeps fewer digits.
        let bound = if gap == 1e-6 { 1e-6 } else { 1e-7 };
        for (row, column) in [(0, 0), (0, 1), (1, 2), (2, 0)] {
            let step = 1e-5;
            let along: Matrix<C, f64> = {
                let (left, right) = (eye::<C, f64>(3).at(row), eye::<C, f64>(3).at(column));
                left.outer(&right) * step
            };
            let difference = (on_two(&(&a + &along)) - on_two(&(&a - &along))) / (2.0 * step);
            let found = gradient.at((row, column)).item();
            assert!((found - difference).abs() < bound, "gap {gap}, at {row}, {column}: {found}, {difference}");
        }
    }
}

#[test]
fn second_derivatives_are_right_or_nan() {
    // Σ λ² is the sum of the squares of all elements of the symmetric part.
    let of = |a: &Matrix<C, f64>| {
        let staged = stage(|a: &Matrix<_, f64>| eigh_values(a).powi(2).sum(), a).unwrap();
        let along = Matrix::from([[0.5, 1.0, 0.0], [1.0, -0.25, 2.0], [0.0, 2.0, 1.0]]);
        let (_, product) = staged.grad().unwrap().jvp().unwrap().call((a, &along)).unwrap();
        (product, along * 2.0)
    };
    let (found, expected) = of(&with_values([-1.0, 0.5, 2.0]));
    assert!(distance(&found, &expected) < 1e-12, "{found:?}");
    for values in [[1.0; 3], [1.0, 1.0, 2.0], [1.0, 1.0 + 1e-17, 2.0]] {
        let (found, _) = of(&with_values(values));
        assert!(found.to_vec().iter().all(|x: &f64| x.is_nan()), "{values:?}: {found:?}");
    }
    let singular =
        stage(|a: &Matrix<_, f64>| singular_values(a).powi(2).sum(), &eye(2)).unwrap().grad().unwrap().jvp().unwrap();
    let (_, found) = singular.call((&eye(2), &Matrix::from([[1.0, 2.0], [0.0, 1.0]]))).unwrap();
    assert!(found.to_vec().iter().all(|x: &f64| x.is_nan()), "{found:?}");
}

/// The derivative of the gradient of a weighted sum of a matrix's elements, along a matrix, eager and staged.
macro_rules! second_derivatives {
    ($a:expr, |$x:ident| $f:expr) => {{
        fn weighted<A: Algebra>($x: &Matrix<A, f64>) -> Scalar<A, f64> {
            let value = $f;
            let weights = (iota(value.shape().iter().product()).cast::<f64>() + 0.4).sin().reshape(value.shape());
            (value.into_dyn() * weights.into_dyn()).sum()
        }
        let a: &Matrix<C, f64> = $a;
        let shape = a.shape();
        let along: Matrix<C, f64> = (iota(shape[0] * shape[1]).cast::<f64>() * 1.9).cos().reshape((shape[0], shape[1]));
        let eager = jvp(|a: &Matrix<_, f64>| grad(|a: &Matrix<_, f64>| weighted(a), a), a, &along).1;
        let staged = stage(|a: &Matrix<_, f64>| weighted(a), a).unwrap().grad().unwrap().jvp().unwrap();
        [eager, staged.call((a, &along)).unwrap().1]
    }};
}

/// All numbers are NaN, or right; which of both.
fn is_right(found: &Matrix<C, f64>, expected: &Matrix<C, f64>, at: &str) -> bool {
    if found.to_vec().iter().all(|x| x.is_nan()) {
        return false;
    }
    let error = distance(found, expected);
    assert!(error < 1e-3, "{at}: {error}, {found:?}, {expected:?}");
    true
}

#[test]
fn second_derivatives_through_vectors_are_right_or_nan_at_every_gap() {
    for power in 0..=18 {
        let gap = 0.5 * 10.0_f64.powi(-power);
        let a = with_values([1.0, 1.0 + gap, 2.0]);
        let expected = &second_derivatives!(&a, |a| spectral_function(a, SpectralFunction::Exp))[0];
        for found in second_derivatives!(&a, |a| {
            let Eigh { values, vectors } = eigh(a);
            (&vectors * values.exp()).dot(&vectors.t())
        }) {
            assert_eq!(is_right(&found, expected, "eigh"), power < 5, "gap {gap}");
        }
        let a = with_values([1.0, 1.0 + gap, 2.0]).dot(&rotation());
        let expected = &second_derivatives!(&a, |a| a.dot(&a.t()).dot(a))[0];
        for found in second_derivatives!(&a, |a| {
            let Svd { u, values, v } = svd(a);
            (&u * values.powi(3)).dot(&v.t())
        }) {
            assert_eq!(is_right(&found, expected, "svd"), power < 5, "gap {gap}");
        }
    }
}

#[test]
fn second_derivatives_at_small_singular_values_are_right_or_nan() {
    let left = full_qr(&(iota(16).cast::<f64>() * 1.3 + 0.2).sin().reshape((4, 4))).q;
    for least in [0.5, 1e-2, 1e-4, 1e-6, 1e-8, 1e-11, 1e-14, 0.0] {
        let square = with_values([2.0, 1.0, least]).dot(&rotation());
        let tall = left.slice(1, 0..3).dot(&square);
        for (a, is_square) in [(square, true), (tall.t(), false), (tall, false)] {
            let expected = &second_derivatives!(&a, |a| a.dot(&a.t()).dot(a))[0];
            for found in second_derivatives!(&a, |a| {
                let Svd { u, values, v } = svd(a);
                (&u * values.powi(3)).dot(&v.t())
            }) {
                assert_eq!(is_right(&found, expected, "svd"), is_square || least > 1e-5, "{least}, {is_square}");
            }
        }
    }
}

#[test]
fn the_sum_of_equal_singular_values_moves_by_the_nearest_orthogonal_matrix() {
    for scale in [1e-20, 1.0, 1e20] {
        let a = rotation() * scale;
        let gradient = grad(|a: &Matrix<_, f64>| singular_values(a).sum(), &a);
        assert!(distance(&gradient, &rotation()) < 1e-13, "{gradient:?}");
    }
    let single: Matrix<C, f32> = [[0.0, 2.0], [-2.0, 0.0]].into();
    let gradient = grad(|a: &Matrix<_, f32>| singular_values(a).sum(), &single);
    assert!((gradient - &single * 0.5).abs().lt(1e-5).all().item());
}

#[test]
fn large_matrices_have_their_vectors() {
    for n in [1, 2, 3, 16, 17, 40, 90] {
        let a: Matrix<C, f64> = iota(n * n).cast::<f64>().sin().reshape((n, n));
        let symmetric = &a + a.t();
        let Eigh { values, vectors } = eigh(&symmetric);
        let size = n as f64 * 1e-14 * frobenius_norm(&a).item().max(1.0);
        assert!(distance(&(&vectors * &values).dot(&vectors.t()), &symmetric) < size, "{n}");
        assert!(distance(&vectors.t().dot(&vectors), &eye(n)) < n as f64 * 1e-14, "{n}");
        assert!((&eigh_values(&symmetric) - &values).abs().max_all().item() < size, "{n}");
        for (m, k) in [(n, n), (n + 5, n), (n, n + 3)] {
            let a: Matrix<C, f64> = (iota(m * k).cast::<f64>() * 1.7).sin().reshape((m, k));
            let Svd { u, values, v } = svd(&a);
            assert!(distance(&(&u * &values).dot(&v.t()), &a) < size, "{m} by {k}");
            assert!(distance(&u.t().dot(&u), &eye(m.min(k))) < n as f64 * 1e-14, "{m} by {k}");
            assert!(distance(&v.t().dot(&v), &eye(m.min(k))) < n as f64 * 1e-14, "{m} by {k}");
            // Of full rank.
            let at = iota(m * k).cast::<f64>() + 1.0;
            let a = (at.powi(3) * 0.011 + at.powi(2) * 0.37).sin().reshape((m, k));
            let bound = size * condition_number(&a).item();
            assert!(bound < 0.01, "{m} by {k}: {bound}");
            assert!(distance(&a.dot(&pseudo_inverse(&a)).dot(&a), &a) < bound, "{m} by {k}");
        }
    }
}

#[test]
fn matrices_of_any_rank_have_orthonormal_vectors() {
    for (n, rank) in [(4, 2), (5, 1), (6, 3), (9, 2)] {
        for seed in 1..10 {
            let number = |by: f64| (iota(n * rank).cast::<f64>() * by * f64::from(seed)).sin().reshape((n, rank));
            let (left, right): (Matrix<C, f64>, Matrix<C, f64>) = (number(1.3), number(0.7));
            let a = left.dot(&right.t());
            let Svd { u, values, v } = svd(&a);
            assert!(distance(&(&u * &values).dot(&v.t()), &a) < 1e-13, "{n}, {rank}, {seed}");
            assert!(distance(&u.t().dot(&u), &eye(n)) < 1e-13, "{n}, {rank}, {seed}");
            assert!(distance(&v.t().dot(&v), &eye(n)) < 1e-13, "{n}, {rank}, {seed}");
        }
    }
}

#[test]
fn vectors_that_complete_others_move_against_them() {
    let a: Matrix<C, f64> = (iota(8).cast::<f64>() * 1.7).sin().reshape((4, 2));
    let weights: Matrix<C, f64> = (iota(16).cast::<f64>() * 0.3).cos().reshape((4, 4));
    for (a, is_wide) in [(a.clone(), false), (a.t(), true)] {
        let Svd { u, values, v } = full_svd(&a);
        assert_eq!([u.len(), v.len()], if is_wide { [2, 4] } else { [4, 2] });
        assert!(distance(&u.t().dot(&u), &eye(u.shape()[0])) < 1e-14);
        assert!(distance(&v.t().dot(&v), &eye(v.shape()[0])) < 1e-14);
        assert!(distance(&(u.slice(1, 0..2) * &values).dot(&v.slice(1, 0..2).t()), &a) < 1e-14);
        // Both projectors add to the identity.
        let [own, others] = [0..2, 2..4].map(|columns| {
            grad(
                |a: &Matrix<_, f64>| {
                    let Svd { u, v, .. } = full_svd(a);
                    let columns = if is_wide { v } else { u }.slice(1, columns.clone());
                    (columns.dot(&columns.t()) * weights.lift()).sum()
                },
                &a,
            )
        });
        assert!(distance(&own, &-others) < 1e-13 && own.abs().max_all().item() > 0.01);
    }
}

#[test]
fn infinite_and_missing_numbers_stay_in_their_matrix() {
    let good = [[2.0, 1.0], [1.0, 3.0]];
    for bad in [f64::NAN, f64::INFINITY] {
        let both: Tensor3<C, f64> = stack(&[Matrix::from(good), Matrix::from([[1.0, bad], [0.0, 1.0]])]);
        let found = eigh_values(&both);
        assert_eq!(found.at(0).to_vec(), eigh_values(&Matrix::from(good)).to_vec());
        assert!(found.at(1).to_vec().iter().all(|x: &f64| x.is_nan()));
        let found = singular_values(&both);
        assert_eq!(found.at(0).to_vec(), singular_values(&Matrix::from(good)).to_vec());
        assert!(found.at(1).to_vec().iter().all(|x: &f64| x.is_nan()));
        assert!(pseudo_inverse(&both).at(1).to_vec().iter().all(|x: &f64| x.is_nan()));
    }
    let large: Matrix<C, f32> = [[3e38, 0.0], [0.0, -3e38]].into();
    assert_eq!(eigh_values(&large).to_vec(), [-3e38, 3e38]);
    assert_eq!(singular_values(&(large * 1e-30)).to_vec().len(), 2);
}

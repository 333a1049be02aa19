//! Factors by reflections and rotations, of matrices that are hard for these, on plain arrays and by the CPU engine.

use crate::random::chance::Random;
use crate::{C, identity, largest, matrix};
use deltaray::linalg::*;
use deltaray::prelude::*;
use deltaray::shape::DType;

/// Around the sizes at which kernels begin to work in blocks, square, tall and wide, and without elements.
const SIZES: [[usize; 2]; 14] = [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
    [17, 17],
    [33, 33],
    [50, 50],
    [60, 49],
    [49, 60],
    [7, 2],
    [2, 7],
    [0, 3],
    [3, 0],
    [0, 0],
];

/// Matrices of one size, with names.
fn matrices<E: Float>([m, n]: [usize; 2]) -> Vec<(&'static str, Matrix<C, E>)> {
    let is_single = E::DTYPE == DType::F32;
    let random = matrix::<f64>(&mut Random::new((100 * m + n) as u64), m, n);
    let norm = frobenius_norm(&random).item().max(1e-3);
    let (most, least) = if is_single { (3.3e38, 1e-37) } else { (1.7e308, 1e-306) };
    // Rows and columns that are as different in size as the range of numbers admits.
    let range = if is_single { -35.0 } else { -300.0 };
    let elements = random.to_vec();
    let made = |of: &dyn Fn(usize, usize, f64) -> f64| -> Matrix<C, E> {
        let all = elements.iter().enumerate().map(|(at, &x)| E::from_number(of(at / n, at % n, x)));
        Matrix::from_elements((m, n), all.collect())
    };
    let is_next = |i: usize, j: usize| i.abs_diff(j) == 1;
    vec![
        ("random", made(&|_, _, x| x)),
        ("as large as can be", made(&|_, _, x| x / norm * most)),
        ("small", made(&|_, _, x| x * least)),
        ("graded rows", made(&|i, _, x| x * 10.0_f64.powf(range * i as f64 / m as f64))),
        ("graded columns", made(&|_, j, x| x * 10.0_f64.powf(range * j as f64 / n as f64))),
        ("graded upwards", made(&|i, j, x| x * 10.0_f64.powf(range * (m + n - i - j) as f64 / (m + n) as f64))),
        ("of rank two", made(&|i, j, _| (i + j) as f64 / (m + n) as f64)),
        ("of rank one", made(&|_, _, _| 1.0)),
        ("zero", made(&|_, _, _| 0.0)),
        ("near the identity", made(&|i, j, x| f64::from(u8::from(i == j)) + 1e-6 * x)),
        ("blocks", made(&|i, j, x| if i / 2 == j / 2 { x } else { 0.0 })),
        ("nilpotent", made(&|i, j, _| f64::from(u8::from(j == i + 1)))),
        (
            "clustered",
            made(&|i, j, _| if i == j { (i as f64 - n as f64 / 2.0).abs() } else { f64::from(is_next(i, j)) }),
        ),
    ]
}

/// Asserts that no element of the difference is larger than rounding explains.
fn assert_near<E: Float>(what: &str, found: &Matrix<C, E>, expected: &Matrix<C, E>, scale: f64) {
    let (precision, smallest) = match E::DTYPE {
        DType::F32 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE)),
        _ => (f64::EPSILON, f64::MIN_POSITIVE),
    };
    let count = found.shape().iter().sum::<usize>() as f64;
    let (distance, allowed) = (largest(&(found - expected)), 4.0 * count * precision * (scale + smallest));
    assert!(distance <= allowed, "{what}: {distance:e} apart, {allowed:e} are allowed");
}

fn assert_orthonormal<E: Float>(what: &str, a: &Matrix<C, E>) {
    assert_near(&format!("{what}, orthonormal"), &a.t().dot(a), &identity(a.shape()[1]), 1.0);
}

fn assert_order<E: Float>(what: &str, values: &Vector<C, E>, ascends: bool) {
    let values = values.cast::<f64>().to_vec();
    let is_ordered = |pair: &[f64]| if ascends { pair[0] <= pair[1] } else { pair[0] >= pair[1] && pair[1] >= 0.0 };
    assert!(values.windows(2).all(is_ordered), "{what}: {values:?}");
}

/// Checks the results of a function of each matrix, on plain arrays and by the CPU engine, given what they are of and the norm.
macro_rules! check_each {
    ($name:literal, $matrices:expr, |$x:ident| $f:expr, |$what:ident, $a:ident, $norm:ident, $found:pat_param| $check:expr) => {
        let staged = stage(|$x: &Matrix<_, E>| $f, &$matrices[0].1).unwrap();
        for (kind, $a) in &$matrices {
            let plain = |$x: &Matrix<C, E>| $f;
            for (way, $found) in [("on plain arrays", plain($a)), ("by the engine", staged.call($a).unwrap())] {
                let [m, n] = $a.shape()[..] else { unreachable!("a matrix") };
                let $what = format!("{} of {m} by {n}, {kind}, in {}, {way}", $name, E::DTYPE);
                let $norm = norm($a);
                $check
            }
        }
    };
}

/// Frobenius' norm, without overflow.
fn norm<E: Float>(a: &Matrix<C, E>) -> f64 {
    let size = largest(a);
    if size > 0.0 { size * frobenius_norm(&(a.cast::<f64>() / scalar(size))).item() } else { 0.0 }
}

fn check<E: Float>() {
    for size in SIZES {
        let all = matrices::<E>(size);
        check_each!("QR", all, |a| (qr(a).q, qr(a).r), |what, a, norm, (q, r)| {
            assert_near(&what, &q.dot(&r), a, norm);
            assert_orthonormal(&what, &q);
        });
        // Rᵀ R = Aᵀ A, in the range of numbers.
        check_each!("R alone", all, |a| qr(a).r, |what, a, norm, r| {
            let unit = largest(a).max(f64::MIN_POSITIVE);
            let [r, a] = [&r, a].map(|x| (x.cast::<f64>() / unit).cast::<E>());
            assert_near(&what, &r.t().dot(&r), &a.t().dot(&a), (norm / unit).powi(2));
        });
        check_each!("full QR", all, |a| (full_qr(a).q, full_qr(a).r), |what, a, norm, (q, r)| {
            assert_near(&what, &q.dot(&r), a, norm);
            assert_orthonormal(&what, &q);
            assert_eq!(largest(&(&r - triangle_upper(&r))), 0.0, "{what}");
        });
        check_each!(
            "SVD",
            all,
            |a| {
                let Svd { u, values, v } = svd(a);
                (u, values, v, singular_values(a))
            },
            |what, a, norm, (u, values, v, alone)| {
                assert_near(&what, &(&u * &values).dot(&v.t()), a, norm);
                assert_orthonormal(&what, &u);
                assert_orthonormal(&what, &v);
                assert_order(&what, &values, false);
                assert_near(&what, &alone.insert_axis(0), &values.insert_axis(0), norm);
            }
        );
        // Pseudo-inverses of the others are not in the range of numbers.
        let not_small: Vec<_> = all.iter().filter(|(kind, _)| *kind != "small").cloned().collect();
        check_each!(
            "least squares",
            not_small,
            |a| {
                let b = a.dot(&(iota(size[1]).cast::<E>().cos() * scalar(E::from_number(0.1))));
                (lstsq(a, &b), b)
            },
            |what, a, norm, (x, b)| assert_near(&what, &a.dot(&x).insert_axis(0), &b.insert_axis(0), norm)
        );
        if size[0] != size[1] {
            continue;
        }
        check_each!(
            "eigenvectors",
            all,
            |a| {
                let Eigh { values, vectors } = eigh(a);
                (vectors, values, eigh_values(a))
            },
            |what, a, norm, (vectors, values, alone)| {
                let half = scalar(E::from_number(0.5));
                let symmetric = a * &half + a.t() * half;
                assert_near(&what, &(&vectors * &values).dot(&vectors.t()), &symmetric, norm);
                assert_orthonormal(&what, &vectors);
                assert_order(&what, &values, true);
                assert_near(&what, &alone.insert_axis(0), &values.insert_axis(0), norm);
            }
        );
    }
}

#[test]
fn hard_matrices_have_their_factors() {
    check::<f64>();
}

#[test]
fn hard_matrices_of_single_precision_have_their_factors() {
    check::<f32>();
}

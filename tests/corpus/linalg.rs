//! Linear algebra: factorisations, systems of equations, and what is made of them.

use super::prelude::*;
use deltaray::linalg::*;
use deltaray::sparse::{Pattern, SparseCholesky};

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = factors();
    rows.extend(spectra());
    rows.extend(functions());
    rows.extend(systems());
    rows.extend(made());
    rows.extend(sparse());
    rows.extend(placed());
    rows
}

/// A positive definite matrix that depends smoothly on any matrix.
fn definite<A: Algebra>(a: &Matrix<A, f64>) -> Matrix<A, f64> {
    a.dot(&a.t()) + eye(a.shape()[0])
}

fn factors() -> Vec<Row> {
    vec![
        row!("Cholesky factor": M => M, |a| cholesky(a), m([[4.0, 2.0], [2.0, 5.0]]))
            .value([2.0, 0.0, 1.0, 2.0])
            .gradient([0.1875, 0.125, 0.125, 0.25])
            .smooth(),
        row!("Cholesky factor of a product": M => M, |a| cholesky(&definite(a)), some((4, 4), 801)).smooth(),
        row!("Cholesky factor of what is not symmetric": M => M, |a| cholesky(a), m([[4.0, 3.0], [1.0, 5.0]]))
            .value([2.0, 0.0, 1.0, 2.0])
            .smooth(),
        row!("Cholesky factor, upper, weighted": (M, M) => S, |(a, w)| (cholesky_upper(&definite(a)) * w).sum(),
            (some((3, 3), 802), some((3, 3), 803)))
            .smooth(),
        row!("Cholesky factors of several": T3 => T3, |a| cholesky(&(a.matmul(&a.tr(&[0, 2, 1])) + eye(3).insert_axis(0))),
            some((2, 3, 3), 804))
            .smooth(),
        row!("Cholesky factor of what is not definite": M => M, |a| cholesky(a), m([[1.0, 2.0], [2.0, 1.0]]))
            .value([f64::NAN; 4])
            .values_only(),
        row!("Cholesky factors, of which one is missing": T3 => T3, |a| cholesky(a),
            t((2, 2, 2), &[0.0, 0.0, 0.0, 1.0, 4.0, 2.0, 2.0, 5.0]))
            .value([f64::NAN, f64::NAN, f64::NAN, f64::NAN, 2.0, 0.0, 1.0, 2.0])
            .values_only(),
        row!("Cholesky factor of one number": M => M, |a| cholesky(a), m([[9.0]])).value([3.0]).gradient([1.0 / 6.0]).smooth(),
        row!("Cholesky factor of nothing": M => M, |a| cholesky(a), t((0, 0), &[])).value([]).gradient([]),
        row!("LDL factors": M => (M, V), |a| { let Ldl { lower, diagonal } = ldl(a); (lower, diagonal) },
            m([[4.0, 2.0], [2.0, 5.0]]))
            .value([1.0, 0.0, 0.5, 1.0, 4.0, 4.0])
            .gradient([1.125, -0.375, -0.375, 1.0])
            .smooth(),
        row!("LDL factors of several": T3 => (T3, M), |a| {
                let Ldl { lower, diagonal } = ldl(&(a.matmul(&a.tr(&[0, 2, 1])) + eye(3).insert_axis(0)));
                (lower, diagonal)
            }, some((2, 3, 3), 846))
            .smooth(),
        row!("LDL factors of what is not definite": M => (M, V), |a| { let Ldl { lower, diagonal } = ldl(a); (lower, diagonal) },
            m([[1.0, 2.0], [2.0, 1.0]]))
            .value([f64::NAN; 6])
            .values_only(),
        row!("LU factors": M => (M, Nm), |a| (lu(a).packed, lu(a).order().reshape((1, 2))), m([[1.0, 2.0], [4.0, 4.0]]))
            .value([4.0, 4.0, 1.0, 0.25, 1.0, 0.0, 1.0, 0.0])
            .smooth(),
        row!("LU factors by themselves": M => (M, M), |a| (lu(a).lower(), lu(a).upper()), some((4, 4), 805)).smooth(),
        row!("LU factors of a tall matrix": M => (M, M), |a| (lu(a).lower(), lu(a).upper()), some((5, 3), 806)).smooth(),
        row!("LU factors of a wide matrix": M => (M, M), |a| (lu(a).lower(), lu(a).upper()), some((3, 5), 807)).smooth(),
        row!("LU factors of several": T3 => (T3, T3), |a| (lu(a).lower(), lu(a).upper()), some((2, 3, 3), 808)).smooth(),
        row!("LU factors of a singular matrix": M => M, |a| lu(a).packed, m([[2.0, 4.0], [1.0, 2.0]]))
            .value([2.0, 4.0, 0.0, 0.5, 0.0, 1.0])
            .values_only(),
        row!("QR factors": M => (M, M), |a| { let Qr { q, r } = qr(a); (q, r) }, some((4, 4), 809)).smooth(),
        row!("QR factors of a tall matrix": M => (M, M), |a| { let Qr { q, r } = qr(a); (q, r) }, some((5, 3), 810)).smooth(),
        row!("QR factors of a wide matrix": M => (M, M), |a| { let Qr { q, r } = qr(a); (q, r) }, some((3, 5), 811)).smooth(),
        row!("QR factors of several": T3 => (T3, T3), |a| { let Qr { q, r } = qr(a); (q, r) }, some((2, 4, 3), 812)).smooth(),
        row!("QR factors of nothing": M => (M, M), |a| { let Qr { q, r } = qr(a); (q, r) }, t((0, 0), &[]))
            .value([])
            .gradient([]),
        row!("QR factors, full, without columns": M => (M, M), |a| { let Qr { q, r } = full_qr(a); (q, r) }, t((2, 0), &[]))
            .value([1.0, 0.0, 0.0, 1.0])
            .gradient([]),
        row!("QR factors, full, of a square matrix": M => (M, M), |a| { let Qr { q, r } = full_qr(a); (q, r) },
            some((3, 3), 813))
            .smooth(),
        // Columns that the matrix does not determine differ by where they begin, and are no smooth function of it.
        row!("what full QR factors determine": M => (M, M),
            |a| { let Qr { q, r } = full_qr(a); (q.slice(1, 2..4).dot(&q.slice(1, 2..4).t()), r) }, some((4, 2), 814))
            .smooth(),
    ]
}

fn spectra() -> Vec<Row> {
    vec![
        row!("eigenvalues": M => V, |a| eigh_values(a), m([[2.0, 1.0], [1.0, 2.0]]))
            .value([1.0, 3.0])
            .gradient([1.0, 0.0, 0.0, 1.0])
            .digits(1e-12)
            .smooth(),
        row!("eigenvalues and vectors": M => (V, M), |a| { let Eigh { values, vectors } = eigh(a); (values, vectors) },
            some((4, 4), 850))
            .smooth(),
        row!("eigenvalues and vectors of several": T3 => (M, T3), |a| { let Eigh { values, vectors } = eigh(a); (values, vectors) },
            some((2, 3, 3), 851))
            .smooth(),
        row!("largest eigenvalue": M => S, |a| eigh_values(a).at(2), some((3, 3), 852)).smooth(),
        row!("symmetric function of equal eigenvalues": M => S, |a| eigh_values(a).exp().sum(), m([[1.0, 0.0], [0.0, 1.0]]))
            .value([2.0 * 1.0_f64.exp()])
            .gradient([1.0_f64.exp(), 0.0, 0.0, 1.0_f64.exp()])
            .smooth()
            .once(),
        row!("eigenvalue of one number": M => (V, M), |a| { let Eigh { values, vectors } = eigh(a); (values, vectors) }, m([[-3.0]]))
            .value([-3.0, 1.0])
            .gradient([1.0])
            .smooth(),
        row!("eigenvalues of nothing": M => (V, M), |a| { let Eigh { values, vectors } = eigh(a); (values, vectors) },
            t((0, 0), &[]))
            .value([])
            .gradient([]),
        row!("singular values": M => V, |a| singular_values(a), m([[0.0, 3.0], [4.0, 0.0]]))
            .value([4.0, 3.0])
            .gradient([0.0, 1.0, 1.0, 0.0])
            .digits(1e-12)
            .smooth(),
        row!("singular values and vectors": M => (M, (V, M)), |a| { let Svd { u, values, v } = svd(a); (u, (values, v)) },
            some((3, 3), 853))
            .smooth(),
        row!("singular values and vectors of a tall matrix": M => (M, (V, M)),
            |a| { let Svd { u, values, v } = svd(a); (u, (values, v)) }, some((4, 2), 854))
            .smooth(),
        row!("singular values and vectors of a wide matrix": M => (M, (V, M)),
            |a| { let Svd { u, values, v } = svd(a); (u, (values, v)) }, some((2, 4), 855))
            .smooth(),
        row!("singular values of several": T3 => M, |a| singular_values(a), some((2, 3, 2), 856)).smooth(),
        row!("nuclear norm of a matrix with equal values": M => S, |a| singular_values(a).sum(), m([[0.0, 2.0], [-2.0, 0.0]]))
            .value([4.0])
            .gradient([0.0, 1.0, -1.0, 0.0])
            .smooth()
            .once(),
        row!("condition number": M => S, |a| condition_number(a), some((3, 3), 857)).smooth(),
        row!("singular values of nothing": M => V, |a| singular_values(a), t((0, 2), &[])).value([]).gradient([]),
    ]
}

fn functions() -> Vec<Row> {
    let number = 1.0_f64.exp();
    vec![
        row!("exponential of a symmetric matrix with equal eigenvalues": M => M,
            |a| spectral_function(a, SpectralFunction::Exp), m([[1.0, 0.0], [0.0, 1.0]]))
            .value([number, 0.0, 0.0, number])
            .gradient([number; 4])
            .digits(1e-12)
            .smooth(),
        row!("power and logarithm of a definite matrix": M => (M, M),
            |a| (spectral_function(&definite(a), SpectralFunction::power(-1.5)), logm(&definite(a))), some((2, 2), 870))
            .smooth(),
        row!("inverse roots of several": T3 => T3,
            |a| sqrtm(&spectral_function(&(a + eye(2).insert_axis(0) * 3.0), SpectralFunction::Reciprocal)), some((2, 2, 2), 871))
            .smooth(),
        row!("roots of singular matrices": T3 => (T3, T3),
            // A root of rounding has half of the digits, and its square all of them.
            |a| (sqrtm(a).matmul(&sqrtm(a)), spectral_function(a, SpectralFunction::power(1.5))),
            t((2, 2, 2), &[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 9.0]))
            .value([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 9.0,
                2.0_f64.sqrt(), 2.0_f64.sqrt(), 2.0_f64.sqrt(), 2.0_f64.sqrt(), 0.0, 0.0, 0.0, 27.0])
            .digits(1e-12)
            .values_only(),
        row!("sums over eigenvalues": M => (S, S),
            |a| (spectral_sum(a, SpectralFunction::Sin), spectral_sum(a, SpectralFunction::Cos)), some((3, 3), 872))
            .smooth(),
        row!("function of a matrix of nothing": M => (M, S),
            |a| (spectral_function(a, SpectralFunction::Exp), spectral_sum(a, SpectralFunction::Ln)), t((0, 0), &[]))
            .value([0.0])
            .gradient([]),
        row!("exponential of any matrix": M => M, |a| expm(a), m([[0.0, -0.5], [0.25, 1.0]])).smooth(),
        row!("exponentials of several, of which some are large": T3 => T3,
            |a| expm(&(a * iota(2).cast::<f64>().insert_axis(1).insert_axis(2) * 5.0)), some((2, 2, 2), 873))
            .smooth(),
    ]
}

fn systems() -> Vec<Row> {
    vec![
        row!("triangular system": (M, V) => V, |(a, b)| solve_triangular(a, b, Triangle::LOWER),
            (m([[2.0, 7.0], [1.0, 4.0]]), v([4.0, 10.0])))
        .value([2.0, 2.0])
        .gradient([-0.75, 0.0, -0.5, -0.5, 0.375, 0.25])
        .smooth(),
        row!("triangular systems of all kinds": (M, M) => (M, (M, M)), |(a, b)| {
            let a = a + eye(4) * 3.0;
            (
                solve_triangular(&a, b, Triangle::UPPER),
                (solve_triangular(&a, b, Triangle::UPPER.transposed()),
                solve_triangular(&a, b, Triangle::LOWER.transposed())),
            )
        }, (some((4, 4), 815), some((4, 3), 816)))
        .smooth(),
        row!("triangular systems with unit diagonals": (M, M) => (M, M), |(a, b)| {
            (
                solve_triangular(a, b, Triangle::UPPER.unit()),
                solve_triangular(a, b, Triangle::LOWER.unit().transposed()),
            )
        }, (some((4, 4), 817), some((4, 3), 818)))
        .smooth(),
        row!("triangular system from the right": (M, M) => M, |(a, b)| solve_triangular_right(a, b, Triangle::UPPER),
            (m([[2.0, 1.0], [9.0, 4.0]]), m([[4.0, 10.0]])))
        .value([2.0, 2.0])
        .smooth(),
        row!("system of equations": (M, V) => V, |(a, b)| solve(a, b), (m([[0.0, 2.0], [4.0, 4.0]]), v([2.0, 8.0])))
            .value([1.0, 1.0])
            .smooth(),
        row!("systems of equations": (M, M) => M, |(a, b)| solve(a, b), (some((4, 4), 819), some((4, 2), 820)))
            .smooth(),
        row!("systems of several matrices": (T3, T3) => T3, |(a, b)| solve(&(a + eye(3) * 2.0), b),
            (some((2, 3, 3), 821), some((1, 3, 2), 822)))
        .smooth(),
        row!("systems of one matrix along an axis": (T3, M) => (M, M),
            |(a, b)| (solve(a, b), solve_triangular(&(a + eye(3) * 2.0), b, Triangle::UPPER)),
            (some((1, 3, 3), 880), some((2, 3), 881)))
        .smooth(),
        row!("systems of several matrices, a side each": (T3, M) => M, |(a, b)| solve(a, b),
            (some((2, 3, 3), 823), some((2, 3), 824)))
        .smooth(),
        row!("definite system": (M, V) => V, |(a, b)| solve_spd(&definite(a), b), (some((4, 4), 825), some(4, 826)))
            .smooth(),
        row!("least squares": (M, V) => V, |(a, b)| lstsq(a, b), (some((5, 2), 827), some(5, 828))).smooth(),
        row!("least squares by factors": (M, V) => V, |(a, b)| qr(a).solve(b), (some((5, 2), 827), some(5, 828))).smooth(),
        row!("the shortest of many solutions": (M, M) => M, |(a, b)| lstsq(a, b), (some((2, 3), 878), some((2, 2), 879)))
            .smooth(),
        row!("least squares of lower rank": ((V, V), V) => V, |((x, y), b)| lstsq(&x.outer(y), b),
            ((v([1.0, 2.0]), v([1.0, 2.0])), v([1.0, 2.0])))
        .value([0.2, 0.4])
        .smooth(),
        row!("tridiagonal system": ((V, V), (V, V)) => V, |((lower, diagonal), (upper, b))| {
            tridiagonal_solve(lower, diagonal, upper, b)
        }, ((v([f64::NAN, 3.0]), v([0.0, 4.0])), (v([2.0, f64::NAN]), v([2.0, 10.0]))))
        .value([2.0, 1.0])
        .gradient([0.0, -2.0 / 3.0, 1.0 / 3.0, -1.0 / 3.0, 1.0 / 6.0, 0.0, -1.0 / 6.0, 1.0 / 3.0])
        .smooth(),
        row!("banded systems of several": (T3, T3) => T3, |(bands, b)| solve_banded((2, 1), bands, b),
            (some((2, 4, 4), 870), some((1, 4, 2), 871)))
        .smooth(),
        row!("bands beyond the matrix": (M, V) => (V, V), |(bands, b)| {
            (solve_banded((1, 3), bands, b), solve_banded((2, 0), &bands.slice(0, ..3), b))
        }, (some((5, 2), 872), some(2, 873)))
        .smooth(),
        row!("one band": (M, M) => M, |(bands, b)| solve_banded((0, 0), bands, b), (some((1, 3), 874), some((3, 2), 875)))
            .smooth(),
        row!("system of no equations": (M, V) => V, |(a, b)| solve(a, b), (t((0, 0), &[]), v([])))
            .value([])
            .gradient([]),
        row!("system without right sides": (M, M) => M, |(a, b)| solve(a, b), (some((2, 2), 829), t((2, 0), &[])))
            .value([])
            .gradient([0.0; 4]),
    ]
}

fn made() -> Vec<Row> {
    vec![
        row!("pseudo-inverse": M => M, |a| pseudo_inverse(a), some((3, 3), 862)).smooth(),
        row!("pseudo-inverse of a tall matrix": M => M, |a| pseudo_inverse(a), some((4, 2), 863)).smooth(),
        row!("pseudo-inverse of a wide matrix": M => M, |a| pseudo_inverse(a), some((2, 3), 864)).smooth(),
        row!("pseudo-inverse of lower rank": (V, V) => M, |(x, y)| pseudo_inverse(&x.outer(y)), (some(3, 865), some(2, 866)))
            .smooth(),
        row!("pseudo-inverse of nothing": M => M, |a| pseudo_inverse(a), t((0, 2), &[])).value([]).gradient([]),
        row!("norms": M => (S, (S, (S, S))), |a| {
            (frobenius_norm(a), (spectral_norm(a), (column_sum_norm(a), row_sum_norm(a))))
        }, some((3, 2), 867))
            .smooth(),
        row!("norm of zeros": M => S, |a| frobenius_norm(a), t((2, 2), &[0.0; 4])).value([0.0]).gradient([0.0; 4]),
        row!("diagonal matrices": M => T3, |a| diagonal_matrix(a), some((2, 3), 868)).smooth(),
        row!("inverse of a definite matrix": M => M, |a| CholeskyFactor::new(&definite(a)).inverse(), some((3, 3), 858)).smooth(),
        row!("inverses of definite matrices that are not symmetric": T3 => T3,
            |a| CholeskyFactor::new(&(a + eye(2).insert_axis(0) * 3.0)).inverse(), some((2, 2, 2), 859))
            .smooth(),
        row!("transposed systems": (M, M) => M, |(a, b)| {
            let (value, pull) = vjp(|b: &Matrix<_, f64>| solve(&a.lift(), b), b);
            pull(&value)
        }, (some((3, 3), 860), some((3, 2), 861)))
            .smooth(),
        row!("inverse": M => M, |a| inverse(a), m([[0.0, 2.0], [4.0, 0.0]]))
            .value([0.0, 0.25, 0.5, 0.0])
            .gradient([-0.125, -0.25, -0.0625, -0.125])
            .smooth(),
        row!("inverses of several": T3 => T3, |a| inverse(&(a + eye(3) * 2.0)), some((2, 3, 3), 830)).smooth(),
        row!("determinant": M => S, |a| determinant(a), m([[1.0, 2.0], [4.0, 4.0]]))
            .value([-4.0])
            .gradient([4.0, -4.0, -2.0, 1.0])
            .smooth(),
        row!("determinant of a singular matrix": (M, M) => S, |(a, b)| determinant(&a.dot(b)), (some((4, 2), 874), some((2, 4), 875)))
            .smooth(),
        row!("determinants of several, of which one is singular": (T3, T3) => V,
            |(a, b)| determinant(&concatenate(0, &[a.matmul(b), a.matmul(b) + eye(4) * 2.0])),
            (some((1, 4, 2), 876), some((1, 2, 4), 877)))
            .smooth(),
        row!("determinants of several": T3 => V, |a| determinant(a), some((2, 3, 3), 831)).smooth(),
        row!("determinant of nothing": M => S, |a| determinant(a), t((0, 0), &[])).value([1.0]).gradient([]),
        row!("sign and logarithm of a determinant": M => (S, S), |a| slog_determinant(a), m([[1.0, 2.0], [4.0, 4.0]]))
            .value([-1.0, 4.0_f64.ln()])
            .gradient([-1.0, 1.0, 0.5, -0.25])
            .smooth(),
        row!("logarithm of a determinant": M => S, |a| log_determinant(a), m([[4.0, 2.0], [2.0, 5.0]]))
            .value([16.0_f64.ln()])
            .gradient([0.3125, -0.125, -0.125, 0.25])
            .smooth(),
        row!("powers of a matrix": M => (M, M), |a| (matrix_power(a, 5), matrix_power(a, -2)), some((3, 3), 832)).smooth(),
        row!("a matrix to the power of 0": M => M, |a| matrix_power(a, 0), some((2, 2), 833))
            .value([1.0, 0.0, 0.0, 1.0])
            .gradient([0.0; 4]),
        row!("Kronecker product": (M, M) => M, |(a, b)| kron(a, b), (some((2, 3), 834), some((3, 2), 835))).smooth(),
        row!("trace and triangles": M => (S, (M, M)), |a| (trace(a), (triangle_lower(a), triangle_upper(a))), some((3, 3), 836))
            .smooth(),
        row!("Mahalanobis distance": (M, V) => S, |(a, x)| quadratic_form(&CholeskyFactor::new(&definite(a)), x),
            (some((3, 3), 837), some(3, 838)))
            .smooth(),
        row!("Gaussian process": (V, V, V) => S, |(x, y, scale)| {
            let distance = x.insert_axis(1) - x.insert_axis(0);
            let kernel = (distance.powi(2) * (scale.at(0) * -0.5)).exp() + eye(4) * scale.at(1).powi(2);
            let factor = CholeskyFactor::new(&kernel);
            quadratic_form(&factor, y) * 0.5 + factor.log_determinant() * 0.5
        }, (v([0.0, 0.4, 1.0, 1.9]), some(4, 839), v([1.3, 0.5]))).smooth(),
        row!("single precision": (Fm, Fm) => Fm, |(a, b)| solve(a, b),
            ([[0.0, 2.0], [4.0, 4.0]].into(), [[2.0, 4.0], [8.0, 16.0]].into()))
            .value([1.0, 2.0, 1.0, 2.0]),
    ]
}

/// Matrices of three rows whose first row, first column and diagonal have entries: seven.
fn arrow() -> SparseCholesky {
    SparseCholesky::new(&Pattern::from_rows(3, [vec![0, 1, 2], vec![0, 1], vec![0, 2]]).unwrap()).unwrap()
}

fn sparse() -> Vec<Row> {
    let values = [4.0, 1.0, 0.5, 1.5, 3.0, 0.25, 5.0];
    vec![
        row!("sparse system": (V, V) => V, |(values, b)| arrow().solve(values, b),
            (v([4.0, 2.0, 0.0, 2.0, 5.0, 0.0, 2.0]), v([8.0, 12.0, 6.0])))
            .value([1.0, 2.0, 3.0])
            .smooth(),
        row!("sparse systems in columns, and what else a factor has": (V, M) => (M, (S, V)), |(values, b)| {
                let factor = arrow().factor(values);
                (factor.solve(b), (factor.log_determinant(), factor.inverse_entries()))
            }, (v(values), some((3, 2), 880)))
            .smooth(),
        row!("logarithm of a sparse determinant": V => S, |values| arrow().log_determinant(values),
            v([4.0, 2.0, 0.0, 2.0, 5.0, 0.0, 2.0]))
            .value([32.0_f64.ln()])
            .gradient([0.3125, -0.125, 0.0, -0.125, 0.25, 0.0, 0.5])
            .smooth(),
        row!("entries of a sparse inverse, and how they move": (V, V) => (V, V), |(values, along)| {
                jvp(|values: &Vector<_, f64>| arrow().factor(values).inverse_entries(), values, along)
            }, (v(values), some(7, 881)))
            .smooth(),
        row!("sparse matrices in a build, of which one is not definite": (M, V) => M, |(values, b)| {
                build(2, |i| arrow().solve(&values.at(&i), b))
            }, (m([values, [1.0, 2.0, 0.0, 2.0, 1.0, 0.0, 1.0]]), v([4.0, 1.0, 0.5])))
            .values_only(),
        row!("sparse matrix of nothing": V => (V, S), |values| {
                let nothing = SparseCholesky::new(&Pattern::from_rows(0, Vec::<Vec<usize>>::new()).unwrap()).unwrap();
                let factor = nothing.factor(values);
                (factor.inverse_entries(), factor.log_determinant())
            }, v([]))
            .value([0.0])
            .gradient([]),
        row!("sparse matrix of one number, in single precision": Fs => Fs,
            |values| SparseCholesky::new(&Pattern::from_rows(1, [vec![0]]).unwrap()).unwrap().solve(values, values), [4.0].into())
            .value([1.0]),
    ]
}

fn placed() -> Vec<Row> {
    vec![
        row!("systems in a build": (T3, M) => M, |(a, b)| build(2, |i| solve(&a.at(&i), &b.at(&i))),
            (some((2, 3, 3), 840), some((2, 3), 841)))
        .smooth(),
        row!("one matrix for all of a build": (M, M) => M, |(a, b)| build(3, |i| solve_spd(&definite(a), &b.at(&i))),
            (some((2, 2), 842), some((3, 2), 843)))
        .smooth(),
        row!("a Kalman filter's variance": (M, M) => M, |(a, q)| {
            fold(definite(q), &iota(3), |p: Matrix<_, f64>, _: Scalar<_, i64>| {
                let predicted = a.dot(&p).dot(&a.t()) + definite(q);
                let innovation = &predicted + eye(2) * 0.5;
                &predicted - predicted.dot(&solve_spd(&innovation, &predicted))
            })
        }, (some((2, 2), 844), some((2, 2), 845)))
        .smooth(),
    ]
}

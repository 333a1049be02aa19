//! Matrices without good answers, or near the ends of what numbers are: every engine has the same results, and one matrix of
//! several has no influence on others.

use crate::engines::{Row, on_device};
use crate::exported;
use crate::random::arrays::numbers;
use crate::random::chance::Random;
use crate::{C, definite, matrix};
use deltaray::algebra::Algebra;
use deltaray::concrete::Array;
use deltaray::linalg::*;
use deltaray::prelude::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn m<const R: usize, const K: usize>(rows: [[f64; K]; R]) -> Matrix<C, f64> {
    rows.into()
}

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

fn t(shape: (usize, usize, usize), elements: &[f64]) -> Tensor3<C, f64> {
    Tensor::from_elements(shape, elements.to_vec())
}

fn single<const R: usize, const K: usize>(rows: [[f32; K]; R]) -> Matrix<C, f32> {
    rows.into()
}

/// A row, and what all of its results are, one after the other.
struct Known(Row, Vec<f64>);

macro_rules! known {
    ($name:literal, |$x:pat_param| $f:expr, $at:expr => $expected:expr) => {
        Known(Row::new($name, |$x| $f, $at), $expected.to_vec())
    };
}

fn without_elements() -> Vec<Known> {
    let none: [f64; 0] = [];
    vec![
        known!("the determinant of nothing", |a| determinant(a), zeros::<C, f64, _>((0, 0)) => [1.0]),
        known!("sign and logarithm of nothing", |a| slog_determinant(a), zeros::<C, f64, _>((0, 0)) => [1.0, 0.0]),
        known!("the logarithm of nothing", |a| log_determinant(a), zeros::<C, f64, _>((0, 0)) => [0.0]),
        known!("determinants of several of nothing", |a| determinant(a), zeros::<C, f64, _>((3, 0, 0)) => [1.0; 3]),
        known!("determinants of no matrices", |a| determinant(a), zeros::<C, f64, _>((0, 2, 2)) => none),
        known!("the trace of nothing", |a| trace(a), zeros::<C, f64, _>((0, 0)) => [0.0]),
        known!("powers of nothing", |a| (matrix_power(a, -3), inverse(a)), zeros::<C, f64, _>((0, 0)) => none),
        known!("exponentials of nothing", |a| (expm(a), spectral_function(a, SpectralFunction::Exp)), zeros::<C, f64, _>((0, 0))
            => none),
        known!("exponentials of no matrices", |a| (expm(a), spectral_function(a, SpectralFunction::Exp)),
            zeros::<C, f64, _>((0, 2, 2)) => none),
        known!("factors of nothing", |a| (cholesky(a), lu(a).packed, qr(a).r), zeros::<C, f64, _>((0, 0)) => none),
        known!("factors of no matrices", |a| (cholesky(a), lu(a).packed, qr(a).q), zeros::<C, f64, _>((0, 2, 2)) => none),
        known!("solutions of nothing", |(a, b)| (solve(a, b), solve_spd(a, b)),
            (zeros::<C, f64, _>((0, 0)), zeros::<C, f64, _>((0, 2))) => none),
        known!("no right sides", |(a, b)| (solve(a, b), solve_triangular(a, b, Triangle::UPPER)),
            (m([[1.0, 2.0], [3.0, 4.0]]), zeros::<C, f64, _>((2, 0))) => none),
        known!("bands of nothing", |(a, b)| (solve_banded((1, 1), a, b), solve_banded((0, 2), a, b)),
            (zeros::<C, f64, _>((3, 0)), zeros::<C, f64, _>((0, 2))) => none),
        known!("bands of no matrices", |(a, b)| solve_banded((1, 1), a, b),
            (zeros::<C, f64, _>((0, 3, 2)), zeros::<C, f64, _>((0, 2, 1))) => none),
        known!("bands without right sides", |(a, b)| solve_banded((1, 1), a, b),
            (ones::<C, f64, _>((3, 2)), zeros::<C, f64, _>((2, 0))) => none),
        known!("LU without rows", |a| (lu(a).lower(), (lu(a).upper(), lu(a).order())), zeros::<C, f64, _>((0, 3)) => none),
        known!("LU without columns", |a| (lu(a).lower(), (lu(a).upper(), lu(a).order())), zeros::<C, f64, _>((3, 0))
            => [0.0, 1.0, 2.0]),
        known!("QR without rows", |a| (qr(a).q, (qr(a).r, full_qr(a).q)), zeros::<C, f64, _>((0, 3)) => none),
        known!("QR without columns", |a| (qr(a).q, (qr(a).r, full_qr(a).q)), zeros::<C, f64, _>((2, 0))
            => [1.0, 0.0, 0.0, 1.0]),
        known!("least squares without columns", |(a, b)| lstsq(a, b), (zeros::<C, f64, _>((2, 0)), v(&[1.0, 2.0])) => none),
        known!("QR of rows of no element, as many as there may be", |a| (qr(a).q.sum(), qr(a).r.sum()),
            zeros::<C, f64, _>((1 << 40, 0)) => [0.0, 0.0]),
        known!("least squares without rows", |(a, b)| lstsq(a, b), (zeros::<C, f64, _>((0, 2)), v(&[])) => [0.0, 0.0]),
        known!("least squares of nothing", |(a, b)| lstsq(a, b), (zeros::<C, f64, _>((0, 0)), v(&[])) => none),
    ]
}

fn of_one_element() -> Vec<Known> {
    vec![
        known!("Cholesky factors of one number", |a| cholesky(a), t((4, 1, 1), &[9.0, 0.0, -1.0, INF])
            => [3.0, NAN, NAN, NAN]),
        known!("one equation in bands", |(a, b)| (solve_banded((0, 0), a, b), tridiagonal_solve(b, &a.at(0), b, b)),
            (m([[-4.0]]), v(&[8.0])) => [-2.0, -2.0]),
        known!("one equation", |(a, b)| (solve(a, b), inverse(a)), (m([[-4.0]]), v(&[8.0])) => [-2.0, -0.25]),
        known!("functions of one number", |a| (expm(a), (sqrtm(a), logm(a))), t((5, 1, 1), &[0.0, 1.0, -1.0, INF, NAN])
            => [1.0, 1.0_f64.exp(), (-1.0_f64).exp(), NAN, NAN, 0.0, 1.0, NAN, NAN, NAN, -INF, 0.0, NAN, NAN, NAN]),
        known!("LU of one number", |a| lu(a).packed, m([[-4.0]]) => [-4.0, 0.0]),
        known!("the lower factor of one number", |a| (lu(a).lower(), grad(|a| lu(a).lower().sum(), a)), m([[NAN]])
            => [1.0, 0.0]),
        known!("QR of one number", |a| (qr(a).q, qr(a).r), m([[-4.0]]) => [1.0, -4.0]),
        known!("determinants of one number", |a| (determinant(a), slog_determinant(a)), m([[-1.0]]) => [-1.0, -1.0, 0.0]),
    ]
}

fn without_result() -> Vec<Known> {
    let (sqrt2, half) = (2.0_f64.sqrt(), 0.5_f64.sqrt());
    vec![
        known!("dependent columns", |(a, b)| lstsq(a, b), (m([[0.1, 0.3], [0.2, 0.6]]), v(&[1.0, 2.0])) => [1.0, 3.0]),
        known!("zeros for a matrix", |(a, b)| lstsq(a, b), (zeros::<C, f64, _>((3, 2)), v(&[1.0, 2.0, 3.0])) => [0.0; 2]),
        known!("not symmetric", |a| cholesky(a), m([[2.0, 0.0], [2.0, 1.0]]) => [sqrt2, 0.0, half, half]),
        known!("not definite", |a| (cholesky(a), log_determinant(a)), m([[1.0, 2.0], [2.0, 1.0]]) => [NAN; 5]),
        known!("only half definite", |a| cholesky(a), m([[1.0, 1.0], [1.0, 1.0]]) => [NAN; 4]),
        known!("functions of an indefinite matrix", |a| (sqrtm(a), logm(a)), m([[1.0, 2.0], [2.0, 1.0]]) => [NAN; 8]),
        known!("one good matrix of several", |a| (sqrtm(a), expm(&(a - eye(2) * 4.0))),
            t((2, 2, 2), &[1.0, NAN, 0.0, 1.0, 4.0, 0.0, 0.0, 4.0])
            => [NAN, NAN, NAN, NAN, 2.0, 0.0, 0.0, 2.0, NAN, NAN, NAN, NAN, 1.0, 0.0, 0.0, 1.0]),
        known!("exponentials of large matrices", |a| (expm(&a.at(0)).at((0, 0)), expm(&a.at(1))),
            t((2, 2, 2), &[800.0, 0.0, 0.0, 800.0, -1e3, 0.0, 0.0, -1e2]) => [INF, 0.0, 0.0, 0.0, 0.0]),
        known!("exponentials of elements beside others", |a| expm(a), m([[-1e300, 0.0], [0.0, -1.0]])
            => [0.0, 0.0, 0.0, 1.0]),
        known!("the gradient of a singular determinant", |a| grad(|a| determinant(a), a), m([[0.0, 0.0], [0.0, 3.0]])
            => [3.0, 0.0, 0.0, 0.0]),
        known!("zeros", |a| cholesky(a), m([[0.0; 2]; 2]) => [NAN; 4]),
        known!("a negative first element", |a| cholesky(a), m([[-1.0, 0.0], [0.0, 4.0]]) => [NAN; 4]),
        known!("NaN above the diagonal", |a| cholesky(a), m([[1.0, NAN], [0.0, 1.0]]) => [NAN; 4]),
        known!("NaN on the diagonal", |a| cholesky(a), m([[1.0, 0.0], [0.0, NAN]]) => [NAN; 4]),
        known!("infinite on the diagonal", |a| cholesky(a), m([[INF, 0.0], [0.0, 1.0]]) => [NAN; 4]),
        known!("infinite beside the diagonal", |a| cholesky(a), m([[1.0, INF], [INF, 1.0]]) => [NAN; 4]),
        known!("a system of indefinite matrix", |(a, b)| solve_spd(a, b), (m([[1.0, 2.0], [2.0, 1.0]]), v(&[1.0, 1.0]))
            => [NAN; 2]),
        known!("a singular system without solution", |(a, b)| solve(a, b), (m([[1.0, 2.0], [2.0, 4.0]]), v(&[1.0, 1.0]))
            => [-INF, INF]),
        known!("a singular system with many solutions", |(a, b)| solve(a, b), (m([[1.0, 2.0], [2.0, 4.0]]), v(&[1.0, 2.0]))
            => [NAN; 2]),
        known!("singular determinants", |a| (determinant(a), slog_determinant(a)), m([[1.0, 2.0], [2.0, 4.0]])
            => [0.0, 0.0, -INF]),
        known!("the determinant of zeros", |a| (determinant(a), slog_determinant(a)), m([[0.0; 3]; 3]) => [0.0, 0.0, -INF]),
        known!("LU of zeros", |a| lu(a).packed, m([[0.0; 2]; 2]) => [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        known!("QR of zeros", |a| (qr(a).q, qr(a).r), m([[0.0; 2]; 2]) => [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        known!("QR of one column twice", |a| (qr(a).q.abs(), qr(a).r.abs()), m([[0.0, 0.0], [2.0, 2.0]])
            => [0.0, 1.0, 1.0, 0.0, 2.0, 2.0, 0.0, 0.0]),
        known!("the inverse of a singular matrix", |a| inverse(a), m([[1.0, 2.0], [2.0, 4.0]]) => [-INF, INF, INF, -INF]),
        known!("a singular tridiagonal system", |(a, b)| solve_banded((1, 1), a, b),
            (m([[NAN, 2.0], [1.0, 4.0], [2.0, NAN]]), v(&[1.0, 1.0])) => [-INF, INF]),
        known!("tridiagonal systems, of which two have no solution", |(a, b)| solve_banded((1, 0), a, b),
            (t((3, 2, 2), &[1.0, 0.0, 1.0, NAN, 2.0, 4.0, 2.0, NAN, NAN, 1.0, 1.0, INF]), v(&[2.0, 2.0]).reshape((1, 2)))
            => [NAN, NAN, 1.0, 0.0, NAN, NAN]),
        known!("a diagonal with zero", |(a, b)| solve_triangular(a, b, Triangle::LOWER),
            (m([[0.0, 0.0], [1.0, 1.0]]), v(&[1.0, 1.0])) => [INF, -INF]),
        known!("NaN where nothing is read", |(a, b)| (
                solve_triangular(a, b, Triangle::LOWER.unit()),
                solve_triangular(a, b, Triangle::LOWER.unit().transposed())
            ), (m([[NAN, NAN], [3.0, NAN]]), v(&[1.0, 2.0])) => [1.0, -1.0, -5.0, 2.0]),
        known!("infinities where nothing is read", |(a, b)| (
                solve_triangular(a, b, Triangle::UPPER),
                solve_triangular(a, b, Triangle::UPPER.transposed())
            ), (m([[2.0, 1.0], [INF, 4.0]]), v(&[4.0, 8.0])) => [1.0, 2.0, 2.0, 1.5]),
        known!("NaN in one right side of two", |(a, b)| solve_triangular(a, b, Triangle::LOWER),
            (m([[2.0, 0.0], [2.0, 4.0]]), m([[2.0, NAN], [6.0, 8.0]])) => [1.0, NAN, 1.0, NAN]),
        known!("NaN in the first column of LU", |a| lu(a).order(), m([[1.0, 2.0], [NAN, 1.0]]) => [1.0, 0.0]),
        known!("NaN in QR", |a| (qr(a).q, qr(a).r.at((0, 0))), m([[1.0, 2.0], [NAN, 1.0]]) => [NAN; 5]),
    ]
}

/// Results in the range of numbers, though squares or sums on the way there are not.
fn extreme() -> Vec<Known> {
    let (large, small) = (1e38_f32, 1e-38_f32);
    let scaled = |by: f32| single([[2.0 * by, by], [by, 3.0 * by]]);
    let tall = |by: f32| single([[0.3 * by, 0.2 * by], [0.4 * by, by], [1.2 * by, 0.5 * by]]);
    let factor = [2.0_f64.sqrt(), 0.0, 0.5_f64.sqrt(), 2.5_f64.sqrt()];
    let r = [-1.3, -(0.06 + 0.4 + 0.6) / 1.3];
    vec![
        known!("Cholesky, large", |a| cholesky(a) * 1e-19_f32, scaled(large) => factor),
        known!("Cholesky, small", |a| cholesky(a) * 1e19_f32, scaled(small) => factor),
        known!("LU, large", |a| lu(a).upper() * 1e-38_f32, scaled(large) => [2.0, 1.0, 0.0, 2.5]),
        known!("QR, large", |a| qr(a).r.at(0) * 1e-38_f32, tall(large) => r),
        known!("QR, small", |a| qr(a).r.at(0) * 1e38_f32, tall(small) => r),
        // The norm of a column is nearly the largest number.
        known!("QR, as large as it can be", |a| qr(a).r.at(0) * 1e-38_f32, tall(2.6e38) => [r[0] * 2.6, r[1] * 2.6]),
        known!("solutions, large", |(a, b)| solve(a, b), (scaled(large), single([[3e38], [2e38]])) => [1.4, 0.2]),
        known!("solutions, small", |(a, b)| solve(a, b), (scaled(small), single([[3e-38], [2e-38]])) => [1.4, 0.2]),
        known!("solutions of definite systems, large", |(a, b)| solve_spd(a, b), (scaled(large), single([[3e38], [2e38]]))
            => [1.4, 0.2]),
        known!("pseudo-inverses, large", |a| pseudo_inverse(a) * 1e38_f32, scaled(large) => [0.6, -0.2, -0.2, 0.4]),
        known!("pseudo-inverses, small", |a| pseudo_inverse(a) * 1e-38_f32, scaled(small) => [0.6, -0.2, -0.2, 0.4]),
        known!("least squares, large", |(a, b)| lstsq(a, b), (scaled(large), single([[3e38], [2e38]])) => [1.4, 0.2]),
        known!("least squares, small", |(a, b)| lstsq(a, b), (scaled(small), single([[3e-38], [2e-38]])) => [1.4, 0.2]),
        known!("logarithm of a large determinant", |a| (slog_determinant(a).1, log_determinant(a)), scaled(large)
            => [5.0_f64.ln() + 76.0 * 10.0_f64.ln(); 2]),
        known!("logarithm of a small determinant", |a| (slog_determinant(a).1, log_determinant(a)), scaled(small)
            => [5.0_f64.ln() - 76.0 * 10.0_f64.ln(); 2]),
    ]
}

/// Hilbert's matrix of 12 rows, whose condition number is 10¹⁶: factors multiply to it, and solutions satisfy equations.
fn ill_conditioned() -> Vec<Known> {
    let elements = (0..144).map(|at| 1.0 / (1 + at / 12 + at % 12) as f64).collect();
    let a: Matrix<C, f64> = Matrix::from_elements((12, 12), elements);
    let b = a.sum_axis(1);
    vec![
        known!("Hilbert's matrix by Cholesky", |a| { let l = cholesky(a); (l.dot(&l.t()) - a).flatten() }, a.clone()
            => [0.0; 144]),
        known!("Hilbert's matrix by LU", |a| { let f = lu(a); (f.lower().dot(&f.upper()) - a.gather(&f.order())).flatten() },
            a.clone() => [0.0; 144]),
        known!("Hilbert's matrix by QR", |a| { let Qr { q, r } = qr(a); (q.dot(&r) - a).flatten() }, a.clone() => [0.0; 144]),
        known!("Hilbert's system", |(a, b)| a.dot(&solve(a, b)) - b, (a.clone(), b.clone()) => [0.0; 12]),
        // Of lower rank to rounding, so that its columns hardly make up for those that count as 0.
        known!("Hilbert's least squares", |(a, b)| a.dot(&lstsq(a, b)) - b, (a, b) => [0.0; 12]),
    ]
}

fn rows() -> Vec<Known> {
    let mut rows = without_elements();
    rows.extend(of_one_element());
    rows.extend(without_result());
    rows.extend(extreme());
    rows.extend(ill_conditioned());
    rows
}

/// A function of matrices that kernels cut into blocks, with its gradient.
macro_rules! of_blocks {
    ($name:literal, |$a:ident| $f:expr) => {{
        fn function<A: Algebra>($a: &Tensor3<A, f64>) -> Scalar<A, f64> {
            $f
        }
        let random = &mut Random::new(41);
        let matrices: Vec<Matrix<C, f64>> =
            (0..2).map(|_| definite(random, 19) + matrix(random, 19, 19) * 0.1).collect();
        Row::new($name, |a| (function(a), grad(|a| function(a), a)), stack(&matrices))
    }};
}

/// Matrices whose eigenvalues are all 1 but for one: rounding alone tells them apart, and so do the angles of rotations.
macro_rules! of_equal_values {
    ($($name:literal, $n:literal;)*) => {
        [$({
            let matrix = |step: f64| {
                let direction: Vector<C, f64> = iota($n).cast::<f64>() * step + 1.0;
                0.25 * direction.outer(&direction) + eye($n)
            };
            let function = |a: &Tensor3<_, f64>| {
                let Eigh { values, vectors } = eigh(a);
                let Svd { u, values: s, v } = svd(a);
                let rebuilt = (u * s.insert_axis(1)).matmul(&v.tr(&[0, 2, 1]));
                let cubes = (&vectors * values.powi(3).insert_axis(1)).matmul(&vectors.tr(&[0, 2, 1]));
                (values, cubes, s, rebuilt)
            };
            Row::new($name, function, stack(&[matrix(1.0), matrix(-0.5), matrix(0.3)]))
        }),*]
    };
}

fn larger() -> Vec<Row> {
    let equal = of_equal_values! {
        "equal values of 2 rows", 2;
        "equal values of 3 rows", 3;
        "equal values of 4 rows", 4;
        "equal values of 7 rows", 7;
    };
    let mut rows = blocked();
    rows.extend(equal);
    rows
}

fn blocked() -> Vec<Row> {
    vec![
        of_blocks!("log_determinant of 19 rows", |a| log_determinant(a).sin().sum()),
        of_blocks!("cholesky of 19 rows", |a| cholesky(a).sin().sum()),
        of_blocks!("solve of 19 rows", |a| solve(&a.reverse(1), &a.slice(2, 3..6)).sin().sum()),
        of_blocks!("inverse of 19 rows", |a| inverse(a).sin().sum()),
        of_blocks!("lu of 19 by 17", |a| lu(&a.slice(2, ..17).reverse(1)).packed.sin().sum()),
        of_blocks!("qr of 19 by 17", |a| {
            let Qr { q, r } = qr(&a.slice(2, ..17));
            q.sin().sum() + r.sin().sum()
        }),
        of_blocks!("qr of 17 by 19", |a| {
            let Qr { q, r } = qr(&a.slice(1, ..17));
            q.sin().sum() + r.sin().sum()
        }),
        of_blocks!("full_qr of 18 by 17", |a| full_qr(&a.slice(1, ..18).slice(2, ..17)).q.sin().sum()),
        of_blocks!("right sides of 19 rows", |a| {
            solve_triangular_right(a, &a.slice(1, ..4), Triangle::LOWER.transposed()).sin().sum()
        }),
    ]
}

#[test]
fn devices_compute_larger_matrices_as_the_interpreter_does() {
    let rows = larger();
    let Some(results) = on_device(&rows.iter().collect::<Vec<&Row>>()) else { return };
    let found = rows.iter().zip(&results).filter_map(|(row, found)| {
        exported::found_difference(&row.case(), found).map(|problem| format!("{}: {problem}", row.name))
    });
    let problems: Vec<String> = found.collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The first difference of results from what is known.
fn problem(found: &[Array], expected: &[f64], row: &Row) -> Option<String> {
    let found: Vec<f64> = found.iter().flat_map(numbers).collect();
    let is_single = row.inputs[0].dtype() == deltaray::shape::DType::F32;
    let relative = if is_single { 3e-5 } else { 1e-13 };
    let close =
        |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= relative * b.abs().max(1.0);
    let all = found.len() == expected.len() && found.iter().zip(expected).all(close);
    (!all).then(|| format!("{}: {found:?} instead of {expected:?}", row.name))
}

#[test]
fn engines_find_what_is_known() {
    let mut problems = Vec::new();
    for Known(row, expected) in rows() {
        for (engine, found) in row.results() {
            problems.extend(problem(&found, &expected, &row).map(|problem| format!("{engine}: {problem}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn devices_find_what_is_known() {
    let rows = rows();
    let programs: Vec<&Row> = rows.iter().map(|Known(row, _)| row).collect();
    let Some(results) = on_device(&programs) else { return };
    let found = rows.iter().zip(&results).filter_map(|(Known(row, expected), found)| problem(found, expected, row));
    let problems: Vec<String> = found.collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn sources_of_c_compute_what_the_interpreter_does() {
    let known = rows().into_iter().map(|Known(row, _)| row);
    let cases: Vec<_> = known.chain(larger()).map(|row| row.case()).collect();
    let numbered: Vec<_> = cases.iter().enumerate().collect();
    exported::c::compute_what_the_interpreter_does("linalg", &numbered);
}

/// Each operation on three matrices, and with NaN, infinities or zeros in the second of them: the others are bit for bit as
/// they were.
#[test]
fn a_bad_matrix_has_no_influence_on_others() {
    let good = t((3, 2, 2), &[4.0, 1.0, 1.0, 3.0, 2.0, 0.5, 0.5, 1.0, 5.0, -1.0, -1.0, 2.0]);
    let rows = [
        Row::new("cholesky", |a: &Tensor3<_, f64>| cholesky(a), good.clone()),
        Row::new("lu", |a: &Tensor3<_, f64>| (lu(a).packed, lu(a).order()), good.clone()),
        Row::new("qr", |a: &Tensor3<_, f64>| (qr(a).q, full_qr(a).r), good.clone()),
        Row::new("solve", |a: &Tensor3<_, f64>| solve(a, &a.tr(&[0, 2, 1])), good.clone()),
        Row::new("lower", |a: &Tensor3<_, f64>| solve_triangular(a, a, Triangle::LOWER), good.clone()),
        Row::new("upper", |a: &Tensor3<_, f64>| solve_triangular(a, a, Triangle::UPPER.transposed()), good.clone()),
        Row::new("determinant", |a: &Tensor3<_, f64>| (determinant(a), slog_determinant(a)), good.clone()),
        Row::new("log_determinant", |a: &Tensor3<_, f64>| log_determinant(a), good.clone()),
        Row::new("inverse", |a: &Tensor3<_, f64>| inverse(a), good.clone()),
        Row::new("functions", |a: &Tensor3<_, f64>| (sqrtm(a), expm(a)), good.clone()),
        Row::new(
            "small exponentials",
            |a: &Tensor3<_, f64>| jvp(|a: &Tensor3<_, f64>| expm(&(a * 1e-3)), a, a),
            good.clone(),
        ),
        Row::new("cofactors", |a: &Tensor3<_, f64>| grad(|a| determinant(a).sum(), a), good.clone()),
        Row::new(
            "cofactors of four rows",
            |a: &Tensor3<_, f64>| grad(|a| determinant(&kron(a, a)).sum(), a),
            good.clone(),
        ),
    ];
    let bad: [[f64; 4]; 7] = [
        // The exponential of a thousandth of it is a turn, and is squared many times.
        [0.0, -1e6, 1e6, 0.0],
        [NAN; 4],
        [0.0; 4],
        [INF, 1.0, 1.0, INF],
        [1.0, NAN, 2.0, 1.0],
        [1.0, 2.0, 2.0, 4.0],
        [-1e300, 1e300, 1e300, -1e300],
    ];
    let mut programs = Vec::new();
    for row in &rows {
        programs.push(row.at(row.inputs.clone()));
        for bad in &bad {
            let mut elements = good.to_vec();
            elements[4..8].copy_from_slice(bad);
            programs.push(row.at(t((3, 2, 2), &elements).leaves()));
        }
    }
    let others = |results: &[Array]| -> Vec<u64> {
        let of = |array: &Array| {
            let (own, count) = (numbers(array), array.size() / 3);
            [&own[..count], &own[2 * count..]].concat().into_iter().map(f64::to_bits).collect::<Vec<u64>>()
        };
        results.iter().flat_map(of).collect()
    };
    let mut engines: Vec<Vec<(&'static str, Vec<Array>)>> = programs.iter().map(Row::results).collect();
    if let Some(results) = on_device(&programs.iter().collect::<Vec<&Row>>()) {
        engines.iter_mut().zip(results).for_each(|(engines, results)| engines.push(("a device", results)));
    }
    for (rows, engines) in programs.chunks(1 + bad.len()).zip(engines.chunks(1 + bad.len())) {
        for (number, with_bad) in engines[1..].iter().enumerate() {
            for ((engine, expected), (_, found)) in engines[0].iter().zip(with_bad) {
                assert_eq!(others(found), others(expected), "{engine}: {} beside {:?}", rows[0].name, bad[number]);
            }
        }
    }
}

/// Elements that are not read have no derivative, whatever they are.
#[test]
fn what_is_not_read_has_no_derivative() {
    let (a, b) = (m([[2.0, NAN], [1.0, 4.0]]), v(&[4.0, 10.0]));
    for (a, triangle) in [(a.clone(), Triangle::LOWER), (a.t(), Triangle::UPPER.transposed())] {
        let program = stage(|a: &Matrix<_, f64>| solve_triangular(a, &constant(&b), triangle).sum(), &a).unwrap();
        let symbolic = program.grad().unwrap();
        let found = [
            grad(|a| solve_triangular(a, &b.lift(), triangle).sum(), &a),
            symbolic.interpret(&a).unwrap(),
            symbolic.call(&a).unwrap(),
        ];
        for gradient in found {
            let gradient = if triangle.is_lower { gradient } else { gradient.t() };
            assert_eq!(gradient.to_vec(), [-0.75, 0.0, -0.5, -0.5], "{triangle:?}");
        }
    }
}

/// The derivative of a matrix of several that has none is of that one alone.
#[test]
fn a_bad_matrix_has_no_influence_on_derivatives_of_others() {
    let a = t((3, 2, 2), &[4.0, 1.0, 1.0, 3.0, 1.0, 2.0, 2.0, 1.0, 5.0, -1.0, -1.0, 2.0]);
    let gradient = grad(|a| log_determinant(a).sum(), &a).to_vec();
    assert!(gradient[4..8].iter().all(|x| x.is_nan()), "{gradient:?}");
    for at in [0, 2] {
        let expected = inverse(&a.at(at)).t().to_vec();
        for (x, y) in gradient[4 * at..4 * at + 4].iter().zip(expected) {
            assert!((x - y).abs() < 1e-14, "{gradient:?}");
        }
    }
}

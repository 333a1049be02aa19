//! Derivatives by num-dual, of factorisations that are written here for its numbers: first, second and third order.

// Formulas have subscripts.
#![allow(clippy::needless_range_loop)]

use crate::random::chance::Random;
use crate::{C, M, definite, matrix};
use deltaray::linalg::*;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use num_dual::{Dual3_64, DualNum, HyperDual64};

#[path = "../named_functions/mod.rs"]
#[macro_use]
mod named_functions;

type S<A> = Scalar<A, f64>;

/// Numbers of num-dual, and what they are made of.
trait Number: DualNum<Primitive = f64> + Copy {
    fn real(self) -> f64;
}

impl Number for HyperDual64 {
    fn real(self) -> f64 {
        self.re
    }
}

impl Number for Dual3_64 {
    fn real(self) -> f64 {
        self.re
    }
}

/// Rows of a square matrix.
type Rows<D> = Vec<Vec<D>>;

fn zero<D: Number>() -> D {
    D::from(0.0)
}

/// The lower factor, row by row.
fn cholesky_of<D: Number>(a: &Rows<D>) -> Rows<D> {
    let n = a.len();
    let mut l = vec![vec![zero::<D>(); n]; n];
    for i in 0..n {
        for j in 0..=i {
            let mut rest = (a[i][j] + a[j][i]) * 0.5;
            for k in 0..j {
                rest -= l[i][k] * l[j][k];
            }
            l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
    }
    l
}

/// Gauss's elimination: the solution, and the determinant.
fn eliminated<D: Number>(a: &Rows<D>, b: &[D]) -> (Vec<D>, D) {
    let n = a.len();
    let (mut a, mut b, mut determinant) = (a.clone(), b.to_vec(), D::from(1.0));
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].real().abs().total_cmp(&a[j][k].real().abs())).unwrap();
        if pivot != k {
            a.swap(k, pivot);
            b.swap(k, pivot);
            determinant = -determinant;
        }
        determinant *= a[k][k];
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                let own = a[k][j];
                a[i][j] -= factor * own;
            }
            let own = b[k];
            b[i] -= factor * own;
        }
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            let known = b[j];
            b[i] -= a[i][j] * known;
        }
        b[i] /= a[i][i];
    }
    (b, determinant)
}

/// Gram and Schmidt's: columns of Q, and R, whose diagonal is positive.
fn qr_of<D: Number>(a: &Rows<D>) -> (Rows<D>, Rows<D>) {
    let (m, n) = (a.len(), a[0].len());
    let (mut q, mut r) = (vec![vec![zero::<D>(); n]; m], vec![vec![zero::<D>(); n]; n]);
    for j in 0..n {
        let mut column: Vec<D> = (0..m).map(|i| a[i][j]).collect();
        for k in 0..j {
            r[k][j] = (0..m).fold(zero(), |sum, i| sum + q[i][k] * column[i]);
            for i in 0..m {
                column[i] -= q[i][k] * r[k][j];
            }
        }
        r[j][j] = column.iter().fold(zero::<D>(), |sum, &x| sum + x * x).sqrt();
        for i in 0..m {
            q[i][j] = column[i] / r[j][j];
        }
    }
    (q, r)
}

/// The solution of a problem of least squares.
fn squares_of<D: Number>(a: &Rows<D>, side: impl Fn(usize) -> f64) -> Vec<D> {
    let (q, r) = qr_of(a);
    let side: Vec<_> = (0..r.len()).map(|j| (0..q.len()).fold(zero(), |sum, i| sum + q[i][j] * side(i))).collect();
    eliminated(&r, &side).0
}

/// The shortest solution of a system whose matrix is the transpose of this one.
fn shortest_of<D: Number>(a: &Rows<D>) -> Rows<D> {
    let n = a[0].len();
    let square = |i, j| (0..a.len()).fold(zero::<D>(), |sum, k| sum + a[k][i] * a[k][j]);
    let squares: Rows<_> = (0..n).map(|i| (0..n).map(|j| square(i, j)).collect()).collect();
    let y = eliminated(&squares, &(0..n).map(|i| weight(i, 0).into()).collect::<Vec<_>>()).0;
    a.iter().map(|row| vec![row.iter().zip(&y).fold(zero(), |sum, (&x, &y)| sum + x * y)]).collect()
}

/// A and 2 A beside each other: columns that depend on others. Of the least solutions, those of A are a fifth and two fifths.
fn doubled<A: Algebra>(a: &Matrix<A, f64>) -> Matrix<A, f64> {
    concatenate(1, &[a.clone(), a * 2.0])
}

/// Solutions of problems with A, as those of problems with A and 2 A.
fn parted<D: Number>(x: &Rows<D>) -> Rows<D> {
    let times = |factor: f64| x.iter().map(move |row| row.iter().map(|&x| x * factor).collect());
    times(0.2).chain(times(0.4)).collect()
}

/// A function of a matrix in both libraries. Weights make every element of a result matter.
struct Pair {
    name: &'static str,
    point: M,
    ours: fn(&Matrix<Nested, f64>) -> S<Nested>,
    forward: fn(&Matrix<Tangents, f64>) -> S<Tangents>,
    hyper: fn(&Rows<HyperDual64>) -> HyperDual64,
    cubic: fn(&Rows<Dual3_64>) -> Dual3_64,
}

type Nested = deltaray::dual::Dual<deltaray::dual::Tangent<C>>;
type Tangents = deltaray::dual::Tangent<deltaray::dual::Tangent<deltaray::dual::Tangent<C>>>;

/// A weight for each element, another one for each.
fn weight(row: usize, column: usize) -> f64 {
    ((3 * row + 5 * column) as f64 + 0.7).sin()
}

fn weights<A: Algebra>(rows: usize, columns: usize) -> Matrix<A, f64> {
    let elements = (0..rows * columns).map(|at| weight(at / columns, at % columns));
    constant(&Matrix::from_elements((rows, columns), elements.collect()))
}

/// A matrix of one column.
fn column<D>(x: Vec<D>) -> Rows<D> {
    x.into_iter().map(|x| vec![x]).collect()
}

fn weighted<D: Number>(a: &Rows<D>) -> D {
    let terms = a.iter().enumerate().flat_map(|(i, row)| row.iter().enumerate().map(move |(j, &x)| x * weight(i, j)));
    terms.fold(zero(), |sum, x| sum + x)
}

macro_rules! pair {
    ($name:literal, $point:expr, |$a:ident| $ours:expr, |$rows:ident| $theirs:expr) => {{
        fn ours<A: Algebra>($a: &Matrix<A, f64>) -> Scalar<A, f64> {
            $ours
        }
        fn theirs<D: Number>($rows: &Rows<D>) -> D {
            $theirs
        }
        Pair { name: $name, point: $point, ours, forward: ours, hyper: theirs, cubic: theirs }
    }};
}

fn pairs() -> Vec<Pair> {
    let random = &mut Random::new(11);
    let mut pairs = Vec::new();
    for n in [1, 2, 3, 6, 18] {
        let positive = definite(random, n);
        let any = matrix::<f64>(random, n, n) + eye(n) * 0.5;
        let tall = matrix::<f64>(random, n + 3, n);
        pairs.extend([
            pair!("log_determinant", positive.clone(), |a| log_determinant(a), |a| {
                let l = cholesky_of(a);
                (0..l.len()).fold(zero::<D>(), |sum, i| sum + l[i][i].ln()) * 2.0
            }),
            pair!("cholesky", positive.clone(), |a| (cholesky(a) * weights(a.shape()[0], a.shape()[0])).sum(), |a| {
                weighted(&cholesky_of(a))
            }),
            pair!(
                "ldl",
                positive.clone(),
                |a| {
                    let Ldl { lower, diagonal } = ldl(a);
                    (lower * weights(a.shape()[0], a.shape()[0])).sum() + diagonal.sin().sum()
                },
                |a| {
                    let l = cholesky_of(a);
                    let unit = l.iter().map(|row| row.iter().zip(&l).enumerate().map(|(j, (&x, other))| x / other[j]));
                    let sines = (0..l.len()).fold(zero::<D>(), |sum, i| sum + (l[i][i] * l[i][i]).sin());
                    weighted(&unit.map(Iterator::collect).collect()) + sines
                }
            ),
            pair!(
                "sines of cholesky",
                positive.clone(),
                |a| (cholesky(a).sin() * weights(a.shape()[0], a.shape()[0])).sum(),
                |a| {
                    let sines = cholesky_of(a).iter().map(|row| row.iter().map(|x| x.sin()).collect()).collect();
                    weighted(&sines)
                }
            ),
            pair!(
                "solve_spd",
                positive,
                |a| (solve_spd(a, &weights(a.shape()[0], 1)) * weights(a.shape()[0], 1)).sum(),
                |a| {
                    let n = a.len();
                    let symmetric: Rows<_> =
                        (0..n).map(|i| (0..n).map(|j| (a[i][j] + a[j][i]) * 0.5).collect()).collect();
                    let side: Vec<_> = (0..n).map(|i| weight(i, 0).into()).collect();
                    let x = eliminated(&symmetric, &side).0;
                    weighted(&column(x))
                }
            ),
            pair!(
                "solve",
                any.clone(),
                |a| (solve(a, &weights(a.shape()[0], 1)) * weights(a.shape()[0], 1)).sum(),
                |a| {
                    let side: Vec<_> = (0..a.len()).map(|i| weight(i, 0).into()).collect();
                    weighted(&column(eliminated(a, &side).0))
                }
            ),
            pair!(
                "a matrix on both sides",
                any.clone(),
                |a| (solve(a, &a.t()) * weights(a.shape()[0], a.shape()[0])).sum(),
                |a| {
                    let n = a.len();
                    (0..n).fold(zero(), |sum, column| {
                        let x = eliminated(a, &a[column]).0;
                        (0..n).fold(sum, |sum, row| sum + x[row] * weight(row, column))
                    })
                }
            ),
            pair!("determinant", any.clone(), |a| determinant(a), |a| eliminated(a, &vec![zero(); a.len()]).1),
            pair!("slog_determinant", any.clone(), |a| slog_determinant(a).1, |a| {
                let determinant = eliminated(a, &vec![zero(); a.len()]).1;
                (determinant * determinant).ln() * 0.5
            }),
            pair!("inverse", any, |a| (inverse(a) * weights(a.shape()[0], a.shape()[0])).sum(), |a| {
                let n = a.len();
                (0..n).fold(zero(), |sum, column| {
                    let side: Vec<_> = (0..n).map(|row| f64::from(u8::from(row == column)).into()).collect();
                    let x = eliminated(a, &side).0;
                    (0..n).fold(sum, |sum, row| sum + x[row] * weight(row, column))
                })
            }),
            // Signs that both ways choose differently are gone in the product of the diagonal's and the rest.
            pair!(
                "qr",
                tall.clone(),
                |a| {
                    let Qr { q, r } = qr(a);
                    let signs = r.diagonal().sign();
                    let (rows, columns) = (a.shape()[0], a.shape()[1]);
                    (q * &signs * weights(rows, columns)).sum()
                        + (r * signs.insert_axis(1) * weights(columns, columns)).sin().sum()
                },
                |a| {
                    let (q, r) = qr_of(a);
                    let scaled = r
                        .iter()
                        .enumerate()
                        .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, &x)| (x * weight(i, j)).sin()));
                    weighted(&q) + scaled.fold(zero::<D>(), |sum, x| sum + x)
                }
            ),
            pair!(
                "lstsq",
                tall.clone(),
                |a| (lstsq(a, &weights(a.shape()[0], 1)) * weights(a.shape()[1], 1)).sum(),
                |a| weighted(&column(squares_of(a, |i| weight(i, 0))))
            ),
            pair!(
                "lstsq of many solutions",
                tall.clone(),
                |a| (lstsq(&a.t(), &weights(a.shape()[1], 1)) * weights(a.shape()[0], 1)).sum(),
                |a| weighted(&shortest_of(a))
            ),
            pair!(
                "lstsq of dependent columns",
                tall.clone(),
                |a| (lstsq(&doubled(a), &weights(a.shape()[0], 1)) * weights(2 * a.shape()[1], 1)).sum(),
                |a| weighted(&parted(&column(squares_of(a, |i| weight(i, 0)))))
            ),
            pair!(
                "pseudo-inverse of dependent rows",
                tall.clone(),
                |a| (pseudo_inverse(&doubled(a).t()).t() * weights(2 * a.shape()[1], a.shape()[0])).sum(),
                |a| {
                    let of = |row: usize| squares_of(a, |i| f64::from(u8::from(i == row)));
                    let columns: Rows<_> = (0..a.len()).map(of).collect();
                    let rows = (0..a[0].len()).map(|j| columns.iter().map(|column| column[j]).collect()).collect();
                    weighted(&parted(&rows))
                }
            ),
            pair!(
                "least squares by factors",
                tall,
                |a| (qr(a).solve(&weights(a.shape()[0], 1)) * weights(a.shape()[1], 1)).sum(),
                |a| weighted(&column(squares_of(a, |i| weight(i, 0))))
            ),
        ]);
    }
    pairs
}

/// The matrix as numbers that are made of those of several matrices.
fn combined<D>(a: &M, make: impl Fn(usize) -> D) -> Rows<D> {
    let (m, n) = (a.shape()[0], a.shape()[1]);
    (0..m).map(|row| (0..n).map(|column| make(row * n + column)).collect()).collect()
}

fn assert_close(what: &str, found: f64, expected: f64, around: f64) {
    let allowed = 1e-9 * (1.0 + expected.abs() + around);
    assert!((found - expected).abs() <= allowed, "{what}: {found}, but num-dual finds {expected}");
}

#[test]
fn first_and_second_derivatives_are_those_of_num_dual() {
    for Pair { name, point, ours, hyper, .. } in pairs() {
        let (m, n) = (point.shape()[0], point.shape()[1]);
        let random = &mut Random::new(17);
        let (along, across): (M, M) = (matrix(random, m, n), matrix(random, m, n));
        let (x, d, e) = (point.to_vec(), along.to_vec(), across.to_vec());
        let expected = hyper(&combined(&point, |at| HyperDual64::new(x[at], d[at], e[at], 0.0)));
        let (gradient, second) = jvp(|a| grad(ours, a), &point, &along);
        let what = |order: &str| format!("{order} derivative of {name} at {m} by {n}");
        assert_close(&what("first"), (&gradient * &along).sum().item(), expected.eps1, 0.0);
        assert_close(&what("first"), (&gradient * &across).sum().item(), expected.eps2, 0.0);
        let terms = (&second * &across).to_vec().into_iter().map(f64::abs).sum();
        assert_close(&what("second"), (&second * &across).sum().item(), expected.eps1eps2, terms);
    }
}

#[test]
fn third_derivatives_are_those_of_num_dual() {
    for Pair { name, point, forward, cubic, .. } in pairs() {
        let (m, n) = (point.shape()[0], point.shape()[1]);
        if n > 6 {
            continue;
        }
        let along: M = matrix(&mut Random::new(19), m, n);
        let (x, d) = (point.to_vec(), along.to_vec());
        let expected = cubic(&combined(&point, |at| Dual3_64::new(x[at], d[at], 0.0, 0.0)));
        let third = jvp(
            |a| {
                let along = along.lift_forward();
                jvp(
                    |a| {
                        let along = along.lift_forward();
                        jvp(forward, a, &along).1
                    },
                    a,
                    &along,
                )
                .1
            },
            &point,
            &along,
        )
        .1;
        let allowed = expected.v2.abs() + expected.v1.abs();
        assert_close(&format!("third derivative of {name} at {m} by {n}"), third.item(), expected.v3, 10.0 * allowed);
    }
}

/// D³ log det A [B, B, B] = 2 tr (A⁻¹ B)³.
#[test]
fn the_third_derivative_of_a_logarithm_has_a_closed_form() {
    let random = &mut Random::new(23);
    let (a, b): (M, M) = (definite(random, 5), matrix(random, 5, 5));
    let b = &b + b.t();
    let one = |t: &S<Staged>| log_determinant(&(constant(&a) + constant(&b) * t));
    let first = stage(one, &scalar(0.0)).unwrap().grad().unwrap();
    let third = first.grad().unwrap().grad().unwrap().call(&scalar(0.0)).unwrap().item();
    let x = solve(&a, &b);
    let expected = 2.0 * trace(&x.dot(&x).dot(&x)).item();
    assert!((third - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{third} and {expected}");
}

function!(Logarithm: M => S<C>, |a| log_determinant(a));
function!(Lower: M => M, |a| cholesky(a));
function!(Inverse: M => M, |a| inverse(a));
function!(Determinant: M => S<C>, |a| determinant(a));
function!(Factors: M => (M, M), |a| { let factors = lu(a); (factors.lower(), factors.upper()) });
function!(Orthogonal: M => (M, M), |a| { let Qr { q, r } = qr(a); (q, r) });
function!(Single: Matrix<C, f32> => Scalar<C, f32>, |a| log_determinant(a) + solve(a, &a.at(0)).sum());
function!(Squares: (M, M) => M, |(a, b)| lstsq(a, b));
function!(Dependent: ((M, M), M) => M, |((x, y), b)| lstsq(&x.dot(y), b));

/// Derivatives are those of finite differences.
fn check<F: ArrayFn>(name: &str, f: F, at: &<F::In as Family>::At<C>) {
    check_grad(f, at, &CheckGrad::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
}

#[test]
fn derivatives_are_right_where_matrices_have_structure() {
    let random = &mut Random::new(29);
    let row: M = matrix(random, 1, 4);
    let repeated: M = row.broadcast_to((4, 4)) + eye(4) * 1e-2;
    let diagonal: M = eye(4) * Vector::<C, f64>::from(vec![1.0, 1e-3, 40.0, 2.0]);
    let a: M = definite(random, 2);
    let blocks: M = kron(&eye(2), &a);
    let toeplitz: M = build((5, 5), |(i, j)| (-((&i - &j).cast::<f64>().powi(2)) * 0.3).exp());
    let turned: M = Matrix::from([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [3.0, 0.0, 0.0]]);
    for (name, matrix) in [("identity", eye(4)), ("diagonal", diagonal), ("blocks", blocks), ("Toeplitz", toeplitz)] {
        check(name, Logarithm, &matrix);
        check(name, Lower, &matrix);
        check(name, Inverse, &matrix);
        check(name, Determinant, &matrix);
        check(name, Factors, &matrix);
    }
    for (name, matrix) in [("repeated rows", repeated.clone()), ("turned", turned)] {
        check(name, Inverse, &matrix);
        check(name, Determinant, &matrix);
    }
    check("repeated rows", Logarithm, &(repeated.dot(&repeated.t()) + eye(4)));
    check("repeated rows", Factors, &(repeated + eye(4)));
    for n in 1..6 {
        check("random", Logarithm, &definite(random, n));
        check("random", Lower, &definite(random, n));
        check("random, in single precision", Single, &definite(random, n));
        check("random", Factors, &matrix(random, n, n));
        check("random, tall", Factors, &matrix(random, n + 2, n));
        check("random, wide", Factors, &matrix(random, n, n + 2));
        check("random", Orthogonal, &matrix(random, n, n));
        check("random, tall", Orthogonal, &matrix(random, n + 2, n));
        check("random, wide", Orthogonal, &matrix(random, n, n + 2));
        check("random", Squares, &(matrix(random, n + 2, n), matrix(random, n + 2, 2)));
        check("random, wide", Squares, &(matrix(random, n, n + 2), matrix(random, n, 2)));
        for (rows, columns) in [(n + 3, n + 1), (n + 2, n + 2), (n + 1, n + 3)] {
            let factors = (matrix(random, rows, n), matrix(random, n, columns));
            check("random, of lower rank", Dependent, &(factors, matrix(random, rows, 2)));
        }
    }
}

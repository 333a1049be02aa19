//! Values by nalgebra: factors, solutions, determinants and inverses of random matrices of 1 to 30 rows.

use crate::random::chance::Random;
use crate::{C, definite, matrix};
use deltaray::linalg::*;
use deltaray::prelude::*;
use nalgebra::{DMatrix, DVector};

/// Random matrices.
const MATRICES: u64 = 200;

/// A float of either type in nalgebra.
trait Known: Float + nalgebra::RealField + Copy {
    /// The relative distance that is allowed of results of systems whose condition numbers are below some hundreds.
    const ALLOWED: f64;
    fn number(self) -> f64;
}

impl Known for f64 {
    const ALLOWED: f64 = 1e-12;
    fn number(self) -> f64 {
        self
    }
}

impl Known for f32 {
    const ALLOWED: f64 = 5e-4;
    fn number(self) -> f64 {
        self as f64
    }
}

fn theirs<E: Known>(a: &Matrix<C, E>) -> DMatrix<E> {
    DMatrix::from_row_slice(a.shape()[0], a.shape()[1], &a.to_vec())
}

/// Asserts that elements are close, relative to the largest of them.
fn assert_close<E: Known>(what: &str, found: &Matrix<C, E>, expected: &DMatrix<E>) {
    assert_eq!(found.shape()[..], [expected.nrows(), expected.ncols()], "{what}");
    let around = expected.iter().fold(0.0, |most: f64, x| most.max(x.number().abs()));
    for (at, x) in found.to_vec().into_iter().enumerate() {
        let (row, column) = (at / expected.ncols(), at % expected.ncols());
        let distance = (x.number() - expected[(row, column)].number()).abs();
        let allowed = E::ALLOWED * around.max(1.0);
        assert!(distance <= allowed, "{what}: [{row}, {column}] is {x}, not {}", expected[(row, column)]);
    }
}

fn compare<E: Known>(seed: u64) {
    let random = &mut Random::new(seed);
    let n = 1 + (seed as usize) % 30;
    let what = |name: &str| format!("{name} of {n} rows in {}, seed {seed}", E::DTYPE);
    let a: Matrix<C, E> = definite(random, n);
    let factor = theirs(&a).cholesky().expect("a positive definite matrix");
    assert_close(&what("the Cholesky factor"), &cholesky(&a), &factor.l());
    // nalgebra begins with the last row: its factors of the matrix that is read backwards.
    let backwards = |a: &Matrix<C, E>| a.reverse(0).reverse(1);
    let known = theirs(&backwards(&a)).udu().expect("a positive definite matrix");
    let Ldl { lower, diagonal } = ldl(&a);
    assert_close(&what("L of L D Lᵀ"), &backwards(&lower), &known.u);
    assert_close(&what("D of L D Lᵀ"), &diagonal_matrix(&diagonal.reverse(0)), &known.d_matrix());
    let b: Matrix<C, E> = matrix(random, n, 1 + (seed as usize) % 3);
    assert_close(&what("a definite system"), &solve_spd(&a, &b), &factor.solve(&theirs(&b)));
    let logarithm = DMatrix::from_element(1, 1, factor.ln_determinant());
    assert_close(&what("a logarithm"), &log_determinant(&a).reshape((1, 1)), &logarithm);

    // Neither symmetric nor with a diagonal that outweighs the rest: rows change places.
    let orthogonal = full_qr(&matrix::<E>(random, n, n)).q;
    let a = orthogonal.dot(&(definite(random, n) + matrix::<E>(random, n, n) * scalar(E::from_number(0.2))));
    let own = theirs(&a);
    let factors = own.clone().lu();
    assert_close(&what("L"), &lu(&a).lower(), &factors.l());
    assert_close(&what("U"), &lu(&a).upper(), &factors.u());
    assert_close(&what("a system"), &solve(&a, &b), &factors.solve(&theirs(&b)).expect("no singular matrix"));
    assert_close(&what("the inverse"), &inverse(&a), &own.clone().try_inverse().expect("no singular matrix"));
    let expected = factors.determinant();
    assert_close(&what("the determinant"), &determinant(&a).reshape((1, 1)), &DMatrix::from_element(1, 1, expected));
    let (sign, logarithm) = slog_determinant(&a);
    assert_eq!(sign.item().number(), expected.number().signum(), "{}", what("the sign"));
    assert!((logarithm.item().number() - expected.number().abs().ln()).abs() < 1e3 * E::ALLOWED, "{}", what("slog"));

    // Rows of R, and columns of Q, are determined but for their sign.
    let tall: Matrix<C, E> = concatenate(0, &[a.clone(), matrix(random, 1 + n / 2, n)]);
    let Qr { q, r } = qr(&tall);
    let known = theirs(&tall).qr();
    let (mut known_q, mut known_r) = (known.q(), known.r());
    for row in 0..n {
        if known_r[(row, row)].number().signum() != r.at((row, row)).item().number().signum() {
            known_r.row_mut(row).neg_mut();
            known_q.column_mut(row).neg_mut();
        }
    }
    assert_close(&what("Q"), &q, &known_q);
    assert_close(&what("R"), &r, &known_r);
    let side: Vector<C, E> = tall.index_axis(1, 0) + matrix::<E>(random, tall.shape()[0], 1).index_axis(1, 0);
    let normal = theirs(&tall).transpose() * theirs(&tall);
    let known_side = theirs(&tall).transpose() * DVector::from_vec(side.to_vec());
    let expected = normal.cholesky().expect("independent columns").solve(&known_side);
    for found in [lstsq(&tall, &side), qr(&tall).solve(&side), full_qr(&tall).solve(&side)] {
        let expected = DMatrix::from_column_slice(n, 1, expected.as_slice());
        assert_close(&what("least squares"), &found.insert_axis(1), &expected);
    }
}

#[test]
fn values_are_those_of_nalgebra() {
    (0..MATRICES).for_each(compare::<f64>);
}

#[test]
fn values_in_single_precision_are_those_of_nalgebra() {
    (0..MATRICES).for_each(compare::<f32>);
}

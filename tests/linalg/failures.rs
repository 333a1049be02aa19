//! Failures as errors, of plain arrays: which matrix has no result, and why.

use crate::C;
use deltaray::linalg::*;
use deltaray::prelude::*;
use deltaray::{Error, Result};

type Stack = Tensor3<C, f64>;

fn problem<T>(result: Result<T>) -> String {
    match result.err().expect("there is no result") {
        Error::Operands { operation, problem, place } => {
            assert!(place.starts_with("tests/linalg/failures.rs:"), "{place}");
            format!("{operation}: {problem}")
        }
        other => panic!("{other}"),
    }
}

fn stack_of(matrices: &[[[f64; 2]; 2]]) -> Stack {
    stack(&matrices.iter().map(|&rows| Matrix::from(rows)).collect::<Vec<Matrix<C, f64>>>())
}

#[test]
fn errors_say_which_matrix_failed_and_why() {
    let (good, indefinite, singular) = ([[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]);
    let a = stack_of(&[good, indefinite, singular]);
    let b: Matrix<C, f64> = ones((3, 2));
    let column = "column 1 depends on those before it";
    assert_eq!(
        problem(try_solve_spd(&a, &b)),
        "try_solve_spd: matrix [1] of shape [3, 2, 2] is not positive definite: column 1 has no positive pivot"
    );
    assert_eq!(problem(try_solve(&a, &b)), format!("try_solve: matrix [2] of shape [3, 2, 2] is singular: {column}"));
    assert_eq!(problem(try_inverse(&a)), format!("try_inverse: matrix [2] of shape [3, 2, 2] is singular: {column}"));
    let twice: Tensor4<C, f64> = a.insert_axis(0).broadcast_to((2, 3, 2, 2));
    let named = problem(try_cholesky(&(twice * -1.0)));
    assert_eq!(
        named,
        "try_cholesky: matrix [0, 0] of shape [2, 3, 2, 2] is not positive definite: column 0 has no positive pivot"
    );
}

/// Without right sides there is no element of a solution that could tell.
#[test]
fn singular_matrices_are_errors_without_right_sides_too() {
    let (singular, none) = (Matrix::from([[1.0, 2.0], [2.0, 4.0]]), zeros((2, 0)));
    assert!(problem(try_solve(&singular, &none)).ends_with("column 1 depends on those before it"));
    assert!(problem(try_solve_spd(&singular, &none)).ends_with("column 1 has no positive pivot"));
    assert_eq!(try_lstsq(&singular, &none).unwrap(), none);
    assert_eq!(try_solve(&eye(2), &none).unwrap(), none);
}

/// An infinite element of a factor makes zeros, not infinities, of the solution.
#[test]
fn factors_that_are_not_finite_are_errors() {
    let large = Matrix::from([[1e308, 1e308], [-1e308, 1e308]]);
    let expected = "the matrix of 2 by 2 has factors that are not finite: column 1 is too large";
    assert_eq!(problem(try_inverse(&large)), format!("try_inverse: {expected}"));
    assert_eq!(problem(try_solve(&large, &Vector::from([1.0, 1.0]))), format!("try_solve: {expected}"));
}

#[test]
fn elements_that_are_not_finite_are_errors() {
    let (good, infinite) = ([[4.0, 2.0], [2.0, 5.0]], [[1.0, f64::INFINITY], [2.0, 4.0]]);
    let a = stack_of(&[good, infinite]);
    let expected = "matrix [1] of shape [2, 2, 2] has elements that are not finite";
    assert_eq!(problem(try_lstsq(&a, &ones((2, 2)))), format!("try_lstsq: {expected}"));
    assert_eq!(problem(try_cholesky(&a)), format!("try_cholesky: {expected}"));
    assert_eq!(problem(try_inverse(&a)), format!("try_inverse: {expected}"));
    let side = Vector::from([1.0, f64::NAN]);
    let expected = "a result of shape [2] is not finite, though the matrices are";
    for named in [problem(try_solve(&a.at(0), &side)), problem(try_solve_spd(&a.at(0), &side))] {
        assert!(named.ends_with(expected), "{named}");
    }
    let tiny: Matrix<C, f32> = Matrix::from([[1e-38_f32]]);
    assert!(problem(try_solve(&tiny, &Vector::from([1e30_f32]))).ends_with("though the matrices are"));
}

#[test]
fn shapes_that_do_not_fit_are_errors_and_others_are_results() {
    let (a, wide) = (stack_of(&[[[4.0, 2.0], [2.0, 5.0]]]), Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
    assert_eq!(problem(try_cholesky(&wide)), "try_cholesky: takes a square matrix, not one of 2 by 3");
    assert!(problem(try_solve(&a.at(0), &Vector::from([1.0; 3]))).contains("3 rows"));
    assert!(problem(try_lstsq(&wide, &Vector::from([1.0; 3]))).contains("does not fit a right side of 3 rows"));
    let b: Matrix<C, f64> = ones((1, 2));
    assert_eq!(try_cholesky(&a).unwrap(), cholesky(&a));
    assert_eq!(try_solve(&a, &b).unwrap(), solve(&a, &b));
    assert_eq!(try_solve_spd(&a, &b).unwrap(), solve_spd(&a, &b));
    assert_eq!(try_inverse(&a).unwrap(), inverse(&a));
    assert_eq!(try_lstsq(&a, &b).unwrap(), lstsq(&a, &b));
    let dependent = Matrix::from([[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]);
    let shortest = try_lstsq(&dependent, &Vector::from([1.0, 2.0, 3.0])).unwrap();
    assert!((shortest - 0.5).abs().lt(1e-12).all().item());
    let nothing: Matrix<C, f64> = zeros((0, 0));
    assert_eq!(try_inverse(&nothing).unwrap(), nothing);
}

//! Results in the range of numbers of matrices whose products of pivots are out of it on the way.

use crate::{C, numbers};
use deltaray::linalg::*;
use deltaray::prelude::*;

/// A function with its gradient, eager and staged.
macro_rules! with_gradients {
    ($f:ident, $a:expr) => {{
        let a = $a;
        let staged = stage(|a: &Matrix<_, _>| $f(a), a).unwrap().value_and_grad().unwrap();
        let eager = value_and_grad(|a| $f(a), a);
        [eager, staged.interpret(a).unwrap(), staged.call(a).unwrap()]
            .map(|(value, gradient)| (value.cast::<f64>().item(), gradient.cast::<f64>().to_vec()))
    }};
}

#[track_caller]
fn check(found: &[f64], expected: &[f64], allowed: f64) {
    assert_eq!(found.len(), expected.len());
    for (x, y) in found.iter().zip(expected) {
        let is_close = x == y || (x.is_nan() && y.is_nan()) || (x / y - 1.0).abs() < allowed;
        assert!(is_close, "{found:?} instead of {expected:?}");
    }
}

/// Determinants and their gradients of a diagonal matrix.
#[track_caller]
fn determinants<E: Float>(diagonal: &[f64], allowed: f64) {
    let n = diagonal.len();
    // Products in an order that stays in range.
    let product = |without: Option<usize>| {
        let mut rest: Vec<f64> = (0..n).filter(|&at| Some(at) != without).map(|at| diagonal[at]).collect();
        rest.sort_by(|x, y| y.abs().total_cmp(&x.abs()));
        let mut product = 1.0_f64;
        while !rest.is_empty() {
            product *= if product.abs() < 1.0 { rest.remove(0) } else { rest.pop().unwrap() };
        }
        numbers::<E>([product])[0]
    };
    let elements: Vec<E> = diagonal.iter().map(|&x| E::from_number(x)).collect();
    let a = diagonal_matrix(&Vector::<C, E>::from(elements));
    let expected: Vec<f64> = (0..n * n).map(|at| if at % (n + 1) == 0 { product(Some(at / n)) } else { 0.0 }).collect();
    for (value, gradient) in with_gradients!(determinant, &a) {
        check(&[value], &[product(None)], allowed);
        check(&gradient, &expected, allowed);
    }
}

#[test]
fn determinants_and_cofactors_that_are_in_range() {
    for diagonal in [
        [1e200, 1e-200, 1e200, 1e-200],
        [1e200, 1e200, 1e-200, 1e-200],
        [1e-200, 1e-120, -1e200, 2.0],
        [1e100, 1e100, 1e100, 1e100],
        [-1e-100, 1e-100, 1e-100, 1e-100],
        [1e200, -3.0, 2.0, 1e90],
    ] {
        determinants::<f64>(&diagonal, 1e-12);
    }
    determinants::<f64>(&[1e250, 1e200, 1e150, 1e-300, 1e-300, -4.0, 2.0], 1e-12);
    determinants::<f32>(&[1e-12; 4], 1e-4);
    determinants::<f32>(&[1e12, 1e12, 1e-12, -1e-12], 1e-4);
    determinants::<f32>(&[1e12; 4], 1e-4);
    let zero = Matrix::<C, f64>::from([[0.0, 0.0], [0.0, 1e-300]]);
    assert_eq!(determinant(&zero).item(), 0.0);
}

#[test]
fn second_derivatives_of_determinants_of_large_and_small_matrices() {
    for scale in [1e-100, 1.0, 1e100] {
        let a: Matrix<C, f64> = eye(4) * scale;
        let e: Matrix<C, f64> = eye(4);
        // The cofactors of (scale + t) times the identity are (scale + t)³ times it.
        let staged = stage(|a: &Matrix<_, f64>| determinant(a), &a).unwrap().grad().unwrap().jvp().unwrap();
        let found = [jvp(|a| grad(determinant, a), &a, &e).1, staged.call((&a, &e)).unwrap().1];
        for found in found {
            check(&found.to_vec(), &(eye::<C, f64>(4) * (3.0 * scale * scale)).to_vec(), 1e-12);
        }
    }
}

/// The gradient of a weighted sum of solutions, at a matrix and a right side that are as large or small as the scale, times that.
fn gradients_of_solutions<E: Float>(matrices: &[Vec<f64>], [m, n]: [usize; 2], scale: f64) -> Vec<Vec<f64>> {
    fn f<A: Algebra, E: Float>((a, b): &(Matrix<A, E>, Vector<A, E>)) -> Scalar<A, E> {
        let weights = (iota::<A>(a.shape()[1]) + 1).cast::<E>();
        (lstsq(a, b) * weights).sum()
    }
    let all = matrices.iter().flat_map(|elements| {
        let scaled: Vec<E> = elements.iter().map(|&x| E::from_number(x * scale)).collect();
        let a = Matrix::<C, E>::from_elements((m, n), scaled);
        let b = (iota::<C>(m) + 1).cast::<E>() * scalar(E::from_number(scale));
        let at = (a, b);
        let eager = grad(|at| f(at), &at);
        let staged = stage(|at: &(Matrix<_, E>, Vector<_, E>)| f(at), &at).unwrap().grad().unwrap().call(&at).unwrap();
        [eager, staged].map(|(a, b)| {
            let both = a.cast::<f64>().to_vec().into_iter().chain(b.cast::<f64>().to_vec());
            both.map(|x| x * scale).collect::<Vec<f64>>()
        })
    });
    all.collect()
}

#[track_caller]
fn assert_close(found: &[Vec<f64>], expected: &[Vec<f64>], allowed: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let largest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let is_close = found.iter().zip(expected).all(|(x, y)| (x - y).abs() <= allowed * largest);
        assert!(is_close && largest > 0.0, "{found:?} instead of {expected:?}");
    }
}

#[test]
fn derivatives_of_least_squares_that_are_in_range() {
    let independent = vec![0.3, 0.2, -0.4, 1.0, 1.2, 0.5];
    let dependent = vec![1.0, 2.0, 2.0, 4.0, -1.0, -2.0];
    let matrices = [independent, dependent];
    for extents in [[3, 2], [2, 3]] {
        let matrices = if extents == [3, 2] { &matrices[..] } else { &matrices[..1] };
        let expected = gradients_of_solutions::<f64>(matrices, extents, 1.0);
        for scale in [1e-250, 1e250] {
            let found = gradients_of_solutions::<f64>(matrices, extents, scale);
            assert_close(&found, &expected, 1e-12);
        }
        for scale in [1e-30, 1e30] {
            let found = gradients_of_solutions::<f32>(matrices, extents, scale);
            assert_close(&found, &expected, 1e-4);
        }
    }
}

#[test]
fn second_derivatives_of_vectors_that_are_in_range() {
    fn f<A: Algebra>(a: &Matrix<A, f64>) -> Scalar<A, f64> {
        let weights = |shape: (usize, usize)| iota::<A>(shape.0 * shape.1).cast::<f64>().sin().reshape(shape);
        let Svd { u, v, .. } = svd(&a.slice(1, ..2));
        (eigh(a).vectors * weights((3, 3))).sum() + (u * weights((3, 2))).sum() + (v * weights((2, 2))).sum()
    }
    let (a, along) =
        (Matrix::from([[1.0, 0.5, 0.0], [0.5, 3.0, -1.0], [0.0, -1.0, 7.0]]), iota(9).cast().reshape((3, 3)));
    let at = |scale: f64| {
        let (a, along) = (&a * scale, &along * scale);
        let staged = stage(|a: &Matrix<_, f64>| f(a), &a).unwrap().grad().unwrap().jvp().unwrap();
        [hvp(f, &a, &along), staged.call((&a, &along)).unwrap().1].map(|found| (found * scale).to_vec())
    };
    let expected = at(1.0);
    for scale in [1e-250, 1e250] {
        assert_close(&at(scale), &expected, 1e-11);
    }
}

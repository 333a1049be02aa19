//! Factorisations, triangular solves and products of triangles: loops over elements and rows.

use deltaray::prelude::*;

/// The sum over `k` beyond a bound of `left[k] * right[k]`.
#[differentiable]
fn dot_beyond(left: Vector<f64>, right: Vector<f64>, bound: Scalar<i64>) -> Scalar<f64> {
    build(left.len(), |k| if k > bound { left[k] * right[k] } else { 0.0 }).sum()
}

/// The Cholesky factor of a symmetric positive definite matrix, in its lower triangle.
#[differentiable]
pub fn cholesky(mut a: Matrix<f64>) -> Matrix<f64> {
    let n = a.len();
    for i in rolled(0..n) {
        for j in rolled(0..i) {
            a[(i, j)] -= a[(i, ..j)].dot(&a[(j, ..j)]);
            a[(i, j)] /= a[(j, j)];
        }
        a[(i, i)] -= a[(i, ..i)].dot(&a[(i, ..i)]);
        a[(i, i)] = a[(i, i)].sqrt();
    }
    a
}

/// The solution of a linear system by its factors: the solution of the lower triangle, and of both.
#[differentiable]
pub fn ludcmp(mut a: Matrix<f64>, b: Vector<f64>) -> (Vector<f64>, Vector<f64>) {
    let n = a.len();
    let (mut x, mut y) = (zeros(n), zeros(n));
    for i in rolled(0..n) {
        for j in rolled(0..i) {
            a[(i, j)] -= a[(i, ..j)].dot(&a[(..j, j)]);
            a[(i, j)] /= a[(j, j)];
        }
        for j in rolled(i..n) {
            a[(i, j)] -= a[(i, ..i)].dot(&a[(..i, j)]);
        }
    }
    for i in rolled(0..n) {
        y[i] = b[i] - a[(i, ..i)].dot(&y[..i]);
    }
    for i in rolled((0..n).rev()) {
        x[i] = (y[i] - dot_beyond(&a[i], &x, &i)) / a[(i, i)];
    }
    (x, y)
}

/// The solution of a lower triangular system.
#[differentiable]
pub fn trisolv(l: Matrix<f64>, b: Vector<f64>) -> Vector<f64> {
    let n = b.len();
    let mut x = zeros(n);
    for i in rolled(0..n) {
        x[i] = (b[i] - l[(i, ..i)].dot(&x[..i])) / l[(i, i)];
    }
    x
}

/// The product of a symmetric matrix, given by its lower triangle, and another matrix, added to a third.
#[differentiable]
pub fn symm(
    a: Matrix<f64>,
    b: Matrix<f64>,
    mut c: Matrix<f64>,
    #[plain] alpha: f64,
    #[plain] beta: f64,
) -> Matrix<f64> {
    let (m, n) = (c.shape()[0], c.shape()[1]);
    let mut products = zeros(n);
    c *= beta;
    for i in rolled(0..m) {
        for j in rolled(0..n) {
            c[(.., j)] += build(m, |k| if k < i { alpha * b[(i, j)] * a[(i, k)] } else { 0.0 });
            products[j] = b[(..i, j)].dot(&a[(i, ..i)]);
        }
        c[i] += alpha * b[i] * a[(i, i)] + alpha * products;
    }
    c
}

/// The product of a matrix and its transpose, added to the lower triangle of another.
#[differentiable]
pub fn syrk(a: Matrix<f64>, mut c: Matrix<f64>, #[plain] alpha: f64, #[plain] beta: f64) -> Matrix<f64> {
    let (n, m) = (a.shape()[0], a.shape()[1]);
    for i in rolled(0..n) {
        c[i] *= build(n, |j| if j <= i { scalar(beta) } else { scalar(1.0) });
        for k in rolled(0..m) {
            c[i] += build(n, |j| if j <= i { alpha * a[(i, k)] * a[(j, k)] } else { 0.0 });
        }
    }
    c
}

/// The product of a unit lower triangular matrix' transpose and another.
#[differentiable]
pub fn trmm(a: Matrix<f64>, mut b: Matrix<f64>, #[plain] alpha: f64) -> Matrix<f64> {
    let (m, n) = (b.shape()[0], b.shape()[1]);
    for i in rolled(0..m) {
        for j in rolled(0..n) {
            b[(i, j)] += dot_beyond(&a[(.., i)], &b[(.., j)], &i);
        }
    }
    b * alpha
}

//! Sweeps over grids.

use deltaray::prelude::*;

/// Three points in one dimension, back and forth between two arrays.
#[differentiable]
pub fn jacobi_1d(mut a: Vector<f64>, mut b: Vector<f64>, #[plain] steps: usize) -> (Vector<f64>, Vector<f64>) {
    let n = a.len();
    for _ in rolled(1..steps) {
        b[1..n - 1] = 0.33333 * (a[..n - 2] + a[1..n - 1] + a[2..]);
        a[1..n - 1] = 0.33333 * (b[..n - 2] + b[1..n - 1] + b[2..]);
    }
    (a, b)
}

/// The mean of a point and its four neighbours, without the boundary.
#[differentiable]
fn mean_of_five(a: Matrix<f64>) -> Matrix<f64> {
    let n = a.len();
    let inner = 1..n - 1;
    let rows = a[(inner, inner)] + a[(inner, ..n - 2)] + a[(inner, 2..)];
    0.2 * (rows + a[(2.., inner)] + a[(..n - 2, inner)])
}

/// Five points in two dimensions, back and forth between two arrays.
#[differentiable]
pub fn jacobi_2d(mut a: Matrix<f64>, mut b: Matrix<f64>, #[plain] steps: usize) -> (Matrix<f64>, Matrix<f64>) {
    let n = a.len();
    for _ in rolled(1..steps) {
        b[(1..n - 1, 1..n - 1)] = mean_of_five(&a);
        a[(1..n - 1, 1..n - 1)] = mean_of_five(&b);
    }
    (a, b)
}

/// A step of the heat equation in three dimensions, without the boundary.
#[differentiable]
fn heated(a: Tensor3<f64>) -> Tensor3<f64> {
    let n = a.len();
    let inner = 1..n - 1;
    let middle = a[(inner, inner, inner)];
    let x = a[(2.., inner, inner)] - 2.0 * middle + a[(..n - 2, inner, inner)];
    let y = a[(inner, 2.., inner)] - 2.0 * middle + a[(inner, ..n - 2, inner)];
    let z = a[(inner, inner, 2..)] - 2.0 * middle + a[(inner, inner, ..n - 2)];
    0.125 * x + 0.125 * y + 0.125 * z + middle
}

/// The heat equation in three dimensions, back and forth between two arrays.
#[differentiable]
pub fn heat_3d(mut a: Tensor3<f64>, mut b: Tensor3<f64>, #[plain] steps: usize) -> (Tensor3<f64>, Tensor3<f64>) {
    let n = a.len();
    for _ in rolled(1..steps) {
        b[(1..n - 1, 1..n - 1, 1..n - 1)] = heated(&a);
        a[(1..n - 1, 1..n - 1, 1..n - 1)] = heated(&b);
    }
    (a, b)
}

/// Maxwell's equations in two dimensions by finite differences in time.
#[differentiable]
pub fn fdtd_2d(
    mut ex: Matrix<f64>,
    mut ey: Matrix<f64>,
    mut hz: Matrix<f64>,
    source: Vector<f64>,
) -> (Matrix<f64>, Matrix<f64>, Matrix<f64>) {
    let (rows, columns) = (hz.shape()[0], hz.shape()[1]);
    for t in rolled(0..source.len()) {
        ey[0] = source[t];
        ey[1..] -= 0.5 * (hz[1..] - hz[..rows - 1]);
        ex[(.., 1..)] -= 0.5 * (hz[(.., 1..)] - hz[(.., ..columns - 1)]);
        let (inner_rows, inner_columns) = (..rows - 1, ..columns - 1);
        hz[(inner_rows, inner_columns)] -= 0.7
            * (ex[(inner_rows, 1..)] - ex[(inner_rows, inner_columns)] + ey[(1.., inner_columns)]
                - ey[(inner_rows, inner_columns)]);
    }
    (ex, ey, hz)
}

/// Gauss-Seidel sweeps of nine points; each point reads values that were just written.
#[differentiable]
pub fn seidel_2d(mut a: Matrix<f64>, #[plain] steps: usize) -> Matrix<f64> {
    let n = a.len();
    for _ in rolled(0..steps - 1) {
        for i in rolled(1..n - 1) {
            let above = a[(i - 1, ..n - 2)] + a[(i - 1, 1..n - 1)] + a[(i - 1, 2..)];
            let below = a[(i + 1, ..n - 2)] + a[(i + 1, 1..n - 1)] + a[(i + 1, 2..)];
            a[(i, 1..n - 1)] += above + a[(i, 2..)] + below;
            for j in rolled(1..n - 1) {
                a[(i, j)] += a[(i, j - 1)];
                a[(i, j)] /= 9.0;
            }
        }
    }
    a
}

/// Alternating directions, implicitly: along columns, then along rows.
#[differentiable]
pub fn adi(mut u: Matrix<f64>, #[plain] steps: usize) -> Matrix<f64> {
    let n = u.len();
    let (mut v, mut p, mut q) = (zeros((n, n)), zeros((n, n)), zeros((n, n)));
    let (dx, dt) = (1.0 / n as f64, 1.0 / steps as f64);
    let (along, across) = (2.0 * dt / (dx * dx), dt / (dx * dx));
    let (a, b, d, e) = (-along / 2.0, 1.0 + across, -across / 2.0, 1.0 + across);
    for _ in rolled(0..steps) {
        v[(0, 1..n - 1)] = 1.0;
        p[(1..n - 1, 0)] = 0.0;
        q[(1..n - 1, 0)] = 1.0;
        for j in rolled(1..n - 1) {
            let divisor = a * p[(1..n - 1, j - 1)] + b;
            let from = -d * u[(j, ..n - 2)] + (1.0 + 2.0 * d) * u[(j, 1..n - 1)] - d * u[(j, 2..)];
            q[(1..n - 1, j)] = (from - a * q[(1..n - 1, j - 1)]) / divisor;
            p[(1..n - 1, j)] = -a / divisor;
        }
        v[(n - 1, 1..n - 1)] = 1.0;
        for j in rolled((1..n - 1).rev()) {
            v[(j, 1..n - 1)] = p[(1..n - 1, j)] * v[(j + 1, 1..n - 1)] + q[(1..n - 1, j)];
        }
        u[(1..n - 1, 0)] = 1.0;
        p[(1..n - 1, 0)] = 0.0;
        q[(1..n - 1, 0)] = u[(1..n - 1, 0)];
        for j in rolled(1..n - 1) {
            let divisor = d * p[(1..n - 1, j - 1)] + e;
            let from = -a * v[(..n - 2, j)] + (1.0 + 2.0 * a) * v[(1..n - 1, j)] - a * v[(2.., j)];
            q[(1..n - 1, j)] = (from - d * q[(1..n - 1, j - 1)]) / divisor;
            p[(1..n - 1, j)] = -d / divisor;
        }
        u[(1..n - 1, n - 1)] = 1.0;
        for j in rolled((1..n - 1).rev()) {
            u[(1..n - 1, j)] = p[(1..n - 1, j)] * u[(1..n - 1, j + 1)] + q[(1..n - 1, j)];
        }
    }
    u
}

/// Deriche's edge detector: a recursive filter along rows in both directions, then along columns.
#[differentiable]
pub fn deriche(image: Matrix<f64>, alpha: Scalar<f64>) -> Matrix<f64> {
    let (rows, columns) = (image.shape()[0], image.shape()[1]);
    let decay = (-alpha).exp();
    let k = (1.0 - decay) * (1.0 - decay) / (1.0 + alpha * decay - (2.0 * alpha).exp());
    let (a1, a2, a3) = (k, k * decay * (alpha - 1.0), k * decay * (alpha + 1.0));
    let a4 = -k * (-2.0 * alpha).exp();
    let (b1, b2) = ((-alpha * 2f64.ln()).exp(), -(-2.0 * alpha).exp());
    let (mut y1, mut y2) = (zeros((rows, columns)), zeros((rows, columns)));
    y1[(.., 0)] = a1 * image[(.., 0)];
    y1[(.., 1)] = a1 * image[(.., 1)] + a2 * image[(.., 0)] + b1 * y1[(.., 0)];
    for j in rolled(2..columns) {
        let from = a1 * image[(.., j)] + a2 * image[(.., j - 1)];
        y1[(.., j)] = from + b1 * y1[(.., j - 1)] + b2 * y1[(.., j - 2)];
    }
    y2[(.., columns - 2)] = a3 * image[(.., columns - 1)];
    for j in rolled((0..columns - 2).rev()) {
        let from = a3 * image[(.., j + 1)] + a4 * image[(.., j + 2)];
        y2[(.., j)] = from + b1 * y2[(.., j + 1)] + b2 * y2[(.., j + 2)];
    }
    let smooth = y1 + y2;
    y1[0] = a1 * smooth[0];
    y1[1] = a1 * smooth[1] + a2 * smooth[0] + b1 * y1[0];
    for i in rolled(2..rows) {
        y1[i] = a1 * smooth[i] + a2 * smooth[i - 1] + b1 * y1[i - 1] + b2 * y1[i - 2];
    }
    y2[rows - 1] = 0.0;
    y2[rows - 2] = a3 * smooth[rows - 1];
    for i in rolled((0..rows - 2).rev()) {
        y2[i] = a3 * smooth[i + 1] + a4 * smooth[i + 2] + b1 * y2[i + 1] + b2 * y2[i + 2];
    }
    y1 + y2
}

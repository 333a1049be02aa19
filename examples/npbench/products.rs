//! Products of matrices and vectors, statistics, shortest paths, and layers of networks.

use deltaray::functions;
use deltaray::prelude::*;

#[differentiable]
pub fn atax(a: Matrix<f64>, x: Vector<f64>) -> Vector<f64> {
    a.dot(x).dot(a)
}

#[differentiable]
pub fn bicg(a: Matrix<f64>, p: Vector<f64>, r: Vector<f64>) -> (Vector<f64>, Vector<f64>) {
    (r.dot(a), a.dot(p))
}

#[differentiable]
pub fn gemm(a: Matrix<f64>, b: Matrix<f64>, c: Matrix<f64>, #[plain] alpha: f64, #[plain] beta: f64) -> Matrix<f64> {
    alpha * a.dot(b) + beta * c
}

#[differentiable]
pub fn gemver(
    mut a: Matrix<f64>,
    (u1, v1, u2, v2): (Vector<f64>, Vector<f64>, Vector<f64>, Vector<f64>),
    (mut w, mut x, y, z): (Vector<f64>, Vector<f64>, Vector<f64>, Vector<f64>),
    #[plain] alpha: f64,
    #[plain] beta: f64,
) -> (Matrix<f64>, Vector<f64>, Vector<f64>) {
    a += u1.insert_axis(1) * v1 + u2.insert_axis(1) * v2;
    x += beta * y.dot(&a) + z;
    w += alpha * a.dot(&x);
    (a, w, x)
}

#[differentiable]
pub fn gesummv(a: Matrix<f64>, b: Matrix<f64>, x: Vector<f64>, #[plain] alpha: f64, #[plain] beta: f64) -> Vector<f64> {
    alpha * a.dot(x) + beta * b.dot(x)
}

#[differentiable]
pub fn k2mm(
    a: Matrix<f64>,
    b: Matrix<f64>,
    c: Matrix<f64>,
    d: Matrix<f64>,
    #[plain] alpha: f64,
    #[plain] beta: f64,
) -> Matrix<f64> {
    alpha * a.dot(b).dot(c) + beta * d
}

#[differentiable]
pub fn k3mm(a: Matrix<f64>, b: Matrix<f64>, c: Matrix<f64>, d: Matrix<f64>) -> Matrix<f64> {
    a.dot(b).dot(c).dot(d)
}

#[differentiable]
pub fn doitgen(a: Tensor3<f64>, c4: Matrix<f64>) -> Tensor3<f64> {
    let (r, q, p) = (a.shape()[0], a.shape()[1], a.shape()[2]);
    a.reshape((r * q, p)).dot(c4).reshape((r, q, p))
}

/// The correlation of the columns of a table.
#[differentiable]
pub fn correlation(data: Matrix<f64>) -> Matrix<f64> {
    let (n, m) = (data.shape()[0], data.shape()[1]);
    let centred = data - data.mean_axis(0);
    let deviation = data.variance_axis(0).sqrt();
    let deviation = (deviation.le(0.1)).select(1.0, deviation);
    let scaled = centred / ((n as f64).sqrt() * deviation);
    let mut correlation = build((m, m), |(i, j)| (i == j) as f64);
    for i in rolled(0..m - 1) {
        let row = scaled[(.., i)].dot(&scaled);
        correlation[i] = build(m, |j| if j > i { row[j] } else { correlation[(i, j)] });
        correlation[(.., i)] = build(m, |j| if j > i { row[j] } else { correlation[(j, i)] });
    }
    correlation
}

/// The covariance of the columns of a table.
#[differentiable]
pub fn covariance(data: Matrix<f64>) -> Matrix<f64> {
    let (n, m) = (data.shape()[0], data.shape()[1]);
    let centred = data - data.mean_axis(0);
    let mut covariance = zeros((m, m));
    for i in rolled(0..m) {
        let row = centred[(.., i)].dot(&centred) / (n as f64 - 1.0);
        covariance[i] = build(m, |j| if j >= i { row[j] } else { covariance[(i, j)] });
        covariance[(.., i)] = build(m, |j| if j >= i { row[j] } else { covariance[(j, i)] });
    }
    covariance
}

/// The lengths of the shortest paths between all pairs.
#[differentiable]
pub fn floyd_warshall(mut path: Matrix<f64>) -> Matrix<f64> {
    for k in rolled(0..path.len()) {
        path = path.min(path[(.., k)].insert_axis(1) + path[k]);
    }
    path
}

/// The softmax of the last of four axes.
#[differentiable]
pub fn softmax(x: Tensor4<f64>) -> Tensor4<f64> {
    functions::softmax(x, 3)
}

/// Three layers.
#[differentiable]
pub fn mlp(
    input: Matrix<f64>,
    (w1, b1): (Matrix<f64>, Vector<f64>),
    (w2, b2): (Matrix<f64>, Vector<f64>),
    (w3, b3): (Matrix<f64>, Vector<f64>),
) -> Matrix<f64> {
    let x = (input.dot(w1) + b1).relu();
    let x = (x.dot(w2) + b2).relu();
    functions::softmax(&(x.dot(w3) + b3), 1)
}

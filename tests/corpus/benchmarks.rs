//! Objectives of the ADBench suite, at its smallest inputs, with the values and derivatives that it states.

use super::prelude::*;

/// The logarithm of the likelihood of points under a mixture of Gaussians, with a Wishart prior of parameters `gamma` and 0.
/// The inverse covariances have Cholesky factors whose diagonals are given by their logarithms.
fn mixture<A: Algebra>(
    alphas: &Vector<A, f64>,
    means: &Matrix<A, f64>,
    factors: &Matrix<A, f64>,
    points: &Matrix<A, f64>,
    gamma: f64,
    prior: f64,
) -> Scalar<A, f64> {
    let (n, k, d) = (points.len(), alphas.len(), means.shape()[1]);
    let logarithms = factors.slice(1, 0..d);
    let diagonals = logarithms.exp();
    let volumes = logarithms.sum_axis(1);
    // Below the diagonal column by column: position of row `r` and column `c`.
    let below = |r: &Scalar<A, i64>, c: &Scalar<A, i64>| c * (2 * d as i64 - 1 - c) / 2 + r - c - 1 + d as i64;
    let lower = build((k, d, d), |(g, r, c)| {
        let entry = cond(r.gt(&c), || factors.at((&g, below(&r, &c))), || scalar(0.0));
        cond(r.equal(&c), || diagonals.at((&g, &r)), || entry.clone())
    });
    let terms = build((n, k), |(i, g)| {
        let z = lower.at(&g).dot(&(points.at(&i) - means.at(&g)));
        alphas.at(&g) + volumes.at(&g) - 0.5 * z.dot(&z)
    });
    let largest = terms.max_axis(1);
    let likelihood = ((terms - largest.insert_axis(1)).exp().sum_axis(1).ln() + largest).sum();
    let most = alphas.max_all();
    let weights = (alphas - &most).exp().sum().ln() + most;
    let count = (n * d) as f64;
    let off_diagonal = factors.slice(1, d..d * (d + 1) / 2);
    let spread = diagonals.powi(2).sum() + off_diagonal.powi(2).sum();
    likelihood - (n as f64) * weights - 0.5 * count * std::f64::consts::TAU.ln() + 0.5 * gamma * gamma * spread - prior
}

/// The Wishart prior's normalisation for two axes: `k·(n·d·(ln γ − ½ ln 2) − ln Γ₂(n/2))`, `n = d + 1`.
fn prior_of_two_axes(k: usize, gamma: f64) -> f64 {
    // ln Γ₂(3/2) = ½ ln π + ln Γ(3/2) + ln Γ(1), and Γ(3/2) = √π / 2.
    let gammas = std::f64::consts::PI.ln() - std::f64::consts::LN_2;
    k as f64 * (6.0 * (gamma.ln() - 0.5 * std::f64::consts::LN_2) - gammas)
}

/// A vector turned about an axis, by the axis' length as angle.
fn rotated<A: Algebra>(axis: &Vector<A, f64>, x: &Vector<A, f64>) -> Vector<A, f64> {
    let square = axis.dot(axis);
    let cross = |a: &Vector<A, f64>, b: &Vector<A, f64>| {
        build(3, |i| {
            let (j, k) = ((&i + 1) % 3, (&i + 2) % 3);
            a.at(&j) * b.at(&k) - a.at(&k) * b.at(&j)
        })
    };
    cond(
        square.gt(0.0),
        || {
            let angle = square.sqrt();
            let w = axis / &angle;
            x * angle.cos() + cross(&w, x) * angle.sin() + &w * (w.dot(x) * (1.0 - angle.cos()))
        },
        || x + cross(axis, x),
    )
}

/// How far a camera's picture of a point is from where it was seen, weighted.
///
/// The camera is its rotation, centre, focal length, principal point and two coefficients of radial distortion.
fn reprojection<A: Algebra>(
    camera: &Vector<A, f64>,
    x: &Vector<A, f64>,
    weight: &Scalar<A, f64>,
    seen: &Vector<A, f64>,
) -> Vector<A, f64> {
    let seen_from = rotated(&camera.slice(0, 0..3), &(x - camera.slice(0, 3..6)));
    let flat = seen_from.slice(0, 0..2) / seen_from.at(2);
    let square = flat.dot(&flat);
    let distortion = 1.0 + camera.at(9) * &square + camera.at(10) * &square * &square;
    weight * (flat * distortion * camera.at(6) + camera.slice(0, 7..9) - seen)
}

fn camera() -> V {
    v([
        1.797201, 0.590697, -0.635786, 90.85955, 29.361415, 28.777534, 211.628116, -0.284531, -14.762924, 0.058931,
        0.069976,
    ])
}

/// The rows.
pub fn rows() -> Vec<Row> {
    vec![
        row!("Gaussian mixture of ADBench": (V, M, M, M) => S,
        |(alphas, means, factors, points)| mixture(alphas, means, factors, points, 1.0, prior_of_two_axes(3, 1.0)),
        (
            v([-0.649014, 1.181166, -0.758453]),
            m([[0.092339, 0.186260], [0.345561, 0.396767], [0.538817, 0.419195]]),
            m([[0.586443, -0.851887, 0.800321], [-1.509405, 0.875874, -0.242790], [0.166813, -1.965419, -1.270071]]),
            m([[1.175171, 2.029160]]),
        ))
        .value([8.073804080049758])
        .gradient([
            0.10866285550865,
            -0.74127003952390,
            0.63260718401525,
            1.11692576532787,
            0.16333301355146,
            -0.02199898240712,
            0.22777829225424,
            1.20963025612832,
            -0.06063759207340,
            2.58529994051162,
            0.11263269452421,
            0.38574430984961,
            0.07351805731823,
            5.41836362715595,
            -0.32149440967745,
            1.71892309775005,
            0.86009109079087,
            -0.99464093046632,
            // Moving the point is moving all means the other way.
            -(1.11692576532787 - 0.02199898240712 + 1.20963025612832),
            -(0.16333301355146 + 0.22777829225424 - 0.06063759207340),
        ])
        .digits(1e-9)
        .smooth(),
        row!("bundle adjustment of ADBench": (V, V, S, V) => (V, S),
            |(camera, x, w, seen)| (reprojection(camera, x, w, seen), 1.0 - w * w),
            (camera(), v([4.173048, 5.586898, 1.403869]), s(0.417022), v([-525.672849, 161.811929])))
        .value([-0.269048849235189, 0.259944792677902, 0.826092651516])
        .digits(1e-8)
        .smooth(),
        row!("first error of bundle adjustment": (V, V, S) => S,
            |(camera, x, w)| reprojection(camera, x, w, &constant(&v([-525.672849, 161.811929]))).at(0),
            (camera(), v([4.173048, 5.586898, 1.403869]), s(0.417022)))
        .gradient([
            228.877202208247,
            634.574811495545,
            -782.222866259341,
            2.42892615607160,
            -11.7828079628011,
            2.54169312487743,
            -1.03657084958519,
            0.417022,
            0.0,
            -350.739521096005,
            -912.107773668009,
            -2.42892615607160,
            11.7828079628011,
            -2.54169312487743,
            -0.645167039712987,
        ])
        .digits(1e-9)
        .smooth(),
        row!("weight error of bundle adjustment": S => S, |w| 1.0 - w * w, s(0.417022))
            .value([0.826092651516])
            .gradient([-0.834044])
            .digits(1e-11)
            .smooth(),
    ]
}

//! What models are made of: softmax, normalisation, losses.

use super::prelude::*;
use deltaray::functions::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    vec![
        row!("softmax": V => V, |x| softmax(x, 0) * x, v([1.0, 2.0, 3.0])).smooth(),
        row!("softmax, known": V => V, |x| softmax(x, 0), v([0.0, 0.0, std::f64::consts::LN_2]))
            .value([0.25, 0.25, 0.5])
            .gradient([0.0; 3])
            .smooth(),
        row!("softmax of columns": M => M, |a| softmax(a, 0).powi(2), some((3, 2), 381)).smooth(),
        row!("softmax of large numbers": V => V, |x| softmax(x, 0), v([1000.0, 1000.0])).value([0.5, 0.5]),
        row!("log-softmax": M => M, |a| log_softmax(a, 1), some((2, 3), 382)).smooth(),
        row!("log-softmax far from the largest": V => V, |x| log_softmax(x, 0), v([-1000.0, 0.0])).value([-1000.0, 0.0]),
        row!("standardised rows": M => M, |a| standardise(a, 1, 1e-3).powi(3), some((3, 4), 383)).smooth(),
        row!("layer norm": (M, V, V) => M, |(a, g, b)| layer_norm(a, 1, g, b, 1e-5), (some((2, 4), 384), some(4, 385), some(4, 386)))
            .smooth(),
        row!("softmax cross-entropy, the function": (M, Ns) => S,
            |(scores, labels)| softmax_cross_entropy(scores, labels), (some((4, 3), 387), ns([0, 2, 1, 1])))
            .smooth(),
        row!("softmax cross-entropy, known": (M, Ns) => S, |(scores, labels)| softmax_cross_entropy(scores, labels),
            (m([[0.0, 0.0], [0.0, 0.0]]), ns([0, 1])))
            .value([std::f64::consts::LN_2])
            .gradient([-0.25, 0.25, 0.25, -0.25])
            .smooth(),
        row!("binary cross-entropy": (V, Bs) => S, |(x, t)| binary_cross_entropy(x, t),
            (v([0.0, 2.0, -100.0]), vec![true, false, false].into()))
            .value([(std::f64::consts::LN_2 + (1.0 + 2.0f64.exp()).ln()) / 3.0])
            .smooth(),
        row!("mean squared error": (M, M) => S, |(a, b)| mean_squared_error(a, b), (some((2, 3), 388), some((2, 3), 389))).smooth(),
        row!("Huber loss": (V, V) => S, |(x, y)| huber(x, y, 1.0), (v([0.5, 3.0, -2.0]), v([0.0, 0.0, 0.0])))
            .value([(0.125 + 2.5 + 1.5) / 3.0])
            .gradient([0.5 / 3.0, 1.0 / 3.0, -1.0 / 3.0, -0.5 / 3.0, -1.0 / 3.0, 1.0 / 3.0])
            .smooth(),
    ]
}

//! Building blocks of models: softmax, normalisation, losses.

use super::prelude::*;
use deltaray::functions::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = models();
    rows.extend(windows());
    rows
}

fn windows() -> Vec<Row> {
    vec![
        row!("convolution, 1-d": (T3, T3) => T3, |(x, k)| convolution_1d(x, k, &Window::default(), 1),
            (t((1, 1, 4), &[1.0, 2.0, 3.0, 4.0]), t((1, 1, 2), &[1.0, 10.0])))
            .value([21.0, 32.0, 43.0])
            .gradient([1.0, 11.0, 11.0, 10.0, 6.0, 9.0])
            .smooth(),
        row!("convolution, 1-d, in groups": (T3, T3) => T3, |(x, k)| convolution_1d(x, k, &Window::default(), 2),
            (some((2, 4, 5), 391), some((2, 2, 3), 392)))
            .smooth(),
        row!("convolution, 2-d": (T4, T4) => T4, |(x, k)| convolution_2d(x, k, &Window::default(), 1),
            (some((2, 2, 4, 3), 393), some((3, 2, 2, 2), 394)))
            .smooth(),
        row!("convolution, 2-d, strided, padded and dilated": (T4, T4) => T4,
            |(x, k)| convolution_2d(x, k, &Window { stride: [2, 1], padding: [(1, 0), (1, 2)], dilation: [1, 2] }, 1),
            (some((1, 2, 4, 3), 395), some((2, 2, 2, 2), 396)))
            .smooth(),
        row!("convolution, 3-d": (T5, T5) => T5, |(x, k)| convolution_3d(x, k, &Window::default(), 1),
            (some((1, 1, 3, 2, 3), 397), some((2, 1, 2, 2, 2), 398)))
            .smooth(),
        row!("max pooling": T3 => T3, |x| max_pool_1d(x, [2], &Window { stride: [2], ..Window::default() }),
            t((1, 1, 5), &[1.0, 3.0, -2.0, -1.0, 9.0]))
            .value([3.0, -1.0])
            .gradient([0.0, 1.0, 0.0, 1.0, 0.0])
            .smooth(),
        row!("max pooling with padding": T3 => T3, |x| max_pool_1d(x, [2], &Window { padding: [(1, 1)], ..Window::default() }),
            t((1, 1, 2), &[-1.0, -3.0]))
            .value([-1.0, -1.0, -3.0])
            .gradient([2.0, 1.0])
            .smooth(),
        row!("max pooling, 2-d": T4 => T4, |x| max_pool_2d(x, [2, 2], &Window { stride: [2, 2], ..Window::default() }),
            some((2, 1, 4, 4), 399))
            .smooth(),
        row!("mean pooling, 2-d": T4 => T4,
            |x| mean_pool_2d(x, [2, 2], &Window { padding: [(1, 0), (0, 1)], ..Window::default() }), some((1, 2, 3, 3), 400))
            .smooth(),
        row!("pooling, 3-d": T5 => (T5, T5),
            |x| (max_pool_3d(x, [1, 2, 2], &Window::default()), mean_pool_3d(x, [2, 1, 1], &Window::default())),
            some((1, 1, 2, 3, 2), 401))
            .smooth(),
    ]
}

fn models() -> Vec<Row> {
    vec![
        row!("softmax, the function": V => V, |x| softmax(x, 0) * x, v([1.0, 2.0, 3.0])).smooth(),
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

//! Products, running totals and logarithms of sums of exponentials.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    vec![
        row!("product of elements": V => S, |x| x.product(), v([1.0, 2.0, 3.0, 4.0, 5.0]))
            .value([120.0])
            .gradient([120.0, 60.0, 40.0, 30.0, 24.0])
            .smooth(),
        row!("product with one zero": V => S, |x| x.product(), v([2.0, 0.0, 3.0, 5.0]))
            .value([0.0])
            .gradient([0.0, 30.0, 0.0, 0.0])
            .smooth(),
        row!("product with two zeros": V => S, |x| x.product(), v([2.0, 0.0, 3.0, 0.0]))
            .value([0.0])
            .gradient([0.0; 4])
            .smooth(),
        row!("product of nothing": V => S, |x| x.product() + x.sum(), v([])).value([1.0]).gradient([]),
        row!("product of one": V => S, |x| x.product(), v([3.0])).value([3.0]).gradient([1.0]).smooth(),
        row!("products of rows and columns": M => (V, V), |a| (a.product_axis(1), a.product_axis(0)), some((3, 5), 311))
            .smooth(),
        row!("product over two of three axes": T3 => V, |a| a.product_axes([2, 0]), some((2, 3, 2), 312)).smooth(),
        row!("product in a build": M => V, |a| build(3, |i| a.at(&i).product() * a.at((&i, 0))), some((3, 4), 313))
            .smooth(),
        row!("product of integers": (V, Ns) => V, |(x, k)| x * k.product().cast::<f64>(), (v([0.5, 2.0]), ns([1, 2, 3])))
            .value([3.0, 12.0])
            .gradient([6.0, 6.0])
            .smooth(),
        row!("running sum": V => V, |x| x.cumsum(0), v([1.0, 2.0, 3.0, 4.0, 5.0]))
            .value([1.0, 3.0, 6.0, 10.0, 15.0])
            .gradient([5.0, 4.0, 3.0, 2.0, 1.0])
            .smooth(),
        row!("running sum backwards": V => V, |x| x.cumsum_reverse(0), v([1.0, 2.0, 3.0, 4.0]))
            .value([10.0, 9.0, 7.0, 4.0])
            .gradient([1.0, 2.0, 3.0, 4.0])
            .smooth(),
        row!("running sums of two axes": M => M, |a| a.cumsum(0).cumsum(1), m([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
            .value([1.0, 3.0, 6.0, 5.0, 12.0, 21.0])
            .gradient([6.0, 4.0, 2.0, 3.0, 2.0, 1.0])
            .smooth(),
        row!("running sum of nothing": V => V, |x| x.cumsum(0), v([])).value([]).gradient([]),
        row!("running sum of one": V => V, |x| x.cumsum(0).sin(), v([2.0])).smooth(),
        row!("running product": V => V, |x| x.cumprod(0), v([1.0, 2.0, 3.0, 4.0, 5.0]))
            .value([1.0, 2.0, 6.0, 24.0, 120.0])
            .gradient([153.0, 76.0, 50.0, 36.0, 24.0])
            .smooth(),
        row!("weighted running product": V => S, |x| (x.cumprod(0) * x).sum(), v([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .gradient([5040.0, 2521.0, 1684.0, 1278.0, 1104.0, 1440.0])
            .smooth(),
        row!("running product with zeros": V => V, |x| x.cumprod(0), v([2.0, 0.0, 3.0, 0.0, 5.0]))
            .value([2.0, 0.0, 0.0, 0.0, 0.0])
            .gradient([1.0, 2.0 + 6.0, 0.0, 0.0, 0.0])
            .smooth(),
        row!("running product backwards": M => M, |a| a.cumprod_reverse(1), some((2, 7), 314)).smooth(),
        row!("largest so far": V => V, |x| x.cummax(0), v([1.0, 3.0, 2.0, 5.0, 4.0]))
            .value([1.0, 3.0, 3.0, 5.0, 5.0])
            .gradient([1.0, 2.0, 0.0, 2.0, 0.0])
            .smooth(),
        row!("smallest so far, backwards": V => V, |x| x.cummin_reverse(0), v([1.0, 3.0, 2.0, 5.0, 4.0, 6.0]))
            .value([1.0, 2.0, 2.0, 4.0, 4.0, 6.0])
            .gradient([1.0, 0.0, 2.0, 0.0, 2.0, 1.0])
            .smooth(),
        row!("equal largest so far": V => V, |x| x.cummax(0), v([2.0, 2.0, 1.0])).value([2.0; 3]).gradient([3.0, 0.0, 0.0]),
        row!("running sums in a build": M => M, |a| build(3, |i| a.at(i).cumsum(0).exp()), some((3, 4), 315)).smooth(),
        row!("running sum of integers as positions": (V, Ns) => V, |(x, k)| x.gather(&k.cumsum(0)), (some(7, 316), ns([1, 0, 2, 3])))
            .smooth(),
        row!("logsumexp": V => S, |x| x.logsumexp(), v([1.0, 2.0, 3.0]))
            .value([3.4076059644443806])
            .gradient([0.09003057317038046, 0.24472847105479764, 0.6652409557748219])
            .smooth(),
        row!("logsumexp as a method, of large numbers": V => S, |x| x.logsumexp(), v([1000.0, 1000.0]))
            .value([1000.0 + std::f64::consts::LN_2])
            .gradient([0.5, 0.5]),
        row!("logsumexp as a method, of rows": M => V, |a| a.logsumexp_axis(1), some((3, 4), 317)).smooth(),
        row!("logsumexp over two of three axes": T3 => V, |a| a.logsumexp_axes([0, 2]), some((2, 3, 2), 318)).smooth(),
        row!("logsumexp as a method, of nothing": V => S, |x| x.logsumexp(), v([])).value([f64::NEG_INFINITY]).gradient([]),
        row!("running logsumexp": V => V, |x| x.cumlogsumexp(0), some(6, 319)).smooth(),
        row!("variances": M => (S, V, V), |a| (a.variance(), a.variance_axis(0), a.variance_axis(1)), some((3, 4), 320))
            .smooth(),
        row!("variance of two axes": T3 => V, |a| a.variance_axes([2, 0]), some((2, 3, 2), 321)).smooth(),
        row!("a stopped gradient": V => V, |x| x * x.stop_gradient(), v([3.0, -2.0]))
            .value([9.0, 4.0])
            .gradient([3.0, -2.0]),
        row!("a stopped gradient in a derivative": V => V,
            |x| grad(|x| (x.powi(3) * x.stop_gradient()).sum(), x), v([3.0, -2.0]))
            .value([81.0, -24.0])
            .gradient([54.0, 24.0]),
    ]
}

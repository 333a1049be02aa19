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
        row!("running totals along the middle axis": T3 => T3,
            |a| a.cumsum(1) * a.cumprod_reverse(1) + a.cummax(1), some((2, 4, 3), 322))
        .smooth(),
        row!("running product of a leading zero": V => V, |x| x.cumprod(0), v([0.0, 2.0, 3.0]))
            .value([0.0; 3])
            .gradient([1.0 + 2.0 + 6.0, 0.0, 0.0])
            .smooth(),
        row!("running product backwards, with zeros": V => V, |x| x.cumprod_reverse(0), v([2.0, 0.0, 3.0]))
            .value([0.0, 0.0, 3.0])
            .gradient([0.0, 2.0 * 3.0 + 3.0, 1.0])
            .smooth(),
        row!("running totals of one": V => V, |x| x.cumprod(0) * x.cummin_reverse(0), v([3.0]))
            .value([9.0])
            .gradient([6.0])
            .smooth(),
        row!("running totals of two": V => V, |x| x.cumprod_reverse(0) + x.cummax(0), v([3.0, 2.0]))
            .value([9.0, 5.0])
            .gradient([4.0, 4.0])
            .smooth(),
        row!("running totals of no rows, and of empty ones": M => S,
            |a| a.slice(0, ..0).cumprod(0).sum() + a.slice(0, ..0).cummax(1).sum() + a.sum(), m([[1.0, 2.0], [3.0, 4.0]]))
        .value([10.0])
        .gradient([1.0; 4])
        .smooth(),
        row!("largest so far, first of nothing": V => V, |x| x.cummax(0), v([f64::NEG_INFINITY, f64::NEG_INFINITY, 1.0]))
            .value([f64::NEG_INFINITY, f64::NEG_INFINITY, 1.0])
            .gradient([2.0, 0.0, 1.0]),
        row!("running totals of single precision": V => V,
            |x| (x.cast::<f32>().cumsum_reverse(0) * x.cast::<f32>().cumprod(0)).cast::<f64>(), v([0.5, 2.0, 4.0]))
        .value([3.25, 6.0, 16.0])
        .gradient([51.0, 12.5, 9.5]),
        row!("running totals of integers as positions": (V, Ns) => V,
            |(x, k)| x.gather(&k.cummax_reverse(0)) * x.gather(&k.cumprod(0)), (some(7, 323), ns([1, 3, 2, 1])))
        .smooth(),
        row!("running product in a map over columns": M => M,
            |a| vmap_axes(|column| column.cumprod(0) + column.cummin(0), a, [1], [1]), some((4, 3), 324))
        .smooth(),
        row!("a running product of a running sum": V => V, |x| x.cumsum_reverse(0).sin().cumprod(0), some(5, 325)).smooth(),
        row!("running sums in a loop": M => V,
            |a| fold(a.at(0), a, |sum, row| (sum + row).cumsum(0) * 0.5), some((3, 4), 326))
        .smooth(),
        row!("running logsumexp backwards, of rows": M => M, |a| a.cumlogsumexp_reverse(1), some((2, 5), 327)).smooth(),
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

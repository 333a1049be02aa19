//! Sums, extremes and their positions, means, and formulas of them.

use super::prelude::*;

/// A table of 2×3.
fn table() -> M {
    m([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
}

fn ten() -> V {
    some(10, 51) * 5.0
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = sums();
    rows.extend(extremes());
    rows.extend(formulas());
    rows
}

fn sums() -> Vec<Row> {
    vec![
        row!("sum": M => S, |x| x.sum(), table()).value([21.0]).gradient([1.0; 6]).smooth(),
        row!("sum over the outer axis": M => V, |x| x.sum_axis(0).powi(2), table())
            .value([25.0, 49.0, 81.0])
            .gradient([10.0, 14.0, 18.0, 10.0, 14.0, 18.0])
            .smooth(),
        row!("sum over the inner axis": M => V, |x| x.sum_axis(1).powi(2), table())
            .value([81.0, 144.0])
            .gradient([18.0, 18.0, 18.0, 24.0, 24.0, 24.0])
            .smooth(),
        row!("sum over two of three axes": T3 => V, |x| x.sum_axes([2, 0]).sin(), some((2, 3, 2), 52)).smooth(),
        row!("sum of sums": T3 => S, |x| x.sum_axis(1).sum_axis(0).sum().exp(), some((2, 2, 2), 53)).smooth(),
        row!("a row sum as a build": M => V, |x| build(2, |i| x.at(i).sum().exp()), some((2, 3), 54)).smooth(),
        row!("a column sum as a build": M => V,
            |x| build(3, |j| build(2, |i| x.at((i, &j))).sum().exp()), some((2, 3), 55))
        .smooth(),
        row!("means": M => (S, V, V), |x| (x.mean(), x.mean_axis(0), x.mean_axis(1)), table())
            .value([3.5, 2.5, 3.5, 4.5, 3.0, 4.0])
            .gradient([1.0 / 6.0 + 0.5 + 1.0 / 3.0; 6])
            .smooth(),
        row!("variance": V => S, |x| {
                let centred = x - x.mean();
                (&centred * &centred).mean()
            }, v([1.0, 2.0, 6.0]))
        .value([14.0 / 3.0])
        .gradient([-4.0 / 3.0, -2.0 / 3.0, 2.0])
        .smooth(),
        row!("a sum of many": V => S, |x| x.sum(), t(1000, &vec![0.1; 1000]))
            .value([100.0])
            .gradient([1.0; 1000])
            .smooth(),
        row!("a sum of a Rust iterator": (S, S, S) => S,
            |(x, y, z)| [x * y, y * z, z * x].into_iter().sum(), (s(1.0), s(2.0), s(3.0)))
        .value([11.0])
        .gradient([5.0, 4.0, 3.0])
        .smooth(),
        row!("a sum of integers": (V, Ns) => V, |(x, i)| x * i.sum().cast::<f64>(), (v([0.5, 2.0]), ns([1, 2, 3])))
            .value([3.0, 12.0])
            .gradient([6.0, 6.0])
            .smooth(),
        row!("counting": V => N, |x| x.gt(0.0).cast::<i64>().sum(), v([1.0, -1.0, 2.0]))
            .value([2.0])
            .gradient([0.0; 3]),
        row!("any and all": V => (Scalar<Concrete, bool>, Scalar<Concrete, bool>),
            |x| (x.gt(0.0).any(), x.gt(0.0).all()), v([1.0, -1.0]))
        .value([1.0, 0.0])
        .gradient([0.0; 2]),
        row!("any and all along an axis": M => (Bs, Bs), |x| (x.gt(3.0).any_axis(0), x.gt(1.0).all_axis(1)), table())
            .value([1.0, 1.0, 1.0, 0.0, 1.0]),
        row!("prefix sums by build": V => V, |x| {
                let n = x.len();
                build(n, |i| build(n, |j| j.le(&i).select(x.at(&j), 0.0)).sum())
            }, v([1.0, 2.0, 3.0, 4.0]))
        .value([1.0, 3.0, 6.0, 10.0])
        .gradient([4.0, 3.0, 2.0, 1.0])
        .smooth(),
        row!("f32 sum": Fs => F, |x| (x * x).sum(), f([1.0, 2.0, 3.0])).value([14.0]).gradient([2.0, 4.0, 6.0]),
    ]
}

fn extremes() -> Vec<Row> {
    vec![
        row!("maximum": V => S, |x| x.max_all() * 2.0, v([1.0, 5.0, 3.0]))
            .value([10.0])
            .gradient([0.0, 2.0, 0.0])
            .smooth(),
        row!("minimum": V => S, |x| x.min_all() * 2.0, v([1.0, 5.0, 3.0]))
            .value([2.0])
            .gradient([2.0, 0.0, 0.0])
            .smooth(),
        row!("maximum of equals": V => S, |x| x.max_all(), v([1.0, 1.0])).gradient([1.0, 0.0]),
        row!("minimum of equals": V => S, |x| x.min_all(), v([1.0, 1.0])).gradient([1.0, 0.0]),
        row!("maximum of magnitudes": V => S, |x| x.abs().max_all(), v([1.0, 2.0, 3.0, 4.0, 5.0, -6.0, 5.0]))
            .value([6.0])
            .gradient([0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0])
            .smooth(),
        row!("maximum along axes": M => (V, V), |x| (x.max_axis(0), x.max_axis(1)), table())
            .value([4.0, 5.0, 6.0, 5.0, 6.0])
            .gradient([0.0, 2.0, 0.0, 1.0, 0.0, 2.0])
            .smooth(),
        row!("minimum along several axes": T3 => V, |x| x.min_axes([0, 2]) * x.max_axes([0, 2]), some((2, 3, 2), 56))
            .smooth(),
        row!("a maximum of equals along an axis": M => V, |x| x.max_axis(1).powi(2), m([[2.0, 2.0], [1.0, 3.0]]))
            .value([4.0, 9.0])
            .gradient([4.0, 0.0, 0.0, 6.0])
            .once(),
        row!("a maximum as a build": M => V, |x| build(2, |i| x.at(i).max_all()), table())
            .value([5.0, 6.0])
            .gradient([0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
            .smooth(),
        row!("a maximum by folding": V => S, |x| (1..4).fold(x.at(0), |m, i| m.max(x.at(i))), v([1.0, 5.0, 3.0, 5.0]))
            .value([5.0])
            .gradient([0.0, 1.0, 0.0, 0.0])
            .once(),
        row!("positions of extremes": M => (N, N, Ns, Ns),
            |x| (x.argmax(), x.argmin(), x.argmax_axis(0), x.argmin_axis(1)), table())
            .value([5.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
            .gradient([0.0; 6]),
        row!("positions of equal extremes": V => (N, N), |x| (x.argmax(), x.argmin()), v([2.0, 1.0, 2.0, 1.0]))
            .value([0.0, 1.0]),
        row!("the element at the position of the maximum": V => S,
            |x| x.at(x.argmax()) * x.at(x.argmin()), v([1.0, 5.0, 3.0]))
            .value([5.0])
            .gradient([5.0, 1.0, 0.0])
            .smooth(),
        row!("the largest of each row by its position": M => V, |x| {
                let at = x.argmax_axis(1);
                build(2, |i| x.at((&i, at.at(&i))).exp())
            }, m([[0.1, 0.5, 0.3], [0.4, 0.2, 0.6]]))
            .value([0.5f64.exp(), 0.6f64.exp()])
            .gradient([0.0, 0.5f64.exp(), 0.0, 0.0, 0.0, 0.6f64.exp()])
            .smooth(),
        row!("integer extremes": (Ns, V) => V,
            |(i, x)| x * (i.max_all() - i.min_all()).cast::<f64>(), (ns([3, -2, 7]), v([1.0, 2.0])))
            .value([9.0, 18.0])
            .gradient([9.0, 9.0])
            .smooth(),
        row!("normalised by the range": V => V, |x| (x - x.min_all()) / (x.max_all() - x.min_all()), v([1.0, 5.0, 2.0]))
            .value([0.0, 1.0, 0.25])
            .gradient([-0.1875, -0.0625, 0.25])
            .smooth(),
        row!("f32 maximum": Fm => Fs, |x| x.max_axis(0), [[1.0, 5.0], [4.0, 2.0]].into())
            .value([4.0, 5.0])
            .gradient([0.0, 1.0, 1.0, 0.0]),
    ]
}

fn formulas() -> Vec<Row> {
    vec![
        row!("logsumexp, plain": V => S, |x| x.exp().sum().ln(), ten()).smooth(),
        row!("logsumexp, shifted": V => S, |x| {
                let m = x.max_all();
                (x - &m).exp().sum().ln() + m
            }, ten())
        .smooth(),
        row!("logsumexp, folded": V => S, |x| (1..10).fold(x.at(0), |s, i| {
                let y = x.at(i);
                s.max(&y) + (-(&s - &y).abs()).exp().ln1p()
            }), ten())
        .smooth(),
        row!("logsumexp of large numbers": V => S, |x| {
                let m = x.max_all();
                (x - &m).exp().sum().ln() + m
            }, v([1000.0, 1000.0]))
        .value([1000.0 + 2.0f64.ln()])
        .gradient([0.5, 0.5])
        .once(),
        row!("logsumexp of rows": M => V, |x| {
                let m = x.max_axis(1);
                (x - m.insert_axis(1)).exp().sum_axis(1).ln() + m
            }, some((3, 4), 57))
        .smooth(),
        row!("softmax": V => V, |x| {
                let e = x.exp();
                &e / e.sum() * Tensor::from_slice(&[1.0, 2.0, 4.0])
            }, v([0.1, 0.2, -0.3]))
        .smooth(),
        row!("softmax of rows as a build": M => M, |x| build(2, |i| {
                let e = (x.at(&i) - x.at(&i).max_all()).exp();
                &e / e.sum() * x.at(i)
            }), some((2, 3), 58))
        .smooth(),
        row!("a norm": V => S, |x| (x * x).sum().sqrt(), v([3.0, 4.0])).value([5.0]).gradient([0.6, 0.8]).smooth(),
        row!("a normalised vector": V => V, |x| x / (x * x).sum().sqrt(), v([3.0, 4.0]))
            .value([0.6, 0.8])
            .gradient([0.032, -0.024])
            .smooth(),
        row!("entropy": V => S, |p| -(p * p.ln()).sum(), v([0.2, 0.3, 0.5]))
            .gradient([-1.0 - 0.2f64.ln(), -1.0 - 0.3f64.ln(), -1.0 - 0.5f64.ln()])
            .smooth(),
        row!("a sum or a doubled one": V => S, |x| {
                let sum = x.sum();
                cond(sum.gt(0.0), || x.clone(), || x * 2.0).sum()
            }, v([1.0, -3.0]))
        .value([-4.0])
        .gradient([2.0, 2.0])
        .smooth(),
        row!("products without zeros": V => S,
            |x| (0..5).fold(scalar(1.0), |p, i| p * x.at(i)), v([1.0, 2.0, 3.0, 4.0, 5.0]))
        .value([120.0])
        .gradient([120.0, 60.0, 40.0, 30.0, 24.0])
        .smooth(),
        row!("products with one zero": V => S,
            |x| (0..4).fold(scalar(1.0), |p, i| p * x.at(i)), v([2.0, 0.0, 3.0, 4.0]))
        .value([0.0])
        .gradient([0.0, 24.0, 0.0, 0.0])
        .smooth(),
        row!("products with two zeros": V => S, |x| (1..4).fold(x.at(0), |p, i| p * x.at(i)), v([2.0, 0.0, 0.0, 4.0]))
            .value([0.0])
            .gradient([0.0; 4])
            .smooth(),
        row!("rounded positions and sines, multiplied": V => S, |x| {
                let (a, b) = (x.round(), x.sin());
                (a * b).sum()
            }, v([1.2, -2.7, 0.3]))
        .gradient([1.2f64.cos(), -3.0 * 2.7f64.cos(), 0.0])
        .smooth(),
        row!("nearest of three centres": (M, M) => S, |(p, c)| {
                build(p.len(), |i| {
                    build(c.len(), |k| {
                        let d = p.at(&i) - c.at(k);
                        (&d * &d).sum()
                    })
                    .min_all()
                })
                .sum()
            }, (some((6, 2), 59), some((3, 2), 60)))
        .smooth(),
    ]
}

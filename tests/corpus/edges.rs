//! Empty arrays, axes of length 1, rank 0, unused inputs, and numbers that are none.

use super::prelude::*;

const INFINITY: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const PI: f64 = std::f64::consts::PI;

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = empty();
    rows.extend(small());
    rows.extend(not_numbers());
    rows
}

fn nothing() -> V {
    v([])
}

fn empty() -> Vec<Row> {
    vec![
        row!("empty array of five axes": T5 => T5, |x| x.sin() * x, t([0, 2, 4, 0, 1], &[]))
            .value([])
            .gradient([])
            .smooth(),
        row!("sums of an empty array": T5 => (S, T4), |x| (x.sum(), x.sum_axis(0)), t([0, 2, 4, 0, 1], &[]))
            .value([0.0])
            .gradient([])
            .smooth(),
        row!("reshapes of an empty array": T5 => M, |x| x.reshape((0, 7)).transpose(), t([0, 2, 4, 0, 1], &[]))
            .value([])
            .gradient([]),
        row!("slices of an empty array": M => M, |x| x.slice(1, 1..2).reverse(0).append(1, x), t((0, 3), &[]))
            .value([])
            .gradient([]),
        row!("a build of nothing": V => V, |x| build(0, |i| x.at(i) * x.sum()), v([1.0, 2.0]))
            .value([])
            .gradient([0.0, 0.0])
            .smooth(),
        row!("a build of nothing, summed": V => S, |x| build(0, |i| x.at(i)).sum() + x.at(0), v([1.0, 2.0]))
            .value([1.0])
            .gradient([1.0, 0.0])
            .smooth(),
        row!("a build over no columns": V => M, |x| build((2, 0), |(i, j)| x.at(i) * x.at(j)), v([1.0, 2.0]))
            .value([])
            .gradient([0.0, 0.0])
            .smooth(),
        row!("a build of empty rows": M => M, |x| build(3, |i| x.at(i).sin()), t((3, 0), &[]))
            .value([])
            .gradient([])
            .smooth(),
        row!("reads from an empty axis": V => V, |x| build(3, |i| x.at(i) + 1.0), nothing())
            .value([1.0; 3])
            .gradient([])
            .smooth(),
        row!("a gather from an empty axis": (V, Ns) => V, |(x, at)| x.gather(at), (nothing(), ns([0, 1])))
            .value([0.0, 0.0])
            .gradient([])
            .smooth(),
        row!("a gather at no positions": (V, Ns) => V, |(x, at)| x.gather(at), (v([1.0, 2.0]), ns([])))
            .value([])
            .gradient([0.0, 0.0])
            .smooth(),
        row!("a scatter into nothing": (V, Ns) => V, |(x, at)| x.scatter(at, 0), (v([1.0, 2.0]), ns([0, 1])))
            .value([])
            .gradient([0.0, 0.0])
            .smooth(),
        row!("a scatter of nothing": (V, Ns) => V, |(x, at)| x.scatter(at, 2), (nothing(), ns([])))
            .value([0.0, 0.0])
            .gradient([])
            .smooth(),
        row!("a dot product of nothing": (V, V) => S, |(x, y)| x.dot(y), (nothing(), nothing()))
            .value([0.0])
            .gradient([])
            .smooth(),
        row!("a matrix product over nothing": (M, M) => M, |(a, b)| a.dot(b), (t((2, 0), &[]), t((0, 3), &[])))
            .value([0.0; 6])
            .gradient([])
            .smooth(),
        row!("a matrix product of no rows": (M, M) => M, |(a, b)| a.dot(b), (t((0, 2), &[]), some((2, 3), 211)))
            .value([])
            .gradient([0.0; 6])
            .smooth(),
        row!("a loop of no steps": (V, S) => (S, V),
            |(x, a)| scan(a.clone(), x, 0, |s, x| twice(s * x)), (nothing(), s(2.0)))
        .value([2.0])
        .gradient([1.0])
        .smooth(),
        row!("a loop of no steps over a capture": (V, S) => S,
            |(x, a)| scan(a.clone(), &(), 0, |s, ()| (s * x.sum(), ())).0, (v([1.0, 2.0]), s(2.0)))
        .value([2.0])
        .gradient([0.0, 0.0, 1.0])
        .smooth(),
        row!("extremes of nothing": V => (S, S), |x| (x.max_all(), x.min_all()), nothing())
            .value([-INFINITY, INFINITY])
            .gradient([])
            .once(),
        row!("extremes of no integers": Ns => (N, N, N, N),
            |x| (x.max_all(), x.min_all(), x.argmax(), x.argmin()), ns([]))
        .value([i64::MIN as f64, i64::MAX as f64, 0.0, 0.0]),
        row!("the mean of nothing": V => S, |x| x.mean(), nothing()).value([NAN]).values_only(),
        row!("sums over an axis of length 0": M => V, |x| x.sum_axis(0) + 1.0, t((0, 2), &[]))
            .value([1.0, 1.0])
            .gradient([])
            .smooth(),
        row!("replicated no times": V => M, |x| x.replicate(0), v([1.0, 2.0])).value([]).gradient([0.0, 0.0]).smooth(),
        row!("padded from nothing": V => V, |x| x.pad(0, 1, 1) + 2.0, nothing())
            .value([2.0, 2.0])
            .gradient([])
            .smooth(),
        row!("appended to nothing": (V, V) => V, |(x, y)| x.append(0, y).append(0, x), (nothing(), v([1.0, 2.0])))
            .value([1.0, 2.0])
            .gradient([1.0, 1.0])
            .smooth(),
        row!("a choice of empty arrays": (V, S) => V,
            |(x, t)| cond(t.gt(0.0), || x.sin(), || x.cos()), (nothing(), s(1.0)))
        .value([])
        .gradient([0.0])
        .smooth(),
        row!("a sum of exponentials of nothing": V => S, |x| x.exp().sum(), nothing())
            .value([0.0])
            .gradient([])
            .smooth(),
    ]
}

fn small() -> Vec<Row> {
    vec![
        row!("everything of rank 0": S => S, |x| {
                let y = x.sum() * x.reshape(()).transpose() + x.max_all() + x.mean();
                y.flatten().reshape(()) * x.replicate(1).remove_axis(0)
            }, s(3.0))
        .value([45.0])
        .gradient([39.0])
        .smooth(),
        row!("axes of length 1": T3 => T3,
            |x| x.tr(&[2, 1, 0]) * x.reverse(1) + x.sum_axis(0).insert_axis(0), t((1, 1, 1), &[3.0]))
        .value([12.0])
        .gradient([7.0])
        .smooth(),
        row!("a build of one": V => V, |x| build(1, |i| x.at(&i) * x.at(i)), v([3.0]))
            .value([9.0])
            .gradient([6.0])
            .smooth(),
        row!("a matrix product of one number": (M, M) => M, |(a, b)| a.dot(b), (m([[2.0]]), m([[3.0]])))
            .value([6.0])
            .gradient([3.0, 2.0])
            .smooth(),
        row!("an unused input": (V, S, M) => V, |(x, y, z)| x * 2.0, (v([1.0]), s(5.0), m([[1.0, 2.0]])))
            .value([2.0])
            .gradient([2.0, 0.0, 0.0, 0.0])
            .smooth(),
        row!("an input that is returned as it is": (V, S) => (V, S, V),
            |(x, y)| (x.clone(), y.clone(), x.clone()), (v([1.0]), s(5.0)))
        .value([1.0, 5.0, 1.0])
        .gradient([2.0, 1.0])
        .smooth(),
        row!("one value, returned twice": V => (V, V), |x| twice(x.exp()), v([0.0]))
            .value([1.0, 1.0])
            .gradient([2.0])
            .smooth(),
        row!("no outputs of floats": V => (Bs, N), |x| (x.gt(0.0), x.argmax()), v([1.0, 2.0]))
            .value([1.0, 1.0, 1.0])
            .gradient([0.0, 0.0]),
        row!("no inputs": () => V, |_| iota::<A>(3).cast::<f64>() * 2.0, ()).value([0.0, 2.0, 4.0]).gradient([]),
        row!("an output of constants": V => (V, Ns), |x| (ones(2), iota(2)), v([1.0]))
            .value([1.0, 1.0, 0.0, 1.0])
            .gradient([0.0])
            .smooth(),
        row!("known arrays": V => V,
            |x| x * Tensor::from_slice(&[1.0, 2.0]) + constant::<A, _>(&v([3.0, 4.0])), v([5.0, 6.0]))
        .value([8.0, 16.0])
        .gradient([1.0, 2.0])
        .smooth(),
        row!("multiplied by 0": V => V, |x| x * 0.0 + x * 1.0 - 0.0 * x.sin(), v([5.0]))
            .value([5.0])
            .gradient([1.0])
            .smooth(),
        row!("far out of bounds": (V, N) => V,
            |(x, i)| stack(&[x.at(i), x.at(-1), x.at(i64::MAX), x.at(i64::MIN), x.at(1)]), (v([5.0, 6.0]), n(i64::MAX)))
        .value([0.0, 0.0, 0.0, 0.0, 6.0])
        .gradient([0.0, 1.0])
        .smooth(),
        row!("positions that overflow": (V, N) => V,
            |(x, i)| build(3, |j| x.at(i + j * 2)), (v([5.0, 6.0]), n(i64::MAX)))
        .value([0.0, 0.0, 0.0])
        .gradient([0.0, 0.0])
        .smooth(),
        row!("positions that wrap around into bounds": (V, N) => V,
            |(x, i)| build(2, |j| x.at(i + 1 + i64::MAX + j + 1)), (v([5.0, 6.0]), n(i64::MAX - 1)))
        .value([0.0, 5.0])
        .gradient([1.0, 0.0]),
        row!("f32 empty": Fs => F, |x| x.sum() + 1.0, f([])).value([1.0]).gradient([]),
    ]
}

fn not_numbers() -> Vec<Row> {
    vec![
        row!("zero has no sign: quotients": V => (V, V, S),
            |x| (x.recip(), -1.0 / (-x), (-x * 0.0).sum().recip()), v([-0.0, 0.0, 2.0]))
        .value([INFINITY, INFINITY, 0.5, -INFINITY, -INFINITY, 0.5, INFINITY])
        .values_only(),
        row!("zero has no sign: powers and angles": V => (V, V, V),
            |x| (x.powi(-3), x.pow(-1.0), x.atan2(x - 1.0)), v([-0.0, 0.0, 1.0]))
        .value([INFINITY, INFINITY, 1.0, INFINITY, INFINITY, 1.0, PI, PI, PI / 2.0])
        .values_only(),
        row!("extremes with NaN": V => (S, S, N, N),
            |x| (x.max_all(), x.min_all(), x.argmax(), x.argmin()), v([1.0, NAN, 2.0]))
        .value([NAN, NAN, 1.0, 1.0])
        .values_only(),
        row!("elementwise extremes with NaN": (V, V) => (V, V),
            |(x, y)| (x.max(y), x.min(y)), (v([NAN, 1.0]), v([1.0, NAN])))
        .value([NAN, NAN, NAN, NAN])
        .values_only(),
        row!("comparisons with NaN": V => (Bs, Bs, Bs, Bs),
            |x| (x.lt(1.0), x.ge(1.0), x.equal(x), x.not_equal(x)), v([NAN, 2.0]))
        .value([0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
        .gradient([0.0, 0.0])
        .values_only(),
        row!("sign of NaN": V => V, |x| x.sign(), v([NAN, -0.0, -3.0]))
            .value([NAN, 0.0, -1.0])
            .gradient([0.0; 3])
            .values_only(),
        row!("roots and logarithms of zero": V => (V, V, V), |x| (x.sqrt(), x.ln(), x.recip()), v([0.0, 4.0]))
            .value([0.0, 2.0, -INFINITY, 4.0f64.ln(), INFINITY, 0.25])
            .values_only(),
        row!("the slope of a root at zero": V => V, |x| x.sqrt(), v([0.0])).value([0.0]).gradient([INFINITY]).once(),
        row!("roots and logarithms of negative numbers": V => (V, V), |x| (x.sqrt(), x.ln()), v([-1.0]))
            .value([NAN, NAN])
            .values_only(),
        row!("zero by zero": (V, V) => V, |(x, y)| x / y, (v([0.0, 1.0, -1.0]), v([0.0, 0.0, 0.0])))
            .value([NAN, INFINITY, -INFINITY])
            .values_only(),
        row!("infinities": V => V, |x| x - x + x.tanh(), v([INFINITY, 1.0])).value([NAN, 1.0f64.tanh()]).values_only(),
        row!("abs at zero": V => V, |x| x.abs() * 2.0 + x, v([0.0])).value([0.0]).gradient([1.0]).once(),
        row!("overflow of exp": V => V, |x| (x.exp() + 1.0).recip(), v([1000.0, -1000.0]))
            .value([0.0, 1.0])
            .values_only(),
        row!("sigmoid and tanh far out": V => (V, V), |x| (x.sigmoid(), x.tanh()), v([1000.0, -1000.0]))
            .value([1.0, 0.0, 1.0, -1.0])
            .gradient([0.0, 0.0]),
        row!("NaN that is not taken": (V, V) => V,
            |(x, y)| x.gt(0.0).select(x, y * 0.0), (v([1.0, 2.0]), v([NAN, INFINITY])))
        .value([1.0, 2.0])
        .values_only(),
        row!("NaN out of bounds": V => V, |x| build(2, |i| cond(i.lt(1), || scalar(1.0), || x.at(i + 5))), v([NAN]))
            .value([1.0, 0.0])
            .values_only(),
        row!("halves round away from zero": V => (V, V), |x| (x.round(), x.floor()), v([0.5, -0.5, 1.5, -2.5]))
            .value([1.0, -1.0, 2.0, -3.0, 0.0, -1.0, 1.0, -3.0])
            .values_only(),
    ]
}

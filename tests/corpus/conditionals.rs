//! `cond` and `select`: on scalars, in builds, nested, of tuples, and the lack of influence of the side not taken.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = choices();
    rows.extend(guards());
    rows.extend(nests());
    rows
}

fn choices() -> Vec<Row> {
    vec![
        row!("2x or 5x": S => S, |x| cond(x.gt(0.0), || 2.0 * x, || 5.0 * x), s(42.0))
            .value([84.0])
            .gradient([2.0])
            .smooth(),
        row!("2 or 5, times x": S => S, |x| cond(x.gt(0.0), || scalar(2.0), || scalar(5.0)) * x, s(-42.0))
            .value([-210.0])
            .gradient([5.0])
            .smooth(),
        row!("x + 2 or −x, and x·y·x": (S, S) => (S, S),
            |(x, y)| (cond(x.gt(2.0), || x + 2.0, || -x), x * y * x), (s(3.0), s(2.0)))
        .value([5.0, 18.0])
        .gradient([13.0, 9.0])
        .smooth(),
        row!("tangents of x + 2 or −x, and x·y·x": (S, S) => ((S, S), (S, S)), |at| {
                let along = |dx, dy| jvp(|(x, y)| (cond(x.gt(2.0), || x + 2.0, || -x), x * y * x), at, &(scalar(dx), scalar(dy))).1;
                (along(1.0, 0.0), along(0.0, 1.0))
            }, (s(3.0), s(2.0)))
        .value([1.0, 12.0, 0.0, 9.0])
        .smooth(),
        row!("a or 2a by the sum": V => S, |a| {
                let sum = a.sum();
                cond(sum.gt(0.0), || a.clone(), || 2.0 * a).sum()
            }, v([1.0, 2.0, -0.5]))
        .value([2.5])
        .gradient([1.0; 3])
        .smooth(),
        row!("a choice of tuples": (S, V) => (S, V), |(x, y)| {
                let (a, b) = cond(x.lt(1.0), || (x.exp(), y * x), || (x * x, y + x));
                (a.clone() * 2.0, b * a)
            }, (s(0.5), v([1.0, 2.0])))
        .smooth(),
        row!("the other choice of tuples": (S, V) => (S, V), |(x, y)| {
                let (a, b) = cond(x.lt(1.0), || (x.exp(), y * x), || (x * x, y + x));
                (a.clone() * 2.0, b * a)
            }, (s(1.5), v([1.0, 2.0])))
        .smooth(),
        row!("a choice between inputs": (S, S, S) => S,
            |(x, y, z)| cond(z.gt(0.0), || x.clone(), || y.clone()) * z, (s(2.0), s(3.0), s(-1.0)))
        .value([-3.0])
        .gradient([0.0, -1.0, 3.0])
        .smooth(),
        row!("select between arrays": (V, V) => V,
            |(x, y)| x.gt(y).select(x * y, x - y), (v([2.0, 1.0, 0.5]), v([1.0, 3.0, 0.1])))
        .value([2.0, -2.0, 0.05])
        .gradient([1.0, 1.0, 0.1, 2.0, -1.0, 0.5])
        .smooth(),
        row!("select of trees": (V, V) => (V, V),
            |(x, y)| select(x.gt(0.0), &(x * y, y.clone()), &(y.clone(), x * x)), (v([1.0, -2.0]), v([3.0, 4.0])))
        .value([3.0, 4.0, 3.0, 4.0])
        .gradient([3.0, -4.0, 2.0, 1.0])
        .smooth(),
        row!("select by integers": (V, Ns) => V,
            |(x, i)| i.modulo(2).equal(0).select(x.sin(), x.cos()), (v([0.5, 1.0, 1.5]), ns([2, -3, 4])))
        .gradient([0.5f64.cos(), -1.0f64.sin(), 1.5f64.cos()])
        .smooth(),
        row!("a choice by integers": (S, N) => S,
            |(x, i)| cond((i % 2).equal(0), || x.sin(), || x.cos()), (s(0.5), n(3)))
        .value([0.5f64.cos()])
        .gradient([-0.5f64.sin()])
        .smooth(),
        row!("three sides": V => V, |x| build(3, |i| {
                let y = x.at(&i);
                cond(y.lt(-1.0), || -&y, || cond(y.lt(1.0), || &y * &y, || y.sqrt()))
            }), v([-2.0, 0.5, 4.0]))
        .value([2.0, 0.25, 2.0])
        .gradient([-1.0, 1.0, 0.25])
        .smooth(),
        row!("Huber's loss": (V, V) => S, |(x, y)| {
                let d = (x - y).abs();
                d.lt(1.0).select(0.5 * (&d * &d), &d - 0.5).sum()
            }, (v([1.0, 2.0, 3.0]), v([0.5, 5.0, 3.2])))
        .value([0.125 + 2.5 + 0.02])
        .gradient([0.5, -1.0, -0.2, -0.5, 1.0, 0.2])
        .smooth(),
        row!("leaky relu": V => V, |x| x.gt(0.0).select(x, 0.1 * x), v([2.0, -3.0, 0.0]))
            .value([2.0, -0.3, 0.0])
            .gradient([1.0, 0.1, 0.1]),
        row!("f32 choice": (Fs, F) => Fs, |(x, t)| x.gt(t).select(x * x, x * t), (f([1.0, 3.0]), scalar(2.0)))
            .value([2.0, 9.0])
            .gradient([2.0, 6.0, 1.0]),
    ]
}

fn guards() -> Vec<Row> {
    vec![
        row!("a root that is not taken": V => V, |x| x.gt(0.0).select(x.sqrt(), x), v([4.0, 0.0, -1.0]))
            .value([2.0, 0.0, -1.0])
            .gradient([0.25, 1.0, 1.0])
            .once(),
        row!("a logarithm that is not taken": V => S, |x| x.gt(0.0).select(x.ln(), 0.0).sum(), v([1.0, -1.0, 0.0]))
            .value([0.0])
            .gradient([1.0, 0.0, 0.0])
            .once(),
        row!("a quotient that is not taken": (V, V) => V,
            |(x, y)| y.not_equal(0.0).select(x / y, 0.0), (v([1.0, 2.0]), v([0.0, 4.0])))
        .value([0.0, 0.5])
        .gradient([0.0, 0.25, 0.0, -0.125])
        .once(),
        row!("an infinite slope in a branch": V => V,
            |x| build(3, |i| cond(x.at(&i).gt(0.0), || x.at(&i).sqrt(), || x.at(&i) * 2.0)), v([4.0, 0.0, -1.0]))
        .value([2.0, 0.0, -2.0])
        .gradient([0.25, 2.0, 2.0])
        .once(),
        row!("a power in a branch": V => V,
            |x| build(2, |i| cond(x.at(&i).gt(0.0), || x.at(&i).pow(1.5), || scalar(0.0))), v([4.0, -1.0]))
        .value([8.0, 0.0])
        .gradient([3.0, 0.0])
        .once(),
        row!("an overflow in a branch": V => V,
            |x| build(2, |i| cond(x.at(&i).lt(100.0), || x.at(&i).exp(), || x.at(&i))), v([1.0, 1000.0]))
        .value([1.0f64.exp(), 1000.0])
        .gradient([1.0f64.exp(), 1.0])
        .once(),
        row!("sinc": V => V, |x| x.equal(0.0).select(1.0, x.sin() / x), v([0.0, 1.0]))
            .value([1.0, 1.0f64.sin()])
            .gradient([0.0, 1.0f64.cos() - 1.0f64.sin()])
            .once(),
        row!("a choice whose sides cancel": S => S,
            |x| cond(x.gt(-1.0), || { let y = x * x - x; &y * &y }, || scalar(0.0)), s(1.0))
        .value([0.0])
        .gradient([0.0])
        .smooth(),
        row!("a safe norm": V => S, |x| {
                let square = (x * x).sum();
                cond(square.gt(0.0), || square.sqrt(), || scalar(0.0))
            }, v([0.0, 0.0]))
        .value([0.0])
        .gradient([0.0, 0.0])
        .once(),
        row!("a read out of bounds that is not taken": V => V, |x| {
                let n = x.len();
                build(n, |i| cond(i.gt(0), || x.at(&i) / x.at(&i - 1), || x.at(&i)))
            }, v([2.0, 4.0, 8.0]))
        .value([2.0, 2.0, 2.0])
        .gradient([0.0, 0.0, 0.25])
        .smooth(),
    ]
}

fn nests() -> Vec<Row> {
    vec![
        row!("a shared value inside and outside of a branch": V => S, |x| {
                let shared = (x * x).sum();
                let chosen = cond(shared.gt(1.0), || &shared * x.at(0), || shared.sin());
                chosen + shared
            }, v([1.0, 2.0]))
            .value([10.0])
            .gradient([9.0, 8.0])
            .smooth(),
        row!("nested conditionals with a shared value": V => S, |x| {
                let shared = x.at(0) * x.at(1);
                let inner = cond(x.at(0).gt(0.0), || cond(x.at(1).gt(0.0), || shared.exp(), || &shared * 2.0), || -&shared);
                inner * &shared
            }, v([0.5, -1.5]))
            .value([2.0 * 0.75 * 0.75])
            .gradient([4.0 * 0.75 * 1.5, -4.0 * 0.75 * 0.5])
            .smooth(),
        row!("a choice in a choice in a build": V => V, |x| {
                build(6, |i| {
                    cond((&i % 2).equal(0), || cond((&i % 3).equal(0), || x.at(&i).sin(), || x.at(&i).exp()), || x.at(&i) * x.at(0))
                })
            }, some(6, 131))
            .smooth(),
        row!("a choice by the index and by data": V => V,
            |x| build(5, |i| cond(i.lt(2) | x.at(&i).gt(0.0), || x.at(&i) * 3.0, || x.at(4 - &i))), some(5, 132))
            .smooth(),
        row!("a choice of rows": M => M,
            |x| build(3, |i| cond(i.equal(1), || x.at(0) * x.at(&i), || x.at(&i).reverse(0))), some((3, 2), 133))
            .smooth(),
        row!("a choice of builds": (V, S) => V,
            |(x, t)| cond(t.gt(0.0), || build(3, |i| x.at(&i) * x.at(2 - i)), || build(3, |i| x.at(i + 1))),
            (v([1.0, 2.0, 3.0]), s(1.0)))
            .value([3.0, 4.0, 3.0])
            .gradient([6.0, 4.0, 2.0, 0.0])
            .smooth(),
        row!("the other choice of builds": (V, S) => V,
            |(x, t)| cond(t.gt(0.0), || build(3, |i| x.at(&i) * x.at(2 - i)), || build(3, |i| x.at(i + 1))),
            (v([1.0, 2.0, 3.0]), s(-1.0)))
            .value([2.0, 3.0, 0.0])
            .gradient([0.0, 1.0, 1.0, 0.0])
            .smooth(),
        row!("a choice of loops": (V, S) => S, |(x, t)| {
                cond(
                    t.gt(0.0),
                    || scan(scalar(1.0), x, 3, |p, x| (p * x, ())).0,
                    || scan(scalar(0.0), x, 3, |s, x| (s + x.sin(), ())).0,
                )
            }, (v([1.0, 2.0, 3.0]), s(1.0)))
            .value([6.0])
            .gradient([6.0, 3.0, 2.0, 0.0])
            .smooth(),
        row!("a choice in a loop in a build": M => V, |x| build(2, |i| {
                scan(scalar(0.5), &x.at(i), 3, |s, x| (cond(x.gt(0.0), || &s * x.exp(), || &s - x.sin()), ())).0
            }), some((2, 3), 134))
            .smooth(),
        row!("a condition of all and any": V => V,
            |x| cond(x.gt(0.0).all(), || x.ln(), || cond(x.gt(0.0).any(), || x * 2.0, || -x)), v([1.0, -1.0]))
            .value([2.0, -2.0])
            .gradient([2.0, 2.0])
            .smooth(),
        row!("a derivative of a choice": S => S, |x| grad(|x| cond(x.gt(0.0), || x.powi(3), || x.powi(2)), x), s(2.0))
            .value([12.0])
            .gradient([12.0])
            .smooth(),
        row!("a choice of derivatives": S => S,
            |x| cond(x.gt(0.0), || grad(|x| x.powi(3), x), || grad(|x| x.powi(2), x)), s(-2.0))
            .value([-4.0])
            .gradient([2.0])
            .smooth(),
        row!("a mask times a contraction": (M, V) => V, |(a, x)| build(3, |i| {
                let row = build(3, |j| cond(i.equal(&j), || scalar(0.0), || a.at((&i, &j))));
                row.dot(x).tanh()
            }), (some((3, 3), 135), some(3, 136)))
            .smooth(),
        row!("early steps by a condition": S => S, |x| {
                scan(x.clone(), &(), 6, |x, ()| (cond(x.lt(2.0), || &x * 1.5, || x.clone()), ())).0
            }, s(0.7))
            .value([0.7 * 1.5f64.powi(3)])
            .gradient([1.5f64.powi(3)])
            .smooth(),
    ]
}

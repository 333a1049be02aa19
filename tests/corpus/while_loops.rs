//! Loops with a condition, and loops and functions that keep little.

use super::prelude::*;

/// The powers of `x` until one exceeds a bound.
fn powers<A: Algebra>(x: &Scalar<A, f64>, bound: f64) -> Scalar<A, f64> {
    while_loop(x.clone(), |y| y.lt(bound), |y| y * x)
}

/// The square root by Newton's method.
fn newton<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    while_loop(x.clone(), |y| (y * y - x).abs().gt(1e-10), |y| 0.5 * (&y + x / &y))
}

/// How often a number can be halved before it falls below another: the count as an integer, and the final number.
fn halvings<A: Algebra>(x: &Scalar<A, f64>) -> (Scalar<A, i64>, Scalar<A, f64>) {
    while_loop((scalar(0i64), x.clone()), |(_, y)| y.gt(1.0), |(n, y)| (n + 1, y / 2.0))
}

/// A step of a recurrence that is nonlinear in every argument.
fn mix<A: Algebra>(h: &Vector<A, f64>, w: &Matrix<A, f64>, x: &Vector<A, f64>) -> Vector<A, f64> {
    (w.dot(h) + x).tanh()
}

/// A recurrent network over the rows of `xs`, with its states.
fn network<A: Algebra>(
    checkpoints: Checkpoints,
    (w, xs): (Matrix<A, f64>, Matrix<A, f64>),
) -> (Vector<A, f64>, Matrix<A, f64>) {
    let n = xs.shape()[0];
    let first = 0.1 * xs.sum_axis(0);
    checkpoints.scan(first, &xs, n, move |h: Vector<A, f64>, x: Vector<A, f64>| {
        let next = mix(&h, &w, &x);
        (next.clone(), next * x)
    })
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = conditions();
    rows.extend(checkpoints());
    rows
}

fn conditions() -> Vec<Row> {
    vec![
        row!("while: powers": S => S, |x| powers(x, 10.0), s(2.0)).value([16.0]).gradient([32.0]).smooth(),
        row!("while: no step": S => S, |x| powers(x, 1.0), s(2.0)).value([2.0]).gradient([1.0]).smooth(),
        row!("while: one step": S => S, |x| powers(x, 3.0), s(2.0)).value([4.0]).gradient([4.0]).smooth(),
        row!("while: Newton's square root": S => S, |x| newton(x), s(7.3)).value([7.3f64.sqrt()]).digits(1e-8).smooth(),
        row!("while: an integer carried beside": S => (N, S), |x| halvings(x), s(11.0))
            .value([4.0, 11.0 / 16.0])
            .gradient([1.0 / 16.0])
            .smooth(),
        row!("while: a carry that does not move": S => (S, S),
            |x| while_loop((scalar(1.0), x.clone()), |(y, _)| y.lt(100.0), |(y, z)| (y * 3.0, z.sin())), s(0.7))
            .smooth(),
        row!("while: a carry that becomes constant": S => S,
            |x| while_loop((scalar(0i64), x.clone()), |(n, _)| n.lt(3), |(n, _)| (n + 1, scalar(5.0))).1, s(0.7))
            .value([5.0])
            .gradient([0.0])
            .smooth(),
        row!("while: a carry that would become constant": S => S,
            |x| while_loop((scalar(0i64), x.clone()), |(n, _)| n.lt(0), |(n, _)| (n + 1, scalar(5.0))).1, s(0.7))
            .value([0.7])
            .gradient([1.0])
            .smooth(),
        row!("while: arrays, captured too": (M, V) => V,
            |(w, x)| while_loop((scalar(0i64), x.clone()), |(n, y)| n.lt(20) & y.powi(2).sum().gt(0.05),
                |(n, y)| (n + 1, 0.9 * w.dot(&y).sin())).1, (some((3, 3), 501), some(3, 502)))
            .smooth(),
        row!("while: the carry read at a counted position": V => S,
            |x| while_loop((scalar(0i64), scalar(1.0)), |(n, _)| n.lt(4), |(n, y)| (&n + 1, y * x.at(&n).cos())).1, some(4, 503))
            .smooth(),
        row!("while: ends at a value that depends on the input": V => (N, S),
            |x| while_loop((scalar(0i64), scalar(0.0)), |(n, y)| y.lt(2.0) & n.lt(5), |(n, y)| (&n + 1, y + x.at(&n).powi(2))),
            v([0.5, 1.0, 1.5, 2.0, 3.0]))
            .value([3.0, 3.5])
            .gradient([1.0, 2.0, 3.0, 0.0, 0.0])
            .smooth(),
        row!("while in a build": V => V, |x| build(5, |i| powers(&x.at(&i), 10.0)), v([1.2, 12.0, 2.0, 3.4, 1.5]))
            .overhead(2, 10)
            .value([1.2f64.powi(13), 12.0, 16.0, 3.4f64.powi(2), 1.5f64.powi(6)])
            .digits(1e-12)
            .smooth(),
        row!("while in a build in a build": M => M,
            |a| build((2, 3), |(i, j)| while_loop(a.at((&i, &j)), |y| y.lt(1.0), |y| y * 1.5 + a.at((&i, 0)))), some((2, 3), 504).abs() + 0.1)
            .overhead(2, 10)
            .smooth(),
        row!("while in a build: iterations of different lengths share a capture": (S, V) => V,
            |(c, x)| build(4, |i| while_loop(x.at(&i), |y| y.lt(3.0), |y| y + c.exp())), (s(0.1), v([0.0, 1.0, 2.0, 5.0])))
            .overhead(2, 10)
            .smooth(),
        row!("while in a build: some elements would overflow": V => V,
            |x| build(3, |i| while_loop((scalar(0i64), x.at(&i)), |(n, _)| n.lt(i.clone() * 5), |(n, y)| (n + 1, y.exp() / 2.0)).1),
            v([3.0, 0.1, -0.4]))
            .smooth(),
        row!("while in a scan": V => V,
            |x| scan(scalar(1.0), x, 4, |c, x| { let y = while_loop(x.clone(), |y| y.lt(2.0), |y| y * 1.7 + &c); (y.sin(), y) }).1,
            some(4, 505).abs() + 0.3)
            .smooth(),
        row!("scan in a while": (S, V) => S,
            |(a, x)| while_loop((scalar(0i64), a.clone()), |(n, _)| n.lt(3), |(n, y)| (n + 1, fold(y, x, |c, x| (c * x).cos()))).1,
            (s(0.4), some(3, 506)))
            .smooth(),
        // The inner loop's last carry does not move, though its first one does.
        row!("scan in a while, which forgets what it began with": (V, V) => V,
            |(a, x)| {
                let start: (Scalar<_, i64>, Vector<_, f64>) = (scalar(0), zeros(2));
                while_loop(start, |(n, _)| n.lt(2), |(n, y)| {
                    let last = scan(a.clone(), x, 3, |c, x| (stack(&[c.at(2), c.at(7)]) + y.cos(), c * x)).0;
                    (n + 1, last.sin())
                }).1
            },
            (some(2, 510), some(3, 511)))
            .smooth(),
        row!("while in a while": S => S,
            |x| while_loop(x.clone(), |y| y.lt(20.0), |y| while_loop(y.clone(), |z| z.lt(1.5 * &y), |z| z + 0.3 * x)), s(1.3))
            .smooth(),
        row!("while in a conditional": V => S,
            |x| cond(x.at(0).gt(0.0), || powers(&x.at(1), 5.0), || newton(&x.at(2))), v([1.0, 1.7, 2.0]))
            .smooth(),
        row!("conditional in a while": S => S,
            |x| while_loop(x.clone(), |y| y.lt(9.0), |y| cond(y.gt(3.0), || &y * x, || &y + 1.0)), s(1.5))
            .smooth(),
        row!("a gradient in a while": S => S,
            |x| while_loop(x.clone(), |y| y.lt(8.0), |y| &y + grad(|z| z.powi(3), &(0.5 * &y))), s(0.8))
            .smooth(),
        row!("a gradient of a while in a build": V => V, |x| build(3, |i| grad(|y| powers(y, 10.0), &x.at(&i))), v([1.3, 2.0, 4.0]))
            .overhead(2, 10)
            .value([9.0 * 1.3f64.powi(8), 32.0, 8.0])
            .digits(1e-12)
            .smooth(),
        row!("while: what does not move, though forward mode gives it a tangent": S => (S, S),
            |x| {
                let still = |y: Scalar<A, f64>| scan(y.cos(), &(), 1, |y, ()| (y.sign(), ())).0;
                let last = while_loop((scalar(0i64), x.clone()), |(n, _)| n.lt(3), |(n, _)| (n + 1, still(x.exp())));
                (last.1, x.clone())
            }, s(0.7))
            .smooth(),
        row!("while that never ends, in a loop of no steps": S => S,
            |x| {
                let endless = |x: &Scalar<A, f64>| while_loop(x.exp(), |y| y.gt(0.0), |y| &y + 1.0);
                while_loop(x.clone(), |y| y.lt(0.0), |y| y * endless(x) + 1.0)
            }, s(0.7))
            .value([0.7])
            .gradient([1.0])
            .smooth(),
        row!("second derivative of a while": S => S, |x| grad(|x| grad(|x| powers(x, 10.0), x), x), s(2.0))
            .value([48.0])
            .gradient([48.0])
            .smooth(),
        row!("forward over reverse of a while": S => S,
            |x| jvp(|x| grad(|x| powers(x, 10.0), x), x, &scalar(1.0)).1, s(2.0))
            .value([48.0])
            .gradient([48.0])
            .smooth(),
        row!("a bound in bytes that little fits in": (M, V) => V,
            |(w, x)| {
                let (w, x) = (w.clone(), x.clone());
                Checkpoints::Bytes(600).while_loop((scalar(0i64), x), |(n, _)| n.lt(17), move |(n, y)| (n + 1, mix(&y, &w, &y))).1
            },
            (some((2, 2), 507), some(2, 508)))
            .smooth(),
        row!("snapshots of a while": S => S,
            |x| { let x = x.clone(); Checkpoints::Snapshots(3).while_loop(x.clone(), |y| y.lt(10.0), move |y| y * &x) }, s(1.2))
            .smooth(),
        row!("every third step of a while": S => S,
            |x| { let x = x.clone(); Checkpoints::Every(3).while_loop(x.clone(), |y| y.lt(10.0), move |y| y * &x) }, s(1.2))
            .smooth(),
    ]
}

fn checkpoints() -> Vec<Row> {
    let at = || (some((2, 2), 511), some((7, 2), 512));
    vec![
        row!("checkpoints: all": (M, M) => (V, M), |x| network(Checkpoints::All, x.clone()), at()).smooth(),
        row!("checkpoints: every third step": (M, M) => (V, M), |x| network(Checkpoints::Every(3), x.clone()), at()).smooth(),
        row!("checkpoints: every step": (M, M) => (V, M), |x| network(Checkpoints::Every(1), x.clone()), at()).smooth(),
        row!("checkpoints: three snapshots": (M, M) => (V, M), |x| network(Checkpoints::Snapshots(3), x.clone()), at()).smooth(),
        row!("checkpoints: one snapshot": (M, M) => (V, M), |x| network(Checkpoints::Snapshots(1), x.clone()), at()).smooth(),
        row!("checkpoints: bytes": (M, M) => (V, M), |x| network(Checkpoints::Bytes(700), x.clone()), at()).smooth(),
        row!("checkpoints: no step": (M, M) => (V, M), |x| network(Checkpoints::Snapshots(3), x.clone()), (some((2, 2), 513), t((0, 2), &[])))
            .smooth(),
        row!("checkpoints: backwards": (S, V) => (S, V),
            |(c, x)| { let c = c.clone(); Checkpoints::Every(2).scan_reverse(c.clone(), x, 5, move |y, x| { let z = (y * x + &c).sin(); (z.clone(), z) }) },
            (s(0.3), some(5, 514)))
            .smooth(),
        row!("checkpoints: in a build": (M, V) => V,
            |(a, x)| build(3, |i| { let x = x.at(&i); let row = build(4, |j| a.at((&i, &j))); Checkpoints::Snapshots(2).scan(x.clone(), &row, 4, move |y, z| ((y * z + &x).cos(), ())).0 }),
            (some((3, 4), 515), some(3, 516)))
            .smooth(),
        row!("checkpoints: second derivative": S => S,
            |x| grad(|x| grad(|x| { let x = x.clone(); Checkpoints::Every(2).scan(x.clone(), &(), 5, move |y, ()| ((y * &x).sin(), ())).0 }, x), x), s(0.8))
            .smooth(),
        row!("checkpointed function": V => S, |x| checkpoint(x, |x| x.sin().exp()).sum(), some(3, 517)).smooth(),
        row!("checkpointed function that captures": (V, V) => (S, V),
            |(x, w)| { let w = w.clone(); checkpoint(x, move |x| ((x * &w).sin().sum(), x.exp() * &w)) }, (some(3, 518), some(3, 519)))
            .smooth(),
        row!("checkpointed function of a checkpointed function": V => S,
            |x| checkpoint(x, |x| checkpoint(&x.sin(), |y| (y * y).exp()).sum()), some(3, 520))
            .smooth(),
        row!("checkpointed function that only captures": V => S,
            |x| { let x = x.clone(); checkpoint(&scalar::<A, f64>(2.0), move |c| c * x.exp().sum()) }, some(3, 521))
            .smooth(),
        row!("checkpointed function in a loop": V => S,
            |x| fold(scalar(0.5), x, |c, x| checkpoint(&(c, x), |(c, x)| (c * x).cos().exp())), some(4, 522))
            .smooth(),
        row!("checkpointed function in a build": V => V, |x| build(3, |i| checkpoint(&x.at(&i), |x| x.sin() * x)), some(3, 523)).smooth(),
        row!("second derivative of a checkpointed function": V => V,
            |x| grad(|x| grad(|x| checkpoint(x, |x| x.sin().exp()).sum(), x).powi(2).sum(), x), some(3, 524))
            .smooth(),
        row!("a checkpointed function of integers": Ns => Ns, |n| checkpoint(n, |n| n * 2), ns([3, 4]))
            .value([6.0, 8.0]),
    ]
}

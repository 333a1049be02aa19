//! Loops: folds, scans, outputs, captures, directions, and loops in loops.

use super::prelude::*;

/// The last carry of a loop without outputs.
fn fold<A: Algebra, R: Rank>(
    first: Tensor<A, f64, R>,
    steps: usize,
    step: impl Fn(Tensor<A, f64, R>) -> Tensor<A, f64, R>,
) -> Tensor<A, f64, R> {
    scan(first, &(), steps, |x, ()| (step(x), ())).0
}

/// The sum of the first carry and all later ones: a scan that includes its initial value.
fn scan_sum<A: Algebra, R: Rank>(
    first: Tensor<A, f64, R>,
    steps: usize,
    step: impl Fn(&Tensor<A, f64, R>) -> Tensor<A, f64, R>,
) -> Scalar<A, f64> {
    let outputs = scan(first.clone(), &(), steps, |x, ()| twice(step(&x))).1;
    first.sum() + outputs.sum()
}

/// `Σ_{q<5} atan2(sin x, 7·sin(2a))`, written with replicates.
fn replicated_step<A: Algebra>(x: &Scalar<A, f64>, a: &Scalar<A, f64>) -> Scalar<A, f64> {
    let doubled = a.replicate(5).replicate(2).sum_axis(0).sin().replicate(7).transpose().sum_axis(1);
    x.sin().replicate(5).atan2(&doubled).sum()
}

/// Three steps of seven: the inner loop starts from an input, and its inputs are copies of the outer carry.
fn nested_fold<A: Algebra>(a: &Scalar<A, f64>) -> Scalar<A, f64> {
    let step = |x: Scalar<A, f64>, a: Scalar<A, f64>| scan(a, &x.replicate(7), 7, |y, z| (0.7 * y * z, ())).0;
    scan(a.clone(), &a.replicate(3), 3, |x, a| (step(x, a), ())).0
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = folds();
    rows.extend(scans());
    rows.extend(shapes());
    rows.extend(nests());
    rows
}

fn folds() -> Vec<Row> {
    vec![
        row!("fold of sine, five steps": S => S, |a| fold(a.clone(), 5, |x| x.sin()), s(1.1))
            .gradient([0.12389721944941383])
            .smooth(),
        row!("fold of sine, one step": S => S, |a| fold(a.clone(), 1, |x| x.sin()), s(1.1))
            .gradient([0.4535961214255773])
            .smooth(),
        row!("fold of sine, no step": S => S, |a| fold(a.clone(), 0, |x| x.sin()), s(1.1))
            .value([1.1])
            .gradient([1.0])
            .smooth(),
        row!("fold that keeps the last input": S => S,
            |a| scan(a.clone(), &a.replicate(3), 3, |_, a| (a.sin(), ())).0, s(1.1))
            .gradient([0.4535961214255773])
            .smooth(),
        row!("fold to a constant": S => S, |a| fold(a.clone(), 3, |_| scalar(42.0)), s(1.1))
            .value([42.0])
            .gradient([0.0])
            .smooth(),
        row!("fold of atan2 over inputs": S => S,
            |a| scan(2.0 * a, &a.replicate(3), 3, |x, a| (x.sin().atan2(a.sin()), ())).0, s(1.1))
            .gradient([-0.7053476446727861])
            .smooth(),
        row!("fold of atan2 over a capture": S => S, |a| fold(2.0 * a, 3, |x| x.sin().atan2(a.sin())), s(1.1))
            .gradient([-0.7053476446727861])
            .smooth(),
        row!("fold of replicated sums": S => S, |a| fold(2.0 * a, 3, |x| replicated_step(&x, a)), s(1.1))
            .gradient([1.2992412552109085])
            .smooth(),
        row!("fold of sums of atan2": S => S,
            |a| fold(2.0 * a, 3, |x| build(5, |_| x.sin().atan2(7.0 * (2.0 * a).sin())).sum()), s(1.1))
            .gradient([1.2992412552109085])
            .smooth(),
        row!("tangent of a fold of sums of atan2": S => S, |a| {
                let f = |a: &Scalar<_, f64>| fold(2.0 * a, 3, |x| build(5, |_| x.sin().atan2(7.0 * (2.0 * a).sin())).sum());
                jvp(f, a, &scalar(1.1)).1
            }, s(1.1))
            .value([1.4291653807319993])
            .smooth(),
        row!("fold of sums of one axis": S => S, |a| fold(a.replicate(2), 2, |x| x + a).sum(), s(1.1))
            .gradient([6.0])
            .smooth(),
        row!("fold of replicated row sums": S => S,
            |a| fold(a.replicate(5).replicate(2), 2, |x| x.sum_axis(1).replicate(5).transpose()).sum(), s(1.1))
            .gradient([250.0])
            .smooth(),
        row!("one step of atan2": S => S,
            |a| scan(a.clone(), &a.replicate(5).slice(0, ..1), 1, |x, a| (x.atan2((7.0 * a).sin()), ())).0 * 1.0, s(1.1))
            .smooth(),
        row!("five copies of atan2": S => V,
            |a| fold(a.replicate(5), 1, |x| x.atan2((7.0 * a).sin())), s(1.1))
            .gradient([-0.4409160296923509])
            .smooth(),
        row!("product by scan": V => S,
            |x| scan(scalar(1.0), x, x.len(), |p, x| (p * x, ())).0, v([1.0, 2.0, 3.0, 4.0, 5.0]))
            .value([120.0])
            .gradient([120.0, 60.0, 40.0, 30.0, 24.0])
            .smooth(),
        row!("product by scan with one zero": V => S,
            |x| scan(scalar(1.0), x, x.len(), |p, x| (p * x, ())).0, v([2.0, 0.0, 3.0, 4.0]))
            .value([0.0])
            .gradient([0.0, 24.0, 0.0, 0.0])
            .smooth(),
        row!("product by scan with two zeros": V => S,
            |x| scan(scalar(1.0), x, x.len(), |p, x| (p * x, ())).0, v([2.0, 0.0, 0.0, 4.0]))
            .value([0.0])
            .gradient([0.0; 4])
            .smooth(),
        row!("maximum by scan": V => S, |x| scan(x.at(0), x, x.len(), |m, x| (m.max(x), ())).0, v([1.0, 5.0, 3.0, 4.0]))
            .value([5.0])
            .gradient([0.0, 1.0, 0.0, 0.0])
            .once(),
        row!("Horner's rule": (V, S) => S, |(c, x)| scan_reverse(scalar(0.0), c, c.len(), |y, c| (y * x + c, ())).0,
            (v([1.0, -2.0, 0.5]), s(1.5)))
            .value([-0.875])
            .gradient([1.0, 1.5, 2.25, -0.5])
            .smooth(),
        row!("Newton's square root": S => S, |a| fold(a.filled(1.0), 6, |x| 0.5 * (&x + a / &x)), s(2.0))
            .value([2.0f64.sqrt()])
            .gradient([0.5 / 2.0f64.sqrt()])
            .smooth(),
        row!("Fibonacci numbers times x": S => S, |x| {
                let ((a, _), ()) = scan((scalar::<A, i64>(0), scalar::<A, i64>(1)), &(), 10, |(a, b), ()| ((b.clone(), a + b), ()));
                x * a.cast::<f64>()
            }, s(2.0))
            .value([110.0])
            .gradient([55.0])
            .smooth(),
    ]
}

fn scans() -> Vec<Row> {
    vec![
        row!("scan of sine, one step": S => S, |a| scan_sum(a.clone(), 1, |x| x.sin()), s(1.1))
            .gradient([1.4535961214255773])
            .smooth(),
        row!("scan of sine, five steps": S => S, |a| scan_sum(a.clone(), 5, |x| x.sin()), s(1.1))
            .gradient([2.2207726343670955])
            .smooth(),
        row!("scan that keeps sines of the input": S => S, |a| scan_sum(scalar(84.0), 3, |_| a.sin()), s(1.1))
            .gradient([1.360788364276732])
            .smooth(),
        row!("scan of atan2": S => S, |a| scan_sum(2.0 * a, 3, |x| x.sin().atan2(a.sin())), s(1.1))
            .gradient([-0.4458209450295252])
            .smooth(),
        row!("scan of sums of atan2": S => S,
            |a| scan_sum(2.0 * a, 3, |x| build(5, |_| x.sin().atan2(7.0 * (2.0 * a).sin())).sum()), s(1.1))
        .gradient([4.126141830000979])
        .smooth(),
        row!("scan of sums of one axis": S => S, |a| scan_sum(a.replicate(2), 2, |x| x + a), s(1.1))
            .gradient([12.0])
            .smooth(),
        row!("scan of replicated row sums": S => S,
            |a| scan_sum(a.replicate(5).replicate(2), 2, |x| x.sum_axis(1).replicate(5).transpose()), s(1.1))
        .gradient([310.0])
        .smooth(),
        row!("seven sines, the last": S => S,
            |a| scan_reverse(a.clone(), &a.replicate(7), 7, |x, _| (x.sin(), x.sin())).0, s(1.1))
        .gradient([8.621412119476068e-2])
        .smooth(),
        row!("seven sines, all": S => V,
            |a| scan_reverse(a.clone(), &a.replicate(7), 7, |x, _| (x.sin(), x.sin())).1, s(1.1))
        .gradient([1.4091291405664697])
        .smooth(),
        row!("no sines": S => (S, V),
            |a| scan_reverse(a.clone(), &a.replicate(0), 0, |x, _| (x.sin(), x.sin())), s(1.1))
        .value([1.1])
        .gradient([1.0])
        .smooth(),
        row!("tangents of the carries before": S => V, |a| {
                let f = |a: &Scalar<_, f64>| scan_reverse(a.clone(), &(), 5, |x, ()| (scalar(1.0), x)).1;
                jvp(f, a, &scalar(1.1)).1
            }, s(1.1))
        .value([0.0, 0.0, 0.0, 0.0, 1.1])
        .smooth(),
        row!("running sums": V => V,
            |x| scan(scalar(0.0), x, x.len(), |s, x| twice(s + x)).1, v([1.0, 2.0, 3.0, 4.0]))
        .value([1.0, 3.0, 6.0, 10.0])
        .gradient([4.0, 3.0, 2.0, 1.0])
        .smooth(),
        row!("running sums from the end": V => V,
            |x| scan_reverse(scalar(0.0), x, x.len(), |s, x| twice(s + x)).1,
            v([1.0, 2.0, 3.0, 4.0]))
        .value([10.0, 9.0, 7.0, 4.0])
        .gradient([1.0, 2.0, 3.0, 4.0])
        .smooth(),
        row!("running products": V => V,
            |x| scan(scalar(1.0), x, x.len(), |p, x| twice(p * x)).1, v([1.0, 2.0, 3.0, 4.0, 5.0]))
        .value([1.0, 2.0, 6.0, 24.0, 120.0])
        .gradient([153.0, 76.0, 50.0, 36.0, 24.0])
        .smooth(),
        row!("the Jacobian of running products": V => M, |x| {
                build(5, |k| {
                    let pick = build(5, |j| j.equal(&k).cast::<f64>());
                    vjp(|x| scan(scalar(1.0), x, 5, |p, x| twice(p * x)).1, x).1(&pick)
                })
            }, v([1.0, 2.0, 3.0, 4.0, 5.0]))
        .value([
            1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 6.0, 3.0, 2.0, 0.0, 0.0, 24.0, 12.0, 8.0, 6.0, 0.0,
            120.0, 60.0, 40.0, 30.0, 24.0,
        ])
        .smooth(),
        row!("weighted running products": V => S, |x| {
                let products = scan(scalar(1.0), x, x.len(), |p, x| twice(p * x)).1;
                (products * x).sum()
            }, v([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .gradient([5040.0, 2521.0, 1684.0, 1278.0, 1104.0, 1440.0])
        .smooth(),
        row!("the last running product": V => S,
            |x| scan(scalar(1.0), x, x.len(), |p, x| twice(p * x)).1.at(4), v([1.0, 2.0, 3.0, 4.0, 5.0]))
        .value([120.0])
        .gradient([120.0, 60.0, 40.0, 30.0, 24.0])
        .smooth(),
        row!("exponential averages": (V, S) => V, |(x, a)| {
                scan(scalar(0.0), x, x.len(), |m, x| twice(a * m + (1.0 - a.clone()) * x)).1
            }, (some(6, 111), s(0.7)))
        .smooth(),
        row!("pairs of carries and inputs": (V, V) => (V, V), |(x, y)| {
                scan((scalar(0.5), scalar(1.0)), &(x.clone(), y.clone()), x.len(), |(p, q), (x, y)| {
                    let (p, q) = ((&p * x).sin() + &q, (q * y).cos() * p);
                    ((p.clone(), q.clone()), (p, q))
                }).1
            }, (some(4, 112), some(4, 113)))
        .smooth(),
    ]
}

fn shapes() -> Vec<Row> {
    vec![
        row!("a recurrent network": (M, M, V, M) => V, |(w, u, h, x)| {
                scan(h.clone(), x, x.len(), |h, x| ((w.dot(&h) + u.dot(&x)).tanh(), ())).0
            }, (some((3, 3), 114), some((3, 2), 115), some(3, 116), some((5, 2), 117)))
            .smooth(),
        row!("outputs of two axes": (V, M) => T3, |(x, a)| {
                scan(x.clone(), a, a.len(), |x, row| { let y = (x + row).sin(); (y.clone(), y.outer(&y)) }).1
            }, (some(2, 118), some((3, 2), 119)))
            .smooth(),
        row!("a carry that is only read": (V, V) => V, |(x, w)| {
                scan((w.clone(), scalar(0.0)), x, x.len(), |(w, s), x| { let s = s * x + w.sum(); ((w, s.clone()), s) }).1
            }, (some(4, 120), some(3, 121)))
            .smooth(),
        row!("an output that ignores the carry": V => V,
            |x| scan(scalar(0.0), x, x.len(), |s, x| (s + &x, x.exp())).1, some(4, 122))
            .smooth(),
        row!("a loop that gathers": (V, Nm) => V, |(x, at)| {
                scan(x.clone(), at, at.len(), |u, at| ((u.gather(&at) * &u).sin() + &u, ())).0
            }, (some(4, 123), [[1, 0, 3, 9], [2, 2, -1, 0], [3, 1, 0, 2]].into()))
            .smooth(),
        row!("a loop that scatters": (V, Nm) => V, |(x, at)| {
                scan(x.clone(), at, at.len(), |u, at| ((&u * &u).scatter(&at, 4) + u, ())).0
            }, (some(4, 124), [[1, 0, 3, 9], [2, 2, -1, 0]].into()))
            .smooth(),
        row!("a loop with a stencil": V => V, |x| {
                let n = x.len();
                fold(x.clone(), 4, |u| build(n, |i| u.at(&i) + 0.1 * (u.at(&i - 1) - u.at(i + 1))))
            }, some(6, 125))
            .smooth(),
        row!("a loop that walks through an array": (V, Ns) => S, |(x, next)| {
                let start = (scalar::<A, i64>(0), scalar::<A, f64>(0.0));
                scan(start, &(), 4, |(at, sum), ()| ((next.at(&at), sum * 2.0 + x.at(&at)), ())).0.1
            }, (v([1.0, 2.0, 3.0]), ns([2, 5, 1])))
            .value([24.0])
            .gradient([8.0, 2.0, 4.0]),
        row!("inputs of integers and truth values": (V, Ns, Bs) => V, |(x, i, p)| {
                scan(scalar(1.0), &(x.clone(), i.clone(), p.clone()), 3, |c, (x, i, p)| {
                    let c = p.select(&c * x, &c + i.cast::<f64>());
                    (c.clone(), c)
                }).1
            }, (v([2.0, 3.0, 4.0]), ns([5, 6, 7]), vec![true, false, true].into()))
            .value([2.0, 8.0, 32.0])
            .gradient([6.0, 0.0, 8.0])
            .smooth(),
        row!("a loop with a condition": V => S, |x| {
                scan(scalar(0.0), x, x.len(), |s, x| (cond(x.gt(0.0), || &s + &x * &x, || &s * 0.5), ())).0
            }, v([1.0, 2.0, -1.0, 3.0]))
            .value([11.5])
            .gradient([1.0, 2.0, 0.0, 6.0])
            .smooth(),
        row!("a long loop": S => S, |a| fold(a.clone(), 300, |x| 0.99 * x.sin() + 0.01 * a), s(1.1)).smooth(),
        row!("f32 loop": Fs => F, |x| scan(scalar(0.5f32), x, 3, |s, x| ((s * x).sin(), ())).0, f([1.0, 2.0, 3.0])),
        row!("a loop of one step": V => V, |x| scan(scalar(1.0), x, 1, |c, x| (&c * &x, x * c)).1, v([3.0]))
            .value([3.0])
            .gradient([1.0])
            .smooth(),
        row!("two loops, one after the other": V => V, |x| {
                let sums = scan(scalar(0.0), x, 4, |s, x| twice((s + x).sin())).1;
                scan_reverse(scalar(1.0), &sums, 4, |p, s| twice(p * (s + 1.0))).1
            }, some(4, 126))
            .smooth(),
        row!("ten steps by cases": S => S, |x| {
                let start = (x.clone(), (x * 10.0).cast::<i64>() % 4);
                scan(start, &(), 10, |(x, _), ()| {
                    let s = (&x * 10.0).cast::<i64>() % 4;
                    let case = |y0: Scalar<A, f64>, y1: Scalar<A, f64>, y2: Scalar<A, f64>, y3: Scalar<A, f64>| {
                        s.equal(0).select(y0, s.equal(1).select(y1, s.equal(2).select(y2, y3)))
                    };
                    let next = cond(
                        x.gt(100.0),
                        || case(1.0 + x.sin(), 1.0 + x.cos(), x.ln1p(), x.sqrt()),
                        || case(&x + 10.0, x.powi(3), (&x / 10.0).exp(), 10.0 * x.powi(2)),
                    );
                    ((next, s.clone()), ())
                }).0.0
            }, s(3.0))
            .value([82.45960311115695])
            .gradient([0.737880933347085]),
    ]
}

fn nests() -> Vec<Row> {
    vec![
        row!("a fold in a fold": S => S, |a| nested_fold(a), s(1.1)).gradient([2.0504979297616553e-43]).smooth(),
        row!("logarithm of a fold in a fold": S => S, |a| nested_fold(a).ln(), s(1.1))
            .value([(2.0504979297616553e-43f64 * 1.1 / 400.0).ln()])
            .gradient([400.0 / 1.1])
            .smooth(),
        row!("a fold in a fold over captures": S => S,
            |a| fold(a.clone(), 3, |x| fold(x.sin(), 4, |y| (y * a).cos())), s(1.1))
        .smooth(),
        // Residuals of loops in loops were told apart by where they had been recorded.
        row!("a scan in a scan in a build, read beside its end": S => M, |x| {
                let fourth = (x * x) * (x * x);
                build((1, 3), |(i, j)| {
                    let v = fourth.replicate(1);
                    let (_, rows) = scan(i, &v, 1, |_, e| {
                        let inner = scan(e.tanh(), &(), 1, |c, ()| (c, (v.at(1), v.clone()))).1.0;
                        (scalar(1), inner.at(1))
                    });
                    rows.at(j / 3) + v.at(0)
                })
            }, s(-1.4)),
        row!("a scan over computed positions in a scan backwards": M => (M, S), |a| {
                let one = a.sum().reshape((1, 1));
                let at = full((1, 1), 0_i64);
                let start = one.scatter((&at, &at), (3, 2));
                let waves = start.sin();
                let (last, rows) = scan_reverse(waves.clone(), &waves, 3, |s, e| {
                    let keys = full(4, -2_i64);
                    let first = s.at((1, 1)).cast::<i64>();
                    let (_, reads) = scan(first, &(keys.clone(), keys), 4, |k, (e, f)| {
                        let read = start.at((start.at((2, 1)).round().cast::<i64>(), &e));
                        ((f + k) % 2, read)
                    });
                    ((s + &start).tanh() * e.sum(), reads)
                });
                (last, one.sum() + rows.sum())
            }, some((2, 3), 137)),
        row!("a fold in a build": V => V, |x| build(3, |i| fold(x.at(&i), 4, |y| (y * x.at(0)).sin())), some(3, 127))
            .smooth(),
        row!("a fold of the index in a build": S => V,
            |x| build(4, |i| fold(x * i.cast::<f64>(), 3, |y| y.cos())), s(0.5))
        .smooth(),
        row!("a scan in a build over rows": M => M,
            |a| build(2, |i| scan(scalar(1.0), &a.at(i), 3, |p, x| twice(p * x)).1), some((2, 3), 128))
        .smooth(),
        row!("a build in a fold in a build": M => V, |a| build(2, |i| {
                fold(a.at(&i), 3, |u| build(3, |j| (u.at(&j) * u.at(2 - &j)).sin() + a.at((&i, j)))).sum()
            }), some((2, 3), 129))
        .smooth(),
        row!("a derivative in a fold": S => S,
            |x| fold(x.clone(), 3, |y| &y - 0.3 * grad(|y| y.powi(2) * y.sin(), &y)), s(0.8))
        .smooth(),
        row!("a derivative of a fold in a program": S => S,
            |a| grad(|x| fold(x.clone(), 4, |y| (y * a.lift()).sin()), a), s(0.8))
        .smooth(),
        row!("power iteration": (M, V) => S, |(a, x)| {
                let y = fold(x.clone(), 6, |x| {
                    let y = a.dot(&x);
                    let norm = y.dot(&y).sqrt();
                    y / norm
                });
                y.dot(&a.dot(&y))
            }, (m([[2.0, 0.5], [0.5, 1.0]]), v([1.0, 0.3])))
        .smooth(),
        row!("triangular solve by scan": (M, V) => V, |(l, b)| {
                let n = b.len();
                let first: Vector<A, f64> = zeros(n);
                scan(first, &(), n, |x, ()| {
                    // Each step fixes the elements that the rows before determine.
                    let residual = b - l.dot(&x);
                    (x + residual / l.diagonal(), ())
                }).0
            }, (m([[2.0, 0.0, 0.0], [1.0, 4.0, 0.0], [-1.0, 2.0, 5.0]]), v([2.0, 9.0, 8.0])))
        .value([1.0, 2.0, 1.0])
        .smooth(),
    ]
}

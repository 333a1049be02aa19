//! Whole matrices of derivatives, and functions mapped over an axis.

use super::prelude::*;

/// Two numbers of three.
fn pair<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    stack(&[x.at(0) * x.at(1) + x.at(2), (x.at(0) * x.at(2)).sin()])
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = matrices();
    rows.extend(mapped());
    rows.extend(batches());
    rows.extend(linearised());
    rows
}

fn matrices() -> Vec<Row> {
    vec![
        row!("Jacobian, forward": V => M, |x| jacfwd(pair, x), v([0.5, 2.0, 0.0]))
            .value([2.0, 0.5, 1.0, 0.0, 0.0, 0.5])
            .smooth(),
        row!("Jacobian, reverse": V => M, |x| jacrev(pair, x), v([0.5, 2.0, 0.0]))
            .value([2.0, 0.5, 1.0, 0.0, 0.0, 0.5])
            .smooth(),
        row!("both Jacobians agree": V => M, |x| jacfwd(pair, x) - jacrev(pair, x), some(3, 361))
            .value([0.0; 6])
            .smooth(),
        row!("Jacobian of running products": V => M, |x| jacrev(|x| x.cumprod(0), x), v([1.0, 2.0, 3.0, 4.0, 5.0]))
            .value([
                1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 6.0, 3.0, 2.0, 0.0, 0.0, 24.0, 12.0, 8.0, 6.0, 0.0,
                120.0, 60.0, 40.0, 30.0, 24.0,
            ])
            .smooth(),
        row!("Jacobian of a matrix of a matrix": M => T4, |a| jacfwd(|a| a.dot(&a.transpose()), a), some((2, 3), 362))
            .smooth(),
        row!("Jacobian of a scalar": V => V, |x| jacfwd(|x| x.powi(3).sum(), x), v([1.0, 2.0]))
            .value([3.0, 12.0])
            .smooth(),
        row!("Jacobian of nothing": V => M, |x| jacrev(|x| x.exp(), x), v([])).value([]).gradient([]),
        row!("Hessian": V => M, |x| hessian(|x| x.product() + x.powi(3).sum(), x), v([1.0, 2.0, 3.0]))
            .value([6.0, 3.0, 2.0, 3.0, 12.0, 1.0, 2.0, 1.0, 18.0])
            .smooth(),
        row!("Hessian of a function of a matrix": M => T4, |a| hessian(|a| a.exp().sum().ln(), a), some((2, 2), 363))
            .overhead(1, 20)
            .smooth(),
        row!("Hessian by the first of two": (V, V) => M, |(x, y)| hessian(|(x, y)| (x * x * y).sum() * x.product(), (x, y)),
            (some(3, 367), some(3, 368)))
        .smooth(),
        row!("Jacobians by the first of two": (V, V) => (M, M), |(x, y)| (jacfwd(|(x, y)| x.sin() * y, (x, y)),
            jacrev(|(x, y)| x.sin() * y, (x, y))), (some(3, 369), some(3, 370)))
        .smooth(),
        row!("Hessian of a pair times a pair": (V, V) => (V, V), |(x, y)| {
                let pair = (x.clone(), y.clone());
                hvp(|(x, y)| (x.sin() * y).sum().exp(), &pair, &(y.cos(), x * y))
            },
            (some(3, 371), some(3, 372)))
        .smooth(),
        row!("Hessian of a pair as a vector": (V, S) => M, |(x, s)| {
                let pair = (x.clone(), s.clone());
                let (vector, unravel): (Vector<_, f64>, _) = ravel(&pair);
                hessian(|at| { let (x, s) = unravel.tree(at); (x * s.sin()).exp().sum() }, &vector)
            },
            (some(3, 373), s(0.5)))
        .smooth(),
        row!("Hessian times a vector": (V, V) => V, |(x, d)| hvp(|x| (x.at(0) * x.at(1)).exp() + x.sum(), x, d),
            (v([0.0, 2.0]), v([1.0, 1.0])))
        .value([5.0, 1.0])
        .smooth(),
    ]
}

fn mapped() -> Vec<Row> {
    vec![
        row!("a function mapped over rows": M => V, |a| vmap(|row| row.exp().sum().ln(), a), some((4, 3), 364)).smooth(),
        row!("a function of two mapped": (M, V) => (M, V),
            |(a, x)| vmap(|(row, x)| (row * &x, x.sin()), &(a.clone(), x.clone())), (some((3, 2), 365), some(3, 366)))
            .smooth(),
        row!("gradients mapped over rows": (M, V) => M,
            |(a, w)| vmap(|row| grad(|x| (x * w.lift()).sin().sum(), &row), a), (some((3, 2), 367), some(2, 368)))
            .smooth(),
        row!("loops mapped over rows": M => V, |a| vmap(|row| fold(scalar(0.5), &row, |s, x| (s * x).cos()), a), some((3, 4), 369))
            .smooth(),
        row!("a map of nothing": M => V, |a| vmap(|row| row.sum(), a), t((0, 2), &[])).value([]).gradient([]),
        row!("a map of a map": T3 => M, |a| vmap(|m| vmap(|row| row.powi(2).sum(), &m), a), some((2, 3, 2), 370)).smooth(),
        row!("a function mapped over columns": M => V, |a| vmap_axes(|column| column.exp().sum().ln(), a, [1], [0]), some((4, 3), 371))
            .smooth(),
        row!("columns mapped to columns": M => M, |a| vmap_axes(|column| column.cumsum(0).sin(), a, [1], [1]), some((4, 3), 372))
            .smooth(),
        row!("a map over different axes": (T3, M) => (T3, M), |(a, b)| {
                vmap_axes(|(m, row)| (m.dot(&row).outer(&row), row.powi(2)), &(a.clone(), b.clone()), [2, 0], [1, 1])
            }, (some((2, 3, 4), 373), some((4, 3), 374)))
            .smooth(),
        row!("a map over the last axis of a list": (M, M) => M, |(a, b)| {
                vmap_axes(|list: Vec<Vector<A, f64>>| &list[0] * list[1].sum(), &vec![a.clone(), b.clone()], [1], [0])
            }, (some((2, 3), 375), some((4, 3), 376)))
            .smooth(),
        row!("gradients mapped over columns": (M, V) => M,
            |(a, w)| vmap_axes(|c| grad(|x| (x * w.lift()).sin().sum(), &c), a, [1], [1]), (some((2, 3), 377), some(2, 378)))
            .smooth(),
    ]
}

fn batches() -> Vec<Row> {
    vec![
        row!("a batch of tangents": (V, M) => (V, M), |(x, d)| jvp_batch(pair, x, d),
            (v([0.5, 2.0, 0.0]), m([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])))
            .value([1.0, 0.0, 2.0, 0.0, 1.0, 0.5, 3.5, 0.5])
            .smooth(),
        row!("a batch of cotangents": (V, M) => (V, M), |(x, c)| {
                let (y, pullback) = vjp_batch(pair, x);
                (y, pullback(c))
            }, (v([0.5, 2.0, 0.0]), m([[1.0, 0.0], [0.0, 1.0]])))
            .value([1.0, 0.0, 2.0, 0.5, 1.0, 0.0, 0.0, 0.5])
            .smooth(),
        row!("a batch of no tangents": (V, M) => (V, M), |(x, d)| jvp_batch(pair, x, d), (v([0.5, 2.0, 0.0]), t((0, 3), &[])))
            .value([1.0, 0.0]),
        row!("a batch of tangents of a loop": (V, M, V) => (S, V),
            |(x, d, w)| jvp_batch(|(x, w)| fold(scalar(0.5), x, |s, x| (s * x * w.at(0)).cos()), (x, w), d),
            (some(4, 379), some((3, 4), 380), some(1, 381)))
            .smooth(),
        row!("batches of cotangents of several": (V, M, V, M) => (M, T3), |(x, a, c, e)| {
                let f = |(x, a): &(Vector<A::Nested, f64>, Matrix<A::Nested, f64>)| (a.dot(x).sin(), (x * x).sum());
                let (_, pullback) = vjp_batch(f, &(x.clone(), a.clone()));
                pullback(&(e.clone(), c.clone()))
            }, (some(3, 382), some((2, 3), 383), some(4, 384), some((4, 2), 385)))
            .smooth(),
    ]
}

fn linearised() -> Vec<Row> {
    vec![
        row!("linearised": (V, V) => (V, V), |(x, d)| {
                let (y, map) = linearize(pair, x);
                (y, map(d))
            }, (v([0.5, 2.0, 0.0]), v([1.0, 1.0, 1.0])))
        .value([1.0, 0.0, 3.5, 0.5])
        .smooth(),
        row!("linearised, and as a tangent": (V, V) => V, |(x, d)| linearize(pair, x).1(d) - jvp(pair, x, d).1,
            (some(3, 386), some(3, 387)))
        .value([0.0, 0.0])
        .smooth(),
        row!("linearised, many tangents": (V, M) => M, |(x, d)| {
                let (_, map) = linearize(|x| x.cumprod(0).sin(), x);
                vmap(|d| map(&d), d)
            }, (some(4, 388), some((3, 4), 389)))
        .smooth(),
        row!("a loop, linearised": (V, V, S) => S, |(x, d, w)| {
                let f = |(x, w): &(Vector<_, f64>, Scalar<_, f64>)| fold(scalar(0.5), x, |s, x| (s * x * w).cos());
                linearize(f, (x, w)).1(d)
            }, (some(5, 390), some(5, 391), s(1.5)))
        .smooth(),
        row!("a conditional and reads, linearised": (V, V, Ns) => V, |(x, d, at)| {
                let f = |(x, at): &(Vector<_, f64>, Vector<_, i64>)| {
                    let y = x.gather(at);
                    y.gt(0.0).select(y.sin(), y.powi(2)) * cond(x.at(0).gt(0.0), || x.dot(x), || x.sum())
                };
                linearize(f, (x, at)).1(d)
            }, (v([1.0, -2.0, 4.0]), some(3, 392), ns([2, 0, 9, 1, 2])))
        .smooth(),
        row!("a root not taken, linearised": (V, V) => V,
            |(x, d)| linearize(|x| x.gt(0.0).select(x.sqrt(), x), x).1(d), (v([0.0, 4.0]), v([3.0, 1.0])))
        .value([3.0, 0.25])
        .once(),
        row!("a gradient, linearised": (V, V) => V,
            |(x, d)| linearize(|x| grad(|y| y.powi(4).sum() * y.at(0), x), x).1(d), (some(3, 393), some(3, 394)))
        .smooth(),
        row!("the gradient of what is linearised": (V, V) => V,
            |(x, d)| grad(|x| linearize(|y| y.exp() * y.sum(), x).1(&d.lift()).sum(), x), (some(3, 395), some(3, 396)))
        .smooth(),
        row!("linearised in a build": (V, V) => M,
            |(x, d)| build(3, |i| linearize(|y| y.powi(3), &(x * i.cast::<f64>())).1(d)), (some(2, 397), some(2, 398)))
        .smooth(),
        row!("linearised with integers": (V, Ns) => V, |(x, k)| {
                let f = |(x, k): &(Vector<_, f64>, Vector<_, i64>)| (x * k.cast::<f64>(), k.sum());
                let (value, map) = linearize(f, &(x.clone(), k.clone()));
                let (tangent, none) = map(&(x.clone(), k.clone()));
                tangent * (value.1 + none).cast::<f64>()
            }, (v([2.0, 3.0]), ns([5, 7])))
        .value([120.0, 252.0])
        .smooth(),
    ]
}

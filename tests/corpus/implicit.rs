//! Fixed points, roots and minima, differentiated by the equations that they satisfy.

use super::prelude::*;

/// x² − a.
fn square() -> impl Part<In = (S, S), Out = S> {
    function!((S, S) => S, |(x, a)| x * x - a)
}

fn newton<G>(g: G) -> Newton<G> {
    Newton(g, Convergence::default())
}

/// The root of a, by Newton's method.
fn square_root<A: Algebra>(a: &Scalar<A, f64>) -> Scalar<A, f64> {
    root(&square(), &newton(square()), &scalar(1.0), a, &Implicit::default())
}

/// The fixed point of x ↦ cos(a x).
fn cosine<A: Algebra>(a: &Scalar<A, f64>) -> Scalar<A, f64> {
    fixed_point(&function!((S, S) => S, |(x, a)| (a * x).cos()), &scalar(0.5), a, &Implicit::default())
}

/// x − e sin x − m.
fn kepler() -> impl Part<In = (S, (S, S)), Out = S> {
    function!((S, (S, S)) => S, |(x, (e, m))| x - e * x.sin() - m)
}

/// The squared error of a linear model, and its weights, times a penalty.
fn ridge() -> impl Part<In = (V, (M, V, S)), Out = S> {
    function!((V, (M, V, S)) => S, |(w, (x, y, penalty))| {
        let error = x.dot(w) - y;
        error.dot(&error) + penalty * w.dot(w)
    })
}

fn ridge_weights<A: Algebra>(data: &(Matrix<A, f64>, Vector<A, f64>, Scalar<A, f64>)) -> Vector<A, f64> {
    minimum(&ridge(), &newton(GradFirst(ridge())), &zeros(data.0.shape()[1]), data, &Implicit::default())
}

/// x ↦ tanh(W x + b).
fn layer() -> impl Part<In = (V, (M, V)), Out = V> {
    function!((V, (M, V)) => V, |(x, (w, b))| (w.dot(x) + b).tanh())
}

/// (1 + Aᵀ A) x.
fn gram() -> impl Part<In = (V, M), Out = V> {
    function!((V, M) => V, |(x, a)| x + a.t().dot(&a.dot(x)))
}

fn with(linear: LinearSolver) -> Implicit {
    Implicit { linear: Some(linear), orders: 1, ..Implicit::default() }
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = equations();
    rows.extend(systems());
    rows.extend(nests());
    rows
}

fn equations() -> Vec<Row> {
    let fixed = 0.7390851332151607_f64;
    vec![
        row!("a square root as a root": S => S, |a| square_root(a), s(4.0)).value([2.0]).gradient([0.25]).smooth(),
        row!("the second derivative of a root": S => S, |a| grad(|a| square_root(a), a), s(4.0)).value([0.25]).gradient([-1.0 / 32.0]).smooth(),
        row!("the tangent of a root": S => S, |a| jvp(|a| square_root(a), a, &scalar(1.0)).1, s(4.0)).value([0.25]).gradient([-1.0 / 32.0]).smooth(),
        row!("the third derivative of a root": S => S, |a| grad(|a| grad(|a| square_root(a), a), a), s(4.0)).value([-1.0 / 32.0]).gradient([3.0 / 256.0]).smooth(),
        row!("a fixed point": S => S, |a| cosine(a), s(1.0)).value([fixed]).gradient([-fixed * fixed.sin() / (1.0 + fixed.sin())]).smooth(),
        row!("the second derivative of a fixed point": S => S, |a| grad(|a| cosine(a), a), s(1.0)).smooth(),
        row!("Kepler's equation": (S, S) => S, |at| {
                root(&kepler(), &newton(kepler()), &at.1, at, &Implicit::default())
            }, (s(0.3), s(1.0)))
            .smooth(),
        row!("derivatives of Kepler's equation": (S, S) => (S, S), |at| {
                grad(|at| root(&kepler(), &newton(kepler()), &at.1, at, &Implicit::default()), at)
            }, (s(0.3), s(1.0)))
            .smooth(),
        row!("Kepler's equation as a fixed point": (S, S) => S, |at| {
                fixed_point(&function!((S, (S, S)) => S, |(x, (e, m))| m + e * x.sin()), &at.1, at, &Implicit::default())
            }, (s(0.3), s(1.0)))
            .smooth(),
        row!("a start that is differentiated": (S, S) => S, |(start, a)| {
                start * root(&square(), &newton(square()), start, a, &Implicit::default())
            }, (s(3.0), s(4.0)))
            .value([6.0])
            .gradient([2.0, 0.75])
            .values_only(),
    ]
}

fn systems() -> Vec<Row> {
    vec![
        row!("ridge regression by its penalty": (M, V, S) => V, |data| ridge_weights(data), (some((4, 2), 411), some(4, 412), s(0.5))).smooth(),
        row!("a ridge regression's error by its penalty, twice": S => S, |penalty| {
                let (x, y) = (constant(&some((3, 2), 413)), constant(&some(3, 414)));
                grad(|penalty| {
                    let (x, y) = (constant(&some((3, 2), 413)), constant(&some(3, 414)));
                    let w = ridge_weights(&(x, y, penalty.clone()));
                    w.dot(&w)
                }, penalty) + ridge_weights(&(x, y, penalty.clone())).sum()
            }, s(0.5))
            .smooth(),
        row!("a layer's fixed point": (M, V) => V, |at| {
                fixed_point(&layer(), &zeros(at.1.len()), at, &Implicit::default())
            }, (m([[0.2, -0.3], [0.1, 0.4]]), v([0.3, -0.2])))
            .smooth(),
        row!("a layer's fixed point by elimination": (M, V) => V, |at| {
                fixed_point(&layer(), &zeros(at.1.len()), at, &with(LinearSolver::Dense))
            }, (m([[0.2, -0.3], [0.1, 0.4]]), v([0.3, -0.2])))
            .smooth(),
        row!("a layer's fixed point by conjugate gradients": (M, V) => V, |at| {
                fixed_point(&layer(), &zeros(at.1.len()), at, &with(LinearSolver::NormalEquations(Convergence::default())))
            }, (m([[0.2, -0.3], [0.1, 0.4]]), v([0.3, -0.2])))
            .smooth(),
        row!("a fixed point that is a tree": (V, S) => (V, S), |at| {
                fixed_point(
                    &function!(((V, S), (V, S)) => (V, S), |((x, y), (a, b))| (0.3 * (x * y + a).sin(), 0.2 * x.sum() + b)),
                    &(zeros(at.0.len()), scalar(0.0)), at, &Implicit::default(),
                )
            }, (some(2, 415), s(0.6)))
            .smooth(),
        row!("a root with a pivot": (V, S) => V, |(b, c)| {
                let g = function!((V, (V, S)) => V, |(x, (b, c))| {
                    stack(&[x.at(1) - b.at(0), c * x.at(0) + x.at(2) - b.at(1), x.at(2) + 2.0 * x.at(1) - b.at(2)])
                });
                root(&g, &newton(g), &zeros(3), &(b.clone(), c.clone()), &Implicit::default())
            }, (v([1.0, 2.0, 5.0]), s(0.5)))
            .value([-2.0, 1.0, 3.0])
            .smooth(),
        row!("conjugate gradients": (M, V) => V, |(a, b)| {
                conjugate_gradients(&gram(), b, a, &Implicit { orders: 1, ..Implicit::default() }).x
            }, (some((2, 3), 416), some(3, 417)))
            .smooth(),
        row!("conjugate gradients with a preconditioner": (M, V) => V, |(a, b)| {
                let diagonal = function!((V, M) => V, |(x, a)| x / ((a * a).sum_axis(0) + 1.0));
                let options = Implicit { orders: 1, ..Implicit::default() };
                preconditioned_conjugate_gradients(&gram(), &diagonal, b, a, &options).x
            }, (some((2, 3), 418), some(3, 419)))
            .smooth(),
    ]
}

fn nests() -> Vec<Row> {
    vec![
        row!("roots in a build": V => V, |a| build(a.len(), |i| square_root(&a.at(i))), v([1.0, 4.0, 9.0]))
            .value([1.0, 2.0, 3.0])
            .gradient([0.5, 0.25, 1.0 / 6.0])
            .smooth(),
        row!("fixed points in a build": V => V, |a| build(a.len(), |i| cosine(&a.at(i))), v([0.5, 1.0])).smooth(),
        row!("roots in a loop": V => S, |a| fold(scalar(1.0), a, |s, a| square_root(&(s + &a * &a))), v([1.0, 2.0]))
            .smooth(),
        row!("roots in a loop with a condition": S => S, |a| while_loop(a.clone(), |a| a.gt(1.5), |a| square_root(&a)), s(9.0))
            .value([3.0_f64.sqrt().sqrt()])
            .gradient([1.0 / (8.0 * 9.0_f64.powf(0.875))])
            .smooth(),
        row!("a root in a side": S => S, |a| cond(a.gt(0.0), || square_root(a), || a * a), s(4.0))
            .value([2.0])
            .gradient([0.25])
            .smooth(),
        row!("a root of a fixed point": S => S, |a| square_root(&(1.0 + cosine(a))), s(1.0)).smooth(),
    ]
}

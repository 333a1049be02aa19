//! Derivatives of functions as users write them.

use super::*;

/// One element of the self-convolution of `x`.
fn self_convolution<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = x.len();
    build(n, |i| x.at(&i) * x.at(n - 1 - i)).sum()
}

#[test]
fn of_a_generic_function() {
    let x = v(&[1.0, 2.0, 3.0]);
    let dx = grad(self_convolution, &x);
    assert_eq!(dx.to_vec(), [6.0, 4.0, 2.0]);
}

#[test]
fn of_two_arguments_and_with_auxiliary_outputs() {
    let (a, b) = (scalar::<C, f64>(5.0), scalar::<C, f64>(3.0));
    let (value, da) = value_and_grad(|(a, b)| a + a * b, (&a, &b));
    assert_eq!((value.item(), da.item()), (20.0, 4.0));
    let (da, db) = grad(|(a, b)| a + a * b, &(a.clone(), b.clone()));
    assert_eq!((da.item(), db.item()), (4.0, 5.0));
    let ((value, aux), da) = value_and_grad_aux(|(a, b)| (a * b, (a * 100.0, b.gt(0.0))), (&a, &b));
    assert_eq!((value.item(), aux.0.item(), aux.1.item(), da.item()), (15.0, 500.0, true, 3.0));
    let (da, aux) = grad_aux(|a| (a * a, a * 100.0), &a);
    assert_eq!((da.item(), aux.item()), (10.0, 500.0));
    let (value, aux, pullback) = vjp_aux(|a| (a * a, a * 100.0), &a);
    assert_eq!((value.item(), aux.item(), pullback(&scalar(2.0)).item()), (25.0, 500.0, 20.0));
    let (value, tangent, aux) = jvp_aux(|a| (a * a, a * 100.0), &a, &scalar(2.0));
    assert_eq!((value.item(), tangent.item(), aux.item()), (25.0, 20.0, 500.0));
}

#[test]
fn pullbacks_are_callable_many_times() {
    // y·x·x + (2+2) at (3, 2) (facts, 62).
    let at = (scalar::<C, f64>(3.0), scalar::<C, f64>(2.0));
    let (value, pullback) = vjp(|(x, y)| y * x * x + 4.0, &at);
    assert_eq!(value.item(), 22.0);
    for _ in 0..2 {
        let (dx, dy) = pullback(&scalar(1.0));
        assert_eq!((dx.item(), dy.item()), (12.0, 9.0));
    }
    let (value, tangent) = jvp(|(x, y)| y * x * x + 4.0, &at, &(scalar(1.0), scalar(0.0)));
    assert_eq!((value.item(), tangent.item()), (22.0, 12.0));
    // A second argument is not differentiated.
    let (_, tangent) = jvp(|(x, y)| y * x * x + 4.0, (&at.0, &at.1), &scalar(1.0));
    assert_eq!(tangent.item(), 12.0);
}

#[test]
fn levels_are_not_confused() {
    // jvp(λx. jvp(λy. x+y) 3 1) 2 1: inner 1, whole 0 (facts, 63).
    let one = || scalar::<C, f64>(1.0);
    let (inner, whole) = jvp(|x| jvp(|y| x.lift_forward() + y, &scalar(3.0), &scalar(1.0)).1, &scalar(2.0), &one());
    assert_eq!((inner.item(), whole.item()), (1.0, 0.0));
    // jvp(λx. x · jvp(λy. x) 1 1) 2 1 = 0.
    let f = |x: &Scalar<_, f64>| x * jvp(|_| x.lift_forward(), &scalar(1.0), &scalar(1.0)).1;
    let (value, whole) = jvp(f, &scalar(2.0), &one());
    assert_eq!((value.item(), whole.item()), (0.0, 0.0));
    let mixed = grad(|x| x * grad(|y| x.lift() * y, &scalar(1.0)), &scalar::<C, f64>(3.0));
    assert_eq!(mixed.item(), 6.0);
}

#[test]
fn third_order() {
    let x = scalar::<C, f64>(2.0);
    let third = grad(|x| grad(|x| grad(|x| x.powi(4), x), x), &x);
    assert_eq!(third.item(), 48.0);
    // vjp(vjp(vjp x⁴)) per element (facts, 64).
    let x = v(&[1.0, 2.0, 3.0]);
    let third = grad(|x| grad(|x| grad(|x| x.powi(4).sum(), x).sum(), x).sum(), &x);
    assert_eq!(third.to_vec(), [24.0, 48.0, 72.0]);
    let forward_over_reverse = jvp(|x| grad(|x| x.powi(3).sum(), x), &x, &v(&[1.0, 0.0, 1.0])).1;
    assert_eq!(forward_over_reverse.to_vec(), [6.0, 0.0, 18.0]);
    let reverse_over_forward = grad(|x| jvp(|x| x.powi(3).sum(), x, &ones(3)).1, &x);
    assert_eq!(reverse_over_forward.to_vec(), [6.0, 12.0, 18.0]);
}

/// A derivative inside a user's generic function, with one bound.
fn newton_step<A: Algebra>(x: &Scalar<A, f64>, target: &Scalar<A, f64>) -> Scalar<A, f64> {
    let (value, slope) = value_and_grad(|(x, target)| x * x - target, (x, target));
    let curvature = grad(|y| grad(|z| z * z - target.lift().lift(), y) * x.lift(), x);
    x - value / slope + curvature * 0.0
}

#[test]
fn inside_generic_functions() {
    let (x, target) = (scalar::<C, f64>(1.0), scalar(2.0));
    assert_eq!(newton_step(&x, &target).item(), 1.5);
    let slope = grad(|(x, target)| newton_step(x, target), (&x, &target)).item();
    assert_relative_eq!(slope, 0.5 - 1.0, max_relative = 1e-12);
}

#[test]
fn integers_have_zero_gradients() {
    let at = (v(&[1.0, 2.0]), Vector::<C, i64>::from_slice(&[1, 0]), Vector::<C, bool>::from_slice(&[true, false]));
    let (dx, di, dp) = grad(|(x, i, p)| p.select(x.gather(i), 0.0).sum() + i.cast::<f64>().sum(), &at);
    assert_eq!((dx.to_vec(), di.to_vec(), dp.to_vec()), (vec![0.0, 1.0], vec![0, 0], vec![false, false]));
}

struct Cube;

impl ArrayFn for Cube {
    type In = Vector<C, f64>;
    type Out = Scalar<C, f64>;
    fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
        x.powi(3).sum()
    }
}

struct Total;

impl ArrayFn for Total {
    type In = Vector<C, f64>;
    type Out = Scalar<C, f64>;
    fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
        x.sum()
    }
}

#[test]
fn functions_as_values() {
    let x = v(&[1.0, 2.0]);
    assert_eq!(Grad(Cube).call::<C>(&x).to_vec(), [3.0, 12.0]);
    let second = Grad(Compose(Grad(Cube), Total));
    assert_eq!(second.call::<C>(&x).to_vec(), [6.0, 12.0]);
    let third = Grad(Compose(&second, Total));
    assert_eq!(third.call::<C>(&x).to_vec(), [6.0, 6.0]);
    let (value, gradient) = ValueAndGrad(Cube).call::<C>(&x);
    assert_eq!((value.item(), gradient.to_vec()), (9.0, vec![3.0, 12.0]));
    assert_eq!(Vjp(Cube).call::<C>(&(x.clone(), scalar(2.0))).to_vec(), [6.0, 24.0]);
    let (value, tangent) = Jvp(Cube).call::<C>(&(x.clone(), v(&[1.0, 1.0])));
    assert_eq!((value.item(), tangent.item()), (9.0, 15.0));
    let hessian_vector = Jvp(Grad(Cube)).call::<C>(&(x, v(&[1.0, 1.0]))).1;
    assert_eq!(hessian_vector.to_vec(), [6.0, 12.0]);
}

#[test]
fn what_is_linearised_runs_once() {
    let runs = std::cell::Cell::new(0);
    let f = |x: &Vector<_, f64>| {
        runs.set(runs.get() + 1);
        // Any control flow is decided at the point.
        if x.known().is_some_and(|x| x.to_vec()[0] > 0.0) { x.sin() } else { x.cos() }
    };
    let x = v(&[0.5, 2.0]);
    let (value, map) = linearize(f, &x);
    close(&value.to_vec(), &[0.5f64.sin(), 2.0f64.sin()]);
    for scale in [0.0, 1.0, -3.0] {
        close(&map(&v(&[scale, 1.0])).to_vec(), &[scale * 0.5f64.cos(), 2.0f64.cos()]);
    }
    assert_eq!(runs.get(), 1);
    // The second argument has no tangent; other trees and integers.
    let (value, map) = linearize(|(x, k)| (x * k.cast::<f64>(), k.sum()), (&x, &Vector::from(vec![3i64, 5])));
    assert_eq!((value.0.to_vec(), value.1.item()), (vec![1.5, 10.0], 8));
    let (tangent, none) = map(&v(&[1.0, 10.0]));
    assert_eq!((tangent.to_vec(), none.item()), (vec![3.0, 50.0], 0));
    // At nothing, and with a value that does not depend on the argument.
    assert_eq!(linearize(|x| x.sum(), &v(&[])).1(&v(&[])).item(), 0.0);
    assert_eq!(linearize(|_| scalar(2.0), &x).1(&x).item(), 0.0);
}

#[test]
fn many_tangents_and_cotangents() {
    let runs = std::cell::Cell::new(0);
    let f = |x: &Vector<_, f64>| {
        runs.set(runs.get() + 1);
        (x * x, x.sum())
    };
    let x = v(&[1.0, 2.0]);
    let (value, pullback) = vjp_batch(f, &x);
    assert_eq!((value.0.to_vec(), value.1.item()), (vec![1.0, 4.0], 3.0));
    let cotangents = ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]].into(), v(&[0.0, 0.0, 1.0]));
    assert_eq!(pullback(&cotangents), [[2.0, 0.0], [0.0, 4.0], [1.0, 1.0]].into());
    assert_eq!(runs.get(), 1);
    let f = |(x, w): &(Vector<_, f64>, Vector<_, f64>)| x.dot(w);
    let (value, tangents) = jvp_batch(f, (&x, &v(&[3.0, 5.0])), &[[1.0, 0.0], [1.0, 1.0]].into());
    assert_eq!((value.item(), tangents.to_vec()), (13.0, vec![3.0, 8.0]));
}

#[test]
fn maps_over_any_axes_of_any_tree() {
    let a: Matrix<C, f64> = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into();
    assert_eq!(vmap_axes(|column| column.sum(), &a, [1], [0]).to_vec(), [5.0, 7.0, 9.0]);
    assert_eq!(vmap_axes(|column| column.reverse(0), &a, [1], [1]), [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]].into());
    let pair = (a.clone(), Some(vec![v(&[10.0, 20.0, 30.0])]));
    let (sums, rest) =
        vmap_axes(|(column, other)| (column.sum() + &other.unwrap()[0], [column]), &pair, [1, 0], [0, 1]);
    assert_eq!((sums.to_vec(), rest), (vec![15.0, 27.0, 39.0], [a]));
}

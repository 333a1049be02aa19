//! Choices, ties, and the places where a derivative is defined to be 0.

use crate::harness::C;
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::linalg::{diagonal_matrix, log_determinant, solve};
use deltaray::prelude::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn only_the_chosen_side_of_select_has_influence() {
    rows! {
        |x, i| x.gt(0.0).select(x.sqrt(), x); [0.0, 4.0, -1.0] , [] => [0.0, 2.0, -1.0], [1.0, 0.25, 1.0];
        |x, i| x.gt(0.0).select(x.ln(), 0.0); [-1.0, 0.0, 1.0], [] => [0.0, 0.0, 0.0], [0.0, 0.0, 1.0];
        |x, i| x.not_equal(0.0).select(x.recip(), 1.0); [0.0, 2.0], [] => [1.0, 0.5], [0.0, -0.25];
        |x, i| x.equal(0.0).select(1.0, x.sin() / x); [0.0], [] => [1.0], [0.0];
        |x, i| x.gt(0.0).select(x.sqrt().sqrt() / x, x); [0.0, 1.0], [] => [0.0, 1.0], [1.0, -0.75];
        |x, i| x.gt(0.0).select(x.pow(-1.5), x * 3.0); [0.0, 1.0], [] => [0.0, 1.0], [3.0, -1.5];
        |x, i| x.gt(0.0).select(x.ln() * x.ln1p().sqrt(), x.abs()); [0.0, -2.0], [] => [0.0, 2.0], [0.0, -1.0];
        |x, i| {
            let root = x.sqrt();
            x.gt(0.0).select(&root * x, 0.0) + x.le(0.0).select(0.0, root)
        }; [0.0, 4.0], [] => [0.0, 10.0], [0.0, 3.25];
        |x, i| x.gt(0.0).select(x.gt(1.0).select((x - 1.0).sqrt(), x), x.sqrt().max(x.sqrt()) * 0.0 + x * 2.0).max(-9.0);
            [1.0, 2.0], [] => [1.0, 1.0], [1.0, 0.5];
        |x, i| x.gt(0.0).select(x.sqrt(), x).sum() * x; [0.0, 4.0], [] => [0.0, 8.0], [6.0, 3.0];
        |x, i| build(x.len(), |j| x.at(&j).gt(0.0).select(x.at(&j).sqrt(), x.at(&j) * 2.0));
            [0.0, 4.0, -1.0], [] => [0.0, 2.0, -2.0], [2.0, 0.25, 2.0];
        |x, i| build((2, 3), |(p, q)| x.at(&q).gt(&x.at(&p)).select((x.at(&q) - x.at(&p)).sqrt(), 0.0)).flatten();
            [0.0, 4.0, 0.0], [] => [0.0, 2.0, 0.0, 0.0, 0.0, 0.0], [-0.25, 0.25, 0.0];
        // Sums of masked products, whose factors are infinite where the mask is false.
        |x, i| build(x.len(), |p| build(x.len(), |q| {
            let d = x.at(&q) - x.at(&p);
            d.not_equal(0.0).select(d.recip() * (x.at(&q) * x.at(&q)), 0.0)
        }).sum()); [1.0, 2.0, 1.0], [] => [4.0, -2.0, 4.0], [1.0, 2.0, 1.0];
        |x, i| x.gt(0.0).select(x.sqrt() * 2.0, x).outer(x).sum_axis(1); [0.0, 4.0], [] => [0.0, 16.0], [8.0, 6.0];
        |x, i| x.gt(0.0).select(x.sqrt(), x).dot(&build((2, 2), |(p, q)| x.at(p) * x.at(q)));
            [0.0, 4.0], [] => [0.0, 32.0], [8.0, 20.0];
        // A NaN in the side not taken, or in the mask's operands.
        |x, i| x.gt(0.0).select(x, 1.0); [NAN, 2.0], [] => [1.0, 2.0], [0.0, 1.0];
        |x, i| x.gt(0.0).select(x / 0.0, x).min(9.0); [-1.0], [] => [-1.0], [1.0];
        |x, i| x.gt(0.0).select(2.0, 3.0) + 0.0 * x.sin(); [1.0, -1.0], [] => [2.0, 3.0], [0.0, 0.0];
    }
}

#[test]
fn only_the_chosen_side_of_cond_has_influence() {
    rows! {
        |x, i| cond(x.at(0).gt(0.0), || x.sqrt(), || x * 2.0); [0.0, 4.0], [] => [0.0, 8.0], [2.0, 2.0];
        |x, i| cond(x.at(1).gt(0.0), || x * 2.0, || x.sqrt().ln()); [0.0, 4.0], [] => [0.0, 8.0], [2.0, 2.0];
        |x, i| build(x.len(), |j| cond(x.at(&j).gt(0.0), || x.at(&j).sqrt(), || x.at(&j) * 2.0));
            [0.0, 4.0, -1.0], [] => [0.0, 2.0, -2.0], [2.0, 0.25, 2.0];
        |x, i| build(x.len(), |j| cond(j.gt(0), || x.at(&j - 1) * x.at(&j), || x.at(&j).recip()));
            [2.0, 0.0, 3.0], [] => [0.5, 0.0, 0.0], [-0.25, 5.0, 0.0];
        // A loop and a product in the side not taken.
        |x, i| cond(
            x.at(0).gt(0.0),
            || scan(scalar(1.0), x, x.len(), |c, x| (c * x.ln(), ())).0,
            || x.sum(),
        ).reshape(1); [0.0, 2.0], [] => [2.0], [1.0, 1.0];
        |x, i| cond(x.at(0).gt(0.0), || x.sqrt().dot(&x.ln()), || x.dot(x)).reshape(1);
            [0.0, 2.0], [] => [4.0], [0.0, 4.0];
        |x, i| cond(x.at(0).gt(-1.0), || x.dot(x), || x.recip().dot(&x.ln())).reshape(1);
            [0.0, 2.0], [] => [4.0], [0.0, 4.0];
        // A factorisation that fails in the side not taken.
        |x, i| cond(x.at(0).gt(0.0), || log_determinant(&diagonal_matrix(x)), || x.sum()).reshape(1);
            [-1.0, 2.0], [] => [1.0], [1.0, 1.0];
        |x, i| cond(x.at(0).gt(0.0), || x * 3.0, || solve(&diagonal_matrix(x), &(x + 1.0)));
            [2.0, 0.0], [] => [6.0, 0.0], [3.0, 3.0];
        |x, i| scan(scalar(0.0), x, x.len(), |c, x| {
            let a = x.reshape((1, 1));
            (cond(x.gt(0.0), || &c + log_determinant(&a), || &c + &x), ())
        }).0.reshape(1); [1.0, -4.0], [] => [-4.0], [1.0, 1.0];
        // In a `build` both sides run, so that the gradient needs a matrix without fault there.
        |x, i| build(x.len(), |j| cond(
            x.at(&j).gt(0.0),
            || log_determinant(&(eye(2) * x.at(&j))) + solve(&(eye(2) * x.at(&j)), x).sum(),
            || x.at(&j) * 3.0
        )); [2.0, -1.0], [] => [2.0 * 2.0_f64.ln() + 0.5, -3.0];
        |x, i| build(x.len(), |j| {
            let holds = x.at(&j).gt(0.0);
            let a = eye(2) * cond(&holds, || x.at(&j), || scalar(1.0));
            cond(&holds, || log_determinant(&a) + solve(&a, x).sum(), || x.at(&j) * 3.0)
        }); [2.0, -1.0], [] => [2.0 * 2.0_f64.ln() + 0.5, -3.0], [1.25, 3.5];
        // In loops, and one in another.
        |x, i| scan(scalar(0.0), x, x.len(), |c, x| (cond(x.gt(0.0), || &c + x.sqrt(), || &c + &x), ())).0.reshape(1);
            [0.0, 4.0, -1.0], [] => [1.0], [1.0, 0.25, 1.0];
        |x, i| cond(x.at(0).gt(0.0), || x.ln(), || cond(x.at(1).gt(0.0), || x * 3.0, || x.sqrt()));
            [0.0, 1.0], [] => [0.0, 3.0], [3.0, 3.0];
    }
}

/// (x² − x)², chosen: 0 at 1, where the derivative of the inner product is 0 too.
fn chosen<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    cond(x.gt(-1.0), || (x * x - x).powi(2), || scalar(0.0))
}

fn chosen_as_product<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    let y = x * x - x;
    x.gt(-1.0).select(&y * &y, 0.0)
}

#[test]
fn zeros_that_are_not_cut_off_have_derivatives() {
    let (x, one): (Scalar<C, f64>, Scalar<C, f64>) = (scalar(1.0), scalar(1.0));
    assert_eq!(grad(|x| grad(chosen, x), &x).item(), 2.0);
    assert_eq!(grad(|x| grad(chosen_as_product, x), &x).item(), 2.0);
    assert_eq!(jvp(|x| grad(chosen, x), &x, &one).1.item(), 2.0);
    assert_eq!(grad(|x| jvp(chosen, x, &scalar(1.0)).1, &x).item(), 2.0);
    assert_eq!(jvp(|x| jvp(chosen_as_product, x, &scalar(1.0)).1, &x, &one).1.item(), 2.0);
    for staged in [stage(chosen, &x).unwrap(), stage(chosen_as_product, &x).unwrap()] {
        let gradient = staged.grad().unwrap();
        let second = gradient.grad().unwrap();
        assert_eq!(second.call(&x).unwrap().item(), 2.0, "{staged}\n{gradient}\n{second}");
        let forward = gradient.jvp().unwrap();
        assert_eq!(forward.call(&(x.clone(), one.clone())).unwrap().1.item(), 2.0, "{forward}");
    }
    let inside = stage(|x| grad(|x| grad(chosen, x), x), &x).unwrap();
    assert_eq!(inside.call(&x).unwrap().item(), 2.0, "{inside}");
}

#[test]
fn steps_have_derivative_0() {
    rows! {
        |x, i| x.floor(); [0.5, -0.5, 1.5, 2.0, -2.5], [] => [0.0, -1.0, 1.0, 2.0, -3.0], [0.0; 5];
        |x, i| x.round(); [0.5, -0.5, 1.5, 2.5, -2.5, 0.25], [] => [1.0, -1.0, 2.0, 3.0, -3.0, 0.0], [0.0; 6];
        |x, i| x.ceil(); [0.5, -0.5, 2.0, -2.5], [] => [1.0, 0.0, 2.0, -2.0], [0.0; 4];
        |x, i| x.argsort(0).cast::<E>() * x; [2.0, 1.0], [] => [2.0, 0.0], [1.0, 0.0];
        |x, i| x.stop_gradient() * x; [2.0, -3.0], [] => [4.0, 9.0], [2.0, -3.0];
        |x, i| x.sign(); [0.0, -0.0, 2.0, -3.0, NAN, -INF], [] => [0.0, 0.0, 1.0, -1.0, NAN, -1.0], [0.0; 6];
        |x, i| x.floor() * x; [1.5, -0.5], [] => [1.5, 0.5], [1.0, -1.0];
        |x, i| x.gt(1.0).cast::<E>() * x + x.le(1.0).cast::<E>(); [0.5, 2.0], [] => [1.0, 2.0], [0.0, 1.0];
        |x, i| x.cast::<i64>().cast::<E>();
            [NAN, INF, -INF, 1e30, -2.7, 2.7], []
            => [0.0, i64::MAX as f64, i64::MIN as f64, i64::MAX as f64, -2.0, 2.0], [0.0; 6];
        |x, i| x.cast::<i32>().cast::<i64>().cast::<E>();
            [NAN, INF, -INF, 1e30, -2.7, 2.7], []
            => [0.0, i32::MAX as f64, i32::MIN as f64, i32::MAX as f64, -2.0, 2.0], [0.0; 6];
        |x, i| x.cast::<bool>().cast::<E>(); [0.0, -0.0, 0.5, NAN], [] => [0.0, 0.0, 1.0, 1.0], [0.0; 4];
        |x, i| x.cast::<f32>().cast::<E>() * 2.0; [0.5, 2.0], [] => [1.0, 4.0], [2.0, 2.0];
        |x, i| x.cast::<f64>().cast::<E>() * 2.0; [0.5, 2.0], [] => [1.0, 4.0], [2.0, 2.0];
        |x, i| x.argmax().cast::<E>().reshape(1) * 2.0; [1.0, 3.0, 2.0], [] => [2.0], [0.0; 3];
        |x, i| x.at(x.argmin()).reshape(1); [2.0, 1.0, 3.0], [] => [1.0], [0.0, 1.0, 0.0];
        |x, i| x.reshape((2, 2)).argmax_axis(1).cast::<E>() * x.slice(0, ..2);
            [1.0, 3.0, 5.0, 2.0], [] => [1.0, 0.0], [1.0, 0.0, 0.0, 0.0];
        |x, i| x * (x.len() as E); [1.0, 3.0], [] => [2.0, 6.0], [2.0, 2.0];
    }
}

#[test]
fn integers_and_booleans_have_no_gradient() {
    type In<A> = (Vector<A, f64>, Vector<A, i64>, Vector<A, bool>, Vector<A, i32>);
    fn f<A: Algebra>((x, i, p, k): &In<A>) -> Scalar<A, f64> {
        (p.select(x.gather(i), 1.0) * k.cast::<f64>()).sum() + i.cast::<f64>().sum()
    }
    let x: Vector<C, f64> = Vector::from_slice(&[2.0, 3.0]);
    let at: In<C> = (x.clone(), [1, 0].into(), [true, false].into(), [5, 7].into());
    let staged = stage(f, &at).unwrap();
    let along: In<C> = (ones(2), [9, 9].into(), [true, true].into(), [9, 9].into());
    for (dx, di, dp, dk) in [
        grad(f, &at),
        staged.grad().unwrap().call(&at).unwrap(),
        stage(|x| grad(f, x), &at).unwrap().call(&at).unwrap(),
        staged.vjp().unwrap().call(&(at.clone(), scalar(1.0))).unwrap().1,
    ] {
        assert_eq!(dx.to_vec(), [0.0, 5.0]);
        assert_eq!((di.to_vec(), dp.to_vec(), dk.to_vec()), (vec![0, 0], vec![false, false], vec![0, 0]));
    }
    // Tangents of integers are ignored.
    assert_eq!(jvp(f, &at, &along).1.item(), 5.0);
    assert_eq!(staged.jvp().unwrap().call(&(at.clone(), along)).unwrap().1.item(), 5.0);
    // Integer results have zeros for tangents, and their cotangents are ignored.
    let integers = |(x, i, _, _): &In<_>| (x * 2.0, i + 1);
    let (_, (dy, di)) = jvp(integers, &at, &at);
    assert_eq!((dy.to_vec(), di.to_vec()), (vec![4.0, 6.0], vec![0, 0]));
    let (_, pullback) = vjp(|(x, i, _, _): &In<_>| (x * 2.0, i + 1), &at);
    assert_eq!(pullback(&(ones(2), [7, 7].into())).0.to_vec(), [2.0, 2.0]);
}

#[test]
fn ties_of_two_go_to_a_literal_or_the_first() {
    rows! {
        |x, i| x.max(0.0); [0.0, 1.0, -1.0], [] => [0.0, 1.0, 0.0], [0.0, 1.0, 0.0];
        |x, i| x.min(0.0); [0.0, 1.0, -1.0], [] => [0.0, 0.0, -1.0], [0.0, 0.0, 1.0];
        |x, i| x.relu(); [0.0, 1.0, -1.0], [] => [0.0, 1.0, 0.0], [0.0, 1.0, 0.0];
        |x, i| x.max(1.0).min(2.0); [1.0, 1.5, 2.0, 3.0], [] => [1.0, 1.5, 2.0, 2.0], [0.0, 1.0, 0.0, 0.0];
        |x, i| x.slice(0, ..2).max(x.slice(0, 2..)); [1.0, 2.0, 1.0, 3.0], [] => [1.0, 3.0], [1.0, 0.0, 0.0, 1.0];
        |x, i| x.slice(0, ..2).min(&x.slice(0, 2..)); [1.0, 2.0, 1.0, 3.0], [] => [1.0, 2.0], [1.0, 1.0, 0.0, 0.0];
        |x, i| x.max(x.filled(0.0)); [0.0, 1.0, -1.0], [] => [0.0, 1.0, 0.0], [1.0, 1.0, 0.0];
        |x, i| x.filled(0.0).max(x); [0.0, 1.0, -1.0], [] => [0.0, 1.0, 0.0], [0.0, 1.0, 0.0];
        |x, i| x.max(scalar(0.0)); [0.0, 1.0, -1.0], [] => [0.0, 1.0, 0.0], [1.0, 1.0, 0.0];
        |x, i| x.max(x * 1.0) + x.min(x); [0.0, 1.0], [] => [0.0, 2.0], [2.0, 2.0];
        |x, i| build(x.len(), |j| x.at(j).max(0.0)); [0.0, 1.0, -1.0], [] => [0.0, 1.0, 0.0], [0.0, 1.0, 0.0];
        |x, i| build(2, |j| x.at(&j).max(x.at(&j + 2)) + x.at(&j).min(x.at(&j + 2)) * 3.0);
            [1.0, 2.0, 1.0, 3.0], [] => [4.0, 9.0], [4.0, 3.0, 0.0, 1.0];
    }
}

#[test]
fn ties_of_reductions_go_to_the_first() {
    let six = [1.0, 3.0, 3.0, 3.0, 3.0, 1.0];
    rows! {
        |x, i| reduce(scalar(E::from_number(-INF)), x, |a, b| a.max(b)).reshape(1);
            [1.0, 3.0, 3.0], [] => [3.0], [0.0, 1.0, 0.0];
        |x, i| reduce(scalar(E::from_number(INF)), x, |a, b| b.min(a)).reshape(1);
            [1.0, 3.0, 1.0], [] => [1.0], [0.0, 0.0, 1.0];
        |x, i| x.max_all().reshape(1); [1.0, 1.0], [] => [1.0], [1.0, 0.0];
        |x, i| x.min_all().reshape(1); [1.0, 1.0], [] => [1.0], [1.0, 0.0];
        |x, i| x.max_all() * x; [2.0, 5.0, 5.0], [] => [10.0, 25.0, 25.0], [5.0, 17.0, 5.0];
        |x, i| x.reshape((2, 3)).max_axis(1); six, [] => [3.0, 3.0], [0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
        |x, i| x.reshape((2, 3)).max_axis(0); six, [] => [3.0, 3.0, 3.0], [0.0, 1.0, 1.0, 1.0, 0.0, 0.0];
        |x, i| x.reshape((2, 3)).min_axis(0); six, [] => [1.0, 3.0, 1.0], [1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        |x, i| x.reshape((2, 3)).max_axes([0, 1]).reshape(1); six, [] => [3.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| x.reshape((1, 2, 3)).max_axes([0, 2]); six, [] => [3.0, 3.0], [0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
        |x, i| build(2, |j| x.reshape((2, 3)).at(j).max_all()); six, [] => [3.0, 3.0], [0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
        |x, i| build(3, |j| x.reshape((2, 3)).transpose().at(j).max_all());
            six, [] => [3.0, 3.0, 3.0], [0.0, 1.0, 1.0, 1.0, 0.0, 0.0];
        |x, i| build(2, |j| build(3, |k| x.at(2 - k + &j * 3)).max_all());
            six, [] => [3.0, 3.0], [0.0, 0.0, 1.0, 0.0, 1.0, 0.0];
        |x, i| x.reshape((2, 3)).max_axis(0).max_all().reshape(1); [0.0, 5.0, 0.0, 5.0, 0.0, 0.0], []
            => [5.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        |x, i| x.reshape((2, 3)).max_axis(1).max_all().reshape(1); [0.0, 5.0, 0.0, 5.0, 0.0, 0.0], []
            => [5.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| x.reverse(0).max_all().reshape(1); [5.0, 5.0, 1.0], [] => [5.0], [0.0, 1.0, 0.0];
        |x, i| x.reshape((2, 3)).transpose().max_all().reshape(1); six, [] => [3.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        |x, i| x.abs().max_all().reshape(1); [1.0, -6.0, 5.0, 6.0], [] => [6.0], [0.0, -1.0, 0.0, 0.0];
        |x, i| x.replicate(3).max_axis(0); [1.0, 2.0], [] => [1.0, 2.0], [1.0, 1.0];
        |x, i| x.replicate(3).max_all().reshape(1); [1.0, 2.0, 2.0], [] => [2.0], [0.0, 1.0, 0.0];
        |x, i| x.append(0, x).max_all().reshape(1); [1.0, 2.0], [] => [2.0], [0.0, 1.0];
        |x, i| x.argmax().cast::<E>().reshape(1); [1.0, 3.0, 3.0], [] => [1.0], [0.0; 3];
        |x, i| x.argmin().cast::<E>().reshape(1); [3.0, 1.0, 1.0], [] => [1.0], [0.0; 3];
    }
}

#[test]
fn ties_of_running_extremes_go_to_the_first() {
    rows! {
        |x, i| x.cummax(0); [1.0, 3.0, 3.0, 2.0], [] => [1.0, 3.0, 3.0, 3.0], [1.0, 3.0, 0.0, 0.0];
        |x, i| x.cummin(0); [3.0, 1.0, 1.0, 2.0], [] => [3.0, 1.0, 1.0, 1.0], [1.0, 3.0, 0.0, 0.0];
        |x, i| x.cummax(0) * x; [2.0, 2.0, 1.0], [] => [4.0, 4.0, 2.0], [7.0, 2.0, 2.0];
        |x, i| x.reshape((2, 2)).cummax(0).flatten(); [1.0, 2.0, 1.0, 3.0], [] => [1.0, 2.0, 1.0, 3.0], [2.0, 1.0, 0.0, 1.0];
        // From the last to the first, the first is the last.
        |x, i| x.cummax_reverse(0); [1.0, 3.0, 3.0], [] => [3.0, 3.0, 3.0], [0.0, 0.0, 3.0];
    }
}

#[test]
fn ties_of_windows_go_to_the_first() {
    use deltaray::functions::{Window, max_pool_1d};
    rows! {
        |x, i| max_pool_1d(&x.reshape((1, 1, 4)), [2], &Window::default()).flatten();
            [3.0, 3.0, 1.0, 1.0], [] => [3.0, 3.0, 1.0], [1.0, 1.0, 1.0, 0.0];
    }
}

#[test]
fn ties_of_segments_go_to_the_first() {
    rows! {
        |x, i| x.segment_max(&Segments::by_key(i, 2)); [3.0, 1.0, 3.0, 1.0], [0, 1, 0, 1] => [3.0, 1.0], [1.0, 1.0, 0.0, 0.0];
        |x, i| x.segment_min(&Segments::by_key(i, 2)); [3.0, 1.0, 3.0, 1.0], [1, 0, 1, 0] => [1.0, 3.0], [1.0, 1.0, 0.0, 0.0];
        |x, i| x.segment_max(&Segments::by_offset(i, 4)); [3.0, 3.0, 1.0, 1.0], [0, 2, 4] => [3.0, 1.0], [1.0, 0.0, 1.0, 0.0];
    }
}

#[test]
fn ties_of_writes_go_to_what_is_there_then_to_the_first() {
    rows! {
        |x, i| x.slice(0, ..2).scatter_max(i, &x.slice(0, 2..)); [3.0, 1.0, 3.0, 2.0, 2.0], [0, 1, 1]
            => [3.0, 2.0], [1.0, 0.0, 0.0, 1.0, 0.0];
        |x, i| x.slice(0, ..2).scatter_min(i, &x.slice(0, 2..)); [3.0, 1.0, 2.0, 2.0, 1.0], [0, 0, 1]
            => [2.0, 1.0], [0.0, 1.0, 1.0, 0.0, 0.0];
    }
}

#[test]
fn equal_elements_keep_their_order_when_sorted() {
    rows! {
        |x, i| x.sort(0) * i.cast::<E>(); [2.0, 1.0, 2.0, 1.0], [1, 10, 100, 1000]
            => [1.0, 10.0, 200.0, 2000.0], [100.0, 1.0, 1000.0, 10.0];
        |x, i| x.sort_descending(0) * i.cast::<E>(); [2.0, 1.0, 2.0, 1.0], [1, 10, 100, 1000]
            => [2.0, 20.0, 100.0, 1000.0], [1.0, 100.0, 10.0, 1000.0];
        |x, i| x.top_k(1, 0).0; [2.0, 3.0, 3.0], [] => [3.0], [0.0, 1.0, 0.0];
        |x, i| x.argsort(0).cast::<E>(); [2.0, 1.0, 2.0, 1.0], [] => [1.0, 3.0, 0.0, 2.0], [0.0; 4];
    }
}

#[test]
fn products_are_exact_where_elements_are_0() {
    rows! {
        |x, i| x.product().reshape(1); [2.0, 0.0, 5.0], [] => [0.0], [0.0, 10.0, 0.0];
        |x, i| x.product().reshape(1); [0.0, 0.0, 5.0], [] => [0.0], [0.0, 0.0, 0.0];
        |x, i| x.cumprod(0); [2.0, 0.0, 5.0], [] => [2.0, 0.0, 0.0], [1.0, 12.0, 0.0];
        |x, i| x.segment_product(&Segments::by_key(i, 1)); [2.0, 0.0, 5.0], [0, 0, 0] => [0.0], [0.0, 10.0, 0.0];
        |x, i| x.slice(0, ..1).scatter_multiply(i, &x.slice(0, 1..)); [0.0, 3.0, 5.0], [0, 0] => [0.0], [15.0, 0.0, 0.0];
        |x, i| x.slice(0, ..1).scatter_multiply(i, &x.slice(0, 1..)); [2.0, 0.0, 0.0], [0, 0] => [0.0], [0.0, 0.0, 0.0];
        |x, i| reduce(scalar(1.0), x, |a, b| a * b).reshape(1); [2.0, 0.0, 5.0], [] => [0.0], [0.0, 10.0, 0.0];
    }
}

#[test]
fn what_is_subtracted_to_keep_exponentials_small_has_no_derivative() {
    use deltaray::functions::{log_softmax, softmax};
    let half = 0.5f64;
    rows! {
        |x, i| x.logsumexp().reshape(1); [1000.0, 1000.0], [] => [1000.0 + 2.0f64.ln()], [half, half];
        |x, i| softmax(x, 0) * i.cast::<E>(); [1000.0, 1000.0], [1, 3] => [0.5, 1.5], [-half, half];
        |x, i| log_softmax(x, 0).slice(0, ..1); [-1000.0, -1000.0], [] => [-(2.0f64.ln())], [half, -half];
        |x, i| x.segment_logsumexp(&Segments::by_key(i, 1)); [1000.0, 1000.0], [0, 0] => [1000.0 + 2.0f64.ln()], [half, half];
        |x, i| x.cumlogsumexp(0).slice(0, 1..); [1000.0, 1000.0], [] => [1000.0 + 2.0f64.ln()], [half, half];
    }
}

/// The one difference between running and staging that is one of values: see the guide.
#[test]
fn a_nan_that_an_operator_keeps_has_a_derivative_where_it_is_staged() {
    fn largest<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        reduce(scalar(-INF), x, |a, b| a.max(b))
    }
    let x: Vector<C, f64> = Vector::from(vec![2.0, NAN, 1.0, NAN]);
    assert!(largest(&x).item().is_nan());
    assert_eq!(grad(largest, &x).to_vec(), [0.0; 4]);
    let staged = stage(largest, &x).unwrap();
    assert!(staged.call(&x).unwrap().item().is_nan());
    let reduction = stage(|x: &Vector<_, f64>| x.max_all(), &x).unwrap();
    for function in [staged, reduction] {
        assert_eq!(function.grad().unwrap().call(&x).unwrap().to_vec(), [0.0, 1.0, 0.0, 0.0]);
    }
}

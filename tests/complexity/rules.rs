//! Functions with derivative rules of their own: long chains of them, and ones whose results are shared.

use super::*;

#[derive(Clone, Copy)]
pub struct Sine;

#[derive(Clone, Copy)]
pub struct SineRule;

#[derive(Clone, Copy)]
struct SineOfProduct;

#[derive(Clone, Copy)]
struct SineOfProductRule;

impl ArrayFn for Sine {
    type In = Vector<C, f64>;
    type Out = Vector<C, f64>;
    fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Vector<A, f64> {
        x.sin()
    }
}

impl ArrayFn for SineRule {
    type In = (Vector<C, f64>, Vector<C, f64>, Vector<C, f64>);
    type Out = Vector<C, f64>;
    fn call<A: Algebra>(&self, (x, _, along): &(Vector<A, f64>, Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
        along * x.cos()
    }
}

type Two<A> = (Vector<A, f64>, Vector<A, f64>);

impl ArrayFn for SineOfProduct {
    type In = Two<C>;
    type Out = Vector<C, f64>;
    fn call<A: Algebra>(&self, (x, y): &Two<A>) -> Vector<A, f64> {
        (x * y).sin()
    }
}

impl ArrayFn for SineOfProductRule {
    type In = (Two<C>, Vector<C, f64>, Vector<C, f64>);
    type Out = Two<C>;
    fn call<A: Algebra>(&self, ((x, y), _, along): &(Two<A>, Vector<A, f64>, Vector<A, f64>)) -> Two<A> {
        let slope = along * (x * y).cos();
        (&slope * y, slope * x)
    }
}

/// Both modes in turn.
fn chain<A: Algebra>(x: &Vector<A, f64>, n: usize) -> Vector<A, f64> {
    (0..n).fold(x.clone(), |y, at| match at % 2 {
        0 => custom_vjp(&Sine, &SineRule, &y),
        _ => custom_jvp(&Sine, &SineRule, &y),
    })
}

#[test]
fn chains_do_not_recurse() {
    guarded(|| {
        let (x, n) = (v(&[0.5, 0.25]), 4_000);
        let expected = grad(|x| (0..n).fold(x.clone(), |y, _| y.sin()).sum(), &x);
        let gradient = stage(|x| chain(x, n).sum(), &x).unwrap().grad().unwrap();
        assert!(gradient.program().node_count() <= 5 * n);
        let found = [grad(|x| chain(x, n).sum(), &x), gradient.interpret(&x).unwrap()];
        assert!(found.iter().all(|found| (found - &expected).abs().max_all().item() < 1e-12));
        let second = hvp(|x| chain(x, n).sum(), &x, &v(&[1.0, 0.0]));
        assert!(second.to_vec().iter().all(|number| number.is_finite()));
    });
}

#[test]
fn chains_are_linear() {
    assert_linear(60, &|n, x| chain(x, n));
}

#[test]
fn shared_results_are_visited_once() {
    assert_linear(12, &|n, x| {
        (0..n).fold(x.clone(), |y, _| custom_vjp(&SineOfProduct, &SineOfProductRule, &(y.clone(), y)))
    });
}

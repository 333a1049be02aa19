//! Traps that caught other systems of automatic differentiation: each by its name, eagerly and staged, in reverse and in
//! forward mode, for both floats.

// Some traps are about operations that seem to do nothing.
#![allow(clippy::erasing_op, clippy::eq_op)]

#[path = "semantics/harness.rs"]
#[macro_use]
#[allow(dead_code, unused_macros)]
mod harness;

use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;
use harness::C;
use std::cell::RefCell;

const INF: f64 = f64::INFINITY;

fn s(x: f64) -> Scalar<C, f64> {
    scalar(x)
}

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

#[test]
fn dead_code_in_a_trace() {
    rows! {
        // let y = x·x in x + 1.
        |x, i| { let _ = x * x; x + 1.0 }; [3.0], [] => [4.0], [1.0];
        // NaN, infinite, or out-of-bounds values that nobody uses.
        |x, i| { let _ = (x.ln(), x.recip(), x.sqrt(), x.at(7)); x * 2.0 }; [0.0], [] => [0.0], [2.0];
        |x, i| { let _ = build(3, |j| x.at(j).recip()); x * 2.0 }; [0.0], [] => [0.0], [2.0];
        |x, i| build(2, |j| { let _ = x.at(&j).ln(); x.at(j) }); [0.0, -1.0], [] => [0.0, -1.0], [1.0, 1.0];
        // In a loop's body, an output and a carry that nobody uses.
        |x, i| scan((scalar(1.0), scalar(1.0)), x, x.len(), |(c, d), x| ((&c * &x, d.ln() / &x), x.recip())).0.0.reshape(1);
            [2.0, 0.0, 3.0], [] => [0.0], [0.0, 6.0, 0.0];
        // In both sides of a conditional.
        |x, i| cond(x.at(0).gt(0.0), || { let _ = x.ln(); x * 3.0 }, || { let _ = x.sqrt(); x * 2.0 });
            [0.0, -1.0], [] => [0.0, -2.0], [2.0, 2.0];
    }
}

#[test]
fn a_value_times_itself() {
    rows! {
        |x, i| x * x; [3.0, -2.0], [] => [9.0, 4.0], [6.0, -4.0];
        |x, i| { let y = x * x; &y * &y }; [3.0], [] => [81.0], [108.0];
        |x, i| x.dot(x).reshape(1); [3.0, -2.0], [] => [13.0], [6.0, -4.0];
        |x, i| (x - x) + x / x; [3.0], [] => [1.0], [0.0];
        |x, i| x.outer(x).flatten(); [3.0, 2.0], [] => [9.0, 6.0, 6.0, 4.0], [10.0, 10.0];
        |x, i| build(2, |j| x.at(&j) * x.at(j)); [3.0, -2.0], [] => [9.0, 4.0], [6.0, -4.0];
        |x, i| fold(x.clone(), &(), |c, ()| &c * &c) + iterate(x.clone(), 2, |c| &c * &c); [2.0], [] => [18.0], [33.0];
        |x, i| x.max(x) + x.min(x); [3.0], [] => [6.0], [2.0];
    }
}

#[test]
fn closure_variables_in_map_bodies() {
    rows! {
        |x, i| { let w = x.at(0) * 2.0; build(x.len(), |j| x.at(j) * &w) }; [3.0, 2.0], [] => [18.0, 12.0], [16.0, 6.0];
        |x, i| { let w = x.sum(); vmap(|y| y * &w, x) }; [3.0, 2.0], [] => [15.0, 10.0], [10.0, 10.0];
        // A variable of the build around, and a whole array.
        |x, i| build((2, 2), |(p, q)| { let y = x.at(&p); build(2, |r| &y * x.at(r)).at(q) }).flatten();
            [3.0, 2.0], [] => [9.0, 6.0, 6.0, 4.0], [10.0, 10.0];
        |x, i| build(2, |j| { let y = x.at(j); vmap(|z| z * &y, x).sum() }); [3.0, 2.0], [] => [15.0, 10.0], [10.0, 10.0];
    }
}

#[test]
fn closure_variables_in_fold_bodies() {
    rows! {
        |x, i| { let w = x.at(1); fold(scalar(0.0), x, |c, y| c + y * &w).reshape(1) }; [3.0, 2.0], [] => [10.0], [2.0, 7.0];
        // The operator a·b·w is associative.
        |x, i| { let w = x.at(0); reduce(w.recip(), x, |a, b| a * b * &w).reshape(1) }; [3.0, 2.0], [] => [18.0], [12.0, 9.0];
        // The matrix of a recurrence, and one that is captured two binders up.
        |x, i| { let a = x.reshape((2, 2)); iterate(a.at(0), 2, |c| a.dot(&c)) }; [1.0, 2.0, 3.0, 4.0], []
            => [27.0, 59.0], [31.0, 51.0, 11.0, 23.0];
        |x, i| build(2, |j| { let w = x.at(j); fold(scalar(1.0), x, |c, y| c * y * &w) }); [3.0, 2.0], []
            => [54.0, 24.0], [54.0 + 8.0, 27.0 + 36.0];
    }
}

#[test]
fn branching_bodies_in_map() {
    rows! {
        |x, i| build(x.len(), |j| cond(x.at(&j).gt(0.0), || x.at(&j).sqrt(), || x.at(&j) * 2.0));
            [4.0, 0.0, -1.0], [] => [2.0, 0.0, -2.0], [0.25, 2.0, 2.0];
        |x, i| vmap(|y| cond(y.gt(1.0), || &y * &y, || cond(y.gt(0.0), || y.ln(), || y.clone())), x);
            [2.0, 1.0, 0.0], [] => [4.0, 0.0, 0.0], [4.0, 1.0, 1.0];
        // Loops that make up one side.
        |x, i| build(2, |j| cond(j.equal(0), || fold(scalar(1.0), x, |c, x| c * x), || x.sum()));
            [3.0, 2.0, 0.0], [] => [0.0, 5.0], [1.0, 1.0, 7.0];
        |x, i| build(3, |j| cond(j.gt(0), || x.at(&j - 1), || x.at(7))); [3.0, 2.0, 5.0], [] => [0.0, 3.0, 2.0], [1.0, 1.0, 0.0];
    }
}

#[test]
fn branching_bodies_in_fold() {
    rows! {
        |x, i| fold(scalar(0.0), x, |c, x| cond(x.gt(0.0), || &c + x.sqrt(), || &c + &x * 2.0)).reshape(1);
            [4.0, 0.0, -1.0], [] => [0.0], [0.25, 2.0, 2.0];
        |x, i| iterate(x.clone(), 3, |c| cond(c.sum().gt(10.0), || &c * 0.5, || &c * &c)); [2.0, 1.0], []
            => [8.0, 0.5], [16.0, 2.0 ];
        |x, i| reduce(scalar(0.0), x, |a, b| cond(a.gt(&b), || a.clone(), || b.clone())).reshape(1);
            [3.0, 5.0, 4.0], [] => [5.0], [0.0, 1.0, 0.0];
        // The carry decides the branch.
        |x, i| scan(scalar(1.0), x, x.len(), |c, x| { let c = cond(c.gt(2.0), || &c - &x, || &c * &x); (c.clone(), c) }).1;
            [3.0, 2.0, 5.0], [] => [3.0, 1.0, 5.0], [1.0 + 1.0 + 5.0, -1.0 - 5.0, 1.0];
    }
}

#[test]
fn ragged_folds() {
    rows! {
        // Every row is as long as an integer says.
        |x, i| build(i.len(), |j| fold(scalar(1.0), &(x.clone(), iota(x.len())), |c, (x, at)| cond(at.lt(i.at(&j)), || &c * &x, || c.clone())));
            [3.0, 2.0, 0.0], [2, 0, 3, 1] => [6.0, 1.0, 0.0, 3.0], [3.0, 3.0, 6.0];
        |x, i| x.segment_product(&Segments::by_offset(i, x.len())); [3.0, 2.0, 0.0, 5.0], [0, 2, 2, 4]
            => [6.0, 1.0, 0.0], [2.0, 3.0, 5.0, 0.0];
        // A triangle: row j has j + 1 elements.
        |x, i| build(3, |j| build(3, |k| k.le(&j).select(x.at(k), 0.0)).sum()); [3.0, 2.0, 5.0], [] => [3.0, 5.0, 10.0], [3.0, 2.0, 1.0];
    }
}

/// x ↦ a·x + b, then x ↦ c·x + d.
fn after<A: Algebra, E: Float>(
    (a, b): (Scalar<A, E>, Scalar<A, E>),
    (c, d): (Scalar<A, E>, Scalar<A, E>),
) -> (Scalar<A, E>, Scalar<A, E>) {
    (&a * &c, &c * b + d)
}

#[test]
fn folds_that_do_not_commute() {
    rows! {
        // Π aᵢ and ((b₀ a₁ + b₁) a₂ + b₂), with bᵢ = aᵢ².
        |x, i| { let (a, b) = reduce((scalar(1.0), scalar(0.0)), &(x.clone(), x * x), after); stack(&[a, b]) };
            [2.0, 3.0, 5.0], [] => [30.0, 130.0], [15.0 + 60.0, 10.0 + 20.0 + 30.0, 6.0 + 21.0 + 10.0];
        |x, i| { let (_, b) = associative_scan(&(x.clone(), x * x), after); b }; [2.0, 3.0, 5.0], []
            => [4.0, 21.0, 130.0], [4.0 + 12.0 + 60.0, 4.0 + 6.0 + 20.0 + 30.0, 21.0 + 10.0];
        |x, i| fold(scalar(0.0), x, |c, x| x - c).reshape(1); [2.0, 3.0, 5.0], [] => [4.0], [1.0, -1.0, 1.0];
        |x, i| deltaray::tensor::fold_reverse(scalar(0.0), x, |c, x| x - c * 2.0).reshape(1); [2.0, 3.0, 5.0], []
            => [16.0], [1.0, -2.0, 4.0];
        |x, i| { let k = Segments::by_key(i, 2);
            let (_, b) = reduce_segments((scalar(1.0), scalar(0.0)), &k, &(x.clone(), x * x), after); b };
            [2.0, 7.0, 3.0, 5.0], [1, 0, 1, 1] => [49.0, 130.0], [60.0, 14.0, 50.0, 31.0];
    }
}

#[test]
fn folds_of_length_0_and_1() {
    rows! {
        |x, i| fold(x.sum(), &x.slice(0, ..0), |c, x| c * x).reshape(1); [3.0, 2.0], [] => [5.0], [1.0, 1.0];
        |x, i| fold(x.at(0), &x.slice(0, 1..), |c, x| c * x).reshape(1); [3.0, 2.0], [] => [6.0], [2.0, 3.0];
        |x, i| reduce(x.at(0), &x.slice(0, ..0), |a, b| a * b).reshape(1); [3.0, 2.0], [] => [3.0], [1.0, 0.0];
        |x, i| reduce(x.at(0), &x.slice(0, 1..), |a, b| a * b).reshape(1); [3.0, 2.0], [] => [2.0], [0.0, 1.0];
        |x, i| associative_scan(x, |a, b| a * b); [], [] => [], [];
        |x, i| associative_scan(x, |a, b| a * b); [3.0], [] => [3.0], [1.0];
        |x, i| scan(x.at(0), &x.slice(0, ..0), 0, |c, y| (&c * &y, y)).1 + scan(x.at(0), &(), 0, |c, ()| (c.sin(), ())).0; [3.0], [] => [], [0.0];
        |x, i| iterate(x.clone(), 0, |c| c.ln()); [0.0], [] => [0.0], [1.0];
        |x, i| iterate(x.clone(), 1, |c| &c * &c); [3.0], [] => [9.0], [6.0];
        |x, i| reduce_by_index(scalar(1.0), i, x, 3, |a, b| a * b); [3.0], [1] => [1.0, 3.0, 1.0], [1.0];
        |x, i| x.cumprod(0) + x.cummax(0); [3.0], [] => [6.0], [2.0];
    }
}

#[test]
fn an_outer_variable_returned_from_an_inner_jvp() {
    // jvp(λx. x · jvp(λy. x) 1 1) 2 1 = 0, in all combinations: the inner derivative is 0 whatever x is.
    fn forward<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        x * jvp(|_| x.lift_forward(), &scalar(1.0), &scalar(1.0)).1
    }
    fn reverse<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        x * grad(|_| x.lift(), &scalar(1.0))
    }
    // d/dx (x · d/dy (x + y)) = 1, not 2.
    fn sum<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        x * jvp(|y| x.lift_forward() + y, &scalar(3.0), &scalar(1.0)).1
    }
    // The inner value is the outer variable: d/dx (x · x) = 4 at 2.
    fn value<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        x * jvp(|_| x.lift_forward(), &scalar(1.0), &scalar(1.0)).0
    }
    macro_rules! check {
        ($($f:ident $slope:literal;)*) => {$(
            assert_eq!(grad($f, &s(2.0)).item(), $slope, "reverse, {}", stringify!($f));
            assert_eq!(jvp($f, &s(2.0), &s(1.0)).1.item(), $slope, "forward, {}", stringify!($f));
            let staged = stage($f, &s(2.0)).unwrap();
            assert_eq!(staged.grad().unwrap().call(&s(2.0)).unwrap().item(), $slope, "staged reverse, {}", stringify!($f));
            let (_, slope) = staged.jvp().unwrap().call(&(s(2.0), s(1.0))).unwrap();
            assert_eq!(slope.item(), $slope, "staged forward, {}", stringify!($f));
            let inside = stage(|x| grad($f, x), &s(2.0)).unwrap();
            assert_eq!(inside.call(&s(2.0)).unwrap().item(), $slope, "inside, {}", stringify!($f));
        )*};
    }
    check! {
        forward 0.0;
        reverse 0.0;
        sum 1.0;
        value 4.0;
    }
}

#[test]
fn re_entrancy() {
    // A pullback that is used while another function is being differentiated.
    let (_, outer) = vjp(|x| x * x * x, &s(2.0));
    let slope = grad(
        |x| {
            let inner = outer(&s(1.0));
            let (_, again) = vjp(|y| y * y, &s(5.0));
            x * constant(&inner) * constant(&again(&s(1.0)))
        },
        &s(7.0),
    );
    assert_eq!(slope.item(), 120.0);
    assert_eq!(outer(&s(1.0)).item(), 12.0, "and still there afterwards");
    // A pullback of the algebra around, inside of a derivative: its results are constants there, and its own in between.
    let nested = grad(
        |x| {
            let (y, pullback) = vjp(|z| z * z * x.lift(), x);
            let first = pullback(&scalar(1.0));
            let second = pullback(&first);
            y + first + second
        },
        &s(2.0),
    );
    // x³ + 2x² + (2x)·x·(2x²)/x: y = x³, first = 2x², second = 2x² · 2x² = 4x⁴.
    assert_eq!(nested.item(), 12.0 + 8.0 + 128.0);
    // Staging while a function runs on dual arrays, and while another one is staged; a call of the one in the other.
    let inner = stage(|x| x * x, &s(0.0)).unwrap();
    let slope = grad(
        |x| {
            let program = stage(|y| y * 3.0, &s(0.0)).unwrap().grad().unwrap();
            x * constant(&program.call(&s(1.0)).unwrap()) * constant(&inner.call(&s(2.0)).unwrap())
        },
        &s(1.0),
    );
    assert_eq!(slope.item(), 12.0);
    let staged = stage(
        |x| {
            let program = stage(|y| grad(|z| z * z * z, y), &s(0.0)).unwrap();
            x * constant(&program.call(&s(2.0)).unwrap())
        },
        &s(0.0),
    );
    assert_eq!(staged.unwrap().grad().unwrap().call(&s(1.0)).unwrap().item(), 12.0);
    // A gradient inside of the closure of a loop, of a build and of a conditional, which are run again by the outer one.
    fn steps<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        let slope = |c: &Scalar<A, f64>| grad(|y| y * y * y, c);
        let all = build(2, |i| cond(i.gt(0), || slope(x), || iterate(x.clone(), 2, |c| slope(&c) * 0.5)));
        all.sum()
    }
    // 3x², and 1.5 (1.5 x²)²: the derivatives are 6x and 13.5 x³.
    assert_eq!(grad(steps, &s(2.0)).item(), 12.0 + 108.0);
    let gradient = stage(steps, &s(2.0)).unwrap().grad().unwrap();
    assert_eq!(gradient.call(&s(2.0)).unwrap().item(), 12.0 + 108.0);
    // A panic leaves nothing behind.
    let failed =
        std::panic::catch_unwind(|| grad(|x: &Vector<_, f64>| (x + x.slice(0, 1..)).sum(), &v(&[1.0, 2.0, 3.0])));
    assert!(failed.is_err());
    assert_eq!(grad(|x| x * x, &s(3.0)).item(), 6.0);
}

#[test]
fn values_do_not_leak_out_of_a_derivative() {
    // A value that a closure puts aside is used by another derivative: there it is a constant, by `known`, or an error when
    // staged.
    let aside = RefCell::new(None);
    let first = grad(
        |x| {
            let y = x * x;
            *aside.borrow_mut() = y.known();
            y * 3.0
        },
        &s(2.0),
    );
    let known = aside.into_inner().expect("the function ran");
    let second = grad(|x| x * constant(&known), &s(5.0));
    assert_eq!((first.item(), second.item()), (12.0, 4.0));
}

#[test]
fn branches_not_taken_that_read_out_of_bounds() {
    rows! {
        |x, i| build(i.len(), |j| cond((i.at(&j).ge(0)) & i.at(&j).lt(x.len()), || x.at(i.at(&j)), || x.at(0) * 2.0));
            [3.0, 2.0], [1, -5, 9] => [2.0, 6.0, 6.0], [4.0, 1.0];
        |x, i| i.ge(0).select(x.gather(i).ln(), x.gather(&-i)); [1.0, 2.0], [-1, 0] => [2.0, 0.0], [1.0, 1.0];
        |x, i| build(3, |j| j.lt(2).select(x.at(&j).recip(), x.at(j - 2))); [1.0, 2.0], [] => [1.0, 0.5, 1.0], [0.0, -0.25];
        |x, i| fold(scalar(0.0), &iota(4), |c, j| cond(j.lt(2), || &c + x.at(&j), || &c + 1.0 / x.at(0))).reshape(1);
            [2.0, 3.0], [] => [6.0], [0.5, 1.0];
    }
}

#[test]
fn branches_not_taken_that_overflow() {
    // exp(89) is infinite in single precision, exp(800) in double.
    let f32_only = |x: &Vector<C, f32>| x.gt(0.0).select(x.clone(), x.exp() - 1.0);
    assert_eq!(f32_only(&Vector::from_slice(&[89.0f32])).to_vec(), [89.0]);
    rows! {
        |x, i| x.gt(0.0).select(x, x.exp() - 1.0); [89.0, 800.0, 0.0], [] => [89.0, 800.0, 0.0], [1.0, 1.0, 1.0];
        |x, i| build(x.len(), |j| cond(x.at(&j).gt(0.0), || x.at(&j), || x.at(&j).exp() - 1.0)); [89.0, 800.0], []
            => [89.0, 800.0], [1.0, 1.0];
        |x, i| x.gt(0.0).select(x.sqrt(), x); [0.0], [] => [0.0], [1.0];
        |x, i| x.gt(0.0).select(x.sqrt(), x) * x; [0.0, 4.0], [] => [0.0, 8.0], [0.0, 3.0];
        |x, i| x.not_equal(0.0).select(x.sin() / x, 1.0); [0.0], [] => [1.0], [0.0];
        |x, i| x.gt(0.0).select(x.pow(0.5), 0.0).sum() * x; [0.0, 4.0], [] => [0.0, 8.0], [2.0, 3.0];
        |x, i| fold(scalar(0.0), x, |c, x| &c + x.gt(0.0).select(&x, x.exp())).reshape(1); [89.0, 800.0], []
            => [889.0], [1.0, 1.0];
        |x, i| x.lt(1.0).select((1.0 - x).ln(), x * x.ln()).slice(0, ..1); [0.5, INF], [] => [0.5f64.ln()], [-2.0, 0.0];
    }
}

#[test]
fn several_index_contributions_to_one_array() {
    rows! {
        |x, i| stack(&[x.at(0) * x.at(1) + x.at(0)]); [3.0, 2.0], [] => [9.0], [3.0, 3.0];
        |x, i| x.gather(i); [3.0, 2.0], [0, 0, 1, 0] => [3.0, 3.0, 2.0, 3.0], [3.0, 1.0];
        |x, i| build(i.len(), |j| x.at(i.at(&j)) * x.at(&j)); [3.0, 2.0], [1, 1] => [6.0, 4.0], [2.0, 7.0];
        |x, i| x.slice(0, 1..) * x.slice(0, ..2) + x.reverse(0).slice(0, ..2) + x.at(1); [3.0, 2.0, 5.0], []
            => [13.0, 14.0], [2.0, 3.0 + 5.0 + 1.0 + 2.0, 2.0 + 1.0];
        |x, i| build(3, |j| x.at(&j) + x.at(&j - 1) + x.at(j + 1) + x.at(0)); [3.0, 2.0, 5.0], [] => [8.0, 13.0, 10.0], [5.0, 3.0, 2.0];
        |x, i| x.scatter(i, 2) * x.at(0); [3.0, 2.0, 5.0], [0, 0, 1] => [15.0, 15.0], [3.0 + 10.0, 3.0, 3.0];
        |x, i| fold(scalar(0.0), i, |c, j| c + x.at(&j) * x.at(0)).reshape(1); [3.0, 2.0], [0, 1, 1] => [21.0], [6.0 + 4.0, 6.0];
        // A slice, an element and the whole, of a matrix.
        |x, i| { let m = x.reshape((2, 2)); m.at(0) * m.at((1, 1)) + m.sum() }; [3.0, 2.0, 5.0, 7.0], []
            => [38.0, 31.0], [9.0, 9.0, 2.0, 7.0];
    }
}

/// x ← x·x and x ← x + x, so many times.
fn chains<A: Algebra, E: Float>(x: &Vector<A, E>, n: usize) -> Vector<A, E> {
    let squares = (0..n).fold(x.clone(), |x, _| &x * &x);
    let sums = (0..n).fold(x.clone(), |x, _| &x + &x);
    squares + sums * x.filled(0.5f64.powi(n as i32))
}

#[test]
fn deep_squaring_chains() {
    // At 1 the square stays 1 and its slope doubles with every step; without sharing the work would too.
    let doubled = |n: i32| 2.0f64.powi(n) + 1.0;
    rows! {
        |x, i| chains(x, 60); [1.0], [] => [2.0], [doubled(60)];
        |x, i| iterate(x.clone(), 60, |x| &x * &x); [1.0], [] => [1.0], [doubled(60) - 1.0];
        |x, i| build(2, |j| iterate(x.at(j), 60, |x| &x * &x)); [1.0, 1.0], [] => [1.0, 1.0], [doubled(60); 2];
        |x, i| build(2, |j| chains(&x.at(j).reshape(1), 60).at(0)); [1.0, 1.0], [] => [2.0, 2.0], [doubled(60); 2];
    }
    let x = s(1.0);
    let deep = |x: &Scalar<_, f64>| chains(&x.reshape(1), 1000).at(0);
    let expected = 2.0f64.powi(1000);
    assert_eq!(grad(deep, &x).item(), expected);
    let deep = |x: &Scalar<_, f64>| chains(&x.reshape(1), 1000).at(0);
    assert_eq!(stage(deep, &x).unwrap().grad().unwrap().call(&x).unwrap().item(), expected);
    // Second and third derivatives of x^(2ⁿ) at 1: m (m − 1) and m (m − 1) (m − 2), m = 2ⁿ.
    let square = |x: &Scalar<_, f64>| (0..9).fold(x.clone(), |x, _| &x * &x);
    assert_eq!(grad(|x| grad(square, x), &x).item(), 512.0 * 511.0);
    fn power<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        (0..9).fold(x.clone(), |x, _| &x * &x)
    }
    fn third<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        grad(|x| jvp(|x| grad(power, x), x, &scalar(1.0)).1, x)
    }
    assert_eq!(third(&x).item(), 512.0 * 511.0 * 510.0);
    assert_eq!(stage(third, &x).unwrap().call(&x).unwrap().item(), 512.0 * 511.0 * 510.0);
}

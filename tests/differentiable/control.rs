//! Choices and loops.

use crate::harness::{S, V, generic, same, v};
use deltaray::prelude::*;

#[differentiable]
fn leaky(x: Vector<f64>) -> Vector<f64> {
    build(x.len(), |i| {
        let y = x[i];
        if y > 1.0 {
            y * y
        } else if y < 0.0 && y > -3.0 {
            0.1 * y
        } else {
            y
        }
    })
}

#[test]
fn a_choice_by_an_array_is_a_conditional() {
    let expected = generic!(V => V, |x| build(x.len(), |i| {
        let y = x.at(&i);
        cond(y.gt(1.0), || &y * &y, || cond(y.lt(0.0) & y.gt(-3.0), || 0.1 * &y, || y.clone()))
    }));
    same(&leaky {}, &expected, &v([2.0, -1.0, 0.5, -4.0]));
}

/// By `bool`, by arrays, with literals at either end, and of tuples.
#[differentiable]
fn choices(x: Vector<f64>, #[plain] deep: bool, #[plain] count: Option<usize>) -> (Scalar<f64>, Vector<f64>) {
    let scale = if deep { 2.0 } else { 3.0 };
    let first = if x[0] > 0.0 { x[0].sqrt() } else { 0.0 };
    let second = if x[1] > 0.0 { 1.0 } else { -1.0 };
    let names = if deep { vec!["a"] } else { vec!["b", "c"] };
    let mut extra = 0.0;
    if deep {
        extra += 1.0;
    }
    if let Some(count) = count
        && count > 1
    {
        extra += count as f64;
    }
    let (a, b) = if first * second > 0.5 { (first, x) } else { (second, x * x) };
    let moved = if deep { b } else { a * b };
    (a * scale + extra, moved * names.len() as f64)
}

#[test]
fn choices_are_by_type() {
    for (deep, count) in [(false, None), (true, Some(3)), (true, Some(1))] {
        for start in [4.0, -4.0] {
            let extra = f64::from(u8::from(deep)) + count.filter(|&count| count > 1).unwrap_or(0) as f64;
            let (scale, names) = if deep { (2.0, 1.0) } else { (3.0, 2.0) };
            let x = v([start, 2.0]);
            let first = if start > 0.0 { 2.0 } else { 0.0 };
            let (a, b) = if first > 0.5 { (first, x.clone()) } else { (1.0, &x * &x) };
            let moved = if deep { b } else { b * a };
            let found = choices(&x, deep, count);
            assert_eq!(found.0.item(), a * scale + extra);
            assert_eq!(found.1, moved * names);
        }
    }
}

/// An `if` that assigns, returns or prints stays Rust's own.
#[differentiable]
fn early(x: Vector<f64>, #[plain] n: usize) -> Scalar<f64> {
    let mut total = scalar(0.0);
    if n == 0 {
        return total;
    }
    for i in 0..n {
        if i % 2 == 1 {
            continue;
        }
        total = total + x[i];
        if total.size() > 1 {
            break;
        }
    }
    let mut k = 0;
    while k < n {
        total *= 2.0;
        k += 1;
    }
    loop {
        if k > 10 {
            break total;
        }
        k += 5;
    }
}

#[test]
fn side_effects_stay_rust() {
    let x = v([1.0, 2.0, 3.0]);
    assert_eq!(early(&x, 0).item(), 0.0);
    assert_eq!(early(&x, 3).item(), 32.0);
    same(&early { n: 3 }, &generic!(V => S, |x| (x.at(0) + x.at(2)) * 8.0), &x);
}

#[differentiable]
fn rolled_loops(x: Vector<f64>, w: Vector<f64>) -> Vector<f64> {
    let n = x.len();
    let mut h = w;
    let mut total = 0.0;
    let scale = 0.5;
    for t in rolled(0..n) {
        let input = x[t] * scale;
        h = (h * w + input).tanh();
        if_not_used(&t);
        total += h.sum();
    }
    for t in rolled((1..n).rev()) {
        (h, total) = (h + x[t] * total, total * x[t - 1]);
    }
    for t in rolled(1..=2) {
        h = h + if t > 1 { x[t] } else { 0.0 };
    }
    h * total
}

#[differentiable]
fn if_not_used(t: &Scalar<i64>) {
    let _ = t;
}

#[test]
fn rolled_loops_are_scans() {
    let expected = generic!((V, V) => V, |(x, w)| {
        let n = x.len();
        let ((h, total), ()) = scan_unit((w.clone(), scalar(0.0)), (0, n), false, |(h, total): (Vector<A, f64>, Scalar<A, f64>), t| {
            let h = (h * w + x.at(&t) * 0.5).tanh();
            (h.clone(), total + h.sum())
        });
        let ((h, total), ()) = scan_unit((h, total), (1, n), true, |(h, total): (Vector<A, f64>, Scalar<A, f64>), t| {
            (h + x.at(&t) * &total, total * x.at(&t - 1))
        });
        let (h, ()) = scan_unit(h, (1, 3), false, |h, t| h + cond(t.gt(1), || x.at(&t), || scalar(0.0)));
        h * total
    });
    same(&rolled_loops {}, &expected, &(v([0.3, -0.2, 0.9, 0.4]), v([0.7, -0.4])));
    let staged = stage(|(x, w)| rolled_loops(x, w), (&v([0.3, -0.2, 0.9, 0.4]), &v([0.7, -0.4]))).unwrap();
    // The last loop is a sum.
    assert_eq!(staged.to_string().matches("scan").count(), 2, "{staged}");
}

/// A loop over a range of positions, counted up or down.
#[deny(unused_assignments)]
#[differentiable]
fn carried_in_turn(x: Vector<f64>, #[plain] deep: bool) -> (Scalar<f64>, Scalar<f64>) {
    let (mut a, mut b) = (0.0, x[0]);
    // Read by the next step only, which is no reason to warn.
    for _ in rolled(0..3) {
        (a, b) = (b, a + b);
    }
    let mut pair = (-1.0, (2.0, x[1]));
    for t in rolled(0..2) {
        pair = (pair.1.0 + x[t], (pair.0 * x[t], pair.1.1 - 1.0));
    }
    // Another variable of the name is carried, so that this one stays a number.
    let mut n = 1;
    n += if deep { x.len() } else { 0 };
    let (scale, shift) = if pair.0 > 0.0 { (1.0, x[0]) } else { (pair.0, 0.5) };
    let (plain, count) = if deep { (2.0, n) } else { (shape(n), 1) };
    let mut n = x[0];
    for _ in rolled(0..count) {
        n = n * plain;
    }
    (b * scale + pair.1.0 * n, shift)
}

fn shape(n: usize) -> f64 {
    n as f64
}

#[test]
fn literals_in_tuples_are_carried_and_chosen() {
    macro_rules! expected {
        ($factor:expr) => {
            generic!(V => (S, S), |x| {
                let mut pair = (scalar(-1.0), (scalar(2.0), x.at(1)));
                for t in 0..2 {
                    pair = (&pair.1.0 + x.at(t), (&pair.0 * x.at(t), &pair.1.1 - 1.0));
                }
                let positive = pair.0.gt(0.0);
                let scale = cond(&positive, || scalar(1.0), || pair.0.clone());
                let shift = cond(&positive, || x.at(0), || scalar(0.5));
                (3.0 * x.at(0) * scale + &pair.1.0 * (x.at(0) * $factor), shift)
            })
        };
    }
    for x in [[0.5, 0.25], [-1.5, -2.0]] {
        same(&carried_in_turn { deep: true }, &expected!(8.0), &v(x));
        same(&carried_in_turn { deep: false }, &expected!(1.0), &v(x));
    }
}

fn scan_unit<A: Algebra, C: Tree<A>>(
    carry: C,
    (from, to): (usize, usize),
    down: bool,
    step: impl Fn(C, Scalar<A, i64>) -> C,
) -> (C, ()) {
    let positions = iota::<A>(to - from) + from;
    let step = |carry: C, t: Scalar<A, i64>| (step(carry, t), ());
    match down {
        true => scan_reverse(carry, &positions, to - from, step),
        false => scan(carry, &positions, to - from, step),
    }
}

/// Closures of the library's loops are rewritten too; a variable that occurs twice in a tuple is copied.
#[differentiable]
fn closures(x: Vector<f64>) -> (Scalar<f64>, Vector<f64>, Scalar<f64>) {
    let (last, all) = scan(x[0], x, x.len(), |h: Scalar<f64>, y: Scalar<f64>| {
        let h = h * y + 0.5;
        (h, h)
    });
    let total = x[1..] * 2.0;
    let folded = fold(scalar(1.0), &total, |p, y| if y > 0.0 { p * y } else { p });
    (last, all, folded)
}

#[test]
fn closures_of_loops_are_rewritten() {
    let expected = generic!(V => (S, V, S), |x| {
        let (last, all) = scan(x.at(0), x, x.len(), |h, y| {
            let h = h * y + 0.5;
            (h.clone(), h)
        });
        let folded = fold(scalar(1.0), &(x.slice(0, 1..) * 2.0), |p: Scalar<A, f64>, y: Scalar<A, f64>| {
            cond(y.gt(0.0), || &p * &y, || p.clone())
        });
        (last, all, folded)
    });
    same(&closures {}, &expected, &v([0.5, 1.5, -0.7, 2.0]));
}

/// The function of one step until a condition does not hold.
#[differentiable]
fn newton(a: Scalar<f64>) -> Scalar<f64> {
    while_loop(a, |x| (x * x - a).abs() > 1e-12, |x| 0.5 * (x + a / x))
}

#[test]
fn loops_with_conditions_compare_arrays() {
    assert!((newton(&scalar(2.0)).item() - 2f64.sqrt()).abs() < 1e-12);
    let slope = grad(newton, &scalar(2.0)).item();
    assert!((slope - 0.5 / 2f64.sqrt()).abs() < 1e-9);
}

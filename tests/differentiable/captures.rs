//! Closures that change something: their own variables in closures that the library runs, and outside variables in closures
//! that plain Rust calls.

use crate::harness::{V, generic, same, v};
use deltaray::prelude::*;

/// Each side has variables of its own, one with the name of an outside variable, and a moved array belongs to a side.
#[differentiable]
fn sides_with_variables(x: Vector<f64>) -> Vector<f64> {
    let mut y = x * 2.0;
    y[1] += 1.0;
    let outer = y;
    y = cond(
        x[0].gt(0.0),
        || {
            let mut y = outer * x;
            y[0] = x[1];
            y
        },
        || {
            let (mut s, mut kept) = (scalar(0.0), zeros(x.len()));
            for k in rolled(0..x.len()) {
                s += x[k];
                kept[k] = s * outer[k];
            }
            kept
        },
    );
    let mut z = y.clone();
    let last = cond(
        x[1].gt(0.0),
        move || {
            z[0] = x[1];
            z
        },
        || x * x,
    );
    y * last
}

#[test]
fn sides_change_what_is_their_own() {
    let expected = generic!(V => V, |x| {
        let outer = (x * 2.0).with_added(1, 1.0);
        let sums = stack(&[x.at(0), x.at(0) + x.at(1), x.sum()]);
        let y = cond(x.at(0).gt(0.0), || (&outer * x).with(0, x.at(1)), || sums * &outer);
        &y * cond(x.at(1).gt(0.0), || y.clone().with(0, x.at(1)), || x * x)
    });
    for point in [[0.5, 2.0, -1.5], [-0.5, 2.0, 0.25], [-0.5, -2.0, 1.5], [0.5, -2.0, 1.5]] {
        same(&sides_with_variables {}, &expected, &v(point));
    }
}

/// The closure of a derivative changes arrays that are its own.
#[differentiable]
fn derivative_with_variables(x: Vector<f64>) -> Vector<f64> {
    let mut y = x * 2.0;
    let slope = grad(
        |z| {
            let mut y = y;
            y[0] = z[1] * z[2];
            (y * z).sum()
        },
        x,
    );
    y[1] = 3.0;
    y * slope
}

#[test]
fn derivatives_change_what_is_their_own() {
    let expected = generic!(V => V, |x| {
        let (a, b, c) = (x.at(0), x.at(1), x.at(2));
        let slope = stack(&[&b * &c, &a * &c + &b * 2.0, &a * &b + &c * 2.0]);
        (x * 2.0).with(1, 3.0) * slope
    });
    same(&derivative_with_variables {}, &expected, &v([0.5, 2.0, -1.5]));
}

/// Closures that plain Rust calls change their captures, arrays too.
#[differentiable]
fn called_by_rust(x: Vector<f64>, #[plain] flag: bool) -> Vector<f64> {
    fn build(count: usize, mut step: impl FnMut(usize)) {
        (0..count).for_each(&mut step);
    }
    let (mut y, mut total) = (x * 1.0, 0usize);
    let mut add = |k: usize, value: f64| {
        y[k] += value;
        if flag {
            total += k;
        }
    };
    add(0, 1.5);
    build(3, |k| add(k, 0.5));
    let mut list = vec![];
    build(2, |k| {
        list.push(k);
        y[k] = x[k + 1] * y[k];
    });
    y * (total + list.len()) as f64
}

#[test]
fn closures_that_rust_calls_change_what_they_capture() {
    let expected = generic!(V => V, |x| {
        let y = stack(&[x.at(0) + 2.0, x.at(1) + 0.5, x.at(2) + 0.5]);
        (&y * stack(&[x.at(1), x.at(2), scalar(1.0)])) * 5.0
    });
    same(&called_by_rust { flag: true }, &expected, &v([0.5, 2.0, -1.5]));
}

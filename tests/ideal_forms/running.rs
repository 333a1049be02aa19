//! Running totals and linear recurrences: loops of an operation or two, and so are their derivatives.

use super::{checked, count, gradient, matrix, prints, vector, with_gradient};
use deltaray::derivative::{grad, jvp, stage};
use deltaray::prelude::*;
use deltaray::term::Op;

#[test]
fn a_running_sum_is_a_loop_and_its_gradient_the_loop_backwards() {
    let sum = stage(|(x, w)| (w * x.cumsum(0).powi(2)).sum(), &(vector(9), vector(9))).unwrap();
    prints(checked(&sum), "x w", "");
    prints(&with_gradient(sum.program()), "x w dt", "");
    gradient(sum.program());
}

#[test]
fn a_running_product_is_a_loop_without_quotients() {
    let product = stage(|(x, w)| (w * x.cumprod(0)).sum(), &(vector(9), vector(9))).unwrap();
    prints(checked(&product), "x w", "");
    prints(&with_gradient(product.program()), "x w dt", "");
    gradient(product.program());
}

#[test]
fn running_extremes_are_loops() {
    let largest = stage(|(x, w)| (w * x.cummax(0)).sum(), &(vector(9), vector(9))).unwrap();
    prints(checked(&largest), "x w", "");
    prints(&with_gradient(largest.program()), "x w dt", "");
    gradient(largest.program());
    let smallest = stage(|x| x.cummin_reverse(1), &matrix(3, 4)).unwrap();
    prints(checked(&smallest), "x", "");
}

#[test]
fn a_running_sum_of_rows_is_one_loop() {
    let rows = stage(|a| build(3, |i| a.at(i).cumsum(0)), &matrix(3, 9)).unwrap();
    prints(&with_gradient(checked(&rows)), "a dt", "");
}

#[test]
fn a_linear_recurrence_is_a_loop() {
    let recurrence =
        stage(|(y, a, b)| linear_recurrence(y, a, b), &(scalar::<Concrete, f64>(0.0), vector(9), vector(9))).unwrap();
    prints(&with_gradient(checked(&recurrence)), "y a b dt", "");
}

#[test]
fn other_derivatives_are_loops_too() {
    let forwards = stage(|(x, d)| jvp(|x| x.cumprod(0), x, d).1, &(vector(9), vector(9))).unwrap();
    prints(checked(&forwards), "x d", "");
    let second = stage(|(x, d)| jvp(|x| grad(|x| x.cumprod(0).sum(), x), x, d).1, &(vector(9), vector(9))).unwrap();
    prints(checked(&second), "x d", "");
    for program in [forwards.program(), second.program()] {
        assert_eq!(count(program, |op| matches!(op, Op::Concatenate(_))), 0);
    }
}

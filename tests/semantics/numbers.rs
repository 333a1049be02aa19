//! NaN and infinities, special points of derivatives, nothing to reduce, empty arrays, unused inputs and element types.

use crate::harness::C;
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;
use deltaray::shape::DType;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn nan() {
    rows! {
        |x, i| x.max(1.0); [NAN, 0.0, 2.0], [] => [NAN, 1.0, 2.0];
        |x, i| x.min(1.0); [NAN, 0.0, 2.0], [] => [NAN, 0.0, 1.0];
        |x, i| x.slice(0, ..1).max(x.slice(0, 1..)); [1.0, NAN], [] => [NAN];
        |x, i| x.slice(0, ..1).min(x.slice(0, 1..)); [1.0, NAN], [] => [NAN];
        |x, i| x.slice(0, ..1).max(x.slice(0, 1..)); [NAN, 1.0], [] => [NAN];
        |x, i| x.max_all().reshape(1); [1.0, NAN, 3.0], [] => [NAN];
        |x, i| x.min_all().reshape(1); [1.0, NAN, -3.0], [] => [NAN];
        |x, i| x.reshape((2, 2)).max_axis(0); [1.0, NAN, 3.0, 4.0], [] => [3.0, NAN];
        |x, i| x.argmax().cast::<E>().reshape(1); [1.0, NAN, 3.0, NAN], [] => [1.0];
        |x, i| x.argmin().cast::<E>().reshape(1); [1.0, NAN, -3.0, NAN], [] => [1.0];
        |x, i| concatenate(0, &[
            x.lt(1.0).cast::<E>(), x.le(x).cast::<E>(), x.gt(1.0).cast::<E>(), x.ge(x).cast::<E>(),
            x.equal(x).cast::<E>(), x.not_equal(x).cast::<E>(),
        ]); [NAN], [] => [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0];
        |x, i| (!x.lt(1.0)).select(1.0, 0.0); [NAN, 0.0, 2.0], [] => [1.0, 0.0, 1.0], [0.0; 3];
        |x, i| (!x.equal(x)).select(1.0, 0.0) + x.equal(x).select(0.0, 2.0); [NAN, 0.0], [] => [3.0, 0.0], [0.0; 2];
        |x, i| x / x.filled(0.0); [1.0, -1.0, 0.0], [] => [INF, -INF, NAN];
        |x, i| x - x; [INF, 1.0, NAN], [] => [NAN, 0.0, NAN], [0.0; 3];
        |x, i| x / x; [0.0, 2.0, INF], [] => [NAN, 1.0, NAN];
        |x, i| x.sqrt(); [-1.0], [] => [NAN];
        |x, i| x.ln(); [0.0, -1.0, INF], [] => [-INF, NAN, INF];
        |x, i| x + 0.0; [NAN, INF, -0.0], [] => [NAN, INF, 0.0], [1.0; 3];
        |x, i| x.exp() - x.exp(); [1000.0, 0.0], [] => [NAN, 0.0];
        |x, i| x.sum().reshape(1); [INF, -INF], [] => [NAN], [1.0, 1.0];
        |x, i| x.relu(); [NAN, INF, -INF], [] => [NAN, INF, 0.0];
        |x, i| x.abs(); [NAN, -INF, -0.0], [] => [NAN, INF, 0.0];
        |x, i| x.softplus(); [1000.0, -1000.0], [] => [1000.0, 0.0], [1.0, 0.0];
        |x, i| x.sigmoid(); [1000.0, -1000.0], [] => [1.0, 0.0], [0.0, 0.0];
        |x, i| x.sort(0); [NAN, 1.0, 0.0], [] => [0.0, 1.0, NAN], [1.0; 3];
        |x, i| x.sort_descending(0); [NAN, 1.0, 2.0], [] => [2.0, 1.0, NAN], [1.0; 3];
        |x, i| x.cummax(0); [1.0, NAN, 3.0], [] => [1.0, NAN, NAN];
        |x, i| x.segment_min(&Segments::by_key(i, 2)); [1.0, NAN, 3.0], [0, 0, 1] => [NAN, 3.0];
        |x, i| x.slice(0, ..2).scatter_max(i, &x.slice(0, 2..)); [1.0, NAN, NAN, 3.0], [0, 1] => [NAN, NAN];
        |x, i| x.tanh(); [1000.0, -1000.0], [] => [1.0, -1.0], [0.0, 0.0];
    }
}

#[test]
fn abs_at_0() {
    rows! {
        |x, i| x.abs(); [0.0, -0.0, -2.0, 3.0], [] => [0.0, 0.0, 2.0, 3.0], [0.0, 0.0, -1.0, 1.0];
        |x, i| x.abs() * x.abs() + x.abs(); [0.0, 2.0], [] => [0.0, 6.0], [0.0, 5.0];
    }
}

#[test]
fn sqrt_at_0() {
    rows! {
        |x, i| x.sqrt(); [0.0], [] => [0.0], [INF];
        |x, i| x.sqrt().reshape(1) * 2.0; [0.0], [] => [0.0], [INF];
        |x, i| build(1, |j| x.at(j).sqrt()); [0.0], [] => [0.0], [INF];
    }
}

#[test]
fn infinite_slopes() {
    rows! {
        |x, i| x.cbrt(); [0.0], [] => [0.0], [INF];
        |x, i| x.asin() * 2.0; [1.0], [] => [std::f64::consts::PI], [INF];
        |x, i| x.acos(); [-1.0], [] => [std::f64::consts::PI], [-INF];
        |x, i| x.acosh(); [1.0], [] => [0.0], [INF];
        |x, i| x.ln(); [0.0], [] => [-INF], [INF];
        |x, i| x.recip(); [0.0], [] => [INF], [-INF];
        |x, i| x.atanh(); [1.0], [] => [INF], [INF];
        |x, i| x.ln1p(); [-1.0], [] => [-INF], [INF];
        |x, i| x.slice(0, ..1).atan2(x.slice(0, 1..)); [0.0, 0.0], [] => [0.0], [NAN, NAN];
    }
}

#[test]
fn slopes_where_values_are_no_numbers() {
    rows! {
        |x, i| x.ln(); [-2.0], [] => [NAN], [-0.5];
        |x, i| x.ln1p(); [-3.0], [] => [NAN], [-0.5];
        |x, i| x.atanh(); [3.0], [] => [NAN], [-0.125];
    }
}

#[test]
fn hypot_logaddexp_and_xlogy() {
    rows! {
        |x, i| x.slice(0, ..1).hypot(x.slice(0, 1..)); [0.0, 0.0], [] => [0.0], [0.0, 0.0];
        |x, i| x.slice(0, ..1).hypot(x.slice(0, 1..)); [3.0, -4.0], [] => [5.0], [0.6, -0.8];
        |x, i| x.slice(0, ..1).logaddexp(x.slice(0, 1..)); [-INF, -INF], [] => [-INF], [0.5, 0.5];
        |x, i| x.slice(0, ..1).logaddexp(x.slice(0, 1..)); [-INF, 1.0], [] => [1.0], [0.0, 1.0];
        |x, i| x.slice(0, ..1).xlogy(x.slice(0, 1..)); [0.0, 0.0], [] => [0.0], [0.0, 0.0];
        |x, i| x.slice(0, ..1).xlogy(x.slice(0, 1..)); [0.0, 1.0], [] => [0.0], [0.0, 0.0];
        |x, i| x.slice(0, ..1).xlogy(x.slice(0, 1..)); [0.0, NAN], [] => [NAN];
        |x, i| x.xlogy(2.0); [0.0, 1.0], [] => [0.0, std::f64::consts::LN_2], [std::f64::consts::LN_2; 2];
    }
}

#[test]
fn zero_has_no_sign() {
    rows! {
        |x, i| x.recip(); [0.0, -0.0], [] => [INF, INF];
        |x, i| 1.0 / x; [0.0, -0.0], [] => [INF, INF];
        |x, i| 1.0 / x; [-0.0], [] => [INF], [-INF];
        |x, i| -2.0 / (-x); [0.0, -0.0], [] => [-INF, -INF];
        |x, i| (-x) / (-x * 0.0); [2.0, -3.0], [] => [-INF, INF];
        |x, i| (x + 0.0).recip(); [-0.0], [] => [INF];
        |x, i| (-x).sum().recip().reshape(1); [0.0, -0.0, 0.0], [] => [INF];
        |x, i| (-x).sum().recip().reshape(1); [1.0, -1.0], [] => [INF];
        |x, i| (-x).dot(x).recip().reshape(1); [1.0, 0.0], [] => [-1.0];
        |x, i| (-x).dot(x).recip().reshape(1); [-0.0, 0.0], [] => [INF];
        |x, i| x.scatter(i, 3).recip(); [-0.0, 2.0], [0, 1] => [INF, 0.5, INF];
        |x, i| x.cumsum(0).recip(); [-0.0, 0.0], [] => [INF, INF];
        |x, i| x.powi(-1); [-0.0], [] => [INF];
        |x, i| x.powi(-3); [-0.0, 0.0], [] => [INF, INF];
        |x, i| x.powi(-4); [-0.0, 0.0], [] => [INF, INF];
        |x, i| x.pow(-1.0); [-0.0, 0.0], [] => [INF, INF];
        |x, i| x.slice(0, ..1).atan2(x.slice(0, 1..)); [-0.0, -1.0], [] => [std::f64::consts::PI];
        |x, i| x.slice(0, ..1).atan2(x.slice(0, 1..)); [-0.0, -0.0], [] => [0.0];
        |x, i| x.slice(0, ..1).atan2(x.slice(0, 1..)); [1.0, -0.0], [] => [std::f64::consts::FRAC_PI_2];
        |x, i| x.digamma(); [-0.0], [] => [-INF];
        |x, i| x.argsort(0).cast::<E>(); [0.0, -0.0, -0.0], [] => [0.0, 1.0, 2.0];
        |x, i| x.argmax().cast::<E>().reshape(1); [-0.0, 0.0], [] => [0.0];
        // A number that is almost 0 has one.
        |x, i| x.recip().recip() * 1e30; [-1e-30, 1e-30], [] => [-1.0, 1.0];
    }
}

#[test]
fn gamma_functions_at_their_poles() {
    rows! {
        |x, i| x.lgamma(); [0.0, -1.0, 1.0], [] => [INF, INF, 0.0];
        |x, i| x.digamma(); [0.0, -1.0], [] => [-INF, NAN];
        |x, i| x.polygamma(1); [0.0, -2.0], [] => [INF, INF];
        |x, i| x.polygamma(2); [-2.0], [] => [NAN];
    }
}

#[test]
fn x_times_ln_x_at_0() {
    rows! {
        |x, i| x * x.ln(); [0.0], [] => [NAN], [NAN];
        |x, i| x.gt(0.0).select(x * x.ln(), 0.0); [0.0, 1.0, -1.0], [] => [0.0; 3], [0.0, 1.0, 0.0];
    }
}

#[test]
fn powi() {
    rows! {
        |x, i| x.powi(0); [0.0, 2.0], [] => [1.0; 2], [0.0; 2];
        |x, i| x.powi(1); [0.0, -2.0], [] => [0.0, -2.0], [1.0; 2];
        |x, i| x.powi(2); [0.0, -2.0], [] => [0.0, 4.0], [0.0, -4.0];
        |x, i| x.powi(3); [0.0, -2.0], [] => [0.0, -8.0], [0.0, 12.0];
        |x, i| x.powi(-1); [0.0], [] => [INF], [-INF];
        |x, i| x.powi(-1); [-2.0], [] => [-0.5], [-0.25];
        |x, i| x.powi(i32::MIN); [1.0, 2.0, -1.0], [] => [1.0, 0.0, 1.0], [-2147483648.0, -0.0, 2147483648.0];
        |x, i| x.powi(i32::MAX); [1.0, 0.5, -1.0], [] => [1.0, 0.0, -1.0], [2147483647.0, 0.0, 2147483647.0];
    }
}

#[test]
fn pow() {
    let ln2 = 2.0f64.ln();
    rows! {
        |x, i| x.slice(0, ..1).pow(x.slice(0, 1..)); [0.0, 1.0], [] => [0.0], [1.0, 0.0];
        |x, i| x.slice(0, ..1).pow(x.slice(0, 1..)); [0.0, 0.0], [] => [1.0], [0.0, 0.0];
        |x, i| x.slice(0, ..1).pow(x.slice(0, 1..)); [0.0, 2.0], [] => [0.0], [0.0, 0.0];
        |x, i| x.slice(0, ..1).pow(x.slice(0, 1..)); [2.0, 3.0], [] => [8.0], [12.0, 8.0 * ln2];
        |x, i| x.slice(0, ..1).pow(x.slice(0, 1..)); [2.0, 0.0], [] => [1.0], [0.0, ln2];
        |x, i| build(1, |j| x.at(&j).pow(x.at(j + 1))); [0.0, 1.0], [] => [0.0], [1.0, 0.0];
        |x, i| x.pow(0.0); [0.0, -1.0, 2.0, NAN], [] => [1.0; 4], [0.0; 4];
        |x, i| x.pow(1.0); [0.0, -1.0], [] => [0.0, -1.0], [1.0, 1.0];
        |x, i| x.pow(2.0); [0.0, -3.0], [] => [0.0, 9.0], [0.0, -6.0];
        |x, i| x.pow(0.5); [4.0], [] => [2.0], [0.25];
        |x, i| x.pow(-1.0); [2.0], [] => [0.5], [-0.25];
        |x, i| x.filled(2.0).pow(x); [0.0, 3.0], [] => [1.0, 8.0], [ln2, 8.0 * ln2];
        |x, i| x.filled(0.0).pow(x); [0.0, 3.0], [] => [1.0, 0.0], [0.0, 0.0];
        |x, i| x.powi(0); [0.0, -1.0, NAN], [] => [1.0; 3], [0.0; 3];
        |x, i| x.powi(1); [0.0, -2.0], [] => [0.0, -2.0], [1.0, 1.0];
        |x, i| x.powi(2); [0.0, -3.0], [] => [0.0, 9.0], [0.0, -6.0];
        |x, i| x.powi(3); [0.0, -3.0], [] => [0.0, -27.0], [0.0, 27.0];
        |x, i| x.powi(-1); [2.0, -4.0], [] => [0.5, -0.25], [-0.25, -0.0625];
        |x, i| x.powi(i32::MIN); [1.0, 2.0], [] => [1.0, 0.0];
        |x, i| x.powi(i32::MAX); [1.0, 0.5], [] => [1.0, 0.0];
    }
}

#[test]
fn reductions_of_nothing() {
    let (least, most) = (i64::MIN as f64, i64::MAX as f64);
    rows! {
        |x, i| x.sum().reshape(1); [], [] => [0.0], [];
        |x, i| x.max_all().reshape(1); [], [] => [-INF], [];
        |x, i| x.min_all().reshape(1); [], [] => [INF], [];
        |x, i| x.mean().reshape(1); [], [] => [NAN], [];
        |x, i| x.argmax().cast::<E>().reshape(1) + 1.0; [], [] => [1.0], [];
        |x, i| x.argmin().cast::<E>().reshape(1) + 1.0; [], [] => [1.0], [];
        |x, i| i.sum().cast::<E>().reshape(1); [], [] => [0.0], [];
        |x, i| i.max_all().cast::<E>().reshape(1); [], [] => [least], [];
        |x, i| i.min_all().cast::<E>().reshape(1); [], [] => [most], [];
        |x, i| i.cast::<i32>().max_all().cast::<i64>().cast::<E>().reshape(1); [], [] => [i32::MIN as f64], [];
        |x, i| x.gt(0.0).any().cast::<E>().reshape(1); [], [] => [0.0], [];
        |x, i| x.gt(0.0).all().cast::<E>().reshape(1); [], [] => [1.0], [];
        |x, i| x.reshape((0, 3)).sum_axis(0); [], [] => [0.0; 3], [];
        |x, i| x.reshape((0, 3)).max_axis(0); [], [] => [-INF; 3], [];
        |x, i| x.reshape((3, 0)).min_axis(1); [], [] => [INF; 3], [];
        |x, i| x.reshape((0, 3)).sum_axis(1); [], [] => [], [];
        |x, i| x.reshape((0, 3)).argmax_axis(0).cast::<E>(); [], [] => [0.0; 3], [];
        |x, i| x.product().reshape(1); [], [] => [1.0], [];
        |x, i| x.logsumexp().reshape(1); [], [] => [-INF], [];
        |x, i| x.variance().reshape(1); [], [] => [NAN], [];
        |x, i| x.cumsum(0).append(0, &x.cumprod(0)).append(0, &x.cummax(0)); [], [] => [], [];
        |x, i| x.sort(0).append(0, &x.top_k(0, 0).0); [], [] => [], [];
        |x, i| reduce(scalar(E::ONE), x, |a, b| a / b).reshape(1); [], [] => [1.0], [];
        |x, i| x.segment_sum(&Segments::by_key(i, 1)); [], [] => [0.0], [];
        |x, i| x.segment_product(&Segments::by_key(i, 1)); [], [] => [1.0], [];
        |x, i| x.segment_max(&Segments::by_key(i, 1)); [], [] => [-INF], [];
        |x, i| x.segment_min(&Segments::by_key(i, 1)); [], [] => [INF], [];
        |x, i| x.segment_mean(&Segments::by_key(i, 1)); [], [] => [NAN], [];
        |x, i| x.segment_logsumexp(&Segments::by_key(i, 1)); [], [] => [-INF], [];
        |x, i| x.slice(0, 1..1).max_all() + x; [2.0, 3.0], [] => [-INF, -INF], [1.0, 1.0];
        |x, i| build(2, |j| x.at(j) + build(0, |k| x.at(k)).sum()); [2.0, 3.0], [] => [2.0, 3.0], [1.0, 1.0];
        |x, i| x.slice(0, 0..0).dot(&x.slice(0, 0..0)).reshape(1); [2.0], [] => [0.0], [0.0];
        |x, i| x.slice(0, 0..0).reshape((2, 0)).dot(&x.slice(0, 0..0).reshape((0, 2))).flatten(); [2.0], [] => [0.0; 4], [0.0];
    }
}

#[test]
fn empty_arrays_axes_of_length_1_and_rank_0() {
    rows! {
        |x, i| (x.exp() + x * 2.0).max(0.0); [], [] => [], [];
        |x, i| x.reverse(0).append(0, x).slice(0, 0..0).pad(0, 1, 1); [], [] => [0.0, 0.0], [];
        |x, i| x.reshape((0, 3)).transpose().reshape((3, 2, 0)).tr(&[1, 0]).flatten(); [], [] => [], [];
        |x, i| x.replicate(3).sum_axis(0); [], [] => [], [];
        |x, i| x.replicate(0).sum_axis(0); [2.0, 3.0], [] => [0.0, 0.0], [0.0, 0.0];
        |x, i| x.outer(x).diagonal(); [], [] => [], [];
        |x, i| x.scatter(i, 3) + x.sum(); [], [] => [0.0; 3], [];
        |x, i| build(0, |j| x.at(j)); [2.0], [] => [], [0.0];
        |x, i| build((2, 0), |(j, k)| x.at(j) * x.at(k)).sum_axis(1); [2.0], [] => [0.0, 0.0], [0.0];
        |x, i| build(2, |_| x.clone()).flatten(); [], [] => [], [];
        |x, i| build(0, |_| x.clone()).sum_axis(0); [2.0, 3.0], [] => [0.0, 0.0], [0.0, 0.0];
        |x, i| scan(x.clone(), &x.slice(0, 0..0), 0, |c, e| (c * e, ())).0; [2.0, 3.0], [] => [2.0, 3.0], [1.0, 1.0];
        |x, i| scan(scalar(1.0), x, 0, |c, e| (&c * &e, c * e)).1; [], [] => [], [];
        |x, i| scan(x.clone(), &(), 3, |c, ()| (c.sin(), ())).0; [], [] => [], [];
        |x, i| x.gt(0.0).select(x, 1.0); [], [] => [], [];
        |x, i| cond(x.sum().gt(0.0), || x.sqrt(), || x.clone()); [], [] => [], [];
        |x, i| x.insert_axis(0).transpose().sum_axis(1).replicate(1).reshape(1) * x; [3.0], [] => [9.0], [6.0];
        |x, i| x.insert_axis(0).dot(&x.insert_axis(1)).flatten(); [3.0], [] => [9.0], [6.0];
        |x, i| x.insert_axis(1) .broadcast_to((2, 1)).flatten() + x; [3.0, 4.0], [] => [6.0, 8.0], [2.0, 2.0];
        |x, i| build(1, |j| x.at(&j) * x.at(j)); [3.0], [] => [9.0], [6.0];
        |x, i| build((1, 1), |(j, k)| x.at(j) * x.at(k)).flatten(); [3.0], [] => [9.0], [6.0];
        |x, i| {
            let s = x.at(0);
            let t = s.transpose().reshape(()).sum().max_all() * s.broadcast_to(()) + s.insert_axis(0).remove_axis(0);
            stack(&[t.clone(), s.replicate(1).sum_axis(0)]) + t
        }; [3.0], [] => [24.0, 15.0], [22.0];
        |x, i| {
            let s = x.sum();
            cond(s.gt(0.0), || &s * &s, || s.clone()).reshape(1)
        }; [3.0], [] => [9.0], [6.0];
        |x, i| scan(x.sum(), &(), 2, |c, ()| (&c * &c, ())).0.reshape(1); [2.0], [] => [16.0], [32.0];
    }
}

#[test]
fn unused_inputs_and_dead_code() {
    rows! {
        |x, i| {
            let _ = x * x;
            x + 1.0
        }; [2.0, 3.0], [] => [3.0, 4.0], [1.0, 1.0];
        |x, i| {
            let _ = (x / 0.0).ln().sqrt();
            let _ = scan(x.sum(), x, x.len(), |c, e| (c / e, ())).0;
            x.gt(0.0).select(x, x * 2.0)
        }; [0.0, 3.0], [] => [0.0, 3.0], [2.0, 1.0];
        |x, i| x.filled(3.0); [2.0, 3.0], [] => [3.0, 3.0], [0.0, 0.0];
        |x, i| ones(3); [2.0, 3.0], [] => [1.0; 3], [0.0, 0.0];
        |x, i| i.cast::<E>(); [2.0], [7] => [7.0], [0.0];
        |x, i| x.slice(0, 1..); [2.0, 3.0], [] => [3.0], [0.0, 1.0];
        |x, i| scan((x.sum(), x.at(0)), x, x.len(), |(c, d), e| ((c / &e, d * e), ())).0.1.reshape(1);
            [2.0, 3.0], [] => [12.0], [12.0, 4.0];
        |x, i| build(2, |j| {
            let _ = x.at(&j).ln();
            x.at(j) * 0.5
        }); [0.0, 3.0], [] => [0.0, 1.5], [0.5, 0.5];
    }
    // Whole arguments that are not used.
    let x: Vector<C, f64> = Vector::from_slice(&[2.0, 3.0]);
    let at = (x.clone(), x.clone(), scalar::<C, f64>(1.0));
    for (dx, dy, dz) in
        [grad(|(x, _, _)| x.sum(), &at), stage(|(x, _, _)| x.sum(), &at).unwrap().grad().unwrap().call(&at).unwrap()]
    {
        assert_eq!((dx.to_vec(), dy.to_vec(), dz.item()), (vec![1.0, 1.0], vec![0.0, 0.0], 0.0));
    }
}

/// Something of everything.
fn medley<A: Algebra, E: Float>(x: &Vector<A, E>) -> Scalar<A, E> {
    let m = x.outer(x);
    let e = m.dot(x).tanh() + m.max_axis(0) / (x.abs() + x.filled(1.0));
    let picked = build(x.len(), |i| x.at(&i).gt(&x.at(&i - 1)).select(e.at(&i), e.at(2 - i).sigmoid()));
    let (last, all) = scan(x.sum(), &picked, 3, |c, p| (c.sin() + &p, p.softplus()));
    last + all.pow(x.filled(1.5)).sum() + x.mean()
}

#[test]
fn both_floats_keep_their_type() {
    let numbers = [0.5, -1.5, 2.0];
    let x: Vector<C, f64> = Vector::from_slice(&numbers);
    let y: Vector<C, f32> = Vector::from_slice(&numbers.map(|x| x as f32));
    let (value, gradient) = value_and_grad(medley, &x);
    let (single, single_gradient) = value_and_grad(medley, &y);
    assert_eq!((single.ty().dtype, single_gradient.ty().dtype), (DType::F32, DType::F32));
    let staged = stage(medley, &y).unwrap();
    let symbolic = staged.value_and_grad().unwrap();
    for text in [staged.source().to_string(), staged.to_string(), symbolic.to_string()] {
        assert!(text.contains("f32") && !text.contains("f64"), "{text}");
    }
    let (again, symbolic_gradient) = symbolic.call(&y).unwrap();
    let near = |a: f64, b: f32| assert!((a - f64::from(b)).abs() < 1e-4 * (1.0 + a.abs()), "{a} and {b}");
    near(value.item(), single.item());
    near(value.item(), again.item());
    for (at, &exact) in gradient.to_vec().iter().enumerate() {
        near(exact, single_gradient.to_vec()[at]);
        near(exact, symbolic_gradient.to_vec()[at]);
    }
}

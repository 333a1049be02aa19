//! The exact result of every operation on floats, as accurate as twice the digits allow, and distances from it.

use super::wide::Wide;
use super::{elementary, gamma};
use crate::operation::{Binary, Unary};

/// The result of an operation that is no reduction of bits, of a float of either type.
pub(super) fn unary(op: Unary, x: f64) -> Wide {
    let wide = Wide::from(x);
    match op {
        Unary::Recip => Wide::from(1.0) / wide,
        Unary::Powi(n) => whole_power(x, n),
        Unary::Sqrt => wide.sqrt(),
        Unary::Cbrt => elementary::cbrt(x),
        Unary::Exp => elementary::exp(wide),
        Unary::Exp2 => elementary::exp2(x),
        Unary::Expm1 => elementary::exp_m1(wide),
        Unary::Ln => elementary::ln(wide),
        Unary::Log2 => elementary::log2(x),
        Unary::Log10 => elementary::log10(x),
        Unary::Ln1p => elementary::ln_1p(wide),
        Unary::Sin => elementary::sin_cos(x).0,
        Unary::Cos => elementary::sin_cos(x).1,
        Unary::Tan => {
            let (sine, cosine) = elementary::sin_cos(x);
            sine / cosine
        }
        Unary::Asin => elementary::asin(x),
        Unary::Acos => elementary::acos(x),
        Unary::Atan => elementary::atan(x),
        Unary::Sinh => elementary::sinh(x),
        Unary::Cosh => elementary::cosh(x),
        Unary::Tanh => elementary::tanh(x),
        Unary::Asinh => elementary::asinh(x),
        Unary::Acosh => elementary::acosh(x),
        Unary::Atanh => elementary::atanh(x),
        Unary::Sigmoid => elementary::sigmoid(x),
        Unary::Softplus => elementary::softplus(x),
        Unary::Erf => gamma::erf(x),
        Unary::Erfc => gamma::erfc(x),
        Unary::Lgamma => gamma::lgamma(x),
        Unary::Digamma => gamma::polygamma(0, x),
        Unary::Polygamma(order) => gamma::polygamma(order, x),
        Unary::Neg => (-x).into(),
        Unary::Abs => x.abs().into(),
        Unary::Sign => (if x == 0.0 || x.is_nan() { x } else { x.signum() }).into(),
        Unary::Relu => (if x > 0.0 || x.is_nan() { x } else { 0.0 }).into(),
        Unary::Floor => x.floor().into(),
        Unary::Ceil => x.ceil().into(),
        Unary::Round => x.round().into(),
        Unary::StopGradient => x.into(),
        Unary::Not | Unary::BitNot => unreachable!("{op:?} takes no floats"),
    }
}

/// The result of an operation of two operands, unless an instruction computes it.
pub(super) fn binary(op: Binary, a: f64, b: f64) -> Option<Wide> {
    Some(match op {
        Binary::Pow => elementary::pow(a, b),
        Binary::Atan2 => elementary::angle(a, b),
        Binary::Hypot => elementary::hypot(a, b),
        Binary::LogAddExp => elementary::logaddexp(a, b),
        Binary::Xlogy if a == 0.0 && !b.is_nan() => Wide::from(0.0),
        Binary::Xlogy => elementary::ln(b.into()) * a,
        _ => return None,
    })
}

/// A product of so many factors, or its inverse.
fn whole_power(x: f64, n: i32) -> Wide {
    let (mut power, mut square, mut left) = (Wide::from(1.0), Wide::from(x), n.unsigned_abs());
    while left > 0 {
        if left % 2 == 1 {
            power = power * square;
        }
        square = square.square();
        left /= 2;
    }
    if n < 0 { Wide::from(1.0) / power } else { power }
}

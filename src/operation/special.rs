//! Special functions that the standard library lacks.

use std::f64::consts::{LN_2, PI};

/// Floats with special functions; functions of `f32` are computed in `f64` where digits would be lost.
pub(super) trait Special: Copy {
    /// The error function.
    fn error_function(self) -> Self;
    /// 1 − erf(x), exact for large x.
    fn complementary_error_function(self) -> Self;
    /// The number whose hyperbolic sine is x.
    fn inverse_sinh(self) -> Self;
    /// The number above 0 whose hyperbolic cosine is x.
    fn inverse_cosh(self) -> Self;
    /// The number whose hyperbolic tangent is x.
    fn inverse_tanh(self) -> Self;
    /// ln |Γ(x)|.
    fn log_gamma(self) -> Self;
    /// The derivative of order `order` of the digamma function, which is the derivative of ln |Γ(x)|.
    fn polygamma(self, order: u32) -> Self;
    /// ln(exp(a) + exp(b)), without overflow.
    fn logaddexp(self, other: Self) -> Self;
    /// a · ln b, but 0 where a is 0 and b is not NaN.
    fn xlogy(self, other: Self) -> Self;
}

/// The inverse hyperbolic functions, by logarithms of 1 plus a term. From 10⁹ on, x² + 1 and x² − 1 equal x² in all digits.
macro_rules! inverse_hyperbolic {
    ($t:ident) => {
        fn inverse_sinh(self) -> $t {
            let size = self.abs();
            let square = size * size;
            let result = match size < 1e9 {
                true => (size + square / (1.0 + (1.0 + square).sqrt())).ln_1p(),
                false => size.ln() + std::$t::consts::LN_2,
            };
            result.copysign(self)
        }
        fn inverse_cosh(self) -> $t {
            let over = self - 1.0;
            match self {
                ..1.0 => $t::NAN,
                ..1e9 => (over + (2.0 * over + over * over).sqrt()).ln_1p(),
                _ => self.ln() + std::$t::consts::LN_2,
            }
        }
        fn inverse_tanh(self) -> $t {
            let size = self.abs();
            (0.5 * (2.0 * size / (1.0 - size)).ln_1p()).copysign(self)
        }
    };
}

impl Special for f64 {
    fn error_function(self) -> f64 {
        libm::erf(self)
    }
    fn complementary_error_function(self) -> f64 {
        libm::erfc(self)
    }
    inverse_hyperbolic!(f64);
    fn log_gamma(self) -> f64 {
        log_gamma(self)
    }
    fn polygamma(self, order: u32) -> f64 {
        polygamma(order, self)
    }
    fn logaddexp(self, other: f64) -> f64 {
        let (low, high) = if self < other { (self, other) } else { (other, self) };
        // The difference of equal infinities is NaN.
        if low == high {
            return high + LN_2;
        }
        let difference = low - high;
        // The rounding error matters where the larger operand is small.
        let lost = if difference > -50.0 { (low - difference) - high } else { 0.0 };
        let exponential = difference.exp();
        high + (exponential + exponential * lost).ln_1p()
    }
    fn xlogy(self, other: f64) -> f64 {
        if self == 0.0 && !other.is_nan() { 0.0 } else { self * other.ln() }
    }
}

impl Special for f32 {
    fn error_function(self) -> f32 {
        f64::from(self).error_function() as f32
    }
    fn complementary_error_function(self) -> f32 {
        f64::from(self).complementary_error_function() as f32
    }
    inverse_hyperbolic!(f32);
    fn log_gamma(self) -> f32 {
        f64::from(self).log_gamma() as f32
    }
    fn polygamma(self, order: u32) -> f32 {
        f64::from(self).polygamma(order) as f32
    }
    fn logaddexp(self, other: f32) -> f32 {
        f64::from(self).logaddexp(f64::from(other)) as f32
    }
    fn xlogy(self, other: f32) -> f32 {
        if self == 0.0 && !other.is_nan() { 0.0 } else { self * other.ln() }
    }
}

/// The Bernoulli numbers B₂, B₄, .. of the asymptotic series.
const BERNOULLI: [f64; 12] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
    854513.0 / 138.0,
    -236364091.0 / 2730.0,
];

/// ln |Γ(x)|.
///
/// For arguments that are not far below 0 the recurrence gives one above ½. The factors of its product are exact, so little is
/// lost where the result is near 0. Others take the reflection.
fn log_gamma(x: f64) -> f64 {
    match x {
        ..0.0 if x == x.floor() => f64::INFINITY,
        ..-30.0 => {
            let distance = x - x.round();
            (PI / (PI * distance).sin().abs()).ln() - libm::lgamma(1.0 - x)
        }
        ..0.0 => {
            let (mut at, mut product) = (x, 1.0);
            while at < 0.5 {
                product *= at;
                at += 1.0;
            }
            libm::lgamma(at) - product.abs().ln()
        }
        _ => libm::lgamma(x),
    }
}

/// The argument from which asymptotic series are used; for derivatives of the digamma function later, by their order.
const ASYMPTOTIC: f64 = 8.0;

/// The positive zero of the digamma function, in two parts.
const ROOT: (f64, f64) = (1.4616321449683622, 9.549995429965697e-17);

/// (ψ(x + 1) − ψ(r + 1)) / (x − r) for the zero r, in powers of x − 1.75, for x from 1 to 2.5.
const NEAR_ROOT: [f64; 19] = [
    0.46723083324797404,
    -0.10285326565192013,
    0.02946219208565062,
    -0.009338202774941082,
    0.0031154352637452155,
    -0.0010704946679371075,
    0.0003746125717948589,
    -0.0001326552693560919,
    4.734883655698553e-05,
    -1.6992334535405338e-05,
    6.1211173232487354e-06,
    -2.210210101013353e-06,
    7.997992579035953e-07,
    -2.915784712729988e-07,
    1.0575831841340943e-07,
    -3.551198627188646e-08,
    1.2894921852310434e-08,
    -7.2390504473276754e-09,
    2.6307759149911736e-09,
];

/// ψ(x), the derivative of ln |Γ(x)|.
///
/// It has the factor x − r with its zero r; small arguments are moved to where that holds, large ones take the asymptotic series,
/// and negative ones the reflection. At 0 it is −∞, at the negative integers NaN.
fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    let (mut at, mut sum, mut reflected) = (x, 0.0, 0.0);
    if x < 0.0 {
        let distance = x - x.round();
        // π cot(π x); farther than a quarter from a pole, it is the tangent of the remainder to a half, which is exact.
        reflected = match distance.abs() {
            0.0 => f64::NAN,
            ..0.25 => PI / (PI * distance).tan(),
            size => (PI * (PI * (0.5 - size)).tan()).copysign(distance),
        };
        at = 1.0 - x;
    }
    if at < 1.0 {
        sum = -1.0 / at;
        at += 1.0;
    }
    if at < ASYMPTOTIC {
        while at > 2.5 {
            at -= 1.0;
            sum += 1.0 / at;
        }
        let near = NEAR_ROOT.iter().rev().fold(0.0, |series, coefficient| series * (at - 1.75) + coefficient);
        return sum + (at - ROOT.0 - ROOT.1) * (near + 1.0 / (ROOT.0 * at)) - reflected;
    }
    let inverse_square = 1.0 / (at * at);
    let mut series = 0.0;
    for (k, bernoulli) in BERNOULLI.iter().enumerate().rev() {
        series = (series + bernoulli / (2 * (k + 1)) as f64) * inverse_square;
    }
    at.ln() - (0.5 / at + series) - reflected
}

/// ψ⁽ᵐ⁾(x), the derivative of order m of the digamma function (DLMF 5.15).
///
/// Arguments below −1 take the reflection. At the poles, 0 and the negative integers, an odd order is +∞ and an even one NaN. The
/// order is small in practice: the recurrence has as many steps, and some more. Orders beyond 170, whose factorials no number holds,
/// give NaN.
fn polygamma(order: u32, x: f64) -> f64 {
    if order == 0 {
        return digamma(x);
    }
    if x.is_nan() || x == f64::NEG_INFINITY || order > 170 {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    let (whole, is_odd) = (x.floor(), order % 2 == 1);
    if x <= 0.0 && x == whole {
        return if is_odd { f64::INFINITY } else { f64::NAN };
    }
    if x >= -1.0 {
        return polygamma_above(order, x);
    }
    // ψ⁽ᵐ⁾(x) = (−1)ᵐ ψ⁽ᵐ⁾(1 − x) − π dᵐ/dxᵐ cot(π x). The cotangent has the period 1, so that the same formula at the part of x
    // after the point, which is exact, states it by functions of positive numbers.
    let part = x - whole;
    let (near, other) = (polygamma_above(order, part), polygamma_above(order, 1.0 - part));
    let far = polygamma_above(order, 1.0 - x);
    if is_odd { near + other - far } else { near - other + far }
}

/// The derivatives of the digamma function above −1: (−1)ᵐ⁺¹ m! Σₖ 1/(x + k)ᵐ⁺¹, whose first terms are added, and the others are
/// the asymptotic series.
fn polygamma_above(order: u32, x: f64) -> f64 {
    let factorial: f64 = (1..=order).map(f64::from).product();
    let (exponent, m) = (order as i32, f64::from(order));
    // A power may overflow where the quotient is a number, but no half of the power does.
    let over_power = |base: f64, power: i32| factorial / base.powi(power / 2) / base.powi(power - power / 2);
    // Smaller terms of higher orders let the series start later.
    let (mut steps, mut sum) = (0.0, 0.0);
    while x + steps < ASYMPTOTIC + m {
        steps += 1.0;
    }
    let at = x + steps;
    // The smallest terms first.
    while steps > 0.0 {
        steps -= 1.0;
        sum += over_power(x + steps, exponent + 1);
    }
    // (m−1)!/x^m + m!/(2 x^(m+1)) + Σ_k B_2k (2k+m−1)!/((2k)! x^(2k+m)).
    let leading = over_power(at, exponent) / m;
    let (mut series, mut term) = (0.5 * leading * m / at, leading);
    for (k, bernoulli) in BERNOULLI.iter().enumerate() {
        let two_k = (2 * (k + 1)) as f64;
        // (2k+m−1)!/(2k)! from the one before.
        term *= (two_k + m - 1.0) * (two_k + m - 2.0) / (two_k * (two_k - 1.0)) / (at * at);
        series += bernoulli * term;
    }
    let size = sum + (leading + series);
    if order % 2 == 1 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 2e-14 * expected.abs().max(1.0), "{found} instead of {expected}");
    }

    #[test]
    fn digamma_and_its_derivatives_at_known_points() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        const ZETA_3: f64 = 1.202_056_903_159_594_2;
        let pi = std::f64::consts::PI;
        close(polygamma(0, 1.0), -EULER);
        close(polygamma(0, 0.5), -EULER - 2.0 * std::f64::consts::LN_2);
        close(polygamma(0, 10.0), 2.251_752_589_066_721);
        close(polygamma(0, 1e10), 1e10f64.ln() - 0.5e-10);
        close(polygamma(1, 1.0), pi * pi / 6.0);
        close(polygamma(1, 0.5), pi * pi / 2.0);
        close(polygamma(2, 1.0), -2.0 * ZETA_3);
        close(polygamma(2, 0.5), -14.0 * ZETA_3);
        close(polygamma(3, 1.0), pi.powi(4) / 15.0);
        close(polygamma(5, 1.0), 8.0 * pi.powi(6) / 63.0);
        // The recurrence ψ⁽ᵐ⁾(x + 1) = ψ⁽ᵐ⁾(x) + (−1)ᵐ m!/x^(m+1) holds across the reflection.
        for order in 0..6 {
            let factorial: f64 = (1..=order).map(f64::from).product();
            for x in [-0.25, -0.5, -3.7, -0.99, 0.3, 2.5, 15.9] {
                let step = factorial / f64::powi(x, order as i32 + 1) * if order % 2 == 0 { 1.0 } else { -1.0 };
                let (left, right) = (polygamma(order, x + 1.0), polygamma(order, x) + step);
                let scale = step.abs().max(left.abs()).max(1.0);
                assert!((left - right).abs() <= 1e-12 * scale, "order {order} at {x}: {left} and {right}");
            }
        }
    }

    /// Powers of their arguments overflow, or factorials of their orders.
    #[test]
    fn derivatives_of_high_orders() {
        let known = [
            (100, 5e3, -1.1949206626300594e-214),
            (20, 1e16, -1.2164510040883212e-303),
            (10, 1e31, -3.6288e-305),
            (150, 140.0, -7.478736282913598e-62),
        ];
        for (order, x, expected) in known {
            let found = polygamma(order, x);
            let units = ((found - expected) / expected).abs() / f64::EPSILON;
            assert!(units <= f64::from(order) + 3.0, "order {order} at {x}: {found}, not {expected}");
        }
        assert!(polygamma(171, 10.0).is_nan() && polygamma(u32::MAX, 1e10).is_nan());
    }

    #[test]
    fn poles_and_infinities() {
        assert_eq!(polygamma(0, 0.0), f64::NEG_INFINITY);
        assert!(polygamma(0, -1.0).is_nan() && polygamma(2, -3.0).is_nan() && polygamma(1, f64::NAN).is_nan());
        assert_eq!(polygamma(1, 0.0), f64::INFINITY);
        assert_eq!(polygamma(3, -2.0), f64::INFINITY);
        assert_eq!((polygamma(0, f64::INFINITY), polygamma(1, f64::INFINITY)), (f64::INFINITY, 0.0));
    }

    #[test]
    fn sums_of_exponentials_and_products_with_logarithms() {
        close(2.0f64.logaddexp(2.0), 2.0 + std::f64::consts::LN_2);
        close(1000.0f64.logaddexp(0.0), 1000.0);
        let infinity = f64::INFINITY;
        assert_eq!((-infinity).logaddexp(-infinity), -infinity);
        assert_eq!((-infinity).logaddexp(1.0), 1.0);
        assert_eq!(infinity.logaddexp(infinity), infinity);
        assert!(f64::NAN.logaddexp(1.0).is_nan() && 1.0f64.logaddexp(f64::NAN).is_nan());
        assert_eq!((0.0f64.xlogy(0.0), 0.0f64.xlogy(infinity)), (0.0, 0.0));
        assert!(0.0f64.xlogy(f64::NAN).is_nan() && f64::NAN.xlogy(1.0).is_nan());
        close(2.0f64.xlogy(3.0), 2.0 * 3.0f64.ln());
    }
}

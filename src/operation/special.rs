//! Special functions that the standard library lacks.

/// Floats with special functions; those of `f32` are computed in `f64`.
pub(super) trait Special: Copy {
    /// The error function.
    fn error_function(self) -> Self;
    /// 1 − erf(x), exact for large x.
    fn complementary_error_function(self) -> Self;
    /// ln |Γ(x)|.
    fn log_gamma(self) -> Self;
    /// The derivative of order `order` of the digamma function, which is that of ln |Γ(x)|.
    fn polygamma(self, order: u32) -> Self;
    /// ln(exp(a) + exp(b)), without overflow.
    fn logaddexp(self, other: Self) -> Self;
    /// a · ln b, but 0 where a is 0 and b is not NaN.
    fn xlogy(self, other: Self) -> Self;
}

impl Special for f64 {
    fn error_function(self) -> f64 {
        libm::erf(self)
    }
    fn complementary_error_function(self) -> f64 {
        libm::erfc(self)
    }
    fn log_gamma(self) -> f64 {
        libm::lgamma(self)
    }
    fn polygamma(self, order: u32) -> f64 {
        polygamma(order, self)
    }
    fn logaddexp(self, other: f64) -> f64 {
        let (low, high) = if self < other { (self, other) } else { (other, self) };
        // Of equal infinities the difference is no number.
        if low == high { high + std::f64::consts::LN_2 } else { high + (low - high).exp().ln_1p() }
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

/// From where the asymptotic series is used.
const ASYMPTOTIC: f64 = 16.0;

/// ψ⁽ᵐ⁾(x), the derivative of order m of the digamma function (DLMF 5.15).
///
/// Large arguments take the asymptotic series, smaller ones the recurrence up to there, and negative ones the reflection,
/// in which the derivatives of the cotangent are polynomials in it. At the poles, 0 and the negative integers, digamma is
/// NaN, but −∞ at 0; an odd order is +∞ and an even one NaN. The order is small in practice: the recurrence alone costs
/// its 16 steps, the reflection m² more.
fn polygamma(order: u32, x: f64) -> f64 {
    if x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return if order == 0 { f64::INFINITY } else { 0.0 };
    }
    if x <= 0.0 && x == x.floor() {
        return match order {
            0 if x == 0.0 => f64::NEG_INFINITY,
            order if order % 2 == 1 => f64::INFINITY,
            _ => f64::NAN,
        };
    }
    if x < 0.0 {
        return reflected(order, x);
    }
    // The sign, order!, of ψ⁽ᵐ⁾(x) = (−1)^(m+1) m! Σ_k 1/(x + k)^(m+1).
    let factorial: f64 = (1..=order).map(f64::from).product();
    let sign = if order % 2 == 1 { 1.0 } else { -1.0 };
    let exponent = i32::try_from(order).unwrap_or(i32::MAX);
    let (mut at, mut sum) = (x, 0.0);
    // Smaller terms of higher orders let the series start later.
    let start = ASYMPTOTIC + f64::from(order);
    while at < start {
        sum += factorial / at.powi(exponent.saturating_add(1));
        at += 1.0;
    }
    if order == 0 {
        let inverse_square = 1.0 / (at * at);
        let (mut series, mut power) = (0.0, inverse_square);
        for (k, bernoulli) in BERNOULLI.iter().enumerate() {
            series += bernoulli * power / (2 * (k + 1)) as f64;
            power *= inverse_square;
        }
        return at.ln() - 0.5 / at - series - sum;
    }
    // (m−1)!/x^m + m!/(2 x^(m+1)) + Σ_k B_2k (2k+m−1)!/((2k)! x^(2k+m)).
    let power = at.powi(exponent);
    let leading = factorial / f64::from(order) / power;
    let mut series = leading + factorial / (2.0 * power * at);
    let mut term = leading;
    for (k, bernoulli) in BERNOULLI.iter().enumerate() {
        let two_k = 2.0 * (k + 1) as f64;
        let m = f64::from(order);
        // (2k+m−1)!/(2k)! from the one before.
        term *= (two_k + m - 1.0) * (two_k + m - 2.0) / (two_k * (two_k - 1.0)) / (at * at);
        series += bernoulli * term;
    }
    sign * (sum + series)
}

/// ψ⁽ᵐ⁾(x) = (−1)^m ψ⁽ᵐ⁾(1 − x) − π dᵐ/dxᵐ cot(π x), for x below 0.
fn reflected(order: u32, x: f64) -> f64 {
    use std::f64::consts::PI;
    // The sine and cosine of the distance to the nearest integer are exact where those of π·x are not.
    let distance = x - x.round();
    let cotangent = (PI * distance).cos() / (PI * distance).sin();
    // dᵐ/dzᵐ cot z is a polynomial of cot z: c' = −(1 + c²).
    let mut polynomial = vec![0.0, 1.0];
    for _ in 0..order {
        let mut next = vec![0.0; polynomial.len() + 1];
        for (power, coefficient) in polynomial.iter().enumerate().skip(1) {
            next[power - 1] -= power as f64 * coefficient;
            next[power + 1] -= power as f64 * coefficient;
        }
        polynomial = next;
    }
    let derivative = polynomial.iter().rev().fold(0.0, |sum, coefficient| sum * cotangent + coefficient);
    let exponent = i32::try_from(order).unwrap_or(i32::MAX);
    let mirrored = polygamma(order, 1.0 - x);
    (if order.is_multiple_of(2) { mirrored } else { -mirrored }) - PI.powi(exponent.saturating_add(1)) * derivative
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

//! Numbers of twice the digits of `f64`, in which references are computed: the sum of a float and of its rounding error.
//!
//! Sums and products of such pairs follow Dekker, Knuth and Shewchuk; about 104 binary digits are right.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The sum of two floats, the first of which is the one nearest to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Wide {
    pub(super) high: f64,
    pub(super) low: f64,
}

pub(super) const PI: Wide = Wide { high: std::f64::consts::PI, low: 1.2246467991473532e-16 };
pub(super) const LN_2: Wide = Wide { high: std::f64::consts::LN_2, low: 2.3190468138462996e-17 };
pub(super) const LN_10: Wide = Wide { high: std::f64::consts::LN_10, low: -2.1707562233822494e-16 };

/// a + b without rounding, where |a| ≥ |b|.
fn quick_sum(a: f64, b: f64) -> Wide {
    let high = a + b;
    // Infinities and NaN have no rest.
    Wide { high, low: if high.is_finite() { b - (high - a) } else { 0.0 } }
}

/// a + b without rounding.
fn sum(a: f64, b: f64) -> Wide {
    let high = a + b;
    let b_in = high - a;
    Wide { high, low: if high.is_finite() { (a - (high - b_in)) + (b - b_in) } else { 0.0 } }
}

/// a · b without rounding, apart from digits lost below the smallest float.
fn product(a: f64, b: f64) -> Wide {
    let high = a * b;
    Wide { high, low: if high.is_finite() { a.mul_add(b, -high) } else { 0.0 } }
}

impl From<f64> for Wide {
    fn from(x: f64) -> Wide {
        Wide { high: x, low: 0.0 }
    }
}

impl Add for Wide {
    type Output = Wide;
    fn add(self, other: Wide) -> Wide {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let sum = quick_sum(high.high, high.low + low.high);
        quick_sum(sum.high, sum.low + low.low)
    }
}

impl Neg for Wide {
    type Output = Wide;
    fn neg(self) -> Wide {
        Wide { high: -self.high, low: -self.low }
    }
}

impl Sub for Wide {
    type Output = Wide;
    fn sub(self, other: Wide) -> Wide {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Wide;
    fn mul(self, other: Wide) -> Wide {
        let exact = product(self.high, other.high);
        if !exact.high.is_finite() {
            return exact;
        }
        quick_sum(exact.high, exact.low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Wide {
    type Output = Wide;
    fn div(self, other: Wide) -> Wide {
        // The remainder of a smaller dividend would lose digits.
        if self.high != 0.0 && self.high.abs() < 1e-280 {
            return (self.times_power_of_two(200) / other).times_power_of_two(-200);
        }
        let first = self.high / other.high;
        if !first.is_finite() || first == 0.0 {
            return first.into();
        }
        let rest = self - other * first;
        let second = rest.high / other.high;
        let rest = rest - other * second;
        quick_sum(first, second) + Wide::from(rest.high / other.high)
    }
}

macro_rules! with_float {
    ($($trait:ident $method:ident;)*) => {$(
        impl $trait<f64> for Wide {
            type Output = Wide;
            fn $method(self, other: f64) -> Wide {
                self.$method(Wide::from(other))
            }
        }
    )*};
}

with_float! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl Wide {
    pub(super) const NAN: Wide = Wide { high: f64::NAN, low: 0.0 };
    pub(super) const INFINITY: Wide = Wide { high: f64::INFINITY, low: 0.0 };

    pub(super) fn abs(self) -> Wide {
        if self.high < 0.0 { -self } else { self }
    }

    /// With the sign of a float.
    pub(super) fn signed(self, sign: f64) -> Wide {
        if self.high.is_sign_negative() == sign.is_sign_negative() { self } else { -self }
    }

    pub(super) fn square(self) -> Wide {
        self * self
    }

    pub(super) fn sqrt(self) -> Wide {
        let root = self.high.sqrt();
        if root == 0.0 || !root.is_finite() {
            return root.into();
        }
        let rest = self - Wide::from(root).square();
        quick_sum(root, rest.high / (2.0 * root))
    }

    /// 2ⁿ times this number, by powers of two that are floats.
    pub(super) fn times_power_of_two(self, n: i32) -> Wide {
        let (mut scaled, mut left) = (self, n);
        while left != 0 {
            let step = left.clamp(-1000, 1000);
            let factor = 2f64.powi(step);
            left -= step;
            // The rest decides how a result of less than full precision is rounded.
            let high = scaled.high * factor;
            if !high.is_finite() {
                return high.into();
            }
            let lost = if high.abs() < 1e-290 && high != 0.0 { scaled.high - high / factor } else { 0.0 };
            scaled = quick_sum(high, (scaled.low + lost) * factor);
        }
        scaled
    }

    /// The exponent of the first digit, of a number that is not 0.
    pub(super) fn exponent(self) -> i32 {
        let bits = |x: f64| ((x.to_bits() >> 52) & 2047) as i32;
        match bits(self.high) {
            0 => bits(self.high * 2f64.powi(60)) - 1023 - 60,
            biased => biased - 1023,
        }
    }
}

/// Σ cᵢ xⁱ, of coefficients from the first on.
pub(super) fn series(x: Wide, coefficients: &[Wide]) -> Wide {
    coefficients.iter().rev().fold(Wide::from(0.0), |sum, &coefficient| sum * x + coefficient)
}

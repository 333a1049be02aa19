//! Functions of one number without branches and tables, so that the compiler makes vectors of loops over them.
//!
//! They are exact to a few units in the last place, for arguments as the tasks have: no infinities, no numbers so large that
//! they say nothing about an angle.

use crate::machine::Machine;
use std::f64::consts::{FRAC_2_PI, LOG2_E, SQRT_2};

/// Added to a number and subtracted again, it rounds that to an integer, which is also in the lowest bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The logarithm of 2 in two parts; the first times an integer of twenty bits is exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// A quarter of a turn, in two such parts.
const QUARTER: [f64; 2] = [1.570_796_326_734_125_6, 6.077_100_506_506_192e-11];

/// (exp(r) − 1 − r) / r² for |r| ≤ ln(2) / 2, interpolated where it is nearly best: even and odd powers.
const EXP_EVEN: [f64; 5] = [
    0.5,
    0.041_666_666_666_624_13,
    0.001_388_888_891_721_371_7,
    2.480_152_129_595_437_6e-5,
    2.762_008_844_540_974_6e-7,
];
const EXP_ODD: [f64; 5] = [
    0.166_666_666_666_666_69,
    0.008_333_333_333_330_062,
    0.000_198_412_698_630_536_18,
    2.755_726_845_999_706_4e-6,
    2.510_038_549_551_032e-8,
];

// Sun's coefficients, of the library fdlibm, for the sine and cosine of an eighth of a turn and for the logarithm near one.
const SINE: [f64; 6] = [
    -1.666_666_666_666_663_2e-1,
    8.333_333_333_322_49e-3,
    -1.984_126_982_985_795e-4,
    2.755_731_370_707_006_8e-6,
    -2.505_076_025_340_686_3e-8,
    1.589_690_995_211_55e-10,
];
const COSINE: [f64; 6] = [
    4.166_666_666_666_66e-2,
    -1.388_888_888_887_411e-3,
    2.480_158_728_947_673e-5,
    -2.755_731_435_139_066_3e-7,
    2.087_572_321_298_175e-9,
    -1.135_964_755_778_819_5e-11,
];
const LOGARITHM: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];

/// A polynomial, whose constant comes first.
#[inline(always)]
fn polynomial<M: Machine, const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut value = coefficients[N - 1];
    for at in (0..N - 1).rev() {
        value = M::fused(value, x, coefficients[at]);
    }
    value
}

/// The numbers e and s with exp(x) = s + s·e, where s is a power of two, for |x| ≤ 708.
#[inline(always)]
fn exponential<M: Machine>(x: f64) -> (f64, f64) {
    let shifted = M::fused(x, LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = M::fused(n, -LN_2[1], M::fused(n, -LN_2[0], x));
    let square = r * r;
    let tail = M::fused(polynomial::<M, 5>(square, EXP_ODD), r, polynomial::<M, 5>(square, EXP_EVEN));
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    (M::fused(tail, square, r), power)
}

/// A number, or the bound nearest to it. Comparisons are written as the instructions have them.
#[inline(always)]
fn bounded(x: f64, bound: f64) -> f64 {
    let x = if -bound > x { -bound } else { x };
    if bound < x { bound } else { x }
}

/// exp(x) for x of any size, except that it is neither smaller than exp(−708) nor larger than exp(708).
#[inline(always)]
pub(crate) fn exp<M: Machine>(x: f64) -> f64 {
    let (rest, power) = exponential::<M>(bounded(x, 708.0));
    M::fused(power, rest, power)
}

/// exp(x), except that it is neither smaller than exp(−170) nor larger than exp(170): products of four are finite.
#[inline(always)]
pub(crate) fn moderate_exp<M: Machine>(x: f64) -> f64 {
    let (rest, power) = exponential::<M>(bounded(x, 170.0));
    M::fused(power, rest, power)
}

/// tanh(x), exact also where it is small.
#[inline(always)]
pub(crate) fn tanh<M: Machine>(x: f64) -> f64 {
    let (rest, power) = exponential::<M>(bounded(x + x, 80.0));
    let less_one = M::fused(power, rest, power - 1.0);
    less_one / (less_one + 2.0)
}

/// The sine and the cosine of x, for |x| up to a million.
#[inline(always)]
pub(crate) fn sin_cos<M: Machine>(x: f64) -> (f64, f64) {
    let shifted = M::fused(x, FRAC_2_PI, ROUNDER);
    let (n, quarter) = (shifted - ROUNDER, shifted.to_bits());
    let r = M::fused(n, -QUARTER[1], M::fused(n, -QUARTER[0], x));
    let square = r * r;
    let sine = M::fused(square * r, polynomial::<M, 6>(square, SINE), r);
    let cosine = M::fused(square * square, polynomial::<M, 6>(square, COSINE), M::fused(square, -0.5, 1.0));
    let (first, second) = if quarter & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    let negated = |x: f64, when: u64| f64::from_bits(x.to_bits() ^ ((when & 2) << 62));
    (negated(first, quarter), negated(second, quarter.wrapping_add(1)))
}

/// n ln(2) + ln(1 + f), for f between √½ − 1 and √2 − 1.
#[inline(always)]
fn logarithm<M: Machine>(f: f64, n: f64) -> f64 {
    let s = f / (2.0 + f);
    let square = s * s;
    let tail = square * polynomial::<M, 7>(square, LOGARITHM);
    let half = 0.5 * f * f;
    let small = M::fused(s, half + tail, n * LN_2[1]);
    M::fused(n, LN_2[0], f - (half - small))
}

/// ln(x) for positive x that are not subnormal.
#[inline(always)]
pub(crate) fn ln<M: Machine>(x: f64) -> f64 {
    let root = (SQRT_2 / 2.0).to_bits();
    let above = x.to_bits().wrapping_sub(root) as i64 >> 52;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub((above << 52) as u64));
    logarithm::<M>(mantissa - 1.0, above as f64)
}

/// ln(1 + x) for x between 0 and 1, exact also where it is small.
#[inline(always)]
pub(crate) fn ln_1p<M: Machine>(x: f64) -> f64 {
    let halved = x > SQRT_2 - 1.0;
    logarithm::<M>(if halved { 0.5 * (x - 1.0) } else { x }, if halved { 1.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fused, Plain};

    /// Compares with the standard library's function, in units in the last place.
    fn check(name: &str, range: [f64; 2], function: fn(f64) -> f64, expected: fn(f64) -> f64, units: f64) {
        let count = 20_001;
        for at in 0..count {
            let x = range[0] + (range[1] - range[0]) * at as f64 / (count - 1) as f64;
            let (found, expected) = (function(x), expected(x));
            let unit = f64::EPSILON * expected.abs().max(f64::MIN_POSITIVE);
            assert!((found - expected).abs() <= units * unit, "{name}({x}) is {found} instead of {expected}");
        }
    }

    fn check_all<M: Machine>() {
        check("exp", [-708.0, 708.0], exp::<M>, f64::exp, 2.0);
        check("exp", [-1.0, 1.0], exp::<M>, f64::exp, 2.0);
        check("moderate_exp", [-170.0, 170.0], moderate_exp::<M>, f64::exp, 2.0);
        check("tanh", [-25.0, 25.0], tanh::<M>, f64::tanh, 4.0);
        check("tanh", [-1e-3, 1e-3], tanh::<M>, f64::tanh, 4.0);
        check("sin", [-20.0, 20.0], |x| sin_cos::<M>(x).0, f64::sin, 4.0);
        check("cos", [-20.0, 20.0], |x| sin_cos::<M>(x).1, f64::cos, 4.0);
        check("sin", [1e5, 1.001e5], |x| sin_cos::<M>(x).0, f64::sin, 16.0);
        check("ln", [1e-3, 4.0], ln::<M>, f64::ln, 4.0);
        check("ln", [1e-300, 1e300], ln::<M>, f64::ln, 4.0);
        check("ln_1p", [0.0, 1.0], ln_1p::<M>, f64::ln_1p, 4.0);
        check("ln_1p", [0.0, 1e-6], ln_1p::<M>, f64::ln_1p, 4.0);
    }

    #[test]
    fn functions_are_those_of_the_standard_library() {
        check_all::<Plain>();
        check_all::<Fused>();
    }

    #[test]
    fn what_is_too_large_is_bounded() {
        assert!(exp::<Plain>(f64::NEG_INFINITY) < 1e-300 && exp::<Plain>(1e5).is_finite());
        assert_eq!((tanh::<Plain>(1e9), tanh::<Plain>(-1e9)), (1.0, -1.0));
        assert!(moderate_exp::<Plain>(1e9).powi(4).is_finite());
    }
}

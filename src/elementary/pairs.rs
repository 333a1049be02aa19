//! Functions of two operands.

use super::exponential::{Exp, exp_of_sum};
use super::lanes::{Lanes, Mask, Real, Rounding};
use super::logarithm::{Ln, ln_1p_of};
use super::{VectorFunction, polynomial};
use crate::array::ElementType;
use crate::operation::Binary;
use crate::shape::DType;

/// A function of two operands with a formula.
pub(crate) trait Pairwise {
    /// The row of the operation table.
    const ROW: Binary;

    /// The results for operands that are not outside.
    fn value<T: Lanes, L: Rounding>(a: T, b: T) -> T;

    /// Where [`Self::value`] does not hold for the operands; the results are the operation table's there.
    #[inline(always)]
    fn outside<T: Lanes>(_: T, _: T) -> T::Mask {
        T::NONE
    }
}

pub(crate) struct LogAddExp;

impl Pairwise for LogAddExp {
    const ROW: Binary = Binary::LogAddExp;
    // As the table's, in the wider type: where the terms cancel, digits are needed that the other one lacks.
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(a: T, b: T) -> T {
        T::single(log_add_exp::<T::Double, L>(a.double(), b.double()))
    }
}

#[inline(always)]
fn log_add_exp<T: Lanes<Element = f64>, L: Rounding>(a: T, b: T) -> T {
    let ordered = a.less(b);
    let (low, high) = (T::either(ordered, a, b), T::either(ordered, b, a));
    let difference = low - high;
    // The rounding error matters where the larger operand is small.
    let near = difference.greater(T::number(-50.0));
    let lost = T::either(near, (low - difference) - high, T::number(0.0));
    let exponential = Exp::value::<T, L>(difference);
    let sum = high + ln_1p_of::<T, L>(exponential.times_plus::<L>(lost, exponential));
    // The difference of equal infinities is NaN.
    T::either(low.equals(high), high + T::of(f64::LN_2), sum)
}

pub(crate) struct Xlogy;

impl Pairwise for Xlogy {
    const ROW: Binary = Binary::Xlogy;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(a: T, b: T) -> T {
        let zero = T::number(0.0);
        let vanishes = a.equals(zero).and(b.equals(b));
        T::either(vanishes, zero, a * Ln::value::<T, L>(b))
    }
}

/// (2 atanh √z / √z − 2 − 2z/3) / z² for z up to (3 − √8)².
const AREA_TANGENT: &[f64] = &[
    0.4,
    0.2857142857142937,
    0.22222222221654733,
    0.18181818335654215,
    0.15384594934593232,
    0.13334806212309006,
    0.11706195685161226,
    0.11723603665665217,
];

/// 2/3 in two parts.
const TWO_THIRDS: (f64, f64) = (2.0 / 3.0, 3.700743415417188e-17);

/// ln x in two parts, the second being the rounding error of the first; with about 65 binary digits, which an exponent of a
/// thousand needs. Products must be fused: their rounding errors are computed with them.
#[inline(always)]
fn ln_in_parts<T: Lanes<Element = f64>, L: Rounding>(x: T) -> (T, T) {
    let (one, two) = (T::number(1.0), T::number(2.0));
    let (k, m, _) = x.split();
    let f = m - one;
    // ln m = 2 atanh s with s = f / (2 + f), each in two parts.
    let divisor = f + two;
    let divisor_low = f - (divisor - two);
    let inverse = one / divisor;
    let s = f * inverse;
    let s_low = (s.times_plus::<L>(-divisor, f) - s * divisor_low) * inverse;
    let z = s * s;
    let z_low = s.times_plus::<L>(s, -z) + two * s * s_low;
    // 2 atanh s = 2s + s (2z/3 + z² ..).
    let two_thirds = (T::of(TWO_THIRDS.0), T::of(TWO_THIRDS.1));
    let third = z * two_thirds.0;
    let third_low = z.times_plus::<L>(two_thirds.0, -third) + (z * two_thirds.1 + z_low * two_thirds.0);
    let beyond = z * z * polynomial::<T, L>(z, AREA_TANGENT);
    let series = third + beyond;
    let series_low = ((third - series) + beyond) + third_low;
    let product = s * series;
    let product_low = s.times_plus::<L>(series, -product) + (s * series_low + s_low * series);
    let twice = s + s;
    let ln = twice + product;
    let ln_low = ((twice - ln) + product) + (product_low + two * s_low);
    let whole = k * T::of(f64::LN_2_PARTS.0);
    let sum = whole + ln;
    (sum, ((whole - sum) + ln) + k.times_plus::<L>(T::of(f64::LN_2_PARTS.1), ln_low))
}

pub(crate) struct Pow;

impl Pairwise for Pow {
    const ROW: Binary = Binary::Pow;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(a: T, b: T) -> T {
        T::single(if <T::Element>::DTYPE == DType::F32 {
            // In the wider type no digits of a product are missing.
            Exp::value::<T::Double, L>(b.double() * Ln::value::<T::Double, L>(a.double()))
        } else {
            precise_power::<T::Double, L>(a.double(), b.double())
        })
    }
    #[inline(always)]
    fn outside<T: Lanes>(a: T, b: T) -> T::Mask {
        let infinity = T::number(f64::INFINITY);
        let held = a.less(infinity).and(b.size().less(infinity));
        // The power of the narrower type takes numbers of less than full precision as they are.
        if <T::Element>::DTYPE == DType::F32 {
            held.and(a.greater(T::number(0.0))).not()
        } else {
            held.and(a.less(T::of(<T::Element>::SMALLEST_NORMAL)).not()).not()
        }
    }
}

/// aᵇ of doubles.
#[inline(always)]
fn precise_power<T: Lanes<Element = f64>, L: Rounding>(a: T, b: T) -> T {
    let (ln, ln_low) = ln_in_parts::<T, L>(a);
    let product = b * ln;
    let low = b.times_plus::<L>(ln, -product) + b * ln_low;
    // The rounding error of an infinite product has no meaning.
    let bounded = product.size().less(T::number(1000.0));
    exp_of_sum::<T, L>(product, T::either(bounded, low, T::number(0.0)))
}

//! How rows of the table are written in StableHLO: most are one operation of it, some are composed, so that edge cases are those of
//! this library.

use super::Comparison;
use crate::shape::DType;
use std::f64::consts::LN_2;

/// The writer of StableHLO, as rows see it.
pub(crate) trait StableHlo {
    /// An array that has a name.
    type Value: Clone;

    /// The element type.
    fn dtype(&self, a: &Self::Value) -> DType;

    /// An elementwise operation, of operands and a result of one type.
    fn elementwise(&mut self, operation: &str, operands: &[&Self::Value]) -> Self::Value;

    /// An elementwise operation of CHLO, the dialect beside StableHLO that has more functions.
    fn special(&mut self, operation: &str, operands: &[&Self::Value]) -> Self::Value;

    /// A number, in each element of an array like another.
    fn number(&mut self, like: &Self::Value, x: f64) -> Self::Value;

    /// An elementwise comparison; with NaN only `NotEqual` holds.
    fn compare(&mut self, comparison: Comparison, a: &Self::Value, b: &Self::Value) -> Self::Value;

    /// Where the mask is true the first, else the second.
    fn select(&mut self, mask: &Self::Value, yes: &Self::Value, no: &Self::Value) -> Self::Value;

    /// Conversion of the element type; the results for numbers that don't fit are up to the consumer.
    fn convert(&mut self, a: &Self::Value, dtype: DType) -> Self::Value;

    /// The same numbers with zeros made positive. Adding 0 would do it too, but compilers remove the addition.
    fn unsigned(&mut self, a: &Self::Value) -> Self::Value {
        let zero = self.number(a, 0.0);
        let is_zero = self.compare(Comparison::Equal, a, &zero);
        self.select(&is_zero, &zero, a)
    }

    /// A function that is computed in `f64`, of `f32` too.
    fn widened(
        &mut self,
        operands: &[&Self::Value],
        function: impl FnOnce(&mut Self, &[&Self::Value]) -> Self::Value,
    ) -> Self::Value {
        let dtype = self.dtype(operands[0]);
        let wide: Vec<Self::Value> = operands.iter().map(|operand| self.convert(operand, DType::F64)).collect();
        let result = function(self, &wide.iter().collect::<Vec<_>>());
        self.convert(&result, dtype)
    }
}

/// Up to which exponent powers are products.
const MULTIPLIED: u32 = 64;

/// x raised to a whole power: a product of squares, or a power where that is long.
pub(super) fn whole_power<W: StableHlo>(to: &mut W, x: &W::Value, exponent: i32) -> W::Value {
    let magnitude = exponent.unsigned_abs();
    if magnitude > MULTIPLIED {
        // Every exponent is a number of `f64`.
        return to.widened(&[x], |to, operands| {
            let exponent = to.number(operands[0], f64::from(exponent));
            to.elementwise("power", &[operands[0], &exponent])
        });
    }
    let one = to.number(x, 1.0);
    let (mut rest, mut square, mut product) = (magnitude, x.clone(), None);
    while rest > 0 {
        if rest % 2 == 1 {
            product = Some(match product {
                None => square.clone(),
                Some(product) => to.elementwise("multiply", &[&product, &square]),
            });
        }
        rest /= 2;
        if rest > 0 {
            square = to.elementwise("multiply", &[&square, &square]);
        }
    }
    let product = product.unwrap_or_else(|| one.clone());
    if exponent < 0 { to.elementwise("divide", &[&one, &product]) } else { product }
}

/// The logarithm to a base whose natural logarithm this is.
pub(super) fn logarithm<W: StableHlo>(to: &mut W, x: &W::Value, base: f64) -> W::Value {
    let logarithm = to.elementwise("log", &[x]);
    let base = to.number(x, base);
    to.elementwise("divide", &[&logarithm, &base])
}

/// The larger of a number and 0.
pub(super) fn positive_part<W: StableHlo>(to: &mut W, x: &W::Value) -> W::Value {
    let zero = to.number(x, 0.0);
    to.elementwise("maximum", &[x, &zero])
}

/// ln(1 + exp(−x)), of x that is not negative.
pub(super) fn exponential_below<W: StableHlo>(to: &mut W, x: &W::Value) -> W::Value {
    let below = to.elementwise("negate", &[x]);
    let small = to.elementwise("exponential", &[&below]);
    to.elementwise("log_plus_one", &[&small])
}

/// The derivative of this order of the digamma function. Values that the dialect leaves open, at 0 and at the infinities, are
/// set explicitly.
pub(super) fn polygamma<W: StableHlo>(to: &mut W, x: &W::Value, order: u32) -> W::Value {
    let zero = to.number(x, 0.0);
    if order == 0 {
        let value = to.special("digamma", &[x]);
        let at_zero = to.compare(Comparison::Equal, x, &zero);
        let pole = to.number(x, f64::NEG_INFINITY);
        return to.select(&at_zero, &pole, &value);
    }
    let order = to.number(x, f64::from(order));
    let value = to.special("polygamma", &[&order, x]);
    let infinity = to.number(x, f64::INFINITY);
    let at_infinity = to.compare(Comparison::Equal, x, &infinity);
    let value = to.select(&at_infinity, &zero, &value);
    let below = to.number(x, f64::NEG_INFINITY);
    let at_the_other = to.compare(Comparison::Equal, x, &below);
    let nothing = to.number(x, f64::NAN);
    to.select(&at_the_other, &nothing, &value)
}

/// Division by 0 and by −1, which may overflow, are open in StableHLO: neither takes place.
struct Division<V> {
    zero: V,
    one: V,
    by_zero: V,
    by_minus_one: V,
    divisor: V,
    remainder: V,
    /// Whether there is a remainder.
    is_rest: V,
}

fn division<W: StableHlo>(to: &mut W, a: &W::Value, b: &W::Value) -> Division<W::Value> {
    let (zero, one, minus_one) = (to.number(a, 0.0), to.number(a, 1.0), to.number(a, -1.0));
    let by_zero = to.compare(Comparison::Equal, b, &zero);
    let by_minus_one = to.compare(Comparison::Equal, b, &minus_one);
    let special = to.elementwise("or", &[&by_zero, &by_minus_one]);
    let divisor = to.select(&special, &one, b);
    let remainder = to.elementwise("remainder", &[a, &divisor]);
    let is_rest = to.compare(Comparison::NotEqual, &remainder, &zero);
    Division { zero, one, by_zero, by_minus_one, divisor, remainder, is_rest }
}

/// Where there is a remainder, and just one of two numbers is below 0.
fn is_rounded<W: StableHlo>(to: &mut W, division: &Division<W::Value>, a: &W::Value, b: &W::Value) -> W::Value {
    let below = to.compare(Comparison::Less, a, &division.zero);
    let divisor_below = to.compare(Comparison::Less, b, &division.zero);
    let signs = to.elementwise("xor", &[&below, &divisor_below]);
    to.elementwise("and", &[&division.is_rest, &signs])
}

/// The quotient of a division, truncated.
fn quotient_of<W: StableHlo>(to: &mut W, division: &Division<W::Value>, a: &W::Value) -> W::Value {
    let quotient = to.elementwise("divide", &[a, &division.divisor]);
    let negated = to.elementwise("negate", &[a]);
    to.select(&division.by_minus_one, &negated, &quotient)
}

/// The quotient of integers, truncated.
pub(super) fn quotient<W: StableHlo>(to: &mut W, a: &W::Value, b: &W::Value) -> W::Value {
    let division = division(to, a, b);
    quotient_of(to, &division, a)
}

/// The remainder of the truncated quotient.
pub(super) fn remainder<W: StableHlo>(to: &mut W, a: &W::Value, b: &W::Value) -> W::Value {
    let division = division(to, a, b);
    to.select(&division.by_zero, a, &division.remainder)
}

/// The quotient of integers, rounded down.
pub(super) fn floor_division<W: StableHlo>(to: &mut W, a: &W::Value, b: &W::Value) -> W::Value {
    let division = division(to, a, b);
    let quotient = quotient_of(to, &division, a);
    let rounded = is_rounded(to, &division, a, b);
    let lower = to.elementwise("subtract", &[&quotient, &division.one]);
    to.select(&rounded, &lower, &quotient)
}

/// The remainder of the quotient rounded down.
pub(super) fn modulo<W: StableHlo>(to: &mut W, a: &W::Value, b: &W::Value) -> W::Value {
    let division = division(to, a, b);
    let rounded = is_rounded(to, &division, &division.remainder, b);
    let upper = to.elementwise("add", &[&division.remainder, b]);
    let remainder = to.select(&rounded, &upper, &division.remainder);
    to.select(&division.by_zero, a, &remainder)
}

/// Whether there are so many places to move bits by, and how many bits there are.
fn places<W: StableHlo>(to: &mut W, a: &W::Value, places: &W::Value) -> (W::Value, W::Value, f64) {
    let width = 8.0 * to.dtype(a).bytes() as f64;
    let zero = to.number(a, 0.0);
    let bits = to.number(a, width);
    let enough = to.compare(Comparison::GreaterEqual, places, &zero);
    let few = to.compare(Comparison::Less, places, &bits);
    (to.elementwise("and", &[&enough, &few]), zero, width)
}

/// Bits moved up by a number of places that may be negative or more than there are.
pub(super) fn shift_left<W: StableHlo>(to: &mut W, a: &W::Value, by: &W::Value) -> W::Value {
    let (legal, zero, _) = places(to, a, by);
    let by = to.select(&legal, by, &zero);
    let moved = to.elementwise("shift_left", &[a, &by]);
    to.select(&legal, &moved, &zero)
}

/// Bits moved down by such a number of places.
pub(super) fn shift_right<W: StableHlo>(to: &mut W, a: &W::Value, by: &W::Value) -> W::Value {
    let (legal, _, width) = places(to, a, by);
    let most = to.number(a, width - 1.0);
    let by = to.select(&legal, by, &most);
    to.elementwise("shift_right_arithmetic", &[a, &by])
}

/// √(a² + b²), without overflow.
pub(super) fn hypotenuse<W: StableHlo>(to: &mut W, a: &W::Value, b: &W::Value) -> W::Value {
    let (a, b) = (to.elementwise("abs", &[a]), to.elementwise("abs", &[b]));
    let (long, short) = (to.elementwise("maximum", &[&a, &b]), to.elementwise("minimum", &[&a, &b]));
    let (zero, one) = (to.number(&a, 0.0), to.number(&a, 1.0));
    let ratio = to.elementwise("divide", &[&short, &long]);
    let square = to.elementwise("multiply", &[&ratio, &ratio]);
    let sum = to.elementwise("add", &[&square, &one]);
    let root = to.elementwise("sqrt", &[&sum]);
    let length = to.elementwise("multiply", &[&long, &root]);
    // 0 / 0 and ∞ / ∞ are no numbers.
    let nothing = to.compare(Comparison::Equal, &long, &zero);
    let length = to.select(&nothing, &zero, &length);
    let infinity = to.number(&a, f64::INFINITY);
    let left = to.compare(Comparison::Equal, &a, &infinity);
    let right = to.compare(Comparison::Equal, &b, &infinity);
    let endless = to.elementwise("or", &[&left, &right]);
    to.select(&endless, &infinity, &length)
}

/// ln(exp(a) + exp(b)), without overflow.
pub(super) fn logaddexp<W: StableHlo>(to: &mut W, a: &W::Value, b: &W::Value) -> W::Value {
    let high = to.elementwise("maximum", &[a, b]);
    let low = to.elementwise("minimum", &[a, b]);
    let distance = to.elementwise("subtract", &[&high, &low]);
    let rest = exponential_below(to, &distance);
    // The difference of equal infinities is NaN.
    let same = to.compare(Comparison::Equal, a, b);
    let half = to.number(a, LN_2);
    let rest = to.select(&same, &half, &rest);
    to.elementwise("add", &[&high, &rest])
}

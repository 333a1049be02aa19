//! Elementwise operations: most are a single one of StableHLO, some are composed, so that edge cases follow this library.

use super::writer::{Handle, Writer};
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Type, Value};
use std::f64::consts::{LN_2, LN_10};

/// Up to which exponent powers are products.
const MULTIPLIED: u32 = 64;

/// An elementwise operation of one operand.
pub(super) fn unary(writer: &mut Writer, op: Unary, a: &Handle) -> Handle {
    let plain = match op {
        Unary::Neg => "negate",
        Unary::Abs => "abs",
        Unary::Sign => "sign",
        Unary::Sqrt => "sqrt",
        Unary::Cbrt => "cbrt",
        Unary::Exp => "exponential",
        Unary::Expm1 => "exponential_minus_one",
        Unary::Ln => "log",
        Unary::Ln1p => "log_plus_one",
        Unary::Sin => "sine",
        Unary::Cos => "cosine",
        Unary::Tan => "tan",
        Unary::Tanh => "tanh",
        Unary::Sigmoid => "logistic",
        Unary::Floor => "floor",
        Unary::Ceil => "ceil",
        Unary::Round => "round_nearest_afz",
        Unary::Not | Unary::BitNot => "not",
        Unary::StopGradient => return a.clone(),
        _ => return composed(writer, op, a),
    };
    writer.elementwise(plain, &[a])
}

/// An operation of one operand that is not one of StableHLO.
fn composed(writer: &mut Writer, op: Unary, a: &Handle) -> Handle {
    match op {
        Unary::Recip => {
            let a = &unsigned(writer, a);
            let one = writer.number(a, 1.0);
            writer.elementwise("divide", &[&one, a])
        }
        Unary::Powi(exponent) => whole_power(writer, a, exponent),
        Unary::Exp2 => {
            let two = writer.number(a, 2.0);
            writer.elementwise("power", &[&two, a])
        }
        Unary::Log2 | Unary::Log10 => {
            let logarithm = writer.elementwise("log", &[a]);
            let base = writer.number(a, if op == Unary::Log2 { LN_2 } else { LN_10 });
            writer.elementwise("divide", &[&logarithm, &base])
        }
        Unary::Relu => {
            let zero = writer.number(a, 0.0);
            writer.elementwise("maximum", &[a, &zero])
        }
        Unary::Softplus => {
            let zero = writer.number(a, 0.0);
            let positive = writer.elementwise("maximum", &[a, &zero]);
            let distance = writer.elementwise("abs", &[a]);
            let rest = exponential_below(writer, &distance);
            writer.elementwise("add", &[&positive, &rest])
        }
        Unary::Asin => writer.special("asin", &[a]),
        Unary::Acos => writer.special("acos", &[a]),
        Unary::Atan => writer.special("atan", &[a]),
        Unary::Sinh => writer.special("sinh", &[a]),
        Unary::Cosh => writer.special("cosh", &[a]),
        Unary::Asinh => writer.special("asinh", &[a]),
        Unary::Acosh => writer.special("acosh", &[a]),
        Unary::Atanh => writer.special("atanh", &[a]),
        Unary::Erf => widened(writer, &[a], |writer, operands| writer.special("erf", operands)),
        Unary::Erfc => widened(writer, &[a], |writer, operands| writer.special("erfc", operands)),
        Unary::Lgamma => widened(writer, &[a], |writer, operands| writer.special("lgamma", operands)),
        Unary::Digamma => widened(writer, &[a], |writer, operands| polygamma(writer, operands[0], 0)),
        Unary::Polygamma(order) => widened(writer, &[a], |writer, operands| polygamma(writer, operands[0], order)),
        other => unreachable!("{} is an operation of StableHLO", other.name()),
    }
}

/// ln(1 + exp(−x)), of x that is not negative.
fn exponential_below(writer: &mut Writer, x: &Handle) -> Handle {
    let below = writer.elementwise("negate", &[x]);
    let small = writer.elementwise("exponential", &[&below]);
    writer.elementwise("log_plus_one", &[&small])
}

/// A function that is computed in `f64`, of `f32` too.
fn widened(
    writer: &mut Writer,
    operands: &[&Handle],
    function: impl FnOnce(&mut Writer, &[&Handle]) -> Handle,
) -> Handle {
    let dtype = operands[0].ty.dtype;
    let wide: Vec<Handle> = operands.iter().map(|operand| writer.convert(operand, DType::F64)).collect();
    let result = function(writer, &wide.iter().collect::<Vec<_>>());
    writer.convert(&result, dtype)
}

/// The derivative of this order of the digamma function. Values that the dialect leaves open, at 0 and at the infinities, are
/// set explicitly.
fn polygamma(writer: &mut Writer, x: &Handle, order: u32) -> Handle {
    let zero = writer.number(x, 0.0);
    if order == 0 {
        let value = writer.special("digamma", &[x]);
        let at_zero = writer.compare(Comparison::Equal, x, &zero);
        let pole = writer.number(x, f64::NEG_INFINITY);
        return writer.select(&at_zero, &pole, &value);
    }
    let order = writer.number(x, f64::from(order));
    let value = writer.special("polygamma", &[&order, x]);
    let infinity = writer.number(x, f64::INFINITY);
    let at_infinity = writer.compare(Comparison::Equal, x, &infinity);
    let value = writer.select(&at_infinity, &zero, &value);
    let below = writer.number(x, f64::NEG_INFINITY);
    let at_the_other = writer.compare(Comparison::Equal, x, &below);
    let nothing = writer.number(x, f64::NAN);
    writer.select(&at_the_other, &nothing, &value)
}

/// x raised to a whole power: a product of squares, or a power where that is long.
fn whole_power(writer: &mut Writer, x: &Handle, exponent: i32) -> Handle {
    let magnitude = exponent.unsigned_abs();
    let x = if exponent < 0 { &unsigned(writer, x) } else { x };
    if magnitude > MULTIPLIED {
        // Every exponent is a number of `f64`.
        return widened(writer, &[x], |writer, operands| {
            let exponent = writer.number(operands[0], f64::from(exponent));
            writer.elementwise("power", &[operands[0], &exponent])
        });
    }
    let one = writer.number(x, 1.0);
    let (mut rest, mut square, mut product) = (magnitude, x.clone(), None);
    while rest > 0 {
        if rest % 2 == 1 {
            product = Some(match product {
                None => square.clone(),
                Some(product) => writer.elementwise("multiply", &[&product, &square]),
            });
        }
        rest /= 2;
        if rest > 0 {
            square = writer.elementwise("multiply", &[&square, &square]);
        }
    }
    let product = product.unwrap_or_else(|| one.clone());
    if exponent < 0 { writer.elementwise("divide", &[&one, &product]) } else { product }
}

/// An elementwise operation of two operands.
pub(super) fn binary(writer: &mut Writer, op: Binary, a: &Handle, b: &Handle) -> Handle {
    let plain = match op {
        Binary::Add => "add",
        Binary::Sub => "subtract",
        Binary::Mul => "multiply",
        Binary::Div => "divide",
        Binary::Pow => "power",
        Binary::Atan2 => "atan2",
        Binary::Min | Binary::MinRight => "minimum",
        Binary::Max | Binary::MaxRight => "maximum",
        Binary::And | Binary::BitAnd => "and",
        Binary::Or | Binary::BitOr => "or",
        Binary::Xor | Binary::BitXor => "xor",
        Binary::Quot | Binary::Rem | Binary::FloorDiv | Binary::Modulo => return division(writer, op, a, b),
        Binary::ShiftLeft | Binary::ShiftRight => return shift(writer, op, a, b),
        Binary::Hypot => return hypotenuse(writer, a, b),
        Binary::LogAddExp => {
            return widened(writer, &[a, b], |writer, operands| logaddexp(writer, operands[0], operands[1]));
        }
        Binary::Xlogy => {
            let zero = writer.number(a, 0.0);
            let nothing = writer.compare(Comparison::Equal, a, &zero);
            let known = writer.compare(Comparison::Equal, b, b);
            let nothing = writer.elementwise("and", &[&nothing, &known]);
            let logarithm = writer.elementwise("log", &[b]);
            let product = writer.elementwise("multiply", &[a, &logarithm]);
            return writer.select(&nothing, &zero, &product);
        }
        Binary::KeepZero => {
            let zero = writer.number(a, 0.0);
            let nothing = writer.compare(Comparison::Equal, a, &zero);
            let product = writer.elementwise("multiply", &[a, b]);
            return writer.select(&nothing, &zero, &product);
        }
    };
    let [of_a, of_b] = op.tells_zeros();
    let a = if of_a { &unsigned(writer, a) } else { a };
    let b = if of_b { &unsigned(writer, b) } else { b };
    writer.elementwise(plain, &[a, b])
}

/// The same numbers with zeros made positive. Adding 0 would do it too, but compilers remove the addition.
fn unsigned(writer: &mut Writer, a: &Handle) -> Handle {
    let zero = writer.number(a, 0.0);
    let is_zero = writer.compare(Comparison::Equal, a, &zero);
    writer.select(&is_zero, &zero, a)
}

/// Quotients and remainders of integers. Division by 0 and by −1, which may overflow, are open in StableHLO: neither takes
/// place.
fn division(writer: &mut Writer, op: Binary, a: &Handle, b: &Handle) -> Handle {
    let (zero, one, minus_one) = (writer.number(a, 0.0), writer.number(a, 1.0), writer.number(a, -1.0));
    let by_zero = writer.compare(Comparison::Equal, b, &zero);
    let by_minus_one = writer.compare(Comparison::Equal, b, &minus_one);
    let special = writer.elementwise("or", &[&by_zero, &by_minus_one]);
    let divisor = writer.select(&special, &one, b);
    let remainder = writer.elementwise("remainder", &[a, &divisor]);
    let is_rest = writer.compare(Comparison::NotEqual, &remainder, &zero);
    match op {
        Binary::Quot | Binary::FloorDiv => {
            let quotient = writer.elementwise("divide", &[a, &divisor]);
            let negated = writer.elementwise("negate", &[a]);
            let quotient = writer.select(&by_minus_one, &negated, &quotient);
            if op == Binary::Quot {
                return quotient;
            }
            let below = writer.compare(Comparison::Less, a, &zero);
            let divisor_below = writer.compare(Comparison::Less, b, &zero);
            let signs = writer.elementwise("xor", &[&below, &divisor_below]);
            let rounded = writer.elementwise("and", &[&is_rest, &signs]);
            let lower = writer.elementwise("subtract", &[&quotient, &one]);
            writer.select(&rounded, &lower, &quotient)
        }
        _ => {
            let remainder = match op {
                Binary::Rem => remainder,
                _ => {
                    let below = writer.compare(Comparison::Less, &remainder, &zero);
                    let divisor_below = writer.compare(Comparison::Less, b, &zero);
                    let signs = writer.elementwise("xor", &[&below, &divisor_below]);
                    let rounded = writer.elementwise("and", &[&is_rest, &signs]);
                    let upper = writer.elementwise("add", &[&remainder, b]);
                    writer.select(&rounded, &upper, &remainder)
                }
            };
            writer.select(&by_zero, a, &remainder)
        }
    }
}

/// Bits shifted by a number of places that may be negative or exceed the width.
fn shift(writer: &mut Writer, op: Binary, a: &Handle, places: &Handle) -> Handle {
    let width = 8 * a.ty.dtype.bytes() as i64;
    let zero = writer.number(a, 0.0);
    let bits = writer.filled(a.ty.dtype, &a.ty.shape, width);
    let enough = writer.compare(Comparison::GreaterEqual, places, &zero);
    let few = writer.compare(Comparison::Less, places, &bits);
    let legal = writer.elementwise("and", &[&enough, &few]);
    if op == Binary::ShiftLeft {
        let places = writer.select(&legal, places, &zero);
        let moved = writer.elementwise("shift_left", &[a, &places]);
        return writer.select(&legal, &moved, &zero);
    }
    let most = writer.filled(a.ty.dtype, &a.ty.shape, width - 1);
    let places = writer.select(&legal, places, &most);
    writer.elementwise("shift_right_arithmetic", &[a, &places])
}

/// √(a² + b²), without overflow.
fn hypotenuse(writer: &mut Writer, a: &Handle, b: &Handle) -> Handle {
    let (a, b) = (writer.elementwise("abs", &[a]), writer.elementwise("abs", &[b]));
    let (long, short) = (writer.elementwise("maximum", &[&a, &b]), writer.elementwise("minimum", &[&a, &b]));
    let (zero, one) = (writer.number(&a, 0.0), writer.number(&a, 1.0));
    let ratio = writer.elementwise("divide", &[&short, &long]);
    let square = writer.elementwise("multiply", &[&ratio, &ratio]);
    let sum = writer.elementwise("add", &[&square, &one]);
    let root = writer.elementwise("sqrt", &[&sum]);
    let length = writer.elementwise("multiply", &[&long, &root]);
    // 0 / 0 and ∞ / ∞ are no numbers.
    let nothing = writer.compare(Comparison::Equal, &long, &zero);
    let length = writer.select(&nothing, &zero, &length);
    let infinity = writer.number(&a, f64::INFINITY);
    let left = writer.compare(Comparison::Equal, &a, &infinity);
    let right = writer.compare(Comparison::Equal, &b, &infinity);
    let endless = writer.elementwise("or", &[&left, &right]);
    writer.select(&endless, &infinity, &length)
}

/// ln(exp(a) + exp(b)), without overflow.
fn logaddexp(writer: &mut Writer, a: &Handle, b: &Handle) -> Handle {
    let high = writer.elementwise("maximum", &[a, b]);
    let low = writer.elementwise("minimum", &[a, b]);
    let distance = writer.elementwise("subtract", &[&high, &low]);
    let rest = exponential_below(writer, &distance);
    // The difference of equal infinities is NaN.
    let same = writer.compare(Comparison::Equal, a, b);
    let half = writer.number(a, LN_2);
    let rest = writer.select(&same, &half, &rest);
    writer.elementwise("add", &[&high, &rest])
}

/// Conversion of the element type. Conversions that StableHLO leaves open, of floats outside the integers' range, are set
/// explicitly.
pub(super) fn cast(writer: &mut Writer, a: &Handle, dtype: DType) -> Handle {
    match (a.ty.dtype, dtype) {
        (from, to) if from == to => a.clone(),
        (_, DType::Bool) => {
            let zero = writer.number(a, 0.0);
            writer.compare(Comparison::NotEqual, a, &zero)
        }
        (from, to) if from.is_float() && to.is_integer() => {
            // The powers of two that bound the integers are floats of either width.
            let bound = 2f64.powi(8 * to.bytes() as i32 - 1);
            let (zero, high, low) = (writer.number(a, 0.0), writer.number(a, bound), writer.number(a, -bound));
            let above = writer.compare(Comparison::GreaterEqual, a, &high);
            let below = writer.compare(Comparison::LessEqual, a, &low);
            let (not_above, not_below) =
                (writer.compare(Comparison::Less, a, &high), writer.compare(Comparison::Greater, a, &low));
            let inside = writer.elementwise("and", &[&not_above, &not_below]);
            let number = writer.select(&inside, a, &zero);
            let number = writer.convert(&number, to);
            let extreme = |x: f64| Value::from_f64(to, x);
            let largest = writer.splat(extreme(f64::INFINITY), &a.ty.shape);
            let smallest = writer.splat(extreme(f64::NEG_INFINITY), &a.ty.shape);
            let number = writer.select(&above, &largest, &number);
            writer.select(&below, &smallest, &number)
        }
        (_, to) => writer.convert(a, to),
    }
}

/// Whether elements are NaN; `false` where they can't be.
pub(super) fn is_nan(writer: &mut Writer, a: &Handle) -> Handle {
    match a.ty.dtype.is_float() {
        true => writer.compare(Comparison::NotEqual, a, a),
        false => writer.zeros(&Type { dtype: DType::Bool, shape: a.ty.shape.clone() }),
    }
}

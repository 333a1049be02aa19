//! Elementwise operations, which rows of the operation table write.

use super::writer::{Handle, ModuleWriter};
use crate::operation::{Binary, Comparison, StableHlo, Unary};
use crate::shape::{DType, Type, Value};

/// An elementwise operation of one operand.
pub(super) fn unary(writer: &mut ModuleWriter, op: Unary, a: &Handle) -> Handle {
    let a = if op.tells_zeros() { &writer.unsigned(a) } else { a };
    op.stablehlo(writer, a)
}

/// An elementwise operation of two operands.
pub(super) fn binary(writer: &mut ModuleWriter, op: Binary, a: &Handle, b: &Handle) -> Handle {
    let [of_a, of_b] = op.tells_zeros();
    let a = if of_a { &writer.unsigned(a) } else { a };
    let b = if of_b { &writer.unsigned(b) } else { b };
    op.stablehlo(writer, a, b)
}

/// Conversion of the element type. Conversions that StableHLO leaves open, of floats outside the integers' range, are set
/// explicitly.
pub(super) fn cast(writer: &mut ModuleWriter, a: &Handle, dtype: DType) -> Handle {
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
pub(super) fn is_nan(writer: &mut ModuleWriter, a: &Handle) -> Handle {
    match a.ty.dtype.is_float() {
        true => writer.compare(Comparison::NotEqual, a, a),
        false => writer.zeros(&Type { dtype: DType::Bool, shape: a.ty.shape.clone() }),
    }
}

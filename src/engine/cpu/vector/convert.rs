//! Conversions of single elements, in a form of which the compiler makes vectors.

use crate::concrete::Scalar;
use crate::shape::DType;

/// Elements that are converted to any type.
///
/// Conversions from floats to integers saturate and take NaN to 0. As the language has them they are no vector
/// instructions, but those of numbers that are inside are; what is outside is chosen afterwards.
pub(super) trait Convert: Scalar {
    /// The element as one of another type.
    #[inline(always)]
    fn convert<U: Scalar>(self) -> U {
        self.cast()
    }
}

macro_rules! from_float {
    ($t:ident, $from:ident) => {
        impl Convert for $t {
            #[inline(always)]
            fn convert<U: Scalar>(self) -> U {
                match U::DTYPE {
                    DType::I32 => {
                        // The limits are between floats of either type, or are floats.
                        let (low, high) = (f64::from(i32::MIN), f64::from(i32::MAX));
                        let x = f64::from(self);
                        let x = if x > low { x } else { low };
                        let x = if x < high { x } else { high };
                        // SAFETY: it is neither NaN nor outside.
                        let inside: i32 = unsafe { x.to_int_unchecked() };
                        U::from_i32(if self.is_nan() { 0 } else { inside })
                    }
                    DType::I64 => {
                        // The smallest integer is a float, and the largest lies below one.
                        let (low, above) = (i64::MIN as $t, -(i64::MIN as $t));
                        let inside = self >= low && self < above;
                        // SAFETY: it is neither NaN nor outside.
                        let whole: i64 = unsafe { (if inside { self } else { 0.0 }).to_int_unchecked() };
                        let whole = if self >= above { i64::MAX } else { whole };
                        U::from_i64(if self < low { i64::MIN } else { whole })
                    }
                    _ => U::$from(self),
                }
            }
        }
    };
}

from_float!(f32, from_f32);
from_float!(f64, from_f64);

impl Convert for i32 {}
impl Convert for i64 {}
impl Convert for bool {}

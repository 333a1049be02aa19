//! The five element types, as Rust types.

use crate::array::{Arithmetic, Array, Data, ReadArrays};
use crate::shape::{DType, Value};

/// A Rust type that is an element type of arrays: `f32`, `f64`, `i32`, `i64` or `bool`.
pub trait ElementType: Arithmetic {
    /// The element type as a value.
    const DTYPE: DType;
    /// The element as one of any type.
    fn into_value(self) -> Value;
    /// The element, if the value is of this type.
    fn from_value(value: Value) -> Option<Self>;
    /// The array with these elements.
    fn wrap(data: Data<Self>) -> Array;
    /// The elements, if the array is of this type.
    fn unwrap(array: &Array) -> Option<&Data<Self>>;
    /// As [`ElementType::unwrap`], to be changed.
    fn unwrap_mut(array: &mut Array) -> Option<&mut Data<Self>>;
    /// The elements by value, if the array is of this type; else the array.
    #[allow(clippy::result_large_err)]
    fn take(array: Array) -> Result<Data<Self>, Array>;
}

macro_rules! scalar {
    ($t:ident, $variant:ident) => {
        impl ElementType for $t {
            const DTYPE: DType = DType::$variant;
            fn into_value(self) -> Value {
                Value::$variant(self)
            }
            fn from_value(value: Value) -> Option<$t> {
                if let Value::$variant(x) = value { Some(x) } else { None }
            }
            #[inline]
            fn wrap(data: Data<$t>) -> Array {
                debug_assert!(data.is_valid());
                Array::$variant(data)
            }
            fn unwrap(array: &Array) -> Option<&Data<$t>> {
                if let Array::$variant(data) = array.read() { Some(data) } else { None }
            }
            fn unwrap_mut(array: &mut Array) -> Option<&mut Data<$t>> {
                if let Array::$variant(data) = array.read() { Some(data) } else { None }
            }
            fn take(array: Array) -> Result<Data<$t>, Array> {
                match array.read() {
                    Array::$variant(data) => Ok(data),
                    array => Err(array),
                }
            }
        }
    };
}

scalar!(f32, F32);
scalar!(f64, F64);
scalar!(i32, I32);
scalar!(i64, I64);
scalar!(bool, Bool);

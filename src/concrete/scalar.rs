//! The five element types, as Rust types.

use crate::concrete::memory::{self, OutOfMemory};
use crate::concrete::{Arithmetic, Array, Buffer, Data, Read};
use crate::shape::{DType, Shape, Value, copied_shape, size};

/// A Rust type that is an element type of arrays: `f32`, `f64`, `i32`, `i64` or `bool`.
pub trait Scalar: Arithmetic {
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
    /// As [`Scalar::unwrap`], to be changed.
    fn unwrap_mut(array: &mut Array) -> Option<&mut Data<Self>>;
    /// The elements by value, if the array is of this type; else the array.
    #[allow(clippy::result_large_err)]
    fn take(array: Array) -> Result<Data<Self>, Array>;
}

macro_rules! scalar {
    ($t:ident, $variant:ident) => {
        impl Scalar for $t {
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

impl<T: Scalar> Data<T> {
    /// Zeros of a shape; they take no memory.
    pub fn zeros(shape: &[usize]) -> Data<T> {
        Data::Uniform(copied_shape(shape), T::ZERO)
    }

    /// Row-major elements as an array of a shape.
    ///
    /// Panics when their number is not the size of the shape.
    pub fn from_vec(shape: &[usize], elements: Vec<T>) -> Data<T> {
        assert_eq!(elements.len(), size(shape), "the number of elements for shape {shape:?}");
        match (shape, elements.first()) {
            ([], Some(&x)) => Data::Uniform(Shape::new(), x),
            // Beside an axis of length 0 there may be extents too large for a buffer.
            (_, None) => Data::zeros(shape),
            _ => Data::Dense(Buffer::new(shape, elements)),
        }
    }

    /// The row-major elements, where there is a buffer.
    pub fn as_slice(&self) -> Option<&[T]> {
        match self {
            Data::Uniform(..) => None,
            Data::Dense(array) => Some(array.as_slice()),
        }
    }

    /// The row-major elements, to be written: in the array's own buffer, which is made where it has none, or others hold it too.
    ///
    /// # Errors
    ///
    /// When there is no memory for that.
    pub fn own_slice(&mut self) -> Result<&mut [T], OutOfMemory> {
        let own = match self {
            Data::Uniform(shape, x) if !shape.is_empty() && !shape.contains(&0) => Some(memory::filled(shape, *x)?),
            Data::Dense(buffer) if !buffer.is_unique() => Some(buffer.clone().into_vec()?),
            _ => None,
        };
        if let Some(elements) = own {
            *self = Data::from_vec(&Shape::from_slice(self.shape()), elements);
        }
        Ok(match self {
            Data::Uniform(shape, x) if shape.is_empty() => std::slice::from_mut(x),
            Data::Uniform(..) => &mut [],
            Data::Dense(buffer) => buffer.as_slice_mut(),
        })
    }

    /// The row-major elements: the buffer itself if nobody else holds it, else a copy.
    ///
    /// # Errors
    ///
    /// When there is no memory for them.
    pub fn into_vec(self) -> Result<Vec<T>, OutOfMemory> {
        match self {
            Data::Uniform(shape, x) => memory::filled(&shape, x),
            Data::Dense(array) => array.into_vec(),
        }
    }

    /// Whether the representation keeps the promises of [`Data`].
    pub fn is_valid(&self) -> bool {
        match self {
            Data::Uniform(..) => true,
            Data::Dense(array) => !array.shape().is_empty() && array.len() == size(array.shape()),
        }
    }
}

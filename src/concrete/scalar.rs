//! The five element types, as Rust types.

use crate::concrete::memory::{self, OutOfMemory};
use crate::concrete::{Array, Buffer, Data};
use crate::shape::{DType, Shape, Value, copied_shape, size};

pub(crate) use arithmetic::Arithmetic;

mod arithmetic {
    /// What loops over elements need of an element type. Also what keeps [`super::Scalar`] to the five types.
    pub trait Arithmetic: Copy + PartialOrd + std::fmt::Debug + Send + Sync + 'static {
        /// Zero, or `false`.
        const ZERO: Self;
        /// The maximum of nothing.
        const LOWEST: Self;
        /// The minimum of nothing.
        const HIGHEST: Self;
        /// The sum, which wraps; of booleans, or.
        fn plus(self, other: Self) -> Self;
        /// The product, which wraps; of booleans, and.
        fn times(self, other: Self) -> Self;
        /// The sum of this many equal terms.
        fn repeated(self, count: usize) -> Self;
        /// Whether it is a NaN.
        fn is_nan(self) -> bool;
        /// Whether its bits are those of the other: NaN equals itself, and 0 differs from −0.
        fn same_bits(self, other: Self) -> bool;
        /// Conversion to another element type.
        fn cast<U: Arithmetic>(self) -> U;
        /// Conversion from `f32`.
        fn from_f32(x: f32) -> Self;
        /// Conversion from `f64`.
        fn from_f64(x: f64) -> Self;
        /// Conversion from `i32`.
        fn from_i32(x: i32) -> Self;
        /// Conversion from `i64`.
        fn from_i64(x: i64) -> Self;
        /// Conversion from `bool`.
        fn from_bool(x: bool) -> Self;
    }

    macro_rules! conversions {
        ($from:ident) => {
            #[inline]
            fn cast<U: Arithmetic>(self) -> U {
                U::$from(self)
            }
            // Conversions with `as` saturate from floats to integers, and take NaN to 0.
            #[inline]
            fn from_f32(x: f32) -> Self {
                x as Self
            }
            #[inline]
            fn from_f64(x: f64) -> Self {
                x as Self
            }
            #[inline]
            fn from_i32(x: i32) -> Self {
                x as Self
            }
            #[inline]
            fn from_i64(x: i64) -> Self {
                x as Self
            }
            #[inline]
            fn from_bool(x: bool) -> Self {
                x as u8 as Self
            }
        };
    }

    macro_rules! float {
        ($t:ident, $from:ident) => {
            impl Arithmetic for $t {
                const ZERO: $t = 0.0;
                const LOWEST: $t = $t::NEG_INFINITY;
                const HIGHEST: $t = $t::INFINITY;
                #[inline]
                fn plus(self, other: $t) -> $t {
                    self + other
                }
                #[inline]
                fn times(self, other: $t) -> $t {
                    self * other
                }
                #[inline]
                fn repeated(self, count: usize) -> $t {
                    if count == 0 { 0.0 } else { self * count as $t }
                }
                #[inline]
                fn is_nan(self) -> bool {
                    $t::is_nan(self)
                }
                #[inline]
                fn same_bits(self, other: $t) -> bool {
                    self.to_bits() == other.to_bits()
                }
                conversions!($from);
            }
        };
    }

    macro_rules! integer {
        ($t:ident, $from:ident) => {
            impl Arithmetic for $t {
                const ZERO: $t = 0;
                const LOWEST: $t = $t::MIN;
                const HIGHEST: $t = $t::MAX;
                #[inline]
                fn plus(self, other: $t) -> $t {
                    self.wrapping_add(other)
                }
                #[inline]
                fn times(self, other: $t) -> $t {
                    self.wrapping_mul(other)
                }
                #[inline]
                fn repeated(self, count: usize) -> $t {
                    self.wrapping_mul(count as $t)
                }
                #[inline]
                fn is_nan(self) -> bool {
                    false
                }
                #[inline]
                fn same_bits(self, other: $t) -> bool {
                    self == other
                }
                conversions!($from);
            }
        };
    }

    float!(f32, from_f32);
    float!(f64, from_f64);
    integer!(i32, from_i32);
    integer!(i64, from_i64);

    impl Arithmetic for bool {
        const ZERO: bool = false;
        const LOWEST: bool = false;
        const HIGHEST: bool = true;
        #[inline]
        fn plus(self, other: bool) -> bool {
            self | other
        }
        #[inline]
        fn times(self, other: bool) -> bool {
            self & other
        }
        #[inline]
        fn repeated(self, count: usize) -> bool {
            self && count > 0
        }
        #[inline]
        fn is_nan(self) -> bool {
            false
        }
        #[inline]
        fn same_bits(self, other: bool) -> bool {
            self == other
        }
        #[inline]
        fn cast<U: Arithmetic>(self) -> U {
            U::from_bool(self)
        }
        #[inline]
        fn from_f32(x: f32) -> bool {
            x != 0.0
        }
        #[inline]
        fn from_f64(x: f64) -> bool {
            x != 0.0
        }
        #[inline]
        fn from_i32(x: i32) -> bool {
            x != 0
        }
        #[inline]
        fn from_i64(x: i64) -> bool {
            x != 0
        }
        #[inline]
        fn from_bool(x: bool) -> bool {
            x
        }
    }
}

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
                if let Array::$variant(data) = array { Some(data) } else { None }
            }
            fn take(array: Array) -> Result<Data<$t>, Array> {
                if let Array::$variant(data) = array { Ok(data) } else { Err(array) }
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
            // Beside an axis of length 0 there may be extents that a buffer's can not be.
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

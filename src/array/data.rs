//! Arrays of any element type: one value repeated, or elements in memory.

use super::buffer::Buffer;
use crate::shape::{DType, Shape, Type, Value, copied_shape, size};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Elements of one type: one value repeated, or a buffer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Data<T> {
    /// All elements are equal: no buffer. Rank-0 arrays are always in this form.
    Uniform(Shape, T),
    /// A buffer in standard (row-major, contiguous) layout, shared until written. Never of rank 0.
    Dense(Buffer<T>),
}

impl<T: Copy> Clone for Data<T> {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Data::Uniform(shape, x) => Data::Uniform(copied_shape(shape), *x),
            Data::Dense(buffer) => Data::Dense(buffer.clone()),
        }
    }
}

/// A plain array of any element type.
#[derive(Clone, Debug)]
pub enum Array {
    /// `f32` elements.
    F32(Data<f32>),
    /// `f64` elements.
    F64(Data<f64>),
    /// `i32` elements.
    I32(Data<i32>),
    /// `i64` elements.
    I64(Data<i64>),
    /// `bool` elements.
    Bool(Data<bool>),
    /// An array inside of a closure that is being traced.
    #[doc(hidden)]
    Traced(Box<Traced>),
}

/// An array where a closure runs for the first position of a `build`, to be written down for all: its value there, and the
/// number of the node that stands for it. Whoever reads the value makes the closure one that depends on it, which is then called for every
/// position.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Traced {
    pub(crate) value: Array,
    pub(crate) node: u64,
    /// Set where the value is read: on any thread, whatever became of the closure.
    pub(crate) is_read: Arc<AtomicBool>,
}

impl Traced {
    /// Notes that the value is read.
    pub(crate) fn note_read(&self) {
        self.is_read.store(true, Ordering::Relaxed);
    }
}

impl<T: Copy> Data<T> {
    /// The extents of the axes.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        match self {
            Data::Uniform(shape, _) => shape,
            Data::Dense(array) => array.shape(),
        }
    }
}

/// Runs an expression on the data of an array, whatever its element type.
macro_rules! for_data {
    ($array:expr, $data:ident => $body:expr) => {
        match $crate::array::ReadArrays::read($array) {
            $crate::array::Array::F32($data) => $body,
            $crate::array::Array::F64($data) => $body,
            $crate::array::Array::I32($data) => $body,
            $crate::array::Array::I64($data) => $body,
            $crate::array::Array::Bool($data) => $body,
            $crate::array::Array::Traced(_) => unreachable!("what is read has elements"),
        }
    };
}
pub(crate) use for_data;

/// Runs an expression on the data of two arrays of one element type, whichever it is.
macro_rules! for_pair {
    ($left:expr, $right:expr, ($a:ident, $b:ident) => $body:expr) => {
        match ($crate::array::ReadArrays::read($left), $crate::array::ReadArrays::read($right)) {
            ($crate::array::Array::F32($a), $crate::array::Array::F32($b)) => $body,
            ($crate::array::Array::F64($a), $crate::array::Array::F64($b)) => $body,
            ($crate::array::Array::I32($a), $crate::array::Array::I32($b)) => $body,
            ($crate::array::Array::I64($a), $crate::array::Array::I64($b)) => $body,
            ($crate::array::Array::Bool($a), $crate::array::Array::Bool($b)) => $body,
            _ => unreachable!("operands have one element type"),
        }
    };
}
pub(crate) use for_pair;

/// Arrays that are about to be read.
pub(crate) trait ReadArrays {
    /// The array with its elements. Reading a value of a traced closure is noted.
    fn read(self) -> Self;
}

impl ReadArrays for Array {
    #[inline]
    fn read(self) -> Array {
        match self {
            Array::Traced(traced) => {
                traced.note_read();
                traced.value
            }
            array => array,
        }
    }
}

impl ReadArrays for &Array {
    #[inline]
    fn read(self) -> Self {
        match self {
            Array::Traced(traced) => {
                traced.note_read();
                &traced.value
            }
            array => array,
        }
    }
}

impl ReadArrays for &mut Array {
    #[inline]
    fn read(self) -> Self {
        if self.is_traced() {
            *self = std::mem::replace(self, Array::Bool(Data::Uniform(Shape::new(), false))).read();
        }
        self
    }
}

impl Array {
    /// Zeros of a type; of booleans, `false`.
    pub fn zeros(ty: &Type) -> Array {
        Array::full(&ty.shape, Value::from_i64(ty.dtype, 0))
    }

    /// An array whose elements all have one value; it takes no memory for them.
    pub fn full(shape: &[usize], value: Value) -> Array {
        let shape = copied_shape(shape);
        match value {
            Value::F32(x) => Array::F32(Data::Uniform(shape, x)),
            Value::F64(x) => Array::F64(Data::Uniform(shape, x)),
            Value::I32(x) => Array::I32(Data::Uniform(shape, x)),
            Value::I64(x) => Array::I64(Data::Uniform(shape, x)),
            Value::Bool(x) => Array::Bool(Data::Uniform(shape, x)),
        }
    }

    /// The extents of the axes.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        match self {
            Array::Traced(traced) => traced.value.shape(),
            array => for_data!(array, data => data.shape()),
        }
    }

    /// Whether the array is one inside of a closure that is being traced.
    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        matches!(self, Array::Traced(_))
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Array::Traced(traced) => traced.value.dtype(),
            Array::F32(_) => DType::F32,
            Array::F64(_) => DType::F64,
            Array::I32(_) => DType::I32,
            Array::I64(_) => DType::I64,
            Array::Bool(_) => DType::Bool,
        }
    }

    /// Element type and shape.
    pub fn ty(&self) -> Type {
        Type::new(self.dtype(), self.shape())
    }

    /// The element that all are, if that is plain: there is one, or the array is uniform.
    pub(crate) fn only(&self) -> Option<Value> {
        if self.size() == 1 { Some(self.element(0)) } else { self.uniform() }
    }

    /// The one value that all elements have, where the array is stored as such.
    pub fn uniform(&self) -> Option<Value> {
        match self.read() {
            Array::F32(Data::Uniform(_, x)) => Some(Value::F32(*x)),
            Array::F64(Data::Uniform(_, x)) => Some(Value::F64(*x)),
            Array::I32(Data::Uniform(_, x)) => Some(Value::I32(*x)),
            Array::I64(Data::Uniform(_, x)) => Some(Value::I64(*x)),
            Array::Bool(Data::Uniform(_, x)) => Some(Value::Bool(*x)),
            _ => None,
        }
    }

    /// The element at a row-major position.
    pub fn element(&self, position: usize) -> Value {
        match self.read() {
            Array::Traced(_) => unreachable!("what is read has elements"),
            Array::F32(data) => Value::F32(data.element(position)),
            Array::F64(data) => Value::F64(data.element(position)),
            Array::I32(data) => Value::I32(data.element(position)),
            Array::I64(data) => Value::I64(data.element(position)),
            Array::Bool(data) => Value::Bool(data.element(position)),
        }
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        size(self.shape())
    }
}

impl<T: Copy> Data<T> {
    /// The element at a row-major position.
    pub fn element(&self, position: usize) -> T {
        match self {
            Data::Uniform(_, x) => *x,
            Data::Dense(array) => array.as_slice()[position],
        }
    }
}

/// Arrays up to this size are compared element by element as constants; larger ones by identity.
const COMPARED: usize = 64;

impl PartialEq for Array {
    /// Equality of constants in programs: bit by bit for small arrays, by buffer for large ones.
    fn eq(&self, other: &Array) -> bool {
        if self.dtype() != other.dtype() || self.shape() != other.shape() {
            return false;
        }
        match (self.uniform(), other.uniform()) {
            (Some(a), Some(b)) => return a == b,
            (None, None) => {}
            _ => return false,
        }
        if self.buffer() == other.buffer() {
            return true;
        }
        self.size() <= COMPARED && (0..self.size()).all(|at| self.element(at) == other.element(at))
    }
}

impl Eq for Array {}

impl Hash for Array {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype().hash(state);
        self.shape().hash(state);
        match self.uniform() {
            Some(value) => value.hash(state),
            None if self.size() <= COMPARED => (0..self.size()).for_each(|at| self.element(at).hash(state)),
            None => self.buffer().hash(state),
        }
    }
}

impl Array {
    /// The address of the buffer, by which large constants are told apart; none of uniform arrays.
    pub(crate) fn buffer(&self) -> Option<usize> {
        for_data!(self, data => match data {
            Data::Uniform(..) => None,
            Data::Dense(array) => Some(array.as_ptr() as usize),
        })
    }
}

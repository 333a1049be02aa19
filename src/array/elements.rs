//! The elements of arrays as slices and vectors, as far as there is memory.

use super::buffer::Buffer;
use super::data::Data;
use super::memory::{self, OutOfMemory};
use super::scalar::ElementType;
use crate::shape::{Shape, copied_shape, size};
use ndarray::ArcArray;

impl<T: ElementType> Data<T> {
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
    pub(crate) fn own_slice(&mut self) -> Result<&mut [T], OutOfMemory> {
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
    pub(crate) fn into_vec(self) -> Result<Vec<T>, OutOfMemory> {
        match self {
            Data::Uniform(shape, x) => memory::filled(&shape, x),
            Data::Dense(array) => array.into_vec(),
        }
    }

    /// Whether the representation keeps the promises of [`Data`].
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Data::Uniform(..) => true,
            Data::Dense(array) => !array.shape().is_empty() && array.len() == size(array.shape()),
        }
    }
}

/// How many elements are copied before they are changed, so that they are still near when they are.
const CHUNK: usize = 512;

impl<T: ElementType> Buffer<T> {
    /// The array whose elements are changed by a function of some of them and their first one's position: in place where
    /// nobody else holds them.
    pub(super) fn changed(mut self, change: &mut dyn FnMut(&mut [T], usize)) -> Result<Buffer<T>, OutOfMemory> {
        if self.is_unique() {
            change(self.as_slice_mut(), 0);
            return Ok(self);
        }
        let mut out = memory::room(&self.shape)?;
        for chunk in self.as_slice().chunks(CHUNK) {
            let start = out.len();
            out.extend_from_slice(chunk);
            change(&mut out[start..], start);
        }
        Ok(Buffer { shape: self.shape, elements: ArcArray::from(out) })
    }

    /// The elements alone: those of the buffer itself if nobody else holds it, else a copy.
    ///
    /// # Errors
    ///
    /// When there is no memory for them.
    pub(super) fn into_vec(self) -> Result<Vec<T>, OutOfMemory> {
        let count = self.len();
        match self.elements.try_into_owned_nocopy() {
            Ok(owned) => {
                let (mut elements, offset) = owned.into_raw_vec_and_offset();
                // An array from outside may be a part of its buffer; the buffer is cut to that part.
                let start = offset.unwrap_or(0);
                elements.truncate(start + count);
                elements.drain(..start);
                Ok(elements)
            }
            Err(shared) => {
                let mut out = memory::room(&self.shape)?;
                out.extend_from_slice(shared.as_slice().expect("one axis without gaps"));
                Ok(out)
            }
        }
    }
}

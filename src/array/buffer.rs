//! Elements in memory, shared until they are written.

use crate::shape::{Shape, copied_shape, size, size_beside_zeros};
use ndarray::{ArcArray, ArrayView, Ix1, IxDyn};

/// Row-major elements of an array that is not of rank 0, which handles share.
///
/// The extents stand beside the elements, not in an `ndarray` of dynamic rank: that is larger and slower to clone, and handles
/// dominate the cost of eager programs on a few numbers.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(super) shape: Shape,
    pub(super) elements: ArcArray<T, Ix1>,
}

impl<T> Clone for Buffer<T> {
    #[inline]
    fn clone(&self) -> Self {
        Buffer { shape: copied_shape(&self.shape), elements: self.elements.clone() }
    }
}

impl<T: PartialEq> PartialEq for Buffer<T> {
    /// Equality of shapes and elements; NaN differs from itself.
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.as_slice() == other.as_slice()
    }
}

impl<T> Buffer<T> {
    /// Row-major elements of an array of a shape.
    ///
    /// Panics when their number is not the size of the shape, there are no axes, or, of an array without elements, the product
    /// of the other extents is more than `isize::MAX`, which `ndarray` does not take.
    pub fn new(shape: &[usize], elements: Vec<T>) -> Buffer<T> {
        assert_eq!(elements.len(), size(shape), "the number of elements for shape {shape:?}");
        // Where there are elements there are as many as memory holds, unless they take none.
        assert!(isize::try_from(size_beside_zeros(shape)).is_ok(), "an array of shape {shape:?} is too large");
        assert!(!shape.is_empty(), "arrays of rank 0 have no buffer");
        Buffer { shape: copied_shape(shape), elements: ArcArray::from(elements) }
    }

    /// The extents of the axes.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of elements.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// The elements.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        self.elements.as_slice().expect("one axis without gaps")
    }

    /// Where the elements are.
    pub fn as_ptr(&self) -> *const T {
        self.elements.as_ptr()
    }

    /// Whether nobody else holds the elements.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.elements.is_unique()
    }

    /// The same elements in another shape of the same size.
    pub(super) fn reshaped(self, shape: &[usize]) -> Buffer<T> {
        debug_assert_eq!(size(&self.shape), size(shape));
        Buffer { shape: copied_shape(shape), elements: self.elements }
    }
}

impl<T: Copy> Buffer<T> {
    /// The elements of an `ndarray` in standard layout, which is not copied; else the array.
    pub(super) fn from_shared(array: ArcArray<T, IxDyn>) -> Result<Buffer<T>, ArcArray<T, IxDyn>> {
        if !array.is_standard_layout() {
            return Err(array);
        }
        let (shape, count) = (copied_shape(array.shape()), array.len());
        let elements = array.into_shape_with_order(count).expect("standard layout has no gaps");
        Ok(Buffer { shape, elements })
    }

    /// The elements as an `ndarray` that shares them.
    pub fn into_shared(self) -> ArcArray<T, IxDyn> {
        self.elements.into_shape_with_order(IxDyn(&self.shape)).expect("the size is that of the shape")
    }

    /// A look at the elements as an `ndarray`.
    pub fn view(&self) -> ArrayView<'_, T, IxDyn> {
        ArrayView::from_shape(IxDyn(&self.shape), self.as_slice()).expect("the size is that of the shape")
    }

    /// The elements, to be written; they are copied where somebody else holds them.
    #[inline]
    pub fn as_slice_mut(&mut self) -> &mut [T] {
        self.elements.as_slice_mut().expect("one axis without gaps")
    }
}

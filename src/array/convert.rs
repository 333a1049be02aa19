//! Conversions from and to `ndarray`, and from and to vectors.

use crate::array::memory::{OutOfMemory, available, collected};
use crate::array::scalar::ElementType;
use crate::array::{Array, Buffer, Data};
use crate::shape::{Shape, Type};
use ndarray::{ArcArray, ArrayD, ArrayView, Dimension, IxDyn, ShapeBuilder};

/// One element, repeated by strides of 0; `None` where the extents are too large for an `ndarray`.
pub(crate) fn repeated<'a, T>(shape: &[usize], x: &'a T) -> Option<ArrayView<'a, T, IxDyn>> {
    let strides = IxDyn(&vec![0; shape.len()]);
    ArrayView::from_shape(IxDyn(shape).strides(strides), std::slice::from_ref(x)).ok()
}

/// The elements of an `ndarray`, row-major.
#[track_caller]
fn copied<T: ElementType, D: Dimension>(array: &ArrayView<'_, T, D>) -> Vec<T> {
    let elements = match array.as_slice() {
        Some(elements) => collected(array.shape(), elements.iter().copied()),
        None => collected(array.shape(), array.iter().copied()),
    };
    available(elements, || "from_ndarray".into())
}

impl<T: ElementType> Data<T> {
    /// The elements of an `ndarray`, whose buffer is kept where its layout is row-major.
    #[track_caller]
    fn from_shared(array: ArcArray<T, IxDyn>) -> Data<T> {
        if array.ndim() == 0 {
            return Data::Uniform(Shape::new(), array[IxDyn(&[])]);
        }
        match Buffer::from_shared(array) {
            Ok(buffer) => Data::Dense(buffer),
            Err(array) => Data::from_vec(array.shape(), copied(&array.view())),
        }
    }

    /// The elements as an `ndarray`, a copy of them where there is a buffer that somebody else holds too.
    ///
    /// # Errors
    ///
    /// When there is no memory for them.
    pub(crate) fn into_ndarray(self) -> Result<ArrayD<T>, OutOfMemory> {
        let shape = Shape::from_slice(self.shape());
        let too_large = OutOfMemory { ty: Type::new(T::DTYPE, &shape) };
        // Even an empty array may have extents too large for an `ndarray`.
        ArrayD::from_shape_vec(IxDyn(&shape), self.into_vec()?).map_err(|_| too_large)
    }

    /// The elements as an `ndarray`, without a copy; `None` where the extents are too large for one.
    pub fn as_view(&self) -> Option<ArrayView<'_, T, IxDyn>> {
        match self {
            Data::Uniform(shape, x) => repeated(shape, x),
            Data::Dense(array) => Some(array.view()),
        }
    }
}

impl<T: ElementType, D: Dimension> From<ndarray::Array<T, D>> for Array {
    /// The buffer is kept where its layout is row-major.
    #[track_caller]
    fn from(array: ndarray::Array<T, D>) -> Array {
        T::wrap(Data::from_shared(array.into_dyn().into_shared()))
    }
}

impl<T: ElementType, D: Dimension> From<ArcArray<T, D>> for Array {
    /// The buffer is shared where its layout is row-major.
    #[track_caller]
    fn from(array: ArcArray<T, D>) -> Array {
        T::wrap(Data::from_shared(array.into_dyn()))
    }
}

impl<T: ElementType, D: Dimension> From<ArrayView<'_, T, D>> for Array {
    /// The elements are copied.
    ///
    /// Panics when there is no memory for the elements, some of which a view may repeat.
    #[track_caller]
    fn from(array: ArrayView<'_, T, D>) -> Array {
        T::wrap(Data::from_vec(array.shape(), copied(&array)))
    }
}

impl Array {
    /// An array from its row-major elements.
    ///
    /// Panics when their number is not the size of the shape.
    pub fn from_vec<T: ElementType>(shape: &[usize], elements: Vec<T>) -> Array {
        T::wrap(Data::from_vec(shape, elements))
    }

    /// The row-major elements, if they are of this type.
    ///
    /// Panics when there is no memory for them.
    #[track_caller]
    pub fn to_vec<T: ElementType>(&self) -> Option<Vec<T>> {
        let elements = T::unwrap(self).map(|data| data.clone().into_vec())?;
        Some(available(elements, || "to_vec".into()))
    }

    /// The elements as an `ndarray`, if they are of this type.
    ///
    /// Panics when there is no memory for them.
    #[track_caller]
    pub fn to_ndarray<T: ElementType>(&self) -> Option<ArrayD<T>> {
        let array = T::unwrap(self).map(|data| data.clone().into_ndarray())?;
        Some(available(array, || "to_ndarray".into()))
    }
}

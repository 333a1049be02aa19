//! Conversions from and to `ndarray`, and from and to vectors.

use crate::concrete::scalar::Scalar;
use crate::concrete::{Array, Data};
use crate::shape::Shape;
use ndarray::{ArcArray, ArrayBase, ArrayD, ArrayView, Dimension, IxDyn};

impl<T: Scalar> Data<T> {
    /// The elements of an `ndarray`, whose buffer is kept where its layout is row-major.
    fn from_shared(array: ArcArray<T, IxDyn>) -> Data<T> {
        if array.ndim() == 0 {
            return Data::Uniform(Shape::new(), array[IxDyn(&[])]);
        }
        match array.is_standard_layout() {
            true => Data::Dense(array),
            false => Data::from_vec(array.shape(), array.iter().copied().collect()),
        }
    }

    /// The elements as an `ndarray`, a copy of them where there is a buffer that somebody else holds too.
    pub fn into_ndarray(self) -> ArrayD<T> {
        match self {
            Data::Uniform(shape, x) => ArrayD::from_elem(IxDyn(&shape), x),
            Data::Dense(array) => array.into_owned(),
        }
    }
}

impl<T: Scalar, D: Dimension> From<ndarray::Array<T, D>> for Array {
    /// The buffer is kept where its layout is row-major.
    fn from(array: ndarray::Array<T, D>) -> Array {
        T::wrap(Data::from_shared(array.into_dyn().into_shared()))
    }
}

impl<T: Scalar, D: Dimension> From<ArcArray<T, D>> for Array {
    /// The buffer is shared where its layout is row-major.
    fn from(array: ArcArray<T, D>) -> Array {
        T::wrap(Data::from_shared(array.into_dyn()))
    }
}

impl<T: Scalar, D: Dimension> From<ArrayView<'_, T, D>> for Array {
    /// The elements are copied.
    fn from(array: ArrayView<'_, T, D>) -> Array {
        let elements = match array.as_slice() {
            Some(elements) => elements.to_vec(),
            None => array.iter().copied().collect(),
        };
        T::wrap(Data::from_vec(array.shape(), elements))
    }
}

impl Array {
    /// An array from its row-major elements.
    ///
    /// Panics when their number is not the size of the shape.
    pub fn from_vec<T: Scalar>(shape: &[usize], elements: Vec<T>) -> Array {
        T::wrap(Data::from_vec(shape, elements))
    }

    /// The row-major elements, if they are of this type.
    pub fn to_vec<T: Scalar>(&self) -> Option<Vec<T>> {
        T::unwrap(self).map(|data| data.clone().into_vec())
    }

    /// The elements as an `ndarray`, if they are of this type.
    pub fn to_ndarray<T: Scalar>(&self) -> Option<ArrayD<T>> {
        T::unwrap(self).map(|data| match data {
            Data::Uniform(shape, x) => ArrayD::from_elem(IxDyn(shape), *x),
            Data::Dense(array) => ArrayBase::to_owned(array),
        })
    }
}

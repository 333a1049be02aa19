//! Conversions from and to Rust values and `ndarray`, and printing, of plain tensors.

use crate::algebra::Algebra;
use crate::array;
use crate::array::{Array, Data, available};
use crate::concrete::Concrete;
use crate::shape::{Shape, Type};
use crate::tensor::{Element, IntoShape, OfDimension, R0, R1, Rank, Tensor};
use ndarray::{ArcArray, ArrayBase, ArrayView, Dimension};
use std::fmt;

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// A known array in any algebra, with the elements and shape of an `ndarray`; it has no derivative.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x: Vector<Concrete, f64> = Tensor::from_ndarray(&ndarray::arr1(&[1.0, 2.0]));
    /// assert_eq!(x.to_vec(), [1.0, 2.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no memory for the elements; a view of an `ndarray` may repeat some.
    #[track_caller]
    pub fn from_ndarray<S, D>(array: &ArrayBase<S, D>) -> Self
    where
        S: ndarray::Data<Elem = E>,
        D: OfDimension<Rank = R>,
    {
        Tensor::wrap(A::constant(Array::from(array.view())))
    }

    /// A known array in any algebra from its elements, row-major.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::<Concrete, f64>::from_elements((2, 2), vec![1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(a, [[1.0, 2.0], [3.0, 4.0]].into());
    /// ```
    ///
    /// # Panics
    ///
    /// When there are not as many elements as the shape has places, or the other extents of an array without elements are too
    /// large for any memory; staged, that is recorded instead.
    #[track_caller]
    pub fn from_elements<S: IntoShape<Rank = R>>(shape: S, elements: Vec<E>) -> Self {
        let shape = shape.into_shape();
        if elements.len() != crate::shape::size(&shape) {
            let problem = format!("{} elements for shape {:?}", elements.len(), &shape[..]);
            return super::apply::fail("from_elements", problem, &shape);
        }
        if let Err(problem) = Type::new(E::DTYPE, &shape).check_size() {
            return super::apply::fail("from_elements", problem, &[]);
        }
        Tensor::wrap(A::constant(Array::from_vec(&shape, elements)))
    }
}

impl<A: Algebra, E: Element> Tensor<A, E, R1> {
    /// A known vector in any algebra, which copies the elements.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::<Concrete, f64>::from_slice(&[1.0, 2.0]);
    /// assert_eq!(x.to_vec(), [1.0, 2.0]);
    /// ```
    pub fn from_slice(elements: &[E]) -> Self {
        Tensor::wrap(A::constant(Array::from_vec(&[elements.len()], elements.to_vec())))
    }
}

impl<E: Element, R: Rank> Tensor<Concrete, E, R> {
    fn data(&self) -> &Data<E> {
        E::unwrap(&self.array).expect("the element type that the tensor's type says")
    }

    /// The elements as an owned `ndarray` array.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let array = Matrix::from([[1.0, 2.0], [3.0, 4.0]]).to_ndarray();
    /// assert_eq!(array[(1, 0)], 3.0);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no memory for them: equal elements take none here.
    #[track_caller]
    pub fn to_ndarray(&self) -> ndarray::Array<E, R::Dim> {
        let array = available(self.data().clone().into_ndarray(), || "to_ndarray".into());
        array.into_dimensionality().expect("the rank that the tensor's type says")
    }

    /// The elements, row-major.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).to_vec(), [1.0, 2.0, 3.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no memory for them: equal elements take none here.
    #[track_caller]
    pub fn to_vec(&self) -> Vec<E> {
        available(self.data().clone().into_vec(), || "to_vec".into())
    }

    /// The elements, row-major. `None` where one value is stored for all of them, as by [`zeros`](crate::tensor::zeros).
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let mut x = Vector::from(vec![1.0, 2.0]);
    /// assert_eq!(x.as_slice(), Some(&[1.0, 2.0][..]));
    /// x.as_slice_mut()[0] = 5.0;
    /// assert_eq!(x.to_vec(), [5.0, 2.0]);
    /// ```
    pub fn as_slice(&self) -> Option<&[E]> {
        match self.data() {
            Data::Uniform(shape, x) if shape.is_empty() => Some(std::slice::from_ref(x)),
            Data::Uniform(shape, _) if shape.contains(&0) => Some(&[]),
            data => data.as_slice(),
        }
    }

    /// The elements, row-major, to be written. The array gets storage of its own first, where others share it or there is one
    /// value for all elements.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let mut x: Vector<Concrete, f64> = zeros(3);
    /// x.as_slice_mut()[1] = 5.0;
    /// assert_eq!(x.to_vec(), [0.0, 5.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no memory for that.
    #[track_caller]
    pub fn as_slice_mut(&mut self) -> &mut [E] {
        let data = E::unwrap_mut(&mut self.array).expect("the element type that the tensor's type says");
        available(data.own_slice(), || "as_slice_mut".into())
    }

    /// The element at a position, with a number for each axis, or `None` outside.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!((a.element(&[1, 0]), a.element(&[2, 0])), (Some(3.0), None));
    /// ```
    pub fn element(&self, position: &[usize]) -> Option<E> {
        let shape: Shape = self.shape();
        if position.len() != shape.len() || position.iter().zip(&shape).any(|(at, extent)| at >= extent) {
            return None;
        }
        let row_major = position.iter().zip(&shape).fold(0, |offset, (at, extent)| offset * extent + at);
        Some(self.data().element(row_major))
    }
}

impl<E: Element> Tensor<Concrete, E, R0> {
    /// The one element, as a plain number.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.0, 2.0]).sum().item(), 3.0);
    /// ```
    pub fn item(&self) -> E {
        self.data().element(0)
    }
}

macro_rules! numbers {
    ($($number:ident),*) => {
        $(
            /// The one element.
            impl From<Tensor<Concrete, $number, R0>> for $number {
                fn from(array: Tensor<Concrete, $number, R0>) -> $number {
                    array.item()
                }
            }
        )*
    };
}

numbers!(f32, f64, i32, i64, bool);

impl<E: Element> From<E> for Tensor<Concrete, E, R0> {
    #[track_caller]
    fn from(value: E) -> Self {
        crate::tensor::scalar(value)
    }
}

impl<E: Element> From<Vec<E>> for Tensor<Concrete, E, R1> {
    #[track_caller]
    fn from(elements: Vec<E>) -> Self {
        Tensor::wrap(Array::from_vec(&[elements.len()], elements))
    }
}

impl<E: Element, const N: usize> From<[E; N]> for Tensor<Concrete, E, R1> {
    #[track_caller]
    fn from(elements: [E; N]) -> Self {
        Tensor::from_slice(&elements)
    }
}

impl<E: Element, const N: usize, const M: usize> From<[[E; M]; N]> for Tensor<Concrete, E, crate::tensor::R2> {
    #[track_caller]
    fn from(rows: [[E; M]; N]) -> Self {
        Tensor::wrap(Array::from_vec(&[N, M], rows.into_iter().flatten().collect()))
    }
}

/// Rows of elements.
///
/// # Panics
///
/// When a row has another length than the first, which is named with both.
impl<E: Element> From<Vec<Vec<E>>> for Tensor<Concrete, E, crate::tensor::R2> {
    #[track_caller]
    fn from(rows: Vec<Vec<E>>) -> Self {
        let columns = rows.first().map_or(0, Vec::len);
        if let Some((at, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != columns) {
            let problem = format!("row {at} has {} elements, but row 0 has {columns}", row.len());
            return super::apply::fail("from", problem, &[rows.len(), columns]);
        }
        Tensor::wrap(Array::from_vec(&[rows.len(), columns], rows.into_iter().flatten().collect()))
    }
}

impl<E: Element, D: OfDimension> From<ndarray::Array<E, D>> for Tensor<Concrete, E, D::Rank> {
    #[track_caller]
    fn from(array: ndarray::Array<E, D>) -> Self {
        Tensor::wrap(Array::from(array))
    }
}

impl<E: Element, D: OfDimension> From<ArcArray<E, D>> for Tensor<Concrete, E, D::Rank> {
    #[track_caller]
    fn from(array: ArcArray<E, D>) -> Self {
        Tensor::wrap(Array::from(array))
    }
}

impl<E: Element, D: OfDimension> From<ArrayView<'_, E, D>> for Tensor<Concrete, E, D::Rank> {
    #[track_caller]
    fn from(array: ArrayView<'_, E, D>) -> Self {
        Tensor::wrap(Array::from(array))
    }
}

impl<E: Element, D: OfDimension> From<&ndarray::Array<E, D>> for Tensor<Concrete, E, D::Rank> {
    #[track_caller]
    fn from(array: &ndarray::Array<E, D>) -> Self {
        Tensor::from_ndarray(array)
    }
}

impl<E: Element, R: Rank<Dim = D>, D: Dimension> From<Tensor<Concrete, E, R>> for ndarray::Array<E, D> {
    #[track_caller]
    fn from(tensor: Tensor<Concrete, E, R>) -> Self {
        tensor.to_ndarray()
    }
}

impl<E: Element, R: Rank<Dim = D>, D: Dimension> From<&Tensor<Concrete, E, R>> for ndarray::Array<E, D> {
    #[track_caller]
    fn from(tensor: &Tensor<Concrete, E, R>) -> Self {
        tensor.to_ndarray()
    }
}

impl<E: Element, R: Rank<Dim = D>, D: Dimension> From<Tensor<Concrete, E, R>> for ArcArray<E, D> {
    #[track_caller]
    fn from(tensor: Tensor<Concrete, E, R>) -> Self {
        let array = match tensor.data() {
            Data::Dense(array) => array.clone().into_shared(),
            uniform => available(uniform.clone().into_ndarray(), || "to_ndarray".into()).into_shared(),
        };
        array.into_dimensionality().expect("the rank that the tensor's type says")
    }
}

impl<E: Element, R: Rank> fmt::Display for Tensor<Concrete, E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.data().as_view() {
            Some(view) => fmt::Display::fmt(&view, f),
            None => f.write_str("[]"),
        }
    }
}

impl<A: Algebra, E: Element, R: Rank> fmt::Debug for Tensor<A, E, R> {
    /// The elements, where they are known, with element type and shape after them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(known) => {
                match known.data() {
                    Data::Uniform(shape, x) => match array::repeated(shape, &format!("{x:?}")) {
                        Some(view) => write!(f, "{view}")?,
                        None => f.write_str("[]")?,
                    },
                    Data::Dense(array) => write!(f, "{}", array.view().map(|x| format!("{x:?}")))?,
                }
                write!(f, " : {}", self.ty())
            }
            None => write!(f, ".. : {}", self.ty()),
        }
    }
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// The plain array of the elements, where they are known already: when the function runs on plain or dual arrays, and not
    /// when it is staged. Use it for looking at values, and for branching on them where nothing is differentiated. When a
    /// function is staged, such a branch is decided once, without the value: use `cond` there.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0]);
    /// assert_eq!(x.known(), Some(x.clone()));
    /// let staged = stage(|x: &Vector<_, f64>| (if x.known().is_some() { x.sum() } else { x.product() }), &x)?;
    /// assert_eq!(staged.call(&x)?.item(), 2.0);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn known(&self) -> Option<Tensor<Concrete, E, R>> {
        A::known(self.array()).map(Tensor::wrap)
    }
}

impl<E: Element, R: Rank> PartialEq for Tensor<Concrete, E, R> {
    /// Equality of shapes and elements; NaN differs from itself.
    fn eq(&self, other: &Self) -> bool {
        if self.shape() != other.shape() {
            return false;
        }
        match (self.data(), other.data()) {
            (Data::Uniform(_, x), Data::Uniform(_, y)) => self.is_empty() || x == y,
            (Data::Uniform(_, x), dense) | (dense, Data::Uniform(_, x)) => {
                dense.as_slice().unwrap_or_default().iter().all(|y| x == y)
            }
            (Data::Dense(x), Data::Dense(y)) => x == y,
        }
    }
}

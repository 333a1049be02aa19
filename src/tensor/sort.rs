//! Sorting along an axis, and reads along one.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::operation::Order;
use crate::shape::Shape;
use crate::tensor::apply::{check_axis, fail};
use crate::tensor::{Element, Number, Rank, Tensor};
use smallvec::SmallVec;

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// The elements at these positions along an axis, in the shape of the positions. There may be more or fewer positions than
    /// elements; the other axes of both arrays have the same extents. Positions outside read 0.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.take_along_axis(&Matrix::from([[1], [0]]), 1), [[2.0], [3.0]].into());
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis, or the extents along another one differ; staged, that is recorded instead.
    #[track_caller]
    pub fn take_along_axis(&self, positions: &Tensor<A, i64, R>, axis: usize) -> Self {
        let (shape, found) = (self.shape(), positions.shape());
        let fits = shape.len() == found.len()
            && axis < shape.len()
            && (0..shape.len()).all(|at| at == axis || shape[at] == found[at]);
        if !fits {
            let problem = format!("shapes {:?} and {:?} along axis {axis}", &shape[..], &found[..]);
            return fail("take_along_axis", problem, &shape);
        }
        let mut indices: SmallVec<[A::Array; 4]> = SmallVec::new();
        for at in 0..shape.len() {
            indices.push(match at == axis {
                true => positions.array().clone(),
                false => A::view(A::iota(shape[at]), &AffineMap::broadcast(&[shape[at]], &found, &[at])),
            });
        }
        Tensor::wrap(A::gather(self.array().clone(), indices.into_vec()))
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    #[track_caller]
    fn sorting(&self, name: &str, order: Order, axis: usize) -> Result<Tensor<A, i64, R>, Tensor<A, i64, R>> {
        let shape = self.shape();
        match check_axis(axis, &shape) {
            Ok(()) => Ok(Tensor::wrap(A::arg_sort(order, self.array().clone(), axis))),
            Err(problem) => Err(fail(name, problem, &shape)),
        }
    }

    /// The positions along an axis in the order of their elements, smallest first: `i64` in this array's shape. Equal elements
    /// keep their order, NaN comes last.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([3.0, 1.0, 2.0]).argsort(0).to_vec(), [1, 2, 0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn argsort(&self, axis: usize) -> Tensor<A, i64, R> {
        self.sorting("argsort", Order::Ascending, axis).unwrap_or_else(|placeholder| placeholder)
    }

    /// As [`Tensor::argsort`], largest first.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([3.0, 1.0, 2.0]).argsort_descending(0).to_vec(), [0, 2, 1]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn argsort_descending(&self, axis: usize) -> Tensor<A, i64, R> {
        self.sorting("argsort_descending", Order::Descending, axis).unwrap_or_else(|placeholder| placeholder)
    }

    /// The elements along an axis in order, smallest first; NaN comes last. The derivative goes where each element came from.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([3.0, 1.0, 2.0]).sort(0).to_vec(), [1.0, 2.0, 3.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn sort(&self, axis: usize) -> Self {
        match self.sorting("sort", Order::Ascending, axis) {
            Ok(positions) => self.take_along_axis(&positions, axis),
            Err(_) => self.clone(),
        }
    }

    /// As [`Tensor::sort`], largest first.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([3.0, 1.0, 2.0]).sort_descending(0).to_vec(), [3.0, 2.0, 1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn sort_descending(&self, axis: usize) -> Self {
        match self.sorting("sort_descending", Order::Descending, axis) {
            Ok(positions) => self.take_along_axis(&positions, axis),
            Err(_) => self.clone(),
        }
    }

    /// The `count` largest elements along an axis, largest first, and their positions, which are `i64`. Both results have
    /// extent `count` along the axis.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (largest, positions) = Vector::from([3.0, 1.0, 2.0]).top_k(2, 0);
    /// assert_eq!((largest.to_vec(), positions.to_vec()), (vec![3.0, 2.0], vec![0, 2]));
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis, or `count` is greater than its extent; staged, that is recorded instead.
    #[track_caller]
    pub fn top_k(&self, count: usize, axis: usize) -> (Self, Tensor<A, i64, R>) {
        let shape = self.shape();
        let problem = match check_axis(axis, &shape) {
            Ok(()) if count > shape[axis] => format!("the {count} largest along axis {axis} of shape {:?}", &shape[..]),
            Ok(()) => {
                let positions = A::arg_sort(Order::Descending, self.array().clone(), axis);
                let map = AffineMap::along(&shape, axis, 0, 1, count);
                let positions = Tensor::wrap(A::view(positions, &map));
                return (self.take_along_axis(&positions, axis), positions);
            }
            Err(problem) => problem,
        };
        let mut placeholder: Shape = shape.clone();
        if let Some(extent) = placeholder.get_mut(axis) {
            *extent = count;
        }
        (fail("top_k", problem, &placeholder), crate::tensor::Tensor::wrap(A::constant(zeros(&placeholder))))
    }
}

fn zeros(shape: &[usize]) -> crate::array::Array {
    crate::array::Array::full(shape, crate::shape::Value::I64(0))
}

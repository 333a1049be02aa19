//! Reductions over axes.

use crate::algebra::{Algebra, sorted_axes};
use crate::array::ReportedAt;
use crate::operation::{Binary, Extreme, Reduction};
use crate::shape::{Axes, Value};
use crate::tensor::apply::{check_axis, fail};
use crate::tensor::operators::full_like;
use crate::tensor::structure::check_axes;
use crate::tensor::{AxisList, Element, Float, Number, R0, RDyn, Rank, Tensor};

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    #[track_caller]
    fn reduce_all(&self, op: Reduction) -> Tensor<A, E, R0> {
        let axes: Axes = (0..self.rank()).collect();
        Tensor::wrap(A::reduce(op, self.array.clone(), &axes))
    }

    #[track_caller]
    fn reduce_axes<S: Rank>(&self, name: &str, op: Reduction, axes: &[usize]) -> Tensor<A, E, S> {
        let shape = self.shape();
        match check_axes(axes, &shape) {
            Ok(()) => Tensor::wrap(A::reduce(op, self.array.clone(), &sorted_axes(axes))),
            Err(problem) => fail(name, problem, &shape),
        }
    }
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $all:ident $(#[$axis_doc:meta])* $axis:ident $(#[$axes_doc:meta])* $axes:ident $op:ident;)*) => {
        $(
            $(#[$doc])*
            #[track_caller]
            pub fn $all(&self) -> Tensor<A, E, R0> {
                self.reduce_all(Reduction::$op)
            }

            $(#[$axis_doc])*
            ///
            /// # Panics
            ///
            /// When there is no such axis; staged, that is recorded instead.
            #[track_caller]
            pub fn $axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
                self.reduce_axes(stringify!($axis), Reduction::$op, &[axis])
            }

            $(#[$axes_doc])*
            ///
            /// # Panics
            ///
            /// When an axis is not there, or is listed twice; staged, that is recorded instead.
            #[track_caller]
            pub fn $axes<X: AxisList>(&self, axes: X) -> Tensor<A, E, <X::Count as Rank>::TakenFrom<R>> {
                self.reduce_axes(stringify!($axes), Reduction::$op, axes.axes())
            }
        )*
    };
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    reductions! {
        /// The sum of the elements; 0 where there are none.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).sum().item(), 10.0);
        /// ```
        sum
        /// As [`sum`](Tensor::sum), along one axis, which is removed.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).sum_axis(0).to_vec(), [4.0, 6.0]);
        /// ```
        sum_axis
        /// As [`sum`](Tensor::sum), over several distinct axes, which are removed.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// let t: Tensor3<Concrete, i64> = iota(8).reshape((2, 2, 2));
        /// assert_eq!(t.sum_axes([0, 2]).to_vec(), [10, 18]);
        /// ```
        sum_axes Sum;
        /// The largest element; −∞ or the smallest integer where there are none. The derivative goes to the first of equal
        /// ones; NaN wins. The elementwise maximum of two arrays is [`Tensor::max`].
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).max_all().item(), 4.0);
        /// ```
        max_all
        /// As [`max_all`](Tensor::max_all), along one axis, which is removed.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).max_axis(0).to_vec(), [3.0, 4.0]);
        /// ```
        max_axis
        /// As [`max_all`](Tensor::max_all), over several distinct axes, which are removed.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// let t: Tensor3<Concrete, i64> = iota(8).reshape((2, 2, 2));
        /// assert_eq!(t.max_axes([0, 2]).to_vec(), [5, 7]);
        /// ```
        max_axes Max;
        /// The smallest element; +∞ or the largest integer where there are none. The derivative goes to the first of equal
        /// ones; NaN wins. The elementwise minimum of two arrays is [`Tensor::min`].
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).min_all().item(), 1.0);
        /// ```
        min_all
        /// As [`min_all`](Tensor::min_all), along one axis, which is removed.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).min_axis(0).to_vec(), [1.0, 2.0]);
        /// ```
        min_axis
        /// As [`min_all`](Tensor::min_all), over several distinct axes, which are removed.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// let t: Tensor3<Concrete, i64> = iota(8).reshape((2, 2, 2));
        /// assert_eq!(t.min_axes([0, 2]).to_vec(), [0, 2]);
        /// ```
        min_axes Min;
    }

    /// The row-major position of the first largest element, or of the first NaN; 0 where there are no elements. The result is
    /// an `i64` with derivative 0.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.0, 3.0, 3.0]).argmax().item(), 1);
    /// ```
    #[track_caller]
    pub fn argmax(&self) -> Tensor<A, i64, R0> {
        Tensor::wrap(A::arg_reduce(Extreme::Max, self.flatten().into_array(), 0))
    }

    /// The row-major position of the first smallest element, or of the first NaN; 0 where there are no elements. The result is
    /// an `i64` with derivative 0.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([2.0, 1.0, 1.0]).argmin().item(), 1);
    /// ```
    #[track_caller]
    pub fn argmin(&self) -> Tensor<A, i64, R0> {
        Tensor::wrap(A::arg_reduce(Extreme::Min, self.flatten().into_array(), 0))
    }

    /// The position of the first largest element along an axis, which is removed, or of the first NaN.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [4.0, 3.0]]).argmax_axis(1).to_vec(), [1, 0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn argmax_axis(&self, axis: usize) -> Tensor<A, i64, R::Smaller> {
        self.arg_axis("argmax_axis", Extreme::Max, axis)
    }

    /// The position of the first smallest element along an axis, which is removed, or of the first NaN.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [4.0, 3.0]]).argmin_axis(1).to_vec(), [0, 1]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn argmin_axis(&self, axis: usize) -> Tensor<A, i64, R::Smaller> {
        self.arg_axis("argmin_axis", Extreme::Min, axis)
    }

    #[track_caller]
    fn arg_axis(&self, name: &str, op: Extreme, axis: usize) -> Tensor<A, i64, R::Smaller> {
        let shape = self.shape();
        match check_axis(axis, &shape) {
            Ok(()) => Tensor::wrap(A::arg_reduce(op, self.array.clone(), axis)),
            Err(problem) => fail(name, problem, &shape),
        }
    }
}

impl<A: Algebra, E: Float, R: Rank> Tensor<A, E, R> {
    /// The mean of the elements; NaN where there are none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).mean().item(), 2.5);
    /// ```
    #[track_caller]
    pub fn mean(&self) -> Tensor<A, E, R0> {
        self.sum().divided_by(self.size())
    }

    /// As [`mean`](Tensor::mean), along an axis, which is removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).mean_axis(0).to_vec(), [2.0, 3.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn mean_axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
        let count = self.shape().get(axis).copied().unwrap_or(1);
        self.reduce_axes::<R::Smaller>("mean_axis", Reduction::Sum, &[axis]).divided_by(count)
    }

    /// As [`mean`](Tensor::mean), over several distinct axes, which are removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let t: Tensor3<Concrete, f64> = iota(8).cast().reshape((2, 2, 2));
    /// assert_eq!(t.mean_axes([0, 2]).to_vec(), [2.5, 4.5]);
    /// ```
    ///
    /// # Panics
    ///
    /// When an axis is not there, or is listed twice; staged, that is recorded instead.
    #[track_caller]
    pub fn mean_axes<X: AxisList>(&self, axes: X) -> Tensor<A, E, <X::Count as Rank>::TakenFrom<R>> {
        let shape = self.shape();
        let count = axes
            .axes()
            .iter()
            .filter_map(|&axis| shape.get(axis))
            .fold(1, |n: usize, &extent| n.saturating_mul(extent));
        self.reduce_axes::<<X::Count as Rank>::TakenFrom<R>>("mean_axes", Reduction::Sum, axes.axes()).divided_by(count)
    }

    /// The mean squared distance of the elements from their mean; NaN where there are none. The sample estimate is n/(n−1)
    /// times as large.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.0, 2.0, 3.0, 6.0]).variance().item(), 3.5);
    /// ```
    #[track_caller]
    pub fn variance(&self) -> Tensor<A, E, R0> {
        let axes: Axes = (0..self.rank()).collect();
        self.variance_over("variance", &axes)
    }

    /// As [`variance`](Tensor::variance), along an axis, which is removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 6.0]]).variance_axis(0).to_vec(), [1.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn variance_axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
        self.variance_over("variance_axis", &[axis])
    }

    /// As [`variance`](Tensor::variance), over several distinct axes, which are removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 6.0]]).variance_axes([0, 1]).item(), 3.5);
    /// ```
    ///
    /// # Panics
    ///
    /// When an axis is not there, or is listed twice; staged, that is recorded instead.
    #[track_caller]
    pub fn variance_axes<X: AxisList>(&self, axes: X) -> Tensor<A, E, <X::Count as Rank>::TakenFrom<R>> {
        self.variance_over("variance_axes", axes.axes())
    }

    #[track_caller]
    fn variance_over<S: Rank>(&self, name: &str, axes: &[usize]) -> Tensor<A, E, S> {
        let shape = self.shape();
        if let Err(problem) = check_axes(axes, &shape) {
            return fail(name, problem, &shape);
        }
        let axes = sorted_axes(axes);
        let count = axes.iter().map(|&axis| shape[axis]).product();
        let _place = ReportedAt::caller();
        let mean =
            |array: A::Array| Tensor::<A, E, RDyn>::wrap(A::reduce(Reduction::Sum, array, &axes)).divided_by(count);
        let mut kept = shape.clone();
        for &axis in &axes {
            kept[axis] = 1;
        }
        let centre = A::reshape(mean(self.array.clone()).into_array(), &kept);
        let distance = self.clone().into_dyn() - Tensor::<A, E, RDyn>::wrap(centre);
        Tensor::wrap(mean((&distance * &distance).into_array()).into_array())
    }

    #[track_caller]
    fn divided_by(self, count: usize) -> Self {
        let count = full_like::<A>(&self.array, Value::from_f64(E::DTYPE, count as f64));
        Tensor::wrap(A::binary(Binary::Div, self.array, count))
    }
}

impl<A: Algebra, R: Rank> Tensor<A, bool, R> {
    /// Whether any element is true; `false` where there are none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert!(Vector::from([true, false]).any().item());
    /// ```
    #[track_caller]
    pub fn any(&self) -> Tensor<A, bool, R0> {
        self.reduce_all(Reduction::Max)
    }

    /// Whether all elements are true; `true` where there are none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert!(!Vector::from([true, false]).all().item());
    /// ```
    #[track_caller]
    pub fn all(&self) -> Tensor<A, bool, R0> {
        self.reduce_all(Reduction::Min)
    }

    /// As [`any`](Tensor::any), over several distinct axes, which are removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert!(Matrix::from([[true, false], [false, false]]).any_axes([0, 1]).item());
    /// ```
    ///
    /// # Panics
    ///
    /// When an axis is not there, or is listed twice; staged, that is recorded instead.
    #[track_caller]
    pub fn any_axes<X: AxisList>(&self, axes: X) -> Tensor<A, bool, <X::Count as Rank>::TakenFrom<R>> {
        self.reduce_axes("any_axes", Reduction::Max, axes.axes())
    }

    /// As [`all`](Tensor::all), over several distinct axes, which are removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert!(!Matrix::from([[true, false], [false, false]]).all_axes([0, 1]).item());
    /// ```
    ///
    /// # Panics
    ///
    /// When an axis is not there, or is listed twice; staged, that is recorded instead.
    #[track_caller]
    pub fn all_axes<X: AxisList>(&self, axes: X) -> Tensor<A, bool, <X::Count as Rank>::TakenFrom<R>> {
        self.reduce_axes("all_axes", Reduction::Min, axes.axes())
    }

    /// As [`any`](Tensor::any), along an axis, which is removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[true, false], [false, false]]).any_axis(1).to_vec(), [true, false]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn any_axis(&self, axis: usize) -> Tensor<A, bool, R::Smaller> {
        self.reduce_axes("any_axis", Reduction::Max, &[axis])
    }

    /// As [`all`](Tensor::all), along an axis, which is removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[true, true], [true, false]]).all_axis(1).to_vec(), [true, false]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn all_axis(&self, axis: usize) -> Tensor<A, bool, R::Smaller> {
        self.reduce_axes("all_axis", Reduction::Min, &[axis])
    }
}

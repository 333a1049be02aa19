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
    ($($(#[$doc:meta])* $all:ident $axis:ident $axes:ident $op:ident;)*) => {
        $(
            $(#[$doc])*
            #[track_caller]
            pub fn $all(&self) -> Tensor<A, E, R0> {
                self.reduce_all(Reduction::$op)
            }

            $(#[$doc])*
            ///
            /// Over one axis, which is removed.
            #[track_caller]
            pub fn $axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
                self.reduce_axes(stringify!($axis), Reduction::$op, &[axis])
            }

            $(#[$doc])*
            ///
            /// Over several distinct axes, which are removed.
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
        sum sum_axis sum_axes Sum;
        /// The largest element; the derivative goes to the first of equal ones. NaN wins; −infinity or the smallest integer
        /// where there are no elements. The elementwise maximum of two arrays is [`Tensor::max`].
        max_all max_axis max_axes Max;
        /// The smallest element; the derivative goes to the first of equal ones. NaN wins; +infinity or the largest integer
        /// where there are no elements. The elementwise minimum of two arrays is [`Tensor::min`].
        min_all min_axis min_axes Min;
    }

    /// The row-major position of the first largest element, or of the first NaN; 0 where there are no elements.
    #[track_caller]
    pub fn argmax(&self) -> Tensor<A, i64, R0> {
        Tensor::wrap(A::arg_reduce(Extreme::Max, self.flatten().into_array(), 0))
    }

    /// The row-major position of the first smallest element, or of the first NaN; 0 where there are no elements.
    #[track_caller]
    pub fn argmin(&self) -> Tensor<A, i64, R0> {
        Tensor::wrap(A::arg_reduce(Extreme::Min, self.flatten().into_array(), 0))
    }

    /// The position of the first largest element along an axis, which is removed, or of the first NaN.
    #[track_caller]
    pub fn argmax_axis(&self, axis: usize) -> Tensor<A, i64, R::Smaller> {
        self.arg_axis("argmax_axis", Extreme::Max, axis)
    }

    /// The position of the first smallest element along an axis, which is removed, or of the first NaN.
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
    #[track_caller]
    pub fn mean(&self) -> Tensor<A, E, R0> {
        self.sum().divided_by(self.size())
    }

    /// The mean along an axis, which is removed.
    #[track_caller]
    pub fn mean_axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
        let count = self.shape().get(axis).copied().unwrap_or(1);
        self.reduce_axes::<R::Smaller>("mean_axis", Reduction::Sum, &[axis]).divided_by(count)
    }

    /// The mean over several distinct axes, which are removed.
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
    #[track_caller]
    pub fn variance(&self) -> Tensor<A, E, R0> {
        let axes: Axes = (0..self.rank()).collect();
        self.variance_over("variance", &axes)
    }

    /// The mean squared distance from the mean along an axis, which is removed.
    #[track_caller]
    pub fn variance_axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
        self.variance_over("variance_axis", &[axis])
    }

    /// The mean squared distance from the mean over several distinct axes, which are removed.
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
    /// Whether any element is true.
    #[track_caller]
    pub fn any(&self) -> Tensor<A, bool, R0> {
        self.reduce_all(Reduction::Max)
    }

    /// Whether all elements are true.
    #[track_caller]
    pub fn all(&self) -> Tensor<A, bool, R0> {
        self.reduce_all(Reduction::Min)
    }

    /// Whether any element over several distinct axes, which are removed, is true.
    #[track_caller]
    pub fn any_axes<X: AxisList>(&self, axes: X) -> Tensor<A, bool, <X::Count as Rank>::TakenFrom<R>> {
        self.reduce_axes("any_axes", Reduction::Max, axes.axes())
    }

    /// Whether all elements over several distinct axes, which are removed, are true.
    #[track_caller]
    pub fn all_axes<X: AxisList>(&self, axes: X) -> Tensor<A, bool, <X::Count as Rank>::TakenFrom<R>> {
        self.reduce_axes("all_axes", Reduction::Min, axes.axes())
    }

    /// Whether any element along an axis, which is removed, is true.
    #[track_caller]
    pub fn any_axis(&self, axis: usize) -> Tensor<A, bool, R::Smaller> {
        self.reduce_axes("any_axis", Reduction::Max, &[axis])
    }

    /// Whether all elements along an axis, which is removed, are true.
    #[track_caller]
    pub fn all_axis(&self, axis: usize) -> Tensor<A, bool, R::Smaller> {
        self.reduce_axes("all_axis", Reduction::Min, &[axis])
    }
}

//! Reductions and scans by an associative operation, level by level.
//!
//! The work is proportional to the number of elements and the number of levels to its logarithm (Blelloch, 1990): pairs of
//! neighbours are combined, then pairs of those, and so on. Each level consists of bulk operations of the language, so
//! derivatives of every order are exact, also of products with zeros, and take as many levels again.

use super::combination::Combination;
use crate::affine::AffineMap;
use crate::algebra::{Algebra, sorted_axes};
use crate::array::{Array, ReportedAt};
use crate::operation::{Binary, Reduction};
use crate::shape::{Axes, Shape, Value};
use crate::tensor::apply::{check_axis, fail};
use crate::tensor::operators::full_like;
use crate::tensor::recurrence::running_over;
use crate::tensor::structure::check_axes;
use crate::tensor::{AxisList, Element, Float, Number, R0, RDyn, Rank, Tensor};

/// Combines arrays elementwise: those on the left come earlier along the axis.
pub(super) type Combiner<'a, A> =
    &'a mut dyn FnMut(Vec<<A as Algebra>::Array>, Vec<<A as Algebra>::Array>) -> Vec<<A as Algebra>::Array>;

/// Every `step`-th position from `start`, so many of them, along an axis of each array.
fn every<A: Algebra>(arrays: &[A::Array], axis: usize, start: usize, step: usize, count: usize) -> Vec<A::Array> {
    let read = |array: &A::Array| {
        let map = AffineMap::along(&A::shape(array), axis, start as i64, step as i64, count);
        if map.is_identity() { array.clone() } else { A::view(array.clone(), &map) }
    };
    arrays.iter().map(read).collect()
}

fn extent<A: Algebra>(arrays: &[A::Array], axis: usize) -> usize {
    arrays.first().map_or(0, |array| A::shape(array)[axis])
}

/// The combination of all `n > 0` positions along an axis, in order; the axis is left with extent 1.
pub(super) fn total<A: Algebra>(mut arrays: Vec<A::Array>, axis: usize, combine: Combiner<'_, A>) -> Vec<A::Array> {
    // The last positions of levels of odd length, which come after all that is combined later.
    let mut last: Vec<Vec<A::Array>> = Vec::new();
    let mut n = extent::<A>(&arrays, axis);
    while n > 1 {
        let pairs = n / 2;
        if n % 2 == 1 {
            last.push(every::<A>(&arrays, axis, n - 1, 1, 1));
        }
        let (left, right) = (every::<A>(&arrays, axis, 0, 2, pairs), every::<A>(&arrays, axis, 1, 2, pairs));
        arrays = combine(left, right);
        n = pairs;
    }
    while let Some(rest) = last.pop() {
        arrays = combine(arrays, rest);
    }
    arrays
}

/// The combination of all `n > 0` positions of an array along an axis, which is removed.
#[track_caller]
pub(super) fn total_over<A: Algebra>(combination: Combination, array: A::Array, axis: usize) -> A::Array {
    if let Some(reduction) = combination.reduction() {
        return A::reduce(reduction, array, &[axis]);
    }
    let _place = ReportedAt::caller();
    let mut shape = A::shape(&array);
    shape.remove(axis);
    A::reshape(total::<A>(vec![array], axis, &mut elementwise::<A>(combination)).remove(0), &shape)
}

/// An operation on each of several arrays.
pub(super) fn elementwise<A: Algebra>(
    combination: Combination,
) -> impl FnMut(Vec<A::Array>, Vec<A::Array>) -> Vec<A::Array> {
    move |earlier, later| earlier.into_iter().zip(later).map(|(a, b)| combination.apply::<A>(a, b)).collect()
}

/// For each position along an axis the combination of all up to it, in order.
pub(super) fn running<A: Algebra>(arrays: Vec<A::Array>, axis: usize, combine: Combiner<'_, A>) -> Vec<A::Array> {
    // Downwards: the combined pairs of each level. Upwards: the running totals at odd positions are those of the level below.
    let mut levels = vec![arrays];
    while let Some(level) = levels.last() {
        let n = extent::<A>(level, axis);
        if n < 2 {
            break;
        }
        let (left, right) = (every::<A>(level, axis, 0, 2, n / 2), every::<A>(level, axis, 1, 2, n / 2));
        levels.push(combine(left, right));
    }
    let mut totals = levels.pop().unwrap_or_default();
    while let Some(level) = levels.pop() {
        let n = extent::<A>(&level, axis);
        let (odd, even) = (n / 2, n - n / 2);
        let mut evens = every::<A>(&level, axis, 0, 1, 1);
        if even > 1 {
            let earlier = every::<A>(&totals, axis, 0, 1, even - 1);
            let later = combine(earlier, every::<A>(&level, axis, 2, 2, even - 1));
            evens = evens.into_iter().zip(later).map(|(first, rest)| A::concatenate(axis, vec![first, rest])).collect();
        }
        totals =
            evens.into_iter().zip(totals).map(|(even, odd_ones)| interleaved::<A>(even, odd_ones, axis, odd)).collect();
    }
    totals
}

/// The positions of two arrays by turns, where the first has as many as the second, `count`, or one more.
fn interleaved<A: Algebra>(even: A::Array, odd: A::Array, axis: usize, count: usize) -> A::Array {
    let paired = |array: A::Array| {
        let first = every::<A>(&[array], axis, 0, 1, count).remove(0);
        let mut shape = A::shape(&first);
        shape.insert(axis + 1, 1);
        A::reshape(first, &shape)
    };
    let rest = extent::<A>(std::slice::from_ref(&even), axis) - count;
    let last = every::<A>(std::slice::from_ref(&even), axis, count, 1, rest).remove(0);
    let pairs = A::concatenate(axis + 1, vec![paired(even), paired(odd)]);
    let mut shape: Shape = A::shape(&pairs);
    shape.remove(axis + 1);
    shape[axis] = 2 * count;
    let pairs = A::reshape(pairs, &shape);
    if rest == 0 { pairs } else { A::concatenate(axis, vec![pairs, last]) }
}

/// The array read backwards along an axis.
pub(super) fn reversed<A: Algebra>(array: A::Array, axis: usize) -> A::Array {
    let shape = A::shape(&array);
    let map = AffineMap::along(&shape, axis, shape[axis] as i64 - 1, -1, shape[axis]);
    A::view(array, &map)
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    #[track_caller]
    fn running_axis(&self, name: &str, axis: usize, reverse: bool, op: Binary) -> Self {
        let shape = self.shape();
        if let Err(problem) = check_axis(axis, &shape) {
            return fail(name, problem, &shape);
        }
        Tensor::wrap(running_over::<A>(op.into(), self.array.clone(), axis, reverse))
    }
}

macro_rules! running_totals {
    ($($(#[$doc:meta])* $method:ident $(#[$reverse_doc:meta])* $reverse:ident $op:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Panics
            ///
            /// When there is no such axis; staged, that is recorded instead.
            #[track_caller]
            pub fn $method(&self, axis: usize) -> Self {
                self.running_axis(stringify!($method), axis, false, Binary::$op)
            }

            $(#[$reverse_doc])*
            ///
            /// # Panics
            ///
            /// When there is no such axis; staged, that is recorded instead.
            #[track_caller]
            pub fn $reverse(&self, axis: usize) -> Self {
                self.running_axis(stringify!($reverse), axis, true, Binary::$op)
            }
        )*
    };
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    running_totals! {
        /// The sum of the elements so far along an axis, each position's own element included. The shape stays.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Vector::from([1.0, 2.0, 3.0]).cumsum(0).to_vec(), [1.0, 3.0, 6.0]);
        /// ```
        cumsum
        /// As [`cumsum`](Tensor::cumsum), from the last element to the first.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Vector::from([1.0, 2.0, 3.0]).cumsum_reverse(0).to_vec(), [6.0, 5.0, 3.0]);
        /// ```
        cumsum_reverse Add;
        /// The product of the elements so far along an axis, each position's own element included. The shape stays. The
        /// derivative is exact where elements are 0.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Vector::from([2.0, 3.0, 4.0]).cumprod(0).to_vec(), [2.0, 6.0, 24.0]);
        /// ```
        cumprod
        /// As [`cumprod`](Tensor::cumprod), from the last element to the first.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Vector::from([2.0, 3.0, 4.0]).cumprod_reverse(0).to_vec(), [24.0, 12.0, 4.0]);
        /// ```
        cumprod_reverse Mul;
        /// The largest element so far along an axis, each position's own element included. The shape stays. The derivative goes
        /// to the first of equal ones; NaN wins.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Vector::from([1.0, 3.0, 2.0]).cummax(0).to_vec(), [1.0, 3.0, 3.0]);
        /// ```
        cummax
        /// As [`cummax`](Tensor::cummax), from the last element to the first. The derivative goes to the last of equal ones.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Vector::from([1.0, 3.0, 2.0]).cummax_reverse(0).to_vec(), [3.0, 3.0, 2.0]);
        /// ```
        cummax_reverse Max;
        /// The smallest element so far along an axis, each position's own element included. The shape stays. The derivative
        /// goes to the first of equal ones; NaN wins.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Vector::from([2.0, 1.0, 3.0]).cummin(0).to_vec(), [2.0, 1.0, 1.0]);
        /// ```
        cummin
        /// As [`cummin`](Tensor::cummin), from the last element to the first. The derivative goes to the last of equal ones.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(Vector::from([2.0, 1.0, 3.0]).cummin_reverse(0).to_vec(), [1.0, 1.0, 3.0]);
        /// ```
        cummin_reverse Min;
    }

    /// The product of the elements; 1 where there are none. The derivative is exact where elements are 0.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([2.0, 3.0, 4.0]).product().item(), 24.0);
    /// ```
    #[track_caller]
    pub fn product(&self) -> Tensor<A, E, R0> {
        product_over(self.flatten().into_array(), 0)
    }

    /// As [`product`](Tensor::product), along an axis, which is removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).product_axis(0).to_vec(), [3.0, 8.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn product_axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
        let shape = self.shape();
        match check_axis(axis, &shape) {
            Ok(()) => product_over(self.array.clone(), axis),
            Err(problem) => fail("product_axis", problem, &shape),
        }
    }

    /// As [`product`](Tensor::product), over several distinct axes, which are removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let t: Tensor3<Concrete, i64> = iota(8).reshape((2, 2, 2));
    /// assert_eq!(t.product_axes([0, 2]).to_vec(), [0, 252]);
    /// ```
    ///
    /// # Panics
    ///
    /// When an axis is not there, or is listed twice; staged, that is recorded instead.
    #[track_caller]
    pub fn product_axes<X: AxisList>(&self, axes: X) -> Tensor<A, E, <X::Count as Rank>::TakenFrom<R>> {
        let shape = self.shape();
        if let Err(problem) = check_axes(axes.axes(), &shape) {
            return fail("product_axes", problem, &shape);
        }
        let mut axes = Axes::from_slice(axes.axes());
        axes.sort_unstable();
        let _place = ReportedAt::caller();
        let over = |array, &axis: &usize| product_over::<A, E, RDyn>(array, axis).into_array();
        Tensor::wrap(axes.iter().rev().fold(self.array.clone(), over))
    }
}

/// The product along an axis that is there.
#[track_caller]
fn product_over<A: Algebra, E: Number, S: Rank>(array: A::Array, axis: usize) -> Tensor<A, E, S> {
    let mut shape = A::shape(&array);
    if shape.remove(axis) == 0 {
        let one = Value::from_i64(E::DTYPE, 1);
        return Tensor::wrap(A::constant(Array::full(&shape, one)));
    }
    Tensor::wrap(total_over::<A>(Binary::Mul.into(), array, axis))
}

impl<A: Algebra, E: Float, R: Rank> Tensor<A, E, R> {
    running_totals! {
        /// The logarithm of the sum of the exponentials of the elements so far along an axis, each position's own element
        /// included. The shape stays. Nothing overflows.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(format!("{:.4}", Vector::from([0.0, 0.0]).cumlogsumexp(0)), "[0.0000, 0.6931]");
        /// ```
        cumlogsumexp
        /// As [`cumlogsumexp`](Tensor::cumlogsumexp), from the last element to the first.
        ///
        /// ```
        /// # use deltaray::prelude::*;
        /// assert_eq!(format!("{:.4}", Vector::from([0.0, 0.0]).cumlogsumexp_reverse(0)), "[0.6931, 0.0000]");
        /// ```
        cumlogsumexp_reverse LogAddExp;
    }

    /// An array with this one's axis of extent 1 for each of `axes`: the largest elements, by which exponentials are kept
    /// small. Nothing is differentiated through them, and infinite ones are taken for 0.
    #[track_caller]
    fn offsets(&self, axes: &[usize]) -> A::Array {
        let largest = A::reduce(Reduction::Max, self.array.clone(), axes);
        let mut shape = self.shape();
        for &axis in axes {
            shape[axis] = 1;
        }
        let largest = Tensor::<A, E, RDyn>::wrap(A::reshape(largest, &shape)).stop_gradient();
        let zero = full_like::<A>(largest.array(), E::ZERO.into_value());
        let finite = largest.lt(largest.filled(f64::INFINITY)) & largest.gt(largest.filled(f64::NEG_INFINITY));
        // NaN stays: a NaN among the elements is one of the result.
        let infinite = !finite & largest.equal(&largest);
        A::select(infinite.into_array(), zero, largest.into_array())
    }

    #[track_caller]
    fn log_of_exponentials<S: Rank>(&self, name: &str, axes: &[usize]) -> Tensor<A, E, S> {
        let shape = self.shape();
        if let Err(problem) = check_axes(axes, &shape) {
            return fail(name, problem, &shape);
        }
        let axes = sorted_axes(axes);
        let kept: Shape = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
        if axes.iter().any(|&axis| shape[axis] == 0) {
            let nothing = E::from_number(f64::NEG_INFINITY).into_value();
            return Tensor::wrap(A::constant(Array::full(&kept, nothing)));
        }
        let offsets = Tensor::<A, E, RDyn>::wrap(self.offsets(&axes));
        let shifted = self.clone().into_dyn() - &offsets;
        let sum: Tensor<A, E, RDyn> = Tensor::wrap(A::reduce(Reduction::Sum, shifted.exp().into_array(), &axes));
        let offsets = A::reshape(offsets.into_array(), &kept);
        Tensor::wrap((sum.ln() + Tensor::<A, E, RDyn>::wrap(offsets)).into_array())
    }

    /// ln Σ exp(x) over all elements, without overflow; −∞ where there are none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1000.0]).logsumexp().item(), 1000.0);
    /// ```
    #[track_caller]
    pub fn logsumexp(&self) -> Tensor<A, E, R0> {
        let axes: Axes = (0..self.rank()).collect();
        self.log_of_exponentials("logsumexp", &axes)
    }

    /// As [`logsumexp`](Tensor::logsumexp), along an axis, which is removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::from([[1.0, 1.0], [0.0, 1.0]]);
    /// assert_eq!(format!("{:.4}", a.logsumexp_axis(1)), "[1.6931, 1.3133]");
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn logsumexp_axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
        self.log_of_exponentials("logsumexp_axis", &[axis])
    }

    /// As [`logsumexp`](Tensor::logsumexp), over several distinct axes, which are removed.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let t: Tensor3<Concrete, f64> = zeros((2, 3, 2));
    /// assert_eq!(format!("{:.4}", t.logsumexp_axes([0, 2])), "[1.3863, 1.3863, 1.3863]");
    /// ```
    ///
    /// # Panics
    ///
    /// When an axis is not there, or is listed twice; staged, that is recorded instead.
    #[track_caller]
    pub fn logsumexp_axes<X: AxisList>(&self, axes: X) -> Tensor<A, E, <X::Count as Rank>::TakenFrom<R>> {
        self.log_of_exponentials("logsumexp_axes", axes.axes())
    }
}

//! The library's own reductions by segment, as methods of arrays.

use super::{Segments, SortedSlices, along_outer, neutral};
use crate::algebra::Algebra;
use crate::concrete::Array;
use crate::operation::Binary;
use crate::shape::Value;
use crate::tensor::apply::fail;
use crate::tensor::{Float, Number, Rank, Tensor};

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    #[track_caller]
    fn segments(&self, name: &str, segments: &Segments<A>, op: Binary) -> Self {
        let shape = self.shape();
        if let Some(problem) = segments.misfit(std::slice::from_ref(self.array()), 0) {
            return fail(name, problem, &shape);
        }
        let mut whole = shape.clone();
        whole[0] = segments.count;
        let others = A::constant(Array::full(&whole, neutral(op, E::DTYPE)));
        if shape[0] == 0 {
            return Tensor::wrap(others);
        }
        Tensor::wrap(SortedSlices::new(segments).combine_by(op.into(), self.array().clone(), others))
    }

    /// The sum of each segment's slices: position k of the result for segment k, of the slices' shape; 0 where it is empty.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_key(&Vector::from([1, 0, 1]), 3);
    /// assert_eq!(Vector::from([1.0, 2.0, 4.0]).segment_sum(&segments).to_vec(), [2.0, 5.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the array's number of slices differs from the segments'; staged, that is recorded instead.
    #[track_caller]
    pub fn segment_sum(&self, segments: &Segments<A>) -> Self {
        match segments.misfit(std::slice::from_ref(self.array()), 0) {
            None => Tensor::wrap(segments.total(self.array().clone())),
            Some(problem) => fail("segment_sum", problem, &self.shape()),
        }
    }

    /// The product of each segment's slices; 1 where it is empty. The derivative is exact where elements are 0.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_key(&Vector::from([1, 0, 1]), 3);
    /// assert_eq!(Vector::from([3.0, 2.0, 4.0]).segment_product(&segments).to_vec(), [2.0, 12.0, 1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::segment_sum`].
    #[track_caller]
    pub fn segment_product(&self, segments: &Segments<A>) -> Self {
        self.segments("segment_product", segments, Binary::Mul)
    }

    /// The largest elements of each segment's slices; −∞ or the smallest integer where it is empty; NaN wins. The derivative
    /// goes to the first of equal ones.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_key(&Vector::from([1, 0, 1]), 2);
    /// assert_eq!(Vector::from([1.0, 2.0, 4.0]).segment_max(&segments).to_vec(), [2.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::segment_sum`].
    #[track_caller]
    pub fn segment_max(&self, segments: &Segments<A>) -> Self {
        self.segments("segment_max", segments, Binary::Max)
    }

    /// The smallest elements of each segment's slices; +∞ or the largest integer where it is empty; NaN wins. The derivative
    /// goes to the first of equal ones.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_key(&Vector::from([1, 0, 1]), 2);
    /// assert_eq!(Vector::from([1.0, 2.0, 4.0]).segment_min(&segments).to_vec(), [2.0, 1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::segment_sum`].
    #[track_caller]
    pub fn segment_min(&self, segments: &Segments<A>) -> Self {
        self.segments("segment_min", segments, Binary::Min)
    }
}

impl<A: Algebra, E: Float, R: Rank> Tensor<A, E, R> {
    /// The mean of each segment's slices; NaN where it is empty.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_key(&Vector::from([1, 0, 1]), 2);
    /// assert_eq!(Vector::from([1.0, 2.0, 4.0]).segment_mean(&segments).to_vec(), [2.0, 2.5]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::segment_sum`].
    #[track_caller]
    pub fn segment_mean(&self, segments: &Segments<A>) -> Self {
        let shape = self.shape();
        if let Some(problem) = segments.misfit(std::slice::from_ref(self.array()), 0) {
            return fail("segment_mean", problem, &shape);
        }
        let one = Value::from_i64(E::DTYPE, 1);
        let counts = segments.total(A::constant(Array::full(&[segments.keys.len()], one)));
        let sums = segments.total(self.array().clone());
        let counts = along_outer::<A>(counts, &A::shape(&sums));
        Tensor::wrap(A::binary(Binary::Div, sums, counts))
    }

    /// The largest elements of each segment, for each of its slices, to keep exponentials small. Nothing is differentiated
    /// through them, and infinite ones are taken for 0.
    #[track_caller]
    fn segment_offsets(&self, segments: &Segments<A>) -> A::Array {
        let largest = self.segment_max(segments).stop_gradient();
        let infinite = largest.abs().equal(largest.filled(f64::INFINITY));
        let zero = A::zeros(&A::type_of(largest.array()));
        A::select(infinite.into_array(), zero, largest.into_array())
    }

    /// ln Σ exp(x) of each segment's slices, without overflow; −∞ where it is empty.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_key(&Vector::from([1, 0, 1]), 2);
    /// assert_eq!(format!("{:.4}", Vector::from([1.0, 2.0, 1.0]).segment_logsumexp(&segments)), "[2.0000, 1.6931]");
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::segment_sum`].
    #[track_caller]
    pub fn segment_logsumexp(&self, segments: &Segments<A>) -> Self {
        if let Some(problem) = segments.misfit(std::slice::from_ref(self.array()), 0) {
            return fail("segment_logsumexp", problem, &self.shape());
        }
        let offsets = self.segment_offsets(segments);
        let shifted = A::binary(Binary::Sub, self.array().clone(), segments.spread(offsets.clone()));
        let exponentials = Self::wrap(shifted).exp();
        let sums = Self::wrap(segments.total(exponentials.into_array()));
        let logarithms = A::binary(Binary::Add, sums.ln().into_array(), offsets);
        // Through the logarithm of an empty sum a tangent of 0 would be NaN.
        let filled = along_outer::<A>(segments.filled(), &sums.shape());
        let nothing = sums.filled(f64::NEG_INFINITY).into_array();
        Tensor::wrap(A::select(filled, logarithms, nothing))
    }

    /// exp(x), divided by the sum of those of the same segment, without overflow: an array of this one's shape, 0 for slices in
    /// no segment.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_key(&Vector::from([1, 0, 1, 7]), 2);
    /// assert_eq!(Vector::from([1.0, 2.0, 1.0, 3.0]).segment_softmax(&segments).to_vec(), [0.5, 1.0, 0.5, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::segment_sum`].
    #[track_caller]
    pub fn segment_softmax(&self, segments: &Segments<A>) -> Self {
        if let Some(problem) = segments.misfit(std::slice::from_ref(self.array()), 0) {
            return fail("segment_softmax", problem, &self.shape());
        }
        let offsets = segments.spread(self.segment_offsets(segments));
        let exponentials = Self::wrap(A::binary(Binary::Sub, self.array().clone(), offsets)).exp();
        let sums = segments.spread(segments.total(exponentials.array().clone()));
        let inside = segments.keys.ge(0) & segments.keys.lt(segments.count);
        let quotients = A::binary(Binary::Div, exponentials.into_array(), sums);
        let inside = along_outer::<A>(inside.into_array(), &self.shape());
        let nothing = A::zeros(&A::type_of(self.array()));
        Tensor::wrap(A::select(inside, quotients, nothing))
    }
}

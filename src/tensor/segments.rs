//! Reductions by segment: histograms with any associative operator, by keys or by offsets.
//!
//! Slices are brought into the order of their keys, a scan by segments combines those of one key (Blelloch, 1990), and the last
//! result of each segment is written; sums need no order, and are accumulated directly. All steps are operations of the
//! language, so derivatives of every order are exact.

mod reductions;

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::{Array, ReportedAt};
use crate::operation::Binary;
use crate::shape::{Axes, DType, Shape, Type, Value};
use crate::tensor::apply::{fail, stretch};
use crate::tensor::associative::{moved, neutral_misfit, slice_types};
use crate::tensor::combination::{Combination, Combine, Operator};
use crate::tensor::cumulative::{Combiner, elementwise, running};
use crate::tensor::{Family, R1, Sliced, Stacked, Tensor, Tree, Vector, iota, refuse};

/// Which slices of an array, along its outermost axis, belong together: by a key for each slice, or by the offsets at which
/// segments of neighbouring slices begin. [`Tensor::segment_sum`] and its relatives take these.
///
/// Segments are of one algebra: they enter a derivative by [`Segments::lift`] or [`Segments::lift_forward`].
#[derive(Clone, Debug)]
pub struct Segments<A: Algebra> {
    keys: Vector<A, i64>,
    count: usize,
    /// Whether keys never descend, so that nothing has to be sorted.
    ascending: bool,
}

impl<A: Algebra> Segments<A> {
    /// Segment k, of `count`, has the slices with key k, in any places; slices with other keys are in none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_key(&Vector::from([1, 0, 1]), 2);
    /// assert_eq!(Vector::from([1.0, 2.0, 4.0]).segment_sum(&segments).to_vec(), [2.0, 5.0]);
    /// ```
    pub fn by_key(keys: &Vector<A, i64>, count: usize) -> Segments<A> {
        Segments { keys: keys.clone(), count, ascending: keys.len() <= 1 }
    }

    /// Of `len` slices, segment k has those from `offsets[k]` to before `offsets[k + 1]`, as rows of a sparse matrix are given:
    /// one segment less than offsets, none where there are no offsets. Slices before the first offset, and from the last one
    /// on, are in no segment.
    ///
    /// Offsets ascend; where one is less than an earlier one, the two count as if they were exchanged.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_offset(&Vector::from([0, 2, 3]), 3);
    /// assert_eq!(Vector::from([1.0, 2.0, 4.0]).segment_sum(&segments).to_vec(), [3.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When no memory could hold an integer for each of `len` slices; staged, that is recorded instead.
    #[track_caller]
    pub fn by_offset(offsets: &Vector<A, i64>, len: usize) -> Segments<A> {
        let size = Type::new(DType::I64, &[len]).check_size();
        if let Err(problem) = size {
            let keys = fail("by_offset", problem, &offsets.shape());
            return Segments { keys, count: offsets.len().saturating_sub(1), ascending: true };
        }
        let ones: Tensor<A, i64, R1> = Tensor::wrap(A::constant(Array::full(&offsets.shape(), Value::I64(1))));
        // The key of a slice is the number of offsets up to it, less the one that begins its own segment.
        let keys = ones.scatter(offsets.max(0), len).cumsum(0) - 1;
        Segments { keys, count: offsets.len().saturating_sub(1), ascending: true }
    }

    /// The same segments under a reverse derivative, see [`Tensor::lift`].
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// fn slope<A: Algebra>(x: &Vector<A, f64>, segments: &Segments<A>) -> Vector<A, f64> {
    ///     grad(|x| x.segment_product(&segments.lift()).sum(), x)
    /// }
    /// let x = Vector::from(vec![2.0, 3.0, 5.0]);
    /// let segments = Segments::by_key(&vec![0, 1, 0].into(), 2);
    /// assert_eq!(slope(&x, &segments).to_vec(), [5.0, 1.0, 2.0]);
    /// let (_, tangent) = jvp(|x| x.segment_product(&segments.lift_forward()), &x, &x);
    /// assert_eq!(tangent.to_vec(), [20.0, 3.0]);
    /// ```
    #[track_caller]
    pub fn lift(&self) -> Segments<A::Nested> {
        Segments { keys: self.keys.lift(), count: self.count, ascending: self.ascending }
    }

    /// The same segments under a forward derivative, see [`Tensor::lift_forward`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([2.0, 3.0, 5.0]);
    /// let segments = Segments::by_key(&Vector::from([0, 1, 0]), 2);
    /// let (_, tangent) = jvp(|x| x.segment_product(&segments.lift_forward()), &x, &x);
    /// assert_eq!(tangent.to_vec(), [20.0, 3.0]);
    /// ```
    #[track_caller]
    pub fn lift_forward(&self) -> Segments<A::Forward> {
        Segments { keys: self.keys.lift_forward(), count: self.count, ascending: self.ascending }
    }

    /// The key of each slice; those outside of `0..count` stand for slices in no segment.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::<Concrete>::by_offset(&Vector::from([0, 2, 3]), 3);
    /// assert_eq!(segments.keys().to_vec(), [0, 0, 1]);
    /// ```
    pub fn keys(&self) -> &Vector<A, i64> {
        &self.keys
    }

    /// The number of segments.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let segments = Segments::by_offset(&Vector::from([0, 2, 3]), 3);
    /// assert_eq!(segments.count(), 2);
    /// ```
    pub fn count(&self) -> usize {
        self.count
    }

    /// The problem where an array has a number of slices along an axis other than the number of keys, or there are more
    /// segments than memory could hold.
    fn misfit(&self, arrays: &[A::Array], axis: usize) -> Option<String> {
        let keys = self.keys.len();
        arrays.iter().find_map(|array| {
            let ty = A::type_of(array);
            match ty.shape.get(axis) {
                Some(&extent) if extent == keys => self.result_type(ty, axis).check_size().err(),
                Some(_) if axis > 0 => {
                    Some(format!("{keys} keys for axis {axis} of an array of shape {:?}", &ty.shape[..]))
                }
                None if axis > 0 => Some(format!("there is no axis {axis} in shape {:?}", &ty.shape[..])),
                _ => Some(format!("{keys} keys for an array of shape {:?}", &ty.shape[..])),
            }
        })
    }

    /// The type of an array with one slice for each segment along an axis.
    fn result_type(&self, mut ty: Type, axis: usize) -> Type {
        if let Some(extent) = ty.shape.get_mut(axis) {
            *extent = self.count;
        }
        ty
    }

    /// The types of placeholders for results that can't be computed.
    fn placeholders(&self, arrays: &[A::Array], axis: usize) -> Vec<Type> {
        let of = |array: &A::Array| {
            let (own, result) = (A::type_of(array), self.result_type(A::type_of(array), axis));
            if result.check_size().is_err() { own } else { result }
        };
        arrays.iter().map(of).collect()
    }

    /// Arrays as often as there are segments, stacked.
    #[track_caller]
    fn for_each(&self, arrays: Vec<A::Array>) -> Vec<A::Array> {
        let stacked = |array: A::Array| {
            let mut shape = Shape::from_slice(&[self.count]);
            shape.extend_from_slice(&A::shape(&array));
            stretch::<A>(array, &shape)
        };
        arrays.into_iter().map(stacked).collect()
    }

    /// The combined slices of each array, by its own combination; segments without slices get the elements of `others`.
    #[track_caller]
    fn combined_by(
        &self,
        combinations: Vec<Combination>,
        arrays: Vec<A::Array>,
        others: Vec<A::Array>,
    ) -> Vec<A::Array> {
        let sorted = std::cell::OnceCell::new();
        let parts = combinations.into_iter().zip(arrays).zip(others);
        let combined = parts.map(|((combination, array), others)| match combination.scatters() {
            true => {
                let sums = self.total(array);
                A::select(along_outer::<A>(self.filled(), &A::shape(&sums)), sums, others)
            }
            false => sorted.get_or_init(|| SortedSlices::new(self)).combine_by(combination, array, others),
        });
        combined.collect()
    }

    /// For each slice the value of its segment, 0 where it is in none.
    #[track_caller]
    fn spread(&self, of_segments: A::Array) -> A::Array {
        A::gather(of_segments, vec![self.keys.array().clone()])
    }

    /// A value for each segment from one for each slice, which are added.
    #[track_caller]
    fn total(&self, of_slices: A::Array) -> A::Array {
        A::scatter(of_slices, vec![self.keys.array().clone()], &[self.count])
    }

    /// Whether there are slices in each segment.
    #[track_caller]
    fn filled(&self) -> A::Array {
        self.total(A::constant(Array::full(&[self.keys.len()], Value::Bool(true))))
    }
}

/// A mask of outer axes, for an array that has more.
#[track_caller]
pub(super) fn along_outer<A: Algebra>(mask: A::Array, shape: &[usize]) -> A::Array {
    let outer = A::shape(&mask);
    let axes: Axes = (0..outer.len()).collect();
    A::view(mask, &AffineMap::broadcast(&outer, shape, &axes))
}

/// The neutral element of products, largest or smallest elements.
pub(super) fn neutral(op: Binary, dtype: DType) -> Value {
    match op {
        Binary::Max => Value::from_f64(dtype, f64::NEG_INFINITY),
        Binary::Min => Value::from_f64(dtype, f64::INFINITY),
        _ => Value::from_i64(dtype, 1),
    }
}

/// Slices in the order of their keys.
pub(super) struct SortedSlices<A: Algebra> {
    /// Where each came from; `None` where they were in order.
    order: Option<Vector<A, i64>>,
    /// Whether it is the first of its key.
    first: Vector<A, bool>,
    /// Its key, where it is the last one of it; elsewhere −1.
    last: Vector<A, i64>,
}

impl<A: Algebra> SortedSlices<A> {
    #[track_caller]
    pub(super) fn new(segments: &Segments<A>) -> SortedSlices<A> {
        let _place = ReportedAt::caller();
        let n = segments.keys.len();
        let order = (!segments.ascending).then(|| segments.keys.argsort(0));
        let sorted = match &order {
            Some(order) => segments.keys.gather(order),
            None => segments.keys.clone(),
        };
        let at: Vector<A, i64> = iota(n);
        let neighbour = |step: i64| sorted.gather(&(&at + step));
        let first = at.equal(0) | sorted.not_equal(&neighbour(-1));
        let last = at.equal(n as i64 - 1) | sorted.not_equal(&neighbour(1));
        SortedSlices { order, first, last: last.select(&sorted, -1) }
    }

    /// Whether anything is written at each of `count` positions.
    #[track_caller]
    fn written(&self, count: usize) -> A::Array {
        let ones = A::constant(Array::full(&[self.last.len()], Value::I64(1)));
        let found = Vector::<A, i64>::wrap(A::scatter(ones, vec![self.last.array().clone()], &[count]));
        found.gt(0).into_array()
    }

    /// Writes the last slice of each key at that key, among `count` positions; the other positions take `others`.
    #[track_caller]
    pub(super) fn put(&self, slices: A::Array, others: A::Array, count: usize) -> A::Array {
        let scattered = A::scatter(slices, vec![self.last.array().clone()], &[count]);
        let mask = along_outer::<A>(self.written(count), &A::shape(&scattered));
        A::select(mask, scattered, others)
    }

    /// The combined slices of each key; keys without slices take `others`.
    #[track_caller]
    fn combine(&self, arrays: Vec<A::Array>, others: Vec<A::Array>, operator: Combiner<'_, A>) -> Vec<A::Array> {
        let _place = ReportedAt::caller();
        // The flag that a segment begins is combined along with the values on every level.
        let mut combine = |mut left: Vec<A::Array>, mut right: Vec<A::Array>| -> Vec<A::Array> {
            let (earlier, begins) = (left.remove(0), right.remove(0));
            let both = operator(left, right.clone());
            let chosen = right.into_iter().zip(both).map(|(right, both)| {
                let begins = along_outer::<A>(begins.clone(), &A::shape(&both));
                A::select(begins, right, both)
            });
            let chosen: Vec<A::Array> = chosen.collect();
            std::iter::once(A::binary(Binary::Or, earlier, begins)).chain(chosen).collect()
        };
        let sorted = arrays.into_iter().map(|array| self.sorted(array));
        let flagged = std::iter::once(self.first.array().clone()).chain(sorted).collect();
        let totals = running::<A>(flagged, 0, &mut combine).into_iter().skip(1);
        totals
            .zip(others)
            .map(|(totals, others)| {
                let count = A::shape(&others)[0];
                self.put(totals, others, count)
            })
            .collect()
    }

    /// As [`SortedSlices::combine`], of one array by an operation.
    #[track_caller]
    fn combine_by(&self, combination: Combination, array: A::Array, others: A::Array) -> A::Array {
        self.combine(vec![array], vec![others], &mut elementwise::<A>(combination)).remove(0)
    }

    #[track_caller]
    pub(super) fn sorted(&self, array: A::Array) -> A::Array {
        match &self.order {
            Some(order) => A::gather(array, vec![order.array().clone()]),
            None => array,
        }
    }
}

/// Combines the slices of each key, in their order, by an associative operator. Position k of the result, among `count`, holds
/// the combined slices with key k, or the neutral element where there are none. Slices with other keys are left out.
///
/// ```
/// # use deltaray::prelude::*;
/// let (x, keys) = (Vector::from([3.0, 1.0, 4.0]), Vector::from([1, 0, 1]));
/// assert_eq!(reduce_by_index(scalar(1.0), &keys, &x, 3, |a, b| a * b).to_vec(), [1.0, 12.0, 1.0]);
/// ```
///
/// As [`reduce_segments`], by key.
///
/// # Panics
///
/// As [`reduce_segments`].
#[track_caller]
pub fn reduce_by_index<A, X, F>(neutral: X::Slice, keys: &Vector<A, i64>, xs: &X, count: usize, op: F) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    segmented("reduce_by_index", 0, neutral, &Segments::by_key(keys, count), xs, &op)
}

/// As [`reduce_by_index`], over slices along this axis of every array. The slices lack the axis; in the result the keys run
/// along it.
///
/// ```
/// # use deltaray::prelude::*;
/// let (a, keys) = (Matrix::from([[3.0, 1.0, 4.0]]), Vector::from([1, 0, 1]));
/// assert_eq!(reduce_by_index_axis(1, ones(1), &keys, &a, 2, |x, y| x * y), [[1.0, 12.0]].into());
/// ```
///
/// # Panics
///
/// As [`reduce_segments_axis`].
#[track_caller]
pub fn reduce_by_index_axis<A, X, F>(
    axis: usize,
    neutral: X::Slice,
    keys: &Vector<A, i64>,
    xs: &X,
    count: usize,
    op: F,
) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    segmented("reduce_by_index_axis", axis, neutral, &Segments::by_key(keys, count), xs, &op)
}

/// Combines the slices of each segment, in their order, by an associative operator: position k of the result is the combination
/// of the slices of segment k, or the neutral element where it is empty.
///
/// The operator takes and gives trees of slices, need not be commutative, and may use arrays that it captures. It must be
/// associative, which can not be checked.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([3.0, 1.0, 4.0]);
/// let segments = Segments::by_offset(&Vector::from([0, 2, 3]), 3);
/// assert_eq!(reduce_segments(scalar(1.0), &segments, &x, |a, b| a * b).to_vec(), [3.0, 4.0]);
/// ```
///
/// Slices are sorted by key, where segments are given by keys, then combined in 2 ⌈log₂ n⌉ levels at most when staged. A sum,
/// seen as by [`reduce`](crate::tensor::reduce), is added up in any order without sorting when it is staged; eager sums are
/// better written as [`Tensor::segment_sum`].
///
/// # Panics
///
/// When an array has another number of slices than the segments are of, or the neutral element or the operator's result differs
/// from a slice; staged, that is recorded instead.
#[track_caller]
pub fn reduce_segments<A, X, F>(neutral: X::Slice, segments: &Segments<A>, xs: &X, op: F) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    segmented("reduce_segments", 0, neutral, segments, xs, &op)
}

/// As [`reduce_segments`], over slices along this axis of every array. The slices lack the axis; in the result the segments run
/// along it.
///
/// ```
/// # use deltaray::prelude::*;
/// let a = Matrix::from([[3.0, 1.0, 4.0]]);
/// let segments = Segments::by_offset(&Vector::from([0, 2, 3]), 3);
/// assert_eq!(reduce_segments_axis(1, ones(1), &segments, &a, |x, y| x * y), [[3.0, 4.0]].into());
/// ```
///
/// # Panics
///
/// As [`reduce_segments`], and when an array lacks the axis.
#[track_caller]
pub fn reduce_segments_axis<A, X, F>(axis: usize, neutral: X::Slice, segments: &Segments<A>, xs: &X, op: F) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    segmented("reduce_segments_axis", axis, neutral, segments, xs, &op)
}

#[track_caller]
fn segmented<A, X>(
    name: &'static str,
    axis: usize,
    neutral: X::Slice,
    segments: &Segments<A>,
    xs: &X,
    op: &Combine<X::Slice>,
) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
{
    let mut arrays = xs.leaves();
    let neutral = neutral.leaves();
    let place = std::panic::Location::caller();
    let types: Vec<Type> = neutral.iter().map(A::type_of).collect();
    if let Some(problem) = segments.misfit(&arrays, axis).or_else(|| neutral_misfit::<A>(&arrays, axis, &types)) {
        let placeholders = refuse::<A>(name, problem, &segments.placeholders(&arrays, axis), place);
        return X::Family::rebuild::<A, A>(xs, &mut placeholders.into_iter());
    }
    let _place = ReportedAt::caller();
    arrays = moved::<A>(arrays, axis, 0);
    let others = segments.for_each(neutral);
    // A single slice leaves nothing to combine.
    let several = segments.keys.len() > 1;
    let operator = several.then(|| Operator::new(name, place, xs, slice_types::<A>(&arrays, 0), op));
    let results: Vec<A::Array> = match operator.as_ref().and_then(Operator::combinations) {
        Some(combinations) => segments.combined_by(combinations, arrays, others),
        None => {
            let mut combine = |earlier, later| match &operator {
                Some(operator) => operator.on_stacks(earlier, later),
                None => later,
            };
            SortedSlices::new(segments).combine(arrays, others, &mut combine)
        }
    };
    X::Family::rebuild::<A, A>(xs, &mut moved::<A>(results, 0, axis).into_iter())
}

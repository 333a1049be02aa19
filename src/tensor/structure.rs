//! Other arrangements of the same elements, and concatenations of arrays.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::shape::{Axes, Shape, Type};
use crate::tensor::apply::{apply, broadcast_shape, check_axis, fail};
use crate::tensor::{Element, IntoShape, R0, R1, R2, R3, R4, R5, R6, RDyn, Rank, Tensor};
use crate::term::Op;
use std::ops::{Bound, Range, RangeBounds};

/// Axes by their positions, counted from the outermost: `[0, 2]`, a slice or a vector.
pub trait AxisList {
    /// As many axes as there are positions.
    type Count: Rank;
    /// The positions.
    fn axes(&self) -> &[usize];
}

macro_rules! axis_list {
    ($($count:literal $rank:ident),*) => {
        $(impl AxisList for [usize; $count] {
            type Count = $rank;
            fn axes(&self) -> &[usize] {
                self
            }
        })*
    };
}

axis_list!(0 R0, 1 R1, 2 R2, 3 R3, 4 R4, 5 R5, 6 R6);

impl AxisList for &[usize] {
    type Count = RDyn;
    fn axes(&self) -> &[usize] {
        self
    }
}

impl AxisList for Vec<usize> {
    type Count = RDyn;
    fn axes(&self) -> &[usize] {
        self
    }
}

/// A problem, unless the positions are distinct axes of the shape.
pub(super) fn check_axes(axes: &[usize], shape: &[usize]) -> Result<(), String> {
    for (at, &axis) in axes.iter().enumerate() {
        check_axis(axis, shape)?;
        if axes[..at].contains(&axis) {
            return Err(format!("axis {axis} is listed twice for shape {shape:?}"));
        }
    }
    Ok(())
}

/// A range of positions along an axis.
///
/// # Errors
///
/// The problem, where the axis or a position is not there.
pub(super) fn checked_range(
    shape: &[usize],
    axis: usize,
    range: impl RangeBounds<usize>,
) -> Result<Range<usize>, String> {
    check_axis(axis, shape)?;
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => shape[axis],
    };
    if start > end {
        return Err(format!("range {start}..{end} along axis {axis} in shape {shape:?} ends before it begins"));
    }
    if end > shape[axis] {
        return Err(format!("range {start}..{end} goes beyond axis {axis} in shape {shape:?}"));
    }
    Ok(start..end)
}

/// The map of every `step`-th position of a range along an axis.
///
/// # Errors
///
/// The problem, where the axis or a position is not there.
pub(super) fn range_map(
    shape: &[usize],
    axis: usize,
    range: impl RangeBounds<usize>,
    step: i64,
) -> Result<AffineMap, String> {
    let Range { start, end } = checked_range(shape, axis, range)?;
    if step == 0 {
        return Err(format!("a range by 0 along axis {axis} in shape {shape:?}"));
    }
    let count = (end - start).div_ceil(usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX));
    let first = if step > 0 { start as i64 } else { end as i64 - 1 };
    Ok(AffineMap::along(shape, axis, first, step, count))
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// The view of this array through a map whose result has as many axes as `S`.
    #[track_caller]
    pub(super) fn view<S: Rank>(&self, name: &str, map: AffineMap) -> Tensor<A, E, S> {
        apply(name, Op::View(map), [self.array.clone()])
    }

    /// The array repeated `n` times along a new outermost axis.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.0, 2.0]).replicate(2), [[1.0, 2.0], [1.0, 2.0]].into());
    /// ```
    #[track_caller]
    pub fn replicate(&self, n: usize) -> Tensor<A, E, R::Larger> {
        let shape = self.shape();
        let mut result = shape.clone();
        result.insert(0, n);
        let axes: Axes = (1..result.len()).collect();
        self.view("replicate", AffineMap::broadcast(&shape, &result, &axes))
    }

    /// The array stretched to a shape as broadcasting does: trailing axes are aligned, and an axis of extent 1 repeats.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.0, 2.0]).broadcast_to((2, 2)), [[1.0, 2.0], [1.0, 2.0]].into());
    /// ```
    ///
    /// # Panics
    ///
    /// When the array does not broadcast to the shape; staged, that is recorded instead.
    #[track_caller]
    pub fn broadcast_to<S: IntoShape>(&self, shape: S) -> Tensor<A, E, S::Rank> {
        let (source, result) = (self.shape(), shape.into_shape());
        if broadcast_shape(&source, &result).as_ref() != Some(&result) {
            let problem = format!("shape {:?} does not broadcast to {:?}", &source[..], &result[..]);
            return fail("broadcast_to", problem, &result);
        }
        let axes: Axes = (result.len() - source.len()..result.len()).collect();
        self.view("broadcast_to", AffineMap::broadcast(&source, &result, &axes))
    }

    /// The array with its axes in the opposite order.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.transpose(), [[1.0, 3.0], [2.0, 4.0]].into());
    /// ```
    #[track_caller]
    pub fn transpose(&self) -> Self {
        let shape = self.shape();
        let axes: Axes = (0..shape.len()).rev().collect();
        Tensor::wrap(A::view(self.array.clone(), &AffineMap::transpose(&shape, &axes)))
    }

    /// [`Tensor::transpose`], by the name that ndarray gives it.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t().shape()[..], [3, 2]);
    /// ```
    #[track_caller]
    pub fn t(&self) -> Self {
        self.transpose()
    }

    /// The array with its axes in another order: axis `j` of the result is axis `permutation[j]` of this array. Inner axes that
    /// are not listed stay.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a: Tensor3<Concrete, f64> = zeros((2, 3, 4));
    /// assert_eq!((&a.tr(&[1, 0]).shape()[..], &a.tr(&[2, 0, 1]).shape()[..]), (&[3, 2, 4][..], &[4, 2, 3][..]));
    /// ```
    ///
    /// # Panics
    ///
    /// When `permutation` does not list each of the outer axes once; staged, that is recorded instead.
    #[track_caller]
    pub fn tr(&self, permutation: &[usize]) -> Self {
        let shape = self.shape();
        let mut sorted: Axes = permutation.iter().copied().collect();
        sorted.sort_unstable();
        if permutation.len() > shape.len() || sorted.iter().enumerate().any(|(at, &axis)| at != axis) {
            let problem = format!("{permutation:?} does not permute the outer axes of shape {:?}", &shape[..]);
            return fail("tr", problem, &shape);
        }
        let axes: Axes = permutation.iter().copied().chain(permutation.len()..shape.len()).collect();
        Tensor::wrap(A::view(self.array.clone(), &AffineMap::transpose(&shape, &axes)))
    }

    /// The same elements, row-major, in another shape of the same size.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.reshape((2, 2)), [[1.0, 2.0], [3.0, 4.0]].into());
    /// ```
    ///
    /// # Panics
    ///
    /// When the sizes differ; staged, that is recorded instead.
    #[track_caller]
    pub fn reshape<S: IntoShape>(&self, shape: S) -> Tensor<A, E, S::Rank> {
        let shape = shape.into_shape();
        // Sizes saturate; saturated sizes prove nothing about shapes that differ.
        let known = self.size() < usize::MAX || shape == self.shape();
        if crate::shape::size(&shape) != self.size() || !known {
            let problem = format!("the sizes of shapes {:?} and {:?} differ", &self.shape()[..], &shape[..]);
            return fail("reshape", problem, &shape);
        }
        Tensor::wrap(A::reshape(self.array.clone(), &shape))
    }

    /// The elements in one axis, row-major.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).flatten().shape()[..], [4]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there are more elements than `usize` can count; staged, that is recorded instead.
    #[track_caller]
    pub fn flatten(&self) -> Tensor<A, E, R1> {
        self.reshape(self.size())
    }

    /// A range of positions along an axis: `x.slice(0, 1..)`. The ends are plain numbers; computed ones are those of
    /// [`Tensor::moving_slice`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.0, 2.0, 3.0]).slice(0, 1..).to_vec(), [2.0, 3.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis, or the range reaches beyond it or ends before it begins; staged, that is recorded instead.
    #[track_caller]
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>) -> Self {
        self.sliced("slice", axis, range, 1)
    }

    /// Every `step`-th position of a range along an axis. With a negative step the range is walked from its end, as in
    /// `ndarray`.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([0.0, 1.0, 2.0, 3.0]);
    /// assert_eq!(x.slice_step(0, .., 2).to_vec(), [0.0, 2.0]);
    /// assert_eq!(x.slice_step(0, 1.., -2).to_vec(), [3.0, 1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::slice`], and when the step is 0.
    #[track_caller]
    pub fn slice_step(&self, axis: usize, range: impl RangeBounds<usize>, step: i64) -> Self {
        self.sliced("slice_step", axis, range, step)
    }

    #[track_caller]
    fn sliced(&self, name: &'static str, axis: usize, range: impl RangeBounds<usize>, step: i64) -> Self {
        let shape = self.shape();
        match range_map(&shape, axis, range, step) {
            Ok(map) => self.view(name, map),
            Err(problem) => fail(name, problem, &shape),
        }
    }

    /// The array read backwards along an axis.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.0, 2.0, 3.0]).reverse(0).to_vec(), [3.0, 2.0, 1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn reverse(&self, axis: usize) -> Self {
        self.sliced("reverse", axis, .., -1)
    }

    /// The array with so many zeros before and after it along an axis.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.0, 2.0]).pad(0, 1, 2).to_vec(), [0.0, 1.0, 2.0, 0.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis, or zeros go further than some 2⁵⁷ positions before the array, or 2⁵⁸ after it; staged, that
    /// is recorded instead.
    #[track_caller]
    pub fn pad(&self, axis: usize, before: usize, after: usize) -> Self {
        let shape = self.shape();
        if let Err(problem) = check_axis(axis, &shape) {
            return fail("pad", problem, &shape);
        }
        let count = shape[axis].checked_add(before).and_then(|extent| extent.checked_add(after));
        let map = count.zip(i64::try_from(before).ok());
        match map.and_then(|(count, before)| AffineMap::along_checked(&shape, axis, -before, 1, count)) {
            Some(map) => self.view("pad", map),
            None => {
                let problem = format!("{before} zeros before shape {:?} and {after} after it go too far", &shape[..]);
                fail("pad", problem, &shape)
            }
        }
    }

    /// This array, then another, along an axis; the extents along the other axes are equal.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (a, b) = (Matrix::from([[1.0], [2.0]]), Matrix::from([[3.0], [4.0]]));
    /// assert_eq!(a.append(1, &b), [[1.0, 3.0], [2.0, 4.0]].into());
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis, or extents along another one differ; staged, that is recorded instead.
    #[track_caller]
    pub fn append(&self, axis: usize, other: &Self) -> Self {
        apply("append", Op::Concatenate(axis), [self.array.clone(), other.array.clone()])
    }

    /// The elements whose positions along the two outermost axes are equal, along one axis.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0], [3.0, 4.0]]).diagonal().to_vec(), [1.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there are fewer than two axes; staged, that is recorded instead.
    #[track_caller]
    pub fn diagonal(&self) -> Tensor<A, E, R::Smaller> {
        let shape = self.shape();
        if shape.len() < 2 {
            return fail("diagonal", format!("shape {:?} has fewer than two axes", &shape[..]), &shape);
        }
        let map = diagonal_map(&shape, 0, 1, shape[0].min(shape[1]));
        self.view("diagonal", map)
    }

    /// The array with a new axis of extent 1 at this place among the axes.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0]);
    /// assert_eq!((&x.insert_axis(0).shape()[..], &x.insert_axis(1).shape()[..]), (&[1, 2][..], &[2, 1][..]));
    /// ```
    ///
    /// # Panics
    ///
    /// When `axis` is greater than the number of axes; staged, that is recorded instead.
    #[track_caller]
    pub fn insert_axis(&self, axis: usize) -> Tensor<A, E, R::Larger> {
        let mut shape = self.shape();
        if axis > shape.len() {
            return fail("insert_axis", format!("there is no place {axis} in shape {:?}", &shape[..]), &shape);
        }
        shape.insert(axis, 1);
        Tensor::wrap(A::reshape(self.array.clone(), &shape))
    }

    /// The array without an axis of extent 1.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0], [2.0]]).remove_axis(1).to_vec(), [1.0, 2.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis, or its extent is not 1; staged, that is recorded instead.
    #[track_caller]
    pub fn remove_axis(&self, axis: usize) -> Tensor<A, E, R::Smaller> {
        let mut shape = self.shape();
        if shape.get(axis) != Some(&1) {
            return fail("remove_axis", format!("axis {axis} of shape {:?} is not of extent 1", &shape[..]), &shape);
        }
        shape.remove(axis);
        Tensor::wrap(A::reshape(self.array.clone(), &shape))
    }
}

/// The map that reads equal positions along axes `first` and `second`; `second` is removed.
pub(super) fn diagonal_map(shape: &[usize], first: usize, second: usize, extent: usize) -> AffineMap {
    let mut result = Shape::from_slice(shape);
    result[first] = extent;
    result.remove(second);
    let rows: Vec<_> = (0..shape.len())
        .map(|row| {
            let axis = if row == second { first } else { row };
            let column = axis - usize::from(axis > second);
            (0..result.len()).map(|other| i64::from(other == column)).collect()
        })
        .collect();
    AffineMap::new(shape, &result, &rows, &vec![0; shape.len()])
}

/// Concatenates arrays along an axis: at least one, with equal extents along the other axes.
///
/// ```
/// # use deltaray::prelude::*;
/// let (x, y) = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
/// assert_eq!(concatenate(0, &[x, y]).to_vec(), [1.0, 2.0, 3.0]);
/// ```
///
/// # Panics
///
/// When there are no arrays, or no such axis, or extents along another one differ; staged, that is recorded instead.
#[track_caller]
pub fn concatenate<A: Algebra, E: Element, R: Rank>(axis: usize, parts: &[Tensor<A, E, R>]) -> Tensor<A, E, R> {
    apply("concatenate", Op::Concatenate(axis), parts.iter().map(|part| part.array.clone()))
}

/// Arrays of one shape along a new outermost axis. Of no arrays the shape is known for scalars only.
///
/// ```
/// # use deltaray::prelude::*;
/// let (x, y) = (Vector::from([1.0, 2.0]), Vector::from([3.0, 4.0]));
/// assert_eq!(stack(&[x, y]), [[1.0, 2.0], [3.0, 4.0]].into());
/// ```
///
/// # Panics
///
/// When the shapes differ, or there are no arrays and they would have axes; staged, that is recorded instead.
#[track_caller]
pub fn stack<A: Algebra, E: Element, R: Rank>(parts: &[Tensor<A, E, R>]) -> Tensor<A, E, R::Larger> {
    let Some(first) = parts.first() else {
        return match R::NDIM {
            Some(0) => Tensor::wrap(A::constant(crate::array::Array::full(&[0], E::ZERO.into_value()))),
            _ => fail("stack", "takes at least one array", &[]),
        };
    };
    let shape = first.shape();
    if let Some(other) = parts.iter().map(Tensor::shape).find(|other| *other != shape) {
        return fail("stack", format!("shapes {:?} and {:?} differ", &shape[..], &other[..]), &shape);
    }
    let stacked: Shape = std::iter::once(parts.len()).chain(shape.iter().copied()).collect();
    if let Err(problem) = Type::new(E::DTYPE, &stacked).check_size() {
        return fail("stack", problem, &shape);
    }
    Tensor::wrap(stack_arrays::<A>(parts.iter().map(|part| part.array.clone()).collect()))
}

/// The array with one of its axes at another place.
pub(crate) fn move_axis<A: Algebra>(array: A::Array, from: usize, to: usize) -> A::Array {
    if from == to {
        return array;
    }
    let shape = A::shape(&array);
    let mut permutation: Axes = (0..shape.len()).filter(|&axis| axis != from).collect();
    permutation.insert(to, from);
    A::view(array, &AffineMap::transpose(&shape, &permutation))
}

/// At least one array, all of one shape, along a new outermost axis.
#[track_caller]
pub(super) fn stack_arrays<A: Algebra>(parts: Vec<A::Array>) -> A::Array {
    let mut row = A::shape(&parts[0]);
    row.insert(0, 1);
    // Not in a closure, which would hide the caller's line.
    let mut rows = Vec::with_capacity(parts.len());
    for part in parts {
        rows.push(A::reshape(part, &row));
    }
    A::concatenate(0, rows)
}

/// Each of so many columns of arrays, stacked.
pub(super) fn stack_columns<A: Algebra>(rows: &[Vec<A::Array>], count: usize) -> Vec<A::Array> {
    (0..count).map(|at| stack_arrays::<A>(rows.iter().map(|row| row[at].clone()).collect())).collect()
}

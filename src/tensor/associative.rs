//! Reductions and scans with the user's own associative operator, on trees of arrays; loops without inputs or outputs.

use super::combination::{Combination, Combine, Operator};
use super::cumulative::{reversed, running, total, total_over};
use super::recurrence::running_over;
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::shape::Type;
use crate::tensor::structure::move_axis;
use crate::tensor::{Family, Sliced, Stacked, Tree, check_same_structure, duplicate, refuse, scan_as};
use std::panic::Location;

/// The common extent of an axis, or a description of the difference.
fn extent<A: Algebra>(arrays: &[A::Array], axis: usize) -> Result<usize, String> {
    let mut found = None;
    for array in arrays {
        let shape = A::shape(array);
        match (shape.get(axis), found) {
            (None, _) => return Err(format!("there is no axis {axis} in shape {:?}", &shape[..])),
            (Some(&n), None) => found = Some(n),
            (Some(&n), Some(m)) if n == m => {}
            (Some(&n), Some(m)) => return Err(format!("extents {m} and {n} of axis {axis}")),
        }
    }
    Ok(found.unwrap_or(0))
}

/// The arrays with one axis outermost, or there again.
pub(super) fn moved<A: Algebra>(arrays: Vec<A::Array>, from: usize, to: usize) -> Vec<A::Array> {
    arrays.into_iter().map(|array| move_axis::<A>(array, from, to)).collect()
}

/// The arrays from the last slice to the first, if that is wanted.
fn turned<A: Algebra>(arrays: Vec<A::Array>, reverse: bool) -> Vec<A::Array> {
    if reverse { arrays.into_iter().map(|array| reversed::<A>(array, 0)).collect() } else { arrays }
}

/// Each array's total by its combination.
fn totals_over<A: Algebra>(combinations: Vec<Combination>, arrays: Vec<A::Array>, axis: usize) -> Vec<A::Array> {
    let parts = combinations.into_iter().zip(arrays);
    parts.map(|(combination, array)| total_over::<A>(combination, array, axis)).collect()
}

/// Each array's running totals by its combination.
fn all_running_over<A: Algebra>(
    combinations: Vec<Combination>,
    arrays: Vec<A::Array>,
    axis: usize,
    reverse: bool,
) -> Vec<A::Array> {
    let parts = combinations.into_iter().zip(arrays);
    parts.map(|(combination, array)| running_over::<A>(combination, array, axis, reverse)).collect()
}

/// The arrays without their outermost axis of extent 1.
pub(super) fn unstacked<A: Algebra>(arrays: Vec<A::Array>) -> Vec<A::Array> {
    arrays
        .into_iter()
        .map(|array| {
            let shape = A::shape(&array);
            A::reshape(array, &shape[1..])
        })
        .collect()
}

/// The types of slices of arrays that have this axis.
pub(super) fn slice_types<A: Algebra>(arrays: &[A::Array], axis: usize) -> Vec<Type> {
    let slice = |mut ty: Type| {
        ty.shape.remove(axis);
        ty
    };
    arrays.iter().map(A::type_of).map(slice).collect()
}

/// The problem with a neutral element for slices of these arrays along an axis, if there is one.
pub(super) fn neutral_misfit<A: Algebra>(arrays: &[A::Array], axis: usize, neutral: &[Type]) -> Option<String> {
    let problem = check_same_structure(&slice_types::<A>(arrays, axis), neutral).err()?;
    Some(format!("slices and the neutral element differ: {problem}"))
}

/// Reports a mismatch. Where reporting returns, the placeholders are the result.
#[track_caller]
fn report<A: Algebra>(name: &str, problem: String, like: &[A::Array]) -> Vec<A::Array> {
    let place = Location::caller();
    let types: Vec<Type> = like.iter().map(A::type_of).collect();
    refuse::<A>(name, problem, &types, place)
}

/// Combines the slices of arrays along their outermost axis, in order, by an associative operator: `x₀ ∘ x₁ ∘ .. ∘ xₙ₋₁`; the
/// neutral element where there are none.
///
/// The operator takes and gives trees of slices, need not be commutative, and may use arrays that it captures. It must be
/// associative, which is not checked: the library chooses how to pair the slices. The neutral element and the result have the
/// shapes of a slice.
///
/// ```
/// # use deltaray::prelude::*;
/// let shear = Matrix::from([[1.0, 2.0], [0.0, 1.0]]);
/// let product = reduce(eye(2), &shear.replicate(3), |a, b| a.dot(&b));
/// assert_eq!(product, [[1.0, 6.0], [0.0, 1.0]].into());
/// ```
///
/// The operator is applied n − 1 times, in at most 2 ⌈log₂ n⌉ levels when staged; its derivative is applied a constant factor
/// more often. An eager algebra runs the closure for every application, a staged one once.
///
/// Where the operator is nothing but `+`, `max` or `min` of its operands, or `|` or `&` of booleans, applied to each array of
/// the tree by itself, the staged reduction is the library's own ([`Tensor::sum_axis`](crate::tensor::Tensor::sum_axis) and its
/// relatives), with its derivative. Other operations, such as `*`, are applied to whole levels. An operator that uses a
/// captured array, or mixes the arrays of a tree, is combined as written.
///
/// An operator that has an inverse needs no rule of its own. "All but one" by division would be no less work than the
/// derivative is anyway, and wrong where there is no inverse: the derivative of a product is exact with zeros in it.
///
/// # Panics
///
/// When the arrays differ in their outermost extents, or the neutral element or the operator's result differs from a slice in
/// structure or shapes; staged, that is recorded instead.
#[track_caller]
pub fn reduce<A, X, F>(neutral: X::Slice, xs: &X, op: F) -> X::Slice
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    reduced("reduce", 0, neutral, xs, &op)
}

/// As [`reduce`], along this axis of every array: slices lack it.
///
/// ```
/// # use deltaray::prelude::*;
/// let a = Matrix::from([[1.0, 5.0], [4.0, 3.0]]);
/// assert_eq!(reduce_axis(1, zeros(2), &a, |x, y| x + y).to_vec(), [6.0, 7.0]);
/// ```
///
/// # Panics
///
/// As [`reduce`], and when an array lacks the axis.
#[track_caller]
pub fn reduce_axis<A, X, F>(axis: usize, neutral: X::Slice, xs: &X, op: F) -> X::Slice
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    reduced("reduce_axis", axis, neutral, xs, &op)
}

#[track_caller]
fn reduced<A, X>(name: &'static str, axis: usize, neutral: X::Slice, xs: &X, op: &Combine<X::Slice>) -> X::Slice
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
{
    let _place = ReportedAt::caller();
    let arrays = xs.leaves();
    let found = extent::<A>(&arrays, axis);
    let found = found.and_then(|n| neutral_misfit::<A>(&arrays, axis, &neutral.types()).map_or(Ok(n), Err));
    let results = match found {
        Ok(0) => return neutral,
        Ok(1) => unstacked::<A>(moved::<A>(arrays, axis, 0)),
        Ok(_) => {
            let operator = Operator::new(name, Location::caller(), xs, slice_types::<A>(&arrays, axis), op);
            match operator.combinations() {
                Some(combinations) => totals_over::<A>(combinations, arrays, axis),
                None => {
                    let mut combine = |earlier, later| operator.on_stacks(earlier, later);
                    unstacked::<A>(total::<A>(moved::<A>(arrays, axis, 0), 0, &mut combine))
                }
            }
        }
        Err(problem) => report::<A>(name, problem, &neutral.leaves()),
    };
    xs.slice_from(&mut results.into_iter())
}

/// The combinations of all slices so far along the outermost axis, by an associative operator, each one's own included:
/// position i of the result is `x₀ ∘ .. ∘ xᵢ`. The result has the shapes of the arrays.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([3.0, 1.0, 4.0]);
/// assert_eq!(associative_scan(&x, |a, b| a.max(b)).to_vec(), [3.0, 3.0, 4.0]);
/// ```
///
/// As [`reduce`]; the operator is applied less than 2 n times. Where it is an operation of its operands and nothing else, in
/// each array of the tree by itself, the staged scan is a loop over the slices, as are
/// [`Tensor::cumsum`](crate::tensor::Tensor::cumsum) and its relatives; so is its derivative.
///
/// # Panics
///
/// When the arrays differ in their outermost extents, or the operator's result differs from a slice; staged, that is recorded
/// instead.
#[track_caller]
pub fn associative_scan<A, X, F>(xs: &X, op: F) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    scanned("associative_scan", 0, xs, &op, false)
}

/// As [`associative_scan`], along this axis of every array.
///
/// ```
/// # use deltaray::prelude::*;
/// let a = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(associative_scan_axis(1, &a, |x, y| x * y), [[1.0, 2.0], [3.0, 12.0]].into());
/// ```
///
/// # Panics
///
/// As [`associative_scan`], and when an array lacks the axis.
#[track_caller]
pub fn associative_scan_axis<A, X, F>(axis: usize, xs: &X, op: F) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    scanned("associative_scan_axis", axis, xs, &op, false)
}

/// As [`associative_scan`], from the last slice to the first: position i of the result is `xₙ₋₁ ∘ .. ∘ xᵢ`.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([3.0, 1.0, 2.0]);
/// assert_eq!(associative_scan_reverse(&x, |a, b| a.max(b)).to_vec(), [3.0, 2.0, 2.0]);
/// ```
///
/// # Panics
///
/// As [`associative_scan`].
#[track_caller]
pub fn associative_scan_reverse<A, X, F>(xs: &X, op: F) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    scanned("associative_scan_reverse", 0, xs, &op, true)
}

/// As [`associative_scan_reverse`], along this axis of every array.
///
/// ```
/// # use deltaray::prelude::*;
/// let a = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(associative_scan_reverse_axis(1, &a, |x, y| x * y), [[2.0, 2.0], [12.0, 4.0]].into());
/// ```
///
/// # Panics
///
/// As [`associative_scan_axis`].
#[track_caller]
pub fn associative_scan_reverse_axis<A, X, F>(axis: usize, xs: &X, op: F) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    scanned("associative_scan_reverse_axis", axis, xs, &op, true)
}

#[track_caller]
fn scanned<A, X>(name: &'static str, axis: usize, xs: &X, op: &Combine<X::Slice>, reverse: bool) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
{
    let _place = ReportedAt::caller();
    let arrays = xs.leaves();
    let arrays = match extent::<A>(&arrays, axis) {
        Ok(0 | 1) => return duplicate(xs),
        Ok(_) => {
            let operator = Operator::new(name, Location::caller(), xs, slice_types::<A>(&arrays, axis), op);
            match operator.combinations() {
                Some(combinations) => all_running_over::<A>(combinations, arrays, axis, reverse),
                None => {
                    let mut combine = |earlier, later| operator.on_stacks(earlier, later);
                    let slices = turned::<A>(moved::<A>(arrays, axis, 0), reverse);
                    moved::<A>(turned::<A>(running::<A>(slices, 0, &mut combine), reverse), 0, axis)
                }
            }
        }
        Err(problem) => report::<A>(name, problem, &arrays),
    };
    X::Family::rebuild::<A, A>(xs, &mut arrays.into_iter())
}

/// Applies a step to a value `n` times and returns the final value: a loop that carries the value and has no inputs.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([1.0, 2.0]);
/// assert_eq!(iterate(x, 3, |x| x * 2.0).to_vec(), [8.0, 16.0]);
/// ```
///
/// As [`scan`](crate::tensor::scan); the value keeps its structure and shapes.
///
/// # Panics
///
/// When the step changes the structure or shapes; staged, that is recorded instead.
#[track_caller]
pub fn iterate<A: Algebra, C: Tree<A>>(first: C, n: usize, step: impl Fn(C) -> C) -> C {
    scan_as(("iterate", Location::caller()), false, first, &(), n, &|carry, ()| (step(carry), ())).0
}

/// The number of slices of a loop's inputs.
#[track_caller]
fn steps<A: Algebra, X: Sliced<A>>(name: &str, inputs: &X) -> usize {
    let arrays = inputs.leaves();
    match extent::<A>(&arrays, 0) {
        Ok(n) => n,
        Err(problem) => {
            report::<A>(name, problem, &arrays);
            0
        }
    }
}

/// Applies a step to a value once for each slice of the inputs along their outermost axis, from the first to the last, and
/// returns the final value: a loop that carries the value and has no outputs.
///
/// ```
/// # use deltaray::prelude::*;
/// let digits = Vector::from([1.0, 2.0, 3.0]);
/// assert_eq!(fold(scalar(0.0), &digits, |number, digit| number * 10.0 + digit).item(), 123.0);
/// ```
///
/// As [`scan`](crate::tensor::scan); the value keeps its structure and shapes. An associative operator is better served by
/// [`reduce`].
///
/// # Panics
///
/// When the inputs differ in their outermost extents, or the step changes the structure or shapes of the value; staged, that is
/// recorded instead.
#[track_caller]
pub fn fold<A: Algebra, C: Tree<A>, X: Sliced<A>>(first: C, inputs: &X, step: impl Fn(C, X::Slice) -> C) -> C {
    let n = steps("fold", inputs);
    let called = ("fold", Location::caller());
    scan_as(called, false, first, inputs, n, &|carry, slice| (step(carry, slice), ())).0
}

/// As [`fold`], from the last slice to the first.
///
/// ```
/// # use deltaray::prelude::*;
/// let digits = Vector::from([1.0, 2.0, 3.0]);
/// assert_eq!(fold_reverse(scalar(0.0), &digits, |number, digit| number * 10.0 + digit).item(), 321.0);
/// ```
///
/// # Panics
///
/// As [`fold`].
#[track_caller]
pub fn fold_reverse<A: Algebra, C: Tree<A>, X: Sliced<A>>(first: C, inputs: &X, step: impl Fn(C, X::Slice) -> C) -> C {
    let n = steps("fold_reverse", inputs);
    let called = ("fold_reverse", Location::caller());
    scan_as(called, true, first, inputs, n, &|carry, slice| (step(carry, slice), ())).0
}

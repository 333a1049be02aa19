//! Reductions by key: histograms with any associative operator, and what is written at keys.
//!
//! Slices are brought into the order of their keys, a scan by segments combines those of one key (Blelloch, 1990), and the
//! last of each segment is written. All of it is the language's own: derivatives of every order are exact.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::concrete::Array;
use crate::operation::Binary;
use crate::shape::{Axes, Shape, Value};
use crate::tensor::apply::fail;
use crate::tensor::{
    Family, Number, Rank, Scalar, Sliced, Stacked, Tensor, Tree, Vector, associative_scan, iota, select,
};

/// Slices in the order of their keys.
struct Segments<A: Algebra> {
    /// Where each came from.
    order: Vector<A, i64>,
    /// Whether it is the first of its key.
    first: Vector<A, bool>,
    /// Its key, where it is the last one of it; elsewhere −1.
    last: Vector<A, i64>,
}

impl<A: Algebra> Segments<A> {
    #[track_caller]
    fn new(keys: &Vector<A, i64>) -> Segments<A> {
        let n = keys.len();
        let order = keys.argsort(0);
        let sorted = keys.gather(&order);
        let at: Vector<A, i64> = iota(n);
        let neighbour = |step: i64| sorted.gather(&(&at + step));
        let first = at.equal(0) | sorted.not_equal(&neighbour(-1));
        let last = at.equal(n as i64 - 1) | sorted.not_equal(&neighbour(1));
        Segments { order, first, last: last.select(&sorted, -1) }
    }

    /// Whether anything is written at each of `count` positions.
    fn written(&self, count: usize) -> A::Array {
        let ones = A::constant(Array::full(&[self.last.len()], Value::I64(1)));
        let found = Vector::<A, i64>::wrap(A::scatter(ones, vec![self.last.array().clone()], &[count]));
        found.gt(0).into_array()
    }

    /// The slices that are the last of their keys at those, of `count` positions, and elsewhere what is in `others`.
    fn put(&self, slices: A::Array, others: A::Array, count: usize) -> A::Array {
        let scattered = A::scatter(slices, vec![self.last.array().clone()], &[count]);
        let shape = A::shape(&scattered);
        let mask = A::view(self.written(count), &AffineMap::broadcast(&[count], &shape, &[0]));
        A::select(mask, scattered, others)
    }

    fn sorted(&self, array: A::Array) -> A::Array {
        A::gather(array, vec![self.order.array().clone()])
    }
}

/// What does not fit, where arrays have another number of slices than there are keys.
fn misfit<A: Algebra>(keys: usize, arrays: &[A::Array]) -> Option<String> {
    let shape = arrays.iter().map(|array| A::shape(array)).find(|shape| shape.first() != Some(&keys))?;
    Some(format!("{keys} keys for an array of shape {:?}", &shape[..]))
}

/// Combines the slices of each key, in their order, by an associative operator: position k of the result, of `count`, is what
/// the slices with key k combine to, or the neutral element where there are none. Slices with other keys are left out.
///
/// The operator takes and gives trees of slices, need not be commutative, and may use arrays that it captures. It must be
/// associative, which can not be checked. The slices are sorted by key, then combined in ⌈log₂ n⌉ levels when staged.
/// Sums are better written as [`Tensor::scatter`].
#[track_caller]
pub fn reduce_by_index<A, X, F>(neutral: X::Slice, keys: &Vector<A, i64>, xs: &X, count: usize, op: F) -> X
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
    F: Fn(X::Slice, X::Slice) -> X::Slice,
{
    let arrays = xs.leaves();
    let misfit = misfit::<A>(keys.len(), &arrays);
    let segments = Segments::new(keys);
    let sorted: Vec<A::Array> = match misfit {
        None => arrays.into_iter().map(|array| segments.sorted(array)).collect(),
        Some(problem) => {
            let mut reported = Vec::new();
            for array in &arrays {
                let mut shape = A::shape(array);
                if let Some(outer) = shape.first_mut() {
                    *outer = keys.len();
                }
                let found: Tensor<A, i64, crate::tensor::RDyn> = fail("reduce_by_index", problem.clone(), &shape);
                reported.push(A::cast(found.into_array(), A::dtype(array)));
            }
            reported
        }
    };
    let sorted = X::Family::rebuild::<A, A>(xs, &mut sorted.into_iter());
    let flagged = (segments.first.clone(), sorted);
    let (_, totals) = associative_scan(&flagged, |(f, a): (Scalar<A, bool>, X::Slice), (g, b)| {
        let both = op(a, crate::tensor::duplicate(&b));
        (f | &g, select(&g, &b, &both))
    });
    let mut results = Vec::new();
    for (slices, neutral) in totals.leaves().into_iter().zip(neutral.leaves()) {
        let row = A::shape(&neutral);
        let mut shape = Shape::from_slice(&[count]);
        shape.extend_from_slice(&row);
        let axes: Axes = (1..shape.len()).collect();
        let others = A::view(neutral, &AffineMap::broadcast(&row, &shape, &axes));
        results.push(segments.put(slices, others, count));
    }
    X::Family::rebuild::<A, A>(xs, &mut results.into_iter())
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    #[track_caller]
    fn segments(&self, name: &str, keys: &Vector<A, i64>, count: usize, neutral: Value, op: Binary) -> Self {
        let shape = self.shape();
        if let Some(problem) = misfit::<A>(keys.len(), std::slice::from_ref(self.array())) {
            return fail(name, problem, &shape);
        }
        let segments = Segments::new(keys);
        let mut whole = shape.clone();
        whole[0] = count;
        let others = A::constant(Array::full(&whole, neutral));
        if shape[0] == 0 {
            return Tensor::wrap(others);
        }
        // A value and whether a segment begins there, as one pair of arrays on every level.
        let mut combine = |left: Vec<A::Array>, right: Vec<A::Array>| -> Vec<A::Array> {
            let both = A::binary(op, left[1].clone(), right[1].clone());
            let level = A::shape(&both);
            let begins = A::view(right[0].clone(), &AffineMap::broadcast(&level[..1], &level, &[0]));
            let flag = A::binary(Binary::Or, left[0].clone(), right[0].clone());
            vec![flag, A::select(begins, right[1].clone(), both)]
        };
        let arrays = vec![segments.first.array().clone(), segments.sorted(self.array().clone())];
        let totals = super::cumulative::running::<A>(arrays, 0, &mut combine).remove(1);
        Tensor::wrap(segments.put(totals, others, count))
    }

    /// The products of the slices of each key: position k of the result, of `count`, for key k; 1 where there are none. The
    /// derivative is exact where elements are 0. (Sums of slices by key are [`Tensor::scatter`].)
    #[track_caller]
    pub fn segment_product(&self, keys: &Vector<A, i64>, count: usize) -> Self {
        self.segments("segment_product", keys, count, Value::from_i64(E::DTYPE, 1), Binary::Mul)
    }

    /// The largest elements of the slices of each key; −infinity or the smallest integer where there are none. The derivative
    /// goes to the first of equal ones.
    #[track_caller]
    pub fn segment_max(&self, keys: &Vector<A, i64>, count: usize) -> Self {
        let least = Value::from_f64(E::DTYPE, f64::NEG_INFINITY);
        self.segments("segment_max", keys, count, least, Binary::Max)
    }

    /// The smallest elements of the slices of each key; +infinity or the largest integer where there are none. The derivative
    /// goes to the first of equal ones.
    #[track_caller]
    pub fn segment_min(&self, keys: &Vector<A, i64>, count: usize) -> Self {
        let most = Value::from_f64(E::DTYPE, f64::INFINITY);
        self.segments("segment_min", keys, count, most, Binary::Min)
    }

    /// This array with the slices of another one written at keys along the outermost axis, the last of one key; keys outside
    /// are ignored.
    #[track_caller]
    pub fn put(&self, keys: &Vector<A, i64>, slices: &Self) -> Self {
        let (shape, found) = (self.shape(), slices.shape());
        let fits = !shape.is_empty() && found.first() == Some(&keys.len()) && shape[1..] == found[1..];
        if !fits {
            let problem = format!("{} keys for slices of shape {:?} in shape {:?}", keys.len(), &found[..], &shape[..]);
            return fail("put", problem, &shape);
        }
        let segments = Segments::new(keys);
        let sorted = segments.sorted(slices.array().clone());
        Tensor::wrap(segments.put(sorted, self.array().clone(), shape[0]))
    }
}

//! Writes at computed positions of an array, in every mode; positions with a mask; reads with a fill value.
//!
//! Every mode but adding first combines the updates of one position, as a reduction by segments does. So the update that wins,
//! and the one that gets the derivative among equals, do not depend on the instance.

use super::cumulative::total_over;
use super::index::align_indices;
use super::segments::{Segments, along_outer, neutral};
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::{Array, ReportedAt};
use crate::operation::{Binary, Comparison};
use crate::shape::{Axes, Shape, are_few, size};
use crate::tensor::apply::{broadcast_shape, fail, fail_array, stretch};
use crate::tensor::{Element, IndexArrays, Number, Operand, RDyn, Rank, Tensor, Vector};

/// Arrays of positions with a mask, see [`masked`].
pub struct Masked<A: Algebra, I> {
    mask: A::Array,
    positions: I,
}

/// Positions with a mask. Where it is false they are outside of any array: reads there are 0, or the fill value of
/// [`Tensor::gather_or`], and writes there are ignored, both without a derivative.
///
/// ```
/// # use deltaray::prelude::*;
/// let (x, positions) = (Vector::from([1.0, 2.0]), Vector::from([0, 1, 1]));
/// assert_eq!(x.gather(masked(&positions.gt(0), &positions)).to_vec(), [0.0, 2.0, 2.0]);
/// ```
///
/// Mask and positions broadcast together; shapes that do not are reported at the line that reads or writes.
pub fn masked<A: Algebra, I: IndexArrays<A>>(mask: &Tensor<A, bool, I::Rank>, positions: I) -> Masked<A, I> {
    Masked { mask: mask.array().clone(), positions }
}

impl<A: Algebra, I: IndexArrays<A>> IndexArrays<A> for Masked<A, I> {
    type Rank = I::Rank;
    type Count = I::Count;
    #[track_caller]
    fn arrays(self) -> Vec<A::Array> {
        let mut arrays = self.positions.arrays();
        let mask: Tensor<A, bool, RDyn> = Tensor::wrap(self.mask);
        if let Some(first) = arrays.first_mut() {
            let (found, positions) = (mask.shape(), A::shape(first));
            *first = match broadcast_shape(&found, &positions) {
                Some(_) => mask.select(Tensor::<A, i64, RDyn>::wrap(first.clone()), -1).into_array(),
                None => {
                    let problem =
                        format!("a mask of shape {:?} for positions of shape {:?}", &found[..], &positions[..]);
                    fail_array::<A>("masked", problem, A::type_of(first))
                }
            };
        }
        arrays
    }
}

/// Where all positions are inside of these extents.
#[track_caller]
fn inside<A: Algebra>(positions: &[A::Array], extents: &[usize]) -> A::Array {
    let _place = ReportedAt::caller();
    let inner = |position: &A::Array, extent: usize| {
        let position: Tensor<A, i64, RDyn> = Tensor::wrap(position.clone());
        (position.ge(0) & position.lt(extent)).into_array()
    };
    let mut masks = positions.iter().zip(extents).map(|(position, &extent)| inner(position, extent));
    let first = masks.next().expect("positions along at least one axis");
    masks.fold(first, |all, mask| A::binary(Binary::And, all, mask))
}

/// The updates of [`Tensor::scatter_add`] and its relatives, which write them at positions along the outer axes of an array.
type Updates<A, E, R, I> =
    Tensor<A, E, <<I as IndexArrays<A>>::Rank as Rank>::Plus<<<I as IndexArrays<A>>::Count as Rank>::TakenFrom<R>>>;

/// Positions along the outer axes as one key for each update, and the arrays as rows for such keys.
struct KeyedRows<A: Algebra> {
    segments: Segments<A>,
    /// The array's rows, and the updates.
    target: A::Array,
    updates: A::Array,
    /// The array's shape.
    shape: Shape,
}

impl<A: Algebra> KeyedRows<A> {
    /// The rows of an array of a shape that positions and updates fit.
    #[track_caller]
    fn new(target: &A::Array, positions: Vec<A::Array>, updates: &A::Array, shape: Shape) -> KeyedRows<A> {
        let (extents, inner) = shape.split_at(positions.len());
        let written = A::shape(&positions[0]);
        let key = match &positions[..] {
            [only] => only.clone(),
            _ => {
                let within = Tensor::<A, bool, RDyn>::wrap(inside::<A>(&positions, extents));
                let key =
                    positions.iter().zip(extents).fold(None, |key: Option<Tensor<A, i64, RDyn>>, (at, &extent)| {
                        let at = Tensor::wrap(at.clone());
                        Some(match key {
                            None => at,
                            Some(key) => key * extent + at,
                        })
                    });
                within.select(key.expect("positions along at least one axis"), -1).into_array()
            }
        };
        let rows = |array: A::Array, count: usize| {
            let mut shape = Shape::from_slice(&[count]);
            shape.extend_from_slice(inner);
            A::reshape(array, &shape)
        };
        let (count, writes) = (size(extents), size(&written));
        let keys: Vector<A, i64> = Tensor::wrap(A::reshape(key, &[writes]));
        KeyedRows {
            segments: Segments::by_key(&keys, count),
            target: rows(target.clone(), count),
            updates: rows(updates.clone(), writes),
            shape,
        }
    }

    /// The array from its rows.
    #[track_caller]
    fn restored(&self, rows: A::Array) -> A::Array {
        A::reshape(rows, &self.shape)
    }
}

/// Brings positions to one shape, and gives the shape of the written array. The updates must have the shape that a read at
/// these positions has.
///
/// # Errors
///
/// A description of the mismatch.
#[track_caller]
fn fitting<A: Algebra>(
    target: &A::Array,
    positions: Vec<A::Array>,
    updates: &A::Array,
) -> Result<(Vec<A::Array>, Shape), String> {
    let positions = align_indices::<A>(positions).map_err(|(problem, _)| problem)?;
    let (shape, found) = (A::shape(target), A::shape(updates));
    let written = A::shape(&positions[0]);
    let Some(inner) = shape.get(positions.len()..) else {
        return Err(format!("{} arrays of positions into shape {:?}", positions.len(), &shape[..]));
    };
    let expected: Shape = written.iter().chain(inner).copied().collect();
    if expected == found {
        return Ok((positions, shape));
    }
    let (into, read) = (&shape[..], &expected[..]);
    Err(format!("updates of shape {:?} into shape {into:?}, of which the positions read shape {read:?}", &found[..]))
}

/// For each row of updates the combination of all those that have its key.
fn each_with_each<A: Algebra>(op: Binary, updates: A::Array, keys: &A::Array) -> A::Array {
    let ty = A::type_of(&updates);
    let writes = ty.shape[0];
    let pairs: Shape = std::iter::once(&writes).chain(&ty.shape).copied().collect();
    // The first axis runs over the updates, the second over those that each is compared with.
    let spread = |array: A::Array, shape: &[usize], axes: &[usize]| {
        A::view(array.clone(), &AffineMap::broadcast(&A::shape(&array), shape, axes))
    };
    let [own, other] = [0, 1].map(|axis| spread(keys.clone(), &[writes, writes], &[axis]));
    let is_same = spread(A::compare(Comparison::Equal, own, other), &pairs, &[0, 1]);
    let others = spread(updates, &pairs, &(1..pairs.len()).collect::<Axes>());
    let with = A::select(is_same, others, A::constant(Array::full(&pairs, neutral(op, ty.dtype))));
    total_over::<A>(op.into(), with, 1)
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// As [`Tensor::gather`], with this value instead of 0 where a position is outside, or masked out, see [`masked`]. There is
    /// no derivative with respect to this array there, but one with respect to the value.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.gather_or(&Vector::from([2, 0, 7]), -1.0).to_vec(), [3.0, 1.0, -1.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::gather`], and when the value does not broadcast to the shape of the result.
    #[track_caller]
    pub fn gather_or<I: IndexArrays<A>, F: Operand<A, E, R>>(&self, positions: I, fill: F) -> Updates<A, E, R, I> {
        let shape = self.shape();
        let positions = match align_indices::<A>(positions.arrays()) {
            Ok(positions) if positions.len() <= shape.len() => positions,
            Ok(positions) => {
                let problem = format!("{} arrays of positions into shape {:?}", positions.len(), &shape[..]);
                return fail("gather_or", problem, &shape);
            }
            Err((problem, _)) => return fail("gather_or", problem, &shape),
        };
        let within = inside::<A>(&positions, &shape);
        let read: Tensor<A, E, RDyn> = super::apply::apply(
            "gather_or",
            crate::term::Op::Gather,
            std::iter::once(self.array.clone()).chain(positions),
        );
        let found = read.shape();
        let fill = fill.into_operand(read.array());
        let filling = A::shape(&fill);
        if broadcast_shape(&found, &filling).as_ref() != Some(&found) {
            let problem = format!("a value of shape {:?} where shape {:?} is read", &filling[..], &found[..]);
            return fail("gather_or", problem, &found);
        }
        let mask = along_outer::<A>(within, &found);
        Tensor::wrap(A::select(mask, read.into_array(), stretch::<A>(fill, &found)))
    }

    /// This array with `updates[s, r]` written at `[positions[0][s], .., r]`. Where several updates have one position, the last
    /// in row-major order wins. Positions outside are ignored, as are masked ones, see [`masked`].
    ///
    /// The updates have the shape that [`Tensor::gather`] reads at the positions. One element is written at positions without
    /// axes: `x.scatter_set((&i, &j), &value)`. Elements that are written over have derivative 0.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (x, updates) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([10.0, 20.0, 30.0]));
    /// assert_eq!(x.scatter_set(&Vector::from([2, 0, 2]), &updates).to_vec(), [20.0, 2.0, 30.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the positions do not broadcast together or are more than the axes, or the updates have another shape; staged, that
    /// is recorded instead.
    #[track_caller]
    pub fn scatter_set<I: IndexArrays<A>>(&self, positions: I, updates: &Updates<A, E, R, I>) -> Self {
        match fitting::<A>(self.array(), positions.arrays(), updates.array()) {
            Ok((positions, _)) => {
                Tensor::wrap(A::scatter_set(self.array().clone(), updates.array().clone(), positions))
            }
            Err(problem) => fail("scatter_set", problem, &self.shape()),
        }
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    /// This array with every `updates[s, r]` added at `[positions[0][s], .., r]`.
    ///
    /// Positions and updates are those of [`Tensor::scatter_set`]. Applied to zeros it is [`Tensor::scatter`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (x, updates) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([10.0, 20.0, 30.0]));
    /// assert_eq!(x.scatter_add(&Vector::from([2, 0, 2]), &updates).to_vec(), [21.0, 2.0, 43.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::scatter_set`].
    #[track_caller]
    pub fn scatter_add<I: IndexArrays<A>>(&self, positions: I, updates: &Updates<A, E, R, I>) -> Self {
        match fitting::<A>(self.array(), positions.arrays(), updates.array()) {
            Ok((positions, _)) => {
                Tensor::wrap(A::scatter_onto(self.array().clone(), updates.array().clone(), positions))
            }
            Err(problem) => fail("scatter_add", problem, &self.shape()),
        }
    }

    /// Reads, combines and writes each update, so the cost is proportional to the updates. Where several may have one position,
    /// those are combined first: a few by comparing each with each, more as segments.
    #[track_caller]
    fn scatter_by<I: IndexArrays<A>>(
        &self,
        name: &str,
        op: Binary,
        positions: I,
        updates: &Updates<A, E, R, I>,
        combined: impl FnOnce(&Tensor<A, E, RDyn>, &Segments<A>) -> Tensor<A, E, RDyn>,
    ) -> Self {
        let (positions, shape) = match fitting::<A>(self.array(), positions.arrays(), updates.array()) {
            Ok(fitting) => fitting,
            Err(problem) => return fail(name, problem, &self.shape()),
        };
        let _place = ReportedAt::caller();
        let update = |target: &A::Array, updates: A::Array, positions: Vec<A::Array>| {
            let old = A::gather(target.clone(), positions.clone());
            A::scatter_set(target.clone(), A::binary(op, old, updates), positions)
        };
        let writes = size(&A::shape(&positions[0]));
        if writes <= 1 || A::are_distinct(&positions) {
            return Tensor::wrap(update(self.array(), updates.array().clone(), positions));
        }
        let few = are_few(writes, size(&shape[..positions.len()]));
        let rows = KeyedRows::<A>::new(self.array(), positions, updates.array(), shape);
        if few {
            let keys = rows.segments.keys().array().clone();
            let combined = each_with_each::<A>(op, rows.updates.clone(), &keys);
            return Tensor::wrap(rows.restored(update(&rows.target, combined, vec![keys])));
        }
        let combined = combined(&Tensor::wrap(rows.updates.clone()), &rows.segments);
        Tensor::wrap(rows.restored(A::binary(op, rows.target.clone(), combined.into_array())))
    }

    /// This array with its element at `[positions[0][s], .., r]` multiplied by every `updates[s, r]`. The derivative is exact
    /// where elements are 0.
    ///
    /// Positions and updates are those of [`Tensor::scatter_set`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (x, updates) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([10.0, 20.0, 30.0]));
    /// assert_eq!(x.scatter_multiply(&Vector::from([2, 0, 2]), &updates).to_vec(), [20.0, 2.0, 900.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::scatter_set`].
    #[track_caller]
    pub fn scatter_multiply<I: IndexArrays<A>>(&self, positions: I, updates: &Updates<A, E, R, I>) -> Self {
        let product = |updates: &Tensor<A, E, RDyn>, segments: &Segments<A>| updates.segment_product(segments);
        self.scatter_by("scatter_multiply", Binary::Mul, positions, updates, product)
    }

    /// This array with the larger of its element at `[positions[0][s], .., r]` and every `updates[s, r]`; NaN wins. Among
    /// equals the derivative goes to this array's element, else to the first update.
    ///
    /// Positions and updates are those of [`Tensor::scatter_set`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (x, updates) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([2.0, -1.0, 5.0]));
    /// assert_eq!(x.scatter_max(&Vector::from([2, 0, 2]), &updates).to_vec(), [1.0, 2.0, 5.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::scatter_set`].
    #[track_caller]
    pub fn scatter_max<I: IndexArrays<A>>(&self, positions: I, updates: &Updates<A, E, R, I>) -> Self {
        let largest = |updates: &Tensor<A, E, RDyn>, segments: &Segments<A>| updates.segment_max(segments);
        self.scatter_by("scatter_max", Binary::Max, positions, updates, largest)
    }

    /// This array with the smaller of its element at `[positions[0][s], .., r]` and every `updates[s, r]`; NaN wins. Among
    /// equals the derivative goes to this array's element, else to the first update.
    ///
    /// Positions and updates are those of [`Tensor::scatter_set`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (x, updates) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([2.0, -1.0, 5.0]));
    /// assert_eq!(x.scatter_min(&Vector::from([2, 0, 2]), &updates).to_vec(), [-1.0, 2.0, 2.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::scatter_set`].
    #[track_caller]
    pub fn scatter_min<I: IndexArrays<A>>(&self, positions: I, updates: &Updates<A, E, R, I>) -> Self {
        let smallest = |updates: &Tensor<A, E, RDyn>, segments: &Segments<A>| updates.segment_min(segments);
        self.scatter_by("scatter_min", Binary::Min, positions, updates, smallest)
    }
}

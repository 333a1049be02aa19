//! Slices whose ends are known when a program runs: `x.moving_slice(..&j)` by hand, `x[..j]` under `#[differentiable]`, where
//! `j` is the position of a loop or computed from one.
//!
//! Shapes are known when a program is staged, so such a slice has the extent of the whole axis, and a mask that says which of
//! its elements are in it. It is made for sums, products and extremes of those: compiled, they take time proportional to the
//! elements in the slice.

mod operators;

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::neutral_value;
use crate::operation::{Binary, Reduction};
use crate::shape::Value;
use crate::tensor::apply::{fail, stretch};
use crate::tensor::attribute::{MovingRange, Read};
use crate::tensor::index::read_along;
use crate::tensor::operators::full_like;
use crate::tensor::structure::move_axis;
use crate::tensor::subscript::{Part, Plus, check_count, check_positions, sliced};
use crate::tensor::{Element, Float, Number, R0, R1, Rank, Subscript, Tensor, iota, scalar};
use smallvec::SmallVec;
use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Where one axis of an array is read, by ranges whose ends may be computed.
pub enum MovingPart<A: Algebra> {
    /// A position, or a range with plain ends.
    Known(Part<A>),
    /// A range with a computed end.
    Range(MovingRange<A>),
}

/// The index of [`Tensor::moving_slice`]: a [`Subscript`], or ranges whose ends are scalars of `i64`, by value or reference:
/// `..j`, `j..`, `j..k`. If one end of a range is plain, make it an array, `scalar(1)..j`; `#[differentiable]` does so itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index into arrays over `{A}`",
    note = "an index is an integer, a scalar of `i64` or `i32`, a range of `usize` or of scalars of `i64`, or a tuple of these"
)]
pub trait MovingSubscript<A: Algebra> {
    /// As many axes as there are positions, which are removed.
    type Positions: Rank;
    /// The position or range along each axis, outermost first.
    fn moving_parts(self) -> SmallVec<[MovingPart<A>; 6]>;
}

macro_rules! known {
    ($positions:ty: $($t:ty),*) => {
        $(impl<A: Algebra> MovingSubscript<A> for $t {
            type Positions = $positions;
            fn moving_parts(self) -> SmallVec<[MovingPart<A>; 6]> {
                Subscript::<A>::parts(self).into_iter().map(MovingPart::Known).collect()
            }
        })*
    };
}

known!(R1: usize, i64, i32, Tensor<A, i64, R0>, &Tensor<A, i64, R0>, Tensor<A, i32, R0>, &Tensor<A, i32, R0>);
known!(R0: Range<usize>, RangeFrom<usize>, RangeTo<usize>, RangeInclusive<usize>, RangeToInclusive<usize>, RangeFull);

impl<A: Algebra> MovingSubscript<A> for MovingRange<A> {
    type Positions = R0;
    fn moving_parts(self) -> SmallVec<[MovingPart<A>; 6]> {
        SmallVec::from_iter([MovingPart::Range(self)])
    }
}

macro_rules! moving {
    ($($t:ty),*) => {
        $(
            impl<A: Algebra> MovingSubscript<A> for RangeTo<$t> {
                type Positions = R0;
                fn moving_parts(self) -> SmallVec<[MovingPart<A>; 6]> {
                    MovingRange::between(scalar(0), self.end.clone()).moving_parts()
                }
            }

            impl<A: Algebra> MovingSubscript<A> for RangeFrom<$t> {
                type Positions = R0;
                fn moving_parts(self) -> SmallVec<[MovingPart<A>; 6]> {
                    MovingRange::from(self.start.clone()).moving_parts()
                }
            }

            impl<A: Algebra> MovingSubscript<A> for Range<$t> {
                type Positions = R0;
                fn moving_parts(self) -> SmallVec<[MovingPart<A>; 6]> {
                    MovingRange::between(self.start.clone(), self.end.clone()).moving_parts()
                }
            }
        )*
    };
}

moving!(Tensor<A, i64, R0>, &Tensor<A, i64, R0>);

macro_rules! tuples {
    ($(($($name:ident $x:ident),*): $positions:ty;)*) => {
        $(impl<A: Algebra, $($name: MovingSubscript<A>),*> MovingSubscript<A> for ($($name,)*) {
            type Positions = $positions;
            fn moving_parts(self) -> SmallVec<[MovingPart<A>; 6]> {
                let ($($x,)*) = self;
                let mut parts = SmallVec::new();
                $(parts.extend($x.moving_parts());)*
                parts
            }
        })*
    };
}

tuples! {
    (I a): I::Positions;
    (I a, J b): Plus<I::Positions, J::Positions>;
    (I a, J b, K c): Plus<I::Positions, Plus<J::Positions, K::Positions>>;
    (I a, J b, K c, L d): Plus<I::Positions, Plus<J::Positions, Plus<K::Positions, L::Positions>>>;
}

/// A slice of an array whose ends are known when the program runs; see [`Tensor::moving_slice`].
///
/// Operations apply to its elements. Arithmetic with another such slice goes element by element from the first on and, like
/// [`zip`](Iterator::zip), up to the end of the shorter one. Literals, scalars on the right and [`MovingSlice::map`] apply to
/// every element. Finish with a sum, product or extreme, or turn it into an array by [`MovingSlice::padded`].
pub struct MovingSlice<A: Algebra, E: Element, R: Rank> {
    /// All elements along the axes; those that are not in the slice may be anything.
    elements: Tensor<A, E, R>,
    /// Which elements are in the slice.
    inside: Tensor<A, bool, R>,
    /// Where the slice begins along each axis on which it does not begin with the array.
    starts: Vec<(usize, Tensor<A, i64, R0>)>,
}

impl<A: Algebra, E: Element, R: Rank> Clone for MovingSlice<A, E, R> {
    fn clone(&self) -> Self {
        MovingSlice { elements: self.elements.clone(), inside: self.inside.clone(), starts: self.starts.clone() }
    }
}

/// A slice of one axis whose ends are known when the program runs.
pub type MovingVector<A, E> = MovingSlice<A, E, R1>;

/// An axis from a position on, with zeros after its end.
fn from_position<A: Algebra>(array: A::Array, axis: usize, start: &Tensor<A, i64, R0>) -> A::Array {
    let extent = A::shape(&array)[axis];
    let positions = iota::<A>(extent) + start;
    let read = A::gather(move_axis::<A>(array, axis, 0), vec![positions.into_array()]);
    move_axis::<A>(read, 0, axis)
}

/// Which positions along an axis of this shape are in a range, whose start is `None` where it begins with the array.
fn inside<A: Algebra>(
    shape: &[usize],
    axis: usize,
    (start, end): (Option<&Tensor<A, i64, R0>>, &Tensor<A, i64, R0>),
) -> A::Array {
    let extent = shape[axis];
    let positions = iota::<A>(extent);
    let inside = match start {
        Some(start) => positions.ge(start) & positions.lt(end),
        None => positions.lt(end),
    };
    A::view(inside.into_array(), &AffineMap::broadcast(&[extent], shape, &[axis]))
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// A slice whose ends are known when the program runs, such as the position of a loop. Positions and plain ranges follow
    /// [`Tensor::at`] and [`Tensor::slice`]; an end of a moving range that lies outside of the array is moved to the array's
    /// end.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// /// Solves a lower triangular system, by forward substitution.
    /// fn solve<A: Algebra>(l: &Matrix<A, f64>, b: &Vector<A, f64>) -> Vector<A, f64> {
    ///     fold(b.clone(), &iota(b.len()), |x: Vector<A, f64>, i: Scalar<A, i64>| {
    ///         let known = l.moving_slice((&i, ..&i)).dot(&x.moving_slice(..&i));
    ///         let value = (x.at(&i) - known) / l.at((&i, &i));
    ///         x.with(&i, value)
    ///     })
    /// }
    /// let l = Matrix::from([[2.0, 0.0], [1.0, 4.0]]);
    /// assert_eq!(solve(&l, &Vector::from(vec![4.0, 10.0])).to_vec(), [2.0, 2.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there are more positions and ranges than axes, or a plain range goes beyond its axis; staged, that is recorded
    /// instead.
    #[track_caller]
    pub fn moving_slice<S: MovingSubscript<A>>(
        &self,
        subscript: S,
    ) -> MovingSlice<A, E, <S::Positions as Rank>::TakenFrom<R>> {
        const { check_positions::<R, S::Positions>() }
        let parts = subscript.moving_parts();
        if let Err(problem) = check_count(parts.len(), &self.shape()) {
            return MovingSlice::whole(fail("moving_slice", problem, &self.shape()));
        }
        let mut array = self.array().clone();
        // The ranges that move, each with its axis in the result.
        let mut ranges: Vec<(usize, MovingRange<A>)> = Vec::new();
        let mut left = parts.iter().filter(|part| !matches!(part, MovingPart::Known(Part::Position(_)))).count();
        // Innermost first, so that the axes before keep their places; not in a closure, which would hide the caller's line.
        for (axis, part) in parts.into_iter().enumerate().rev() {
            left -= usize::from(!matches!(part, MovingPart::Known(Part::Position(_))));
            array = match part {
                MovingPart::Known(Part::Position(position)) => read_along::<A>(array, axis, position),
                MovingPart::Known(Part::Range(start, end)) => sliced::<A>(array, axis, start, end),
                MovingPart::Range(range) => {
                    ranges.push((left, range));
                    array
                }
            };
        }
        let shape = A::shape(&array);
        let (mut mask, mut starts) = (None, Vec::new());
        for (axis, range) in ranges {
            let (start, end) = range.ends();
            let start = (A::range(start.array()) != (0, 0)).then_some(start);
            let own = inside::<A>(&shape, axis, (start.as_ref(), &end));
            mask = Some(match mask {
                Some(mask) => A::binary(Binary::And, mask, own),
                None => own,
            });
            starts.extend(start.map(|start| (axis, start)));
        }
        match mask {
            Some(mask) => MovingSlice { elements: Tensor::wrap(array), inside: Tensor::wrap(mask), starts },
            None => MovingSlice::whole(Tensor::wrap(array)),
        }
    }

    /// The meaning of `x[..j]` under `#[differentiable]`.
    #[doc(hidden)]
    #[track_caller]
    pub fn index_moving<S: MovingSubscript<A>>(
        &self,
        subscript: S,
    ) -> Read<MovingSlice<A, E, <S::Positions as Rank>::TakenFrom<R>>> {
        Read::new(self.moving_slice(subscript))
    }
}

impl<A: Algebra, E: Element, R: Rank> MovingSlice<A, E, R> {
    /// All of an array.
    fn whole(elements: Tensor<A, E, R>) -> Self {
        let inside = Tensor::wrap(full_like::<A>(elements.array(), Value::Bool(true)));
        MovingSlice { elements, inside, starts: Vec::new() }
    }

    /// The elements from the slice's first one on, and the mask of those in the slice.
    #[track_caller]
    fn shifted(&self) -> (A::Array, A::Array) {
        let (mut elements, mut inside) = (self.elements.array().clone(), self.inside.array().clone());
        for (axis, start) in &self.starts {
            let extent = A::shape(&elements)[*axis] as i64;
            let start = start.max(0).min(extent);
            elements = from_position::<A>(elements, *axis, &start);
            inside = from_position::<A>(inside, *axis, &start);
        }
        (elements, inside)
    }

    /// The array with the slice's elements from the first position on, and a value after them: as long as the axes are that the
    /// slice is of.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.moving_slice(scalar(1)..).padded(0.0).to_vec(), [2.0, 3.0, 0.0]);
    /// ```
    #[track_caller]
    pub fn padded(&self, value: E) -> Tensor<A, E, R> {
        let (elements, inside) = self.shifted();
        let others = full_like::<A>(&elements, value.into_value());
        Tensor::wrap(A::select(inside, elements, others))
    }

    /// The array with `value` at every position outside of the slice.
    #[track_caller]
    fn with_value(&self, value: Value) -> Tensor<A, E, R> {
        let others = full_like::<A>(self.elements.array(), value);
        Tensor::wrap(A::select(self.inside.array().clone(), self.elements.array().clone(), others))
    }

    /// A function of the elements, which gives as many.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 4.0, 9.0]);
    /// assert_eq!(x.moving_slice(..scalar(2)).map(|x| x.sqrt()).sum().item(), 3.0);
    /// ```
    ///
    /// # Panics
    ///
    /// When the function's result has another shape; staged, that is recorded instead.
    #[track_caller]
    pub fn map<F: Element>(&self, function: impl FnOnce(&Tensor<A, E, R>) -> Tensor<A, F, R>) -> MovingSlice<A, F, R> {
        let elements = function(&self.elements);
        let (before, after) = (self.elements.shape(), elements.shape());
        if before != after {
            let problem = format!("a function of shape {:?} gives shape {:?}", &before[..], &after[..]);
            return self.with_elements(fail("map", problem, &before));
        }
        self.with_elements(elements)
    }

    /// Other elements in place of its own.
    fn with_elements<F: Element>(&self, elements: Tensor<A, F, R>) -> MovingSlice<A, F, R> {
        MovingSlice { elements, inside: self.inside.clone(), starts: self.starts.clone() }
    }

    /// The elements of both slices, up to the end of the shorter one.
    #[track_caller]
    fn zipped(&self, other: &Self) -> (A::Array, A::Array, Tensor<A, bool, R>) {
        let (own, others) = (self.elements.shape(), other.elements.shape());
        let cut = |array: &A::Array| {
            let mut array = array.clone();
            for axis in 0..own.len() {
                let extent = own[axis].min(others[axis]);
                if A::shape(&array)[axis] > extent {
                    array = sliced::<A>(array, axis, Bound::Unbounded, Bound::Excluded(extent));
                }
            }
            array
        };
        let ((a, of_a), (b, of_b)) = (self.shifted(), other.shifted());
        let inside = A::binary(Binary::And, cut(&of_a), cut(&of_b));
        (cut(&a), cut(&b), Tensor::wrap(inside))
    }

    /// An operation with a scalar on the right.
    #[track_caller]
    fn with_scalar(&self, op: Binary, scalar: &Tensor<A, E, R0>) -> Self {
        let elements = self.elements.array().clone();
        let scalar = stretch::<A>(scalar.array().clone(), &A::shape(&elements));
        self.with_elements(Tensor::wrap(A::binary(op, elements, scalar)))
    }

    #[track_caller]
    fn combined(&self, op: Binary, other: &Self) -> Self {
        let (a, b, inside) = self.zipped(other);
        MovingSlice { elements: Tensor::wrap(A::binary(op, a, b)), inside, starts: Vec::new() }
    }
}

impl<A: Algebra, E: Number, R: Rank> MovingSlice<A, E, R> {
    #[track_caller]
    fn reduced(&self, op: Reduction) -> Tensor<A, E, R> {
        self.with_value(neutral_value(op, E::DTYPE))
    }

    /// The sum of the elements; 0 where there are none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 4.0]);
    /// assert_eq!(x.moving_slice(..scalar(2)).sum().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn sum(&self) -> Tensor<A, E, R0> {
        self.reduced(Reduction::Sum).sum()
    }

    /// The largest element, as [`Tensor::max_all`]; −∞ or the smallest integer where there is none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 4.0]);
    /// assert_eq!(x.moving_slice(..scalar(2)).max_all().item(), 2.0);
    /// ```
    #[track_caller]
    pub fn max_all(&self) -> Tensor<A, E, R0> {
        self.reduced(Reduction::Max).max_all()
    }

    /// The smallest element, as [`Tensor::min_all`]; +∞ or the largest integer where there is none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 4.0]);
    /// assert_eq!(x.moving_slice(scalar(1)..).min_all().item(), 2.0);
    /// ```
    #[track_caller]
    pub fn min_all(&self) -> Tensor<A, E, R0> {
        self.reduced(Reduction::Min).min_all()
    }

    /// The sum of the products with the elements of another slice, up to the end of the shorter one.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 4.0]);
    /// assert_eq!(x.moving_slice(..scalar(2)).dot(&x.moving_slice(scalar(1)..)).item(), 10.0);
    /// ```
    #[track_caller]
    pub fn dot(&self, other: &Self) -> Tensor<A, E, R0> {
        self.combined(Binary::Mul, other).sum()
    }
}

impl<A: Algebra, E: Element, R: Rank> MovingSlice<A, E, R> {
    /// How many elements there are: an `i64`, which is known when the program runs.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 4.0]);
    /// assert_eq!(x.moving_slice(scalar(1)..scalar(9)).count().item(), 2);
    /// ```
    #[track_caller]
    pub fn count(&self) -> Tensor<A, i64, R0> {
        self.inside.cast::<i64>().sum()
    }
}

impl<A: Algebra, E: Float, R: Rank> MovingSlice<A, E, R> {
    /// The mean of the elements; NaN where there are none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 4.0]);
    /// assert_eq!(x.moving_slice(scalar(1)..).mean().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn mean(&self) -> Tensor<A, E, R0> {
        self.sum() / self.count().cast::<E>()
    }

    /// The product of the elements; 1 where there are none.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 4.0]);
    /// assert_eq!(x.moving_slice(scalar(1)..).product().item(), 8.0);
    /// ```
    #[track_caller]
    pub fn product(&self) -> Tensor<A, E, R0> {
        self.with_value(E::from_number(1.0).into_value()).product()
    }
}

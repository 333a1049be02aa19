//! Reading single positions, and gathering and scattering at arrays of positions.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::shape::{Shape, Value};
use crate::tensor::apply::{align, apply, fail, stretch};
use crate::tensor::operators::full_like;
use crate::tensor::{Element, IntoShape, R0, R1, R2, R3, R4, R5, R6, Rank, Tensor, iota};
use crate::term::Op;
use smallvec::SmallVec;
use std::ops::Range;

/// A position along an axis: known when the program is written, or computed by it.
pub enum Position<A: Algebra> {
    /// A Rust integer.
    Known(i64),
    /// A rank-0 `i64` array.
    Computed(A::Array),
}

/// The index of [`Tensor::at`]: one position, or a tuple of up to six. Each is a Rust integer (`i32`, `i64`, `usize`) or a
/// scalar of `i32` or `i64`, by value or reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index into arrays over `{A}`",
    note = "an index is an integer, a scalar of `i64` or `i32`, a reference to one, or a tuple of these",
    note = "a position from outside enters the closure of `grad` or `vjp` by `w.lift()`, of `jvp` by `w.lift_forward()`; \
            a plain one enters any by `constant(&w)`"
)]
pub trait Index<A: Algebra> {
    /// As many axes as there are positions.
    type Rank: Rank;
    /// The positions, outermost axis first.
    fn positions(self) -> SmallVec<[Position<A>; 6]>;
}

macro_rules! known_positions {
    ($($t:ident)*) => {
        $(impl<A: Algebra> Index<A> for $t {
            type Rank = R1;
            fn positions(self) -> SmallVec<[Position<A>; 6]> {
                // Beyond the range of i64 a position is outside of any array.
                SmallVec::from_iter([Position::Known(i64::try_from(self).unwrap_or(i64::MAX))])
            }
        })*
    };
}

known_positions!(i32 i64 usize);

impl<A: Algebra> Index<A> for Tensor<A, i64, R0> {
    type Rank = R1;
    fn positions(self) -> SmallVec<[Position<A>; 6]> {
        SmallVec::from_iter([Position::Computed(self.array)])
    }
}

impl<A: Algebra> Index<A> for &Tensor<A, i64, R0> {
    type Rank = R1;
    fn positions(self) -> SmallVec<[Position<A>; 6]> {
        self.clone().positions()
    }
}

impl<A: Algebra> Index<A> for Tensor<A, i32, R0> {
    type Rank = R1;
    fn positions(self) -> SmallVec<[Position<A>; 6]> {
        self.cast::<i64>().positions()
    }
}

impl<A: Algebra> Index<A> for &Tensor<A, i32, R0> {
    type Rank = R1;
    fn positions(self) -> SmallVec<[Position<A>; 6]> {
        self.cast::<i64>().positions()
    }
}

macro_rules! tuple_index {
    ($($rank:ident ($($name:ident $x:ident),*);)*) => {
        $(impl<A: Algebra, $($name: Index<A, Rank = R1>),*> Index<A> for ($($name,)*) {
            type Rank = $rank;
            fn positions(self) -> SmallVec<[Position<A>; 6]> {
                let ($($x,)*) = self;
                let mut positions = SmallVec::new();
                $(positions.extend($x.positions());)*
                positions
            }
        })*
    };
}

tuple_index! {
    R1 (I a);
    R2 (I a, J b);
    R3 (I a, J b, K c);
    R4 (I a, J b, K c, L d);
    R5 (I a, J b, K c, L d, M e);
    R6 (I a, J b, K c, L d, M e, N f);
}

macro_rules! array_index {
    ($($rank:ident $count:literal),*) => {
        $(impl<A: Algebra, I: Index<A, Rank = R1>> Index<A> for [I; $count] {
            type Rank = $rank;
            fn positions(self) -> SmallVec<[Position<A>; 6]> {
                self.into_iter().flat_map(I::positions).collect()
            }
        })*
    };
}

array_index!(R1 1, R2 2, R3 3, R4 4, R5 5, R6 6);

/// The positions of [`Tensor::gather`], [`Tensor::scatter`] and their relatives: one array of `i64`, or a tuple of up to four
/// that broadcast to one shape, by value or reference; [`masked`](crate::tensor::masked) adds a mask.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not arrays of positions over `{A}`",
    note = "positions are arrays of `i64`, by value or reference, one or a tuple of up to four of one rank",
    note = "positions from outside enter the closure of `grad` or `vjp` by `w.lift()`, of `jvp` by `w.lift_forward()`; \
            plain ones enter any by `constant(&w)`"
)]
pub trait IndexArrays<A: Algebra> {
    /// The rank of the arrays of positions.
    type Rank: Rank;
    /// As many axes as there are arrays.
    type Count: Rank;
    /// The arrays, outermost axis first; at least one.
    #[track_caller]
    fn arrays(self) -> Vec<A::Array>;
}

impl<A: Algebra, S: Rank> IndexArrays<A> for Tensor<A, i64, S> {
    type Rank = S;
    type Count = R1;
    fn arrays(self) -> Vec<A::Array> {
        vec![self.array]
    }
}

impl<A: Algebra, S: Rank> IndexArrays<A> for &Tensor<A, i64, S> {
    type Rank = S;
    type Count = R1;
    fn arrays(self) -> Vec<A::Array> {
        vec![self.array.clone()]
    }
}

macro_rules! tuple_index_arrays {
    ($($rank:ident ($first:ident $x:ident $(, $name:ident $y:ident)*);)*) => {
        $(impl<A: Algebra, $first: IndexArrays<A, Count = R1> $(, $name: IndexArrays<A, Count = R1, Rank = $first::Rank>)*>
            IndexArrays<A> for ($first, $($name,)*)
        {
            type Rank = $first::Rank;
            type Count = $rank;
            fn arrays(self) -> Vec<A::Array> {
                let ($x, $($y,)*) = self;
                [$x.arrays() $(, $y.arrays())*].concat()
            }
        })*
    };
}

tuple_index_arrays! {
    R1 (I a);
    R2 (I a, J b);
    R3 (I a, J b, K c);
    R4 (I a, J b, K c, L d);
}

/// Stretches index arrays to one shape.
#[track_caller]
pub(super) fn align_indices<A: Algebra>(arrays: Vec<A::Array>) -> Result<Vec<A::Array>, (String, Shape)> {
    let mut aligned: Vec<A::Array> = Vec::with_capacity(arrays.len());
    for array in arrays {
        let mut array = array;
        if let Some(first) = aligned.first().cloned() {
            let (first, stretched) = align::<A>(first, array)?;
            array = stretched;
            if A::shape(&first) != A::shape(&aligned[0]) {
                for earlier in &mut aligned {
                    *earlier = super::apply::stretch::<A>(earlier.clone(), &A::shape(&first));
                }
            }
        }
        aligned.push(array);
    }
    Ok(aligned)
}

/// Reads at positions along the outer axes of an array that has as many.
#[track_caller]
pub(super) fn read_at<A: Algebra>(a: A::Array, positions: SmallVec<[Position<A>; 6]>) -> A::Array {
    let known: Option<SmallVec<[i64; 6]>> = positions
        .iter()
        .map(|position| match position {
            Position::Known(at) => Some(*at),
            Position::Computed(_) => None,
        })
        .collect();
    if let Some(known) = known {
        let map = AffineMap::pick_outer(&A::shape(&a), &known);
        return A::view(a, &map);
    }
    let Some(like) = positions.iter().find_map(|position| match position {
        Position::Known(_) => None,
        Position::Computed(array) => Some(array.clone()),
    }) else {
        unreachable!("not all positions are known")
    };
    let indices = positions.into_iter().map(|position| match position {
        Position::Known(at) => full_like::<A>(&like, Value::I64(at)),
        Position::Computed(array) => array,
    });
    A::gather(a, indices.collect())
}

/// A range of positions along one axis of an array of this shape.
#[track_caller]
pub(super) fn counted<A: Algebra>(range: Range<usize>, shape: &[usize], axis: usize) -> A::Array {
    let counted = iota::<A>(range.len());
    let counted = if range.start == 0 { counted } else { counted + range.start };
    A::view(counted.into_array(), &AffineMap::broadcast(&[range.len()], shape, &[axis]))
}

/// Reads at one position along an axis that exists, which is removed.
#[track_caller]
pub(super) fn read_along<A: Algebra>(array: A::Array, axis: usize, position: Position<A>) -> A::Array {
    let shape = A::shape(&array);
    match position {
        Position::Known(at) => A::view(array, &AffineMap::pick(&shape, axis, at)),
        // At positions along all axes to this one, so that no more of the array is looked at.
        Position::Computed(at) => {
            let grid = &shape[..axis];
            let mut positions: Vec<A::Array> =
                (0..axis).map(|outer| counted::<A>(0..shape[outer], grid, outer)).collect();
            positions.push(stretch::<A>(at, grid));
            A::gather(array, positions)
        }
    }
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// The element, or the inner array, at positions along the outer axes: `x.at(&i)`, `x.at((i, 3))`. The indexed axes are
    /// removed.
    ///
    /// A position outside reads 0, with derivative 0. More positions than axes are a compile error.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!((a.at((1, 0)).item(), a.at(1).to_vec()), (3.0, vec![3.0, 4.0]));
    /// assert_eq!(a.at((5, 0)).item(), 0.0);
    /// ```
    ///
    /// # Panics
    ///
    /// When there are more positions than axes, for dynamic ranks; staged, that is recorded instead.
    #[track_caller]
    pub fn at<I: Index<A>>(&self, index: I) -> Tensor<A, E, <I::Rank as Rank>::TakenFrom<R>> {
        const {
            if let (Some(axes), Some(positions)) = (R::NDIM, I::Rank::NDIM) {
                assert!(positions <= axes, "an array was indexed by more positions than it has axes");
            }
        }
        let positions = index.positions();
        let shape = self.shape();
        if positions.len() > shape.len() {
            return fail("at", format!("{} positions into shape {:?}", positions.len(), &shape[..]), &shape);
        }
        Tensor::wrap(read_at::<A>(self.array.clone(), positions))
    }

    /// `result[s, r] = self[indices[0][s], .., r]`: reads at arrays of positions along the outer axes; 0 outside.
    ///
    /// The result has the axes of the positions, which broadcast together, then those of this array that are not indexed. The
    /// adjoint is [`Tensor::scatter`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.gather(&Vector::from([2, 0, 7])).to_vec(), [3.0, 1.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the arrays of positions do not broadcast together, or are more than the axes; staged, that is recorded instead.
    #[track_caller]
    pub fn gather<I: IndexArrays<A>>(
        &self,
        indices: I,
    ) -> Tensor<A, E, <I::Rank as Rank>::Plus<<I::Count as Rank>::TakenFrom<R>>> {
        match align_indices::<A>(indices.arrays()) {
            Ok(indices) => apply("gather", Op::Gather, std::iter::once(self.array.clone()).chain(indices)),
            Err((problem, _)) => fail("gather", problem, &self.shape()),
        }
    }

    /// The array of outer extents `extents` that has every `self[s, r]` added at `[indices[0][s], .., r]`, and is 0 elsewhere;
    /// positions outside are ignored. Booleans are combined by or. The adjoint of [`Tensor::gather`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.scatter(&Vector::from([2, 0, 2]), 4).to_vec(), [2.0, 0.0, 4.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the arrays of positions do not broadcast together, or their shape differs from the outer extents of this array;
    /// staged, that is recorded instead.
    #[track_caller]
    pub fn scatter<I: IndexArrays<A>, S: IntoShape<Rank = I::Count>>(
        &self,
        indices: I,
        extents: S,
    ) -> Tensor<A, E, <I::Count as Rank>::Plus<<I::Rank as Rank>::TakenFrom<R>>> {
        let extents = extents.into_shape();
        match align_indices::<A>(indices.arrays()) {
            Ok(indices) => {
                let operands = std::iter::once(self.array.clone()).chain(indices);
                apply("scatter", Op::Scatter(extents), operands)
            }
            Err((problem, _)) => fail("scatter", problem, &self.shape()),
        }
    }

    /// The inner array at one position along any axis, which is removed; 0 outside.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.index_axis(1, 0).to_vec(), [1.0, 3.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such axis; staged, that is recorded instead.
    #[track_caller]
    pub fn index_axis<I: Index<A, Rank = R1>>(&self, axis: usize, position: I) -> Tensor<A, E, R::Smaller> {
        let shape = self.shape();
        if let Err(problem) = super::apply::check_axis(axis, &shape) {
            return fail("index_axis", problem, &shape);
        }
        let Some(position) = position.positions().pop() else { unreachable!("a position of rank 1") };
        Tensor::wrap(read_along::<A>(self.array.clone(), axis, position))
    }
}

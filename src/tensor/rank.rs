//! Numbers of axes as types.

/// The number of axes of a [`Tensor`](crate::tensor::Tensor): [`R0`] to [`R6`], or [`RDyn`] where only the run knows it.
///
/// The supertraits say all that operators and broadcasting need, so that rank-generic code asks for `R: Rank` and nothing
/// more: an array goes with one of its own rank, with a scalar, with one that has an axis less or more, and with one of
/// dynamic rank.
pub trait Rank:
    Copy
    + Send
    + Sync
    + 'static
    + Max<Self, Output = Self>
    + Max<R0, Output = Self>
    + Max<RDyn, Output = RDyn>
    + Max<<Self as Rank>::Smaller, Output = Self>
    + Max<<Self as Rank>::Larger, Output = <Self as Rank>::Larger>
{
    /// The number of axes, where the type says it.
    const NDIM: Option<usize>;
    /// One axis less. Rank 0 stays rank 0: operations that remove an axis refuse it.
    type Smaller: Rank + Max<Self, Output = Self>;
    /// One axis more; beyond rank 6 it is dynamic.
    type Larger: Rank + Max<Self, Output = Self::Larger>;
    /// The axes of both.
    type Plus<R: Rank>: Rank;
    /// The axes of `R` that are left when as many as this rank has are removed.
    type TakenFrom<R: Rank>: Rank;
    /// The corresponding dimension type of `ndarray`.
    type Dim: ndarray::Dimension;
}

/// The rank of a broadcast of two arrays: the larger of their ranks.
pub trait Max<R> {
    /// The larger rank; dynamic if one of the two is.
    type Output: Rank;
}

macro_rules! rank {
    ($($(#[$doc:meta])* $name:ident, $ndim:expr, $smaller:ident, $larger:ident, $dim:ident,
        plus: |$p:ident| $plus:ty, taken: |$t:ident| $taken:ty;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
            pub enum $name {}

            impl Rank for $name {
                const NDIM: Option<usize> = $ndim;
                type Smaller = $smaller;
                type Larger = $larger;
                type Plus<$p: Rank> = $plus;
                type TakenFrom<$t: Rank> = $taken;
                type Dim = ndarray::$dim;
            }
        )*
    };
}

type S<R> = <R as Rank>::Smaller;
type L<R> = <R as Rank>::Larger;

rank! {
    /// No axes: a scalar.
    R0, Some(0), R0, R1, Ix0, plus: |R| R, taken: |R| R;
    /// One axis: a vector.
    R1, Some(1), R0, R2, Ix1, plus: |R| L<R>, taken: |R| S<R>;
    /// Two axes: a matrix.
    R2, Some(2), R1, R3, Ix2, plus: |R| L<L<R>>, taken: |R| S<S<R>>;
    /// Three axes.
    R3, Some(3), R2, R4, Ix3, plus: |R| L<L<L<R>>>, taken: |R| S<S<S<R>>>;
    /// Four axes.
    R4, Some(4), R3, R5, Ix4, plus: |R| L<L<L<L<R>>>>, taken: |R| S<S<S<S<R>>>>;
    /// Five axes.
    R5, Some(5), R4, R6, Ix5, plus: |R| L<L<L<L<L<R>>>>>, taken: |R| S<S<S<S<S<R>>>>>;
    /// Six axes.
    R6, Some(6), R5, RDyn, Ix6, plus: |R| L<L<L<L<L<L<R>>>>>>, taken: |R| S<S<S<S<S<S<R>>>>>>;
    /// A number of axes that only the run knows.
    RDyn, None, RDyn, RDyn, IxDyn, plus: |R| RDyn, taken: |R| RDyn;
}

impl<R: Rank> Max<R> for R0 {
    type Output = R;
}

impl<R: Rank> Max<R> for RDyn {
    type Output = RDyn;
}

macro_rules! max {
    ($($a:ident: $($b:ident $larger:ident),*;)*) => {
        $($(impl Max<$b> for $a {
            type Output = $larger;
        })*)*
    };
}

max! {
    R1: R0 R1, R1 R1, R2 R2, R3 R3, R4 R4, R5 R5, R6 R6, RDyn RDyn;
    R2: R0 R2, R1 R2, R2 R2, R3 R3, R4 R4, R5 R5, R6 R6, RDyn RDyn;
    R3: R0 R3, R1 R3, R2 R3, R3 R3, R4 R4, R5 R5, R6 R6, RDyn RDyn;
    R4: R0 R4, R1 R4, R2 R4, R3 R4, R4 R4, R5 R5, R6 R6, RDyn RDyn;
    R5: R0 R5, R1 R5, R2 R5, R3 R5, R4 R5, R5 R5, R6 R6, RDyn RDyn;
    R6: R0 R6, R1 R6, R2 R6, R3 R6, R4 R6, R5 R6, R6 R6, RDyn RDyn;
}

/// The rank that belongs to a dimension type of `ndarray`.
pub trait OfDimension: ndarray::Dimension {
    /// As many axes.
    type Rank: Rank<Dim = Self>;
}

macro_rules! of_dimension {
    ($($dim:ident $rank:ident),*) => {
        $(impl OfDimension for ndarray::$dim {
            type Rank = $rank;
        })*
    };
}

of_dimension!(Ix0 R0, Ix1 R1, Ix2 R2, Ix3 R3, Ix4 R4, Ix5 R5, Ix6 R6, IxDyn RDyn);

/// Anything that gives a shape: `n`, `(n, m)`, `[n, m]`, `()`; or a slice or vector for dynamic rank.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    note = "a shape is `n`, `(n, m)`, `[n, m]`, `()`, a slice or a vector of `usize`"
)]
pub trait IntoShape {
    /// As many axes as the shape has extents.
    type Rank: Rank;
    /// The extents.
    fn into_shape(self) -> crate::shape::Shape;
}

macro_rules! extent {
    ($x:ident) => {
        usize
    };
}

macro_rules! shapes {
    ($($rank:ident $count:literal ($($x:ident),*);)*) => {
        $(
            impl IntoShape for [usize; $count] {
                type Rank = $rank;
                fn into_shape(self) -> crate::shape::Shape {
                    crate::shape::Shape::from_slice(&self)
                }
            }
            impl IntoShape for ($(extent!($x),)*) {
                type Rank = $rank;
                fn into_shape(self) -> crate::shape::Shape {
                    let ($($x,)*) = self;
                    crate::shape::Shape::from_slice(&[$($x),*])
                }
            }
        )*
    };
}

shapes! {
    R0 0 ();
    R1 1 (a);
    R2 2 (a, b);
    R3 3 (a, b, c);
    R4 4 (a, b, c, d);
    R5 5 (a, b, c, d, e);
    R6 6 (a, b, c, d, e, f);
}

impl IntoShape for usize {
    type Rank = R1;
    fn into_shape(self) -> crate::shape::Shape {
        crate::shape::Shape::from_slice(&[self])
    }
}

impl IntoShape for &[usize] {
    type Rank = RDyn;
    fn into_shape(self) -> crate::shape::Shape {
        crate::shape::Shape::from_slice(self)
    }
}

impl IntoShape for Vec<usize> {
    type Rank = RDyn;
    fn into_shape(self) -> crate::shape::Shape {
        crate::shape::Shape::from_vec(self)
    }
}

impl IntoShape for crate::shape::Shape {
    type Rank = RDyn;
    fn into_shape(self) -> crate::shape::Shape {
        self
    }
}

//! The part of a machine that depends on its instructions: an engine implements it, and needs nothing else of this room
//! for that.

use std::ops::{Add, Div, Mul, Sub};

/// How a product meets the matrix that it is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    /// It takes the place of what is there.
    Set,
    /// It is added to what is there.
    Add,
    /// It is subtracted from what is there.
    Subtract,
}

/// Instructions that parts of kernels are compiled for.
pub(crate) trait Target<T>: Copy {
    /// The vectors that hold small matrices, one in each lane.
    type Vector: Vector<T>;

    /// Runs code compiled for them. The closure says `#[inline(always)]`, as the functions that it calls do: else they would be
    /// compiled without the instructions that not every machine has.
    fn run(self, part: impl FnOnce());
}

/// An element of each of several matrices.
pub(crate) trait Vector<T>:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The number of matrices: no more than 16.
    const LANES: usize;
    /// Whether it is a register.
    const IS_REGISTER: bool = true;

    /// One number for all.
    fn all(x: T) -> Self;
    /// The first elements of a slice.
    fn read(from: &[T]) -> Self;
    /// Replaces the first elements of a slice.
    fn write(self, to: &mut [T]);
    /// x − y z
    fn minus_product(self, y: Self, z: Self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// Without its sign.
    fn magnitude(self) -> Self;
    /// The first where this is greater than another, else the second.
    fn if_greater(self, other: Self, yes: Self, no: Self) -> Self;
    /// The first where they are equal, else the second.
    fn if_equal(self, other: Self, yes: Self, no: Self) -> Self;
    /// The elements of both in turn, in two vectors.
    fn zip(self, other: Self) -> [Self; 2];
}

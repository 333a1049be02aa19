//! Loops over the steps that are compiled for each operation.

use crate::array::{Array, Data, ElementType};
use crate::operation::{Binary, BinaryLoop, Once, Unary};

/// Elementwise operations on an element type.
pub(super) trait ElementwiseNumber: ElementType {
    fn unary(op: Unary, x: Self) -> Self;
    fn binary<L: BinaryLoop<Self, Self>>(op: Binary, run: L) -> L::Output;
}

macro_rules! number {
    ($($t:ident $unary:ident $binary:ident;)*) => {
        $(impl ElementwiseNumber for $t {
            fn unary(op: Unary, x: $t) -> $t {
                op.$unary(Once([x]))
            }
            fn binary<L: BinaryLoop<$t, $t>>(op: Binary, run: L) -> L::Output {
                op.$binary(run)
            }
        })*
    };
}

number! {
    f32 run_f32 run_f32;
    f64 run_f64 run_f64;
    i32 run_i32 run_i32;
    i64 run_i64 run_i64;
    bool run_bool run_bool;
}

/// Numbers of all steps of a block, step by step.
pub(super) enum BlockNumbers<'a, T> {
    /// One, in every step and at every place.
    One(T),
    Many(&'a [T]),
}

impl<T: ElementType> BlockNumbers<'_, T> {
    pub(super) fn of(array: &Array) -> Option<BlockNumbers<'_, T>> {
        match T::unwrap(array)? {
            Data::Uniform(_, x) => Some(BlockNumbers::One(*x)),
            dense => dense.as_slice().map(BlockNumbers::Many),
        }
    }

    #[inline]
    pub(super) fn at(&self, position: usize) -> T {
        match self {
            BlockNumbers::One(x) => *x,
            BlockNumbers::Many(numbers) => numbers[position],
        }
    }
}

/// The loop over a block's steps in which a carry is replaced by an operation's result of it and of another number.
pub(super) struct Fold<'a, T> {
    pub(super) state: &'a mut [T],
    pub(super) other: &'a BlockNumbers<'a, T>,
    /// Whether the carry is the operation's left operand.
    pub(super) left: bool,
    pub(super) reverse: bool,
    pub(super) out: &'a mut [T],
}

impl<T: ElementType> Fold<'_, T> {
    /// Runs the loop. The carry of rank 0 is kept out of memory, where the step before would have to be waited for. One number for
    /// all steps is a slice that is read at its beginning, so that an operation has one loop for either kind.
    fn each<F: Fn(T, T) -> T>(self, f: F) {
        let one;
        let (numbers, mask) = match self.other {
            BlockNumbers::One(x) => {
                one = [*x];
                (&one[..], 0)
            }
            BlockNumbers::Many(numbers) => (*numbers, usize::MAX),
        };
        let (count, places) = (self.out.len() / self.state.len(), self.state.len());
        let from = |step: usize| if self.reverse { count - 1 - step } else { step } * places;
        if let [state] = self.state {
            let mut x = *state;
            for step in 0..count {
                let at = from(step);
                x = f(x, numbers[at & mask]);
                self.out[at] = x;
            }
            *state = x;
            return;
        }
        for step in 0..count {
            let from = from(step);
            let out = &mut self.out[from..from + places];
            for (at, (state, out)) in self.state.iter_mut().zip(out).enumerate() {
                *state = f(*state, numbers[(from + at) & mask]);
                *out = *state;
            }
        }
    }
}

impl<T: ElementType> BinaryLoop<T, T> for Fold<'_, T> {
    type Output = ();
    fn run<F: Fn(T, T) -> T>(self, f: F) {
        let left = self.left;
        self.each(|state, other| if left { f(state, other) } else { f(other, state) });
    }
}

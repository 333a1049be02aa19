//! Loops over the steps that are compiled for each operation.

use crate::array::{Array, Data, Scalar};
use crate::operation::{Binary, BinaryLoop, Unary, UnaryLoop};

/// What runs of an element type: every elementwise operation on it.
pub(super) trait Number: Scalar {
    fn unary(op: Unary, x: Self) -> Self;
    fn binary<L: BinaryLoop<Self, Self>>(op: Binary, run: L) -> L::Output;
}

macro_rules! number {
    ($($t:ident $unary:ident $binary:ident;)*) => {
        $(impl Number for $t {
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

/// One application of an operation.
pub(super) struct Once<T, const N: usize>(pub(super) [T; N]);

impl<T: Scalar> UnaryLoop<T> for Once<T, 1> {
    type Output = T;
    fn run<F: Fn(T) -> T>(self, f: F) -> T {
        f(self.0[0])
    }
}

impl<T: Scalar, U> BinaryLoop<T, U> for Once<T, 2> {
    type Output = U;
    fn run<F: Fn(T, T) -> U>(self, f: F) -> U {
        f(self.0[0], self.0[1])
    }
}

/// Numbers of all steps of a block, step by step.
pub(super) enum Numbers<'a, T> {
    /// One, in every step and at every place.
    One(T),
    Many(&'a [T]),
}

impl<T: Scalar> Numbers<'_, T> {
    pub(super) fn of(array: &Array) -> Option<Numbers<'_, T>> {
        match T::unwrap(array)? {
            Data::Uniform(_, x) => Some(Numbers::One(*x)),
            dense => dense.as_slice().map(Numbers::Many),
        }
    }

    #[inline]
    pub(super) fn at(&self, position: usize) -> T {
        match self {
            Numbers::One(x) => *x,
            Numbers::Many(numbers) => numbers[position],
        }
    }
}

/// The loop over a block's steps in which a carry is replaced by an operation's result of it and of another number.
pub(super) struct Fold<'a, T> {
    pub(super) state: &'a mut [T],
    pub(super) other: &'a Numbers<'a, T>,
    /// Whether the carry is the operation's left operand.
    pub(super) left: bool,
    pub(super) reverse: bool,
    pub(super) out: &'a mut [T],
}

impl<T: Scalar> Fold<'_, T> {
    /// The carry of rank 0 is kept out of memory, where the step before would have to be waited for.
    fn each<F: Fn(T, T) -> T>(self, other: impl Fn(usize) -> T, f: F) {
        let places = self.state.len();
        if let [state] = self.state {
            let mut x = *state;
            if self.reverse {
                for (at, out) in self.out.iter_mut().enumerate().rev() {
                    x = f(x, other(at));
                    *out = x;
                }
            } else {
                for (at, out) in self.out.iter_mut().enumerate() {
                    x = f(x, other(at));
                    *out = x;
                }
            }
            *state = x;
            return;
        }
        let count = self.out.len() / places;
        for step in 0..count {
            let from = if self.reverse { count - 1 - step } else { step } * places;
            let out = &mut self.out[from..from + places];
            for (at, (state, out)) in self.state.iter_mut().zip(out).enumerate() {
                *state = f(*state, other(from + at));
                *out = *state;
            }
        }
    }

    fn ordered<F: Fn(T, T) -> T>(self, f: F) {
        match self.other {
            Numbers::One(x) => {
                let x = *x;
                self.each(|_| x, f);
            }
            Numbers::Many(numbers) => {
                let numbers = &numbers[..self.out.len()];
                self.each(|at| numbers[at], f);
            }
        }
    }
}

impl<T: Scalar> BinaryLoop<T, T> for Fold<'_, T> {
    type Output = ();
    fn run<F: Fn(T, T) -> T>(self, f: F) {
        if self.left { self.ordered(f) } else { self.ordered(|state, other| f(other, state)) }
    }
}

//! The elementwise operations: a table of those of one operand, one of those of two and one of comparisons, a row for each.
//! This module is for extending the library, and may change between minor versions.
//!
//! A row is all that the library knows of an operation, but for fast kernels of the processor and rules of simplification. It
//! begins with the operation's documentation, its name in Rust, with a parameter where it has one, its name in printed programs and
//! the element types that it takes, a [`Domain`]. The columns follow, of which none may be missing, in this order:
//!
//! - `float`, `integer`, `bool`: its meaning for elements of such types, those of the domain. The engines compile their loops from
//!   these closures. Zero has no sign: `x + 0.0`, which changes −0.0 to 0.0 and nothing else, stands where the sign of a zero would
//!   tell.
//! - `partial`: its derivative in the algebra's own terms (P 6.3), of the operand `x` and the result `y`: `factor(..)` scales what
//!   comes, `Partial::One` passes it on, `Partial::Zero` stops it, `mask(..)` passes it where a condition holds.
//! - `zero`: whether it takes zeros to zero with finite derivatives, which a read that may fall outside needs in order to move into
//!   it without a guard.
//! - `finite`: whether it is finite for finite operands, but for overflow of sums and products.
//! - `tells_zeros`: whether IEEE 754 gives it other results for 0.0 and for −0.0 than zeros; writers of other languages add 0.0 to
//!   such an operand, as `float` does.
//! - `cost`: what an element costs, in units of a sum: whether to compute a value again or to store it depends on that.
//! - `test`: the interval that tests draw operands from, inside of which the operation is smooth.
//! - `source`: how it is spelled in C, OpenCL's C and Rust, an `OperationSpelling`: a library's function, an expression, or a
//!   helper, which is a constant with its texts in C and in Rust; behind `, of integers` that for integers, where it is another
//!   one.
//! - `stablehlo`: how it is written in StableHLO: one operation, `to.elementwise("sine", &[x])`, one of CHLO, `to.special(..)`, or
//!   several.
//!
//! Choices where a derivative does not exist: `abs` and `sign` have derivative 0 at 0, `relu` has 0 at 0, `sqrt` has
//! +infinity at 0, `floor`, `round` and `sign` have 0 everywhere, `pow(x, y)` has ∂x = 0 at y = 0 and ∂y = 0 at x = 0, `hypot` and
//! `xlogy` have 0 at (0, 0), `logaddexp` has ½ for equal infinities.

#[macro_use]
mod columns;
mod binary;
mod formula;
pub(crate) mod helpers;
mod matrix;
mod parameters;
mod sparse;
mod special;
mod spectral;
mod spelling;
mod stablehlo;
mod unary;

use crate::shape::DType;

pub(crate) use binary::binary_row;
pub use binary::{BINARY_ROWS, Binary};
pub(crate) use columns::{BinaryLoop, BinaryRow, Row, UnaryLoop, UnaryRow};
pub(crate) use formula::{Pointwise, Term};
pub(crate) use matrix::CLUSTER;
pub use matrix::{MatrixOperation, Triangle};
pub use parameters::{Contraction, Extreme, Label, Labels, Order, Reduction};
pub use sparse::{Elimination, SparseKind, SparseOperation};
pub use spectral::{Exponent, SpectralFunction};
pub(crate) use spelling::{HelperFunction, OperationSpelling};
pub(crate) use stablehlo::StableHlo;
pub(crate) use unary::{UNARY_NAMES, unary_row};
pub use unary::{UNARY_ROWS, Unary};

/// The loop over one element, or one pair of elements.
pub(crate) struct Once<T, const N: usize>(pub(crate) [T; N]);

impl<T: Copy> UnaryLoop<T> for Once<T, 1> {
    type Output = T;
    fn run<F: Fn(T) -> T>(self, f: F) -> T {
        f(self.0[0])
    }
}

impl<T: Copy, U> BinaryLoop<T, U> for Once<T, 2> {
    type Output = U;
    fn run<F: Fn(T, T) -> U>(self, f: F) -> U {
        f(self.0[0], self.0[1])
    }
}

/// How the result of an elementwise operation moves with one operand.
pub(crate) enum Partial<A: Pointwise> {
    /// Not at all.
    Zero,
    /// With the operand itself.
    One,
    /// By this factor, an array of the result's type.
    Factor(A::Array),
    /// By one factor and then the other, whose product alone may be out of the range of numbers.
    Factors(A::Array, A::Array),
    /// With the operand itself where the mask, a boolean array, is true; elsewhere not at all.
    Mask(A::Array),
}

/// The kinds of element that an operation takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Domain {
    /// `f32` and `f64`.
    Float,
    /// `i32` and `i64`.
    Integer,
    /// Floats and integers.
    Number,
    /// Truth values.
    Bool,
    /// Every element type.
    Any,
}

impl Domain {
    /// Whether arrays of this element type are accepted.
    pub fn accepts(self, dtype: DType) -> bool {
        match self {
            Domain::Float => dtype.is_float(),
            Domain::Integer => dtype.is_integer(),
            Domain::Number => dtype.is_float() || dtype.is_integer(),
            Domain::Bool => dtype == DType::Bool,
            Domain::Any => true,
        }
    }

    /// How error messages name the accepted element types.
    pub fn name(self) -> &'static str {
        match self {
            Domain::Float => "floats",
            Domain::Integer => "integers",
            Domain::Number => "numbers",
            Domain::Bool => "booleans",
            Domain::Any => "anything",
        }
    }
}

fn factor<A: Pointwise>(term: Term<A>) -> Partial<A> {
    Partial::Factor(term.0)
}

fn mask<A: Pointwise>(term: Term<A>) -> Partial<A> {
    Partial::Mask(term.0)
}

comparison_table! {
    /// a < b.
    Less "lt" {
        any: |a, b| a < b; mirrored: Greater; source: "<"; stablehlo: "LT";
    }
    /// a ≤ b.
    LessEqual "le" {
        any: |a, b| a <= b; mirrored: GreaterEqual; source: "<="; stablehlo: "LE";
    }
    /// a > b.
    Greater "gt" {
        any: |a, b| a > b; mirrored: Less; source: ">"; stablehlo: "GT";
    }
    /// a ≥ b.
    GreaterEqual "ge" {
        any: |a, b| a >= b; mirrored: LessEqual; source: ">="; stablehlo: "GE";
    }
    /// a = b.
    Equal "eq" {
        any: |a, b| a == b; mirrored: Equal; source: "=="; stablehlo: "EQ";
    }
    /// a ≠ b.
    NotEqual "ne" {
        any: |a, b| a != b; mirrored: NotEqual; source: "!="; stablehlo: "NE";
    }
}

#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod tests;

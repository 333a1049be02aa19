//! The formulas of operations on floats, for whatever lanes they are computed on, where products and sums are fused.

use super::functions;
pub(in crate::engine::cpu) use super::functions::{Correction, Formula};
use super::lanes::Lanes;
use super::level::Avx2;
use super::packed::{binary_of_floats, unary_of_floats};
use crate::operation::{Binary, Unary};

/// Whether an operation takes many instructions.
pub(in crate::engine::cpu) fn is_function(op: Unary) -> bool {
    functions::has_vectors(Some(op)) && !matches!(op, Unary::Powi(_))
}

/// The formula of an operation of one operand.
pub(in crate::engine::cpu) fn unary<V: Lanes>(op: Unary, x: V) -> Option<Formula<V>> {
    match unary_of_floats(op, x) {
        Some(value) => Some(Formula::everywhere(value)),
        None => functions::formula::<V, Avx2>(op, x),
    }
}

/// The formula of an operation of two operands.
pub(in crate::engine::cpu) fn binary<V: Lanes>(op: Binary, a: V, b: V) -> Option<Formula<V>> {
    match binary_of_floats(op, a, b) {
        Some(value) => Some(Formula::everywhere(value)),
        None => functions::formula_of_two::<V, Avx2>(op, a, b),
    }
}

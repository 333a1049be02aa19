//! Vector versions of transcendental functions.

use super::{Instructions, Kernel};
use crate::operation::Unary;
use crate::shape::DType;

/// The kernel of an operation that has a vector version.
pub(super) fn unary(_isa: Instructions, _op: Unary, _dtype: DType) -> Option<Kernel> {
    None
}

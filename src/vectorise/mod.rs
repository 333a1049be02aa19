//! The bulk-operation transform (P 5): from programs with `build` to bulk programs.

use crate::term::{Body, Build};

/// The bulk program equal to a source program: no `build` is left, which its type says.
pub fn vectorise(_body: &Body<Build>) -> Body {
    unimplemented!()
}

/// Moves reads towards what they read, where that costs nothing.
pub fn push_reads(_body: &Body) -> Body {
    unimplemented!()
}

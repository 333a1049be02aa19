//! The forms of the language that are read.

use crate::shape::Shape;
use crate::term::{Body, Build, Extension, Never, Op};
use std::sync::Arc;

/// A form of the language that can be read.
pub(super) trait Form: Extension {
    /// Whether it has `build`, an array given element by element.
    const HAS_BUILD: bool;
    /// A `build`, in the form that has it.
    fn build(extents: Shape, body: Arc<Body<Self>>) -> Option<Op<Self>>;
}

impl Form for Never {
    const HAS_BUILD: bool = false;
    fn build(_: Shape, _: Arc<Body<Never>>) -> Option<Op<Never>> {
        None
    }
}

impl Form for Build {
    const HAS_BUILD: bool = true;
    fn build(extents: Shape, body: Arc<Body<Build>>) -> Option<Op<Build>> {
        Some(Op::Extra(Build { extents, body }))
    }
}

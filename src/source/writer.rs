//! The writer of a nest.

use super::expression::SourceExpression;
use super::language::{Helper, Language};
use crate::kernel::stretch::Limit;
use crate::kernel::{Affine, Nest};
use crate::operation::{HelperFunction, Reduction};
use crate::shape::DType;
use crate::term::hash::TermMap;
use std::collections::{BTreeSet, HashMap};

/// The state of writing a nest.
pub(crate) struct NestWriter<'a> {
    pub(crate) language: &'a dyn Language,
    pub(crate) nest: &'a Nest,
    /// The names of buffers.
    pub(crate) name: &'a dyn Fn(u32) -> String,
    pub(crate) helpers: &'a mut BTreeSet<Helper>,
    pub(crate) order: Vec<usize>,
    /// How many loops each value is inside of.
    pub(crate) levels: Vec<usize>,
    pub(crate) uses: Vec<u32>,
    /// Whether each value has a name of its own, wherever it is computed.
    pub(crate) named: Vec<bool>,
    pub(crate) expressions: Vec<Option<SourceExpression>>,
    /// For each store that reduces into a variable: how many loops that is inside of.
    pub(crate) accumulators: Vec<Option<usize>>,
    /// Whether each store that reduces reaches every element once, so that no initial value is needed.
    pub(crate) assigned: Vec<bool>,
    /// How often each buffer is read and written.
    pub(crate) accesses: TermMap<u32, usize>,
    /// How many stores go to each buffer.
    pub(crate) stored: TermMap<u32, usize>,
    /// How many values are inside of all loops.
    pub(crate) innermost: usize,
    /// The lane, if the text being written is one of several sums side by side.
    pub(crate) lane: Option<String>,
    /// How many of the outermost loops are not written as loops: each of their steps runs the text on its own.
    pub(crate) parallel: usize,
    /// Where loops begin and end.
    pub(crate) limits: Vec<Limit>,
    /// The element types of buffers.
    pub(crate) dtype: &'a dyn Fn(u32) -> DType,
    /// Rows that the innermost loop goes through, while it is written.
    pub(crate) rows: RowNames,
    /// Whether the text being written is inside of all loops.
    pub(crate) is_inside: bool,
    /// Whether the arguments of functions are in the ranges of their formulas.
    pub(crate) is_in_range: bool,
    /// How the other loops are merged into one, if they are.
    pub(crate) together: Option<Together>,
    /// How many neighbours along the innermost loop are loaded and stored as one vector.
    pub(crate) width: usize,
    /// Whether sums of floats may be several sums side by side.
    pub(crate) has_vectors: bool,
    /// The helpers that combine with elements which others may combine with at the same time, if they do.
    pub(crate) atomics: Option<fn(Reduction, DType) -> &'static HelperFunction>,
    /// A buffer whose current element has a name wherever it is read or written, and that name.
    pub(crate) given: Option<(u32, &'static str)>,
}

/// Facts about buffers: their names, their sizes and element types, and whether a nest adds to elements that they have already.
#[derive(Clone, Copy)]
pub(crate) struct BufferFacts<'a> {
    pub(crate) name: &'a dyn Fn(u32) -> String,
    pub(crate) count: &'a dyn Fn(u32) -> usize,
    pub(crate) dtype: &'a dyn Fn(u32) -> DType,
    pub(crate) continues: &'a dyn Fn(u32) -> bool,
}

/// The rows of an innermost loop, by buffer and place, with whether they are written.
pub(crate) type RowNames = HashMap<(u32, Affine), (String, bool)>;

/// How the reduced loops are merged into one loop: the steps of an item, and the use of its part of the result.
pub(crate) struct Together {
    /// The first step of those that are shared, and the item's number among those that share them.
    pub(crate) start: String,
    pub(crate) lane: String,
    pub(crate) end: String,
    pub(crate) stride: usize,
    pub(crate) finish: Finish,
}

/// The use of an item's partial reduction.
// Only kernels of devices are shared among work items.
#[cfg_attr(not(feature = "opencl"), allow(dead_code))]
pub(crate) enum Finish {
    /// It is the result.
    Whole,
    /// It is combined with the partial reductions of the other items of its group, whose numbers among those of one result are
    /// `lane`. The combined value is passed to `then` where `there` says that there is a result.
    Group { lanes: usize, group: usize, there: String, then: Box<Finish> },
    /// The same where all items of a group share one result. Subgroups combine their items' values, and the first subgroup
    /// combines those; `then` follows where `there` holds.
    Subgroups { group: usize, there: String, then: Box<Finish> },
    /// It is an element of an array for each reduction, at this place.
    Part { arrays: Vec<String>, place: String },
}

//! The bulk-operation transform (P 5): from programs with `build` to bulk programs. This module is for extending the library,
//! and may change between minor versions.
//!
//! Two steps, so that neither time nor work is more than linear on a shared graph. [`vectorise`] removes the builds (figures 9
//! and 11): every node becomes one bulk node with an outer axis for each build variable that it depends on, and an index into
//! it becomes a gather. Parts of a loop's steps that are independent of other steps are computed for all steps at once.
//! [`push_reads`] then moves gathers and views towards their sources (figure 10), where all uses of a node are reads and the
//! move costs nothing.

mod fission;
mod guard;
mod lift;
mod push;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;

pub(crate) use fission::can_be_split;
pub use lift::vectorise;
pub use push::push_reads;
pub(crate) use push::{in_order, is_still, push_and_simplify, push_gathers};

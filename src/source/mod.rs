//! Loop nests as text, in languages with C's expressions and blocks: exporters write it to files, and OpenCL's engine compiles
//! it.
//!
//! All of them are written from the loop nests that the engines run (see [`kernel`](crate::kernel)): a function for each
//! procedure, a block for each step, memory planned ahead.

pub(crate) mod c;
pub(crate) mod expression;
pub(crate) mod helpers;
pub(crate) mod inline;
pub(crate) mod isolated;
pub(crate) mod language;
pub(crate) mod nest;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod procedure;
pub(crate) mod product;
mod ranges;
mod rows;
pub(crate) mod rust;
mod sort;
mod steps;
pub(crate) mod stretch;
mod sweeps;
pub(crate) mod text;
pub(crate) mod tidy;
// Only kernels of devices are shared among work items.
#[cfg_attr(not(feature = "opencl"), allow(dead_code))]
pub(crate) mod together;
mod values;
mod vectors;
pub(crate) mod writer;

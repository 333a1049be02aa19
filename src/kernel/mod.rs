//! Loop nests, which engines run and exporters print.
//!
//! A bulk program is lowered to a [`Procedure`]: buffers, and steps that fill them in order. Nearly all steps are
//! [nests](Nest), perfectly nested loops whose body is a graph of scalar operations: elementwise work, views, reads at
//! computed positions, guards and reductions fuse into them. Which values get a buffer, and which are computed again where
//! they are needed, is decided by cost ([`roots`]); values of one domain share a nest. Steps that go along the rows of the
//! same arrays run together, for some rows after the other ([`blocks`]), and so do the steps of loops ([`loop_blocks`]).

mod access;
mod arrange;
#[cfg(test)]
mod arrange_tests;
mod blocks;
mod buffer;
mod call;
mod desugar;
mod draft;
mod emit;
mod loop_blocks;
mod lower;
mod nest;
mod print;
mod procedure;
mod product;
mod recompute;
#[cfg(test)]
mod recompute_tests;
mod resumed;
#[cfg(test)]
mod resumed_tests;
pub(crate) mod roots;
mod rows;
pub(crate) mod stretch;
mod unread;
mod writes;
// Looks at nodes are counted in builds with debug assertions only.
#[cfg(all(test, debug_assertions))]
mod tests;

pub(crate) use access::{Affine, Guard, Guards};
pub(crate) use buffer::{BufferId, BufferSource, ProcedureBuffer};
pub(crate) use call::{Call, CallKind, Sort};
#[cfg(feature = "opencl")]
pub(crate) use lower::lower_unblocked;
pub(crate) use lower::{LoweredProgram, lower, lower_in_place, lower_in_place_unblocked, lower_resuming, lower_traced};
pub(crate) use nest::{Nest, NestValue, Store, StoreMode, ValueId};
#[cfg(feature = "opencl")]
pub(crate) use procedure::Epilogue;
pub(crate) use procedure::{
    BATCH, COLUMN, Combined, Conditional, Loop, MatrixProduct, Procedure, ROW, RowBlocks, SUMMED, Step, Strided,
    SweepLoop, writes_apart,
};
pub(crate) use writes::{additions, scattered_onto, turned_scatter};

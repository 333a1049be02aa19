//! Programs as data: operations, nodes in flat arenas, and bodies, which are closed sub-programs. This module is for extending
//! the library, and may change between minor versions.
//!
//! One language serves all passes. It comes in two forms that differ in one operation: [`Op<Build>`] may contain `build`,
//! as users write it; [`Op<Never>`], the *bulk* form and the default, can not: its extra operation has no values.
//! Vectorising is the function from the first to the second.

mod body;
pub(crate) mod content;
mod cost;
mod custom;
pub(crate) mod distinct;
pub(crate) mod ends;
mod graph;
pub(crate) mod hash;
pub mod infer;
mod intern;
pub mod interpret;
mod interpreter;
mod op;
pub mod print;
mod program;
pub(crate) mod recurrence;
pub(crate) mod reference;
pub(crate) mod schedule;
mod sweeps;
mod validate;
pub(crate) mod visits;

pub(crate) use body::Widened;
pub use content::{MAX_NESTED_NODES, MAX_NESTING};
pub use cost::Cost;
pub use graph::Graph;
pub use interpreter::{Arrays, Interpreter};
pub use op::{
    Body, Branch, Build, Checkpoints, Custom, Extension, Never, Node, NodeId, Op, Scan, Steps, Sweep, Sweeps,
};
pub use program::Program;
pub use reference::interpret_source;
pub(crate) use sweeps::advance_by;
#[cfg(debug_assertions)]
pub use visits::visits;

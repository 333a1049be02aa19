//! The table of docs/semantics.md, a test per row, each on every way to run a program: eagerly, its eager gradient, staged,
//! its staged gradient, and forward mode both ways; in f64 and f32.

// Some rows are about operations that seem to do nothing.
#![allow(clippy::erasing_op, clippy::identity_op, clippy::modulo_one, clippy::eq_op)]

#[path = "semantics/harness.rs"]
#[macro_use]
mod harness;

#[macro_use]
mod named_functions;

#[path = "semantics/bad_input.rs"]
#[macro_use]
mod bad_input;
#[path = "semantics/bad_matrices.rs"]
mod bad_matrices;
#[path = "semantics/choices.rs"]
mod choices;
#[path = "semantics/integers.rs"]
mod integers;
#[path = "semantics/loops.rs"]
mod loops;
#[path = "semantics/numbers.rs"]
mod numbers;
#[path = "semantics/positions.rs"]
mod positions;
#[path = "semantics/ranges.rs"]
mod ranges;
#[path = "semantics/table.rs"]
mod table;
#[path = "semantics/writes.rs"]
mod writes;
#[path = "semantics/written.rs"]
mod written;

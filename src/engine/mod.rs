//! Engines: what runs loop nests.

pub mod cpu;
mod memory;
pub(crate) mod report;

pub use report::{Kernel, Report};

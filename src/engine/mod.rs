//! Engines: what runs loop nests.

pub mod cpu;
mod memory;
mod report;

pub use report::{Kernel, Report};

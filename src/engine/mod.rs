//! Engines: what runs loop nests.

pub mod cpu;
mod report;

pub use report::{Kernel, Report};

//! Programs on plain arrays, as far as there is memory.

mod apply;
mod failure;
mod program;
mod recurrence;
mod run;
mod sweeps;

pub(crate) use apply::{apply, computed, is_true};
pub(crate) use failure::Failure;
pub(crate) use run::{run, run_scan, run_sweeps};
#[cfg(test)]
pub(crate) use sweeps::run_counted;

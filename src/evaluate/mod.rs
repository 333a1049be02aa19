//! Programs on plain arrays, as far as there is memory.

mod apply;
mod program;
mod recurrence;
mod run;
mod sweeps;

pub(crate) use apply::{apply, computed, is_true};
pub(crate) use run::{Failure, run, run_scan};
#[cfg(test)]
pub(crate) use sweeps::run_counted;
pub(crate) use sweeps::run_sweeps;

//! How much code a program may have.
//!
//! Writing an instruction takes as long as thousands of them take to run, so that code which runs rarely, on few elements, is not
//! worth it. Estimates decide, not clocks: a program has the same code wherever it is compiled.

use super::order::instructions;
use crate::kernel::Nest;
use std::sync::{Mutex, PoisonError};

/// Nanoseconds in which an instruction is written.
const WRITING: f64 = 600.0;
/// Nanoseconds that code gains for each instruction that runs, and for each value, whose loop of its own it saves.
const INSTRUCTION: f64 = 0.1;
const VALUE: f64 = 4.0;
/// Code gains what it takes in so many runs of a program.
const RUNS: f64 = 200.0;
/// Nanoseconds in which code is written that gains less.
const FREE: f64 = 12e6;
/// Instructions of a nest at most. Longer code comes from memory, as slowly as tiles run.
const LONGEST: f64 = 2e5;

/// About how many instructions the code of a nest is; `None` where these are too many. The rest of a vector axis has code of its own.
pub(super) fn length(nest: &Nest) -> Option<f64> {
    Some(2.0 * instructions(nest)).filter(|&length| length <= LONGEST)
}

/// The time that the code of a program takes to write.
#[derive(Debug)]
pub(super) struct Budget(Mutex<f64>);

impl Default for Budget {
    fn default() -> Budget {
        Budget(Mutex::new(FREE))
    }
}

impl Budget {
    /// Whether a nest may have code of this length, which runs so many instructions, so often in a run of the program.
    pub(super) fn allows(&self, nest: &Nest, length: f64, cost: f64, runs: usize) -> bool {
        let takes = WRITING * length;
        let gains = (INSTRUCTION * cost + VALUE * nest.values.len() as f64) * runs as f64 * RUNS;
        if takes <= gains {
            return true;
        }
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = takes <= *left;
        if is_left {
            *left -= takes;
        }
        is_left
    }
}

//! What programs are compiled for.

use super::native::CodeArena;
use super::prefetch::{BlockAdvance, Prefetch};
use super::vector::Instructions;
use crate::kernel::BufferId;

/// Taken for the steps of a loop whose number is not known.
pub(super) const SOME_STEPS: usize = 64;

/// The instructions of kernels, and where machine code is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) isa: Instructions,
    /// `None` where no machine code is written.
    pub(super) code: Option<&'a CodeArena>,
    /// About how often steps run in one run of the program.
    pub(super) runs: usize,
    /// For the procedure of a block of rows that others follow.
    pub(super) advance: Option<&'a BlockAdvance>,
    /// For a nest that brings something into the cache.
    pub(super) prefetched: &'a [Prefetch],
    /// Whether it is for the steps of the whole program. Results of steps in loops and conditionals are read by others.
    pub(super) is_outermost: bool,
    /// The buffers of the procedure that are written past the cache.
    pub(super) streamed: &'a [BufferId],
}

impl<'a> Target<'a> {
    /// Kernels of the widest instructions of this machine, without machine code.
    pub(super) fn kernels() -> Target<'static> {
        Target::of(Instructions::detect(), None)
    }

    /// For steps that run once.
    pub(super) fn of(isa: Instructions, code: Option<&'a CodeArena>) -> Target<'a> {
        Target { isa, code, runs: 1, advance: None, prefetched: &[], is_outermost: true, streamed: &[] }
    }

    /// For the steps of a loop of so many.
    pub(super) fn repeated(self, times: usize) -> Target<'a> {
        Target { runs: self.runs.saturating_mul(times), ..self }
    }
}

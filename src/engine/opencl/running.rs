//! Runs: what launches kernels, and loops while they are run.

use super::code::{AHEAD, DeviceCode, SweepsCode};
use super::driver::DeviceKernel;
use super::memory::{DeviceShare, DeviceView};
use super::space::{DeviceSweepsSpace, Turns};
use crate::kernel::SweepLoop;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::MutexGuard;

/// Launches kernels, in one run.
pub(super) struct Launcher<'a> {
    pub(super) shared: &'a DeviceShare,
    /// The number of the first kernel in the source.
    pub(super) first: usize,
    pub(super) kernels: RefCell<MutexGuard<'a, Vec<DeviceKernel>>>,
}

/// The places of some arrays.
pub(super) type Views<'a> = SmallVec<[DeviceView<'a>; 8]>;

/// A loop with a condition, or one with several sweeps, while it is run.
pub(super) struct RunningLoop<'a, 'k> {
    pub(super) launcher: &'a Launcher<'k>,
    /// The code of which the loop is a step.
    pub(super) code: &'a DeviceCode,
    pub(super) lowered: &'a SweepLoop,
    pub(super) inside: &'a SweepsCode,
    pub(super) space: &'a mut DeviceSweepsSpace,
    pub(super) arguments: Views<'a>,
    pub(super) results: Views<'a>,
    /// Which place of each sweep's carries is read next; none before a sweep's first step, which reads them where they come
    /// from.
    pub(super) states: Vec<Option<usize>>,
    pub(super) ahead: Ahead,
    /// The first step that tapes have memory for.
    pub(super) from: usize,
    pub(super) taped: usize,
}

/// Steps that were run ahead.
#[derive(Default)]
pub(super) struct Ahead {
    /// The number of the first.
    pub(super) first: usize,
    /// For each of them, and maybe one more, whether there is such a step.
    pub(super) holds: Vec<bool>,
    /// The places of each step's next carries.
    pub(super) states: SmallVec<[usize; AHEAD]>,
    /// Whether their kept values are on the tape, which had memory for this step first in that case.
    pub(super) keeps: bool,
    pub(super) from: usize,
    /// How many steps were run at a time the last time.
    pub(super) count: usize,
}

/// The place of a sweep's carries.
pub(super) fn carried<'v>(turns: &'v [Turns], state: Option<usize>, starts: &[DeviceView<'v>]) -> Views<'v> {
    match state {
        Some(place) => turns.iter().map(|turn| turn.view(place)).collect(),
        None => starts.iter().copied().collect(),
    }
}

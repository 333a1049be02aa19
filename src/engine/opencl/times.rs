//! The times of a program's launches.

use super::driver::Event;
use super::failure::DeviceResult;
use std::collections::BTreeMap;

/// So many launches are remembered before their times are asked for.
const REMEMBERED: usize = 1 << 12;

/// The times of launches, by the first kernel of the step that they are of.
#[derive(Default, Debug)]
pub(super) struct Times {
    /// Runs of the program.
    pub(super) calls: usize,
    /// Seconds of all runs together.
    pub(super) seconds: BTreeMap<usize, f64>,
    /// The first kernel of the step that is launched now, if it has one.
    step: Option<usize>,
    launched: Vec<(usize, Event)>,
}

impl Times {
    /// Assigns later launches to the step with this first kernel.
    pub(super) fn begin(&mut self, step: Option<usize>) {
        self.step = step;
    }

    /// Remembers a launch.
    pub(super) fn keep(&mut self, event: Event) -> DeviceResult<()> {
        self.launched.extend(self.step.map(|step| (step, event)));
        if self.launched.len() >= REMEMBERED { self.collect() } else { Ok(()) }
    }

    /// Collects the times of the launches, once they are complete.
    pub(super) fn collect(&mut self) -> DeviceResult<()> {
        for (step, event) in std::mem::take(&mut self.launched) {
            event.wait()?;
            *self.seconds.entry(step).or_default() += event.seconds()?;
        }
        Ok(())
    }
}

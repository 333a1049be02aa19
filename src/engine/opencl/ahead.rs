//! Steps that run before the host knows whether they exist: it asks for the conditions of several steps at a time.
//!
//! A step beyond the last does no harm: its carries and kept values lie after those of the last step, where nobody reads them.

use super::code::AHEAD;
use super::failure::DeviceResult;
use super::memory::DeviceView;
use super::running::{Ahead, RunningLoop, carried};
use crate::term::Checkpoints;

/// The most bytes for the carries and kept values of steps that run ahead.
const BYTES: usize = 1 << 24;

impl Ahead {
    /// Forgets the steps.
    pub(super) fn clear(&mut self) {
        self.holds.clear();
        self.states.clear();
    }

    /// Whether there is a step, if that is known.
    pub(super) fn holds(&self, step: usize) -> Option<bool> {
        self.holds.get(step.checked_sub(self.first)?).copied()
    }

    /// The place of a step's next carries, if the step was run.
    pub(super) fn state(&self, step: usize, keeps: bool) -> Option<usize> {
        if keeps != self.keeps {
            return None;
        }
        self.states.get(step.checked_sub(self.first)?).copied()
    }
}

impl RunningLoop<'_, '_> {
    /// How many conditions are asked for from a step on, and how many steps are run ahead: one less, where it is expected that
    /// those are all.
    fn wanted(&self, step: usize, keeps: bool) -> (usize, usize) {
        let of_step = self.kept_bytes(0);
        let own = if keeps { of_step } else { 0 };
        let mut most = BYTES / self.state_bytes(0).saturating_add(own).max(1);
        if let (true, Checkpoints::Bytes(bound)) = (keeps, self.lowered.sweeps.checkpoints) {
            most = most.min(bound.saturating_sub(self.taped) / of_step.max(1));
        }
        if !self.inside.runs_ahead {
            most = 0;
        }
        let (conditions, steps) = match self.space.expected.and_then(|expected| expected.checked_sub(step)) {
            Some(rest) if rest < AHEAD => (rest + 1, rest),
            Some(_) => (AHEAD, AHEAD),
            None => {
                let count = (2 * self.ahead.count).clamp(1, AHEAD);
                (count, count)
            }
        };
        let steps = steps.min(most);
        (conditions.min(steps + 1), steps)
    }

    /// Runs steps from this one on, and asks for the condition of each.
    pub(super) fn run_ahead(&mut self, step: usize, keeps: bool) -> DeviceResult<()> {
        let (conditions, steps) = self.wanted(step, keeps);
        self.ahead =
            Ahead { first: step, keeps, from: self.from, count: self.ahead.count.max(steps), ..Ahead::default() };
        self.has_places(0, steps + 1)?;
        let mut state = self.states[0];
        for at in 0..conditions - 1 {
            self.ask(state, at)?;
            state = Some(self.run_one_ahead(step + at, state, keeps)?);
        }
        self.ask(state, conditions - 1)?;
        let (launcher, holds) = (self.launcher, self.space.holds.clone());
        let last = || match conditions == steps {
            true => self.run_one_ahead(step + steps - 1, state, keeps).map(|_| ()),
            false => Ok(()),
        };
        let holds = launcher.shared.holds(DeviceView::from(&holds), conditions, last)?;
        self.ahead.holds = holds;
        Ok(())
    }

    fn run_one_ahead(&mut self, step: usize, state: Option<usize>, keeps: bool) -> DeviceResult<usize> {
        let next = self.next_place(0, state);
        self.run_step(0, step, (state, next), keeps)?;
        self.ahead.states.push(next);
        Ok(next)
    }

    /// Launches the condition of a state of the first sweep.
    fn ask(&mut self, state: Option<usize>, at: usize) -> DeviceResult<()> {
        let code = self.inside.condition.as_ref().expect("a loop with a condition");
        let space = &mut *self.space;
        let (starts, _) = self.lowered.sweeps.operands(0);
        let turns = &space.sweeps[0].turns;
        let mut given = carried(turns, state, &self.arguments[starts]);
        given.extend_from_slice(&self.arguments[self.lowered.sweeps.captures()..]);
        let holds = DeviceView::from(&space.holds).moved(at);
        let own = space.condition.as_mut().expect("a condition has memory");
        self.launcher.run(code, own, &given, &[holds])
    }
}

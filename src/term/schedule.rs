//! The order in which engines run the steps of loops with several sweeps: which steps are kept, and which are run again.
//!
//! With evenly spaced checkpoints, every sweep stores its carries at each of them; before a later sweep goes over the steps
//! between two checkpoints, the earlier ones go over them again and keep everything. With a number of snapshots, two sweeps
//! follow the binomial schedule (Griewank and Walther, Algorithm 799): the first never stores more than that many states, and
//! is run again from the nearest.

use crate::term::{Checkpoints, advance_by};
use smallvec::SmallVec;
use std::ops::Range;

/// Counts of the work done, for tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// How many steps of the first sweep were run.
    pub(crate) steps: usize,
    /// How many of those kept the values that later sweeps read.
    pub(crate) kept: usize,
    /// How many states of the first sweep were stored at once at most.
    pub(crate) snapshots: usize,
}

/// Runs the steps of a loop. Every sweep has a *state*, its carries, and *tapes* hold the values that sweeps keep of their
/// steps.
pub(crate) trait Runner {
    /// The reason that a step is not run.
    type Failure;

    /// The number of steps, where it is known before any is run.
    fn count(&self) -> Option<usize>;
    /// Whether there is a step of this number, by the first sweep's state. If there is, it will be run, with or without keeping
    /// (`keeps`).
    fn goes_on(&mut self, step: usize, keeps: bool) -> Result<bool, Self::Failure>;
    /// Makes a sweep begin with its first state, which will be needed `again` or not.
    fn begin(&mut self, sweep: usize, again: bool);
    /// Runs one step of a sweep. If it `keeps`, puts the values that later sweeps read on the tapes.
    fn step(&mut self, sweep: usize, step: usize, keeps: bool) -> Result<(), Self::Failure>;
    /// Stores a sweep's state under a number, and replaces an earlier one.
    fn store(&mut self, sweep: usize, number: usize) -> Result<(), Self::Failure>;
    /// Makes a sweep continue with the state that is stored under a number, which will be needed `again` or not.
    fn restore(&mut self, sweep: usize, number: usize, again: bool) -> Result<(), Self::Failure>;
    /// Makes a sweep's state its result.
    fn end(&mut self, sweep: usize) -> Result<(), Self::Failure>;
    /// Clears the tapes; later entries belong to steps from this one on.
    fn restart(&mut self, from: usize);
    /// The bytes on the tapes.
    fn taped(&self) -> usize;
    /// The bytes that all sweeps keep of a step, and the bytes of their states; each at least 1.
    fn sizes(&self) -> (usize, usize);
}

/// Runs a loop of so many sweeps.
///
/// # Errors
///
/// The first failure of a step.
pub(crate) fn run<R: Runner>(runner: &mut R, sweeps: usize, checkpoints: Checkpoints) -> Result<Counts, R::Failure> {
    let begun = begin(runner, sweeps, checkpoints)?;
    finish(runner, begun)
}

/// Runs the first of so many sweeps, and keeps the values of the last steps that [`finish`] needs.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn begin<R: Runner>(runner: &mut R, sweeps: usize, checkpoints: Checkpoints) -> Result<Begun, R::Failure> {
    let mut schedule = Schedule { runner, sweeps, counts: Counts::default() };
    let rest = schedule.begin(checkpoints)?;
    Ok(Begun { sweeps, counts: schedule.counts, rest })
}

/// Runs the other sweeps.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn finish<R: Runner>(runner: &mut R, begun: Begun) -> Result<Counts, R::Failure> {
    let mut schedule = Schedule { runner, sweeps: begun.sweeps, counts: begun.counts };
    schedule.finish(begun.rest)?;
    Ok(schedule.counts)
}

/// A loop whose first sweep is done.
#[derive(Debug)]
pub(crate) struct Begun {
    sweeps: usize,
    counts: Counts,
    rest: RemainingWork,
}

/// The work that is left.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "runs that have memory ask for none")]
enum RemainingWork {
    Nothing,
    Evenly(Stretches),
    Binomially(Snapshots),
}

/// Evenly spaced checkpoints. The tapes hold the kept values of the steps after the last checkpoint.
#[derive(Debug)]
struct Stretches {
    /// The steps between two checkpoints.
    length: usize,
    /// The bytes that the tapes may take.
    bound: usize,
    steps: usize,
    count: usize,
}

/// Stored states of the first of two sweeps.
#[derive(Debug)]
struct Snapshots {
    /// The steps that stored states are before.
    stored: SmallVec<[usize; 32]>,
    /// How many states may be stored.
    most: usize,
    /// Everything is kept of at most so many steps at a time.
    leaf: usize,
    /// The steps whose values are all on the tapes.
    taped: Range<usize>,
}

struct Schedule<'a, R> {
    runner: &'a mut R,
    sweeps: usize,
    counts: Counts,
}

impl<R: Runner> Schedule<'_, R> {
    fn begin(&mut self, checkpoints: Checkpoints) -> Result<RemainingWork, R::Failure> {
        match checkpoints {
            _ if self.sweeps == 0 => Ok(RemainingWork::Nothing),
            _ if self.sweeps == 1 => {
                self.runner.begin(0, false);
                self.run_all()?;
                self.runner.end(0)?;
                Ok(RemainingWork::Nothing)
            }
            Checkpoints::All => self.even(usize::MAX),
            Checkpoints::Every(steps) => self.even(steps.max(1)),
            Checkpoints::Snapshots(snapshots) => {
                let count = self.count()?;
                match self.sweeps > 2 {
                    true => self.even(count.div_ceil(snapshots.max(1)).max(1)),
                    false => self.binomial(count, snapshots.max(1), 1),
                }
            }
            Checkpoints::Bytes(bound) => match self.evenly(usize::MAX, bound)? {
                Some(stretches) => Ok(RemainingWork::Evenly(stretches)),
                None => self.within(bound),
            },
        }
    }

    /// As [`Checkpoints::Bytes`], where everything takes more than so many.
    fn within(&mut self, bound: usize) -> Result<RemainingWork, R::Failure> {
        let (of_step, of_state) = self.runner.sizes();
        let count = self.count()?;
        if self.sweeps > 2 {
            // Storage, of n / l states and l steps, is least here.
            let length = (count as f64 * of_state as f64 / of_step as f64).sqrt();
            return self.even((length as usize).max(1));
        }
        let (snapshots, leaf) = (bound / 2 / of_state, bound / 2 / of_step);
        self.binomial(count, snapshots.max(1), leaf.max(1))
    }

    fn finish(&mut self, rest: RemainingWork) -> Result<(), R::Failure> {
        match rest {
            RemainingWork::Nothing => Ok(()),
            RemainingWork::Binomially(snapshots) => self.finish_binomial(snapshots),
            RemainingWork::Evenly(stretches) => {
                let bound = stretches.bound;
                if self.finish_evenly(&stretches)? {
                    return Ok(());
                }
                // All steps are run again.
                match self.within(bound)? {
                    RemainingWork::Evenly(stretches) => {
                        let done = self.finish_evenly(&stretches)?;
                        assert!(done, "nothing is larger than all memory");
                        Ok(())
                    }
                    rest => self.finish(rest),
                }
            }
        }
    }

    /// The number of steps.
    fn count(&mut self) -> Result<usize, R::Failure> {
        match self.runner.count() {
            Some(count) => Ok(count),
            None => {
                self.runner.begin(0, true);
                self.run_all()
            }
        }
    }

    /// Runs all steps of the first sweep without keeping any, and counts them.
    fn run_all(&mut self) -> Result<usize, R::Failure> {
        let mut step = 0;
        while self.runner.goes_on(step, false)? {
            self.step(0, step, false)?;
            step += 1;
        }
        Ok(step)
    }

    fn step(&mut self, sweep: usize, step: usize, keeps: bool) -> Result<(), R::Failure> {
        self.runner.step(sweep, step, keeps)?;
        if sweep == 0 {
            self.counts.steps += 1;
            self.counts.kept += usize::from(keeps);
        }
        Ok(())
    }

    /// A sweep over some steps in its direction.
    fn stretch(&mut self, sweep: usize, steps: Range<usize>, keeps: bool) -> Result<(), R::Failure> {
        for at in 0..steps.len() {
            let step = if sweep.is_multiple_of(2) { steps.start + at } else { steps.end - 1 - at };
            self.step(sweep, step, keeps)?;
        }
        Ok(())
    }

    fn even(&mut self, length: usize) -> Result<RemainingWork, R::Failure> {
        let stretches = self.evenly(length, usize::MAX)?;
        Ok(RemainingWork::Evenly(stretches.expect("nothing is larger than all memory")))
    }

    /// The first sweep with a checkpoint every `length` steps; `None` where more than so many bytes were kept.
    fn evenly(&mut self, length: usize, bound: usize) -> Result<Option<Stretches>, R::Failure> {
        // A single stretch needs no state.
        let stores = length < usize::MAX;
        let (mut steps, mut first, mut count) = (0, 0, 1);
        self.runner.restart(0);
        self.runner.begin(0, bound < usize::MAX);
        if stores {
            self.runner.store(0, 0)?;
        }
        while self.runner.goes_on(steps, true)? {
            if steps - first == length {
                self.runner.store(0, count)?;
                self.runner.restart(steps);
                (first, count) = (steps, count + 1);
            }
            self.step(0, steps, true)?;
            steps += 1;
            if self.runner.taped() > bound {
                return Ok(None);
            }
        }
        self.counts.snapshots = self.counts.snapshots.max(count);
        self.runner.end(0)?;
        Ok(Some(Stretches { length, bound, steps, count }))
    }

    /// The sweeps after the first: whether no more than so many bytes were kept, else they are not done.
    fn finish_evenly(&mut self, stretches: &Stretches) -> Result<bool, R::Failure> {
        let &Stretches { length, bound, steps: all, count } = stretches;
        let (last, stores) = (self.sweeps - 1, length < usize::MAX);
        let mut current = count - 1;
        for sweep in 1..self.sweeps {
            // The last sweep keeps nothing, so that it is never too much.
            self.runner.begin(sweep, bound < usize::MAX && sweep < last);
            for at in 0..count {
                let at = if sweep.is_multiple_of(2) { at } else { count - 1 - at };
                let first = at * length;
                let steps = first..first.saturating_add(length).min(all);
                if at != current {
                    self.runner.restart(first);
                    for earlier in 0..sweep {
                        self.runner.restore(earlier, at, true)?;
                        self.stretch(earlier, steps.clone(), true)?;
                    }
                    current = at;
                }
                if stores && sweep < last {
                    self.runner.store(sweep, at)?;
                }
                self.stretch(sweep, steps, sweep < last)?;
                if self.runner.taped() > bound {
                    return Ok(false);
                }
            }
            self.runner.end(sweep)?;
        }
        Ok(true)
    }

    /// The first of two sweeps, with so many snapshots; everything is kept of at most `leaf` steps at a time.
    fn binomial(&mut self, count: usize, most: usize, leaf: usize) -> Result<RemainingWork, R::Failure> {
        self.runner.begin(0, false);
        let mut snapshots = Snapshots { stored: SmallVec::new(), most, leaf, taped: 0..0 };
        if count > 0 {
            self.runner.store(0, 0)?;
            snapshots.stored.push(0);
            self.tape(&mut snapshots, count)?;
        }
        self.runner.end(0)?;
        Ok(RemainingWork::Binomially(snapshots))
    }

    /// Goes back over the steps.
    fn finish_binomial(&mut self, mut snapshots: Snapshots) -> Result<(), R::Failure> {
        self.runner.begin(1, false);
        loop {
            let steps = snapshots.taped.clone();
            self.stretch(1, steps.clone(), false)?;
            if steps.start == 0 {
                return self.runner.end(1);
            }
            self.tape(&mut snapshots, steps.start)?;
        }
    }

    /// Has the first sweep keep everything of the last steps before `end`.
    fn tape(&mut self, snapshots: &mut Snapshots, end: usize) -> Result<(), R::Failure> {
        let Snapshots { stored, most, leaf, taped } = snapshots;
        loop {
            let from = *stored.last().expect("a state before the steps is stored");
            let number = stored.len() - 1;
            if end - from <= *leaf {
                stored.pop();
                self.runner.restart(from);
                self.runner.restore(0, number, false)?;
                self.stretch(0, from..end, true)?;
                *taped = from..end;
                return Ok(());
            }
            self.counts.snapshots = self.counts.snapshots.max(stored.len());
            let steps = advance_by((end - from).div_ceil(*leaf), *most - number) * *leaf;
            self.runner.restore(0, number, true)?;
            for step in from..from + steps {
                self.step(0, step, false)?;
            }
            stored.push(from + steps);
            self.runner.store(0, number + 1)?;
        }
    }
}

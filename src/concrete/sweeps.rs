//! Loops that are gone through several times, run on plain arrays: what is kept of their steps, and what is run again.
//!
//! With evenly spaced checkpoints, every sweep leaves what it carries at each of them, and a later sweep, before it goes
//! over the steps between two, has the earlier ones go over them again and keep everything. With a number of snapshots, two
//! sweeps follow the binomial schedule (Griewank and Walther, Algorithm 799): the first never stores more than so many
//! states, and is run again from the nearest.

use crate::concrete::run::{Failure, is_true, run, write_slice};
use crate::concrete::{Array, Data, for_data, for_pair, structure};
use crate::shape::{Type, Value};
use crate::term::{Checkpoints, Steps, Sweeps, advance_by};
use std::ops::Range;

/// What a sweep carries.
type State = Vec<Array>;

/// What was done, for tests and for choosing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    /// How many steps of the first sweep were run.
    pub(super) steps: usize,
    /// Of those, how many kept what later sweeps read.
    pub(super) kept: usize,
    /// How many states of the first sweep were stored at once at most.
    pub(super) snapshots: usize,
    /// The bytes of what is kept, now.
    bytes: usize,
}

/// What sweeps kept of the steps of a range.
struct Tapes {
    from: usize,
    /// By sweep, then step; taken out when it is read. Steps of which nothing was kept yet have no entries.
    kept: Vec<Vec<Vec<Option<Array>>>>,
}

impl Tapes {
    fn new(sweeps: usize) -> Tapes {
        Tapes { from: 0, kept: (0..sweeps).map(|_| Vec::new()).collect() }
    }

    /// Forgets everything; what is kept from now on is of steps from this one.
    fn restart(&mut self, from: usize) {
        self.from = from;
        self.kept.iter_mut().for_each(Vec::clear);
    }

    fn put(&mut self, sweep: usize, step: usize, kept: Vec<Option<Array>>) {
        let (steps, at) = (&mut self.kept[sweep], step - self.from);
        if steps.len() <= at {
            steps.resize_with(at + 1, Vec::new);
        }
        steps[at] = kept;
    }

    fn take(&mut self, (sweep, kept): (usize, usize), step: usize) -> Array {
        self.kept[sweep][step - self.from][kept].take().expect("what is kept is read once")
    }
}

/// A loop that is being run.
struct Engine<'a> {
    sweeps: &'a Sweeps,
    /// By sweep.
    inputs: Vec<Vec<Array>>,
    captures: Vec<Array>,
    /// By sweep, for all steps.
    outputs: Vec<Vec<Array>>,
    /// By sweep, which of what it keeps is read.
    read: Vec<Vec<bool>>,
    counts: Counts,
}

/// Runs a loop: the last carries and the outputs of each sweep.
///
/// # Errors
///
/// The first operation for which there is no memory.
pub(super) fn run_sweeps(sweeps: &Sweeps, operands: Vec<Array>) -> Result<Vec<Array>, Failure> {
    run_counted(sweeps, operands).map(|(outputs, _)| outputs)
}

pub(super) fn run_counted(sweeps: &Sweeps, operands: Vec<Array>) -> Result<(Vec<Array>, Counts), Failure> {
    let mut operands = operands.into_iter();
    let (mut starts, mut inputs) = (Vec::new(), Vec::new());
    for sweep in &sweeps.sweeps {
        starts.push(operands.by_ref().take(sweep.carries).collect::<State>());
        inputs.push(operands.by_ref().take(sweep.inputs).collect::<Vec<Array>>());
    }
    let outputs = sweeps.sweeps.iter().map(|sweep| {
        let types = sweep.body.result_types().skip(sweep.carries + sweep.keeps);
        let stacked = |ty: &Type| {
            let Steps::Count(count) = sweeps.steps else { unreachable!("a loop with a condition has no outputs") };
            let mut shape = ty.shape.clone();
            shape.insert(0, count);
            Array::full(&shape, Value::from_i64(ty.dtype, 0))
        };
        types.map(stacked).collect()
    });
    let read = sweeps.sweeps.iter().enumerate();
    let read = read.map(|(at, sweep)| (0..sweep.keeps).map(|kept| sweeps.is_read(at, kept)).collect());
    let mut engine = Engine {
        sweeps,
        outputs: outputs.collect(),
        read: read.collect(),
        inputs,
        captures: operands.collect(),
        counts: Counts::default(),
    };
    let finals = engine.run(starts)?;
    let results = finals.into_iter().zip(engine.outputs).flat_map(|(state, outputs)| state.into_iter().chain(outputs));
    Ok((results.collect(), engine.counts))
}

impl Engine<'_> {
    /// The last carries of each sweep.
    fn run(&mut self, starts: Vec<State>) -> Result<Vec<State>, Failure> {
        let several = starts.len() > 2;
        match self.sweeps.checkpoints {
            _ if starts.len() < 2 => {
                let (mut state, mut step) = (starts.into_iter().next().unwrap_or_default(), 0);
                while self.goes_on(step, &state)? {
                    state = self.step(0, step, state, None, false)?;
                    step += 1;
                }
                Ok(vec![state])
            }
            Checkpoints::All => self.even(starts, usize::MAX),
            Checkpoints::Every(steps) => self.even(starts, steps.max(1)),
            Checkpoints::Snapshots(snapshots) => {
                let count = self.count(&starts[0])?;
                match several {
                    true => self.even(starts, count.div_ceil(snapshots.max(1)).max(1)),
                    false => self.binomial(starts, count, snapshots.max(1), 1),
                }
            }
            Checkpoints::Bytes(bound) => {
                if let Some(finals) = self.evenly(starts.clone(), usize::MAX, bound)? {
                    return Ok(finals);
                }
                let (of_step, of_state) = self.sizes(&starts);
                let count = self.count(&starts[0])?;
                match several {
                    // What is stored, of n / l states and l steps, is least here.
                    true => {
                        let length = (count as f64 * of_state as f64 / of_step as f64).sqrt();
                        self.even(starts, (length as usize).max(1))
                    }
                    false => {
                        let (snapshots, leaf) = (bound / 2 / of_state, bound / 2 / of_step);
                        self.binomial(starts, count, snapshots.max(1), leaf.max(1))
                    }
                }
            }
        }
    }

    /// The bytes of what is kept of a step by all sweeps, and of what they carry, by their types: elements that are all equal
    /// in the beginning may differ later.
    fn sizes(&self, starts: &[State]) -> (usize, usize) {
        let of = |ty: &Type| size_of::<Array>() + ty.size().saturating_mul(ty.dtype.bytes());
        let kept = self.sweeps.sweeps.iter().zip(&self.read).flat_map(|(sweep, read)| {
            let types = sweep.body.result_types().skip(sweep.carries);
            types.zip(read).filter(|(_, read)| **read).map(|(ty, _)| of(ty))
        });
        let state = starts.iter().flatten().map(|array| of(&array.ty()));
        (kept.fold(1, usize::saturating_add), state.fold(1, usize::saturating_add))
    }

    /// Whether there is another step.
    fn goes_on(&self, step: usize, state: &State) -> Result<bool, Failure> {
        match &self.sweeps.steps {
            Steps::Count(count) => Ok(step < *count),
            Steps::While(condition) => {
                let arguments = state.iter().chain(&self.captures).cloned().collect();
                Ok(is_true(&run(condition, arguments)?[0]))
            }
        }
    }

    /// The number of steps.
    fn count(&mut self, start: &State) -> Result<usize, Failure> {
        if let Steps::Count(count) = self.sweeps.steps {
            return Ok(count);
        }
        let (mut state, mut step) = (start.clone(), 0);
        while self.goes_on(step, &state)? {
            state = self.step(0, step, state, None, false)?;
            step += 1;
        }
        Ok(step)
    }

    /// One step: the next carries.
    fn step(
        &mut self,
        sweep: usize,
        step: usize,
        state: State,
        mut tapes: Option<&mut Tapes>,
        keep: bool,
    ) -> Result<State, Failure> {
        let failure = |problem| Failure { operation: "sweeps".into(), problem };
        let description = &self.sweeps.sweeps[sweep];
        let position = match self.sweeps.steps {
            Steps::Count(count) if self.sweeps.reverse => count - 1 - step,
            _ => step,
        };
        let mut arguments = state;
        for input in &self.inputs[sweep] {
            let slice = for_data!(input, data => structure::outer_slice(data, position));
            arguments.push(slice.map_err(failure)?);
        }
        for &read in &description.reads {
            let tapes = tapes.as_mut().expect("a sweep that reads has tapes");
            let array = tapes.take(read, step);
            self.counts.bytes -= bytes(&array);
            arguments.push(array);
        }
        arguments.extend(self.captures.iter().cloned());
        let mut results = run(&description.body, arguments)?.into_iter();
        let state = results.by_ref().take(description.carries).collect();
        let kept = results.by_ref().take(description.keeps).zip(&self.read[sweep]);
        let kept = kept.map(|(array, &read)| (keep && read).then_some(array)).collect::<Vec<_>>();
        for (output, slice) in self.outputs[sweep].iter_mut().zip(results) {
            for_pair!(output, &slice, (output, slice) => write_slice(output, slice, position)).map_err(failure)?;
        }
        if sweep == 0 {
            self.counts.steps += 1;
            self.counts.kept += usize::from(keep);
        }
        if let (Some(tapes), true) = (tapes, keep) {
            self.counts.bytes += kept.iter().flatten().map(bytes).sum::<usize>();
            tapes.put(sweep, step, kept);
        }
        Ok(state)
    }

    /// A sweep over some steps in its direction: the carries behind them.
    fn stretch(
        &mut self,
        sweep: usize,
        steps: Range<usize>,
        mut state: State,
        tapes: &mut Tapes,
        keep: bool,
    ) -> Result<State, Failure> {
        for at in 0..steps.len() {
            let step = if sweep.is_multiple_of(2) { steps.start + at } else { steps.end - 1 - at };
            state = self.step(sweep, step, state, Some(tapes), keep)?;
        }
        Ok(state)
    }

    fn even(&mut self, starts: Vec<State>, length: usize) -> Result<Vec<State>, Failure> {
        let finals = self.evenly(starts, length, usize::MAX)?;
        Ok(finals.expect("nothing is larger than all memory"))
    }

    /// All sweeps with a checkpoint every `length` steps; `None` when more than so many bytes would be kept.
    fn evenly(&mut self, starts: Vec<State>, length: usize, bound: usize) -> Result<Option<Vec<State>>, Failure> {
        let last = starts.len() - 1;
        let mut tapes = Tapes::new(starts.len());
        let mut starts = starts.into_iter();
        let mut state = starts.next().expect("there are two sweeps");
        let (mut limits, mut snapshots) = (vec![0], vec![vec![state.clone()]]);
        let mut finals = Vec::new();
        let mut step = 0;
        while self.goes_on(step, &state)? {
            if step - limits[limits.len() - 1] == length {
                limits.push(step);
                snapshots[0].push(state.clone());
                self.counts.bytes = 0;
                tapes.restart(step);
            }
            state = self.step(0, step, state, Some(&mut tapes), true)?;
            step += 1;
            if self.counts.bytes > bound {
                return Ok(None);
            }
        }
        self.counts.snapshots = self.counts.snapshots.max(snapshots[0].len());
        limits.push(step);
        finals.push(state);
        let stretches = limits.len() - 1;
        let mut current = stretches - 1;
        for (sweep, mut state) in (1usize..).zip(starts) {
            let mut stored: Vec<State> = Vec::new();
            for at in 0..stretches {
                let at = if sweep.is_multiple_of(2) { at } else { stretches - 1 - at };
                let steps = limits[at]..limits[at + 1];
                if at != current {
                    self.counts.bytes = 0;
                    tapes.restart(steps.start);
                    for (earlier, states) in snapshots.iter().enumerate() {
                        self.stretch(earlier, steps.clone(), states[at].clone(), &mut tapes, true)?;
                    }
                    current = at;
                }
                if sweep < last {
                    stored.push(state.clone());
                }
                state = self.stretch(sweep, steps, state, &mut tapes, sweep < last)?;
                if self.counts.bytes > bound {
                    return Ok(None);
                }
            }
            if !sweep.is_multiple_of(2) {
                stored.reverse();
            }
            snapshots.push(stored);
            finals.push(state);
        }
        Ok(Some(finals))
    }

    /// Two sweeps with so many snapshots of the first; everything is kept of at most `leaf` steps at a time.
    fn binomial(
        &mut self,
        starts: Vec<State>,
        count: usize,
        snapshots: usize,
        leaf: usize,
    ) -> Result<Vec<State>, Failure> {
        let mut starts = starts.into_iter();
        let mut next = || starts.next().expect("there are two sweeps");
        let (first, mut state) = (next(), next());
        let mut tapes = Tapes::new(2);
        let mut finals = if count == 0 { first.clone() } else { State::new() };
        // States, the steps that they are before, and how many may be stored from there on. All of the steps before `end`
        // are still to be gone back over.
        let mut stack = vec![(first, 0, snapshots)];
        let mut end = count;
        while let Some((_, from, slots)) = stack.last() {
            let (from, slots) = (*from, *slots);
            if end - from <= leaf {
                let (start, ..) = stack.pop().expect("the last was seen");
                self.counts.bytes = 0;
                tapes.restart(from);
                let after = self.stretch(0, from..end, start, &mut tapes, true)?;
                if end == count && end > from {
                    finals = after;
                }
                state = self.stretch(1, from..end, state, &mut tapes, false)?;
                end = from;
                continue;
            }
            self.counts.snapshots = self.counts.snapshots.max(stack.len());
            let steps = advance_by((end - from).div_ceil(leaf), slots) * leaf;
            let mut middle = stack[stack.len() - 1].0.clone();
            for step in from..from + steps {
                middle = self.step(0, step, middle, None, false)?;
            }
            stack.push((middle, from + steps, slots - 1));
        }
        Ok(vec![finals, state])
    }
}

/// The bytes of an array: of its elements, if they are stored one by one, and of the array itself.
fn bytes(array: &Array) -> usize {
    let stored = for_data!(array, data => matches!(data, Data::Dense(_)));
    size_of::<Array>() + if stored { array.size() * array.dtype().bytes() } else { 0 }
}

#[cfg(test)]
mod tests;

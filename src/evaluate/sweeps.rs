//! Loops with several sweeps, run on plain arrays in the order of [`schedule`].

use super::apply::is_true;
use super::failure::Failure;
use crate::array::structure::{outer_slice, write_slice};
use crate::array::{Array, Data, OutOfMemory, for_data, for_pair};
use crate::shape::{Type, Value};
use crate::term::Body;
use crate::term::schedule::{self, Counts, Runner};
use crate::term::{Steps, Sweeps};

/// The runner of a loop's bodies.
type BodyRunner = fn(&Body, Vec<Array>) -> Result<Vec<Array>, Failure>;

/// The carries of a sweep.
type SweepCarries = Vec<Array>;

/// The values that sweeps kept of a range of steps.
struct Tapes {
    from: usize,
    /// By sweep, then step; taken out when read. Steps that have kept nothing yet have no entries.
    kept: Vec<Vec<Vec<Option<Array>>>>,
    /// The bytes kept at present.
    bytes: usize,
}

impl Tapes {
    fn new(sweeps: usize) -> Tapes {
        Tapes { from: 0, kept: (0..sweeps).map(|_| Vec::new()).collect(), bytes: 0 }
    }

    fn put(&mut self, sweep: usize, step: usize, kept: Vec<Option<Array>>) {
        self.bytes += kept.iter().flatten().map(bytes).sum::<usize>();
        let (steps, at) = (&mut self.kept[sweep], step - self.from);
        if steps.len() <= at {
            steps.resize_with(at + 1, Vec::new);
        }
        steps[at] = kept;
    }

    fn take(&mut self, (sweep, kept): (usize, usize), step: usize) -> Array {
        let array = self.kept[sweep][step - self.from][kept].take().expect("what is kept is read once");
        self.bytes -= bytes(&array);
        array
    }
}

/// A loop that is being run.
struct SweepsEngine<'a> {
    run: BodyRunner,
    sweeps: &'a Sweeps,
    /// By sweep, as all that follows: the first carries, the current carries, the last carries, and the stored states.
    starts: Vec<SweepCarries>,
    states: Vec<SweepCarries>,
    finals: Vec<SweepCarries>,
    stored: Vec<Vec<SweepCarries>>,
    inputs: Vec<Vec<Array>>,
    /// For all steps.
    outputs: Vec<Vec<Array>>,
    /// Which of its kept values are read.
    read: Vec<Vec<bool>>,
    captures: Vec<Array>,
    tapes: Tapes,
}

/// Runs a loop: the last carries and the outputs of each sweep.
///
/// # Errors
///
/// The first operation for which there is no memory.
pub(crate) fn run_sweeps(run: BodyRunner, sweeps: &Sweeps, operands: Vec<Array>) -> Result<Vec<Array>, Failure> {
    run_counted(run, sweeps, operands).map(|(outputs, _)| outputs)
}

pub(crate) fn run_counted(
    run: BodyRunner,
    sweeps: &Sweeps,
    operands: Vec<Array>,
) -> Result<(Vec<Array>, Counts), Failure> {
    let mut operands = operands.into_iter();
    let (mut starts, mut inputs) = (Vec::new(), Vec::new());
    for sweep in &sweeps.sweeps {
        starts.push(operands.by_ref().take(sweep.carries).collect::<SweepCarries>());
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
    let read = (0..sweeps.sweeps.len()).map(|at| sweeps.read_later(at));
    let count = starts.len();
    let mut engine = SweepsEngine {
        run,
        sweeps,
        starts,
        states: vec![SweepCarries::new(); count],
        finals: vec![SweepCarries::new(); count],
        stored: vec![Vec::new(); count],
        inputs,
        outputs: outputs.collect(),
        read: read.collect(),
        captures: operands.collect(),
        tapes: Tapes::new(count),
    };
    let counts = schedule::run(&mut engine, count, sweeps.checkpoints)?;
    let results = engine.finals.into_iter().zip(engine.outputs);
    Ok((results.flat_map(|(state, outputs)| state.into_iter().chain(outputs)).collect(), counts))
}

fn failure(problem: OutOfMemory) -> Failure {
    Failure { operation: "sweeps".into(), problem }
}

impl Runner for SweepsEngine<'_> {
    type Failure = Failure;

    fn count(&self) -> Option<usize> {
        match self.sweeps.steps {
            Steps::Count(count) => Some(count),
            Steps::While(_) => None,
        }
    }

    fn goes_on(&mut self, step: usize, _: bool) -> Result<bool, Failure> {
        match &self.sweeps.steps {
            Steps::Count(count) => Ok(step < *count),
            Steps::While(condition) => {
                let arguments = self.states[0].iter().chain(&self.captures).cloned().collect();
                Ok(is_true(&(self.run)(condition, arguments)?[0]))
            }
        }
    }

    fn begin(&mut self, sweep: usize, again: bool) {
        let start = &mut self.starts[sweep];
        self.states[sweep] = if again { start.clone() } else { std::mem::take(start) };
    }

    fn step(&mut self, sweep: usize, step: usize, keeps: bool) -> Result<(), Failure> {
        let description = &self.sweeps.sweeps[sweep];
        let position = match self.sweeps.steps {
            Steps::Count(count) if self.sweeps.reverse => count - 1 - step,
            _ => step,
        };
        let mut arguments = std::mem::take(&mut self.states[sweep]);
        for input in &self.inputs[sweep] {
            let slice = for_data!(input, data => outer_slice(data, position));
            arguments.push(slice.map_err(failure)?);
        }
        arguments.extend(description.reads.iter().map(|&read| self.tapes.take(read, step)));
        arguments.extend(self.captures.iter().cloned());
        let mut results = (self.run)(&description.body, arguments)?.into_iter();
        self.states[sweep] = results.by_ref().take(description.carries).collect();
        let kept = results.by_ref().take(description.keeps).zip(&self.read[sweep]);
        let kept = kept.map(|(array, &read)| (keeps && read).then_some(array)).collect::<Vec<_>>();
        for (output, slice) in self.outputs[sweep].iter_mut().zip(results) {
            for_pair!(output, &slice, (output, slice) => write_slice(output, slice, position)).map_err(failure)?;
        }
        if keeps {
            self.tapes.put(sweep, step, kept);
        }
        Ok(())
    }

    fn store(&mut self, sweep: usize, number: usize) -> Result<(), Failure> {
        let stored = &mut self.stored[sweep];
        if stored.len() <= number {
            stored.resize_with(number + 1, SweepCarries::new);
        }
        stored[number] = self.states[sweep].clone();
        Ok(())
    }

    fn restore(&mut self, sweep: usize, number: usize, again: bool) -> Result<(), Failure> {
        let stored = &mut self.stored[sweep][number];
        self.states[sweep] = if again { stored.clone() } else { std::mem::take(stored) };
        Ok(())
    }

    fn end(&mut self, sweep: usize) -> Result<(), Failure> {
        self.finals[sweep] = std::mem::take(&mut self.states[sweep]);
        Ok(())
    }

    fn restart(&mut self, from: usize) {
        self.tapes.from = from;
        self.tapes.kept.iter_mut().for_each(Vec::clear);
        self.tapes.bytes = 0;
    }

    fn taped(&self) -> usize {
        self.tapes.bytes
    }

    /// By the types: elements that are all equal in the beginning may differ later.
    fn sizes(&self) -> (usize, usize) {
        let of = |ty: &Type| size_of::<Array>() + ty.size().saturating_mul(ty.dtype.bytes());
        let sweeps = || self.sweeps.sweeps.iter();
        let kept = sweeps().zip(&self.read).flat_map(|(sweep, read)| {
            let types = sweep.body.result_types().skip(sweep.carries);
            types.zip(read).filter(|(_, read)| **read).map(|(ty, _)| of(ty))
        });
        let carried = sweeps().flat_map(|sweep| sweep.body.result_types().take(sweep.carries)).map(of);
        (kept.fold(1, usize::saturating_add), carried.fold(1, usize::saturating_add))
    }
}

/// The bytes of an array: of its elements, if they are stored one by one, and of the array itself.
fn bytes(array: &Array) -> usize {
    let stored = for_data!(array, data => matches!(data, Data::Dense(_)));
    size_of::<Array>() + if stored { array.size() * array.dtype().bytes() } else { 0 }
}

#[cfg(test)]
mod tests;

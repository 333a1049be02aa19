//! Loops with several sweeps.
//!
//! If the number of steps is known there is a tape: an array of the kept values, with a slice for each step. If not, no array
//! could hold them. Then the values that a later sweep reads of a step are recomputed by the earlier ones, from a snapshot of
//! their carries before an earlier step. The number of snapshots is limited; when the limit is reached, every second one is
//! dropped, and from there on half as many are taken.

use super::loops::{StepsPass, WriteBody, cloned, mirrored, stacked, steps};
use super::writer::{Handle, ModuleWriter};
use crate::error::Result;
use crate::operation::{Comparison, StableHlo};
use crate::shape::Type;
use crate::term::{Checkpoints, Steps, Sweeps};

/// The most snapshots of a sweep.
const SNAPSHOTS: usize = 64;

/// A loop with several sweeps.
pub(super) fn sweeps(
    writer: &mut ModuleWriter,
    body: WriteBody,
    sweeps: &Sweeps,
    operands: &[&Handle],
) -> Result<Vec<Handle>> {
    let mut rest = operands;
    let mut take = |count: usize| {
        let (taken, others) = rest.split_at(count);
        rest = others;
        cloned(taken)
    };
    let (mut starts, mut inputs) = (Vec::new(), Vec::new());
    for sweep in &sweeps.sweeps {
        starts.push(take(sweep.carries));
        inputs.push(take(sweep.inputs));
    }
    let captures = cloned(rest);
    match sweeps.steps {
        Steps::Count(count) => Counted { body, sweeps, count, captures }.run(writer, starts, &inputs),
        Steps::While(_) => {
            OpenLoop { body, sweeps, room: room(sweeps.checkpoints, &starts), starts, captures }.run(writer)
        }
    }
}

/// A loop of a known number of steps.
struct Counted<'a> {
    body: WriteBody,
    sweeps: &'a Sweeps,
    count: usize,
    captures: Vec<Handle>,
}

impl Counted<'_> {
    fn run(&self, writer: &mut ModuleWriter, starts: Vec<Vec<Handle>>, inputs: &[Vec<Handle>]) -> Result<Vec<Handle>> {
        let mut tapes: Vec<Vec<Option<Handle>>> = Vec::new();
        let mut results = Vec::new();
        for (at, (sweep, start)) in self.sweeps.sweeps.iter().zip(starts).enumerate() {
            let reads: Vec<Handle> = sweep.reads.iter().filter_map(|&(from, kept)| tapes[from][kept].clone()).collect();
            let kept = self.sweeps.read_later(at);
            // Kept values without a reader are not written.
            let is_written = |position: &usize| kept.get(*position - sweep.carries).copied().unwrap_or(true);
            let positions: Vec<usize> = (sweep.carries..sweep.body.results.len()).filter(is_written).collect();
            let ty = |&position: &usize| sweep.body.node(sweep.body.results[position]).ty().clone();
            let written: Vec<Type> = positions.iter().map(ty).collect();
            // Tapes are as long as the loop and read by the number of a step, so they may be written like its slices.
            let reverse = self.sweeps.reverse != (at % 2 == 1);
            let slices = [&inputs[at][..], &reads].concat();
            let pass = StepsPass { count: self.count, reverse, slices: &slices, written: &written };
            let mut outputs = pass.run(writer, start, |writer, mut arguments| {
                arguments.extend(self.captures.iter().cloned());
                let values = (self.body)(writer, &sweep.body, &arguments)?;
                Ok((0..sweep.carries).chain(positions.iter().copied()).map(|at| values[at].clone()).collect())
            })?;
            let mut written = outputs.split_off(sweep.carries).into_iter();
            tapes.push(kept.iter().map(|&kept| if kept { written.next() } else { None }).collect());
            results.extend(outputs);
            results.extend(written);
        }
        Ok(results)
    }
}

/// A loop whose number of steps is known when it has been run.
struct OpenLoop<'a> {
    body: WriteBody,
    sweeps: &'a Sweeps,
    /// How many snapshots there are of a sweep at most.
    room: usize,
    starts: Vec<Vec<Handle>>,
    captures: Vec<Handle>,
}

/// How many snapshots there are of a sweep at most: an even number.
fn room(checkpoints: Checkpoints, starts: &[Vec<Handle>]) -> usize {
    match checkpoints {
        Checkpoints::Snapshots(count) => count.clamp(2, SNAPSHOTS).next_multiple_of(2),
        Checkpoints::Bytes(bytes) => {
            let carried = starts.iter().flatten().map(|value| value.ty.bytes().unwrap_or(usize::MAX));
            let state = carried.fold(1, usize::saturating_add);
            (bytes / state).clamp(2, SNAPSHOTS).next_multiple_of(2)
        }
        Checkpoints::All | Checkpoints::Every(_) => SNAPSHOTS,
    }
}

/// The carries of a sweep before every so many steps.
struct WrittenSnapshots {
    /// The distance in steps, as a rank-0 `i64`.
    distance: Handle,
    /// The carries, stacked.
    states: Vec<Handle>,
}

impl WrittenSnapshots {
    fn new(mut values: Vec<Handle>) -> WrittenSnapshots {
        let states = values.split_off(1);
        WrittenSnapshots { distance: values.remove(0), states }
    }

    fn values(&self) -> Vec<Handle> {
        let mut values = vec![self.distance.clone()];
        values.extend(self.states.iter().cloned());
        values
    }
}

impl OpenLoop<'_> {
    fn run(&self, writer: &mut ModuleWriter) -> Result<Vec<Handle>> {
        let Steps::While(condition) = &self.sweeps.steps else { unreachable!("the loop has a condition") };
        let Some(first) = self.sweeps.sweeps.first() else { return Ok(Vec::new()) };
        let mut state = vec![writer.position(0)];
        state.extend(self.starts[0].iter().cloned());
        // A loop that may never end is not run before the loop around it, which may have no steps: it depends on its step.
        let mut state = writer.held(&state);
        if self.is_run_again(0) {
            state.extend(self.none(writer, 0).values());
        }
        let carries = 1..1 + first.carries;
        let mut results = writer.repeat(
            &state,
            |writer, state| Ok((self.body)(writer, condition, &self.with_captures(&state[carries.clone()]))?.remove(0)),
            |writer, state| {
                let one = writer.position(1);
                let mut next = vec![writer.elementwise("add", &[&state[0], &one])];
                let carried = &state[carries.clone()];
                let snapshots = self.taken(writer, &state[0], carried, &state[carries.end..])?;
                next.extend(self.step(writer, 0, carried, &[])?.into_iter().take(first.carries));
                next.extend(snapshots);
                Ok(next)
            },
        )?;
        let count = results.remove(0);
        let mut snapshots = Vec::new();
        for sweep in 0..self.sweeps.sweeps.len() {
            let carries = self.starts[sweep].len();
            let mut outputs = match sweep {
                0 => std::mem::take(&mut results),
                _ => self.whole(writer, sweep, &count, &snapshots)?,
            };
            let rest = outputs.split_off(carries);
            snapshots.push(if rest.is_empty() { None } else { Some(WrittenSnapshots::new(rest)) });
            results.extend(outputs);
        }
        Ok(results)
    }

    fn with_captures(&self, values: &[Handle]) -> Vec<Handle> {
        [values, &self.captures].concat()
    }

    /// Whether later sweeps read a sweep's kept values.
    fn is_run_again(&self, sweep: usize) -> bool {
        self.sweeps.sweeps[sweep + 1..].iter().any(|later| later.reads.iter().any(|&(from, _)| from == sweep))
    }

    /// Room for snapshots of a sweep.
    fn none(&self, writer: &mut ModuleWriter, sweep: usize) -> WrittenSnapshots {
        let types: Vec<Type> = self.starts[sweep].iter().map(|value| stacked(&value.ty, self.room)).collect();
        WrittenSnapshots { distance: writer.position(1), states: types.iter().map(|ty| writer.zeros(ty)).collect() }
    }

    /// The snapshots, with the state before this step added if it is due.
    fn taken(
        &self,
        writer: &mut ModuleWriter,
        number: &Handle,
        state: &[Handle],
        snapshots: &[Handle],
    ) -> Result<Vec<Handle>> {
        let Some(distance) = snapshots.first() else { return Ok(Vec::new()) };
        let types: Vec<Type> = snapshots.iter().map(|value| value.ty.clone()).collect();
        let (zero, room) = (writer.position(0), writer.position(self.room));
        let rest = writer.elementwise("remainder", &[number, distance]);
        let due = writer.compare(Comparison::Equal, &rest, &zero);
        let take = |writer: &mut ModuleWriter| {
            let place = writer.elementwise("divide", &[number, distance]);
            let full = writer.compare(Comparison::Equal, &place, &room);
            let thinned = |writer: &mut ModuleWriter| {
                let twice = writer.elementwise("add", &[distance, distance]);
                let half = |state: &Handle| self.half(writer, state);
                Ok([vec![twice], snapshots[1..].iter().map(half).collect()].concat())
            };
            let snapshots = writer.choose(&full, &types, thinned, |_| Ok(snapshots.to_vec()))?;
            let place = writer.elementwise("divide", &[number, &snapshots[0]]);
            let mut taken = vec![snapshots[0].clone()];
            for (states, state) in snapshots[1..].iter().zip(state) {
                taken.push(writer.write_outer(states, state, &place));
            }
            Ok(taken)
        };
        writer.choose(&due, &types, take, |_| Ok(snapshots.to_vec()))
    }

    /// Every second slice, and room for as many.
    fn half(&self, writer: &mut ModuleWriter, states: &Handle) -> Handle {
        let ranges = states.ty.shape.iter().enumerate();
        let ranges = ranges.map(|(axis, &extent)| (0, extent, if axis == 0 { 2 } else { 1 }));
        let kept = writer.slice(states, &ranges.collect::<Vec<_>>());
        let mut zeros = vec![(0, 0, 0); states.ty.rank()];
        zeros[0].1 = self.room / 2;
        writer.pad(&kept, &zeros)
    }

    /// The number of a step in the order of a sweep, or the other way round.
    fn in_order(writer: &mut ModuleWriter, sweep: usize, number: &Handle, count: &Handle) -> Handle {
        if sweep.is_multiple_of(2) { number.clone() } else { mirrored(writer, number, count) }
    }

    /// All steps of a sweep: its last carries, and its snapshots, if later sweeps read its kept values.
    fn whole(
        &self,
        writer: &mut ModuleWriter,
        sweep: usize,
        count: &Handle,
        snapshots: &[Option<WrittenSnapshots>],
    ) -> Result<Vec<Handle>> {
        let mut state = self.starts[sweep].clone();
        let carries = state.len();
        if self.is_run_again(sweep) {
            state.extend(self.none(writer, sweep).values());
        }
        let zero = writer.position(0);
        steps(writer, (&zero, count), state, |writer, number, state| {
            let (state, taken) = state.split_at(carries);
            let taken = self.taken(writer, number, state, taken)?;
            let next = self.next(writer, sweep, number, count, state, snapshots)?;
            Ok([next, taken].concat())
        })
    }

    /// The carries of a sweep after a step.
    fn next(
        &self,
        writer: &mut ModuleWriter,
        sweep: usize,
        number: &Handle,
        count: &Handle,
        state: &[Handle],
        snapshots: &[Option<WrittenSnapshots>],
    ) -> Result<Vec<Handle>> {
        let step = OpenLoop::in_order(writer, sweep, number, count);
        let tapes = self.kept(writer, sweep, &step, count, snapshots)?;
        let mut values = self.step(writer, sweep, state, &tapes)?;
        values.truncate(state.len());
        Ok(values)
    }

    /// The values that earlier sweeps keep of a step, as far as this sweep needs them.
    fn kept(
        &self,
        writer: &mut ModuleWriter,
        sweep: usize,
        step: &Handle,
        count: &Handle,
        snapshots: &[Option<WrittenSnapshots>],
    ) -> Result<Vec<Vec<Handle>>> {
        let mut needed = vec![false; sweep + 1];
        needed[sweep] = true;
        for at in (0..=sweep).rev() {
            if needed[at] {
                self.sweeps.sweeps[at].reads.iter().for_each(|&(from, _)| needed[from] = true);
            }
        }
        let mut tapes: Vec<Vec<Handle>> = Vec::new();
        for (earlier, snapshot) in snapshots[..sweep].iter().enumerate() {
            let Some(snapshot) = snapshot.as_ref().filter(|_| needed[earlier]) else {
                tapes.push(Vec::new());
                continue;
            };
            let end = OpenLoop::in_order(writer, earlier, step, count);
            let place = writer.elementwise("divide", &[&end, &snapshot.distance]);
            let from = writer.elementwise("multiply", &[&place, &snapshot.distance]);
            let state = snapshot.states.iter().map(|states| writer.read_outer(states, &place)).collect();
            let state = steps(writer, (&from, &end), state, |writer, number, state| {
                self.next(writer, earlier, number, count, state, snapshots)
            })?;
            let values = self.step(writer, earlier, &state, &tapes)?;
            tapes.push(values[state.len()..].to_vec());
        }
        Ok(tapes)
    }

    /// The results of a step of a sweep.
    fn step(
        &self,
        writer: &mut ModuleWriter,
        sweep: usize,
        state: &[Handle],
        tapes: &[Vec<Handle>],
    ) -> Result<Vec<Handle>> {
        let description = &self.sweeps.sweeps[sweep];
        let reads = description.reads.iter().map(|&(from, kept)| tapes[from][kept].clone());
        let arguments: Vec<Handle> = state.iter().cloned().chain(reads).collect();
        (self.body)(writer, &description.body, &self.with_captures(&arguments))
    }
}

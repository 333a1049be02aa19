//! Loops that are swept several times, or end by a condition, in the order of [`schedule`].
//!
//! A step writes the values that it keeps into a record of the sweep's tape, where later sweeps read them. Carries alternate
//! between two places, except those that the step changes in place, and those that it keeps in their state before the step:
//! these are written where they will be kept. Captures, other first carries and slices are read and written in place.

use super::code::Scratch;
use super::compiled::{CompiledSweep, CompiledSweeps, Machine, Slice, StepSpace, SweepSpace, SweepsSpace, Workspace};
use super::memory::copy_apart;
use super::records::{RecordLayout, Records};
use super::target::{SOME_STEPS, Target};
use super::threads::Worker;
use crate::array::OutOfMemory;
use crate::engine::arrays::{CacheLine, bytes, lines};
use crate::evaluate::Failure;
use crate::kernel::{BufferId, SweepLoop};
use crate::shape::{Type, sort_by_rank};
use crate::term::Steps;
use crate::term::schedule::{self, Counts};
use running::RunningSweeps;

mod running;

impl StepSpace {
    /// # Safety
    ///
    /// As [`Machine::run`].
    #[inline]
    unsafe fn run(&mut self, machine: &Machine, worker: &mut Worker) -> Result<(), Failure> {
        let (arguments, results) = self.pointers.split_at(machine.arguments);
        // SAFETY: as the caller's.
        unsafe { machine.run(&mut self.workspace, worker, arguments, results) }
    }
}

impl CompiledSweeps {
    /// A loop as instructions; `None` where its memory can't be counted.
    ///
    /// # Errors
    ///
    /// As [`Machine::repeated`].
    pub(super) fn new(
        target: Target<'_>,
        lowered: &SweepLoop,
        types: &[Type],
        cut: bool,
    ) -> Result<Option<Box<CompiledSweeps>>, OutOfMemory> {
        let loops = &lowered.sweeps;
        let target = target.repeated(match loops.steps {
            Steps::Count(count) => count,
            Steps::While(_) => SOME_STEPS,
        });
        let captures = &lowered.arguments[loops.captures()..];
        let mut sweeps: Vec<CompiledSweep> = Vec::new();
        for (at, body) in lowered.bodies.iter().enumerate() {
            let Some(machine) = Machine::repeated(target, body, cut)? else { return Ok(None) };
            let Some(sweep) = CompiledSweep::new(lowered, at, machine, types, &sweeps) else { return Ok(None) };
            sweeps.push(sweep);
        }
        let condition =
            lowered.condition.as_ref().map(|condition| Machine::repeated(target, condition, cut)).transpose()?;
        if let Some(None) = condition {
            return Ok(None);
        }
        Ok(Some(Box::new(CompiledSweeps {
            count: match loops.steps {
                Steps::Count(count) => Some(count),
                Steps::While(_) => None,
            },
            condition: condition.flatten(),
            sweeps,
            reverse: loops.reverse,
            checkpoints: loops.checkpoints,
            captures: captures.to_vec(),
            results: lowered.results[..loops.results(0).1.end].to_vec(),
            first: lowered.first.clone(),
        })))
    }

    /// The machines inside: the condition's first.
    pub(super) fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.condition.iter().chain(self.sweeps.iter().map(|sweep| &sweep.step)).map(|machine| &**machine)
    }

    /// Bytes of memory in addition to the machines', before anything is kept.
    pub(super) fn memory(&self) -> usize {
        let sweeps = self.sweeps.iter().map(|sweep| sweep.state.bytes.saturating_mul(2).saturating_add(sweep.all));
        sweeps.fold(size_of::<CacheLine>(), usize::saturating_add)
    }

    /// Memory for a run.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn space(
        &self,
        scratch: &mut Scratch,
        profile: bool,
        threads: usize,
    ) -> Result<SweepsSpace, OutOfMemory> {
        let mut step = |machine: &Machine| {
            Ok(StepSpace {
                workspace: machine.workspace(scratch, profile, threads)?,
                pointers: vec![std::ptr::null_mut(); machine.arguments + machine.results],
            })
        };
        let condition = self.condition.as_deref().map(&mut step);
        let sweeps = self.sweeps.iter().map(|sweep| {
            Ok(SweepSpace {
                step: step(&sweep.step)?,
                turns: lines(2 * sweep.state.bytes)?,
                turn: 0,
                stored: Records::default(),
                tape: Records::default(),
                kept: 0,
                dropped: lines(sweep.all)?,
            })
        });
        let sweeps = sweeps.collect::<Result<_, OutOfMemory>>()?;
        Ok(SweepsSpace {
            condition: condition.transpose()?,
            holds: lines(1)?,
            sweeps,
            bases: Vec::new(),
            begun: None,
            counts: Counts::default(),
        })
    }

    /// The results of the step that is the first sweep, if one is.
    pub(super) fn first(&self) -> Option<&[BufferId]> {
        self.first.as_deref()
    }

    /// Runs the first sweep ahead.
    ///
    /// # Errors
    ///
    /// As [`CompiledSweeps::run`].
    ///
    /// # Safety
    ///
    /// As [`CompiledSweeps::run`]; arrays that only other sweeps read need not be there yet.
    pub(super) unsafe fn begin(
        &self,
        space: &mut SweepsSpace,
        worker: &mut Worker,
        bases: &[*mut u8],
    ) -> Result<(), Failure> {
        let mut own = std::mem::take(&mut space.bases);
        own.clear();
        own.extend_from_slice(bases);
        for (&result, &first) in self.results.iter().zip(self.first.iter().flatten()) {
            own[result as usize] = bases[first as usize];
        }
        self.point(space, &own);
        let mut running = RunningSweeps { compiled: self, space, worker, bases: &own, from: 0 };
        let begun = schedule::begin(&mut running, self.sweeps.len(), self.checkpoints)?;
        space.begun = Some((begun, running.from));
        space.bases = own;
        Ok(())
    }

    /// Runs the loop, or the rest of it.
    ///
    /// # Errors
    ///
    /// As [`Machine::run`], and when there is no memory for the kept values.
    ///
    /// # Safety
    ///
    /// As [`Machine::run`], of the procedure that the loop is a step of.
    pub(super) unsafe fn run(
        &self,
        space: &mut SweepsSpace,
        worker: &mut Worker,
        bases: &[*mut u8],
    ) -> Result<(), Failure> {
        self.point(space, bases);
        let begun = space.begun.take();
        let mut running = RunningSweeps { compiled: self, space, worker, bases, from: 0 };
        let counts = match begun {
            Some((begun, from)) => {
                running.from = from;
                schedule::finish(&mut running, begun)?
            }
            None => schedule::run(&mut running, self.sweeps.len(), self.checkpoints)?,
        };
        space.counts = counts;
        Ok(())
    }

    /// Sets where captures are, and the condition's result.
    fn point(&self, space: &mut SweepsSpace, bases: &[*mut u8]) {
        let holds = space.holds.as_mut_ptr().cast();
        let steps = space.condition.iter_mut().chain(space.sweeps.iter_mut().map(|sweep| &mut sweep.step));
        for (machine, step) in self.machines().zip(steps) {
            let captures = &mut step.pointers[machine.arguments - self.captures.len()..machine.arguments];
            for (pointer, &id) in captures.iter_mut().zip(&self.captures) {
                *pointer = bases[id as usize];
            }
        }
        if let Some(condition) = &mut space.condition {
            *condition.pointers.last_mut().expect("a condition has a result") = holds;
        }
    }
}

impl SweepsSpace {
    /// The memory of the machines inside, in their order.
    pub(super) fn workspaces(&mut self) -> impl Iterator<Item = &mut Workspace> {
        let steps = self.condition.iter_mut().chain(self.sweeps.iter_mut().map(|sweep| &mut sweep.step));
        steps.map(|step| &mut step.workspace)
    }
}

impl CompiledSweep {
    fn new(
        lowered: &SweepLoop,
        at: usize,
        step: Box<Machine>,
        types: &[Type],
        earlier: &[CompiledSweep],
    ) -> Option<CompiledSweep> {
        let (loops, sweep) = (&lowered.sweeps, &lowered.sweeps.sweeps[at]);
        let (starts, inputs) = loops.operands(at);
        let (finals, outputs) = loops.results(at);
        let (arguments, results) = (&lowered.arguments, &lowered.results);
        let of = |id: BufferId| bytes(&types[id as usize]);
        let result_bytes = |position: usize| sweep.body.node(sweep.body.results[position]).ty().bytes();
        let slice = |position: usize, id: BufferId| {
            let Steps::Count(count) = loops.steps else { unreachable!("a loop with a condition has no slices") };
            Slice { position, buffer: id, bytes: of(id) / count.max(1) }
        };
        let first = step.arguments + sweep.carries + sweep.keeps;
        let read = arguments[inputs].iter().enumerate().map(|(k, &id)| slice(sweep.carries + k, id));
        let written = results[outputs].iter().enumerate().map(|(k, &id)| slice(first + k, id));
        // Values that later sweeps read come first.
        let mut order: Vec<usize> = (0..sweep.keeps).collect();
        let is_read = loops.read_later(at);
        sort_by_rank(&mut order, |&kept| u64::from(!is_read[kept]));
        let count = is_read.iter().filter(|&&is_read| is_read).count();
        let sizes = order.iter().map(|&kept| result_bytes(sweep.carries + kept)).collect::<Option<Vec<usize>>>()?;
        let record = RecordLayout::of(sizes[..count].iter().copied())?.bytes;
        let all = RecordLayout::of(sizes)?;
        let mut keeps = vec![(0, false); sweep.keeps];
        for (&kept, &offset) in order.iter().zip(&all.offsets) {
            keeps[kept] = (offset, is_read[kept]);
        }
        let reads = sweep.reads.iter().enumerate();
        let reads =
            reads.map(|(k, &(from, kept))| (sweep.carries + sweep.inputs + k, from, earlier[from].keeps[kept].0));
        Some(CompiledSweep {
            starts: arguments[starts].to_vec(),
            finals: results[finals.clone()].to_vec(),
            state: RecordLayout::of(results[finals].iter().map(|&id| of(id)))?,
            in_place: (0..sweep.carries).map(|carry| lowered.bodies[at].changes(carry)).collect(),
            slices: read.chain(written).collect(),
            reads: reads.collect(),
            carried: lowered.bodies[at].kept_carries(sweep.carries, sweep.keeps),
            keeps,
            record,
            all: all.bytes,
            step,
        })
    }

    /// The position of the first result among the step's pointers.
    fn first_result(&self) -> usize {
        self.step.arguments
    }

    /// Copies the state that the next step is to read.
    ///
    /// # Safety
    ///
    /// There is room for each carry, which overlaps it only where it is the same place.
    unsafe fn copy(&self, pointers: &[*mut u8], to: impl Fn(usize) -> *mut u8) {
        for (carry, &bytes) in self.state.sizes.iter().enumerate() {
            // SAFETY: as the caller's.
            unsafe { copy_apart(pointers[carry], to(carry), bytes) };
        }
    }
}

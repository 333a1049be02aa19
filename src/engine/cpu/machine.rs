//! Procedures, ready to run, and the memory that they run in.

use super::arrays::{Line, array_from, bytes, dense, elements, fill, lines, neutral, write_array};
use super::code::{Code, Scratch};
use super::memory::{Place, plan};
use super::product;
use super::split::Partial;
use super::step::{Compiled, Fill, Space};
use super::threads::{Shared, Worker};
use super::vector::Instructions;
use crate::concrete::{self, Array, Failure, OutOfMemory};
use crate::kernel::{BufferId, Call, Procedure, Source};
use crate::shape::Type;
use std::collections::HashMap;
use std::time::Instant;

/// A procedure as instructions.
#[derive(Debug)]
pub(super) struct Machine {
    types: Vec<Type>,
    places: Vec<Place>,
    /// Known arrays that are read as buffers.
    constants: HashMap<BufferId, Array>,
    /// Bytes of the procedure's memory.
    pub(super) memory: usize,
    steps: Vec<Compiled>,
    results: Vec<BufferId>,
    pub(super) arguments: usize,
    isa: Instructions,
    /// Bytes of memory for partial results.
    partials: usize,
}

/// The memory of one run.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub(super) memory: Vec<Line>,
    bases: Vec<*mut u8>,
    /// What the steps have for themselves.
    spaces: Vec<Space>,
    /// Partial results of the chunks of a nest, or the registers of a recurrence.
    partials: Vec<Line>,
    /// The seconds of each step, where they are measured.
    pub(super) times: Vec<f64>,
}

impl Workspace {
    /// Adds the measured times of all kernels to a list of them, in the order of reports, and begins anew.
    pub(super) fn drain_times(&mut self, all: &mut Vec<f64>, position: &mut usize, machine: &Machine) {
        for ((time, step), space) in self.times.iter_mut().zip(&machine.steps).zip(&mut self.spaces) {
            let machines = step.machines();
            if !machines.is_empty() {
                for (workspace, machine) in space.workspaces().into_iter().zip(machines) {
                    workspace.drain_times(all, position, machine);
                }
                continue;
            }
            if all.len() <= *position {
                all.push(0.0);
            }
            all[*position] += std::mem::take(time);
            *position += 1;
        }
    }
}

// SAFETY: the pointers are set at the beginning of a run, by whoever holds the workspace.
unsafe impl Send for Workspace {}

impl Machine {
    /// A procedure as instructions; `None` where its memory can't be counted. `cut` says whether threads may share the work
    /// of a step.
    ///
    /// # Errors
    ///
    /// When there is no memory for a known array.
    pub(super) fn new(isa: Instructions, procedure: &Procedure, cut: bool) -> Result<Option<Machine>, OutOfMemory> {
        let Some((places, memory)) = plan(procedure) else { return Ok(None) };
        let mut constants = HashMap::new();
        for (id, buffer) in procedure.buffers.iter().enumerate() {
            if let Source::Constant(array) = &buffer.source
                && places[id] != Place::Unused
            {
                constants.insert(id as BufferId, dense(array)?);
            }
        }
        let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
        let mut steps = Vec::with_capacity(procedure.steps.len());
        for step in &procedure.steps {
            match Compiled::new(isa, procedure, step, &types, cut)? {
                Some(compiled) => steps.push(compiled),
                None => return Ok(None),
            }
        }
        let (results, arguments) = (procedure.results.clone(), procedure.parameters);
        let partials = steps.iter().map(Compiled::partials).max().unwrap_or(0);
        Ok(Some(Machine { types, places, constants, memory, steps, results, arguments, isa, partials }))
    }

    /// The bytes of memory of the procedure, and of those of its steps, for so many threads.
    pub(super) fn total_memory(&self, threads: usize) -> usize {
        let inner = self.steps.iter().map(|step| step.memory(threads));
        inner.fold(self.memory.saturating_add(self.partials), usize::saturating_add)
    }

    /// The number of results.
    pub(super) fn results(&self) -> usize {
        self.results.len()
    }

    /// Whether all steps are nests that run on one thread.
    pub(super) fn is_straight(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Compiled::Nest { code, .. } if code.split.chunks == 1))
    }

    /// The nests among the steps.
    pub(super) fn nests(&self) -> impl Iterator<Item = (&[Fill], &Code)> {
        self.steps.iter().filter_map(|step| match step {
            Compiled::Nest { fills, code } => Some((&fills[..], code)),
            _ => None,
        })
    }

    /// Where a buffer is, beside what [`Machine::run`] is given.
    pub(super) fn place(&self, buffer: BufferId) -> Place {
        self.places[buffer as usize]
    }

    /// A known array's elements.
    pub(super) fn constant(&self, buffer: BufferId) -> *mut u8 {
        elements(&self.constants[&buffer])
    }

    /// The results that are copied from elsewhere at the end: their positions, from where, and their bytes.
    pub(super) fn copies(&self) -> impl Iterator<Item = (usize, BufferId, usize)> {
        let results = self.results.iter().enumerate();
        let copied = results.filter(|&(position, &result)| self.place(result) != Place::Result(position));
        copied.map(|(position, &result)| (position, result, self.bytes(result)))
    }

    /// Whether some kernel is cut for several threads.
    pub(super) fn is_parallel(&self) -> bool {
        self.steps.iter().any(Compiled::is_parallel)
    }

    /// Lines of memory that each thread needs for its products.
    pub(super) fn packing_lines(&self) -> usize {
        self.steps.iter().map(Compiled::packing_lines).max().unwrap_or(0)
    }

    /// Memory for a run.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn workspace(
        &self,
        scratch: &mut Scratch,
        profile: bool,
        threads: usize,
    ) -> Result<Workspace, OutOfMemory> {
        let spaces = self.steps.iter().map(|step| step.space(scratch, profile, threads));
        Ok(Workspace {
            memory: lines(self.memory)?,
            bases: vec![std::ptr::null_mut(); self.places.len()],
            spaces: spaces.collect::<Result<_, OutOfMemory>>()?,
            partials: lines(self.partials)?,
            times: vec![0.0; if profile { self.steps.len() } else { 0 }],
        })
    }

    /// Runs the procedure.
    ///
    /// # Errors
    ///
    /// The first operation that is left to plain arrays and finds no memory.
    ///
    /// # Safety
    ///
    /// The workspace is this machine's. There is a pointer for each argument, to as many elements as its type says, and
    /// one for each result, to room for as many, which overlap nothing else.
    pub(super) unsafe fn run(
        &self,
        workspace: &mut Workspace,
        worker: &mut Worker,
        arguments: &[*mut u8],
        results: &[*mut u8],
    ) -> Result<(), Failure> {
        let Workspace { memory, bases, spaces, times, partials } = workspace;
        let memory = memory.as_mut_ptr().cast::<u8>();
        for (base, place) in bases.iter_mut().zip(&self.places) {
            *base = match *place {
                Place::Argument(position) => arguments[position],
                Place::Result(position) => results[position],
                Place::Local(offset) => memory.wrapping_add(offset),
                Place::Constant(id) => elements(&self.constants[&id]),
                Place::Unused => std::ptr::null_mut(),
            };
        }
        for (position, (step, space)) in self.steps.iter().zip(spaces).enumerate() {
            let start = (!times.is_empty()).then(Instant::now);
            // SAFETY: buffers are as large as their types say, at places that overlap only when they are not in use at
            // the same time; the accesses of steps are inside them.
            unsafe {
                match (step, space) {
                    (Compiled::Nest { fills, code }, _) => {
                        fills.iter().for_each(|filled| fill(bases[filled.buffer as usize], filled.count, filled.value));
                        run_nest(self.isa, code, bases, partials.as_mut_ptr().cast(), worker);
                    }
                    (Compiled::Product(step, dtype), _) => product::run(self.isa, step, *dtype, bases, worker),
                    (Compiled::Loop(repeated), Space::Loop(space)) => repeated.run(space, worker, bases)?,
                    (Compiled::Branch(branch), Space::Branch(space)) => branch.run(space, worker, bases)?,
                    (Compiled::Sweeps(sweeps), Space::Sweeps(space)) => sweeps.run(space, worker, bases)?,
                    (Compiled::Recurrence(recurrence), _) => recurrence.run(bases, partials.as_mut_ptr().cast()),
                    (Compiled::Blocks(blocks), Space::Blocks(slots)) => {
                        blocks.run(self.isa, bases, partials.as_mut_ptr().cast(), slots, worker);
                    }
                    (Compiled::Call(call), _) => self.call(call, bases)?,
                    (step, space) => unreachable!("{space:?} is not of {step:?}"),
                }
            }
            if let Some(start) = start {
                times[position] += start.elapsed().as_secs_f64();
            }
        }
        for (position, result, bytes) in self.copies() {
            // SAFETY: both are as large as the type says, and a result overlaps nothing else.
            unsafe { std::ptr::copy_nonoverlapping(bases[result as usize], results[position], bytes) };
        }
        Ok(())
    }

    fn bytes(&self, buffer: BufferId) -> usize {
        bytes(&self.types[buffer as usize])
    }

    /// Runs an operation on plain arrays.
    unsafe fn call(&self, call: &Call, bases: &[*mut u8]) -> Result<(), Failure> {
        let failure = |problem| Failure { operation: "call".into(), problem };
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for &id in &call.arguments {
            let ty = &self.types[id as usize];
            // SAFETY: the buffer is as large as its type says.
            arguments.push(unsafe { array_from(ty, bases[id as usize]) }.map_err(failure)?);
        }
        let results = concrete::run(&call.body, arguments)?;
        for (&id, array) in call.results.iter().zip(results) {
            // SAFETY: as above; an unused result has no buffer.
            unsafe {
                if self.places[id as usize] != Place::Unused {
                    write_array(&array, bases[id as usize]);
                }
            }
        }
        Ok(())
    }
}

/// Runs a nest, in chunks where it is cut.
///
/// # Safety
///
/// As [`Code::run`]; `partials` has as much room as the nest's split says.
unsafe fn run_nest(isa: Instructions, code: &Code, bases: &[*mut u8], partials: *mut u8, worker: &mut Worker) {
    let (split, extent) = (&code.split, code.outer_extent());
    if split.chunks == 1 {
        // SAFETY: as the caller's.
        return unsafe { code.run(bases, |_| None, &mut worker.own.scratch, 0..extent) };
    }
    let (shared, parts) = (Shared(bases), [partials]);
    let parts = Shared(&parts);
    worker.each(split.chunks, |chunk, _, worker| {
        let part = |partial: &Partial| parts.pointers()[0].wrapping_add(partial.offset + chunk * partial.stride);
        let own = |id: BufferId| split.partials.iter().find(|partial| partial.buffer == id).map(part);
        for partial in &split.partials {
            // SAFETY: the part has room for the buffer's elements.
            unsafe { fill(part(partial), partial.count, neutral(partial.op, partial.dtype)) };
        }
        let range = split.range(chunk, extent, code.vector == 0);
        // SAFETY: as the caller's; chunks write to different elements, or to parts of their own.
        unsafe { code.run(shared.pointers(), own, &mut worker.scratch, range) };
    });
    for partial in &split.partials {
        // SAFETY: both are as large as the buffer.
        unsafe { partial.combine(isa, bases[partial.buffer as usize], partials, split.chunks) };
    }
}

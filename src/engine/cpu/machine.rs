//! Procedures, ready to run, and the memory that they run in.

use super::code::{NestCode, Scratch};
use super::compiled::{CompiledStep, Machine, Space, Workspace};
use super::edges;
use super::memory::{BufferLocation, copy_apart, plan};
use super::prefetch::prefetches;
use super::scalars::Scalars;
use super::split::PartialBuffer;
use super::streaming::streamed;
use super::target::Target;
use super::threads::{PackingLines, SharedPointers, Worker};
use super::transpose::transposed;
use super::vector::Instructions;
use crate::array::{OutOfMemory, neutral_value};
use crate::engine::arrays::{array_from, bytes, dense, elements, fill, lines, write_array};
use crate::evaluate::{self, Failure};
use crate::kernel::{BufferId, BufferSource, Call, Procedure, Step};
use crate::shape::Type;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Instant;

impl Workspace {
    /// Adds the measured times of all kernels to a list of them, in the order of reports, and begins anew.
    pub(super) fn drain_times(&mut self, all: &mut Vec<f64>, position: &mut usize, machine: &Machine) {
        let steps = machine.steps.iter().zip(&machine.kernels);
        let mut parts = 0.0;
        for ((time, (step, &kernels)), space) in self.times.iter_mut().zip(steps).zip(&mut self.spaces) {
            let machines = step.machines();
            // The times of a loop's first sweep are kept by the loop.
            if !machines.is_empty() || matches!(step, CompiledStep::First { .. }) {
                for (workspace, machine) in space.workspaces().into_iter().zip(machines) {
                    workspace.drain_times(all, position, machine);
                }
                continue;
            }
            parts += std::mem::take(time);
            if kernels == 0 {
                continue;
            }
            // Kernels that run as one step share its time.
            let share = std::mem::take(&mut parts) / kernels as f64;
            for _ in 0..kernels {
                if all.len() <= *position {
                    all.push(0.0);
                }
                all[*position] += share;
                *position += 1;
            }
        }
    }
}

#[cfg(test)]
impl Workspace {
    /// The counts of the first loop with sweeps.
    pub(super) fn counts(&self) -> Option<crate::term::schedule::Counts> {
        self.spaces.iter().find_map(|space| match space {
            Space::Sweeps(space) => Some(space.counts),
            _ => None,
        })
    }
}

/// Tells first sweeps where the loops are that continue from them.
fn find_loops(steps: &mut [CompiledStep]) {
    let mut loops: HashMap<Vec<BufferId>, usize> = HashMap::new();
    for (at, step) in steps.iter_mut().enumerate().rev() {
        match step {
            CompiledStep::Sweeps(sweeps) => loops.extend(sweeps.first().map(|results| (results.to_vec(), at))),
            CompiledStep::First { results, of } => *of = loops[results],
            _ => {}
        }
    }
}

/// Moves a step into its place.
fn push(steps: &mut Vec<CompiledStep>, step: Box<CompiledStep>) {
    steps.push(*step);
}

impl Machine {
    /// A procedure as instructions; `None` where its memory can't be counted. `cut` says whether threads may share the work
    /// of a step.
    ///
    /// # Errors
    ///
    /// When there is no memory for a known array.
    pub(super) fn new(
        target: Target<'_>,
        procedure: &Procedure,
        cut: bool,
    ) -> Result<Option<Box<Machine>>, OutOfMemory> {
        Machine::of(target, procedure, cut, false)
    }

    /// As [`Machine::new`], for a procedure that is run step by step: if all of it is work on a few numbers, it becomes one
    /// step.
    ///
    /// # Errors
    ///
    /// As [`Machine::new`].
    pub(super) fn repeated(
        target: Target<'_>,
        procedure: &Procedure,
        cut: bool,
    ) -> Result<Option<Box<Machine>>, OutOfMemory> {
        Machine::of(target, procedure, cut, true)
    }

    /// The machines of steps are made inside of this, one in the other as loops and conditionals are: so it puts little on the
    /// stack, and nothing large that is handed over.
    fn of(
        target: Target<'_>,
        procedure: &Procedure,
        cut: bool,
        repeated: bool,
    ) -> Result<Option<Box<Machine>>, OutOfMemory> {
        let procedure = &*transposed(procedure, cut);
        let Some((places, memory)) = plan(procedure) else { return Ok(None) };
        let origins = procedure.results.iter().map(|&id| procedure.origin(id)).enumerate();
        let stored = origins.filter(|&(position, id)| {
            // A result that is a changed parameter is stored where that is.
            let is_argument = matches!(places[id as usize], BufferLocation::Argument(_));
            places[id as usize] == BufferLocation::Result(position) || (is_argument && procedure.changing.contains(&id))
        });
        let stored: Vec<BufferId> = stored.map(|(_, id)| id).collect();
        let scalars = if repeated { Scalars::of(target, procedure, &procedure.steps, &stored) } else { None };
        let mut constants = HashMap::new();
        for (id, buffer) in procedure.buffers.iter().enumerate() {
            if let BufferSource::Constant(array) = &buffer.source
                && places[id] != BufferLocation::Unused
            {
                constants.insert(id as BufferId, dense(array)?);
            }
        }
        let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
        let shares = target.advance.map(|advance| prefetches(procedure, advance)).unwrap_or_default();
        let streamed = if target.is_outermost { streamed(procedure, &places) } else { Vec::new() };
        let target = Target { advance: None, prefetched: &[], is_outermost: false, streamed: &streamed, ..target };
        let mut steps = Vec::with_capacity(procedure.steps.len());
        let (mut kernels, mut table) = (Vec::with_capacity(procedure.steps.len()), 0);
        let mut moving: Vec<BufferId> = Vec::new();
        let memory = if scalars.is_some() { 0 } else { memory };
        if let Some(scalars) = scalars {
            moving.extend(scalars.touched());
            kernels.push(procedure.kernels());
            steps.push(CompiledStep::Scalars(Box::new(scalars)));
        } else {
            for (at, step) in procedure.steps.iter().enumerate() {
                let cut_up = if let Step::Nest(nest) = step { edges::parts(nest, cut) } else { None };
                let parts: SmallVec<[Cow<Step>; 1]> = match cut_up {
                    Some(parts) => parts.into_iter().map(|part| Cow::Owned(Step::Nest(part))).collect(),
                    None => smallvec![Cow::Borrowed(step)],
                };
                let count = parts.len();
                // Parts would each ask for all of it.
                let share = shares.get(at).filter(|_| count == 1);
                let target = Target { prefetched: share.map_or(&[], Vec::as_slice), ..target };
                for (at, step) in parts.into_iter().enumerate() {
                    let Some(mut compiled) = CompiledStep::new(target, procedure, &step, &types, cut)? else {
                        return Ok(None);
                    };
                    table = compiled.tabulate(&places, table);
                    match &*compiled {
                        CompiledStep::Nest { table: Some(_), .. } => {}
                        CompiledStep::Scalars(scalars) => moving.extend(scalars.touched()),
                        _ => {
                            let (read, filled) = step.touched();
                            moving.extend(read.into_iter().chain(filled));
                        }
                    }
                    // The parts of a step are one kernel.
                    kernels.push(if at + 1 == count { step.kernels() } else { 0 });
                    push(&mut steps, compiled);
                }
            }
        }
        find_loops(&mut steps);
        let copied = procedure.results.iter().enumerate().filter_map(|(position, &result)| {
            let own = places[result as usize] == BufferLocation::Result(position);
            (!own).then(|| (position, result, bytes(&types[result as usize])))
        });
        let copies: Vec<_> = copied.collect();
        moving.extend(copies.iter().map(|&(_, source, _)| source));
        moving.retain(|&id| matches!(places[id as usize], BufferLocation::Argument(_) | BufferLocation::Result(_)));
        moving.sort_unstable();
        moving.dedup();
        Ok(Some(Box::new(Machine {
            copies,
            moving,
            partials: steps.iter().map(CompiledStep::partials).max().unwrap_or(0),
            arguments: procedure.parameters,
            results: procedure.results.len(),
            types,
            places,
            constants,
            memory,
            steps,
            kernels,
            isa: target.isa,
            table,
        })))
    }

    /// The bytes of memory of the procedure and of its steps, for so many threads.
    pub(super) fn total_memory(&self, threads: usize) -> usize {
        let inner = self.steps.iter().map(|step| step.memory(threads));
        inner.fold(self.memory.saturating_add(self.partials), usize::saturating_add)
    }

    /// The numbers of scalar instructions of these steps, including those inside of loops and conditionals.
    #[cfg(test)]
    pub(super) fn scalars(&self) -> Vec<usize> {
        let of = |step: &CompiledStep| match step {
            CompiledStep::Scalars(scalars) => vec![scalars.instructions()],
            CompiledStep::Recurrence(recurrence) => recurrence.instructions().into_iter().collect(),
            step => step.machines().iter().flat_map(|machine| machine.scalars()).collect(),
        };
        self.steps.iter().flat_map(of).collect()
    }

    /// How many loops with sweeps there are.
    #[cfg(test)]
    pub(super) fn loops(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, CompiledStep::Sweeps(_))).count()
    }

    /// How many instructions all nests and recurrences run, including those of loops but not those of conditionals.
    #[cfg(test)]
    pub(super) fn executions(&self) -> usize {
        let of = |step: &CompiledStep| match step {
            CompiledStep::Nest { code, .. } => code.executions(),
            CompiledStep::Recurrence(recurrence) => recurrence.executions(),
            CompiledStep::Loop(repeated) => repeated.length * repeated.step.executions(),
            _ => 0,
        };
        self.steps.iter().map(of).sum()
    }

    /// Whether some kernel is cut for several threads.
    pub(super) fn is_parallel(&self) -> bool {
        self.steps.iter().any(CompiledStep::is_parallel)
    }

    /// Lines of memory that threads need for products.
    pub(super) fn packing_lines(&self) -> PackingLines {
        self.steps.iter().map(CompiledStep::packing_lines).fold(Default::default(), PackingLines::or)
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
        let mut memory = lines(self.memory)?;
        let start = memory.as_mut_ptr().cast::<u8>();
        let bases = self.places.iter().map(|place| match *place {
            BufferLocation::Local(offset) => start.wrapping_add(offset),
            BufferLocation::Constant(id) => elements(&self.constants[&id]),
            // Set at the beginning of a run, or never.
            BufferLocation::Argument(_) | BufferLocation::Result(_) | BufferLocation::Unused => std::ptr::null_mut(),
        });
        Ok(Workspace {
            bases: bases.collect(),
            memory,
            spaces: spaces.collect::<Result<_, OutOfMemory>>()?,
            table: vec![std::ptr::null_mut(); self.table],
            registers: std::ptr::null(),
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
        let Workspace { bases, table, registers, spaces, times, partials, .. } = workspace;
        for &id in &self.moving {
            bases[id as usize] = match self.places[id as usize] {
                BufferLocation::Argument(position) => arguments[position],
                BufferLocation::Result(position) => results[position],
                _ => unreachable!("neither argument nor result"),
            };
        }
        // A workspace is nearly always run with the same worker.
        if *registers != worker.own.scratch.registers() {
            self.steps.iter().for_each(|step| step.begin(table, &mut worker.own.scratch, bases));
            *registers = worker.own.scratch.registers();
        }
        for (position, step) in self.steps.iter().enumerate() {
            let start = (!times.is_empty()).then(Instant::now);
            // SAFETY: buffers are as large as their types say, at places that overlap only when they are not in use at
            // the same time; the accesses of steps are inside them.
            unsafe {
                match (step, &mut spaces[position]) {
                    (CompiledStep::Nest { fills, code, table: Some(own) }, _) => {
                        own.run(code, fills, table, &mut worker.own.scratch, (arguments, results));
                    }
                    (CompiledStep::Nest { fills, code, table: None }, _) => {
                        fills.iter().for_each(|filled| fill(bases[filled.buffer as usize], filled.count, filled.value));
                        run_chunks(self.isa, code, bases, partials.as_mut_ptr().cast(), worker);
                    }
                    (CompiledStep::Product(product), _) => product.run(self.isa, bases, worker),
                    (CompiledStep::Loop(repeated), Space::Loop(space)) => repeated.run(space, worker, bases)?,
                    (CompiledStep::Branch(branch), Space::Branch(space)) => branch.run(space, worker, bases)?,
                    (CompiledStep::Sweeps(sweeps), Space::Sweeps(space)) => sweeps.run(space, worker, bases)?,
                    (&CompiledStep::First { of, .. }, _) => match (&self.steps[of], &mut spaces[of]) {
                        (CompiledStep::Sweeps(sweeps), Space::Sweeps(space)) => sweeps.begin(space, worker, bases)?,
                        (step, space) => unreachable!("{space:?} is not of {step:?}"),
                    },
                    (CompiledStep::Recurrence(recurrence), _) => recurrence.run(bases, partials.as_mut_ptr().cast()),
                    (CompiledStep::Scalars(scalars), Space::Scalars(space)) => {
                        scalars.run(bases, space.as_mut_ptr().cast(), &mut worker.own.scratch)
                    }
                    (CompiledStep::Blocks(blocks), Space::Blocks(slots)) => {
                        blocks.run(self.isa, bases, partials.as_mut_ptr().cast(), slots, worker);
                    }
                    (CompiledStep::Matrix(matrix), _) => matrix.run(self.isa, bases, worker),
                    (CompiledStep::Call(call), _) => self.call(call, bases)?,
                    (step, space) => unreachable!("{space:?} is not of {step:?}"),
                }
            }
            if let Some(start) = start {
                times[position] += start.elapsed().as_secs_f64();
            }
        }
        for &(position, result, bytes) in &self.copies {
            // SAFETY: both are as large as the type says, and a result overlaps nothing else, unless it is where the argument
            // is.
            unsafe { copy_apart(bases[result as usize], results[position], bytes) };
        }
        Ok(())
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
        let results = evaluate::run(&call.body, arguments)?;
        for (&id, array) in call.results.iter().zip(results) {
            // SAFETY: as above; an unused result has no buffer.
            unsafe {
                if self.places[id as usize] != BufferLocation::Unused {
                    write_array(&array, bases[id as usize]);
                }
            }
        }
        Ok(())
    }
}

/// Runs a nest in chunks.
///
/// # Safety
///
/// As [`NestCode::run`]; `partials` has as much room as the nest's split says.
unsafe fn run_chunks(isa: Instructions, code: &NestCode, bases: &[*mut u8], partials: *mut u8, worker: &mut Worker) {
    let (split, extent) = (&code.split, code.outer_extent());
    let (shared, parts) = (SharedPointers(bases), [partials]);
    let parts = SharedPointers(&parts);
    let part = |partial: &PartialBuffer, chunk: usize| {
        parts.pointers()[0].wrapping_add(partial.offset + chunk * partial.stride)
    };
    let of_first = |at: u32| part(&split.partials[at as usize], 0);
    let chunks = match split.chunks {
        // It leaves out steps by itself.
        1 => 0..1,
        // SAFETY: as the caller's.
        _ => split.chunks_with(unsafe { code.stretch(bases, of_first, &mut worker.own.scratch) }, extent),
    };
    let first = chunks.start;
    worker.each(chunks.len(), |chunk, _, worker| {
        let chunk = first + chunk;
        let part = |partial: &PartialBuffer| part(partial, chunk);
        for partial in &split.partials {
            // SAFETY: the part has room for the buffer's elements.
            unsafe { fill(part(partial), partial.count, neutral_value(partial.op, partial.dtype)) };
        }
        let range = split.range(chunk, extent);
        // SAFETY: as the caller's; chunks write to different elements, or to parts of their own.
        unsafe { code.run(shared.pointers(), |at| part(&split.partials[at as usize]), &mut worker.scratch, range) };
    });
    for partial in &split.partials {
        // SAFETY: both are as large as the buffer.
        unsafe { partial.combine(isa, bases[partial.buffer as usize], partials, chunks.clone()) };
    }
}

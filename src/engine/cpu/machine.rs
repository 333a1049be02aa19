//! Procedures, ready to run, and the memory that they run in.

use super::arrays::{Line, array_from, bytes, dense, elements, fill, lines, neutral, write_array};
use super::assemble::assemble;
use super::blocks::{CompiledBlocks, Slot};
use super::code::{Code, Scratch};
use super::loops::CompiledLoop;
use super::memory::{Place, plan};
use super::product::CompiledProduct;
use super::recurrence::CompiledRecurrence;
use super::split::Partial;
use super::threads::{Shared, Worker};
use super::vector::Instructions;
use crate::concrete::{self, Array, Failure, OutOfMemory};
use crate::kernel::{BufferId, Call, Mode, Nest, Procedure, Source, Step};
use crate::shape::{Type, Value};
use std::collections::HashMap;
use std::sync::Mutex;
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

#[derive(Debug)]
enum Compiled {
    Nest { fills: Vec<Fill>, code: Code },
    Product(Box<CompiledProduct>),
    Loop(Box<CompiledLoop>),
    Recurrence(Box<CompiledRecurrence>),
    Blocks(Box<CompiledBlocks>),
    Call(Call),
}

/// A buffer whose elements all get one value.
#[derive(Debug)]
struct Fill {
    buffer: BufferId,
    count: usize,
    value: Value,
}

/// The memory of one run.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub(super) memory: Vec<Line>,
    bases: Vec<*mut u8>,
    /// Those of the loops among the steps.
    inner: Vec<Workspace>,
    /// What each thread has for each of the blocks among the steps.
    slots: Vec<Vec<Mutex<Slot>>>,
    /// Arguments and results of a loop's step.
    pub(super) pointers: Vec<*mut u8>,
    /// The other place of carries, whose places take turns.
    pub(super) turns: Vec<Line>,
    /// The two places of each carry.
    pub(super) places: Vec<[*mut u8; 2]>,
    /// Partial results of the chunks of a nest, or the registers of a recurrence.
    partials: Vec<Line>,
    /// The seconds of each step, where they are measured.
    pub(super) times: Vec<f64>,
}

impl Workspace {
    /// Adds the measured times of all kernels to a list of them, in the order of reports, and begins anew.
    pub(super) fn drain_times(&mut self, all: &mut Vec<f64>, position: &mut usize, machine: &Machine) {
        let mut inner = self.inner.iter_mut();
        for (time, step) in self.times.iter_mut().zip(&machine.steps) {
            if let Compiled::Loop(repeated) = step {
                let workspace = inner.next().expect("a workspace for each loop");
                workspace.drain_times(all, position, &repeated.step);
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
        let mut steps = Vec::new();
        for step in &procedure.steps {
            steps.push(match step {
                Step::Nest(nest) => {
                    Compiled::Nest { fills: fills(nest, procedure), code: assemble(isa, nest, &types, cut) }
                }
                Step::Product(product) => {
                    let dtype = types[product.result.buffer as usize].dtype;
                    Compiled::Product(Box::new(CompiledProduct::new(product, dtype)))
                }
                Step::Loop(repeated) if let Some(compiled) = CompiledRecurrence::new(isa, repeated) => {
                    Compiled::Recurrence(Box::new(compiled))
                }
                Step::Loop(repeated) => match CompiledLoop::new(isa, repeated, &types, cut)? {
                    Some(compiled) => Compiled::Loop(Box::new(compiled)),
                    None => return Ok(None),
                },
                Step::Blocks(blocks) => match CompiledBlocks::new(isa, blocks, &types)? {
                    Some(compiled) => Compiled::Blocks(Box::new(compiled)),
                    None => return Ok(None),
                },
                Step::Call(call) => Compiled::Call(call.clone()),
            });
        }
        let (results, arguments) = (procedure.results.clone(), procedure.parameters);
        let partials = steps.iter().map(|step| match step {
            Compiled::Nest { code, .. } => code.split.memory,
            Compiled::Recurrence(recurrence) => recurrence.memory(),
            Compiled::Blocks(blocks) => blocks.memory,
            _ => 0,
        });
        let partials = partials.max().unwrap_or(0);
        Ok(Some(Machine { types, places, constants, memory, steps, results, arguments, isa, partials }))
    }

    /// The bytes of memory of the procedure, and of those of its loops and blocks, for so many threads.
    pub(super) fn total_memory(&self, threads: usize) -> usize {
        let inner = self.steps.iter().map(|step| match step {
            Compiled::Loop(repeated) => {
                let turns: usize = repeated.carry_bytes.iter().map(|bytes| bytes.next_multiple_of(64)).sum();
                turns.saturating_add(repeated.step.total_memory(threads))
            }
            Compiled::Blocks(blocks) => blocks.thread_memory().saturating_mul(threads),
            _ => 0,
        });
        inner.fold(self.memory.saturating_add(self.partials), usize::saturating_add)
    }

    /// The nest that the whole procedure is, if it is no more than one and what its results are copied from.
    pub(super) fn single(&self) -> Option<&Code> {
        match &self.steps[..] {
            [Compiled::Nest { fills, code }] if fills.is_empty() && code.split.chunks == 1 => Some(code),
            _ => None,
        }
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
        self.steps.iter().any(|step| match step {
            Compiled::Nest { code, .. } => code.split.chunks > 1,
            Compiled::Product(product) => product.chunks > 1,
            Compiled::Loop(repeated) => repeated.step.is_parallel(),
            Compiled::Blocks(blocks) => blocks.chunks > 1,
            Compiled::Recurrence(_) | Compiled::Call(_) => false,
        })
    }

    /// Lines of memory that each thread needs for its products.
    pub(super) fn packing_lines(&self) -> usize {
        let lines = self.steps.iter().map(|step| match step {
            Compiled::Product(product) => product.packing_lines(),
            Compiled::Loop(repeated) => repeated.step.packing_lines(),
            _ => 0,
        });
        lines.max().unwrap_or(0)
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
        let (mut inner, mut slots) = (Vec::new(), Vec::new());
        for step in &self.steps {
            match step {
                Compiled::Nest { code, .. } => scratch.reserve(code),
                Compiled::Blocks(blocks) => slots.push(blocks.slots(threads)?),
                Compiled::Loop(repeated) => {
                    let mut workspace = repeated.step.workspace(scratch, profile, threads)?;
                    let turns: usize = repeated.carry_bytes.iter().map(|bytes| bytes.next_multiple_of(64)).sum();
                    workspace.turns = lines(turns)?;
                    workspace.pointers = vec![std::ptr::null_mut(); repeated.pointers()];
                    inner.push(workspace);
                }
                _ => {}
            }
        }
        Ok(Workspace {
            memory: lines(self.memory)?,
            bases: vec![std::ptr::null_mut(); self.places.len()],
            inner,
            slots,
            partials: lines(self.partials)?,
            times: vec![0.0; if profile { self.steps.len() } else { 0 }],
            ..Workspace::default()
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
        let Workspace { memory, bases, inner, slots, times, partials, .. } = workspace;
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
        let (mut loops, mut blocks_slots) = (inner.iter_mut(), slots.iter());
        for (position, step) in self.steps.iter().enumerate() {
            let start = (!times.is_empty()).then(Instant::now);
            // SAFETY: buffers are as large as their types say, at places that overlap only when they are not in use at
            // the same time; the accesses of steps are inside them.
            unsafe {
                match step {
                    Compiled::Nest { fills, code } => {
                        fills.iter().for_each(|fill| fill.run(bases));
                        run_nest(self.isa, code, bases, partials.as_mut_ptr().cast(), worker);
                    }
                    Compiled::Product(product) => product.run(self.isa, bases, worker),
                    Compiled::Loop(repeated) => {
                        let workspace = loops.next().expect("a workspace for each loop");
                        repeated.run(workspace, worker, bases)?;
                    }
                    Compiled::Recurrence(recurrence) => recurrence.run(bases, partials.as_mut_ptr().cast()),
                    Compiled::Blocks(blocks) => {
                        let slots = blocks_slots.next().expect("slots for all blocks");
                        blocks.run(self.isa, bases, partials.as_mut_ptr().cast(), slots, worker);
                    }
                    Compiled::Call(call) => self.call(call, bases)?,
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

/// The buffers that a nest combines into, with what they hold before, but for those that have elements already.
fn fills(nest: &Nest, procedure: &Procedure) -> Vec<Fill> {
    let mut fills: Vec<Fill> = Vec::new();
    for store in &nest.stores {
        if let Mode::Reduce(op) = store.mode
            && !procedure.continued.contains(&store.buffer)
        {
            let ty = &procedure.buffers[store.buffer as usize].ty;
            fills.push(Fill { buffer: store.buffer, count: ty.size(), value: neutral(op, ty.dtype) });
        }
    }
    fills
}

impl Fill {
    /// # Safety
    ///
    /// The buffer has room for as many elements.
    unsafe fn run(&self, bases: &[*mut u8]) {
        // SAFETY: as the caller's.
        unsafe { fill(bases[self.buffer as usize], self.count, self.value) };
    }
}

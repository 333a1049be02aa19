//! Rolled loops: the machine of a step, run once for each; where a step is one nest, only the pointers that move are set for
//! each.

use super::arrays::bytes;
use super::code::{Base, Slot};
use super::machine::{Machine, Workspace};
use super::memory::Place;
use super::threads::Worker;
use super::vector::Instructions;
use crate::concrete::{Failure, OutOfMemory};
use crate::kernel::{BufferId, Loop};
use crate::shape::Type;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct CompiledLoop {
    arguments: Vec<BufferId>,
    results: Vec<BufferId>,
    carries: usize,
    inputs: usize,
    length: usize,
    reverse: bool,
    pub(super) step: Machine,
    /// Bytes of carries, and of slices of inputs and of outputs.
    pub(super) carry_bytes: Vec<usize>,
    input_bytes: Vec<usize>,
    output_bytes: Vec<usize>,
    single: Option<Single>,
}

/// How the pointers of a step that is one nest move.
#[derive(Debug, Default)]
struct Single {
    /// The table: that of the nest, then where results are copied from, and to.
    pointers: usize,
    copies: Vec<Copy>,
    /// Those at slices of inputs and outputs, and by how many bytes they move with each step.
    slices: Vec<(Slot, isize)>,
    /// Those at carries: which, and how many bytes from its beginning.
    read: Vec<(Slot, usize, isize)>,
    written: Vec<(Slot, usize, isize)>,
}

#[derive(Debug)]
struct Copy {
    from: Slot,
    to: Slot,
    source: BufferId,
    /// The position among the results.
    result: usize,
    bytes: usize,
}

impl CompiledLoop {
    pub(super) fn new(
        isa: Instructions,
        repeated: &Loop,
        types: &[Type],
        cut: bool,
    ) -> Result<Option<CompiledLoop>, OutOfMemory> {
        let Some(step) = Machine::new(isa, &repeated.step, cut)? else { return Ok(None) };
        let scan = &repeated.scan;
        let of = |ids: &[BufferId]| -> Vec<usize> { ids.iter().map(|&id| bytes(&types[id as usize])).collect() };
        let slices = |whole: Vec<usize>| whole.into_iter().map(|bytes| bytes / scan.length.max(1)).collect();
        let (carries, inputs) = (scan.carries, scan.inputs);
        let mut compiled = CompiledLoop {
            arguments: repeated.arguments.clone(),
            results: repeated.results.clone(),
            carries,
            inputs,
            length: scan.length,
            reverse: scan.reverse,
            step,
            carry_bytes: of(&repeated.arguments[..carries]),
            input_bytes: slices(of(&repeated.arguments[carries..carries + inputs])),
            output_bytes: slices(of(&repeated.results[carries..])),
            single: None,
        };
        compiled.single = compiled.single_nest();
        Ok(Some(compiled))
    }

    /// How many pointers a run needs.
    pub(super) fn pointers(&self) -> usize {
        let step = self.step.arguments + self.carries + self.output_bytes.len();
        self.single.as_ref().map_or(step, |single| single.pointers)
    }

    /// The step as one nest, if it is one.
    fn single_nest(&self) -> Option<Single> {
        let code = self.step.single()?;
        let mut single = Single { pointers: code.slots.len(), ..Single::default() };
        for (result, source, bytes) in self.step.copies() {
            let [from, to] = [0, 1].map(|k| (single.pointers + k) as Slot);
            single.pointers += 2;
            single.add(self, from, self.step.place(source), 0);
            single.add(self, to, Place::Result(result), 0);
            single.copies.push(Copy { from, to, source, result, bytes });
        }
        for (slot, base) in code.slots.iter().enumerate() {
            if let Base::Buffer(id, offset) = *base {
                single.add(self, slot as Slot, self.step.place(id), offset);
            }
        }
        Slot::try_from(single.pointers).is_ok().then_some(single)
    }

    /// Runs all steps.
    ///
    /// # Errors
    ///
    /// As [`Machine::run`].
    ///
    /// # Safety
    ///
    /// As [`Machine::run`], of the procedure that the loop is a step of.
    pub(super) unsafe fn run(
        &self,
        workspace: &mut Workspace,
        worker: &mut Worker,
        bases: &[*mut u8],
    ) -> Result<(), Failure> {
        let base = |id: BufferId| bases[id as usize];
        if self.length == 0 {
            for carry in 0..self.carries {
                // SAFETY: the argument and the result are as large as the carry.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        base(self.arguments[carry]),
                        base(self.results[carry]),
                        self.carry_bytes[carry],
                    );
                }
            }
            return Ok(());
        }
        // A step writes its carries to the results' buffers and to the other place in turns, so that the last writes to the
        // results'.
        let turns = workspace.turns.as_mut_ptr().cast::<u8>();
        let mut offsets = 0;
        let mut places = std::mem::take(&mut workspace.places);
        places.clear();
        places.extend((0..self.carries).map(|carry| {
            let other = turns.wrapping_add(offsets);
            offsets += self.carry_bytes[carry].next_multiple_of(64);
            [base(self.results[carry]), other]
        }));
        if let Some(single) = &self.single {
            // SAFETY: as the caller's.
            unsafe { self.run_single(single, &mut places, workspace, worker, bases) };
            workspace.places = places;
            return Ok(());
        }
        let mut pointers = std::mem::take(&mut workspace.pointers);
        let (arguments, results) = pointers.split_at_mut(self.step.arguments);
        for (argument, &id) in arguments.iter_mut().zip(&self.arguments) {
            *argument = base(id);
        }
        for step in 0..self.length {
            let position = if self.reverse { self.length - 1 - step } else { step };
            let turn = (self.length - 1 - step) % 2;
            for carry in 0..self.carries {
                results[carry] = places[carry][turn];
            }
            for input in 0..self.inputs {
                let whole = base(self.arguments[self.carries + input]);
                arguments[self.carries + input] = whole.wrapping_add(position * self.input_bytes[input]);
            }
            for (output, &bytes) in self.output_bytes.iter().enumerate() {
                let whole = base(self.results[self.carries + output]);
                results[self.carries + output] = whole.wrapping_add(position * bytes);
            }
            // SAFETY: slices are inside of their arrays, and the carries that are read are not those that are written.
            unsafe { self.step.run(workspace, worker, arguments, results)? };
            arguments[..self.carries].copy_from_slice(&results[..self.carries]);
        }
        workspace.pointers = pointers;
        workspace.places = places;
        Ok(())
    }

    /// Runs all steps of a loop whose step is one nest.
    ///
    /// # Safety
    ///
    /// As [`CompiledLoop::run`].
    unsafe fn run_single(
        &self,
        single: &Single,
        places: &mut [[*mut u8; 2]],
        workspace: &mut Workspace,
        worker: &mut Worker,
        bases: &[*mut u8],
    ) {
        let start = (!workspace.times.is_empty()).then(Instant::now);
        let code = self.step.single().expect("a step that is one nest");
        let first = if self.reverse { self.length - 1 } else { 0 };
        let turn = (self.length - 1) % 2;
        let memory = workspace.memory.as_mut_ptr().cast::<u8>();
        let buffer = |place: Place| match place {
            Place::Argument(at) => {
                let bytes = at.checked_sub(self.carries).and_then(|input| self.input_bytes.get(input));
                bases[self.arguments[at] as usize].wrapping_add(first * bytes.unwrap_or(&0))
            }
            Place::Result(at) => match at.checked_sub(self.carries) {
                None => places[at][turn],
                Some(output) => bases[self.results[at] as usize].wrapping_add(first * self.output_bytes[output]),
            },
            Place::Local(offset) => memory.wrapping_add(offset),
            Place::Constant(id) => self.step.constant(id),
            Place::Unused => std::ptr::null_mut(),
        };
        let pointers = &mut workspace.pointers[..];
        let scratch = &mut worker.own.scratch;
        code.begin(pointers, scratch, |id| buffer(self.step.place(id)));
        for copy in &single.copies {
            pointers[copy.from as usize] = buffer(self.step.place(copy.source));
            pointers[copy.to as usize] = buffer(Place::Result(copy.result));
        }
        let mut turn = turn;
        for step in 0..self.length {
            // SAFETY: slices are inside of their arrays, and the carries that are read are not those that are written.
            unsafe {
                code.again(pointers, scratch);
                for copy in &single.copies {
                    let [from, to] = [copy.from, copy.to].map(|slot| pointers[slot as usize]);
                    std::ptr::copy_nonoverlapping(from, to, copy.bytes);
                }
            }
            if step + 1 == self.length {
                break;
            }
            for &(slot, bytes) in &single.slices {
                let pointer = &mut pointers[slot as usize];
                *pointer = pointer.wrapping_offset(bytes);
            }
            // What was written is read now.
            for &(slot, carry, offset) in &single.read {
                pointers[slot as usize] = places[carry][turn].wrapping_offset(offset);
            }
            turn = 1 - turn;
            for &(slot, carry, offset) in &single.written {
                pointers[slot as usize] = places[carry][turn].wrapping_offset(offset);
            }
        }
        if let Some(start) = start {
            workspace.times[0] += start.elapsed().as_secs_f64();
        }
    }
}

impl Single {
    /// A pointer of the table, by what it points into and how many bytes from the beginning of that.
    fn add(&mut self, repeated: &CompiledLoop, slot: Slot, place: Place, offset: isize) {
        let direction = if repeated.reverse { -1 } else { 1 };
        match place {
            Place::Argument(at) if at < repeated.carries => self.read.push((slot, at, offset)),
            Place::Argument(at) => {
                if let Some(&bytes) = repeated.input_bytes.get(at - repeated.carries) {
                    self.slices.push((slot, direction * bytes as isize));
                }
            }
            Place::Result(at) if at < repeated.carries => self.written.push((slot, at, offset)),
            Place::Result(at) => {
                self.slices.push((slot, direction * repeated.output_bytes[at - repeated.carries] as isize));
            }
            Place::Local(_) | Place::Constant(_) | Place::Unused => {}
        }
    }
}

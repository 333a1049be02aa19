//! Rolled loops: the machine of a step, run once for each.

use super::arrays::bytes;
use super::machine::{Machine, Workspace};
use super::threads::Worker;
use super::vector::Instructions;
use crate::concrete::{Failure, OutOfMemory};
use crate::kernel::{BufferId, Loop};
use crate::shape::Type;

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
        Ok(Some(CompiledLoop {
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
        }))
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
        }
        workspace.pointers = pointers;
        workspace.places = places;
        Ok(())
    }
}

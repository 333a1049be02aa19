//! Rolled loops: a step that runs once for each slice.

use super::code::Scratch;
use super::compiled::{CompiledLoop, LoopSpace, Machine};
use super::memory::copy_apart;
use super::target::Target;
use super::threads::Worker;
use crate::array::OutOfMemory;
use crate::engine::arrays::{bytes, lines};
use crate::evaluate::Failure;
use crate::kernel::{BufferId, Loop};
use crate::shape::Type;

impl CompiledLoop {
    /// A loop as instructions; `None` where its memory can't be counted.
    ///
    /// # Errors
    ///
    /// As [`Machine::new`].
    pub(super) fn new(
        target: Target<'_>,
        repeated: &Loop,
        types: &[Type],
        cut: bool,
    ) -> Result<Option<Box<CompiledLoop>>, OutOfMemory> {
        let Some(step) = Machine::new(target.repeated(repeated.scan.length), &repeated.step, cut)? else {
            return Ok(None);
        };
        let scan = &repeated.scan;
        let (carries, arguments) = (scan.carries, step.arguments);
        let of = |id: BufferId| bytes(&types[id as usize]);
        let slice = |id: BufferId| of(id) / scan.length.max(1);
        let read = (carries..carries + scan.inputs).map(|at| (at, slice(repeated.arguments[at])));
        let written = (carries..step.results).map(|at| (arguments + at, slice(repeated.results[at])));
        Ok(Some(Box::new(CompiledLoop {
            arguments: repeated.arguments.clone(),
            results: repeated.results.clone(),
            length: scan.length,
            reverse: scan.reverse,
            slices: read.chain(written).collect(),
            stacked: repeated
                .step
                .kept_carries(carries, step.results - carries)
                .into_iter()
                .map(|(output, carry)| (arguments + carries + output, carry))
                .collect(),
            in_place: (0..carries).map(|carry| repeated.step.changes(carry)).collect(),
            step,
            carries: repeated.arguments[..carries].iter().map(|&id| of(id)).collect(),
        })))
    }

    /// Bytes of memory in addition to the step's.
    pub(super) fn memory(&self) -> usize {
        let moving = self.carries.iter().zip(&self.in_place).filter(|(_, in_place)| !**in_place);
        moving.map(|(bytes, _)| bytes.next_multiple_of(64)).sum()
    }

    /// Memory for a run.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn space(&self, scratch: &mut Scratch, profile: bool, threads: usize) -> Result<LoopSpace, OutOfMemory> {
        Ok(LoopSpace {
            workspace: self.step.workspace(scratch, profile, threads)?,
            pointers: vec![std::ptr::null_mut(); self.step.arguments + self.step.results],
            turns: lines(self.memory())?,
            places: vec![[std::ptr::null_mut(); 2]; self.carries.len()],
        })
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
        space: &mut LoopSpace,
        worker: &mut Worker,
        bases: &[*mut u8],
    ) -> Result<(), Failure> {
        let base = |id: BufferId| bases[id as usize];
        let carries = self.carries.len();
        if self.length == 0 {
            for (carry, &bytes) in self.carries.iter().enumerate() {
                let [from, to] = [base(self.arguments[carry]), base(self.results[carry])];
                // SAFETY: the argument and the result are as large as the carry.
                unsafe { copy_apart(from, to, bytes) };
            }
            return Ok(());
        }
        // A step writes its carries to the results' buffers and to the other place in turns, so that the last writes to the
        // results'.
        let LoopSpace { workspace, pointers, turns, places } = space;
        let mut other = turns.as_mut_ptr().cast::<u8>();
        let (arguments, first) = (self.arguments.len(), if self.reverse { self.length - 1 } else { 0 });
        for (pointer, &id) in pointers.iter_mut().zip(self.arguments.iter().chain(&self.results)) {
            *pointer = base(id);
        }
        for (carry, place) in places.iter_mut().enumerate() {
            let (result, bytes) = (base(self.results[carry]), self.carries[carry]);
            if self.in_place[carry] {
                *place = [result; 2];
                // SAFETY: as above.
                unsafe { copy_apart(pointers[carry], result, bytes) };
                pointers[carry] = result;
                continue;
            }
            *place = [result, other];
            if pointers[carry] == result && self.length % 2 == 1 {
                // The first step writes where it would read.
                // SAFETY: the other place has as much room.
                unsafe { copy_apart(result, other, bytes) };
                pointers[carry] = other;
            }
            other = other.wrapping_add(bytes.next_multiple_of(64));
        }
        for &(position, bytes) in &self.slices {
            pointers[position] = pointers[position].wrapping_add(first * bytes);
        }
        for left in (0..self.length).rev() {
            for (carry, place) in places.iter().enumerate() {
                pointers[arguments + carry] = place[left % 2];
            }
            if left > 0 {
                for &(slice, carry) in &self.stacked {
                    let (slice, bytes) = (pointers[slice], self.carries[carry]);
                    let next = if self.reverse { slice.wrapping_sub(bytes) } else { slice.wrapping_add(bytes) };
                    pointers[arguments + carry] = next;
                }
            }
            let (read, written) = pointers.split_at(arguments);
            // SAFETY: slices are inside of their arrays, and the carries that are read are not those that are written.
            unsafe { self.step.run(workspace, worker, read, written)? };
            // The step now reads the carries that were just written.
            pointers.copy_within(arguments..arguments + carries, 0);
            for &(position, bytes) in &self.slices {
                let pointer = &mut pointers[position];
                *pointer = if self.reverse { pointer.wrapping_sub(bytes) } else { pointer.wrapping_add(bytes) };
            }
        }
        Ok(())
    }
}

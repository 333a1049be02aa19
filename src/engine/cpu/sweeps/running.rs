//! A loop that is being run.

use crate::array::OutOfMemory;
use crate::engine::cpu::compiled::{CompiledSweep, CompiledSweeps, SweepSpace, SweepsSpace};
use crate::engine::cpu::threads::Worker;
use crate::evaluate::Failure;
use crate::term::schedule::Runner;

/// A loop with the memory and the worker of a run.
pub(super) struct RunningSweeps<'a> {
    pub(super) compiled: &'a CompiledSweeps,
    pub(super) space: &'a mut SweepsSpace,
    pub(super) worker: &'a mut Worker,
    pub(super) bases: &'a [*mut u8],
    /// The first step that tapes have a record for.
    pub(super) from: usize,
}

fn failure(problem: OutOfMemory) -> Failure {
    Failure { operation: "sweeps".into(), problem }
}

impl SweepSpace {
    /// Has the next step write its carries to the place whose turn it is.
    fn point(&mut self, sweep: &CompiledSweep) {
        let first = sweep.first_result();
        for carry in 0..sweep.starts.len() {
            self.step.pointers[first + carry] = self.place(sweep, carry);
        }
    }

    /// Where a carry goes whose turn it is; one that is changed in place is where it was.
    fn place(&mut self, sweep: &CompiledSweep, carry: usize) -> *mut u8 {
        match sweep.in_place[carry] {
            true => self.step.pointers[carry],
            false => {
                let turns = self.turns.as_mut_ptr().cast::<u8>();
                turns.wrapping_add(self.turn * sweep.state.bytes + sweep.state.offsets[carry])
            }
        }
    }

    /// Makes room on the tape for so many steps. Carries that are there stay there.
    fn reserve(&mut self, sweep: &CompiledSweep, steps: usize) -> Result<(), OutOfMemory> {
        let (before, bytes) = (self.tape.start(), self.tape.bytes());
        self.tape.reserve(steps, sweep.record)?;
        let now = self.tape.start();
        for &(_, carry) in &sweep.carried {
            let pointer = &mut self.step.pointers[carry];
            let offset = pointer.addr().wrapping_sub(before.addr());
            if offset < bytes {
                *pointer = now.wrapping_add(offset);
            }
        }
        Ok(())
    }

    /// Makes the next step read the state that the last one wrote.
    fn turn(&mut self, sweep: &CompiledSweep) {
        let first = sweep.first_result();
        self.step.pointers.copy_within(first..first + sweep.starts.len(), 0);
        self.turn = 1 - self.turn;
        self.point(sweep);
    }
}

impl Runner for RunningSweeps<'_> {
    type Failure = Failure;

    fn count(&self) -> Option<usize> {
        self.compiled.count
    }

    fn goes_on(&mut self, step: usize, _: bool) -> Result<bool, Failure> {
        match (&self.compiled.condition, &mut self.space.condition) {
            (Some(condition), Some(space)) => {
                let carries = self.compiled.sweeps[0].starts.len();
                space.pointers[..carries].copy_from_slice(&self.space.sweeps[0].step.pointers[..carries]);
                // SAFETY: the carries are where the first sweep's are, the result has a line for itself.
                unsafe {
                    space.run(condition, self.worker)?;
                    Ok(*self.space.holds.as_ptr().cast::<bool>())
                }
            }
            _ => Ok(self.compiled.count.is_some_and(|count| step < count)),
        }
    }

    fn begin(&mut self, sweep: usize, _: bool) {
        let (compiled, space) = (&self.compiled.sweeps[sweep], &mut self.space.sweeps[sweep]);
        let first_place = space.turns.as_mut_ptr().cast::<u8>();
        let ends = compiled.starts.iter().zip(&compiled.finals);
        for (carry, (pointer, (&start, &last))) in space.step.pointers.iter_mut().zip(ends).enumerate() {
            let (start, last) = (self.bases[start as usize], self.bases[last as usize]);
            *pointer = start;
            if compiled.in_place[carry] && start != last {
                *pointer = first_place.wrapping_add(compiled.state.offsets[carry]);
                // SAFETY: there is room for the carry, and its first value is elsewhere.
                unsafe { std::ptr::copy_nonoverlapping(start, *pointer, compiled.state.sizes[carry]) };
            }
        }
        space.point(compiled);
    }

    fn step(&mut self, sweep: usize, step: usize, keeps: bool) -> Result<(), Failure> {
        let (compiled, at) = (&self.compiled.sweeps[sweep], step.wrapping_sub(self.from));
        if !compiled.slices.is_empty() {
            let position = match self.compiled.count {
                Some(count) if self.compiled.reverse => count - 1 - step,
                _ => step,
            };
            let pointers = &mut self.space.sweeps[sweep].step.pointers;
            for slice in &compiled.slices {
                pointers[slice.position] = self.bases[slice.buffer as usize].wrapping_add(position * slice.bytes);
            }
        }
        for &(position, from, offset) in &compiled.reads {
            let records = self.space.sweeps[from].tape.start();
            let record = records.wrapping_add(at * self.compiled.sweeps[from].record);
            self.space.sweeps[sweep].step.pointers[position] = record.wrapping_add(offset);
        }
        let space = &mut self.space.sweeps[sweep];
        if !compiled.keeps.is_empty() {
            let dropped = space.dropped.as_mut_ptr().cast::<u8>();
            let mut record = dropped;
            if keeps {
                space.reserve(compiled, at + 1).map_err(failure)?;
                record = space.tape.start().wrapping_add(at * compiled.record);
                space.kept += 1;
            }
            let first = compiled.first_result() + compiled.starts.len();
            for (pointer, &(offset, is_read)) in space.step.pointers[first..].iter_mut().zip(&compiled.keeps) {
                *pointer = if is_read { record } else { dropped }.wrapping_add(offset);
            }
            // Every other sweep goes backwards.
            let next = if sweep.is_multiple_of(2) { Some(at + 1) } else { at.checked_sub(1) };
            let next = next.filter(|&next| keeps && space.tape.has_room(next + 1, compiled.record));
            let next = next.map(|next| space.tape.start().wrapping_add(next * compiled.record));
            for &(kept, carry) in &compiled.carried {
                let (offset, is_read) = compiled.keeps[kept];
                let pointers = &mut space.step.pointers;
                if !(keeps && is_read) {
                    // Nothing needs it: it is not copied to where it is.
                    pointers[first + kept] = pointers[carry];
                } else if let Some(next) = next.map(|next| next.wrapping_add(offset))
                    && pointers[carry] != next
                {
                    pointers[compiled.first_result() + carry] = next;
                }
            }
        }
        // SAFETY: slices are inside of their arrays, records inside of the tapes; the carries that are read are not those
        // that are written, but for those that the step changes in place.
        unsafe { space.step.run(&compiled.step, self.worker)? };
        space.turn(compiled);
        Ok(())
    }

    fn store(&mut self, sweep: usize, number: usize) -> Result<(), Failure> {
        let (compiled, space) = (&self.compiled.sweeps[sweep], &mut self.space.sweeps[sweep]);
        space.stored.reserve(number + 1, compiled.state.bytes).map_err(failure)?;
        let to = space.stored.start().wrapping_add(number * compiled.state.bytes);
        // SAFETY: there is room for the state, which is at other places.
        unsafe { compiled.copy(&space.step.pointers, |carry| to.wrapping_add(compiled.state.offsets[carry])) };
        Ok(())
    }

    fn restore(&mut self, sweep: usize, number: usize, _: bool) -> Result<(), Failure> {
        let (compiled, space) = (&self.compiled.sweeps[sweep], &mut self.space.sweeps[sweep]);
        let from = space.stored.start().wrapping_add(number * compiled.state.bytes);
        // Memory for states may grow, and move, before this one is read.
        for (carry, &bytes) in compiled.state.sizes.iter().enumerate() {
            let (from, to) = (from.wrapping_add(compiled.state.offsets[carry]), space.place(compiled, carry));
            // SAFETY: both have room for the carry.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
        }
        space.point(compiled);
        space.turn(compiled);
        Ok(())
    }

    fn end(&mut self, sweep: usize) -> Result<(), Failure> {
        let (compiled, space) = (&self.compiled.sweeps[sweep], &self.space.sweeps[sweep]);
        // SAFETY: results are as large as the carries, and overlap nothing but what is there already.
        unsafe { compiled.copy(&space.step.pointers, |carry| self.bases[compiled.finals[carry] as usize]) };
        Ok(())
    }

    fn restart(&mut self, from: usize) {
        self.from = from;
        self.space.sweeps.iter_mut().for_each(|sweep| sweep.kept = 0);
    }

    fn taped(&self) -> usize {
        let tapes = self.compiled.sweeps.iter().zip(&self.space.sweeps);
        tapes.map(|(compiled, space)| compiled.record * space.kept).sum()
    }

    fn sizes(&self) -> (usize, usize) {
        let sum = |of: fn(&CompiledSweep) -> usize| self.compiled.sweeps.iter().map(of).sum::<usize>().max(1);
        (sum(|sweep| sweep.record), sum(|sweep| sweep.state.bytes))
    }
}

//! Loops: counters, pointers that move, and the values that keep their registers.

use super::{
    ASKED, COUNTERS, Emitter, FRAME, FREE, OpenLoop, POINTERS, POSITION, RAX, RDI, Scalar, Whereabouts, in_table,
};
use crate::engine::cpu::native::encode::{Condition, General, Label, Place};
use crate::engine::cpu::native::program::{Count, Loop, Step, Value};
use crate::engine::cpu::slot::Slot;
use crate::shape::sort_by_rank;

impl Emitter<'_> {
    /// Gives general registers to counters and pointers.
    pub(super) fn assign_general(&mut self) {
        let mut loops = Vec::new();
        for step in &self.of.steps {
            if let Step::Begin(Loop { number, count: Count::Known(_) | Count::Asked }) = step
                && !loops.contains(number)
            {
                loops.push(*number);
            }
        }
        let most = loops.iter().max().map_or(0, |&most| most as usize + 1);
        self.counters = vec![None; most];
        let mut free: Vec<General> = POINTERS.into_iter().rev().chain(COUNTERS).collect();
        // Inner loops first.
        for &number in loops.iter().rev() {
            let counter = match free.len() > 6 {
                true => Scalar::Register(free.pop().expect("a free register")),
                false => self.in_frame(),
            };
            self.counters[number as usize] = Some(counter);
        }
        let of = self.of;
        // Pointers to what is prefetched get what is left.
        let mut is_ahead = vec![false; of.bases.len()];
        for step in &of.steps {
            if let Step::Prefetch { address, .. } = step {
                is_ahead[address.pointer as usize] = true;
            }
        }
        let fits = is_ahead.iter().filter(|&&is_ahead| !is_ahead).count() <= free.len();
        if !fits {
            // Pointers that stay where they are can be read from the caller's table.
            free.retain(|&register| register != RDI);
        }
        let mut is_moved = vec![false; of.bases.len()];
        for (axis, moves) in of.moves.iter().enumerate() {
            for &(pointer, _) in moves {
                is_moved[usize::from(pointer)] |= !self.is_by_position(pointer, axis as u32);
            }
        }
        self.pointers = (0..of.bases.len()).map(|at| Scalar::Memory(in_table(at))).collect();
        let mut all: Vec<usize> = (0..of.bases.len()).collect();
        sort_by_rank(&mut all, |&at| 2 * u64::from(is_ahead[at]) + u64::from(!is_moved[at]));
        for at in all {
            if !free.is_empty() {
                self.pointers[at] = Scalar::Register(free.remove(0));
            } else if is_moved[at] {
                self.pointers[at] = self.in_frame();
            }
        }
    }

    /// A counter or a pointer in the frame.
    fn in_frame(&mut self) -> Scalar {
        Scalar::Memory(Place::at(FRAME, self.room(8)))
    }

    /// Whether accesses add the position along a loop, so that the pointer need not move with it.
    fn is_by_position(&self, pointer: Slot, axis: u32) -> bool {
        self.of.vector == axis && self.is_indexed[usize::from(pointer)]
    }

    pub(super) fn begin_loop(&mut self, of: Loop) -> Option<()> {
        let kept = self.keep()?;
        let (top, end) = (self.assembler.label(), self.assembler.label());
        match of.count {
            Count::Known(_) | Count::Asked => self.set_counter(of.number),
            Count::Elements { .. } => {}
            Count::ElementsAsked { step } => {
                self.assembler.address(RAX, Place::at(POSITION, step as i32));
                self.assembler.compare(RAX, ASKED);
                self.assembler.jump_if(Condition::Above, end);
            }
            Count::RestAsked => {
                self.assembler.compare(POSITION, ASKED);
                self.assembler.jump_if(Condition::AtLeast, end);
            }
        }
        self.assembler.place(top);
        self.open.push(OpenLoop { top, end, kept });
        Some(())
    }

    pub(super) fn set_counter(&mut self, number: u32) {
        match self.counters[number as usize].expect("a counter") {
            Scalar::Register(register) => self.assembler.set(register, 0),
            Scalar::Memory(place) => {
                self.assembler.set(RAX, 0);
                self.assembler.store(place, RAX);
            }
        }
    }

    /// Values that the loop that begins reads keep their registers; others get homes.
    pub(super) fn keep(&mut self) -> Option<Vec<Value>> {
        let read = self.uses.read_in(self.at).to_vec();
        let mut kept = Vec::new();
        for of_masks in [false, true] {
            // The first mask register masks nothing.
            let total = self.registers(of_masks).len() - usize::from(of_masks);
            let occupied = if of_masks { &self.masks } else { &self.vectors };
            let already = occupied.iter().flatten().filter(|&&value| self.places_kept(value)).count();
            let reserved = match of_masks {
                true => 3,
                false => FREE.min(total / 2) + self.uses.variables_in(self.at),
            };
            let mut free = total.saturating_sub(already + reserved);
            for &(value, is_variable, _) in &read {
                if self.is_mask(value) != of_masks || self.places[value as usize].kept > 0 {
                    continue;
                }
                let Whereabouts { deferred, .. } = self.places[value as usize];
                if is_variable {
                    free = free.saturating_sub(1);
                    kept.push(value);
                } else if free > 0 && deferred.is_none() {
                    free -= 1;
                    kept.push(value);
                }
            }
        }
        for of_masks in [false, true] {
            for register in 0..self.registers(of_masks).len() {
                let Some(value) = self.registers(of_masks)[register] else { continue };
                if self.places[value as usize].kept == 0 && !kept.contains(&value) {
                    self.save(value);
                    self.drop(value);
                }
            }
        }
        for &value in &kept {
            self.needed.clear();
            self.register(value)?;
            self.places[value as usize].kept += 1;
        }
        Some(kept)
    }

    pub(super) fn places_kept(&self, value: Value) -> bool {
        self.places[value as usize].kept > 0
    }

    pub(super) fn end_loop(&mut self, of: Loop) {
        let OpenLoop { top, end, kept } = self.open.pop().expect("a loop is open");
        match of.count {
            Count::Known(count) => self.count(of.number, top, Some(count)),
            Count::Asked => self.count(of.number, top, None),
            Count::Elements { step, end } => {
                self.assembler.add_number(POSITION, step as i32);
                self.assembler.compare_number(POSITION, end as i32);
                self.assembler.jump_if(Condition::Below, top);
            }
            Count::ElementsAsked { step } => {
                self.assembler.add_number(POSITION, step as i32);
                self.assembler.address(RAX, Place::at(POSITION, step as i32));
                self.assembler.compare(RAX, ASKED);
                self.assembler.jump_if(Condition::NotAbove, top);
            }
            Count::RestAsked => {}
        }
        self.assembler.place(end);
        for of_masks in [false, true] {
            for register in 0..self.registers(of_masks).len() {
                if let Some(value) = self.registers(of_masks)[register]
                    && self.places[value as usize].kept == 0
                {
                    self.drop(value);
                }
            }
        }
        for value in kept {
            self.places[value as usize].kept -= 1;
            if self.places[value as usize].kept == 0 && self.uses.last(value) <= self.at {
                self.drop(value);
            }
        }
    }

    pub(super) fn count(&mut self, number: u32, top: Label, count: Option<u32>) {
        let counter = match self.counters[number as usize].expect("a counter") {
            Scalar::Register(register) => {
                self.assembler.add_number(register, 1);
                register
            }
            Scalar::Memory(place) => {
                self.assembler.load(RAX, place);
                self.assembler.add_number(RAX, 1);
                self.assembler.store(place, RAX);
                RAX
            }
        };
        match count {
            Some(count) => self.assembler.compare_number(counter, count as i32),
            None => self.assembler.compare(counter, ASKED),
        }
        self.assembler.jump_if(Condition::Below, top);
    }

    pub(super) fn advance(&mut self, axis: u32, count: i64) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        let of = self.of;
        for &(pointer, stride) in &of.moves[axis as usize] {
            if self.is_by_position(pointer, axis) {
                continue;
            }
            let bytes = i32::try_from((stride as i64).checked_mul(count)?).ok()?;
            match self.pointers[pointer as usize] {
                Scalar::Register(register) => self.assembler.add_number(register, bytes),
                Scalar::Memory(place) => {
                    self.assembler.load(RAX, place);
                    self.assembler.add_number(RAX, bytes);
                    self.assembler.store(place, RAX);
                }
            }
        }
        Some(())
    }
}

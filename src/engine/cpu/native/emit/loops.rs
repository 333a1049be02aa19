//! Loops: counters, pointers that move, and the values that keep their registers.

use super::{ASKED, COUNTERS, Emitter, FRAME, FREE, OpenLoop, POINTERS, POSITION, RAX, Scalar, Whereabouts};
use crate::engine::cpu::native::encode::{Condition, General, Label, Place};
use crate::engine::cpu::native::program::{Count, Loop, Step, Value};

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
                false => Scalar::Frame(self.room(8)),
            };
            self.counters[number as usize] = Some(counter);
        }
        for _ in 0..self.of.bases.len() {
            let pointer = match free.is_empty() {
                false => Scalar::Register(free.remove(0)),
                true => Scalar::Frame(self.room(8)),
            };
            self.pointers.push(pointer);
        }
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
            Scalar::Frame(offset) => {
                self.assembler.set(RAX, 0);
                self.assembler.store(Place::at(FRAME, offset), RAX);
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
            Scalar::Frame(offset) => {
                self.assembler.load(RAX, Place::at(FRAME, offset));
                self.assembler.add_number(RAX, 1);
                self.assembler.store(Place::at(FRAME, offset), RAX);
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
        let is_vector = |pointer: u16, this: &Self| this.of.vector == axis && this.is_indexed[pointer as usize];
        for &(pointer, stride) in &of.moves[axis as usize] {
            if is_vector(pointer, self) {
                continue;
            }
            let bytes = i32::try_from((stride as i64).checked_mul(count)?).ok()?;
            match self.pointers[pointer as usize] {
                Scalar::Register(register) => self.assembler.add_number(register, bytes),
                Scalar::Frame(offset) => {
                    self.assembler.load(RAX, Place::at(FRAME, offset));
                    self.assembler.add_number(RAX, bytes);
                    self.assembler.store(Place::at(FRAME, offset), RAX);
                }
            }
        }
        Some(())
    }
}

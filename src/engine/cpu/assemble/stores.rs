//! Stores: plain ones, those that combine with what is there, and those at computed positions.

use super::{Assembler, Fused, combining};
use crate::algebra::Reduction;
use crate::engine::cpu::code::{Bound, Instruction, Slot};
use crate::engine::cpu::scatter::scatter;
use crate::engine::cpu::vector::{self, Kernel, Operand};
use crate::kernel::{Mode, Store, ValueId};
use crate::shape::DType;

impl Assembler<'_> {
    /// The instructions of a store.
    pub(super) fn store(&mut self, store: &Store, fused: Option<Fused>) {
        let depth = self.depth();
        let dtype = self.nest.values[store.value as usize].1;
        let width = dtype.bytes() as isize;
        let step = *self.by_loop(&store.at).last().expect("there is a vector axis") as isize;
        let isa = self.isa;
        if let Some(Fused { a, b, inner }) = fused {
            let result = self.buffer(store.buffer, &store.at, dtype);
            let run = match (step, inner) {
                (_, Some(_)) => vector::square_distance(isa, dtype),
                (0, _) => vector::dot(isa, dtype),
                _ => vector::multiply_add(isa, dtype, self.operand(a, depth), self.operand(b, depth)),
            };
            let (a, b) = (self.place(a), self.place(b));
            self.emit(depth, Instruction::Kernel { run, result, a, b, c: b });
            return;
        }
        let level = self.levels[store.value as usize];
        if let Some((index, stride, extent)) = store.index {
            let Mode::Reduce(op) = store.mode else { unreachable!("computed positions are added at") };
            let result = self.buffer(store.buffer, &store.at, dtype);
            if step == 1 && self.operand(index, depth) == Operand::One {
                // A row, from a computed position on.
                let run =
                    vector::binary(isa, combining(op, dtype), dtype, Operand::Run, self.operand(store.value, depth));
                let (index, value) = (self.place(index), self.place(store.value));
                let stride = stride as isize * width;
                self.emit(depth, Instruction::Into { run, result, stride, index, extent, value });
                return;
            }
            let run = scatter(op, dtype);
            let moving = |this: &Self, id: ValueId, width: isize| {
                (this.place(id), if this.is_vector(this.levels[id as usize]) { width } else { 0 })
            };
            let (index, value) = (moving(self, index, 8), moving(self, store.value, width));
            let stride = stride as isize * width;
            self.emit(depth, Instruction::Along { run, result, along: step * width, stride, index, extent, value });
            return;
        }
        match store.mode {
            Mode::Write => {
                let level = level.max(self.level_of(&store.at));
                let result = self.buffer(store.buffer, &store.at, dtype);
                let a = self.place(store.value);
                let a_stride = match self.operand(store.value, level) {
                    Operand::Run => width,
                    Operand::One => 0,
                };
                if self.is_vector(level) && step != 1 {
                    let run = vector::strided_copy(isa, dtype);
                    self.emit(level, Instruction::Strided { run, result, result_stride: step * width, a, a_stride });
                } else {
                    let run = if a_stride == 0 { vector::fill(isa, dtype) } else { vector::copy(dtype) };
                    self.emit(level, Instruction::Kernel { run, result, a, b: a, c: a });
                }
            }
            Mode::Reduce(op) => self.combine(store, op, step, dtype),
        }
    }

    /// A store that combines, at every position of the nest.
    fn combine(&mut self, store: &Store, op: Reduction, step: isize, dtype: DType) {
        let (depth, width, isa) = (self.depth(), dtype.bytes() as isize, self.isa);
        let result = self.buffer(store.buffer, &store.at, dtype);
        let bounds = self.bounds(&store.guards);
        if step == 0 {
            let a = self.as_run(store.value, depth, dtype);
            let run = vector::reduce(isa, op, dtype);
            self.within(run, (result, 0), [(a, width), (a, width)], bounds);
            return;
        }
        let binary = combining(op, dtype);
        let a = (self.place(store.value), self.operand(store.value, depth));
        let run: Kernel = vector::binary(isa, binary, dtype, Operand::Run, a.1);
        let stride = if a.1 == Operand::Run { width } else { 0 };
        if step == 1 {
            self.within(run, (result, width), [(result, width), (a.0, stride)], bounds);
            return;
        }
        // The elements are brought together, combined, and put back; outside of the guards nothing is touched.
        let run = scatter(op, dtype);
        let (zero, extent) = (self.constant(0), 1);
        if bounds.is_empty() {
            let along = step * width;
            let value = (a.0, stride);
            self.emit(depth, Instruction::Along { run, result, along, stride: 0, index: (zero, 0), extent, value });
            return;
        }
        // A run of ones where the guards hold, -1 elsewhere, is the index.
        let minus = self.constant(-1i64 as u64);
        let index = self.register(depth);
        self.emit(
            depth,
            Instruction::Kernel { run: vector::fill(isa, DType::I64), result: index, a: minus, b: minus, c: minus },
        );
        let fill = vector::fill(isa, DType::I64);
        self.within(fill, (index, 8), [(zero, 0), (zero, 0)], bounds);
        self.emit(
            depth,
            Instruction::Along {
                run,
                result,
                along: step * width,
                stride: 0,
                index: (index, 8),
                extent,
                value: (a.0, stride),
            },
        );
    }

    fn within(&mut self, run: Kernel, result: (Slot, isize), operands: [(Slot, isize); 2], bounds: Box<[Bound]>) {
        let depth = self.depth();
        let instruction = if bounds.is_empty() {
            Instruction::Kernel { run, result: result.0, a: operands[0].0, b: operands[1].0, c: operands[1].0 }
        } else {
            Instruction::Within { run, result: result.0, result_stride: result.1, operands, bounds }
        };
        self.emit(depth, instruction);
    }
}

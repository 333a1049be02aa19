//! Stores: plain ones, those that combine with the element there, and those at computed positions.

use super::fused::Fused;
use super::{Assembler, OfRows, TILE_REGISTER};
use crate::array::neutral_value;
use crate::engine::cpu::code::Base;
use crate::engine::cpu::instruction::{Bound, Instruction};
use crate::engine::cpu::layout::Wrapped;
use crate::engine::cpu::pieces::ReducedRows;
use crate::engine::cpu::scatter::scatter;
use crate::engine::cpu::slot::Slot;
use crate::engine::cpu::vector::{self, OperandForm, VectorKernel};
use crate::kernel::{NestValue, Store, StoreMode, ValueId};
use crate::operation::Reduction;
use crate::shape::DType;

impl Assembler<'_> {
    /// The instructions of a store.
    pub(super) fn store(&mut self, store: &Store, fused: Option<Fused>) {
        let depth = self.depth();
        let dtype = self.nest.values[store.value as usize].1;
        let width = dtype.bytes() as isize;
        let step = self.step(&store.at) as isize;
        let isa = self.isa;
        if let Some(Fused { mut a, mut b, difference }) = fused {
            if store.index.is_some() {
                let run = vector::multiply_add(isa, dtype, self.operand(a, true), self.operand(b, true));
                self.combine_row(store, (run, Some(self.place(a)), self.place(b)));
                return;
            }
            let tile = self.tile_sum(store, dtype);
            let result = tile.unwrap_or_else(|| self.buffer(store.buffer, &store.at, dtype));
            let run = match (step, difference) {
                (_, Some(_)) => {
                    self.of_rows = Some(OfRows::Each(vector::square_distances(isa, dtype)));
                    vector::square_distance(isa, dtype)
                }
                (0, _) if tile.is_none() => {
                    self.of_rows = Some(OfRows::Each(vector::dots(isa, dtype)));
                    vector::dot(isa, dtype)
                }
                _ => {
                    // An operand that is one element of a row comes first.
                    let operands = [self.operand(a, true), self.operand(b, true)];
                    (a, b) = if operands[1] == OperandForm::One { (b, a) } else { (a, b) };
                    let of_row = self.operand(a, true);
                    if step == 1 {
                        self.of_rows = Some(OfRows::Columns(vector::multiply_add_columns(isa, dtype, of_row)));
                    }
                    vector::multiply_add(isa, dtype, of_row, self.operand(b, true))
                }
            };
            let (a, b) = (self.place(a), self.place(b));
            self.emit(depth, true, Instruction::Kernel { run, result, a, b, c: b });
            return;
        }
        let (level, is_run) = (self.levels[store.value as usize], self.runs[store.value as usize]);
        if let Some((index, stride, extent)) = store.index {
            if let Some(wrapped) = self.layout.wrapped {
                let StoreMode::Reduce(op) = store.mode else { unreachable!("rows are not written in pieces") };
                let combine = vector::binary(isa, op.combining(dtype), dtype, OperandForm::Run, OperandForm::Run);
                let elements = self.as_run(store.value, (depth, true), dtype);
                let access = (store.buffer, &store.at, stride);
                self.pieces(wrapped, depth, (Some(combine), elements), access, (index, extent), dtype);
                return;
            }
            let result = self.buffer(store.buffer, &store.at, dtype);
            if self.is_row(store) {
                let (operand, value) = (self.operand(store.value, true), self.place(store.value));
                match (store.mode, operand) {
                    (StoreMode::Reduce(op), _) => {
                        let run = vector::binary(isa, op.combining(dtype), dtype, OperandForm::Run, operand);
                        self.combine_row(store, (run, None, value));
                    }
                    (StoreMode::Write, OperandForm::Run) => {
                        self.combine_row(store, (vector::copy(dtype), Some(value), value))
                    }
                    (StoreMode::Write, OperandForm::One) => {
                        self.combine_row(store, (vector::fill(isa, dtype), Some(value), value));
                    }
                }
                return;
            }
            let run = scatter(store.mode, dtype);
            let moving = |this: &Self, id: ValueId, width: isize| {
                (this.place(id), if this.runs[id as usize] { width } else { 0 })
            };
            let (index, value) = (moving(self, index, 8), moving(self, store.value, width));
            let stride = stride as isize * width;
            self.emit(
                depth,
                true,
                Instruction::Along { run, result, along: step * width, stride, index, extent, value },
            );
            return;
        }
        match store.mode {
            StoreMode::Write if let Some(strides) = self.layout.broken(&store.at) => {
                let elements = self.as_run(store.value, (depth, true), dtype);
                self.broken_rows(depth, elements, (store.buffer, &store.at), strides, (dtype, true));
            }
            StoreMode::Write => {
                let level = level.max(self.level_of(&store.at));
                let is_run = is_run || step != 0;
                let result = self.buffer(store.buffer, &store.at, dtype);
                let a = self.place(store.value);
                let a_stride = match self.operand(store.value, is_run) {
                    OperandForm::Run => width,
                    OperandForm::One => 0,
                };
                if is_run && step != 1 {
                    let run = vector::strided_copy(isa, dtype);
                    self.emit(
                        level,
                        is_run,
                        Instruction::Strided { run, result, result_stride: step * width, a, a_stride },
                    );
                } else {
                    let run = if a_stride == 0 { vector::fill(isa, dtype) } else { vector::copy(dtype) };
                    self.emit(level, is_run, Instruction::Kernel { run, result, a, b: a, c: a });
                }
            }
            StoreMode::Reduce(op) if let Some(strides) = self.layout.broken(&store.at) => {
                self.reduce_rows(store, op, strides, dtype);
            }
            StoreMode::Reduce(op) => self.combine(store, op, step, dtype),
        }
    }

    /// The store of rows that are read at computed positions, where these are all that a nest does.
    pub(super) fn copy_rows(&mut self, store: &Store) {
        let (value, dtype) = &self.nest.values[store.value as usize];
        let NestValue::Gather { buffer, at, stride, index, extent } = value else { unreachable!("rows are read") };
        let width = dtype.bytes() as isize;
        let source = (self.buffer(*buffer, at, *dtype), self.step(at) as isize * width);
        let result = (self.buffer(store.buffer, &store.at, *dtype), self.step(&store.at) as isize * width);
        let index = (self.place(*index), if self.runs[*index as usize] { 8 } else { 0 });
        let (stride, bytes) = (*stride as isize * width, self.layout.row * dtype.bytes());
        let copy = Instruction::Rowwise { result, source, stride, index, extent: *extent, bytes };
        self.emit(self.depth(), true, copy);
    }

    /// Whether a store goes to runs that begin at computed positions.
    pub(super) fn is_row(&self, store: &Store) -> bool {
        let is_run = |(index, ..): (ValueId, i64, i64)| self.step(&store.at) == 1 && !self.runs[index as usize];
        self.layout.wrapped.is_none() && store.index.is_some_and(is_run)
    }

    /// A kernel whose result is such a run, with its operands.
    fn combine_row(&mut self, store: &Store, (run, a, b): (VectorKernel, Option<Slot>, Slot)) {
        let (index, stride, extent) = store.index.expect("a computed position");
        let dtype = self.nest.values[store.value as usize].1;
        let result = self.buffer(store.buffer, &store.at, dtype);
        let (index, stride) = (self.place(index), stride as isize * dtype.bytes() as isize);
        self.emit(self.depth(), true, Instruction::Into { run, result, stride, index, extent, a, b });
    }

    /// A store that combines the elements of each row, or all rows.
    fn reduce_rows(&mut self, store: &Store, op: Reduction, [along, across]: [i64; 2], dtype: DType) {
        let Some(Wrapped { row, .. }) = self.layout.wrapped else { unreachable!("rows that go on are not broken") };
        let (depth, width) = (self.depth(), dtype.bytes());
        let tile = self.as_run(store.value, (depth, true), dtype);
        let result = self.buffer(store.buffer, &self.layout.before_vector(&store.at), dtype);
        let run = match along {
            0 => vector::reduce_rows(self.isa, op, dtype),
            _ => vector::reduce_columns(self.isa, op, dtype),
        };
        let result = (result, across as isize * width as isize);
        self.emit(
            depth,
            true,
            Instruction::Reduced(Box::new(ReducedRows { run, tile, result, row, bytes: row * width })),
        );
    }

    /// A store that combines, at every position of the nest.
    fn combine(&mut self, store: &Store, op: Reduction, step: isize, dtype: DType) {
        let (depth, width, isa) = (self.depth(), dtype.bytes() as isize, self.isa);
        let result = self.buffer(store.buffer, &store.at, dtype);
        let guards = match &self.nest.values[store.value as usize].0 {
            NestValue::Load { guards, .. } if self.guarded_sums.contains(&store.value) => guards,
            _ => &store.guards,
        };
        let bounds = self.bounds(guards);
        if let Some(sum) = self.tile_sum(store, dtype) {
            let a = (self.place(store.value), self.operand(store.value, true));
            let run = vector::binary(isa, op.combining(dtype), dtype, OperandForm::Run, a.1);
            let stride = if a.1 == OperandForm::Run { width } else { 0 };
            self.within(run, (sum, width), [(sum, width), (a.0, stride)], bounds);
            return;
        }
        if step == 0 {
            let a = self.as_run(store.value, (depth, true), dtype);
            let run = vector::reduce(isa, op, dtype);
            self.of_rows = Some(OfRows::Each(vector::reduce_rows(isa, op, dtype)));
            self.within(run, (result, 0), [(a, width), (a, width)], bounds);
            return;
        }
        let binary = op.combining(dtype);
        let a = (self.place(store.value), self.operand(store.value, true));
        let run: VectorKernel = vector::binary(isa, binary, dtype, OperandForm::Run, a.1);
        let stride = if a.1 == OperandForm::Run { width } else { 0 };
        if step == 1 {
            if a.1 == OperandForm::Run {
                self.of_rows = Some(OfRows::Columns(vector::reduce_columns(isa, op, dtype)));
            }
            self.within(run, (result, width), [(result, width), (a.0, stride)], bounds);
            return;
        }
        // The elements are gathered, combined, and put back; outside of the guards nothing is touched.
        let run = scatter(store.mode, dtype);
        let (zero, extent) = (self.constant(0), 1);
        if bounds.is_empty() {
            let along = step * width;
            let value = (a.0, stride);
            self.emit(
                depth,
                true,
                Instruction::Along { run, result, along, stride: 0, index: (zero, 0), extent, value },
            );
            return;
        }
        // A run of ones where the guards hold, -1 elsewhere, is the index.
        let minus = self.constant(-1i64 as u64);
        let index = self.register(depth, true);
        self.emit(
            depth,
            true,
            Instruction::Kernel { run: vector::fill(isa, DType::I64), result: index, a: minus, b: minus, c: minus },
        );
        let fill = vector::fill(isa, DType::I64);
        self.within(fill, (index, 8), [(zero, 0), (zero, 0)], bounds);
        self.emit(
            depth,
            true,
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

    /// A register for the elements that a store combines a tile's with, where loops inside of the tile do it: it begins
    /// with neutral elements, and goes to the store's place after those loops.
    fn tile_sum(&mut self, store: &Store, dtype: DType) -> Option<Slot> {
        let level = self.sum_level(store)?;
        let StoreMode::Reduce(op) = store.mode else { unreachable!("what is summed") };
        let (isa, width, step) = (self.isa, dtype.bytes() as isize, self.step(&store.at) as isize);
        // Nothing else may use the register while inner loops run.
        let sum = self.slot(Base::Register(TILE_REGISTER));
        self.tile_registers.push(sum);
        let start = self.constant(neutral_value(op, dtype).bits());
        let run = vector::fill(isa, dtype);
        self.emit(level, true, Instruction::Kernel { run, result: sum, a: start, b: start, c: start });
        let result = self.buffer(store.buffer, &store.at, dtype);
        let (zero, extent) = (self.constant(0), 1);
        self.code[level].after.push(if step == 0 {
            let run = vector::reduce(isa, op, dtype);
            Instruction::Kernel { run, result, a: sum, b: sum, c: sum }
        } else {
            let (run, along) = (scatter(store.mode, dtype), step * width);
            Instruction::Along { run, result, along, stride: 0, index: (zero, 0), extent, value: (sum, width) }
        });
        Some(sum)
    }

    fn within(&mut self, run: VectorKernel, result: (Slot, isize), operands: [(Slot, isize); 2], bounds: Box<[Bound]>) {
        let depth = self.depth();
        let instruction = if bounds.is_empty() {
            Instruction::Kernel { run, result: result.0, a: operands[0].0, b: operands[1].0, c: operands[1].0 }
        } else {
            Instruction::Within { run, result: result.0, result_stride: result.1, operands, bounds }
        };
        self.emit(depth, true, instruction);
    }
}

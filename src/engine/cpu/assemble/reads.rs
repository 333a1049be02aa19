//! Reads of buffers: at places that follow the loops, and at computed positions.

use super::{Assembler, TILE_REGISTER};
use crate::engine::cpu::code::Base;
use crate::engine::cpu::instruction::Instruction;
use crate::engine::cpu::layout::Wrapped;
use crate::engine::cpu::pieces::{Broken, RowPieces, broken};
use crate::engine::cpu::scatter::gather_along;
use crate::engine::cpu::slot::Slot;
use crate::engine::cpu::vector::{self, OperandForm, VectorKernel};
use crate::kernel::{Affine, Guard, NestValue, ValueId};
use crate::shape::DType;

impl Assembler<'_> {
    /// A read at a place that follows the loops.
    pub(super) fn load(
        &mut self,
        (level, is_run): (usize, bool),
        buffer: u32,
        at: &Affine,
        guards: &[Guard],
        dtype: DType,
    ) -> Slot {
        let (step, width) = (self.step(at), dtype.bytes());
        let a = self.buffer(buffer, at, dtype);
        let stride = step as isize * width as isize;
        let run = vector::strided_copy(self.isa, dtype);
        if !guards.is_empty() {
            let (result, bounds) = (self.register(level, is_run), self.bounds(guards));
            self.emit(level, is_run, Instruction::Masked { run, result, a, a_stride: stride, width, bounds });
            return result;
        }
        if step == 1 || !is_run {
            return a;
        }
        let result = self.register(level, is_run);
        let width = width as isize;
        self.emit(level, is_run, Instruction::Strided { run, result, result_stride: width, a, a_stride: stride });
        result
    }

    /// A read at a computed position.
    pub(super) fn gather(
        &mut self,
        (level, is_run): (usize, bool),
        (buffer, at): (u32, &Affine),
        stride: i64,
        index: ValueId,
        extent: i64,
        dtype: DType,
    ) -> Slot {
        if let Some(wrapped) = self.layout.wrapped {
            let result = self.register(level, is_run);
            self.pieces(wrapped, level, (None, result), (buffer, at, stride), (index, extent), dtype);
            return result;
        }
        let width = dtype.bytes() as isize;
        let bytes = stride as isize * width;
        let step = self.step(at) as isize;
        let source = self.buffer(buffer, at, dtype);
        let place = self.place(index);
        if is_run && self.operand(index, is_run) == OperandForm::One {
            // A row, from a computed position on.
            let width = dtype.bytes();
            if step == 1 {
                let zeros = self.slot(Base::Register(TILE_REGISTER));
                self.tile_registers.push(zeros);
                let result = self.slot(Base::Register(0));
                let (stride, index) = (bytes, place);
                self.emit(level, true, Instruction::Point { result, zeros, width, source, stride, index, extent });
                return result;
            }
            let result = self.register(level, is_run);
            let run = vector::strided_copy(self.isa, dtype);
            self.emit(
                level,
                is_run,
                Instruction::Row {
                    run,
                    result,
                    width,
                    source,
                    source_stride: step * width as isize,
                    stride: bytes,
                    index: place,
                    extent,
                },
            );
            return result;
        }
        let result = self.register(level, is_run);
        if step == 0 || !is_run {
            let run = vector::gather(self.isa, dtype);
            self.emit(level, is_run, Instruction::Gather { run, result, source, stride: bytes, index: place, extent });
            return result;
        }
        // Both the index and the place move along the vector axis: element by element.
        let run = gather_along(dtype);
        let index = (place, 8);
        self.emit(
            level,
            is_run,
            Instruction::Along {
                run,
                result: source,
                along: step * width,
                stride: bytes,
                index,
                extent,
                value: (result, width),
            },
        );
        result
    }

    /// How far a read goes from element to element and from row to row, where rows do not begin where the ones before them end.
    pub(super) fn broken(&self, id: ValueId) -> Option<[i64; 2]> {
        match &self.nest.values[id as usize].0 {
            NestValue::Load { at, .. } if !self.positions.contains(&id) => self.layout.broken(at),
            _ => None,
        }
    }

    /// An instruction for such rows, which reads or writes them.
    pub(super) fn broken_rows(
        &mut self,
        level: usize,
        tile: Slot,
        (buffer, at): (u32, &Affine),
        strides: [i64; 2],
        (dtype, writes): (DType, bool),
    ) {
        let Some(Wrapped { row, .. }) = self.layout.wrapped else { unreachable!("rows that go on are not broken") };
        let rows = self.buffer(buffer, &self.layout.before_vector(at), dtype);
        let strides = strides.map(|stride| stride as isize * dtype.bytes() as isize);
        let broken = Broken { run: broken(dtype, writes), tile, rows, strides, row };
        self.emit(level, true, Instruction::Broken(Box::new(broken)));
    }

    /// An instruction for pieces of rows at computed positions: the combination, the elements of the tile, and the rows with
    /// their distance in elements.
    pub(super) fn pieces(
        &mut self,
        Wrapped { row, axis, .. }: Wrapped,
        level: usize,
        (combine, elements): (Option<VectorKernel>, Slot),
        (buffer, at, stride): (u32, &Affine, i64),
        (index, extent): (ValueId, i64),
        dtype: DType,
    ) {
        let NestValue::Load { at: place, .. } = &self.nest.values[index as usize].0 else {
            unreachable!("positions are read")
        };
        let index = (self.place(index), place.coefficients[axis] as isize * DType::I64.bytes() as isize);
        let rows = self.buffer(buffer, &self.layout.before_vector(at), dtype);
        let width = dtype.bytes();
        let rows = (rows, stride as isize * width as isize);
        let pieces = RowPieces { combine, elements, rows, index, extent, row, width };
        self.emit(level, true, Instruction::Pieces(Box::new(pieces)));
    }
}

//! The code of a nest: instructions on short runs of elements, between loops that move pointers.
//!
//! One loop of a nest, its *vector axis*, is cut into tiles. An instruction works on one tile: it is a compiled loop over
//! elements that stay in the first-level cache, so that selecting it costs some nanoseconds per several hundred elements. Other
//! loops run outside of the vector axis, or inside, for each tile. Each value is computed at the innermost loop that it moves
//! with, for a tile or, where it does not move with the vector axis, as a single element.

use super::axis::Axis;
use super::instruction::{Instruction, stretch};
use super::native::MachineCode;
use super::scatter::copy_rows;
use super::slot::Slot;
use super::split::NestSplit;
use super::streaming::StreamingCode;
use crate::engine::arrays::CacheLine;
use std::ops::Range;

/// Where a pointer points before the first step of every loop.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base {
    /// Into the registers, in bytes.
    Register(usize),
    /// Into the known numbers, in bytes.
    Constant(usize),
    /// Into a buffer, in bytes.
    Buffer(u32, isize),
    /// Into a chunk's part of a buffer, by its position among the split's partial results, in bytes.
    Partial(u32, isize),
}

/// The instructions at each step of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopLevel {
    /// First, for single elements.
    pub(super) single: Vec<Instruction>,
    /// Then, for tiles.
    pub(super) tile: Vec<Instruction>,
    /// After the loops inside, for tiles.
    pub(super) after: Vec<Instruction>,
}

impl LoopLevel {
    /// Whether nothing runs.
    pub(super) fn is_empty(&self) -> bool {
        self.single.is_empty() && self.tile.is_empty() && self.after.is_empty()
    }
}

#[cfg(test)]
thread_local! {
    /// The elements that instructions went over on this thread.
    pub(super) static ELEMENTS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A nest as instructions.
#[derive(Clone, Debug)]
pub(super) struct NestCode {
    /// The loops, outermost first.
    pub(super) axes: Vec<Axis>,
    /// The position of the vector axis.
    pub(super) vector: usize,
    /// The most elements of a tile.
    pub(super) tile: usize,
    pub(super) slots: Vec<Base>,
    /// The instructions that run once, those at each step of the outermost loop, and so on.
    pub(super) levels: Vec<LoopLevel>,
    /// Known numbers, eight bytes each.
    pub(super) constants: Vec<u64>,
    /// Bytes of registers.
    pub(super) registers: usize,
    /// The way in which it is split among threads.
    pub(super) split: NestSplit,
    /// Machine code, which runs instead of the levels.
    pub(super) machine_code: Option<MachineCode>,
    /// The same, where it writes arrays past the cache.
    pub(super) streaming: Option<StreamingCode>,
}

/// Registers and pointers of one thread.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// 64-byte lines, so that registers are aligned for every vector.
    registers: Vec<CacheLine>,
    pointers: Vec<*mut u8>,
    index: Vec<i64>,
}

// SAFETY: the pointers are set before they are read, by whoever holds the scratch.
unsafe impl Send for Scratch {}

impl Scratch {
    /// As much room, for another thread.
    pub(super) fn alike(&self) -> Scratch {
        Scratch {
            registers: self.registers.clone(),
            pointers: vec![std::ptr::null_mut(); self.pointers.len()],
            index: vec![0; self.index.len()],
        }
    }

    /// Where its registers are.
    pub(super) fn registers(&self) -> *const CacheLine {
        self.registers.as_ptr()
    }

    /// Makes room for a nest.
    pub(super) fn reserve(&mut self, code: &NestCode) {
        let lines = code.registers.div_ceil(64);
        if self.registers.len() < lines {
            self.registers.resize(lines, CacheLine::ZERO);
        }
        if self.pointers.len() < code.slots.len() {
            self.pointers.resize(code.slots.len(), std::ptr::null_mut());
        }
        if self.index.len() < code.axes.len() {
            self.index.resize(code.axes.len(), 0);
        }
    }
}

impl NestCode {
    /// The extent of the outermost loop.
    pub(super) fn outer_extent(&self) -> usize {
        self.axes[0].extent
    }

    /// How many instructions a run of all steps is; one that goes element by element counts for each of them.
    #[cfg(test)]
    pub(super) fn executions(&self) -> usize {
        let width = self.tile.min(self.axes[self.vector].extent);
        let each = |instruction: &Instruction| if matches!(instruction, Instruction::Along { .. }) { width } else { 1 };
        let of = |instructions: &[Instruction]| instructions.iter().map(each).sum::<usize>();
        let mut steps = 1;
        let mut all = self.levels[0].single.len();
        for (axis, (level, Axis { extent, .. })) in self.levels[1..].iter().zip(&self.axes).enumerate() {
            steps *= if axis == self.vector { extent.div_ceil(self.tile) } else { *extent };
            all += steps * (level.single.len() + of(&level.tile) + of(&level.after));
        }
        all
    }

    /// Runs some steps of the outermost loop; `partial` gives the places of the chunk's partial results.
    ///
    /// # Safety
    ///
    /// `bases` points at the procedure's buffers, each as large as its type says, and no other thread writes to what the
    /// nest reads or writes meanwhile. The scratch was reserved for this nest.
    pub(super) unsafe fn run(
        &self,
        bases: &[*mut u8],
        partial: impl Fn(u32) -> *mut u8,
        scratch: &mut Scratch,
        Range { start: first, end }: Range<usize>,
    ) {
        if first >= end || self.axes.iter().any(|axis| axis.extent == 0) {
            return;
        }
        let (pointers, index) = self.start(bases, partial, scratch);
        if let Some(code) = &self.machine_code {
            advance(pointers, &self.axes[0].moves, first as isize);
            // SAFETY: as the caller's.
            return unsafe { self.run_code(code, pointers, (first, end - first)) };
        }
        // SAFETY: operands are slots of this table, which point at runs that are at least as long as a tile, or at what a
        // nest may read and write at these positions: the lowering's accesses are inside, or guarded.
        unsafe {
            self.execute(&self.levels[0].single, pointers, index, 1);
            self.enter(0, pointers, index, first..end);
        }
    }

    /// The steps of the outermost loop at which the nest may change something, if that is known where it begins.
    ///
    /// # Safety
    ///
    /// As [`Self::run`].
    pub(super) unsafe fn stretch(
        &self,
        bases: &[*mut u8],
        partial: impl Fn(u32) -> *mut u8,
        scratch: &mut Scratch,
    ) -> Range<usize> {
        let extent = self.outer_extent();
        if self.axes.iter().any(|axis| axis.extent == 0) || self.axes[0].edges.is_empty() {
            return 0..extent;
        }
        let (pointers, index) = self.start(bases, partial, scratch);
        // SAFETY: as in `run`; instructions outside of all loops compute the bounds, and write to no buffer.
        unsafe {
            self.execute(&self.levels[0].single, pointers, index, 1);
            self.axes[0].stretch(0..extent, pointers, index)
        }
    }

    /// The table of pointers, and the positions of loops that have not begun.
    fn start<'s>(
        &self,
        bases: &[*mut u8],
        partial: impl Fn(u32) -> *mut u8,
        scratch: &'s mut Scratch,
    ) -> (&'s mut [*mut u8], &'s mut [i64]) {
        let Scratch { registers, pointers, index } = scratch;
        self.point(pointers, registers.as_mut_ptr().cast(), |id| bases[id as usize], partial);
        let index = &mut index[..self.axes.len()];
        index.fill(0);
        (pointers, index)
    }

    /// Sets the table of pointers, from where buffers are.
    fn point(
        &self,
        pointers: &mut [*mut u8],
        registers: *mut u8,
        buffer: impl Fn(u32) -> *mut u8,
        partial: impl Fn(u32) -> *mut u8,
    ) {
        for (pointer, base) in pointers.iter_mut().zip(&self.slots) {
            *pointer = match *base {
                Base::Register(offset) => registers.wrapping_add(offset),
                Base::Constant(offset) => self.constants.as_ptr().cast::<u8>().cast_mut().wrapping_add(offset),
                Base::Buffer(id, offset) => buffer(id).wrapping_offset(offset),
                Base::Partial(position, offset) => partial(position).wrapping_offset(offset),
            };
        }
    }

    /// Sets a table of pointers of one's own, for [`Self::again`].
    pub(super) fn begin(&self, pointers: &mut [*mut u8], scratch: &mut Scratch, buffer: impl Fn(u32) -> *mut u8) {
        self.point(pointers, scratch.registers.as_mut_ptr().cast(), buffer, unsplit);
    }

    /// Runs all steps of all loops, with a table of pointers that is as before afterwards.
    ///
    /// # Safety
    ///
    /// As [`Self::run`]; the table was set by [`Self::begin`] with the same scratch, or moved to other places that the nest
    /// may read and write.
    pub(super) unsafe fn again(&self, pointers: &mut [*mut u8], scratch: &mut Scratch) {
        if self.axes.iter().any(|axis| axis.extent == 0) {
            return;
        }
        if let Some(code) = &self.machine_code {
            // SAFETY: as the caller's.
            return unsafe { self.run_code(code, pointers, (0, self.outer_extent())) };
        }
        let index = &mut scratch.index[..self.axes.len()];
        index.fill(0);
        // SAFETY: as in `run`.
        unsafe {
            self.execute(&self.levels[0].single, pointers, index, 1);
            match &self.axes[..] {
                // One tile, as in loops of a few numbers.
                [axis] if axis.extent <= self.tile && axis.edges.is_empty() => {
                    let level = &self.levels[1];
                    self.execute(&level.tile, pointers, index, axis.extent);
                    self.execute(&level.after, pointers, index, axis.extent);
                }
                _ => self.enter(0, pointers, index, 0..self.outer_extent()),
            }
        }
    }

    /// Runs machine code for so many steps from one on.
    ///
    /// # Safety
    ///
    /// As [`MachineCode::run`].
    unsafe fn run_code(&self, code: &MachineCode, pointers: &mut [*mut u8], (first, steps): (usize, usize)) {
        // SAFETY: as the caller's; both functions are the nest's.
        unsafe {
            let streams = |of: &StreamingCode| of.run(code, &self.axes[0], pointers, (first, steps));
            if !self.streaming.as_ref().is_some_and(streams) {
                code.run(pointers.as_ptr(), first, steps);
            }
        }
    }

    /// Runs those of these steps of a loop, outside of tiles or along them, at which the nest may change something.
    unsafe fn enter(&self, axis: usize, pointers: &mut [*mut u8], index: &mut [i64], steps: Range<usize>) {
        // SAFETY: as the caller's.
        unsafe {
            let steps = self.axes[axis].stretch(steps, pointers, index);
            if steps.is_empty() {
                return;
            }
            let (start, moves) = (steps.start, &self.axes[axis].moves);
            if start == 0 {
                return self.outside(axis, pointers, index, steps);
            }
            index[axis] = start as i64;
            advance(pointers, moves, start as isize);
            self.outside(axis, pointers, index, steps);
            advance(pointers, moves, -(start as isize));
            index[axis] = 0;
        }
    }

    /// Steps of a loop outside of the vector axis, or tiles of that.
    unsafe fn outside(&self, axis: usize, pointers: &mut [*mut u8], index: &mut [i64], steps: Range<usize>) {
        if axis == self.vector {
            // SAFETY: as the caller's.
            return unsafe { self.tiles(pointers, index, steps) };
        }
        let moves = &self.axes[axis].moves;
        let (first, count) = (index[axis], steps.len());
        let (single, Axis { extent: inner, edges, .. }) = (&self.levels[axis + 1].single, &self.axes[axis + 1]);
        // The vector axis of many small nests is one tile, inside of which nothing runs.
        let tile = &self.levels[self.axes.len()].tile;
        let is_last = axis + 2 == self.axes.len() && self.vector == axis + 1;
        let is_tile = is_last && *inner <= self.tile && edges.is_empty();
        for step in steps {
            index[axis] = step as i64;
            // SAFETY: as the caller's.
            unsafe {
                self.execute(single, pointers, index, 1);
                match is_tile {
                    true => self.execute(tile, pointers, index, *inner),
                    false => self.enter(axis + 1, pointers, index, 0..*inner),
                }
            }
            advance(pointers, moves, 1);
        }
        advance(pointers, moves, -(count as isize));
        index[axis] = first;
    }

    /// Tiles of the vector axis, at one position of the loops outside.
    unsafe fn tiles(&self, pointers: &mut [*mut u8], index: &mut [i64], Range { start: first, end }: Range<usize>) {
        let (axis, level) = (self.vector, &self.levels[self.vector + 1]);
        let moves = &self.axes[axis].moves;
        let mut at = first;
        loop {
            let count = self.tile.min(end - at);
            // SAFETY: as the caller's.
            unsafe {
                self.execute(&level.tile, pointers, index, count);
                self.inside(axis + 1, pointers, index, count);
                self.execute(&level.after, pointers, index, count);
            }
            if at + count == end {
                break;
            }
            at += count;
            index[axis] = at as i64;
            advance(pointers, moves, count as isize);
        }
        if at > first {
            advance(pointers, moves, -((at - first) as isize));
            index[axis] = first as i64;
        }
    }

    /// All steps of a loop inside of the vector axis, for one tile.
    unsafe fn inside(&self, axis: usize, pointers: &mut [*mut u8], index: &mut [i64], count: usize) {
        let Some(of) = self.axes.get(axis) else { return };
        let (level, moves) = (&self.levels[axis + 1], &of.moves);
        // SAFETY: as the caller's.
        let steps = unsafe { of.stretch(0..of.extent, pointers, index) };
        let (start, end) = (steps.start, steps.end);
        if start > 0 {
            advance(pointers, moves, start as isize);
        }
        for step in steps {
            index[axis] = step as i64;
            // SAFETY: as the caller's.
            unsafe {
                self.execute(&level.single, pointers, index, 1);
                self.execute(&level.tile, pointers, index, count);
                self.inside(axis + 1, pointers, index, count);
                self.execute(&level.after, pointers, index, count);
            }
            advance(pointers, moves, 1);
        }
        advance(pointers, moves, -(end as isize));
        index[axis] = 0;
    }

    #[inline]
    unsafe fn execute(&self, instructions: &[Instruction], pointers: &mut [*mut u8], index: &[i64], count: usize) {
        #[cfg(test)]
        ELEMENTS.set(ELEMENTS.get() + instructions.len() * count);
        // SAFETY: slots are positions in this table, by construction.
        let at = |pointers: &[*mut u8], slot: Slot| unsafe { *pointers.get_unchecked(slot as usize) };
        for instruction in instructions {
            // SAFETY: as the caller's: every operand is a run of `count` elements of its type, or one element where the
            // kernel was chosen for that.
            unsafe {
                match instruction {
                    Instruction::Kernel { run, result, a, b, c } => {
                        run(at(pointers, *result), at(pointers, *a), at(pointers, *b), at(pointers, *c), count);
                    }
                    Instruction::Rows { run, result, a, b, rows, last_rows } => {
                        let [from, with] = [a, b].map(|&(slot, stride)| (at(pointers, slot).cast_const(), stride));
                        let is_last = index[0] as usize + 1 == self.axes[0].extent;
                        let rows = if is_last { last_rows } else { rows };
                        run((at(pointers, result.0), result.1), from, with, *rows as usize, count);
                    }
                    Instruction::Strided { run, result, result_stride, a, a_stride } => {
                        run(at(pointers, *result), *result_stride, at(pointers, *a), *a_stride, count);
                    }
                    Instruction::Ramp { run, result, at: position } => {
                        run(at(pointers, *result).cast(), position.at(index), position.step, count);
                    }
                    Instruction::Masked { run, result, a, a_stride, width, bounds } => {
                        let (low, high) = stretch(bounds, index, count);
                        let result = at(pointers, *result);
                        let step = *width as isize;
                        std::ptr::write_bytes(result, 0, low * width);
                        if low < high {
                            let from = at(pointers, *a).wrapping_offset(low as isize * a_stride);
                            run(result.add(low * width), step, from, *a_stride, high - low);
                        }
                        std::ptr::write_bytes(result.add(high * width), 0, (count - high) * width);
                    }
                    Instruction::Gather { run, result, source, stride, index, extent } => {
                        let index = at(pointers, *index).cast::<i64>();
                        run(at(pointers, *result), at(pointers, *source), *stride, index, *extent, count);
                    }
                    Instruction::Row { run, result, width, source, source_stride, stride, index, extent } => {
                        let index = *at(pointers, *index).cast::<i64>();
                        let result = at(pointers, *result);
                        if (0..*extent).contains(&index) {
                            let row = at(pointers, *source).wrapping_offset(*stride * index as isize);
                            run(result, *width as isize, row, *source_stride, count);
                        } else {
                            std::ptr::write_bytes(result, 0, count * width);
                        }
                    }
                    Instruction::Point { result, zeros, width, source, stride, index, extent } => {
                        let index = *at(pointers, *index).cast::<i64>();
                        pointers[*result as usize] = if (0..*extent).contains(&index) {
                            at(pointers, *source).wrapping_offset(*stride * index as isize)
                        } else {
                            let zeros = at(pointers, *zeros);
                            std::ptr::write_bytes(zeros, 0, count * width);
                            zeros
                        };
                    }
                    Instruction::Into { run, result, stride, index, extent, a, b } => {
                        let index = *at(pointers, *index).cast::<i64>();
                        if (0..*extent).contains(&index) {
                            let row = at(pointers, *result).wrapping_offset(*stride * index as isize);
                            let (a, b) = (a.map_or(row, |a| at(pointers, a)), at(pointers, *b));
                            run(row, a, b, b, count);
                        }
                    }
                    Instruction::Within { run, result, result_stride, operands, bounds } => {
                        let (low, high) = stretch(bounds, index, count);
                        if low < high {
                            let moved =
                                |slot: Slot, stride: isize| at(pointers, slot).wrapping_offset(stride * low as isize);
                            let [a, b] = operands.map(|(slot, stride)| moved(slot, stride));
                            run(moved(*result, *result_stride), a, b, b, high - low);
                        }
                    }
                    Instruction::Along { run, result, along, stride, index, extent, value } => run(
                        at(pointers, *result),
                        *along,
                        *stride,
                        (at(pointers, index.0), index.1),
                        *extent,
                        (at(pointers, value.0), value.1),
                        count,
                    ),
                    Instruction::Pieces(pieces) => pieces.run(
                        index[self.vector] as usize,
                        count,
                        at(pointers, pieces.elements),
                        at(pointers, pieces.rows.0),
                        at(pointers, pieces.index.0).cast(),
                    ),
                    Instruction::Reduced(reduced) => {
                        let (tile, across) = (at(pointers, reduced.tile).cast_const(), reduced.result.1);
                        let first = index[self.vector] as usize / reduced.row;
                        let result = at(pointers, reduced.result.0).wrapping_offset(across * first as isize);
                        let rows = (tile, reduced.bytes as isize);
                        (reduced.run)((result, across), rows, rows, count / reduced.row, reduced.row);
                    }
                    Instruction::Broken(broken) => (broken.run)(
                        at(pointers, broken.tile),
                        at(pointers, broken.rows),
                        broken.strides,
                        broken.row,
                        index[self.vector] as usize,
                        count,
                    ),
                    Instruction::Rowwise { result, source, stride, index, extent, bytes } => copy_rows(
                        (at(pointers, result.0), result.1),
                        (at(pointers, source.0), source.1, *stride),
                        (at(pointers, index.0).cast(), index.1),
                        *extent,
                        *bytes,
                        count,
                    ),
                }
            }
        }
    }
}

/// The place of a partial result of a nest that is not split, which has none.
fn unsplit(_: u32) -> *mut u8 {
    unreachable!("only nests that are split have partial results")
}

/// Advances pointers by so many steps of a loop.
#[inline]
pub(super) fn advance(pointers: &mut [*mut u8], moves: &[(Slot, isize)], steps: isize) {
    for &(slot, bytes) in moves {
        let pointer = &mut pointers[slot as usize];
        *pointer = pointer.wrapping_offset(bytes * steps);
    }
}

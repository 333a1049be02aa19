//! Matrix products on buffers.

use super::gemm::{self, GemmElement, Packing};
use super::places::{MatrixPlaces, OwnPlaces};
use super::threads::{Own, SharedPointers, Worker};
use super::vector::Instructions;
use crate::array::matrix::Update;
use crate::kernel::{BATCH, BufferId, COLUMN, MatrixProduct, ROW, SUMMED, Strided};
use crate::shape::DType;
use std::ops::Range;

/// Multiplications that are worth a chunk.
const WORK: usize = 1 << 19;
/// The most chunks, in total and per thread; chunks of many rows and columns pack operands less often.
const CHUNKS: usize = 64;
const THREAD_CHUNKS: usize = 4;
/// Rows, or columns, of a chunk are a multiple of this number, which suits the kernels of matrix products.
const LINES: usize = 32;

/// A matrix without its beginning: the buffer and the offset of its first element, and the places of batches, rows and columns.
#[derive(Debug)]
struct OperandLayout {
    buffer: BufferId,
    offset: usize,
    batches: OwnPlaces,
    rows: OwnPlaces,
    columns: OwnPlaces,
}

/// Matrix products, ready to run.
#[derive(Debug)]
pub(super) struct CompiledProduct {
    dtype: DType,
    batches: usize,
    sizes: [usize; 3],
    update: Update,
    operands: [OperandLayout; 3],
    /// The role whose positions chunks share.
    shared: usize,
    /// Into how many chunks the products are cut at most, of whole batches, or of rows or columns of each matrix. An element
    /// of the result is the same whatever chunk it is in.
    pub(super) chunks: usize,
    /// The number of its right operand among those that blocks of rows have in common.
    kept: Option<usize>,
}

impl CompiledProduct {
    pub(super) fn new(product: &MatrixProduct, dtype: DType) -> CompiledProduct {
        let layout = |operand: &Strided, [rows, columns]: [usize; 2]| {
            let places = |role: usize| OwnPlaces::new(&product.extents[role], &operand.strides[role]);
            OperandLayout {
                buffer: operand.buffer,
                offset: operand.offset,
                batches: places(BATCH),
                rows: places(rows),
                columns: places(columns),
            }
        };
        let operands = [
            layout(&product.left, [ROW, SUMMED]),
            layout(&product.right, [SUMMED, COLUMN]),
            layout(&product.result, [ROW, COLUMN]),
        ];
        let (sizes @ [m, k, n], batches) = (product.sizes(), product.count(BATCH));
        let (shared, most) = match m.max(n) / LINES {
            lines if batches >= 8 || batches > lines => (BATCH, batches),
            _ if m >= n => (ROW, m.div_ceil(LINES)),
            _ => (COLUMN, n.div_ceil(LINES)),
        };
        let work = m.saturating_mul(k).saturating_mul(n).saturating_mul(batches);
        let chunks = (work / WORK).clamp(1, CHUNKS).min(most).max(1);
        let update = if product.continues { Update::Add } else { Update::Set };
        CompiledProduct { dtype, batches, sizes, update, operands, shared, chunks, kept: None }
    }

    /// Lines of memory that each thread needs for packing.
    pub(super) fn packing_lines(&self) -> usize {
        gemm::packing_lines(self.sizes, self.dtype.bytes())
    }

    /// Whether other blocks of rows have the same right operand, given the buffers that all have in common; and lines of memory for
    /// it, packed, of which there are only so many. It gets this number.
    pub(super) fn keep(&mut self, is_common: impl Fn(BufferId) -> bool, room: usize, number: usize) -> Option<usize> {
        let bytes = self.dtype.bytes();
        let lines = gemm::kept_lines(self.sizes, bytes);
        let fits = self.batches == 1 && lines <= room;
        self.kept =
            (fits && is_common(self.operands[1].buffer) && !is_common(self.operands[0].buffer)).then_some(number);
        self.kept.map(|_| lines)
    }

    /// The batches, rows and columns of one of some chunks.
    fn part(&self, chunk: usize, chunks: usize) -> [Range<usize>; 3] {
        let [rows, _, columns] = self.sizes;
        [(BATCH, self.batches), (ROW, rows), (COLUMN, columns)].map(|(role, count)| {
            let unit = if role == BATCH { 1 } else { LINES };
            let bound = |chunk: usize| (count.div_ceil(unit) * chunk / chunks * unit).min(count);
            if role == self.shared { bound(chunk)..bound(chunk + 1) } else { 0..count }
        })
    }

    /// Runs the products of all batches.
    ///
    /// # Safety
    ///
    /// `bases` points at the procedure's buffers, of whose elements these are positions, and the result overlaps no operand.
    /// The worker was made for a machine with this product.
    pub(super) unsafe fn run(&self, isa: Instructions, bases: &[*mut u8], worker: &mut Worker) {
        let shared = SharedPointers(bases);
        let chunks = match worker.threads() {
            1 => 1,
            threads => self.chunks.min(THREAD_CHUNKS * threads),
        };
        let run = |chunk: usize, own: &mut Own| {
            let kept = self.kept.and_then(|number| own.kept.get_mut(number));
            let packing = Packing { parts: &mut own.packing, kept };
            let bases = shared.pointers();
            // SAFETY: as the caller's; chunks are of different results.
            unsafe {
                match self.dtype {
                    DType::F32 => self.chunk::<f32>(isa, bases, (chunk, chunks), packing),
                    DType::F64 => self.chunk::<f64>(isa, bases, (chunk, chunks), packing),
                    DType::I32 => self.chunk::<i32>(isa, bases, (chunk, chunks), packing),
                    DType::I64 => self.chunk::<i64>(isa, bases, (chunk, chunks), packing),
                    DType::Bool => unreachable!("products are of numbers"),
                }
            }
        };
        match chunks {
            1 => run(0, &mut worker.own),
            _ => worker.each(chunks, |chunk, _, own| run(chunk, own)),
        }
    }

    unsafe fn chunk<T: GemmElement>(
        &self,
        isa: Instructions,
        bases: &[*mut u8],
        (chunk, chunks): (usize, usize),
        mut packing: Packing<'_>,
    ) {
        let [batches, rows, columns] = self.part(chunk, chunks);
        for batch in batches {
            let matrices = [0, 1, 2].map(|which| {
                let layout = &self.operands[which];
                let start = bases[layout.buffer as usize].cast::<T>().wrapping_add(layout.offset);
                let start = start.wrapping_offset(layout.batches.get().at(batch));
                MatrixPlaces { start, rows: layout.rows.get(), columns: layout.columns.get() }
            });
            let part = [rows.clone(), columns.clone()];
            // SAFETY: as the caller's.
            unsafe { T::multiply(isa, part, self.sizes[1], matrices, self.update, packing.again()) };
        }
    }
}

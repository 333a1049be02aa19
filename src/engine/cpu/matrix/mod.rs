//! Linear algebra on the matrices of buffers.

mod machine;

use super::gemm;
use super::threads::{Helpers, PackingLines, SharedPointers, Worker};
use super::vector::Instructions;
use crate::array::matrix::{self, SizedOperation};
use crate::array::sparse;
use crate::engine::arrays::CacheLine;
use crate::kernel::{BufferId, Call};
use crate::operation::SparseOperation;
use crate::shape::{DType, Type, size};
use machine::{Own, RegisterElement};
use smallvec::SmallVec;

/// Operations on floats that are worth a chunk.
const WORK: f64 = 32_768.0;
/// Operations on floats for which several threads share a matrix.
const SHARED: f64 = 1_048_576.0;
/// The most chunks.
const CHUNKS: usize = 64;
/// Elements of the results of small matrices that are done before others are begun, so that they stay in the cache.
const GROUP: usize = 1 << 11;
/// Matrices of a group: a multiple of what any vector has.
const LANES: usize = 16;

/// An operation on dense or sparse matrices.
#[derive(Debug)]
pub(super) enum Kernel {
    Dense(SizedOperation),
    Sparse(SparseOperation),
}

impl Kernel {
    /// The operation of a call, if it is one of these, and the number of matrices.
    pub(super) fn new(call: &Call, types: &[&Type]) -> Option<(Kernel, usize)> {
        let count = |axes: usize| size(&types[0].shape[..types[0].rank() - axes]);
        match (call.matrix(), call.sparse()) {
            (Some(op), _) => {
                let shapes = types.iter().map(|ty| &ty.shape[..]);
                Some((Kernel::Dense(SizedOperation::new(op, count(2), shapes)), count(2)))
            }
            (None, op) => op.map(|op| (Kernel::Sparse(op.clone()), count(1))),
        }
    }

    /// Elements of scratch that it needs.
    fn scratch(&self) -> usize {
        match self {
            Kernel::Dense(sized) => sized.scratch(),
            Kernel::Sparse(op) => sparse::scratch(op),
        }
    }

    /// Extents of the largest product in it.
    fn products(&self) -> [usize; 3] {
        match self {
            Kernel::Dense(sized) => sized.products(),
            Kernel::Sparse(_) => [0; 3],
        }
    }

    /// Runs the operation on so many matrices.
    ///
    /// # Safety
    ///
    /// The machine has the instructions.
    pub(super) unsafe fn run<T: RegisterElement>(
        &self,
        (isa, packing, helpers): (Instructions, &mut [CacheLine], Option<Helpers<'_>>),
        (count, operands): (usize, &[&[T]]),
        out: &mut [T],
        scratch: &mut [T],
    ) {
        match self {
            Kernel::Dense(sized) => {
                // SAFETY: as the caller's.
                let mut own = unsafe { Own::new(isa, packing, helpers) };
                matrix::run(&mut own, (sized, count, operands), out, scratch);
            }
            Kernel::Sparse(op) => sparse::run(op, count, operands, out, scratch),
        }
    }
}

/// An operation on matrices, ready to run.
#[derive(Debug)]
pub(super) struct CompiledMatrix {
    dtype: DType,
    kernel: Kernel,
    /// The number of matrices.
    count: usize,
    /// The buffers of operands and of the result, and how many of their elements belong to one matrix.
    operands: SmallVec<[(BufferId, usize); 3]>,
    result: (BufferId, usize),
    /// Into how many chunks of whole matrices the work is cut at most.
    chunks: usize,
    /// Whether several threads may share a matrix.
    is_large: bool,
}

impl CompiledMatrix {
    /// A call, if it is one of these operations.
    pub(super) fn new(call: &Call, types: &[Type]) -> Option<CompiledMatrix> {
        let operands: SmallVec<[&Type; 3]> = call.types().take(call.arguments.len()).collect();
        let (kernel, count) = Kernel::new(call, &operands)?;
        let operations = call.matrix_operations();
        // A saturating conversion.
        let chunks = ((operations / WORK) as usize).clamp(1, CHUNKS).min(count.max(1));
        let is_large = operations / count.max(1) as f64 >= SHARED;
        let dtype = operands[0].dtype;
        let own = |&id: &BufferId| (id, types[id as usize].size() / count.max(1));
        let (operands, result) = (call.arguments.iter().map(own).collect(), own(&call.results[0]));
        Some(CompiledMatrix { dtype, kernel, count, operands, result, chunks, is_large })
    }

    /// Whether several threads share the work.
    pub(super) fn is_parallel(&self) -> bool {
        self.chunks > 1 || self.is_large
    }

    /// Lines of memory that threads need: scratch, and what their products pack. Threads that share one matrix have no scratch.
    pub(super) fn packing_lines(&self) -> PackingLines {
        let products = gemm::packing_lines(self.kernel.products(), self.dtype.bytes());
        let own = self.own_lines() + products;
        PackingLines { own, helper: if self.count > 1 { own } else { products } }
    }

    fn own_lines(&self) -> usize {
        let bytes = self.kernel.scratch().saturating_mul(self.dtype.bytes());
        bytes.div_ceil(size_of::<CacheLine>())
    }

    /// Runs the operation on all matrices.
    ///
    /// # Safety
    ///
    /// `bases` points at the procedure's buffers, as large as their types say, and the result overlaps no operand. The worker was
    /// made for a machine with this operation.
    pub(super) unsafe fn run(&self, isa: Instructions, bases: &[*mut u8], worker: &mut Worker) {
        let shared = SharedPointers(bases);
        let run = |of: (usize, usize), scratch: &mut [CacheLine], helpers: Option<Helpers<'_>>| {
            let bases = shared.pointers();
            // SAFETY: as the caller's; chunks are of different matrices.
            unsafe {
                match self.dtype {
                    DType::F32 => self.chunk::<f32>(isa, bases, of, (scratch, helpers)),
                    DType::F64 => self.chunk::<f64>(isa, bases, of, (scratch, helpers)),
                    _ => unreachable!("matrices are of floats"),
                }
            }
        };
        match worker.split() {
            // Of few large matrices each is done by all threads.
            (_, Some(helpers)) if self.chunks > 1 && !(self.is_large && self.chunks <= helpers.count() / 2) => {
                helpers.each(self.chunks, |chunk, _, own| run((chunk, self.chunks), &mut own.packing, None));
            }
            (own, helpers) => run((0, 1), &mut own.packing, helpers),
        }
    }

    unsafe fn chunk<T: RegisterElement>(
        &self,
        isa: Instructions,
        bases: &[*mut u8],
        (chunk, chunks): (usize, usize),
        (scratch, helpers): (&mut [CacheLine], Option<Helpers<'_>>),
    ) {
        let bound = |chunk: usize| self.count * chunk / chunks;
        let (scratch, packing) = scratch.split_at_mut(self.own_lines());
        // SAFETY: lines hold as many elements, aligned for any type, and are initialised.
        let scratch =
            unsafe { std::slice::from_raw_parts_mut(scratch.as_mut_ptr().cast::<T>(), self.kernel.scratch()) };
        let group = (GROUP / self.result.1.max(1)).next_multiple_of(LANES).max(LANES);
        for start in (bound(chunk)..bound(chunk + 1)).step_by(group) {
            let count = group.min(bound(chunk + 1) - start);
            let of = |(id, each): (BufferId, usize)| {
                (bases[id as usize].cast::<T>().wrapping_add(start * each), each * count)
            };
            let operands = self.operands.iter().map(|&operand| {
                let (pointer, length) = of(operand);
                // SAFETY: the buffer has these elements, and nothing writes to them now. An empty one may have no memory.
                if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer.cast_const(), length) } }
            });
            let operands: SmallVec<[&[T]; 3]> = operands.collect();
            let (pointer, length) = of(self.result);
            let out = match length {
                0 => &mut [],
                // SAFETY: the buffer has room for these elements, and this chunk alone uses them now. A slice needs elements: those
                // of a result's memory may not have been written yet.
                _ => unsafe {
                    pointer.write_bytes(0, length);
                    std::slice::from_raw_parts_mut(pointer, length)
                },
            };
            // SAFETY: the machine has the instructions.
            unsafe { self.kernel.run((isa, packing, helpers), (count, &operands), out, scratch) };
        }
    }
}

#[cfg(test)]
mod tests;

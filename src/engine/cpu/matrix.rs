//! Linear algebra on the matrices of buffers.

use super::gemm::{self, GemmElement};
use super::places::{MatrixPlaces, Places};
use super::threads::{SharedPointers, Worker};
use super::vector::Instructions;
#[cfg(target_arch = "x86_64")]
use super::vector::USES_REGISTERS;
#[cfg(target_arch = "x86_64")]
use super::vector::lanes::{Half32, Half64, Wide32, Wide64};
use crate::array::matrix::{self, Elements, Machine, MatrixElement, SizedOperation, Update, Vector};
use crate::array::sparse;
use crate::engine::arrays::CacheLine;
use crate::kernel::{BufferId, Call};
use crate::operation::SparseOperation;
use crate::shape::{DType, Type, size};
use ndarray::{ArrayView2, ArrayViewMut2};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// Operations on floats that are worth a chunk.
const WORK: f64 = 32_768.0;
/// The most chunks.
const CHUNKS: usize = 64;
/// Elements of the results of small matrices that are done before others are begun, so that they stay in the cache.
const GROUP: usize = 1 << 11;
/// Matrices of a group: a multiple of what any vector has.
const LANES: usize = 16;

/// An operation on dense or sparse matrices.
#[derive(Debug)]
enum Kernel {
    Dense(SizedOperation),
    Sparse(SparseOperation),
}

impl Kernel {
    /// The operation of a call, if it is one of these, and the number of matrices.
    fn new(call: &Call, types: &[&Type]) -> Option<(Kernel, usize)> {
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

    #[inline(always)]
    fn run<T: MatrixElement, M: Machine<T>>(
        &self,
        on: &mut M,
        count: usize,
        operands: &[&[T]],
        out: &mut [T],
        scratch: &mut [T],
    ) {
        match self {
            Kernel::Dense(sized) => matrix::run(on, (sized, count, operands), out, scratch),
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
    pub(super) chunks: usize,
}

impl CompiledMatrix {
    /// A call, if it is one of these operations.
    pub(super) fn new(call: &Call, types: &[Type]) -> Option<CompiledMatrix> {
        let operands: SmallVec<[&Type; 3]> = call.types().take(call.arguments.len()).collect();
        let (kernel, count) = Kernel::new(call, &operands)?;
        // A saturating conversion.
        let work = (call.matrix_operations() / WORK) as usize;
        let chunks = work.clamp(1, CHUNKS).min(count.max(1));
        let dtype = operands[0].dtype;
        let own = |&id: &BufferId| (id, types[id as usize].size() / count.max(1));
        let (operands, result) = (call.arguments.iter().map(own).collect(), own(&call.results[0]));
        Some(CompiledMatrix { dtype, kernel, count, operands, result, chunks })
    }

    /// Lines of memory that each thread needs: scratch, and what its products pack.
    pub(super) fn scratch_lines(&self) -> usize {
        self.own_lines() + gemm::packing_lines(self.kernel.products(), self.dtype.bytes())
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
        let chunks = if worker.threads() == 1 { 1 } else { self.chunks };
        let run = |chunk: usize, scratch: &mut [CacheLine]| {
            let bases = shared.pointers();
            // SAFETY: as the caller's; chunks are of different matrices.
            unsafe {
                match self.dtype {
                    DType::F32 => self.chunk::<f32>(isa, bases, (chunk, chunks), scratch),
                    DType::F64 => self.chunk::<f64>(isa, bases, (chunk, chunks), scratch),
                    _ => unreachable!("matrices are of floats"),
                }
            }
        };
        match chunks {
            1 => run(0, &mut worker.own.packing),
            _ => worker.each(chunks, |chunk, _, own| run(chunk, &mut own.packing)),
        }
    }

    unsafe fn chunk<T: RegisterElement>(
        &self,
        isa: Instructions,
        bases: &[*mut u8],
        (chunk, chunks): (usize, usize),
        scratch: &mut [CacheLine],
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
            let work = (&self.kernel, count);
            // SAFETY: the machine has the instructions.
            unsafe {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Instructions::Avx512 if USES_REGISTERS => {
                        with_avx512(&mut Own::<T::Wide>::new(isa, packing), work, &operands, out, scratch);
                    }
                    #[cfg(target_arch = "x86_64")]
                    Instructions::Avx2 if USES_REGISTERS => {
                        with_avx2(&mut Own::<T::Half>::new(isa, packing), work, &operands, out, scratch);
                    }
                    _ => self.kernel.run(&mut Own::<Elements<T>>::new(isa, packing), count, &operands, out, scratch),
                }
            }
        }
    }
}

/// Floats with registers of 64 and of 32 bytes.
trait RegisterElement: MatrixElement + GemmElement {
    type Wide: Vector<Self>;
    type Half: Vector<Self>;
}

#[cfg(target_arch = "x86_64")]
impl RegisterElement for f64 {
    type Wide = Wide64;
    type Half = Half64;
}

#[cfg(target_arch = "x86_64")]
impl RegisterElement for f32 {
    type Wide = Wide32;
    type Half = Half32;
}

#[cfg(not(target_arch = "x86_64"))]
impl<T: MatrixElement + GemmElement> RegisterElement for T {
    type Wide = Elements<T>;
    type Half = Elements<T>;
}

/// The machine that the engine was made for, with vectors of this type, and memory to pack the operands of products.
struct Own<'a, V> {
    isa: Instructions,
    packing: &'a mut [CacheLine],
    vector: PhantomData<V>,
}

impl<V> Own<'_, V> {
    fn new(isa: Instructions, packing: &mut [CacheLine]) -> Own<'_, V> {
        Own { isa, packing, vector: PhantomData }
    }
}

impl<T: MatrixElement + GemmElement, V: Vector<T>> Machine<T> for Own<'_, V> {
    type Vector = V;

    fn multiply(&mut self, update: Update, a: ArrayView2<T>, b: ArrayView2<T>, mut c: ArrayViewMut2<T>) {
        fn places<'a, T>(start: *mut T, shape: &'a [usize], strides: &'a [isize]) -> MatrixPlaces<'a, T> {
            let [rows, columns] = [0, 1].map(|axis| Places {
                extents: std::slice::from_ref(&shape[axis]),
                strides: std::slice::from_ref(&strides[axis]),
            });
            MatrixPlaces { start, rows, columns }
        }
        let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
        assert!(b.nrows() == k && c.dim() == (m, n), "matrices fit");
        assert!(gemm::packing_lines([m, k, n], size_of::<T>()) <= self.packing.len(), "packing has room");
        let start = c.as_mut_ptr();
        let operands = [
            places(a.as_ptr().cast_mut(), a.shape(), a.strides()),
            places(b.as_ptr().cast_mut(), b.shape(), b.strides()),
            places(start, c.shape(), c.strides()),
        ];
        // SAFETY: views have elements at all of their positions, and one that is written to overlaps no other. The packing memory
        // is large enough, and the machine has the instructions.
        unsafe { T::multiply(self.isa, [0..m, 0..n], k, operands, update, self.packing) };
    }

    fn run(&self, part: impl FnOnce()) {
        // SAFETY: the machine has the instructions.
        unsafe {
            match self.isa {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 => part_with_avx512(part),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 => part_with_avx2(part),
                _ => part(),
            }
        }
    }
}

/// The operation compiled for a set of instructions.
macro_rules! compiled_for {
    ($($name:ident, $part:ident: $features:literal;)*) => {
        $(
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = $features)]
            unsafe fn $name<T: MatrixElement, M: Machine<T>>(
                on: &mut M,
                (kernel, count): (&Kernel, usize),
                operands: &[&[T]],
                out: &mut [T],
                scratch: &mut [T],
            ) {
                kernel.run(on, count, operands, out, scratch);
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = $features)]
            unsafe fn $part(part: impl FnOnce()) {
                part();
            }
        )*
    };
}

compiled_for! {
    with_avx2, part_with_avx2: "avx2,fma";
    with_avx512, part_with_avx512: "avx512f,avx512dq,avx512vl,avx2,fma";
}

//! Nests in parallel: chunks of the outermost loop.
//!
//! The number of chunks that a nest is cut into depends on the nest alone and not on the number of threads, and the sums of
//! chunks by themselves is combined in their order: so results are the same, bit by bit, for any number of threads.

use super::layout::{NestLayout, Wrapped};
use super::vector::{self, Instructions, OperandForm};
use crate::kernel::roots::own_cost;
use crate::kernel::{BufferId, Nest, Store, StoreMode};
use crate::operation::Reduction;
use crate::shape::{DType, Type, size};
use crate::term::Op;
use std::ops::Range;

/// A buffer that every chunk combines into, in memory of its own at first.
#[derive(Clone, Debug)]
pub(super) struct PartialBuffer {
    pub(super) buffer: BufferId,
    pub(super) count: usize,
    pub(super) dtype: DType,
    pub(super) op: Reduction,
    /// Where the first chunk's part is in the memory for these, in bytes, and how far the others' are from each other.
    pub(super) offset: usize,
    pub(super) stride: usize,
}

impl PartialBuffer {
    /// A buffer of this type, whose first part is at so many bytes.
    pub(super) fn new(buffer: BufferId, ty: &Type, op: Reduction, offset: usize) -> PartialBuffer {
        let (count, dtype) = (ty.size(), ty.dtype);
        PartialBuffer { buffer, count, dtype, op, offset, stride: (count * dtype.bytes()).next_multiple_of(64) }
    }

    /// Combines the parts of these chunks with the result, in their order.
    ///
    /// # Safety
    ///
    /// The result and the parts have room for the elements.
    pub(super) unsafe fn combine(&self, isa: Instructions, result: *mut u8, parts: *mut u8, chunks: Range<usize>) {
        let combine = self.op.combining(self.dtype);
        let run = vector::binary(isa, combine, self.dtype, OperandForm::Run, OperandForm::Run);
        for chunk in chunks {
            let part = parts.wrapping_add(self.offset + chunk * self.stride);
            // SAFETY: as the caller's.
            unsafe { run(result, result, part, part, self.count) };
        }
    }
}

/// How a nest is cut.
#[derive(Clone, Debug, Default)]
pub(super) struct NestSplit {
    /// 1 for a nest that is not cut.
    pub(super) chunks: usize,
    pub(super) partials: Vec<PartialBuffer>,
    /// Bytes of the memory for partial results.
    pub(super) memory: usize,
    /// Chunks begin at multiples of so many steps.
    pub(super) unit: usize,
}

/// Simple operations that are worth a chunk: some ten microseconds of them; and so many that other threads are worth waking.
const WORK: usize = 1 << 16;
const LEAST: usize = 1 << 20;
/// Chunks at most; of those that combine into memory of their own, fewer.
pub(super) const CHUNKS: usize = 64;
const PARTIAL_CHUNKS: usize = 16;
/// Chunks of a vector axis begin at whole cache lines of any element type.
const ALIGNED: usize = 64;

/// The simple operations of a nest.
pub(super) fn operations(nest: &Nest) -> usize {
    // An addition at a computed position reads and writes there.
    let stored = |store: &Store| if store.index.is_some() { 2.0 * own_cost(&Op::Gather) } else { 1.0 };
    let values = nest.values.iter().map(|(value, _)| value.operation().map_or(1.0, |op| own_cost(&op).max(1.0)));
    let costs: f64 = values.chain(nest.stores.iter().map(stored)).sum();
    size(&nest.extents).saturating_mul(costs as usize)
}

/// Into how many chunks the work of a nest is worth to be cut.
pub(super) fn chunks_worth(nest: &Nest) -> usize {
    let work = operations(nest);
    if work < LEAST { 1 } else { (work / WORK).min(CHUNKS) }
}

/// The most elements between a store's place and those of others that combine with the same buffer; `None` where that depends on the
/// position.
fn distance(nest: &Nest, store: &Store) -> Option<i128> {
    let is_other = |other: &&Store| other.buffer == store.buffer && other.mode != StoreMode::Write;
    nest.stores.iter().filter(is_other).try_fold(0, |most: i128, other| {
        let is_parallel = other.at.coefficients == store.at.coefficients;
        is_parallel.then(|| most.max((i128::from(other.at.offset) - i128::from(store.at.offset)).abs()))
    })
}

impl NestSplit {
    /// A nest that is not cut.
    pub(super) fn whole() -> NestSplit {
        NestSplit { chunks: 1, unit: 1, ..NestSplit::default() }
    }

    /// Decides how a nest is cut.
    pub(super) fn of(nest: &Nest, layout: &NestLayout, types: &[Type]) -> NestSplit {
        let whole = NestSplit::whole();
        let extent = layout.extents[0];
        let unit = match layout.wrapped {
            _ if layout.vector > 0 => 1,
            Some(Wrapped { row, is_whole: true, .. }) => row,
            _ => ALIGNED,
        };
        let mut chunks = chunks_worth(nest).min(extent.div_ceil(unit)).max(1);
        let mut combined: Vec<(&Store, Reduction)> = Vec::new();
        for store in &nest.stores {
            let StoreMode::Reduce(op) = store.mode else { continue };
            let reaches = layout.reaches(&store.at);
            let across = reaches[0].1.unsigned_abs();
            // Loops inside of the outermost one reach so far.
            let reach: i128 =
                reaches[1..].iter().map(|&(extent, stride)| stride.unsigned_abs() as i128 * (extent as i128 - 1)).sum();
            // A computed position selects a row, in which the loops move. If an outermost loop moves in the row, its steps are
            // distinct elements of any row. Otherwise every chunk may write to every element, and so may the chunks of a loop
            // that continues from row to row.
            let wraps = layout.vector == 0 && layout.wrapped.is_some() && store.index.is_some();
            if across == 0 || wraps {
                combined.push((store, op));
            } else if distance(nest, store).is_none_or(|distance| reach + distance >= across as i128) {
                return whole;
            }
        }
        for (store, _) in &combined {
            let count = types[store.buffer as usize].size();
            chunks = chunks.min(PARTIAL_CHUNKS).min((size(&nest.extents) / (8 * count.max(1))).max(1));
        }
        if chunks == 1 {
            return whole;
        }
        let mut split = NestSplit { chunks, unit, ..NestSplit::default() };
        for (store, op) in combined {
            let partial = PartialBuffer::new(store.buffer, &types[store.buffer as usize], op, split.memory);
            split.memory += partial.stride * chunks;
            split.partials.push(partial);
        }
        split
    }

    /// The steps of the outermost loop of a chunk.
    pub(super) fn range(&self, chunk: usize, extent: usize) -> Range<usize> {
        let bound = |chunk: usize| {
            let at = (extent as u128 * chunk as u128 / self.chunks as u128) as usize;
            if chunk < self.chunks { at.next_multiple_of(self.unit).min(extent) } else { at }
        };
        bound(chunk)..bound(chunk + 1)
    }

    /// The chunks that have some of these steps of the outermost loop.
    pub(super) fn chunks_with(&self, steps: Range<usize>, extent: usize) -> Range<usize> {
        if steps.is_empty() {
            return 0..0;
        }
        let of = |step: usize| {
            let mut chunk = (step as u128 * self.chunks as u128 / extent as u128) as usize;
            while self.range(chunk, extent).start > step {
                chunk -= 1;
            }
            while self.range(chunk, extent).end <= step {
                chunk += 1;
            }
            chunk
        };
        of(steps.start)..of(steps.end - 1) + 1
    }
}

//! Steps that run for some rows of their arrays after the other.

use super::code::Scratch;
use super::compiled::{BlockPartial, BlocksSpace, CompiledBlocks, CompiledStep, Machine};
use super::gemm::KeptOperand;
use super::prefetch::BlockAdvance;
use super::split::PartialBuffer;
use super::target::Target;
use super::threads::{PackingLines, SharedPointers, Worker};
use super::vector::Instructions;
use crate::array::{OutOfMemory, neutral_value};
use crate::engine::arrays::{CacheLine, fill, lines};
use crate::kernel::{BufferId, BufferSource, RowBlocks};
use crate::shape::Type;
use std::sync::{Mutex, PoisonError};

/// Chunks at most; of those that continue results in memory of their own, fewer, of so many bytes together.
const CHUNKS: usize = 64;
const PARTIAL_CHUNKS: usize = 16;
const PARTIAL_BYTES: usize = 64 << 20;

/// The most lines of memory that operands are kept in by each thread.
const MOST_KEPT: usize = (8 << 20) / size_of::<CacheLine>();

/// Has products keep right operands that all blocks have in common, if there is room. Lines of memory for each.
fn keep_operands(block: &mut Machine, blocks: &RowBlocks) -> Vec<usize> {
    let procedure = &blocks.procedure;
    let is_common = |id: BufferId| match procedure.buffers[procedure.origin(id) as usize].source {
        BufferSource::Parameter(position) => blocks.arguments[position].1 == 0,
        _ => false,
    };
    let (mut kept, mut room) = (Vec::new(), MOST_KEPT);
    for step in &mut block.steps {
        if let CompiledStep::Product(product) = step
            && let Some(lines) = product.keep(is_common, room, kept.len())
        {
            kept.push(lines);
            room -= lines;
        }
    }
    kept
}

impl CompiledBlocks {
    /// The blocks as instructions; `None` where their memory can't be counted.
    ///
    /// # Errors
    ///
    /// As [`Machine::new`].
    pub(super) fn new(
        target: Target<'_>,
        blocks: &RowBlocks,
        types: &[Type],
    ) -> Result<Option<Box<CompiledBlocks>>, OutOfMemory> {
        let width = |id: BufferId| types[id as usize].dtype.bytes();
        let advance = BlockAdvance::of(blocks, width);
        let count = advance.blocks;
        let own = Target { advance: Some(&advance), ..target.repeated(blocks.extent / blocks.rows) };
        let Some(mut block) = Machine::new(own, &blocks.procedure, false)? else {
            return Ok(None);
        };
        let kept = keep_operands(&mut block, blocks);
        let rest = match &blocks.rest {
            Some(rest) => match Machine::new(target, rest, false)? {
                Some(rest) => Some(rest),
                None => return Ok(None),
            },
            None => None,
        };
        let continued =
            blocks.results.iter().enumerate().filter_map(|(at, &(id, _, combined))| Some((at, id, combined?)));
        let continued: Vec<_> = continued.collect();
        let bytes: usize = continued.iter().map(|&(_, id, _)| types[id as usize].size() * width(id)).sum();
        let most = if continued.is_empty() { CHUNKS } else { PARTIAL_CHUNKS.min(PARTIAL_BYTES / bytes.max(1)) };
        // Separate results per chunk pay where they are small relative to the memory that the chunk goes through.
        let strides = blocks.arguments.iter().map(|&(id, stride)| stride * width(id));
        let strides = strides.chain(blocks.results.iter().map(|&(id, stride, _)| stride * width(id)));
        let moved = strides.sum::<usize>().saturating_mul(blocks.extent);
        let moved = moved.saturating_add(block.memory.saturating_mul(count));
        let most = if bytes > 0 { most.min(moved / (2 * bytes)) } else { most };
        let chunks = count.min(most).max(1);
        let (mut partials, mut memory) = (Vec::new(), 0);
        for (position, id, combined) in continued {
            let buffer = PartialBuffer::new(id, &types[id as usize], combined.op, memory);
            // One chunk alone writes to the results themselves.
            memory += if chunks > 1 { buffer.stride * chunks } else { 0 };
            partials.push(BlockPartial { position, buffer, is_filled: combined.is_filled });
        }
        Ok(Some(Box::new(CompiledBlocks {
            extent: blocks.extent,
            rows: blocks.rows,
            block,
            rest,
            arguments: blocks.arguments.iter().map(|&(id, stride)| (id, stride * width(id))).collect(),
            results: blocks.results.iter().map(|&(id, stride, _)| (id, stride * width(id))).collect(),
            chunks,
            partials,
            memory,
            kept,
        })))
    }

    /// Bytes of the memory of each thread.
    pub(super) fn thread_memory(&self) -> usize {
        let kept = self.kept.iter().sum::<usize>() * size_of::<CacheLine>();
        let rest = self.rest.as_ref().map_or(0, |rest| rest.total_memory(1));
        self.block.total_memory(1).saturating_add(rest).saturating_add(kept)
    }

    /// The memory for each of so many threads.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub(super) fn slots(&self, threads: usize) -> Result<Vec<Mutex<BlocksSpace>>, OutOfMemory> {
        let count = if self.chunks > 1 { threads } else { 1 };
        (0..count)
            .map(|_| {
                let mut scratch = Scratch::default();
                let block = self.block.workspace(&mut scratch, false, 1)?;
                let rest = self.rest.as_ref().map(|rest| rest.workspace(&mut scratch, false, 1)).transpose()?;
                let pointers = vec![std::ptr::null_mut(); self.arguments.len() + self.results.len()];
                let packing = self
                    .rest
                    .iter()
                    .map(|machine| machine.packing_lines())
                    .fold(self.block.packing_lines(), PackingLines::or);
                let mut worker = Worker::alone(scratch, packing.own)?;
                for &count in &self.kept {
                    let lines = lines(count * size_of::<CacheLine>())?;
                    worker.own.kept.push(KeptOperand { lines, is_packed: false });
                }
                Ok(Mutex::new(BlocksSpace { worker, block, rest, pointers }))
            })
            .collect()
    }

    /// Runs all blocks.
    ///
    /// # Safety
    ///
    /// As [`Machine::run`], of the procedure that the blocks are a step of; `partials` has room for the results that chunks
    /// have for themselves, and `slots` are of these blocks.
    pub(super) unsafe fn run(
        &self,
        isa: Instructions,
        bases: &[*mut u8],
        partials: *mut u8,
        slots: &[Mutex<BlocksSpace>],
        worker: &mut Worker,
    ) {
        let (shared, own) = (SharedPointers(bases), [partials]);
        let own = SharedPointers(&own);
        let place = |partial: &PartialBuffer, chunk: usize| match self.chunks {
            1 => shared.pointers()[partial.buffer as usize],
            _ => own.pointers()[0].wrapping_add(partial.offset + chunk * partial.stride),
        };
        // Operands are others than in the last run.
        for slot in slots.iter().filter(|_| !self.kept.is_empty()) {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.worker.own.kept.iter_mut().for_each(|kept| kept.is_packed = false);
        }
        let blocks = self.extent.div_ceil(self.rows);
        let run = |chunk: usize, thread: usize| {
            let mut slot = slots[thread].lock().unwrap_or_else(PoisonError::into_inner);
            for BlockPartial { buffer, .. } in
                self.partials.iter().filter(|result| self.chunks > 1 || !result.is_filled)
            {
                // SAFETY: the place has room for the result's elements.
                unsafe { fill(place(buffer, chunk), buffer.count, neutral_value(buffer.op, buffer.dtype)) };
            }
            for block in blocks * chunk / self.chunks..blocks * (chunk + 1) / self.chunks {
                let first = block * self.rows;
                // SAFETY: as the caller's: the rows are inside of the arrays, and no other thread writes to them.
                unsafe {
                    self.one(&mut slot, first, shared.pointers(), |partial| place(partial, chunk));
                }
            }
        };
        match self.chunks {
            1 => run(0, 0),
            _ => worker.each(self.chunks, |chunk, thread, _| run(chunk, thread)),
        }
        if self.chunks > 1 {
            for BlockPartial { buffer, is_filled, .. } in &self.partials {
                let result = bases[buffer.buffer as usize];
                // SAFETY: the places have room for the result's elements.
                unsafe {
                    if !is_filled {
                        fill(result, buffer.count, neutral_value(buffer.op, buffer.dtype));
                    }
                    buffer.combine(isa, result, partials, 0..self.chunks);
                }
            }
        }
    }

    /// Runs the block that begins at a row.
    unsafe fn one(
        &self,
        slot: &mut BlocksSpace,
        first: usize,
        bases: &[*mut u8],
        place: impl Fn(&PartialBuffer) -> *mut u8,
    ) {
        let BlocksSpace { worker, block, rest, pointers } = slot;
        let (arguments, results) = pointers.split_at_mut(self.arguments.len());
        let row = |&(id, bytes): &(BufferId, usize)| bases[id as usize].wrapping_add(first * bytes);
        for (pointer, argument) in arguments.iter_mut().zip(&self.arguments) {
            *pointer = row(argument);
        }
        for (pointer, result) in results.iter_mut().zip(&self.results) {
            *pointer = row(result);
        }
        for BlockPartial { position, buffer, .. } in &self.partials {
            results[*position] = place(buffer);
        }
        // SAFETY: as the caller's.
        let done = unsafe {
            match (&self.rest, rest) {
                (Some(machine), Some(workspace)) if self.extent - first < self.rows => {
                    machine.run(workspace, worker, arguments, results)
                }
                _ => self.block.run(block, worker, arguments, results),
            }
        };
        debug_assert!(done.is_ok(), "nests and products do not fail");
    }
}

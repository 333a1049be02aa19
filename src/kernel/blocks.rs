//! Steps that go through the rows of large arrays together, some rows at a time.
//!
//! Where several steps go along an axis of the same extent, and each row that one of them writes is read by others at that row
//! only, all of them can run for some rows before the next rows: so the values that pass between them stay in the cache, and
//! needs memory for those rows only. Sums over the rows are continued from block to block. This is how fused kernels of mixture
//! models, softmax layers and bundle adjustment are written by hand.

use crate::kernel::buffer::{BufferId, BufferSource, ProcedureBuffer};
use crate::kernel::procedure::{Combined, Procedure, RowBlocks, Step};
use crate::kernel::rows::{RowStep, extents};
use crate::shape::{Type, sort_by_rank};
use crate::term::hash::TermMap;
use std::collections::HashSet;

/// Fewer rows are not worth it.
pub(super) const LEAST_EXTENT: usize = 64;
/// Steps that are looked at together.
const WINDOW: usize = 256;
/// Extents of rows that are tried.
pub(super) const TRIED: usize = 8;
/// Bytes of the rows of a block, which stay in the second-level cache.
pub(super) const BLOCK: usize = 512 << 10;
/// Blocks of products have at least so many rows: a product goes through its other operand for each.
const PRODUCT_ROWS: usize = 32;
/// Common operands of blocks of products stay in the second-level cache up to so many bytes.
const NEAR: usize = 1 << 20;
/// Where they don't stay there, their way to the processor takes little of the time of products of so many rows.
const MANY_ROWS: usize = 128;
/// Blocks have as many only if so many blocks are left for threads to share.
const LEAST_BLOCKS: usize = 16;
/// Rows of a block are a multiple of this, if there are as many.
pub(super) const ALIGNED: usize = 8;
/// The bytes that must stay inside of blocks for blocking to pay.
const LEAST_GAIN: f64 = (64 << 10) as f64;
/// The cost of a byte that every block goes through anew, relative to one that passes through memory.
const AGAIN: f64 = 0.25;

/// Brings steps together in blocks of rows.
pub(crate) fn blocked(mut procedure: Procedure) -> Procedure {
    let steps = std::mem::take(&mut procedure.steps);
    // Buffers that other steps touch do not belong to a group alone.
    let mut uses = touches(&procedure, steps.iter());
    for &result in &procedure.results {
        *uses.entry(procedure.origin(result)).or_default() += 1;
    }
    let mut steps = steps.into_iter();
    loop {
        let mut window: Vec<Step> = steps.by_ref().take(WINDOW).collect();
        if window.is_empty() {
            return procedure;
        }
        while window.len() > 1
            && let Some(group) = best(&procedure, &window, &uses)
        {
            debug_assert!(keeps_order(&procedure, &window, &group.sides), "steps on one buffer change places");
            let mut before = Vec::new();
            let mut after = Vec::new();
            for (at, step) in window.into_iter().enumerate() {
                match group.sides[at] {
                    BlockSide::Before => before.push(step),
                    BlockSide::Inside => {}
                    BlockSide::After => after.push(step),
                }
            }
            procedure.steps.append(&mut before);
            procedure.steps.push(Step::Blocks(Box::new(group.blocks)));
            window = after;
        }
        procedure.steps.append(&mut window);
    }
}

/// How often steps touch each buffer.
fn touches<'a>(procedure: &Procedure, steps: impl Iterator<Item = &'a Step>) -> TermMap<BufferId, usize> {
    let mut touches: TermMap<BufferId, usize> = TermMap::default();
    for step in steps {
        let (read, filled) = step.touched();
        for buffer in read.into_iter().chain(filled) {
            *touches.entry(procedure.origin(buffer)).or_default() += 1;
        }
    }
    touches
}

/// Whether steps that touch the same buffer run in their order, unless both read it.
fn keeps_order(procedure: &Procedure, steps: &[Step], sides: &[BlockSide]) -> bool {
    let (mut read, mut written): (TermMap<BufferId, BlockSide>, TermMap<BufferId, BlockSide>) = Default::default();
    steps.iter().zip(sides).all(|(step, &side)| {
        let (reads, writes) = step.touched();
        let after = |sides: &TermMap<BufferId, BlockSide>, id: &BufferId| {
            sides.get(&procedure.origin(*id)).is_none_or(|&earlier| earlier <= side)
        };
        let keeps = reads.iter().all(|id| after(&written, id))
            && writes.iter().all(|id| after(&read, id) && after(&written, id));
        for (ids, sides) in [(&reads, &mut read), (&writes, &mut written)] {
            ids.iter().for_each(|&id| {
                let latest = sides.entry(procedure.origin(id)).or_insert(side);
                *latest = side.max(*latest);
            });
        }
        keeps
    })
}

/// Where a step runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BlockSide {
    Before,
    Inside,
    After,
}

struct FoundBlocks {
    sides: Vec<BlockSide>,
    blocks: RowBlocks,
}

/// How steps of a group write a buffer.
enum BufferWrites {
    /// They write to each row, or combine there, and the rows fill the buffer.
    Rows(usize),
    /// They write at other distances, so that nothing may be read before all is written.
    Apart,
    /// They continue sums over rows.
    Sum,
}

/// The group that gains most, of the extents that occur most often.
fn best(procedure: &Procedure, window: &[Step], uses: &TermMap<BufferId, usize>) -> Option<FoundBlocks> {
    let mut counts: TermMap<usize, usize> = TermMap::default();
    for step in window {
        let mut own = extents(step);
        own.sort_unstable();
        own.dedup();
        own.into_iter().filter(|&extent| extent >= LEAST_EXTENT).for_each(|extent| {
            *counts.entry(extent).or_default() += 1;
        });
    }
    let mut tried: Vec<(usize, usize)> = counts.into_iter().filter(|&(_, count)| count > 1).collect();
    sort_by_rank(&mut tried, |&(extent, _)| !(extent as u64));
    sort_by_rank(&mut tried, |&(_, count)| !(count as u64));
    tried.truncate(TRIED);
    // An extent whose multiples are others' finds their steps too; of those, the largest has the smallest rows.
    sort_by_rank(&mut tried, |&(extent, _)| !(extent as u64));
    let mut best: Option<(f64, BlockGroup)> = None;
    for (extent, _) in tried {
        let group = BlockGroup::of(procedure, window, extent);
        if let Some(gain) = group.gain(uses)
            && best.as_ref().is_none_or(|(most, _)| gain > 1.2 * *most)
        {
            best = Some((gain, group));
        }
    }
    let (_, group) = best?;
    Some(group.finish(uses))
}

struct BlockGroup<'a> {
    procedure: &'a Procedure,
    extent: usize,
    sides: Vec<BlockSide>,
    steps: Vec<RowStep<'a>>,
    written: TermMap<BufferId, BufferWrites>,
    /// The buffers that steps read.
    read: HashSet<BufferId>,
}

impl<'a> BlockGroup<'a> {
    /// All steps of a window that can go along rows of this extent together.
    fn of(procedure: &'a Procedure, window: &'a [Step], extent: usize) -> BlockGroup<'a> {
        let mut group = BlockGroup {
            procedure,
            extent,
            sides: Vec::new(),
            steps: Vec::new(),
            written: TermMap::default(),
            read: HashSet::new(),
        };
        // The buffers that steps after the group read and write.
        let (mut late_reads, mut late_writes): (HashSet<BufferId>, HashSet<BufferId>) = Default::default();
        for step in window {
            let (reads, writes) = step.touched();
            let origin =
                |ids: Vec<BufferId>| -> Vec<BufferId> { ids.into_iter().map(|id| procedure.origin(id)).collect() };
            let (reads, writes) = (origin(reads), origin(writes));
            // Steps that touch the same buffer keep their order, unless both read it.
            let waits = reads.iter().any(|id| late_writes.contains(id))
                || writes.iter().any(|id| late_writes.contains(id) || late_reads.contains(id));
            let follows = |group: &BlockGroup| {
                reads.iter().any(|id| group.written.contains_key(id))
                    || writes.iter().any(|id| group.written.contains_key(id) || group.read.contains(id))
            };
            let side = if !waits && group.join(step) {
                BlockSide::Inside
            } else if waits || follows(&group) {
                BlockSide::After
            } else {
                BlockSide::Before
            };
            if side == BlockSide::After {
                late_reads.extend(reads);
                late_writes.extend(writes);
            }
            group.sides.push(side);
        }
        group
    }

    fn join(&mut self, step: &'a Step) -> bool {
        RowStep::all(step, self.extent).any(|step| self.take(step))
    }

    /// Adds a step, if the parts of the group's buffers that it reads are known at its row.
    fn take(&mut self, step: RowStep<'a>) -> bool {
        let procedure = self.procedure;
        let elements = |id: BufferId| procedure.buffers[id as usize].ty.size();
        let fits = step.reads.iter().all(|rows| match self.written.get(&procedure.origin(rows.buffer)) {
            None => true,
            Some(BufferWrites::Rows(stride)) => rows.stride == *stride,
            Some(BufferWrites::Apart | BufferWrites::Sum) => false,
        });
        if !fits {
            return false;
        }
        // A block does not write to the buffers that it reads from outside.
        let own: HashSet<BufferId> = step.reads.iter().map(|rows| procedure.origin(rows.buffer)).collect();
        let is_outside = |id: &BufferId| !self.written.contains_key(id);
        let is_read = |id: &BufferId| self.read.contains(id) || own.contains(id);
        if step.writes.iter().map(|(rows, _)| procedure.origin(rows.buffer)).any(|id| is_outside(&id) && is_read(&id)) {
            return false;
        }
        let mut new: TermMap<BufferId, BufferWrites> = TermMap::default();
        for (rows, combined) in &step.writes {
            let id = procedure.origin(rows.buffer);
            // Into memory that has elements, blocks add sums over all rows, and write nothing else.
            if id != rows.buffer && !(rows.stride == 0 && procedure.continued.contains(&rows.buffer)) {
                return false;
            }
            // The first row and the last lie inside of the buffer. So where the strides of all rows make up the buffer, each
            // row has a part of its own.
            let filled = rows.stride.checked_mul(self.extent) == Some(elements(id));
            let now = match (rows.stride, combined) {
                (0, Some(_)) => BufferWrites::Sum,
                (0, None) => return false,
                (stride, _) if filled => BufferWrites::Rows(stride),
                (_, Some(_)) => return false,
                (_, None) => BufferWrites::Apart,
            };
            match (self.written.get(&id).or(new.get(&id)), &now) {
                (None, _) => {}
                (Some(BufferWrites::Rows(before)), BufferWrites::Rows(stride))
                    if before == stride && combined.is_none() => {}
                (Some(BufferWrites::Apart), BufferWrites::Apart) => {}
                _ => return false,
            }
            new.insert(id, now);
        }
        self.written.extend(new);
        self.read.extend(own);
        self.steps.push(step);
        true
    }

    /// The buffers of rows that nothing outside of the group touches.
    fn inner(&self, uses: &TermMap<BufferId, usize>) -> HashSet<BufferId> {
        let own = touches(self.procedure, self.steps.iter().map(|step| step.step));
        let is_inner = |id: &&BufferId| own.get(id) == uses.get(id);
        let rows =
            self.written.iter().filter(|(_, written)| matches!(written, BufferWrites::Rows(_))).map(|(id, _)| id);
        rows.filter(is_inner).copied().collect()
    }

    fn bytes(&self, id: BufferId) -> usize {
        self.procedure.buffers[id as usize].ty.bytes().unwrap_or(usize::MAX)
    }

    /// The operands and the sums that the products of all blocks have in common.
    fn common(&self) -> impl Iterator<Item = BufferId> {
        let products = self.steps.iter().filter(|step| matches!(step.step, Step::Product(_)));
        let all = products.flat_map(|step| step.reads.iter().chain(step.writes.iter().map(|(rows, _)| rows)));
        all.filter(|rows| rows.stride == 0).map(|rows| rows.buffer)
    }

    /// Rows of a block.
    fn rows(&self, inner: &HashSet<BufferId>) -> usize {
        let mut moving: HashSet<BufferId> = HashSet::new();
        for step in &self.steps {
            let all = step.reads.iter().chain(step.writes.iter().map(|(rows, _)| rows));
            moving.extend(all.filter(|rows| rows.stride != 0).map(|rows| self.procedure.origin(rows.buffer)));
        }
        let fitting = |buffers: &HashSet<BufferId>, bytes: usize| {
            let row = buffers.iter().map(|&id| self.bytes(id) / self.extent).fold(0, usize::saturating_add);
            bytes / row.max(1) / ALIGNED * ALIGNED
        };
        let has_products = self.steps.iter().any(|step| matches!(step.step, Step::Product(_)));
        let common: HashSet<BufferId> = self.common().map(|id| self.procedure.origin(id)).collect();
        let common = common.into_iter().map(|id| self.bytes(id)).fold(0, usize::saturating_add);
        let least = match has_products {
            true if common > NEAR => {
                let shared = self.extent / LEAST_BLOCKS / ALIGNED * ALIGNED;
                fitting(inner, NEAR).min(MANY_ROWS).min(shared).max(PRODUCT_ROWS)
            }
            true => PRODUCT_ROWS,
            false => ALIGNED,
        };
        let most = fitting(&moving, BLOCK).max(least).min(self.extent);
        // As many in each block, if they are a multiple.
        self.extent.div_ceil(self.extent.div_ceil(most)).next_multiple_of(ALIGNED).min(most)
    }

    /// Bytes that need not pass through memory, if there are enough of them.
    fn gain(&self, uses: &TermMap<BufferId, usize>) -> Option<f64> {
        if self.steps.len() < 2 {
            return None;
        }
        let inner = self.inner(uses);
        let blocks = self.extent.div_ceil(self.rows(&inner));
        let saved: f64 = inner.iter().map(|&id| 2.0 * self.bytes(id) as f64).sum();
        let far = self.common().map(|id| self.bytes(id)).filter(|&bytes| bytes > NEAR);
        let again: f64 = far.map(|bytes| bytes as f64).sum();
        let gain = saved - AGAIN * again * (blocks - 1) as f64;
        (blocks > 1 && gain >= LEAST_GAIN).then_some(gain)
    }

    fn finish(self, uses: &TermMap<BufferId, usize>) -> FoundBlocks {
        let inner = self.inner(uses);
        let rows = self.rows(&inner);
        let mut interface = BlockInterface::default();
        let procedure = self.instance(rows, &inner, &mut interface);
        let rest = self.extent % rows;
        let rest = (rest != 0).then(|| self.instance(rest, &inner, &mut BlockInterface::default()));
        let BlockInterface { arguments, results, .. } = interface;
        let blocks = RowBlocks { extent: self.extent, rows, procedure, rest, arguments, results };
        FoundBlocks { sides: self.sides, blocks }
    }

    /// The procedure of a block of so many rows.
    fn instance(&self, rows: usize, inner: &HashSet<BufferId>, interface: &mut BlockInterface) -> Procedure {
        let mut own = Procedure::default();
        let mut parameters: Vec<BufferId> = Vec::new();
        for step in &self.steps {
            for read in &step.reads {
                let id = self.procedure.origin(read.buffer);
                let key = (id, read.stride);
                if !self.written.contains_key(&id) && !interface.buffers.contains_key(&key) {
                    let ty = self.type_of(id, read.stride, rows);
                    own.buffers
                        .push(ProcedureBuffer { ty, source: BufferSource::Parameter(interface.arguments.len()) });
                    parameters.push((own.buffers.len() - 1) as BufferId);
                    interface.buffers.insert(key, (own.buffers.len() - 1) as BufferId);
                    interface.arguments.push(key);
                }
            }
        }
        own.parameters = parameters.len();
        for step in &self.steps {
            for (write, combined) in &step.writes {
                let id = self.procedure.origin(write.buffer);
                let key = (id, write.stride);
                if interface.buffers.contains_key(&key) {
                    continue;
                }
                let ty = self.type_of(id, write.stride, rows);
                own.buffers.push(ProcedureBuffer { ty, source: BufferSource::Local });
                let buffer = (own.buffers.len() - 1) as BufferId;
                interface.buffers.insert(key, buffer);
                if inner.contains(&id) {
                    continue;
                }
                let is_filled = self.procedure.continued.contains(&write.buffer);
                let combined = combined.filter(|_| write.stride == 0).map(|op| Combined { op, is_filled });
                own.results.push(buffer);
                interface.results.push((id, write.stride, combined));
                if combined.is_some() {
                    own.continued.push(buffer);
                }
            }
        }
        let buffer = |id: BufferId, stride: usize| interface.buffers[&(self.procedure.origin(id), stride)];
        own.steps = self.steps.iter().map(|step| step.instance(self.extent, rows, &buffer)).collect();
        own
    }

    /// The type of a buffer with the rows of one block.
    fn type_of(&self, id: BufferId, stride: usize, rows: usize) -> Type {
        let ty = &self.procedure.buffers[id as usize].ty;
        if stride == 0 { ty.clone() } else { Type::new(ty.dtype, &[rows, stride]) }
    }
}

/// The buffers that a block reads and writes outside, by buffer and the elements from one row to the next.
#[derive(Default)]
struct BlockInterface {
    buffers: TermMap<(BufferId, usize), BufferId>,
    arguments: Vec<(BufferId, usize)>,
    results: Vec<(BufferId, usize, Option<Combined>)>,
}

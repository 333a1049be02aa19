//! Rolled loops that go through the rows of large arrays one block of rows after the other.
//!
//! A loop that fills a matrix column by column touches a cache line of every row in each step, and again in the next one. Where
//! rows have nothing to do with each other, all steps can run for some rows before the next rows: what a step leaves is then
//! still in the cache when the next one reads it. It is the interchange of a loop over steps with one over rows, in strips.

use crate::kernel::blocks::{ALIGNED, BLOCK, LEAST_EXTENT, TRIED};
use crate::kernel::buffer::{BufferId, BufferSource, ProcedureBuffer};
use crate::kernel::procedure::{Loop, Procedure, RowBlocks, Step};
use crate::kernel::rows::{RowStep, RowStride, extents};
use crate::shape::{Type, size, sort_by_rank};
use crate::term::hash::TermMap;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::collections::hash_map::Entry;

/// Positions of a nest, at most, that every block runs anew.
const SAME: usize = 64;
/// A step that touches fewer bytes finds them in the first-level cache anyway.
const NEAR: usize = 24 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Puts the loops of a procedure into blocks of rows, each by itself, where that pays.
pub(crate) fn loops_in_blocks(mut procedure: Procedure) -> Procedure {
    for at in 0..procedure.steps.len() {
        if let Step::Loop(repeated) = &procedure.steps[at]
            && let Some(blocks) = blocks_of(&procedure, repeated)
        {
            procedure.steps[at] = Step::Blocks(Box::new(blocks));
        }
    }
    procedure
}

/// The blocks of the most rows that all steps of a loop go along.
fn blocks_of(procedure: &Procedure, repeated: &Loop) -> Option<RowBlocks> {
    let mut tried: Vec<usize> = repeated.step.steps.iter().flat_map(extents).collect();
    tried.retain(|&extent| extent >= LEAST_EXTENT);
    sort_by_rank(&mut tried, |&extent| !(extent as u64));
    tried.dedup();
    tried.into_iter().take(TRIED).find_map(|extent| LoopRows::of(repeated, extent)?.blocks(procedure))
}

/// A loop along rows.
struct LoopRows<'a> {
    repeated: &'a Loop,
    extent: usize,
    /// The steps of a step, along rows or the same for all of them.
    steps: Vec<Result<RowStep<'a>, &'a Step>>,
    /// The elements from row to row of the buffers of a step, by origin; 0 for those that are the same for all rows.
    strides: TermMap<BufferId, usize>,
}

impl<'a> LoopRows<'a> {
    /// A loop whose steps go along so many rows, if each reads and writes the other steps' rows at its own row only.
    fn of(repeated: &'a Loop, extent: usize) -> Option<LoopRows<'a>> {
        let mut rows = LoopRows { repeated, extent, steps: Vec::new(), strides: TermMap::default() };
        repeated.step.steps.iter().try_for_each(|inner| rows.add(inner))?;
        let (step, carries) = (&repeated.step, repeated.scan.carries);
        for (carry, &result) in step.results.iter().enumerate().take(carries) {
            let [parameter, result] = [carry as BufferId, result].map(|id| step.origin(id));
            let stride = rows.strides.get(&parameter).or(rows.strides.get(&result)).copied()?;
            rows.agree([(parameter, stride), (result, stride)])?;
            // A carry that is the same for all rows would go on from the last block's.
            (stride > 0).then_some(())?;
        }
        // The slices of a step do not lie together in blocks.
        let inputs = (carries..carries + repeated.scan.inputs).all(|input| rows.stride(input as BufferId) == 0);
        (inputs && step.results.len() == carries && rows.have_parts()).then_some(rows)
    }

    /// Adds a nest: along its rows, or as one that is the same for all of them. Products would have an operand packed for each
    /// block.
    fn add(&mut self, inner: &'a Step) -> Option<()> {
        let Step::Nest(nest) = inner else { return None };
        for along in RowStep::all(inner, self.extent) {
            let writes = || along.writes.iter().map(|(rows, _)| (rows.buffer, rows.stride));
            let reads = along.reads.iter().map(|rows| (rows.buffer, rows.stride));
            if writes().all(|(_, stride)| stride > 0) && self.agree(reads.chain(writes())).is_some() {
                self.steps.push(Ok(along));
                return Some(());
            }
        }
        if size(&nest.extents) > SAME {
            return None;
        }
        let (read, filled) = inner.touched();
        self.agree(read.into_iter().chain(filled).map(|id| (id, 0)))?;
        self.steps.push(Err(inner));
        Some(())
    }

    /// Says by how much buffers advance from row to row; `None`, and nothing is said, if one of them advances by another number.
    fn agree(&mut self, strides: impl IntoIterator<Item = (BufferId, usize)>) -> Option<()> {
        let mut new: SmallVec<[BufferId; 8]> = SmallVec::new();
        for (id, stride) in strides {
            let id = self.repeated.step.origin(id);
            match self.strides.entry(id) {
                Entry::Occupied(known) if *known.get() != stride => {
                    new.iter().for_each(|id| _ = self.strides.remove(id));
                    return None;
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(free) => {
                    free.insert(stride);
                    new.push(id);
                }
            }
        }
        Some(())
    }

    /// Whether each row has a part of its own of all that is written. The first row and the last lie inside of a buffer, so this is
    /// where the strides of all rows make it up.
    fn have_parts(&self) -> bool {
        let step = &self.repeated.step;
        let written = step.steps.iter().flat_map(|inner| inner.touched().1).chain(step.results.iter().copied());
        let written: HashSet<BufferId> = written.map(|id| step.origin(id)).collect();
        self.strides.iter().filter(|&(_, &stride)| stride > 0).all(|(id, stride)| {
            let buffer = &step.buffers[*id as usize];
            let is_filled = || stride.checked_mul(self.extent) == Some(buffer.ty.size());
            match buffer.source {
                BufferSource::Parameter(_) => !written.contains(id) || is_filled(),
                BufferSource::Local => is_filled(),
                BufferSource::Constant(_) | BufferSource::Alias(_) => false,
            }
        })
    }

    fn stride(&self, id: BufferId) -> usize {
        self.strides.get(&self.repeated.step.origin(id)).copied().unwrap_or(0)
    }

    /// Bytes of the cache lines that one step touches.
    fn touched(&self) -> usize {
        let line = |rows: &RowStride| {
            let width = self.repeated.step.buffers[rows.buffer as usize].ty.dtype.bytes();
            rows.stride.saturating_mul(width).min(LINE)
        };
        let along = self.steps.iter().flatten();
        let all = along.flat_map(|step| step.reads.iter().chain(step.writes.iter().map(|(rows, _)| rows)));
        all.map(line).fold(0, usize::saturating_add).saturating_mul(self.extent)
    }

    /// The loop in blocks of rows, if its steps do not find what they touch in the cache without them.
    fn blocks(&self, procedure: &Procedure) -> Option<RowBlocks> {
        let interface = self.interface(procedure)?;
        let parts = &interface.parts;
        let mut moving: Vec<BufferId> = parts.iter().filter(|(_, stride)| *stride > 0).map(|&(id, _)| id).collect();
        moving.sort_unstable();
        moving.dedup();
        let bytes = |&id: &BufferId| procedure.buffers[id as usize].ty.bytes().unwrap_or(usize::MAX);
        let row = moving.iter().map(bytes).fold(0, usize::saturating_add) / self.extent;
        let rows = (BLOCK / row.max(1) / ALIGNED * ALIGNED).max(ALIGNED);
        if self.touched() <= NEAR || rows >= self.extent || self.repeated.scan.length < 2 {
            return None;
        }
        let rest = self.extent % rows;
        let (arguments, results) = parts.split_at(interface.count);
        Some(RowBlocks {
            extent: self.extent,
            rows,
            procedure: self.instance(procedure, &interface, rows),
            rest: (rest != 0).then(|| self.instance(procedure, &interface, rest)),
            arguments: arguments.to_vec(),
            results: results.iter().map(|&(id, stride)| (id, stride, None)).collect(),
        })
    }

    /// The arguments and results of a block. `None` if a buffer that is written to has other names.
    fn interface(&self, procedure: &Procedure) -> Option<Interface> {
        let Loop { arguments, results, step, .. } = self.repeated;
        let buffer = |&id: &BufferId| procedure.origin(id);
        let written: TermMap<BufferId, usize> = results.iter().map(buffer).zip(0..).collect();
        if written.len() < results.len() {
            return None;
        }
        let (mut parts, mut own) = (Vec::new(), Vec::new());
        for (at, buffer) in arguments.iter().map(buffer).enumerate() {
            match written.get(&buffer) {
                None => {
                    own.push(Ok(parts.len()));
                    parts.push((buffer, self.stride(at as BufferId)));
                }
                // A carry that is changed in place.
                Some(&result) if result == at => own.push(Err(result)),
                Some(_) => return None,
            }
        }
        let count = parts.len();
        parts.extend(results.iter().zip(&step.results).map(|(id, &inner)| (buffer(id), self.stride(inner))));
        let own = own.into_iter().map(|part| part.unwrap_or_else(|result| count + result) as BufferId).collect();
        Some(Interface { parts, count, arguments: own })
    }

    /// The procedure of a block of so many rows: the loop with their parts of all buffers.
    fn instance(&self, procedure: &Procedure, interface: &Interface, rows: usize) -> Procedure {
        let Loop { scan, step, .. } = self.repeated;
        let of_rows = |ty: &Type, stride: usize| match stride {
            0 => ty.clone(),
            _ => Type::new(ty.dtype, &[rows, stride]),
        };
        let mut block = Procedure { parameters: interface.count, ..Procedure::default() };
        for (at, &(buffer, stride)) in interface.parts.iter().enumerate() {
            let source = if at < interface.count { BufferSource::Parameter(at) } else { BufferSource::Local };
            let ty = of_rows(&procedure.buffers[buffer as usize].ty, stride);
            block.buffers.push(ProcedureBuffer { ty, source });
        }
        block.results = (interface.count..interface.parts.len()).map(|at| at as BufferId).collect();
        let changed = interface.arguments.iter().filter(|&&id| id as usize >= interface.count);
        block.changing.extend(changed);
        let mut inner = step.clone();
        for (id, buffer) in inner.buffers.iter_mut().enumerate() {
            buffer.ty = of_rows(&buffer.ty, self.stride(id as BufferId));
        }
        let steps = self.steps.iter().map(|inner| match inner {
            Ok(along) => along.instance(self.extent, rows, &|id, _| id),
            Err(same) => (*same).clone(),
        });
        inner.steps = steps.collect();
        let (arguments, results) = (interface.arguments.clone(), block.results.clone());
        block.steps.push(Step::Loop(Box::new(Loop { scan: scan.clone(), step: inner, arguments, results })));
        block
    }
}

/// The buffers that blocks read and write outside.
struct Interface {
    /// Arguments, then results, with the elements by which each advances per row.
    parts: Vec<(BufferId, usize)>,
    /// How many are arguments.
    count: usize,
    /// The parts that the loop's arguments are.
    arguments: Vec<BufferId>,
}

//! Reads and writes of the next block of rows, which the steps of the present one bring into the cache.
//!
//! The first step of a block reads rows that come from memory, and the last one writes rows that memory must hand over first, while
//! the steps between them compute. So a block would take the time of both, one after the other. Instead, each nest asks for a share
//! of the next block's lines as it goes: as large as its share of the block's operations. Rows of which little is touched are left out.

use super::split::operations;
use crate::kernel::{Affine, BufferId, BufferSource, Nest, NestValue, Procedure, RowBlocks, Step};
use crate::shape::{DType, steps};

/// Blocks that move fewer bytes in all find them in the second-level cache.
const LEAST: usize = 1 << 20;
/// Fewer bytes are not worth a pointer.
const SHARE: usize = 256;

/// The bytes by which the parameters and results of a block's procedure advance to the next block.
#[derive(Clone, Debug)]
pub(super) struct BlockAdvance {
    pub(super) parameters: Vec<usize>,
    pub(super) results: Vec<usize>,
    /// How many blocks there are.
    pub(super) blocks: usize,
}

impl BlockAdvance {
    /// Of blocks, whose buffers outside have elements of so many bytes.
    pub(super) fn of(blocks: &RowBlocks, width: impl Fn(BufferId) -> usize) -> BlockAdvance {
        let bytes = |id: BufferId, stride: usize| stride * width(id) * blocks.rows;
        BlockAdvance {
            parameters: blocks.arguments.iter().map(|&(id, stride)| bytes(id, stride)).collect(),
            results: blocks.results.iter().map(|&(id, stride, _)| bytes(id, stride)).collect(),
            blocks: blocks.extent.div_ceil(blocks.rows),
        }
    }
}

/// Bytes of a buffer, from an offset on, that a nest brings into the cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Prefetch {
    pub(super) buffer: BufferId,
    pub(super) offset: usize,
    pub(super) bytes: usize,
    /// Whether they will be written to.
    pub(super) writes: bool,
}

/// The shares of a block's steps. A product's share comes by itself; where there are other steps, nothing is brought.
pub(super) fn prefetches(procedure: &Procedure, advance: &BlockAdvance) -> Vec<Vec<Prefetch>> {
    let mut shares = vec![Vec::new(); procedure.steps.len()];
    let parameters = (0..).zip(&procedure.buffers).filter_map(|(id, buffer)| match buffer.source {
        BufferSource::Parameter(position) => Some((id, advance.parameters[position], false)),
        _ => None,
    });
    let results = procedure.results.iter().zip(&advance.results).map(|(&id, &bytes)| (id, bytes, true));
    let is_whole = |id: BufferId| touched(procedure, id) >= procedure.buffers[id as usize].ty.size() / 2;
    let moving: Vec<(BufferId, usize, bool)> =
        parameters.chain(results).filter(|&(id, bytes, _)| bytes > 0 && is_whole(id)).collect();
    let all: usize = moving.iter().map(|&(_, bytes, _)| bytes).fold(0, usize::saturating_add);
    if all.saturating_mul(advance.blocks) < LEAST {
        return shares;
    }
    let weight = |step: &Step| match step {
        Step::Nest(nest) => Some(operations(nest)),
        Step::Product(product) => Some(steps(product.all_extents())),
        _ => None,
    };
    let Some(weights) = procedure.steps.iter().map(weight).collect::<Option<Vec<usize>>>() else { return shares };
    let total = weights.iter().fold(0, |total: usize, &weight| total.saturating_add(weight));
    let mut done = 0usize;
    for (&weight, (step, share)) in weights.iter().zip(procedure.steps.iter().zip(&mut shares)) {
        let place = |done: usize| (all as u128 * done as u128 / total.max(1) as u128) as usize;
        let (from, to) = (place(done), place(done.saturating_add(weight).min(total)));
        done = done.saturating_add(weight);
        let Step::Nest(_) = step else { continue };
        let mut start = 0;
        for &(buffer, bytes, writes) in &moving {
            let (first, last) = (from.max(start), to.min(start + bytes));
            if last >= first + SHARE {
                share.push(Prefetch { buffer, offset: bytes + first - start, bytes: last - first, writes });
            }
            start += bytes;
        }
    }
    shares
}

/// How many elements of a buffer a step touches, of the one that touches most. Those at computed positions do not count.
fn touched(procedure: &Procedure, id: BufferId) -> usize {
    let of_nest = |nest: &Nest| {
        let loads = nest.values.iter().filter_map(|(value, _)| match value {
            NestValue::Load { buffer, at, .. } => Some((*buffer, at)),
            _ => None,
        });
        let stores = nest.stores.iter().filter(|store| store.index.is_none()).map(|store| (store.buffer, &store.at));
        let own = loads.chain(stores).filter(|&(buffer, _)| procedure.origin(buffer) == procedure.origin(id));
        let moves = |at: &Affine| {
            let axes = nest.extents.iter().zip(&at.coefficients).filter(|&(_, &by)| by != 0);
            steps(axes.map(|(&extent, _)| extent))
        };
        own.map(|(_, at)| moves(at)).max().unwrap_or(0)
    };
    let of_step = |step: &Step| match step {
        Step::Nest(nest) => of_nest(nest),
        // Places are the same for elements of any type.
        Step::Product(product) => of_nest(&product.as_nest(DType::F64)),
        _ => 0,
    };
    procedure.steps.iter().map(of_step).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::lower;
    use crate::operation::Unary;
    use crate::prelude::*;
    use crate::staged::Staged;

    /// Σ log-sum-exp of rows, whose gradient runs in blocks of rows.
    fn log_sum_exp<A: Algebra>(x: &Matrix<A, f64>) -> Scalar<A, f64> {
        x.logsumexp_axis(1).sum()
    }

    /// The procedure of the blocks that a gradient runs in, and how they advance.
    fn blocks_of(
        rows: usize,
        columns: usize,
        of: fn(&Matrix<Staged, f64>) -> Scalar<Staged, f64>,
    ) -> (Procedure, BlockAdvance) {
        let x: Matrix<Concrete, f64> = zeros((rows, columns));
        let gradient = stage(of, &x).unwrap().value_and_grad().unwrap();
        let mut steps = lower(gradient.program()).steps.into_iter();
        let blocks = steps.find_map(|step| if let Step::Blocks(blocks) = step { Some(blocks) } else { None });
        let blocks = blocks.expect("it runs in blocks");
        let advance = BlockAdvance::of(&blocks, |_| 8);
        (blocks.procedure, advance)
    }

    #[test]
    fn steps_share_what_the_next_block_reads_and_writes_by_their_operations() {
        let (procedure, advance) = blocks_of(10_000, 100, log_sum_exp);
        let shares = prefetches(&procedure, &advance);
        let moved = |all: &[usize]| all.iter().copied().filter(|&bytes| bytes > 0).collect::<Vec<usize>>();
        // The array, and its gradient.
        let (read, written) = (moved(&advance.parameters), moved(&advance.results));
        assert_eq!((read.len(), &read), (1, &written));
        for (writes, bytes) in [(false, read[0]), (true, written[0])] {
            let mut parts: Vec<Prefetch> = shares.iter().flatten().copied().collect();
            parts.retain(|part| part.writes == writes);
            let end = parts.iter().fold(bytes, |at, part| {
                assert!(part.buffer == parts[0].buffer && (at..at + SHARE).contains(&part.offset), "{parts:?}");
                part.offset + part.bytes
            });
            assert!((2 * bytes - SHARE..=2 * bytes).contains(&end), "{parts:?}");
        }
        let most = procedure
            .steps
            .iter()
            .zip(&shares)
            .max_by_key(|(_, share)| share.iter().map(|part| part.bytes).sum::<usize>());
        let Some((Step::Nest(nest), _)) = most else { panic!("a nest computes most") };
        assert!(nest.values.iter().any(|(value, _)| matches!(value, NestValue::Unary(Unary::Exp, _))), "{nest:?}");
    }

    #[test]
    fn what_stays_in_the_cache_is_not_asked_for() {
        let (procedure, advance) = blocks_of(10_000, 100, log_sum_exp);
        let few = BlockAdvance { blocks: 2, ..advance };
        assert!(prefetches(&procedure, &few).iter().all(Vec::is_empty));
    }

    #[test]
    fn rows_of_which_little_is_read_are_not_asked_for() {
        let (procedure, advance) = blocks_of(10_000, 2_000, |x| log_sum_exp(&x.slice(1, ..10)));
        assert!(advance.parameters.iter().sum::<usize>() > LEAST / advance.blocks, "{advance:?}");
        let asked = prefetches(&procedure, &advance);
        assert!(asked.iter().flatten().all(|part| part.writes), "{asked:?}");
    }
}

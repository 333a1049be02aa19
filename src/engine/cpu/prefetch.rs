//! Reads and writes of the next block of rows, which the steps of the present one bring into the cache.
//!
//! The first step of a block reads rows that come from memory, and the last one writes rows that memory must hand over first, while
//! the steps between them compute. So a block would take the time of both, one after the other. Instead, each nest asks for a share
//! of the next block's lines as it goes: as large as its share of the block's operations. Rows of which little is touched are left out.

use super::split::operations;
use crate::kernel::{Affine, BufferId, BufferSource, MatrixProduct, Nest, NestValue, Procedure, Step, Strided};
use crate::shape::steps;

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
        let mut start = 0;
        for &(buffer, bytes, writes) in moving.iter().filter(|_| matches!(step, Step::Nest(_))) {
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
    let of_product = |product: &MatrixProduct| {
        let operands = [&product.left, &product.right, &product.result].into_iter();
        let own = operands.filter(|operand| procedure.origin(operand.buffer) == procedure.origin(id));
        let moves = |operand: &Strided| {
            let axes = product.extents.iter().flatten().zip(operand.strides.iter().flatten());
            steps(axes.filter(|&(_, &by)| by != 0).map(|(&extent, _)| extent))
        };
        own.map(moves).max().unwrap_or(0)
    };
    let of_step = |step: &Step| match step {
        Step::Nest(nest) => of_nest(nest),
        Step::Product(product) => of_product(product),
        _ => 0,
    };
    procedure.steps.iter().map(of_step).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{NestValue, lower};
    use crate::operation::Unary;
    use crate::prelude::*;
    use crate::staged::Staged;

    /// Σ log-sum-exp of rows, whose gradient runs in blocks of rows.
    fn log_sum_exp<A: Algebra>(x: &Matrix<A, f64>) -> Scalar<A, f64> {
        x.logsumexp_axis(1).sum()
    }

    /// The blocks of the gradient, and their shares, for so many rows of 100.
    fn shares(rows: usize) -> Option<(Procedure, BlockAdvance, Vec<Vec<Prefetch>>)> {
        let x: Matrix<Concrete, f64> = zeros((rows, 100));
        let gradient = stage(|x: &Matrix<_, f64>| log_sum_exp(x), &x).unwrap().value_and_grad().unwrap();
        let blocks = lower(gradient.program()).steps.into_iter().find_map(|step| match step {
            Step::Blocks(blocks) => Some(blocks),
            _ => None,
        })?;
        let advance = BlockAdvance {
            parameters: blocks.arguments.iter().map(|&(_, stride)| 8 * stride * blocks.rows).collect(),
            results: blocks.results.iter().map(|&(_, stride, _)| 8 * stride * blocks.rows).collect(),
            blocks: blocks.extent.div_ceil(blocks.rows),
        };
        let shares = prefetches(&blocks.procedure, &advance);
        Some((blocks.procedure, advance, shares))
    }

    #[test]
    fn steps_share_what_the_next_block_reads_and_writes_by_their_operations() {
        let (procedure, advance, shares) = shares(10_000).expect("it runs in blocks");
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
        let (procedure, advance, _) = shares(10_000).expect("it runs in blocks");
        let few = BlockAdvance { blocks: 2, ..advance };
        assert!(prefetches(&procedure, &few).iter().all(Vec::is_empty));
    }

    #[test]
    fn rows_of_which_little_is_read_are_not_asked_for() {
        let x: Matrix<Concrete, f64> = zeros((10_000, 2_000));
        let few = |x: &Matrix<Staged, f64>| log_sum_exp(&x.slice(1, ..10));
        let gradient = stage(few, &x).unwrap().value_and_grad().unwrap();
        for step in &lower(gradient.program()).steps {
            let Step::Blocks(blocks) = step else { continue };
            let advance = BlockAdvance {
                parameters: blocks.arguments.iter().map(|&(_, stride)| 8 * stride * blocks.rows).collect(),
                results: blocks.results.iter().map(|&(_, stride, _)| 8 * stride * blocks.rows).collect(),
                blocks: blocks.extent.div_ceil(blocks.rows),
            };
            let asked = prefetches(&blocks.procedure, &advance);
            let reads = asked.iter().flatten().filter(|part| !part.writes);
            assert!(reads.map(|part| part.bytes).sum::<usize>() <= 80 * blocks.rows, "{asked:?}");
        }
    }
}

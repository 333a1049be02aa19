//! Reads and writes of the next block of rows, which the steps of the present one bring into the cache.
//!
//! The first step of a block reads rows that come from memory, and the last one writes rows that memory must hand over first, while
//! the steps between them compute. So a block would take the time of both, one after the other. Instead, each nest asks for a share
//! of the next block's lines as it goes: as large as its share of the block's operations.

use super::split::operations;
use crate::kernel::{BufferId, BufferSource, Procedure, Step};

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

/// The shares of a block's steps.
pub(super) fn prefetches(procedure: &Procedure, advance: &BlockAdvance) -> Vec<Vec<Prefetch>> {
    let mut shares = vec![Vec::new(); procedure.steps.len()];
    let parameters = (0..).zip(&procedure.buffers).filter_map(|(id, buffer)| match buffer.source {
        BufferSource::Parameter(position) => Some((id, advance.parameters[position], false)),
        _ => None,
    });
    let results = procedure.results.iter().zip(&advance.results).map(|(&id, &bytes)| (id, bytes, true));
    let moving: Vec<(BufferId, usize, bool)> = parameters.chain(results).filter(|&(_, bytes, _)| bytes > 0).collect();
    let all: usize = moving.iter().map(|&(_, bytes, _)| bytes).fold(0, usize::saturating_add);
    if all.saturating_mul(advance.blocks) < LEAST {
        return shares;
    }
    let weight = |step: &Step| if let Step::Nest(nest) = step { operations(nest) } else { 0 };
    let total: usize = procedure.steps.iter().map(weight).fold(0, usize::saturating_add);
    let mut done = 0usize;
    for (step, share) in procedure.steps.iter().zip(&mut shares) {
        let place = |done: usize| (all as u128 * done as u128 / total.max(1) as u128) as usize;
        let (from, to) = (place(done), place(done.saturating_add(weight(step)).min(total)));
        done = done.saturating_add(weight(step));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{NestValue, lower};
    use crate::operation::Unary;
    use crate::prelude::*;

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
        assert!(shares(600).is_none_or(|(.., shares)| shares.iter().all(Vec::is_empty)));
    }
}

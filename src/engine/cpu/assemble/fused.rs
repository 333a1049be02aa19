//! Sums that are computed together with their terms.

use super::{Assembler, OfRows};
use crate::engine::cpu::code::LoopLevel;
use crate::engine::cpu::instruction::Instruction;
use crate::engine::cpu::slot::Slot;
use crate::kernel::{NestValue, Store, StoreMode, ValueId};
use crate::operation::{Binary, Reduction, Unary};
use crate::shape::DType;
use crate::term::hash::TermMap;
use std::collections::HashSet;

/// Bytes of the rows that are traversed repeatedly.
const FIRST_CACHE: usize = 24 << 10;
/// Rows of a part, at least.
const LEAST_ROWS: usize = 4;

/// A sum of products, or of squares of differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fused {
    pub(super) a: ValueId,
    pub(super) b: ValueId,
    /// For squares, the difference.
    pub(super) difference: Option<ValueId>,
}

impl Assembler<'_> {
    /// The level at which a store's sum is complete, if loops inside of it, which run for each tile, do not move its place.
    pub(super) fn sum_level(&self, store: &Store) -> Option<usize> {
        let level = self.level_of(&store.at).max(self.layout.vector + 1);
        let plain = store.index.is_none() && store.guards.is_empty() && matches!(store.mode, StoreMode::Reduce(_));
        (plain && level < self.depth() && self.step(&store.at) != 1).then_some(level)
    }

    /// The innermost loop apart from the vector axis.
    fn innermost(&self) -> Option<usize> {
        let last = self.depth() - 1;
        if self.layout.vector == last { last.checked_sub(1) } else { Some(last) }
    }

    /// Where the innermost steps of a nest only sum along its vector axis, the loop around them becomes part of the
    /// instruction: so its rows share their reads, and selecting one instruction is enough for all of them. If threads share a
    /// loop in so many chunks, the rows of a chunk are one instruction.
    pub(super) fn join_rows(&mut self, chunks: usize) {
        let (depth, vector) = (self.depth(), self.layout.vector);
        let is_last = vector + 1 == depth;
        // The loop of the rows, and the instructions at each of its steps: at its own level, if it is inside of the tiles, and
        // otherwise at the vector axis's level.
        let Some(rows) = self.innermost() else { return };
        let count = self.layout.extents[rows];
        if u32::try_from(count).is_err() || (is_last && !self.code[rows + 1].is_empty()) {
            return;
        }
        let own = &self.code[depth];
        let (Some(run), [Instruction::Kernel { result, a, b, .. }]) = (self.of_rows, &own.tile[..]) else { return };
        if !(own.single.is_empty() && own.after.is_empty()) {
            return;
        }
        let stride = |slot: Slot| {
            let moved = self.moves[rows].iter().find(|&&(moving, _)| moving == slot);
            (slot, moved.map_or(0, |&(_, bytes)| bytes))
        };
        let (result, a, b) = (stride(*result), stride(*a), stride(*b));
        let run = match run {
            OfRows::Each(run) => run,
            OfRows::Columns(run) if result.1 == 0 => run,
            OfRows::Columns(_) => return,
        };
        self.code[depth].tile.clear();
        self.code.remove(rows + 1);
        self.moves.remove(rows);
        self.layout.remove(rows);
        let operands = [result, a, b];
        let (part, last_part) = if rows == 0 && chunks > 1 {
            let part = count.div_ceil(chunks);
            let parts = count.div_ceil(part);
            self.loop_over_parts(0, part, parts, operands);
            (part, count - part * (parts - 1))
        } else {
            let part = self.cut_rows(chunks > 1, count, operands);
            (part, part)
        };
        let last = self.depth();
        let [rows, last_rows] = [part, last_part].map(|rows| rows as u32);
        self.code[last].tile.push(Instruction::Rows { run, result, a, b, rows, last_rows });
    }

    /// Adds a loop at this position whose steps are parts of the rows of these operands.
    fn loop_over_parts(&mut self, position: usize, part: usize, parts: usize, operands: [(Slot, isize); 3]) {
        self.code.insert(position + 1, LoopLevel::default());
        let mut moves: Vec<(Slot, isize)> = Vec::new();
        for (slot, stride) in operands {
            // Both operands may be one.
            if stride != 0 && moves.iter().all(|&(moving, _)| moving != slot) {
                moves.push((slot, stride * part as isize));
            }
        }
        self.moves.insert(position, moves);
        self.layout.insert(position, parts);
    }

    /// Where the rows of an operand, which the loop around them goes through again and again, are more than the first-level
    /// cache has room for, they are cut into parts, and a loop over these runs around that loop. Returns the rows of a part.
    fn cut_rows(&mut self, is_shared: bool, rows: usize, operands: [(Slot, isize); 3]) -> usize {
        let depth = self.depth();
        let Some(again) = self.innermost() else { return rows };
        let moves = |slot: Slot| self.moves[again].iter().any(|&(moving, _)| moving == slot);
        let [_, (a, across), (b, along)] = operands;
        // The rows of one operand meet one run of the other, which that loop moves on.
        let apart = (along != 0 && across == 0 && !moves(b)) || (across != 0 && along == 0 && !moves(a));
        if !apart || !self.code[again + 1].is_empty() || (again == 0 && is_shared) || !self.code[depth].is_empty() {
            return rows;
        }
        let along_run = self.moves[self.layout.vector].iter().find(|&&(moving, _)| moving == b || moving == a);
        let row = self.layout.extents[self.layout.vector] * along_run.map_or(8, |&(_, width)| width.unsigned_abs());
        let fitting = (FIRST_CACHE / row.max(1)).max(LEAST_ROWS);
        let Some(part) = (LEAST_ROWS..=fitting).rev().find(|&part| rows.is_multiple_of(part)) else { return rows };
        if part == rows {
            return rows;
        }
        self.loop_over_parts(again, part, rows / part, operands);
        part
    }

    /// Reads with guards that are only summed, element by element: where the guards do not hold, a sum does not change. Their
    /// elements are not copied between zeros for that.
    pub(super) fn guarded_sums(&self, uses: &[u32]) -> HashSet<ValueId> {
        let is_summed = |store: &&Store| {
            let plain =
                store.mode == StoreMode::Reduce(Reduction::Sum) && store.index.is_none() && store.guards.is_empty();
            let each = self.step(&store.at) == 1 || self.sum_level(store).is_some();
            plain && each && self.layout.broken(&store.at).is_none() && uses[store.value as usize] == 1
        };
        let is_run = |store: &&Store| match &self.nest.values[store.value as usize].0 {
            NestValue::Load { at, guards, .. } => !guards.is_empty() && self.step(at) == 1,
            _ => false,
        };
        self.nest.stores.iter().filter(is_summed).filter(is_run).map(|store| store.value).collect()
    }

    /// Products and squares that are only summed.
    pub(super) fn fused_sums(&self, uses: &[u32]) -> TermMap<ValueId, Fused> {
        let runs = |ids: [ValueId; 2]| ids.map(|id| self.runs[id as usize]);
        let mut fused = TermMap::default();
        for store in &self.nest.stores {
            let id = store.value as usize;
            let (value, dtype) = &self.nest.values[id];
            let place = store.index.is_none() || self.is_row(store);
            let goes_on = self.layout.broken(&store.at).is_none();
            let plain = store.mode == StoreMode::Reduce(Reduction::Sum) && place && goes_on && store.guards.is_empty();
            if !plain || uses[id] != 1 || *dtype == DType::Bool || !self.runs[id] {
                continue;
            }
            // Sums of a tile's elements each, or of all of them.
            let each = self.sum_level(store).is_some() || self.step(&store.at) == 1;
            let all = !each && self.step(&store.at) == 0;
            match *value {
                NestValue::Binary(Binary::Mul, a, b) if each || (all && runs([a, b]) == [true, true]) => {
                    fused.insert(store.value, Fused { a, b, difference: None });
                }
                NestValue::Unary(Unary::Powi(2), inner) if each && dtype.is_float() => {
                    fused.insert(store.value, Fused { a: inner, b: inner, difference: None });
                }
                NestValue::Unary(Unary::Powi(2), inner) if all && dtype.is_float() => {
                    if let (NestValue::Binary(Binary::Sub, a, b), _) = self.nest.values[inner as usize]
                        && uses[inner as usize] == 1
                        && runs([a, b]) == [true, true]
                    {
                        fused.insert(store.value, Fused { a, b, difference: Some(inner) });
                    } else {
                        fused.insert(store.value, Fused { a: inner, b: inner, difference: None });
                    }
                }
                _ => {}
            }
        }
        fused
    }
}

//! Sums that are computed together with their terms.

use super::Assembler;
use crate::algebra::Reduction;
use crate::kernel::{Mode, Store, Value, ValueId};
use crate::operation::{Binary, Unary};
use std::collections::HashMap;

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
        let plain = store.index.is_none() && store.guards.is_empty() && matches!(store.mode, Mode::Reduce(_));
        (plain && level < self.depth() && self.step(&store.at) != 1).then_some(level)
    }

    /// Products and squares that are only summed.
    pub(super) fn fused_sums(&self) -> HashMap<ValueId, Fused> {
        let mut uses = vec![0u32; self.nest.values.len()];
        for (value, _) in &self.nest.values {
            value.operands().iter().for_each(|&id| uses[id as usize] += 1);
        }
        for store in &self.nest.stores {
            uses[store.value as usize] += 1;
            if let Some((index, ..)) = store.index {
                uses[index as usize] += 1;
            }
        }
        let runs = |ids: [ValueId; 2]| ids.map(|id| self.runs[id as usize]);
        let mut fused = HashMap::new();
        for store in &self.nest.stores {
            let id = store.value as usize;
            let (value, dtype) = &self.nest.values[id];
            let plain = store.mode == Mode::Reduce(Reduction::Sum) && store.index.is_none() && store.guards.is_empty();
            if !plain || uses[id] != 1 || !dtype.is_float() || !self.runs[id] {
                continue;
            }
            // Sums of a tile's elements each, or of all of them.
            let each = self.sum_level(store).is_some() || self.step(&store.at) == 1;
            let all = !each && self.step(&store.at) == 0;
            match *value {
                Value::Binary(Binary::Mul, a, b) if each || (all && runs([a, b]) == [true, true]) => {
                    fused.insert(store.value, Fused { a, b, difference: None });
                }
                Value::Unary(Unary::Powi(2), inner) if each => {
                    fused.insert(store.value, Fused { a: inner, b: inner, difference: None });
                }
                Value::Unary(Unary::Powi(2), inner) if all => {
                    if let (Value::Binary(Binary::Sub, a, b), _) = self.nest.values[inner as usize]
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

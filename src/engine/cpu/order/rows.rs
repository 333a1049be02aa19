//! Orders of nests that read rows at computed positions, or add to them, and of those whose accesses go through rows differently.

use super::{APART, FAR, LINE, LoopChoice, LoopOrder, NEXT, NestLoop, TILE, Wrapped};
use crate::engine::cpu::stretch::has_limits;
use crate::kernel::{Affine, NestValue, Store, StoreMode, ValueId};

/// The cost of a copy of a short row from a computed position, without its elements, in simple operations on an element; and of
/// one that may be cut where a tile ends.
const ROW_COPY: f64 = 8.0;
const PIECE_COPY: f64 = 24.0;
/// The cost of a row of a tile that is reduced to an element, and of one that is combined with others, without its elements.
const REDUCED_ROW: f64 = 20.0;
const COMBINED_ROW: f64 = 8.0;
/// Elements of rows that are reduced in a tile, at most: longer ones are worth an instruction each.
const LONGEST: usize = 256;

impl LoopChoice<'_> {
    /// The cost of copies of rows of so many elements from computed positions, for all positions of the nest.
    pub(super) fn copies(&self, row: usize) -> f64 {
        self.elements() / row as f64 * ROW_COPY + self.elements() * NEXT
    }

    /// The order of a nest that does nothing but copy rows from computed positions: instructions run along the positions, and
    /// copy a row for each.
    pub(super) fn rows_order(&self) -> Option<LoopOrder> {
        let [store] = &self.nest.stores[..] else { return None };
        let NestValue::Gather { at, index, .. } = &self.nest.values[store.value as usize].0 else { return None };
        let is_plain = store.mode == StoreMode::Write && store.index.is_none() && store.guards.is_empty();
        let is_moved = |axis: usize| self.moved[*index as usize] >> (axis % 64) & 1 == 1;
        let is_next = |axis: usize| at.coefficients[axis] == 1 && store.at.coefficients[axis] == 1;
        let inner = self.long.iter().copied().find(|&axis| is_next(axis) && !is_moved(axis)).filter(|_| is_plain)?;
        let (row, along, rest) = self.rows_along(inner, is_moved, is_moved)?;
        (row.1 > 1).then(|| LoopOrder {
            outer: self.joined(&rest),
            vector: along,
            inner: Vec::new(),
            row: row.1,
            wrapped: None,
        })
    }

    /// The accesses at computed positions, each with its position.
    fn computed(&self) -> Vec<(ValueId, &Affine)> {
        let stored = self.nest.stores.iter().filter_map(|store| Some((store.index?.0, &store.at)));
        let read = self.nest.values.iter().filter_map(|(value, _)| match value {
            NestValue::Gather { at, index, .. } => Some((*index, at)),
            _ => None,
        });
        read.chain(stored).collect()
    }

    /// For each value whether it is one of these positions, if all of them are read as they are, and are nothing but positions.
    fn positions(&self, computed: &[(ValueId, &Affine)]) -> Option<Vec<bool>> {
        let mut is_position = vec![false; self.nest.values.len()];
        computed.iter().for_each(|&(index, _)| is_position[index as usize] = true);
        let is_used = |id: &ValueId| is_position[*id as usize];
        let is_number = |(value, _): &(NestValue, _)| {
            !matches!(value, NestValue::Gather { .. }) && value.operands().iter().any(is_used)
        };
        if self.nest.values.iter().any(is_number) || self.nest.stores.iter().any(|store| is_used(&store.value)) {
            return None;
        }
        let is_read = |&(index, _): &(ValueId, &Affine)| match &self.nest.values[index as usize].0 {
            NestValue::Load { guards, .. } => guards.is_empty(),
            _ => false,
        };
        computed.iter().all(is_read).then_some(is_position)
    }

    /// The loop within rows, which this axis begins and computed positions do not move with, the innermost one that leads to other
    /// rows, and all other axes.
    fn rows_along(
        &self,
        inner: usize,
        is_moved: impl Fn(usize) -> bool,
        leads: impl Fn(usize) -> bool,
    ) -> Option<(NestLoop, NestLoop, Vec<usize>)> {
        let mut rest = self.long.clone();
        let row = self.taken(inner, &mut rest, |axis| !is_moved(axis));
        let axis = rest.iter().copied().rev().find(|&axis| leads(axis))?;
        let along = self.taken(axis, &mut rest, |_| true);
        Some((row, along, rest))
    }

    /// The order in which instructions run along rows and continue with the next row where one ends, and its cost. Rows at
    /// computed positions, and rows that do not begin where the ones before end, are copied one by one. Rows that are reduced,
    /// each to an element or all to one row, are computed tile by tile first.
    pub(super) fn wrapped_order(&self) -> Option<(LoopOrder, f64)> {
        let computed = self.computed();
        let is_position = self.positions(&computed)?;
        let is_moved = |axis: usize| computed.iter().any(|&(id, _)| self.moved[id as usize] >> (axis % 64) & 1 == 1);
        let is_next = |axis: usize| computed.iter().all(|(_, at)| at.coefficients[axis] == 1);
        let is_inner = |&axis: &usize| is_next(axis) && !is_moved(axis);
        let steps = |axis: usize| self.memory.iter().filter(|at| at.coefficients[axis] == 1).count();
        let inner = self.long.iter().copied().filter(is_inner).max_by_key(|&axis| steps(axis))?;
        // Positions that are the same for all rows are not worth a choice of their own.
        let leads = |axis: usize| computed.is_empty() || is_moved(axis);
        let (row, along, rest) = self.rows_along(inner, is_moved, leads)?;
        let axis = along.0;
        let goes_on = |at: &Affine| at.coefficients[inner].checked_mul(row.1 as i64) == Some(at.coefficients[axis]);
        let stays = |at: &Affine| at.coefficients[axis] == 0;
        // The accesses whose rows are copied one by one.
        let mut broken: Vec<&Affine> = Vec::new();
        for (id, (value, _)) in self.nest.values.iter().enumerate() {
            match value {
                NestValue::Gather { at, .. } if !stays(at) => return None,
                NestValue::Load { at, guards, .. } if !is_position[id] && !goes_on(at) => {
                    guards.is_empty().then(|| broken.push(at))?;
                }
                _ => {}
            }
        }
        // The cost of the reductions of a row.
        let mut reductions = 0.0;
        for store in &self.nest.stores {
            let Store { at, guards, index, mode, .. } = store;
            match index {
                Some(_) if !stays(at) || *mode == StoreMode::Write => return None,
                Some(_) => {}
                None if goes_on(at) => {}
                None if !guards.is_empty() => return None,
                None if *mode == StoreMode::Write => broken.push(at),
                None => {
                    reductions += self.reduction(store, inner, axis)?;
                }
            }
        }
        // The order in which elements of a tile are summed is not to depend on how rows are read.
        let is_sum = self.nest.stores.iter().any(|store| {
            let of_tile = store.at.coefficients[inner] == 0 && goes_on(&store.at);
            store.mode != StoreMode::Write && store.index.is_none() && of_tile
        });
        let is_whole = reductions > 0.0;
        let fits = match (is_whole, broken.is_empty()) {
            // If nothing is computed, an instruction that reduces all rows needs no tiles; and tiles do not end at limits.
            (true, _) => row.1 <= LONGEST && !is_sum && self.computes() && !has_limits(self.nest, &self.moved),
            // Longer rows are tiles by themselves.
            (false, false) => row.1 <= TILE && !is_sum,
            (false, true) => !computed.is_empty(),
        };
        if row.1 == 1 || !fits || !self.numbers.iter().all(|at| goes_on(at)) {
            return None;
        }
        let vector = (inner, row.1.checked_mul(along.1)?);
        let wrapped = Some(Wrapped { row: row.1, axis, is_whole });
        let order = LoopOrder { outer: self.joined(&rest), vector, inner: Vec::new(), row: 1, wrapped };
        let copies: f64 = broken.iter().map(|at| self.broken_copies(at, (inner, row.1), axis)).sum();
        let rows = self.elements() / row.1 as f64;
        let cost = self.cost(&order) + computed.len() as f64 * self.copies(row.1) + copies + rows * reductions;
        Some((order, cost))
    }

    /// The cost of the reduction of a row, of a store that reduces each row to an element, or all rows to one; but not of products
    /// whose sums are one instruction.
    fn reduction(&self, store: &Store, inner: usize, axis: usize) -> Option<f64> {
        match (store.at.coefficients[inner], store.at.coefficients[axis]) {
            (0, _) if !self.summed[store.value as usize] => Some(REDUCED_ROW),
            (1, 0) => Some(COMBINED_ROW),
            _ => None,
        }
    }

    /// Whether something is not just read.
    fn computes(&self) -> bool {
        let is_read = |(id, (value, _)): (usize, &(NestValue, _))| {
            matches!(value, NestValue::Load { .. } | NestValue::Constant(_)) || self.is_fused(id as ValueId)
        };
        !self.nest.values.iter().enumerate().all(is_read)
    }

    /// The positions of the nest.
    fn elements(&self) -> f64 {
        self.nest.extents.iter().map(|&extent| extent as f64).product()
    }

    /// The cost of copies of rows of an access that do not begin where the ones before them end, for all positions of the nest.
    fn broken_copies(&self, at: &Affine, (inner, row): NestLoop, axis: usize) -> f64 {
        let elements = self.elements();
        match at.coefficients[inner].unsigned_abs() {
            // One row repeated: the part already there is copied.
            1 if at.coefficients[axis] == 0 => elements * NEXT,
            0 | 1 => elements / row as f64 * PIECE_COPY + elements * NEXT,
            stride if stride < LINE => elements / row as f64 * PIECE_COPY + elements * APART,
            _ => elements * FAR,
        }
    }
}

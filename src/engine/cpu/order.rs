//! The order of a nest's loops: which one instructions run along, which run together as one, and which run inside of a tile.

mod rows;

use super::layout::{NestLayout, NestLoop, Wrapped, goes_on, joined};
use super::split::{CHUNKS, chunks_worth};
use super::stretch::inner_axes;
use crate::kernel::stretch::{axes_of, moved};
use crate::kernel::{Affine, Nest, NestValue, Store, StoreMode, ValueId};
use crate::operation::{Binary, Reduction, Unary};
use crate::shape::{DType, sort_by_rank};

/// The cost of an instruction without its elements, in simple operations on an element.
const INSTRUCTION: f64 = 30.0;
/// The cost of a transcendental function.
const FUNCTION: f64 = 8.0;
/// The cost of an access per element: adjacent, apart, and each on a cache line that is not used again soon.
const NEXT: f64 = 0.5;
const APART: f64 = 3.0;
const FAR: f64 = 8.0;
/// Bytes of the first-level cache.
const FIRST_CACHE: u64 = 48 << 10;
/// The cost of a combination with elements that lie apart.
const SCATTERED: f64 = 8.0;
/// The cost of an element of a reduced run, and of a pair of elements whose products are summed; and of the end of each.
const REDUCED: (f64, f64) = (1.0, 20.0);
const PAIR: (f64, f64) = (1.5, 32.0);
/// The same for runs that are combined into one.
const COMBINED: (f64, f64) = (0.75, 8.0);
const COMBINED_PAIR: (f64, f64) = (1.25, 8.0);
/// Elements of a cache line.
const LINE: u64 = 8;
/// How much more than sums of tiles, which threads share, rows may cost that each belong to one thread.
const SHARED: f64 = 1.25;
/// Elements of a tile, about, and at least.
const TILE: usize = 512;
const LEAST_TILE: u64 = 64;

/// All affine functions of a nest that stand for memory, and all others.
fn functions(nest: &Nest) -> (Vec<&Affine>, Vec<&Affine>) {
    let (mut memory, mut numbers): (Vec<&Affine>, Vec<&Affine>) = (Vec::new(), Vec::new());
    for (value, _) in &nest.values {
        match value {
            NestValue::Position(at) => numbers.push(at),
            NestValue::Load { at, guards, .. } => {
                memory.push(at);
                numbers.extend(guards.iter().map(|guard| &guard.position));
            }
            NestValue::Gather { at, .. } => memory.push(at),
            NestValue::Guarded(_, guards) => numbers.extend(guards.iter().map(|guard| &guard.position)),
            _ => {}
        }
    }
    for store in &nest.stores {
        memory.push(&store.at);
        numbers.extend(store.guards.iter().map(|guard| &guard.position));
    }
    (memory, numbers)
}

/// The loops of a nest with its vector axis among them.
struct LoopOrder {
    outer: Vec<NestLoop>,
    vector: NestLoop,
    inner: Vec<NestLoop>,
    /// As in [`NestLayout`].
    row: usize,
    wrapped: Option<Wrapped>,
}

impl LoopOrder {
    /// Whether the rows of an access do not begin where the ones before them end.
    fn is_broken(&self, at: &Affine) -> bool {
        self.wrapped.is_some_and(|Wrapped { row, axis, .. }| {
            at.coefficients[self.vector.0].checked_mul(row as i64) != Some(at.coefficients[axis])
        })
    }
}

struct LoopChoice<'a> {
    nest: &'a Nest,
    memory: Vec<&'a Affine>,
    numbers: Vec<&'a Affine>,
    /// The axes with more than one position.
    long: Vec<usize>,
    /// For each value, the axes that move it, as a set of bits.
    moved: Vec<u64>,
    /// Products that are only summed: one instruction does both.
    summed: Vec<bool>,
    /// The axes whose loops are shorter inside of the others.
    inner: Vec<usize>,
}

/// Whether each value is a product that is only summed.
fn summed_products(nest: &Nest) -> Vec<bool> {
    let uses = nest.uses();
    let mut summed = vec![false; nest.values.len()];
    for store in
        nest.stores.iter().filter(|store| store.mode == StoreMode::Reduce(Reduction::Sum) && store.guards.is_empty())
    {
        let id = store.value as usize;
        summed[id] = uses[id] == 1 && matches!(nest.values[id].0, NestValue::Binary(Binary::Mul, ..));
    }
    summed
}

impl LoopChoice<'_> {
    /// Whether a loop continues, in all accesses, where another one ends after so many steps.
    fn joins(&self, axis: usize, inner: NestLoop) -> bool {
        self.memory.iter().chain(&self.numbers).all(|at| goes_on(at, axis, inner))
    }

    /// Takes an axis from these, with those that run together with it and may: as one loop.
    fn taken(&self, axis: usize, axes: &mut Vec<usize>, may: impl Fn(usize) -> bool) -> NestLoop {
        axes.retain(|&other| other != axis);
        let mut taken: NestLoop = (axis, self.nest.extents[axis]);
        while let Some(at) = axes.iter().rposition(|&axis| may(axis) && self.joins(axis, taken)) {
            taken.1 *= self.nest.extents[axes.remove(at)];
        }
        taken
    }

    /// Axes as loops, those that run together as one.
    fn joined(&self, axes: &[usize]) -> Vec<NestLoop> {
        joined(&self.nest.extents, axes, |axis, inner| self.joins(axis, inner))
    }

    /// The order in which instructions run along this axis, and along the axes that continue it; the others run outside, or
    /// inside of tiles.
    fn order(&self, vector: usize, is_inside: bool) -> LoopOrder {
        let mut rest = self.long.clone();
        let along = self.taken(vector, &mut rest, |_| true);
        if !is_inside || self.inner.contains(&vector) {
            return LoopOrder { outer: self.joined(&rest), vector: along, inner: Vec::new(), row: 1, wrapped: None };
        }
        // Axes that the stores do not move along run innermost, so that a tile's sum is stored once. But where nothing is read
        // twice, and the end of a tile's sum is cheap relative to the tile, memory is traversed in order.
        let all = self.long.iter().fold(0, |bits, axis| bits | 1 << (axis % 64));
        let is_read_once = |(value, _): &(NestValue, _)| match value {
            NestValue::Load { at, .. } => axes_of(at) == all,
            NestValue::Gather { .. } => false,
            _ => true,
        };
        if along.1 < LEAST_TILE as usize || !self.nest.values.iter().all(is_read_once) {
            let stored = |axis: usize| self.nest.stores.iter().filter(|store| store.at.coefficients[axis] != 0).count();
            sort_by_rank(&mut rest, |&axis| !(stored(axis) as u64));
        }
        LoopOrder { outer: Vec::new(), vector: along, inner: self.joined(&rest), row: 1, wrapped: None }
    }

    /// The best order in which instructions run along this axis, and its cost. Threads that share the work share loops outside
    /// of the tiles, or several tiles; if tiles are summed, each thread has sums of its own.
    fn best_along(&self, vector: usize, cut: bool) -> (LoopOrder, f64) {
        let inside = self.order(vector, true);
        let cost = self.cost(&inside);
        let is_summed = |store: &Store| store.mode != StoreMode::Write && store.at.coefficients[vector] == 0;
        let has_sums = self.nest.stores.iter().any(is_summed);
        // The tiles of each chunk would go through all rows, and be few or short.
        let rows: usize = inside.inner.iter().map(|&(_, extent)| extent).product();
        let is_short = inside.vector.1 <= TILE || (self.combines(vector) && inside.vector.1 < rows.min(CHUNKS) * TILE);
        let is_split = cut && is_short;
        if inside.inner.is_empty() || !(is_split || has_sums) {
            return (inside, cost);
        }
        let outside = self.order(vector, false);
        let outside_cost = self.cost(&outside);
        let most = if cut { SHARED * cost } else { cost };
        if is_split || outside_cost < most { (outside, outside_cost) } else { (inside, cost) }
    }

    /// Whether a store combines elements that this axis does not lead to.
    fn combines(&self, vector: usize) -> bool {
        let combines = |store: &Store| {
            let at = &store.at.coefficients;
            store.mode != StoreMode::Write && at[vector] != 0 && self.long.iter().any(|&axis| at[axis] == 0)
        };
        self.nest.stores.iter().any(combines)
    }

    /// Whether a smallest tile's elements of all accesses, with the memory between them, stay in the first-level cache.
    fn stays_near(&self, order: &LoopOrder) -> bool {
        let span = |at: &&Affine| match at.coefficients[order.vector.0].unsigned_abs() {
            0 | 1 => 0,
            stride => 8 * LEAST_TILE * stride.min(LINE),
        };
        self.memory.iter().map(span).sum::<u64>() <= FIRST_CACHE
    }

    /// The cost of an access for each element of a run, given whether all of them stay near.
    fn access(&self, at: &Affine, order: &LoopOrder, stays_near: bool) -> f64 {
        match at.coefficients[order.vector.0].unsigned_abs() {
            0 | 1 => NEXT,
            stride if stride < LINE => APART,
            _ if !stays_near => FAR,
            // The rest of a line is used by the loops inside.
            _ if order.inner.iter().any(|&(axis, _)| (1..LINE).contains(&at.coefficients[axis].unsigned_abs())) => {
                APART
            }
            _ => FAR,
        }
    }

    /// Whether the nest only reduces runs of elements, each run or all of them column by column, or only sums their products or
    /// squared differences. Then one instruction covers all steps of the loop around the vector axis. Gives the cost of an
    /// element, or pair, in that case, and of the end of a run.
    fn reduces_rows(&self, order: &LoopOrder) -> Option<(f64, f64)> {
        let [store] = &self.nest.stores[..] else { return None };
        let StoreMode::Reduce(op) = store.mode else { return None };
        if store.index.is_some() || !store.guards.is_empty() || self.nest.values.len() > 4 {
            return None;
        }
        let along = order.vector.0;
        let step = |id: ValueId| match &self.nest.values[id as usize].0 {
            NestValue::Load { at, guards, .. } => guards.is_empty().then_some(at.coefficients[along]),
            _ => None,
        };
        let is_run = |id: ValueId| step(id) == Some(1);
        let value = |id: ValueId| &self.nest.values[id as usize].0;
        if store.at.coefficients[along] == 1 {
            let &(rows, _) = order.inner.last().or(order.outer.last())?;
            let each = match *value(store.value) {
                NestValue::Binary(Binary::Mul, a, b) if self.is_fused(store.value) => {
                    let is_pair = matches!((step(a)?, step(b)?), (1, 0 | 1) | (0, 1));
                    is_pair.then_some(COMBINED_PAIR)
                }
                _ => is_run(store.value).then_some(COMBINED),
            };
            return each.filter(|_| store.at.coefficients[rows] == 0);
        }
        // Sums of loops inside of a tile are not reduced until these end.
        let is_kept = order.inner.last().is_none_or(|&(axis, _)| store.at.coefficients[axis] != 0);
        let of_pairs = match *value(store.value) {
            NestValue::Binary(Binary::Mul, a, b) => is_run(a) && is_run(b),
            NestValue::Unary(Unary::Powi(2), a) => match *value(a) {
                NestValue::Binary(Binary::Sub, a, b) => is_run(a) && is_run(b),
                _ => is_run(a),
            },
            _ => false,
        };
        let each = match op {
            Reduction::Sum if of_pairs => PAIR,
            _ if is_run(store.value) => REDUCED,
            _ => return None,
        };
        (is_kept && store.at.coefficients[along] == 0).then_some(each)
    }

    /// Whether a value is a product that is computed together with its sum.
    fn is_fused(&self, id: ValueId) -> bool {
        self.summed[id as usize] && self.nest.values[id as usize].1 != DType::Bool
    }

    /// The cost of a nest in an order, in simple operations on an element.
    fn cost(&self, order: &LoopOrder) -> f64 {
        // Rows of a tile that goes through several are counted where that order is made.
        if order.wrapped.is_none()
            && let Some((each, end)) = self.reduces_rows(order)
        {
            let loops = || order.outer.iter().chain(&order.inner).map(|&(_, extent)| extent as f64);
            let (rows, joined): (f64, f64) = (loops().product(), loops().next_back().unwrap_or(1.0));
            return rows * (end + each * order.vector.1 as f64) + rows / joined * INSTRUCTION;
        }
        let tiles = order.vector.1.div_ceil(TILE) as f64;
        let width = order.vector.1 as f64 / tiles;
        let wrapped = order.wrapped.map_or(order.vector.0, |wrapped| wrapped.axis);
        let is_along = |moved: u64| moved >> (order.vector.0 % 64) & 1 == 1;
        let is_vector = |moved: u64| (moved >> (order.vector.0 % 64) | moved >> (wrapped % 64)) & 1 == 1;
        // How often an instruction runs that these axes move.
        let times = |moved: u64| -> f64 {
            let reach = |loops: &[NestLoop]| -> Option<f64> {
                let last = loops.iter().rposition(|&(axis, _)| moved >> (axis % 64) & 1 == 1)?;
                Some(loops[..=last].iter().map(|&(_, extent)| extent as f64).product())
            };
            let all = |loops: &[NestLoop]| -> f64 { loops.iter().map(|&(_, extent)| extent as f64).product() };
            match (reach(&order.inner), is_vector(moved)) {
                (Some(inner), _) => all(&order.outer) * tiles * inner,
                (None, true) => all(&order.outer) * tiles,
                (None, false) => reach(&order.outer).unwrap_or(1.0),
            }
        };
        let run =
            |moved: u64, each: f64| times(moved) * (INSTRUCTION + if is_vector(moved) { each * width } else { each });
        let stays_near = self.stays_near(order);
        let access = |at: &Affine| self.access(at, order, stays_near);
        let is_stored = |id: usize| self.nest.stores.iter().any(|store| store.value as usize == id);
        let mut cost = 0.0;
        for (id, ((value, _), &moved)) in self.nest.values.iter().zip(&self.moved).enumerate() {
            cost += match value {
                NestValue::Constant(_) => 0.0,
                _ if self.summed[id] && order.wrapped.is_none() => 0.0,
                // Counted with the rows.
                NestValue::Load { at, .. } if order.is_broken(at) => 0.0,
                // A single element for a whole run of an operation.
                NestValue::Load { guards, .. } if guards.is_empty() && !is_vector(moved) && !is_stored(id) => 0.0,
                NestValue::Load { at, guards, .. } if guards.is_empty() => {
                    // Adjacent elements are read by the instructions that use them.
                    let each = access(at);
                    if each == NEXT { each * width * times(moved) } else { run(moved, each) }
                }
                NestValue::Load { at, .. } => run(moved, 1.0 + access(at)),
                // A row, from a computed position on.
                NestValue::Gather { at, index, .. } if !is_along(self.moved[*index as usize]) => run(moved, access(at)),
                NestValue::Gather { .. } => run(moved, APART),
                NestValue::Unary(op, _) if is_function(*op) => run(moved, FUNCTION),
                _ => run(moved, 1.0),
            };
        }
        let everywhere = self.long.iter().fold(0, |bits, axis| bits | 1 << (axis % 64));
        for store in &self.nest.stores {
            let each = access(&store.at);
            let stays = order.inner.last().is_some_and(|&(axis, _)| store.at.coefficients[axis] == 0);
            cost += match store.mode {
                _ if let Some((index, ..)) = store.index => {
                    let along = store.at.coefficients[order.vector.0] == 1;
                    let is_row = along && !is_along(self.moved[index as usize]);
                    run(everywhere, if is_row { 1.0 } else { SCATTERED })
                }
                StoreMode::Write => run(self.moved[store.value as usize] | axes_of(&store.at), each),
                StoreMode::Reduce(_) if each == NEXT => run(everywhere, 1.0),
                // The sums of a tile go to their places apart.
                StoreMode::Reduce(_) if stays => run(everywhere, 1.0) + run(axes_of(&store.at), SCATTERED),
                StoreMode::Reduce(_) => run(everywhere, SCATTERED),
            };
        }
        // A triangle, most often.
        if self.inner.contains(&order.vector.0) { cost / 2.0 } else { cost }
    }
}

fn is_function(op: Unary) -> bool {
    !matches!(
        op,
        Unary::Neg | Unary::Abs | Unary::Sign | Unary::Relu | Unary::Not | Unary::BitNot | Unary::Powi(_) | Unary::Sqrt
    )
}

/// The best order of a nest of more than one position, and its cost.
fn best(nest: &Nest, cut: bool) -> Option<(LoopOrder, f64)> {
    // Work that is too little for two chunks is done by one thread.
    let cut = cut && chunks_worth(nest) > 1;
    let (memory, numbers) = functions(nest);
    let long: Vec<usize> = (0..nest.extents.len()).filter(|&axis| nest.extents[axis] != 1).collect();
    let &last = long.last()?;
    let moved = moved(nest);
    let (summed, inner) = (summed_products(nest), inner_axes(nest, &moved));
    let choice = LoopChoice { nest, memory, numbers, long, moved, summed, inner };
    if let Some(order) = choice.rows_order() {
        let cost = choice.copies(order.row);
        return Some((order, cost));
    }
    let mut best = choice.best_along(last, cut);
    for &axis in choice.long.iter().rev().skip(1) {
        let other = choice.best_along(axis, cut);
        if other.1 < best.1 {
            best = other;
        }
    }
    if let Some(wrapped) = choice.wrapped_order()
        && wrapped.1 < best.1
    {
        best = wrapped;
    }
    Some(best)
}

/// The cost of a nest in its best order, in simple operations on an element. `cut` is as in [`layout`].
pub(super) fn least_cost(nest: &Nest, cut: bool) -> f64 {
    best(nest, cut).map_or(0.0, |(_, cost)| cost)
}

/// Chooses the order of the loops, and joins those that all accesses go through together.
///
/// `cut` says whether threads may share the work.
pub(super) fn layout(nest: &Nest, cut: bool) -> NestLayout {
    let Some((LoopOrder { outer, vector, inner, row, wrapped }, _)) = best(nest, cut) else {
        return NestLayout { extents: vec![1], vector: 0, axes: vec![None], row: 1, wrapped: None };
    };
    let position = outer.len();
    let loops: Vec<NestLoop> = outer.into_iter().chain([vector]).chain(inner).collect();
    NestLayout {
        extents: loops.iter().map(|&(_, extent)| extent).collect(),
        vector: position,
        axes: loops.iter().map(|&(axis, _)| Some(axis)).collect(),
        row,
        wrapped,
    }
}

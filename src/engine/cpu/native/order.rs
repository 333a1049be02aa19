//! The order of a nest's loops in machine code: which one is cut into registers, and which run for each of its steps.

use crate::engine::cpu::layout::{NestLayout, NestLoop, goes_on, joined};
use crate::engine::cpu::split::chunks_worth;
use crate::engine::cpu::vector::formulas;
use crate::kernel::stretch::moved;
use crate::kernel::{Affine, Guard, Nest, NestValue, Store, StoreMode};
use crate::operation::Binary;
use crate::shape::{DType, rank_of_float, sort_by_rank};

/// Costs in simple instructions: of a transcendental function, of an element that lies apart from the one before, of one whose cache
/// line has been read before and is no longer near, of a step of a loop, of an element at a computed position that is stored, and of
/// the sum of a register's lanes.
const FUNCTION: f64 = 40.0;
const APART: f64 = 1.5;
const FAR: f64 = 4.0;
const STEP: f64 = 4.0;
const SCATTERED: f64 = 6.0;
const LANES: f64 = 16.0;
/// How much more an order may cost whose outermost loop threads can share.
const SHARED: f64 = 2.0;

/// Bytes of a cache line, and of those that stay in the first-level cache.
const LINE: usize = 64;
const NEAR: usize = 16 << 10;

/// Registers of a vector axis that is written out, and values in them, at most.
const WRITTEN_OUT: usize = 8;
const WRITTEN_VALUES: usize = 96;

/// Elements of a row whose reduction is worth code.
const LONG_ROW: usize = 64;

/// Whether a store combines the lanes of registers with each other.
fn adds_lanes(store: &Store, layout: &NestLayout) -> bool {
    store.mode != StoreMode::Write && layout.by_loop(&store.at)[layout.vector] == 0
}

/// How many registers the vector axis is where it is short, and no loop but they side by side: so that what other loops do not
/// move, and sums, stay in registers.
pub(super) fn written_out(nest: &Nest, layout: &NestLayout, lanes: usize, width: usize) -> Option<usize> {
    let is_last = layout.vector > 0 && layout.vector + 1 == layout.extents.len();
    let registers = layout.extents[layout.vector].div_ceil(lanes);
    let sums = nest.stores.iter().filter(|store| store.mode != StoreMode::Write).count();
    // The lanes of a row's sum are added at the end of the row in any case, and few registers side by side are slower.
    let is_last = is_last && !nest.stores.iter().any(|store| adds_lanes(store, layout));
    let fits = registers <= WRITTEN_OUT && sums * registers <= if width == 64 { 12 } else { 6 };
    (is_last && fits && nest.values.len() * registers <= WRITTEN_VALUES).then_some(registers)
}

/// Whether a value is a transcendental function.
fn is_function(value: &NestValue) -> bool {
    match value {
        NestValue::Unary(op, _) => formulas::is_function(*op),
        NestValue::Binary(op, ..) => matches!(op, Binary::Pow | Binary::LogAddExp | Binary::Xlogy),
        _ => false,
    }
}

/// About how many instructions one register's values are computed by.
pub(super) fn instructions(nest: &Nest) -> f64 {
    nest.values.iter().map(|(value, _)| if is_function(value) { FUNCTION } else { 1.0 }).sum()
}

/// Whether tiles do what a nest does as fast or faster: copies and sums of adjacent elements as they are, and short rows.
pub(super) fn suits_tiles(nest: &Nest, layout: &NestLayout, lanes: usize) -> bool {
    if nest.values.iter().any(|(value, _)| is_function(value)) {
        return false;
    }
    let is_apart = |at: &Affine| !matches!(layout.by_loop(at)[layout.vector], 0 | 1);
    let moves = |(value, _): &(NestValue, DType)| match value {
        NestValue::Load { at, .. } => is_apart(at),
        NestValue::Gather { .. } => true,
        _ => false,
    };
    let is_leaf = |(value, _): &&(NestValue, DType)| {
        matches!(value, NestValue::Load { .. } | NestValue::Gather { .. } | NestValue::Constant(_))
    };
    let operations = nest.values.len() - nest.values.iter().filter(is_leaf).count();
    let is_moved = nest.values.iter().any(moves) || nest.stores.iter().any(|store| is_apart(&store.at));
    let is_short = layout.extents.len() > 1 && layout.extents[layout.vector] < lanes;
    // Long rows that are reduced are as fast in code, and faster where they are read for the first time.
    let is_long =
        layout.extents[layout.vector] >= LONG_ROW && nest.stores.iter().all(|store| adds_lanes(store, layout));
    is_short || (operations == 0 && !is_moved && !is_long)
}

/// The loops that run for each step of the vector axis.
#[derive(Clone, Copy)]
enum Inside {
    Nothing,
    /// Those along which nothing is stored.
    Sums,
    All,
}

struct Chooser<'a> {
    nest: &'a Nest,
    /// The axes that move each value, as bits.
    moved: Vec<u64>,
    functions: Vec<&'a Affine>,
    lanes: usize,
    width: usize,
    cut: bool,
}

/// The orders for registers of so many lanes, best first, and their costs in simple instructions. Threads share the outermost loop
/// of a nest that may be `cut`.
pub(super) fn layouts(nest: &Nest, cut: bool, lanes: usize, width: usize) -> Vec<(f64, NestLayout)> {
    let functions = nest.functions().collect();
    let chooser = Chooser { nest, moved: moved(nest), functions, lanes, width, cut };
    let long: Vec<usize> = (0..nest.extents.len()).filter(|&axis| nest.extents[axis] > 1).collect();
    let mut found: Vec<(f64, NestLayout)> = Vec::new();
    for &vector in &long {
        for inside in [Inside::Nothing, Inside::Sums, Inside::All] {
            let layout = chooser.order(&long, vector, inside);
            found.push((chooser.cost(&layout), layout));
        }
    }
    sort_by_rank(&mut found, |&(cost, _)| rank_of_float(cost));
    if found.is_empty() {
        let layout = NestLayout { extents: vec![1], vector: 0, axes: vec![None], row: 1, wrapped: None };
        return vec![(instructions(nest), layout)];
    }
    found
}

impl Chooser<'_> {
    /// Whether a loop goes on, in all functions of the nest, where another one ends.
    fn joins(&self, axis: usize, inner: NestLoop) -> bool {
        self.functions.iter().all(|at| goes_on(at, axis, inner))
    }

    fn joined(&self, axes: &[usize]) -> Vec<NestLoop> {
        joined(&self.nest.extents, axes, |axis, inner| self.joins(axis, inner))
    }

    /// The order with this vector axis.
    fn order(&self, long: &[usize], vector: usize, inside: Inside) -> NestLayout {
        let mut rest = long.to_vec();
        rest.retain(|&axis| axis != vector);
        let mut along: NestLoop = (vector, self.nest.extents[vector]);
        while let Some(at) = rest.iter().rposition(|&axis| self.joins(axis, along)) {
            along.1 *= self.nest.extents[rest.remove(at)];
        }
        let moves = |store: &Store, axis: usize| {
            let by_index = store.index.is_some_and(|(index, ..)| self.moved[index as usize] >> (axis % 64) & 1 == 1);
            store.at.coefficients[axis] != 0 || by_index
        };
        let is_stored = |axis: usize| self.nest.stores.iter().any(|store| moves(store, axis));
        let (stored, summed): (Vec<usize>, Vec<usize>) = rest.iter().partition(|&&axis| is_stored(axis));
        let all = || stored.iter().chain(&summed).copied().collect();
        let (outer, inner) = match inside {
            Inside::Nothing => (rest.clone(), Vec::new()),
            Inside::Sums if is_stored(vector) => (stored, summed),
            Inside::All if is_stored(vector) => (Vec::new(), all()),
            // The sums of a register's lanes are taken as seldom as can be.
            _ => (all(), Vec::new()),
        };
        let (outer, inner) = (self.joined(&outer), self.joined(&inner));
        let position = outer.len();
        let loops: Vec<NestLoop> = outer.into_iter().chain([along]).chain(inner).collect();
        NestLayout {
            extents: loops.iter().map(|&(_, extent)| extent).collect(),
            vector: position,
            axes: loops.iter().map(|&(axis, _)| Some(axis)).collect(),
            row: 1,
            wrapped: None,
        }
    }

    /// The cost of all steps.
    fn cost(&self, layout: &NestLayout) -> f64 {
        let steps = |axis: usize| match axis == layout.vector {
            true => layout.extents[axis].div_ceil(self.lanes) as f64,
            false => layout.extents[axis] as f64,
        };
        let mut runs = vec![1.0];
        for axis in 0..layout.extents.len() {
            runs.push(runs[axis] * steps(axis));
        }
        let registers = written_out(self.nest, layout, self.lanes, self.width);
        let level = |at: &Affine| {
            let by_loop = layout.by_loop(at);
            let loops = if registers.is_some() { layout.vector } else { by_loop.len() };
            by_loop[..loops].iter().rposition(|&it| it != 0).map_or(0, |axis| axis + 1)
        };
        // How often what moves with these axes runs in a step of a level.
        let along = layout.axes[layout.vector].map_or(0, |axis| 1u64 << (axis % 64));
        let side_by_side = |moved: u64| if moved & along == 0 { 1.0 } else { registers.unwrap_or(1) as f64 };
        let access = |at: &Affine, dtype: DType| {
            let strides = layout.by_loop(at);
            let bytes = |elements: i64| (elements.unsigned_abs() as usize).saturating_mul(dtype.bytes()).min(LINE);
            let (outer, stride) = (&strides[..layout.vector], strides[layout.vector]);
            // Loops around that go on within cache lines find them again only where all of them stay near.
            let is_again = outer.iter().any(|&outer| outer != 0 && bytes(outer) < LINE);
            let is_far = is_again && bytes(stride).saturating_mul(layout.extents[layout.vector]) > NEAR;
            match stride {
                0 | 1 => 1.0,
                _ if is_far => FAR * self.lanes as f64,
                _ => APART * self.lanes as f64,
            }
        };
        let depth = layout.extents.len();
        let mut levels: Vec<usize> = Vec::with_capacity(self.nest.values.len());
        let mut cost: f64 = runs[1..].iter().map(|runs| runs * STEP).sum();
        for ((value, dtype), &moved) in self.nest.values.iter().zip(&self.moved) {
            let operands = value.operands().iter().map(|&id| levels[id as usize]).max().unwrap_or(0);
            let of_guards = |guards: &[Guard]| guards.iter().map(|guard| level(&guard.position)).max().unwrap_or(0);
            let (own, each) = match value {
                NestValue::Constant(_) => (0, 0.0),
                NestValue::Position(at) => (level(at), 1.0),
                NestValue::Load { at, guards, .. } => {
                    (level(at).max(of_guards(guards)), access(at, *dtype) + 2.0 * guards.len() as f64)
                }
                NestValue::Gather { at, .. } => (level(at), APART * self.lanes as f64),
                NestValue::Guarded(_, guards) => (of_guards(guards), 1.0 + 2.0 * guards.len() as f64),
                NestValue::Binary(Binary::Div, ..) => (0, 8.0),
                _ => (0, if is_function(value) { FUNCTION } else { 1.0 }),
            };
            levels.push(operands.max(own));
            cost += each * runs[operands.max(own)] * side_by_side(moved);
        }
        for store in &self.nest.stores {
            let scope = level(&store.at);
            let access = || access(&store.at, self.nest.values[store.value as usize].1);
            if let Some((index, ..)) = store.index {
                let each = if self.moved[index as usize] & along == 0 { 4.0 } else { SCATTERED * self.lanes as f64 };
                cost += each * runs[depth];
                continue;
            }
            let copies = registers.unwrap_or(1) as f64;
            if store.mode == StoreMode::Write {
                cost += access() * runs[scope.max(levels[store.value as usize])] * copies;
                continue;
            }
            let end = match layout.by_loop(&store.at)[layout.vector] {
                0 => LANES,
                _ => 1.0 + 2.0 * access(),
            };
            cost += runs[depth] + end * runs[scope] * copies;
        }
        let unit = if layout.vector == 0 { 64 } else { 1 };
        let worth = if self.cut { chunks_worth(self.nest).min(8) } else { 1 };
        if layout.extents[0] / unit < worth { cost * SHARED } else { cost }
    }
}

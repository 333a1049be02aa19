//! Nests as kernels. A nest is split into parts that each reduce over the same loops, and each part is shared among work items
//! as its extents and the device require.
//!
//! A write has an item for each element. A reduction has an item, or a group of them, for each result. If there are fewer
//! results than the device has room for items, it has several, and a second kernel combines their partial results. Where
//! several items reach one element at known places, loops are changed so that they do not ([`super::windows`]). At computed
//! places they exchange the element atomically, or, if atomics are not allowed, one of them does all steps that could reach it.

use super::parts::{KernelPart, ReductionManner, first, parts, second, written_first};
use super::{KernelScope, KernelWriter};
use crate::engine::opencl::code::{Action, Grid};
use crate::engine::opencl::devices::DeviceLimits;
use crate::kernel::{BufferId, Nest, Procedure, StoreMode};
use crate::shape::{DType, steps};
use crate::source::helpers::opencl;
use crate::source::order::{order, parallel_first};
use crate::source::plan::BufferPlan;
use crate::source::procedure::touched;
use crate::source::text::Text;
use crate::source::tidy::tidied;
use crate::source::together::counter;
use crate::source::writer::{BufferFacts, NestWriter};
use crate::source::writer::{Finish, Together};
use std::collections::HashSet;

/// Work items of a group that shares a reduction, at most.
const LANES: usize = 256;

/// Items that each unit of a device should get, so that it can do other work while some of them wait for memory.
const BUSY: usize = 2048;

/// The same for a unit that runs its items in turn.
const BUSY_IN_TURN: usize = 4;

/// The least steps for an item of such a unit.
const LONG: usize = 2048;

/// Units from which on atomic exchanges, which each take several times as long as a sum, are worth it if items run in turn.
const MANY_UNITS: usize = 16;

/// A sort by places takes the time of so many steps in turn, for each step that an item takes at least before it is shared.
const WORTH_A_SORT: usize = 64;

/// Positions beyond so many are not sorted by their places, which takes memory for each of them.
const MOST_SORTED: usize = 1 << 28;

/// Parts of a result, at most.
const CHUNKS: usize = 1024;

/// How a reduction is shared among work items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shares {
    /// Results.
    results: usize,
    /// Steps of each of them.
    count: usize,
    /// Items of a group that work on one part of a result.
    lanes: usize,
    /// Parts of a result.
    chunks: usize,
    /// Whether neighbouring items have neighbouring results.
    columns: bool,
}

impl KernelWriter {
    /// A nest as kernels.
    pub(super) fn nest(
        &mut self,
        procedure: &Procedure,
        plan: &mut BufferPlan<'_>,
        nest: &Nest,
        continues: bool,
    ) -> Vec<Action> {
        let mut nest = tidied(nest, &plan.unread);
        let mut actions = Vec::new();
        let mut scope = KernelScope { procedure, scratch: Vec::new() };
        let bound = self.most_operands();
        while let Some(value) = first(&nest, bound) {
            let (dtype, count) = (nest.values[value as usize].1, steps(nest.extents.iter().copied()));
            let buffer = scope.add(plan.memory(dtype, count), dtype, count);
            let first = tidied(&written_first(&mut nest, value, buffer), &HashSet::new());
            let part =
                KernelPart { nest: first, reduced: Vec::new(), manner: ReductionManner::Apart, is_second: false };
            self.part(&mut scope, plan, &part, &|_| false, &mut actions);
        }
        // The second part that stores to a buffer continues from the first part's results.
        let mut stored: HashSet<BufferId> = HashSet::new();
        for part in parts(&nest, bound, |id| scope.count(id), |alone, dtype| self.manner(alone, dtype)) {
            let origins = part.nest.stores.iter().map(|store| procedure.origin(store.buffer));
            let origins: Vec<BufferId> = origins.collect();
            let goes_on =
                |id: BufferId| continues || procedure.continued.contains(&id) || stored.contains(&procedure.origin(id));
            match part.manner {
                ReductionManner::Sorted => self.by_place(&mut scope, plan, &part, &goes_on, &mut actions),
                _ => self.part(&mut scope, plan, &part, &goes_on, &mut actions),
            }
            stored.extend(origins);
        }
        actions
    }

    /// The least number of items that keeps a device busy.
    pub(super) fn busy(&self) -> usize {
        self.limits.units * if self.limits.is_serial { BUSY_IN_TURN } else { BUSY }
    }

    /// How a reduction handles several positions that reach one element.
    fn manner(&self, nest: &Nest, dtype: DType) -> ReductionManner {
        let limits = &self.limits;
        let (order, parallel) = parallel_first(nest);
        let apart = steps(order[..parallel].iter().map(|&axis| nest.extents[axis]));
        // Sums of integers are the same in any order.
        let has_order = limits.is_deterministic && dtype.is_float();
        let has_atomics = !has_order && (dtype.bytes() < 8 || limits.has_long_atomics);
        let is_slow = limits.is_serial && limits.units < MANY_UNITS;
        let in_turn = steps(order[parallel..].iter().map(|&axis| nest.extents[axis]));
        let is_worth_a_sort =
            in_turn >= WORTH_A_SORT * limits.least_steps && in_turn.saturating_mul(apart) <= MOST_SORTED;
        match () {
            () if apart >= self.busy() => ReductionManner::InTurn,
            () if has_atomics && !is_slow => ReductionManner::Atomic,
            () if !limits.is_serial && is_worth_a_sort && self.has_room_to_sort(DType::I64) => ReductionManner::Sorted,
            () => ReductionManner::InTurn,
        }
    }

    pub(super) fn part(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        part: &KernelPart,
        goes_on: &dyn Fn(BufferId) -> bool,
        actions: &mut Vec<Action>,
    ) {
        #[cfg(debug_assertions)]
        assert_eq!(super::positions::problem(part, |id| scope.count(id)), None);
        let nest = &part.nest;
        if self.has_table(scope, part) {
            return self.table(scope, part, goes_on, actions);
        }
        let is_shared = part.manner != ReductionManner::InTurn;
        let (order, parallel) = match is_shared {
            false => parallel_first(nest),
            true => {
                let (inner, outer): (Vec<usize>, Vec<usize>) =
                    order(nest).into_iter().partition(|axis| part.reduced.contains(axis));
                ([&outer[..], &inner].concat(), outer.len())
            }
        };
        let mut shares = self.shares(part, &order, parallel);
        let (read, written) = touched(nest);
        let mut operands = scope.operands(&read, &written);
        let mut partial: Vec<BufferId> = Vec::new();
        if shares.chunks > 1 && part.manner == ReductionManner::Apart {
            for store in nest.stores.iter().filter(|store| store.mode != StoreMode::Write) {
                let (dtype, count) = (nest.values[store.value as usize].1, shares.results * shares.chunks);
                let id = scope.add(plan.memory(dtype, count), dtype, count);
                partial.push(id);
            }
            operands = scope.operands(&read, &[&written[..], &partial].concat());
        }
        let width = match shares {
            Shares { lanes: 1, chunks: 1, .. } => self.width_of_items(scope, part, &order, &operands),
            // An item that has a part of a result for itself goes from neighbour to neighbour.
            Shares { lanes: 1, .. } => 1,
            Shares { lanes, chunks, count, .. } => self.width_of_steps(scope, part, &operands, count / chunks / lanes),
        };
        let (count, dtype) = (|id: BufferId| scope.count(id), |id: BufferId| scope.dtype(id));
        let name = |id: BufferId| operands.names[&id].clone();
        let buffers = BufferFacts { name: &name, count: &count, dtype: &dtype, continues: goes_on };
        let mut loops =
            NestWriter::new(&self.language, nest, (order.clone(), parallel, Vec::new()), buffers, &mut self.helpers);
        loops.atomics = if part.manner == ReductionManner::Atomic { Some(opencl::atomic) } else { None };
        loops.width = width;
        if loops.has_blocks() {
            shares.results = steps(order.iter().map(|&axis| loops.places(axis)));
        }
        loops.has_vectors = self.limits.is_serial && (shares.lanes, shares.chunks) == (1, 1);
        if partial.is_empty() {
            actions.extend(loops.fills(buffers).into_iter().map(|(to, value)| scope.fill(to, value)));
        }
        if nest.extents.contains(&0) {
            return;
        }
        let mut text = Text::default();
        let arrays: Vec<String> = partial.iter().map(|&id| name(id)).collect();
        let limits = self.limits;
        let grid = shared(&mut text, &mut loops, shares, arrays, &limits);
        self.has_subgroups |= loops.has_subgroups();
        loops.write(&mut text);
        text.tidy();
        let word = if shares.count > 1 && is_shared { "reduction" } else { "nest" };
        actions.push(self.group_kernel(word, &operands, grid, text));
        if !partial.is_empty() {
            let second = second(nest, &order[..parallel], shares.chunks, shares.columns, &partial);
            self.part(scope, plan, &second, goes_on, actions);
        }
    }

    /// How a part is shared: as a reduction, unless it is none, or is not to be shared. One that is the second of two is shared
    /// by a group at most.
    fn shares(&self, part: &KernelPart, order_of_loops: &[usize], parallel: usize) -> Shares {
        let (nest, limits) = (&part.nest, &self.limits);
        let extent = |axes: &[usize]| steps(axes.iter().map(|&axis| nest.extents[axis]));
        let (results, count) = (extent(&order_of_loops[..parallel]), extent(&order_of_loops[parallel..]));
        let columns = order(nest).last().is_some_and(|axis| !part.reduced.contains(axis));
        let alone = Shares { results, count, lanes: 1, chunks: 1, columns };
        if part.reduced.is_empty() || part.manner == ReductionManner::InTurn || nest.extents.contains(&0) {
            return alone;
        }
        let room = limits.local / (8 * nest.stores.len());
        let widest = power_of_two_below(LANES.min(limits.group).min(room));
        let lanes = match limits.is_serial || columns {
            true => 1,
            false => power_of_two_below(count / limits.least_steps).min(widest),
        };
        let least = if limits.is_serial { LONG } else { limits.least_steps };
        let chunks = match part.is_second {
            false => (self.busy() / (results * lanes).max(1)).min(count / (lanes * least)).clamp(1, CHUNKS),
            true => 1,
        };
        Shares { lanes, chunks, ..alone }
    }
}

/// Has the loops be shared so: the work items that there are, and in the text the position of each.
fn shared(
    text: &mut Text,
    loops: &mut NestWriter<'_>,
    Shares { results, count, lanes, chunks, columns }: Shares,
    arrays: Vec<String>,
    limits: &DeviceLimits,
) -> Grid {
    let (widest, is_serial) = (limits.group, limits.is_serial);
    let all = results.saturating_mul(chunks);
    let items = all.saturating_mul(lanes);
    let (place, step) = (counter(items), counter(count));
    if (lanes, chunks) == (1, 1) {
        text.declare("item", format!("const {place} item = get_global_id(0);"));
        text.line(format!("if (get_global_id(0) >= {items}) return;"));
        return Grid { items, group: group(items, widest, is_serial) };
    }
    let steps = count.div_ceil(chunks);
    let then = match arrays.is_empty() {
        true => Finish::Whole,
        false => Finish::Part { arrays, place: "place".into() },
    };
    let start_of_chunk = format!("const {step} start_of_chunk = min(chunk * {steps}, ({step}){count});");
    let end = format!("min(start_of_chunk + {steps}, ({step}){count})");
    if lanes == 1 {
        text.line(format!("const {place} place = get_global_id(0);"));
        text.line(format!("if (place >= {all}) return;"));
        let (item, chunk) = match columns {
            true => (format!("place % {results}"), format!("place / {results}")),
            false => (format!("place / {chunks}"), format!("place % {chunks}")),
        };
        text.declare("item", format!("const {place} item = {item};"));
        text.line(format!("const {step} chunk = {chunk};"));
        text.line(start_of_chunk);
        text.line(format!("const {step} end = {end};"));
        let (start, lane, end) = ("start_of_chunk".into(), "0".into(), "end".into());
        loops.together = Some(Together { start, lane, end, stride: 1, finish: then });
        return Grid { items, group: group(items, widest, is_serial) };
    }
    let group = lanes.max(power_of_two_below(LANES.min(widest)));
    // Items beyond the last result do as if they were at it, but take no steps, and store nothing: none may miss a barrier.
    text.line("const uint local_item = get_local_id(0);");
    text.line(format!("const uint lane = local_item % {lanes};"));
    text.line(format!("const {place} place = get_global_id(0) / {lanes};"));
    text.line(format!("const int is_there = place < {all};"));
    text.declare("item", format!("const {place} item = min(place / {chunks}, ({place}){});", results - 1));
    text.line(format!("const {step} chunk = place % {chunks};"));
    text.line(start_of_chunk);
    text.line(format!("const {step} end = is_there ? {end} : start_of_chunk;"));
    // Which items are a subgroup is up to the device, and in which order it sums floats.
    let is_any = !limits.is_deterministic || !loops.sums_floats();
    let then = Box::new(then);
    let finish = if limits.subgroups.is_some() && lanes == group && is_any && loops.has_subgroup_functions() {
        let there = "is_there && get_sub_group_id() == 0 && get_sub_group_local_id() == 0".into();
        Finish::Subgroups { group, there, then }
    } else {
        Finish::Group { lanes, group, there: "is_there && lane == 0".into(), then }
    };
    let (start, lane) = ("start_of_chunk".into(), "lane".into());
    loops.together = Some(Together { start, lane, end: "end".into(), stride: lanes, finish });
    let mut local = Text::default();
    loops.local_memory(&mut local);
    local.append(std::mem::take(text));
    *text = local;
    Grid { items, group }
}

/// The number of items in a group, where they are independent: a device that runs them in turn needs groups for all of its
/// units.
pub(super) fn group(items: usize, widest: usize, is_serial: bool) -> usize {
    let own = if is_serial { power_of_two_below(items / 16).min(64) } else { 128 };
    own.min(widest).max(1)
}

/// The largest power of two that is not above a number, or 1.
pub(super) fn power_of_two_below(number: usize) -> usize {
    number.checked_ilog2().map_or(1, |exponent| 1 << exponent)
}

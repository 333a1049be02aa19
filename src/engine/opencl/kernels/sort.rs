//! Sorts that work items share. Groups sort runs of neighbours in local memory, by a network of exchanges; longer rows are merged
//! from two runs at a time, all items of a merge on their own: each finds by halving where its part of the merged run begins.
//! Where items run in turn, runs are as long as there are items to be given to all units, and each is sorted by one.
//!
//! Keys go with their positions, so that memory is read in order. Equal keys keep their order: within a run, since positions are
//! compared where keys are equal; in merges, since those of the left run, which are before those of the right one, go first.

use super::nest::power_of_two_below;
use super::{KernelOperands, KernelScope, KernelWriter};
use crate::engine::opencl::code::{Action, Grid};
use crate::kernel::{BufferId, Sort};
use crate::operation::Order;
use crate::shape::DType;
use crate::source::helpers::{opencl, routines};
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;

/// Work items of a group that sorts, at most.
const LANES: usize = 256;

/// Elements that a group sorts, at most.
const TILE: usize = 1024;

/// Elements that an item merges, and the same where items run in turn.
const MERGED: usize = 8;
const MERGED_IN_TURN: usize = 1024;

/// Elements of a run that is sorted by one item, at least.
const LONG: usize = 2048;

/// Comparisons of each element in a sort by one item, by the logarithm of their number, and of each in a merge.
const SORTING: usize = 2;
const MERGING: usize = 2;

/// Where the sorted positions go.
#[derive(Clone, Copy)]
pub(super) struct SortedPositions {
    /// The positions within their rows.
    pub(super) positions: BufferId,
    /// The keys, if they are wanted too.
    pub(super) keys: Option<BufferId>,
}

impl SortedPositions {
    fn buffers(&self) -> Vec<BufferId> {
        std::iter::once(self.positions).chain(self.keys).collect()
    }
}

/// Rows that are made of runs.
struct SortedRuns {
    /// Elements of a run.
    length: usize,
    /// Runs of a row.
    number: usize,
}

/// The type of positions in rows of so many elements.
pub(super) fn position_type(extent: usize) -> DType {
    if extent <= i32::MAX as usize { DType::I32 } else { DType::I64 }
}

impl KernelWriter {
    /// The elements that a group has local memory for.
    fn tile(&self, dtype: DType) -> usize {
        let room = power_of_two_below(self.limits.local / (dtype.bytes() + 4));
        room.min(4 * self.sorting_lanes()).min(TILE)
    }

    fn sorting_lanes(&self) -> usize {
        power_of_two_below(LANES.min(self.limits.group))
    }

    /// Whether groups have local memory to sort these in.
    pub(super) fn has_room_to_sort(&self, dtype: DType) -> bool {
        self.tile(dtype) >= MERGED
    }

    /// How many elements of a row are sorted before they are merged, if it is worth it to share a sort.
    pub(super) fn run_length(&self, sort: &Sort, dtype: DType) -> Option<usize> {
        let (rows, extent) = (sort.rows(), sort.extent);
        if !self.limits.is_serial {
            let length = || extent.next_power_of_two().clamp(2, self.tile(dtype));
            return self.has_room_to_sort(dtype).then(length);
        }
        let number = power_of_two_below(self.busy() / rows).min(power_of_two_below(extent / LONG));
        let length = extent.div_ceil(number).next_multiple_of(MERGED_IN_TURN);
        let logarithm = |number: usize| number.ilog2() as usize + 1;
        // The steps of a unit for each element of a row. Keys are copied before their run is sorted, and after.
        let alone = rows.div_ceil(self.limits.units) * SORTING * logarithm(extent);
        let shared = SORTING * logarithm(length) + 2 + MERGING * logarithm(number);
        (number > 1 && (rows * shared).div_ceil(self.limits.units) < alone).then_some(length)
    }

    /// Sorts rows that have a run length. There must be at least one row, and it must have an element.
    pub(super) fn sorted(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        sort: &Sort,
        to: SortedPositions,
        actions: &mut Vec<Action>,
    ) {
        let (dtype, count) = (scope.dtype(sort.array), sort.rows() * sort.extent);
        let length = self.run_length(sort, dtype).expect("rows that are shared are made of runs");
        let runs = SortedRuns { length, number: sort.extent.div_ceil(length) };
        if runs.number == 1 {
            let operands = scope.operands(&[sort.array], &to.buffers());
            actions.push(self.runs(scope, sort, &runs, &operands, to));
            return;
        }
        let mut memory = || {
            let mut slot = |dtype| scope.add(plan.memory(dtype, count), dtype, count);
            SortedPositions { keys: Some(slot(dtype)), positions: slot(position_type(sort.extent)) }
        };
        let merges = runs.number.next_power_of_two().ilog2();
        let [mut from, mut other] = [memory(), if merges > 1 { memory() } else { to }];
        if self.limits.is_serial {
            let [unsorted, order] = [dtype, DType::I64].map(|dtype| scope.add(plan.memory(dtype, count), dtype, count));
            actions.push(self.runs_in_turn(scope, sort, &runs, (unsorted, order), from));
        } else {
            let operands = scope.operands(&[sort.array], &from.buffers());
            actions.push(self.runs(scope, sort, &runs, &operands, from));
        }
        let mut width = runs.length as i64;
        if merges > 1 {
            let mut operands = scope.operands(&from.buffers(), &other.buffers());
            operands.numbers.push(("width", width));
            let first = self.merge(scope, sort, &operands, from, other, false);
            let Action::Launch { kernel, grid, operands, .. } = first else { unreachable!("merges are kernels") };
            let mut operands = operands.clone();
            for _ in 1..merges {
                let numbers = vec![width];
                actions.push(Action::Launch { kernel, grid, operands: operands.clone(), numbers });
                operands.rotate_left(2);
                std::mem::swap(&mut from, &mut other);
                width *= 2;
            }
        }
        let mut operands = scope.operands(&from.buffers(), &to.buffers());
        operands.numbers.push(("width", width));
        actions.push(self.merge(scope, sort, &operands, from, to, true));
    }

    /// Whether the first of two keys comes before the other, in this order.
    fn is_before(&mut self, order: Order, dtype: DType, first: &str, second: &str) -> String {
        self.language.helper(opencl::is_before(order), dtype, &[first, second], &mut self.helpers)
    }

    /// Runs that are sorted in local memory. Where a row is one run, that is all; else they are written one row after the other.
    fn runs(
        &mut self,
        scope: &KernelScope<'_>,
        sort: &Sort,
        runs: &SortedRuns,
        operands: &KernelOperands,
        to: SortedPositions,
    ) -> Action {
        let &Sort { array, order, extent, inner, .. } = sort;
        let (rows, dtype, is_all) = (sort.rows(), scope.dtype(array), runs.number == 1);
        let &SortedRuns { length, number } = runs;
        // A group has several short runs.
        let tile = self.tile(dtype).min((rows * number).next_power_of_two().saturating_mul(length));
        let lanes = self.sorting_lanes().min(tile / 2);
        let (key_type, position_type) = (self.language.dtype(dtype), self.language.dtype(scope.dtype(to.positions)));
        let mut text = Text::default();
        text.line(format!("__local {key_type} keys[{tile}];"));
        text.line(format!("__local uint places[{tile}];"));
        text.line("const uint lane = get_local_id(0);");
        let position = |text: &mut Text| {
            text.line(format!("const long run = (long)get_group_id(0) * {} + at / {length};", tile / length));
            text.line(format!("const long row = run / {number};"));
            text.line(format!("const long place = run % {number} * {length} + at % {length};"));
        };
        let strided = |place: &str| format!("row / {inner} * {} + row % {inner} + ({place}) * {inner}", extent * inner);
        text.open(format!("for (uint at = lane; at < {tile}; at += {lanes})"));
        position(&mut text);
        text.line(format!("const bool is_there = row < {rows} && place < {extent};"));
        text.line(format!("places[at] = is_there ? at % {length} : UINT_MAX;"));
        text.line(format!("if (is_there) keys[at] = {}[{}];", operands.names[&array], strided("place")));
        text.close();
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        // Each exchange moves the smaller element to the lower place, so missing elements after the end of a run stay there.
        // All items of a group go through all steps: none may miss a barrier.
        text.open(format!("for (uint size = 2; size <= {length}; size *= 2)"));
        text.open("for (uint distance = size / 2; distance > 0; distance /= 2)");
        text.open(format!("for (uint pair = lane; pair < {}; pair += {lanes})", tile / 2));
        text.line("const uint offset = pair % distance, low = pair / distance * 2 * distance + offset;");
        text.line("const uint high = distance == size / 2 ? low + size - 1 - 2 * offset : low + distance;");
        text.open("if (places[high] != UINT_MAX)");
        text.line(format!("const {key_type} first = keys[low], second = keys[high];"));
        text.line("const uint first_place = places[low], second_place = places[high];");
        let [is_after, is_before] = [("second", "first"), ("first", "second")]
            .map(|(first, second)| self.is_before(order, dtype, first, second));
        text.open(format!("if ({is_after} || (second_place < first_place && !{is_before}))"));
        text.lines(["keys[low] = second;", "keys[high] = first;"]);
        text.lines(["places[low] = second_place;", "places[high] = first_place;"]);
        (0..3).for_each(|_| text.close());
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.close();
        text.close();
        text.open(format!("for (uint at = lane; at < {tile}; at += {lanes})"));
        position(&mut text);
        text.open(format!("if (row < {rows} && place < {extent})"));
        text.line(format!(
            "const long to = {};",
            if is_all { strided("place") } else { format!("row * {extent} + place") }
        ));
        let start = format!("({position_type})(run % {number} * {length})");
        text.line(format!("{}[to] = {start} + places[at];", operands.names[&to.positions]));
        if let Some(keys) = to.keys {
            text.line(format!("{}[to] = keys[at];", operands.names[&keys]));
        }
        text.close();
        text.close();
        let groups = (rows * number).div_ceil(tile / length);
        self.group_kernel("sort", operands, Grid { items: groups * lanes, group: lanes }, text)
    }

    /// Runs that are sorted by an item each, which has memory for their keys and their order.
    fn runs_in_turn(
        &mut self,
        scope: &KernelScope<'_>,
        sort: &Sort,
        &SortedRuns { length, number }: &SortedRuns,
        (unsorted, order): (BufferId, BufferId),
        to: SortedPositions,
    ) -> Action {
        let &Sort { array, extent, inner, .. } = sort;
        let operands = scope.operands(&[array], &[&[unsorted, order][..], &to.buffers()].concat());
        let name = |id: BufferId| &operands.names[&id];
        let mut text = Text::default();
        text.line(format!("const long row = item / {number}, first = item % {number} * {length};"));
        text.line(format!("const long count = min((long){length}, {extent} - first), run = row * {extent} + first;"));
        text.line(format!("const long start = row / {inner} * {} + row % {inner};", extent * inner));
        let from = format!("{}[start + (first + at) * {inner}]", name(array));
        text.line(format!("for (long at = 0; at < count; at++) {}[run + at] = {from};", name(unsorted)));
        let given = [unsorted, order].map(|id| format!("{} + run", name(id)));
        let given = [&given[0][..], &given[1], "count", "1"];
        let line = self.language.helper(routines::sort(sort.order), scope.dtype(array), &given, &mut self.helpers);
        text.line(format!("{line};"));
        text.open("for (long at = 0; at < count; at++)");
        text.line(format!("const long place = {}[run + at];", name(order)));
        text.line(format!("{}[run + at] = first + place;", name(to.positions)));
        if let Some(keys) = to.keys {
            text.line(format!("{}[run + at] = {}[run + place];", name(keys), name(unsorted)));
        }
        text.close();
        self.kernel("sort", &operands, sort.rows() * number, text)
    }

    /// Merges two runs of `width` elements at a time; the last merge writes to the final place.
    fn merge(
        &mut self,
        scope: &KernelScope<'_>,
        sort: &Sort,
        operands: &KernelOperands,
        from: SortedPositions,
        to: SortedPositions,
        is_last: bool,
    ) -> Action {
        let &Sort { array, order, extent, inner, .. } = sort;
        let dtype = scope.dtype(array);
        let merged = if self.limits.is_serial { MERGED_IN_TURN } else { MERGED };
        let parts = extent.div_ceil(merged);
        let from_keys = &operands.names[&from.keys.expect("what is merged has keys")];
        let mut text = Text::default();
        text.line(format!("const long row = item / {parts}, start_of_row = row * {extent};"));
        text.line(format!(
            "const long first = item % {parts} * {merged}, last = min(first + {merged}, (long){extent});"
        ));
        text.line("const long start = first / (2 * width) * (2 * width);");
        text.line(format!("const long middle = min(start + width, (long){extent});"));
        text.line(format!("const long end = min(middle + width, (long){extent});"));
        let keys = format!(
            "{} *keys = {from_keys} + start_of_row",
            self.language.pointer(dtype, false).trim_end_matches(" *")
        );
        text.line(format!("{keys};"));
        // How many of those before the first are of the left run.
        text.line("const long before = first - start;");
        text.line("long low = max(before - (end - middle), 0L), high = min(before, middle - start);");
        text.open("while (low < high)");
        text.line("const long probe = (low + high) / 2;");
        let is_before = self.is_before(order, dtype, "keys[middle + before - 1 - probe]", "keys[start + probe]");
        text.line(format!("if ({is_before}) high = probe;"));
        text.line("else low = probe + 1;");
        text.close();
        text.line("long left = start + low, right = middle + before - low;");
        text.open("for (long at = first; at < last; at++)");
        let is_before = self.is_before(order, dtype, "keys[right]", "keys[left]");
        text.line(format!("const bool is_right = left >= middle || (right < end && {is_before});"));
        text.line("const long from = is_right ? right++ : left++;");
        let place = match is_last {
            true => format!("row / {inner} * {} + row % {inner} + at * {inner}", extent * inner),
            false => "start_of_row + at".into(),
        };
        text.line(format!("const long to = {place};"));
        let name = |id: BufferId| &operands.names[&id];
        text.line(format!("{}[to] = {}[start_of_row + from];", name(to.positions), name(from.positions)));
        if let Some(to_keys) = to.keys {
            text.line(format!("{}[to] = keys[from];", name(to_keys)));
        }
        text.close();
        self.kernel("merge", operands, sort.rows() * parts, text)
    }
}

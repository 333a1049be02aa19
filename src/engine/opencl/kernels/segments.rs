//! Reductions at computed places in an order that is the same in every run: positions are sorted by the places that they reach,
//! so that the positions of each element are neighbours, a segment.
//!
//! First each position writes the place that it reaches, and its value. Each item combines the values of a few of the sorted
//! places. Segments that end inside are done; the rest of the first and of the last segment is one value each. These are sorted
//! by their places again, until they are so few that the first item of each segment combines all of it. Axes along which the
//! elements of a place are distinct, such as those of rows, are not sorted: the items at each of their positions do the same.

use super::parts::{KernelPart, ReductionManner, axes_of_guards, axes_of_values, pruned};
use super::sort::{SortedPositions, position_type};
use super::{KernelOperands, KernelScope, KernelWriter};
use crate::array::neutral_value;
use crate::engine::opencl::code::Action;
use crate::kernel::{Affine, BufferId, Guards, Nest, NestValue, Sort, Store, StoreMode, ValueId};
use crate::operation::{Binary, Comparison, Order, Reduction};
use crate::shape::{self, DType, steps};
use crate::source::language::Language;
use crate::source::order::parallel_first;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;
use crate::source::tidy::tidied;
use std::collections::HashSet;

/// Sorted positions that an item goes through, where segments are still to be shared.
const CHUNK: usize = 32;

/// Where there are no more positions, segments are not shared any more.
const LAST: usize = 256;

/// Places in order, and the values that reach them.
#[derive(Clone, Copy)]
struct SegmentLevel {
    count: usize,
    /// The place that each position reaches, plus 1; 0 where nothing is stored.
    keys: BufferId,
    /// The values; for each position those of all columns.
    values: BufferId,
    /// The positions of the values, if they are not in the order of the places.
    positions: Option<BufferId>,
}

/// Where the reduction goes.
struct Target<'a> {
    store: &'a Store,
    op: Reduction,
    /// The type of the values.
    dtype: DType,
    /// The element type of the places.
    key: DType,
    /// Axes along which elements are distinct, and their extents.
    columns: Vec<(usize, usize)>,
}

impl Target<'_> {
    fn width(&self) -> usize {
        steps(self.columns.iter().map(|&(_, extent)| extent))
    }
}

/// Goes through axes as one, whose positions are so far from each other.
fn linear(at: &mut Affine, axes: &[(usize, usize)], distance: usize) {
    let mut step = distance as i64;
    for &(axis, extent) in axes.iter().rev() {
        at.coefficients[axis] = step;
        step *= extent as i64;
    }
}

impl KernelWriter {
    /// A part that is one reduction, sorted by places.
    pub(super) fn by_place(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        part: &KernelPart,
        goes_on: &dyn Fn(BufferId) -> bool,
        actions: &mut Vec<Action>,
    ) {
        let nest = &part.nest;
        let store = &nest.stores[0];
        let StoreMode::Reduce(op) = store.mode else { unreachable!("what is written needs no order") };
        let dtype = nest.values[store.value as usize].1;
        if !goes_on(store.buffer) {
            actions.push(scope.fill(store.buffer, neutral_value(op, dtype)));
        }
        // The place's own axes that nothing else of it goes along are columns.
        let mut others: HashSet<usize> = axes_of_guards(&store.guards).chain(part.reduced.iter().copied()).collect();
        if let Some((index, ..)) = store.index {
            others.extend(&axes_of_values(nest)[index as usize]);
        }
        let (order, parallel) = parallel_first(nest);
        let is_column = |axis: usize| order[..parallel].contains(&axis) && !others.contains(&axis);
        let outer = (0..nest.extents.len()).filter(|axis| !part.reduced.contains(axis));
        let (columns, rows): (Vec<_>, Vec<_>) =
            outer.map(|axis| (axis, nest.extents[axis])).partition(|&(axis, _)| is_column(axis));
        let key = if scope.count(store.buffer) < i32::MAX as usize { DType::I32 } else { DType::I64 };
        let target = Target { store, op, dtype, key, columns };
        let (count, width) = (steps(rows.iter().map(|&(_, extent)| extent)), target.width());
        let mut memory = |scope: &mut KernelScope<'_>, dtype, count| scope.add(plan.memory(dtype, count), dtype, count);
        let [keys, sorted] = [0, 1].map(|_| memory(scope, key, count));
        let values = memory(scope, dtype, count * width);
        let positions = memory(scope, position_type(count), count);
        let is_own = |id: BufferId, buffers: usize| id as usize >= buffers;
        let buffers = scope.procedure.buffers.len();
        for part in [places(nest, &target, &rows, keys), terms(nest, &target, &rows, values)] {
            self.part(scope, plan, &part, &|id| !is_own(id, buffers) && goes_on(id), actions);
        }
        let sort = Sort { order: Order::Ascending, array: keys, result: positions, outer: 1, extent: count, inner: 1 };
        self.sorted(scope, plan, &sort, SortedPositions { positions, keys: Some(sorted) }, actions);
        let mut level = SegmentLevel { count, keys: sorted, values, positions: Some(positions) };
        while level.count > LAST {
            let count = 2 * level.count.div_ceil(CHUNK);
            let keys = scope.add(plan.memory(key, count), key, count);
            let values = scope.add(plan.memory(dtype, count * width), dtype, count * width);
            let next = SegmentLevel { count, keys, values, positions: None };
            actions.push(self.chunks(scope, &target, level, next));
            level = next;
        }
        actions.push(self.segments(scope, &target, level));
    }

    fn combined(&mut self, target: &Target<'_>, a: &str, b: &str) -> String {
        let spelling = target.op.combining(target.dtype).spelling(target.dtype);
        self.language.spelled(spelling, target.dtype, &[a, b], &mut self.helpers).0
    }

    /// Begins with an item's column, the number that it has in it, and where the elements of the column are.
    fn column(target: &Target<'_>, number: &str) -> Text {
        let (width, mut text) = (target.width(), Text::default());
        text.line(format!("const long {number} = item / {width}, column = item % {width};"));
        let mut away: Vec<String> = Vec::new();
        let mut inner = 1;
        for &(axis, extent) in target.columns.iter().rev() {
            away.push(format!("column / {inner} % {extent} * ({})", target.store.at.coefficients[axis]));
            inner *= extent;
        }
        let away = if away.is_empty() { "0".into() } else { away.join(" + ") };
        text.line(format!("const long away = {away};"));
        text
    }

    /// Combines a value with the element of a place, if that exists.
    fn store(&mut self, text: &mut Text, target: &Target<'_>, operands: &KernelOperands, value: &str) {
        let element = format!("{}[key - 1 + away]", operands.names[&target.store.buffer]);
        let combined = self.combined(target, &element, value);
        text.line(format!("if (key != 0) {element} = {combined};"));
    }

    /// The value of a column at a position.
    fn value(target: &Target<'_>, operands: &KernelOperands, level: SegmentLevel) -> String {
        let position = match level.positions {
            Some(positions) => format!("(long){}[at]", operands.names[&positions]),
            None => "at".into(),
        };
        format!("{}[{position} * {} + column]", operands.names[&level.values], target.width())
    }

    /// Combines the values of each chunk. The values of its first and last place go on to the next level.
    fn chunks(
        &mut self,
        scope: &KernelScope<'_>,
        target: &Target<'_>,
        level: SegmentLevel,
        next: SegmentLevel,
    ) -> Action {
        let read: Vec<BufferId> = [level.keys, level.values].into_iter().chain(level.positions).collect();
        let operands = scope.operands(&read, &[target.store.buffer, next.keys, next.values]);
        let (keys, next_keys) = (&operands.names[&level.keys], &operands.names[&next.keys]);
        let next_values = &operands.names[&next.values];
        let (ty, key_type) = (self.language.dtype(target.dtype), self.language.dtype(target.key));
        let (width, neutral) = (target.width(), self.language.literal(neutral_value(target.op, target.dtype)));
        let mut text = KernelWriter::column(target, "chunk");
        text.line(format!("const long start = chunk * {CHUNK}, end = min(start + {CHUNK}, (long){});", level.count));
        text.line(format!("const {key_type} first = {keys}[start];"));
        text.line(format!("{key_type} key = first;"));
        text.line(format!("{ty} total = {neutral}, total_of_first = {neutral};"));
        text.open("for (long at = start; at < end; at++)");
        text.line(format!("const {key_type} next = {keys}[at];"));
        text.open("if (next != key)");
        text.open("if (key == first)");
        text.line("total_of_first = total;");
        text.between("} else {");
        self.store(&mut text, target, &operands, "total");
        text.close();
        text.line("key = next;");
        text.line(format!("total = {neutral};"));
        text.close();
        let combined = self.combined(target, "total", &KernelWriter::value(target, &operands, level));
        text.line(format!("total = {combined};"));
        text.close();
        // If all reach one place, there is nothing left for the last one.
        text.line("const bool is_one = key == first;");
        text.line(format!("{next_values}[2 * chunk * {width} + column] = is_one ? total : total_of_first;"));
        text.line(format!("{next_values}[(2 * chunk + 1) * {width} + column] = is_one ? {neutral} : total;"));
        text.open("if (column == 0)");
        text.line(format!("{next_keys}[2 * chunk] = first;"));
        text.line(format!("{next_keys}[2 * chunk + 1] = key;"));
        text.close();
        self.kernel("chunks", &operands, level.count.div_ceil(CHUNK) * width, text)
    }

    /// Combines the values of each segment, which the item at its first position does.
    fn segments(&mut self, scope: &KernelScope<'_>, target: &Target<'_>, level: SegmentLevel) -> Action {
        let read: Vec<BufferId> = [level.keys, level.values].into_iter().chain(level.positions).collect();
        let operands = scope.operands(&read, &[target.store.buffer]);
        let keys = &operands.names[&level.keys];
        let (ty, key_type) = (self.language.dtype(target.dtype), self.language.dtype(target.key));
        let mut text = KernelWriter::column(target, "start");
        text.line(format!("const {key_type} key = {keys}[start];"));
        text.line(format!("if (key == 0 || (start > 0 && {keys}[start - 1] == key)) return;"));
        let neutral = self.language.literal(neutral_value(target.op, target.dtype));
        text.line(format!("{ty} total = {neutral};"));
        let combined = self.combined(target, "total", &KernelWriter::value(target, &operands, level));
        text.open(format!("for (long at = start; at < {} && {keys}[at] == key; at++)", level.count));
        text.line(format!("total = {combined};"));
        text.close();
        self.store(&mut text, target, &operands, "total");
        self.kernel("segments", &operands, level.count * target.width(), text)
    }
}

/// A part that writes the place of each position, plus 1, or 0 where nothing is stored.
fn places(nest: &Nest, target: &Target<'_>, rows: &[(usize, usize)], keys: BufferId) -> KernelPart {
    let (mut nest, store, rank) = (nest.clone(), target.store, nest.extents.len());
    for axis in 0..rank {
        if rows.iter().all(|&(row, _)| row != axis) {
            nest.extents[axis] = 1;
        }
    }
    let mut add = |value, dtype| {
        nest.values.push((value, dtype));
        nest.values.len() as ValueId - 1
    };
    let mut at = store.at.clone();
    at.offset += 1;
    let mut key = add(NestValue::Position(at), DType::I64);
    if let Some((index, stride, extent)) = store.index {
        let mut number = |number| add(NestValue::Constant(shape::Value::I64(number)), DType::I64);
        let [zero, stride, extent] = [0, stride, extent].map(&mut number);
        let index = add(NestValue::Cast(DType::I64, index), DType::I64);
        let scaled = add(NestValue::Binary(Binary::Mul, index, stride), DType::I64);
        key = add(NestValue::Binary(Binary::Add, key, scaled), DType::I64);
        for comparison in [(Comparison::GreaterEqual, zero), (Comparison::Less, extent)] {
            let inside = add(NestValue::Compare(comparison.0, index, comparison.1), DType::Bool);
            key = add(NestValue::Select(inside, key, zero), DType::I64);
        }
    }
    if !store.guards.is_empty() {
        key = add(NestValue::Guarded(key, store.guards.clone()), DType::I64);
    }
    if target.key != DType::I64 {
        key = add(NestValue::Cast(target.key, key), target.key);
    }
    let mut at = Affine::constant(0, rank);
    linear(&mut at, rows, 1);
    written(nest, Store { value: key, buffer: keys, at, guards: Guards::new(), index: None, mode: StoreMode::Write })
}

/// A part that writes the value of each position in each column. Values for the same place and column are reduced.
fn terms(nest: &Nest, target: &Target<'_>, rows: &[(usize, usize)], values: BufferId) -> KernelPart {
    let mut at = Affine::constant(0, nest.extents.len());
    linear(&mut at, &target.columns, 1);
    linear(&mut at, rows, target.width());
    let is_reduced = rows.len() + target.columns.len() < nest.extents.len();
    let mode = if is_reduced { target.store.mode } else { StoreMode::Write };
    let store = Store { value: target.store.value, buffer: values, at, guards: Guards::new(), index: None, mode };
    written(nest.clone(), store)
}

/// A part with only this store, which reaches each element once, reduced over the axes that its place does not move along.
fn written(nest: Nest, store: Store) -> KernelPart {
    let nest = tidied(&pruned(&nest, vec![store]), &HashSet::new());
    let at = &nest.stores[0].at;
    let reduced = (0..nest.extents.len()).filter(|&axis| at.coefficients[axis] == 0).collect();
    KernelPart { nest, reduced, manner: ReductionManner::Apart, is_second: false }
}

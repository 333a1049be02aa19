//! Nests as loops around expressions.
//!
//! A value is computed in the outermost loop that it needs, so values that do not depend on inner loops are not computed again
//! there. A reduction over inner loops accumulates in a variable of its own, and where the innermost loop sums floats, in
//! several, so that the sums are vectors.

use super::expression::SourceExpression;
use super::language::{Helper, Language};
use super::order::order;
use super::stretch::stretches;
use super::text::Text;
use super::tidy::is_one_to_one;
use super::writer::{BufferFacts, NestWriter, RowNames};
use crate::array::neutral_value;
use crate::kernel::stretch::Limit;
use crate::kernel::{Affine, Guards, Nest, NestValue, Store, StoreMode, ValueId};
use crate::operation::{OperationSpelling, Reduction};
use crate::shape::{self, DType};
use crate::term::hash::TermMap;
use std::collections::{BTreeSet, HashSet};

/// Sums of floats along an innermost loop of so many steps at least are this many sums, if the loop computes few values.
const LANES: usize = 8;
const LONG: usize = 16;
const FEW: usize = 48;

/// Longer expressions get a name.
const WIDE: usize = 60;

impl<'a> NestWriter<'a> {
    /// A nest to be written, of whose outermost loops in this order so many are none.
    pub(crate) fn new(
        language: &'a dyn Language,
        nest: &'a Nest,
        (order, parallel, limits): (Vec<usize>, usize, Vec<Limit>),
        buffers: BufferFacts<'a>,
        helpers: &'a mut BTreeSet<Helper>,
    ) -> NestWriter<'a> {
        let mut writer = NestWriter {
            assigned: Vec::new(),
            accesses: TermMap::default(),
            stored: TermMap::default(),
            innermost: 0,
            language,
            nest,
            name: buffers.name,
            dtype: buffers.dtype,
            limits,
            rows: RowNames::new(),
            is_inside: false,
            is_in_range: false,
            together: None,
            width: 1,
            has_vectors: true,
            atomics: None,
            given: None,
            helpers,
            levels: Vec::new(),
            uses: nest.uses(),
            named: Vec::new(),
            expressions: vec![None; nest.values.len()],
            accumulators: Vec::new(),
            lane: None,
            parallel,
            order,
        };
        writer.levels = writer.levels();
        writer.innermost = writer.levels.iter().filter(|&&level| level == writer.depth()).count();
        for store in &nest.stores {
            *writer.stored.entry(store.buffer).or_default() += 1;
        }
        writer.accesses = writer.stored.clone();
        nest.read().for_each(|buffer| *writer.accesses.entry(buffer).or_default() += 1);
        writer.named = writer.named();
        writer.accumulators = nest.stores.iter().map(|store| writer.accumulator(store)).collect();
        writer.assigned = (0..nest.stores.len()).map(|at| writer.is_assigned(at, buffers)).collect();
        writer
    }

    /// The buffers to be filled before the nest, with their values: those that it combines with, if it reaches some of their
    /// elements not at all or several times.
    pub(crate) fn fills(&self, buffers: BufferFacts<'_>) -> Vec<(u32, shape::Value)> {
        let mut fills: Vec<(u32, shape::Value)> = Vec::new();
        let mut filled: HashSet<u32> = HashSet::new();
        for (store, &assigned) in self.nest.stores.iter().zip(&self.assigned) {
            if let StoreMode::Reduce(op) = store.mode
                && !assigned
                && !(buffers.continues)(store.buffer)
                && filled.insert(store.buffer)
            {
                fills.push((store.buffer, neutral_value(op, self.nest.values[store.value as usize].1)));
            }
        }
        fills
    }

    /// Writes the loops.
    pub(crate) fn write(&mut self, text: &mut Text) {
        if !self.nest.extents.contains(&0) {
            self.level(text, 0);
        }
    }
}

/// Writes a nest, and before it the fills of buffers that need them.
pub(crate) fn write(
    text: &mut Text,
    language: &dyn Language,
    nest: &Nest,
    buffers: BufferFacts<'_>,
    helpers: &mut BTreeSet<Helper>,
) {
    let order = order(nest);
    let (nest, limits) = stretches(nest, &order, 0);
    let mut writer = NestWriter::new(language, &nest, (order, 0, limits), buffers, helpers);
    for (id, value) in writer.fills(buffers) {
        text.line(language.fill(&(buffers.name)(id), (buffers.count)(id), &language.literal(value)));
    }
    writer.write(text);
}

impl NestWriter<'_> {
    pub(crate) fn depth(&self) -> usize {
        self.order.len()
    }

    /// How many loops an affine function needs.
    fn level_of(&self, at: &Affine) -> usize {
        let needed = self.order.iter().rposition(|&axis| at.coefficients[axis] != 0);
        needed.map_or(0, |position| position + 1)
    }

    fn level_of_guards(&self, guards: &Guards) -> usize {
        guards.iter().map(|guard| self.level_of(&guard.position)).max().unwrap_or(0)
    }

    fn levels(&self) -> Vec<usize> {
        let mut levels: Vec<usize> = Vec::with_capacity(self.nest.values.len());
        for (value, _) in &self.nest.values {
            let own = match value {
                NestValue::Position(at) | NestValue::Gather { at, .. } => self.level_of(at),
                NestValue::Load { at, guards, .. } => self.level_of(at).max(self.level_of_guards(guards)),
                NestValue::Guarded(_, guards) => self.level_of_guards(guards),
                _ => 0,
            };
            levels.push(value.operands().iter().map(|&id| levels[id as usize]).fold(own, usize::max));
        }
        levels
    }

    /// The level at which a store can reduce into a variable, if some loops are inside of it.
    fn accumulator(&self, store: &Store) -> Option<usize> {
        let StoreMode::Reduce(_) = store.mode else { return None };
        let place = self.level_of(&store.at).max(self.level_of_guards(&store.guards));
        let level = store.index.map_or(place, |(index, ..)| place.max(self.levels[index as usize]));
        (level < self.depth()).then_some(level)
    }

    /// Whether a store that reduces into a variable reaches every element of its buffer once, and is the only one.
    fn is_assigned(&self, at: usize, buffers: BufferFacts<'_>) -> bool {
        let store = &self.nest.stores[at];
        let Some(level) = self.accumulators[at] else { return false };
        let outer = &self.order[..level];
        let steps = shape::steps(outer.iter().map(|&axis| self.nest.extents[axis]));
        let alone = self.stored[&store.buffer] == 1;
        let free = store.guards.is_empty() && store.index.is_none() && !(buffers.continues)(store.buffer);
        // A loop over a stretch does not reach all elements.
        let is_whole = |limit: &Limit| !outer.contains(&limit.axis);
        alone
            && free
            && self.limits.iter().all(is_whole)
            && !self.nest.extents.contains(&0)
            && steps == (buffers.count)(store.buffer)
            && is_one_to_one(&store.at, outer, &self.nest.extents)
    }

    /// The level at which a store is written.
    pub(crate) fn store_level(&self, store: &Store) -> usize {
        match store.mode {
            StoreMode::Reduce(_) => self.depth(),
            StoreMode::Write => {
                let place = self.level_of(&store.at).max(self.level_of_guards(&store.guards));
                let index = store.index.map_or(0, |(index, ..)| self.levels[index as usize]);
                place.max(index).max(self.levels[store.value as usize])
            }
        }
    }

    pub(crate) fn variable(&self, axis: usize) -> String {
        // Variables go by the position of the loop.
        let position = self.order.iter().position(|&other| other == axis).expect("an axis of the nest");
        format!("i{position}")
    }

    /// The values of a level, of those that are wanted.
    pub(crate) fn values(&mut self, text: &mut Text, level: usize, is_wanted: impl Fn(ValueId) -> bool) {
        for id in 0..self.nest.values.len() as ValueId {
            if self.levels[id as usize] != level || !is_wanted(id) {
                continue;
            }
            let expression = self.value(id);
            let is_short = expression.text.len() <= WIDE;
            let is_constant = matches!(self.nest.values[id as usize].0, NestValue::Constant(_));
            if is_constant || (is_short && !self.named[id as usize]) {
                self.expressions[id as usize] = Some(expression);
                continue;
            }
            let name = format!("v{id}");
            let dtype = self.nest.values[id as usize].1;
            text.declare(&name, self.language.declare(&name, dtype, &expression.text));
            self.expressions[id as usize] = Some(SourceExpression::atom(name));
        }
    }

    /// For each value whether it needs a name: because its text would occur several times, as an index does, or inside an inner
    /// loop.
    fn named(&self) -> Vec<bool> {
        let mut named: Vec<bool> = self.uses.iter().map(|&uses| uses > 1).collect();
        for (user, (value, dtype)) in self.nest.values.iter().enumerate() {
            let is_index = match value {
                NestValue::Gather { .. } => true,
                NestValue::Unary(op, _) => matches!(op.spelling(*dtype), OperationSpelling::Product(_)),
                _ => false,
            };
            for id in value.operands() {
                named[id as usize] |= is_index || self.levels[user] > self.levels[id as usize];
            }
        }
        for limit in &self.limits {
            named[limit.value as usize] = true;
        }
        for store in &self.nest.stores {
            named[store.value as usize] |= self.store_level(store) > self.levels[store.value as usize];
            if let Some((index, ..)) = store.index {
                named[index as usize] = true;
            }
        }
        named
    }

    /// Writes the text inside of `level` loops.
    pub(crate) fn level(&mut self, text: &mut Text, level: usize) {
        self.is_inside = level == self.depth();
        self.values(text, level, |_| true);
        let stores: Vec<usize> = (0..self.nest.stores.len()).collect();
        let opened: Vec<usize> = stores.iter().copied().filter(|&at| self.accumulators[at] == Some(level)).collect();
        for &at in &opened {
            self.open_accumulator(text, at, self.has_lanes(at));
        }
        for &at in &stores {
            let store = &self.nest.stores[at];
            if self.store_level(store) == level {
                self.store(text, at);
            }
        }
        if level < self.depth() {
            let is_innermost = level + 1 == self.depth() && level >= self.parallel && self.together.is_none();
            if is_innermost {
                self.bind_rows(text);
            }
            if level + 1 == self.depth() && self.has_blocks() {
                self.block(text, level);
            } else if level < self.parallel {
                self.position(text, level, "item", 0..self.parallel);
                self.level(text, level + 1);
            } else if self.together.is_some() {
                self.together(text, level);
            } else {
                let ends = self.ends(text, level);
                self.in_ranges(text, level, ends);
            }
            self.is_inside = false;
            if is_innermost {
                self.rows.clear();
            }
        }
        match self.together {
            Some(_) if level == self.parallel => self.finish_together(text, &opened),
            _ => opened.iter().for_each(|&at| self.close_accumulator(text, at)),
        }
    }

    /// The position of a loop that is none, which is one of several that a number goes through as one.
    pub(crate) fn position(&self, text: &mut Text, level: usize, number: &str, levels: std::ops::Range<usize>) {
        let axis = self.order[level];
        let (variable, extent) = (self.variable(axis), self.nest.extents[axis]);
        let inner = shape::steps(self.order[level + 1..levels.end].iter().map(|&axis| self.places(axis)));
        let outer = if inner == 1 { number.to_string() } else { format!("{number} / {inner}") };
        let position = if level == levels.start { outer } else { format!("{outer} % {extent}") };
        text.declare(&variable, self.language.declare_index(&variable, &position));
    }

    /// Whether a store reduces into several variables side by side.
    fn has_lanes(&self, at: usize) -> bool {
        let store = &self.nest.stores[at];
        let innermost = self.depth() - 1;
        if innermost < self.parallel {
            return false;
        }
        self.has_vectors
            && self.accumulators[at].is_some()
            && store.mode == StoreMode::Reduce(Reduction::Sum)
            && self.nest.values[store.value as usize].1.is_float()
            && self.nest.extents[self.order[innermost]] >= LONG
            && self.innermost <= FEW
    }

    /// Whether the loop inside of so many others runs several steps side by side: the innermost one, if sums want that.
    pub(crate) fn lanes(&self, level: usize) -> bool {
        level >= self.parallel && level + 1 == self.depth() && (0..self.nest.stores.len()).any(|at| self.has_lanes(at))
    }

    /// Writes a loop between these ends.
    pub(crate) fn steps(&mut self, text: &mut Text, level: usize, ends: (String, String)) {
        let variable = self.variable(self.order[level]);
        if self.lanes(level) {
            return self.lane_loops(text, level, &variable, ends);
        }
        text.open(self.language.for_loop(&variable, &ends.0, &ends.1));
        self.level(text, level + 1);
        text.close();
    }

    fn lane_loops(&mut self, text: &mut Text, level: usize, variable: &str, (start, end): (String, String)) {
        let extent = end.parse::<usize>().ok().filter(|_| start == "0");
        let (whole, rest) = match extent {
            Some(extent) => ((extent / LANES).to_string(), (extent / LANES * LANES).to_string()),
            None => {
                let whole = format!("whole{level}");
                let blocks = format!("({end} - {start}) / {LANES}");
                text.declare(&whole, self.language.declare_index(&whole, &blocks));
                let rest = format!("{start} + {whole} * {LANES}");
                (whole, rest)
            }
        };
        let offset = match extent {
            Some(_) => format!("block * {LANES}"),
            None => format!("{start} + block * {LANES}"),
        };
        text.open(self.language.for_loop("block", "0", &whole));
        self.bind_lanes(text, LANES, &offset);
        text.open(self.language.for_loop("lane", "0", &LANES.to_string()));
        text.declare(variable, self.language.declare_index(variable, &format!("{offset} + lane")));
        self.lane = Some("lane".into());
        self.level(text, level + 1);
        text.close();
        text.close();
        if extent.is_none_or(|extent| !extent.is_multiple_of(LANES)) {
            text.open(self.language.for_loop(variable, &rest, &end));
            self.lane = Some("0".into());
            self.level(text, level + 1);
            text.close();
        }
        self.lane = None;
    }

    fn open_accumulator(&mut self, text: &mut Text, at: usize, lanes: bool) {
        let store = &self.nest.stores[at];
        let StoreMode::Reduce(op) = store.mode else { unreachable!("only reductions accumulate") };
        let dtype = self.nest.values[store.value as usize].1;
        let start = self.language.literal(neutral_value(op, dtype));
        let name = format!("sum{at}");
        text.line(match lanes {
            true => self.language.declare_lanes(&name, dtype, LANES, &start),
            false => self.language.declare_variable(&name, dtype, &start),
        });
    }

    fn close_accumulator(&mut self, text: &mut Text, at: usize) {
        let store = &self.nest.stores[at];
        let StoreMode::Reduce(op) = store.mode else { unreachable!("only reductions accumulate") };
        let dtype = self.nest.values[store.value as usize].1;
        let name = format!("sum{at}");
        let total = match self.has_lanes(at) {
            false => name,
            true => {
                // In pairs, as vectors are summed.
                let mut parts: Vec<String> = (0..LANES).map(|lane| format!("{name}[{lane}]")).collect();
                while parts.len() > 1 {
                    parts = parts.chunks(2).map(|pair| format!("({})", pair.join(" + "))).collect();
                }
                parts.remove(0)
            }
        };
        self.finish(text, at, op, dtype, &total);
    }

    /// Stores the total that was reduced into a variable.
    pub(crate) fn finish(&mut self, text: &mut Text, at: usize, op: Reduction, dtype: DType, total: &str) {
        let store = &self.nest.stores[at];
        if self.assigned[at] {
            let (element, _) = self.place(store);
            text.line(format!("{element} = {total};"));
        } else {
            self.combine(text, store, op, dtype, total);
        }
    }

    /// Combines a value with the element at a store's place.
    fn combine(&mut self, text: &mut Text, store: &Store, op: Reduction, dtype: DType, value: &str) {
        let (element, condition) = self.place(store);
        let line = match self.atomics {
            None => format!("{element} = {};", self.combined(op, dtype, &element, value)),
            Some(atomic) => {
                let operands = [&format!("&{element}")[..], value];
                format!("{};", self.language.helper(atomic(op, dtype), dtype, &operands, self.helpers))
            }
        };
        self.guarded(text, condition, &line);
    }

    pub(crate) fn combined(&mut self, op: Reduction, dtype: DType, a: &str, b: &str) -> String {
        self.spelled(op.combining(dtype).spelling(dtype), dtype, &[a, b]).text
    }

    /// The element at a store's place, and the condition that something is stored.
    fn place(&self, store: &Store) -> (String, Option<String>) {
        let guards = (!store.guards.is_empty()).then(|| self.guards(&store.guards));
        let array = || (self.name)(store.buffer);
        match store.index {
            _ if let Some((_, name)) = self.given.filter(|(given, _)| *given == store.buffer) => (name.into(), guards),
            None => match self.row_element(store.buffer, &store.at) {
                Some(element) if self.is_inside => (element, guards),
                _ => (format!("{}[{}]", array(), self.counted(&store.at).text), guards),
            },
            Some((index, stride, extent)) => {
                let (place, inside) = self.computed(&store.at, stride, index, extent);
                let element = format!("{}[{place}]", array());
                (element, Some(guards.map_or(inside.clone(), |guards| format!("{guards} && {inside}"))))
            }
        }
    }

    fn guarded(&self, text: &mut Text, condition: Option<String>, line: &str) {
        match condition {
            None => text.line(line),
            Some(condition) => {
                text.open(self.language.condition(&condition));
                text.line(line);
                text.close();
            }
        }
    }

    fn store(&mut self, text: &mut Text, at: usize) {
        let store = &self.nest.stores[at];
        let dtype = self.nest.values[store.value as usize].1;
        match (store.mode, self.accumulators[at]) {
            (StoreMode::Write, _) => {
                let (element, condition) = self.place(store);
                let value = self.expression(store.value).text.clone();
                self.guarded(text, condition, &format!("{element} = {value};"));
            }
            (StoreMode::Reduce(op), None) => {
                let value = self.operand(store.value);
                self.combine(text, store, op, dtype, &value);
            }
            (StoreMode::Reduce(op), Some(_)) => {
                let name = match (&self.lane, self.has_lanes(at)) {
                    (Some(lane), true) => format!("sum{at}[{lane}]"),
                    _ => format!("sum{at}"),
                };
                let value = self.operand(store.value);
                let combined = self.combined(op, dtype, &name, &value);
                text.line(format!("{name} = {combined};"));
            }
        }
    }
}

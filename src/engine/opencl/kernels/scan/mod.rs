//! Loops of many steps at few places, whose steps are composed without what is carried into them: a scan that is shared among
//! work items.
//!
//! Steps are in chunks. A first kernel composes the steps of each chunk but the last; a second one goes through the chunks, and
//! finds what is carried into each of them; a third one does all steps of all chunks. None of them waits for another group, as
//! OpenCL does not promise that there is one to wait for.
//!
//! Where neighbouring items have neighbouring places, a chunk of a place has an item. Where there are fewer places than that, a
//! group: see [`tile`].

mod composition;
mod stages;
mod tile;

use super::nest::power_of_two_below;
use super::recurrence::{Needed, Sequence, last_carries};
use super::{Operands, Scope, Writer};
use crate::engine::opencl::code::{Action, Grid};
use crate::kernel::BufferId;
use crate::operation::Binary;
use crate::shape::{DType, Value};
use crate::source::expression::elementwise;
use crate::source::language::Language;
use crate::source::plan::Plan;
use crate::source::text::Text;
use crate::term::recurrence::{Elementwise, Operand};
use composition::{Composition, compositions};
use stages::stages;

/// So many places make it worth to have neighbouring items at neighbouring places.
const COLUMNS: usize = 16;

/// Chunks of a place, at most, where one item goes through them.
const CHUNKS: usize = 1024;

/// A scan shares nothing where it has fewer than so many times the steps that an item takes at least.
const SHARED: usize = 8;

/// Work items of a group where they are on their own.
const GROUP: usize = 128;

/// What steps in a row do to what is carried: the values of their compositions, in the order of the carries.
struct Parts {
    compositions: Vec<Composition>,
    /// Their element types, in the order of the carries.
    dtypes: Vec<DType>,
    /// The element type of each value.
    values: Vec<DType>,
}

impl Parts {
    /// Each composition, its element type, and the number of its first value.
    fn all(&self) -> impl Iterator<Item = (Composition, DType, usize)> {
        let mut first = 0;
        self.compositions.iter().zip(&self.dtypes).map(move |(&composition, &dtype)| {
            let own = first;
            first += composition.values().len();
            (composition, dtype, own)
        })
    }

    /// The values of one step.
    fn operands(&self) -> Vec<Operand> {
        self.compositions.iter().flat_map(|composition| composition.values()).collect()
    }
}

/// A loop all of whose steps can be composed.
fn composed(mut sequence: Sequence) -> Option<(Sequence, Parts)> {
    let dtypes = sequence.carried.clone();
    let compositions = compositions(&mut sequence.recurrence, &dtypes)?;
    let mut parts = Parts { compositions, dtypes, values: Vec::new() };
    parts.values = parts.operands().into_iter().map(|operand| sequence.dtype(operand)).collect();
    Some((sequence, parts))
}

impl Writer {
    /// A recurrence whose steps are shared, if they can be and that is worth it.
    pub(super) fn shared_scan(
        &mut self,
        scope: &mut Scope<'_>,
        plan: &mut Plan<'_>,
        sequence: &Sequence,
    ) -> Option<Vec<Action>> {
        let (length, places, least) = (sequence.length, sequence.places, self.limits.least_steps);
        if self.limits.is_serial || length < SHARED * least || places > self.busy() / 2 {
            return None;
        }
        let next = scope.procedure.buffers.len() + scope.scratch.len();
        let (stages, between) = stages(sequence, next as BufferId)?;
        let composed = stages.into_iter().map(composed).collect::<Option<Vec<(Sequence, Parts)>>>()?;
        for dtype in between {
            scope.add(plan.memory(dtype, length * places), dtype, length * places);
        }
        let even = (2 * length).isqrt();
        let chunks = (self.busy() / places).min(length / least).min(even).clamp(2, CHUNKS);
        let mut actions = Vec::new();
        for (sequence, parts) in composed {
            actions.extend(match places < COLUMNS {
                true => self.tiles(scope, plan, &sequence, &parts),
                false => self.columns(scope, plan, &sequence, &parts, chunks),
            });
        }
        Some(actions)
    }

    /// Memory of the step's own for each value of the parts, and for each carry, of so many chunks of all places.
    fn memory(
        &self,
        scope: &mut Scope<'_>,
        plan: &mut Plan<'_>,
        places: usize,
        parts: &Parts,
        chunks: usize,
    ) -> [Vec<BufferId>; 2] {
        let mut all = |dtypes: &[DType], count: usize| {
            let add = |&dtype: &DType| scope.add(plan.memory(dtype, count), dtype, count);
            dtypes.iter().map(add).collect::<Vec<BufferId>>()
        };
        [all(&parts.values, places * (chunks - 1)), all(&parts.dtypes, places * chunks)]
    }

    /// A scan whose chunks have an item for each place.
    fn columns(
        &mut self,
        scope: &mut Scope<'_>,
        plan: &mut Plan<'_>,
        sequence: &Sequence,
        parts: &Parts,
        chunks: usize,
    ) -> Vec<Action> {
        let (length, places) = (sequence.length, sequence.places);
        let steps = length.div_ceil(chunks);
        let chunks = length.div_ceil(steps);
        let [composed, starts] = self.memory(scope, plan, places, parts, chunks);
        let head = |items: usize| {
            let mut text = Text::default();
            text.line("const long place = get_global_id(0);");
            text.line(format!("if (place >= {items}) return;"));
            text.declare("item", format!("const long item = place % {places};"));
            text.line(format!("const long chunk = place / {places};"));
            text
        };
        let group = GROUP.min(self.limits.group);
        let mut actions = Vec::new();

        // The steps of each chunk but the last, composed.
        let elements = sequence.needed(&parts.operands());
        let operands = scope.operands(&sequence.read(&elements), &composed);
        let items = places * (chunks - 1);
        let mut text = head(items);
        self.captures(&mut text, sequence, &operands, &elements);
        self.declare_parts(&mut text, parts, "own");
        text.line(format!("const long start = chunk * {steps};"));
        text.open(format!("for (long number = start; number < start + {steps}; number++)"));
        self.element_of_step(&mut text, sequence, &operands, &elements, parts);
        let own = |value: usize| format!("own{value}");
        for (value, text_of) in self.composed(parts, &own, &|value| format!("element{value}")).into_iter().enumerate() {
            let dtype = parts.values[value];
            let both = format!("number == start ? element{value} : ({text_of})");
            text.line(self.language.declare(&format!("both{value}"), dtype, &both));
        }
        (0..parts.values.len()).for_each(|value| text.line(format!("own{value} = both{value};")));
        text.close();
        for (value, id) in composed.iter().enumerate() {
            text.line(format!("{}[place] = own{value};", operands.names[id]));
        }
        text.tidy();
        actions.push(self.group_kernel("chunks", &operands, Grid { items, group }, text));

        // What is carried into each chunk.
        let operands = scope.operands(&[&sequence.first[..], &composed].concat(), &starts);
        let mut text = Text::default();
        self.declare_carries(&mut text, parts, &|carry| format!("{}[item]", operands.names[&sequence.first[carry]]));
        text.open(format!("for (long chunk = 0; chunk < {}; chunk++)", chunks - 1));
        text.line(format!("const long place = chunk * {places} + item;"));
        for (carry, id) in starts.iter().enumerate() {
            text.line(format!("{}[place] = carry{carry};", operands.names[id]));
        }
        let composed_before = |value: usize| format!("{}[place]", operands.names[&composed[value]]);
        for (carry, next) in self.applied(parts, &composed_before, &|carry| format!("carry{carry}")) {
            text.line(format!("carry{carry} = {next};"));
        }
        text.close();
        for (carry, id) in starts.iter().enumerate() {
            text.line(format!("{}[{items} + item] = carry{carry};", operands.names[id]));
        }
        actions.push(self.kernel("starts", &operands, places, text));

        // All steps.
        let all = sequence.needed(&sequence.recurrence.results);
        let read = [&starts[..], &sequence.read(&all)].concat();
        let operands = scope.operands(&read, &sequence.written());
        let items = places * chunks;
        let mut text = head(items);
        self.captures(&mut text, sequence, &operands, &all);
        self.declare_carries(&mut text, parts, &|carry| format!("{}[place]", operands.names[&starts[carry]]));
        text.line(format!("const long end = min(chunk * {steps} + {steps}, {length}L);"));
        text.open(format!("for (long number = chunk * {steps}; number < end; number++)"));
        self.whole_step(&mut text, sequence, &operands, &all);
        text.close();
        text.open(format!("if (chunk == {})", chunks - 1));
        last_carries(&mut text, sequence, &operands);
        text.close();
        text.tidy();
        actions.push(self.group_kernel("steps", &operands, Grid { items, group }, text));
        actions
    }

    /// Variables for all carries, of these values at first.
    fn declare_carries(&self, text: &mut Text, parts: &Parts, value: &dyn Fn(usize) -> String) {
        for (carry, &dtype) in parts.dtypes.iter().enumerate() {
            text.line(self.language.declare_variable(&format!("carry{carry}"), dtype, &value(carry)));
        }
    }

    /// Variables for the values of compositions, which are set later.
    fn declare_parts(&self, text: &mut Text, parts: &Parts, name: &str) {
        for (value, &dtype) in parts.values.iter().enumerate() {
            let zero = self.language.literal(Value::from_i64(dtype, 0));
            text.line(self.language.declare_variable(&format!("{name}{value}"), dtype, &zero));
        }
    }

    /// The values of a step under names.
    fn element_of_step(
        &mut self,
        text: &mut Text,
        sequence: &Sequence,
        operands: &Operands,
        needed: &Needed,
        parts: &Parts,
    ) {
        self.values(text, sequence, operands, needed);
        for (value, operand) in parts.operands().into_iter().enumerate() {
            let name = format!("element{value}");
            let element = sequence.text(&self.language, operand);
            text.line(self.language.declare(&name, parts.values[value], &element));
        }
    }

    fn spelled(&mut self, op: Binary, dtype: DType, a: &str, b: &str) -> String {
        elementwise(&self.language, Elementwise::Binary(op), (dtype, dtype), &[a, b], &mut self.helpers).text
    }

    /// The factor of some steps and that of others behind them as that of all.
    fn factor(&mut self, dtype: DType, a: &str, b: &str) -> String {
        match dtype.is_float() {
            true => self.language.helper("factor", dtype, &[a, b], &mut self.helpers),
            false => self.spelled(Binary::Mul, dtype, a, b),
        }
    }

    /// A number by the factor of some steps.
    fn scaled(&mut self, dtype: DType, factor: &str, number: &str) -> String {
        match dtype.is_float() {
            true => self.language.helper("scaled", dtype, &[factor, number], &mut self.helpers),
            false => self.spelled(Binary::Mul, dtype, factor, number),
        }
    }

    /// The values of some steps and of others behind them as those of all: an expression for each.
    fn composed(
        &mut self,
        parts: &Parts,
        earlier: &dyn Fn(usize) -> String,
        later: &dyn Fn(usize) -> String,
    ) -> Vec<String> {
        let mut texts = Vec::new();
        for (composition, dtype, first) in parts.all() {
            match composition {
                Composition::Combined { op: Binary::Mul, .. } => {
                    texts.push(self.factor(dtype, &earlier(first), &later(first)));
                }
                Composition::Combined { op, .. } => {
                    texts.push(self.spelled(op, dtype, &earlier(first), &later(first)));
                }
                Composition::Affine { .. } => {
                    let (factor, summand) = (later(first), later(first + 1));
                    texts.push(self.factor(dtype, &earlier(first), &factor));
                    let product = self.scaled(dtype, &factor, &earlier(first + 1));
                    texts.push(self.spelled(Binary::Add, dtype, &product, &summand));
                }
                Composition::Replaced { .. } => texts.push(later(first)),
                Composition::Kept => {}
            }
        }
        texts
    }

    /// What is carried behind some steps: an expression for each carry that they change, which takes no other carry.
    fn applied(
        &mut self,
        parts: &Parts,
        steps: &dyn Fn(usize) -> String,
        carried: &dyn Fn(usize) -> String,
    ) -> Vec<(usize, String)> {
        let mut texts = Vec::new();
        for (carry, (composition, dtype, first)) in parts.all().enumerate() {
            let before = carried(carry);
            match composition {
                Composition::Combined { op: Binary::Mul, .. } => {
                    texts.push((carry, self.scaled(dtype, &steps(first), &before)));
                }
                Composition::Combined { op, .. } => {
                    texts.push((carry, self.spelled(op, dtype, &before, &steps(first))));
                }
                Composition::Affine { .. } => {
                    let product = self.scaled(dtype, &steps(first), &before);
                    texts.push((carry, self.spelled(Binary::Add, dtype, &product, &steps(first + 1))));
                }
                Composition::Replaced { .. } => texts.push((carry, steps(first))),
                Composition::Kept => {}
            }
        }
        texts
    }
}

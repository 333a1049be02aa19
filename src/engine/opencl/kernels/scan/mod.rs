//! Loops of many steps at few places, whose steps can be composed without knowing the carries: a scan that is shared among work
//! items.
//!
//! On graphics processors this is one kernel, whose groups tell each other the carries: see [`lookback`]. Elsewhere it is three
//! kernels, as OpenCL does not promise that another group makes progress while one waits for it. Steps are divided into chunks.
//! The first kernel composes the steps of each chunk but the last; the second goes through the chunks, and finds the carries
//! into each of them; the third does all steps of all chunks.
//!
//! If there are enough places for neighbouring items, an item takes a chunk at one place, see [`columns`]. Otherwise a group
//! does: see [`tile`].

mod columns;
mod composition;
mod lookback;
mod stages;
mod tile;

use super::nest::power_of_two_below;
use super::recurrence::{Inputs, Needed, Sequence};
use super::{KernelOperands, KernelScope, KernelWriter};
use crate::engine::opencl::code::Action;
use crate::kernel::BufferId;
use crate::operation::{Binary, HelperFunction};
use crate::shape::{DType, Value};
use crate::source::expression::elementwise;
use crate::source::helpers::opencl;
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;
use crate::term::recurrence::{Elementwise, StepOperand};
use composition::{Composition, compositions};
use stages::stages;
use std::collections::HashSet;

/// So many places make it worth to have neighbouring items at neighbouring places.
const COLUMNS: usize = 16;

/// Chunks of a place, at most, where one item goes through them.
const CHUNKS: usize = 1024;

/// A scan shares nothing where it has fewer than so many times the steps that an item takes at least.
const SHARED: usize = 8;

/// Work items of a group that composes steps together, at most.
const LANES: usize = 256;

/// Bytes of inputs that an item keeps, which are in registers: about half of those that it has where a device has all of its
/// groups side by side.
const KEPT: usize = 128;

/// The most steps whose inputs an item keeps.
const KEPT_STEPS: usize = 16;

/// The effect of consecutive steps on the carries: the values of their compositions, in the order of the carries.
struct ComposedSteps {
    compositions: Vec<Composition>,
    /// Their element types, in the order of the carries.
    dtypes: Vec<DType>,
    /// The element type of each value.
    values: Vec<DType>,
}

impl ComposedSteps {
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
    fn operands(&self) -> Vec<StepOperand> {
        self.compositions.iter().flat_map(|composition| composition.values()).collect()
    }
}

/// A loop all of whose steps can be composed.
fn composed(mut sequence: Sequence) -> Option<(Sequence, ComposedSteps)> {
    let dtypes = sequence.carried.clone();
    let compositions = compositions(&mut sequence.recurrence, &dtypes)?;
    let mut parts = ComposedSteps { compositions, dtypes, values: Vec::new() };
    parts.values = parts.operands().into_iter().map(|operand| sequence.dtype(operand)).collect();
    Some((sequence, parts))
}

impl KernelWriter {
    /// A recurrence whose steps are shared, if they can be and that is worth it.
    pub(super) fn shared_scan(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        sequence: &Sequence,
    ) -> Option<Vec<Action>> {
        let (length, places, least) = (sequence.length, sequence.places, self.limits.least_steps);
        let is_worth_it = length >= SHARED * least && places <= self.busy() / 2;
        // Items write last carries while others still read first ones.
        let origins = |ids: &[BufferId]| ids.iter().map(|&id| scope.procedure.origin(id)).collect::<HashSet<_>>();
        let is_apart = origins(&sequence.first).is_disjoint(&origins(&sequence.last));
        if self.limits.is_serial || !is_worth_it || sequence.carries() == 0 || !is_apart {
            return None;
        }
        let next = scope.procedure.buffers.len() + scope.scratch.len();
        let (stages, between) = stages(sequence, next as BufferId)?;
        let composed = stages.into_iter().map(composed).collect::<Option<Vec<(Sequence, ComposedSteps)>>>()?;
        for dtype in between {
            scope.add(plan.memory(dtype, length * places), dtype, length * places);
        }
        let even = (2 * length).isqrt();
        let chunks = (self.busy() / places).min(length / least).min(even).clamp(2, CHUNKS);
        let mut actions = Vec::new();
        for (sequence, parts) in composed {
            let is_few = places < COLUMNS;
            let at_once = match (self.limits.looks_back, is_few) {
                (false, _) => None,
                (true, true) => self.tiles_at_once(scope, plan, &sequence, &parts),
                (true, false) => self.columns_at_once(scope, plan, &sequence, &parts),
            };
            actions.extend(match (at_once, is_few) {
                (Some(actions), _) => actions,
                (None, true) => self.tiles(scope, plan, &sequence, &parts),
                (None, false) => self.columns(scope, plan, &sequence, &parts, chunks),
            });
        }
        Some(actions)
    }

    /// Memory of the step's own for each value of the parts, and for each carry, of so many chunks of all places.
    fn memory(
        &self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        places: usize,
        parts: &ComposedSteps,
        chunks: usize,
    ) -> [Vec<BufferId>; 2] {
        let mut all = |dtypes: &[DType], count: usize| {
            let add = |&dtype: &DType| scope.add(plan.memory(dtype, count), dtype, count);
            dtypes.iter().map(add).collect::<Vec<BufferId>>()
        };
        [all(&parts.values, places * (chunks - 1)), all(&parts.dtypes, places * chunks)]
    }

    /// The steps whose inputs an item keeps until it knows the carries into them.
    fn kept_steps(&self, sequence: &Sequence, parts: &ComposedSteps) -> usize {
        let needed = sequence.needed(&[&sequence.recurrence.results[..], &parts.operands()].concat());
        let bytes: usize = needed.inputs.iter().map(|&input| sequence.inputs[input].dtype.bytes()).sum();
        let steps = KEPT.checked_div(bytes).unwrap_or(KEPT_STEPS).clamp(1, KEPT_STEPS);
        steps.min(2 * self.limits.least_steps)
    }

    /// Variables for all carries, of these values at first.
    fn declare_carries(&self, text: &mut Text, parts: &ComposedSteps, value: &dyn Fn(usize) -> String) {
        for (carry, &dtype) in parts.dtypes.iter().enumerate() {
            text.line(self.language.declare_variable(&format!("carry{carry}"), dtype, &value(carry)));
        }
    }

    /// Variables for the values of compositions, which are set later.
    fn declare_parts(&self, text: &mut Text, parts: &ComposedSteps, name: &str) {
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
        operands: &KernelOperands,
        needed: &Needed,
        parts: &ComposedSteps,
    ) {
        self.values(text, sequence, operands, needed, Inputs::Arrays);
        self.elements(text, sequence, parts);
    }

    /// The same where their operands have names.
    fn elements(&self, text: &mut Text, sequence: &Sequence, parts: &ComposedSteps) {
        for (value, operand) in parts.operands().into_iter().enumerate() {
            let name = format!("element{value}");
            let element = sequence.text(&self.language, operand);
            text.line(self.language.declare(&name, parts.values[value], &element));
        }
    }

    fn spelled(&mut self, op: Binary, dtype: DType, a: &str, b: &str) -> String {
        elementwise(&self.language, Elementwise::Binary(op), (dtype, dtype), &[a, b], &mut self.helpers).text
    }

    /// The combined factor of some steps and of later ones.
    fn factor(&mut self, dtype: DType, a: &str, b: &str) -> String {
        match dtype.is_float() {
            true => self.language.helper(opencl::factor(dtype), dtype, &[a, b], &mut self.helpers),
            false => self.spelled(Binary::Mul, dtype, a, b),
        }
    }

    /// A number by the factor of some steps: a carry, or what others add.
    fn scaled(&mut self, helper: &'static HelperFunction, dtype: DType, factor: &str, number: &str) -> String {
        match dtype.is_float() {
            true => self.language.helper(helper, dtype, &[factor, number], &mut self.helpers),
            false => self.spelled(Binary::Mul, dtype, factor, number),
        }
    }

    /// The combined values of some steps and of later ones: an expression for each.
    fn composed(
        &mut self,
        parts: &ComposedSteps,
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
                    let product = self.scaled(opencl::scaled_summand(dtype), dtype, &factor, &earlier(first + 1));
                    texts.push(self.spelled(Binary::Add, dtype, &product, &summand));
                }
                Composition::Replaced { .. } => texts.push(later(first)),
                Composition::Kept => {}
            }
        }
        texts
    }

    /// Makes `carry` the outgoing carries of some steps, whose composition is at a place of these arrays.
    fn apply(&mut self, text: &mut Text, parts: &ComposedSteps, arrays: &str, place: &str) {
        let steps = |value: usize| format!("{arrays}{value}[{place}]");
        for (carry, value) in self.applied(parts, &steps, &|carry| format!("carry{carry}")) {
            text.line(format!("carry{carry} = {value};"));
        }
    }

    /// The outgoing carries of some steps: an expression for each carry that they change, which uses no other carry.
    fn applied(
        &mut self,
        parts: &ComposedSteps,
        steps: &dyn Fn(usize) -> String,
        carried: &dyn Fn(usize) -> String,
    ) -> Vec<(usize, String)> {
        let mut texts = Vec::new();
        for (carry, (composition, dtype, first)) in parts.all().enumerate() {
            let before = carried(carry);
            match composition {
                Composition::Combined { op: Binary::Mul, .. } => {
                    texts.push((carry, self.scaled(opencl::scaled(dtype), dtype, &steps(first), &before)));
                }
                Composition::Combined { op, .. } => {
                    texts.push((carry, self.spelled(op, dtype, &before, &steps(first))));
                }
                Composition::Affine { .. } => {
                    let product = self.scaled(opencl::scaled(dtype), dtype, &steps(first), &before);
                    texts.push((carry, self.spelled(Binary::Add, dtype, &product, &steps(first + 1))));
                }
                Composition::Replaced { .. } => texts.push((carry, steps(first))),
                Composition::Kept => {}
            }
        }
        texts
    }
}

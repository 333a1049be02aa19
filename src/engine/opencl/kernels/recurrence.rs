//! Loops whose step is elementwise as one kernel: a work item takes all steps of a place of what is carried.
//!
//! Carries are variables of the item's own; every input is read once, and every output written once, neighbouring items at
//! neighbouring places.

use super::{Operands, Scope, Writer};
use crate::engine::opencl::code::{Action, Inner};
use crate::kernel::{BufferId, Loop, Procedure};
use crate::shape::{DType, size};
use crate::source::expression::elementwise;
use crate::source::language::Language;
use crate::source::plan::Plan;
use crate::source::text::Text;
use crate::term::Scan;
use crate::term::recurrence::{Operand, Recurrence};
use std::collections::BTreeSet;

/// A loop as a recurrence of numbers for each place of its carries.
pub(super) struct Sequence<'a> {
    pub(super) repeated: &'a Loop,
    pub(super) recurrence: Recurrence,
    /// Places of what is carried.
    pub(super) places: usize,
}

/// What some values of a step are computed from.
pub(super) struct Needed {
    /// Which instructions are.
    steps: Vec<bool>,
    pub(super) inputs: BTreeSet<usize>,
    pub(super) captures: BTreeSet<usize>,
    pub(super) carries: BTreeSet<usize>,
}

impl<'a> Sequence<'a> {
    /// The recurrence that a loop is, if it is one.
    pub(super) fn new(repeated: &'a Loop) -> Option<Sequence<'a>> {
        let recurrence = Recurrence::of(&repeated.scan)?;
        let places = size(&recurrence.shape);
        Some(Sequence { repeated, recurrence, places })
    }

    pub(super) fn scan(&self) -> &Scan {
        &self.repeated.scan
    }

    /// How many carries there are.
    pub(super) fn carries(&self) -> usize {
        self.scan().carries
    }

    /// The element type of a value of a step.
    pub(super) fn dtype(&self, operand: Operand) -> DType {
        let scan = self.scan();
        let parameter = |at: usize| scan.body.parameter_type(at).dtype;
        match operand {
            Operand::Carry(carry) => parameter(carry),
            Operand::Input(input) => parameter(scan.carries + input),
            Operand::Capture(capture) => parameter(scan.carries + scan.inputs + capture),
            Operand::Constant(value) => value.dtype(),
            Operand::Step(step) => self.recurrence.steps[step].dtype,
        }
    }

    /// What these values are computed from.
    pub(super) fn needed(&self, results: &[Operand]) -> Needed {
        let mut needed = Needed {
            steps: vec![false; self.recurrence.steps.len()],
            inputs: BTreeSet::new(),
            captures: BTreeSet::new(),
            carries: BTreeSet::new(),
        };
        results.iter().for_each(|&operand| needed.add(operand));
        for (at, instruction) in self.recurrence.steps.iter().enumerate().rev() {
            if needed.steps[at] {
                instruction.operands.iter().for_each(|&operand| needed.add(operand));
            }
        }
        needed
    }

    /// The arrays that those are.
    pub(super) fn read(&self, needed: &Needed) -> Vec<BufferId> {
        let (scan, arguments) = (self.scan(), &self.repeated.arguments);
        let inputs = needed.inputs.iter().map(|input| arguments[scan.carries + input]);
        inputs.chain(needed.captures.iter().map(|&capture| self.capture(capture))).collect()
    }

    fn capture(&self, capture: usize) -> BufferId {
        self.repeated.arguments[self.scan().carries + self.scan().inputs + capture]
    }

    /// The first carries.
    pub(super) fn first(&self) -> &[BufferId] {
        &self.repeated.arguments[..self.carries()]
    }

    /// The text of a value of a step.
    pub(super) fn text(&self, language: &dyn Language, operand: Operand) -> String {
        match operand {
            Operand::Carry(carry) => format!("carry{carry}"),
            Operand::Input(input) => format!("input{input}"),
            Operand::Capture(capture) => format!("capture{capture}"),
            Operand::Constant(value) => language.literal(value),
            Operand::Step(step) => format!("value{step}"),
        }
    }

    /// The place in an array of so many elements for each step.
    fn place(&self, slice: usize) -> String {
        if slice == 1 { "at".into() } else { format!("at * {slice} + item") }
    }
}

impl Needed {
    fn add(&mut self, operand: Operand) {
        match operand {
            Operand::Carry(carry) => _ = self.carries.insert(carry),
            Operand::Input(input) => _ = self.inputs.insert(input),
            Operand::Capture(capture) => _ = self.captures.insert(capture),
            Operand::Step(step) => self.steps[step] = true,
            Operand::Constant(_) => {}
        }
    }
}

impl Writer {
    /// A loop whose step is elementwise, if it is one, without a launch for each step.
    pub(super) fn recurrence(&mut self, procedure: &Procedure, plan: &mut Plan<'_>, repeated: &Loop) -> Option<Inner> {
        let sequence = Sequence::new(repeated)?;
        if sequence.places == 0 {
            return Some(Inner::Actions(Vec::new()));
        }
        // A kernel has room for so many arrays, each with an offset.
        if (repeated.arguments.len() + repeated.results.len() + 4 * sequence.carries()) * 16 > self.limits.parameters {
            return None;
        }
        let mut scope = Scope { procedure, scratch: Vec::new() };
        let actions = match self.shared_scan(&mut scope, plan, &sequence) {
            Some(actions) => actions,
            None => vec![self.one_by_one(&scope, &sequence)],
        };
        Some(Inner::Actions(actions))
    }

    /// A recurrence with an item for each place.
    fn one_by_one(&mut self, scope: &Scope<'_>, sequence: &Sequence<'_>) -> Action {
        let all = sequence.needed(&sequence.recurrence.results);
        let read = [sequence.first(), &sequence.read(&all)].concat();
        let operands = scope.operands(&read, &sequence.repeated.results);
        let mut text = Text::default();
        self.captures(&mut text, sequence, &operands, &all);
        for (carry, id) in sequence.first().iter().enumerate() {
            let start = format!("{}[item]", operands.names[id]);
            text.line(self.language.declare_variable(
                &format!("carry{carry}"),
                sequence.dtype(Operand::Carry(carry)),
                &start,
            ));
        }
        text.open(format!("for (long number = 0; number < {}; number++)", sequence.scan().length));
        self.whole_step(&mut text, sequence, &operands, &all);
        text.close();
        last_carries(&mut text, sequence, &operands);
        self.kernel("recurrence", &operands, sequence.places, text)
    }

    /// Gives what is captured at an item's place names.
    pub(super) fn captures(&self, text: &mut Text, sequence: &Sequence<'_>, operands: &Operands, needed: &Needed) {
        let scan = sequence.scan();
        for &capture in &needed.captures {
            let ty = scan.body.parameter_type(scan.carries + scan.inputs + capture);
            let place = if ty.size() == 1 { "0" } else { "item" };
            let element = format!("{}[{place}]", operands.names[&sequence.capture(capture)]);
            text.line(self.language.declare(&format!("capture{capture}"), ty.dtype, &element));
        }
    }

    /// What a step computes of its inputs, whose number in the order of steps is `number`, under names.
    pub(super) fn values(&mut self, text: &mut Text, sequence: &Sequence<'_>, operands: &Operands, needed: &Needed) {
        let scan = sequence.scan();
        let position = match scan.reverse {
            false => "number".to_string(),
            true => format!("{} - number", scan.length - 1),
        };
        text.declare("at", format!("const long at = {position};"));
        for &input in &needed.inputs {
            let (ty, id) = (scan.body.parameter_type(scan.carries + input), scan.carries + input);
            let element =
                format!("{}[{}]", operands.names[&sequence.repeated.arguments[id]], sequence.place(ty.size()));
            text.line(self.language.declare(&format!("input{input}"), ty.dtype, &element));
        }
        for (at, instruction) in sequence.recurrence.steps.iter().enumerate().filter(|&(at, _)| needed.steps[at]) {
            let texts: Vec<String> =
                instruction.operands.iter().map(|&operand| sequence.text(&self.language, operand)).collect();
            let texts: Vec<&str> = texts.iter().map(|text| &text[..]).collect();
            let dtypes = (sequence.dtype(instruction.operands[0]), instruction.dtype);
            let value = elementwise(&self.language, instruction.op, dtypes, &texts, &mut self.helpers);
            text.line(self.language.declare(&format!("value{at}"), instruction.dtype, &value.text));
        }
    }

    /// A step: its outputs, and the next carries instead of those before.
    pub(super) fn whole_step(
        &mut self,
        text: &mut Text,
        sequence: &Sequence<'_>,
        operands: &Operands,
        needed: &Needed,
    ) {
        self.values(text, sequence, operands, needed);
        let (carries, results) = (sequence.carries(), &sequence.recurrence.results);
        for (result, id) in results[carries..].iter().zip(&sequence.repeated.results[carries..]) {
            let (place, value) = (sequence.place(sequence.places), sequence.text(&self.language, *result));
            text.line(format!("{}[{place}] = {value};", operands.names[id]));
        }
        // All carries change at once.
        let changed = || (0..carries).filter(|&carry| results[carry] != Operand::Carry(carry));
        for carry in changed() {
            let value = sequence.text(&self.language, results[carry]);
            text.line(self.language.declare(&format!("next{carry}"), sequence.dtype(Operand::Carry(carry)), &value));
        }
        changed().for_each(|carry| text.line(format!("carry{carry} = next{carry};")));
    }
}

/// Writes what is carried behind the last step.
pub(super) fn last_carries(text: &mut Text, sequence: &Sequence<'_>, operands: &Operands) {
    for (carry, id) in sequence.repeated.results[..sequence.carries()].iter().enumerate() {
        text.line(format!("{}[item] = carry{carry};", operands.names[id]));
    }
}

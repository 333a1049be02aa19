//! Loops with an elementwise step as one kernel: a work item takes all steps at one place of the carries.
//!
//! Carries are variables of the item's own; every input is read once, and every output written once, neighbouring items at
//! neighbouring places.

use super::{KernelOperands, KernelScope, KernelWriter};
use crate::engine::opencl::code::{Action, Inner};
use crate::kernel::{BufferId, Loop, Procedure};
use crate::shape::{DType, size};
use crate::source::expression::elementwise;
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;
use crate::term::recurrence::{Recurrence, StepOperand};
use std::collections::BTreeSet;

/// An array that a loop reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopArgument {
    pub(super) id: BufferId,
    pub(super) dtype: DType,
    /// Elements of each step.
    pub(super) slice: usize,
}

/// A loop as a recurrence of numbers for each place of its carries.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) recurrence: Recurrence,
    pub(super) length: usize,
    pub(super) reverse: bool,
    /// Places of the carries.
    pub(super) places: usize,
    /// The first carries.
    pub(super) first: Vec<BufferId>,
    /// Their element types.
    pub(super) carried: Vec<DType>,
    pub(super) inputs: Vec<LoopArgument>,
    pub(super) captures: Vec<LoopArgument>,
    /// The last carries.
    pub(super) last: Vec<BufferId>,
    pub(super) outputs: Vec<BufferId>,
}

/// Where the inputs of a step are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inputs<'a> {
    /// In memory.
    Arrays,
    /// In variables of the item's own, at this position of each: see [`KernelWriter::keep`].
    Kept(&'a str),
}

/// The values from which some values of a step are computed.
pub(super) struct Needed {
    /// Which instructions are needed.
    pub(super) steps: Vec<bool>,
    pub(super) inputs: BTreeSet<usize>,
    pub(super) captures: BTreeSet<usize>,
    pub(super) carries: BTreeSet<usize>,
}

impl Sequence {
    /// The recurrence that a loop is, if it is one.
    fn new(repeated: &Loop) -> Option<Sequence> {
        let scan = &repeated.scan;
        let recurrence = Recurrence::of(scan)?;
        let (arguments, inputs) = (&repeated.arguments, scan.carries + scan.inputs);
        let argument = |at: usize| {
            let ty = scan.body.parameter_type(at);
            LoopArgument { id: arguments[at], dtype: ty.dtype, slice: ty.size() }
        };
        Some(Sequence {
            places: size(&recurrence.shape),
            recurrence,
            length: scan.length,
            reverse: scan.reverse,
            first: arguments[..scan.carries].to_vec(),
            carried: (0..scan.carries).map(|at| scan.body.parameter_type(at).dtype).collect(),
            inputs: (scan.carries..inputs).map(argument).collect(),
            captures: (inputs..arguments.len()).map(argument).collect(),
            last: repeated.results[..scan.carries].to_vec(),
            outputs: repeated.results[scan.carries..].to_vec(),
        })
    }

    /// How many carries there are.
    pub(super) fn carries(&self) -> usize {
        self.first.len()
    }

    /// The last carries, and the outputs.
    pub(super) fn written(&self) -> Vec<BufferId> {
        [&self.last[..], &self.outputs].concat()
    }

    /// The element type of a value of a step.
    pub(super) fn dtype(&self, operand: StepOperand) -> DType {
        match operand {
            StepOperand::Carry(carry) => self.carried[carry],
            StepOperand::Input(input) => self.inputs[input].dtype,
            StepOperand::Capture(capture) => self.captures[capture].dtype,
            StepOperand::Constant(value) => value.dtype(),
            StepOperand::Step(step) => self.recurrence.steps[step].dtype,
        }
    }

    /// The values from which these are computed.
    pub(super) fn needed(&self, results: &[StepOperand]) -> Needed {
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
        let inputs = needed.inputs.iter().map(|&input| self.inputs[input].id);
        inputs.chain(needed.captures.iter().map(|&capture| self.captures[capture].id)).collect()
    }

    /// The text of a value of a step.
    pub(super) fn text(&self, language: &dyn Language, operand: StepOperand) -> String {
        match operand {
            StepOperand::Carry(carry) => format!("carry{carry}"),
            StepOperand::Input(input) => format!("input{input}"),
            StepOperand::Capture(capture) => format!("capture{capture}"),
            StepOperand::Constant(value) => language.literal(value),
            StepOperand::Step(step) => format!("value{step}"),
        }
    }

    /// The place in an array of so many elements for each step.
    fn place(&self, slice: usize) -> String {
        if slice == 1 { "at".into() } else { format!("at * {slice} + item") }
    }
}

impl Needed {
    fn add(&mut self, operand: StepOperand) {
        match operand {
            StepOperand::Carry(carry) => _ = self.carries.insert(carry),
            StepOperand::Input(input) => _ = self.inputs.insert(input),
            StepOperand::Capture(capture) => _ = self.captures.insert(capture),
            StepOperand::Step(step) => self.steps[step] = true,
            StepOperand::Constant(_) => {}
        }
    }
}

impl KernelWriter {
    /// A loop whose step is elementwise, if it is one, without a launch for each step.
    pub(super) fn recurrence(
        &mut self,
        procedure: &Procedure,
        plan: &mut BufferPlan<'_>,
        repeated: &Loop,
    ) -> Option<Inner> {
        let sequence = Sequence::new(repeated)?;
        if sequence.places == 0 {
            return Some(Inner::Actions(Vec::new()));
        }
        if repeated.arguments.len() + repeated.results.len() + 4 * sequence.carries() > self.limits.most_arrays() {
            return None;
        }
        let mut scope = KernelScope { procedure, scratch: Vec::new() };
        let actions = match self.shared_scan(&mut scope, plan, &sequence) {
            Some(actions) => actions,
            None => vec![self.one_by_one(&scope, &sequence)],
        };
        Some(Inner::Actions(actions))
    }

    /// A recurrence with an item for each place.
    fn one_by_one(&mut self, scope: &KernelScope<'_>, sequence: &Sequence) -> Action {
        let all = sequence.needed(&sequence.recurrence.results);
        let read = [&sequence.first[..], &sequence.read(&all)].concat();
        let operands = scope.operands(&read, &sequence.written());
        let mut text = Text::default();
        self.captures(&mut text, sequence, &operands, &all);
        for (carry, id) in sequence.first.iter().enumerate() {
            let start = format!("{}[item]", operands.names[id]);
            text.line(self.language.declare_variable(
                &format!("carry{carry}"),
                sequence.dtype(StepOperand::Carry(carry)),
                &start,
            ));
        }
        text.open(format!("for (long number = 0; number < {}; number++)", sequence.length));
        self.whole_step(&mut text, sequence, &operands, &all, Inputs::Arrays);
        text.close();
        last_carries(&mut text, sequence, &operands);
        self.kernel("recurrence", &operands, sequence.places, text)
    }

    /// Names the captures at an item's place.
    pub(super) fn captures(&self, text: &mut Text, sequence: &Sequence, operands: &KernelOperands, needed: &Needed) {
        for &capture in &needed.captures {
            let LoopArgument { id, dtype, slice } = sequence.captures[capture];
            let place = if slice == 1 { "0" } else { "item" };
            let element = format!("{}[{place}]", operands.names[&id]);
            text.line(self.language.declare(&format!("capture{capture}"), dtype, &element));
        }
    }

    /// Variables in which an item keeps the inputs of so many steps.
    pub(super) fn declare_kept(&self, text: &mut Text, sequence: &Sequence, needed: &Needed, steps: usize) {
        for &input in &needed.inputs {
            text.line(format!("{} kept{input}[{steps}];", self.element(sequence.inputs[input].dtype)));
        }
    }

    /// Reads the inputs of a step, and keeps them for later at this position.
    pub(super) fn keep(
        &self,
        text: &mut Text,
        sequence: &Sequence,
        operands: &KernelOperands,
        needed: &Needed,
        position: &str,
    ) {
        self.inputs(text, sequence, operands, needed, Inputs::Arrays);
        needed.inputs.iter().for_each(|input| text.line(format!("kept{input}[{position}] = input{input};")));
    }

    /// The inputs of a step, whose number in the order of steps is `number`, under names.
    fn inputs(
        &self,
        text: &mut Text,
        sequence: &Sequence,
        operands: &KernelOperands,
        needed: &Needed,
        from: Inputs<'_>,
    ) {
        let position = match sequence.reverse {
            false => "number".to_string(),
            true => format!("{} - number", sequence.length.saturating_sub(1)),
        };
        text.declare("at", format!("const long at = {position};"));
        for &input in &needed.inputs {
            let LoopArgument { id, dtype, slice } = sequence.inputs[input];
            let element = match from {
                Inputs::Arrays => format!("{}[{}]", operands.names[&id], sequence.place(slice)),
                Inputs::Kept(position) => format!("kept{input}[{position}]"),
            };
            text.line(self.language.declare(&format!("input{input}"), dtype, &element));
        }
    }

    /// Computes and names the values of a step that depend on its inputs.
    pub(super) fn values(
        &mut self,
        text: &mut Text,
        sequence: &Sequence,
        operands: &KernelOperands,
        needed: &Needed,
        from: Inputs<'_>,
    ) {
        self.inputs(text, sequence, operands, needed, from);
        self.instructions(text, sequence, needed);
    }

    /// Computes the values of a step that depend on its inputs, where the inputs have names.
    pub(super) fn instructions(&mut self, text: &mut Text, sequence: &Sequence, needed: &Needed) {
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
        sequence: &Sequence,
        operands: &KernelOperands,
        needed: &Needed,
        from: Inputs<'_>,
    ) {
        self.values(text, sequence, operands, needed, from);
        let (carries, results) = (sequence.carries(), &sequence.recurrence.results);
        for (result, id) in results[carries..].iter().zip(&sequence.outputs) {
            let (place, value) = (sequence.place(sequence.places), sequence.text(&self.language, *result));
            text.line(format!("{}[{place}] = {value};", operands.names[id]));
        }
        // All carries change at once.
        let changed = || (0..carries).filter(|&carry| results[carry] != StepOperand::Carry(carry));
        for carry in changed() {
            let value = sequence.text(&self.language, results[carry]);
            text.line(self.language.declare(
                &format!("next{carry}"),
                sequence.dtype(StepOperand::Carry(carry)),
                &value,
            ));
        }
        changed().for_each(|carry| text.line(format!("carry{carry} = next{carry};")));
    }
}

/// Writes the carries after the last step.
pub(super) fn last_carries(text: &mut Text, sequence: &Sequence, operands: &KernelOperands) {
    for (carry, id) in sequence.last.iter().enumerate() {
        text.line(format!("{}[item] = carry{carry};", operands.names[id]));
    }
}

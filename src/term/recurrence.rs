//! Loops whose step is a few elementwise operations on values of one shape: running totals, linear recurrences, and the
//! derivatives of such loops.
//!
//! Elements at different places of the carries are independent, so such a loop is one recurrence of numbers for each place. An
//! engine can keep the carries in registers, read every input and write every output once, and needs no array for a single
//! step. This module describes the computation of such a recurrence; how to run it is up to the engine.

use crate::affine::AffineMap;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Shape, Value};
use crate::term::{NodeId, Op, Scan};
use smallvec::SmallVec;

/// The operation of an instruction on its operands' elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elementwise {
    Unary(Unary),
    /// The order of the operands matters: `max` and `min` resolve ties by it.
    Binary(Binary),
    Compare(Comparison),
    /// Mask, yes, no.
    Select,
    Cast(DType),
}

impl Elementwise {
    /// The operation of the language.
    pub(crate) fn op(self) -> Op {
        match self {
            Elementwise::Unary(op) => Op::Unary(op),
            Elementwise::Binary(op) => Op::Binary(op),
            Elementwise::Compare(op) => Op::Compare(op),
            Elementwise::Select => Op::Select,
            Elementwise::Cast(dtype) => Op::Cast(dtype),
        }
    }

    /// The elementwise operation that an operation of the language is.
    pub(crate) fn of(op: &Op) -> Option<Elementwise> {
        match op {
            Op::Unary(op) => Some(Elementwise::Unary(*op)),
            Op::Binary(op) => Some(Elementwise::Binary(*op)),
            Op::Compare(op) => Some(Elementwise::Compare(*op)),
            Op::Select => Some(Elementwise::Select),
            Op::Cast(dtype) => Some(Elementwise::Cast(*dtype)),
            _ => None,
        }
    }
}

/// Where a value of a step is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum StepOperand {
    /// A carry as it was before the step.
    Carry(usize),
    /// The step's slice of an input.
    Input(usize),
    /// A capture, the same in every step.
    Capture(usize),
    /// One number, in every step and at every place.
    Constant(Value),
    /// The result of an earlier instruction of the same step.
    Step(usize),
}

/// One instruction of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StepInstruction {
    pub(crate) op: Elementwise,
    pub(crate) operands: SmallVec<[StepOperand; 3]>,
    /// The element type of the result.
    pub(crate) dtype: DType,
}

/// A loop's step as straight-line code on the elements at one place.
///
/// Carries, slices of inputs and captures have the shape [`Recurrence::shape`], or rank 0: an input or a capture of rank 0
/// stands for an array of that shape whose elements are all equal to it. Inputs and captures that nothing reads may have any
/// shape. Element types may differ from value to value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Recurrence {
    /// The shape of the carries, and of every value of a step.
    pub(crate) shape: Shape,
    /// The instructions, each of which uses results of earlier ones only.
    pub(crate) steps: Vec<StepInstruction>,
    /// The next carries, then one slice of each output. The next carries are taken all at once, after the last
    /// instruction: a [`StepOperand::Carry`] is the old value here too.
    pub(crate) results: Vec<StepOperand>,
}

impl Recurrence {
    /// The recurrence that a loop is; `None` where a step does something that is not elementwise, or where the loop carries
    /// nothing, and so is a map.
    pub(crate) fn of(scan: &Scan) -> Option<Recurrence> {
        let body = &*scan.body;
        if scan.carries == 0 {
            return None;
        }
        let shape = body.parameter_type(0).shape.clone();
        let mut values: Vec<Option<StepOperand>> = Vec::with_capacity(body.nodes.len());
        for at in 0..body.arity() {
            // A parameter of another shape is no value, but it may be one number that a view repeats.
            values.push((body.parameter_type(at).shape == shape).then(|| parameter(scan, at)));
        }
        if values[..scan.carries].contains(&None) {
            return None;
        }
        let mut steps: Vec<StepInstruction> = Vec::new();
        for node in &body.nodes[body.arity()..] {
            let argument = |at: usize| values[node.args[at] as usize];
            let value = match &node.op {
                // An array that a constant repeats, before a view does.
                Op::Constant(array) => {
                    values.push(Some(StepOperand::Constant(array.uniform()?)));
                    continue;
                }
                Op::Alias | Op::Mark => argument(0)?,
                Op::View(map) => repeated(scan, map, node.args[0], &values)?,
                op => {
                    let operands: Option<SmallVec<[StepOperand; 3]>> = (0..node.args.len()).map(argument).collect();
                    let dtype = node.types.first()?.dtype;
                    steps.push(StepInstruction { op: Elementwise::of(op)?, operands: operands?, dtype });
                    StepOperand::Step(steps.len() - 1)
                }
            };
            if node.ty().shape != shape {
                return None;
            }
            values.push(Some(value));
        }
        let result = |&id: &NodeId| values[id as usize].filter(|_| body.node(id).ty().shape == shape);
        let results: Option<Vec<StepOperand>> = body.results.iter().map(result).collect();
        Some(Recurrence { shape, steps, results: results? })
    }

    /// Whether each instruction depends on a carry. The others could be computed for all steps at once.
    pub(crate) fn depends_on_carries(&self) -> Vec<bool> {
        let mut depends = vec![false; self.steps.len()];
        for at in 0..self.steps.len() {
            depends[at] = self.steps[at].operands.iter().any(|operand| match operand {
                StepOperand::Carry(_) => true,
                StepOperand::Step(step) => depends[*step],
                _ => false,
            });
        }
        depends
    }

    /// Whether each instruction is one that some of the first `carries` results depend on. Only outputs depend on the others.
    pub(crate) fn leads_to_carries(&self, carries: usize) -> Vec<bool> {
        let mut leads = vec![false; self.steps.len()];
        for result in &self.results[..carries] {
            if let StepOperand::Step(step) = result {
                leads[*step] = true;
            }
        }
        for at in (0..self.steps.len()).rev() {
            if leads[at] {
                for operand in &self.steps[at].operands {
                    if let StepOperand::Step(step) = operand {
                        leads[*step] = true;
                    }
                }
            }
        }
        leads
    }
}

/// A parameter of a loop's body.
fn parameter(scan: &Scan, at: usize) -> StepOperand {
    if at < scan.carries {
        StepOperand::Carry(at)
    } else if at < scan.carries + scan.inputs {
        StepOperand::Input(at - scan.carries)
    } else {
        StepOperand::Capture(at - scan.carries - scan.inputs)
    }
}

/// One number at every place, which a view reads from rank 0.
fn repeated(scan: &Scan, map: &AffineMap, source: NodeId, values: &[Option<StepOperand>]) -> Option<StepOperand> {
    if !map.source().is_empty() {
        return None;
    }
    match values[source as usize] {
        Some(constant @ StepOperand::Constant(_)) => Some(constant),
        None if (source as usize) < scan.body.arity() => Some(parameter(scan, source as usize)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

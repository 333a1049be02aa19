//! Loops whose step is elementwise, run without an array for any single step: see [`Recurrence`].
//!
//! A loop is run in blocks of steps. Instructions that depend on no carry are computed for all steps of a block at once. Then
//! come the instructions that lead from carries to the next carries, number by number. The instructions that depend on those
//! but lead to no next carry are again computed at once. Where one operation leads from each carry to the next, as in running
//! totals, its loop over the steps is compiled for that operation.

mod fold;
mod walk;

use super::apply::apply;
use crate::array::memory::{self, OutOfMemory};
use crate::array::{Array, Data, ElementType, for_data, for_pair};
use crate::shape::{DType, Shape, Value, size};
use crate::term::Scan;
use crate::term::recurrence::{Elementwise, Recurrence, StepInstruction, StepOperand};
use fold::{BlockNumbers, ElementwiseNumber, Fold};

/// How many numbers of each value are computed at once: so few that they stay in the nearest memory.
const BLOCK: usize = 2048;

/// How many places a recurrence of several operations has at most. Where there are more, an array for every step costs
/// little, and an operation on all places at once is faster than one operation after the other for each place.
const PLACES: usize = 64;

/// When an instruction is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    Within,
    After,
}

/// A loop, and how it is run.
struct RecurrencePlan<'a> {
    recurrence: &'a Recurrence,
    phases: Vec<Phase>,
    /// Number of carries.
    carries: usize,
    /// Number of places of each value.
    places: usize,
    reverse: bool,
    /// Which carries somebody reads as they are before each step.
    read: Vec<bool>,
    /// For each carry the instruction whose result it becomes, if that takes the carry and otherwise only values that depend on
    /// no carry; and the position of the carry among its operands. `None` where there is another kind of carry.
    folds: Option<Vec<(usize, usize)>>,
}

impl RecurrencePlan<'_> {
    fn new<'a>(scan: &Scan, recurrence: &'a Recurrence) -> RecurrencePlan<'a> {
        let carries = scan.carries;
        let phase = |(depends, leads): (bool, bool)| match (depends, leads) {
            (false, _) => Phase::Before,
            (true, true) => Phase::Within,
            (true, false) => Phase::After,
        };
        let depends = recurrence.depends_on_carries().into_iter();
        let phases: Vec<Phase> = depends.zip(recurrence.leads_to_carries(carries)).map(phase).collect();
        let fold = |carry: usize| {
            let StepOperand::Step(step) = recurrence.results[carry] else { return None };
            let StepInstruction { op: Elementwise::Binary(_), operands, .. } = &recurrence.steps[step] else {
                return None;
            };
            let at = operands.iter().position(|&operand| operand == StepOperand::Carry(carry))?;
            let free = match operands[1 - at] {
                StepOperand::Carry(_) => false,
                StepOperand::Step(other) => phases[other] == Phase::Before,
                _ => true,
            };
            free.then_some((step, at))
        };
        let folds: Option<Vec<(usize, usize)>> = (0..carries).map(fold).collect();
        debug_assert!(
            folds
                .as_ref()
                .is_none_or(|folds| { folds.len() == phases.iter().filter(|&&phase| phase == Phase::Within).count() })
        );
        let mut read = vec![false; carries];
        let operands = recurrence.steps.iter().zip(&phases).filter(|(_, phase)| **phase != Phase::Within);
        let operands = operands.flat_map(|(step, _)| &step.operands);
        for operand in operands.chain(&recurrence.results[carries..]) {
            if let StepOperand::Carry(carry) = operand {
                read[*carry] = true;
            }
        }
        let places = size(&recurrence.shape);
        RecurrencePlan { recurrence, phases, carries, places, reverse: scan.reverse, read, folds }
    }

    /// The instructions of a phase.
    fn instructions(&self, phase: Phase) -> impl Iterator<Item = (usize, &StepInstruction)> {
        self.recurrence.steps.iter().enumerate().filter(move |&(at, _)| self.phases[at] == phase)
    }
}

/// The values of a block of steps, as far as they are known.
struct StepBlock {
    /// The numbers of each value.
    length: usize,
    inputs: Vec<Array>,
    captures: Vec<Array>,
    /// The carries before every step.
    carries: Vec<Option<Array>>,
    steps: Vec<Option<Array>>,
}

impl StepBlock {
    fn value(&self, operand: StepOperand) -> Array {
        let known = |array: &Option<Array>| array.clone().expect("instructions are in order");
        match operand {
            StepOperand::Carry(at) => known(&self.carries[at]),
            StepOperand::Input(at) => self.inputs[at].clone(),
            StepOperand::Capture(at) => self.captures[at].clone(),
            StepOperand::Constant(value) => Array::full(&[self.length], value),
            StepOperand::Step(at) => known(&self.steps[at]),
        }
    }

    /// Runs the instructions of a phase for all steps at once.
    fn run(&mut self, plan: &RecurrencePlan<'_>, phase: Phase) -> Result<(), OutOfMemory> {
        for (at, instruction) in plan.instructions(phase) {
            let operands = instruction.operands.iter().map(|&operand| self.value(operand)).collect();
            self.steps[at] = Some(apply(&instruction.op.op(), operands)?);
        }
        Ok(())
    }

    /// Runs each carry's one operation over the steps.
    fn fold<T: ElementwiseNumber>(
        &mut self,
        plan: &RecurrencePlan<'_>,
        folds: &[(usize, usize)],
        state: &mut [Vec<T>],
    ) -> Result<(), OutOfMemory> {
        for (carry, (&(step, at), state)) in folds.iter().zip(state).enumerate() {
            let StepInstruction { op: Elementwise::Binary(op), operands, .. } = &plan.recurrence.steps[step] else {
                unreachable!("an operation of two operands leads from a carry to the next")
            };
            let other = self.value(operands[1 - at]);
            let other = BlockNumbers::of(&other).expect("operands have one element type");
            let before = plan.read[carry].then(|| state.clone());
            let mut out = memory::filled(&[self.length], T::ZERO)?;
            T::binary(*op, Fold { state, other: &other, left: at == 0, reverse: plan.reverse, out: &mut out });
            if let Some(before) = before {
                // The value before a step is that after the one before it.
                let rest = self.length - plan.places;
                let shifted = match plan.reverse {
                    false => memory::collected(&[self.length], before.into_iter().chain(out[..rest].iter().copied())),
                    true => memory::collected(&[self.length], out[plan.places..].iter().copied().chain(before)),
                }?;
                self.carries[carry] = Some(T::wrap(Data::from_vec(&[self.length], shifted)));
            }
            self.steps[step] = Some(T::wrap(Data::from_vec(&[self.length], out)));
        }
        Ok(())
    }
}

/// Some of the elements of an array, in row-major order.
fn part<T: ElementType>(data: &Data<T>, from: usize, count: usize) -> Result<Array, OutOfMemory> {
    Ok(T::wrap(match data {
        Data::Uniform(_, x) => Data::Uniform(Shape::from_slice(&[count]), *x),
        dense => {
            let elements = dense.as_slice().unwrap_or_default()[from..from + count].iter().copied();
            Data::from_vec(&[count], memory::collected(&[count], elements)?)
        }
    }))
}

/// An array for each of so many numbers, one after the other.
fn tiled<T: ElementType>(data: &Data<T>, count: usize) -> Result<Array, OutOfMemory> {
    Ok(T::wrap(match data {
        Data::Uniform(_, x) => Data::Uniform(Shape::from_slice(&[count]), *x),
        dense => {
            let elements = dense.as_slice().unwrap_or_default().iter().copied().cycle().take(count);
            Data::from_vec(&[count], memory::collected(&[count], elements)?)
        }
    }))
}

/// Writes a block of a loop's output, whose buffer is made at the first one that its one value does not fit.
fn write<T: ElementType>(output: &mut Data<T>, block: &Data<T>, from: usize) -> Result<(), OutOfMemory> {
    if let Data::Uniform(shape, x) = output {
        if matches!(block, Data::Uniform(_, y) if x.same_bits(*y)) {
            return Ok(());
        }
        let shape = shape.clone();
        *output = Data::from_vec(&shape, memory::filled(&shape, *x)?);
    }
    if let Data::Dense(buffer) = output {
        let out = &mut buffer.as_slice_mut()[from..from + size(block.shape())];
        match block {
            Data::Uniform(_, x) => out.fill(*x),
            dense => out.copy_from_slice(dense.as_slice().unwrap_or_default()),
        }
    }
    Ok(())
}

/// Whether everything that leads from carries to the next ones can be computed with numbers of one type.
fn has_one_type<T: ElementwiseNumber>(_: &Data<T>, scan: &Scan, plan: &RecurrencePlan<'_>) -> bool {
    let fits = |dtype: DType| dtype == T::DTYPE || dtype == DType::Bool;
    let dtype = |operand: &StepOperand| match *operand {
        StepOperand::Carry(_) => T::DTYPE,
        StepOperand::Input(at) => scan.body.parameter_type(scan.carries + at).dtype,
        StepOperand::Capture(at) => scan.body.parameter_type(scan.body.parameters + at).dtype,
        StepOperand::Constant(value) => value.dtype(),
        StepOperand::Step(at) => plan.recurrence.steps[at].dtype,
    };
    let carried = (0..scan.carries).all(|carry| scan.body.parameter_type(carry).dtype == T::DTYPE);
    carried
        && plan.instructions(Phase::Within).all(|(_, instruction)| match instruction.op {
            Elementwise::Unary(_) | Elementwise::Binary(_) => instruction.dtype == T::DTYPE,
            Elementwise::Compare(_) | Elementwise::Select => instruction.operands.iter().all(|at| fits(dtype(at))),
            Elementwise::Cast(_) => false,
        })
}

/// Runs a loop whose step is elementwise: its last carries and its outputs; `None` where it is another loop, or is run faster
/// with an array for each step.
pub(crate) fn run_recurrence(
    scan: &Scan,
    carries: &[Array],
    inputs: &[Array],
    captures: &[Array],
) -> Option<Result<Vec<Array>, OutOfMemory>> {
    let recurrence = Recurrence::of(scan)?;
    let places = size(&recurrence.shape);
    let sliced = (0..scan.inputs).all(|at| scan.body.parameter_type(scan.carries + at).size() == places);
    if scan.length == 0 || places == 0 || !sliced {
        return None;
    }
    let plan = RecurrencePlan::new(scan, &recurrence);
    let is_small = plan.folds.is_some() || places <= PLACES;
    for_data!(&carries[0], first => {
        let runs = is_small && has_one_type(first, scan, &plan);
        runs.then(|| run_plan(states_like(first, carries)?, scan, &plan, inputs, captures))
    })
}

/// The states of all carries, whatever their element type is: the code that runs blocks is compiled once for all types.
trait States {
    /// Runs each carry's one operation over the steps of a block.
    fn fold(
        &mut self,
        block: &mut StepBlock,
        plan: &RecurrencePlan<'_>,
        folds: &[(usize, usize)],
    ) -> Result<(), OutOfMemory>;
    /// Runs the instructions from carries to the next carries over the steps of a block.
    fn walk(&mut self, block: &mut StepBlock, plan: &RecurrencePlan<'_>) -> Result<(), OutOfMemory>;
    /// The states as arrays.
    fn take(&mut self, shape: &[usize]) -> Vec<Array>;
}

impl<T: ElementwiseNumber> States for Vec<Vec<T>> {
    fn fold(
        &mut self,
        block: &mut StepBlock,
        plan: &RecurrencePlan<'_>,
        folds: &[(usize, usize)],
    ) -> Result<(), OutOfMemory> {
        block.fold(plan, folds, self)
    }
    fn walk(&mut self, block: &mut StepBlock, plan: &RecurrencePlan<'_>) -> Result<(), OutOfMemory> {
        block.walk(plan, self)
    }
    fn take(&mut self, shape: &[usize]) -> Vec<Array> {
        self.drain(..).map(|numbers| T::wrap(Data::from_vec(shape, numbers))).collect()
    }
}

/// The states of carries that have the element type of this one.
fn states_like<T: ElementwiseNumber>(_: &Data<T>, carries: &[Array]) -> Result<Box<dyn States>, OutOfMemory> {
    let carries = carries.iter().filter_map(|carry| T::unwrap(carry));
    Ok(Box::new(carries.map(|data| data.clone().into_vec()).collect::<Result<Vec<Vec<T>>, _>>()?))
}

/// Runs a loop from these states on.
fn run_plan(
    mut states: Box<dyn States>,
    scan: &Scan,
    plan: &RecurrencePlan<'_>,
    inputs: &[Array],
    captures: &[Array],
) -> Result<Vec<Array>, OutOfMemory> {
    let (places, recurrence) = (plan.places, plan.recurrence);
    let mut outputs: Vec<Array> = Vec::new();
    for ty in scan.body.result_types().skip(scan.carries) {
        let mut shape = ty.shape.clone();
        shape.insert(0, scan.length);
        outputs.push(Array::full(&shape, Value::from_i64(ty.dtype, 0)));
    }
    let steps = (BLOCK / places).max(1).min(scan.length);
    let blocks = scan.length.div_ceil(steps);
    let mut tiles: Vec<Array> = Vec::new();
    for block in 0..blocks {
        let from = steps * if plan.reverse { blocks - 1 - block } else { block };
        let (from, length) = (from * places, steps.min(scan.length - from) * places);
        if tiles.first().is_some_and(|tile| tile.size() != length) || block == 0 {
            // No step reads a capture of another shape.
            let is_read = |capture: &Array| capture.shape().is_empty() || capture.shape() == &recurrence.shape[..];
            let tile = |capture: &Array| match is_read(capture) {
                true => for_data!(capture, data => tiled(data, length)),
                false => Ok(Array::full(&[length], Value::from_i64(capture.dtype(), 0))),
            };
            tiles = captures.iter().map(tile).collect::<Result<_, _>>()?;
        }
        let slice = |input: &Array| for_data!(input, data => part(data, from, length));
        let inputs = inputs.iter().map(slice).collect::<Result<_, _>>()?;
        let (carries, results) = (vec![None; scan.carries], vec![None; recurrence.steps.len()]);
        let mut values = StepBlock { length, inputs, captures: tiles.clone(), carries, steps: results };
        values.run(plan, Phase::Before)?;
        match &plan.folds {
            Some(folds) => states.fold(&mut values, plan, folds)?,
            None => states.walk(&mut values, plan)?,
        }
        values.run(plan, Phase::After)?;
        for (output, &result) in outputs.iter_mut().zip(&recurrence.results[scan.carries..]) {
            for_pair!(output, &values.value(result), (output, block) => write(output, block, from))?;
        }
    }
    let mut results = states.take(&recurrence.shape);
    results.append(&mut outputs);
    Ok(results)
}

#[cfg(test)]
mod tests;

//! Several operations that lead from carries to carries, run number by number.

use super::fold::{BlockNumbers, ElementwiseNumber};
use super::{Phase, RecurrencePlan, StepBlock};
use crate::array::memory::{self, OutOfMemory};
use crate::array::{Array, Data};
use crate::operation::{Binary, Once};
use crate::shape::DType;
use crate::term::recurrence::{Elementwise, StepInstruction, StepOperand};

/// Where the number of an operand is found while numbers are computed one by one.
#[derive(Clone, Copy)]
enum NumberSource {
    /// A carry, or the result of an instruction of this step and place.
    Register(usize),
    /// The number of this step and place in an array of the block.
    Array(usize),
}

/// An instruction on numbers; truth values are the numbers 0 and 1.
struct Operation {
    op: Elementwise,
    /// In order; entries after the last are never read.
    operands: [NumberSource; 3],
}

/// An operation on numbers. The operations of derivatives come first: any other is looked up in the table.
#[inline]
fn number<T: ElementwiseNumber>(operation: &Operation, operand: impl Fn(usize) -> T) -> T {
    match operation.op {
        Elementwise::Unary(op) => T::unary(op, operand(0)),
        Elementwise::Binary(Binary::Add) if T::DTYPE != DType::Bool => operand(0).plus(operand(1)),
        Elementwise::Binary(Binary::Mul) if T::DTYPE != DType::Bool => operand(0).times(operand(1)),
        Elementwise::Binary(Binary::KeepZero) if operand(0) == T::ZERO => T::ZERO,
        Elementwise::Binary(Binary::KeepZero) => operand(0).times(operand(1)),
        Elementwise::Binary(op) => T::binary(op, Once([operand(0), operand(1)])),
        Elementwise::Compare(op) => T::from_bool(op.run(Once([operand(0), operand(1)]))),
        Elementwise::Select => operand(if operand(0).cast::<bool>() { 1 } else { 2 }),
        Elementwise::Cast(_) => unreachable!("numbers have one element type"),
    }
}

/// The numbers of an array, or its truth values as such.
fn numbers<T: ElementwiseNumber>(array: Array) -> Option<Array> {
    if array.dtype() == T::DTYPE {
        return Some(array);
    }
    let as_numbers = |data: &Data<bool>| match data {
        Data::Uniform(shape, x) => Data::Uniform(shape.clone(), T::from_bool(*x)),
        dense => {
            let elements = dense.as_slice().unwrap_or_default().iter().map(|&x| T::from_bool(x));
            Data::from_vec(dense.shape(), elements.collect())
        }
    };
    match &array {
        Array::Bool(data) => Some(T::wrap(as_numbers(data))),
        _ => None,
    }
}

impl StepBlock {
    /// Runs the instructions that lead from carries to the next carries, step by step and place by place.
    pub(super) fn walk<T: ElementwiseNumber>(
        &mut self,
        plan: &RecurrencePlan<'_>,
        state: &mut [Vec<T>],
    ) -> Result<(), OutOfMemory> {
        let (carries, places) = (plan.carries, plan.places);
        let steps: Vec<(usize, &StepInstruction)> = plan.instructions(Phase::Within).collect();
        let mut arrays: Vec<Array> = Vec::new();
        let mut source = |operand: StepOperand| match operand {
            StepOperand::Carry(carry) => NumberSource::Register(carry),
            StepOperand::Step(step) if plan.phases[step] == Phase::Within => {
                let at = steps.iter().position(|&(at, _)| at == step).expect("it is one of them");
                NumberSource::Register(carries + at)
            }
            operand => {
                arrays.push(numbers::<T>(self.value(operand)).expect("a plan is made where element types fit"));
                NumberSource::Array(arrays.len() - 1)
            }
        };
        let mut operations: Vec<Operation> = Vec::with_capacity(steps.len());
        for (_, instruction) in &steps {
            let mut operands = [NumberSource::Register(0); 3];
            for (place, &operand) in operands.iter_mut().zip(&instruction.operands) {
                *place = source(operand);
            }
            operations.push(Operation { op: instruction.op, operands });
        }
        let next: Vec<NumberSource> = plan.recurrence.results[..carries].iter().map(|&result| source(result)).collect();
        let arrays: Vec<BlockNumbers<'_, T>> = arrays.iter().filter_map(BlockNumbers::of).collect();

        let room = || memory::filled(&[self.length], T::ZERO);
        let mut results: Vec<Vec<T>> = steps.iter().map(|_| room()).collect::<Result<_, _>>()?;
        let mut before: Vec<(usize, Vec<T>)> = Vec::new();
        for carry in (0..carries).filter(|&carry| plan.read[carry]) {
            before.push((carry, room()?));
        }
        let mut registers = vec![T::ZERO; carries + steps.len()];
        let count = self.length / places;
        for step in 0..count {
            let step = if plan.reverse { count - 1 - step } else { step };
            for place in 0..places {
                let at = step * places + place;
                for (register, state) in registers.iter_mut().zip(state.iter()) {
                    *register = state[place];
                }
                for (carry, before) in &mut before {
                    before[at] = registers[*carry];
                }
                for (step, operation) in operations.iter().enumerate() {
                    let result = number(operation, |operand| match operation.operands[operand] {
                        NumberSource::Register(register) => registers[register],
                        NumberSource::Array(array) => arrays[array].at(at),
                    });
                    registers[carries + step] = result;
                    results[step][at] = result;
                }
                for (state, next) in state.iter_mut().zip(&next) {
                    state[place] = match *next {
                        NumberSource::Register(register) => registers[register],
                        NumberSource::Array(array) => arrays[array].at(at),
                    };
                }
            }
        }
        for (carry, before) in before {
            self.carries[carry] = Some(T::wrap(Data::from_vec(&[self.length], before)));
        }
        for ((at, instruction), numbers) in steps.into_iter().zip(results) {
            self.steps[at] = Some(if instruction.dtype == T::DTYPE {
                T::wrap(Data::from_vec(&[self.length], numbers))
            } else {
                Array::from_vec(&[self.length], numbers.into_iter().map(|x| x.cast::<bool>()).collect())
            });
        }
        Ok(())
    }
}

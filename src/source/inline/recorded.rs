//! A formula as a list of steps.
//!
//! Answers are bits, all of them or none, of as many as the numbers have that were compared: choices are then operations on bits,
//! while compilers make branches of truth values where they can, and no vectors of loops with branches.

use crate::elementary::lanes::{Real, Rounding};
use crate::elementary::traced::{Kind, Operation, Recorder, Traced, TracedMask, Value};
use std::cell::RefCell;

thread_local! {
    /// The formula that is recorded on this thread.
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

/// Products are rounded before they are added to, since not all machines have both in one instruction.
pub(super) struct Separate;

impl Rounding for Separate {
    const FUSED: bool = false;
}

/// The source of a value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Step {
    /// An argument, by its position.
    Argument(usize, Kind),
    /// Known bits.
    Constant(Kind, u64),
    /// The result of an operation on operands of a kind.
    Computed(Operation, Kind, Vec<Value>),
}

impl Step {
    pub(super) fn kind(&self) -> Kind {
        use Operation::{Equal, HasBit, Less, LessEqual, NotLessEqual, Select};
        match self {
            Step::Computed(Less | LessEqual | Equal | NotLessEqual | HasBit(_) | Select, kind, _) => kind.bits(),
            Step::Argument(_, kind) | Step::Constant(kind, _) | Step::Computed(_, kind, _) => *kind,
        }
    }

    /// The values that it is computed from.
    pub(super) fn operands(&self) -> &[Value] {
        if let Step::Computed(_, _, operands) = self { operands } else { &[] }
    }
}

/// A formula with two results: a function's value, and where it is none, unless it always is one.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Recorded {
    pub(super) steps: Vec<Step>,
    pub(super) value: Value,
    pub(super) outside: Option<Value>,
}

/// Records on this thread.
#[derive(Clone, Copy)]
pub(super) struct Steps;

/// The place of a step, which is added unless it is there.
fn place(steps: &mut Vec<Step>, step: Step) -> Value {
    let found = steps.iter().position(|other| *other == step);
    found.unwrap_or_else(|| {
        steps.push(step);
        steps.len() - 1
    }) as Value
}

impl Recorder for Steps {
    fn has_scale() -> bool {
        false
    }

    fn constant(kind: Kind, bits: u64) -> Value {
        STEPS.with_borrow_mut(|steps| place(steps, Step::Constant(kind, bits)))
    }

    fn compute(operation: Operation, kind: Kind, operands: &[Value]) -> Value {
        STEPS.with_borrow_mut(|steps| {
            let kind = if kind == Kind::Mask { steps[operands[0] as usize].kind() } else { kind };
            computed(steps, operation, kind, operands)
        })
    }
}

/// The place of the result of an operation.
fn computed(steps: &mut Vec<Step>, operation: Operation, kind: Kind, operands: &[Value]) -> Value {
    if let (Operation::Min | Operation::Max, &[a, b]) = (operation, operands) {
        let ordered = if operation == Operation::Min { [a, b] } else { [b, a] };
        let is_first = computed(steps, Operation::Less, kind, &ordered);
        return computed(steps, Operation::Select, kind, &[is_first, a, b]);
    }
    let folded = folded(steps, operation, kind, operands);
    place(steps, folded.unwrap_or_else(|| Step::Computed(operation, kind, operands.to_vec())))
}

/// The result of an operation on known bits, for those that formulas do on constants.
fn folded(steps: &[Step], operation: Operation, kind: Kind, operands: &[Value]) -> Option<Step> {
    let known = |at: usize| match steps[*operands.get(at)? as usize] {
        Step::Constant(_, bits) => Some(bits),
        _ => None,
    };
    let bits = match (operation, kind) {
        (Operation::Neg, _) => known(0)? ^ 1 << (8 * kind.bytes() - 1),
        (Operation::Add, Kind::I32 | Kind::I64) => known(0)?.wrapping_add(known(1)?),
        (Operation::Sub, Kind::I32 | Kind::I64) => known(0)?.wrapping_sub(known(1)?),
        _ => return None,
    };
    Some(Step::Constant(kind, bits))
}

/// Records a formula of so many arguments.
pub(super) fn recorded<T: Real, const COUNT: usize>(
    formula: impl FnOnce([Traced<T, Steps>; COUNT]) -> Option<(Traced<T, Steps>, TracedMask<Steps>)>,
) -> Option<Recorded> {
    let kind = Kind::of(T::DTYPE);
    STEPS.with_borrow_mut(|steps| steps.extend((0..COUNT).map(|at| Step::Argument(at, kind))));
    let results = formula(std::array::from_fn(|at| Traced::new(at as Value)));
    let steps = STEPS.take();
    let (value, outside) = results?;
    Some(Recorded { steps, value: value.0, outside: outside.value() })
}

//! Vector code: straight lines of operations on registers of elements, in loops that move pointers.
//!
//! Every value is a register of as many elements as the program has lanes, or an answer for each of them. Values are computed
//! once, except for variables, which are assigned anew, to carry sums from step to step.

pub(super) use crate::elementary::traced::{Kind, Value};
use crate::engine::cpu::vector::formulas::Correction;
use crate::term::hash::TermMap;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// A comparison of floats or of integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Predicate {
    Equal,
    Less,
    LessEqual,
    /// Larger, or one of them is no number.
    NotLessEqual,
    /// Of integers without sign.
    Below,
}

/// An operation on lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    /// The smaller one, or the second where one is no number.
    Min,
    /// The larger one, or the second where one is no number.
    Max,
    /// The first times 2 to the power of the second, which is whole; of AVX-512.
    Scale,
    /// The first with the sign of the second; of AVX-512.
    CopySign,
    /// The first times the second, plus the third, with one rounding.
    MultiplyAdd,
    And,
    Or,
    Xor,
    /// Of answers.
    Not,
    /// Moved up by so many bits.
    ShiftLeft(u8),
    /// Moved down by so many bits, with zeros above.
    ShiftRight(u8),
    Sqrt,
    /// The largest whole number that is not above.
    Floor,
    /// An answer. The kind is that of the operands.
    Compare(Predicate),
    /// Whether this bit is set: an answer. The kind is that of the operand.
    HasBit(u8),
    /// Mask, yes, no.
    Select,
    /// From this kind.
    Convert(Kind),
    /// The elements from so many bytes on, in the place of the first ones. The rest is anything.
    Upper(u8),
}

impl Op {
    /// How many operands it has.
    pub(super) fn operands(self) -> usize {
        match self {
            Op::MultiplyAdd | Op::Select => 3,
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Min | Op::Max | Op::Scale | Op::And | Op::Or | Op::Xor => 2,
            Op::Compare(_) | Op::CopySign => 2,
            _ => 1,
        }
    }
}

/// A place in memory: so many bytes from a pointer, which the vector loop's position may move too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Address {
    /// The pointer's number.
    pub(super) pointer: u32,
    pub(super) offset: i32,
    /// Whether an element's bytes times the position in the vector loop are added.
    pub(super) indexed: bool,
    /// A number, the same in all lanes, and the bytes that are added for each one.
    pub(super) row: Option<(Value, i32)>,
}

/// The elements in memory that lanes stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Form {
    /// Adjacent ones.
    Run,
    /// One for all lanes, or of the first lane.
    One,
    /// So many bytes apart.
    Apart(i32),
    /// At distances in bytes, as `i64`.
    At(Value),
    /// Adjacent ones that are written past the cache: a whole register, at a multiple of its bytes.
    Streamed,
}

impl Form {
    /// The distances that it reads.
    pub(super) fn distances(&self) -> Option<Value> {
        if let Form::At(distances) = *self { Some(distances) } else { None }
    }
}

impl Address {
    /// The number of the row that it reads.
    pub(super) fn row(&self) -> Option<Value> {
        self.row.map(|(row, _)| row)
    }
}

/// One step of a program.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Known bits in all lanes, wherever the step is.
    Constant {
        result: Value,
        kind: Kind,
        bits: u64,
    },
    Compute {
        result: Value,
        op: Op,
        kind: Kind,
        operands: [Value; 3],
    },
    /// Zeros where a mask does not hold.
    Load {
        result: Value,
        kind: Kind,
        form: Form,
        address: Address,
        mask: Option<Value>,
    },
    /// Nothing where a mask does not hold.
    Store {
        value: Value,
        kind: Kind,
        form: Form,
        address: Address,
        mask: Option<Value>,
    },
    /// An affine function of the loops' positions, as `i32` or `i64`; in the lanes it goes on by a step.
    Position {
        result: Value,
        kind: Kind,
        at: Position,
    },
    /// Adds lanes to elements at distances in bytes, or writes them there, where a mask holds; one after the other, as several may
    /// be the same.
    Scatter {
        value: Value,
        kind: Kind,
        address: Address,
        distances: Value,
        mask: Value,
        adds: bool,
    },
    /// The first of some lanes, with a function's results for the others where a mask holds.
    Correct {
        result: Value,
        kind: Kind,
        value: Value,
        operands: [Value; 2],
        mask: Value,
        correction: Correction,
    },
    /// A variable begins, or changes.
    Assign {
        variable: Value,
        value: Value,
    },
    /// The first lanes, of so many elements that are left, or that are found to be left.
    Rest {
        result: Value,
        count: Option<u32>,
    },
    /// The vector loop is at its first element.
    Start,
    Begin(Loop),
    End(Loop),
    /// Brings so many lines of memory into the cache, which will be written to or read.
    Prefetch {
        address: Address,
        lines: u32,
        writes: bool,
    },
    /// Pointers go on by so many steps of a loop.
    Advance {
        axis: u32,
        count: i64,
    },
}

/// An affine function of the loops' positions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Position {
    pub(super) offset: i64,
    /// Loops and coefficients, without the vector axis.
    pub(super) terms: SmallVec<[(u32, i64); 4]>,
    /// The coefficient of the vector axis.
    pub(super) along: i64,
}

/// A loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Loop {
    pub(super) number: u32,
    pub(super) count: Count,
}

/// How often a loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Count {
    Known(u32),
    /// The steps that the caller asks for.
    Asked,
    /// Along the vector axis, so many elements a step, up to a position that is known.
    Elements {
        step: u32,
        end: u32,
    },
    /// Along the vector axis, so many elements a step, while so many are left.
    ElementsAsked {
        step: u32,
    },
    /// Once, if elements are left.
    RestAsked,
}

impl Step {
    /// The value that it computes.
    pub(super) fn result(&self) -> Option<Value> {
        match *self {
            Step::Constant { result, .. }
            | Step::Compute { result, .. }
            | Step::Load { result, .. }
            | Step::Correct { result, .. }
            | Step::Position { result, .. }
            | Step::Rest { result, .. } => Some(result),
            Step::Assign { variable, .. } => Some(variable),
            _ => None,
        }
    }

    /// Visits the values that it reads.
    pub(super) fn each_operand(&self, mut visit: impl FnMut(Value)) {
        match self {
            Step::Compute { op, operands, .. } => operands[..op.operands()].iter().for_each(|&value| visit(value)),
            Step::Load { mask, form, address, .. } => {
                mask.iter().copied().chain(form.distances()).chain(address.row()).for_each(visit);
            }
            Step::Store { value, mask, form, address, .. } => {
                visit(*value);
                mask.iter().copied().chain(form.distances()).chain(address.row()).for_each(visit);
            }
            Step::Scatter { value, address, distances, mask, .. } => {
                [*value, *distances, *mask].into_iter().chain(address.row()).for_each(visit);
            }
            Step::Correct { value, operands, mask, .. } => {
                [*value, operands[0], operands[1], *mask].into_iter().for_each(visit);
            }
            Step::Assign { value, .. } => visit(*value),
            _ => {}
        }
    }
}

/// A program under construction, in which no value of a straight line is computed twice.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) steps: Vec<Step>,
    /// The kind of each value.
    pub(super) kinds: Vec<Kind>,
    constants: TermMap<(Kind, u64), Value>,
    known: TermMap<Value, u64>,
    /// Computed values, and the numbers of their straight lines.
    computed: TermMap<Computation, (Value, usize)>,
    /// The straight lines that have not ended, and how many there are.
    open: Vec<usize>,
    lines: usize,
    variables: Vec<Value>,
    /// Whether there are [`Op::Scale`] and [`Op::CopySign`].
    wide: bool,
}

/// An operation, the kind of its operands, and these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Computation(Op, Kind, [Value; 3]);

impl Hash for Computation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Few operations have the same operands.
        let Computation(_, kind, [a, b, c]) = *self;
        state.write_u64(u64::from(a) << 32 | u64::from(b));
        state.write_u64(u64::from(c) << 32 | kind as u64);
    }
}

/// Stands for an operand that there is none of.
const NO_OPERAND: Value = Value::MAX;

impl Builder {
    /// For instructions with [`Op::Scale`] and [`Op::CopySign`], or without.
    pub(super) fn new(wide: bool) -> Builder {
        Builder { wide, ..Builder::default() }
    }

    /// Whether there are [`Op::Scale`] and [`Op::CopySign`].
    pub(super) fn is_wide(&self) -> bool {
        self.wide
    }

    pub(super) fn value(&mut self, kind: Kind) -> Value {
        self.kinds.push(kind);
        self.kinds.len() as Value - 1
    }

    /// Known bits in all lanes.
    pub(super) fn constant(&mut self, kind: Kind, bits: u64) -> Value {
        let bits = if kind.bytes() == 4 { bits & u64::from(u32::MAX) } else { bits };
        if let Some(&value) = self.constants.get(&(kind.bits(), bits)) {
            return value;
        }
        let result = self.value(kind);
        self.steps.push(Step::Constant { result, kind, bits });
        self.constants.insert((kind.bits(), bits), result);
        self.known.insert(result, bits);
        result
    }

    /// The result of an operation; the kind is that of its operands, and of its result unless that is an answer.
    pub(super) fn compute(&mut self, op: Op, kind: Kind, operands: &[Value]) -> Value {
        debug_assert_eq!(operands.len(), op.operands());
        let mut all = [NO_OPERAND; 3];
        all[..operands.len()].copy_from_slice(operands);
        if let Some(bits) = self.folded(op, kind, operands) {
            return self.constant(kind, bits);
        }
        let key = Computation(op, kind, all);
        if let Some((value, line)) = self.computed.get(&key)
            && (*line == 0 || self.open.contains(line))
        {
            return *value;
        }
        let is_answer = matches!(op, Op::Compare(_) | Op::HasBit(_));
        let result = self.value(if is_answer { Kind::Mask } else { kind });
        self.steps.push(Step::Compute { result, op, kind, operands: all });
        // Operations on a variable have another value later on.
        if !operands.iter().any(|operand| self.variables.binary_search(operand).is_ok()) {
            self.computed.insert(key, (result, self.open.last().copied().unwrap_or(0)));
        }
        result
    }

    /// The bits of an operation on known bits, for those that formulas do on constants.
    fn folded(&self, op: Op, kind: Kind, operands: &[Value]) -> Option<u64> {
        let [a, b] = operands else { return None };
        let (a, b) = (*self.known.get(a)?, *self.known.get(b)?);
        Some(match (op, kind) {
            (Op::And, _) => a & b,
            (Op::Or, _) => a | b,
            (Op::Xor, _) => a ^ b,
            (Op::Add, Kind::I32 | Kind::I64) => a.wrapping_add(b),
            (Op::Sub, Kind::I32 | Kind::I64) => a.wrapping_sub(b),
            _ => return None,
        })
    }

    pub(super) fn load(&mut self, kind: Kind, form: Form, address: Address, mask: Option<Value>) -> Value {
        let result = self.value(kind);
        self.steps.push(Step::Load { result, kind, form, address, mask });
        result
    }

    pub(super) fn store(&mut self, value: Value, kind: Kind, form: Form, address: Address, mask: Option<Value>) {
        self.steps.push(Step::Store { value, kind, form, address, mask });
    }

    /// A formula's results, corrected where a mask holds.
    pub(super) fn correct(
        &mut self,
        kind: Kind,
        value: Value,
        operands: [Value; 2],
        mask: Value,
        correction: Correction,
    ) -> Value {
        let result = self.value(kind);
        self.steps.push(Step::Correct { result, kind, value, operands, mask, correction });
        result
    }

    /// A variable with its first value.
    pub(super) fn variable(&mut self, value: Value) -> Value {
        let variable = self.value(self.kinds[value as usize]);
        self.steps.push(Step::Assign { variable, value });
        self.variables.push(variable);
        variable
    }

    /// Assigns a variable. Nothing else may read the value if it was computed last, for then the variable is computed instead.
    pub(super) fn assign(&mut self, variable: Value, value: Value) {
        if let Some(Step::Compute { result, op, kind, operands }) = self.steps.last_mut()
            && *result == value
        {
            let key = Computation(*op, *kind, *operands);
            *result = variable;
            self.computed.remove(&key);
        } else {
            self.steps.push(Step::Assign { variable, value });
        }
    }

    /// An affine function of the loops' positions.
    pub(super) fn position(&mut self, kind: Kind, at: Position) -> Value {
        let result = self.value(kind);
        self.steps.push(Step::Position { result, kind, at });
        result
    }

    /// The lanes that are left, of so many elements if that is known.
    pub(super) fn rest(&mut self, count: Option<u32>) -> Value {
        let result = self.value(Kind::Mask);
        self.steps.push(Step::Rest { result, count });
        result
    }

    /// Whether both hold, where there are two.
    pub(super) fn both(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.compute(Op::And, Kind::Mask, &[a, b])),
            (one, other) => one.or(other),
        }
    }

    pub(super) fn begin(&mut self, number: u32, count: Count) {
        self.steps.push(Step::Begin(Loop { number, count }));
        self.open();
    }

    pub(super) fn end(&mut self, number: u32, count: Count) {
        self.steps.push(Step::End(Loop { number, count }));
        self.close();
    }

    /// Begins a straight line whose values are not there after it.
    pub(super) fn open(&mut self) {
        self.lines += 1;
        self.open.push(self.lines);
    }

    pub(super) fn close(&mut self) {
        self.open.pop().expect("a line was begun");
    }
}

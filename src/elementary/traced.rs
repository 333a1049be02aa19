//! Formulas as operations one after the other, for whatever writes code: lanes that hand each operation to a recorder.

use super::lanes::{LaneBits, Lanes, Mask, Real, Rounding};
use crate::array::ElementType;
use crate::shape::DType;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value's number.
pub(crate) type Value = u32;

/// The type of a value. The bits of floats are integers of the same width, without a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    F32,
    F64,
    I32,
    I64,
    /// Answers.
    Mask,
}

impl Kind {
    /// The kind of elements of a type; booleans are answers.
    pub(crate) fn of(dtype: DType) -> Kind {
        match dtype {
            DType::F32 => Kind::F32,
            DType::F64 => Kind::F64,
            DType::I32 => Kind::I32,
            DType::I64 => Kind::I64,
            DType::Bool => Kind::Mask,
        }
    }

    /// Bytes of an element.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Kind::F32 | Kind::I32 => 4,
            Kind::F64 | Kind::I64 => 8,
            Kind::Mask => 1,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F64)
    }

    /// Integers of the same width.
    pub(crate) fn bits(self) -> Kind {
        match self {
            Kind::F32 => Kind::I32,
            Kind::F64 => Kind::I64,
            other => other,
        }
    }
}

/// An operation of a formula.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    /// Without its sign.
    Abs,
    /// The first with the sign of the second.
    CopySign,
    /// The smaller one, or the second where one is no number.
    Min,
    /// The larger one, or the second where one is no number.
    Max,
    /// The first times the second, plus the third, with one rounding.
    MultiplyAdd,
    /// The first times 2 to the power of the second, which is whole.
    Scale,
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
    /// An answer, as are the next ones. The kind is that of the operands.
    Less,
    LessEqual,
    Equal,
    /// Larger, or one of them is no number.
    NotLessEqual,
    /// Whether this bit is set.
    HasBit(u8),
    /// Mask, yes, no.
    Select,
    /// From this kind.
    Convert(Kind),
}

/// Takes the operations of the formula that is computed on this thread. A formula must not panic, or they are lost.
pub(crate) trait Recorder: Copy {
    /// Whether there is [`Operation::Scale`].
    fn has_scale() -> bool;
    /// Known bits.
    fn constant(kind: Kind, bits: u64) -> Value;
    /// The result of an operation; the kind is that of its operands, and of its result unless that is an answer.
    fn compute(operation: Operation, kind: Kind, operands: &[Value]) -> Value;
}

/// Lanes of floats, by the number of their value.
#[derive(Clone, Copy)]
pub(crate) struct Traced<T, R>(pub(crate) Value, PhantomData<(T, R)>);

/// Answers.
#[derive(Clone, Copy)]
pub(crate) struct TracedMask<R>(Value, PhantomData<R>);

/// The bits of lanes of floats.
#[derive(Clone, Copy)]
pub(crate) struct TracedBits<T, R>(Value, PhantomData<(T, R)>);

/// Stands for answers that hold for no lane.
const NONE: Value = Value::MAX - 1;

impl<R: Recorder> TracedMask<R> {
    fn of(operation: Operation, kind: Kind, operands: &[Value]) -> Self {
        TracedMask(R::compute(operation, kind, operands), PhantomData)
    }

    /// The value; `None` where it holds for no lane.
    pub(crate) fn value(self) -> Option<Value> {
        (self.0 != NONE).then_some(self.0)
    }
}

impl<R: Recorder> Mask for TracedMask<R> {
    fn and(self, other: Self) -> Self {
        match (self.value(), other.value()) {
            (Some(a), Some(b)) => Self::of(Operation::And, Kind::Mask, &[a, b]),
            _ => TracedMask(NONE, PhantomData),
        }
    }
    fn differs(self, other: Self) -> Self {
        Self::of(Operation::Xor, Kind::Mask, &[self.0, other.0])
    }
    fn not(self) -> Self {
        Self::of(Operation::Not, Kind::Mask, &[self.0])
    }
}

impl<T: Real, R: Recorder> TracedBits<T, R> {
    const KIND: Kind = if size_of::<T>() == 4 { Kind::I32 } else { Kind::I64 };
    const MANTISSA: u8 = if size_of::<T>() == 4 { 23 } else { 52 };

    fn compute(operation: Operation, operands: &[Value]) -> Self {
        TracedBits(R::compute(operation, Self::KIND, operands), PhantomData)
    }
}

impl<T: Real, R: Recorder> LaneBits for TracedBits<T, R> {
    fn of(bits: u64) -> Self {
        TracedBits(R::constant(Self::KIND, bits), PhantomData)
    }
    fn plus(self, other: Self) -> Self {
        Self::compute(Operation::Add, &[self.0, other.0])
    }
    fn minus(self, other: Self) -> Self {
        Self::compute(Operation::Sub, &[self.0, other.0])
    }
    fn and(self, other: Self) -> Self {
        Self::compute(Operation::And, &[self.0, other.0])
    }
    fn or(self, other: Self) -> Self {
        Self::compute(Operation::Or, &[self.0, other.0])
    }
    fn differs(self, other: Self) -> Self {
        Self::compute(Operation::Xor, &[self.0, other.0])
    }
    fn halved(self) -> Self {
        Self::compute(Operation::ShiftRight(1), &[self.0])
    }
    fn to_exponent(self) -> Self {
        Self::compute(Operation::ShiftLeft(Self::MANTISSA), &[self.0])
    }
    fn exponent(self) -> Self {
        Self::compute(Operation::ShiftRight(Self::MANTISSA), &[self.0])
    }
}

impl<T: Real, R: Recorder> Traced<T, R> {
    const KIND: Kind = if size_of::<T>() == 4 { Kind::F32 } else { Kind::F64 };

    pub(crate) fn new(value: Value) -> Self {
        Traced(value, PhantomData)
    }

    fn compute(operation: Operation, operands: &[Value]) -> Self {
        Traced::new(R::compute(operation, Self::KIND, operands))
    }

    fn compared(operation: Operation, a: Self, b: Self) -> TracedMask<R> {
        TracedMask::of(operation, Self::KIND, &[a.0, b.0])
    }
}

macro_rules! operators {
    ($($operator:ident $function:ident;)*) => {
        $(impl<T: Real, R: Recorder> $operator for Traced<T, R> {
            type Output = Self;
            fn $function(self, other: Self) -> Self {
                Self::compute(Operation::$operator, &[self.0, other.0])
            }
        })*
    };
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<T: Real, R: Recorder> Neg for Traced<T, R> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::compute(Operation::Neg, &[self.0])
    }
}

impl<T: Real, R: Recorder> Lanes for Traced<T, R> {
    type Element = T;
    type Mask = TracedMask<R>;
    type Bits = TracedBits<T, R>;
    type Double = Traced<f64, R>;
    const NONE: TracedMask<R> = TracedMask(NONE, PhantomData);

    fn of(element: T) -> Self {
        Traced::new(R::constant(Self::KIND, ElementType::into_value(element).bits()))
    }
    fn less(self, other: Self) -> TracedMask<R> {
        Self::compared(Operation::Less, self, other)
    }
    fn less_or_equal(self, other: Self) -> TracedMask<R> {
        Self::compared(Operation::LessEqual, self, other)
    }
    fn equals(self, other: Self) -> TracedMask<R> {
        Self::compared(Operation::Equal, self, other)
    }
    fn exceeds(self, other: Self) -> TracedMask<R> {
        Self::compared(Operation::NotLessEqual, self, other)
    }
    fn either(mask: TracedMask<R>, yes: Self, no: Self) -> Self {
        match mask.value() {
            Some(mask) => Self::compute(Operation::Select, &[mask, yes.0, no.0]),
            None => no,
        }
    }
    fn times_plus<L: Rounding>(self, factor: Self, term: Self) -> Self {
        if L::FUSED { Self::compute(Operation::MultiplyAdd, &[self.0, factor.0, term.0]) } else { self * factor + term }
    }
    fn root(self) -> Self {
        Self::compute(Operation::Sqrt, &[self.0])
    }
    fn at_least(self, low: Self) -> Self {
        Self::compute(Operation::Max, &[low.0, self.0])
    }
    fn at_most(self, high: Self) -> Self {
        Self::compute(Operation::Min, &[high.0, self.0])
    }
    fn floor(self) -> Self {
        Self::compute(Operation::Floor, &[self.0])
    }
    fn size(self) -> Self {
        Self::compute(Operation::Abs, &[self.0])
    }
    fn signed(self, sign: Self) -> Self {
        Self::compute(Operation::CopySign, &[self.0, sign.0])
    }
    fn at_least_for_scaling(self, low: Self) -> Self {
        if R::has_scale() { self } else { self.at_least(low) }
    }
    fn scaled(self, n: Self, sum: Self) -> Self {
        if R::has_scale() {
            return Self::compute(Operation::Scale, &[self.0, n.0]);
        }
        let (first, second, _) = Self::powers(sum);
        self * first * second
    }
    fn scaled_less_one<L: Rounding>(n: Self, sum: Self, r: Self, rest: Self) -> (Self, Self) {
        if R::has_scale() {
            let one = Self::number(1.0);
            let inverse = one.scaled(Self::of(T::ROUND) - sum, sum);
            return ((r + (one - inverse)).scaled(n, sum), rest.scaled(n, sum));
        }
        let (first, second, inverse) = Self::powers(sum);
        (first.times_plus::<L>(r, first - inverse) * second, rest * first * second)
    }
    fn bits(self) -> TracedBits<T, R> {
        TracedBits(self.0, PhantomData)
    }
    fn from_bits(bits: TracedBits<T, R>) -> Self {
        Traced::new(bits.0)
    }
    fn last_bits(self) -> (TracedMask<R>, TracedMask<R>) {
        let bit = |bit: u8| TracedMask::of(Operation::HasBit(bit), Self::KIND.bits(), &[self.0]);
        (bit(0), bit(1))
    }
    fn double(self) -> Traced<f64, R> {
        match Self::KIND {
            Kind::F32 => Traced::compute(Operation::Convert(Kind::F32), &[self.0]),
            _ => Traced::new(self.0),
        }
    }
    fn single(double: Traced<f64, R>) -> Self {
        match Self::KIND {
            Kind::F32 => Self::compute(Operation::Convert(Kind::F64), &[double.0]),
            _ => Traced::new(double.0),
        }
    }
}

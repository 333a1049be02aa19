//! Formulas as vector code: lanes that note each operation in the program under construction.

use super::program::{Builder, Kind, Op, Predicate, Value};
use crate::array::ElementType;
use crate::engine::cpu::vector::lanes::{LaneBits, Lanes, Mask, Real, Rounding};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

thread_local! {
    /// The program that formulas on this thread are noted in.
    static BUILDER: RefCell<Builder> = RefCell::default();
}

/// Notes a formula in a program. A formula must not panic, or the program is lost.
pub(super) fn noted<R>(builder: &mut Builder, formula: impl FnOnce() -> R) -> R {
    let swap = |builder: &mut Builder| BUILDER.with_borrow_mut(|own| std::mem::swap(own, builder));
    swap(builder);
    let result = formula();
    swap(builder);
    result
}

fn compute(op: Op, kind: Kind, operands: &[Value]) -> Value {
    BUILDER.with_borrow_mut(|builder| builder.compute(op, kind, operands))
}

fn constant(kind: Kind, bits: u64) -> Value {
    BUILDER.with_borrow_mut(|builder| builder.constant(kind, bits))
}

/// Lanes of floats, by the number of their value.
#[derive(Clone, Copy)]
pub(super) struct Traced<T>(pub(super) Value, PhantomData<T>);

/// Answers.
#[derive(Clone, Copy)]
pub(super) struct TracedMask(pub(super) Value);

/// The bits of lanes of floats.
#[derive(Clone, Copy)]
pub(super) struct TracedBits<T>(pub(super) Value, PhantomData<T>);

/// Stands for answers that hold for no lane.
const NONE: Value = Value::MAX - 1;

impl<T> Traced<T> {
    pub(super) fn new(value: Value) -> Traced<T> {
        Traced(value, PhantomData)
    }
}

impl TracedMask {
    /// The value; `None` where it holds for no lane.
    pub(super) fn value(self) -> Option<Value> {
        (self.0 != NONE).then_some(self.0)
    }
}

impl Mask for TracedMask {
    fn and(self, other: Self) -> Self {
        match (self.value(), other.value()) {
            (Some(a), Some(b)) => TracedMask(compute(Op::And, Kind::Mask, &[a, b])),
            _ => TracedMask(NONE),
        }
    }
    fn differs(self, other: Self) -> Self {
        TracedMask(compute(Op::Xor, Kind::Mask, &[self.0, other.0]))
    }
    fn not(self) -> Self {
        TracedMask(compute(Op::Not, Kind::Mask, &[self.0]))
    }
}

impl<T: Real> TracedBits<T> {
    const KIND: Kind = if size_of::<T>() == 4 { Kind::I32 } else { Kind::I64 };
    const MANTISSA: u8 = if size_of::<T>() == 4 { 23 } else { 52 };

    fn of_two(op: Op, a: Self, b: Self) -> Self {
        TracedBits(compute(op, Self::KIND, &[a.0, b.0]), PhantomData)
    }

    fn moved(self, op: Op) -> Self {
        TracedBits(compute(op, Self::KIND, &[self.0]), PhantomData)
    }
}

impl<T: Real> LaneBits for TracedBits<T> {
    fn of(bits: u64) -> Self {
        TracedBits(constant(Self::KIND, bits), PhantomData)
    }
    fn plus(self, other: Self) -> Self {
        Self::of_two(Op::Add, self, other)
    }
    fn minus(self, other: Self) -> Self {
        Self::of_two(Op::Sub, self, other)
    }
    fn and(self, other: Self) -> Self {
        Self::of_two(Op::And, self, other)
    }
    fn or(self, other: Self) -> Self {
        Self::of_two(Op::Or, self, other)
    }
    fn differs(self, other: Self) -> Self {
        Self::of_two(Op::Xor, self, other)
    }
    fn halved(self) -> Self {
        self.moved(Op::ShiftRight(1))
    }
    fn to_exponent(self) -> Self {
        self.moved(Op::ShiftLeft(Self::MANTISSA))
    }
    fn exponent(self) -> Self {
        self.moved(Op::ShiftRight(Self::MANTISSA))
    }
}

impl<T: Real> Traced<T> {
    const KIND: Kind = if size_of::<T>() == 4 { Kind::F32 } else { Kind::F64 };

    fn of_two(op: Op, a: Self, b: Self) -> Self {
        Traced::new(compute(op, Self::KIND, &[a.0, b.0]))
    }

    fn compared(predicate: Predicate, a: Self, b: Self) -> TracedMask {
        TracedMask(compute(Op::Compare(predicate), Self::KIND, &[a.0, b.0]))
    }
}

macro_rules! operators {
    ($($operator:ident $function:ident;)*) => {
        $(impl<T: Real> $operator for Traced<T> {
            type Output = Self;
            fn $function(self, other: Self) -> Self {
                Self::of_two(Op::$operator, self, other)
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

impl<T: Real> Neg for Traced<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::from_bits(self.bits().differs(TracedBits::of(T::SIGN)))
    }
}

impl<T: Real> Lanes for Traced<T> {
    type Element = T;
    type Mask = TracedMask;
    type Bits = TracedBits<T>;
    type Double = Traced<f64>;
    const NONE: TracedMask = TracedMask(NONE);

    fn of(element: T) -> Self {
        Traced::new(constant(Self::KIND, ElementType::into_value(element).bits()))
    }
    fn less(self, other: Self) -> TracedMask {
        Self::compared(Predicate::Less, self, other)
    }
    fn less_or_equal(self, other: Self) -> TracedMask {
        Self::compared(Predicate::LessEqual, self, other)
    }
    fn equals(self, other: Self) -> TracedMask {
        Self::compared(Predicate::Equal, self, other)
    }
    fn exceeds(self, other: Self) -> TracedMask {
        Self::compared(Predicate::NotLessEqual, self, other)
    }
    fn either(mask: TracedMask, yes: Self, no: Self) -> Self {
        match mask.value() {
            Some(mask) => Traced::new(compute(Op::Select, Self::KIND, &[mask, yes.0, no.0])),
            None => no,
        }
    }
    fn times_plus<L: Rounding>(self, factor: Self, term: Self) -> Self {
        Traced::new(compute(Op::MultiplyAdd, Self::KIND, &[self.0, factor.0, term.0]))
    }
    fn root(self) -> Self {
        Traced::new(compute(Op::Sqrt, Self::KIND, &[self.0]))
    }
    fn at_least(self, low: Self) -> Self {
        Self::of_two(Op::Max, low, self)
    }
    fn at_most(self, high: Self) -> Self {
        Self::of_two(Op::Min, high, self)
    }
    fn scaled(self, n: Self, sum: Self) -> Self {
        if BUILDER.with_borrow(Builder::has_scale) {
            return Self::of_two(Op::Scale, self, n);
        }
        let (first, second, _) = Self::powers(sum);
        self * first * second
    }
    fn scaled_less_one<L: Rounding>(n: Self, sum: Self, r: Self, rest: Self) -> (Self, Self) {
        if BUILDER.with_borrow(Builder::has_scale) {
            let one = Self::number(1.0);
            let inverse = Self::of_two(Op::Scale, one, Self::of(T::ROUND) - sum);
            return (Self::of_two(Op::Scale, r + (one - inverse), n), Self::of_two(Op::Scale, rest, n));
        }
        let (first, second, inverse) = Self::powers(sum);
        (first.times_plus::<L>(r, first - inverse) * second, rest * first * second)
    }
    fn floor(self) -> Self {
        Traced::new(compute(Op::Floor, Self::KIND, &[self.0]))
    }
    fn bits(self) -> TracedBits<T> {
        TracedBits(self.0, PhantomData)
    }
    fn from_bits(bits: TracedBits<T>) -> Self {
        Traced::new(bits.0)
    }
    fn last_bits(self) -> (TracedMask, TracedMask) {
        let bit = |bit: u8| TracedMask(compute(Op::HasBit(bit), Self::KIND.bits(), &[self.0]));
        (bit(0), bit(1))
    }
    fn double(self) -> Traced<f64> {
        match Self::KIND {
            Kind::F32 => Traced::new(compute(Op::Convert(Kind::F32), Kind::F64, &[self.0])),
            _ => Traced::new(self.0),
        }
    }
    fn single(double: Traced<f64>) -> Self {
        match Self::KIND {
            Kind::F32 => Traced::new(compute(Op::Convert(Kind::F64), Kind::F32, &[double.0])),
            _ => Traced::new(double.0),
        }
    }
}

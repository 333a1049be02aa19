//! Registers of elements of any type, and the operation table's rows on them.
//!
//! The compiler makes vectors of the table's closures only where it is asked to optimise at level 2 or 3. Rows of floats that are a
//! few instructions are stated here for registers, so that they are as fast at level 1; elements that fill no register, and rows
//! and machines that are not here, are left to the closures. The results are the same bits.

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use super::USES_REGISTERS;
#[cfg(target_arch = "x86_64")]
use super::lanes::Level;
use super::lanes::{LaneBits, Lanes, Mask, Product};
use crate::array::{Arithmetic, ElementType};
use crate::engine::cpu::elements::{counted, load};
use crate::operation::{Binary, Unary, comparison_row};
use crate::shape::DType;

/// A register of elements, used where the machine has its instructions and nowhere else.
pub(in crate::engine::cpu) trait Packed: Copy {
    /// The type of an element.
    type Element: ElementType;
    /// Answers for as many elements.
    type Mask: Answers;
    /// How many elements there are.
    const WIDTH: usize;

    /// One element everywhere.
    fn repeated(element: Self::Element) -> Self;
    /// The elements from a place on.
    ///
    /// # Safety
    ///
    /// There are so many valid elements.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Writes the elements from a place on.
    ///
    /// # Safety
    ///
    /// There is room for so many.
    unsafe fn store(self, to: *mut Self::Element);
    /// Where this is smaller.
    fn less(self, other: Self) -> Self::Mask;
    /// Where this is smaller, or they are equal.
    fn less_or_equal(self, other: Self) -> Self::Mask;
    /// Where they are equal.
    fn equals(self, other: Self) -> Self::Mask;
    /// The first where the mask holds, else the second.
    fn either(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The first elements, fewer than the register has, followed by the elements of this one.
    ///
    /// # Safety
    ///
    /// There are so many valid elements.
    #[inline(always)]
    unsafe fn rest(self, from: *const Self::Element, count: usize) -> Self {
        let mut elements = self.elements();
        counted!(at in 0..Self::WIDTH => {
            if at < count {
                // SAFETY: as the caller's.
                elements[at] = unsafe { load(from.wrapping_add(at)) };
            }
        });
        // SAFETY: a register has no more elements.
        unsafe { Self::load(elements.as_ptr()) }
    }
    /// The elements, and zeros.
    #[inline(always)]
    fn elements(self) -> [Self::Element; 32] {
        let mut elements = [Self::Element::ZERO; 32];
        // SAFETY: a register has no more elements.
        unsafe { self.store(elements.as_mut_ptr()) };
        elements
    }
    /// The sum of halves, until one element is left. Where floats are not added it is that in any order.
    #[inline(always)]
    fn total(self) -> Self::Element {
        let mut elements = self.plus(self.reversed()).elements();
        let mut width = Self::WIDTH / 2;
        while width > 1 {
            width /= 2;
            counted!(at in 0..width => {
                elements[at] = elements[at].plus(elements[at + width]);
            });
        }
        elements[0]
    }
    /// The last element first.
    #[inline(always)]
    fn reversed(self) -> Self {
        let mut elements = self.elements();
        elements[..Self::WIDTH].reverse();
        // SAFETY: a register has no more elements.
        unsafe { Self::load(elements.as_ptr()) }
    }
    /// The elements of both in turns, as two registers, where there is an instruction for it; known when compiled.
    #[inline(always)]
    fn zip(self, _: Self) -> Option<[Self; 2]> {
        None
    }
    /// The sum; of booleans, or.
    fn plus(self, other: Self) -> Self;
    /// The larger elements, this one's if they are equal; NaN wins.
    fn larger(self, other: Self) -> Self;
    /// The smaller elements, this one's if they are equal; NaN wins.
    fn smaller(self, other: Self) -> Self;
    /// This times the factor, plus the term, with one rounding.
    fn multiply_add(self, factor: Self, term: Self) -> Self;
    /// A row of the table, or `None` where it is left to the table's closure; which of the two is known when compiled.
    #[inline(always)]
    fn unary(_: Unary, _: Self) -> Option<Self> {
        None
    }
    /// As [`Self::unary`].
    #[inline(always)]
    fn binary(_: Binary, _: Self, _: Self) -> Option<Self> {
        None
    }
    /// Whether there are instructions for a conversion to this type; known when compiled.
    #[inline(always)]
    fn converts(_: DType) -> bool {
        false
    }
    /// Converts the elements to another type and writes them.
    ///
    /// # Safety
    ///
    /// There is room for so many, and there are instructions for the conversion.
    #[inline(always)]
    unsafe fn convert(self, _: DType, _: *mut u8) {}
}

/// Answers that are read and written as booleans.
pub(in crate::engine::cpu) trait Answers: Mask {
    /// The answers from a place on.
    ///
    /// # Safety
    ///
    /// There are as many booleans as the registers have elements.
    unsafe fn load(from: *const bool) -> Self;
    /// Writes the answers from a place on.
    ///
    /// # Safety
    ///
    /// There is room for as many booleans.
    unsafe fn store(self, to: *mut bool);
}

/// Elements that there are registers for.
pub(super) trait Vectorised: Product {
    /// Registers of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    type Half: Packed<Element = Self>;
}

/// Whether so many elements fill registers that the level has.
#[cfg(target_arch = "x86_64")]
pub(super) const fn fills<L: Level, V: Packed>(count: usize) -> bool {
    USES_REGISTERS && size_of::<V>() <= L::REGISTER && count.is_multiple_of(V::WIDTH)
}

/// A comparison of the table on registers.
pub(super) trait Question {
    /// Where it holds.
    fn ask<V: Packed>(a: V, b: V) -> V::Mask;
}

macro_rules! question {
    ($name:ident, |$a:ident, $b:ident| $answer:expr) => {
        impl Question for comparison_row::$name {
            #[inline(always)]
            fn ask<V: Packed>($a: V, $b: V) -> V::Mask {
                $answer
            }
        }
    };
}

question!(Less, |a, b| a.less(b));
question!(LessEqual, |a, b| a.less_or_equal(b));
question!(Greater, |a, b| b.less(a));
question!(GreaterEqual, |a, b| b.less_or_equal(a));
question!(Equal, |a, b| a.equals(b));
question!(NotEqual, |a, b| a.equals(b).not());

/// Rows of floats.
#[inline(always)]
pub(super) fn unary_of_floats<V: Lanes>(row: Unary, x: V) -> Option<V> {
    let (zero, one) = (V::number(0.0), V::number(1.0));
    Some(match row {
        Unary::Neg => -x,
        Unary::Recip => one / (x + zero),
        Unary::Abs => x.size(),
        Unary::Sign => V::either(zero.less(x), one, V::either(x.less(zero), -one, x)),
        Unary::Sqrt => x.root(),
        Unary::Relu => V::either(x.less_or_equal(zero), zero, x),
        Unary::Floor => x.floor(),
        Unary::Ceil => -(-x).floor(),
        Unary::Round => {
            // The largest number below ½: with ½ itself, the sum with the number just below ½ would be rounded up to 1.
            let almost_half = V::from_bits(V::number(0.5).bits().minus(V::Bits::of(1)));
            (x.size() + almost_half).floor().signed(x)
        }
        Unary::StopGradient => x,
        _ => return None,
    })
}

/// The larger one, the first if they are equal; NaN wins.
#[inline(always)]
fn larger<V: Lanes>(a: V, b: V) -> V {
    V::either(b.exceeds(a).and(a.equals(a)), b, a)
}

/// The smaller one, the first if they are equal; NaN wins.
#[inline(always)]
fn smaller<V: Lanes>(a: V, b: V) -> V {
    V::either(a.exceeds(b).and(a.equals(a)), b, a)
}

/// Rows of pairs of floats.
#[inline(always)]
pub(super) fn binary_of_floats<V: Lanes>(row: Binary, a: V, b: V) -> Option<V> {
    let zero = V::number(0.0);
    Some(match row {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / (b + zero),
        Binary::Min => smaller(a, b),
        Binary::MinRight => V::either(a.equals(a), b.at_most(a), a),
        Binary::Max => larger(a, b),
        Binary::MaxRight => V::either(a.equals(a), b.at_least(a), a),
        Binary::KeepZero => V::either(a.equals(zero), zero, a * b),
        _ => return None,
    })
}

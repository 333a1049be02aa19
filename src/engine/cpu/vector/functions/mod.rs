//! Kernels of elementary functions.
//!
//! These are the [formulas](crate::elementary), in loops over blocks of elements.

mod pairs;
mod powers;

use super::blocks::{Blocks, each_block};
use super::lanes::{Known, Level, Real, Register, Registers};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Lanes, Rounding};
use super::level::{Loop, kernel};
use super::{Instructions, USES_REGISTERS, VectorKernel};
use crate::elementary::{self, VectorFunction, each_function};
use crate::engine::cpu::elements::{load, store};
use crate::operation::Unary;
use crate::shape::DType;
#[cfg(target_arch = "x86_64")]
pub(super) use pairs::formula_of_two;
pub(super) use pairs::{binary, pairs_have_vectors};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The elements of a block in turn, in a form that compilers vectorise where instructions allow.
///
/// # Safety
///
/// The pointers point at a block each, which may be the same.
#[inline(always)]
unsafe fn elements<T: Registers, F: VectorFunction, L: Level, const COUNT: usize>(result: *mut T, a: *const T) {
    // Nothing is written to the result before the block is complete, and the loops are counting loops, since the compiler does
    // not always see through iterators here.
    let mut values = [const { MaybeUninit::<T>::uninit() }; COUNT];
    let mut any_outside = false;
    // SAFETY: the caller promises a block.
    let x = unsafe { load(a.cast::<[T; COUNT]>()) };
    let mut at = 0;
    while at < COUNT {
        values[at] = MaybeUninit::new(F::value::<T, L>(x[at]));
        any_outside |= F::outside::<T, L>(x[at]).any();
        at += 1;
    }
    if any_outside {
        // SAFETY: the caller promises a block.
        unsafe { correct_outside::<T, F, L>(values.as_mut_ptr().cast(), a, COUNT) };
    }
    // SAFETY: the caller promises a block; all of it is written.
    unsafe { store(result.cast(), values) };
}

/// The elements of a block in registers, a whole number of which it fills.
///
/// # Safety
///
/// As for [`elements`]; the machine has the registers.
#[inline(always)]
unsafe fn registers<V: Register, F: VectorFunction, L: Level, const COUNT: usize>(
    result: *mut V::Element,
    a: *const V::Element,
) {
    let mut at = 0;
    while at < COUNT {
        // SAFETY: the caller promises a block.
        unsafe {
            let x = V::load(a.wrapping_add(at));
            let mut value = F::value::<V, L>(x);
            if F::outside::<V, L>(x).any() {
                let mut values = MaybeUninit::<[V::Element; WIDEST]>::uninit();
                let first = values.as_mut_ptr().cast();
                value.store(first);
                correct_outside::<V::Element, F, L>(first, a.wrapping_add(at), V::WIDTH);
                value = V::load(first);
            }
            value.store(result.wrapping_add(at));
        }
        at += V::WIDTH;
    }
}

/// Elements of the widest register.
const WIDEST: usize = 16;

/// Replaces results by the operation table's where operands are outside of a formula's range. There are so many results and
/// operands; those of operations of one operand stand for the second one too.
///
/// # Safety
///
/// The pointers point at as many elements of the type that the formula is for.
#[cfg(target_arch = "x86_64")]
pub(in crate::engine::cpu) type Correction =
    unsafe extern "sysv64" fn(results: *mut u8, a: *const u8, b: *const u8, count: usize);

/// A formula's results.
#[cfg(target_arch = "x86_64")]
pub(in crate::engine::cpu) struct Formula<T: Lanes> {
    pub(in crate::engine::cpu) value: T,
    /// Where the operands are outside of its range.
    pub(in crate::engine::cpu) outside: T::Mask,
    pub(in crate::engine::cpu) correction: Option<Correction>,
}

#[cfg(target_arch = "x86_64")]
impl<T: Lanes> Formula<T> {
    /// One that holds for all operands.
    pub(super) fn everywhere(value: T) -> Formula<T> {
        Formula { value, outside: T::NONE, correction: None }
    }
}

#[cfg(target_arch = "x86_64")]
fn formula_of<T: Lanes, F: VectorFunction, L: Rounding>(x: T) -> Formula<T> {
    let (value, outside) = (F::value::<T, L>(x), F::outside::<T, L>(x));
    Formula { value, outside, correction: Some(correction::<T::Element, F, L>) }
}

/// The [`Correction`] of a function of one operand.
#[cfg(target_arch = "x86_64")]
unsafe extern "sysv64" fn correction<T: Real, F: VectorFunction, L: Rounding>(
    results: *mut u8,
    a: *const u8,
    _: *const u8,
    count: usize,
) {
    // SAFETY: as the caller's.
    unsafe { correct_outside::<T, F, L>(results.cast(), a.cast(), count) };
}

/// Writes the operation table's results for arguments outside of the range.
///
/// # Safety
///
/// The pointers point at as many elements as the block has.
#[cold]
#[inline(never)]
unsafe fn correct_outside<T: Real, F: VectorFunction, L: Rounding>(values: *mut T, a: *const T, count: usize) {
    for at in 0..count {
        // SAFETY: the caller promises a block.
        unsafe {
            let x = a.add(at).read();
            if F::outside::<T, L>(x) {
                values.add(at).write(T::by_table(F::ROW, x));
            }
        }
    }
}

/// Work on a block in registers, or on its elements.
trait RegisterBlock<T: Registers> {
    /// Does it in registers, a whole number of which the block fills.
    ///
    /// # Safety
    ///
    /// There is a block, and the machine has the registers.
    unsafe fn registers<V: Register<Element = T>, const COUNT: usize>(self);
    /// Does it element by element.
    ///
    /// # Safety
    ///
    /// There is a block.
    unsafe fn elements<const COUNT: usize>(self);
}

/// Does the work on a block in registers that it fills, or element by element.
///
/// # Safety
///
/// There is a block, and the machine has the instructions of the level.
#[inline(always)]
unsafe fn in_registers<T: Registers, L: Level, const COUNT: usize>(block: impl RegisterBlock<T>) {
    // Types alone decide, so that only the branch that is taken is compiled.
    // SAFETY: as the caller's.
    unsafe {
        if const { fills::<L::Half<T>>(COUNT) } {
            block.registers::<L::Half<T>, COUNT>();
        } else {
            block.elements::<COUNT>();
        }
    }
}

/// Whether so many elements fill registers, which are no single elements.
const fn fills<V: Register>(count: usize) -> bool {
    V::WIDTH > 1 && count.is_multiple_of(V::WIDTH)
}

/// The loop of a function with a vector version.
struct FunctionLoop<T, F>(PhantomData<(T, F)>);

/// Results and operands of such a function.
struct FunctionRuns<T, F, L>(*mut T, *const T, PhantomData<(F, L)>);

impl<T: Registers, F: VectorFunction, L: Level> Blocks for FunctionRuns<T, F, L> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) {
        let runs = FunctionRuns::<T, F, L>(self.0.wrapping_add(start), self.1.wrapping_add(start), PhantomData);
        // SAFETY: as the caller's.
        unsafe { in_registers::<T, L, COUNT>(runs) };
    }
}

impl<T: Registers, F: VectorFunction, L: Level> RegisterBlock<T> for FunctionRuns<T, F, L> {
    #[inline(always)]
    unsafe fn registers<V: Register<Element = T>, const COUNT: usize>(self) {
        // SAFETY: as the caller's.
        unsafe { registers::<V, F, L, COUNT>(self.0, self.1) };
    }
    #[inline(always)]
    unsafe fn elements<const COUNT: usize>(self) {
        // SAFETY: as the caller's.
        unsafe { elements::<T, F, L, COUNT>(self.0, self.1) };
    }
}

impl<T: Registers, F: VectorFunction> Loop for FunctionLoop<T, F> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: the caller promises elements and room at the positions below `count`.
        unsafe { each_block::<L>(count, FunctionRuns::<T, F, L>(result.cast(), a.cast(), PhantomData)) };
    }
}

/// The kernel of an operation that has a vector version.
pub(super) fn unary(isa: Instructions, op: Unary, dtype: DType) -> Option<VectorKernel> {
    match (op, dtype, isa) {
        // The table has no kernel for whole powers, since the exponent comes with each call.
        _ if !USES_REGISTERS && !matches!(op, Unary::Powi(_)) => None,
        // With two elements to a vector, computing both halves of the line takes longer than a call for one.
        (Unary::Erf, DType::F64, Instructions::Portable) => None,
        (_, DType::F32, _) => of_floats::<f32>(isa, op),
        (_, DType::F64, _) => of_floats::<f64>(isa, op),
        _ => None,
    }
}

macro_rules! kernels {
    ($($module:ident: $($function:ident)*;)*) => {
        fn of_floats<T: Registers>(isa: Instructions, op: Unary) -> Option<VectorKernel> {
            Some(match op {
                Unary::Powi(_) => kernel::<powers::Powers<T>>(isa),
                $($(Unary::$function => kernel::<FunctionLoop<T, elementary::$module::$function>>(isa),)*)*
                _ => return None,
            })
        }

        /// The formula of an operation of one operand, if it has one.
        #[cfg(target_arch = "x86_64")]
        pub(super) fn formula<T: Lanes, L: Rounding>(op: Unary, x: T) -> Option<Formula<T>> {
            Some(match op {
                Unary::Powi(exponent) => Formula::everywhere(powers::power(x, exponent)),
                $($(Unary::$function => formula_of::<T, elementary::$module::$function, L>(x),)*)*
                _ => return None,
            })
        }

        /// Whether an operation has a vector version wherever there are registers.
        pub(super) const fn has_vectors(op: Option<Unary>) -> bool {
            match op {
                Some(Unary::Powi(_)) => true,
                $($(Some(Unary::$function) => USES_REGISTERS,)*)*
                _ => false,
            }
        }
    };
}

each_function!(kernels);

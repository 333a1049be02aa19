//! Vector versions of functions of two operands.

#[cfg(target_arch = "x86_64")]
use super::Formula;
use super::{RegisterBlock, WIDEST, in_registers};
use crate::elementary::pairs::{LogAddExp, Pairwise, Pow, Xlogy};
use crate::engine::cpu::elements::store;
use crate::engine::cpu::vector::blocks::{Blocks, Source, each_block};
use crate::engine::cpu::vector::lanes::{Known, Level, Real, Register, Registers};
#[cfg(target_arch = "x86_64")]
use crate::engine::cpu::vector::lanes::{Lanes, Rounding};
use crate::engine::cpu::vector::level::MaskedLoop;
use crate::engine::cpu::vector::masked::{MaskedRun, Masks};
use crate::engine::cpu::vector::operands::pair_kernel;
use crate::engine::cpu::vector::packed::Vectorised;
use crate::engine::cpu::vector::{Instructions, OperandForm, USES_REGISTERS, VectorKernel};
use crate::operation::Binary;
use crate::shape::DType;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The loop of a function of two operands.
struct PairLoop<T, F>(PhantomData<(T, F)>);

/// Results and operands of such a function.
struct PairRuns<T, F, L>(*mut T, MaskedRun<T>, MaskedRun<T>, PhantomData<(F, L)>);

/// Such a block of them.
struct PairsBlock<'a, T, F, L>(&'a PairRuns<T, F, L>, usize);

impl<T: Registers, F: Pairwise, L: Level> Blocks for PairRuns<T, F, L> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) {
        // SAFETY: as the caller's.
        unsafe { in_registers::<T, L, COUNT>(PairsBlock(self, start)) };
    }
}

impl<T: Registers, F: Pairwise, L: Level> RegisterBlock<T> for PairsBlock<'_, T, F, L> {
    #[inline(always)]
    unsafe fn registers<V: Register<Element = T>, const COUNT: usize>(self) {
        let PairsBlock(PairRuns(result, a, b, _), start) = self;
        let mut at = 0;
        while at < COUNT {
            // SAFETY: the caller promises elements and room at these positions.
            unsafe {
                let position = start.wrapping_add(at);
                let (a, b) = (a.lanes::<V>(position), b.lanes::<V>(position));
                let mut value = F::value::<V, L>(a, b);
                if F::outside(a, b).any() {
                    value = corrected::<V, F>(value, a, b);
                }
                value.store(result.wrapping_add(position));
            }
            at += V::WIDTH;
        }
    }
    #[inline(always)]
    unsafe fn elements<const COUNT: usize>(self) {
        let PairsBlock(PairRuns(result, a, b, _), start) = self;
        // SAFETY: the caller promises elements at these positions.
        let (a, b) = unsafe { (a.block::<COUNT>(start), b.block::<COUNT>(start)) };
        let mut values = [const { MaybeUninit::<T>::uninit() }; COUNT];
        let mut any_outside = false;
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new(F::value::<T, L>(a[at], b[at]));
            any_outside |= F::outside(a[at], b[at]).any();
            at += 1;
        }
        if any_outside {
            at = 0;
            while at < COUNT {
                if F::outside(a[at], b[at]) {
                    values[at] = MaybeUninit::new(T::pair_by_table(F::ROW, a[at], b[at]));
                }
                at += 1;
            }
        }
        // SAFETY: the caller promises room at these positions, and the whole block is known.
        unsafe { store(result.wrapping_add(start).cast(), values) };
    }
}

/// The values, and the operation table's results where operands are out of range.
///
/// # Safety
///
/// The machine has the registers.
#[cold]
#[inline(never)]
unsafe fn corrected<V: Register, F: Pairwise>(value: V, a: V, b: V) -> V {
    let mut arrays = [const { MaybeUninit::<[V::Element; WIDEST]>::uninit() }; 3];
    let values = arrays.as_mut_ptr().cast::<V::Element>();
    let (first, second) = (values.wrapping_add(WIDEST), values.wrapping_add(2 * WIDEST));
    // SAFETY: an array has room for the widest register, and elements are read where they are written.
    unsafe {
        value.store(values);
        a.store(first);
        b.store(second);
        for at in 0..V::WIDTH {
            let (a, b) = (first.add(at).read(), second.add(at).read());
            if F::outside(a, b) {
                values.add(at).write(<V::Element>::pair_by_table(F::ROW, a, b));
            }
        }
        V::load(values)
    }
}

impl<T: Registers, F: Pairwise> MaskedLoop for PairLoop<T, F> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize, masks: Masks) {
        let (a, b) = masks.of(a, b);
        // SAFETY: the caller promises `count` elements, or copies of one.
        unsafe { each_block::<L>(count, PairRuns::<T, F, L>(result.cast(), a, b, PhantomData)) };
    }
}

fn of_floats<T: Registers + Vectorised>(
    isa: Instructions,
    op: Binary,
    a: OperandForm,
    b: OperandForm,
) -> Option<VectorKernel> {
    match op {
        Binary::LogAddExp => Some(pair_kernel::<PairLoop<T, LogAddExp>, T>(isa, a, b)),
        Binary::Xlogy => Some(pair_kernel::<PairLoop<T, Xlogy>, T>(isa, a, b)),
        Binary::Pow => Some(pair_kernel::<PairLoop<T, Pow>, T>(isa, a, b)),
        _ => None,
    }
}

/// The formula of an operation of two operands, if it has one.
#[cfg(target_arch = "x86_64")]
pub(in crate::engine::cpu::vector) fn formula_of_two<T: Lanes, L: Rounding>(
    op: Binary,
    a: T,
    b: T,
) -> Option<Formula<T>> {
    fn of<T: Lanes, F: Pairwise, L: Rounding>(a: T, b: T) -> Formula<T> {
        let (value, outside) = (F::value::<T, L>(a, b), F::outside::<T>(a, b));
        Formula { value, outside, correction: Some(correction::<T::Element, F>) }
    }
    Some(match op {
        Binary::LogAddExp => of::<T, LogAddExp, L>(a, b),
        Binary::Xlogy => of::<T, Xlogy, L>(a, b),
        Binary::Pow => of::<T, Pow, L>(a, b),
        _ => return None,
    })
}

/// The [`Correction`](super::Correction) of a function of two operands.
#[cfg(target_arch = "x86_64")]
unsafe extern "sysv64" fn correction<T: Real, F: Pairwise>(results: *mut u8, a: *const u8, b: *const u8, count: usize) {
    let (results, a, b) = (results.cast::<T>(), a.cast::<T>(), b.cast::<T>());
    for at in 0..count {
        // SAFETY: the caller promises so many elements.
        unsafe {
            let (a, b) = (a.add(at).read(), b.add(at).read());
            if F::outside(a, b) {
                results.add(at).write(T::pair_by_table(F::ROW, a, b));
            }
        }
    }
}

/// The kernel of an operation that has a vector version.
pub(in crate::engine::cpu::vector) fn binary(
    isa: Instructions,
    op: Binary,
    dtype: DType,
    a: OperandForm,
    b: OperandForm,
) -> Option<VectorKernel> {
    match (op, dtype, isa) {
        _ if !USES_REGISTERS => None,
        // The logarithm in parts needs fused products, and that in the wider type is slower than a call without vectors of
        // some length.
        (Binary::Pow, _, Instructions::Portable) => None,
        (_, DType::F32, _) => of_floats::<f32>(isa, op, a, b),
        (_, DType::F64, _) => of_floats::<f64>(isa, op, a, b),
        _ => None,
    }
}

/// Whether an operation has a vector version wherever there are registers.
pub(in crate::engine::cpu::vector) const fn pairs_have_vectors(op: Option<Binary>) -> bool {
    USES_REGISTERS && matches!(op, Some(Binary::LogAddExp | Binary::Xlogy | Binary::Pow))
}

//! Loops over two operands, of which either may be one element for all positions.
//!
//! A loop for each kind of operand would be four times the code. Instead one loop reads each operand at its position under a mask:
//! all bits of a run's position, none of the other kind's, which are copies of the one element that fill a block. Kernels make these
//! copies before they go to the loop.

use super::blocks::Source;
use super::functions::Real;
use super::lanes::Lanes;
use super::level::{
    CopyingLoop, LARGEST_BLOCK, Level, Loop, MaskedLoop, call_copying, call_masked, kernel, masked_kernel,
};
use super::packed::{Packed, Vectorised};
use super::{Instructions, MaskedKernel, OperandForm, VectorKernel};
use crate::engine::cpu::elements::{counted, load, store};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The masks of a loop's two operands, as bits: whether the first is a run, and whether the second is.
#[derive(Clone, Copy)]
pub(super) struct Masks(usize);

impl Masks {
    /// Those of the two operands, which begin at these places.
    #[inline(always)]
    pub(super) fn of<T>(self, first: *const u8, second: *const u8) -> (MaskedRun<T>, MaskedRun<T>) {
        let mask = |bit: usize| 0usize.wrapping_sub(self.0 >> bit & 1);
        (MaskedRun(first.cast(), mask(0)), MaskedRun(second.cast(), mask(1)))
    }
}

/// A run, or a block of copies of one element, which is read for every block.
pub(super) struct MaskedRun<T>(*const T, usize);

impl<T> MaskedRun<T> {
    /// The run that begins there.
    #[inline(always)]
    pub(super) fn run(start: *const T) -> Self {
        MaskedRun(start, usize::MAX)
    }

    /// Where the elements from a position on are.
    #[inline(always)]
    pub(super) fn at(&self, position: usize) -> *const T {
        self.0.wrapping_add(position & self.1)
    }
}

impl<T: Copy> Source<T> for MaskedRun<T> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [T; COUNT] {
        // SAFETY: the caller promises valid elements there, and a block has no more than there are copies.
        unsafe { load(self.at(start).cast()) }
    }
    #[inline(always)]
    unsafe fn lanes<V: Lanes<Element = T>>(&self, start: usize) -> V
    where
        T: Real,
    {
        // SAFETY: as above.
        unsafe { V::load(self.at(start)) }
    }
    #[inline(always)]
    unsafe fn packed<V: Packed<Element = T>>(&self, start: usize) -> V {
        // SAFETY: as above.
        unsafe { V::load(self.at(start)) }
    }
}

/// The kernel of a loop over two operands of these element types, which are the kernel's first two.
pub(super) fn pair_kernel<B: MaskedLoop, T: Vectorised>(
    isa: Instructions,
    left: OperandForm,
    right: OperandForm,
) -> VectorKernel {
    of_operands::<B, T, false>(isa, left, right)
}

/// The kernel of a loop over two operands, which come after a mask.
pub(super) fn choice_kernel<B: MaskedLoop, T: Vectorised>(
    isa: Instructions,
    yes: OperandForm,
    no: OperandForm,
) -> VectorKernel {
    of_operands::<B, T, true>(isa, yes, no)
}

fn of_operands<B: MaskedLoop, T: Vectorised, const AFTER_MASK: bool>(
    isa: Instructions,
    first: OperandForm,
    second: OperandForm,
) -> VectorKernel {
    match (first, second) {
        (OperandForm::Run, OperandForm::Run) => kernel::<Copied<B, T, AFTER_MASK, true, true>>(isa),
        (OperandForm::Run, OperandForm::One) => kernel::<Copied<B, T, AFTER_MASK, true, false>>(isa),
        (OperandForm::One, OperandForm::Run) => kernel::<Copied<B, T, AFTER_MASK, false, true>>(isa),
        (OperandForm::One, OperandForm::One) => kernel::<Copied<B, T, AFTER_MASK, false, false>>(isa),
    }
}

/// A loop whose operands are runs where this says so; of the others copies are made.
struct Copied<B, T, const AFTER_MASK: bool, const FIRST: bool, const SECOND: bool>(PhantomData<(B, T)>);

impl<B: MaskedLoop, T: Vectorised, const AFTER_MASK: bool, const FIRST: bool, const SECOND: bool> Loop
    for Copied<B, T, AFTER_MASK, FIRST, SECOND>
{
    const IS_WIDE: bool = B::IS_WIDE;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize) {
        // SAFETY: as the caller's.
        unsafe {
            if const { FIRST && SECOND } {
                call_masked::<B, L>(result, a, b, c, count, Masks(0b11));
            } else {
                let run = masked_kernel::<B>(L::INSTRUCTIONS);
                call_copying::<Copies<T, AFTER_MASK, FIRST, SECOND>, L>(run, result, a, b, c, count);
            }
        }
    }
}

/// Makes the copies of operands that are no runs, for all loops over a type.
struct Copies<T, const AFTER_MASK: bool, const FIRST: bool, const SECOND: bool>(PhantomData<T>);

impl<T: Vectorised, const AFTER_MASK: bool, const FIRST: bool, const SECOND: bool> CopyingLoop
    for Copies<T, AFTER_MASK, FIRST, SECOND>
{
    const IS_WIDE: bool = T::IS_WIDE;

    #[inline(always)]
    unsafe fn run<L: Level>(
        run: MaskedKernel,
        result: *mut u8,
        a: *const u8,
        b: *const u8,
        c: *const u8,
        count: usize,
    ) {
        let masks = Masks(const { FIRST as usize | (SECOND as usize) << 1 });
        let (first, second) = if AFTER_MASK { (b, c) } else { (a, b) };
        let mut copies = [const { CopiesOf(MaybeUninit::<[T; LARGEST_BLOCK]>::uninit()) }; 2];
        let [of_first, of_second] = &mut copies;
        // SAFETY: the caller promises an element where an operand is one.
        let (first, second) = unsafe {
            (
                if FIRST { first } else { repeated::<L, T>(first, of_first) },
                if SECOND { second } else { repeated::<L, T>(second, of_second) },
            )
        };
        // SAFETY: as the caller's; operands that are no runs have copies for a block.
        unsafe {
            if AFTER_MASK {
                run(result, a, first, second, count, masks);
            } else {
                run(result, first, second, c, count, masks);
            }
        }
    }
}

/// Room for a block of copies. Registers that are read from it don't cross a line of the cache.
#[repr(align(64))]
struct CopiesOf<T>(MaybeUninit<[T; LARGEST_BLOCK]>);

/// A block of copies of an element.
///
/// # Safety
///
/// There is one.
#[inline(always)]
unsafe fn repeated<L: Level, T: Copy>(element: *const u8, copies: &mut CopiesOf<T>) -> *const u8 {
    let to = copies.0.as_mut_ptr().cast::<T>();
    // SAFETY: the caller promises an element, and a block has no more than there is room for.
    unsafe {
        let element = load(element.cast::<T>());
        counted!(at in 0..L::BLOCK => {
            store(to.wrapping_add(at), element);
        });
    }
    to.cast_const().cast()
}

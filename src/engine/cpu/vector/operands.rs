//! Kernels of loops over two operands, of which either may be one element for all positions.
//!
//! The loop reads both [under masks](super::masked). Kernels make the copies of the one element before they go to it. Loops that take
//! no longer than the copies and the calls have a kernel for each kind of operands.

use super::lanes::Level;
use super::level::{CopyingLoop, LARGEST_BLOCK, Loop, MaskedLoop, call_copying, call_masked, kernel, masked_kernel};
use super::masked::Masks;
use super::packed::Vectorised;
use super::{Instructions, MaskedKernel, OperandForm, VectorKernel};
use crate::engine::cpu::elements::{counted, load, store};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The kernel of a loop over two operands of these element types, which are the kernel's first two.
pub(super) fn pair_kernel<B: MaskedLoop, T: Vectorised>(
    isa: Instructions,
    left: OperandForm,
    right: OperandForm,
) -> VectorKernel {
    of_operands::<B, T, false>(isa, left, right)
}

/// As [`pair_kernel`], of a loop that takes no longer than a call and the copies: it is compiled for each kind of operands.
pub(super) fn short_pair_kernel<B: MaskedLoop, T: Vectorised>(
    isa: Instructions,
    left: OperandForm,
    right: OperandForm,
) -> VectorKernel {
    match (left, right) {
        (OperandForm::Run, OperandForm::Run) => kernel::<Inlined<B, T, true, true>>(isa),
        (OperandForm::Run, OperandForm::One) => kernel::<Inlined<B, T, true, false>>(isa),
        (OperandForm::One, OperandForm::Run) => kernel::<Inlined<B, T, false, true>>(isa),
        (OperandForm::One, OperandForm::One) => kernel::<Inlined<B, T, false, false>>(isa),
    }
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
    const HAS_LEVELS: bool = B::HAS_LEVELS;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize) {
        // SAFETY: as the caller's.
        unsafe {
            if const { FIRST && SECOND } {
                call_masked::<B, L>(result, a, b, c, count, Masks::of_runs(true, true));
            } else {
                let run = masked_kernel::<B>(L::INSTRUCTIONS);
                call_copying::<Copies<T, AFTER_MASK, FIRST, SECOND>, L>(run, result, a, b, c, count);
            }
        }
    }
}

/// A loop of its own for operands that are runs where this says so: the copies of others stay in registers.
struct Inlined<B, T, const FIRST: bool, const SECOND: bool>(PhantomData<(B, T)>);

impl<B: MaskedLoop, T: Vectorised, const FIRST: bool, const SECOND: bool> Loop for Inlined<B, T, FIRST, SECOND> {
    const HAS_LEVELS: bool = B::HAS_LEVELS;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize) {
        let masks = const { Masks::of_runs(FIRST, SECOND) };
        // SAFETY: as the caller's; operands that are no runs have copies for a block.
        unsafe {
            with_copies::<L, T, false, FIRST, SECOND>(
                a,
                b,
                c,
                #[inline(always)]
                |a, b, c| B::run::<L>(result, a, b, c, count, masks),
            );
        }
    }
}

/// Makes the copies of operands that are no runs, for all loops over a type.
struct Copies<T, const AFTER_MASK: bool, const FIRST: bool, const SECOND: bool>(PhantomData<T>);

impl<T: Vectorised, const AFTER_MASK: bool, const FIRST: bool, const SECOND: bool> CopyingLoop
    for Copies<T, AFTER_MASK, FIRST, SECOND>
{
    #[inline(always)]
    unsafe fn run<L: Level>(
        run: MaskedKernel,
        result: *mut u8,
        a: *const u8,
        b: *const u8,
        c: *const u8,
        count: usize,
    ) {
        let masks = const { Masks::of_runs(FIRST, SECOND) };
        // SAFETY: as the caller's; operands that are no runs have copies for a block.
        unsafe {
            with_copies::<L, T, AFTER_MASK, FIRST, SECOND>(
                a,
                b,
                c,
                #[inline(always)]
                |a, b, c| run(result, a, b, c, count, masks),
            );
        }
    }
}

/// Runs a loop with copies in place of operands that are no runs.
///
/// # Safety
///
/// There is an element where an operand is one.
#[inline(always)]
unsafe fn with_copies<L: Level, T: Copy, const AFTER_MASK: bool, const FIRST: bool, const SECOND: bool>(
    a: *const u8,
    b: *const u8,
    c: *const u8,
    run: impl FnOnce(*const u8, *const u8, *const u8),
) {
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
    if AFTER_MASK { run(a, first, second) } else { run(first, second, c) }
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

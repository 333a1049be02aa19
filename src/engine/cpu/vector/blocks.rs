//! Loops over runs of elements, cut into blocks, each of which is computed in registers or element by element.

use super::lanes::{Level, Register, Registers};
use super::level::LARGEST_BLOCK;
use super::masked::MaskedRun;
#[cfg(target_arch = "x86_64")]
use super::packed::fills;
use super::packed::{Packed, Vectorised};
use crate::engine::cpu::elements::{load, store};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Elements of the smaller blocks: a vector, about.
const SMALL: usize = 8;

/// Keeps a loop over blocks as it is: where the elements of a block are in vectors, the compiler would otherwise make further
/// vectors of elements of several blocks, which lie far apart.
#[inline(always)]
fn between_blocks() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: there is no instruction, only something that must stay in its place.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags))
    };
}

/// The same place, which the compiler does not know to be the same: otherwise it makes masked stores of code that leaves
/// elements as they are, and these take many times as long as others.
#[inline(always)]
pub(super) fn hidden<T>(place: *const T) -> *const T {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut place = place;
        // SAFETY: there is no instruction; the place is as it was.
        unsafe {
            std::arch::asm!("/* {0} */", inlateout(reg) place, options(pure, readonly, nostack, preserves_flags))
        };
        place
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    place
}

/// Work on blocks of elements.
pub(super) trait Blocks {
    /// Does it for so many elements from a position on.
    ///
    /// # Safety
    ///
    /// There are as many.
    unsafe fn block<const COUNT: usize>(&self, start: usize);
}

/// Goes over so many elements in the blocks of the level, then in smaller ones, the last of single elements. All of a block is
/// computed before the first of it is written: a result may lie where an operand lies, which the compiler can't rule out, and it
/// vectorises a block in which nothing is written. So runs of one length are cut at the same places, and a block that an instruction
/// reads has been written as a block: a processor can then forward it from the store buffer, and would otherwise wait until it is in
/// the cache.
///
/// # Safety
///
/// There are so many elements.
#[inline(always)]
pub(super) unsafe fn each_block<L: Level>(count: usize, blocks: impl Blocks) {
    // SAFETY: of `count` elements, as many as a block are left.
    unsafe {
        // Arithmetic that wraps, though it can't: without a check there is nothing to jump to.
        let mut start: usize = 0;
        if const { L::BLOCK == LARGEST_BLOCK } {
            while count.wrapping_sub(start) >= LARGEST_BLOCK {
                blocks.block::<LARGEST_BLOCK>(start);
                between_blocks();
                start = start.wrapping_add(LARGEST_BLOCK);
            }
        }
        while count.wrapping_sub(start) >= SMALL {
            blocks.block::<SMALL>(start);
            between_blocks();
            start = start.wrapping_add(SMALL);
        }
        if count.wrapping_sub(start) >= SMALL / 2 {
            blocks.block::<{ SMALL / 2 }>(start);
            start = start.wrapping_add(SMALL / 2);
        }
        while start < count {
            blocks.block::<1>(start);
            between_blocks();
            start = start.wrapping_add(1);
        }
    }
}

/// The elements that a loop writes: at each position a value that depends only on elements at this position.
pub(super) trait Elements {
    /// The type of the values.
    type Value: Copy;

    /// The values from a position on.
    ///
    /// # Safety
    ///
    /// There are so many positions.
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<Self::Value>; COUNT];
}

/// Values that are computed in registers too.
pub(super) trait InRegisters: Elements {
    /// The elements that the registers hold.
    type Element: Vectorised;

    /// Whether they are; known when compiled.
    fn are_known<V: Packed<Element = Self::Element>>(&self) -> bool {
        true
    }
    /// Writes as many values from a position on as the register has elements.
    ///
    /// # Safety
    ///
    /// There are so many positions, the machine has the register, and the values are known in it.
    unsafe fn write<V: Packed<Element = Self::Element>>(&self, start: usize, to: *mut Self::Value);
}

/// Writes a value at every position, in registers of the level if these are filled.
///
/// # Safety
///
/// The result has room for `count` values, there are so many, and the machine has the instructions of the level. Values depend
/// on no element of the result except those at their own position or later.
#[inline(always)]
pub(super) unsafe fn fill<L: Level, E: InRegisters>(result: *mut E::Value, count: usize, elements: E) {
    struct Filled<L, E: Elements>(*mut E::Value, E, PhantomData<L>);

    impl<L: Level, E: InRegisters> Blocks for Filled<L, E> {
        #[inline(always)]
        unsafe fn block<const COUNT: usize>(&self, start: usize) {
            let result = self.0.wrapping_add(start);
            // SAFETY: the caller promises room at these positions, and what is written at once is known before. Types decide
            // which registers there are, so that no others are compiled.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                if const { fills::<L, <E::Element as Vectorised>::Half>(COUNT) } {
                    return in_registers::<<E::Element as Vectorised>::Half, E, COUNT>(result, &self.1, start);
                }
                store(result.cast(), self.1.block::<COUNT>(start));
            }
        }
    }
    // SAFETY: as the caller's.
    unsafe { each_block::<L>(count, Filled::<L, E>(result, elements, PhantomData)) };
}

/// Writes a block in registers, a whole number of which it fills. Values without a form in registers are written one by one:
/// each takes so long that a block of them gains nothing.
///
/// # Safety
///
/// There are so many positions and room for as many values, and the machine has the register.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn in_registers<V: Packed<Element = E::Element>, E: InRegisters, const COUNT: usize>(
    result: *mut E::Value,
    elements: &E,
    start: usize,
) {
    let mut at = 0;
    // SAFETY: as the caller's.
    unsafe {
        if elements.are_known::<V>() {
            while at < COUNT {
                elements.write::<V>(start.wrapping_add(at), result.wrapping_add(at));
                at += V::WIDTH;
            }
        } else {
            while at < COUNT {
                store(result.wrapping_add(at).cast(), elements.block::<1>(start.wrapping_add(at)));
                at += 1;
            }
        }
    }
}

/// Where the elements of an operand come from.
pub(super) trait Source<T> {
    /// The elements from a position on.
    ///
    /// # Safety
    ///
    /// There are so many positions.
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [T; COUNT];
    /// A register of elements from a position on.
    ///
    /// # Safety
    ///
    /// There are so many positions.
    unsafe fn lanes<V: Register<Element = T>>(&self, start: usize) -> V
    where
        T: Registers;
    /// As [`Self::lanes`], of any type.
    ///
    /// # Safety
    ///
    /// There are so many positions.
    unsafe fn packed<V: Packed<Element = T>>(&self, start: usize) -> V;
}

/// An operand of as many elements as the result has.
pub(super) struct ElementRun<T>(pub(super) *const T);

/// An operand of one element.
pub(super) struct One<T>(pub(super) T);

impl<T> ElementRun<T> {
    /// The run that begins there.
    #[inline(always)]
    pub(super) fn new(start: *const u8) -> Self {
        ElementRun(start.cast())
    }
}

impl<T: Copy> Source<T> for ElementRun<T> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [T; COUNT] {
        // SAFETY: the caller promises valid elements there.
        unsafe { load(self.0.wrapping_add(start).cast()) }
    }
    #[inline(always)]
    unsafe fn lanes<V: Register<Element = T>>(&self, start: usize) -> V
    where
        T: Registers,
    {
        // SAFETY: the caller promises valid elements there.
        unsafe { V::load(self.0.wrapping_add(start)) }
    }
    #[inline(always)]
    unsafe fn packed<V: Packed<Element = T>>(&self, start: usize) -> V {
        // SAFETY: the caller promises valid elements there.
        unsafe { V::load(self.0.wrapping_add(start)) }
    }
}

impl<T: Copy> Source<T> for One<T> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, _: usize) -> [T; COUNT] {
        [self.0; COUNT]
    }
    #[inline(always)]
    unsafe fn lanes<V: Register<Element = T>>(&self, _: usize) -> V
    where
        T: Registers,
    {
        V::of(self.0)
    }
    #[inline(always)]
    unsafe fn packed<V: Packed<Element = T>>(&self, _: usize) -> V {
        V::repeated(self.0)
    }
}

impl<T: Copy> Source<T> for MaskedRun<T> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [T; COUNT] {
        // SAFETY: the caller promises valid elements there, and a block has no more than there are copies.
        unsafe { load(self.at(start).cast()) }
    }
    #[inline(always)]
    unsafe fn lanes<V: Register<Element = T>>(&self, start: usize) -> V
    where
        T: Registers,
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

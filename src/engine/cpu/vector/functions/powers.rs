//! Whole powers: the products that make up the operation table's meaning, in its order.

use super::{RegisterBlock, in_registers};
use crate::engine::cpu::elements::{counted, load, store};
use crate::engine::cpu::vector::USES_REGISTERS;
use crate::engine::cpu::vector::blocks::{Blocks, each_block};
use crate::engine::cpu::vector::lanes::{Lanes, Level, Real, Register, Registers};
use crate::engine::cpu::vector::level::Loop;
use crate::operation::Unary;
use std::marker::PhantomData;

/// The loop of whole powers.
pub(super) struct Powers<T>(PhantomData<T>);

/// Results, bases and the exponent of all.
struct PowerRuns<T, L>(*mut T, *const T, i64, PhantomData<L>);

impl<T: Registers> Loop for Powers<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        // SAFETY: the caller promises the exponent at `b`.
        let exponent = unsafe { load(b.cast::<i64>()) };
        let runs = PowerRuns::<T, L>(result.cast(), a.cast(), exponent, PhantomData);
        // SAFETY: the caller promises elements and room at the positions below `count`.
        unsafe {
            if USES_REGISTERS {
                each_block::<L>(count, runs);
            } else {
                by_table(&runs, count);
            }
        }
    }
}

impl<T: Registers, L: Level> Blocks for PowerRuns<T, L> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) {
        let &PowerRuns(result, a, exponent, _) = self;
        let runs = PowerRuns::<T, L>(result.wrapping_add(start), a.wrapping_add(start), exponent, PhantomData);
        // SAFETY: as the caller's.
        unsafe { in_registers::<T, L, COUNT>(runs) };
    }
}

impl<T: Registers, L: Level> RegisterBlock<T> for PowerRuns<T, L> {
    #[inline(always)]
    unsafe fn registers<V: Register<Element = T>, const COUNT: usize>(self) {
        // As many registers at a time as the block has, up to four, so that no product waits for the one before.
        // SAFETY: the caller promises a block, here and below.
        unsafe {
            let mut at = 0;
            while at + 4 * V::WIDTH <= COUNT {
                let mut bases = [V::of(T::ZERO); 4];
                let mut next = 0;
                while next < 4 {
                    bases[next] = V::load(self.1.wrapping_add(at + next * V::WIDTH));
                    next += 1;
                }
                let results = powers(bases, self.2);
                next = 0;
                while next < 4 {
                    results[next].store(self.0.wrapping_add(at + next * V::WIDTH));
                    next += 1;
                }
                at += 4 * V::WIDTH;
            }
            while at < COUNT {
                let [power] = powers([V::load(self.1.wrapping_add(at))], self.2);
                power.store(self.0.wrapping_add(at));
                at += V::WIDTH;
            }
        }
    }
    #[inline(always)]
    unsafe fn elements<const COUNT: usize>(self) {
        // SAFETY: the caller promises a block, all of which is known before it is written.
        unsafe { store(self.0.cast(), powers(load(self.1.cast::<[T; COUNT]>()), self.2)) };
    }
}

/// Writes the operation table's results, element by element.
///
/// # Safety
///
/// There are so many elements, and room for as many.
unsafe fn by_table<T: Real, L>(&PowerRuns(result, a, exponent, _): &PowerRuns<T, L>, count: usize) {
    let op = Unary::Powi(exponent as i32);
    counted!(at in 0..count => {
        // SAFETY: as the caller's.
        unsafe { store(result.wrapping_add(at), T::by_table(op, load(a.wrapping_add(at)))) };
    });
}

/// A whole power.
#[cfg(target_arch = "x86_64")]
pub(super) fn power<T: Lanes>(base: T, exponent: i32) -> T {
    let [power] = powers([base], i64::from(exponent));
    power
}

/// The powers of all bases.
#[inline(always)]
fn powers<T: Lanes, const COUNT: usize>(mut bases: [T; COUNT], exponent: i64) -> [T; COUNT] {
    let one = T::number(1.0);
    if exponent < 0 {
        // Zero has no sign, so its inverse has a known one.
        counted!(at in 0..COUNT => {
            bases[at] = bases[at] + T::number(0.0);
        });
    }
    let mut rest = exponent.unsigned_abs();
    let mut products = if rest % 2 == 1 { bases } else { [one; COUNT] };
    rest /= 2;
    while rest > 0 {
        counted!(at in 0..COUNT => {
            bases[at] = bases[at] * bases[at];
        });
        if rest % 2 == 1 {
            counted!(at in 0..COUNT => {
                products[at] = products[at] * bases[at];
            });
        }
        rest /= 2;
    }
    if exponent < 0 {
        counted!(at in 0..COUNT => {
            products[at] = one / products[at];
        });
    }
    products
}

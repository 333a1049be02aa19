//! Products of panels, with all sums in registers, and what panels are packed by.

use super::elements::{counted, load};
use super::gemm::{GemmElement, minus_one, put};
#[cfg(target_arch = "x86_64")]
use super::vector::packed::Packed;
#[cfg(target_arch = "x86_64")]
use crate::array::Arithmetic;
use crate::array::matrix::Update;
#[cfg(target_arch = "x86_64")]
use crate::engine::arrays::CacheLine;

/// A product of a panel of `R` rows and one of `C` columns, with all sums in registers.
pub(super) trait Microkernel<T, const R: usize, const C: usize> {
    /// Updates `R` rows of `C` elements each by the product. Each panel comes with a distance in elements:
    /// between a row's elements in the left one, between rows in the right one.
    ///
    /// # Safety
    ///
    /// The panels have `depth` times as many elements as rows and columns, and the machine has the instructions.
    unsafe fn run(
        depth: usize,
        left: ([*const T; R], isize),
        right: (*const T, isize),
        result: [*mut T; R],
        update: Update,
    );
}

/// Interleaves lines in registers.
pub(super) trait Interleave<T, const W: usize> {
    /// Writes the elements of `W` lines in turns, for as many steps as fill registers, and says how many steps these are.
    ///
    /// # Safety
    ///
    /// There are `W` lines of so many adjacent elements, at this distance, and room for all of them. The machine has the
    /// instructions.
    #[inline(always)]
    unsafe fn interleave(_lines: (*const T, isize), _steps: usize, _to: *mut T) -> usize {
        0
    }
}

/// Without vectors of its own.
pub(super) struct PlainProduct;

impl<T, const W: usize> Interleave<T, W> for PlainProduct {}

impl<T: GemmElement, const R: usize, const C: usize> Microkernel<T, R, C> for PlainProduct {
    #[inline(always)]
    unsafe fn run(
        depth: usize,
        left: ([*const T; R], isize),
        right: (*const T, isize),
        result: [*mut T; R],
        update: Update,
    ) {
        let mut sums = [[T::ZERO; C]; R];
        counted!(p in 0..depth as isize => {
            // SAFETY: panels have as many elements.
            let b = unsafe { load(right.0.wrapping_offset(p.wrapping_mul(right.1)).cast::<[T; C]>()) };
            counted!(i in 0..R => {
                // SAFETY: as above.
                let a = unsafe { load(left.0[i].wrapping_offset(p.wrapping_mul(left.1))) };
                counted!(j in 0..C => {
                    sums[i][j] = sums[i][j].plus(a.times(b[j]));
                });
            });
        });
        counted!(i in 0..R => {
            let (sums, row) = (&sums[i], result[i]);
            counted!(j in 0..C => {
                let sum = sums[j];
                // SAFETY: the caller promises the rows.
                unsafe { put(row.wrapping_add(j), sum, update) };
            });
        });
    }
}

/// With two registers to a row.
#[cfg(target_arch = "x86_64")]
pub(super) struct Registers<V>(std::marker::PhantomData<V>);

#[cfg(target_arch = "x86_64")]
impl<V: Packed, const R: usize, const C: usize> Microkernel<V::Element, R, C> for Registers<V>
where
    V::Element: GemmElement,
{
    #[inline(always)]
    unsafe fn run(
        depth: usize,
        left: ([*const V::Element; R], isize),
        right: (*const V::Element, isize),
        result: [*mut V::Element; R],
        update: Update,
    ) {
        const { assert!(C == 2 * V::WIDTH) };
        // SAFETY: panels have as many elements, there are rows of the result, and the machine has the instructions.
        unsafe {
            if depth >= LONG {
                counted!(i in 0..R => { prefetch::<V::Element, C>(result[i]) });
            }
            let mut sums = [[V::repeated(V::Element::ZERO); 2]; R];
            counted!(p in 0..depth as isize => {
                let b = right.0.wrapping_offset(p.wrapping_mul(right.1));
                let b = [V::load(b), V::load(b.wrapping_add(V::WIDTH))];
                // Where each step reads one line of a packed panel, the processor asks the second cache for lines too late.
                if const { R * size_of::<V::Element>() == size_of::<CacheLine>() } {
                    prefetch_line(left.0[0].wrapping_offset(p.wrapping_add(AHEAD).wrapping_mul(left.1)));
                }
                counted!(i in 0..R => {
                    let a = V::repeated(load(left.0[i].wrapping_offset(p.wrapping_mul(left.1))));
                    sums[i] = [a.multiply_add(b[0], sums[i][0]), a.multiply_add(b[1], sums[i][1])];
                });
            });
            counted!(i in 0..R => {
                counted!(part in 0..2usize => {
                    let to = result[i].wrapping_add(part * V::WIDTH);
                    let sum = sums[i][part];
                    let sum = match update {
                        Update::Set => sum,
                        Update::Add => V::load(to).plus(sum),
                        Update::Subtract => sum.multiply_add(V::repeated(minus_one()), V::load(to)),
                    };
                    sum.store(to);
                });
            });
        }
    }
}

/// The lines that registers interleave at most: as many registers are left for results.
#[cfg(target_arch = "x86_64")]
const INTERLEAVED: usize = 16;

#[cfg(target_arch = "x86_64")]
impl<V: Packed, const W: usize> Interleave<V::Element, W> for Registers<V>
where
    V::Element: GemmElement,
{
    #[inline(always)]
    unsafe fn interleave((from, distance): (*const V::Element, isize), steps: usize, to: *mut V::Element) -> usize {
        let zeros = V::repeated(V::Element::ZERO);
        if !W.is_power_of_two() || W > INTERLEAVED || V::zip(zeros, zeros).is_none() {
            return 0;
        }
        let whole = steps - steps % V::WIDTH;
        counted!(step in 0..whole, V::WIDTH => {
            let mut lines = [zeros; W];
            counted!(i in 0..W => {
                let line = from.wrapping_offset(distance.wrapping_mul(i as isize));
                // SAFETY: as the caller's.
                lines[i] = unsafe { V::load(line.wrapping_add(step)) };
            });
            // Each round moves the elements of the second half of all between those of the first.
            counted!(_round in 0..W.ilog2() => {
                let halves = lines;
                counted!(i in 0..W / 2 => {
                    if let Some([first, second]) = V::zip(halves[i], halves[i + W / 2]) {
                        lines[2 * i] = first;
                        lines[2 * i + 1] = second;
                    }
                });
            });
            counted!(i in 0..W => {
                // SAFETY: as the caller's.
                unsafe { lines[i].store(to.wrapping_add(step.wrapping_mul(W)).wrapping_add(i * V::WIDTH)) };
            });
        });
        whole
    }
}

/// The depth of a product during which its result's memory arrives, if it is asked for before.
#[cfg(target_arch = "x86_64")]
const LONG: usize = 128;

/// The steps for which lines of the left panel are asked before they are read.
#[cfg(target_arch = "x86_64")]
const AHEAD: isize = 16;

/// Asks for the lines of some elements.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch<T, const C: usize>(row: *const T) {
    let line = size_of::<CacheLine>() / size_of::<T>();
    counted!(at in 0..C + line, line => { prefetch_line(row.wrapping_add(at.min(C - 1))) });
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line<T>(at: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every such machine has the instruction, which reads nothing.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

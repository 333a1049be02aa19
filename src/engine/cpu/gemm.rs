//! Products of two matrices of floats, blocked for caches and packed for vectors, in memory that the caller has.
//!
//! The scheme is that of GotoBLAS: a block of the right operand is packed into panels of as many columns as a kernel takes,
//! then blocks of the left one into panels of rows, and a kernel multiplies a panel by a panel with all sums in registers.
//! Every element of the result is summed in one order, whatever the rows that are asked for.

use super::arrays::Line;
use super::vector::Instructions;
#[cfg(target_arch = "x86_64")]
use super::vector::registers::{Half32, Half64, Vector, Wide32, Wide64};
use std::ops::{Add, AddAssign, Mul};

/// One of three operands: where it begins, and its strides along rows and columns, in elements.
pub(super) type Operand<T> = (*mut T, isize, isize);

/// The part of the right operand's rows that is packed at once: a panel of the left operand stays in the first cache.
const DEPTH: usize = 256;
/// Rows of the left operand that are packed at once, which stay in the second cache.
const ROWS: usize = 144;
/// Columns of the right operand that are packed at once, which stay in the third cache.
const COLUMNS: usize = 1024;
/// Rows of the left operand that packing the right one is not worth for.
const DIRECT: usize = 96;
/// Multiples of the rows and the columns of all kernels.
const PANELS: (usize, usize) = (24, 32);

/// Lines of memory that packing needs for a product of these sizes, of elements of so many bytes.
pub(super) fn packing_lines([m, k, n]: [usize; 3], bytes: usize) -> usize {
    // Which operand is packed as which depends on the result's layout.
    let lines = |rows: usize, columns: usize| {
        let rows = rows.min(ROWS).next_multiple_of(PANELS.0);
        let columns = columns.min(COLUMNS).next_multiple_of(PANELS.1);
        ((rows + columns) * k.min(DEPTH) * bytes).div_ceil(size_of::<Line>()) + 1
    };
    lines(m, n).max(lines(n, m))
}

/// Floats that kernels multiply.
pub(super) trait Float: Copy + Add<Output = Self> + AddAssign + Mul<Output = Self> {
    const ZERO: Self;
    /// `result = left · right`, or the sum of that and what was there.
    ///
    /// # Safety
    ///
    /// The operands have elements at all positions of their matrices, the result overlaps neither, and the packing memory
    /// has as many lines as [`packing_lines`] says, for these sizes or larger ones. The machine has the instructions.
    unsafe fn multiply(
        isa: Instructions,
        sizes: [usize; 3],
        operands: [Operand<Self>; 3],
        add: bool,
        packing: &mut [Line],
    );
}

/// A product of a panel of `R` rows and one of `C` columns, with all sums in registers.
trait Kernel<T, const R: usize, const C: usize> {
    /// Writes the product to `R` rows of `C` elements each, or adds it to what is there. The left panel has its columns one
    /// after the other; the right one's rows, and those of the result, are so many elements apart.
    ///
    /// # Safety
    ///
    /// The panels have `depth` times as many elements as rows and columns, and the machine has the instructions.
    unsafe fn run(depth: usize, left: *const T, right: (*const T, isize), result: (*mut T, isize), add: bool);
}

/// Without vectors of its own.
struct Plain;

impl<T: Float, const R: usize, const C: usize> Kernel<T, R, C> for Plain {
    #[inline(always)]
    unsafe fn run(depth: usize, left: *const T, right: (*const T, isize), result: (*mut T, isize), add: bool) {
        let mut sums = [[T::ZERO; C]; R];
        for p in 0..depth {
            let row = right.0.wrapping_offset(p as isize * right.1);
            // SAFETY: panels have as many elements.
            let (a, b) = unsafe { (*left.cast::<[T; R]>().add(p), *row.cast::<[T; C]>()) };
            for i in 0..R {
                for j in 0..C {
                    sums[i][j] += a[i] * b[j];
                }
            }
        }
        // SAFETY: the caller promises the rows.
        unsafe { write(&sums, (result.0, result.1, 1), [R, C], add) };
    }
}

/// With two registers to a row.
#[cfg(target_arch = "x86_64")]
struct Registers<V>(std::marker::PhantomData<V>);

#[cfg(target_arch = "x86_64")]
impl<V: Vector, const R: usize, const C: usize> Kernel<V::Element, R, C> for Registers<V>
where
    V::Element: Float,
{
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops that count are unrolled")]
    unsafe fn run(
        depth: usize,
        left: *const V::Element,
        right: (*const V::Element, isize),
        result: (*mut V::Element, isize),
        add: bool,
    ) {
        const { assert!(C == 2 * V::WIDTH) };
        // SAFETY: panels have as many elements, there are rows of the result, and the machine has the instructions.
        unsafe {
            let mut sums = [[V::zero(); 2]; R];
            for p in 0..depth {
                let (a, b) = (left.add(p * R), right.0.wrapping_offset(p as isize * right.1));
                let b = [V::load(b), V::load(b.add(V::WIDTH))];
                for i in 0..R {
                    let a = V::splat(*a.add(i));
                    sums[i] = [a.fused(b[0], sums[i][0]), a.fused(b[1], sums[i][1])];
                }
            }
            for i in 0..R {
                let row = result.0.wrapping_offset(i as isize * result.1);
                for part in 0..2 {
                    let to = row.add(part * V::WIDTH);
                    let sum = if add { V::load(to).plus(sums[i][part]) } else { sums[i][part] };
                    sum.store(to);
                }
            }
        }
    }
}

macro_rules! kernels {
    ($t:ident, $portable:literal, $narrow:ident: $columns:literal, $wide:ident: $wide_columns:literal) => {
        impl Float for $t {
            const ZERO: $t = 0.0;
            unsafe fn multiply(
                isa: Instructions,
                sizes: [usize; 3],
                operands: [Operand<$t>; 3],
                add: bool,
                packing: &mut [Line],
            ) {
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn narrow(sizes: [usize; 3], operands: [Operand<$t>; 3], add: bool, packing: &mut [Line]) {
                    // SAFETY: as the caller's.
                    unsafe { blocked::<$t, Registers<$narrow>, 6, $columns>(sizes, operands, add, packing) }
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma")]
                unsafe fn wide(sizes: [usize; 3], operands: [Operand<$t>; 3], add: bool, packing: &mut [Line]) {
                    // SAFETY: as the caller's.
                    unsafe { blocked::<$t, Registers<$wide>, 8, $wide_columns>(sizes, operands, add, packing) }
                }
                // SAFETY: as the caller's; the machine has the instructions.
                unsafe {
                    match isa {
                        #[cfg(target_arch = "x86_64")]
                        Instructions::Avx512 => wide(sizes, operands, add, packing),
                        #[cfg(target_arch = "x86_64")]
                        Instructions::Avx2 => narrow(sizes, operands, add, packing),
                        _ => blocked::<$t, Plain, 4, $portable>(sizes, operands, add, packing),
                    }
                }
            }
        }
    };
}

kernels!(f64, 4, Half64: 8, Wide64: 16);
kernels!(f32, 8, Half32: 16, Wide32: 32);

/// The product with kernels of `R` rows and `C` columns.
#[inline(always)]
unsafe fn blocked<T: Float, K: Kernel<T, R, C>, const R: usize, const C: usize>(
    [m, k, n]: [usize; 3],
    [a, b, c]: [Operand<T>; 3],
    add: bool,
    packing: &mut [Line],
) {
    // Kernels write rows; a result whose columns are together is the transpose of the product of transposes. So is one of
    // few columns, which a kernel's would be wasted on.
    let swapped = |(start, rows, columns): Operand<T>| (start, columns, rows);
    let computed = |m: usize, n: usize| m.next_multiple_of(R) * n.next_multiple_of(C);
    let is_swapped = (c.1 == 1 && c.2 != 1) || 3 * computed(n, m) < 2 * computed(m, n);
    let ([m, n], [a, b, c]) =
        if is_swapped { ([n, m], [swapped(b), swapped(a), swapped(c)]) } else { ([m, n], [a, b, c]) };
    let at = |(start, rows, columns): Operand<T>, i: usize, j: usize| {
        start.wrapping_offset(i as isize * rows + j as isize * columns)
    };
    let left = packing.as_mut_ptr().cast::<T>();
    let right = left.wrapping_add(ROWS.min(m).next_multiple_of(R) * DEPTH.min(k));
    for column in (0..n).step_by(COLUMNS) {
        let columns = COLUMNS.min(n - column);
        for depth in (0..k.max(1)).step_by(DEPTH) {
            let count = DEPTH.min(k - depth);
            let add = add || depth > 0;
            // SAFETY: positions are inside of the matrices, and the packing memory has room for the panels.
            unsafe {
                // Where few rows are multiplied by a panel, it is read where it is, if its rows' elements are together.
                let direct = if b.2 == 1 && m <= DIRECT { columns - columns % C } else { 0 };
                let rest = swapped((at(b, depth, column + direct), b.1, b.2));
                pack::<T, C>(rest, [columns - direct, count], right.wrapping_add(direct * count));
                for row in (0..m).step_by(ROWS) {
                    let rows = ROWS.min(m - row);
                    pack::<T, R>((at(a, row, depth), a.1, a.2), [rows, count], left);
                    for j in (0..columns).step_by(C) {
                        for i in (0..rows).step_by(R) {
                            let left = left.wrapping_add(i * count).cast_const();
                            let right = match j < direct {
                                true => (at(b, depth, column + j).cast_const(), b.1),
                                false => (right.wrapping_add(j * count).cast_const(), C as isize),
                            };
                            let place = (at(c, row + i, column + j), c.1, c.2);
                            let size = [R.min(rows - i), C.min(columns - j)];
                            if size == [R, C] && c.2 == 1 {
                                K::run(count, left, right, (place.0, c.1), add);
                            } else {
                                let mut sums = [[T::ZERO; C]; R];
                                K::run(count, left, right, (sums.as_mut_ptr().cast(), C as isize), false);
                                write(&sums, place, size, add);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Packs rows into panels of `W` rows, column after column; missing rows are zeros.
#[inline(always)]
unsafe fn pack<T: Float, const W: usize>((start, rows, columns): Operand<T>, [count, depth]: [usize; 2], to: *mut T) {
    for first in (0..count).step_by(W) {
        let panel = to.wrapping_add(first * depth);
        let from = start.wrapping_offset(first as isize * rows);
        // SAFETY: as the caller's.
        unsafe {
            if count - first >= W {
                for p in 0..depth {
                    let (from, to) = (from.wrapping_offset(p as isize * columns), panel.wrapping_add(p * W));
                    if rows == 1 {
                        *to.cast::<[T; W]>() = *from.cast::<[T; W]>();
                    } else {
                        (0..W).for_each(|i| *to.wrapping_add(i) = *from.wrapping_offset(i as isize * rows));
                    }
                }
            } else {
                for p in 0..depth {
                    for i in 0..W {
                        let from = from.wrapping_offset(p as isize * columns + i as isize * rows);
                        *panel.wrapping_add(p * W + i) = if first + i < count { *from } else { T::ZERO };
                    }
                }
            }
        }
    }
}

/// Writes the first rows and columns of a kernel's sums.
#[inline(always)]
unsafe fn write<T: Float, const R: usize, const C: usize>(
    sums: &[[T; C]; R],
    (start, rows, columns): Operand<T>,
    [height, width]: [usize; 2],
    add: bool,
) {
    for (i, sums) in sums.iter().enumerate().take(height) {
        let row = start.wrapping_offset(i as isize * rows);
        // SAFETY: as the caller's.
        unsafe {
            if width == C && columns == 1 {
                for (j, &sum) in sums.iter().enumerate() {
                    let place = row.wrapping_add(j);
                    *place = if add { *place + sum } else { sum };
                }
            } else {
                for (j, &sum) in sums.iter().enumerate().take(width) {
                    let place = row.wrapping_offset(j as isize * columns);
                    *place = if add { *place + sum } else { sum };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

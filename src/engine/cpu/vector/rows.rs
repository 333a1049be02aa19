//! Reductions of runs, and sums over pairs of elements for several rows at a time: dot products, and squared distances.
//!
//! Rows that share an operand read it once, and their sums do not wait for each other. Compilers don't find these vectors
//! by themselves, so they are spelled out in registers; machines without them use the portable loops.

use super::reduction;
use super::{Instructions, RowsKernel, VectorKernel};
use crate::operation::Reduction;
use crate::shape::DType;

/// The kernel of the reduction of a run.
pub(super) fn reduce(isa: Instructions, op: Reduction, dtype: DType) -> VectorKernel {
    #[cfg(target_arch = "x86_64")]
    if let Some((kernel, _)) = x86::reduce(isa, op, dtype) {
        return kernel;
    }
    reduction::reduce(isa, op, dtype)
}

/// The kernel of the reductions of rows.
pub(super) fn reduce_rows(isa: Instructions, op: Reduction, dtype: DType) -> RowsKernel {
    #[cfg(target_arch = "x86_64")]
    if let Some((_, kernel)) = x86::reduce(isa, op, dtype) {
        return kernel;
    }
    reduction::reduce_rows(isa, op, dtype)
}

/// The kernel of a sum of products.
pub(super) fn dot(isa: Instructions, dtype: DType) -> VectorKernel {
    #[cfg(target_arch = "x86_64")]
    if let Some((kernel, _)) = x86::dot(isa, dtype) {
        return kernel;
    }
    reduction::dot(isa, dtype)
}

/// The kernel of a sum of squared differences.
pub(super) fn square_distance(isa: Instructions, dtype: DType) -> VectorKernel {
    #[cfg(target_arch = "x86_64")]
    if let Some((kernel, _)) = x86::square_distance(isa, dtype) {
        return kernel;
    }
    reduction::square_distance(isa, dtype)
}

/// The kernel of sums of products, of rows.
pub(super) fn dots(isa: Instructions, dtype: DType) -> RowsKernel {
    #[cfg(target_arch = "x86_64")]
    if let Some((_, kernel)) = x86::dot(isa, dtype) {
        return kernel;
    }
    reduction::dots(isa, dtype)
}

/// The kernel of sums of squared differences, of rows.
pub(super) fn square_distances(isa: Instructions, dtype: DType) -> RowsKernel {
    #[cfg(target_arch = "x86_64")]
    if let Some((_, kernel)) = x86::square_distance(isa, dtype) {
        return kernel;
    }
    reduction::square_distances(isa, dtype)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{DType, Instructions, Reduction, RowsKernel, VectorKernel, reduction::LANES};
    use crate::array::{Arithmetic, larger, smaller};
    use crate::engine::cpu::elements::{counted, load, store};
    use crate::engine::cpu::vector::USES_REGISTERS;
    use crate::engine::cpu::vector::lanes::Lanes;
    use crate::engine::cpu::vector::packed::{Packed, Vectorised};

    /// The reduction of the elements, or pairs of elements, of a run.
    pub(super) trait RowTerm<V: Packed> {
        /// Whether there is a second operand.
        const PAIRS: bool = true;
        /// The value for nothing.
        #[inline(always)]
        fn nothing() -> V::Element {
            V::Element::ZERO
        }
        fn add(all: V, a: V, b: V) -> V;
        /// Joins two parts.
        #[inline(always)]
        fn join(a: V, b: V) -> V {
            a.plus(b)
        }
        /// The same of single elements.
        #[inline(always)]
        fn join_elements(a: V::Element, b: V::Element) -> V::Element {
            a.plus(b)
        }
        /// Joins the halves of a register, until one element is left.
        #[inline(always)]
        fn total(all: V) -> V::Element {
            all.total()
        }
    }

    /// The elements of the first operand only.
    pub(super) struct RowElements;
    pub(super) struct RowProducts;
    pub(super) struct RowSquaredDifferences;
    pub(super) struct RowLargest;
    pub(super) struct RowSmallest;

    impl<V: Packed> RowTerm<V> for RowElements {
        const PAIRS: bool = false;
        #[inline(always)]
        fn add(sum: V, a: V, _: V) -> V {
            sum.plus(a)
        }
    }

    macro_rules! extreme {
        ($name:ident, $better:ident, $nothing:ident) => {
            impl<V: Packed> RowTerm<V> for $name {
                const PAIRS: bool = false;
                #[inline(always)]
                fn nothing() -> V::Element {
                    V::Element::$nothing
                }
                #[inline(always)]
                fn add(best: V, a: V, _: V) -> V {
                    best.$better(a)
                }
                #[inline(always)]
                fn join(a: V, b: V) -> V {
                    a.$better(b)
                }
                #[inline(always)]
                fn join_elements(a: V::Element, b: V::Element) -> V::Element {
                    $better(a, b)
                }
                #[inline(always)]
                fn total(best: V) -> V::Element {
                    // The order does not matter.
                    let mut elements = best.$better(best.reversed()).elements();
                    let mut width = V::WIDTH / 2;
                    while width > 1 {
                        width /= 2;
                        counted!(at in 0..width => {
                            elements[at] = $better(elements[at], elements[at + width]);
                        });
                    }
                    elements[0]
                }
            }
        };
    }

    extreme!(RowLargest, larger, LOWEST);
    extreme!(RowSmallest, smaller, HIGHEST);

    impl<V: Packed> RowTerm<V> for RowProducts {
        #[inline(always)]
        fn add(sum: V, a: V, b: V) -> V {
            a.multiply_add(b, sum)
        }
    }

    impl<V: Packed + Lanes> RowTerm<V> for RowSquaredDifferences {
        #[inline(always)]
        fn add(sum: V, a: V, b: V) -> V {
            let difference = a - b;
            difference.multiply_add(difference, sum)
        }
    }

    /// The most registers that one result is in.
    const PARTS: usize = 8;

    /// Goes over the registers of a result without a loop. Of so much code the compiler keeps a loop at the first level of
    /// optimisation, and with it the registers in memory.
    macro_rules! each_part {
        ($part:ident in 0..$parts:expr => $body:block) => {
            each_part!(@ $part $parts, $body: 0 1 2 3 4 5 6 7)
        };
        (@ $part:ident $parts:expr, $body:block: $($number:literal)*) => {
            $(if const { $number < $parts } {
                let $part = $number;
                $body
            })*
        };
    }

    /// The results of so many rows, every 32nd element together and then halves of those. All rows may be of one `a`.
    #[inline(always)]
    unsafe fn sums<V: Packed, F: RowTerm<V>, const ROWS: usize, const SHARED: bool>(
        a: [*const V::Element; ROWS],
        b: [*const V::Element; ROWS],
        count: usize,
    ) -> [V::Element; ROWS] {
        let parts = LANES / V::WIDTH;
        // SAFETY: the caller promises the elements and the instructions.
        unsafe {
            let nothing = V::repeated(F::nothing());
            let mut sums = [[nothing; PARTS]; ROWS];
            let mut start = 0;
            while count.wrapping_sub(start) >= LANES {
                counted!(part in 0..parts => {
                    let at = start.wrapping_add(part * V::WIDTH);
                    let first = V::load(a[0].wrapping_add(at));
                    counted!(row in 0..ROWS => {
                        let a = if SHARED || row == 0 { first } else { V::load(a[row].wrapping_add(at)) };
                        sums[row][part] = F::add(sums[row][part], a, V::load(b[row].wrapping_add(at)));
                    });
                });
                start = start.wrapping_add(LANES);
            }
            'rest: {
                each_part!(part in 0..LANES / V::WIDTH => {
                    let at = start.wrapping_add(part * V::WIDTH);
                    if at >= count {
                        break 'rest;
                    }
                    let left = count.wrapping_sub(at);
                    counted!(row in 0..ROWS => {
                        let (a, b) = (a[row].wrapping_add(at), b[row].wrapping_add(at));
                        let (a, b) = match left >= V::WIDTH {
                            true => (V::load(a), V::load(b)),
                            false => (nothing.rest(a, left), nothing.rest(b, left)),
                        };
                        sums[row][part] = F::add(sums[row][part], a, b);
                    });
                });
            }
            let mut totals = [V::Element::ZERO; ROWS];
            counted!(row in 0..ROWS => {
                let mut width = parts;
                while width > 1 {
                    width /= 2;
                    // A short row has nothing in the upper half, whose sum is no other: sums begin at positive zero.
                    if count > width * V::WIDTH {
                        counted!(part in 0..width => {
                            sums[row][part] = F::join(sums[row][part], sums[row][part + width]);
                        });
                    }
                }
                totals[row] = F::total(sums[row][0]);
            });
            totals
        }
    }

    /// Where a row begins.
    #[inline(always)]
    fn moved<T>(start: *const u8, stride: isize, row: usize) -> *const T {
        start.wrapping_offset(stride.wrapping_mul(row as isize)).cast()
    }

    #[inline(always)]
    unsafe fn rows<V: Packed, F: RowTerm<V>, const ROWS: usize>(
        (result, result_stride): (*mut u8, isize),
        (a, a_stride): (*const u8, isize),
        (b, b_stride): (*const u8, isize),
        rows: usize,
        count: usize,
    ) {
        let a = |row: usize| moved::<V::Element>(a, a_stride, row);
        let b = |row: usize| moved::<V::Element>(b, b_stride, row);
        // SAFETY: the caller promises an element of the result and `count` of the operands for each row.
        unsafe {
            let add = |row: usize, sum: V::Element| {
                let place = moved::<V::Element>(result, result_stride, row).cast_mut();
                store(place, F::join_elements(load(place), sum));
            };
            let mut row = 0;
            while rows.wrapping_sub(row) >= ROWS {
                let (mut places, mut others) = ([a(row); ROWS], [b(row); ROWS]);
                counted!(at in 1..ROWS => {
                    (places[at], others[at]) = (a(row.wrapping_add(at)), b(row.wrapping_add(at)));
                });
                let totals = match a_stride {
                    0 if const { F::PAIRS && ROWS > 1 } => sums::<V, F, ROWS, true>(places, others, count),
                    _ => sums::<V, F, ROWS, false>(places, others, count),
                };
                counted!(at in 0..ROWS => {
                    add(row.wrapping_add(at), totals[at]);
                });
                row = row.wrapping_add(ROWS);
            }
            while const { ROWS > 1 } && row < rows {
                let [total] = sums::<V, F, 1, false>([a(row)], [b(row)], count);
                add(row, total);
                row = row.wrapping_add(1);
            }
        }
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn of_rows<V: Packed, F: RowTerm<V>, const ROWS: usize>(
        result: (*mut u8, isize),
        a: (*const u8, isize),
        b: (*const u8, isize),
        count: usize,
        length: usize,
    ) {
        // SAFETY: the caller keeps the promises of the kernel, which include that the machine has these. Without a second operand
        // the first one is there twice, and read once.
        unsafe { rows::<V, F, ROWS>(result, a, if F::PAIRS { b } else { a }, count, length) }
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn of_one<V: Packed, F: RowTerm<V>>(
        result: *mut u8,
        a: *const u8,
        b: *const u8,
        _: *const u8,
        count: usize,
    ) {
        // SAFETY: as above.
        unsafe { rows::<V, F, 1>((result, 0), (a, 0), (if F::PAIRS { b } else { a }, 0), 1, count) }
    }

    // There are registers for the results of two rows of singles, and of one of doubles.
    macro_rules! kernels {
        (of $t:ty, $rows:tt, $term:ty) => {
            (
                of_one::<<$t as Vectorised>::Half, $term> as VectorKernel,
                of_rows::<<$t as Vectorised>::Half, $term, $rows> as RowsKernel,
            )
        };
        ($isa:expr, $dtype:expr, $term:ty) => {
            match ($isa, $dtype) {
                _ if const { !USES_REGISTERS } => return None,
                (Instructions::Avx2 | Instructions::Avx512, DType::F32) => kernels!(of f32, 2, $term),
                (Instructions::Avx2 | Instructions::Avx512, DType::F64) => kernels!(of f64, 1, $term),
                // Compilers make vectors of the others' portable loops.
                _ => return None,
            }
        };
    }

    /// The kernels of the reduction of one row, and of rows.
    pub(super) fn reduce(isa: Instructions, op: Reduction, dtype: DType) -> Option<(VectorKernel, RowsKernel)> {
        Some(match op {
            Reduction::Sum => kernels!(isa, dtype, RowElements),
            Reduction::Max => kernels!(isa, dtype, RowLargest),
            Reduction::Min => kernels!(isa, dtype, RowSmallest),
        })
    }

    /// The kernels of sums of products.
    pub(super) fn dot(isa: Instructions, dtype: DType) -> Option<(VectorKernel, RowsKernel)> {
        Some(kernels!(isa, dtype, RowProducts))
    }

    /// The kernels of sums of squared differences.
    pub(super) fn square_distance(isa: Instructions, dtype: DType) -> Option<(VectorKernel, RowsKernel)> {
        Some(kernels!(isa, dtype, RowSquaredDifferences))
    }
}

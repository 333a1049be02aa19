//! Sums over runs and over pairs of elements, those of pairs for several rows at a time: dot products, and squared distances.
//!
//! Rows that share an operand read it once, and their sums do not wait for each other. Compilers don't find these vectors
//! by themselves, so they are spelled out for the instructions of one architecture; others use the plain loops.

use super::reduction;
use super::{Instructions, Kernel, RowsKernel};
use crate::algebra::Reduction;
use crate::shape::DType;

/// The kernel of the sum of a run.
pub(super) fn sum(isa: Instructions, dtype: DType) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::of_one::<x86::Elements>(isa, dtype) {
        return kernel;
    }
    reduction::reduce(isa, Reduction::Sum, dtype)
}

/// The kernel of a sum of products.
pub(super) fn dot(isa: Instructions, dtype: DType) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::of_one::<x86::Products>(isa, dtype) {
        return kernel;
    }
    reduction::dot(isa, dtype)
}

/// The kernel of a sum of squared differences.
pub(super) fn square_distance(isa: Instructions, dtype: DType) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::of_one::<x86::SquaredDifferences>(isa, dtype) {
        return kernel;
    }
    reduction::square_distance(isa, dtype)
}

/// The kernel of sums of products, of rows.
pub(super) fn dots(isa: Instructions, dtype: DType) -> RowsKernel {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::kernel::<x86::Products>(isa, dtype) {
        return kernel;
    }
    reduction::dots(isa, dtype)
}

/// The kernel of sums of squared differences, of rows.
pub(super) fn square_distances(isa: Instructions, dtype: DType) -> RowsKernel {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::kernel::<x86::SquaredDifferences>(isa, dtype) {
        return kernel;
    }
    reduction::square_distances(isa, dtype)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{DType, Instructions, Kernel, RowsKernel, reduction::LANES};
    use crate::concrete::Arithmetic;
    use crate::engine::cpu::vector::registers::{Half32, Half64, Vector, Wide32, Wide64};

    /// What is summed.
    pub(super) trait Term {
        /// Whether there is a second operand.
        const PAIRS: bool = true;
        unsafe fn add<V: Vector>(sum: V, a: V, b: V) -> V;
    }

    /// The elements of the first operand alone.
    pub(super) struct Elements;
    pub(super) struct Products;
    pub(super) struct SquaredDifferences;

    impl Term for Elements {
        const PAIRS: bool = false;
        #[inline(always)]
        unsafe fn add<V: Vector>(sum: V, a: V, _: V) -> V {
            // SAFETY: as the caller's.
            unsafe { sum.plus(a) }
        }
    }

    impl Term for Products {
        #[inline(always)]
        unsafe fn add<V: Vector>(sum: V, a: V, b: V) -> V {
            // SAFETY: as the caller's.
            unsafe { a.fused(b, sum) }
        }
    }

    impl Term for SquaredDifferences {
        #[inline(always)]
        unsafe fn add<V: Vector>(sum: V, a: V, b: V) -> V {
            // SAFETY: as the caller's.
            unsafe {
                let difference = a.minus(b);
                difference.fused(difference, sum)
            }
        }
    }

    /// The most registers that one sum is in.
    const PARTS: usize = 8;

    /// The sums of so many rows, every 32nd element together and then halves of those. All rows may be of one `a`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops that count are unrolled")]
    unsafe fn sums<V: Vector, F: Term, const ROWS: usize, const SHARED: bool>(
        a: [*const V::Element; ROWS],
        b: [*const V::Element; ROWS],
        count: usize,
    ) -> [V::Element; ROWS] {
        let parts = LANES / V::WIDTH;
        // SAFETY: the caller promises the elements and the instructions.
        unsafe {
            let mut sums = [[V::zero(); PARTS]; ROWS];
            let mut start = 0;
            while count - start >= LANES {
                for part in 0..parts {
                    let at = start + part * V::WIDTH;
                    let first = V::load(a[0].add(at));
                    for row in 0..ROWS {
                        let a = if SHARED || row == 0 { first } else { V::load(a[row].add(at)) };
                        sums[row][part] = F::add(sums[row][part], a, V::load(b[row].add(at)));
                    }
                }
                start += LANES;
            }
            for part in 0..parts {
                let at = start + part * V::WIDTH;
                if at >= count {
                    break;
                }
                let left = count - at;
                for row in 0..ROWS {
                    let (a, b) = (a[row].add(at), b[row].add(at));
                    let (a, b) =
                        if left >= V::WIDTH { (V::load(a), V::load(b)) } else { (V::rest(a, left), V::rest(b, left)) };
                    sums[row][part] = F::add(sums[row][part], a, b);
                }
            }
            let mut totals = [V::Element::ZERO; ROWS];
            for row in 0..ROWS {
                let mut width = parts;
                while width > 1 {
                    width /= 2;
                    for part in 0..width {
                        sums[row][part] = sums[row][part].plus(sums[row][part + width]);
                    }
                }
                totals[row] = sums[row][0].total();
            }
            totals
        }
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops that count are unrolled")]
    unsafe fn rows<V: Vector, F: Term, const ROWS: usize>(
        (result, result_stride): (*mut u8, isize),
        (a, a_stride): (*const u8, isize),
        (b, b_stride): (*const u8, isize),
        rows: usize,
        count: usize,
    ) {
        let a = |row: usize| a.wrapping_offset(a_stride * row as isize).cast::<V::Element>();
        let b = |row: usize| b.wrapping_offset(b_stride * row as isize).cast::<V::Element>();
        // SAFETY: the caller promises an element of the result and `count` of the operands for each row.
        unsafe {
            let add = |row: usize, sum: V::Element| {
                let place = result.wrapping_offset(result_stride * row as isize).cast::<V::Element>();
                place.write(place.read().plus(sum));
            };
            let mut row = 0;
            while rows - row >= ROWS {
                let (mut places, mut others) = ([a(row); ROWS], [b(row); ROWS]);
                for at in 1..ROWS {
                    (places[at], others[at]) = (a(row + at), b(row + at));
                }
                let totals = match a_stride {
                    0 => sums::<V, F, ROWS, true>(places, others, count),
                    _ => sums::<V, F, ROWS, false>(places, others, count),
                };
                for at in 0..ROWS {
                    add(row + at, totals[at]);
                }
                row += ROWS;
            }
            while row < rows {
                let [total] = sums::<V, F, 1, false>([a(row)], [b(row)], count);
                add(row, total);
                row += 1;
            }
        }
    }

    macro_rules! compiled {
        ($rows:ident, $one:ident, $features:literal) => {
            #[target_feature(enable = $features)]
            unsafe fn $rows<V: Vector, F: Term, const ROWS: usize>(
                result: (*mut u8, isize),
                a: (*const u8, isize),
                b: (*const u8, isize),
                count: usize,
                length: usize,
            ) {
                // SAFETY: the caller keeps the promises of the kernel, which include that the machine has these.
                unsafe { rows::<V, F, ROWS>(result, a, b, count, length) }
            }

            #[target_feature(enable = $features)]
            unsafe fn $one<V: Vector, F: Term>(
                result: *mut u8,
                a: *const u8,
                b: *const u8,
                _: *const u8,
                count: usize,
            ) {
                // SAFETY: as above. Without a second operand the first one is there twice, and read once.
                unsafe { rows::<V, F, 1>((result, 0), (a, 0), (if F::PAIRS { b } else { a }, 0), 1, count) }
            }
        };
    }

    compiled!(avx2, avx2_of_one, "avx2,fma,bmi1,bmi2,lzcnt,popcnt");
    compiled!(avx512, avx512_of_one, "avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt");

    /// The kernel for floats, of one row.
    pub(super) fn of_one<F: Term>(isa: Instructions, dtype: DType) -> Option<Kernel> {
        match (isa, dtype) {
            (Instructions::Avx512, DType::F32) => Some(avx512_of_one::<Wide32, F>),
            (Instructions::Avx512, DType::F64) => Some(avx512_of_one::<Wide64, F>),
            (Instructions::Avx2, DType::F32) => Some(avx2_of_one::<Half32, F>),
            (Instructions::Avx2, DType::F64) => Some(avx2_of_one::<Half64, F>),
            _ => None,
        }
    }

    /// The kernel for floats; sums of as many rows together as there are registers for.
    pub(super) fn kernel<F: Term>(isa: Instructions, dtype: DType) -> Option<RowsKernel> {
        match (isa, dtype) {
            (Instructions::Avx512, DType::F32) => Some(avx512::<Wide32, F, 4>),
            (Instructions::Avx512, DType::F64) => Some(avx512::<Wide64, F, 4>),
            (Instructions::Avx2, DType::F32) => Some(avx2::<Half32, F, 2>),
            (Instructions::Avx2, DType::F64) => Some(avx2::<Half64, F, 1>),
            _ => None,
        }
    }
}

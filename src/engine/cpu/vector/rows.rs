//! Sums over pairs of elements, for several rows at a time: dot products, and squared distances.
//!
//! Rows that share an operand read it once, and their sums do not wait for each other. Compilers don't find these vectors
//! by themselves, so they are spelled out for the instructions of one architecture; others use the plain loops.

use super::level::Product;
use super::reduction;
use super::{Instructions, RowsKernel};
use crate::shape::DType;

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
    use super::{DType, Instructions, Product, RowsKernel, reduction::LANES};
    use crate::concrete::Arithmetic;
    use std::arch::x86_64::*;

    /// A vector register of floats.
    ///
    /// # Safety
    ///
    /// Its functions are called where the machine has the instructions.
    pub(super) trait Vector: Copy {
        type Element: Product;
        const WIDTH: usize;
        unsafe fn zero() -> Self;
        unsafe fn load(from: *const Self::Element) -> Self;
        /// The first elements, fewer than the register has, and zeros.
        unsafe fn rest(from: *const Self::Element, count: usize) -> Self;
        unsafe fn minus(self, other: Self) -> Self;
        unsafe fn plus(self, other: Self) -> Self;
        /// This times the factor, plus the term.
        unsafe fn fused(self, factor: Self, term: Self) -> Self;
        /// The sum of halves, until one element is left.
        unsafe fn total(self) -> Self::Element;
    }

    /// What is summed.
    pub(super) trait Term {
        unsafe fn add<V: Vector>(sum: V, a: V, b: V) -> V;
    }

    pub(super) struct Products;
    pub(super) struct SquaredDifferences;

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

    /// Halves of a register of eight doubles or sixteen singles, added, down to one element.
    #[inline(always)]
    unsafe fn total_f64(sum: __m256d) -> f64 {
        // SAFETY: as the caller's.
        unsafe {
            let pair = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd::<1>(sum));
            _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
        }
    }

    #[inline(always)]
    unsafe fn total_f32(sum: __m256) -> f32 {
        // SAFETY: as the caller's.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
            let pair = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps::<1>(pair, pair)))
        }
    }

    macro_rules! vector {
        ($name:ident, $register:ident, $t:ident, $width:literal, $zero:ident, $load:ident, $minus:ident, $plus:ident,
         $fused:ident, |$from:ident, $count:ident| $rest:expr, |$sum:ident| $total:expr) => {
            #[derive(Clone, Copy)]
            pub(super) struct $name($register);

            impl Vector for $name {
                type Element = $t;
                const WIDTH: usize = $width;
                #[inline(always)]
                unsafe fn zero() -> Self {
                    // SAFETY: as the caller's.
                    $name(unsafe { $zero() })
                }
                #[inline(always)]
                unsafe fn load(from: *const $t) -> Self {
                    // SAFETY: as the caller's.
                    $name(unsafe { $load(from) })
                }
                #[inline(always)]
                unsafe fn rest($from: *const $t, $count: usize) -> Self {
                    // SAFETY: as the caller's.
                    $name(unsafe { $rest })
                }
                #[inline(always)]
                unsafe fn minus(self, other: Self) -> Self {
                    // SAFETY: as the caller's.
                    $name(unsafe { $minus(self.0, other.0) })
                }
                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    // SAFETY: as the caller's.
                    $name(unsafe { $plus(self.0, other.0) })
                }
                #[inline(always)]
                unsafe fn fused(self, factor: Self, term: Self) -> Self {
                    // SAFETY: as the caller's.
                    $name(unsafe { $fused(self.0, factor.0, term.0) })
                }
                #[inline(always)]
                unsafe fn total(self) -> $t {
                    let $sum = self.0;
                    // SAFETY: as the caller's.
                    unsafe { $total }
                }
            }
        };
    }

    vector!(
        Wide64,
        __m512d,
        f64,
        8,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_sub_pd,
        _mm512_add_pd,
        _mm512_fmadd_pd,
        |from, count| _mm512_maskz_loadu_pd((1u8 << count).wrapping_sub(1), from),
        |sum| total_f64(_mm256_add_pd(_mm512_castpd512_pd256(sum), _mm512_extractf64x4_pd::<1>(sum)))
    );
    vector!(
        Wide32,
        __m512,
        f32,
        16,
        _mm512_setzero_ps,
        _mm512_loadu_ps,
        _mm512_sub_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps,
        |from, count| _mm512_maskz_loadu_ps((1u16 << count).wrapping_sub(1), from),
        |sum| total_f32(_mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps::<1>(sum)))
    );
    vector!(
        Half64,
        __m256d,
        f64,
        4,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_sub_pd,
        _mm256_add_pd,
        _mm256_fmadd_pd,
        |from, count| {
            let mut rest = [0.0; 4];
            std::ptr::copy_nonoverlapping(from, rest.as_mut_ptr(), count);
            _mm256_loadu_pd(rest.as_ptr())
        },
        |sum| total_f64(sum)
    );
    vector!(
        Half32,
        __m256,
        f32,
        8,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_sub_ps,
        _mm256_add_ps,
        _mm256_fmadd_ps,
        |from, count| {
            let mut rest = [0.0; 8];
            std::ptr::copy_nonoverlapping(from, rest.as_mut_ptr(), count);
            _mm256_loadu_ps(rest.as_ptr())
        },
        |sum| total_f32(sum)
    );

    /// The most registers that one sum is in.
    const PARTS: usize = 8;

    /// The sums of so many rows, every 32nd element together and then halves of those.
    #[inline(always)]
    unsafe fn sums<V: Vector, F: Term, const ROWS: usize>(
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
                    for row in 0..ROWS {
                        let at = start + part * V::WIDTH;
                        sums[row][part] = F::add(sums[row][part], V::load(a[row].add(at)), V::load(b[row].add(at)));
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
                let totals = sums::<V, F, ROWS>(places, others, count);
                for at in 0..ROWS {
                    add(row + at, totals[at]);
                }
                row += ROWS;
            }
            while row < rows {
                let [total] = sums::<V, F, 1>([a(row)], [b(row)], count);
                add(row, total);
                row += 1;
            }
        }
    }

    macro_rules! compiled {
        ($name:ident, $features:literal) => {
            #[target_feature(enable = $features)]
            unsafe fn $name<V: Vector, F: Term, const ROWS: usize>(
                result: (*mut u8, isize),
                a: (*const u8, isize),
                b: (*const u8, isize),
                count: usize,
                length: usize,
            ) {
                // SAFETY: the caller keeps the promises of the kernel, which include that the machine has these.
                unsafe { rows::<V, F, ROWS>(result, a, b, count, length) }
            }
        };
    }

    compiled!(avx2, "avx2,fma,bmi1,bmi2,lzcnt,popcnt");
    compiled!(avx512, "avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt");

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

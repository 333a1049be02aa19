//! Vector versions of functions of two operands.

#[cfg(target_arch = "x86_64")]
use super::Formula;
use super::exponential::{Exp, exp_of_sum};
use super::logarithm::{Ln, ln_1p_of};
use super::{RegisterBlock, VectorFunction, WIDEST, in_registers, polynomial};
use crate::array::ElementType;
use crate::engine::cpu::elements::store;
use crate::engine::cpu::vector::blocks::{Blocks, Source, each_block};
use crate::engine::cpu::vector::lanes::{Lanes, Level, Mask, Real};
use crate::engine::cpu::vector::level::MaskedLoop;
use crate::engine::cpu::vector::masked::{MaskedRun, Masks};
use crate::engine::cpu::vector::operands::pair_kernel;
use crate::engine::cpu::vector::packed::Vectorised;
use crate::engine::cpu::vector::{Instructions, OperandForm, USES_REGISTERS, VectorKernel};
use crate::operation::Binary;
use crate::shape::DType;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A function of two operands with a vector version.
trait Pairwise {
    /// The row of the operation table.
    const ROW: Binary;

    /// The results for operands that are not outside.
    fn value<T: Lanes, L: Level>(a: T, b: T) -> T;

    /// Where [`Self::value`] does not hold for the operands; the results are the operation table's there.
    #[inline(always)]
    fn outside<T: Lanes>(_: T, _: T) -> T::Mask {
        T::NONE
    }
}

/// The loop of a function of two operands.
struct PairLoop<T, F>(PhantomData<(T, F)>);

/// Results and operands of such a function.
struct PairRuns<T, F, L>(*mut T, MaskedRun<T>, MaskedRun<T>, PhantomData<(F, L)>);

/// Such a block of them.
struct PairsBlock<'a, T, F, L>(&'a PairRuns<T, F, L>, usize);

impl<T: Real, F: Pairwise, L: Level> Blocks for PairRuns<T, F, L> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) {
        // SAFETY: as the caller's.
        unsafe { in_registers::<T, L, COUNT>(PairsBlock(self, start)) };
    }
}

impl<T: Real, F: Pairwise, L: Level> RegisterBlock<T> for PairsBlock<'_, T, F, L> {
    #[inline(always)]
    unsafe fn registers<V: Lanes<Element = T>, const COUNT: usize>(self) {
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
unsafe fn corrected<V: Lanes, F: Pairwise>(value: V, a: V, b: V) -> V {
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

impl<T: Real, F: Pairwise> MaskedLoop for PairLoop<T, F> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize, masks: Masks) {
        let (a, b) = masks.of(a, b);
        // SAFETY: the caller promises `count` elements, or copies of one.
        unsafe { each_block::<L>(count, PairRuns::<T, F, L>(result.cast(), a, b, PhantomData)) };
    }
}

struct LogAddExp;

impl Pairwise for LogAddExp {
    const ROW: Binary = Binary::LogAddExp;
    // As the table's, in the wider type: where the terms cancel, digits are needed that the other one lacks.
    #[inline(always)]
    fn value<T: Lanes, L: Level>(a: T, b: T) -> T {
        T::single(log_add_exp::<T::Double, L>(a.double(), b.double()))
    }
}

#[inline(always)]
fn log_add_exp<T: Lanes<Element = f64>, L: Level>(a: T, b: T) -> T {
    let ordered = a.less(b);
    let (low, high) = (T::either(ordered, a, b), T::either(ordered, b, a));
    let difference = low - high;
    // The rounding error matters where the larger operand is small.
    let near = difference.greater(T::number(-50.0));
    let lost = T::either(near, (low - difference) - high, T::number(0.0));
    let exponential = Exp::value::<T, L>(difference);
    let sum = high + ln_1p_of::<T, L>(exponential.times_plus::<L>(lost, exponential));
    // The difference of equal infinities is NaN.
    T::either(low.equals(high), high + T::of(f64::LN_2), sum)
}

struct Xlogy;

impl Pairwise for Xlogy {
    const ROW: Binary = Binary::Xlogy;
    #[inline(always)]
    fn value<T: Lanes, L: Level>(a: T, b: T) -> T {
        let zero = T::number(0.0);
        let vanishes = a.equals(zero).and(b.equals(b));
        T::either(vanishes, zero, a * Ln::value::<T, L>(b))
    }
}

/// (2 atanh √z / √z − 2 − 2z/3) / z² for z up to (3 − √8)².
const AREA_TANGENT: &[f64] = &[
    0.4,
    0.2857142857142937,
    0.22222222221654733,
    0.18181818335654215,
    0.15384594934593232,
    0.13334806212309006,
    0.11706195685161226,
    0.11723603665665217,
];

/// 2/3 in two parts.
const TWO_THIRDS: (f64, f64) = (2.0 / 3.0, 3.700743415417188e-17);

/// ln x in two parts, the second being the rounding error of the first; with about 65 binary digits, which an exponent of a
/// thousand needs. Products must be fused: their rounding errors are computed with them.
#[inline(always)]
fn ln_in_parts<T: Lanes<Element = f64>, L: Level>(x: T) -> (T, T) {
    let (one, two) = (T::number(1.0), T::number(2.0));
    let (k, m, _) = x.split();
    let f = m - one;
    // ln m = 2 atanh s with s = f / (2 + f), each in two parts.
    let divisor = f + two;
    let divisor_low = f - (divisor - two);
    let inverse = one / divisor;
    let s = f * inverse;
    let s_low = (s.times_plus::<L>(-divisor, f) - s * divisor_low) * inverse;
    let z = s * s;
    let z_low = s.times_plus::<L>(s, -z) + two * s * s_low;
    // 2 atanh s = 2s + s (2z/3 + z² ..).
    let two_thirds = (T::of(TWO_THIRDS.0), T::of(TWO_THIRDS.1));
    let third = z * two_thirds.0;
    let third_low = z.times_plus::<L>(two_thirds.0, -third) + (z * two_thirds.1 + z_low * two_thirds.0);
    let beyond = z * z * polynomial::<T, L>(z, AREA_TANGENT);
    let series = third + beyond;
    let series_low = ((third - series) + beyond) + third_low;
    let product = s * series;
    let product_low = s.times_plus::<L>(series, -product) + (s * series_low + s_low * series);
    let twice = s + s;
    let ln = twice + product;
    let ln_low = ((twice - ln) + product) + (product_low + two * s_low);
    let whole = k * T::of(f64::LN_2_PARTS.0);
    let sum = whole + ln;
    (sum, ((whole - sum) + ln) + k.times_plus::<L>(T::of(f64::LN_2_PARTS.1), ln_low))
}

struct Pow;

impl Pairwise for Pow {
    const ROW: Binary = Binary::Pow;
    #[inline(always)]
    fn value<T: Lanes, L: Level>(a: T, b: T) -> T {
        T::single(if <T::Element>::DTYPE == DType::F32 {
            // In the wider type no digits of a product are missing.
            Exp::value::<T::Double, L>(b.double() * Ln::value::<T::Double, L>(a.double()))
        } else {
            precise_power::<T::Double, L>(a.double(), b.double())
        })
    }
    #[inline(always)]
    fn outside<T: Lanes>(a: T, b: T) -> T::Mask {
        let infinity = T::number(f64::INFINITY);
        let held = a.less(infinity).and(b.size().less(infinity));
        // The power of the narrower type takes numbers of less than full precision as they are.
        if <T::Element>::DTYPE == DType::F32 {
            held.and(a.greater(T::number(0.0))).not()
        } else {
            held.and(a.less(T::of(<T::Element>::SMALLEST_NORMAL)).not()).not()
        }
    }
}

/// aᵇ of doubles.
#[inline(always)]
fn precise_power<T: Lanes<Element = f64>, L: Level>(a: T, b: T) -> T {
    let (ln, ln_low) = ln_in_parts::<T, L>(a);
    let product = b * ln;
    let low = b.times_plus::<L>(ln, -product) + b * ln_low;
    // The rounding error of an infinite product has no meaning.
    let bounded = product.size().less(T::number(1000.0));
    exp_of_sum::<T, L>(product, T::either(bounded, low, T::number(0.0)))
}

fn of_floats<T: Real + Vectorised>(
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
pub(in crate::engine::cpu::vector) fn formula_of_two<T: Lanes, L: Level>(op: Binary, a: T, b: T) -> Option<Formula<T>> {
    fn of<T: Lanes, F: Pairwise, L: Level>(a: T, b: T) -> Formula<T> {
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

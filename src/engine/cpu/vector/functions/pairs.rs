//! Vector versions of functions of two operands.

use super::exponential::{Exp, exp_of_sum};
use super::logarithm::{Ln, ln_1p_of};
use super::real::Real;
use super::{Function, polynomial};
use crate::engine::cpu::elements::store;
use crate::engine::cpu::vector::elementwise::{Blocks, One, Run, Source, each_block};
use crate::engine::cpu::vector::level::{Level, Loop, Product, kernel};
use crate::engine::cpu::vector::{Instructions, Kernel, Operand};
use crate::operation::{Binary, BinaryLoop};
use crate::shape::DType;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A function of two operands with a vector version.
trait Pairwise<T> {
    /// The result for operands that are not outside.
    fn value<L: Level>(a: T, b: T) -> T;

    /// Whether [`Self::value`] does not hold for these operands; then the result is the operation table's.
    #[inline(always)]
    fn outside(_: T, _: T) -> bool {
        false
    }

    /// What the operation table says.
    fn by_table(a: T, b: T) -> T;
}

/// The loop of a function of two operands.
struct Vectors<T, F, A, B>(PhantomData<(T, F, A, B)>);

/// Results and operands of such a function.
struct Runs<T, F, L, A, B>(*mut T, A, B, PhantomData<(F, L)>);

impl<T: Real, F: Pairwise<T>, L: Level, A: Source<T>, B: Source<T>> Blocks for Runs<T, F, L, A, B> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) {
        // SAFETY: the caller promises elements at these positions.
        let (a, b) = unsafe { (self.1.block::<COUNT>(start), self.2.block::<COUNT>(start)) };
        let mut values = [const { MaybeUninit::<T>::uninit() }; COUNT];
        let mut any_outside = false;
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new(F::value::<L>(a[at], b[at]));
            any_outside |= F::outside(a[at], b[at]);
            at += 1;
        }
        if any_outside {
            at = 0;
            while at < COUNT {
                if F::outside(a[at], b[at]) {
                    values[at] = MaybeUninit::new(F::by_table(a[at], b[at]));
                }
                at += 1;
            }
        }
        // SAFETY: the caller promises room at these positions, and the whole block is known.
        unsafe { store(self.0.wrapping_add(start).cast(), values) };
    }
}

impl<T: Real, F: Pairwise<T>, A: Source<T>, B: Source<T>> Loop for Vectors<T, F, A, B> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        if count == 0 {
            return;
        }
        // SAFETY: the caller promises `count` elements, which are more than none, or one.
        unsafe { each_block(count, Runs::<T, F, L, A, B>(result.cast(), A::new(a), B::new(b), PhantomData)) };
    }
}

/// The loop over a single pair.
struct Apply<T>(T, T);

impl<T> BinaryLoop<T, T> for Apply<T> {
    type Output = T;
    fn run<F: Fn(T, T) -> T>(self, f: F) -> T {
        f(self.0, self.1)
    }
}

struct LogAddExp;

impl Pairwise<f64> for LogAddExp {
    #[inline(always)]
    fn value<L: Level>(a: f64, b: f64) -> f64 {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        let difference = low - high;
        // What it is rounded by counts where the larger operand is small.
        let lost = if difference > -50.0 { (low - difference) - high } else { 0.0 };
        let exponential = <Exp as Function<f64>>::value::<L>(difference);
        let sum = high + ln_1p_of::<f64, L>(exponential.times_plus::<L>(lost, exponential));
        // Of equal infinities the difference is no number.
        if low == high { high + f64::LN_2 } else { sum }
    }
    fn by_table(a: f64, b: f64) -> f64 {
        Binary::LogAddExp.run_f64(Apply(a, b))
    }
}

impl Pairwise<f32> for LogAddExp {
    // As the table's, in the wider type: where the terms cancel, digits are needed that this one lacks.
    #[inline(always)]
    fn value<L: Level>(a: f32, b: f32) -> f32 {
        <LogAddExp as Pairwise<f64>>::value::<L>(f64::from(a), f64::from(b)) as f32
    }
    fn by_table(a: f32, b: f32) -> f32 {
        Binary::LogAddExp.run_f32(Apply(a, b))
    }
}

struct Xlogy;

macro_rules! xlogy {
    ($t:ident, $run:ident) => {
        impl Pairwise<$t> for Xlogy {
            #[inline(always)]
            fn value<L: Level>(a: $t, b: $t) -> $t {
                let product = a * <Ln as Function<$t>>::value::<L>(b);
                if a == 0.0 && !b.is_nan() { 0.0 } else { product }
            }
            fn by_table(a: $t, b: $t) -> $t {
                Binary::Xlogy.$run(Apply(a, b))
            }
        }
    };
}

xlogy!(f32, run_f32);
xlogy!(f64, run_f64);

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

/// ln x in two parts, the second for what the first has been rounded by; with about 65 binary digits, which an exponent of a
/// thousand needs. Products must be fused: what they are rounded by is computed with them.
#[inline(always)]
fn ln_in_parts<L: Level>(x: f64) -> (f64, f64) {
    let (k, m, _) = x.split();
    let f = m - 1.0;
    // ln m = 2 atanh s with s = f / (2 + f), each in two parts.
    let divisor = f + 2.0;
    let divisor_low = f - (divisor - 2.0);
    let inverse = 1.0 / divisor;
    let s = f * inverse;
    let s_low = (s.times_plus::<L>(-divisor, f) - s * divisor_low) * inverse;
    let z = s * s;
    let z_low = s.times_plus::<L>(s, -z) + 2.0 * s * s_low;
    // 2 atanh s = 2s + s (2z/3 + z² ..).
    let third = z * TWO_THIRDS.0;
    let third_low = z.times_plus::<L>(TWO_THIRDS.0, -third) + (z * TWO_THIRDS.1 + z_low * TWO_THIRDS.0);
    let beyond = z * z * polynomial::<f64, L>(z, AREA_TANGENT);
    let series = third + beyond;
    let series_low = ((third - series) + beyond) + third_low;
    let product = s * series;
    let product_low = s.times_plus::<L>(series, -product) + (s * series_low + s_low * series);
    let twice = s + s;
    let ln = twice + product;
    let ln_low = ((twice - ln) + product) + (product_low + 2.0 * s_low);
    let whole = k * f64::LN_2_PARTS.0;
    let sum = whole + ln;
    (sum, ((whole - sum) + ln) + k.times_plus::<L>(f64::LN_2_PARTS.1, ln_low))
}

struct Pow;

impl Pairwise<f64> for Pow {
    #[inline(always)]
    fn value<L: Level>(a: f64, b: f64) -> f64 {
        let (ln, ln_low) = ln_in_parts::<L>(a);
        let product = b * ln;
        let low = b.times_plus::<L>(ln, -product) + b * ln_low;
        // What a product has been rounded by says nothing where it is infinite.
        exp_of_sum::<f64, L>(product, if product.abs() < 1000.0 { low } else { 0.0 })
    }
    // The method of a range is a call where functions that say nothing are not inlined.
    #[allow(clippy::manual_range_contains)]
    #[inline(always)]
    fn outside(a: f64, b: f64) -> bool {
        !(a >= f64::MIN_POSITIVE && a < f64::INFINITY && b.is_finite())
    }
    fn by_table(a: f64, b: f64) -> f64 {
        Binary::Pow.run_f64(Apply(a, b))
    }
}

impl Pairwise<f32> for Pow {
    #[inline(always)]
    fn value<L: Level>(a: f32, b: f32) -> f32 {
        // In the wider type no digits of a product are missing.
        let ln = <Ln as Function<f64>>::value::<L>(f64::from(a));
        <Exp as Function<f64>>::value::<L>(f64::from(b) * ln) as f32
    }
    #[inline(always)]
    fn outside(a: f32, b: f32) -> bool {
        !(a > 0.0 && a.is_finite() && b.is_finite())
    }
    fn by_table(a: f32, b: f32) -> f32 {
        Binary::Pow.run_f32(Apply(a, b))
    }
}

fn of_floats<T: Real>(isa: Instructions, op: Binary, a: Operand, b: Operand) -> Option<Kernel>
where
    LogAddExp: Pairwise<T>,
    Xlogy: Pairwise<T>,
    Pow: Pairwise<T>,
{
    fn by_operands<T: Real, F: Pairwise<T>>(isa: Instructions, a: Operand, b: Operand) -> Kernel {
        match (a, b) {
            (Operand::Run, Operand::Run) => kernel::<Vectors<T, F, Run<T>, Run<T>>>(isa),
            (Operand::Run, Operand::One) => kernel::<Vectors<T, F, Run<T>, One<T>>>(isa),
            (Operand::One, Operand::Run) => kernel::<Vectors<T, F, One<T>, Run<T>>>(isa),
            (Operand::One, Operand::One) => kernel::<Vectors<T, F, One<T>, One<T>>>(isa),
        }
    }
    match op {
        Binary::LogAddExp => Some(by_operands::<T, LogAddExp>(isa, a, b)),
        Binary::Xlogy => Some(by_operands::<T, Xlogy>(isa, a, b)),
        Binary::Pow => Some(by_operands::<T, Pow>(isa, a, b)),
        _ => None,
    }
}

/// The kernel of an operation that has a vector version.
pub(in crate::engine::cpu::vector) fn binary(
    isa: Instructions,
    op: Binary,
    dtype: DType,
    a: Operand,
    b: Operand,
) -> Option<Kernel> {
    match (op, dtype, isa) {
        // The logarithm in parts needs fused products, and that in the wider type is slower than a call without vectors of
        // some length.
        (Binary::Pow, _, Instructions::Portable) => None,
        (_, DType::F32, _) => of_floats::<f32>(isa, op, a, b),
        (_, DType::F64, _) => of_floats::<f64>(isa, op, a, b),
        _ => None,
    }
}

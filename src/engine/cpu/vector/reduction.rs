//! Kernels that combine the elements of a run into one.

use super::elementwise::for_dtype;
use super::level::{Level, Loop, Product, kernel};
use super::{Instructions, Kernel};
use crate::algebra::Reduction;
use crate::concrete::Scalar;
use crate::shape::DType;
use std::marker::PhantomData;

/// Partial results, one for each position of a block: so many vectors that none waits for the one before, and for all
/// instructions the same number, so that the order of a sum does not depend on them.
const LANES: usize = 32;

/// Combines a run in a fixed order: every 32nd element together, then halves of those results with each other.
///
/// # Safety
///
/// The step may be called for positions below `count`.
#[inline(always)]
unsafe fn in_lanes<T: Copy>(count: usize, start: T, step: impl Fn(T, usize) -> T, join: impl Fn(T, T) -> T) -> T {
    let mut lanes = [start; LANES];
    let mut block = 0;
    while count - block >= LANES {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum = step(*sum, block + lane);
        }
        block += LANES;
    }
    for (lane, at) in (block..count).enumerate() {
        lanes[lane] = step(lanes[lane], at);
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] = join(lanes[lane], lanes[lane + width]);
        }
    }
    lanes[0]
}

/// How two elements become one.
trait Join<T> {
    /// What a reduction of nothing is.
    const NOTHING: T;
    fn join(a: T, b: T) -> T;
}

struct Sum;
struct Largest;
struct Smallest;

impl<T: Scalar> Join<T> for Sum {
    const NOTHING: T = T::ZERO;
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        a.plus(b)
    }
}

impl<T: Scalar> Join<T> for Largest {
    const NOTHING: T = T::LOWEST;
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        // NaN wins.
        if a >= b || a.is_nan() { a } else { b }
    }
}

impl<T: Scalar> Join<T> for Smallest {
    const NOTHING: T = T::HIGHEST;
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        if a <= b || a.is_nan() { a } else { b }
    }
}

struct Reduce<T, J>(PhantomData<(T, J)>);

impl<T: Scalar, J: Join<T>> Loop for Reduce<T, J> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        let (result, a) = (result.cast::<T>(), a.cast::<T>());
        // SAFETY: the caller promises one element of the result and `count` of the operand.
        unsafe {
            let joined = in_lanes(count, J::NOTHING, |sum, at| J::join(sum, a.add(at).read()), J::join);
            result.write(J::join(result.read(), joined));
        }
    }
}

/// The kernel of a reduction.
pub(super) fn reduce(isa: Instructions, op: Reduction, dtype: DType) -> Kernel {
    for_dtype!(dtype, T => match op {
        Reduction::Sum => kernel::<Reduce<T, Sum>>(isa),
        Reduction::Max => kernel::<Reduce<T, Largest>>(isa),
        Reduction::Min => kernel::<Reduce<T, Smallest>>(isa),
    })
}

struct Dot<T>(PhantomData<T>);

impl<T: Product> Loop for Dot<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        let (result, a, b) = (result.cast::<T>(), a.cast::<T>(), b.cast::<T>());
        // SAFETY: the caller promises one element of the result and `count` of each operand.
        unsafe {
            let step = |sum, at| a.add(at).read().times_plus::<L>(b.add(at).read(), sum);
            let sum = in_lanes(count, T::ZERO, step, T::plus);
            result.write(result.read().plus(sum));
        }
    }
}

/// The kernel of a sum of products.
pub(super) fn dot(isa: Instructions, dtype: DType) -> Kernel {
    for_dtype!(dtype, T => kernel::<Dot<T>>(isa))
}

struct SquareDistance<T>(PhantomData<T>);

impl<T: Product + std::ops::Sub<Output = T>> Loop for SquareDistance<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        let (result, a, b) = (result.cast::<T>(), a.cast::<T>(), b.cast::<T>());
        // SAFETY: the caller promises one element of the result and `count` of each operand.
        unsafe {
            let step = |sum, at| {
                let difference = a.add(at).read() - b.add(at).read();
                difference.times_plus::<L>(difference, sum)
            };
            let sum = in_lanes(count, T::ZERO, step, T::plus);
            result.write(result.read().plus(sum));
        }
    }
}

/// The kernel of a sum of squared differences.
pub(super) fn square_distance(isa: Instructions, dtype: DType) -> Kernel {
    match dtype {
        DType::F32 => kernel::<SquareDistance<f32>>(isa),
        DType::F64 => kernel::<SquareDistance<f64>>(isa),
        _ => unreachable!("squared distances are those of floats"),
    }
}

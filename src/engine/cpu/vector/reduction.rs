//! Kernels that combine the elements of a run into one, with portable instructions; with others they are in registers.

use super::dispatch::for_dtype;
use super::lanes::{Level, Product};
use super::level::{Loop, RowsLoop, kernel, rows_kernel};
use super::packed::Packed;
use super::{Instructions, RowsKernel, VectorKernel};
use crate::array::{ElementType, larger, smaller};
use crate::engine::cpu::elements::{counted, load, store};
use crate::operation::Reduction;
use crate::shape::DType;
use std::marker::PhantomData;

/// Partial results, one for each position of a block: so many vectors that none waits for the one before, and for all
/// instructions the same number, so that the order of a sum does not depend on them.
pub(super) const LANES: usize = 32;

/// Combines a run in a fixed order: every 32nd element together, then halves of those results with each other. Operations that
/// give the same in any order run sequentially, in vectors that the compiler makes: it would read the lanes of integers far
/// apart.
///
/// # Safety
///
/// The step may be called for positions below `count`.
#[inline(always)]
unsafe fn in_lanes<T: Product>(count: usize, start: T, step: impl Fn(T, usize) -> T, join: impl Fn(T, T) -> T) -> T {
    if T::ANY_ORDER {
        let (mut all, mut at) = (start, 0);
        while at < count {
            all = step(all, at);
            at = at.wrapping_add(1);
        }
        return all;
    }
    let mut lanes = [start; LANES];
    let whole = count / LANES * LANES;
    let mut block = 0;
    while block < whole {
        counted!(lane in 0..LANES => {
            lanes[lane] = step(lanes[lane], block.wrapping_add(lane));
        });
        block = block.wrapping_add(LANES);
    }
    if whole < count {
        // A copy, so that the lanes of whole blocks stay in registers.
        let mut rest = lanes;
        counted!(lane in 0..count % LANES => {
            rest[lane] = step(rest[lane], whole.wrapping_add(lane));
        });
        lanes = rest;
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        counted!(lane in 0..width => {
            lanes[lane] = join(lanes[lane], lanes[lane + width]);
        });
    }
    lanes[0]
}

/// How two elements become one.
pub(super) trait Join<T> {
    /// The value of a reduction of nothing.
    const NOTHING: T;
    fn join(a: T, b: T) -> T;
    fn join_packed<V: Packed<Element = T>>(a: V, b: V) -> V;
}

pub(super) struct Sum;
pub(super) struct Largest;
pub(super) struct Smallest;

impl<T: ElementType> Join<T> for Sum {
    const NOTHING: T = T::ZERO;
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        a.plus(b)
    }
    #[inline(always)]
    fn join_packed<V: Packed<Element = T>>(a: V, b: V) -> V {
        a.plus(b)
    }
}

impl<T: ElementType> Join<T> for Largest {
    const NOTHING: T = T::LOWEST;
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        larger(a, b)
    }
    #[inline(always)]
    fn join_packed<V: Packed<Element = T>>(a: V, b: V) -> V {
        a.larger(b)
    }
}

impl<T: ElementType> Join<T> for Smallest {
    const NOTHING: T = T::HIGHEST;
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        smaller(a, b)
    }
    #[inline(always)]
    fn join_packed<V: Packed<Element = T>>(a: V, b: V) -> V {
        a.smaller(b)
    }
}

struct ReduceLoop<T, J>(PhantomData<(T, J)>);

impl<T: Product, J: Join<T>> ReduceLoop<T, J> {
    /// Combines a run with the element of the result.
    ///
    /// # Safety
    ///
    /// There is an element of the result, and `count` of the operand.
    #[inline(always)]
    unsafe fn one(result: *mut T, a: *const T, count: usize) {
        // SAFETY: as the caller's.
        unsafe {
            let joined = in_lanes(
                count,
                J::NOTHING,
                #[inline(always)]
                |sum, at| J::join(sum, load(a.wrapping_add(at))),
                J::join,
            );
            store(result, J::join(load(result), joined));
        }
    }
}

// With the instructions that floats are here for the compiler makes no vectors of them.
impl<T: Product, J: Join<T>> Loop for ReduceLoop<T, J> {
    const HAS_LEVELS: bool = T::ANY_ORDER;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: the caller promises one element of the result and `count` of the operand.
        unsafe { ReduceLoop::<T, J>::one(result.cast(), a.cast(), count) };
    }
}

impl<T: Product, J: Join<T>> RowsLoop for ReduceLoop<T, J> {
    const HAS_LEVELS: bool = T::ANY_ORDER;

    #[inline(always)]
    unsafe fn run<L: Level>(
        (result, result_stride): (*mut u8, isize),
        (a, a_stride): (*const u8, isize),
        _: (*const u8, isize),
        rows: usize,
        count: usize,
    ) {
        counted!(row in 0..rows as isize => {
            let result = result.wrapping_offset(result_stride.wrapping_mul(row)).cast();
            let a = a.wrapping_offset(a_stride.wrapping_mul(row)).cast();
            // SAFETY: as the caller's, for each row.
            unsafe { ReduceLoop::<T, J>::one(result, a, count) };
        });
    }
}

/// The kernel of a reduction.
pub(super) fn reduce(isa: Instructions, op: Reduction, dtype: DType) -> VectorKernel {
    for_dtype!(dtype, T => match op {
        Reduction::Sum => kernel::<ReduceLoop<T, Sum>>(isa),
        Reduction::Max => kernel::<ReduceLoop<T, Largest>>(isa),
        Reduction::Min => kernel::<ReduceLoop<T, Smallest>>(isa),
    })
}

/// The kernel of reductions of rows.
pub(super) fn reduce_rows(isa: Instructions, op: Reduction, dtype: DType) -> RowsKernel {
    for_dtype!(dtype, T => match op {
        Reduction::Sum => rows_kernel::<ReduceLoop<T, Sum>>(isa),
        Reduction::Max => rows_kernel::<ReduceLoop<T, Largest>>(isa),
        Reduction::Min => rows_kernel::<ReduceLoop<T, Smallest>>(isa),
    })
}

/// A term of a sum over pairs of elements.
trait PairTerm<T> {
    /// The sum with the term of a pair.
    fn add<L: Level>(sum: T, a: T, b: T) -> T;
}

struct PairProducts;
struct PairSquaredDifferences;

impl<T: Product> PairTerm<T> for PairProducts {
    #[inline(always)]
    fn add<L: Level>(sum: T, a: T, b: T) -> T {
        a.times_plus::<L>(b, sum)
    }
}

impl<T: Product + std::ops::Sub<Output = T>> PairTerm<T> for PairSquaredDifferences {
    #[inline(always)]
    fn add<L: Level>(sum: T, a: T, b: T) -> T {
        let difference = a - b;
        difference.times_plus::<L>(difference, sum)
    }
}

/// Sums over pairs of elements.
struct Sums<T, F>(PhantomData<(T, F)>);

impl<T: Product, F: PairTerm<T>> Sums<T, F> {
    /// Adds a sum to the element of the result.
    ///
    /// # Safety
    ///
    /// There is an element of the result, and `count` of each operand.
    #[inline(always)]
    unsafe fn one<L: Level>(result: *mut T, a: *const T, b: *const T, count: usize) {
        // SAFETY: as the caller's.
        unsafe {
            let sum = in_lanes(
                count,
                T::ZERO,
                #[inline(always)]
                |sum, at| F::add::<L>(sum, load(a.wrapping_add(at)), load(b.wrapping_add(at))),
                T::plus,
            );
            store(result, load(result).plus(sum));
        }
    }
}

impl<T: Product, F: PairTerm<T>> Loop for Sums<T, F> {
    const HAS_LEVELS: bool = T::ANY_ORDER;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        // SAFETY: as the caller's.
        unsafe { Sums::<T, F>::one::<L>(result.cast(), a.cast(), b.cast(), count) };
    }
}

impl<T: Product, F: PairTerm<T>> RowsLoop for Sums<T, F> {
    const HAS_LEVELS: bool = T::ANY_ORDER;

    #[inline(always)]
    unsafe fn run<L: Level>(
        (result, result_stride): (*mut u8, isize),
        (a, a_stride): (*const u8, isize),
        (b, b_stride): (*const u8, isize),
        rows: usize,
        count: usize,
    ) {
        counted!(row in 0..rows as isize => {
            let result = result.wrapping_offset(result_stride.wrapping_mul(row)).cast();
            let a = a.wrapping_offset(a_stride.wrapping_mul(row)).cast();
            let b = b.wrapping_offset(b_stride.wrapping_mul(row)).cast();
            // SAFETY: as the caller's, for each row.
            unsafe { Sums::<T, F>::one::<L>(result, a, b, count) };
        });
    }
}

/// The kernel of a sum of products.
pub(super) fn dot(isa: Instructions, dtype: DType) -> VectorKernel {
    for_dtype!(dtype, T => kernel::<Sums<T, PairProducts>>(isa))
}

/// The kernel of a sum of squared differences.
pub(super) fn square_distance(isa: Instructions, dtype: DType) -> VectorKernel {
    match dtype {
        DType::F32 => kernel::<Sums<f32, PairSquaredDifferences>>(isa),
        DType::F64 => kernel::<Sums<f64, PairSquaredDifferences>>(isa),
        _ => unreachable!("squared distances are those of floats"),
    }
}

/// The kernel of sums of products, of rows.
pub(super) fn dots(isa: Instructions, dtype: DType) -> RowsKernel {
    for_dtype!(dtype, T => rows_kernel::<Sums<T, PairProducts>>(isa))
}

/// The kernel of sums of squared differences, of rows.
pub(super) fn square_distances(isa: Instructions, dtype: DType) -> RowsKernel {
    match dtype {
        DType::F32 => rows_kernel::<Sums<f32, PairSquaredDifferences>>(isa),
        DType::F64 => rows_kernel::<Sums<f64, PairSquaredDifferences>>(isa),
        _ => unreachable!("squared distances are those of floats"),
    }
}

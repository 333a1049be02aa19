//! Kernels that combine rows into one run, column by column.

use super::blocks::{Elements, InRegisters, fill, hidden};
use super::dispatch::for_dtype;
use super::lanes::Level;
use super::level::{RowsLoop, rows_kernel};
use super::packed::{Packed, Vectorised};
use super::reduction::{Join, Largest, Smallest, Sum};
use super::{Instructions, OperandForm, RowsKernel};
use crate::engine::cpu::elements::{counted, load};
use crate::operation::Reduction;
use crate::shape::DType;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Rows that are combined at once, with the result in registers meanwhile: so many that writing and reading it takes less time
/// than they do, and the number for the remaining rows.
const MOST_TOGETHER: usize = 8;
const FEW_TOGETHER: usize = 3;

/// The beginnings of the operands of a row.
type RowPointers<T> = [*const T; 2];

/// How an element of a row is combined with the result of its column so far.
trait Joining<T: Vectorised> {
    /// # Safety
    ///
    /// The row's operands have an element at this position, and one that is a single element has that.
    unsafe fn element<L: Level>(all: T, row: RowPointers<T>, at: usize) -> T;
    /// # Safety
    ///
    /// As above, of a register's elements from this position on, which the machine has.
    unsafe fn register<V: Packed<Element = T>>(all: V, row: RowPointers<T>, at: usize) -> V;
}

/// The elements of the second operand.
struct JoinedColumns<J>(PhantomData<J>);

impl<T: Vectorised, J: Join<T>> Joining<T> for JoinedColumns<J> {
    #[inline(always)]
    unsafe fn element<L: Level>(all: T, [_, b]: RowPointers<T>, at: usize) -> T {
        // SAFETY: as the caller's.
        J::join(all, unsafe { load(b.wrapping_add(at)) })
    }
    #[inline(always)]
    unsafe fn register<V: Packed<Element = T>>(all: V, [_, b]: RowPointers<T>, at: usize) -> V {
        // SAFETY: as the caller's.
        J::join_packed(all, unsafe { V::load(b.wrapping_add(at)) })
    }
}

/// The products of both operands; the first may be a single element.
struct ProductColumns<const FIRST_IS_RUN: bool>;

impl<T: Vectorised, const FIRST_IS_RUN: bool> Joining<T> for ProductColumns<FIRST_IS_RUN> {
    #[inline(always)]
    unsafe fn element<L: Level>(all: T, [a, b]: RowPointers<T>, at: usize) -> T {
        // SAFETY: as the caller's.
        let (a, b) = unsafe { (load(if FIRST_IS_RUN { a.wrapping_add(at) } else { a }), load(b.wrapping_add(at))) };
        a.times_plus::<L>(b, all)
    }
    #[inline(always)]
    unsafe fn register<V: Packed<Element = T>>(all: V, [a, b]: RowPointers<T>, at: usize) -> V {
        // SAFETY: as the caller's.
        unsafe {
            let a = if FIRST_IS_RUN { V::load(a.wrapping_add(at)) } else { V::repeated(load(a)) };
            a.multiply_add(V::load(b.wrapping_add(at)), all)
        }
    }
}

/// The elements of a run, joined with some rows.
struct WithRows<T, L, J, const ROWS: usize>(*const T, [RowPointers<T>; ROWS], PhantomData<(L, J)>);

impl<T: Vectorised, L: Level, J: Joining<T>, const ROWS: usize> Elements for WithRows<T, L, J, ROWS> {
    type Value = T;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<T>; COUNT] {
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            let place = start.wrapping_add(at);
            // SAFETY: as the caller's.
            let mut all = unsafe { load(self.0.wrapping_add(place)) };
            counted!(row in 0..ROWS => {
                // SAFETY: as the caller's.
                all = unsafe { J::element::<L>(all, self.1[row], place) };
            });
            values[at] = MaybeUninit::new(all);
            at += 1;
        }
        values
    }
}

impl<T: Vectorised, L: Level, J: Joining<T>, const ROWS: usize> InRegisters for WithRows<T, L, J, ROWS> {
    type Element = T;
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut T) {
        // SAFETY: as the caller's.
        unsafe {
            let mut all = V::load(self.0.wrapping_add(start));
            counted!(row in 0..ROWS => {
                all = J::register(all, self.1[row], start);
            });
            all.store(to);
        }
    }
}

/// Combines each element of a run with the elements of all rows in the same place, one row after the other.
struct Columns<T, J>(PhantomData<(T, J)>);

/// The remaining rows: the beginnings of the first one's operands, the distances to the next one's, and their number.
type Left = ([*const u8; 2], [isize; 2], usize);

impl<T: Vectorised, J: Joining<T>> Columns<T, J> {
    /// Combines so many rows at once, as long as that many remain.
    ///
    /// # Safety
    ///
    /// There are `count` elements of the result, and the operands of each row.
    #[inline(always)]
    unsafe fn together<L: Level, const ROWS: usize>(
        result: *mut T,
        count: usize,
        ([mut a, mut b], strides, mut left): Left,
    ) -> Left {
        let ([across_a, across_b], first) = (strides, hidden(result));
        while left >= ROWS {
            let mut rows = [[a.cast::<T>(), b.cast()]; ROWS];
            counted!(at in 0..ROWS => {
                rows[at] = [a.cast(), b.cast()];
                (a, b) = (a.wrapping_offset(across_a), b.wrapping_offset(across_b));
            });
            // SAFETY: as the caller's.
            unsafe { fill::<L, _>(result, count, WithRows::<T, L, J, ROWS>(first, rows, PhantomData)) };
            left = left.wrapping_sub(ROWS);
        }
        ([a, b], strides, left)
    }
}

impl<T: Vectorised, J: Joining<T>> RowsLoop for Columns<T, J> {
    const HAS_LEVELS: bool = !T::ANY_ORDER;

    #[inline(always)]
    unsafe fn run<L: Level>(
        (result, _): (*mut u8, isize),
        (a, across_a): (*const u8, isize),
        (b, across_b): (*const u8, isize),
        rows: usize,
        count: usize,
    ) {
        let result = result.cast::<T>();
        // SAFETY: the caller promises `count` elements of the result, and the operands of each row.
        unsafe {
            let rows = ([a, b], [across_a, across_b], rows);
            // Without wide registers rows are read as fast as the result is written.
            let rows = match const { L::REGISTER > 0 } {
                true => Columns::<T, J>::together::<L, MOST_TOGETHER>(result, count, rows),
                false => rows,
            };
            let rows = Columns::<T, J>::together::<L, FEW_TOGETHER>(result, count, rows);
            Columns::<T, J>::together::<L, 1>(result, count, rows);
        }
    }
}

/// The kernel of reductions of columns, whose result and operand `a` is one run.
pub(super) fn reduce_columns(isa: Instructions, op: Reduction, dtype: DType) -> RowsKernel {
    for_dtype!(dtype, T => match op {
        Reduction::Sum => rows_kernel::<Columns<T, JoinedColumns<Sum>>>(isa),
        Reduction::Max => rows_kernel::<Columns<T, JoinedColumns<Largest>>>(isa),
        Reduction::Min => rows_kernel::<Columns<T, JoinedColumns<Smallest>>>(isa),
    })
}

/// The kernel of sums of products by column, where the operand `a` of a row is a run, or one element.
pub(super) fn multiply_add_columns(isa: Instructions, dtype: DType, a: OperandForm) -> RowsKernel {
    for_dtype!(dtype, T => match a {
        OperandForm::Run => rows_kernel::<Columns<T, ProductColumns<true>>>(isa),
        OperandForm::One => rows_kernel::<Columns<T, ProductColumns<false>>>(isa),
    })
}

//! Kernels of elementwise operations, compiled from the closures of the operation table.

use super::blocks::{ElementRun, Elements, InRegisters, Source, fill};
use super::dispatch::{for_dtype, for_size};
use super::functions;
use super::lanes::{Level, Product};
use super::level::{Loop, MaskedLoop, kernel};
use super::masked::{MaskedRun, Masks};
use super::operands::{choice_kernel, pair_kernel, short_pair_kernel};
use super::packed::{Answers, Packed, Question, Vectorised};
use super::{Instructions, OperandForm, VectorKernel};
use crate::engine::cpu::elements::{counted, load, store};
use crate::operation::{Binary, BinaryLoop, BinaryRow, Comparison, Once, Row, Unary, UnaryLoop, comparison_row};
use crate::shape::DType;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The value of a function's type that holds no data; a kernel, being a mere pointer, has no place for any.
///
/// # Safety
///
/// A value of this type exists.
#[inline(always)]
unsafe fn without_data<F>() -> F {
    assert!(size_of::<F>() == 0, "a row with a parameter needs a kernel that reads it");
    // SAFETY: there are no bytes to read, and the caller knows that the type has a value.
    unsafe { NonNull::<F>::dangling().read() }
}

/// The loop of a row, or of a function, of one element.
struct MapLoop<T, R, F>(PhantomData<(T, R, F)>);

impl<T: Vectorised, R: Row, F: Fn(T) -> T> Loop for MapLoop<T, R, F> {
    // Where the vector version is chosen there is no other.
    const HAS_LEVELS: bool = !T::ANY_ORDER && !functions::has_vectors(R::UNARY);

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: a kernel of this loop is made only where there is a function; the rest is what the caller promises.
        unsafe {
            let mapped = Mapped::<T, R, F>(without_data(), ElementRun::new(a), PhantomData);
            fill::<L, _>(result.cast(), count, mapped);
        }
    }
}

/// A row, or a function, of each element.
struct Mapped<T, R, F>(F, ElementRun<T>, PhantomData<R>);

impl<T: Copy, U: Copy, R, F: Fn(T) -> U> Elements for Mapped<T, R, F> {
    type Value = U;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<U>; COUNT] {
        // SAFETY: as the caller's.
        let a = unsafe { self.1.block::<COUNT>(start) };
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new((self.0)(a[at]));
            at += 1;
        }
        values
    }
}

/// A row on a register.
#[inline(always)]
fn unary_row<V: Packed, R: Row>(x: V) -> Option<V> {
    match R::UNARY {
        Some(row) => V::unary(row, x),
        None => None,
    }
}

impl<T: Vectorised, R: Row, F: Fn(T) -> T> InRegisters for Mapped<T, R, F> {
    type Element = T;
    #[inline(always)]
    fn are_known<V: Packed<Element = T>>(&self) -> bool {
        unary_row::<V, R>(V::repeated(T::ZERO)).is_some()
    }
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut T) {
        // SAFETY: as the caller's.
        unsafe {
            if let Some(values) = unary_row::<V, R>(self.1.packed(start)) {
                values.store(to);
            }
        }
    }
}

/// The loop of a row, or of a function, of two elements.
struct Combine<T, R, F>(PhantomData<(T, R, F)>);

impl<T: Vectorised, R: Row, F: Fn(T, T) -> T> MaskedLoop for Combine<T, R, F> {
    const HAS_LEVELS: bool = !T::ANY_ORDER && !functions::pairs_have_vectors(R::BINARY);

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize, masks: Masks) {
        let (a, b) = masks.of(a, b);
        // SAFETY: a kernel of this loop is made only where there is a function; the rest is what the caller promises.
        unsafe {
            let combined = Combined::<T, R, F>(without_data(), a, b, PhantomData);
            fill::<L, _>(result.cast(), count, combined);
        }
    }
}

/// A row, or a function, of each element of two operands.
struct Combined<T, R, F>(F, MaskedRun<T>, MaskedRun<T>, PhantomData<R>);

impl<T: Copy, R, F: Fn(T, T) -> T> Elements for Combined<T, R, F> {
    type Value = T;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<T>; COUNT] {
        // SAFETY: as the caller's.
        let (a, b) = unsafe { (self.1.block::<COUNT>(start), self.2.block::<COUNT>(start)) };
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new((self.0)(a[at], b[at]));
            at += 1;
        }
        values
    }
}

/// A row on two registers.
#[inline(always)]
fn binary_row<V: Packed, R: Row>(a: V, b: V) -> Option<V> {
    match R::BINARY {
        Some(row) => V::binary(row, a, b),
        None => None,
    }
}

impl<T: Vectorised, R: Row, F: Fn(T, T) -> T> InRegisters for Combined<T, R, F> {
    type Element = T;
    #[inline(always)]
    fn are_known<V: Packed<Element = T>>(&self) -> bool {
        let zero = V::repeated(T::ZERO);
        binary_row::<V, R>(zero, zero).is_some()
    }
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut T) {
        // SAFETY: as the caller's.
        unsafe {
            if let Some(values) = binary_row::<V, R>(self.1.packed(start), self.2.packed(start)) {
                values.store(to);
            }
        }
    }
}

/// Whether an operation is one instruction, and in most programs.
const fn is_arithmetic(op: Option<Binary>) -> bool {
    matches!(op, Some(Binary::Add | Binary::Sub | Binary::Mul | Binary::Div))
}

/// Makes the kernel of whatever function it is given.
struct Choose {
    isa: Instructions,
    operands: (OperandForm, OperandForm),
}

/// No row of the table.
struct NoRow;

impl Row for NoRow {}

impl<T: Vectorised> UnaryLoop<T> for Choose {
    type Output = VectorKernel;
    fn run<F: Fn(T) -> T>(self, f: F) -> VectorKernel {
        UnaryLoop::run_row::<NoRow, F>(self, f)
    }
    fn run_row<R: Row, F: Fn(T) -> T>(self, _: F) -> VectorKernel {
        // Rows with a parameter have kernels that read it at each call.
        if const { size_of::<F>() != 0 } {
            UnaryLoop::<T>::undefined(&self)
        }
        kernel::<MapLoop<T, R, F>>(self.isa)
    }
}

impl<T: Vectorised> BinaryLoop<T, T> for Choose {
    type Output = VectorKernel;
    fn run<F: Fn(T, T) -> T>(self, f: F) -> VectorKernel {
        BinaryLoop::run_row::<NoRow, F>(self, f)
    }
    fn run_row<R: Row, F: Fn(T, T) -> T>(self, _: F) -> VectorKernel {
        let Choose { isa, operands: (a, b) } = self;
        if const { !T::ANY_ORDER && is_arithmetic(R::BINARY) } {
            short_pair_kernel::<Combine<T, R, F>, T>(isa, a, b)
        } else {
            pair_kernel::<Combine<T, R, F>, T>(isa, a, b)
        }
    }
}

/// The loop of a polygamma function.
struct Polygamma<T>(PhantomData<T>);

macro_rules! polygamma {
    ($t:ty, $run:ident) => {
        impl Loop for Polygamma<$t> {
            const HAS_LEVELS: bool = false;

            #[inline(always)]
            unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
                // SAFETY: the caller promises the order at `b`.
                let order = unsafe { b.cast::<i64>().read() };
                let op = Unary::Polygamma(u32::try_from(order).unwrap_or(u32::MAX));
                counted!(at in 0..count => {
                    // SAFETY: the caller promises elements and room at these positions.
                    unsafe {
                        let result = result.cast::<$t>().wrapping_add(at);
                        store(result, op.$run(Once([load(a.cast::<$t>().wrapping_add(at))])));
                    }
                });
            }
        }
    };
}

polygamma!(f32, run_f32);
polygamma!(f64, run_f64);

/// The kernel of a row of the table.
pub(super) fn unary(isa: Instructions, op: Unary, dtype: DType) -> VectorKernel {
    let choose = Choose { isa, operands: (OperandForm::Run, OperandForm::Run) };
    match (op, dtype) {
        (Unary::Polygamma(_), DType::F32) => kernel::<Polygamma<f32>>(isa),
        (Unary::Polygamma(_), DType::F64) => kernel::<Polygamma<f64>>(isa),
        (_, DType::F32) => op.run_f32(choose),
        (_, DType::F64) => op.run_f64(choose),
        (_, DType::I32) => op.run_i32(choose),
        (_, DType::I64) => op.run_i64(choose),
        (_, DType::Bool) => op.run_bool(choose),
    }
}

/// The kernel of a row of the table.
pub(super) fn binary(isa: Instructions, op: Binary, dtype: DType, a: OperandForm, b: OperandForm) -> VectorKernel {
    let choose = Choose { isa, operands: (a, b) };
    match dtype {
        DType::F32 => op.run_f32(choose),
        DType::F64 => op.run_f64(choose),
        DType::I32 => op.run_i32(choose),
        DType::I64 => op.run_i64(choose),
        DType::Bool => op.run_bool(choose),
    }
}

/// The loop of a comparison.
struct Compare<T, R>(PhantomData<(T, R)>);

impl<T: Vectorised, R: BinaryRow<T, bool> + Question> MaskedLoop for Compare<T, R> {
    const HAS_LEVELS: bool = !T::ANY_ORDER;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize, masks: Masks) {
        let (a, b) = masks.of(a, b);
        // SAFETY: the row is a type without data; the rest is what the caller promises.
        unsafe {
            let compared = ComparedRuns::<T, R>(without_data(), a, b);
            fill::<L, _>(result.cast(), count, compared);
        }
    }
}

/// The answers of a comparison.
struct ComparedRuns<T, R>(R, MaskedRun<T>, MaskedRun<T>);

impl<T: Copy, R: BinaryRow<T, bool>> Elements for ComparedRuns<T, R> {
    type Value = bool;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<bool>; COUNT] {
        // SAFETY: as the caller's.
        let (a, b) = unsafe { (self.1.block::<COUNT>(start), self.2.block::<COUNT>(start)) };
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new(self.0.of(a[at], b[at]));
            at += 1;
        }
        values
    }
}

impl<T: Vectorised, R: BinaryRow<T, bool> + Question> InRegisters for ComparedRuns<T, R> {
    type Element = T;
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut bool) {
        // SAFETY: as the caller's.
        unsafe { R::ask::<V>(self.1.packed(start), self.2.packed(start)).store(to) };
    }
}

/// The kernel of a row of the table.
pub(super) fn compare(isa: Instructions, op: Comparison, dtype: DType, a: OperandForm, b: OperandForm) -> VectorKernel {
    macro_rules! rows {
        ($($row:ident)*) => {
            match op {
                $(Comparison::$row => for_dtype!(dtype, T => pair_kernel::<Compare<T, comparison_row::$row>, T>(isa, a, b)),)*
            }
        };
    }
    rows!(Less LessEqual Greater GreaterEqual Equal NotEqual)
}

/// The loop of a choice between two elements.
struct SelectLoop<T>(PhantomData<T>);

impl<T: Vectorised> MaskedLoop for SelectLoop<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize, masks: Masks) {
        let (yes, no) = masks.of::<T>(b, c);
        // SAFETY: what the caller promises.
        unsafe { fill::<L, _>(result.cast(), count, Chosen(ElementRun::new(a), yes, no, PhantomData)) };
    }
}

/// The elements of one operand where a mask is true, else those of another.
pub(super) struct Chosen<T, A, B>(pub(super) ElementRun<bool>, pub(super) A, pub(super) B, pub(super) PhantomData<T>);

impl<T: Copy, A: Source<T>, B: Source<T>> Elements for Chosen<T, A, B> {
    type Value = T;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<T>; COUNT] {
        // SAFETY: as the caller's.
        let mask = unsafe { self.0.block::<COUNT>(start) };
        // SAFETY: as above. Both are there; reading both leaves nothing to jump over.
        let (yes, no) = unsafe { (self.1.block::<COUNT>(start), self.2.block::<COUNT>(start)) };
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            let (yes, no) = (yes[at], no[at]);
            values[at] = MaybeUninit::new(if mask[at] { yes } else { no });
            at += 1;
        }
        values
    }
}

impl<T: Vectorised, A: Source<T>, B: Source<T>> InRegisters for Chosen<T, A, B> {
    type Element = T;
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut T) {
        // SAFETY: as the caller's.
        unsafe {
            let mask = V::Mask::load(self.0.0.wrapping_add(start));
            V::either(mask, self.1.packed(start), self.2.packed(start)).store(to);
        }
    }
}

/// The kernel of a choice between two elements, whose bits alone matter.
pub(super) fn select(isa: Instructions, dtype: DType, yes: OperandForm, no: OperandForm) -> VectorKernel {
    for_size!(dtype, T => choice_kernel::<SelectLoop<T>, T>(isa, yes, no))
}

/// The loop of a sum of products.
struct MultiplyAdd<T>(PhantomData<T>);

impl<T: Vectorised> MaskedLoop for MultiplyAdd<T> {
    const HAS_LEVELS: bool = !T::ANY_ORDER;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize, masks: Masks) {
        let (a, b) = masks.of(a, b);
        // SAFETY: what the caller promises; the result is read at the position that is to be written.
        unsafe { fill::<L, _>(result.cast(), count, Added::<T, L>(ElementRun::new(result), a, b, PhantomData)) };
    }
}

/// Sums with products.
struct Added<T, L>(ElementRun<T>, MaskedRun<T>, MaskedRun<T>, PhantomData<L>);

impl<T: Product, L: Level> Elements for Added<T, L> {
    type Value = T;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<T>; COUNT] {
        // SAFETY: as the caller's.
        let sum = unsafe { self.0.block::<COUNT>(start) };
        // SAFETY: as the caller's.
        let (a, b) = unsafe { (self.1.block::<COUNT>(start), self.2.block::<COUNT>(start)) };
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new(a[at].times_plus::<L>(b[at], sum[at]));
            at += 1;
        }
        values
    }
}

impl<T: Vectorised, L: Level> InRegisters for Added<T, L> {
    type Element = T;
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut T) {
        // SAFETY: as the caller's.
        unsafe {
            let (a, b) = (self.1.packed::<V>(start), self.2.packed(start));
            a.multiply_add(b, self.0.packed(start)).store(to);
        }
    }
}

/// The kernel of a sum of products.
pub(super) fn multiply_add(isa: Instructions, dtype: DType, a: OperandForm, b: OperandForm) -> VectorKernel {
    for_dtype!(dtype, T => match const { T::ANY_ORDER } {
        true => pair_kernel::<MultiplyAdd<T>, T>(isa, a, b),
        false => short_pair_kernel::<MultiplyAdd<T>, T>(isa, a, b),
    })
}

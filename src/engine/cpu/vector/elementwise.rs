//! Kernels of elementwise operations, compiled from the closures of the operation table.

use super::convert::Convert;
use super::functions::Real;
use super::lanes::Lanes;
use super::level::{Level, Loop, Product, kernel};
use super::{Instructions, Kernel, Operand};
use crate::concrete::Scalar;
use crate::engine::cpu::elements::{load, store};
use crate::operation::{Binary, BinaryLoop, Comparison, Unary, UnaryLoop};
use crate::shape::DType;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Elements that are computed before the first of them is written.
///
/// A result may lie where an operand lies, which the compiler can not rule out; it makes vectors of a whole block, since
/// nothing is written in between.
const BLOCK: usize = 32;
/// Elements of a vector, about.
const SMALL: usize = 8;

/// Keeps a loop over blocks as it is: where the elements of a block are in vectors, the compiler would else make further
/// vectors of elements of several blocks, which lie far apart.
#[inline(always)]
fn between_blocks() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: there is no instruction, only something that must stay in its place.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags))
    };
}

/// Work on blocks of elements.
pub(super) trait Blocks {
    /// Does it for so many elements from a position on.
    ///
    /// # Safety
    ///
    /// There are as many.
    unsafe fn block<const COUNT: usize>(&self, start: usize);
}

/// Goes over so many elements in blocks, then in smaller ones, each a power of two. So runs of one length are cut at the same
/// places, and what an instruction reads in a block has been written as a block: a processor that has it on its way to the
/// cache hands it on then, and else waits until it is there.
///
/// # Safety
///
/// There are so many elements.
#[inline(always)]
pub(super) unsafe fn each_block(count: usize, blocks: impl Blocks) {
    // Arithmetic that wraps, though it can't: without a check there is nothing to jump to.
    let mut start: usize = 0;
    // SAFETY: of `count` elements, as many as a block are left.
    unsafe {
        while count.wrapping_sub(start) >= BLOCK {
            blocks.block::<BLOCK>(start);
            between_blocks();
            start = start.wrapping_add(BLOCK);
        }
        while count.wrapping_sub(start) >= SMALL {
            blocks.block::<SMALL>(start);
            between_blocks();
            start = start.wrapping_add(SMALL);
        }
        let rest = count.wrapping_sub(start);
        if rest & 4 != 0 {
            blocks.block::<4>(start);
        }
        if rest & 2 != 0 {
            blocks.block::<2>(start.wrapping_add(rest & 4));
        }
        if rest & 1 != 0 {
            blocks.block::<1>(count.wrapping_sub(1));
        }
    }
}

/// What a loop writes: at each position a value that depends on elements at this position alone.
pub(super) trait Elements {
    /// The type of the values.
    type Value: Copy;

    /// The values from a position on.
    ///
    /// # Safety
    ///
    /// There are so many positions.
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<Self::Value>; COUNT];
}

/// Writes a value at every position.
///
/// # Safety
///
/// The result has room for `count` values, and there are so many. They depend on nothing of the result but what is at their own
/// position or later.
#[inline(always)]
pub(super) unsafe fn fill<E: Elements>(result: *mut E::Value, count: usize, elements: E) {
    struct Filled<E: Elements>(*mut E::Value, E);
    impl<E: Elements> Blocks for Filled<E> {
        #[inline(always)]
        unsafe fn block<const COUNT: usize>(&self, start: usize) {
            // SAFETY: the caller promises room at these positions, and the whole block is known before it is written.
            unsafe { store(self.0.wrapping_add(start).cast(), self.1.block::<COUNT>(start)) };
        }
    }
    // SAFETY: the caller promises room.
    unsafe { each_block(count, Filled(result, elements)) };
}

/// Values that are functions of their position.
pub(super) struct ByPosition<F>(pub(super) F);

impl<T: Copy, F: Fn(usize) -> T> Elements for ByPosition<F> {
    type Value = T;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<T>; COUNT] {
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new((self.0)(start.wrapping_add(at)));
            at += 1;
        }
        values
    }
}

/// Where the elements of an operand come from.
pub(super) trait Source<T> {
    /// # Safety
    ///
    /// The pointer points at valid elements: as many as there are positions, or one, as the implementation says.
    unsafe fn new(start: *const u8) -> Self;
    /// The elements from a position on.
    ///
    /// # Safety
    ///
    /// There are so many positions.
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [T; COUNT];
    /// A register of elements from a position on.
    ///
    /// # Safety
    ///
    /// There are so many positions.
    unsafe fn lanes<V: Lanes<Element = T>>(&self, start: usize) -> V
    where
        T: Real;
}

/// An operand of as many elements as the result has.
pub(super) struct Run<T>(*const T);

/// An operand of one element.
pub(super) struct One<T>(T);

impl<T: Copy> Source<T> for Run<T> {
    #[inline(always)]
    unsafe fn new(start: *const u8) -> Self {
        Run(start.cast())
    }
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [T; COUNT] {
        // SAFETY: the caller promises valid elements there.
        unsafe { load(self.0.wrapping_add(start).cast()) }
    }
    #[inline(always)]
    unsafe fn lanes<V: Lanes<Element = T>>(&self, start: usize) -> V
    where
        T: Real,
    {
        // SAFETY: the caller promises valid elements there.
        unsafe { V::load(self.0.wrapping_add(start)) }
    }
}

impl<T: Copy> Source<T> for One<T> {
    #[inline(always)]
    unsafe fn new(start: *const u8) -> Self {
        // SAFETY: the caller promises one valid element.
        One(unsafe { load(start.cast()) })
    }
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, _: usize) -> [T; COUNT] {
        [self.0; COUNT]
    }
    #[inline(always)]
    unsafe fn lanes<V: Lanes<Element = T>>(&self, _: usize) -> V
    where
        T: Real,
    {
        V::of(self.0)
    }
}

/// The kernel of a loop over two operands, for their kinds of source.
macro_rules! for_operands {
    ($isa:expr, $left:expr, $right:expr, $loop:ident<$T:ty $(, $argument:ty)*>) => {
        match ($left, $right) {
            (Operand::Run, Operand::Run) => kernel::<$loop<$T $(, $argument)*, Run<$T>, Run<$T>>>($isa),
            (Operand::Run, Operand::One) => kernel::<$loop<$T $(, $argument)*, Run<$T>, One<$T>>>($isa),
            (Operand::One, Operand::Run) => kernel::<$loop<$T $(, $argument)*, One<$T>, Run<$T>>>($isa),
            (Operand::One, Operand::One) => kernel::<$loop<$T $(, $argument)*, One<$T>, One<$T>>>($isa),
        }
    };
}

/// Evaluates to an expression in which the name stands for the Rust type of an element type.
macro_rules! for_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::I32 => {
                type $T = i32;
                $body
            }
            DType::I64 => {
                type $T = i64;
                $body
            }
            DType::Bool => {
                type $T = bool;
                $body
            }
        }
    };
}
pub(super) use for_dtype;

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

/// The loop of a function of one element.
struct Map<T, F>(PhantomData<(T, F)>);

impl<T: Scalar, F: Fn(T) -> T> Loop for Map<T, F> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: a kernel of this loop is made only where there is a function; the rest is what the caller promises.
        unsafe {
            fill(result.cast(), count, Mapped(without_data::<F>(), Run::<T>::new(a)));
        }
    }
}

/// A function of each element.
struct Mapped<T, F>(F, Run<T>);

impl<T: Copy, U: Copy, F: Fn(T) -> U> Elements for Mapped<T, F> {
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

/// The loop of a function of two elements.
struct Combine<T, U, F, A, B>(PhantomData<(T, U, F, A, B)>);

impl<T: Scalar, U: Scalar, F: Fn(T, T) -> U, A: Source<T>, B: Source<T>> Loop for Combine<T, U, F, A, B> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        // SAFETY: a kernel of this loop is made only where there is a function; the rest is what the caller promises.
        unsafe {
            fill(result.cast(), count, Combined(without_data::<F>(), A::new(a), B::new(b), PhantomData));
        }
    }
}

/// A function of each element of two operands.
struct Combined<T, F, A, B>(F, A, B, PhantomData<T>);

impl<T: Copy, U: Copy, F: Fn(T, T) -> U, A: Source<T>, B: Source<T>> Elements for Combined<T, F, A, B> {
    type Value = U;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<U>; COUNT] {
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

/// Makes the kernel of whatever function it is given.
struct Choose {
    isa: Instructions,
    operands: (Operand, Operand),
}

impl<T: Scalar> UnaryLoop<T> for Choose {
    type Output = Kernel;
    fn run<F: Fn(T) -> T>(self, _: F) -> Kernel {
        kernel::<Map<T, F>>(self.isa)
    }
}

impl<T: Scalar, U: Scalar> BinaryLoop<T, U> for Choose {
    type Output = Kernel;
    fn run<F: Fn(T, T) -> U>(self, _: F) -> Kernel {
        for_operands!(self.isa, self.operands.0, self.operands.1, Combine<T, U, F>)
    }
}

/// The loop of the table's function, in place; for rows with a parameter, of which a kernel has it at each call.
struct InPlace<'a, T>(&'a mut [T]);

impl<T: Scalar> UnaryLoop<T> for InPlace<'_, T> {
    type Output = ();
    fn run<F: Fn(T) -> T>(self, f: F) {
        for x in self.0 {
            *x = f(*x);
        }
    }
}

/// The loop of a polygamma function.
struct Polygamma<T>(PhantomData<T>);

macro_rules! polygamma {
    ($t:ty, $run:ident) => {
        impl Loop for Polygamma<$t> {
            #[inline(always)]
            unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
                // SAFETY: the caller promises the order at `b`.
                let order = unsafe { b.cast::<i64>().read() };
                let op = Unary::Polygamma(u32::try_from(order).unwrap_or(u32::MAX));
                for at in 0..count {
                    // SAFETY: the caller promises elements and room at these positions.
                    unsafe {
                        let mut element = [a.cast::<$t>().add(at).read()];
                        op.$run(InPlace(&mut element));
                        result.cast::<$t>().add(at).write(element[0]);
                    }
                }
            }
        }
    };
}

polygamma!(f32, run_f32);
polygamma!(f64, run_f64);

/// The kernel of a row of the table.
pub(super) fn unary(isa: Instructions, op: Unary, dtype: DType) -> Kernel {
    let choose = Choose { isa, operands: (Operand::Run, Operand::Run) };
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
pub(super) fn binary(isa: Instructions, op: Binary, dtype: DType, a: Operand, b: Operand) -> Kernel {
    let choose = Choose { isa, operands: (a, b) };
    match dtype {
        DType::F32 => op.run_f32(choose),
        DType::F64 => op.run_f64(choose),
        DType::I32 => op.run_i32(choose),
        DType::I64 => op.run_i64(choose),
        DType::Bool => op.run_bool(choose),
    }
}

/// The kernel of a row of the table.
pub(super) fn compare(isa: Instructions, op: Comparison, dtype: DType, a: Operand, b: Operand) -> Kernel {
    for_dtype!(dtype, T => op.run::<T, _>(Choose { isa, operands: (a, b) }))
}

/// The loop of a choice between two elements.
struct Select<T, A, B>(PhantomData<(T, A, B)>);

impl<T: Scalar, A: Source<T>, B: Source<T>> Loop for Select<T, A, B> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize) {
        // SAFETY: what the caller promises.
        unsafe {
            fill(result.cast(), count, Chosen(Run::new(a), A::new(b), B::new(c), PhantomData));
        }
    }
}

/// Where a mask is true the elements of one operand, else those of another.
struct Chosen<T, A, B>(Run<bool>, A, B, PhantomData<T>);

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

/// The kernel of a choice between two elements.
pub(super) fn select(isa: Instructions, dtype: DType, yes: Operand, no: Operand) -> Kernel {
    for_dtype!(dtype, T => for_operands!(isa, yes, no, Select<T>))
}

/// The loop of a conversion.
struct Cast<T, U>(PhantomData<(T, U)>);

impl<T: Convert, U: Scalar> Loop for Cast<T, U> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: what the caller promises.
        unsafe { fill(result.cast(), count, Mapped(T::convert::<U>, Run::<T>::new(a))) };
    }
}

/// The kernel of a conversion.
pub(super) fn cast(isa: Instructions, from: DType, to: DType) -> Kernel {
    for_dtype!(from, T => for_dtype!(to, U => kernel::<Cast<T, U>>(isa)))
}

/// The loop of a sum of products.
struct MultiplyAdd<T, A, B>(PhantomData<(T, A, B)>);

impl<T: Product, A: Source<T>, B: Source<T>> Loop for MultiplyAdd<T, A, B> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        // SAFETY: what the caller promises; the result is read at the position that is to be written.
        unsafe {
            let sum = Run::<T>::new(result);
            fill(result.cast(), count, Added::<T, L, A, B>(sum, A::new(a), B::new(b), PhantomData));
        }
    }
}

/// Sums with products.
struct Added<T, L, A, B>(Run<T>, A, B, PhantomData<L>);

impl<T: Product, L: Level, A: Source<T>, B: Source<T>> Elements for Added<T, L, A, B> {
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

/// The kernel of a sum of products.
pub(super) fn multiply_add(isa: Instructions, dtype: DType, a: Operand, b: Operand) -> Kernel {
    for_dtype!(dtype, T => for_operands!(isa, a, b, MultiplyAdd<T>))
}

//! Kernels of elementwise operations, compiled from the closures of the operation table.

use super::convert::Convert;
use super::functions::Real;
use super::lanes::{Lanes, Mask};
use super::level::{Level, Loop, Product, kernel};
#[cfg(target_arch = "x86_64")]
use super::packed::fills;
use super::packed::{Answers, Packed, Question, Vectorised};
use super::{Instructions, Kernel, Operand};
use crate::concrete::Scalar;
use crate::engine::cpu::elements::{load, store};
use crate::operation::{Binary, BinaryLoop, BinaryRow, Comparison, Row, Unary, UnaryLoop, comparison_row};
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

/// Values that are computed in registers too.
pub(super) trait InRegisters: Elements {
    /// The elements that the registers hold.
    type Element: Vectorised;

    /// Whether they are; known when compiled.
    fn are_known<V: Packed<Element = Self::Element>>(&self) -> bool {
        true
    }
    /// Writes as many values from a position on as the register has elements.
    ///
    /// # Safety
    ///
    /// There are so many positions, the machine has the register, and the values are known in it.
    unsafe fn write<V: Packed<Element = Self::Element>>(&self, start: usize, to: *mut Self::Value);
}

/// Writes a value at every position, in the registers of the level where these are filled.
///
/// # Safety
///
/// The result has room for `count` values, there are so many, and the machine has the instructions of the level. Values depend on
/// nothing of the result but what is at their own position or later.
#[inline(always)]
pub(super) unsafe fn fill<L: Level, E: InRegisters>(result: *mut E::Value, count: usize, elements: E) {
    struct Filled<L, E: Elements>(*mut E::Value, E, PhantomData<L>);

    impl<L: Level, E: InRegisters> Blocks for Filled<L, E> {
        #[inline(always)]
        unsafe fn block<const COUNT: usize>(&self, start: usize) {
            let result = self.0.wrapping_add(start);
            // SAFETY: the caller promises room at these positions, and what is written at once is known before. Types decide
            // which registers there are, so that no others are compiled.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                if const { fills::<L, <E::Element as Vectorised>::Wide>(COUNT) } {
                    if in_registers::<<E::Element as Vectorised>::Wide, E, COUNT>(result, &self.1, start) {
                        return;
                    }
                } else if const { fills::<L, <E::Element as Vectorised>::Half>(COUNT) }
                    && in_registers::<<E::Element as Vectorised>::Half, E, COUNT>(result, &self.1, start)
                {
                    return;
                }
                store(result.cast(), self.1.block::<COUNT>(start));
            }
        }
    }
    // SAFETY: as the caller's.
    unsafe { each_block(count, Filled::<L, E>(result, elements, PhantomData)) };
}

/// Writes a block in registers, of which it fills a whole number, if its values are known in them.
///
/// # Safety
///
/// There are so many positions and room for as many values, and the machine has the register.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn in_registers<V: Packed<Element = E::Element>, E: InRegisters, const COUNT: usize>(
    result: *mut E::Value,
    elements: &E,
    start: usize,
) -> bool {
    let are_known = elements.are_known::<V>();
    let mut at = 0;
    while are_known && at < COUNT {
        // SAFETY: as the caller's.
        unsafe { elements.write::<V>(start.wrapping_add(at), result.wrapping_add(at)) };
        at += V::WIDTH;
    }
    are_known
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
    /// As [`Self::lanes`], of any type.
    ///
    /// # Safety
    ///
    /// There are so many positions.
    unsafe fn packed<V: Packed<Element = T>>(&self, start: usize) -> V;
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
    #[inline(always)]
    unsafe fn packed<V: Packed<Element = T>>(&self, start: usize) -> V {
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
    #[inline(always)]
    unsafe fn packed<V: Packed<Element = T>>(&self, _: usize) -> V {
        V::repeated(self.0)
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

/// Evaluates to an expression in which the name stands for a type that elements of this size are moved as.
macro_rules! for_size {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::Bool => {
                type $T = bool;
                $body
            }
            DType::F32 | DType::I32 => {
                type $T = i32;
                $body
            }
            DType::F64 | DType::I64 => {
                type $T = i64;
                $body
            }
        }
    };
}
pub(super) use for_size;

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
struct Map<T, R, F>(PhantomData<(T, R, F)>);

impl<T: Vectorised, R: Row, F: Fn(T) -> T> Loop for Map<T, R, F> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: a kernel of this loop is made only where there is a function; the rest is what the caller promises.
        unsafe {
            let mapped = Mapped::<T, R, F>(without_data(), Run::new(a), PhantomData);
            fill::<L, _>(result.cast(), count, mapped);
        }
    }
}

/// A row, or a function, of each element.
struct Mapped<T, R, F>(F, Run<T>, PhantomData<R>);

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
struct Combine<T, R, F, A, B>(PhantomData<(T, R, F, A, B)>);

impl<T: Vectorised, R: Row, F: Fn(T, T) -> T, A: Source<T>, B: Source<T>> Loop for Combine<T, R, F, A, B> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        // SAFETY: a kernel of this loop is made only where there is a function; the rest is what the caller promises.
        unsafe {
            let combined = Combined::<T, R, F, A, B>(without_data(), A::new(a), B::new(b), PhantomData);
            fill::<L, _>(result.cast(), count, combined);
        }
    }
}

/// A row, or a function, of each element of two operands.
struct Combined<T, R, F, A, B>(F, A, B, PhantomData<(T, R)>);

impl<T: Copy, R, F: Fn(T, T) -> T, A: Source<T>, B: Source<T>> Elements for Combined<T, R, F, A, B> {
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

impl<T: Vectorised, R: Row, F: Fn(T, T) -> T, A: Source<T>, B: Source<T>> InRegisters for Combined<T, R, F, A, B> {
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

/// Makes the kernel of whatever function it is given.
struct Choose {
    isa: Instructions,
    operands: (Operand, Operand),
}

/// No row of the table.
struct NoRow;

impl Row for NoRow {}

impl<T: Vectorised> UnaryLoop<T> for Choose {
    type Output = Kernel;
    fn run<F: Fn(T) -> T>(self, f: F) -> Kernel {
        UnaryLoop::run_row::<NoRow, F>(self, f)
    }
    fn run_row<R: Row, F: Fn(T) -> T>(self, _: F) -> Kernel {
        kernel::<Map<T, R, F>>(self.isa)
    }
}

impl<T: Vectorised> BinaryLoop<T, T> for Choose {
    type Output = Kernel;
    fn run<F: Fn(T, T) -> T>(self, f: F) -> Kernel {
        BinaryLoop::run_row::<NoRow, F>(self, f)
    }
    fn run_row<R: Row, F: Fn(T, T) -> T>(self, _: F) -> Kernel {
        for_operands!(self.isa, self.operands.0, self.operands.1, Combine<T, R, F>)
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

/// The loop of a comparison.
struct Compare<T, R, A, B>(PhantomData<(T, R, A, B)>);

impl<T: Vectorised, R: BinaryRow<T, bool> + Question, A: Source<T>, B: Source<T>> Loop for Compare<T, R, A, B> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        // SAFETY: the row is a type without data; the rest is what the caller promises.
        unsafe {
            let compared = Compared::<T, R, A, B>(without_data(), A::new(a), B::new(b), PhantomData);
            fill::<L, _>(result.cast(), count, compared);
        }
    }
}

/// The answers of a comparison.
struct Compared<T, R, A, B>(R, A, B, PhantomData<T>);

impl<T: Copy, R: BinaryRow<T, bool>, A: Source<T>, B: Source<T>> Elements for Compared<T, R, A, B> {
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

impl<T, R, A, B> InRegisters for Compared<T, R, A, B>
where
    T: Vectorised,
    R: BinaryRow<T, bool> + Question,
    A: Source<T>,
    B: Source<T>,
{
    type Element = T;
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut bool) {
        // SAFETY: as the caller's.
        unsafe { R::ask::<V>(self.1.packed(start), self.2.packed(start)).store(to) };
    }
}

/// The kernel of a row of the table.
pub(super) fn compare(isa: Instructions, op: Comparison, dtype: DType, a: Operand, b: Operand) -> Kernel {
    macro_rules! rows {
        ($($row:ident)*) => {
            match op {
                $(Comparison::$row => for_dtype!(dtype, T => for_operands!(isa, a, b, Compare<T, comparison_row::$row>)),)*
            }
        };
    }
    rows!(Less LessEqual Greater GreaterEqual Equal NotEqual)
}

/// The loop of a choice between two elements.
struct Select<T, A, B>(PhantomData<(T, A, B)>);

impl<T: Vectorised, A: Source<T>, B: Source<T>> Loop for Select<T, A, B> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize) {
        // SAFETY: what the caller promises.
        unsafe {
            let chosen = Chosen::<T, A, B>(Run::new(a), A::new(b), B::new(c), PhantomData);
            fill::<L, _>(result.cast(), count, chosen);
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
pub(super) fn select(isa: Instructions, dtype: DType, yes: Operand, no: Operand) -> Kernel {
    for_size!(dtype, T => for_operands!(isa, yes, no, Select<T>))
}

/// The loop of a conversion.
struct Cast<T, U>(PhantomData<(T, U)>);

impl<T: Vectorised + Convert, U: Scalar> Loop for Cast<T, U> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: what the caller promises.
        unsafe { fill::<L, _>(result.cast(), count, Converted::<T, U>(Run::new(a), PhantomData)) };
    }
}

/// The elements as those of another type.
struct Converted<T, U>(Run<T>, PhantomData<U>);

impl<T: Convert, U: Scalar> Elements for Converted<T, U> {
    type Value = U;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<U>; COUNT] {
        // SAFETY: as the caller's.
        let a = unsafe { self.0.block::<COUNT>(start) };
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new(a[at].convert());
            at += 1;
        }
        values
    }
}

impl<T: Vectorised + Convert, U: Scalar> InRegisters for Converted<T, U> {
    type Element = T;
    #[inline(always)]
    fn are_known<V: Packed<Element = T>>(&self) -> bool {
        matches!(U::DTYPE, DType::Bool) || V::converts(U::DTYPE)
    }
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut U) {
        // SAFETY: as the caller's.
        unsafe {
            let x = self.0.packed::<V>(start);
            match U::DTYPE {
                DType::Bool => x.equals(V::repeated(T::ZERO)).not().store(to.cast()),
                dtype => x.convert(dtype, to.cast()),
            }
        }
    }
}

/// The loop of a conversion of booleans: a choice between one and zero.
struct CastBooleans<U>(PhantomData<U>);

impl<U: Vectorised> Loop for CastBooleans<U> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        let (one, zero) = (One(U::from_bool(true)), One(U::ZERO));
        // SAFETY: what the caller promises.
        unsafe { fill::<L, _>(result.cast(), count, Chosen(Run::new(a), one, zero, PhantomData)) };
    }
}

/// The kernel of a conversion.
pub(super) fn cast(isa: Instructions, from: DType, to: DType) -> Kernel {
    if from == DType::Bool {
        return for_dtype!(to, U => kernel::<CastBooleans<U>>(isa));
    }
    for_dtype!(from, T => for_dtype!(to, U => kernel::<Cast<T, U>>(isa)))
}

/// The loop of a sum of products.
struct MultiplyAdd<T, A, B>(PhantomData<(T, A, B)>);

impl<T: Vectorised, A: Source<T>, B: Source<T>> Loop for MultiplyAdd<T, A, B> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, b: *const u8, _: *const u8, count: usize) {
        // SAFETY: what the caller promises; the result is read at the position that is to be written.
        unsafe {
            let sum = Run::<T>::new(result);
            let added = Added::<T, L, A, B>(sum, A::new(a), B::new(b), PhantomData);
            fill::<L, _>(result.cast(), count, added);
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

impl<T: Vectorised, L: Level, A: Source<T>, B: Source<T>> InRegisters for Added<T, L, A, B> {
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
pub(super) fn multiply_add(isa: Instructions, dtype: DType, a: Operand, b: Operand) -> Kernel {
    for_dtype!(dtype, T => for_operands!(isa, a, b, MultiplyAdd<T>))
}

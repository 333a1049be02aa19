//! Three-address instructions on registers of eight bytes, and their interpreter.
//!
//! Operations that take about as long as selecting them have an instruction of their own, with the operation table's meaning;
//! all others are [kernels](super::super::vector) for one element. Pairs of operations whose first result nothing else reads
//! are one instruction, so that this result need not go through memory.

use super::embedded::EmbeddedNest;
use super::register::RegisterIndex;
use crate::array::{Arithmetic, ElementType};
use crate::engine::cpu::code::Scratch;
use crate::engine::cpu::vector::{Instructions, VectorKernel};
use crate::operation::{Binary, BinaryRow, Comparison, Unary, UnaryRow, binary_row, comparison_row, unary_row};
use crate::shape::DType;

/// An instruction: the operation, the register of its result, the registers of up to three operands, and a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine::cpu) struct ScalarInstruction {
    pub(in crate::engine::cpu) op: ScalarOp,
    pub(in crate::engine::cpu) result: RegisterIndex,
    pub(in crate::engine::cpu) operands: [RegisterIndex; 3],
    /// An offset in bytes, a label or the instruction that one stands for, a position in a table, or a count.
    pub(in crate::engine::cpu) number: i32,
}

/// An operation of the table, or two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine::cpu) enum ScalarOperation {
    Unary(Unary, DType),
    Binary(Binary, DType),
    /// Of elements of this type.
    Compare(Comparison, DType),
    /// From one type to another.
    Cast(DType, DType),
    /// The second operation, of the first one's result and of the third operand.
    Left(Binary, Binary, DType),
    /// The second operation, of the third operand and of the first one's result.
    Right(Binary, Binary, DType),
}

/// An element at a computed position: where it is at position 0 and how far it is to the next, in bytes, and how many there
/// are; outside of these an element that is read is zero, and one that is written is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::engine::cpu) struct Indexed {
    pub(in crate::engine::cpu) offset: isize,
    pub(in crate::engine::cpu) stride: isize,
    pub(in crate::engine::cpu) extent: i64,
    pub(in crate::engine::cpu) width: usize,
}

/// The instructions, and the tables that they refer to.
#[derive(Clone, Debug, Default)]
pub(in crate::engine::cpu) struct ScalarCode {
    pub(in crate::engine::cpu) instructions: Vec<ScalarInstruction>,
    pub(in crate::engine::cpu) kernels: Vec<VectorKernel>,
    pub(in crate::engine::cpu) indexed: Vec<Indexed>,
    pub(in crate::engine::cpu) nests: Vec<EmbeddedNest>,
    /// The pointers that move with the steps of loops, and by how many bytes.
    pub(in crate::engine::cpu) moves: Vec<(RegisterIndex, isize)>,
}

macro_rules! operations {
    (
        unary { $($unary:ident = $urow:ident $ut:ident;)* }
        binary { $($binary:ident = $brow:ident $bt:ident;)* }
        compare { $($compare:ident = $crow:ident $ct:ident;)* }
        cast { $($cast:ident = $from:ident $to:ident;)* }
        left { $($left:ident = $lfirst:ident $lsecond:ident $lt:ident, $lf:ident $ls:ident;)* }
        right { $($right:ident = $rfirst:ident $rsecond:ident $rt:ident, $rf:ident $rs:ident;)* }
    ) => {
        /// The operation of an instruction.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub(in crate::engine::cpu) enum ScalarOp {
            $(#[doc = "A row of the operation table, on one element."] $unary,)*
            $(#[doc = "A row of the operation table, on two elements."] $binary,)*
            $(#[doc = "A comparison."] $compare,)*
            $(#[doc = "A conversion."] $cast,)*
            $(#[doc = "The second row, of the first row's result and of the third operand."] $left,)*
            $(#[doc = "The second row, of the third operand and of the first row's result."] $right,)*
            /// The first operand times the second, plus the third: with one rounding where the instructions allow it.
            TimesPlusF32,
            TimesPlusF64,
            /// Whatever kernel the number says, for one element.
            Kernel,
            /// The first operand, unchanged.
            Move,
            /// The second operand where the first holds, else the third.
            Select,
            /// The element of one, four or eight bytes, at so many bytes from a pointer.
            Load1,
            Load4,
            Load8,
            /// Writes the second operand at so many bytes from the pointer that the first is.
            Store1,
            Store4,
            Store8,
            /// The element of the array at the first operand, at the position that is the second: see [`Indexed`].
            LoadAt,
            /// Writes the third operand there.
            StoreAt,
            /// Copies as many bytes as the third operand says, to where the first points, from where the second does; the two don't
            /// overlap. The number is that of bytes too, or 0 if those are too many for it.
            Copy,
            /// Passes the operands, which are pointers, on to the nest that runs next, from its pointer of this number on.
            Pass,
            /// Runs the nest of this number in the table, with the pointers that were passed.
            Nest,
            /// A pointer so many bytes from another.
            Point,
            /// The count that the number says.
            Count,
            /// Goes on at the number.
            Jump,
            /// Goes on at the number unless the first operand holds.
            Unless,
            /// Moves pointers, those of the table from the second operand on, as many as the third says; then goes on at the
            /// number if the count in the result has any left when it is one less.
            Next,
            /// Nothing: a jump target, by its number. Code that runs has none.
            Label,
            /// Ends.
            End,
        }

        impl ScalarOp {
            /// The instruction for a row of the table, if it has one of its own.
            pub(super) fn unary(op: Unary, dtype: DType) -> Option<ScalarOp> {
                match op {
                    $(Unary::$urow if dtype == <$ut as ElementType>::DTYPE => Some(ScalarOp::$unary),)*
                    _ => None,
                }
            }

            /// As [`ScalarOp::unary`].
            pub(super) fn binary(op: Binary, dtype: DType) -> Option<ScalarOp> {
                match op {
                    $(Binary::$brow if dtype == <$bt as ElementType>::DTYPE => Some(ScalarOp::$binary),)*
                    _ => None,
                }
            }

            /// As [`ScalarOp::unary`], of a comparison of such elements.
            pub(super) fn compare(op: Comparison, dtype: DType) -> Option<ScalarOp> {
                match op {
                    $(Comparison::$crow if dtype == <$ct as ElementType>::DTYPE => Some(ScalarOp::$compare),)*
                    _ => None,
                }
            }

            /// As [`ScalarOp::unary`], of a conversion.
            pub(super) fn cast(from: DType, to: DType) -> Option<ScalarOp> {
                match (from, to) {
                    $((<$from as ElementType>::DTYPE, <$to as ElementType>::DTYPE) => Some(ScalarOp::$cast),)*
                    _ => None,
                }
            }

            /// The instruction for two: the second takes the first's result at a position. Where it takes that on the right,
            /// its other operand is on the left.
            pub(super) fn pair(first: ScalarOp, second: ScalarOp, position: usize) -> Option<ScalarOp> {
                match (first, second, position) {
                    $((ScalarOp::$lf, ScalarOp::$ls, 0) => Some(ScalarOp::$left),)*
                    $((ScalarOp::$rf, ScalarOp::$rs, 1) => Some(ScalarOp::$right),)*
                    _ => None,
                }
            }

            /// The operations of the table that the instruction does, if it is one of those.
            pub(in crate::engine::cpu) fn operation(self) -> Option<ScalarOperation> {
                use ScalarOperation as Of;
                Some(match self {
                    $(ScalarOp::$unary => Of::Unary(Unary::$urow, <$ut as ElementType>::DTYPE),)*
                    $(ScalarOp::$binary => Of::Binary(Binary::$brow, <$bt as ElementType>::DTYPE),)*
                    $(ScalarOp::$compare => Of::Compare(Comparison::$crow, <$ct as ElementType>::DTYPE),)*
                    $(ScalarOp::$cast => Of::Cast(<$from as ElementType>::DTYPE, <$to as ElementType>::DTYPE),)*
                    $(ScalarOp::$left => Of::Left(Binary::$lfirst, Binary::$lsecond, <$lt as ElementType>::DTYPE),)*
                    $(ScalarOp::$right => Of::Right(Binary::$rfirst, Binary::$rsecond, <$rt as ElementType>::DTYPE),)*
                    _ => return None,
                })
            }

            /// How many operands are read, and whether there is a result, that is nothing but a function of them.
            pub(in crate::engine::cpu) fn form(self) -> (usize, bool) {
                match self {
                    $(ScalarOp::$unary)|* | $(ScalarOp::$cast)|* => (1, true),
                    $(ScalarOp::$binary)|* | $(ScalarOp::$compare)|* => (2, true),
                    $(ScalarOp::$left)|* | $(ScalarOp::$right)|* => (3, true),
                    ScalarOp::TimesPlusF32 | ScalarOp::TimesPlusF64 | ScalarOp::Kernel | ScalarOp::Select => (3, true),
                    ScalarOp::Move | ScalarOp::Point => (1, true),
                    ScalarOp::Load1 | ScalarOp::Load4 | ScalarOp::Load8 => (1, true),
                    ScalarOp::LoadAt => (2, true),
                    ScalarOp::Store1 | ScalarOp::Store4 | ScalarOp::Store8 => (2, false),
                    ScalarOp::StoreAt | ScalarOp::Copy | ScalarOp::Pass => (3, false),
                    ScalarOp::Count => (0, true),
                    ScalarOp::Unless => (1, false),
                    ScalarOp::Nest | ScalarOp::Jump | ScalarOp::Next | ScalarOp::Label | ScalarOp::End => (0, false),
                }
            }
        }

        impl ScalarCode {
            /// Runs the instructions from the first to the one that ends.
            ///
            /// # Safety
            ///
            /// As [`ScalarCode::run`].
            #[inline(always)]
            unsafe fn execute<const FUSED: bool>(&self, registers: *mut u64, scratch: &mut Scratch) {
                let start = self.instructions.as_ptr();
                let mut at = start;
                // SAFETY: the caller promises that registers are inside, and hold what instructions read them as; that places
                // to go on at are instructions, and the last ends; and that pointers point at elements.
                unsafe {
                    macro_rules! read {
                        ($register:expr, $t:ty) => { registers.add(usize::from($register)).cast::<$t>().read() };
                    }
                    macro_rules! write {
                        ($register:expr, $t:ty, $value:expr) => {
                            registers.add(usize::from($register)).cast::<$t>().write($value)
                        };
                    }
                    loop {
                        let ScalarInstruction { op, result, operands: [a, b, c], number } = *at;
                        at = at.add(1);
                        match op {
                            $(ScalarOp::$unary => {
                                write!(result, $ut, unary_row::$urow.of(read!(a, $ut)));
                            })*
                            $(ScalarOp::$binary => {
                                write!(result, $bt, binary_row::$brow.of(read!(a, $bt), read!(b, $bt)));
                            })*
                            $(ScalarOp::$compare => {
                                write!(result, bool, comparison_row::$crow.of(read!(a, $ct), read!(b, $ct)));
                            })*
                            $(ScalarOp::$cast => write!(result, $to, read!(a, $from).cast::<$to>()),)*
                            $(ScalarOp::$left => {
                                let value = binary_row::$lfirst.of(read!(a, $lt), read!(b, $lt));
                                write!(result, $lt, binary_row::$lsecond.of(value, read!(c, $lt)));
                            })*
                            $(ScalarOp::$right => {
                                let value = binary_row::$rfirst.of(read!(a, $rt), read!(b, $rt));
                                write!(result, $rt, binary_row::$rsecond.of(read!(c, $rt), value));
                            })*
                            ScalarOp::TimesPlusF32 => {
                                let (a, b, c) = (read!(a, f32), read!(b, f32), read!(c, f32));
                                write!(result, f32, if FUSED { a.mul_add(b, c) } else { a * b + c });
                            }
                            ScalarOp::TimesPlusF64 => {
                                let (a, b, c) = (read!(a, f64), read!(b, f64), read!(c, f64));
                                write!(result, f64, if FUSED { a.mul_add(b, c) } else { a * b + c });
                            }
                            ScalarOp::Kernel => {
                                let run = self.kernels.get_unchecked(number as usize);
                                let at = |register: RegisterIndex| registers.add(usize::from(register)).cast::<u8>();
                                run(at(result), at(a), at(b), at(c), 1);
                            }
                            ScalarOp::Move => write!(result, u64, read!(a, u64)),
                            ScalarOp::Select => {
                                let (yes, no) = (read!(b, u64), read!(c, u64));
                                write!(result, u64, if read!(a, bool) { yes } else { no });
                            }
                            ScalarOp::Load1 => write!(result, u8, read!(a, *const u8).offset(number as isize).read()),
                            ScalarOp::Load4 => {
                                let from = read!(a, *const u8).offset(number as isize);
                                write!(result, u32, from.cast::<u32>().read());
                            }
                            ScalarOp::Load8 => {
                                let from = read!(a, *const u8).offset(number as isize);
                                write!(result, u64, from.cast::<u64>().read());
                            }
                            ScalarOp::Store1 => read!(a, *mut u8).offset(number as isize).write(read!(b, u8)),
                            ScalarOp::Store4 => {
                                read!(a, *mut u8).offset(number as isize).cast::<u32>().write(read!(b, u32));
                            }
                            ScalarOp::Store8 => {
                                read!(a, *mut u8).offset(number as isize).cast::<u64>().write(read!(b, u64));
                            }
                            ScalarOp::LoadAt => {
                                let place = self.indexed.get_unchecked(number as usize);
                                let to = registers.add(usize::from(result));
                                match place.of(read!(a, *mut u8), read!(b, i64)) {
                                    Some(from) if place.width == 8 => to.write(from.cast::<u64>().read()),
                                    Some(from) if place.width == 4 => {
                                        to.cast::<u32>().write(from.cast::<u32>().read());
                                    }
                                    Some(from) => to.cast::<u8>().write(from.read()),
                                    None => to.write(0),
                                }
                            }
                            ScalarOp::StoreAt => {
                                let place = self.indexed.get_unchecked(number as usize);
                                let from = registers.add(usize::from(c));
                                match place.of(read!(a, *mut u8), read!(b, i64)) {
                                    Some(to) if place.width == 8 => to.cast::<u64>().write(from.read()),
                                    Some(to) if place.width == 4 => {
                                        to.cast::<u32>().write(from.cast::<u32>().read());
                                    }
                                    Some(to) => to.write(from.cast::<u8>().read()),
                                    None => {}
                                }
                            }
                            ScalarOp::Copy => {
                                let (to, from) = (read!(a, *mut u8), read!(b, *const u8));
                                std::ptr::copy_nonoverlapping(from, to, read!(c, usize));
                            }
                            ScalarOp::Pass => {
                                let to = registers.wrapping_add(number as usize).cast::<[u64; 3]>();
                                to.write([read!(a, u64), read!(b, u64), read!(c, u64)]);
                            }
                            ScalarOp::Nest => self.nests.get_unchecked(number as usize).run(registers, scratch),
                            ScalarOp::Point => {
                                write!(result, *mut u8, read!(a, *mut u8).wrapping_offset(number as isize));
                            }
                            ScalarOp::Count => write!(result, u64, number as u64),
                            ScalarOp::Jump => at = start.add(number as usize),
                            ScalarOp::Unless => {
                                if !read!(a, bool) {
                                    at = start.add(number as usize);
                                }
                            }
                            ScalarOp::Next => {
                                for k in 0..usize::from(c) {
                                    let (pointer, bytes) = *self.moves.get_unchecked(usize::from(b) + k);
                                    write!(pointer, *mut u8, read!(pointer, *mut u8).wrapping_offset(bytes));
                                }
                                let left = read!(result, u64) - 1;
                                write!(result, u64, left);
                                if left != 0 {
                                    at = start.add(number as usize);
                                }
                            }
                            ScalarOp::Label => {}
                            ScalarOp::End => return,
                        }
                    }
                }
            }
        }

        /// Rows with an instruction of their own, for tests.
        #[cfg(test)]
        pub(super) const OWN: (&[(Unary, DType)], &[(Binary, DType)], &[(Comparison, DType)], &[(DType, DType)]) = (
            &[$((Unary::$urow, <$ut as ElementType>::DTYPE),)*],
            &[$((Binary::$brow, <$bt as ElementType>::DTYPE),)*],
            &[$((Comparison::$crow, <$ct as ElementType>::DTYPE),)*],
            &[$((<$from as ElementType>::DTYPE, <$to as ElementType>::DTYPE),)*],
        );
    };
}

operations! {
    unary {
        NegF32 = Neg f32; NegF64 = Neg f64; NegI64 = Neg i64;
        RecipF32 = Recip f32; RecipF64 = Recip f64;
        AbsF32 = Abs f32; AbsF64 = Abs f64;
        SqrtF32 = Sqrt f32; SqrtF64 = Sqrt f64;
        ReluF32 = Relu f32; ReluF64 = Relu f64;
        Not = Not bool;
    }
    binary {
        AddF32 = Add f32; AddF64 = Add f64; AddI32 = Add i32; AddI64 = Add i64;
        SubF32 = Sub f32; SubF64 = Sub f64; SubI32 = Sub i32; SubI64 = Sub i64;
        MulF32 = Mul f32; MulF64 = Mul f64; MulI32 = Mul i32; MulI64 = Mul i64;
        DivF32 = Div f32; DivF64 = Div f64;
        MaxF32 = Max f32; MaxF64 = Max f64;
        MaxRightF32 = MaxRight f32; MaxRightF64 = MaxRight f64;
        MinF32 = Min f32; MinF64 = Min f64;
        MinRightF32 = MinRight f32; MinRightF64 = MinRight f64;
        KeepZeroF32 = KeepZero f32; KeepZeroF64 = KeepZero f64;
        And = And bool; Or = Or bool;
    }
    compare {
        LessF32 = Less f32; LessF64 = Less f64; LessI32 = Less i32; LessI64 = Less i64;
        LessEqualF32 = LessEqual f32; LessEqualF64 = LessEqual f64; LessEqualI32 = LessEqual i32; LessEqualI64 = LessEqual i64;
        GreaterF32 = Greater f32; GreaterF64 = Greater f64; GreaterI32 = Greater i32; GreaterI64 = Greater i64;
        GreaterEqualF32 = GreaterEqual f32; GreaterEqualF64 = GreaterEqual f64; GreaterEqualI32 = GreaterEqual i32;
        GreaterEqualI64 = GreaterEqual i64;
        EqualF32 = Equal f32; EqualF64 = Equal f64; EqualI32 = Equal i32; EqualI64 = Equal i64;
        NotEqualF32 = NotEqual f32; NotEqualF64 = NotEqual f64; NotEqualI64 = NotEqual i64;
    }
    cast {
        CastI64F64 = i64 f64; CastI32F64 = i32 f64; CastBoolF64 = bool f64; CastF32F64 = f32 f64;
        CastI64F32 = i64 f32; CastI32F32 = i32 f32; CastBoolF32 = bool f32; CastF64F32 = f64 f32;
        CastBoolI64 = bool i64; CastI32I64 = i32 i64; CastI64I32 = i64 i32;
    }
    left {
        AddAddF32 = Add Add f32, AddF32 AddF32; AddAddF64 = Add Add f64, AddF64 AddF64;
        AddSubF32 = Add Sub f32, AddF32 SubF32; AddSubF64 = Add Sub f64, AddF64 SubF64;
        AddMulF32 = Add Mul f32, AddF32 MulF32; AddMulF64 = Add Mul f64, AddF64 MulF64;
        SubAddF32 = Sub Add f32, SubF32 AddF32; SubAddF64 = Sub Add f64, SubF64 AddF64;
        SubSubF32 = Sub Sub f32, SubF32 SubF32; SubSubF64 = Sub Sub f64, SubF64 SubF64;
        SubMulF32 = Sub Mul f32, SubF32 MulF32; SubMulF64 = Sub Mul f64, SubF64 MulF64;
        MulAddF32 = Mul Add f32, MulF32 AddF32; MulAddF64 = Mul Add f64, MulF64 AddF64;
        MulSubF32 = Mul Sub f32, MulF32 SubF32; MulSubF64 = Mul Sub f64, MulF64 SubF64;
        MulMulF32 = Mul Mul f32, MulF32 MulF32; MulMulF64 = Mul Mul f64, MulF64 MulF64;
    }
    right {
        AddOfAddF32 = Add Add f32, AddF32 AddF32; AddOfAddF64 = Add Add f64, AddF64 AddF64;
        SubOfAddF32 = Add Sub f32, AddF32 SubF32; SubOfAddF64 = Add Sub f64, AddF64 SubF64;
        MulOfAddF32 = Add Mul f32, AddF32 MulF32; MulOfAddF64 = Add Mul f64, AddF64 MulF64;
        AddOfSubF32 = Sub Add f32, SubF32 AddF32; AddOfSubF64 = Sub Add f64, SubF64 AddF64;
        SubOfSubF32 = Sub Sub f32, SubF32 SubF32; SubOfSubF64 = Sub Sub f64, SubF64 SubF64;
        MulOfSubF32 = Sub Mul f32, SubF32 MulF32; MulOfSubF64 = Sub Mul f64, SubF64 MulF64;
        AddOfMulF32 = Mul Add f32, MulF32 AddF32; AddOfMulF64 = Mul Add f64, MulF64 AddF64;
        SubOfMulF32 = Mul Sub f32, MulF32 SubF32; SubOfMulF64 = Mul Sub f64, MulF64 SubF64;
        MulOfMulF32 = Mul Mul f32, MulF32 MulF32; MulOfMulF64 = Mul Mul f64, MulF64 MulF64;
    }
}

impl ScalarInstruction {
    /// The registers that are read.
    pub(in crate::engine::cpu) fn reads(&self) -> &[RegisterIndex] {
        &self.operands[..self.op.form().0]
    }

    /// Whether all that it does is to write its result.
    pub(in crate::engine::cpu) fn has_result(&self) -> bool {
        self.op.form().1
    }
}

impl Indexed {
    /// Where the element at a position is.
    #[inline(always)]
    fn of(&self, start: *mut u8, position: i64) -> Option<*mut u8> {
        let inside = (0..self.extent).contains(&position);
        inside.then(|| start.wrapping_offset(self.offset + self.stride * position as isize))
    }
}

impl ScalarCode {
    /// Runs the instructions from the first to the one that ends.
    ///
    /// # Safety
    ///
    /// The machine has the instructions. The scratch was reserved for all nests, and their tables were set with it. The registers of all instructions are there and hold what these read them as, pointers
    /// among them, with which elements are read and written inside of arrays; what jumps go to is there, and the last
    /// instruction ends.
    pub(super) unsafe fn run(&self, isa: Instructions, registers: *mut u64, scratch: &mut Scratch) {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn fused(code: &ScalarCode, registers: *mut u64, scratch: &mut Scratch) {
            // SAFETY: the caller's promises.
            unsafe { code.execute::<true>(registers, scratch) };
        }
        // SAFETY: the caller's promises.
        unsafe {
            match isa {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 | Instructions::Avx512 => fused(self, registers, scratch),
                _ => self.execute::<false>(registers, scratch),
            }
        }
    }
}

//! Operators, on values, references and literals, with co-broadcasting.

use crate::algebra::Algebra;
use crate::array;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{Type, Value};
use crate::tensor::apply::{align, fail_array, stretch};
use crate::tensor::{Element, Float, Integer, Max, Number, R0, Rank, Tensor};
use std::ops;

/// The operand on the right of an operator, or of an elementwise method, for an array of algebra `A`, element type `E` and rank
/// `R`: an array, a reference to one, or a literal. Shapes broadcast together, as in NumPy.
///
/// Floats and integers have `+`, `-`, `*`, `/`; integers `%`, `<<` and `>>` too; integers and booleans `&`, `|`, `^` and `!`; all
/// of them with assignment, as in `+=`, which keeps the shape of the array on the left.
///
/// ```
/// # use deltaray::prelude::*;
/// let mut x = Vector::from([1.0, 2.0]);
/// x += 2.0 * &x - scalar(1.0);
/// assert_eq!(x.to_vec(), [2.0, 5.0]);
/// assert_eq!((x.insert_axis(1) / &x).shape()[..], [2, 2]);
/// assert_eq!((Vector::from([7, -7]) % 4).to_vec(), [3, -3]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not go together with an array of `{E}` over `{A}`",
    note = "a plain number beside an array of floats is converted by `n as f64`, an array by `cast`: `x.cast::<f64>()`; a float literal \
            goes with floats, an integer literal with all numbers",
    note = "operands are arrays with the same algebra and element type, references to them, and literals",
    note = "an array `w` from outside enters the closure of `grad` or `vjp` by `w.lift()`, of `jvp` by `w.lift_forward()`, \
            of `hessian` or `hvp` by `w.lift_forward().lift()`; a plain array enters any by `constant(&w)`",
    note = "a tree with `#[tree(arithmetic)]` stands at the left of an array without axes: `tree * factor`, `tree / factor`"
)]
pub trait Operand<A: Algebra, E: Element, R: Rank> {
    /// The rank of the co-broadcast.
    type Rank: Rank;
    /// Whether the operand is a literal, which wins the ties of `min` and `max`.
    const LITERAL: bool;
    /// The operand as an array; a literal takes the shape of the other operand.
    fn into_operand(self, other: &A::Array) -> A::Array;
}

impl<A: Algebra, E: Element, R: Rank + Max<S>, S: Rank> Operand<A, E, R> for Tensor<A, E, S> {
    type Rank = <R as Max<S>>::Output;
    const LITERAL: bool = false;
    fn into_operand(self, _: &A::Array) -> A::Array {
        self.array
    }
}

impl<A: Algebra, E: Element, R: Rank + Max<S>, S: Rank> Operand<A, E, R> for &Tensor<A, E, S> {
    type Rank = <R as Max<S>>::Output;
    const LITERAL: bool = false;
    fn into_operand(self, _: &A::Array) -> A::Array {
        self.array.clone()
    }
}

/// An array of another one's shape, filled with a value.
pub(super) fn full_like<A: Algebra>(other: &A::Array, value: Value) -> A::Array {
    A::constant(array::Array::full(&A::shape(other), value))
}

macro_rules! literal_operand {
    ($($literal:ident $element:ident $variant:ident;)*) => {
        $(impl<A: Algebra, R: Rank> Operand<A, $element, R> for $literal {
            type Rank = R;
            const LITERAL: bool = true;
            fn into_operand(self, other: &A::Array) -> A::Array {
                full_like::<A>(other, Value::$variant(self as $element))
            }
        }

        impl<A: Algebra, R: Rank> Operand<A, $element, R> for &$literal {
            type Rank = R;
            const LITERAL: bool = true;
            fn into_operand(self, other: &A::Array) -> A::Array {
                full_like::<A>(other, Value::$variant(*self as $element))
            }
        })*
    };
}

literal_operand! {
    f32 f32 F32;
    f64 f64 F64;
    i32 i32 I32;
    i32 i64 I64;
    i64 i64 I64;
    usize i64 I64;
    bool bool Bool;
}

/// Integer literals, which are `i32` where nothing else says their type, stand beside floats too.
impl<A: Algebra, E: Float, R: Rank> Operand<A, E, R> for i32 {
    type Rank = R;
    const LITERAL: bool = true;
    fn into_operand(self, other: &A::Array) -> A::Array {
        full_like::<A>(other, E::from_number(f64::from(self)).into_value())
    }
}

impl<A: Algebra, E: Float, R: Rank> Operand<A, E, R> for &i32 {
    type Rank = R;
    const LITERAL: bool = true;
    fn into_operand(self, other: &A::Array) -> A::Array {
        Operand::<A, E, R>::into_operand(*self, other)
    }
}

/// A reference to a reference, as closures get it that look at an iterator's items.
impl<A: Algebra, E: Element, R: Rank + Max<S>, S: Rank> Operand<A, E, R> for &&Tensor<A, E, S> {
    type Rank = <R as Max<S>>::Output;
    const LITERAL: bool = false;
    fn into_operand(self, _: &A::Array) -> A::Array {
        self.array.clone()
    }
}

/// Applies a binary operation after broadcasting.
#[track_caller]
pub(super) fn combine<A: Algebra>(op: Binary, a: A::Array, b: A::Array) -> A::Array {
    let dtype = A::dtype(&a);
    match align::<A>(a, b) {
        Ok((a, b)) => A::binary(op, a, b),
        Err((problem, shape)) => fail_array::<A>(op.name(), problem, Type { dtype, shape }),
    }
}

/// Compares after broadcasting.
#[track_caller]
pub(super) fn compare<A: Algebra>(op: Comparison, a: A::Array, b: A::Array) -> A::Array {
    match align::<A>(a, b) {
        Ok((a, b)) => A::compare(op, a, b),
        Err((problem, shape)) => fail_array::<A>(op.name(), problem, Type { dtype: crate::shape::DType::Bool, shape }),
    }
}

/// `target = op(target, b)` where the shape of the target stays; the target's buffer is reused where nobody else holds it.
#[track_caller]
fn assign<A: Algebra>(op: Binary, target: &mut A::Array, b: A::Array) {
    let b = if A::same_shape(target, &b) {
        b
    } else {
        let (shape, other) = (A::shape(target), A::shape(&b));
        if super::apply::broadcast_shape(&shape, &other).as_ref() != Some(&shape) {
            let problem = format!("shape {:?} does not broadcast to {:?}", &other[..], &shape[..]);
            *target = fail_array::<A>(op.name(), problem, A::type_of(target));
            return;
        }
        stretch::<A>(b, &shape)
    };
    // The other operand stands in for the target meanwhile, so that the target is held once.
    let unique = std::mem::replace(target, b.clone());
    *target = A::binary(op, unique, b);
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// A binary operation with whatever may be an operand.
    #[track_caller]
    pub(super) fn binary<T: Operand<A, E, R>>(self, op: Binary, other: T) -> Tensor<A, E, T::Rank> {
        let other = other.into_operand(&self.array);
        Tensor::wrap(combine::<A>(op, self.array, other))
    }
}

macro_rules! operator {
    ($trait:ident $method:ident, $assign:ident $assign_method:ident, $bound:ident, $op:expr,
        literals: $($literal:ident $element:ident),*) => {
        impl<A: Algebra, E: $bound, R: Rank, T: Operand<A, E, R>> ops::$trait<T> for Tensor<A, E, R> {
            type Output = Tensor<A, E, T::Rank>;
            #[track_caller]
            fn $method(self, other: T) -> Self::Output {
                self.binary(($op)(E::DTYPE.is_float()), other)
            }
        }

        impl<A: Algebra, E: $bound, R: Rank, T: Operand<A, E, R>> ops::$trait<T> for &Tensor<A, E, R> {
            type Output = Tensor<A, E, T::Rank>;
            #[track_caller]
            fn $method(self, other: T) -> Self::Output {
                self.clone().binary(($op)(E::DTYPE.is_float()), other)
            }
        }

        impl<A: Algebra, E: $bound, R: Rank, T: Operand<A, E, R>> ops::$trait<T> for &&Tensor<A, E, R> {
            type Output = Tensor<A, E, T::Rank>;
            #[track_caller]
            fn $method(self, other: T) -> Self::Output {
                ops::$trait::$method(*self, other)
            }
        }

        impl<A: Algebra, E: $bound, R: Rank, T: Operand<A, E, R>> ops::$assign<T> for Tensor<A, E, R> {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                let other = other.into_operand(&self.array);
                assign::<A>(($op)(E::DTYPE.is_float()), &mut self.array, other);
            }
        }

        $(impl<A: Algebra, R: Rank> ops::$trait<Tensor<A, $element, R>> for $literal {
            type Output = Tensor<A, $element, R>;
            #[track_caller]
            fn $method(self, other: Tensor<A, $element, R>) -> Self::Output {
                let literal = Operand::<A, $element, R>::into_operand(self, &other.array);
                Tensor::wrap(combine::<A>(($op)(<$element as array::ElementType>::DTYPE.is_float()), literal, other.array))
            }
        }

        impl<A: Algebra, R: Rank> ops::$trait<&Tensor<A, $element, R>> for $literal {
            type Output = Tensor<A, $element, R>;
            #[track_caller]
            fn $method(self, other: &Tensor<A, $element, R>) -> Self::Output {
                ops::$trait::$method(self, other.clone())
            }
        }

        impl<A: Algebra, R: Rank> ops::$trait<Tensor<A, $element, R>> for &$literal {
            type Output = Tensor<A, $element, R>;
            #[track_caller]
            fn $method(self, other: Tensor<A, $element, R>) -> Self::Output {
                ops::$trait::$method(*self, other)
            }
        }

        impl<A: Algebra, R: Rank> ops::$trait<&Tensor<A, $element, R>> for &$literal {
            type Output = Tensor<A, $element, R>;
            #[track_caller]
            fn $method(self, other: &Tensor<A, $element, R>) -> Self::Output {
                ops::$trait::$method(*self, other.clone())
            }
        })*
    };
}

macro_rules! integer_beside_floats {
    ($($trait:ident $method:ident),*) => {
        $(
            impl<A: Algebra, E: Float, R: Rank> ops::$trait<Tensor<A, E, R>> for i32 {
                type Output = Tensor<A, E, R>;
                #[track_caller]
                fn $method(self, other: Tensor<A, E, R>) -> Self::Output {
                    ops::$trait::$method(other.filled(f64::from(self)), other)
                }
            }

            impl<A: Algebra, E: Float, R: Rank> ops::$trait<&Tensor<A, E, R>> for i32 {
                type Output = Tensor<A, E, R>;
                #[track_caller]
                fn $method(self, other: &Tensor<A, E, R>) -> Self::Output {
                    ops::$trait::$method(other.filled(f64::from(self)), other)
                }
            }
        )*
    };
}

integer_beside_floats!(Add add, Sub sub, Mul mul, Div div);

operator!(Add add, AddAssign add_assign, Number, |_| Binary::Add,
    literals: f32 f32, f64 f64, i32 i32, i32 i64, i64 i64, usize i64);
operator!(Sub sub, SubAssign sub_assign, Number, |_| Binary::Sub,
    literals: f32 f32, f64 f64, i32 i32, i32 i64, i64 i64, usize i64);
operator!(Mul mul, MulAssign mul_assign, Number, |_| Binary::Mul,
    literals: f32 f32, f64 f64, i32 i32, i32 i64, i64 i64, usize i64);
operator!(Div div, DivAssign div_assign, Number, |float| if float { Binary::Div } else { Binary::Quot },
    literals: f32 f32, f64 f64, i32 i32, i32 i64, i64 i64, usize i64);
operator!(Rem rem, RemAssign rem_assign, Integer, |_| Binary::Rem,
    literals: i32 i32, i32 i64, i64 i64, usize i64);

/// Element types with the operators of bits: `bool`, and the integers bit by bit.
pub trait Bits: Element {
    /// `!`
    const NOT: Unary;
    /// `&`
    const AND: Binary;
    /// `|`
    const OR: Binary;
    /// `^`
    const XOR: Binary;
}

impl Bits for bool {
    const NOT: Unary = Unary::Not;
    const AND: Binary = Binary::And;
    const OR: Binary = Binary::Or;
    const XOR: Binary = Binary::Xor;
}

impl Bits for i32 {
    const NOT: Unary = Unary::BitNot;
    const AND: Binary = Binary::BitAnd;
    const OR: Binary = Binary::BitOr;
    const XOR: Binary = Binary::BitXor;
}

impl Bits for i64 {
    const NOT: Unary = Unary::BitNot;
    const AND: Binary = Binary::BitAnd;
    const OR: Binary = Binary::BitOr;
    const XOR: Binary = Binary::BitXor;
}

macro_rules! bit_operator {
    ($trait:ident $method:ident, $assign:ident $assign_method:ident, $bound:ident, $op:expr) => {
        impl<A: Algebra, E: $bound, R: Rank, T: Operand<A, E, R>> ops::$trait<T> for Tensor<A, E, R> {
            type Output = Tensor<A, E, T::Rank>;
            #[track_caller]
            fn $method(self, other: T) -> Self::Output {
                self.binary($op, other)
            }
        }

        impl<A: Algebra, E: $bound, R: Rank, T: Operand<A, E, R>> ops::$trait<T> for &Tensor<A, E, R> {
            type Output = Tensor<A, E, T::Rank>;
            #[track_caller]
            fn $method(self, other: T) -> Self::Output {
                self.clone().binary($op, other)
            }
        }

        impl<A: Algebra, E: $bound, R: Rank, T: Operand<A, E, R>> ops::$assign<T> for Tensor<A, E, R> {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                let other = other.into_operand(&self.array);
                assign::<A>($op, &mut self.array, other);
            }
        }
    };
}

bit_operator!(BitAnd bitand, BitAndAssign bitand_assign, Bits, E::AND);
bit_operator!(BitOr bitor, BitOrAssign bitor_assign, Bits, E::OR);
bit_operator!(BitXor bitxor, BitXorAssign bitxor_assign, Bits, E::XOR);
bit_operator!(Shl shl, ShlAssign shl_assign, Integer, Binary::ShiftLeft);
bit_operator!(Shr shr, ShrAssign shr_assign, Integer, Binary::ShiftRight);

impl<A: Algebra, E: Number, R: Rank> ops::Neg for Tensor<A, E, R> {
    type Output = Tensor<A, E, R>;
    #[track_caller]
    fn neg(self) -> Self::Output {
        Tensor::wrap(A::unary(Unary::Neg, self.array))
    }
}

impl<A: Algebra, E: Number, R: Rank> ops::Neg for &Tensor<A, E, R> {
    type Output = Tensor<A, E, R>;
    #[track_caller]
    fn neg(self) -> Self::Output {
        -self.clone()
    }
}

impl<A: Algebra, E: Bits, R: Rank> ops::Not for Tensor<A, E, R> {
    type Output = Tensor<A, E, R>;
    #[track_caller]
    fn not(self) -> Self::Output {
        Tensor::wrap(A::unary(E::NOT, self.array))
    }
}

impl<A: Algebra, E: Bits, R: Rank> ops::Not for &Tensor<A, E, R> {
    type Output = Tensor<A, E, R>;
    #[track_caller]
    fn not(self) -> Self::Output {
        !self.clone()
    }
}

/// Sums arrays of one shape; an empty sum is the scalar 0, which broadcasts, so only scalars are summed this way.
impl<A: Algebra, E: Number> std::iter::Sum for Tensor<A, E, R0> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.reduce(|a, b| a + b).unwrap_or_else(|| crate::tensor::scalar(E::ZERO))
    }
}

/// As of arrays by value.
impl<'a, A: Algebra, E: Number> std::iter::Sum<&'a Tensor<A, E, R0>> for Tensor<A, E, R0> {
    fn sum<I: Iterator<Item = &'a Self>>(terms: I) -> Self {
        terms.cloned().sum()
    }
}

impl<A: Algebra, E: Float, R: Rank> Tensor<A, E, R> {
    /// An array of this one's shape, filled with a number: how code that is generic over the element type writes literals.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0f32, 2.0]]).filled(0.5), [[0.5, 0.5]].into());
    /// ```
    pub fn filled(&self, x: f64) -> Tensor<A, E, R> {
        Tensor::wrap(full_like::<A>(&self.array, E::from_number(x).into_value()))
    }
}

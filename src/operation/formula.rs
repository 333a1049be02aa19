//! Arrays with operators, in which the table states derivatives.

use super::{Binary, Comparison, Unary};

/// The elementwise operations of an [algebra](crate::algebra::Algebra), as far as formulas have need of them.
pub(crate) trait Pointwise {
    /// An array of any shape and element type.
    type Array: Clone;

    /// An array of another one's type, filled with a number.
    fn filled(like: &Self::Array, x: f64) -> Self::Array;
    /// An operation of one operand.
    #[track_caller]
    fn unary(op: Unary, a: Self::Array) -> Self::Array;
    /// An operation of two operands of one type.
    #[track_caller]
    fn binary(op: Binary, a: Self::Array, b: Self::Array) -> Self::Array;
    /// A comparison of two operands of one type; the result is boolean.
    #[track_caller]
    fn compare(op: Comparison, a: Self::Array, b: Self::Array) -> Self::Array;
    /// Where the mask is true the first, else the second; all of one shape.
    #[track_caller]
    fn select(mask: Self::Array, yes: Self::Array, no: Self::Array) -> Self::Array;
}

/// An array of some algebra in a derivative rule, with operators, so that rules read as formulas.
pub(crate) struct Term<A: Pointwise>(pub(crate) A::Array);

impl<A: Pointwise> Clone for Term<A> {
    fn clone(&self) -> Self {
        Term(self.0.clone())
    }
}

impl<A: Pointwise> Term<A> {
    /// An array of this one's type, filled with a number.
    pub(crate) fn filled(&self, x: f64) -> Term<A> {
        Term(A::filled(&self.0, x))
    }

    /// Applies a unary operation.
    pub(crate) fn unary(&self, op: Unary) -> Term<A> {
        Term(A::unary(op, self.0.clone()))
    }

    /// Applies a binary operation.
    pub(crate) fn binary(&self, op: Binary, other: &Term<A>) -> Term<A> {
        Term(A::binary(op, self.0.clone(), other.0.clone()))
    }

    /// Compares with a number.
    pub(crate) fn compare(&self, op: Comparison, x: f64) -> Term<A> {
        self.compare_with(op, &self.filled(x))
    }

    /// Compares with another array.
    pub(crate) fn compare_with(&self, op: Comparison, other: &Term<A>) -> Term<A> {
        Term(A::compare(op, self.0.clone(), other.0.clone()))
    }

    /// Where this mask is true the first, else the second.
    pub(crate) fn select(&self, yes: &Term<A>, no: &Term<A>) -> Term<A> {
        Term(A::select(self.0.clone(), yes.0.clone(), no.0.clone()))
    }
}

// A term that is given away gives its buffer to the result.
macro_rules! term_operator {
    ($trait:ident, $method:ident, $op:expr) => {
        impl<A: Pointwise> std::ops::$trait<&Term<A>> for &Term<A> {
            type Output = Term<A>;
            fn $method(self, other: &Term<A>) -> Term<A> {
                self.binary($op, other)
            }
        }
        impl<A: Pointwise> std::ops::$trait<&Term<A>> for Term<A> {
            type Output = Term<A>;
            fn $method(self, other: &Term<A>) -> Term<A> {
                Term(A::binary($op, self.0, other.0.clone()))
            }
        }
        impl<A: Pointwise> std::ops::$trait<Term<A>> for &Term<A> {
            type Output = Term<A>;
            fn $method(self, other: Term<A>) -> Term<A> {
                Term(A::binary($op, self.0.clone(), other.0))
            }
        }
        impl<A: Pointwise> std::ops::$trait<Term<A>> for Term<A> {
            type Output = Term<A>;
            fn $method(self, other: Term<A>) -> Term<A> {
                Term(A::binary($op, self.0, other.0))
            }
        }
        impl<A: Pointwise> std::ops::$trait<f64> for &Term<A> {
            type Output = Term<A>;
            fn $method(self, other: f64) -> Term<A> {
                let other = self.filled(other);
                self.$method(other)
            }
        }
        impl<A: Pointwise> std::ops::$trait<f64> for Term<A> {
            type Output = Term<A>;
            fn $method(self, other: f64) -> Term<A> {
                let other = self.filled(other);
                self.$method(other)
            }
        }
    };
}

term_operator!(Add, add, Binary::Add);
term_operator!(Sub, sub, Binary::Sub);
term_operator!(Mul, mul, Binary::Mul);
term_operator!(Div, div, Binary::Div);

impl<A: Pointwise> std::ops::Neg for &Term<A> {
    type Output = Term<A>;
    fn neg(self) -> Term<A> {
        self.unary(Unary::Neg)
    }
}

impl<A: Pointwise> std::ops::Neg for Term<A> {
    type Output = Term<A>;
    fn neg(self) -> Term<A> {
        Term(A::unary(Unary::Neg, self.0))
    }
}

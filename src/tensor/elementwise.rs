//! The elementwise operations of the table as methods.

use crate::algebra::Algebra;
use crate::operation::{Binary, Comparison, Unary};
use crate::tensor::apply::apply;
use crate::tensor::operators::compare;
use crate::tensor::{Element, Float, Integer, Number, Operand, Rank, Tensor};
use crate::term::Op;

macro_rules! unary_methods {
    ($($(#[$doc:meta])* $method:ident $op:ident;)*) => {
        $($(#[$doc])*
        #[track_caller]
        pub fn $method(&self) -> Self {
            Tensor::wrap(A::unary(Unary::$op, self.array.clone()))
        })*
    };
}

macro_rules! binary_methods {
    ($($(#[$doc:meta])* $method:ident $op:ident $literal:ident;)*) => {
        $($(#[$doc])*
        ///
        /// The operand is an array that broadcasts, or a literal; shapes that don't fit are reported at the caller's line.
        #[track_caller]
        pub fn $method<T: Operand<A, E, R>>(&self, other: T) -> Tensor<A, E, T::Rank> {
            self.clone().binary(if T::LITERAL { Binary::$literal } else { Binary::$op }, other)
        })*
    };
}

macro_rules! comparison_methods {
    ($($(#[$doc:meta])* $method:ident $op:ident;)*) => {
        $($(#[$doc])*
        ///
        /// The operand is an array that broadcasts, or a literal; shapes that don't fit are reported at the caller's line.
        #[track_caller]
        pub fn $method<T: Operand<A, E, R>>(&self, other: T) -> Tensor<A, bool, T::Rank> {
            let other = other.into_operand(&self.array);
            Tensor::wrap(compare::<A>(Comparison::$op, self.array.clone(), other))
        })*
    };
}

impl<A: Algebra, E: Float, R: Rank> Tensor<A, E, R> {
    unary_methods! {
        /// 1/x.
        recip Recip;
        /// Square root; its derivative at 0 is +infinity.
        sqrt Sqrt;
        /// Cube root; its derivative at 0 is +infinity.
        cbrt Cbrt;
        /// Exponential.
        exp Exp;
        /// 2 to the power x.
        exp2 Exp2;
        /// exp(x) − 1, exact near 0.
        expm1 Expm1;
        /// [`expm1`](Tensor::expm1), by its name of `f64`.
        exp_m1 Expm1;
        /// Natural logarithm.
        ln Ln;
        /// Logarithm to base 2.
        log2 Log2;
        /// Logarithm to base 10.
        log10 Log10;
        /// ln(1 + x), exact near 0.
        ln1p Ln1p;
        /// [`ln1p`](Tensor::ln1p), by its name of `f64`.
        ln_1p Ln1p;
        /// Sine, of radians.
        sin Sin;
        /// Cosine, of radians.
        cos Cos;
        /// Tangent, of radians.
        tan Tan;
        /// The angle, in radians, whose sine is x.
        asin Asin;
        /// The angle, in radians, whose cosine is x.
        acos Acos;
        /// The angle, in radians, whose tangent is x.
        atan Atan;
        /// Hyperbolic sine.
        sinh Sinh;
        /// Hyperbolic cosine.
        cosh Cosh;
        /// Hyperbolic tangent.
        tanh Tanh;
        /// The number whose hyperbolic sine is x.
        asinh Asinh;
        /// The number above 0 whose hyperbolic cosine is x.
        acosh Acosh;
        /// The number whose hyperbolic tangent is x.
        atanh Atanh;
        /// 1 / (1 + exp(−x)).
        sigmoid Sigmoid;
        /// ln(1 + exp(x)), without overflow.
        softplus Softplus;
        /// The error function.
        erf Erf;
        /// 1 − erf(x), exact for large x.
        erfc Erfc;
        /// ln |Γ(x)|.
        lgamma Lgamma;
        /// The derivative of ln |Γ(x)|.
        digamma Digamma;
        /// The same elements, with differentiation stopped: the derivative is 0, in every mode and of every order.
        stop_gradient StopGradient;
        /// The largest whole number that is not above x; its derivative is 0.
        floor Floor;
        /// The smallest whole number that is not below x; its derivative is 0.
        ceil Ceil;
        /// The nearest whole number, halves away from zero; its derivative is 0.
        round Round;
    }

    /// x raised to a whole power.
    #[track_caller]
    pub fn powi(&self, n: i32) -> Self {
        Tensor::wrap(A::unary(Unary::Powi(n), self.array.clone()))
    }

    /// The derivative of this order of the digamma function: of order 0 that function itself; of orders beyond 170, whose
    /// factorials are beyond f64, NaN.
    #[track_caller]
    pub fn polygamma(&self, order: u32) -> Self {
        let op = if order == 0 { Unary::Digamma } else { Unary::Polygamma(order) };
        Tensor::wrap(A::unary(op, self.array.clone()))
    }

    binary_methods! {
        /// This array raised to the power of the other; at an exponent of 0 the derivative in the base is 0, at a base of
        /// 0 that in the exponent.
        pow Pow Pow;
        /// [`pow`](Tensor::pow), by its name of `f64`.
        powf Pow Pow;
        /// The angle of the point (other, self), in radians.
        atan2 Atan2 Atan2;
        /// √(self² + other²), without overflow; both derivatives at (0, 0) are 0.
        hypot Hypot Hypot;
        /// ln(exp(self) + exp(other)), without overflow.
        logaddexp LogAddExp LogAddExp;
        /// self · ln(other), but 0 where self is 0; both derivatives at (0, 0) are 0.
        xlogy Xlogy Xlogy;
        /// self · other, but 0 wherever self is 0, whatever the other is.
        keep_zero KeepZero KeepZero;
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    unary_methods! {
        /// Absolute value; its derivative at 0 is 0.
        abs Abs;
        /// −1, 0 or 1; its derivative is 0.
        sign Sign;
        /// x where x > 0, else 0; its derivative at 0 is 0.
        relu Relu;
    }

    binary_methods! {
        /// The smaller of two, elementwise; at a tie the derivative goes to a literal, else to `self`. NaN wins.
        min Min MinRight;
        /// The larger of two, elementwise; at a tie the derivative goes to a literal, else to `self`. NaN wins.
        max Max MaxRight;
    }
}

impl<A: Algebra, E: Integer, R: Rank> Tensor<A, E, R> {
    binary_methods! {
        /// The bits moved up by so many places; 0 where there are not that many, or where the number is negative.
        shift_left ShiftLeft ShiftLeft;
        /// The bits moved down by so many places, with copies of the sign above; 0 or −1 where there are not that many, or
        /// where the number is negative.
        shift_right ShiftRight ShiftRight;
        /// The quotient rounded down; by zero it is the dividend.
        floor_div FloorDiv FloorDiv;
        /// The remainder of the quotient rounded down, which has the divisor's sign; by zero it is the dividend.
        modulo Modulo Modulo;
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    /// self · factor + term. The product is rounded before the sum, as in `self * factor + term`.
    #[track_caller]
    pub fn mul_add<T, U>(&self, factor: T, term: U) -> Tensor<A, E, U::Rank>
    where
        T: Operand<A, E, R>,
        U: Operand<A, E, T::Rank>,
    {
        let product = self.clone().binary(Binary::Mul, factor);
        product.binary(Binary::Add, term)
    }
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    comparison_methods! {
        /// self < other.
        lt Less;
        /// self ≤ other.
        le LessEqual;
        /// self > other.
        gt Greater;
        /// self ≥ other.
        ge GreaterEqual;
        /// self = other.
        equal Equal;
        /// self ≠ other.
        not_equal NotEqual;
    }

    /// The elements as another type: floats to integers truncate and saturate and take NaN to 0, non-zero is `true`, and
    /// `true` is 1. The derivative passes between floats, and is 0 elsewhere.
    #[track_caller]
    pub fn cast<F: Element>(&self) -> Tensor<A, F, R> {
        apply("cast", Op::Cast(F::DTYPE), [self.array.clone()])
    }
}

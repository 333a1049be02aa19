//! The elementwise operations of the table as methods.

use crate::algebra::Algebra;
use crate::operation::{Binary, Comparison, Unary};
use crate::tensor::apply::apply;
use crate::tensor::operators::compare;
use crate::tensor::{Element, Float, Integer, Number, Operand, Rank, Tensor};
use crate::term::Op;

/// The example of a method: a call on a vector, with a second one where the method takes an operand, and the elements of the
/// result. After `~` these are text, rounded to four digits.
macro_rules! example {
    ($x:literal $method:ident => $result:literal) => {
        example!(@vector $x concat!("assert_eq!(x.", stringify!($method), "().to_vec(), ", $result, ");"))
    };
    ($x:literal $method:ident ~ $result:literal) => {
        example!(@vector $x concat!("assert_eq!(format!(\"{:.4}\", x.", stringify!($method), "()), \"", $result, "\");"))
    };
    ($x:literal $method:ident $y:literal => $result:literal) => {
        example!(@vectors $x $y concat!("assert_eq!(x.", stringify!($method), "(&y).to_vec(), ", $result, ");"))
    };
    ($x:literal $method:ident $y:literal ~ $result:literal) => {
        example!(@vectors $x $y concat!("assert_eq!(format!(\"{:.4}\", x.", stringify!($method), "(&y)), \"", $result, "\");"))
    };
    (@vector $x:literal $check:expr) => {
        concat!("\n```\n# use deltaray::prelude::*;\nlet x = Vector::from(", $x, ");\n", $check, "\n```")
    };
    (@vectors $x:literal $y:literal $check:expr) => {
        concat!(
            "\n```\n# use deltaray::prelude::*;\nlet (x, y) = (Vector::from(", $x, "), Vector::from(", $y, "));\n",
            $check, "\n```"
        )
    };
}

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
        /// The operand is an array of the same element type, or a literal. Shapes broadcast together.
        ///
        /// # Panics
        ///
        /// When the shapes do not broadcast together; staged, that is recorded instead.
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
        /// The operand is an array of the same element type, or a literal. Shapes broadcast together, and the result is of
        /// `bool`. Comparisons with NaN are false, but for [`not_equal`](Tensor::not_equal).
        ///
        /// # Panics
        ///
        /// When the shapes do not broadcast together; staged, that is recorded instead.
        #[track_caller]
        pub fn $method<T: Operand<A, E, R>>(&self, other: T) -> Tensor<A, bool, T::Rank> {
            let other = other.into_operand(&self.array);
            Tensor::wrap(compare::<A>(Comparison::$op, self.array.clone(), other))
        })*
    };
}

impl<A: Algebra, E: Float, R: Rank> Tensor<A, E, R> {
    unary_methods! {
        /// The reciprocal 1/x of each element; +∞ at 0.
        #[doc = example!("[2.0, 4.0]" recip => "[0.5, 0.25]")]
        recip Recip;
        /// The square root of each element; NaN below 0. Its derivative at 0 is +∞.
        #[doc = example!("[4.0, 9.0]" sqrt => "[2.0, 3.0]")]
        sqrt Sqrt;
        /// The cube root of each element; its derivative at 0 is +∞.
        #[doc = example!("[2.0, -1.0]" cbrt ~ "[1.2599, -1.0000]")]
        cbrt Cbrt;
        /// The exponential eˣ of each element.
        #[doc = example!("[0.0, 1.0]" exp ~ "[1.0000, 2.7183]")]
        exp Exp;
        /// 2 to the power of each element.
        #[doc = example!("[3.0, -1.0]" exp2 => "[8.0, 0.5]")]
        exp2 Exp2;
        /// exp(x) − 1 of each element, exact near 0.
        #[doc = example!("[0.0, 1.0]" expm1 ~ "[0.0000, 1.7183]")]
        expm1 Expm1;
        /// [`expm1`](Tensor::expm1), by its name of `f64`.
        #[doc = example!("[0.0, 1.0]" exp_m1 ~ "[0.0000, 1.7183]")]
        exp_m1 Expm1;
        /// The natural logarithm of each element; −∞ at 0, and NaN below.
        #[doc = example!("[1.0, 10.0]" ln ~ "[0.0000, 2.3026]")]
        ln Ln;
        /// The logarithm to base 2 of each element; −∞ at 0, and NaN below.
        #[doc = example!("[8.0, 0.5]" log2 => "[3.0, -1.0]")]
        log2 Log2;
        /// The logarithm to base 10 of each element; −∞ at 0, and NaN below.
        #[doc = example!("[100.0, 2.0]" log10 ~ "[2.0000, 0.3010]")]
        log10 Log10;
        /// ln(1 + x) of each element, exact near 0; −∞ at −1, and NaN below.
        #[doc = example!("[0.0, 1.0]" ln1p ~ "[0.0000, 0.6931]")]
        ln1p Ln1p;
        /// [`ln1p`](Tensor::ln1p), by its name of `f64`.
        #[doc = example!("[0.0, 1.0]" ln_1p ~ "[0.0000, 0.6931]")]
        ln_1p Ln1p;
        /// The sine of each element, in radians.
        #[doc = example!("[0.0, 1.0]" sin ~ "[0.0000, 0.8415]")]
        sin Sin;
        /// The cosine of each element, in radians.
        #[doc = example!("[0.0, 1.0]" cos ~ "[1.0000, 0.5403]")]
        cos Cos;
        /// The tangent of each element, in radians.
        #[doc = example!("[0.0, 1.0]" tan ~ "[0.0000, 1.5574]")]
        tan Tan;
        /// The angle, in radians from −π/2 to π/2, whose sine is x; NaN beyond ±1.
        #[doc = example!("[0.0, 1.0]" asin ~ "[0.0000, 1.5708]")]
        asin Asin;
        /// The angle, in radians from 0 to π, whose cosine is x; NaN beyond ±1.
        #[doc = example!("[1.0, -1.0]" acos ~ "[0.0000, 3.1416]")]
        acos Acos;
        /// The angle, in radians from −π/2 to π/2, whose tangent is x.
        #[doc = example!("[0.0, 1.0]" atan ~ "[0.0000, 0.7854]")]
        atan Atan;
        /// The hyperbolic sine of each element.
        #[doc = example!("[0.0, 1.0]" sinh ~ "[0.0000, 1.1752]")]
        sinh Sinh;
        /// The hyperbolic cosine of each element.
        #[doc = example!("[0.0, 1.0]" cosh ~ "[1.0000, 1.5431]")]
        cosh Cosh;
        /// The hyperbolic tangent of each element.
        #[doc = example!("[0.0, 1.0]" tanh ~ "[0.0000, 0.7616]")]
        tanh Tanh;
        /// The number whose hyperbolic sine is x.
        #[doc = example!("[0.0, 1.0]" asinh ~ "[0.0000, 0.8814]")]
        asinh Asinh;
        /// The number, not below 0, whose hyperbolic cosine is x; NaN below 1.
        #[doc = example!("[1.0, 2.0]" acosh ~ "[0.0000, 1.3170]")]
        acosh Acosh;
        /// The number whose hyperbolic tangent is x; ±∞ at ±1, and NaN beyond.
        #[doc = example!("[0.0, 0.5]" atanh ~ "[0.0000, 0.5493]")]
        atanh Atanh;
        /// The logistic function 1 / (1 + exp(−x)) of each element.
        #[doc = example!("[0.0, 1.0]" sigmoid ~ "[0.5000, 0.7311]")]
        sigmoid Sigmoid;
        /// ln(1 + exp(x)) of each element, without overflow.
        #[doc = example!("[0.0, 1.0]" softplus ~ "[0.6931, 1.3133]")]
        softplus Softplus;
        /// The error function of each element.
        #[doc = example!("[0.0, 1.0]" erf ~ "[0.0000, 0.8427]")]
        erf Erf;
        /// 1 − erf(x) of each element, exact for large x.
        #[doc = example!("[0.0, 1.0]" erfc ~ "[1.0000, 0.1573]")]
        erfc Erfc;
        /// ln |Γ(x)| of each element; +∞ at 0 and at negative whole numbers.
        #[doc = example!("[3.0, 5.0]" lgamma ~ "[0.6931, 3.1781]")]
        lgamma Lgamma;
        /// The derivative of ln |Γ(x)| at each element; −∞ at 0, and NaN at negative whole numbers.
        #[doc = example!("[1.0, 2.0]" digamma ~ "[-0.5772, 0.4228]")]
        digamma Digamma;
        /// The same elements, with differentiation stopped: the derivative is 0, in every mode and of every order.
        /// ```
        /// # use deltaray::prelude::*;
        /// let x = Vector::from([2.0, 3.0]);
        /// assert_eq!(grad(|x| (x * x.stop_gradient()).sum(), &x).to_vec(), [2.0, 3.0]);
        /// ```
        stop_gradient StopGradient;
        /// The largest whole number that is not above x; its derivative is 0.
        #[doc = example!("[1.5, -1.5]" floor => "[1.0, -2.0]")]
        floor Floor;
        /// The smallest whole number that is not below x; its derivative is 0.
        #[doc = example!("[1.5, -1.5]" ceil => "[2.0, -1.0]")]
        ceil Ceil;
        /// The nearest whole number, halves away from zero; its derivative is 0.
        #[doc = example!("[1.4, -1.5]" round => "[1.0, -2.0]")]
        round Round;
    }

    /// Each element raised to a whole power. Its derivative is n·xⁿ⁻¹ for every n: 0 for n = 0, also at 0.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([2.0, 3.0]).powi(-2).to_vec(), [1.0 / 4.0, 1.0 / 9.0]);
    /// ```
    #[track_caller]
    pub fn powi(&self, n: i32) -> Self {
        Tensor::wrap(A::unary(Unary::Powi(n), self.array.clone()))
    }

    /// The derivative of this order of the digamma function at each element: of order 0 that function itself; of orders beyond
    /// 170, whose factorials are beyond f64, NaN.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(format!("{:.4}", Vector::from([1.0, 2.0]).polygamma(1)), "[1.6449, 0.6449]");
    /// ```
    #[track_caller]
    pub fn polygamma(&self, order: u32) -> Self {
        let op = if order == 0 { Unary::Digamma } else { Unary::Polygamma(order) };
        Tensor::wrap(A::unary(op, self.array.clone()))
    }

    binary_methods! {
        /// This array raised to the power of the other, elementwise; NaN where a negative number is raised to a fraction. At an
        /// exponent of 0 the derivative in the base is 0, at a base of 0 that in the exponent.
        #[doc = example!("[2.0, 9.0]" pow "[3.0, 0.5]" => "[8.0, 3.0]")]
        pow Pow Pow;
        /// [`pow`](Tensor::pow), by its name of `f64`.
        #[doc = example!("[2.0, 9.0]" powf "[3.0, 0.5]" => "[8.0, 3.0]")]
        powf Pow Pow;
        /// The angle of the point (other, self), in radians from −π to π; 0 at (0, 0), with derivatives NaN.
        #[doc = example!("[1.0, 0.0]" atan2 "[1.0, -1.0]" ~ "[0.7854, 3.1416]")]
        atan2 Atan2 Atan2;
        /// √(self² + other²), without overflow; both derivatives at (0, 0) are 0.
        #[doc = example!("[3.0, 5.0]" hypot "[4.0, 12.0]" ~ "[5.0000, 13.0000]")]
        hypot Hypot Hypot;
        /// ln(exp(self) + exp(other)), without overflow.
        #[doc = example!("[0.0, 1.0]" logaddexp "[0.0, 2.0]" ~ "[0.6931, 2.3133]")]
        logaddexp LogAddExp LogAddExp;
        /// self · ln(other), but 0 where self is 0; both derivatives at (0, 0) are 0.
        #[doc = example!("[0.0, 2.0]" xlogy "[0.0, 10.0]" ~ "[0.0000, 4.6052]")]
        xlogy Xlogy Xlogy;
        /// self · other, but 0 wherever self is 0, whatever the other is.
        #[doc = example!("[0.0, 2.0]" keep_zero "[f64::INFINITY, 3.0]" => "[0.0, 6.0]")]
        keep_zero KeepZero KeepZero;
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    unary_methods! {
        /// The absolute value of each element; its derivative at 0 is 0.
        #[doc = example!("[1.5, -2.0]" abs => "[1.5, 2.0]")]
        abs Abs;
        /// The sign of each element: −1, 0 or 1, and NaN of NaN. Its derivative is 0.
        #[doc = example!("[1.5, -2.0]" sign => "[1.0, -1.0]")]
        sign Sign;
        /// x where x > 0, else 0; its derivative at 0 is 0.
        #[doc = example!("[1.5, -2.0]" relu => "[1.5, 0.0]")]
        relu Relu;
    }

    binary_methods! {
        /// The smaller of two, elementwise; at a tie the derivative goes to a literal, else to `self`. NaN wins. The smallest
        /// element of one array is [`min_all`](Tensor::min_all).
        #[doc = example!("[1.0, 5.0]" min "[3.0, 2.0]" => "[1.0, 2.0]")]
        min Min MinRight;
        /// The larger of two, elementwise; at a tie the derivative goes to a literal, else to `self`. NaN wins. The largest
        /// element of one array is [`max_all`](Tensor::max_all).
        #[doc = example!("[1.0, 5.0]" max "[3.0, 2.0]" => "[3.0, 5.0]")]
        max Max MaxRight;
    }
}

impl<A: Algebra, E: Integer, R: Rank> Tensor<A, E, R> {
    binary_methods! {
        /// The bits moved up by so many places; 0 where there are not that many, or where the number is negative.
        #[doc = example!("[3, 1]" shift_left "[1, 4]" => "[6, 16]")]
        shift_left ShiftLeft ShiftLeft;
        /// The bits moved down by so many places, with copies of the sign above; 0 or −1 where there are not that many, or
        /// where the number is negative.
        #[doc = example!("[6, -16]" shift_right "[1, 2]" => "[3, -4]")]
        shift_right ShiftRight ShiftRight;
        /// The quotient rounded down; by zero it is the dividend.
        #[doc = example!("[7, -7]" floor_div "[2, 2]" => "[3, -4]")]
        floor_div FloorDiv FloorDiv;
        /// The remainder of the quotient rounded down, which has the divisor's sign; by zero it is the dividend.
        #[doc = example!("[7, -7]" modulo "[3, 3]" => "[1, 2]")]
        modulo Modulo Modulo;
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    /// self · factor + term, elementwise; both broadcast. The product is rounded before the sum, as in `self * factor + term`.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0]);
    /// assert_eq!(x.mul_add(&x, 10.0).to_vec(), [11.0, 14.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the shapes do not broadcast together; staged, that is recorded instead.
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
        /// Whether self < other, elementwise.
        #[doc = example!("[1.0, 2.0, 3.0]" lt "[2.0, 2.0, 2.0]" => "[true, false, false]")]
        lt Less;
        /// Whether self ≤ other, elementwise.
        #[doc = example!("[1.0, 2.0, 3.0]" le "[2.0, 2.0, 2.0]" => "[true, true, false]")]
        le LessEqual;
        /// Whether self > other, elementwise.
        #[doc = example!("[1.0, 2.0, 3.0]" gt "[2.0, 2.0, 2.0]" => "[false, false, true]")]
        gt Greater;
        /// Whether self ≥ other, elementwise.
        #[doc = example!("[1.0, 2.0, 3.0]" ge "[2.0, 2.0, 2.0]" => "[false, true, true]")]
        ge GreaterEqual;
        /// Whether self = other, elementwise.
        #[doc = example!("[1.0, 2.0, 3.0]" equal "[2.0, 2.0, 2.0]" => "[false, true, false]")]
        equal Equal;
        /// Whether self ≠ other, elementwise.
        #[doc = example!("[1.0, 2.0, 3.0]" not_equal "[2.0, 2.0, 2.0]" => "[true, false, true]")]
        not_equal NotEqual;
    }

    /// The elements as another type: floats to integers truncate and saturate and take NaN to 0, `i64` to `i32` wraps, non-zero is
    /// `true`, and `true` is 1. The derivative passes between floats, and is 0 elsewhere.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Vector::from([1.7, -2.5]).cast::<i64>().to_vec(), [1, -2]);
    /// assert_eq!(Vector::from([true, false]).cast::<f32>().to_vec(), [1.0, 0.0]);
    /// ```
    #[track_caller]
    pub fn cast<F: Element>(&self) -> Tensor<A, F, R> {
        apply("cast", Op::Cast(F::DTYPE), [self.array.clone()])
    }
}

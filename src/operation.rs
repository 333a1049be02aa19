//! The elementwise operations: one table, a row for each.
//!
//! A row states the operation's printed name, the element types it takes, its meaning, whether it takes zeros to zero with
//! finite partial derivatives (what a read that may fall outside needs in order to move into it without a guard), whether it is finite for finite operands,
//! but for overflow of sums and products, its
//! partial derivatives in the algebra's own terms (P 6.3), and the interval that tests draw operands from. Everything else
//! that is known of an elementwise operation, in any instance or pass, is derived from its row.
//!
//! Choices where a derivative does not exist: `abs` and `sign` have derivative 0 at 0, `relu` has 0 at 0, `sqrt` has
//! +infinity at 0, `floor`, `round` and `sign` have 0 everywhere, `pow(x, y)` has ∂x = 0 at y = 0 and ∂y = 0 at x = 0, `hypot` and
//! `xlogy` have 0 at (0, 0), `logaddexp` has ½ for equal infinities.

#[macro_use]
mod columns;
mod formula;
pub(crate) mod helpers;
mod special;
mod spelling;

use crate::algebra::Algebra;
use crate::shape::DType;
use special::Special;
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LOG2_E, LOG10_E};

pub use columns::{BinaryLoop, Row, UnaryLoop};
pub(crate) use columns::{BinaryRow, UnaryRow};
pub use formula::Term;
pub(crate) use spelling::{HelperFunction, Spelling};

/// How the result of an elementwise operation moves with one operand.
pub enum Partial<A: Algebra> {
    /// Not at all.
    Zero,
    /// With the operand itself.
    One,
    /// By this factor, an array of the result's type.
    Factor(A::Array),
    /// By one factor and then the other, whose product alone may be out of the range of numbers.
    Factors(A::Array, A::Array),
    /// With the operand itself where the mask, a boolean array, is true; elsewhere not at all.
    Mask(A::Array),
}

/// The kinds of element that an operation takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// `f32` and `f64`.
    Float,
    /// `i32` and `i64`.
    Integer,
    /// Floats and integers.
    Number,
    /// Truth values.
    Bool,
    /// Every element type.
    Any,
}

impl Domain {
    /// Whether arrays of this element type are accepted.
    pub fn accepts(self, dtype: DType) -> bool {
        match self {
            Domain::Float => dtype.is_float(),
            Domain::Integer => dtype.is_integer(),
            Domain::Number => dtype.is_float() || dtype.is_integer(),
            Domain::Bool => dtype == DType::Bool,
            Domain::Any => true,
        }
    }

    /// How error messages name the accepted element types.
    pub fn name(self) -> &'static str {
        match self {
            Domain::Float => "floats",
            Domain::Integer => "integers",
            Domain::Number => "numbers",
            Domain::Bool => "booleans",
            Domain::Any => "anything",
        }
    }
}

fn factor<A: Algebra>(term: Term<A>) -> Partial<A> {
    Partial::Factor(term.0)
}

fn mask<A: Algebra>(term: Term<A>) -> Partial<A> {
    Partial::Mask(term.0)
}

/// 1 − x², all digits of it near ±1 too.
fn one_minus_square<A: Algebra>(x: &Term<A>) -> Term<A> {
    (-x + 1.0) * (x + 1.0)
}

/// √(x² + 1). It is at most |x| + 1, which it is where the square is beyond the largest number.
fn root_of_square_and_one<A: Algebra>(x: &Term<A>) -> Term<A> {
    let root = (x * x + 1.0).unary(Unary::Sqrt);
    root.binary(Binary::Min, &(x.unary(Unary::Abs) + 1.0))
}

/// part / whole, but 0 where the whole is.
fn quotient_or_zero<A: Algebra>(part: &Term<A>, whole: &Term<A>) -> Term<A> {
    whole.compare(Comparison::Equal, 0.0).select(&whole.filled(0.0), &(part / whole))
}

/// A slope, but 0 where both operands are.
fn unless_both_zero<A: Algebra>(a: &Term<A>, b: &Term<A>, slope: &Term<A>) -> Term<A> {
    let both = a.compare(Comparison::Equal, 0.0).binary(Binary::And, &b.compare(Comparison::Equal, 0.0));
    both.select(&slope.filled(0.0), slope)
}

/// exp(a) / (exp(a) + exp(b)), and ½ where they are equal, if infinite.
fn share_of_exponentials<A: Algebra>(a: &Term<A>, b: &Term<A>) -> Term<A> {
    a.compare_with(Comparison::Equal, b).select(&a.filled(0.5), &(a - b).unary(Unary::Sigmoid))
}

/// Integer division that rounds towards negative infinity; by zero it gives the dividend, and it wraps on overflow.
macro_rules! floor_div {
    ($a:ident, $b:ident) => {
        if $b == 0 {
            $a
        } else {
            // Vectors of the compiler's are divided element by element: once, not once more for the remainder.
            let quotient = $a.wrapping_div($b);
            let is_exact = quotient.wrapping_mul($b) == $a;
            if !is_exact && ($a < 0) != ($b < 0) { quotient.wrapping_sub(1) } else { quotient }
        }
    };
}

/// The remainder of [`floor_div`], which has the divisor's sign; by zero it gives the dividend.
macro_rules! modulo {
    ($a:ident, $b:ident) => {
        if $b == 0 {
            $a
        } else {
            let remainder = $a.wrapping_rem($b);
            if remainder != 0 && (remainder < 0) != ($b < 0) { remainder.wrapping_add($b) } else { remainder }
        }
    };
}

/// Bits moved up; all of them go where there are not that many.
macro_rules! shift_left {
    ($a:ident, $b:ident) => {
        u32::try_from($b).ok().and_then(|places| $a.checked_shl(places)).unwrap_or(0)
    };
}

/// Bits moved down, with copies of the sign above.
macro_rules! shift_right {
    ($a:ident, $b:ident) => {
        u32::try_from($b).ok().and_then(|places| $a.checked_shr(places)).unwrap_or(if $a < 0 { -1 } else { 0 })
    };
}

// Zero has no sign: `x + 0.0` stands where the sign of a zero would tell. It changes −0.0 to 0.0, and nothing else.

unary_table! {
    /// Negation.
    Neg "neg" Number float: |x| -x; integer: |x| x.wrapping_neg(); zero: true; finite: true; test: (-3.0, 3.0);
        partial: |x, y| factor(x.filled(-1.0));
    /// Reciprocal 1/x.
    Recip "recip" Float float: |x| 1.0 / (x + 0.0); zero: false; finite: false; test: (0.3, 3.0);
        partial: |x, y| Partial::Factors((-y).0, y.0.clone());
    /// Absolute value.
    Abs "abs" Number float: |x| x.abs(); integer: |x| x.wrapping_abs(); zero: true; finite: true; test: (0.2, 3.0);
        partial: |x, y| factor(x.unary(Unary::Sign));
    /// −1, 0 or 1; NaN stays NaN.
    Sign "sign" Number float: |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x }; integer: |x| x.signum();
        zero: true; finite: true; test: (0.2, 3.0); partial: |x, y| Partial::Zero;
    /// x raised to a whole power.
    Powi(n: i32) "powi" Float float: |x| (if n < 0 { x + 0.0 } else { x }).powi(n); zero: n > 0; finite: n >= 0; test: (0.3, 2.0);
        partial: |x, y| match n {
            0 => Partial::Zero,
            1 => Partial::One,
            2 => factor(x * 2.0),
            // There is no lower power than this one.
            i32::MIN => factor(y / x * f64::from(n)),
            _ => factor(x.unary(Unary::Powi(n - 1)) * f64::from(n)),
        };
    /// Square root.
    Sqrt "sqrt" Float float: |x| x.sqrt(); zero: false; finite: false; test: (0.3, 3.0);
        partial: |x, y| factor((y * 2.0).unary(Unary::Recip));
    /// Cube root.
    Cbrt "cbrt" Float float: |x| x.cbrt(); zero: false; finite: true; test: (0.3, 3.0);
        partial: |x, y| factor((y * y * 3.0).unary(Unary::Recip));
    /// Exponential.
    Exp "exp" Float float: |x| x.exp(); zero: false; finite: false; test: (-2.0, 2.0);
        partial: |x, y| factor(y.clone());
    /// 2 to the power x.
    Exp2 "exp2" Float float: |x| x.exp2(); zero: false; finite: false; test: (-2.0, 2.0);
        partial: |x, y| factor(y * LN_2);
    /// exp(x) − 1, exact near 0.
    Expm1 "expm1" Float float: |x| x.exp_m1(); zero: true; finite: false; test: (-2.0, 2.0);
        partial: |x, y| factor(x.unary(Unary::Exp));
    /// Natural logarithm.
    Ln "ln" Float float: |x| x.ln(); zero: false; finite: false; test: (0.3, 3.0);
        partial: |x, y| factor(x.unary(Unary::Recip));
    /// Logarithm to base 2.
    Log2 "log2" Float float: |x| x.log2(); zero: false; finite: false; test: (0.3, 3.0);
        partial: |x, y| factor(x.filled(LOG2_E) / x);
    /// Logarithm to base 10.
    Log10 "log10" Float float: |x| x.log10(); zero: false; finite: false; test: (0.3, 3.0);
        partial: |x, y| factor(x.filled(LOG10_E) / x);
    /// ln(1 + x), exact near 0.
    Ln1p "ln1p" Float float: |x| x.ln_1p(); zero: true; finite: false; test: (-0.6, 2.0);
        partial: |x, y| factor((x + 1.0).unary(Unary::Recip));
    /// Sine, of radians.
    Sin "sin" Float float: |x| x.sin(); zero: true; finite: true; test: (-3.0, 3.0);
        partial: |x, y| factor(x.unary(Unary::Cos));
    /// Cosine, of radians.
    Cos "cos" Float float: |x| x.cos(); zero: false; finite: true; test: (-3.0, 3.0);
        partial: |x, y| factor(-x.unary(Unary::Sin));
    /// Tangent, of radians.
    Tan "tan" Float float: |x| x.tan(); zero: true; finite: false; test: (-1.2, 1.2);
        partial: |x, y| factor(y * y + 1.0);
    /// The angle, in radians, whose sine is x.
    Asin "asin" Float float: |x| x.asin(); zero: true; finite: false; test: (-0.8, 0.8);
        partial: |x, y| factor(one_minus_square(x).unary(Unary::Sqrt).unary(Unary::Recip));
    /// The angle, in radians, whose cosine is x.
    Acos "acos" Float float: |x| x.acos(); zero: false; finite: false; test: (-0.8, 0.8);
        partial: |x, y| factor(-one_minus_square(x).unary(Unary::Sqrt).unary(Unary::Recip));
    /// The angle, in radians, whose tangent is x.
    Atan "atan" Float float: |x| x.atan(); zero: true; finite: true; test: (-3.0, 3.0);
        partial: |x, y| factor((x * x + 1.0).unary(Unary::Recip));
    /// Hyperbolic sine.
    Sinh "sinh" Float float: |x| x.sinh(); zero: true; finite: false; test: (-2.0, 2.0);
        partial: |x, y| factor(x.unary(Unary::Cosh));
    /// Hyperbolic cosine.
    Cosh "cosh" Float float: |x| x.cosh(); zero: false; finite: false; test: (-2.0, 2.0);
        partial: |x, y| factor(x.unary(Unary::Sinh));
    /// Hyperbolic tangent.
    Tanh "tanh" Float float: |x| x.tanh(); zero: true; finite: true; test: (-2.0, 2.0);
        partial: |x, y| factor(-(y * y) + 1.0);
    /// The number whose hyperbolic sine is x.
    Asinh "asinh" Float float: |x| x.inverse_sinh(); zero: true; finite: true; test: (-3.0, 3.0);
        partial: |x, y| factor(root_of_square_and_one(x).unary(Unary::Recip));
    /// The number above 0 whose hyperbolic cosine is x.
    Acosh "acosh" Float float: |x| x.inverse_cosh(); zero: false; finite: false; test: (1.2, 3.0);
        partial: |x, y| factor(((x + -1.0).unary(Unary::Sqrt) * (x + 1.0).unary(Unary::Sqrt)).unary(Unary::Recip));
    /// The number whose hyperbolic tangent is x.
    Atanh "atanh" Float float: |x| x.inverse_tanh(); zero: true; finite: false; test: (-0.8, 0.8);
        partial: |x, y| factor(one_minus_square(x).unary(Unary::Recip));
    /// 1 / (1 + exp(−x)).
    Sigmoid "sigmoid" Float float: |x| 1.0 / (1.0 + (-x).exp()); zero: false; finite: true; test: (-3.0, 3.0);
        partial: |x, y| factor(y * (-y + 1.0));
    /// ln(1 + exp(x)), without overflow.
    Softplus "softplus" Float float: |x| x.max(0.0) + (-x.abs()).exp().ln_1p(); zero: false; finite: true; test: (-3.0, 3.0);
        partial: |x, y| factor(x.unary(Unary::Sigmoid));
    /// The error function, 2/√π times the integral of exp(−t²) from 0 to x.
    Erf "erf" Float float: |x| x.error_function(); zero: true; finite: true; test: (-2.0, 2.0);
        partial: |x, y| factor((-(x * x)).unary(Unary::Exp) * FRAC_2_SQRT_PI);
    /// 1 − erf(x), exact for large x.
    Erfc "erfc" Float float: |x| x.complementary_error_function(); zero: false; finite: true; test: (-2.0, 2.0);
        partial: |x, y| factor((-(x * x)).unary(Unary::Exp) * -FRAC_2_SQRT_PI);
    /// ln |Γ(x)|.
    Lgamma "lgamma" Float float: |x| x.log_gamma(); zero: false; finite: false; test: (0.3, 5.0);
        partial: |x, y| factor(x.unary(Unary::Digamma));
    /// The derivative of ln |Γ(x)|.
    Digamma "digamma" Float float: |x| x.polygamma(0); zero: false; finite: false; test: (0.3, 5.0);
        partial: |x, y| factor(x.unary(Unary::Polygamma(1)));
    /// The derivative of this order of the digamma function.
    Polygamma(n: u32) "polygamma" Float float: |x| x.polygamma(n); zero: false; finite: false; test: (0.6, 5.0);
        partial: |x, y| factor(x.unary(Unary::Polygamma(n.saturating_add(1))));
    /// x where x > 0, else 0; NaN stays NaN.
    Relu "relu" Number float: |x| if x <= 0.0 { 0.0 } else { x }; integer: |x| if x > 0 { x } else { 0 }; zero: true; finite: true; test: (0.2, 3.0);
        partial: |x, y| mask(x.compare(Comparison::Greater, 0.0));
    /// The largest whole number that is not above x.
    Floor "floor" Float float: |x| x.floor(); zero: true; finite: true; test: (0.1, 0.9); partial: |x, y| Partial::Zero;
    /// The smallest whole number that is not below x.
    Ceil "ceil" Float float: |x| x.ceil(); zero: true; finite: true; test: (0.1, 0.9); partial: |x, y| Partial::Zero;
    /// The nearest whole number, halves away from zero.
    Round "round" Float float: |x| x.round(); zero: true; finite: true; test: (0.6, 1.4); partial: |x, y| Partial::Zero;
    /// x, but its derivative is 0.
    StopGradient "stop_gradient" Float float: |x| x; zero: true; finite: true; test: (-3.0, 3.0);
        partial: |x, y| Partial::Zero;
    /// Logical negation.
    Not "not" Bool bool: |x| !x; zero: false; finite: true; test: (0.0, 1.0); partial: |x, y| Partial::Zero;
    /// Every bit the other way.
    BitNot "bit_not" Integer integer: |x| !x; zero: false; finite: true; test: (-3.0, 3.0);
        partial: |x, y| Partial::Zero;
}

binary_table! {
    /// Sum.
    Add "add" Number float: |a, b| a + b; integer: |a, b| a.wrapping_add(b); zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::One; right: |a, b, y| Partial::One;
    /// Difference.
    Sub "sub" Number float: |a, b| a - b; integer: |a, b| a.wrapping_sub(b); zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::One; right: |a, b, y| factor(b.filled(-1.0));
    /// Product.
    Mul "mul" Number float: |a, b| a * b; integer: |a, b| a.wrapping_mul(b); zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(a.clone());
    /// Quotient of floats.
    Div "div" Float float: |a, b| a / (b + 0.0); zero: false; finite: false; test: (0.3, 3.0);
        common: |a, b| b.unary(Unary::Recip);
        left: |a, b, y| Partial::One; right: |a, b, y| factor(-y);
    /// Quotient of integers, truncated; by zero it gives the dividend.
    Quot "quot" Integer integer: |a, b| if b == 0 { a } else { a.wrapping_div(b) }; zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Remainder of the truncated quotient; by zero it gives the dividend.
    Rem "rem" Integer integer: |a, b| if b == 0 { a } else { a.wrapping_rem(b) }; zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Quotient of integers, rounded down; by zero it gives the dividend.
    FloorDiv "floor_div" Integer integer: |a, b| floor_div!(a, b); zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Remainder of the quotient rounded down; by zero it gives the dividend.
    Modulo "modulo" Integer integer: |a, b| modulo!(a, b); zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// a raised to the power b.
    Pow "pow" Float float: |a, b| (a + 0.0).powf(b); zero: false; finite: false; test: (0.3, 2.0);
        // 0 where b is 0, but in b a product: the mixed second derivative there is that of others.
        left: |a, b, y| factor(b.binary(Binary::KeepZero, &a.binary(Binary::Pow, &(b + -1.0))));
        right: |a, b, y| {
            let slope = y * a.unary(Unary::Ln);
            factor(a.compare(Comparison::Equal, 0.0).select(&a.filled(0.0), &slope))
        };
    /// The angle of the point (b, a), in radians.
    Atan2 "atan2" Float float: |a, b| (a + 0.0).atan2(b + 0.0); zero: false; finite: true; test: (0.3, 3.0);
        common: |a, b| a.binary(Binary::Hypot, b).unary(Unary::Recip);
        left: |a, b, y| factor(b / &a.binary(Binary::Hypot, b)); right: |a, b, y| factor(-(a / &a.binary(Binary::Hypot, b)));
    /// √(a² + b²), without overflow; its derivative at (0, 0) is 0.
    Hypot "hypot" Float float: |a, b| a.hypot(b); zero: true; finite: true; test: (0.3, 3.0);
        left: |a, b, y| factor(quotient_or_zero(a, y)); right: |a, b, y| factor(quotient_or_zero(b, y));
    /// ln(exp(a) + exp(b)), without overflow; the derivatives of equal operands are ½, of infinite ones too.
    LogAddExp "logaddexp" Float float: |a, b| a.logaddexp(b); zero: false; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| factor(share_of_exponentials(a, b)); right: |a, b, y| factor(share_of_exponentials(b, a));
    /// a · ln b, but 0 where a is 0 and b is not NaN; at (0, 0) both derivatives are 0.
    Xlogy "xlogy" Float float: |a, b| a.xlogy(b); zero: true; finite: false; test: (0.3, 3.0);
        left: |a, b, y| factor(unless_both_zero(a, b, &b.unary(Unary::Ln)));
        right: |a, b, y| factor(unless_both_zero(a, b, &(a / b)));
    /// The smaller operand; at a tie the derivative goes to the left one. NaN wins.
    Min "min" Number float: |a, b| if a <= b || a.is_nan() { a } else { b }; integer: |a, b| if a < b { a } else { b };
        zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::LessEqual, b));
        right: |a, b, y| mask(b.compare_with(Comparison::Less, a));
    /// The smaller operand; at a tie the derivative goes to the right one, a literal. NaN wins.
    MinRight "min_right" Number float: |a, b| if a < b || a.is_nan() { a } else { b }; integer: |a, b| if a < b { a } else { b };
        zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::Less, b));
        right: |a, b, y| mask(b.compare_with(Comparison::LessEqual, a));
    /// The larger operand; at a tie the derivative goes to the left one. NaN wins.
    Max "max" Number float: |a, b| if a >= b || a.is_nan() { a } else { b }; integer: |a, b| if a > b { a } else { b };
        zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::GreaterEqual, b));
        right: |a, b, y| mask(b.compare_with(Comparison::Greater, a));
    /// The larger operand; at a tie the derivative goes to the right one, a literal. NaN wins.
    MaxRight "max_right" Number float: |a, b| if a > b || a.is_nan() { a } else { b }; integer: |a, b| if a > b { a } else { b };
        zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::Greater, b));
        right: |a, b, y| mask(b.compare_with(Comparison::GreaterEqual, a));
    /// a · b, but 0 wherever a is 0, whatever b is: how a cotangent that a `select` has cut off stays cut off. Its
    /// derivative is a product's; instances give it by hand, since both sides must keep zeros too.
    KeepZero "keep_zero" Float float: |a, b| if a == 0.0 { 0.0 } else { a * b }; zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(a.clone());
    /// Logical and.
    And "and" Bool bool: |a, b| a & b; zero: true; finite: true; test: (0.0, 1.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Logical or.
    Or "or" Bool bool: |a, b| a | b; zero: true; finite: true; test: (0.0, 1.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Whether just one is true.
    Xor "xor" Bool bool: |a, b| a ^ b; zero: true; finite: true; test: (0.0, 1.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// The bits that both have.
    BitAnd "bit_and" Integer integer: |a, b| a & b; zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// The bits that one or both have.
    BitOr "bit_or" Integer integer: |a, b| a | b; zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// The bits that just one has.
    BitXor "bit_xor" Integer integer: |a, b| a ^ b; zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// The bits of a, moved up by b places; all are lost where b is not below their number, or negative.
    ShiftLeft "shift_left" Integer integer: |a, b| shift_left!(a, b); zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// The bits of a, moved down by b places, with copies of the sign above; only those are left where b is not below the
    /// number of bits, or negative.
    ShiftRight "shift_right" Integer integer: |a, b| shift_right!(a, b); zero: true; finite: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
}

comparison_table! {
    /// a < b.
    Less "lt" |a, b| a < b;
    /// a ≤ b.
    LessEqual "le" |a, b| a <= b;
    /// a > b.
    Greater "gt" |a, b| a > b;
    /// a ≥ b.
    GreaterEqual "ge" |a, b| a >= b;
    /// a = b.
    Equal "eq" |a, b| a == b;
    /// a ≠ b.
    NotEqual "ne" |a, b| a != b;
}

impl Unary {
    /// Whether IEEE 754 gives this operation other results for 0.0 and for −0.0 than zeros. Exporters add 0.0 to such operands,
    /// as the table does.
    pub(crate) fn tells_zeros(self) -> bool {
        matches!(self, Unary::Recip | Unary::Powi(..0))
    }
}

impl Binary {
    /// As [`Unary::tells_zeros`], for each operand.
    pub(crate) fn tells_zeros(self) -> [bool; 2] {
        match self {
            Binary::Div => [false, true],
            Binary::Pow => [true, false],
            Binary::Atan2 => [true, true],
            _ => [false, false],
        }
    }
}

impl Comparison {
    /// The comparison that holds of (b, a) where this one holds of (a, b).
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
            Comparison::Equal => Comparison::Equal,
            Comparison::NotEqual => Comparison::NotEqual,
        }
    }
}
#[cfg(test)]
mod tests;

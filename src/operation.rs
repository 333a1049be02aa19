//! The elementwise operations: one table, a row for each.
//!
//! A row states the operation's printed name, the element types it takes, its meaning, whether it takes zeros to zero with
//! finite partial derivatives (what a read that may fall outside needs in order to move into it without a guard), its
//! partial derivatives in the algebra's own terms (P 6.3), and the interval that tests draw operands from. Everything else
//! that is known of an elementwise operation, in any instance or pass, is derived from its row.
//!
//! Choices where a derivative does not exist: `abs` and `sign` have derivative 0 at 0, `relu` has 0 at 0, `sqrt` has
//! +infinity at 0, `floor`, `round` and `sign` have 0 everywhere, `pow(x, y)` has ∂x = 0 at y = 0 and ∂y = 0 at x = 0.

#[macro_use]
mod columns;
mod formula;

use crate::algebra::Algebra;
use crate::shape::DType;

pub use columns::{BinaryLoop, UnaryLoop};
pub use formula::Term;

/// How the result of an elementwise operation moves with one operand.
pub enum Partial<A: Algebra> {
    /// Not at all.
    Zero,
    /// With the operand itself.
    One,
    /// By this factor, an array of the result's type.
    Factor(A::Array),
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

/// Integer division that rounds towards negative infinity; by zero it gives the dividend, and it wraps on overflow.
macro_rules! floor_div {
    ($a:ident, $b:ident) => {
        if $b == 0 {
            $a
        } else {
            let quotient = $a.wrapping_div($b);
            if $a.wrapping_rem($b) != 0 && ($a < 0) != ($b < 0) { quotient - 1 } else { quotient }
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
            if remainder != 0 && (remainder < 0) != ($b < 0) { remainder + $b } else { remainder }
        }
    };
}

unary_table! {
    /// Negation.
    Neg "neg" Number float: |x| -x; integer: |x| x.wrapping_neg(); zero: true; test: (-3.0, 3.0);
        partial: |x, y| factor(x.filled(-1.0));
    /// Reciprocal 1/x.
    Recip "recip" Float float: |x| 1.0 / x; zero: false; test: (0.3, 3.0);
        partial: |x, y| factor(-(y * y));
    /// Absolute value.
    Abs "abs" Number float: |x| x.abs(); integer: |x| x.wrapping_abs(); zero: true; test: (0.2, 3.0);
        partial: |x, y| factor(x.unary(Unary::Sign));
    /// −1, 0 or 1; NaN stays NaN.
    Sign "sign" Number float: |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x }; integer: |x| x.signum();
        zero: true; test: (0.2, 3.0); partial: |x, y| Partial::Zero;
    /// x raised to a whole power.
    Powi(n: i32) "powi" Float float: |x| x.powi(n); zero: n > 0; test: (0.3, 2.0);
        partial: |x, y| match n {
            0 => Partial::Zero,
            1 => Partial::One,
            2 => factor(x * 2.0),
            // There is no lower power than this one.
            i32::MIN => factor(y / x * f64::from(n)),
            _ => factor(x.unary(Unary::Powi(n - 1)) * f64::from(n)),
        };
    /// Square root.
    Sqrt "sqrt" Float float: |x| x.sqrt(); zero: false; test: (0.3, 3.0);
        partial: |x, y| factor((y * 2.0).unary(Unary::Recip));
    /// Exponential.
    Exp "exp" Float float: |x| x.exp(); zero: false; test: (-2.0, 2.0);
        partial: |x, y| factor(y.clone());
    /// exp(x) − 1, exact near 0.
    Expm1 "expm1" Float float: |x| x.exp_m1(); zero: true; test: (-2.0, 2.0);
        partial: |x, y| factor(x.unary(Unary::Exp));
    /// Natural logarithm.
    Ln "ln" Float float: |x| x.ln(); zero: false; test: (0.3, 3.0);
        partial: |x, y| factor(x.unary(Unary::Recip));
    /// ln(1 + x), exact near 0.
    Ln1p "ln1p" Float float: |x| x.ln_1p(); zero: true; test: (-0.6, 2.0);
        partial: |x, y| factor((x + 1.0).unary(Unary::Recip));
    /// Sine, of radians.
    Sin "sin" Float float: |x| x.sin(); zero: true; test: (-3.0, 3.0);
        partial: |x, y| factor(x.unary(Unary::Cos));
    /// Cosine, of radians.
    Cos "cos" Float float: |x| x.cos(); zero: false; test: (-3.0, 3.0);
        partial: |x, y| factor(-x.unary(Unary::Sin));
    /// Tangent, of radians.
    Tan "tan" Float float: |x| x.tan(); zero: true; test: (-1.2, 1.2);
        partial: |x, y| factor(y * y + 1.0);
    /// Hyperbolic tangent.
    Tanh "tanh" Float float: |x| x.tanh(); zero: true; test: (-2.0, 2.0);
        partial: |x, y| factor(-(y * y) + 1.0);
    /// 1 / (1 + exp(−x)).
    Sigmoid "sigmoid" Float float: |x| 1.0 / (1.0 + (-x).exp()); zero: false; test: (-3.0, 3.0);
        partial: |x, y| factor(y * (-y + 1.0));
    /// ln(1 + exp(x)), without overflow.
    Softplus "softplus" Float float: |x| x.max(0.0) + (-x.abs()).exp().ln_1p(); zero: false; test: (-3.0, 3.0);
        partial: |x, y| factor(x.unary(Unary::Sigmoid));
    /// x where x > 0, else 0; NaN stays NaN.
    Relu "relu" Number float: |x| if x <= 0.0 { 0.0 } else { x }; integer: |x| x.max(0); zero: true; test: (0.2, 3.0);
        partial: |x, y| mask(x.compare(Comparison::Greater, 0.0));
    /// The largest whole number that is not above x.
    Floor "floor" Float float: |x| x.floor(); zero: true; test: (0.1, 0.9); partial: |x, y| Partial::Zero;
    /// The nearest whole number, halves away from zero.
    Round "round" Float float: |x| x.round(); zero: true; test: (0.6, 1.4); partial: |x, y| Partial::Zero;
    /// Logical negation.
    Not "not" Bool bool: |x| !x; zero: false; test: (0.0, 1.0); partial: |x, y| Partial::Zero;
}

binary_table! {
    /// Sum.
    Add "add" Number float: |a, b| a + b; integer: |a, b| a.wrapping_add(b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::One; right: |a, b, y| Partial::One;
    /// Difference.
    Sub "sub" Number float: |a, b| a - b; integer: |a, b| a.wrapping_sub(b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::One; right: |a, b, y| factor(b.filled(-1.0));
    /// Product.
    Mul "mul" Number float: |a, b| a * b; integer: |a, b| a.wrapping_mul(b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(a.clone());
    /// Quotient of floats.
    Div "div" Float float: |a, b| a / b; zero: false; test: (0.3, 3.0);
        common: |a, b| b.unary(Unary::Recip);
        left: |a, b, y| Partial::One; right: |a, b, y| factor(-y);
    /// Quotient of integers, truncated; by zero it gives the dividend.
    Quot "quot" Integer integer: |a, b| if b == 0 { a } else { a.wrapping_div(b) }; zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Remainder of the truncated quotient; by zero it gives the dividend.
    Rem "rem" Integer integer: |a, b| if b == 0 { a } else { a.wrapping_rem(b) }; zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Quotient of integers, rounded down; by zero it gives the dividend.
    FloorDiv "floor_div" Integer integer: |a, b| floor_div!(a, b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Remainder of the quotient rounded down; by zero it gives the dividend.
    Modulo "modulo" Integer integer: |a, b| modulo!(a, b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// a raised to the power b.
    Pow "pow" Float float: |a, b| a.powf(b); zero: false; test: (0.3, 2.0);
        left: |a, b, y| {
            let slope = b * a.binary(Binary::Pow, &(b + -1.0));
            factor(b.compare(Comparison::Equal, 0.0).select(&b.filled(0.0), &slope))
        };
        right: |a, b, y| {
            let slope = y * a.unary(Unary::Ln);
            factor(a.compare(Comparison::Equal, 0.0).select(&a.filled(0.0), &slope))
        };
    /// The angle of the point (b, a), in radians.
    Atan2 "atan2" Float float: |a, b| a.atan2(b); zero: false; test: (0.3, 3.0);
        common: |a, b| (a * a + b * b).unary(Unary::Recip);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(-a);
    /// The smaller operand; at a tie the derivative goes to the left one. NaN wins.
    Min "min" Number float: |a, b| if a <= b || a.is_nan() { a } else { b }; integer: |a, b| a.min(b);
        zero: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::LessEqual, b));
        right: |a, b, y| mask(b.compare_with(Comparison::Less, a));
    /// The smaller operand; at a tie the derivative goes to the right one, a literal. NaN wins.
    MinRight "min_right" Number float: |a, b| if a < b || a.is_nan() { a } else { b }; integer: |a, b| a.min(b);
        zero: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::Less, b));
        right: |a, b, y| mask(b.compare_with(Comparison::LessEqual, a));
    /// The larger operand; at a tie the derivative goes to the left one. NaN wins.
    Max "max" Number float: |a, b| if a >= b || a.is_nan() { a } else { b }; integer: |a, b| a.max(b);
        zero: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::GreaterEqual, b));
        right: |a, b, y| mask(b.compare_with(Comparison::Greater, a));
    /// The larger operand; at a tie the derivative goes to the right one, a literal. NaN wins.
    MaxRight "max_right" Number float: |a, b| if a > b || a.is_nan() { a } else { b }; integer: |a, b| a.max(b);
        zero: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::Greater, b));
        right: |a, b, y| mask(b.compare_with(Comparison::GreaterEqual, a));
    /// a · b, but 0 wherever a is 0, whatever b is: how a cotangent that a `select` has cut off stays cut off. Its
    /// derivative is a product's; instances give it by hand, since both sides must keep zeros too.
    KeepZero "keep_zero" Float float: |a, b| if a == 0.0 { 0.0 } else { a * b }; zero: true; test: (-3.0, 3.0);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(a.clone());
    /// Logical and.
    And "and" Bool bool: |a, b| a & b; zero: true; test: (0.0, 1.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Logical or.
    Or "or" Bool bool: |a, b| a | b; zero: true; test: (0.0, 1.0);
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

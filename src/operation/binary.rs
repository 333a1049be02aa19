//! The elementwise operations of two operands. Their columns are those of operations of one operand, but for derivatives: `left` and
//! `right` are those by either operand, given both and the result, and `common` is a factor that both share, which then meets the
//! cotangent once. Where a tie goes is the operation's choice. `tells_zeros` is said of either operand.

use super::special::Special as _;
use super::spelling::OperationSpelling::{Expression, Helper, Library, Logical};
use super::stablehlo::{floor_division, hypotenuse, logaddexp, modulo, quotient, remainder, shift_left, shift_right};
use super::*;

/// part / whole, but 0 where the whole is.
fn quotient_or_zero<A: Pointwise>(part: &Term<A>, whole: &Term<A>) -> Term<A> {
    whole.compare(Comparison::Equal, 0.0).select(&whole.filled(0.0), &(part / whole))
}

/// A slope, but 0 where both operands are.
fn unless_both_zero<A: Pointwise>(a: &Term<A>, b: &Term<A>, slope: &Term<A>) -> Term<A> {
    let both = a.compare(Comparison::Equal, 0.0).binary(Binary::And, &b.compare(Comparison::Equal, 0.0));
    both.select(&slope.filled(0.0), slope)
}

/// exp(a) / (exp(a) + exp(b)), and ½ where they are equal, if infinite.
fn share_of_exponentials<A: Pointwise>(a: &Term<A>, b: &Term<A>) -> Term<A> {
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

binary_table! {
    /// Sum.
    Add "add" Number {
        float: |a, b| a + b;
        integer: |a, b| a.wrapping_add(b);
        left: |a, b, y| Partial::One; right: |a, b, y| Partial::One;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Expression("$0 + $1"), of integers Helper(&helpers::ADD);
        stablehlo: |to, a, b| to.elementwise("add", &[a, b]);
    }
    /// Difference.
    Sub "sub" Number {
        float: |a, b| a - b;
        integer: |a, b| a.wrapping_sub(b);
        left: |a, b, y| Partial::One; right: |a, b, y| factor(b.filled(-1.0));
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Expression("$0 - $1"), of integers Helper(&helpers::SUB);
        stablehlo: |to, a, b| to.elementwise("subtract", &[a, b]);
    }
    /// Product.
    Mul "mul" Number {
        float: |a, b| a * b;
        integer: |a, b| a.wrapping_mul(b);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(a.clone());
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Expression("$0 * $1"), of integers Helper(&helpers::MUL);
        stablehlo: |to, a, b| to.elementwise("multiply", &[a, b]);
    }
    /// Quotient of floats.
    Div "div" Float {
        float: |a, b| a / (b + 0.0);
        common: |a, b| b.unary(Unary::Recip);
        left: |a, b, y| Partial::One; right: |a, b, y| factor(-y);
        zero: false; finite: false; tells_zeros: [false, true]; cost: 4.0; test: (0.3, 3.0);
        source: Expression("$0 / $1");
        stablehlo: |to, a, b| to.elementwise("divide", &[a, b]);
    }
    /// Quotient of integers, truncated; by zero it gives the dividend.
    Quot "quot" Integer {
        integer: |a, b| if b == 0 { a } else { a.wrapping_div(b) };
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 20.0; test: (-3.0, 3.0);
        source: Helper(&helpers::QUOT);
        stablehlo: |to, a, b| quotient(to, a, b);
    }
    /// Remainder of the truncated quotient; by zero it gives the dividend.
    Rem "rem" Integer {
        integer: |a, b| if b == 0 { a } else { a.wrapping_rem(b) };
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 20.0; test: (-3.0, 3.0);
        source: Helper(&helpers::REM);
        stablehlo: |to, a, b| remainder(to, a, b);
    }
    /// Quotient of integers, rounded down; by zero it gives the dividend.
    FloorDiv "floor_div" Integer {
        integer: |a, b| floor_div!(a, b);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 20.0; test: (-3.0, 3.0);
        source: Helper(&helpers::FLOOR_DIV);
        stablehlo: |to, a, b| floor_division(to, a, b);
    }
    /// Remainder of the quotient rounded down; by zero it gives the dividend.
    Modulo "modulo" Integer {
        integer: |a, b| modulo!(a, b);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 20.0; test: (-3.0, 3.0);
        source: Helper(&helpers::MODULO);
        stablehlo: |to, a, b| modulo(to, a, b);
    }
    /// a raised to the power b.
    Pow "pow" Float {
        float: |a, b| (a + 0.0).powf(b);
        // 0 where b is 0, but a product in b: so its mixed second derivative there is that of other points.
        left: |a, b, y| factor(b.binary(Binary::KeepZero, &a.binary(Binary::Pow, &(b + -1.0))));
        right: |a, b, y| {
            let slope = y * a.unary(Unary::Ln);
            factor(a.compare(Comparison::Equal, 0.0).select(&a.filled(0.0), &slope))
        };
        zero: false; finite: false; tells_zeros: [true, false]; cost: 30.0; test: (0.3, 2.0);
        source: Library { c: "pow", rust: "powf" };
        stablehlo: |to, a, b| to.elementwise("power", &[a, b]);
    }
    /// The angle of the point (b, a), in radians.
    Atan2 "atan2" Float {
        float: |a, b| (a + 0.0).atan2(b + 0.0);
        common: |a, b| a.binary(Binary::Hypot, b).unary(Unary::Recip);
        left: |a, b, y| factor(b / &a.binary(Binary::Hypot, b));
        right: |a, b, y| factor(-(a / &a.binary(Binary::Hypot, b)));
        zero: false; finite: true; tells_zeros: [true, true]; cost: 30.0; test: (0.3, 3.0);
        source: Library { c: "atan2", rust: "atan2" };
        stablehlo: |to, a, b| to.elementwise("atan2", &[a, b]);
    }
    /// √(a² + b²), without overflow; its derivative at (0, 0) is 0.
    Hypot "hypot" Float {
        float: |a, b| a.hypot(b);
        left: |a, b, y| factor(quotient_or_zero(a, y));
        right: |a, b, y| factor(quotient_or_zero(b, y));
        zero: true; finite: true; tells_zeros: [false, false]; cost: 30.0; test: (0.3, 3.0);
        source: Library { c: "hypot", rust: "hypot" };
        stablehlo: |to, a, b| hypotenuse(to, a, b);
    }
    /// ln(exp(a) + exp(b)), without overflow; the derivatives of equal operands are ½, of infinite ones too.
    LogAddExp "logaddexp" Float {
        float: |a, b| a.logaddexp(b);
        left: |a, b, y| factor(share_of_exponentials(a, b));
        right: |a, b, y| factor(share_of_exponentials(b, a));
        zero: false; finite: true; tells_zeros: [false, false]; cost: 30.0; test: (-3.0, 3.0);
        source: Helper(&helpers::LOGADDEXP);
        stablehlo: |to, a, b| to.widened(&[a, b], |to, wide| logaddexp(to, wide[0], wide[1]));
    }
    /// a · ln b, but 0 where a is 0 and b is not NaN; at (0, 0) both derivatives are 0.
    Xlogy "xlogy" Float {
        float: |a, b| a.xlogy(b);
        left: |a, b, y| factor(unless_both_zero(a, b, &b.unary(Unary::Ln)));
        right: |a, b, y| factor(unless_both_zero(a, b, &(a / b)));
        zero: true; finite: false; tells_zeros: [false, false]; cost: 30.0; test: (0.3, 3.0);
        source: Helper(&helpers::XLOGY);
        stablehlo: |to, a, b| {
            let zero = to.number(a, 0.0);
            let nothing = to.compare(Comparison::Equal, a, &zero);
            let known = to.compare(Comparison::Equal, b, b);
            let nothing = to.elementwise("and", &[&nothing, &known]);
            let logarithm = to.elementwise("log", &[b]);
            let product = to.elementwise("multiply", &[a, &logarithm]);
            to.select(&nothing, &zero, &product)
        };
    }
    /// The smaller operand; at a tie the derivative goes to the left one. NaN wins.
    Min "min" Number {
        float: |a, b| if a <= b || a.is_nan() { a } else { b };
        integer: |a, b| if a < b { a } else { b };
        left: |a, b, y| mask(a.compare_with(Comparison::LessEqual, b));
        right: |a, b, y| mask(b.compare_with(Comparison::Less, a));
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Helper(&helpers::MIN), of integers Helper(&helpers::MIN_OF_INTEGERS);
        stablehlo: |to, a, b| to.elementwise("minimum", &[a, b]);
    }
    /// The smaller operand; at a tie the derivative goes to the right one, a literal. NaN wins.
    MinRight "min_right" Number {
        float: |a, b| if a < b || a.is_nan() { a } else { b };
        integer: |a, b| if a < b { a } else { b };
        left: |a, b, y| mask(a.compare_with(Comparison::Less, b));
        right: |a, b, y| mask(b.compare_with(Comparison::LessEqual, a));
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Helper(&helpers::MIN_RIGHT), of integers Helper(&helpers::MIN_OF_INTEGERS);
        stablehlo: |to, a, b| to.elementwise("minimum", &[a, b]);
    }
    /// The larger operand; at a tie the derivative goes to the left one. NaN wins.
    Max "max" Number {
        float: |a, b| if a >= b || a.is_nan() { a } else { b };
        integer: |a, b| if a > b { a } else { b };
        left: |a, b, y| mask(a.compare_with(Comparison::GreaterEqual, b));
        right: |a, b, y| mask(b.compare_with(Comparison::Greater, a));
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Helper(&helpers::MAX), of integers Helper(&helpers::MAX_OF_INTEGERS);
        stablehlo: |to, a, b| to.elementwise("maximum", &[a, b]);
    }
    /// The larger operand; at a tie the derivative goes to the right one, a literal. NaN wins.
    MaxRight "max_right" Number {
        float: |a, b| if a > b || a.is_nan() { a } else { b };
        integer: |a, b| if a > b { a } else { b };
        left: |a, b, y| mask(a.compare_with(Comparison::Greater, b));
        right: |a, b, y| mask(b.compare_with(Comparison::GreaterEqual, a));
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Helper(&helpers::MAX_RIGHT), of integers Helper(&helpers::MAX_OF_INTEGERS);
        stablehlo: |to, a, b| to.elementwise("maximum", &[a, b]);
    }
    /// a · b, but 0 wherever a is 0, whatever b is: how a cotangent that a `select` has cut off stays cut off. Its
    /// derivative is a product's; instances give it by hand, since both sides must keep zeros too.
    KeepZero "keep_zero" Float {
        float: |a, b| if a == 0.0 { 0.0 } else { a * b };
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(a.clone());
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Helper(&helpers::KEEP_ZERO);
        stablehlo: |to, a, b| {
            let zero = to.number(a, 0.0);
            let nothing = to.compare(Comparison::Equal, a, &zero);
            let product = to.elementwise("multiply", &[a, b]);
            to.select(&nothing, &zero, &product)
        };
    }
    /// Logical and.
    And "and" Bool {
        bool: |a, b| a & b;
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (0.0, 1.0);
        source: Logical { c: "&&", rust: "&" };
        stablehlo: |to, a, b| to.elementwise("and", &[a, b]);
    }
    /// Logical or.
    Or "or" Bool {
        bool: |a, b| a | b;
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (0.0, 1.0);
        source: Logical { c: "||", rust: "|" };
        stablehlo: |to, a, b| to.elementwise("or", &[a, b]);
    }
    /// Whether just one is true.
    Xor "xor" Bool {
        bool: |a, b| a ^ b;
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (0.0, 1.0);
        source: Expression("$0 != $1");
        stablehlo: |to, a, b| to.elementwise("xor", &[a, b]);
    }
    /// The bits that both have.
    BitAnd "bit_and" Integer {
        integer: |a, b| a & b;
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Expression("$0 & $1");
        stablehlo: |to, a, b| to.elementwise("and", &[a, b]);
    }
    /// The bits that one or both have.
    BitOr "bit_or" Integer {
        integer: |a, b| a | b;
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Expression("$0 | $1");
        stablehlo: |to, a, b| to.elementwise("or", &[a, b]);
    }
    /// The bits that just one has.
    BitXor "bit_xor" Integer {
        integer: |a, b| a ^ b;
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Expression("$0 ^ $1");
        stablehlo: |to, a, b| to.elementwise("xor", &[a, b]);
    }
    /// The bits of a, moved up by b places; all are lost where b is not below their number, or negative.
    ShiftLeft "shift_left" Integer {
        integer: |a, b| shift_left!(a, b);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Helper(&helpers::SHIFT_LEFT);
        stablehlo: |to, a, b| shift_left(to, a, b);
    }
    /// The bits of a, moved down by b places, with copies of the sign above; only those are left where b is not below the
    /// number of bits, or negative.
    ShiftRight "shift_right" Integer {
        integer: |a, b| shift_right!(a, b);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
        zero: true; finite: true; tells_zeros: [false, false]; cost: 1.0; test: (-3.0, 3.0);
        source: Helper(&helpers::SHIFT_RIGHT);
        stablehlo: |to, a, b| shift_right(to, a, b);
    }
}

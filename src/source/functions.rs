//! How elementwise operations are spelled in other languages: a row for each.

use crate::operation::{Binary, Comparison, Reduction, Unary};
use crate::shape::DType;

/// How an operation is written. Operands stand for `$0` and `$1`; they hold together as tightly as a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    /// A function of C's mathematical library, which OpenCL has under the same name, and the method of Rust's floats.
    Library(&'static str, &'static str),
    /// A function of C's mathematical library and OpenCL that Rust has in the crate `libm` only.
    Special(&'static str),
    /// An expression that is the same in all languages; `@` is the ending of a literal of single precision in C.
    Expression(&'static str),
    /// An operator on truth values in C, and in Rust.
    Logical(&'static str, &'static str),
    /// A helper function beside the program.
    Helper(&'static str),
}

/// An expression with these operands, and whether it holds together as tightly as a name.
pub(crate) fn filled(text: &str, literal_ending: &str, operands: &[&str]) -> (String, bool) {
    let places = ["$0", "$1"];
    let with_literals = text.replace('@', literal_ending);
    let filled = places.iter().zip(operands).fold(with_literals, |text, (place, operand)| text.replace(place, operand));
    (filled, text == "$0")
}

use Spelling::{Expression, Helper, Library, Logical, Special};

/// Of one operand.
pub(crate) fn unary(op: Unary, dtype: DType) -> Spelling {
    let float = dtype.is_float();
    match op {
        Unary::Neg if float => Expression("-$0"),
        Unary::Neg => Helper("neg"),
        Unary::Recip => Expression("1.0@ / $0"),
        Unary::Abs if float => Library("fabs", "abs"),
        Unary::Abs => Helper("abs"),
        Unary::Sign => Helper("sign"),
        Unary::Powi(_) => Helper("powi"),
        Unary::Sqrt => Library("sqrt", "sqrt"),
        Unary::Cbrt => Helper("cbrt"),
        Unary::Exp => Library("exp", "exp"),
        Unary::Exp2 => Library("exp2", "exp2"),
        Unary::Expm1 => Library("expm1", "exp_m1"),
        Unary::Ln => Library("log", "ln"),
        Unary::Log2 => Library("log2", "log2"),
        Unary::Log10 => Library("log10", "log10"),
        Unary::Ln1p => Library("log1p", "ln_1p"),
        Unary::Sin => Library("sin", "sin"),
        Unary::Cos => Library("cos", "cos"),
        Unary::Tan => Library("tan", "tan"),
        Unary::Asin => Library("asin", "asin"),
        Unary::Acos => Library("acos", "acos"),
        Unary::Atan => Library("atan", "atan"),
        Unary::Sinh => Library("sinh", "sinh"),
        Unary::Cosh => Library("cosh", "cosh"),
        Unary::Tanh => Library("tanh", "tanh"),
        Unary::Asinh => Helper("asinh"),
        Unary::Acosh => Helper("acosh"),
        Unary::Atanh => Helper("atanh"),
        Unary::Sigmoid => Helper("sigmoid"),
        Unary::Softplus => Helper("softplus"),
        Unary::Erf => Special("erf"),
        Unary::Erfc => Special("erfc"),
        Unary::Lgamma => Helper("lgamma"),
        Unary::Digamma | Unary::Polygamma(0) => Helper("digamma"),
        Unary::Polygamma(_) => Helper("polygamma"),
        Unary::Relu => Helper("relu"),
        Unary::Floor => Library("floor", "floor"),
        Unary::Ceil => Library("ceil", "ceil"),
        Unary::Round => Library("round", "round"),
        Unary::StopGradient => Expression("$0"),
        Unary::Not => Expression("!$0"),
        Unary::BitNot => Helper("bit_not"),
    }
}

/// How a reduction combines two numbers.
pub(crate) fn combining(op: Reduction, dtype: DType) -> Spelling {
    binary(op.combining(dtype), dtype)
}

/// Of two operands.
pub(crate) fn binary(op: Binary, dtype: DType) -> Spelling {
    let float = dtype.is_float();
    match op {
        Binary::Add if float => Expression("$0 + $1"),
        Binary::Sub if float => Expression("$0 - $1"),
        Binary::Mul if float => Expression("$0 * $1"),
        Binary::Add => Helper("add"),
        Binary::Sub => Helper("sub"),
        Binary::Mul => Helper("mul"),
        Binary::Div => Expression("$0 / $1"),
        Binary::Quot => Helper("quot"),
        Binary::Rem => Helper("rem"),
        Binary::FloorDiv => Helper("floor_div"),
        Binary::Modulo => Helper("modulo"),
        Binary::Pow => Library("pow", "powf"),
        Binary::Atan2 => Library("atan2", "atan2"),
        Binary::Hypot => Library("hypot", "hypot"),
        Binary::LogAddExp => Helper("logaddexp"),
        Binary::Xlogy => Helper("xlogy"),
        Binary::Min => Helper("min"),
        Binary::MinRight if float => Helper("min_right"),
        Binary::MinRight => Helper("min"),
        Binary::Max => Helper("max"),
        Binary::MaxRight if float => Helper("max_right"),
        Binary::MaxRight => Helper("max"),
        Binary::KeepZero => Helper("keep_zero"),
        Binary::And => Logical("&&", "&"),
        Binary::Or => Logical("||", "|"),
        Binary::Xor => Expression("$0 != $1"),
        Binary::BitAnd => Expression("$0 & $1"),
        Binary::BitOr => Expression("$0 | $1"),
        Binary::BitXor => Expression("$0 ^ $1"),
        Binary::ShiftLeft => Helper("shift_left"),
        Binary::ShiftRight => Helper("shift_right"),
    }
}

/// The operator of a comparison.
pub(crate) fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Less => "<",
        Comparison::LessEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterEqual => ">=",
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
    }
}

//! How elementwise operations are spelled in other languages: a row for each.

use crate::algebra::Reduction;
use crate::operation::{Binary, Comparison, Spelling, Unary, helpers};
use crate::shape::DType;

/// An expression with these operands, and whether it holds together as tightly as a name.
pub(crate) fn filled(text: &str, literal_ending: &str, operands: &[&str]) -> (String, bool) {
    let places = ["$0", "$1"];
    let with_literals = text.replace('@', literal_ending);
    let filled = places.iter().zip(operands).fold(with_literals, |text, (place, operand)| text.replace(place, operand));
    (filled, text == "$0")
}

/// A product of equal factors.
pub(crate) fn product(factor: &str, times: usize) -> String {
    vec![factor; times].join(" * ")
}

use Spelling::{Expression, Helper, HelperAnd, HelperOf, Library, Logical, Product, Special};

/// Powers up to this one are written as products.
const SPELLED_OUT: i32 = 3;

/// Of one operand.
pub(crate) fn unary(op: Unary, dtype: DType) -> Spelling {
    let float = dtype.is_float();
    match op {
        Unary::Neg if float => Expression("-$0"),
        Unary::Neg => Helper(&helpers::NEG),
        Unary::Recip => Expression("1.0@ / $0"),
        Unary::Abs if float => Library { c: "fabs", rust: "abs" },
        Unary::Abs => Helper(&helpers::ABS),
        Unary::Sign if float => Helper(&helpers::SIGN),
        Unary::Sign => Helper(&helpers::SIGN_OF_INTEGERS),
        Unary::Powi(n @ 2..=SPELLED_OUT) => Product(n as usize),
        Unary::Powi(n) => HelperAnd(&helpers::POWI, n.into()),
        Unary::Sqrt => Library { c: "sqrt", rust: "sqrt" },
        Unary::Cbrt => Helper(&helpers::CBRT),
        Unary::Exp => Library { c: "exp", rust: "exp" },
        Unary::Exp2 => Library { c: "exp2", rust: "exp2" },
        Unary::Expm1 => Library { c: "expm1", rust: "exp_m1" },
        Unary::Ln => Library { c: "log", rust: "ln" },
        Unary::Log2 => Library { c: "log2", rust: "log2" },
        Unary::Log10 => Library { c: "log10", rust: "log10" },
        Unary::Ln1p => Library { c: "log1p", rust: "ln_1p" },
        Unary::Sin => Library { c: "sin", rust: "sin" },
        Unary::Cos => Library { c: "cos", rust: "cos" },
        Unary::Tan => Library { c: "tan", rust: "tan" },
        Unary::Asin => Library { c: "asin", rust: "asin" },
        Unary::Acos => Library { c: "acos", rust: "acos" },
        Unary::Atan => Library { c: "atan", rust: "atan" },
        Unary::Sinh => Library { c: "sinh", rust: "sinh" },
        Unary::Cosh => Library { c: "cosh", rust: "cosh" },
        Unary::Tanh => Library { c: "tanh", rust: "tanh" },
        Unary::Asinh => Helper(&helpers::ASINH),
        Unary::Acosh => Helper(&helpers::ACOSH),
        Unary::Atanh => Helper(&helpers::ATANH),
        Unary::Sigmoid => Helper(&helpers::SIGMOID),
        Unary::Softplus => Helper(&helpers::SOFTPLUS),
        Unary::Erf => Special("erf"),
        Unary::Erfc => Special("erfc"),
        Unary::Lgamma => Helper(&helpers::LGAMMA),
        Unary::Digamma | Unary::Polygamma(0) => Helper(&helpers::DIGAMMA),
        Unary::Polygamma(order) => HelperOf(order.into(), &helpers::POLYGAMMA),
        Unary::Relu if float => Helper(&helpers::RELU),
        Unary::Relu => Helper(&helpers::RELU_OF_INTEGERS),
        Unary::Floor => Library { c: "floor", rust: "floor" },
        Unary::Ceil => Library { c: "ceil", rust: "ceil" },
        Unary::Round => Library { c: "round", rust: "round" },
        Unary::StopGradient => Expression("$0"),
        Unary::Not => Expression("!$0"),
        Unary::BitNot => Helper(&helpers::BIT_NOT),
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
        Binary::Add => Helper(&helpers::ADD),
        Binary::Sub => Helper(&helpers::SUB),
        Binary::Mul => Helper(&helpers::MUL),
        Binary::Div => Expression("$0 / $1"),
        Binary::Quot => Helper(&helpers::QUOT),
        Binary::Rem => Helper(&helpers::REM),
        Binary::FloorDiv => Helper(&helpers::FLOOR_DIV),
        Binary::Modulo => Helper(&helpers::MODULO),
        Binary::Pow => Library { c: "pow", rust: "powf" },
        Binary::Atan2 => Library { c: "atan2", rust: "atan2" },
        Binary::Hypot => Library { c: "hypot", rust: "hypot" },
        Binary::LogAddExp => Helper(&helpers::LOGADDEXP),
        Binary::Xlogy => Helper(&helpers::XLOGY),
        Binary::Min if float => Helper(&helpers::MIN),
        Binary::Min => Helper(&helpers::MIN_OF_INTEGERS),
        Binary::MinRight if float => Helper(&helpers::MIN_RIGHT),
        Binary::MinRight => Helper(&helpers::MIN_OF_INTEGERS),
        Binary::Max if float => Helper(&helpers::MAX),
        Binary::Max => Helper(&helpers::MAX_OF_INTEGERS),
        Binary::MaxRight if float => Helper(&helpers::MAX_RIGHT),
        Binary::MaxRight => Helper(&helpers::MAX_OF_INTEGERS),
        Binary::KeepZero => Helper(&helpers::KEEP_ZERO),
        Binary::And => Logical { c: "&&", rust: "&" },
        Binary::Or => Logical { c: "||", rust: "|" },
        Binary::Xor => Expression("$0 != $1"),
        Binary::BitAnd => Expression("$0 & $1"),
        Binary::BitOr => Expression("$0 | $1"),
        Binary::BitXor => Expression("$0 ^ $1"),
        Binary::ShiftLeft => Helper(&helpers::SHIFT_LEFT),
        Binary::ShiftRight => Helper(&helpers::SHIFT_RIGHT),
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

//! Spellings of operations, with their operands.

use crate::operation::OperationSpelling;
use crate::operation::Reduction;
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

/// How a reduction combines two numbers.
pub(crate) fn combining(op: Reduction, dtype: DType) -> OperationSpelling {
    op.combining(dtype).spelling(dtype)
}

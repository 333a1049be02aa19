//! Values of nests, and places in arrays, as expressions.

use super::inline::{Elementary, inline};
use super::language::{Helper, Language};
use crate::operation::{Binary, Comparison, HelperFunction, OperationSpelling};
use crate::shape::{self, DType};
use crate::term::recurrence::Elementwise;
use std::collections::BTreeSet;

/// The text of an expression.
#[derive(Clone)]
pub(crate) struct SourceExpression {
    pub(crate) text: String,
    /// Whether it holds together as tightly as a name.
    pub(crate) is_atom: bool,
}

impl SourceExpression {
    pub(crate) fn atom(text: String) -> SourceExpression {
        SourceExpression { text, is_atom: true }
    }

    pub(crate) fn at_atom(&self) -> String {
        if self.is_atom { self.text.clone() } else { format!("({})", self.text) }
    }
}

/// The inline function of an operation, if the language wants one and all arguments are inside of its range.
fn everywhere(language: &dyn Language, function: Elementary, dtype: DType) -> Option<&'static HelperFunction> {
    let wanted = if language.inlines_math() { inline(function, dtype) } else { None };
    wanted.filter(|function| function.outside.is_none()).map(|function| &function.value)
}

/// An elementwise operation on operands that hold together as tightly as names: the first is of the one element type, the result
/// of the other.
pub(crate) fn elementwise(
    language: &dyn Language,
    op: Elementwise,
    (from, dtype): (DType, DType),
    operands: &[&str],
    helpers: &mut BTreeSet<Helper>,
) -> SourceExpression {
    let unsigned = |operand: &str| match is_other_than_zero(operand) {
        true => operand.to_string(),
        false => {
            let zero = language.literal(shape::Value::from_f64(dtype, 0.0));
            format!("({operand} + {zero})")
        }
    };
    let truth = |value: bool| SourceExpression::atom(language.literal(shape::Value::Bool(value)));
    let mut spelled = |spelling: OperationSpelling, operands: &[&str]| {
        let (text, is_atom) = language.spelled(spelling, dtype, operands, helpers);
        SourceExpression { text, is_atom }
    };
    match op {
        Elementwise::Unary(op) => {
            let operand = if op.tells_zeros() { &unsigned(operands[0]) } else { operands[0] };
            match everywhere(language, Elementary::Unary(op), dtype) {
                Some(function) => SourceExpression::atom(language.helper(function, dtype, &[operand], helpers)),
                None => spelled(op.spelling(dtype), &[operand]),
            }
        }
        Elementwise::Binary(Binary::Xor) if operands[0] == operands[1] => truth(false),
        Elementwise::Binary(op) => {
            let [of_left, of_right] = op.tells_zeros();
            let left = if of_left { &unsigned(operands[0]) } else { operands[0] };
            let right = if of_right { &unsigned(operands[1]) } else { operands[1] };
            match everywhere(language, Elementary::Binary(op), dtype) {
                Some(function) => SourceExpression::atom(language.helper(function, dtype, &[left, right], helpers)),
                None => spelled(op.spelling(dtype), &[left, right]),
            }
        }
        // Compilers warn of what is compared with itself, but of floats, which may be NaN.
        Elementwise::Compare(op) if operands[0] == operands[1] && !from.is_float() => {
            truth(matches!(op, Comparison::Equal | Comparison::LessEqual | Comparison::GreaterEqual))
        }
        Elementwise::Compare(op) => {
            let text = format!("{} {} {}", operands[0], op.operator(), operands[1]);
            SourceExpression { text, is_atom: false }
        }
        Elementwise::Select => {
            SourceExpression { text: language.choice(operands[0], operands[1], operands[2]), is_atom: false }
        }
        Elementwise::Cast(to) => {
            let text = language.cast(operands[0], from, to, helpers);
            SourceExpression { is_atom: text == operands[0], text }
        }
    }
}

/// Whether an operand is a literal, and not 0: then it has a sign.
fn is_other_than_zero(operand: &str) -> bool {
    let digits = operand.trim_start_matches('(').trim_end_matches([')', 'f']);
    // In Rust the element type follows the number.
    let digits = digits.split('_').next().unwrap_or(digits);
    digits.parse::<f64>().is_ok_and(|number| number != 0.0)
}

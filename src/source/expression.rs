//! Values of nests, and places in arrays, as expressions.

use super::functions::{self, Spelling};
use super::language::{Helper, Language};
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{self, DType};
use crate::term::recurrence::Elementwise;
use std::collections::BTreeSet;

/// Powers up to this one are written as products.
pub(crate) const SPELLED_OUT: i32 = 3;

/// The text of an expression.
#[derive(Clone)]
pub(crate) struct Expression {
    pub(crate) text: String,
    /// Whether it holds together as tightly as a name.
    pub(crate) is_atom: bool,
}

impl Expression {
    pub(crate) fn atom(text: String) -> Expression {
        Expression { text, is_atom: true }
    }

    pub(crate) fn at_atom(&self) -> String {
        if self.is_atom { self.text.clone() } else { format!("({})", self.text) }
    }
}

/// An elementwise operation on operands that hold together as tightly as names: the first is of the one element type, the result
/// of the other.
pub(crate) fn elementwise(
    language: &dyn Language,
    op: Elementwise,
    (from, dtype): (DType, DType),
    operands: &[&str],
    helpers: &mut BTreeSet<Helper>,
) -> Expression {
    let unsigned = |operand: &str| match is_other_than_zero(operand) {
        true => operand.to_string(),
        false => {
            let zero = language.literal(shape::Value::from_f64(dtype, 0.0));
            format!("({operand} + {zero})")
        }
    };
    let truth = |value: bool| Expression::atom(language.literal(shape::Value::Bool(value)));
    let mut spelled = |spelling: Spelling, operands: &[&str]| {
        let (text, is_atom) = language.spelled(spelling, dtype, operands, helpers);
        Expression { text, is_atom }
    };
    match (op, operands) {
        (Elementwise::Unary(Unary::Powi(n @ 2..=SPELLED_OUT)), &[operand]) => {
            Expression { text: vec![operand; n as usize].join(" * "), is_atom: false }
        }
        (Elementwise::Unary(op), &[operand]) => {
            let operand = if op.tells_zeros() { &unsigned(operand) } else { operand };
            let spelling = functions::unary(op, dtype);
            match op {
                Unary::Powi(n) => spelled(spelling, &[operand, &n.to_string()]),
                Unary::Polygamma(order @ 1..) => spelled(spelling, &[&order.to_string(), operand]),
                _ => spelled(spelling, &[operand]),
            }
        }
        (Elementwise::Binary(Binary::Xor), &[left, right]) if left == right => truth(false),
        (Elementwise::Binary(op), &[left, right]) => {
            let [of_left, of_right] = op.tells_zeros();
            let left = if of_left { &unsigned(left) } else { left };
            let right = if of_right { &unsigned(right) } else { right };
            spelled(functions::binary(op, dtype), &[left, right])
        }
        // Compilers warn of comparisons of a value with itself, except for floats, which may be NaN.
        (Elementwise::Compare(op), &[left, right]) if left == right && !from.is_float() => {
            truth(matches!(op, Comparison::Equal | Comparison::LessEqual | Comparison::GreaterEqual))
        }
        (Elementwise::Compare(op), &[left, right]) => {
            Expression { text: format!("{left} {} {right}", functions::comparison(op)), is_atom: false }
        }
        (Elementwise::Select, &[mask, yes, no]) => Expression { text: language.choice(mask, yes, no), is_atom: false },
        (Elementwise::Cast(to), &[operand]) => {
            let text = language.cast(operand, from, to, helpers);
            Expression { is_atom: text == operand, text }
        }
        _ => unreachable!("an operation has as many operands as it takes"),
    }
}

/// Whether an operand is a literal, and not 0: then it has a sign.
fn is_other_than_zero(operand: &str) -> bool {
    let digits = operand.trim_start_matches('(').trim_end_matches([')', 'f']);
    // In Rust the element type follows the number.
    let digits = digits.split('_').next().unwrap_or(digits);
    digits.parse::<f64>().is_ok_and(|number| number != 0.0)
}

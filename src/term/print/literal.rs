//! Literals, and constants of every size.

use super::text::{Precedence, PrintedExpression, provisional, provisional_digit};
use crate::array::Array;
use crate::shape::{DType, Value};
use std::collections::HashMap;

/// Constants up to this many elements print as lists.
const LISTED: usize = 16;

/// How literals are spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LiteralSpelling {
    /// For readers: NaN is NaN.
    Plain,
    /// For programs: whatever NaN it is can be read back, `NaN#fff8000000000000`.
    Exact,
}

/// A literal; `typed` says that nothing around it tells its element type, so that one other than `f64`, `i64` or `bool`
/// needs an ending.
pub(super) fn literal(value: Value, typed: bool, spelling: LiteralSpelling) -> PrintedExpression {
    let exact = spelling == LiteralSpelling::Exact;
    let mut text = match value {
        Value::F32(x) if exact && x.is_nan() && x.to_bits() != f32::NAN.to_bits() => format!("NaN#{:08x}", x.to_bits()),
        Value::F64(x) if exact && x.is_nan() && x.to_bits() != f64::NAN.to_bits() => {
            format!("NaN#{:016x}", x.to_bits())
        }
        Value::F32(x) => format!("{x:?}"),
        Value::F64(x) => format!("{x:?}"),
        Value::I32(x) => x.to_string(),
        Value::I64(x) => x.to_string(),
        Value::Bool(x) => x.to_string(),
    };
    if typed && matches!(value.dtype(), DType::F32 | DType::I32) {
        text.push('_');
        text.push_str(value.dtype().name());
    }
    let level = if text.starts_with('-') { Precedence::Unary } else { Precedence::Atom };
    PrintedExpression::new(text, level, 0)
}

/// `full 0.0 [3, 4]`; of rank 0 a literal.
fn full(shape: &[usize], value: Value, spelling: LiteralSpelling) -> PrintedExpression {
    let literal = literal(value, true, spelling);
    if shape.is_empty() {
        return literal;
    }
    PrintedExpression::new(format!("full {} {shape:?}", literal.at(Precedence::Atom)), Precedence::Application, 0)
}

/// The one value of a constant that prints as `full` or a bare literal.
pub(super) fn uniform(array: &Array) -> Option<Value> {
    match array.uniform() {
        Some(value) => Some(value),
        None if array.size() == 0 => Some(Value::from_i64(array.dtype(), 0)),
        None => None,
    }
}

/// The constants too large to be listed, by provisional numbers.
pub(super) struct Constants {
    pub(super) spelling: LiteralSpelling,
    numbers: HashMap<Array, usize>,
    arrays: Vec<Array>,
}

impl Constants {
    pub(super) fn new(spelling: LiteralSpelling) -> Constants {
        Constants { spelling, numbers: HashMap::new(), arrays: Vec::new() }
    }

    /// A constant where nothing around it tells its type.
    pub(super) fn expression(&mut self, array: &Array) -> PrintedExpression {
        if let Some(value) = uniform(array) {
            return full(array.shape(), value, self.spelling);
        }
        if array.size() <= LISTED {
            let mut text = String::new();
            self.list(array, array.shape(), 0, true, &mut text);
            return PrintedExpression::new(text, Precedence::Atom, 0);
        }
        let next = self.arrays.len();
        let number = *self.numbers.entry(array.clone()).or_insert(next);
        if number == next {
            self.arrays.push(array.clone());
        }
        PrintedExpression::new(format!("constant {}#{}", array.ty(), provisional(number)), Precedence::Application, 0)
    }

    /// Writes the elements of a sub-array that begins at a row-major position. The recursion is as deep as the rank.
    fn list(&self, array: &Array, shape: &[usize], start: usize, typed: bool, text: &mut String) {
        let Some((&extent, inner)) = shape.split_first() else {
            text.push_str(&literal(array.element(start), typed, self.spelling).text);
            return;
        };
        let stride = crate::shape::size(inner);
        text.push('[');
        for at in 0..extent {
            if at > 0 {
                text.push_str(", ");
            }
            self.list(array, inner, start + at * stride, typed, text);
        }
        text.push(']');
    }

    /// Numbers the constants from 1 in the order of the lines, and returns them in it.
    pub(super) fn number(&self, lines: &mut [String]) -> Vec<&Array> {
        let mut numbers: Vec<Option<usize>> = vec![None; self.arrays.len()];
        let mut ordered = Vec::new();
        for line in lines.iter_mut() {
            if line.chars().all(|character| provisional_digit(character).is_none()) {
                continue;
            }
            let (mut text, mut rest) = (String::with_capacity(line.len()), line.chars().peekable());
            while let Some(character) = rest.next() {
                let Some(mut provisional) = provisional_digit(character) else {
                    text.push(character);
                    continue;
                };
                while let Some(digit) = rest.peek().copied().and_then(provisional_digit) {
                    provisional = 10 * provisional + digit;
                    rest.next();
                }
                let number = *numbers[provisional].get_or_insert_with(|| {
                    ordered.push(&self.arrays[provisional]);
                    ordered.len()
                });
                text.push_str(&number.to_string());
            }
            *line = text;
        }
        ordered
    }

    /// The lines that give the elements of constants, which are numbered from 1.
    pub(super) fn definitions(&self, constants: &[&Array]) -> Vec<String> {
        let definition = |(at, array): (usize, &&Array)| {
            let mut text = format!("#{}: {} = ", at + 1, array.ty());
            self.list(array, array.shape(), 0, false, &mut text);
            text
        };
        constants.iter().enumerate().map(definition).collect()
    }
}

//! Literals, and constants of every size.

use super::expression::{Expression, Level};
use crate::concrete::Array;
use crate::shape::{DType, Value};
use std::collections::HashMap;

/// Constants up to this many elements print as lists.
const LISTED: usize = 16;

/// A literal; `typed` says that nothing around it tells its element type, so that one other than `f64`, `i64` or `bool`
/// needs an ending.
pub(super) fn literal(value: Value, typed: bool) -> Expression {
    let mut text = match value {
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
    let level = if text.starts_with('-') { Level::Unary } else { Level::Atom };
    Expression::new(text, level, 0)
}

/// `full 0.0 [3, 4]`; of rank 0 a literal.
pub(super) fn full(shape: &[usize], value: Value) -> Expression {
    let literal = literal(value, true);
    if shape.is_empty() {
        return literal;
    }
    Expression::new(format!("full {} {shape:?}", literal.at(Level::Atom)), Level::Application, 0)
}

/// The one value of a constant that prints as `full` or a bare literal.
pub(super) fn uniform(array: &Array) -> Option<Value> {
    match array.uniform() {
        Some(value) => Some(value),
        None if array.size() == 0 => Some(Value::from_i64(array.dtype(), 0)),
        None => None,
    }
}

/// The constants too large to be listed, numbered in the order in which the arena has them.
#[derive(Default)]
pub(super) struct Constants {
    numbers: HashMap<Array, usize>,
}

impl Constants {
    /// A constant where nothing around it tells its type.
    pub(super) fn expression(&mut self, array: &Array) -> Expression {
        if let Some(value) = uniform(array) {
            return full(array.shape(), value);
        }
        if array.size() <= LISTED {
            let mut text = String::new();
            list(array, array.shape(), 0, &mut text);
            return Expression::new(text, Level::Atom, 0);
        }
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry(array.clone()).or_insert(next);
        Expression::new(format!("constant {}#{number}", array.ty()), Level::Application, 0)
    }
}

/// Writes the elements of a sub-array that begins at a row-major position; the depth is that of the rank.
fn list(array: &Array, shape: &[usize], start: usize, text: &mut String) {
    let Some((&extent, inner)) = shape.split_first() else {
        text.push_str(&literal(array.element(start), true).text);
        return;
    };
    let stride = crate::shape::size(inner);
    text.push('[');
    for at in 0..extent {
        if at > 0 {
            text.push_str(", ");
        }
        list(array, inner, start + at * stride, text);
    }
    text.push(']');
}

//! The target languages of generated programs: their common parts and their differences.

use crate::operation::{HelperFunction, OperationSpelling};
use crate::shape::{DType, Value};
use std::collections::BTreeSet;

/// An expression with these operands, and whether it holds together as tightly as a name.
fn filled(text: &str, literal_ending: &str, operands: &[&str]) -> (String, bool) {
    let places = ["$0", "$1"];
    let with_literals = text.replace('@', literal_ending);
    let filled = places.iter().zip(operands).fold(with_literals, |text, (place, operand)| text.replace(place, operand));
    (filled, text == "$0")
}

/// A product of equal factors.
fn product(factor: &str, times: usize) -> String {
    vec![factor; times].join(" * ")
}

/// A part of an array: from an offset on, `count` elements, or all the rest.
pub(crate) struct ArraySlice<'a> {
    pub(crate) array: &'a str,
    pub(crate) offset: String,
    pub(crate) count: Option<usize>,
}

/// An array that a function takes.
pub(crate) struct ArrayParameter {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    /// How many elements it has, where that is known.
    pub(crate) count: Option<usize>,
    pub(crate) writes: bool,
}

/// A helper function for an element type, which stands beside the program.
pub(crate) type Helper = (&'static HelperFunction, DType);

/// The syntax of a language with C's expressions and blocks.
pub(crate) trait Language {
    /// Whether elementary functions are written inline, as formulas.
    fn inlines_math(&self) -> bool;
    /// The name of an element type.
    fn dtype(&self, dtype: DType) -> &'static str;
    /// A known number.
    fn literal(&self, value: Value) -> String;
    /// A value in a list whose type is known: as short as the language allows, for lists are long.
    fn element(&self, value: Value) -> String {
        match value {
            Value::I32(x) if x != i32::MIN => x.to_string(),
            Value::I64(x) if x != i64::MIN => x.to_string(),
            Value::F64(x) if x.is_finite() => format!("{x:?}"),
            value => self.literal(value),
        }
    }
    /// `value` under a name.
    fn declare(&self, name: &str, dtype: DType, value: &str) -> String;
    /// `value` under a name that is assigned to later.
    fn declare_variable(&self, name: &str, dtype: DType, value: &str) -> String;
    /// Several elements under a name, all of this value at first.
    fn declare_lanes(&self, name: &str, dtype: DType, count: usize, value: &str) -> String;
    /// The head of a loop over `start..end`.
    fn for_loop(&self, variable: &str, start: &str, end: &str) -> String;
    /// The head of an endless loop, which is left by a break.
    fn endless_loop(&self) -> &'static str;
    /// The head of a conditional statement.
    fn condition(&self, condition: &str) -> String;
    /// The text between the sides of a conditional statement.
    fn otherwise(&self) -> &'static str {
        "} else {"
    }
    /// A choice.
    fn choice(&self, condition: &str, yes: &str, no: &str) -> String;
    /// A number that counts, as an `i64`.
    fn signed(&self, counter: &str) -> String;
    /// An `i64` that is not below 0, as a number that counts.
    fn counter(&self, signed: &str) -> String;
    /// A number that counts, under a name.
    fn declare_index(&self, name: &str, value: &str) -> String;
    /// A variable that counts.
    fn declare_counter(&self, name: &str, value: &str) -> String;
    /// A conversion; the operand holds together as tightly as a name.
    fn cast(&self, operand: &str, from: DType, to: DType, helpers: &mut BTreeSet<Helper>) -> String;
    /// A call of an operation, and whether it holds together as tightly as a name.
    fn spelled(
        &self,
        spelling: OperationSpelling,
        dtype: DType,
        operands: &[&str],
        helpers: &mut BTreeSet<Helper>,
    ) -> (String, bool) {
        match spelling {
            OperationSpelling::Library { c, rust } => self.library(c, rust, dtype, operands),
            OperationSpelling::Special(name) => self.special(name, dtype, operands),
            OperationSpelling::Expression(text) => filled(text, self.literal_ending(dtype), operands),
            OperationSpelling::Logical { c, rust } => {
                (format!("{} {} {}", operands[0], self.logical(c, rust), operands[1]), false)
            }
            OperationSpelling::Product(times) => (product(operands[0], times), false),
            OperationSpelling::Helper(function) => (self.helper(function, dtype, operands, helpers), true),
            OperationSpelling::HelperAnd(function, number) => {
                (self.helper(function, dtype, &[operands[0], &number.to_string()], helpers), true)
            }
            OperationSpelling::HelperOf(number, function) => {
                (self.helper(function, dtype, &[&number.to_string(), operands[0]], helpers), true)
            }
        }
    }
    /// A call of a function of the mathematical library, by its names in C and Rust, and whether it holds together as tightly as a
    /// name.
    fn library(&self, c: &str, rust: &str, dtype: DType, operands: &[&str]) -> (String, bool);
    /// As [`Self::library`], of a function that Rust has in the crate `libm` only.
    fn special(&self, name: &str, dtype: DType, operands: &[&str]) -> (String, bool);
    /// The ending of a literal of this type in expressions of [`OperationSpelling::Expression`].
    fn literal_ending(&self, dtype: DType) -> &'static str;
    /// An operator on truth values, by its names in C and Rust.
    fn logical<'a>(&self, c: &'a str, rust: &'a str) -> &'a str;
    /// A call of a helper function of the program's own.
    fn helper(
        &self,
        function: &'static HelperFunction,
        dtype: DType,
        operands: &[&str],
        helpers: &mut BTreeSet<Helper>,
    ) -> String;
    /// A part of an array under a name.
    fn bind(&self, name: &str, dtype: DType, part: &ArraySlice<'_>, writes: bool) -> String;
    /// As [`Language::bind`], for a name that is bound to other parts later.
    fn bind_variable(&self, name: &str, dtype: DType, part: &ArraySlice<'_>) -> String;
    /// A part of an array as an argument.
    fn argument(&self, part: &ArraySlice<'_>, writes: bool) -> String;
    /// Has two names of variable parts change places.
    fn swap(&self, a: &str, b: &str, dtype: DType) -> String;
    /// Copies so many elements.
    fn copy(&self, to: &ArraySlice<'_>, from: &ArraySlice<'_>, count: usize, dtype: DType) -> String;
    /// Fills an array with one value.
    fn fill(&self, array: &str, count: usize, value: &str) -> String;
    /// The head of a function of the program's own, which takes memory of these element types too.
    fn function(&self, name: &str, parameters: &[ArrayParameter], scratch: &[DType], fails: bool) -> String;
    /// The beginning of a function: checks of lengths.
    fn prologue(&self, parameters: &[ArrayParameter], scratch: &[DType]) -> Vec<String>;
    /// A call of a function of the program's own.
    fn call(&self, name: &str, arguments: &[String]) -> String;
    /// Takes the first `count` elements of memory of a type away, under a name.
    fn take(&self, name: &str, dtype: DType, start: usize, count: usize) -> String;
    /// Whether functions may have memory of their own, and pass known arrays to others.
    fn has_own_memory(&self) -> bool {
        true
    }
    /// Memory of a few elements of a function's own, under a name.
    fn local(&self, name: &str, dtype: DType, count: usize) -> String;
    /// Whether [`Language::take`] changes the memory that it takes from.
    fn takes_in_turn(&self) -> bool {
        false
    }
    /// Known elements under a name.
    fn constant(&self, name: &str, dtype: DType, elements: &[String]) -> Vec<String>;
    /// The name of known elements.
    fn constant_name(&self, name: &str) -> String;
    /// Ends a function early, and reports that it could not be finished.
    fn fail(&self) -> &'static str {
        "return false;"
    }
    /// Ends a function that could be finished.
    fn succeed(&self) -> &'static str {
        "return true;"
    }
}

/// The name of the memory of an element type.
pub(crate) fn scratch_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "scratch",
        DType::F32 => "scratch_f32",
        DType::I64 => "scratch_i64",
        DType::I32 => "scratch_i32",
        DType::Bool => "scratch_bool",
    }
}

/// All element types, wider elements first.
pub(crate) const DTYPES: [DType; 5] = [DType::F64, DType::I64, DType::F32, DType::I32, DType::Bool];

//! Helper functions beside a program: operations whose meaning a language lacks.
//!
//! In these texts `T` is the element type, `S` its name in names, `U` the unsigned type of its width, `BITS` that width, `P`
//! the program's prefix, and `F` the ending of functions of single precision.

mod c;
mod opencl;
mod rust;
#[cfg(test)]
mod tests;

use super::language::Helper;
use crate::shape::DType;
use std::collections::BTreeSet;

/// The function's text, and other functions that it calls.
struct Row {
    text: &'static str,
    calls: &'static [(&'static str, DType)],
}

fn row(text: &'static str) -> Row {
    Row { text, calls: &[] }
}

/// The helpers and those that they call, callees first.
fn ordered(helpers: &BTreeSet<Helper>, find: fn(&str, DType) -> Row) -> Vec<Helper> {
    let mut ordered: Vec<Helper> = Vec::new();
    let mut open: Vec<Helper> = helpers.iter().rev().cloned().collect();
    while let Some(helper) = open.pop() {
        if ordered.contains(&helper) {
            continue;
        }
        let calls = find(&helper.0, helper.1).calls;
        let missing: Vec<Helper> = calls.iter().map(|&(name, dtype)| (name.to_string(), dtype)).collect();
        let missing: Vec<Helper> = missing.into_iter().filter(|helper| !ordered.contains(helper)).collect();
        if missing.is_empty() {
            ordered.push(helper);
        } else {
            open.push(helper);
            open.extend(missing);
        }
    }
    ordered
}

/// Replaces words, which are names of their own.
fn replaced(text: &str, words: &[(&str, &str)]) -> String {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut result = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
        if end > 0 {
            let word = &rest[..end];
            result.push_str(words.iter().find(|(name, _)| *name == word).map_or(word, |(_, new)| new));
            rest = &rest[end..];
        } else {
            let other = rest.find(is_name).unwrap_or(rest.len());
            result.push_str(&rest[..other]);
            rest = &rest[other..];
        }
    }
    result
}

/// The words for sorting in an order.
fn sorting(name: &str) -> (&str, &'static str) {
    (name, if name.ends_with("_descending") { ">" } else { "<" })
}

/// The texts of helpers in C, or in OpenCL's.
pub(crate) fn c_texts(helpers: &BTreeSet<Helper>, prefix: &str, is_opencl: bool) -> Vec<String> {
    let text = |(name, dtype): &Helper| {
        let (ty, unsigned, bits) = match dtype {
            DType::F64 => ("double", "double", "64"),
            DType::F32 => ("float", "float", "32"),
            DType::I64 => ("int64_t", "uint64_t", "64"),
            DType::I32 => ("int32_t", "uint32_t", "32"),
            DType::Bool if is_opencl => ("uchar", "uchar", "1"),
            DType::Bool => ("bool", "bool", "1"),
        };
        let single = *dtype == DType::F32;
        let ending = if single && !is_opencl { "f" } else { "" };
        let (name, order) = sorting(name);
        // Names that have a part of their own to be replaced.
        let row = if is_opencl { opencl::find(name, *dtype) } else { None };
        let text = row.unwrap_or_else(|| c::find(name, *dtype)).text;
        let text = text.replace("P_NAME", &format!("P_{name}")).replace("P_", &format!("{prefix}_"));
        let text =
            text.replace("_S(", &format!("_{}(", dtype.name())).replace(".0F", if single { ".0f" } else { ".0" });
        let text = ["exp", "log1p", "fabs", "log", "sqrt", "cbrt", "copysign"]
            .iter()
            .fold(text, |text, function| text.replace(&format!("{function}F("), &format!("{function}{ending}(")));
        let text = replaced(&text, &[("T", ty), ("U", unsigned), ("BITS", bits), ("ORDER", order)]);
        // Comparing an integer with itself is an error to strict compilers.
        let nan = |name: &str| if dtype.is_float() { format!("{name} != {name}") } else { "false".into() };
        let text = replaced(&text, &[("X_NAN", &nan("x")), ("Y_NAN", &nan("y"))]);
        match is_opencl {
            false => text,
            true => replaced(
                &text
                    .replace("static const", "const")
                    .replace("static ", "")
                    .replace(&format!("const {ty} *keys"), &format!("__global const {ty} *keys"))
                    .replace("int64_t *order", "__global int64_t *order"),
                &[
                    ("int64_t", "long"),
                    ("uint64_t", "ulong"),
                    ("int32_t", "int"),
                    ("uint32_t", "uint"),
                    ("INT64_MAX", "LONG_MAX"),
                    ("INT64_MIN", "LONG_MIN"),
                    ("INT32_MAX", "INT_MAX"),
                    ("INT32_MIN", "INT_MIN"),
                ],
            ),
        }
    };
    let find = if is_opencl {
        |name: &str, dtype| opencl::find(name, dtype).unwrap_or_else(|| c::find(name, dtype))
    } else {
        c::find
    };
    ordered(helpers, find).iter().map(text).map(|text| text.trim_end().to_string()).collect()
}

/// The texts of helpers in Rust.
pub(crate) fn rust_texts(helpers: &BTreeSet<Helper>, with_std: bool) -> Vec<String> {
    let text = |(name, dtype): &Helper| {
        let ty = dtype.name();
        let bits = if matches!(dtype, DType::F32 | DType::I32) { "32" } else { "64" };
        let (name, order) = sorting(name);
        let ending = if *dtype == DType::F32 { "f" } else { "" };
        let function = |method: &str, c: &str| match with_std {
            true => format!("{ty}::{method}"),
            false => format!("libm::{c}{ending}"),
        };
        let functions = [
            ("EXP", function("exp", "exp")),
            ("LN1P", function("ln_1p", "log1p")),
            ("LN", function("ln", "log")),
            ("FLOOR", function("floor", "floor")),
            ("ROUND", function("round", "round")),
            ("SIN", function("sin", "sin")),
            ("TAN", function("tan", "tan")),
            ("SQRT", function("sqrt", "sqrt")),
            ("CBRT", function("cbrt", "cbrt")),
            ("ABS", function("abs", "fabs")),
            ("COPYSIGN", function("copysign", "copysign")),
        ];
        let mut words: Vec<(&str, &str)> = functions.iter().map(|(word, text)| (*word, &text[..])).collect();
        words.extend([("T", ty), ("BITS", bits)]);
        let text = rust::find(name, *dtype).text.replace("NAME_S", &format!("{name}_S"));
        let text = text.replace("_S(", &format!("_{ty}(")).replace(" ORDER ", &format!(" {order} "));
        replaced(&text, &words).trim_end().to_string()
    };
    ordered(helpers, rust::find).iter().map(text).collect()
}

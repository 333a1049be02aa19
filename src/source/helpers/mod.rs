//! Helper functions beside a program: operations whose meaning a language lacks.
//!
//! [`HelperFunction`] says what stands for types and names in their texts, which are completed here.

#[cfg(feature = "opencl")]
pub(crate) mod opencl;
pub(crate) mod routines;
#[cfg(test)]
mod tests;

use super::inline;
use super::language::Helper;
use crate::operation::{HelperFunction, OperationSpelling, UNARY_ROWS};
use crate::shape::DType;
use std::collections::BTreeSet;

/// The other functions that a helper's text calls, given its text for `f32` where that is another one.
fn calls((function, dtype): Helper, single: Option<&str>) -> Vec<Helper> {
    match single {
        Some(_) if dtype == DType::F32 => vec![(function, DType::F64)],
        _ => function.calls.iter().map(|&called| (called, dtype)).collect(),
    }
}

/// The helpers and those that they call, callees first.
fn ordered(helpers: &BTreeSet<Helper>, single: fn(&HelperFunction) -> Option<&str>) -> Vec<Helper> {
    let mut ordered: Vec<Helper> = Vec::new();
    let mut open: Vec<Helper> = helpers.iter().rev().copied().collect();
    while let Some(helper) = open.pop() {
        if ordered.contains(&helper) {
            continue;
        }
        let mut missing = calls(helper, single(helper.0));
        missing.retain(|helper| !ordered.contains(helper));
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
pub(crate) fn replaced(text: &str, words: &[(&str, &str)]) -> String {
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
    let text = |(function, dtype): &Helper| {
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
        let (name, order) = sorting(function.name);
        let text = function.single.c.filter(|_| single).unwrap_or(function.c);
        // Names that have a part of their own to be replaced.
        let text = text.replace("P_NAME", &format!("P_{name}")).replace("P_", &format!("{prefix}_"));
        let text =
            text.replace("_S(", &format!("_{}(", dtype.name())).replace(".0F", if single { ".0f" } else { ".0" });
        let text = text.replace("F(", &format!("{ending}("));
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
    let helpers = ordered(helpers, |function| function.single.c);
    let texts = helpers.iter().map(text).map(|text| text.trim_end().to_string());
    inline::completed(texts.collect(), prefix, is_opencl)
}

/// The texts of helpers in Rust.
pub(crate) fn rust_texts(helpers: &BTreeSet<Helper>, with_std: bool) -> Vec<String> {
    let text = |(function, dtype): &Helper| {
        let ty = dtype.name();
        let bits = if matches!(dtype, DType::F32 | DType::I32) { "32" } else { "64" };
        let single = *dtype == DType::F32;
        let (name, order) = sorting(function.name);
        let ending = if single { "f" } else { "" };
        let library = |method: &str, c: &str| match with_std {
            true => format!("{ty}::{method}"),
            false => format!("libm::{c}{ending}"),
        };
        // Rows that are functions of a library, and two that are parts of rows.
        let mut words =
            vec![("CBRT".to_string(), library("cbrt", "cbrt")), ("COPYSIGN".into(), library("copysign", "copysign"))];
        words.extend(UNARY_ROWS.iter().filter_map(|&row| match row.spelling(DType::F64) {
            OperationSpelling::Library { c, rust } => Some((row.name().to_uppercase(), library(rust, c))),
            _ => None,
        }));
        words.extend([("T".into(), ty.into()), ("BITS".into(), bits.into())]);
        let words: Vec<(&str, &str)> = words.iter().map(|(word, text)| (&word[..], &text[..])).collect();
        let text = function.single.rust.filter(|_| single).unwrap_or(function.rust);
        let text = text.replace("NAME_S", &format!("{name}_S"));
        let text = text.replace("_S(", &format!("_{ty}(")).replace(" ORDER ", &format!(" {order} "));
        let text = replaced(&text, &words).trim_end().to_string();
        if with_std { text } else { inline::without_std(text) }
    };
    ordered(helpers, |function| function.single.rust).iter().map(text).collect()
}

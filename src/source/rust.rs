//! Rust.

use super::language::{ArrayParameter, ArraySlice, Helper, Language, scratch_name};
use crate::operation::HelperFunction;
use crate::shape::{DType, Value};
use std::collections::BTreeSet;

/// Rust with the standard library, or without it, where the crate `libm` takes its place.
pub(crate) struct Rust {
    pub(crate) with_std: bool,
    /// Whether elementary functions are written inline.
    pub(crate) inline_math: bool,
}

/// A float as a literal of a type that is known from elsewhere.
fn float(text: String, dtype: &str, is_nan: bool, infinite: Option<bool>) -> String {
    match (is_nan, infinite) {
        (true, _) => format!("{dtype}::NAN"),
        (_, Some(true)) => format!("{dtype}::INFINITY"),
        (_, Some(false)) => format!("{dtype}::NEG_INFINITY"),
        // A method of a negative literal is one of the number without its sign.
        _ if text.starts_with('-') => format!("({text})"),
        _ => text,
    }
}

/// A call of a function of the crate `libm`.
fn in_libm(name: &str, dtype: DType, operands: &[&str]) -> String {
    let ending = if dtype == DType::F32 { "f" } else { "" };
    format!("libm::{name}{ending}({})", operands.join(", "))
}

impl Language for Rust {
    fn inlines_math(&self) -> bool {
        self.inline_math
    }

    fn dtype(&self, dtype: DType) -> &'static str {
        match dtype {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::Bool => "bool",
        }
    }

    fn literal(&self, value: Value) -> String {
        let infinite = |x: f64| x.is_infinite().then_some(x > 0.0);
        match value {
            Value::F32(x) => float(format!("{x:?}_f32"), "f32", x.is_nan(), infinite(f64::from(x))),
            Value::F64(x) => float(format!("{x:?}_f64"), "f64", x.is_nan(), infinite(x)),
            Value::I32(x) if x < 0 => format!("({x}_i32)"),
            Value::I32(x) => format!("{x}_i32"),
            Value::I64(x) if x < 0 => format!("({x}_i64)"),
            Value::I64(x) => format!("{x}_i64"),
            Value::Bool(x) => x.to_string(),
        }
    }

    fn declare(&self, name: &str, dtype: DType, value: &str) -> String {
        format!("let {name}: {} = {value};", self.dtype(dtype))
    }

    fn declare_variable(&self, name: &str, dtype: DType, value: &str) -> String {
        format!("let mut {name}: {} = {value};", self.dtype(dtype))
    }

    fn declare_lanes(&self, name: &str, _: DType, count: usize, value: &str) -> String {
        format!("let mut {name} = [{value}; {count}];")
    }

    fn for_loop(&self, variable: &str, start: &str, end: &str) -> String {
        format!("for {variable} in {start}..{end}")
    }

    fn endless_loop(&self) -> &'static str {
        "loop"
    }

    fn condition(&self, condition: &str) -> String {
        format!("if {condition}")
    }

    fn choice(&self, condition: &str, yes: &str, no: &str) -> String {
        format!("if {condition} {{ {yes} }} else {{ {no} }}")
    }

    fn signed(&self, counter: &str) -> String {
        format!("({counter} as i64)")
    }

    fn counter(&self, signed: &str) -> String {
        format!("{signed} as usize")
    }

    fn declare_index(&self, name: &str, value: &str) -> String {
        format!("let {name}: usize = {value};")
    }

    fn declare_counter(&self, name: &str, value: &str) -> String {
        format!("let mut {name}: usize = {value};")
    }

    fn cast(&self, operand: &str, from: DType, to: DType, _: &mut BTreeSet<Helper>) -> String {
        let name = self.dtype(to);
        match (from, to) {
            (from, to) if from == to => operand.to_string(),
            (DType::Bool, DType::F32 | DType::F64) => format!("{operand} as u8 as {name}"),
            (from, DType::Bool) if from.is_float() => format!("{operand} != 0.0"),
            (_, DType::Bool) => format!("{operand} != 0"),
            _ => format!("{operand} as {name}"),
        }
    }

    fn library(&self, c: &str, rust: &str, dtype: DType, operands: &[&str]) -> (String, bool) {
        let text = match self.with_std {
            true => format!("{}.{rust}({})", operands[0], operands[1..].join(", ")),
            false => in_libm(c, dtype, operands),
        };
        (text, true)
    }

    fn special(&self, name: &str, dtype: DType, operands: &[&str]) -> (String, bool) {
        let text = match dtype {
            // As the library does, in double precision.
            DType::F32 => format!("(libm::{name}({} as f64) as f32)", operands[0]),
            _ => in_libm(name, dtype, operands),
        };
        (text, true)
    }

    fn literal_ending(&self, _: DType) -> &'static str {
        ""
    }

    fn logical<'a>(&self, _: &'a str, rust: &'a str) -> &'a str {
        rust
    }

    fn helper(
        &self,
        function: &'static HelperFunction,
        dtype: DType,
        operands: &[&str],
        helpers: &mut BTreeSet<Helper>,
    ) -> String {
        helpers.insert((function, dtype));
        format!("{}_{}({})", function.name, self.dtype(dtype), operands.join(", "))
    }

    fn bind(&self, name: &str, _: DType, part: &ArraySlice<'_>, writes: bool) -> String {
        format!("let {name} = {};", self.argument(part, writes))
    }

    fn bind_variable(&self, name: &str, _: DType, part: &ArraySlice<'_>) -> String {
        format!("let mut {name} = {};", self.argument(part, true))
    }

    fn argument(&self, ArraySlice { array, offset, count }: &ArraySlice<'_>, writes: bool) -> String {
        let reference = if writes { "&mut " } else { "&" };
        match (&offset[..], count) {
            ("0", Some(count)) => format!("{reference}{array}[..{count}]"),
            ("0", None) => format!("{reference}{array}[..]"),
            (offset, Some(count)) => format!("{reference}{array}[{offset}..][..{count}]"),
            (offset, None) => format!("{reference}{array}[{offset}..]"),
        }
    }

    fn swap(&self, a: &str, b: &str, _: DType) -> String {
        format!("core::mem::swap(&mut {a}, &mut {b});")
    }

    fn copy(&self, to: &ArraySlice<'_>, from: &ArraySlice<'_>, count: usize, _: DType) -> String {
        let part = |ArraySlice { array, offset, .. }: &ArraySlice<'_>| match &offset[..] {
            "0" => format!("{array}[..{count}]"),
            offset => format!("{array}[{offset}..][..{count}]"),
        };
        format!("{}.copy_from_slice(&{});", part(to), part(from))
    }

    fn fill(&self, array: &str, count: usize, value: &str) -> String {
        format!("{array}[..{count}].fill({value});")
    }

    fn function(&self, name: &str, parameters: &[ArrayParameter], scratch: &[DType], fails: bool) -> String {
        let one = |parameter: &ArrayParameter| {
            let reference = if parameter.writes { "&mut " } else { "&" };
            format!("{}: {reference}[{}]", parameter.name, self.dtype(parameter.dtype))
        };
        let scratch = scratch.iter().map(|&dtype| format!("{}: &mut [{}]", scratch_name(dtype), self.dtype(dtype)));
        let all: Vec<String> = parameters.iter().map(one).chain(scratch).collect();
        let result = if fails { " -> bool" } else { "" };
        format!("pub(crate) fn {name}({}){result}", all.join(", "))
    }

    fn prologue(&self, parameters: &[ArrayParameter], _: &[DType]) -> Vec<String> {
        let one = |parameter: &ArrayParameter| {
            let reference = if parameter.writes { "&mut " } else { "&" };
            let (name, count) = (&parameter.name, parameter.count?);
            Some(format!("let {name} = {reference}{name}[..{count}];"))
        };
        parameters.iter().filter_map(one).collect()
    }

    fn call(&self, name: &str, arguments: &[String]) -> String {
        format!("{name}({})", arguments.join(", "))
    }

    fn take(&self, name: &str, dtype: DType, _: usize, count: usize) -> String {
        let scratch = scratch_name(dtype);
        format!("let ({name}, {scratch}) = {scratch}.split_at_mut({count});")
    }

    fn local(&self, name: &str, dtype: DType, count: usize) -> String {
        format!("let {name} = &mut [{}; {count}];", self.literal(Value::from_i64(dtype, 0)))
    }

    fn takes_in_turn(&self) -> bool {
        true
    }

    fn constant(&self, name: &str, dtype: DType, elements: &[String]) -> Vec<String> {
        let head = format!("static {name}: [{}; {}] = [", self.dtype(dtype), elements.len());
        super::text::listed(&head, elements, "];")
    }

    fn constant_name(&self, name: &str) -> String {
        name.to_string()
    }
}

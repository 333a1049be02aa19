//! C of 1999, and the C of OpenCL.

use super::helpers::routines;
use super::language::{ArrayParameter, ArraySlice, Helper, Language, scratch_name};
use crate::operation::HelperFunction;
use crate::shape::{DType, Value};
use std::collections::BTreeSet;

/// C, whose functions begin with a prefix of the program's own.
pub(crate) struct C {
    pub(crate) prefix: String,
    /// Whether this is OpenCL C, which has its own names for types, and functions that serve both precisions.
    pub(crate) is_opencl: bool,
    /// Whether elementary functions are written inline.
    pub(crate) inline_math: bool,
}

impl C {
    /// The qualifier that promises that no other name in a function or block refers to the elements of an array that is written
    /// there. OpenCL compilers inline all functions. Some then take a promise made for one call (PoCL with LLVM 15, on
    /// parameters; Intel's of 2026, on names in blocks) for a promise about all steps of the loop around it, between which
    /// arrays change places.
    fn alone(&self) -> &'static str {
        if self.is_opencl { "" } else { "restrict " }
    }

    pub(crate) fn pointer(&self, dtype: DType, writes: bool) -> String {
        let constant = if writes { "" } else { "const " };
        let space = if self.is_opencl { "__global " } else { "" };
        format!("{space}{constant}{} *", self.dtype(dtype))
    }

    fn float(&self, dtype: DType, x: f64, text: String) -> String {
        // These macros have single precision. OpenCL's functions are overloaded for both precisions and take no mixture.
        let cast = if self.is_opencl && dtype == DType::F64 { "(double)" } else { "" };
        match () {
            () if x.is_finite() && x.is_sign_negative() => format!("({text})"),
            () if x.is_finite() => text,
            () if x == f64::NEG_INFINITY => format!("({cast}-INFINITY)"),
            () => {
                let name = if x.is_nan() { "NAN" } else { "INFINITY" };
                if cast.is_empty() { name.into() } else { format!("({cast}{name})") }
            }
        }
    }
}

impl Language for C {
    fn inlines_math(&self) -> bool {
        self.inline_math
    }

    fn dtype(&self, dtype: DType) -> &'static str {
        match (dtype, self.is_opencl) {
            (DType::F32, _) => "float",
            (DType::F64, _) => "double",
            (DType::I32, false) => "int32_t",
            (DType::I64, false) => "int64_t",
            (DType::Bool, false) => "bool",
            (DType::I32, true) => "int",
            (DType::I64, true) => "long",
            // Truth values are no type that kernels may take.
            (DType::Bool, true) => "uchar",
        }
    }

    fn literal(&self, value: Value) -> String {
        match value {
            Value::F32(x) => self.float(DType::F32, f64::from(x), format!("{x:?}f")),
            Value::F64(x) => self.float(DType::F64, x, format!("{x:?}")),
            Value::I32(i32::MIN) => "(-2147483647 - 1)".into(),
            Value::I32(x) if x < 0 => format!("({x})"),
            Value::I32(x) => x.to_string(),
            // There are no negative literals: the smallest number has none.
            Value::I64(i64::MIN) if self.is_opencl => "(-9223372036854775807L - 1)".into(),
            Value::I64(x) if self.is_opencl => format!("({x}L)"),
            Value::I64(i64::MIN) => "(-INT64_C(9223372036854775807) - 1)".into(),
            Value::I64(x) if x < 0 => format!("(-INT64_C({}))", x.unsigned_abs()),
            Value::I64(x) => format!("INT64_C({x})"),
            Value::Bool(x) => u8::from(x).to_string(),
        }
    }

    fn declare(&self, name: &str, dtype: DType, value: &str) -> String {
        format!("const {} {name} = {value};", self.dtype(dtype))
    }

    fn declare_variable(&self, name: &str, dtype: DType, value: &str) -> String {
        format!("{} {name} = {value};", self.dtype(dtype))
    }

    fn declare_lanes(&self, name: &str, dtype: DType, count: usize, value: &str) -> String {
        let values = vec![value; count].join(", ");
        format!("{} {name}[{count}] = {{{values}}};", self.dtype(dtype))
    }

    fn for_loop(&self, variable: &str, start: &str, end: &str) -> String {
        let counter = self.dtype(DType::I64);
        format!("for ({counter} {variable} = {start}; {variable} < {end}; {variable}++)")
    }

    fn endless_loop(&self) -> &'static str {
        "for (;;)"
    }

    fn condition(&self, condition: &str) -> String {
        format!("if ({condition})")
    }

    fn choice(&self, condition: &str, yes: &str, no: &str) -> String {
        format!("{condition} ? {yes} : {no}")
    }

    fn signed(&self, counter: &str) -> String {
        counter.to_string()
    }

    fn counter(&self, signed: &str) -> String {
        signed.to_string()
    }

    fn declare_index(&self, name: &str, value: &str) -> String {
        format!("const {} {name} = {value};", self.dtype(DType::I64))
    }

    fn declare_counter(&self, name: &str, value: &str) -> String {
        format!("{} {name} = {value};", self.dtype(DType::I64))
    }

    fn cast(&self, operand: &str, from: DType, to: DType, helpers: &mut BTreeSet<Helper>) -> String {
        match (from, to) {
            (from, to) if from == to => operand.to_string(),
            (from, DType::Bool) => format!("{operand} != {}", self.literal(Value::from_i64(from, 0))),
            (from, DType::I32 | DType::I64) if from.is_float() => {
                let function = if to == DType::I32 { &routines::I32_FROM } else { &routines::I64_FROM };
                self.helper(function, from, &[operand], helpers)
            }
            (DType::I64, DType::I32) => self.helper(&routines::NARROWED, DType::I64, &[operand], helpers),
            _ => format!("({}){operand}", self.dtype(to)),
        }
    }

    fn library(&self, c: &str, _: &str, dtype: DType, operands: &[&str]) -> (String, bool) {
        let ending = if dtype == DType::F32 && !self.is_opencl { "f" } else { "" };
        (format!("{c}{ending}({})", operands.join(", ")), true)
    }

    fn special(&self, name: &str, dtype: DType, operands: &[&str]) -> (String, bool) {
        match dtype {
            DType::F32 => (format!("(float){name}((double){})", operands[0]), false),
            _ => self.library(name, name, dtype, operands),
        }
    }

    fn literal_ending(&self, dtype: DType) -> &'static str {
        if dtype == DType::F32 { "f" } else { "" }
    }

    fn logical<'a>(&self, c: &'a str, _: &'a str) -> &'a str {
        c
    }

    fn helper(
        &self,
        function: &'static HelperFunction,
        dtype: DType,
        operands: &[&str],
        helpers: &mut BTreeSet<Helper>,
    ) -> String {
        helpers.insert((function, dtype));
        format!("{}_{}_{}({})", self.prefix, function.name, dtype.name(), operands.join(", "))
    }

    fn bind(&self, name: &str, dtype: DType, part: &ArraySlice<'_>, writes: bool) -> String {
        let pointer = self.pointer(dtype, writes);
        format!("{pointer}{}{name} = {};", self.alone(), self.argument(part, writes))
    }

    fn bind_variable(&self, name: &str, dtype: DType, part: &ArraySlice<'_>) -> String {
        format!("{}{name} = {};", self.pointer(dtype, true), self.argument(part, true))
    }

    fn argument(&self, ArraySlice { array, offset, .. }: &ArraySlice<'_>, _: bool) -> String {
        if offset == "0" { array.to_string() } else { format!("{array} + {offset}") }
    }

    fn swap(&self, a: &str, b: &str, dtype: DType) -> String {
        format!("{{ {}swapped = {a}; {a} = {b}; {b} = swapped; }}", self.pointer(dtype, true))
    }

    fn copy(&self, to: &ArraySlice<'_>, from: &ArraySlice<'_>, count: usize, dtype: DType) -> String {
        let (to, from) = (self.argument(to, true), self.argument(from, false));
        if self.is_opencl {
            return format!("for (long at = 0; at < {count}; at++) ({to})[at] = ({from})[at];");
        }
        format!("memcpy({to}, {from}, {count} * sizeof({}));", self.dtype(dtype))
    }

    fn fill(&self, array: &str, count: usize, value: &str) -> String {
        let counter = self.dtype(DType::I64);
        format!("for ({counter} at = 0; at < {count}; at++) {array}[at] = {value};")
    }

    fn function(&self, name: &str, parameters: &[ArrayParameter], scratch: &[DType], fails: bool) -> String {
        let alone = self.alone();
        let one = |parameter: &ArrayParameter| {
            format!("{}{alone}{}", self.pointer(parameter.dtype, parameter.writes), parameter.name)
        };
        let scratch =
            scratch.iter().map(|&dtype| format!("{}{alone}{}", self.pointer(dtype, true), scratch_name(dtype)));
        let all: Vec<String> = parameters.iter().map(one).chain(scratch).collect();
        let all = if all.is_empty() { "void".into() } else { all.join(", ") };
        let result = if fails { "bool" } else { "void" };
        let linkage = if self.is_opencl { "" } else { "static " };
        format!("{linkage}{result} {}_{name}({all})", self.prefix)
    }

    fn prologue(&self, parameters: &[ArrayParameter], scratch: &[DType]) -> Vec<String> {
        // Not all arrays are read.
        let names = parameters.iter().map(|parameter| &parameter.name[..]);
        names.chain(scratch.iter().map(|&dtype| scratch_name(dtype))).map(|name| format!("(void){name};")).collect()
    }

    fn has_own_memory(&self) -> bool {
        // Pointers to it are others than those to the memory of the host's.
        !self.is_opencl
    }

    fn call(&self, name: &str, arguments: &[String]) -> String {
        format!("{}_{name}({})", self.prefix, arguments.join(", "))
    }

    fn take(&self, name: &str, dtype: DType, start: usize, _: usize) -> String {
        format!("{}{name} = {} + {start};", self.pointer(dtype, true), scratch_name(dtype))
    }

    fn local(&self, name: &str, dtype: DType, count: usize) -> String {
        format!("{} {name}[{count}];", self.dtype(dtype))
    }

    fn constant(&self, name: &str, dtype: DType, elements: &[String]) -> Vec<String> {
        let space = if self.is_opencl { "__constant" } else { "static const" };
        let head = format!("{space} {} {name}[{}] = {{", self.dtype(dtype), elements.len());
        super::text::listed(&head, elements, "};")
    }

    fn constant_name(&self, name: &str) -> String {
        format!("{}_{}", self.prefix, name.to_lowercase())
    }
}

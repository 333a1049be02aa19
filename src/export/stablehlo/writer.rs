//! The text of a module: lines, names of values, and regions.

use crate::concrete::Array;
use crate::error::Result;
use crate::shape::{DType, Type, Value};
use std::fmt::Write;
use std::rc::Rc;

/// A value of the module: its name, with the `%`, and its type.
#[derive(Clone)]
pub(super) struct Handle {
    pub(super) name: Rc<str>,
    pub(super) ty: Type,
}

impl Handle {
    /// A value that has a name already.
    pub(super) fn new(name: &str, ty: Type) -> Handle {
        Handle { name: name.into(), ty }
    }
}

/// A list, with commas.
pub(super) fn list<T>(items: impl IntoIterator<Item = T>, mut text: impl FnMut(T) -> String) -> String {
    items.into_iter().map(&mut text).collect::<Vec<_>>().join(", ")
}

/// The names of values.
pub(super) fn names(values: &[&Handle]) -> String {
    list(values, |value| value.name.to_string())
}

/// The types of values.
pub(super) fn types(values: &[&Handle]) -> String {
    list(values, |value| tensor(&value.ty))
}

/// An element type.
fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "i1",
        number => number.name(),
    }
}

/// A type: `tensor<3x4xf64>`.
pub(super) fn tensor(ty: &Type) -> String {
    let mut text = String::from("tensor<");
    for extent in &ty.shape {
        let _ = write!(text, "{extent}x");
    }
    text + element(ty.dtype) + ">"
}

/// A float as a literal: the shortest decimals that read back as the number, which always have a point here, or the bits of an
/// infinity or NaN.
fn float(x: f64, bits: String) -> String {
    if !x.is_finite() {
        return bits;
    }
    let digits = format!("{x:?}");
    match digits.split_once('e') {
        Some((number, exponent)) if !number.contains('.') => format!("{number}.0e{exponent}"),
        _ => digits,
    }
}

/// An element of a constant.
fn literal(value: Value) -> String {
    match value {
        // Decimals are read as `f64` and then rounded: those of the same number in `f64` are exact.
        Value::F32(x) => float(f64::from(x), format!("0x{:08X}", x.to_bits())),
        Value::F64(x) => float(x, format!("0x{:016X}", x.to_bits())),
        Value::I32(x) => x.to_string(),
        Value::I64(x) => x.to_string(),
        Value::Bool(x) => x.to_string(),
    }
}

/// The elements of a constant, in brackets along each axis; one, where all are equal.
pub(super) fn dense(array: &Array) -> String {
    let size = array.size();
    if size == 0 {
        return "dense<>".into();
    }
    let first = array.element(0);
    if array.uniform().is_some() || (1..size).all(|at| array.element(at) == first) {
        return format!("dense<{}>", literal(first));
    }
    let mut text = String::from("dense<");
    for at in 0..size {
        // How many axes begin and end at this element.
        let mut stride = 1;
        let (mut begins, mut ends) = (0, 0);
        for &extent in array.shape().iter().rev() {
            stride *= extent;
            begins += usize::from(at % stride == 0);
            ends += usize::from((at + 1) % stride == 0);
        }
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(&"[".repeat(begins));
        text.push_str(&literal(array.element(at)));
        text.push_str(&"]".repeat(ends));
    }
    text + ">"
}

/// Writes a module line by line.
#[derive(Default)]
pub(super) struct ModuleWriter {
    text: String,
    indentation: usize,
    values: usize,
    /// For each loop being written, a value that changes from step to step.
    pub(super) changing: Vec<Handle>,
}

impl ModuleWriter {
    /// The written text.
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// A line of text.
    pub(super) fn line(&mut self, text: &str) {
        for _ in 0..self.indentation {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Writes `inside` indented.
    pub(super) fn indented<T>(&mut self, inside: impl FnOnce(&mut ModuleWriter) -> T) -> T {
        self.indentation += 1;
        let result = inside(self);
        self.indentation -= 1;
        result
    }

    /// A name that no value has.
    pub(super) fn fresh(&mut self) -> String {
        self.values += 1;
        format!("%{}", self.values - 1)
    }

    /// The result of an operation, whose text follows the equals sign.
    pub(super) fn define(&mut self, ty: Type, operation: &str) -> Handle {
        let name = self.fresh();
        self.line(&format!("{name} = {operation}"));
        Handle::new(&name, ty)
    }

    /// The parameters of a block, of these types.
    pub(super) fn parameters(&mut self, types: &[Type]) -> Vec<Handle> {
        types.iter().map(|ty| Handle::new(&self.fresh(), ty.clone())).collect()
    }

    /// The content of a region, which ends with its results.
    pub(super) fn region(&mut self, inside: impl FnOnce(&mut ModuleWriter) -> Result<Vec<Handle>>) -> Result<()> {
        self.indented(|writer| {
            let results = inside(writer)?;
            writer.end_region(&results);
            Ok(())
        })
    }

    fn end_region(&mut self, results: &[Handle]) {
        let results: Vec<&Handle> = results.iter().collect();
        match results.is_empty() {
            true => self.line("stablehlo.return"),
            false => self.line(&format!("stablehlo.return {} : {}", names(&results), types(&results))),
        }
    }

    /// The results of an operation that has some, of these types, by the name that stands for them all.
    pub(super) fn results(name: &str, types: &[Type]) -> Vec<Handle> {
        let result = |(position, ty): (usize, &Type)| Handle::new(&format!("{name}#{position}"), ty.clone());
        types.iter().enumerate().map(result).collect()
    }
}

//! The names that a staged function is printed under.

use crate::term::{Body, Extension, Program};
use std::sync::Arc;

/// The names of a program, its parameters and its results; an empty name is the printer's choice.
pub(super) struct Signature {
    name: String,
    parameters: Vec<String>,
    results: Vec<String>,
}

/// Names that say what the arrays are to those of these names.
fn labelled(label: &str, names: &[String]) -> impl Iterator<Item = String> {
    names.iter().enumerate().map(move |(position, name)| match (&name[..], names.len()) {
        ("", 1) => label.to_string(),
        ("", _) => format!("{label}.{position}"),
        (name, _) => format!("{label}.{name}"),
    })
}

/// The name of a function among the types; that of a closure is empty.
fn function_name<F>() -> String {
    let path = std::any::type_name::<F>();
    // What a function is generic in follows its name.
    let path = path.split('<').next().unwrap_or(path);
    let name = path.rsplit("::").next().unwrap_or(path);
    if name.starts_with('{') { String::new() } else { name.to_string() }
}

impl Signature {
    /// Of a function as it was written, whose parameters and results have these names.
    pub(super) fn of<F>(parameters: Vec<String>, results: Vec<String>) -> Self {
        Signature { name: function_name::<F>(), parameters, results }
    }

    fn derived(&self, derivative: &str, parameters: Vec<String>, results: Vec<String>) -> Self {
        let name = if self.name.is_empty() { "f" } else { &self.name };
        Signature { name: format!("{derivative}_{name}"), parameters, results }
    }

    fn active(&self, count: usize) -> &[String] {
        &self.parameters[..count]
    }

    /// Of the gradient with respect to the first arrays.
    pub(super) fn gradient(&self, active: usize) -> Self {
        let results = labelled("gradient", self.active(active)).collect();
        self.derived("grad", self.parameters.clone(), results)
    }

    /// Of the results and the gradient with respect to the first arrays.
    pub(super) fn value_and_gradient(&self, active: usize) -> Self {
        let gradient = labelled("gradient", self.active(active));
        let results = labelled("value", &self.results).chain(gradient).collect();
        self.derived("value_and_grad", self.parameters.clone(), results)
    }

    /// Of the results and the cotangents of the first arrays, given those of the results.
    pub(super) fn vjp(&self, active: usize) -> Self {
        let given = labelled("cotangent", &self.results);
        let results = labelled("value", &self.results).chain(labelled("cotangent", self.active(active))).collect();
        self.derived("vjp", self.parameters.iter().cloned().chain(given).collect(), results)
    }

    /// Of the results and their tangents, given those of the first arrays.
    pub(super) fn jvp(&self, active: usize) -> Self {
        let given = labelled("tangent", self.active(active));
        let results = labelled("value", &self.results).chain(labelled("tangent", &self.results)).collect();
        self.derived("jvp", self.parameters.iter().cloned().chain(given).collect(), results)
    }

    /// A program under these names.
    pub(super) fn named<X: Extension>(&self, body: Arc<Body<X>>) -> Program<X> {
        let (parameters, results) = (self.parameters.clone(), self.results.clone());
        Program { name: self.name.clone(), parameters, results, body }
    }
}

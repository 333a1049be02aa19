//! The names that a staged function is printed under.

use crate::tensor::Outline;
use crate::tensor::attribute::Names;
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

/// The name of a function by that of its type; of a closure empty, but of that of an `ArrayFn` its name.
fn function_name(ty: &str) -> String {
    // The closure's type is that of a closure in a method, `<path::name<T> as path::ArrayFn>::closure<A>::{{closure}}`.
    let of_array_fn = ty.strip_prefix('<').and_then(|ty| ty.split_once("ArrayFn>::closure<")).map(|(ty, _)| ty);
    let path = of_array_fn.unwrap_or(ty).trim_start_matches('&');
    // What a function is generic in follows its name, and so does the trait.
    let path = path.split(['<', ' ']).next().unwrap_or(path);
    let name = path.rsplit("::").next().unwrap_or(path);
    if name.starts_with('{') { String::new() } else { name.trim_start_matches("r#").to_string() }
}

/// The names of arrays by those of the parameters that they are or are in.
fn parameter_names(arguments: &Outline, parameters: &[&str]) -> Vec<String> {
    let within = |parameter: &str, path: &str| match (parameter, path) {
        ("", path) => path.to_string(),
        (parameter, "") => parameter.to_string(),
        (parameter, path) => format!("{parameter}.{path}"),
    };
    if let [parameter] = parameters {
        return arguments.paths().iter().map(|path| within(parameter, path)).collect();
    }
    let arguments = arguments.arguments();
    arguments.iter().map(|(at, path)| within(parameters.get(*at).unwrap_or(&""), path)).collect()
}

impl Signature {
    /// Of a function as it was written, from its arguments to its results, with what was heard when it was entered.
    pub(super) fn of<F>(arguments: &Outline, results: &Outline, heard: Option<Names>) -> Self {
        let name = function_name(std::any::type_name::<F>());
        let parameters = match heard {
            Some((function, parameters)) if function == name => parameter_names(arguments, parameters),
            _ => arguments.names(),
        };
        Signature { name, parameters, results: results.names() }
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

//! The names that a staged function is printed under.

use crate::tensor::Outline;
use crate::tensor::attribute::ItemNames;
use crate::term::{Body, Extension, Program};
use std::sync::Arc;

/// The names of a program, its parameters and its results; an empty name is the printer's choice.
#[derive(Clone)]
pub(super) struct ProgramNames {
    name: String,
    parameters: Vec<String>,
    results: Vec<String>,
}

/// Names that relate the arrays to those with these names.
fn labelled(label: &str, names: &[String]) -> impl Iterator<Item = String> {
    names.iter().enumerate().map(move |(position, name)| match (&name[..], names.len()) {
        ("", 1) => label.to_string(),
        ("", _) => format!("{label}.{position}"),
        (name, _) => format!("{label}.{name}"),
    })
}

/// A path by the name of a type, without generic arguments.
fn path_of(ty: &str) -> String {
    let (mut path, mut depth, mut before) = (String::new(), 0usize, ' ');
    for character in ty.trim_start_matches('&').chars() {
        match character {
            '<' => depth += 1,
            // The arrow of a function's type closes nothing.
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => path.push(character),
            _ => {}
        }
        before = character;
    }
    path
}

/// The path of a function, from the name of its type. For the closure of an `ArrayFn` it is the path of the `ArrayFn`.
fn function_path(ty: &str) -> String {
    // Such a closure is defined in a method, and its type reads `<path::name<T> as path::ArrayFn>::closure<A>::{{closure}}`.
    let of_array_fn = ty.strip_prefix('<').and_then(|ty| ty.split_once("ArrayFn>::closure<")).map(|(ty, _)| ty);
    match of_array_fn {
        Some(ty) => path_of(ty.rsplit_once(" as ").map_or(ty, |(ty, _)| ty)),
        None => path_of(ty),
    }
}

/// The name of a function, from its path. Empty for a closure, for a pointer, and for a type that holds one of these.
fn function_name(path: &str) -> &str {
    let name = path.rsplit("::").next().unwrap_or(path);
    let name = name.strip_prefix("r#").unwrap_or(name);
    let identifier = name.chars().all(|character| character.is_alphanumeric() || character == '_');
    // A type that is no path has brackets or spaces in it.
    let item = !path.contains(['(', ' ', '[']) && !path.starts_with("alloc::");
    if identifier && item { name } else { "" }
}

/// Whether an item of this path stands in the body of a function of that path.
fn is_inside(item: &str, function: &str) -> bool {
    path_of(item).rsplit_once("::").is_some_and(|(path, _)| path == function)
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

impl ProgramNames {
    /// The signature of a function as it was written, with the names that it reported when it was entered.
    pub(super) fn of<F>(arguments: &Outline, results: &Outline, heard: Option<ItemNames>) -> Self {
        let path = function_path(std::any::type_name::<F>());
        let name = function_name(&path).to_string();
        let parameters = match heard {
            Some((inside, parameters)) if is_inside(inside, &path) => parameter_names(arguments, parameters),
            _ => arguments.names(),
        };
        ProgramNames { name, parameters, results: results.names() }
    }

    /// The names of the arrays that are its parameters.
    pub(super) fn parameters(&self) -> &[String] {
        &self.parameters
    }

    fn derived(&self, derivative: &str, parameters: Vec<String>, results: Vec<String>) -> Self {
        let name = if self.name.is_empty() { "f" } else { &self.name };
        ProgramNames { name: format!("{derivative}_{name}"), parameters, results }
    }

    fn active(&self, count: usize) -> &[String] {
        &self.parameters[..count]
    }

    /// The signature of the gradient with respect to the first arrays.
    pub(super) fn gradient(&self, active: usize) -> Self {
        let results = labelled("gradient", self.active(active)).collect();
        self.derived("grad", self.parameters.clone(), results)
    }

    /// The signature of the results and the gradient with respect to the first arrays.
    pub(super) fn value_and_gradient(&self, active: usize) -> Self {
        let gradient = labelled("gradient", self.active(active));
        let results = labelled("value", &self.results).chain(gradient).collect();
        self.derived("value_and_grad", self.parameters.clone(), results)
    }

    /// The signature of the results and the cotangents of the first arrays, given the results' cotangents.
    pub(super) fn vjp(&self, active: usize) -> Self {
        let given = labelled("cotangent", &self.results);
        let results = labelled("value", &self.results).chain(labelled("cotangent", self.active(active))).collect();
        self.derived("vjp", self.parameters.iter().cloned().chain(given).collect(), results)
    }

    /// The signature of the results and their tangents, given the first arrays' tangents.
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

#[cfg(test)]
mod tests {
    use super::{function_name, function_path, is_inside};

    #[test]
    fn functions_are_called_by_their_own_names() {
        for (ty, name) in [
            ("my::loss", "loss"),
            ("my::loss<deltaray::staged::Staged>", "loss"),
            ("&&my::loss<core::option::Option<fn(f64) -> f64>>", "loss"),
            ("my::r#match", "match"),
            ("my::Model<A>::apply", "apply"),
            ("my::Model<A>::apply<alloc::vec::Vec<u8>>", "apply"),
            ("<my::Model<A> as my::Trait<u8>>::apply", "apply"),
            ("<my::Model<A> as my::Trait>::apply::inner", "inner"),
            ("my::generic<T>::{{closure}}", ""),
            ("my::Model<A>::apply<B>::{{closure}}::{{closure}}", ""),
            ("<my::Model<A> as my::Trait>::apply::{{closure}}", ""),
            ("<my::loss<my::T> as deltaray::derivative::function::ArrayFn>::closure<S>::{{closure}}", "loss"),
            ("<&my::Grad<my::loss> as deltaray::derivative::function::ArrayFn>::closure<S>::{{closure}}", "Grad"),
            ("fn(&deltaray::Tensor<f64>) -> deltaray::Tensor<f64>", ""),
            ("for<'a> fn(&'a my::Tensor) -> my::Tensor", ""),
            ("alloc::boxed::Box<dyn core::ops::function::Fn(u8) -> u8>", ""),
            ("&dyn core::ops::function::Fn(u8) -> my::Tensor", ""),
        ] {
            assert_eq!(function_name(&function_path(ty)), name, "{ty}");
        }
    }

    #[test]
    fn items_are_inside_of_functions_of_the_whole_path() {
        assert!(is_inside("my::a::loss::inside", &function_path("my::a::loss<T>")));
        assert!(is_inside("my::M<_>::apply::loss::inside", &function_path("my::M<u8>::apply::loss")));
        assert!(!is_inside("my::b::loss::inside", &function_path("my::a::loss<T>")));
        assert!(!is_inside("loss", "loss"));
    }
}

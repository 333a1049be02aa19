//! Printed programs (P 7.4): the shared graph, unshared into lets.
//!
//! A node that is used once is written where it is used, so that a program reads like formulas; a node that is used more
//! often, or would make a line too long, gets a `let` with its type. Names are numbered in order of appearance: equal
//! programs print equal text, on every run. The grammar is in [the
//! guide](crate::guide::printed_programs).

mod expression;
mod lines;
mod listing;
mod literal;
mod names;
mod text;
mod view_names;
mod writer;

pub(crate) use expression::{contraction_labels, head, name, view_name};
pub(crate) use listing::{ListingLine, TextPiece};
pub(crate) use names::{DTYPES, is_keyword};
pub(crate) use view_names::parts;

#[cfg(test)]
mod tests;

use crate::shape::Type;
use crate::term::op::Body;
use crate::term::op::Extension;
use lines::wrap;
use literal::LiteralSpelling;
use names::{Name, Names};
use std::fmt;
use writer::ProgramWriter;

/// Prints a program under names of the caller's choice.
///
/// ```
/// use deltaray::operation::{Binary, Unary};
/// use deltaray::shape::{DType, Type};
/// use deltaray::term::print::Printer;
/// use deltaray::term::{Body, Graph, Op};
///
/// let mut graph = Graph::new(&[Type::new(DType::F64, &[3])], 0);
/// let exp = graph.add(Op::Unary(Unary::Exp), &[0]);
/// let square = graph.add(Op::Binary(Binary::Mul), &[exp, exp]);
/// let body: Body = graph.finish(&[square]);
/// let text = Printer::new(&body).program("squares").parameters(["x"]).to_string();
/// assert_eq!(text, "\
/// program squares(x: f64[3]) -> f64[3]:
///     let m1: f64[3] = exp x
///     m1 * m1
/// ");
/// ```
pub struct Printer<'a, X: Extension> {
    body: &'a Body<X>,
    program: String,
    parameters: Vec<String>,
    results: Vec<String>,
    spelling: LiteralSpelling,
}

impl<'a, X: Extension> Printer<'a, X> {
    /// Prints under the default names: the program `f` of the parameters `p0`, `p1`, .. and the captures `c0`, `c1`, ..
    pub fn new(body: &'a Body<X>) -> Self {
        Printer {
            body,
            program: "f".into(),
            parameters: Vec::new(),
            results: Vec::new(),
            spelling: LiteralSpelling::Plain,
        }
    }

    /// The program's name.
    pub fn program(mut self, name: impl Into<String>) -> Self {
        self.program = name.into();
        self
    }

    /// The names of the parameters and then the captures; an empty name, or one left out at the end, is the default.
    ///
    /// Characters that a name can not have become `_`; a keyword, or a name that was given before, gets an ending.
    pub fn parameters<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.parameters = names.into_iter().map(Into::into).collect();
        self
    }

    /// The names of the results, which stand in the program's first line; by default they have none.
    pub fn results<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.results = names.into_iter().map(Into::into).collect();
        self
    }

    /// Prints the program completely: the elements of large constants follow it, and the payload of a NaN literal can be told.
    pub(crate) fn exact(mut self) -> Self {
        self.spelling = LiteralSpelling::Exact;
        self
    }

    fn header(&self, name: &str, parameters: &[Name]) -> String {
        let typed: Vec<String> = parameters
            .iter()
            .enumerate()
            .map(|(at, name)| format!("{name}: {}", self.body.parameter_type(at)))
            .collect();
        let (proper, captures) = typed.split_at(self.body.parameters);
        let captures = match captures {
            [] => String::new(),
            captures => format!("; {}", captures.join(", ")),
        };
        let result = |(at, ty): (usize, &Type)| match self.results.get(at) {
            Some(name) if !name.is_empty() => format!("{}: {ty}", names::sanitised(name)),
            _ => ty.to_string(),
        };
        let results: Vec<String> = self.body.result_types().enumerate().map(result).collect();
        let results = match &results[..] {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        };
        format!("program {name}({}{captures}) -> {results}:", proper.join(", "))
    }
}

impl<'a, X: Extension> Printer<'a, X> {
    /// The names of the parameters and captures, made legal and unique.
    fn reserve(&self, names: &mut Names) -> Vec<Name> {
        let name = |at: usize| match self.parameters.get(at) {
            Some(name) if !name.is_empty() => names.reserve(name),
            _ if at < self.body.parameters => names.reserve(&format!("p{at}")),
            _ => names.reserve(&format!("c{}", at - self.body.parameters)),
        };
        (0..self.body.arity()).map(name).collect()
    }

    /// The names of the parameters and captures, as they are printed.
    pub(crate) fn parameter_names(&self) -> Vec<String> {
        self.reserve(&mut Names::default()).iter().map(|name| name.to_string()).collect()
    }

    /// The first line of the program, without the colon at its end.
    pub(crate) fn head(&self) -> String {
        let head = self.header(&self.program_name(), &self.reserve(&mut Names::default()));
        head.trim_end_matches(':').to_string()
    }

    fn program_name(&self) -> String {
        if self.program.is_empty() { "f".to_string() } else { names::sanitised(&self.program) }
    }
}

impl<X: Extension> fmt::Display for Printer<'_, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Names::default();
        let parameters = self.reserve(&mut names);
        let program = self.program_name();
        for line in wrap(self.header(&program, &parameters), 0) {
            writeln!(f, "{line}")?;
        }
        for line in ProgramWriter::new(names, self.spelling).program(&X::widened(self.body), parameters) {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

impl<X: Extension> fmt::Display for Body<X> {
    /// The program under default names; [`Printer`] takes others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer::new(self).fmt(f)
    }
}

//! Programs with the names that they are exported under.

use crate::term::print::Printer;
use crate::term::{Body, Build, Extension, Never};
use std::fmt;
use std::sync::Arc;

/// A program on its own: in bulk form, or, as `Program<Build>`, as the function was written. A staged function has both, and
/// only the type tells them apart: `let program: Program = Program::from(&function);`.
///
/// Programs are equal if their names and arenas are. `Display` prints the program in the same way as the function that it comes
/// from.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program<X = Never>
where
    X: Extension, // alone: `let program: Program = Program::from(&function);`
{
    /// The name of the function; empty is the exporter's choice.
    pub name: String,
    /// The names of the parameters and then the captures, with dots where they are parts of a tree: `params.w1`. An empty
    /// name, or one left out at the end, is the exporter's choice.
    pub parameters: Vec<String>,
    /// The names of the results, in the same way.
    pub results: Vec<String>,
    /// The computation.
    pub body: Arc<Body<X>>,
}

impl<X: Extension> Program<X> {
    /// A program whose parameters and results have no names.
    pub fn new(name: impl Into<String>, body: Body<X>) -> Program<X> {
        Program { name: name.into(), parameters: Vec::new(), results: Vec::new(), body: Arc::new(body) }
    }

    /// The same program under another name.
    pub fn with_name(self, name: impl Into<String>) -> Program<X> {
        Program { name: name.into(), ..self }
    }

    /// The same program with other names of its parameters; those that are left out at the end are the exporter's choice.
    pub fn with_parameters<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Program<X> {
        Program { parameters: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same program with other names of its results, in the same way.
    pub fn with_results<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Program<X> {
        Program { results: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// A printer of the program under its names.
    pub(crate) fn printer(&self) -> Printer<'_, X> {
        let printer = Printer::new(&self.body).program(&self.name[..]);
        printer.parameters(&self.parameters[..]).results(&self.results[..])
    }
}

impl Program<Build> {
    /// The program in bulk form.
    ///
    /// # Panics
    ///
    /// When there is a `build`.
    pub(crate) fn narrow(self) -> Program {
        let Program { name, parameters, results, body } = self;
        Program { name, parameters, results, body: Arc::new(body.narrow()) }
    }
}

impl<X: Extension> From<&Program<X>> for Program<X> {
    fn from(program: &Program<X>) -> Program<X> {
        program.clone()
    }
}

impl<X: Extension> fmt::Display for Program<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.printer(), f)
    }
}

/// The program in its displayed form.
impl<X: Extension> fmt::Debug for Program<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

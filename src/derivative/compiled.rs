//! Staged functions compiled for an engine.

use super::staged::checked_arguments;
use crate::concrete::Concrete;
use crate::engine::cpu::{Cpu, Program};
use crate::error::Result;
use crate::simplify::fold_constants;
use crate::tensor::{Args, Family, Outline};
use crate::term::Body;
use std::fmt;
use std::sync::Arc;

/// A staged function as kernels: from a tree of family `In` to one of family `Out`.
///
/// Calling it takes `&self`, from any thread. `Display` prints the kernels.
pub struct Compiled<In: Family, Out: Family> {
    program: Program,
    body: Arc<Body>,
    output: Out::At<Concrete>,
    outline: Outline,
    input: std::marker::PhantomData<fn(In)>,
}

impl<In: Family, Out: Family> Compiled<In, Out> {
    #[track_caller]
    pub(super) fn new(
        body: Arc<Body>,
        output: Out::At<Concrete>,
        outline: Outline,
        options: &Cpu,
    ) -> Result<Compiled<In, Out>> {
        let program = Program::new(&fold_constants(&body), options)?;
        Ok(Compiled { program, body, output, outline, input: std::marker::PhantomData })
    }

    /// Runs the program.
    ///
    /// # Errors
    ///
    /// When the arguments have another structure, or an array another element type or shape, than the function was staged
    /// for; and when there is no memory.
    #[track_caller]
    pub fn call<X: Args<Concrete, Family = In>>(&self, arguments: X) -> Result<Out::At<Concrete>> {
        let arguments = checked_arguments(arguments, &self.outline, &self.body)?;
        let results = self.program.run(&arguments)?;
        Ok(Out::rebuild::<Concrete, Concrete>(&self.output, &mut results.into_iter()))
    }

    /// The kernels.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

impl<In: Family, Out: Family> fmt::Display for Compiled<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.program, f)
    }
}

/// The kernels, as they are displayed.
impl<In: Family, Out: Family> fmt::Debug for Compiled<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

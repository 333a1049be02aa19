//! Programs as text, in the language of [printed programs](crate::guide::printed_programs), and back.

mod block;
mod bodies;
mod definition;
mod document;
mod expression;
mod frame;
mod literal;
mod reader;
mod sparse;
mod tokens;
mod view;

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::export::Program;
use crate::term::{Build, Extension};

/// The bulk program as text that [`parse`] reads back: the output of `Display`, followed by the elements of large constants.
///
/// The program read back computes the same, bit for bit, under the same names, and prints as the same text. Names are those of
/// the printed program: characters that the language lacks become `_`, and parameters without a name get the printer's.
///
/// ```
/// use deltaray::export;
/// use deltaray::prelude::*;
///
/// fn squares<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
///     (x * x).sum()
/// }
///
/// # fn main() -> deltaray::Result<()> {
/// let gradient = stage(squares, &Vector::from(vec![1.0, 2.0]))?.grad()?;
/// let text = export::text(&gradient);
/// assert_eq!(text, "\
/// program grad_squares(p0: f64[2]) -> gradient: f64[2]:
///     p0 + p0
/// ");
/// let program = export::parse(&text)?;
/// assert_eq!(export::text(&program), text);
/// # Ok(())
/// # }
/// ```
pub fn text(program: impl Into<Program>) -> String {
    written(program.into())
}

/// The source program, which may contain `build`, as text that [`parse_source`] reads back: see [`text`].
pub fn text_source(program: impl Into<Program<Build>>) -> String {
    written(program.into())
}

fn written<X: Extension>(program: Program<X>) -> String {
    program.printer().exact().to_string()
}

/// Reads a bulk program from its text.
///
/// ```
/// use deltaray::concrete::Array;
/// use deltaray::export;
///
/// # fn main() -> deltaray::Result<()> {
/// let program = export::parse("\
/// program norm(x: f64[2]) -> f64:
///     let squares: f64[2] = x * x
///     sqrt (sum[0] squares)
/// ")?;
/// let norm = program.interpret(&[Array::from_vec(&[2], vec![3.0, 4.0])])?;
/// assert_eq!(norm[0].to_vec(), Some(vec![5.0]));
///
/// let problem = export::parse("program f(x: f64[2]) -> f64:\n    x + y\n").unwrap_err();
/// assert_eq!(problem.to_string(), "line 2, column 9: nothing has the name y");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Anything outside the language, operands and types that don't fit, and exceeded limits: brackets or bodies that are nested
/// more than 64 deep, types that no memory could hold, and arrays of hundreds of axes beyond a limit in proportion to the text.
/// A text that contains `build` is one for [`parse_source`].
pub fn parse(text: &str) -> Result<Program> {
    read(text, false).map(Program::narrow)
}

/// Reads a source program, which may contain `build`, from its text.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_source(text: &str) -> Result<Program<Build>> {
    read(text, true)
}

fn read(text: &str, has_build: bool) -> Result<Program<Build>> {
    let tokens = tokens::tokens(text).map_err(|problem| problem.error(text))?;
    let program =
        reader::TextReader::new(text, &tokens, has_build).document().map_err(|problem| problem.error(text))?;
    // Whatever a text says, the result here is well formed.
    match program.body.validate() {
        Ok(()) => Ok(program),
        Err(problem) => Err(Error::Parse { problem, line: 1, column: 1 }),
    }
}

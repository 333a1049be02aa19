//! Programs as JSON, in a [versioned schema](crate::guide::json), and back.

mod base64;
mod element;
mod operations;
mod parts;
mod problem;
mod read;
mod schema;
mod write;

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::export::Program;
use crate::term::{Build, Extension};

/// The bulk program as JSON that [`from_json`] reads back: the same program, node by node.
///
/// A derivative that is kept this way is there again without staging, vectorising and differentiating anew.
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
/// let x = Vector::from(vec![1.0, 2.0]);
/// let json = export::json(&stage(squares, &x)?.grad()?);
/// let gradient = export::from_json(&json)?;
/// assert_eq!(gradient.interpret(&[deltaray::concrete::Array::from_vec(&[2], vec![1.0, 2.0])])?[0].to_vec(), Some(vec![2.0, 4.0]));
/// assert_eq!(export::json(&gradient), json);
/// # Ok(())
/// # }
/// ```
pub fn json(program: impl Into<Program>) -> String {
    written(&program.into())
}

/// The source program, which may contain `build`, as JSON that [`from_json_source`] reads back.
pub fn json_source(program: impl Into<Program<Build>>) -> String {
    written(&program.into())
}

/// Reads a bulk program from JSON.
///
/// Nothing in the document is trusted: operands, types, shapes, maps, counts and sizes are checked, and memory is taken in
/// proportion to the length of the text only.
///
/// # Errors
///
/// [`Error::Parse`] where the text is no JSON or lacks fields of the schema, [`Error::Schema`] where the document has another
/// format or version, or is inconsistent. JSON may be nested 128 deep, which allows more than 20 nested bodies.
pub fn from_json(text: &str) -> Result<Program> {
    read(text, false).map(Program::narrow)
}

/// Reads a source program, which may contain `build`, from JSON.
///
/// # Errors
///
/// As [`from_json`].
pub fn from_json_source(text: &str) -> Result<Program<Build>> {
    read(text, true)
}

fn written<X: Extension>(program: &Program<X>) -> String {
    serde_json::to_string(&write::document(program)).expect("the schema has strings for keys, and memory is the writer")
}

fn read(text: &str, has_build: bool) -> Result<Program<Build>> {
    let syntax = |error: serde_json::Error| {
        let (line, column) = (error.line(), error.column());
        // The message ends with where it is.
        let place = format!(" at line {line} column {column}");
        let message = error.to_string();
        let problem = message.strip_suffix(&place).unwrap_or(&message).to_string();
        Error::Parse { problem, line, column }
    };
    let header: schema::Header = serde_json::from_str(text).map_err(syntax)?;
    if header.format != schema::FORMAT {
        let problem = format!("{:?} instead of {:?}", header.format, schema::FORMAT);
        return Err(Error::Schema { problem, path: "format".into() });
    }
    if header.version != schema::VERSION {
        let problem = format!("{}, but this library reads version {}", header.version, schema::VERSION);
        return Err(Error::Schema { problem, path: "version".into() });
    }
    let document: schema::Document = serde_json::from_str(text).map_err(syntax)?;
    read::program(document, text.len(), has_build)
}

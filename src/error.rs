//! The one error type of the library.

use std::fmt;
use std::panic::Location;

/// A failure of an array program, its inputs or the machine.
///
/// `Debug` prints the same sentence as `Display`, since a `main` that returns an error shows that.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Operands of an operation do not fit together.
    Operands {
        /// The operation, by the name users know.
        operation: String,
        /// The mismatch, with the shapes.
        problem: String,
        /// The user's line, `file:line:column`.
        place: String,
    },
    /// A value that exists only inside a `build`, loop or derivative was used outside of it.
    Scope {
        /// The value, and where it was used.
        problem: String,
        /// The user's line, `file:line:column`.
        place: String,
    },
    /// A staged program was called with an argument of another type than it was staged for.
    Argument {
        /// The position of the argument.
        position: usize,
        /// The fields and positions that lead to the array in it, joined by dots, behind the name of the parameter where the function has
        /// `#[differentiable]`; empty where it is the whole argument, and has no name.
        path: String,
        /// The type the program was staged for.
        expected: String,
        /// The type that was given.
        found: String,
        /// The user's line, `file:line:column`: of the call.
        place: String,
    },
    /// There is no memory for an array that an operation needs.
    Memory {
        /// The operation, by the name that programs are printed with.
        operation: String,
        /// The type of the array.
        ty: String,
        /// The user's line, `file:line:column`: of the operation, or of the call of a staged program.
        place: String,
    },
    /// A program needs more memory than the machine has, and was not begun.
    TooLarge {
        /// The action: `compile`, or `call`.
        operation: String,
        /// The bytes that are needed in addition to those of existing arrays; a lower bound.
        bytes: u128,
        /// The bytes that the machine has, if known.
        available: Option<u64>,
        /// The user's line, `file:line:column`.
        place: String,
    },
    /// An array that a program is to write its results into has another type.
    Output {
        /// The fields and positions that lead to the array, joined by dots; empty where it is the whole output.
        path: String,
        /// The type of the result.
        expected: String,
        /// The type that was given.
        found: String,
        /// The user's line, `file:line:column`: of the call.
        place: String,
    },
    /// A text is no program, or no JSON: the error of [`parse`](crate::export::parse).
    Parse {
        /// The expectation and the text found, or the mismatch.
        problem: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, counted in characters.
        column: usize,
    },
    /// A document is JSON, but no program.
    Schema {
        /// The mismatch.
        problem: String,
        /// The fields and positions that lead to it, as `body.nodes[3]`.
        path: String,
    },
    /// Derivatives disagree with each other or with finite differences: the result of
    /// [`check_grad`](crate::derivative::check_grad).
    Derivative(String),
    /// A device, or its driver, can't do what it was asked for.
    Device {
        /// The device and its platform; if there is none, the requested device.
        device: String,
        /// The action: `devices`, `compile`, `call`, `upload` or `download`.
        operation: String,
        /// The message of the driver or its compiler, or a description of the limitation.
        problem: String,
        /// The user's line, `file:line:column`; empty where it is not known.
        place: String,
    },
    /// A program has an operation that can not be exported to a language.
    Export {
        /// The language or format.
        target: &'static str,
        /// The operation, by the name that programs are printed with.
        operation: String,
        /// The part that can't be expressed.
        problem: String,
    },
    /// A file can not be written or read.
    File {
        /// The file.
        path: String,
        /// The system's message.
        problem: String,
    },
    /// A program's nodes don't fit together: stated types differ from inferred ones, or a node refers to one that does not
    /// exist. Programs that this library makes are well formed; where an engine reports this, the library has a bug.
    IllFormed {
        /// The node, and the mismatch.
        problem: String,
        /// The user's line, `file:line:column`.
        place: String,
    },
    /// A tree of arrays differs in structure from the one that it must match, such as a staged program's arguments.
    Structure(String),
}

impl Error {
    /// An [`Error::Operands`] at a caller's location.
    pub fn operands(operation: &str, problem: impl Into<String>, place: &Location<'_>) -> Error {
        Error::Operands { operation: operation.into(), problem: problem.into(), place: place.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Operands { operation, problem, place } => write!(f, "{operation}: {problem} (at {place})"),
            Error::Scope { problem, place } => write!(f, "{problem} (at {place})"),
            Error::IllFormed { problem, place } => write!(f, "the program is ill-formed: {problem} (at {place})"),
            Error::Argument { position, path, expected, found, place } => {
                let path = if path.is_empty() { String::new() } else { format!(", `{path}`") };
                let given = format!("the program was staged for {expected}, but {found} was given");
                write!(f, "argument {position}{path}: {given} (at {place})")
            }
            Error::Memory { operation, ty, place } => {
                write!(f, "{operation}: there is no memory for an array of type {ty} (at {place})")
            }
            Error::TooLarge { operation, bytes, available, place } => {
                write!(f, "{operation}: the program needs {bytes} bytes of memory, ")?;
                match available {
                    Some(available) => write!(f, "but {available} are available (at {place})"),
                    None => write!(f, "more than can be addressed (at {place})"),
                }
            }
            Error::Output { path, expected, found, place } => {
                let path = if path.is_empty() { String::new() } else { format!(" `{path}`") };
                let given = format!("the program results in {expected}, but {found} was given to write to");
                write!(f, "output{path}: {given} (at {place})")
            }
            Error::Device { device, operation, problem, place } => {
                write!(f, "{operation} on {device}: {problem}")?;
                if place.is_empty() { Ok(()) } else { write!(f, " (at {place})") }
            }
            Error::Export { target, operation, problem } => {
                write!(f, "{operation}: no export for {target}: {problem}")
            }
            Error::File { path, problem } => write!(f, "{path}: {problem}"),
            Error::Parse { problem, line, column } => write!(f, "line {line}, column {column}: {problem}"),
            Error::Schema { problem, path } => write!(f, "{path}: {problem}"),
            Error::Derivative(problem) | Error::Structure(problem) => f.write_str(problem),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Shorthand for results of this library.
pub type Result<T> = std::result::Result<T, Error>;

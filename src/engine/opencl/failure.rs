//! What devices and their drivers refuse.

use crate::error::Error;
use std::panic::Location;

/// Why something is not done on a device.
#[derive(Debug)]
pub(super) enum Problem {
    /// What the driver says.
    Driver(String),
    /// What its compiler says.
    Build(String),
    /// What can't be done there.
    Unsupported(String),
}

pub(super) type Outcome<T> = std::result::Result<T, Problem>;

impl From<ocl::core::Error> for Problem {
    fn from(error: ocl::core::Error) -> Problem {
        // The driver's name of the problem, without the drawing around it.
        let text = error.to_string();
        let words: Vec<&str> = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect();
        Problem::Driver(words.join(" "))
    }
}

impl Problem {
    /// The error of an operation on a device.
    pub(super) fn error(self, device: &str, operation: &str, place: Option<&Location<'_>>) -> Error {
        let problem = match self {
            Problem::Driver(text) => format!("the driver says: {text}"),
            Problem::Build(log) => format!("the driver does not compile the kernels:\n{log}"),
            Problem::Unsupported(text) => text,
        };
        Error::Device {
            device: device.to_string(),
            operation: operation.to_string(),
            problem,
            place: place.map(ToString::to_string).unwrap_or_default(),
        }
    }
}

//! Programs run as they are.

use super::failure::Failure;
use super::run::run;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::term::Program;
use std::panic::Location;

impl Program {
    /// Interprets the program on arrays of its parameters' types.
    ///
    /// # Errors
    ///
    /// When there are more or fewer arrays than parameters, one is of another type, or there is no memory.
    #[track_caller]
    pub fn interpret(&self, arguments: &[Array]) -> Result<Vec<Array>> {
        let place = Location::caller();
        let (expected, found) = (self.body.arity(), arguments.len());
        if expected != found {
            return Err(Error::Structure(format!(
                "the program takes {expected} arrays, but {found} were given (at {place})"
            )));
        }
        for (position, argument) in arguments.iter().enumerate() {
            let expected = self.body.parameter_type(position);
            if argument.ty() != *expected {
                let path = self.parameters.get(position).cloned().unwrap_or_default();
                let (expected, found) = (expected.to_string(), argument.ty().to_string());
                return Err(Error::Argument { position, path, expected, found, place: place.to_string() });
            }
        }
        run(&self.body, arguments.to_vec()).map_err(|Failure { operation, problem }| problem.error(&operation, place))
    }
}

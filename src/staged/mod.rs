//! The instance of terms: operations build nodes instead of computing.
//!
//! A node has a global ID, so sharing is by construction: a plain Rust `let` keeps it, inside and across binders, and the
//! paper's `tlet` is not needed. A node's *scope* is the innermost binder that it depends on; what a binder's body uses of
//! smaller scope is a capture, computed outside, so that loop-invariant code moves out for free.

mod close;
mod instance;
mod node;
mod session;

pub use instance::Staged;
pub use node::StagedArray;

use crate::error::{Error, Result};
use crate::shape::Type;
use crate::term::{Body, Build};

pub(crate) use session::Scope;

/// Runs a function once on variables of these types, and closes what it returns into a program.
///
/// # Errors
///
/// The first operation whose operands did not fit, or a value that was used outside of its scope, also that of another
/// function that is being staged.
#[track_caller]
pub fn stage(parameters: &[Type], f: impl FnOnce(Vec<StagedArray>) -> Vec<StagedArray>) -> Result<Body<Build>> {
    let place = std::panic::Location::caller();
    let outer = OuterError(session::replace_error(None));
    let scope = Scope::open();
    let variables = scope.variables(parameters);
    let results = f(variables.clone());
    // The results are checked like operands: an index that escaped its build must not become a parameter.
    for result in &results {
        session::check_scope(result, place);
    }
    let error = session::replace_error(None);
    drop(outer);
    if let Some(error) = error {
        return Err(error);
    }
    // Everything belongs to the program, also what depends on no parameter; but for what an outer function is staged on.
    let closed = scope.close_program(&variables, &results);
    if !closed.captures.is_empty() {
        let problem = "a value of an outer staged function was used in an inner one";
        return Err(Error::Scope { problem: problem.into(), place: place.to_string() });
    }
    Ok(closed.body)
}

/// The error that was recorded before a function is staged; it is put back also when the function panics.
struct OuterError(Option<Error>);

impl Drop for OuterError {
    fn drop(&mut self) {
        session::replace_error(self.0.take());
    }
}

#[cfg(test)]
mod tests;

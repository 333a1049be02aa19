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

use crate::error::Result;
use crate::shape::Type;
use crate::term::{Body, Build};

pub(crate) use session::Scope;

/// Runs a function once on variables of these types, and closes what it returns into a program.
///
/// # Errors
///
/// The first operation whose operands did not fit, or a value that was used outside of its scope.
pub fn stage(parameters: &[Type], f: impl FnOnce(Vec<StagedArray>) -> Vec<StagedArray>) -> Result<Body<Build>> {
    let outer = session::replace_error(None);
    let scope = Scope::open();
    let variables = scope.variables(parameters);
    let results = f(variables.clone());
    // The results are checked like operands: an index that escaped its build must not become a parameter.
    for result in &results {
        session::check_scope(result, std::panic::Location::caller());
    }
    // Everything belongs to the program, also what depends on no parameter.
    let closed = close::close(&variables, &results, &|_| true);
    drop(scope);
    match session::replace_error(outer) {
        Some(error) => Err(error),
        None => {
            debug_assert!(closed.captures.is_empty(), "a staged program is closed");
            Ok(closed.body)
        }
    }
}

#[cfg(test)]
mod tests;

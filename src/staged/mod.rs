//! The instance of terms: operations build nodes instead of computing. This module is for extending the library, and may change
//! between minor versions.
//!
//! A node has a global ID, so sharing is by construction: a plain Rust `let` keeps it, inside and across binders, and the
//! paper's `tlet` is not needed. A node's *scope* is the innermost binder that it depends on; nodes of smaller scope that a
//! binder's body uses are captures, computed outside, so that loop-invariant code moves out for free.

mod custom;
mod instance;
mod range;

pub use crate::trace::StagedArray;
pub use instance::Staged;

use crate::error::Result;
use crate::shape::Type;
use crate::term::{Body, Build};
use crate::trace::{Scope, close, session};

/// Runs a function once on variables of these types, and closes its results into a program.
///
/// # Errors
///
/// The first operation whose operands did not fit, or a value that was used outside of its scope, even one of another function
/// that is being staged.
#[track_caller]
pub fn stage(parameters: &[Type], f: impl FnOnce(Vec<StagedArray>) -> Vec<StagedArray>) -> Result<Body<Build>> {
    let staging = session::Staging::start();
    let scope = Scope::open();
    let variables = scope.variables(parameters);
    let mut results = f(variables.clone());
    // An index that escaped its build must not become a parameter.
    session::check_results(&mut results, std::panic::Location::caller());
    drop(scope);
    if let Some(error) = staging.take_error() {
        return Err(error);
    }
    // Everything belongs to the program, even nodes that depend on no parameter.
    let closed = close(&variables, &results, &|_| true);
    debug_assert!(closed.captures.is_empty(), "a staged program is closed");
    Ok(closed.body)
}

#[cfg(test)]
mod tests;

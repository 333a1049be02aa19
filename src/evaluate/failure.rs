//! Programs that could not be run.

use crate::array::OutOfMemory;

/// The failure that ended a program: the operation, by its printed name, and the array that there was no memory for.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) operation: String,
    pub(crate) problem: OutOfMemory,
}

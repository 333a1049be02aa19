//! Programs that could not be run.

use crate::array::OutOfMemory;

/// What ended a program: the operation, by the name that it is printed with, and the array that there was no memory for.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) operation: String,
    pub(crate) problem: OutOfMemory,
}

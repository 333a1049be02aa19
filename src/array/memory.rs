//! The one place that allocates memory for elements, which may fail.

use crate::array::scalar::ElementType;
use crate::error::Error;
use crate::shape::{Type, size};
use std::cell::Cell;
use std::fmt;
use std::panic::Location;

/// There is no memory for the elements of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// The type of the array.
    pub ty: Type,
}

impl OutOfMemory {
    /// The error of the operation that needs the array.
    pub(crate) fn error(self, operation: &str, place: &Location<'_>) -> Error {
        Error::Memory { operation: operation.into(), ty: self.ty.to_string(), place: place.to_string() }
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no memory for an array of type {}", self.ty)
    }
}

impl std::error::Error for OutOfMemory {}

/// An empty buffer with room for the elements of a shape.
pub(crate) fn room<T: ElementType>(shape: &[usize]) -> Result<Vec<T>, OutOfMemory> {
    let mut buffer = Vec::new();
    // Sizes saturate, at more than memory can hold.
    match buffer.try_reserve_exact(size(shape)) {
        Ok(()) => Ok(buffer),
        Err(_) => Err(OutOfMemory { ty: Type::new(T::DTYPE, shape) }),
    }
}

/// A buffer for a shape whose elements all have one value.
pub(crate) fn filled<T: ElementType>(shape: &[usize], x: T) -> Result<Vec<T>, OutOfMemory> {
    let mut buffer = room(shape)?;
    buffer.resize(size(shape), x);
    Ok(buffer)
}

/// A buffer for a shape, with these elements.
pub(crate) fn collected<T: ElementType>(
    shape: &[usize],
    elements: impl IntoIterator<Item = T>,
) -> Result<Vec<T>, OutOfMemory> {
    let mut buffer = room(shape)?;
    buffer.extend(elements);
    Ok(buffer)
}

thread_local! {
    static PLACE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// While it lives, failures in this thread are reported at a place of the user's program, even though the library's own code
/// calls the algebra: a pullback runs long after its function.
pub(crate) struct ReportedAt {
    outer: Option<&'static Location<'static>>,
}

impl ReportedAt {
    /// From now on.
    pub(crate) fn place(place: &'static Location<'static>) -> ReportedAt {
        ReportedAt { outer: PLACE.replace(Some(place)) }
    }

    /// From now on, at the caller's line, or where that is reported already: for operations that are made of several.
    #[track_caller]
    pub(crate) fn caller() -> ReportedAt {
        ReportedAt::place(ReportedAt::or(Location::caller()))
    }

    /// While a function of the user runs, whose lines are its own.
    pub(crate) fn own_lines() -> ReportedAt {
        ReportedAt { outer: PLACE.replace(None) }
    }

    /// The place, if the library's own code is running, and otherwise the operation's.
    pub(crate) fn or<'a>(operation: &'a Location<'a>) -> &'a Location<'a> {
        PLACE.get().unwrap_or(operation)
    }
}

impl Drop for ReportedAt {
    fn drop(&mut self) {
        PLACE.set(self.outer);
    }
}

/// The result of an operation that was called for its value alone.
///
/// Panics at the caller's line where there was no memory.
#[track_caller]
pub(crate) fn available<T>(result: Result<T, OutOfMemory>, operation: impl FnOnce() -> String) -> T {
    match result {
        Ok(value) => value,
        Err(problem) => panic!("{}", problem.error(&operation(), ReportedAt::or(Location::caller()))),
    }
}

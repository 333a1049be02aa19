//! The arguments of staged functions: whether they are of the structure and the types that a function was staged for.

use crate::array;
use crate::concrete::Concrete;
use crate::error::{Error, Result};
use crate::shape::Type;
use crate::tensor::{Args, Outline};
use crate::term::Body;
use std::panic::Location;

/// The error of arguments whose structure is another, which is how.
#[track_caller]
pub(super) fn arguments_differ(difference: &str) -> Error {
    let place = Location::caller();
    Error::Structure(format!("an argument differs from what the function was staged for: {difference} (at {place})"))
}

/// Checks that arguments, whose outline that writes, have the structure that the function was staged for.
#[track_caller]
pub(super) fn check_structure(expected: &Outline, write: impl FnOnce(&mut Outline)) -> Result<()> {
    let mut found = Outline::default();
    write(&mut found);
    match expected.difference(&found) {
        Some(difference) => Err(arguments_differ(&difference)),
        None => Ok(()),
    }
}

/// Of an array of the arguments, the position of the argument that it is in, and its path there: behind the name of the parameter,
/// where the function has told that.
pub(super) fn argument_place(outline: &Outline, names: &[String], position: usize) -> (usize, String) {
    let (argument, path) = outline.arguments().swap_remove(position);
    match names.get(position) {
        Some(name) if name.ends_with(&path) => (argument, name.clone()),
        _ => (argument, path),
    }
}

/// The error of an array of another type than the function was staged for.
#[track_caller]
pub(super) fn argument_error(
    (outline, names): (&Outline, &[String]),
    position: usize,
    expected: &Type,
    found: Type,
) -> Error {
    let (position, path) = argument_place(outline, names, position);
    let place = Location::caller().to_string();
    Error::Argument { position, path, expected: expected.to_string(), found: found.to_string(), place }
}

/// The arrays of the arguments of a program that was staged for this structure, and has these names for the arrays.
///
/// # Errors
///
/// When the arguments have another structure, or an array another element type or shape.
#[track_caller]
pub(crate) fn checked_arguments<X: Args<Concrete>>(
    arguments: X,
    (outline, names): (&Outline, &[String]),
    program: &Body,
) -> Result<Vec<array::Array>> {
    check_structure(outline, |found| arguments.outline(found))?;
    let arguments = arguments.leaves();
    if arguments.len() != program.parameters {
        return Err(Error::Structure(format!(
            "the program takes {} arrays, but {} were given",
            program.parameters,
            arguments.len()
        )));
    }
    for (position, argument) in arguments.iter().enumerate() {
        let expected = program.parameter_type(position);
        if argument.ty() != *expected {
            return Err(argument_error((outline, names), position, expected, argument.ty()));
        }
    }
    Ok(arguments)
}

//! Programs as pages: every stage of a program side by side, with links from the nodes of one to those of the next.

mod kernels;
mod links;
mod page;
mod seen;
mod stage;
mod stages;
mod values;

#[cfg(test)]
mod tests;

pub use stages::Stages;

use crate::error::Result;
use std::panic::Location;

/// A page that shows a program at every stage, as one file of HTML that refers to nothing else.
///
/// The stages are the program as it was staged, vectorised, and simplified; of a function of one float result also its dual
/// form, with the Delta of that result, the value and the gradient as transposed, and simplified; and in the end the kernels
/// that run. Each node is a line in the [language of printed programs](crate::guide::printed_programs), with its type, its
/// floating-point operations and its bytes. Who selects a node sees the nodes of the other stages that compute the same.
///
/// Nodes are matched by their values at a random point; of programs that would take too long for that, by how they are
/// computed. See [the guide](crate::guide::pages).
///
/// ```
/// use deltaray::export;
/// use deltaray::prelude::*;
///
/// fn squares<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
///     (x * x).sum()
/// }
///
/// # fn main() -> deltaray::Result<()> {
/// let page = export::html(&stage(squares, &Vector::from(vec![1.0, 2.0]))?)?;
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Transposed"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// When a gradient is asked for, but the first result is no float without axes.
#[track_caller]
pub fn html(stages: impl Into<Stages>) -> Result<String> {
    let stages = stages.into();
    let shown = stages.shown(Location::caller())?;
    Ok(page::page(&stages.title(), &stages.head(), &shown))
}

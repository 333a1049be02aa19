//! The instances of differentiation: dual arrays, for reverse mode, and arrays with tangents, for forward mode. This module is
//! for extending the library, and may change between minor versions.
//!
//! [`Dual<A>`] pairs an array of any algebra `A` with a [`Delta`], a term that says how the array moves with the inputs (P 6
//! and D): over plain arrays this is define-by-run reverse mode, over itself higher order, over staged terms the symbolic
//! pass. The derivative rules are one page (`rules`), the transpose of Delta another (`transpose`), loops a third
//! (`loops`). [`Tangent<A>`] reads the same rules forwards.

mod active;
mod array;
mod banded;
mod branches;
mod cotangent;
mod custom;
mod delta;
mod derivative;
mod extract;
mod forward;
mod harvest;
mod instances;
mod loops;
mod matrix;
mod memo;
mod print;
mod reach;
mod recompute;
mod record;
mod rules;
mod sparse;
mod spectral;
mod sweeps;
mod tangent;
mod transpose;
mod undo;

#[cfg(test)]
mod tests;

pub use array::{Dual, DualArray};
pub use delta::Delta;
pub(crate) use delta::ShareId;
pub use instances::{jvp, vjp};
pub(crate) use print::print_delta;
pub(crate) use rules::generic;
pub use tangent::{Tangent, TangentArray};

//! Programs while they are written down: nodes of terms, the scopes that they belong to, and closures that are traced.

mod close;
mod closures;
mod node;
mod operation;
pub(crate) mod session;

pub(crate) use close::{ClosedBody, close};
pub(crate) use closures::{is_read, trace, traced};
pub use node::StagedArray;
pub(crate) use node::{StagedTerms, fresh, placeholder};
pub(crate) use operation::{bind, constant, node, outputs};
pub(crate) use session::Scope;

//! The instance of plain arrays: values, computed at once.

mod instance;
#[cfg(test)]
mod tests;

pub use crate::array::{Array, Buffer, Data, OutOfMemory, Scalar, Traced};
pub use instance::Concrete;

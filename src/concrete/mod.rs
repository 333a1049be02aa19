//! The instance of plain arrays: values, computed at once. This module is for extending the library, and may change between
//! minor versions.

mod instance;
#[cfg(test)]
mod tests;

pub use crate::array::{Array, Buffer, Data, ElementType, OutOfMemory, Traced};
pub use instance::Concrete;

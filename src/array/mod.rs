//! Plain arrays: their elements, and the loops over these.

mod arithmetic;
mod buffer;
pub(crate) mod contract;
mod convert;
mod data;
mod elements;
pub(crate) mod elementwise;
pub(crate) mod gather;
pub(crate) mod matrix;
pub(crate) mod memory;
mod products;
pub(crate) mod reduce;
mod scalar;
pub(crate) mod sort;
pub(crate) mod sparse;
pub(crate) mod structure;
pub(crate) mod view;

pub(crate) use arithmetic::{Arithmetic, larger, smaller};
pub use buffer::Buffer;
pub(crate) use convert::repeated;
pub use data::{Array, Data, Traced};
pub(crate) use data::{ReadArrays, for_data, for_pair};
pub(crate) use gather::latest;
pub use memory::OutOfMemory;
pub(crate) use memory::{ReportedAt, available, filled};
pub(crate) use reduce::neutral_value;
pub use scalar::ElementType;
pub(crate) use sparse::DIRECTIONS;

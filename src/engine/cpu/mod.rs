//! The engine of the processor.

// The kernels stand complete before the parts that call them.
#[allow(dead_code)]
pub(crate) mod vector;

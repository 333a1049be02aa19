//! The buffers of lowered programs.

use crate::array::Array;
use crate::shape::Type;

/// Position of a buffer in its procedure.
pub(crate) type BufferId = u32;

/// Where the elements of a buffer are.
#[derive(Clone, Debug)]
pub(crate) enum BufferSource {
    /// An argument, by its position, which is only read.
    Parameter(usize),
    /// A known array.
    Constant(Array),
    /// Memory of the procedure's own.
    Local,
    /// The memory of an earlier buffer of the same size.
    Alias(BufferId),
}

/// Elements of one type, row-major.
#[derive(Clone, Debug)]
pub(crate) struct ProcedureBuffer {
    pub(crate) ty: Type,
    pub(crate) source: BufferSource,
}

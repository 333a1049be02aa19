//! Where instructions find their pointers.

/// Position in the table of pointers that instructions take their operands from.
pub(super) type Slot = u16;

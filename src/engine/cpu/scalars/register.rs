//! Where instructions have their numbers.

/// Position of a register, which begins with the bytes of an element, or is a pointer or a count.
pub(in crate::engine::cpu) type RegisterIndex = u16;

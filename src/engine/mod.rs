//! Engines: what runs a program whose every step is known, instead of interpreting it operation by operation.

pub(crate) mod cpu;

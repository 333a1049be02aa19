//! Engines: what runs loop nests.

pub mod cpu;

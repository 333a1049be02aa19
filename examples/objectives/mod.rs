//! The functions that both ADBench and GradBench differentiate.

pub mod ba;
pub mod gmm;
pub mod hand;
pub mod lstm;

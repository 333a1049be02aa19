//! What ADBench and GradBench both differentiate.

pub mod ba;
pub mod gmm;
pub mod hand;
pub mod lstm;

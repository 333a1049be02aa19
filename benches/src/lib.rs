//! Objectives and their derivatives as one would write them by hand for speed, for comparison with the library's kernels.
//!
//! Each goes over its input as few times as it can, keeps its intermediate values in registers or in the nearest cache, and is
//! plain Rust that the compiler vectorises, compiled for the widest instructions of the machine. Sums are accumulated in lanes,
//! as the compiler keeps the order of additions; functions like `exp` have neither branches nor tables.
// Loops over lanes index several arrays, which would be harder to read as iterators.
#![allow(clippy::needless_range_loop)]

mod bundle;
mod cells;
mod elementwise;
mod functions;
mod kmeans;
mod lanes;
mod logistic;
mod lstm;
mod machine;
mod mixture;
mod running;
#[cfg(test)]
mod tests;

pub use bundle::{Scene, bundle_jacobian};
pub use elementwise::{chain, log_sum_exp};
pub use kmeans::k_means;
pub use logistic::logistic;
pub use lstm::{Network, Tape, diagonal_lstm};
pub use mixture::{Mixture, Wishart, Workspace, gaussian_mixture};
pub use running::{cumulative_product, cumulative_sum};

//! The Kalman filter of the example of that name.

#[path = "../kalman/data.rs"]
#[allow(dead_code)]
pub mod data;
#[path = "../kalman/model.rs"]
#[allow(dead_code)]
mod model;

pub use model::surprise;

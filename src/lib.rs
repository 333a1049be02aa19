//! `deltaray` differentiates array programs.
#![warn(missing_docs)]

pub mod affine;
pub mod algebra;
pub mod concrete;
pub mod derivative;
pub mod dual;
pub mod error;
pub mod guide;
pub mod operation;
pub mod shape;
pub mod simplify;
pub mod staged;
pub mod tensor;
pub mod term;
pub mod vectorise;

pub use error::{Error, Result};

//! `deltaray` differentiates array programs.
#![warn(missing_docs)]

// So that code written by the derive macro finds this crate by its name here too.
extern crate self as deltaray;

pub mod affine;
pub mod algebra;
pub mod concrete;
pub mod derivative;
pub mod dual;
pub mod error;
pub mod guide;
pub mod operation;
pub mod prelude;
pub mod shape;
pub mod simplify;
pub mod staged;
pub mod tensor;
pub mod term;
pub mod vectorise;

pub use deltaray_derive::Tree;
pub use error::{Error, Result};

//! Programs as source of Rust and C, compiled, run, and compared with the interpreter.

use super::{all, edges};
use crate::exported::{Case, c, rust};

/// The programs, with numbers.
pub fn numbered() -> Vec<(usize, &'static Case)> {
    all().iter().chain(edges::all()).enumerate().collect()
}

#[test]
fn rust_sources_compute_what_the_interpreter_does() {
    rust::compute_what_the_interpreter_does("corpus", &numbered());
}

#[test]
fn c_sources_compute_what_the_interpreter_does() {
    c::compute_what_the_interpreter_does("corpus", &numbered());
}

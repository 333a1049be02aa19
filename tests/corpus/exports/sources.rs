//! Programs as source of Rust and C, compiled, run, and compared with the interpreter.
//!
//! Compilers take a minute for all of them. `DELTARAY_SAMPLE`, a number, selects one program of five, others for each language;
//! without it all are compiled.

use super::{all, edges};
use crate::exported::{Case, c, rust};
use crate::sample::sample;

/// The programs, with numbers.
pub fn numbered() -> Vec<(usize, &'static Case)> {
    all().iter().chain(edges::all()).enumerate().collect()
}

/// Of so many programs one is compiled, where a sample is asked for.
const ONE_IN: usize = 5;

/// The programs to compile, which differ for shifts of the sample.
fn selected(shift: usize) -> Vec<(usize, &'static Case)> {
    let mut programs = numbered();
    if let Some(sample) = sample() {
        programs.retain(|(number, _)| number % ONE_IN == (sample + shift) % ONE_IN);
    }
    programs
}

#[test]
fn rust_sources_compute_what_the_interpreter_does() {
    rust::compute_what_the_interpreter_does("corpus", &selected(0));
}

#[test]
fn c_sources_compute_what_the_interpreter_does() {
    c::compute_what_the_interpreter_does("corpus", &selected(1));
}

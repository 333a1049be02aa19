//! Programs as source of Rust and C, compiled, run, and compared with the interpreter.
//!
//! Compilers take a minute for all of them. `DELTARAY_SAMPLE`, a number, selects one program of five, others for each language;
//! without it all are compiled.

use super::{all, edges};
use crate::exported::{Case, c, compare, rust};
use crate::sample::sample;
use deltaray::export::{COptions, RustOptions};

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

/// The programs to compile of those that have functions with formulas.
fn with_inline_math(shift: usize) -> Vec<(usize, &'static Case)> {
    let options = RustOptions::default().inline_math(true);
    let is_written = |case: &Case| options.export(&case.program).is_ok_and(|source| source.contains("_inline_f"));
    let mut programs = numbered();
    programs.retain(|(_, case)| is_written(case));
    let one_in = if sample().is_some() { ONE_IN } else { 1 };
    programs.into_iter().skip((sample().unwrap_or(0) + shift) % one_in).step_by(one_in).collect()
}

#[test]
fn rust_sources_with_inline_math_compute_what_the_interpreter_does() {
    let programs = with_inline_math(2);
    compare(&rust::results("corpus-inline", &programs, RustOptions::default().inline_math(true), "0"), &programs);
}

#[test]
fn c_sources_with_inline_math_compute_what_the_interpreter_does() {
    let programs = with_inline_math(3);
    let options = COptions::default().inline_math(true);
    if let Some(folder) = c::results("corpus-inline", &programs, options, &["-Og"]) {
        compare(&folder, &programs);
    }
}

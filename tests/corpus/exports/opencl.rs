//! Programs as OpenCL C: all of them compiled, some run by their launch plans.
//!
//! Building a kernel takes some tenths of a second, so one program of many is run, which `DELTARAY_SAMPLE` selects;
//! `DELTARAY_OPENCL=all` runs all.

use super::sources::numbered;
use crate::exported::opencl;
use crate::sample::sample;

/// Of so many programs one is run.
const ONE_IN: usize = 53;

#[test]
fn opencl_sources_are_accepted_and_compute_what_the_interpreter_does() {
    let everything = std::env::var("DELTARAY_OPENCL").is_ok_and(|which| which == "all");
    let first = sample().unwrap_or(0) % ONE_IN;
    let chosen = |number: usize| everything || number % ONE_IN == first;
    opencl::compute_what_the_interpreter_does("corpus", &numbered(), chosen);
}

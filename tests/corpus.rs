//! The corpus: every program once, with inputs and known values and derivatives, through all instances and passes.
//!
//! `DELTARAY_ROW` runs the rows whose names contain a word, and prints their programs.

// Rows are written in whatever way a user may write them, and repeat numbers as they were found.
#![allow(
    clippy::approx_constant,
    clippy::assign_op_pattern,
    clippy::cloned_ref_to_slice_refs,
    clippy::eq_op,
    clippy::erasing_op,
    clippy::modulo_one,
    clippy::redundant_closure
)]

#[path = "corpus/mod.rs"]
mod corpus;
#[cfg(feature = "opencl")]
#[path = "corpus/devices.rs"]
mod devices;
mod exported;
#[path = "corpus/exports/mod.rs"]
mod exports;
#[cfg(feature = "opencl")]
#[path = "devices/presence.rs"]
mod presence;
mod random;
mod sample;
#[path = "corpus/sparsity.rs"]
mod sparsity;

use corpus::check::check;
use std::collections::HashSet;

#[test]
fn scalars() {
    check(corpus::scalars::rows());
}

#[test]
fn indexing() {
    check(corpus::indexing::rows());
}

#[test]
fn builds() {
    check(corpus::builds::rows());
}

#[test]
fn structure() {
    check(corpus::structure::rows());
}

#[test]
fn reductions() {
    check(corpus::reductions::rows());
}

#[test]
fn cumulative() {
    check(corpus::cumulative::rows());
}

#[test]
fn constructs() {
    check(corpus::constructs::rows());
}

#[test]
fn associative() {
    check(corpus::associative::rows());
}

#[test]
fn derivatives() {
    check(corpus::derivatives::rows());
}

#[test]
fn custom() {
    check(corpus::custom::rows());
}

#[test]
fn implicit() {
    check(corpus::implicit::rows());
}

#[test]
fn nestings() {
    check(corpus::nestings::rows());
}

#[test]
fn functions() {
    check(corpus::functions::rows());
}

#[test]
fn linalg() {
    check(corpus::linalg::rows());
}

#[test]
fn sorting() {
    check(corpus::sorting::rows());
}

#[test]
fn segments() {
    check(corpus::segments::rows());
}

#[test]
fn writes() {
    check(corpus::writes::rows());
}

#[test]
fn loops_that_write() {
    check(corpus::loops_that_write::rows());
}

#[test]
fn written_parts() {
    check(corpus::written_parts::rows());
}

#[test]
fn moving_bounds() {
    check(corpus::moving_bounds::rows());
}

#[test]
fn bad_writes() {
    check(corpus::bad_writes::rows());
}

#[test]
fn products() {
    check(corpus::products::rows());
}

#[test]
fn loops() {
    check(corpus::loops::rows());
}

#[test]
fn conditionals() {
    check(corpus::conditionals::rows());
}

#[test]
fn models() {
    check(corpus::models::rows());
}

#[test]
fn benchmarks() {
    check(corpus::benchmarks::rows());
}

#[test]
fn families() {
    check(corpus::families::rows());
}

#[test]
fn while_loops() {
    check(corpus::while_loops::rows());
}

#[test]
fn edges() {
    check(corpus::edges::rows());
}

#[test]
fn the_corpus_has_at_least_200_rows() {
    let rows = corpus::all();
    let names: HashSet<&str> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows.len(), "names are distinct");
    assert!(rows.len() >= 200, "{} rows", rows.len());
}

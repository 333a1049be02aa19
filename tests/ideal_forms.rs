//! The form that programs and their gradients must have, as they are printed: no rule may be lost unnoticed.
//!
//! With `IDEAL_FORMS=print` in the environment, programs are printed instead of compared.

#[path = "ideal_forms/loops.rs"]
mod loops;
#[path = "ideal_forms/masks.rs"]
mod masks;
#[path = "ideal_forms/products.rs"]
mod products;
#[path = "ideal_forms/sharing.rs"]
mod sharing;
#[path = "ideal_forms/sparse.rs"]
mod sparse;
#[path = "ideal_forms/views.rs"]
mod views;

use deltaray::derivative::program::{tidy, vjp};
use deltaray::prelude::*;
use deltaray::term::print::Printer;
use deltaray::term::{Body, Op};
use std::panic::Location;

/// An array of a shape, to stage for.
fn vector(n: usize) -> Vector<Concrete, f64> {
    zeros(n)
}

fn matrix(rows: usize, columns: usize) -> Matrix<Concrete, f64> {
    zeros((rows, columns))
}

fn vector_32(n: usize) -> Vector<Concrete, f32> {
    zeros(n)
}

fn matrix_32(rows: usize, columns: usize) -> Matrix<Concrete, f32> {
    zeros((rows, columns))
}

/// The program of the cotangents of all parameters, without the program's results, from those of the results.
fn gradient(body: &Body) -> Body {
    let mut program = vjp(body, body.parameters).expect("a program can be transposed");
    program.results.drain(..body.results.len());
    tidy(&program)
}

/// The program of the results and the cotangents of all parameters.
fn with_gradient(body: &Body) -> Body {
    tidy(&vjp(body, body.parameters).expect("a program can be transposed"))
}

/// Lines without the indentation that all of them have.
fn dedented(text: &str) -> String {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let indentation = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines().map(|line| format!("{}\n", &line[indentation..])).collect()
}

/// Checks how a program is printed, under these names of its parameters.
#[track_caller]
fn prints(body: &Body, names: &str, expected: &str) {
    let printed = Printer::new(body).parameters(names.split(' ')).to_string();
    if std::env::var("IDEAL_FORMS").is_ok_and(|mode| mode == "print") {
        let at = Location::caller();
        println!("@@ {}:{}\n{printed}@@", at.file(), at.line());
    } else {
        assert!(printed == dedented(expected), "the program is printed differently:\n{printed}");
    }
}

/// How often an operation occurs, nested bodies left out.
fn count(body: &Body, wanted: impl Fn(&Op) -> bool) -> usize {
    body.nodes.iter().filter(|node| wanted(&node.op)).count()
}

fn contractions(body: &Body) -> usize {
    count(body, |op| matches!(op, Op::Contract(_)))
}

fn scatters(body: &Body) -> usize {
    count(body, |op| matches!(op, Op::Scatter(_)))
}

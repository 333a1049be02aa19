//! The form that programs and their gradients must have, as they are printed: no rule may be lost unnoticed.
//!
//! With `IDEAL_FORMS=print` in the environment, programs are printed instead of compared.

#[path = "ideal_forms/convolutions.rs"]
mod convolutions;
#[path = "ideal_forms/huge.rs"]
mod huge;
#[path = "ideal_forms/loops.rs"]
mod loops;
#[path = "ideal_forms/masks.rs"]
mod masks;
#[path = "ideal_forms/nearest.rs"]
mod nearest;
#[path = "ideal_forms/operators.rs"]
mod operators;
#[path = "ideal_forms/products.rs"]
mod products;
#[path = "ideal_forms/reads.rs"]
mod reads;
#[path = "ideal_forms/running.rs"]
mod running;
#[path = "ideal_forms/sharing.rs"]
mod sharing;
#[path = "ideal_forms/sparse.rs"]
mod sparse;
#[path = "ideal_forms/stencils.rs"]
mod stencils;
#[path = "ideal_forms/triangles.rs"]
mod triangles;
#[path = "ideal_forms/views.rs"]
mod views;

use deltaray::concrete::Array;
use deltaray::derivative::Function;
use deltaray::derivative::program::{tidy, vjp};
use deltaray::prelude::*;
use deltaray::shape::{DType, Type};
use deltaray::term::interpret::interpret;
use deltaray::term::print::Printer;
use deltaray::term::{Body, Op, interpret_source};
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
fn cotangents(body: &Body) -> Body {
    tidy(&transposed(body))
}

fn transposed(body: &Body) -> Body {
    let program = vjp(body, body.parameters()).expect("a program can be transposed");
    program.with_results(&program.results()[body.results().len()..])
}

/// As [`cotangents`]; checks that the program gives the same results without any simplification.
fn gradient(body: &Body) -> Body {
    let (program, tidied) = (transposed(body), cotangents(body));
    let run = |body: &Body| interpret::<Concrete>(body, arguments(body));
    agree(run(&program), run(&tidied));
    tidied
}

/// Numbers without a pattern: floats from -2 to 2, integers from 0 to 9.
fn arguments(body: &Body) -> Vec<Array> {
    let mut state = 1u64;
    let mut next = |ty: &Type| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let draw = (state >> 33) % 4001;
        if ty.dtype.is_float() { draw as f64 / 1000.0 - 2.0 } else { (draw % 10) as f64 }
    };
    let mut argument = |ty: &Type| {
        let elements: Vec<f64> = (0..ty.size()).map(|_| next(ty)).collect();
        match ty.dtype {
            DType::F32 => Array::from_vec(&ty.shape, elements.iter().map(|&x| x as f32).collect()),
            DType::I64 => Array::from_vec(&ty.shape, elements.iter().map(|&x| x as i64).collect()),
            _ => Array::from_vec(&ty.shape, elements),
        }
    };
    (0..body.arity()).map(|at| argument(body.parameter_type(at))).collect()
}

/// A function's program; checks that it gives the results of the function as written.
fn checked<I: Family, O: Family, F: Family>(function: &Function<I, O, F>) -> &Body {
    let program = function.program();
    let expected = interpret_source::<Concrete>(function.source(), arguments(program));
    agree(expected, interpret::<Concrete>(program, arguments(program)));
    program
}

/// Checks that results are the same.
#[track_caller]
fn agree(expected: Vec<Array>, found: Vec<Array>) {
    for (x, y) in expected.into_iter().zip(found) {
        let tolerance = if x.dtype() == DType::F32 { 1e-3 } else { 1e-9 };
        for position in 0..x.size() {
            let (x, y) = (x.element(position).to_f64(), y.element(position).to_f64());
            assert!((x - y).abs() <= tolerance * (1.0 + x.abs()), "{x} became {y} at {position}");
        }
    }
}

/// The program of the results and the cotangents of all parameters.
fn with_gradient(body: &Body) -> Body {
    tidy(&vjp(body, body.parameters()).expect("a program can be transposed"))
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
    body.nodes().iter().filter(|node| wanted(&node.op)).count()
}

fn contractions(body: &Body) -> usize {
    count(body, |op| matches!(op, Op::Contract(_)))
}

fn scatters(body: &Body) -> usize {
    count(body, |op| matches!(op, Op::Scatter(_)))
}

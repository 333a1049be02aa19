//! The self-convolution of the paper (P 7.1) after every pass, as its figure 18 shows it.

use deltaray::derivative::program;
use deltaray::prelude::*;
use deltaray::simplify::simplify;
use deltaray::term::print::Printer;
use deltaray::term::{Body, Extension};
use deltaray::vectorise::vectorise;

/// Written element by element; staged, it runs in bulk.
#[differentiable]
fn self_convolution(x: Vector<f64>) -> Scalar<f64> {
    let n = x.len();
    build(n, |i| x[i] * x[n - 1 - i]).sum()
}

fn show<X: Extension>(title: &str, body: &Body<X>, results: &[&str]) {
    println!("{title}\n");
    let printer = Printer::new(body).program("self_convolution").parameters(["x"]).results(results.iter().copied());
    for line in printer.to_string().lines() {
        println!("    {line}");
    }
    println!();
}

fn main() -> deltaray::Result<()> {
    let x = Vector::from(vec![1.0, 2.0, 3.0, 4.0]);
    let function = stage(self_convolution, &x)?;
    show("1. Staged: the function ran once, on a variable.", function.source(), &["value"]);

    let bulk = vectorise(function.source());
    show("2. Vectorised by the bulk-operation transform: no build is left.", &bulk, &["value"]);

    let (primal, delta) = program::dual_form(&bulk, &["x"])?;
    show(
        "3. Interpreted in dual arrays: the primal program, with what the Delta refers to as a0, a1, ..",
        &primal,
        &["value", "a0", "a1", "a2", "a3"],
    );
    println!("4. The Delta of the result, a program for the forward derivative:\n");
    for line in delta.lines() {
        println!("    {line}");
    }
    println!();

    let gradient = program::value_and_gradient(&bulk, 1)?;
    show(
        "5. Transposed, for the cotangent 1, before any input is known, and unshared into lets:",
        &gradient,
        &["value", "dx"],
    );
    show("6. Simplified:", &simplify(&gradient), &["value", "dx"]);

    let gradient = function.value_and_grad()?;
    show("7. What runs: simplified before differentiation as well as after:", gradient.program(), &["value", "dx"]);

    let (value, dx) = gradient.call(&x)?;
    println!("At {x:?}:\n    the value is {value:?}, its gradient {dx:?}");
    Ok(())
}

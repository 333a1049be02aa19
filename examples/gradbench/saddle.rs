//! The saddle point of a function: the least over x of the largest over y.

use crate::descent::{Mode, argmax, argmin};
use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    start: Vec<f64>,
}

fn height<A: Algebra>((x, y): &(Vector<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
    x.dot(x) - y.dot(y)
}

/// The y at which the function is largest, for an x.
fn highest<A: Algebra>(x: &Vector<A, f64>, start: &Vector<A, f64>, mode: Mode) -> Vector<A, f64> {
    argmax(
        start,
        |y| height(&(x.clone(), y.clone())),
        |y| match mode {
            Mode::Forward => jacfwd(|(y, x)| height(&(x.clone(), y.clone())), (y, x)),
            Mode::Reverse => grad(|(y, x)| height(&(x.clone(), y.clone())), (y, x)),
        },
    )
}

/// The largest value for an x, where the search starts.
fn ridge<A: Algebra>((x, start): &(Vector<A, f64>, Vector<A, f64>), mode: Mode) -> Scalar<A, f64> {
    height(&(x.clone(), highest(x, start, mode)))
}

/// x and y of the saddle point, as found from a start.
fn saddle<A: Algebra>(start: &Vector<A, f64>, [outer, inner]: [Mode; 2]) -> Vector<A, f64> {
    let x = argmin(
        start,
        |x| ridge(&(x.clone(), start.clone()), inner),
        |x| match outer {
            Mode::Forward => jacfwd(|arguments| ridge(arguments, inner), (x, start)),
            Mode::Reverse => grad(|arguments| ridge(arguments, inner), (x, start)),
        },
    );
    concatenate(0, &[x.clone(), highest(&x, start, outer)])
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let start = Vector::from(serde_json::from_value::<Input>(input)?.start);
    let Some(modes) = Mode::pair(function) else { return unknown(function) };
    let found = evaluation.measure(
        (),
        || stage(|start| saddle(start, modes), &start)?.compile(Cpu::default()),
        |saddle| saddle.call(&start),
    )?;
    Ok(json!(found.to_vec()))
}

pub fn print() -> deltaray::Result<String> {
    let programs = ["ff", "fr", "rf", "rr"].map(|name| {
        let modes = Mode::pair(name).expect("the name of two modes");
        Ok(format!("{name}: {}", stage(|start| saddle(start, modes), &zeros(2))?))
    });
    programs.into_iter().collect()
}

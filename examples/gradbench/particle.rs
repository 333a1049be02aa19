//! A particle flies through the field of two charges. One of them is placed so that the particle hits the origin.

use crate::descent::{Mode, argmin};
use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    w: f64,
}

/// The potential at a place, for a place of one of the charges.
fn potential<A: Algebra>((x, w): &(Vector<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
    let charges = stack(&[stack(&[scalar(10.0), 10.0 - w.at(0)]), Vector::from_slice(&[10.0, 0.0])]);
    (x - charges).powi(2).sum_axis(1).sqrt().recip().sum()
}

/// The squared distance from the origin at which the particle reaches the x axis, by Euler's method.
fn miss<A: Algebra>(w: &Vector<A, f64>, mode: Mode) -> Scalar<A, f64> {
    let time = 0.1;
    let slope = |x: &Vector<A, f64>| match mode {
        Mode::Forward => jacfwd(potential, (x, w)),
        Mode::Reverse => grad(potential, (x, w)),
    };
    let start = (Vector::<A, f64>::from_slice(&[0.0, 8.0]), Vector::<A, f64>::from_slice(&[0.75, 0.0]));
    let (x, velocity) = while_loop(
        start,
        |(x, velocity)| (x.at(1) + time * velocity.at(1)).gt(0.0),
        |(x, velocity)| (&x + time * &velocity, velocity - time * slope(&x)),
    );
    let rest = -x.at(1) / velocity.at(1);
    (x.at(0) + rest * velocity.at(0)).powi(2)
}

/// The place at which the particle hits the origin, as found from a start.
fn place<A: Algebra>(start: &Vector<A, f64>, [outer, inner]: [Mode; 2]) -> Vector<A, f64> {
    argmin(
        start,
        |w| miss(w, inner),
        |w| match outer {
            Mode::Forward => jacfwd(|w| miss(w, inner), w),
            Mode::Reverse => grad(|w| miss(w, inner), w),
        },
    )
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let w = Vector::from([serde_json::from_value::<Input>(input)?.w]);
    let Some(modes) = Mode::pair(function) else { return unknown(function) };
    let found =
        evaluation.measure((), || stage(|w| place(w, modes), &w)?.compile(Cpu::default()), |place| place.call(&w))?;
    Ok(json!(found.at(0).item()))
}

pub fn print() -> deltaray::Result<String> {
    let programs = ["ff", "fr", "rf", "rr"].map(|name| {
        let modes = Mode::pair(name).expect("the name of two modes");
        Ok(format!("{name}: {}", stage(|w| place(w, modes), &zeros(1))?))
    });
    programs.into_iter().collect()
}

//! The square of a number, and its derivative.

use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde_json::{Value, json};

fn square<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    x * x
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let x = scalar(serde_json::from_value(input)?);
    let y = match function {
        "square" => evaluation.measure((), || stage(square, &x)?.compile(Cpu::default()), |square| square.call(&x))?,
        "double" => {
            evaluation.measure((), || stage(square, &x)?.grad()?.compile(Cpu::default()), |double| double.call(&x))?
        }
        _ => return unknown(function),
    };
    Ok(json!(y.item()))
}

pub fn print() -> deltaray::Result<String> {
    let square = stage(square, &scalar(1.0))?;
    Ok(format!("{square}{}", square.grad()?))
}

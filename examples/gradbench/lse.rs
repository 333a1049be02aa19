//! The logarithm of a sum of exponentials.

use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
}

/// The largest element is taken out of the exponentials, so that none overflows; the result does not depend on it.
#[differentiable]
fn logsumexp(x: Vector<f64>) -> Scalar<f64> {
    let largest = x.max_all().stop_gradient();
    (x - largest).exp().sum().ln() + largest
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let x = Vector::from(serde_json::from_value::<Input>(input)?.x);
    let primal = || stage(logsumexp, &x);
    Ok(match function {
        "primal" => {
            json!(evaluation.measure(x.len(), || primal()?.compile(Cpu::default()), |primal| primal.call(&x))?.item())
        }
        "gradient" => json!(
            evaluation
                .measure(x.len(), || primal()?.grad()?.compile(Cpu::default()), |gradient| gradient.call(&x))?
                .to_vec()
        ),
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let primal = stage(logsumexp, &zeros(16))?;
    Ok(format!("{primal}{}", primal.grad()?))
}

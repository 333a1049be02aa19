//! Linear least squares: the polynomial with coefficients x against the sign of t, at n points t from −1 to 1.

use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
    n: usize,
}

#[differentiable]
fn objective(x: Vector<f64>, #[plain] n: usize) -> Scalar<f64> {
    let t = iota(n).cast::<f64>() * (2.0 / (n - 1) as f64) - 1.0;
    let sign = (t > 0.0).cast::<f64>() - (t < 0.0).cast::<f64>();
    let polynomial = fold_reverse(zeros(n), x, |value, coefficient| value * t + coefficient);
    0.5 * (sign - polynomial).powi(2).sum()
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let Input { x, n } = serde_json::from_value(input)?;
    let x = Vector::from(x);
    let primal = || stage(|x| objective(x, n), &x);
    let sizes = (n, x.len());
    Ok(match function {
        "primal" => {
            json!(evaluation.measure(sizes, || primal()?.compile(Cpu::default()), |primal| primal.call(&x))?.item())
        }
        "gradient" => json!(
            evaluation
                .measure(sizes, || primal()?.grad()?.compile(Cpu::default()), |gradient| gradient.call(&x))?
                .to_vec()
        ),
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let primal = stage(|x| objective(x, 64), &zeros(8))?;
    Ok(format!("{primal}{}", primal.grad()?))
}

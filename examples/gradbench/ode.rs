//! An ordinary differential equation, y₀′ = x₀ and yᵢ′ = xᵢ yᵢ₋₁, by the method of Runge and Kutta.

use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
    s: usize,
}

/// The value of y at time 2, after s steps from 0.
#[differentiable]
fn solution(x: Vector<f64>, #[plain] s: usize) -> Vector<f64> {
    let n = x.len();
    let h = 2.0 / s as f64;
    let slope = |y: &Vector<f64>| x * concatenate(0, &[ones(1), y[..n - 1]]);
    iterate(zeros(n), s, |y| {
        let k1 = slope(&y);
        let k2 = slope(&(y + h / 2.0 * k1));
        let k3 = slope(&(y + h / 2.0 * k2));
        let k4 = slope(&(y + h * k3));
        y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    })
}

#[differentiable]
fn last(x: Vector<f64>, #[plain] s: usize) -> Scalar<f64> {
    solution(x, s)[x.len() - 1]
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let Input { x, s } = serde_json::from_value(input)?;
    let x = Vector::from(x);
    let sizes = (x.len(), s);
    let y = match function {
        "primal" => evaluation.measure(
            sizes,
            || stage(|x| solution(x, s), &x)?.compile(Cpu::default()),
            |solution| solution.call(&x),
        )?,
        "gradient" => evaluation.measure(
            sizes,
            || stage(|x| last(x, s), &x)?.grad()?.compile(Cpu::default()),
            |gradient| gradient.call(&x),
        )?,
        _ => return unknown(function),
    };
    Ok(json!(y.to_vec()))
}

pub fn print() -> deltaray::Result<String> {
    let x = zeros(16);
    let gradient = stage(|x| last(x, 10), &x)?.grad()?;
    Ok(format!("{}{gradient}", stage(|x| solution(x, 10), &x)?))
}

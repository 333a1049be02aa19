//! A determinant by expansion by minors, which takes as many products as there are permutations.

use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    #[serde(rename = "A")]
    a: Vec<f64>,
    ell: usize,
}

/// The determinants of many minors at once: [rows, columns, minors].
#[differentiable]
fn determinants(minors: Tensor3<f64>) -> Vector<f64> {
    let (m, count) = (minors.len(), minors.shape()[2]);
    if m == 1 {
        return minors.flatten();
    }
    let rest = minors[1..];
    let without = |column: usize| concatenate(1, &[rest[(.., ..column)], rest[(.., column + 1..)]]);
    let smaller = concatenate(2, &(0..m).map(without).collect::<Vec<_>>());
    let signs = 1.0 - 2.0 * (iota(m) % 2).cast::<f64>();
    signs.dot(&(minors[0] * determinants(&smaller).reshape((m, count))))
}

#[differentiable]
fn determinant(a: Matrix<f64>) -> Scalar<f64> {
    determinants(&a.insert_axis(2))[0]
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let input: Input = serde_json::from_value(input)?;
    let a = Matrix::from_elements((input.ell, input.ell), input.a);
    let primal = || stage(determinant, &a);
    Ok(match function {
        "primal" => {
            json!(evaluation.measure(input.ell, || primal()?.compile(Cpu::default()), |primal| primal.call(&a))?.item())
        }
        "gradient" => json!(
            evaluation
                .measure(input.ell, || primal()?.grad()?.compile(Cpu::default()), |gradient| gradient.call(&a))?
                .to_vec()
        ),
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let primal = stage(determinant, &zeros((4, 4)))?;
    Ok(format!("{primal}{}", primal.grad()?))
}

//! A recurrent network of long short-term memories.

use crate::objectives::lstm::{Network, loss};
use crate::protocol::{Answer, Evaluation, matrix, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    main_params: Vec<Vec<f64>>,
    extra_params: Vec<Vec<f64>>,
    state: Vec<Vec<f64>>,
    sequence: Vec<Vec<f64>>,
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let input: Input = serde_json::from_value(input)?;
    let network = Network { main: matrix(input.main_params), extra: matrix(input.extra_params) };
    let (state, text) = (matrix(input.state), matrix(input.sequence));
    let arguments = (&network, &state, &text);
    let sizes = (state.shape(), text.shape());
    let objective = || stage(loss, arguments);
    Ok(match function {
        "objective" => json!(
            evaluation
                .measure(sizes, || objective()?.compile(Cpu::default()), |objective| objective.call(arguments))?
                .item()
        ),
        "jacobian" => {
            let gradient = evaluation.measure(
                sizes,
                || objective()?.grad()?.compile(Cpu::default()),
                |gradient| gradient.call(arguments),
            )?;
            json!([gradient.main.to_vec(), gradient.extra.to_vec()].concat())
        }
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let network = Network { main: zeros((4, 4 * 14)), extra: zeros((3, 14)) };
    let objective = stage(loss, (&network, &zeros((4, 14)), &zeros((100, 14))))?;
    Ok(format!("{objective}{}", objective.grad()?))
}

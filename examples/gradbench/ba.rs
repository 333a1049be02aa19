//! Bundle adjustment.

use crate::objectives::ba::{Errors, Instance, errors, jacobian, pattern};
use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// The first and the last elements, as the eval expects.
fn ends<T: Copy>(elements: &[T]) -> Vec<T> {
    elements.iter().take(30).chain(elements.last()).copied().collect()
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let input: Instance = serde_json::from_value(input)?;
    let (scene, observed) = input.scene();
    let arguments = (&scene, &observed);
    let sizes = (input.n, input.m, input.p);
    let objective = || stage(errors, arguments)?.compile(Cpu::default());
    Ok(match function {
        "objective" => {
            let Errors { reprojection, weight } =
                evaluation.measure(sizes, objective, |objective| objective.call(arguments))?;
            json!({
                "reproj_error": { "elements": reprojection.at(0).to_vec(), "repeated": reprojection.len() },
                "w_err": { "element": weight.at(0).item(), "repeated": weight.len() },
            })
        }
        "jacobian" => {
            // The pattern belongs to the program, not to a point.
            let prepare =
                || Ok((stage(jacobian, arguments)?.compile(Cpu::default())?, Arc::new(pattern(&scene, &observed)?)));
            let matrix = evaluation.measure(sizes, prepare, |(entries, pattern)| {
                Csr::new(Arc::clone(pattern), entries.call(arguments)?)
            })?;
            json!({
                "rows": ends(matrix.row_offsets()),
                "cols": ends(matrix.column_indices()),
                "vals": ends(&matrix.values().to_vec()),
            })
        }
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let input = Instance { n: 3, m: 5, p: 12, cam: vec![1.0; 11], x: vec![1.0; 3], w: 1.0, feat: vec![0.0; 2] };
    let (scene, observed) = input.scene();
    let arguments = (&scene, &observed);
    Ok(format!("{}{}", stage(errors, arguments)?, stage(jacobian, arguments)?))
}

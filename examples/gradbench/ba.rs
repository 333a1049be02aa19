//! Bundle adjustment. The input says one camera, one point and one observation, of which there are to be many.

use crate::objectives::ba::{Errors, Observations, Scene, errors, jacobian, pattern};
use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Deserialize)]
struct Input {
    n: usize,
    m: usize,
    p: usize,
    cam: Vec<f64>,
    x: Vec<f64>,
    w: f64,
    feat: Vec<f64>,
}

/// As many rows as asked for, all equal.
fn repeated(row: &[f64], count: usize) -> Matrix<Concrete, f64> {
    Matrix::from_elements((count, row.len()), row.repeat(count))
}

impl Input {
    /// Camera and point number i, counted around, are those of observation i.
    fn scene(&self) -> (Scene<Concrete>, Observations<Concrete>) {
        let pairs = (0..self.p).flat_map(|at| [(at % self.n) as i64, (at % self.m) as i64]).collect();
        let scene = Scene {
            cameras: repeated(&self.cam, self.n),
            points: repeated(&self.x, self.m),
            weights: vec![self.w; self.p].into(),
        };
        let pairs = Matrix::from_elements((self.p, 2), pairs);
        (scene, Observations { pairs, features: repeated(&self.feat, self.p) })
    }
}

/// The first and the last elements, which is what the eval wants to see.
fn ends<T: Copy>(elements: &[T]) -> Vec<T> {
    elements.iter().take(30).chain(elements.last()).copied().collect()
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let input: Input = serde_json::from_value(input)?;
    let (scene, observed) = input.scene();
    let arguments = (&scene, &observed);
    let sizes = (input.n, input.m, input.p);
    let objective = || stage(errors, arguments);
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
            let prepare = || Ok((stage(jacobian, arguments)?, Arc::new(pattern(&scene, &observed)?)));
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
    let input = Input { n: 3, m: 5, p: 12, cam: vec![1.0; 11], x: vec![1.0; 3], w: 1.0, feat: vec![0.0; 2] };
    let (scene, observed) = input.scene();
    let arguments = (&scene, &observed);
    Ok(format!("{}{}", stage(errors, arguments)?, stage(jacobian, arguments)?))
}

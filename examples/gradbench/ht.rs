//! Hand tracking.

use crate::objectives::hand::{Hand, Scanned, errors, jacobian, surface_errors, surface_jacobian};
use crate::protocol::{Answer, Evaluation, matrix, rows, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    theta: Vec<f64>,
    data: Data,
    /// Empty where points correspond to vertices.
    us: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Data {
    model: Model,
    correspondences: Vec<i64>,
    points: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Model {
    parents: Vec<i64>,
    base_relatives: Vec<Vec<Vec<f64>>>,
    inverse_base_absolutes: Vec<Vec<Vec<f64>>>,
    base_positions: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
    triangles: Vec<[i64; 3]>,
    is_mirrored: bool,
}

/// Matrices of four rows and columns.
fn transforms(matrices: &[Vec<Vec<f64>>]) -> Tensor3<Concrete, f64> {
    Tensor::from_elements((matrices.len(), 4, 4), matrices.concat().concat())
}

impl Data {
    fn arrays(self) -> (Hand<Concrete>, Scanned<Concrete>) {
        let (model, points) = (self.model, self.points);
        let hand = Hand {
            parents: model.parents.iter().map(|&parent| usize::try_from(parent).ok()).collect(),
            base_relatives: transforms(&model.base_relatives),
            inverse_base_absolutes: transforms(&model.inverse_base_absolutes),
            base_positions: matrix(model.base_positions),
            weights: matrix(model.weights),
            triangles: Matrix::from_elements((model.triangles.len(), 3), model.triangles.concat()),
        };
        (hand, Scanned { correspondences: self.correspondences.into(), points: matrix(points) })
    }
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let input: Input = serde_json::from_value(input)?;
    if input.data.model.is_mirrored {
        return Err("mirrored hands are not among the data".into());
    }
    let theta = Vector::from(input.theta);
    let (hand, scanned) = input.data.arrays();
    let sizes = (&hand.parents, hand.weights.len(), hand.triangles.len(), scanned.points.len(), input.us.len());
    let vertices = (&theta, &hand, &scanned);
    let us = matrix(input.us);
    let surface = (&theta, &us, &hand, &scanned);
    Ok(match (function, us.is_empty()) {
        ("objective", true) => {
            json!(
                evaluation
                    .measure(
                        sizes,
                        || stage(errors, vertices)?.compile(Cpu::default()),
                        |errors| errors.call(vertices)
                    )?
                    .to_vec()
            )
        }
        ("objective", false) => {
            json!(
                evaluation
                    .measure(
                        sizes,
                        || stage(surface_errors, surface)?.compile(Cpu::default()),
                        |errors| errors.call(surface)
                    )?
                    .to_vec()
            )
        }
        ("jacobian", _) => {
            let jacobian = match us.is_empty() {
                true => evaluation.measure(
                    sizes,
                    || stage(jacobian, vertices)?.compile(Cpu::default()),
                    |jacobian| jacobian.call(vertices),
                )?,
                false => evaluation.measure(
                    sizes,
                    || stage(surface_jacobian, surface)?.compile(Cpu::default()),
                    |jacobian| jacobian.call(surface),
                )?,
            };
            let [points, axes, columns] = jacobian.shape()[..] else { unreachable!("an array of three axes") };
            rows(&jacobian.reshape((points * axes, columns)))
        }
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let hand = Hand {
        // The arm, the wrist, and four bones of each of five fingers.
        parents: (0..22).map(|bone: usize| if bone % 4 == 2 { Some(1) } else { bone.checked_sub(1) }).collect(),
        base_relatives: zeros((22, 4, 4)),
        inverse_base_absolutes: zeros((22, 4, 4)),
        base_positions: zeros((544, 4)),
        weights: zeros((544, 22)),
        triangles: zeros((1000, 3)),
    };
    let scanned = Scanned { correspondences: zeros(100), points: zeros((100, 3)) };
    let (theta, us) = (zeros(26), zeros((100, 2)));
    let vertices = (&theta, &hand, &scanned);
    let surface = (&theta, &us, &hand, &scanned);
    Ok(format!(
        "{}{}{}{}",
        stage(errors, vertices)?,
        stage(jacobian, vertices)?,
        stage(surface_errors, surface)?,
        stage(surface_jacobian, surface)?
    ))
}

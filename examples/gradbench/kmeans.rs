//! k-means clustering by Newton's method: the step that it makes, for the Hessian is diagonal.

use crate::protocol::{Answer, Evaluation, matrix, rows, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    points: Vec<Vec<f64>>,
    centroids: Vec<Vec<f64>>,
}

/// The squared distances of points [n, d] from the nearest of the centroids [k, d], summed; |p − c|² = |p|² − 2 p·c + |c|².
#[differentiable]
fn cost((centroids, points): (Matrix<f64>, Matrix<f64>)) -> Scalar<f64> {
    let from_origin = centroids.powi(2).sum_axis(1) - 2.0 * points.dot(&centroids.transpose());
    points.powi(2).sum() + from_origin.min_axis(1).sum()
}

/// The gradient divided by the diagonal of the Hessian, which is its product with a vector of ones.
#[differentiable]
fn direction((centroids, points): (Matrix<f64>, Matrix<f64>)) -> Matrix<f64> {
    let along = ones(&centroids.shape()[..]).into_rank();
    let (gradient, curvature) = jvp(|(centroids, points)| grad(cost, (centroids, points)), (centroids, points), &along);
    gradient / curvature
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let input: Input = serde_json::from_value(input)?;
    let (centroids, points) = (matrix(input.centroids), matrix(input.points));
    let arguments = (&centroids, &points);
    let sizes = (centroids.shape(), points.shape());
    Ok(match function {
        "cost" => json!(
            evaluation
                .measure(sizes, || stage(cost, arguments)?.compile(Cpu::default()), |cost| cost.call(arguments))?
                .item()
        ),
        "dir" => rows(&evaluation.measure(
            sizes,
            || stage(direction, arguments)?.compile(Cpu::default()),
            |direction| direction.call(arguments),
        )?),
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let arguments = (&zeros((5, 3)), &zeros((100, 3)));
    let cost = stage(cost, arguments)?;
    Ok(format!("{cost}{}{}", cost.grad()?, stage(direction, arguments)?))
}

//! A determinant by expansion by minors, which takes as many products as there are permutations.

use crate::protocol::{Answer, Evaluation, unknown};
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Input {
    A: Vec<f64>,
    ell: usize,
}

/// The determinants of many minors at once: of the last rows of a matrix, and columns of it, as many in each row of `columns`.
fn minors<A: Algebra>(a: &Matrix<A, f64>, columns: &Matrix<A, i64>) -> Vector<A, f64> {
    let (count, m) = (columns.len(), columns.shape()[1]);
    let first = a.at(a.len() - m).gather(columns);
    if m == 1 {
        return first.flatten();
    }
    // Without column j, the columns before it stay where they are, and those after it move up.
    let others = build((count, m, m - 1), |(p, j, c)| columns.at((p, &c + c.ge(j).cast::<i64>())));
    let smaller = minors(a, &others.reshape((count * m, m - 1))).reshape((count, m));
    let signs = 1.0 - 2.0 * (iota(m) % 2).cast::<f64>();
    (first * smaller).dot(&signs)
}

fn determinant<A: Algebra>(a: &Matrix<A, f64>) -> Scalar<A, f64> {
    minors(a, &iota(a.len()).insert_axis(0)).at(0)
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let input: Input = serde_json::from_value(input)?;
    let a = Matrix::from_elements((input.ell, input.ell), input.A);
    let primal = || stage(determinant, &a);
    Ok(match function {
        "primal" => json!(evaluation.measure(input.ell, primal, |primal| primal.call(&a))?.item()),
        "gradient" => json!(evaluation.measure(input.ell, || primal()?.grad(), |gradient| gradient.call(&a))?.to_vec()),
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let primal = stage(determinant, &zeros((4, 4)))?;
    Ok(format!("{primal}{}", primal.grad()?))
}

//! Fitting a mixture of Gaussians.

use crate::objectives::gmm::{Mixture, Wishart, log_likelihood, log_prior};
use crate::protocol::{Answer, Evaluation, matrix, rows, unknown};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    d: usize,
    x: Vec<Vec<f64>>,
    m: f64,
    gamma: f64,
    alpha: Vec<f64>,
    mu: Vec<Vec<f64>>,
    q: Vec<Vec<f64>>,
    l: Vec<Vec<f64>>,
}

type Arguments<A> = (Mixture<A>, Matrix<A, f64>, Wishart<A>);

fn log_posterior<A: Algebra>((mixture, points, prior): &Arguments<A>) -> Scalar<A, f64> {
    log_likelihood(mixture, points) + log_prior(mixture, prior)
}

pub fn evaluate(evaluation: &mut Evaluation, function: &str, input: Value) -> Answer {
    let input: Input = serde_json::from_value(input)?;
    let mixture = Mixture {
        alpha: input.alpha.into(),
        means: matrix(input.mu),
        log_diagonals: matrix(input.q),
        lower: matrix(input.l),
    };
    let prior = Wishart { gamma: scalar(input.gamma), m: scalar(input.m) };
    let points = matrix(input.x);
    let arguments = (&mixture, &points, &prior);
    let sizes = (points.len(), input.d, mixture.alpha.len());
    let objective = || stage(log_posterior, arguments);
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
            json!({
                "alpha": gradient.alpha.to_vec(),
                "mu": rows(&gradient.means),
                "q": rows(&gradient.log_diagonals),
                "l": rows(&gradient.lower),
            })
        }
        _ => return unknown(function),
    })
}

pub fn print() -> deltaray::Result<String> {
    let mixture = Mixture { alpha: zeros(5), means: zeros((5, 3)), log_diagonals: zeros((5, 3)), lower: zeros((5, 3)) };
    let prior = Wishart { gamma: scalar(1.0), m: scalar(0.0) };
    let objective = stage(log_posterior, (&mixture, &zeros((100, 3)), &prior))?;
    Ok(format!("{objective}{}", objective.grad()?))
}

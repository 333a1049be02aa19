//! A logistic regression, fitted by argmin's L-BFGS with gradients made here.
//!
//! ```sh
//! cargo run --release --manifest-path examples/argmin/Cargo.toml
//! ```

use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::linesearch::{BacktrackingLineSearch, condition::ArmijoCondition};
use argmin::solver::quasinewton::LBFGS;
use deltaray::prelude::*;

/// The mean loss of a linear classifier, with a small penalty on its weights; labels are 0 or 1.
#[differentiable]
fn loss(weights: Vector<f64>, x: Matrix<f64>, labels: Vector<f64>) -> Scalar<f64> {
    let scores = x.dot(weights);
    (scores.softplus() - labels * scores).mean() + 1e-3 * weights.powi(2).sum()
}

struct Problem(SliceFunction<f64>);

impl CostFunction for Problem {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, weights: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.0.value(weights)?)
    }
}

impl Gradient for Problem {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, weights: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let mut gradient = vec![0.0; weights.len()];
        self.0.value_and_grad(weights, &mut gradient)?;
        Ok(gradient)
    }
}

/// Points on both sides of a plane through the origin, some on the wrong one.
fn points(count: usize, plane: &[f64]) -> (Matrix<Concrete, f64>, Vector<Concrete, f64>) {
    let x: Vec<f64> = (0..count * plane.len()).map(|at| ((at * at) as f64 * 0.37 + at as f64).sin()).collect();
    let score = |row: &[f64]| row.iter().zip(plane).map(|(x, w)| x * w).sum::<f64>();
    let is_above = |(at, row): (usize, &[f64])| (score(row) > 0.0) != (at % 10 == 0);
    let labels: Vec<f64> = x.chunks(plane.len()).enumerate().map(|row| f64::from(is_above(row))).collect();
    (Matrix::from_elements((count, plane.len()), x), labels.into())
}

fn main() -> Result<(), Error> {
    let (x, labels) = points(1000, &[2.0, -1.0, 0.5, 0.0]);
    let staged = stage(|(weights, x, labels)| loss(weights, x, labels), (&zeros(4), &x, &labels))?;
    let function = staged.over_slices_with((&x, &labels))?;

    // A search that ends also where a step is too long and the loss is not a number.
    let search = BacktrackingLineSearch::new(ArmijoCondition::new(1e-4)?);
    let solver = LBFGS::new(search, 5).with_tolerance_grad(1e-8)?;
    let executor = Executor::new(Problem(function.clone()), solver);
    let result = executor.configure(|state| state.param(vec![0.0; 4]).max_iters(100)).run()?;
    let state = result.state();
    let weights = state.get_best_param().expect("a point");
    println!("loss {:.6} after {} steps at {weights:.4?}", state.get_best_cost(), state.get_iter());

    let mut gradient = vec![0.0; 4];
    function.value_and_grad(weights, &mut gradient)?;
    assert!(gradient.iter().all(|slope| slope.abs() < 1e-6), "no minimum: {gradient:?}");
    Ok(())
}

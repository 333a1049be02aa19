//! L-BFGS (Nocedal, 1980) on trees of parameters, with a line search that halves the step.

use deltaray::prelude::*;
use deltaray::tensor::TreeArithmetic;
use std::collections::VecDeque;

/// The number of steps that the curvature is estimated from.
const MEMORY: usize = 8;
/// The greatest length of a step. Parameters are logarithms: this is a factor of seven.
const LONGEST: f64 = 2.0;
/// The share of the decrease that the slope promises with which the line search is content (Armijo's condition).
const DECREASE: f64 = 1e-4;
const HALVINGS: usize = 30;

pub struct Minimum<T> {
    pub parameters: T,
    pub value: f64,
    pub iterations: usize,
    /// Calls of the objective.
    pub evaluations: usize,
}

/// A step of the minimiser, and how the gradient changed along it.
struct Pair<T> {
    step: T,
    change: T,
    /// The inverse of their inner product.
    scale: f64,
}

/// Minimises an objective, which results in its value and gradient. Steps end before it is infinite or NaN.
///
/// The search ends after so many iterations, where the gradient is small beside the value, or where no step along it decreases
/// the value. The last argument is told of each iteration's number, value and parameters.
pub fn minimise<T: Tree<Concrete> + Clone>(
    start: T,
    iterations: usize,
    mut objective: impl FnMut(&T) -> deltaray::Result<(f64, T)>,
    mut observe: impl FnMut(usize, f64, &T),
) -> deltaray::Result<Minimum<T>> {
    let (value, mut gradient) = objective(&start)?;
    let mut minimum = Minimum { parameters: start, value, iterations: 0, evaluations: 1 };
    let mut pairs = VecDeque::new();
    observe(0, value, &minimum.parameters);
    while minimum.iterations < iterations && length(&gradient) > 1e-6 * (1.0 + minimum.value.abs()) {
        let mut direction = descent(&gradient, &pairs);
        if inner(&direction, &gradient) >= 0.0 {
            pairs.clear();
            direction = gradient.negated();
        }
        // Nothing is known of the curvature at first.
        let longest = if pairs.is_empty() { 0.5 } else { LONGEST };
        let direction = direction.scaled((longest / length(&direction)).min(1.0));
        let slope = inner(&direction, &gradient);
        let mut accepted = None;
        for halving in 0..HALVINGS {
            let share = 0.5_f64.powi(halving as i32);
            let parameters = minimum.parameters.plus(&direction.scaled(share));
            let (value, next) = objective(&parameters)?;
            minimum.evaluations += 1;
            if value <= minimum.value + DECREASE * share * slope && length(&next).is_finite() {
                accepted = Some((parameters, value, next));
                break;
            }
        }
        let Some((parameters, value, next)) = accepted else { break };
        let (step, change) = (parameters.minus(&minimum.parameters), next.minus(&gradient));
        let product = inner(&step, &change);
        // Where the objective bends down, the pair says nothing about a minimum.
        if product > 1e-10 * length(&step) * length(&change) {
            pairs.push_back(Pair { step, change, scale: product.recip() });
            if pairs.len() > MEMORY {
                pairs.pop_front();
            }
        }
        gradient = next;
        minimum = Minimum { parameters, value, iterations: minimum.iterations + 1, ..minimum };
        observe(minimum.iterations, value, &minimum.parameters);
    }
    Ok(minimum)
}

/// The direction of the next step: the negative gradient times the estimate of the Hessian's inverse.
fn descent<T: Tree<Concrete>>(gradient: &T, pairs: &VecDeque<Pair<T>>) -> T {
    let mut direction = gradient.negated();
    let mut shares = Vec::new();
    for pair in pairs.iter().rev() {
        let share = pair.scale * inner(&pair.step, &direction);
        direction = direction.minus(&pair.change.scaled(share));
        shares.push(share);
    }
    if let Some(Pair { change, scale, .. }) = pairs.back() {
        direction = direction.divided(scale * inner(change, change));
    }
    for (pair, share) in pairs.iter().zip(shares.into_iter().rev()) {
        let correction = share - pair.scale * inner(&pair.change, &direction);
        direction = direction.plus(&pair.step.scaled(correction));
    }
    direction
}

fn inner<T: Tree<Concrete>>(a: &T, b: &T) -> f64 {
    a.dot::<f64>(b).item()
}

fn length<T: Tree<Concrete>>(a: &T) -> f64 {
    a.norm::<f64>().item()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        // Rosenbrock's function.
        let start = (scalar(-1.2), scalar(1.0));
        let valley = stage(
            |(x, y): &(Scalar<_, f64>, Scalar<_, f64>)| (1.0 - x).powi(2) + 100.0 * (y - x.powi(2)).powi(2),
            &start,
        );
        let valley = valley.expect("it is staged").value_and_grad().expect("it has a gradient");
        let mut values = Vec::new();
        let objective = |at: &(Scalar<Concrete, f64>, Scalar<Concrete, f64>)| {
            let (value, gradient) = valley.call(at)?;
            Ok((value.item(), gradient))
        };
        let minimum = minimise(start, 200, objective, |_, value, _| values.push(value)).expect("it runs");
        let (x, y) = minimum.parameters;
        assert!((x.item() - 1.0).abs() < 1e-4 && (y.item() - 1.0).abs() < 1e-4, "{x:?} {y:?}");
        assert!(values.is_sorted_by(|before, after| before > after), "{values:?}");
        assert_eq!(values.len(), minimum.iterations + 1);
    }

    #[test]
    fn steps_end_before_there_is_no_value() {
        // x − ln x has its minimum at 1, and no value below 0.
        let objective = |x: &Scalar<Concrete, f64>| Ok(((x - x.ln()).item(), 1.0 - x.recip()));
        let minimum = minimise(scalar(0.1), 100, objective, |_, _, _| ()).expect("it runs");
        assert!((minimum.parameters.item() - 1.0).abs() < 1e-5, "{:?}", minimum.parameters);
    }
}

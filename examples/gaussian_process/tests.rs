//! The gradient beside finite differences, and what a fit finds.

use super::*;
use crate::model::{Hyperparameters, Points, condition, predict, surprise};
use deltaray::prelude::*;
use deltaray::tensor::TreeArithmetic;

fn fitted(count: usize) -> (Vec<f64>, Hyperparameters<Concrete>, [Points<Concrete>; 2]) {
    let [points, held_out] = data::draw(count, 3);
    let mut likelihoods = Vec::new();
    let fit = Fit::new(&points, false).expect("it is compiled");
    let minimum = fit.run(data::guess(), &points, |_, likelihood, _| likelihoods.push(likelihood)).expect("it runs");
    (likelihoods, minimum.parameters, [points, held_out])
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    let [points, _] = data::draw(20, 5);
    let at = Hyperparameters::of(4.0, 1.2, 0.3);
    let fit = Fit::new(&points, false).expect("it is compiled");
    let (value, gradient) = fit.value_and_gradient(&at, &points).expect("it runs");
    assert!((value - surprise(&at, &points).item()).abs() <= 1e-12 * value.abs());
    let one = |length: f64, amplitude: f64, noise: f64| Hyperparameters::<Concrete> {
        log_length: scalar(length),
        log_amplitude: scalar(amplitude),
        log_noise: scalar(noise),
    };
    for along in [one(1.0, 0.0, 0.0), one(0.0, 1.0, 0.0), one(0.0, 0.0, 1.0)] {
        let step = 1e-5;
        let value = |by: f64| surprise(&at.plus(&along.scaled(by)), &points).item();
        let expected = (value(step) - value(-step)) / (2.0 * step);
        let found = gradient.dot::<f64>(&along).item();
        assert!((found - expected).abs() <= 1e-7 * (1.0 + expected.abs()), "{found} instead of {expected}");
    }
    check_grad(&surprise {}, &(at, points), &CheckGrad::default()).expect("all modes agree");
}

#[test]
fn a_fit_finds_the_noise_and_intervals_hold_what_they_say() {
    let (likelihoods, found, [points, held_out]) = fitted(400);
    assert!(likelihoods.is_sorted_by(|before, after| before < after), "{likelihoods:?}");
    // The standard error of the noise is a part in √(2 · 400) of it, those of length and amplitude are some times as large.
    let tolerances = [("noise", 0.08), ("length", 0.2), ("amplitude", 0.3)];
    for (name, tolerance) in tolerances {
        let of =
            |at: &Hyperparameters<Concrete>| at.named().into_iter().find(|(own, _)| *own == name).expect("a name").1;
        let (found, expected) = (of(&found), of(&data::truth()));
        assert!((found / expected - 1.0).abs() <= tolerance, "{name}: {found} instead of {expected}");
    }
    // The likelihood of what was found is no less than that of the truth.
    let [found_value, true_value] = [&found, &data::truth()].map(|at| surprise(at, &points).item());
    assert!(found_value <= true_value, "{found_value} and {true_value}");

    let posterior = fit::posterior(&found, &points).expect("it runs");
    let (mean, deviation) = predict(&posterior, &held_out.x);
    let share = coverage(&held_out.y, &mean, &deviation);
    // Of 100 observations, whose share has a standard error of 2 %.
    assert!((0.90..1.0).contains(&share), "{share}");
    // Intervals are narrower than those of someone who has seen nothing.
    let prior = held_out.y.variance().sqrt().item();
    assert!(deviation.max_all().item() < 2.0 * prior && deviation.mean().item() < 0.6 * prior);
}

#[test]
fn predictions_far_from_observations_are_those_of_the_prior() {
    let [points, _] = data::draw(30, 7);
    let at = data::truth();
    let posterior = condition(&at, &points);
    let (mean, deviation) = predict(&posterior, &Vector::from(vec![1e3]));
    let prior = (1.5_f64.powi(2) + 0.4_f64.powi(2)).sqrt();
    assert!(mean.at(0).item().abs() < 1e-12 && (deviation.at(0).item() - prior).abs() < 1e-12);
}

#[test]
fn a_picture_has_every_observation() {
    let (x, y) = ([0.0, 1.0, 3.0], [1.0, -1.0, 2.0]);
    let band = plot::Band { x: &[0.0, 1.5, 3.0], mean: &[1.0, 0.0, 2.0], half: &[0.5; 3] };
    let picture = plot::svg("three", [&x, &y], &band);
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"), "{picture}");
    assert_eq!(picture.matches("<circle").count(), 3);
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
}

#[test]
fn what_is_no_option_is_named() {
    let parse = |line: &str| Options::parse(line.split_whitespace().map(String::from));
    assert!(parse("--points 0").is_err_and(|problem| problem.contains("--points")));
    assert!(parse("--point 3").is_err_and(|problem| problem.contains("--point")));
    assert!(parse("--help").is_ok_and(|options| options.is_none()));
}

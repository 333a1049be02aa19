//! The result of the adjustment of a small problem.

use super::*;
use crate::model::residuals;

#[test]
fn an_adjustment_explains_all_but_the_noise() {
    let size = Size { cameras: 10, points: 100, observations: 1000 };
    let problem = data::draw(size, 2);
    let adjustment = Adjustment::new(&problem.guess, &problem.observed).expect("it is analysed");
    let mut steps = 0;
    let found = adjustment.run(problem.guess, &problem.observed, 30, |_| steps += 1).expect("it runs");
    assert!(steps == found.iterations && steps < 15, "{steps} steps");
    // Twice the cost over the variance has a mean of as many as there are errors, less the free parameters: seven of a similarity are
    // not. Its standard deviation is the root of twice that.
    let free = 2 * size.observations - 11 * size.cameras - 3 * size.points + 7;
    let (mean, found) = (free as f64, 2.0 * found.cost / data::NOISE.powi(2));
    assert!((found - mean).abs() < 4.0 * (2.0 * mean).sqrt(), "{found} and {mean}");
    let truth = 2.0 * adjustment.cost(&problem.truth, &problem.observed).expect("it runs") / data::NOISE.powi(2);
    assert!(found < truth);
}

#[test]
fn errors_of_the_truth_are_noise() {
    let problem = data::draw(Size { cameras: 3, points: 200, observations: 600 }, 3);
    let errors = residuals(&(problem.truth, problem.observed));
    let deviation = errors.powi(2).mean().sqrt().item();
    assert!((deviation / data::NOISE - 1.0).abs() < 0.1, "{deviation}");
}

#[test]
fn sizes_are_read_and_checked() {
    let parse = |line: &str| Options::parse(line.split_whitespace().map(String::from));
    assert_eq!(Size::of_file("2 3 6\n0.5 1e-3"), Some(Size { cameras: 2, points: 3, observations: 6 }));
    assert_eq!(Size::of_file("2 3"), None);
    assert!(parse("--cameras 2 --points 3 --observations 7").is_err_and(|problem| problem.contains("3 to 6")));
    assert!(parse("--file nowhere").is_err_and(|problem| problem.starts_with("nowhere: ")));
    assert!(parse("--camera 2").is_err_and(|problem| problem.contains("--camera")));
    assert!(parse("--help").is_ok_and(|options| options.is_none()));
}

//! Gradients of common tasks, compiled, beside loops that are written by hand: `cargo bench -p deltaray-benches`.

#[path = "../examples/tasks/functions.rs"]
#[allow(dead_code)]
mod functions;
#[path = "../examples/tasks/inputs.rs"]
#[allow(dead_code)]
mod inputs;
#[path = "../examples/tasks/networks.rs"]
#[allow(dead_code)]
mod networks;
#[path = "../examples/objectives/mod.rs"]
#[allow(dead_code)]
mod objectives;
#[path = "../examples/digits/random.rs"]
#[allow(dead_code, unused_imports)]
mod random;

use criterion::{Criterion, criterion_group, criterion_main};
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use deltaray_benches as by_hand;
use std::hint::black_box;

/// Benches a compiled function on one thread, and returns its result.
macro_rules! compiled {
    ($group:ident, $staged:expr, $arguments:expr) => {{
        let compiled = $staged.and_then(|staged| staged.compile(Cpu::default().threads(1)));
        let compiled = compiled.expect("the task compiles");
        let mut result = compiled.call($arguments).expect("the task runs");
        $group.bench_function("deltaray", |bencher| {
            bencher.iter(|| compiled.call_into(black_box($arguments), &mut result).expect("the task runs"))
        });
        result
    }};
}

/// Benches the value and gradient of a function, and returns them.
macro_rules! gradient {
    ($group:ident, $function:expr, $arguments:expr) => {
        compiled!($group, stage($function, $arguments).and_then(|staged| staged.value_and_grad()), $arguments)
    };
}

/// Compares results by hand with the library's, relative to the largest number.
fn check(found: &[f64], expected: Vec<f64>, tolerance: f64) {
    let largest = expected.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / largest;
        assert!(error <= tolerance, "number {at} by hand is {found} instead of {expected}");
    }
}

/// Compares a value and a gradient, of double precision.
fn check_gradient(value: f64, gradient: &[f64], expected: (Scalar<Concrete, f64>, Vec<f64>)) {
    check(&[value], vec![expected.0.item()], 1e-9);
    check(gradient, expected.1, 1e-9);
}

const MILLION: usize = 1_000_000;

fn elements(criterion: &mut Criterion) {
    let mut derivative = vec![0.0; MILLION];
    let x = inputs::normals(MILLION);
    let plain = x.to_vec();
    let mut group = criterion.benchmark_group("chain");
    let (value, gradient) = gradient!(group, functions::chain, &x);
    check_gradient(by_hand::chain(&plain, &mut derivative), &derivative, (value, gradient.to_vec()));
    group.bench_function("by hand", |bencher| bencher.iter(|| by_hand::chain(black_box(&plain), &mut derivative)));
    group.finish();

    let mut group = criterion.benchmark_group("logsumexp");
    let table = inputs::table(10_000, 100);
    let (value, gradient) = gradient!(group, functions::log_sum_exp, &table);
    check_gradient(by_hand::log_sum_exp(&plain, 100, &mut derivative), &derivative, (value, gradient.to_vec()));
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::log_sum_exp(black_box(&plain), 100, &mut derivative))
    });
    group.finish();
}

fn running(criterion: &mut Criterion) {
    let (w, x) = (inputs::normals(MILLION), inputs::near_one(MILLION));
    let (weights, factors, mut derivative) = (w.to_vec(), x.to_vec(), vec![0.0; MILLION]);
    let mut group = criterion.benchmark_group("cumsum");
    let (value, gradient) = gradient!(group, functions::cumulative_sum, (&x, &w));
    let by_hand_value = by_hand::cumulative_sum(&factors, &weights, &mut derivative);
    check_gradient(by_hand_value, &derivative, (value, gradient.to_vec()));
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::cumulative_sum(black_box(&factors), &weights, &mut derivative))
    });
    group.finish();

    let mut group = criterion.benchmark_group("cumprod");
    let (value, gradient) = gradient!(group, functions::cumulative_product, (&x, &w));
    let by_hand_value = by_hand::cumulative_product(&factors, &weights, &mut derivative);
    check_gradient(by_hand_value, &derivative, (value, gradient.to_vec()));
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::cumulative_product(black_box(&factors), &weights, &mut derivative))
    });
    group.finish();
}

fn logistic(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("logistic");
    let (points, labels, weights) = (inputs::table(100_000, 100), inputs::halves(100_000), inputs::normals(100));
    let (value, gradient) = gradient!(group, functions::logistic, (&weights, &points, &labels));
    let (points, labels, weights) = (points.to_vec(), labels.to_vec(), weights.to_vec());
    let mut derivative = vec![0.0; 100];
    let by_hand_value = by_hand::logistic(&weights, &points, &labels, &mut derivative);
    check_gradient(by_hand_value, &derivative, (value, gradient.to_vec()));
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::logistic(black_box(&weights), &points, &labels, &mut derivative))
    });
    group.finish();
}

fn k_means(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kmeans-5");
    let (centres, points) = inputs::clusters(5, 494_019, 35);
    let arguments = (&centres, &points);
    let derivatives = compiled!(group, stage(functions::k_means_derivatives, arguments), arguments);
    let (centres, points) = (centres.to_vec(), points.to_vec());
    let (mut gradient, mut curvature) = (centres.clone(), centres.clone());
    by_hand::k_means(&centres, &points, 35, &mut gradient, &mut curvature);
    for (found, expected) in [(&gradient, derivatives.0), (&curvature, derivatives.1)] {
        // Sums of a hundred thousand points in single precision, some of which are equally near to two centres.
        let [found, expected] = [found.clone(), expected.to_vec()].map(|x| x.into_iter().map(f64::from).collect());
        let found: Vec<f64> = found;
        check(&found, expected, 1e-3);
    }
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::k_means(black_box(&centres), &points, 35, &mut gradient, &mut curvature))
    });
    group.finish();
}

fn mixtures(criterion: &mut Criterion) {
    for [n, d, k] in [[1000, 10, 25], [10_000, 20, 50]] {
        let mut group = criterion.benchmark_group(format!("gmm-{d}-{k}"));
        let (mixture, points, prior) = inputs::mixture(n, d, k);
        let (value, gradient) = gradient!(group, functions::gaussian_mixture, (&mixture, &points, &prior));
        let plain = |mixture: &objectives::gmm::Mixture<Concrete>| by_hand::Mixture {
            alpha: mixture.alpha.to_vec(),
            means: mixture.means.to_vec(),
            log_diagonals: mixture.log_diagonals.to_vec(),
            lower: mixture.lower.to_vec(),
        };
        let (mixture, expected, points) = (plain(&mixture), plain(&gradient), points.to_vec());
        let prior = by_hand::Wishart { gamma: prior.gamma.item(), m: prior.m.item() };
        let (mut gradient, mut workspace) = (mixture.clone(), by_hand::Workspace::default());
        let by_hand_value = by_hand::gaussian_mixture(&mixture, &points, prior, &mut gradient, &mut workspace);
        let numbers = |x: &by_hand::Mixture| [&x.alpha[..], &x.means, &x.log_diagonals, &x.lower].concat();
        check_gradient(by_hand_value, &numbers(&gradient), (value, numbers(&expected)));
        group.bench_function("by hand", |bencher| {
            bencher
                .iter(|| by_hand::gaussian_mixture(black_box(&mixture), &points, prior, &mut gradient, &mut workspace))
        });
        group.finish();
    }
}

fn lstm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lstm");
    let (network, state, text) = inputs::text(2, 1024, 14);
    let (value, gradient) = gradient!(group, objectives::lstm::loss, (&network, &state, &text));
    let network = by_hand::Network { main: network.main.to_vec(), extra: network.extra.to_vec() };
    let (state, text) = (state.to_vec(), text.to_vec());
    let (mut by_network, mut tape) = (network.clone(), by_hand::Tape::default());
    let by_hand_value = by_hand::diagonal_lstm(&network, &state, &text, &mut by_network, &mut tape);
    let (found, expected) = ([&by_network.main[..], &by_network.extra].concat(), [gradient.main, gradient.extra]);
    check_gradient(by_hand_value, &found, (value, expected.map(|x| x.to_vec()).concat()));
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::diagonal_lstm(black_box(&network), &state, &text, &mut by_network, &mut tape))
    });
    group.finish();
}

fn bundle_adjustment(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ba");
    let (scene, observed) = inputs::scene(49, 7776, 31_843);
    let arguments = (&scene, &observed);
    let expected = compiled!(group, stage(objectives::ba::jacobian, arguments), arguments);
    let scene = by_hand::Scene {
        cameras: scene.cameras.to_vec(),
        points: scene.points.to_vec(),
        weights: scene.weights.to_vec(),
        pairs: observed.pairs.to_vec(),
        features: observed.features.to_vec(),
    };
    let mut jacobian = vec![0.0; expected.len()];
    by_hand::bundle_jacobian(&scene, &mut jacobian);
    check(&jacobian, expected.to_vec(), 1e-9);
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::bundle_jacobian(black_box(&scene), &mut jacobian))
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = elements, running, logistic, k_means, mixtures, lstm, bundle_adjustment
}
criterion_main!(benches);

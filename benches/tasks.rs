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

/// Benches the value and gradient of a function, on one thread.
macro_rules! gradient {
    ($group:ident, $function:expr, $arguments:expr) => {
        let arguments = $arguments;
        let compiled = stage($function, arguments).and_then(|staged| staged.value_and_grad()).and_then(|staged| {
            let cpu = Cpu::default().threads(1);
            staged.compile(cpu)
        });
        let compiled = compiled.expect("the task compiles");
        let mut result = compiled.call(arguments).expect("the task runs");
        $group.bench_function("deltaray", |bencher| {
            bencher.iter(|| compiled.call_into(black_box(arguments), &mut result).expect("the task runs"))
        });
    };
}

fn tasks(criterion: &mut Criterion) {
    let million = 1_000_000;
    let (x, w, near_one) = (inputs::normals(million), inputs::normals(million), inputs::near_one(million));
    let (plain, weights, factors) = (x.to_vec(), w.to_vec(), near_one.to_vec());
    let mut derivative = vec![0.0; million];

    let mut group = criterion.benchmark_group("chain");
    gradient!(group, functions::chain, &x);
    group.bench_function("by hand", |bencher| bencher.iter(|| by_hand::chain(black_box(&plain), &mut derivative)));
    group.finish();

    let mut group = criterion.benchmark_group("cumsum");
    gradient!(group, functions::cumulative_sum, (&near_one, &w));
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::cumulative_sum(black_box(&factors), &weights, &mut derivative))
    });
    group.finish();

    let mut group = criterion.benchmark_group("cumprod");
    gradient!(group, functions::cumulative_product, (&near_one, &w));
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::cumulative_product(black_box(&factors), &weights, &mut derivative))
    });
    group.finish();

    let mut group = criterion.benchmark_group("logsumexp");
    let table = inputs::table(10_000, 100);
    gradient!(group, functions::log_sum_exp, &table);
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::log_sum_exp(black_box(&plain), 100, &mut derivative))
    });
    group.finish();

    let mut group = criterion.benchmark_group("logistic");
    let (points, labels, weights) = (inputs::table(100_000, 100), inputs::halves(100_000), inputs::normals(100));
    gradient!(group, functions::logistic, (&weights, &points, &labels));
    let (points, labels, weights) = (points.to_vec(), labels.to_vec(), weights.to_vec());
    let mut derivative = vec![0.0; 100];
    group.bench_function("by hand", |bencher| {
        bencher.iter(|| by_hand::logistic(black_box(&weights), &points, &labels, &mut derivative))
    });
    group.finish();

    let mut group = criterion.benchmark_group("gmm-10-25");
    let (mixture, points, prior) = inputs::mixture(1000, 10, 25);
    gradient!(group, functions::gaussian_mixture, (&mixture, &points, &prior));
    group.finish();

    let mut group = criterion.benchmark_group("lstm");
    let (network, state, text) = inputs::text(2, 1024, 14);
    gradient!(group, objectives::lstm::loss, (&network, &state, &text));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = tasks
}
criterion_main!(benches);

//! Instances of random numbers.

use crate::random::Random;
use std::fmt::Write;

/// k Gaussians and n points in d dimensions: means are uniform, everything else is normal.
pub fn gmm(d: usize, k: usize, n: usize) -> String {
    let mut random = Random::new(0);
    let mut text = format!("{d} {k} {n}\n");
    let mut rows = |count: usize, width: usize, number: fn(&mut Random) -> f64| {
        for _ in 0..count {
            let numbers: Vec<String> = (0..width).map(|_| format!("{:.6}", number(&mut random))).collect();
            writeln!(text, "{}", numbers.join(" ")).expect("writing to a string");
        }
    };
    rows(k, 1, Random::normal);
    rows(k, d, Random::uniform);
    rows(k, d * (d + 1) / 2, Random::normal);
    rows(n, d, Random::normal);
    text + "1.000000 0\n"
}

//! The costs of summing gradients over up to ten thousand ranks, on paper.
//!
//! Hockney's model: a message of b bytes takes latency + b / bandwidth, and a rank sends one and receives one at a time.

#[cfg(test)]
mod simulation;

use std::fmt::Write;

/// A network between all ranks.
#[derive(Clone, Copy)]
pub struct Network {
    /// Seconds a message.
    pub latency: f64,
    /// Bytes a second.
    pub bandwidth: f64,
}

/// The costs of an all-reduce.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Messages one after the other.
    pub steps: usize,
    /// The bytes that the busiest rank sends.
    pub bytes: usize,
    pub seconds: f64,
}

const BYTES: usize = size_of::<f64>();

impl Network {
    /// Segments of the numbers, one for each rank, that are added up on the way around a ring, and go around once more. The exchange
    /// of [`Sum`](crate::sum::Sum) costs the same where MPI exchanges pair by pair, and gathers around a ring.
    pub fn ring(&self, ranks: usize, numbers: usize) -> Cost {
        let (steps, segment) = (2 * (ranks - 1), numbers.div_ceil(ranks) * BYTES);
        Cost { steps, bytes: steps * segment, seconds: self.seconds(steps, segment) }
    }

    /// All numbers, from leaves to the root of a binomial tree and back.
    pub fn tree(&self, ranks: usize, numbers: usize) -> Cost {
        let (levels, all) = (ranks.next_power_of_two().ilog2() as usize, numbers * BYTES);
        Cost { steps: 2 * levels, bytes: levels * all, seconds: self.seconds(2 * levels, all) }
    }

    fn seconds(&self, steps: usize, bytes: usize) -> f64 {
        steps as f64 * (self.latency + bytes as f64 / self.bandwidth)
    }
}

/// A training: a step computes `seconds` for each of the rows, which the ranks share, and adds up so many numbers.
struct Training {
    rows: usize,
    numbers: usize,
    seconds: f64,
}

/// The largest number of an option, so that none of the table overflows.
const MOST: f64 = 1e15;

const RANKS: [usize; 9] = [2, 4, 8, 16, 64, 256, 1024, 4096, 10_000];

/// The costs of a step as a table. Without options the training is the mixture of ADBench's largest size.
pub fn table(words: &[&str]) -> Result<String, String> {
    let mut training = Training { rows: 2_500_000, numbers: 53_626, seconds: 15e-6 };
    let mut network = Network { latency: 2e-6, bandwidth: 12.5e9 };
    for pair in words.chunks(2) {
        let [option, value] = pair else { return Err(format!("{} needs a value after it", pair[0])) };
        let value: f64 = value.parse().map_err(|_| format!("{option} needs a number, but `{value}` was given"))?;
        if !(value > 0.0 && value <= MOST) {
            return Err(format!("{option} needs a number above 0, up to {MOST}, but {value} was given"));
        }
        match *option {
            "--rows" => training.rows = value as usize,
            "--numbers" => training.numbers = value as usize,
            "--row" => training.seconds = value * 1e-6,
            "--latency" => network.latency = value * 1e-6,
            "--bandwidth" => network.bandwidth = value * 1e9,
            _ => return Err(format!("unknown argument `{option}`; --help lists those there are")),
        }
    }
    Ok(rows(&training, &network))
}

fn rows(training: &Training, network: &Network) -> String {
    let Training { rows, numbers, seconds } = training;
    let mut text = format!(
        "{rows} rows of {:.1} µs, {numbers} numbers; latency {:.1} µs, bandwidth {:.1} GB/s; times in ms, bytes of the busiest rank\n\n\
         | ranks | rows a rank | computed | ring: steps | MB | time | tree: steps | MB | time | share of the faster | rows that take as long |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        seconds * 1e6,
        network.latency * 1e6,
        network.bandwidth / 1e9,
    );
    for ranks in RANKS {
        let (ring, tree) = (network.ring(ranks, *numbers), network.tree(ranks, *numbers));
        let share = rows.div_ceil(ranks);
        let (computed, sent) = (share as f64 * seconds, ring.seconds.min(tree.seconds));
        let [ring, tree] = [ring, tree].map(|Cost { steps, bytes, seconds }| {
            format!("{steps} | {:.2} | {:.3}", bytes as f64 / 1e6, seconds * 1e3)
        });
        writeln!(
            text,
            "| {ranks} | {share} | {:.2} | {ring} | {tree} | {:.2} % | {:.0} |",
            computed * 1e3,
            100.0 * sent / (sent + computed),
            (sent / seconds).ceil(),
        )
        .expect("writing to a string");
    }
    text
}

//! The formulas, compared with what happens when every message is sent.

use super::{BYTES, Cost, Network};
use std::ops::Range;

/// Ranks, each with numbers, at some time.
struct Simulation {
    network: Network,
    numbers: Vec<Vec<f64>>,
    clocks: Vec<f64>,
    sent: Vec<usize>,
    steps: usize,
}

/// From a rank to another one: a range of its numbers, of which there are so many bytes, to be added to those there, or to replace them.
struct Message {
    from: usize,
    to: usize,
    range: Range<usize>,
    bytes: usize,
    adds: bool,
}

impl Simulation {
    fn new(network: Network, ranks: usize, count: usize) -> Simulation {
        let numbers = (0..ranks).map(|rank| (0..count).map(|at| (rank * 7 + at) as f64).collect()).collect();
        Simulation { network, numbers, clocks: vec![0.0; ranks], sent: vec![0; ranks], steps: 0 }
    }

    /// Messages that are sent at once, each when both of its ranks are ready.
    fn step(&mut self, messages: impl Iterator<Item = Message>) {
        let (clocks, mut arrived) = (self.clocks.clone(), Vec::new());
        for Message { from, to, range, bytes, adds } in messages {
            let end = clocks[from].max(clocks[to]) + self.network.latency + bytes as f64 / self.network.bandwidth;
            self.clocks[from] = self.clocks[from].max(end);
            self.clocks[to] = self.clocks[to].max(end);
            self.sent[from] += bytes;
            if !range.is_empty() {
                arrived.push((to, range.start, self.numbers[from][range].to_vec(), adds));
            }
        }
        for (to, start, numbers, adds) in arrived {
            for (own, number) in self.numbers[to][start..].iter_mut().zip(numbers) {
                *own = if adds { *own + number } else { number };
            }
        }
        self.steps += 1;
    }

    /// Segments of so many bytes go around the ring twice; those of the numbers are as many as there are ranks.
    fn ring(&mut self, segment: usize) {
        let ranks = self.clocks.len();
        let width = self.numbers[0].len() / ranks;
        for step in 0..2 * (ranks - 1) {
            let message = |from: usize| {
                let place = (from + 2 * ranks - step) % ranks;
                let range = place * width..(place + 1) * width;
                Message { from, to: (from + 1) % ranks, range, bytes: segment, adds: step < ranks - 1 }
            };
            self.step((0..ranks).map(message));
        }
    }

    /// In each step of the exchange a rank sends a segment to another one, and then the sums go around the ring.
    fn exchange(&mut self, segment: usize) {
        let ranks = self.clocks.len();
        for distance in (1..ranks).chain(std::iter::repeat_n(1, ranks - 1)) {
            let to = |from: usize| (from + distance) % ranks;
            let message = |from| Message { from, to: to(from), range: 0..0, bytes: segment, adds: false };
            self.step((0..ranks).map(message));
        }
    }

    /// All numbers go from the leaves of a binomial tree to its root, rank 0, and back.
    fn tree(&mut self, bytes: usize) {
        let (ranks, count) = (self.clocks.len(), self.numbers[0].len());
        let distances: Vec<usize> = (0..usize::BITS).map(|level| 1 << level).take_while(|far| *far < ranks).collect();
        let pairs =
            |far: usize| (0..ranks).step_by(2 * far).map(move |low| (low, low + far)).filter(|pair| pair.1 < ranks);
        for &far in &distances {
            self.step(pairs(far).map(|(to, from)| Message { from, to, range: 0..count, bytes, adds: true }));
        }
        for &far in distances.iter().rev() {
            self.step(pairs(far).map(|(from, to)| Message { from, to, range: 0..count, bytes, adds: false }));
        }
    }

    fn check(&self, expected: Cost) {
        let (seconds, bytes) =
            (self.clocks.iter().fold(0.0, |most: f64, clock| most.max(*clock)), self.sent.iter().max());
        assert_eq!((self.steps, bytes), (expected.steps, Some(&expected.bytes)));
        assert!((seconds - expected.seconds).abs() <= 1e-9 * expected.seconds, "{seconds} instead of {expected:?}");
    }

    fn check_sums(&self) {
        let ranks = self.clocks.len();
        let sum = |at: usize| (0..ranks).map(|rank| (rank * 7 + at) as f64).sum::<f64>();
        let expected: Vec<f64> = (0..self.numbers[0].len()).map(sum).collect();
        assert!(self.numbers.iter().all(|numbers| *numbers == expected));
    }
}

const NETWORK: Network = Network { latency: 2e-6, bandwidth: 12.5e9 };

#[test]
fn rings_and_trees_leave_the_sums_on_all_ranks() {
    for ranks in [2, 3, 4, 5, 8, 13, 64] {
        let count = 3 * ranks;
        let (mut ring, mut tree) = (Simulation::new(NETWORK, ranks, count), Simulation::new(NETWORK, ranks, count));
        ring.ring(3 * BYTES);
        tree.tree(count * BYTES);
        ring.check_sums();
        tree.check_sums();
        ring.check(NETWORK.ring(ranks, count));
        tree.check(NETWORK.tree(ranks, count));
    }
}

#[test]
fn ten_thousand_ranks_send_what_the_formulas_say() {
    let numbers: usize = 53_626;
    for ranks in [2, 7, 100, 1024, 10_000] {
        let segment = numbers.div_ceil(ranks) * BYTES;
        let simulate = |send: &dyn Fn(&mut Simulation)| {
            let mut simulation = Simulation::new(NETWORK, ranks, 0);
            send(&mut simulation);
            simulation
        };
        simulate(&|simulation| simulation.ring(segment)).check(NETWORK.ring(ranks, numbers));
        simulate(&|simulation| simulation.exchange(segment)).check(NETWORK.ring(ranks, numbers));
        simulate(&|simulation| simulation.tree(numbers * BYTES)).check(NETWORK.tree(ranks, numbers));
    }
}

/// A ring for few ranks and many numbers, a tree for many ranks and few numbers.
#[test]
fn each_is_faster_somewhere() {
    assert!(NETWORK.ring(4, 1_000_000).seconds < NETWORK.tree(4, 1_000_000).seconds);
    assert!(NETWORK.tree(10_000, 53_626).seconds < NETWORK.ring(10_000, 53_626).seconds);
}

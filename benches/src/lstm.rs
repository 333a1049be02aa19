//! The loss of a recurrent network of long short-term memories whose weight matrices are diagonal.
//!
//! Layers run side by side: while the first is at a character, the second is at the one before. So their cells are lanes of the
//! same loops, each layer's input is the output of the layer before in the last round, and dependencies span one layer a round.

use crate::cells::{Saved, backward, forward};
use crate::functions::{exp, ln};
use crate::lanes::{Aligned, Lanes, fused, plus, sum, times, total};
use crate::machine::{Machine, compiled};

/// The parameters of layers of cells, or a gradient by them.
#[derive(Clone, Default)]
pub struct Network {
    /// Weights and biases of each layer in turn, of its gates forget, in, out and change.
    pub main: Vec<f64>,
    /// Weights of the input, weights and biases of the output.
    pub extra: Vec<f64>,
}

/// The intermediate values of a call's rounds. The memory is kept from one call to the next.
#[derive(Default)]
pub struct Tape {
    /// The inputs of each round: the first layer's input, then all layers' hidden values.
    signals: Vec<Aligned<Lanes>>,
    cells: Vec<Aligned<Lanes>>,
    gates: Vec<Aligned<[Lanes; 5]>>,
    /// The outputs' exponentials, then their adjoints.
    outputs: Vec<Aligned<Lanes>>,
}

compiled! {
    /// The mean loss over a text, whose characters are rows of bits, from a state of hidden values and cells of each layer in
    /// turn; and its gradient by the network.
    pub fn diagonal_lstm(
        network: &Network,
        state: &[f64],
        text: &[f64],
        gradient: &mut Network,
        tape: &mut Tape,
    ) -> f64 = lstm_kernel;
}

/// Rows of numbers, each filled up to whole vectors.
fn padded(rows: &[f64], bits: usize, filling: f64) -> Vec<Aligned<Lanes>> {
    let chunks = rows.chunks_exact(bits).flat_map(|row| row.chunks(8));
    let filled = chunks.map(|chunk| {
        let mut lanes = [filling; 8];
        lanes[..chunk.len()].copy_from_slice(chunk);
        Aligned(lanes)
    });
    filled.collect()
}

#[inline(always)]
fn lstm_kernel<M: Machine>(
    network: &Network,
    state: &[f64],
    text: &[f64],
    gradient: &mut Network,
    tape: &mut Tape,
) -> f64 {
    let sizes = Sizes::new(network, text.len());
    let Sizes { bits, width, chunks, .. } = sizes;
    let (main, text) = (padded(&network.main, bits, 0.0), padded(text, bits, 0.0));
    // For each vector of cells, the weights of the four gates and then their biases.
    let mut parameters = vec![Aligned([[0.0; 8]; 8]); chunks];
    for at in 0..chunks {
        for part in 0..8 {
            parameters[at][part] = *main[(8 * (at / width) + part) * width + at % width];
        }
    }
    let input_weights = padded(&network.extra[..bits], bits, 0.0);
    tape.begin(sizes, &input_weights, &padded(state, bits, 0.0), &text);
    tape.forward::<M>(sizes, &parameters);
    let mut extra_sums = vec![Aligned([0.0; 8]); 3 * width];
    let value = tape.outputs::<M>(sizes, &network.extra, &text, &mut extra_sums[width..]);
    let main_sums = tape.backward::<M>(sizes, &parameters, &text, &mut extra_sums[..width]);

    for (at, gradients) in gradient.main.chunks_exact_mut(bits).enumerate() {
        let (layer, part) = (at / 8, at % 8);
        for (bit, gradient) in gradients.iter_mut().enumerate() {
            *gradient = main_sums[layer * width + bit / 8][part][bit % 8];
        }
    }
    for (gradients, sums) in gradient.extra.chunks_exact_mut(bits).zip(extra_sums.chunks_exact(width)) {
        for (bit, gradient) in gradients.iter_mut().enumerate() {
            *gradient = sums[bit / 8][bit % 8];
        }
    }
    value
}

#[derive(Clone, Copy)]
struct Sizes {
    bits: usize,
    layers: usize,
    /// Characters that others follow.
    steps: usize,
    /// Each of the layers takes its last step a round after the one before it.
    rounds: usize,
    /// Vectors of a layer, of all layers, and of a round's inputs.
    width: usize,
    chunks: usize,
    row: usize,
}

impl Sizes {
    fn new(network: &Network, text: usize) -> Sizes {
        let bits = network.extra.len() / 3;
        let (layers, steps, width) = (network.main.len() / (8 * bits), text / bits - 1, bits.div_ceil(8));
        let (rounds, chunks) = (steps + layers - 1, layers * width);
        Sizes { bits, layers, steps, rounds, width, chunks, row: width + chunks }
    }

    /// Layers begin one after the other.
    #[inline(always)]
    fn active(self, round: usize) -> usize {
        self.chunks.min((round + 1) * self.width)
    }
}

impl Tape {
    /// Makes room, and writes the first layer's input and the state.
    fn begin(&mut self, sizes: Sizes, weights: &[Aligned<Lanes>], state: &[Aligned<Lanes>], text: &[Aligned<Lanes>]) {
        let Sizes { layers, steps, rounds, width, chunks, row, .. } = sizes;
        self.signals.resize((rounds + 1) * row, Aligned([0.0; 8]));
        self.cells.resize((rounds + 1) * chunks, Aligned([0.0; 8]));
        self.gates.resize(rounds * chunks, Aligned([[0.0; 8]; 5]));
        self.outputs.resize(steps * width, Aligned([0.0; 8]));
        for (signals, text) in self.signals.chunks_exact_mut(row).zip(text[..steps * width].chunks_exact(width)) {
            for at in 0..width {
                *signals[at] = times(*text[at], *weights[at]);
            }
        }
        for layer in 0..layers {
            let [hidden, cells] = [0, 1].map(|part| &state[(2 * layer + part) * width..][..width]);
            self.signals[width + layer * width..][..width].copy_from_slice(hidden);
            self.cells[layer * width..][..width].copy_from_slice(cells);
        }
    }

    #[inline(always)]
    fn forward<M: Machine>(&mut self, sizes: Sizes, parameters: &[Aligned<[Lanes; 8]>]) {
        let Sizes { rounds, width, chunks, row, .. } = sizes;
        for round in 0..rounds {
            let (before, after) = self.signals.split_at_mut((round + 1) * row);
            let before = &before[round * row..][..row];
            let hidden = &mut after[width..][..chunks];
            let (cells, next) = self.cells.split_at_mut((round + 1) * chunks);
            let (cells, next) = (&cells[round * chunks..][..chunks], &mut next[..chunks]);
            let gates = &mut self.gates[round * chunks..][..chunks];
            let active = sizes.active(round);
            for at in 0..active {
                let step = forward::<M>(&parameters[at], *before[at], *before[width + at], *cells[at]);
                (*gates[at], *next[at], *hidden[at]) = step;
            }
            // Until a layer begins it has its state.
            for at in active..chunks {
                (next[at], hidden[at]) = (cells[at], before[width + at]);
            }
        }
    }

    /// The loss; it leaves the adjoints of the last layer's hidden values, and adds up the gradient by the weights and biases
    /// of the output.
    #[inline(always)]
    fn outputs<M: Machine>(
        &mut self,
        sizes: Sizes,
        extra: &[f64],
        text: &[Aligned<Lanes>],
        gradient: &mut [Aligned<Lanes>],
    ) -> f64 {
        let Sizes { bits, layers, steps, width, chunks, row, .. } = sizes;
        let weights = padded(&extra[bits..2 * bits], bits, 0.0);
        // Outputs that there are not get biases with which their exponentials vanish beside two.
        let biases = padded(&extra[2 * bits..], bits, -100.0);
        let (mut value, mut sums, mut wanted_sums) = (0.0, vec![2.0; steps], vec![0.0; steps]);
        for step in 0..steps {
            let hidden = &self.signals[(step + layers) * row + chunks..][..width];
            let (mut exponential_lanes, mut wanted_lanes, mut scores) = ([0.0; 8], [0.0; 8], [0.0; 8]);
            for at in 0..width {
                let (weights, biases) = (*weights[at], *biases[at]);
                let (hidden, wanted, mut exponentials) = (*hidden[at], *text[(step + 1) * width + at], [0.0; 8]);
                for lane in 0..8 {
                    let output = M::fused(hidden[lane], weights[lane], biases[lane]);
                    exponentials[lane] = exp::<M>(output);
                    scores[lane] = M::fused(wanted[lane], output, scores[lane]);
                }
                exponential_lanes = plus(exponential_lanes, exponentials);
                wanted_lanes = plus(wanted_lanes, wanted);
                *self.outputs[step * width + at] = exponentials;
            }
            sums[step] += total(exponential_lanes);
            wanted_sums[step] = total(wanted_lanes);
            value += total(scores);
        }
        let mut logarithms = vec![0.0; steps];
        for at in 0..steps {
            logarithms[at] = wanted_sums[at] * ln::<M>(sums[at]);
        }
        let scale = -1.0 / (steps * bits) as f64;
        let (by_weights, by_biases) = gradient.split_at_mut(width);
        for step in 0..steps {
            let hidden = &self.signals[(step + layers) * row + chunks..][..width];
            let share = wanted_sums[step] / sums[step];
            for at in 0..width {
                let (hidden, wanted, weights) = (*hidden[at], *text[(step + 1) * width + at], *weights[at]);
                let mut output = *self.outputs[step * width + at];
                let (mut by_weight, mut by_bias) = (*by_weights[at], *by_biases[at]);
                for lane in 0..8 {
                    let adjoint = scale * M::fused(-share, output[lane], wanted[lane]);
                    by_weight[lane] = M::fused(adjoint, hidden[lane], by_weight[lane]);
                    by_bias[lane] += adjoint;
                    output[lane] = adjoint * weights[lane];
                }
                *self.outputs[step * width + at] = output;
                (*by_weights[at], *by_biases[at]) = (by_weight, by_bias);
            }
        }
        (value - sum(&logarithms)) * scale
    }

    /// The gradient by the gates' weights and biases; that by the input's weights is added up.
    #[inline(always)]
    fn backward<M: Machine>(
        &mut self,
        sizes: Sizes,
        parameters: &[Aligned<[Lanes; 8]>],
        text: &[Aligned<Lanes>],
        by_weights: &mut [Aligned<Lanes>],
    ) -> Vec<Aligned<[Lanes; 8]>> {
        let Sizes { layers, steps, rounds, width, chunks, row, .. } = sizes;
        let mut sums = vec![Aligned([[0.0; 8]; 8]); chunks];
        let (mut by_hidden, mut by_cells) = (vec![Aligned([0.0; 8]); chunks], vec![Aligned([0.0; 8]); chunks]);
        // The adjoints of each layer's input, followed by those of the outputs.
        let mut by_inputs = vec![Aligned([0.0; 8]); chunks + width];
        for round in (0..rounds).rev() {
            if let Some(step) = (round + 1).checked_sub(layers) {
                for at in 0..width {
                    by_inputs[chunks + at] = self.outputs[step * width + at];
                }
            }
            let before = &self.signals[round * row..][..row];
            for at in 0..sizes.active(round) {
                let saved = Saved {
                    gates: &self.gates[round * chunks + at],
                    input: *before[at],
                    hidden: *before[width + at],
                    cell: *self.cells[round * chunks + at],
                };
                let adjoint = plus(*by_hidden[at], *by_inputs[width + at]);
                let adjoints = backward::<M>(&parameters[at], saved, adjoint, *by_cells[at], &mut sums[at]);
                (*by_inputs[at], *by_hidden[at], *by_cells[at]) = adjoints;
            }
            if round < steps {
                for at in 0..width {
                    *by_weights[at] = fused::<M>(*by_inputs[at], *text[round * width + at], *by_weights[at]);
                }
            }
        }
        sums
    }
}

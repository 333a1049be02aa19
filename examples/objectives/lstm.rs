//! The loss of a recurrent network of long short-term memories, whose weight matrices are diagonal, at predicting the next
//! character of a text.

use deltaray::prelude::*;

/// The parameters of l layers of b cells.
#[derive(Tree)]
pub struct Network<A: Algebra> {
    /// Weights and biases of each layer in turn, of its four gates: [2 l, 4 b].
    pub main: Matrix<A, f64>,
    /// Weights of the input, weights and biases of the output: [3, b].
    pub extra: Matrix<A, f64>,
}

/// The values that a layer passes on to the next character: [b] each.
type State<A> = (Vector<A, f64>, Vector<A, f64>);

/// One layer's step: its gates are `[forget, ingate, outgate, change]`, of weights and biases.
#[differentiable]
fn layer([weights, biases]: &[[Vector<f64>; 4]; 2], (hidden, cell): &State, input: &Vector<f64>) -> State {
    let gate = |at: usize, x: &Vector<f64>| x * weights[at] + biases[at];
    let cell = cell * gate(0, input).sigmoid() + gate(1, hidden).sigmoid() * gate(3, hidden).tanh();
    (gate(2, input).sigmoid() * cell.tanh(), cell)
}

/// The mean loss over a text, a row of b bits a character, from a state [2 l, b] of hidden values and cells in turn.
#[differentiable]
pub fn loss((network, state, text): (Network, Matrix<f64>, Matrix<f64>)) -> Scalar<f64> {
    let (layers, steps, bits) = (state.len() / 2, text.len() - 1, text.shape()[1]);
    let main = network.main.reshape((layers, 2, 4, bits));
    let gates: Vec<[[Vector<f64>; 4]; 2]> =
        (0..layers).map(|at| [0, 1].map(|part| [0, 1, 2, 3].map(|gate| main[(at, part, gate)]))).collect();
    let start: Vec<State<A>> = (0..layers).map(|at| (state[2 * at], state[2 * at + 1])).collect();
    let inputs = text[..steps] * network.extra[0];
    let (_, outputs) = scan(start, &inputs, steps, |states, mut signal| {
        let mut next = Vec::new();
        for (gates, state) in gates.iter().zip(&states) {
            let state = layer(gates, state, &signal);
            signal = state.0.clone();
            next.push(state);
        }
        (next, signal)
    });
    let predictions = outputs * network.extra[1] + network.extra[2];
    let normalisers = (predictions.exp().sum_axis(1) + 2.0).ln().insert_axis(1);
    -(text[1..] * (predictions - normalisers)).mean()
}

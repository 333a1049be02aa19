//! Networks and their losses, as users write them.

use deltaray::functions::{Window, convolution_2d, max_pool_2d, mean_squared_error, softmax_cross_entropy};
use deltaray::prelude::*;

/// A linear map of rows, with a bias.
#[derive(Tree)]
pub struct Layer<A: Algebra> {
    pub weights: Matrix<A, f32>,
    pub bias: Vector<A, f32>,
}

#[differentiable]
impl<A: Algebra> Layer<A> {
    fn apply(&self, rows: &Matrix<f32>) -> Matrix<f32> {
        rows.dot(&self.weights) + self.bias
    }
}

/// The output of layers for some rows; all layers but the last are rectified.
#[differentiable]
fn scores(layers: &[Layer], rows: Matrix<f32>) -> Matrix<f32> {
    layers.iter().enumerate().fold(rows, |rows, (position, layer)| match position {
        0 => layer.apply(&rows),
        _ => layer.apply(&rows.relu()),
    })
}

/// The mean cross-entropy of a perceptron with rectified hidden layers.
#[differentiable]
pub fn perceptron((layers, images, digits): (Vec<Layer>, Matrix<f32>, Vector<i64>)) -> Scalar<f32> {
    softmax_cross_entropy(&scores(layers, images), digits)
}

/// Kernels [outputs, channels, rows, columns] of a convolution, and a bias for each output.
#[derive(Tree)]
pub struct Kernels<A: Algebra> {
    pub weights: Tensor4<A, f32>,
    pub bias: Vector<A, f32>,
}

/// Convolutions, each rectified and halved, then layers.
#[derive(Tree)]
pub struct LeNet<A: Algebra> {
    pub kernels: Vec<Kernels<A>>,
    pub layers: Vec<Layer<A>>,
}

/// The mean cross-entropy of LeNet-5 (LeCun et al., 1998), with rectifiers and largest elements, on images
/// [n, 1, rows, columns].
#[differentiable]
pub fn le_net((network, images, digits): (LeNet, Tensor4<f32>, Vector<i64>)) -> Scalar<f32> {
    let halves = Window { stride: [2, 2], ..Window::default() };
    let mut x = images;
    for (kernels, padding) in network.kernels.iter().zip([2, 0]) {
        let window = Window { padding: [(padding, padding); 2], ..Window::default() };
        let seen = convolution_2d(&x, &kernels.weights, &window, 1) + kernels.bias.reshape((kernels.bias.len(), 1, 1));
        x = max_pool_2d(&seen.relu(), [2, 2], &halves);
    }
    let rows = x.reshape((images.len(), x.size() / images.len()));
    softmax_cross_entropy(&scores(&network.layers, &rows), digits)
}

/// A layer of long short-term memories. Each of `input` and `hidden` has the gates in, forget, change and out side by side.
#[derive(Tree)]
pub struct Memories<A: Algebra> {
    pub input: Layer<A>,
    pub hidden: Layer<A>,
    pub output: Layer<A>,
}

/// The values that memories pass on to the next step: hidden values and cells, [batch, h] each.
pub type State<A> = (Matrix<A, f32>, Matrix<A, f32>);

/// The mean squared error of the memories' outputs for inputs [steps, batch, d].
#[differentiable]
pub fn memories(
    (network, (hidden, cell), inputs, targets): (Memories, State, Tensor3<f32>, Tensor3<f32>),
) -> Scalar<f32> {
    let cells = cell.shape()[1];
    let (_, outputs) = scan((hidden, cell), inputs, inputs.len(), |(hidden, cell): State, input: Matrix<f32>| {
        let gates = network.input.apply(&input) + network.hidden.apply(&hidden);
        let gate = |at: usize| gates.slice(1, at * cells..(at + 1) * cells);
        let cell = gate(1).sigmoid() * cell + gate(0).sigmoid() * gate(2).tanh();
        let hidden = gate(3).sigmoid() * cell.tanh();
        ((hidden, cell), hidden)
    });
    let predicted = outputs.contract_axes(&network.output.weights, [2], [0]) + network.output.bias;
    mean_squared_error(&predicted, targets)
}

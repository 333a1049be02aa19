//! Convolutional networks, by loops over the positions of their windows.

use deltaray::prelude::*;

/// A convolution without padding: samples, rows, columns and channels; the weights have rows, columns, and channels of the input
/// and the output.
#[differentiable]
fn convolution(input: Tensor4<f64>, weights: Tensor4<f64>) -> Tensor4<f64> {
    let (samples, rows, columns) = (input.shape()[0], input.shape()[1], input.shape()[2]);
    let (k, channels, filters) = (weights.shape()[0], weights.shape()[2], weights.shape()[3]);
    let (high, wide) = (rows - k + 1, columns - k + 1);
    let table = weights.reshape((k * k * channels, filters));
    let mut output = zeros((samples, high, wide, filters));
    for i in rolled(0..high) {
        for j in rolled(0..wide) {
            let window = build((samples, k, k, channels), |(s, y, x, c)| input[(s, i + y, j + x, c)]);
            output[(.., i, j)] = window.reshape((samples, k * k * channels)).dot(&table);
        }
    }
    output
}

/// The largest elements of windows of two rows and columns.
#[differentiable]
fn pooled(x: Tensor4<f64>) -> Tensor4<f64> {
    let (samples, channels) = (x.shape()[0], x.shape()[3]);
    let (high, wide) = (x.shape()[1] / 2, x.shape()[2] / 2);
    let mut output = zeros((samples, high, wide, channels));
    for i in rolled(0..high) {
        for j in rolled(0..wide) {
            let window = build((samples, 2, 2, channels), |(s, y, z, c)| x[(s, i * 2 + y, j * 2 + z, c)]);
            output[(.., i, j)] = window.max_axis(1).max_axis(1);
        }
    }
    output
}

/// A convolution and a bias.
#[differentiable]
pub fn conv2d_bias(input: Tensor4<f64>, weights: Tensor4<f64>, bias: Vector<f64>) -> Tensor4<f64> {
    convolution(input, weights) + bias
}

/// LeNet-5, with two convolutions and three dense layers.
#[differentiable]
pub fn lenet(
    input: Tensor4<f64>,
    (first, second): ((Tensor4<f64>, Vector<f64>), (Tensor4<f64>, Vector<f64>)),
    (w1, b1): (Matrix<f64>, Vector<f64>),
    (w2, b2): (Matrix<f64>, Vector<f64>),
    (w3, b3): (Matrix<f64>, Vector<f64>),
) -> Matrix<f64> {
    let samples = input.len();
    let x = pooled(&conv2d_bias(input, &first.0, &first.1).relu());
    let x = pooled(&conv2d_bias(&x, &second.0, &second.1).relu());
    let x = x.reshape((samples, x.size() / samples));
    let x = (x.dot(w1) + b1).relu();
    let x = (x.dot(w2) + b2).relu();
    x.dot(w3) + b3
}

/// The elements of each place, over all samples, with mean 0 and a deviation near 1.
#[differentiable]
fn normalised(x: Tensor4<f64>) -> Tensor4<f64> {
    let deviation = x.variance_axis(0).sqrt();
    (x - x.mean_axis(0)) / (deviation + 1e-5).sqrt()
}

/// A bottleneck block of ResNet-50: three convolutions, the middle one over windows of three rows and columns, and a shortcut
/// for its input.
#[differentiable]
pub fn resnet(input: Tensor4<f64>, first: Tensor4<f64>, second: Tensor4<f64>, third: Tensor4<f64>) -> Tensor4<f64> {
    let (samples, rows, columns) = (input.shape()[0], input.shape()[1], input.shape()[2]);
    let mut padded = zeros((samples, rows + 2, columns + 2, first.shape()[3]));
    padded[(.., 1..rows + 1, 1..columns + 1)] = convolution(&input, &first);
    let x = normalised(&padded).relu();
    let x = normalised(&convolution(&x, &second)).relu();
    let x = normalised(&convolution(&x, &third));
    (x + input).relu()
}

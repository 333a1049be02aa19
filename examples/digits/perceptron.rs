//! A perceptron of two layers, in single or double precision: its parameters, its scores, and the loss of a batch of images.

use crate::data::CLASSES;
use crate::random::Random;
use deltaray::prelude::*;

const HIDDEN: usize = 128;

/// The parameters of the perceptron: two layers, each a matrix and a vector.
#[derive(Tree)]
pub struct Mlp<A: Algebra, E: Float = f32> {
    pub w1: Matrix<A, E>,
    pub b1: Vector<A, E>,
    pub w2: Matrix<A, E>,
    pub b2: Vector<A, E>,
}

/// A score for each image and digit.
#[differentiable]
pub fn scores<E: Float>(mlp: &Mlp<E>, images: &Matrix<E>) -> Matrix<E> {
    let hidden = (images.dot(&mlp.w1) + mlp.b1).relu();
    hidden.dot(&mlp.w2) + mlp.b2
}

/// The mean over the images of the cross-entropy between softmax and label, written for one image at a time.
#[differentiable]
pub fn cross_entropy<E: Float>(scores: &Matrix<E>, labels: &Vector<i64>) -> Scalar<E> {
    build(labels.len(), |image| {
        let row = scores[image];
        // Relative to the largest score no exponential overflows.
        let row = row - row.max_all();
        row.exp().sum().ln() - row[labels[image]]
    })
    .mean()
}

impl<E: Float> Mlp<Concrete, E> {
    pub fn zeros(pixels: usize) -> Self {
        Mlp { w1: zeros((pixels, HIDDEN)), b1: zeros(HIDDEN), w2: zeros((HIDDEN, CLASSES)), b2: zeros(CLASSES) }
    }

    /// Weights at random, as He et al. (2015) scale them for relu.
    pub fn random(pixels: usize, random: &mut Random) -> Self {
        let mut layer = |inputs: usize, outputs: usize| {
            let scale = (2.0 / inputs as f64).sqrt();
            let weights = (0..inputs * outputs).map(|_| E::from_number(scale * random.normal())).collect();
            Matrix::from_elements((inputs, outputs), weights)
        };
        Mlp { w1: layer(pixels, HIDDEN), w2: layer(HIDDEN, CLASSES), ..Mlp::zeros(pixels) }
    }
}

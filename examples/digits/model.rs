//! The model, as a user of deltaray writes it: plain structs of arrays, and plain functions, which the attribute makes generic.
//!
//! Each function here is ordinary code: on plain arrays it computes, staged it becomes a program. One training step,
//! gradient and all, is staged once and run for every batch.

use crate::device::{Device, Prepared, There};
use crate::perceptron::{Mlp, cross_entropy, scores};
use crate::random::Random;
use deltaray::Result;
use deltaray::derivative::stage;
use deltaray::prelude::*;
use ndarray::Array2;

/// Images, one a row, and the digits on them.
#[derive(Tree)]
pub struct Batch<A: Algebra> {
    images: Matrix<A, f32>,
    labels: Vector<A, i64>,
}

/// The quantity that training minimises.
#[differentiable]
pub fn loss((mlp, batch): (Mlp, Batch)) -> Scalar<f32> {
    cross_entropy(&scores(mlp, &batch.images), &batch.labels)
}

/// The loss, and the digit that each image is taken for.
#[differentiable]
fn predict((mlp, batch): (Mlp, Batch)) -> (Scalar<f32>, Vector<i64>) {
    let scores = scores(mlp, &batch.images);
    (cross_entropy(&scores, &batch.labels), scores.argmax_axis(1))
}

const RATE: f32 = 3e-3;
/// How much a step counts in the running means of the gradient and of its square.
const MEAN_STEP: f32 = 0.1;
const SQUARE_STEP: f32 = 0.001;
const EPSILON: f32 = 1e-8;

/// The state of Adam (Kingma and Ba, 2015) from step to step.
#[derive(Tree)]
pub struct Adam<A: Algebra> {
    steps: Scalar<A, f32>,
    /// Running means of the gradient and of its square.
    mean: Mlp<A>,
    square: Mlp<A>,
}

/// The state that training changes.
#[derive(Tree)]
pub struct Learner<A: Algebra> {
    mlp: Mlp<A>,
    adam: Adam<A>,
}

/// One step of training: parameters and memory after it, and the loss before.
#[differentiable]
fn step((Learner { mlp, adam }, batch): (Learner, Batch)) -> (Learner, Scalar<f32>) {
    let (loss, gradient) = value_and_grad(loss, (mlp, batch));
    let steps = adam.steps + 1.0;
    // The means start at 0: their weights so far add up to less than 1, at first to much less.
    let mean_weight = -(steps * (-MEAN_STEP).ln_1p()).expm1();
    let square_weight = -(steps * (-SQUARE_STEP).ln_1p()).expm1();
    let rate = RATE * square_weight.sqrt() / mean_weight;
    let (w1, w1_mean, w1_square) = update(&mlp.w1, &gradient.w1, &adam.mean.w1, &adam.square.w1, &rate);
    let (b1, b1_mean, b1_square) = update(&mlp.b1, &gradient.b1, &adam.mean.b1, &adam.square.b1, &rate);
    let (w2, w2_mean, w2_square) = update(&mlp.w2, &gradient.w2, &adam.mean.w2, &adam.square.w2, &rate);
    let (b2, b2_mean, b2_square) = update(&mlp.b2, &gradient.b2, &adam.mean.b2, &adam.square.b2, &rate);
    let mean = Mlp { w1: w1_mean, b1: b1_mean, w2: w2_mean, b2: b2_mean };
    let square = Mlp { w1: w1_square, b1: b1_square, w2: w2_square, b2: b2_square };
    (Learner { mlp: Mlp { w1, b1, w2, b2 }, adam: Adam { steps, mean, square } }, loss)
}

type Array<A, R> = Tensor<A, f32, R>;

/// Adam's rule for one array: its new value, and the new means.
#[differentiable]
fn update<R: Rank>(
    parameter: &Array<R>,
    gradient: &Array<R>,
    mean: &Array<R>,
    square: &Array<R>,
    rate: &Scalar<f32>,
) -> (Array<R>, Array<R>, Array<R>) {
    let mean = mean + (gradient - mean) * MEAN_STEP;
    let square = square + (gradient * gradient - square) * SQUARE_STEP;
    (parameter - mean * rate / (square.sqrt() + EPSILON), mean, square)
}

impl Adam<Concrete> {
    fn zeros(pixels: usize) -> Self {
        Adam { steps: scalar(0.0), mean: Mlp::zeros(pixels), square: Mlp::zeros(pixels) }
    }
}

impl Batch<Concrete> {
    /// A batch of these images and labels.
    pub fn new(images: Array2<f32>, labels: &[u8]) -> Self {
        Batch { images: images.into(), labels: labels.iter().map(|&label| i64::from(label)).collect::<Vec<_>>().into() }
    }

    fn zeros(images: usize, pixels: usize) -> Self {
        Batch { images: zeros((images, pixels)), labels: zeros(images) }
    }
}

// Plain types of the functions above: the types of their staged forms.
type State = Learner<Concrete>;
type Parameters = Mlp<Concrete>;
type Images = Batch<Concrete>;
type Answer = (Scalar<Concrete, f32>, Vector<Concrete, i64>);

/// The staged programs: made once for the sizes of images and batches.
pub struct Programs {
    step: Prepared<(State, Images), (State, Scalar<Concrete, f32>), State>,
    predict: Prepared<(Parameters, Images), Answer, Parameters>,
}

impl Programs {
    /// Stages a step for batches of one size, and a prediction for test images of another number, to run on a device.
    pub fn stage(device: &Device, pixels: usize, batch: usize, test: usize) -> Result<Programs> {
        let learner = Learner { mlp: Mlp::zeros(pixels), adam: Adam::zeros(pixels) };
        let predict = stage(predict, (&learner.mlp, &Batch::zeros(test, pixels)))?;
        let step = stage(step, (&learner, &Batch::zeros(batch, pixels)))?;
        Ok(Programs { step: device.prepare(step, false)?, predict: device.prepare(predict, false)? })
    }
}

/// The program that computes the loss of a batch and its gradient, printed.
pub fn gradient_program(pixels: usize, batch: usize) -> Result<String> {
    let gradient = stage(loss, (&Mlp::zeros(pixels), &Batch::zeros(batch, pixels)))?.value_and_grad()?;
    Ok(gradient.to_string())
}

/// A perceptron in training, which stays where its programs run.
pub struct Training<'a> {
    programs: &'a Programs,
    learner: There<State>,
}

impl<'a> Training<'a> {
    pub fn new(programs: &'a Programs, pixels: usize, random: &mut Random) -> Result<Self> {
        let learner = Learner { mlp: Mlp::random(pixels, random), adam: Adam::zeros(pixels) };
        Ok(Training { programs, learner: programs.step.bring(learner)? })
    }

    /// Takes one step, and returns the loss before it.
    pub fn step(&mut self, batch: Batch<Concrete>) -> Result<f32> {
        let batch = self.programs.step.bring(batch)?;
        Ok(self.programs.step.step(&mut self.learner, &batch)?.item())
    }

    /// The loss, and the digit that each image is taken for.
    pub fn evaluate(&self, batch: &Batch<Concrete>) -> Result<(f32, Vec<u8>)> {
        let learner = self.learner.fetch()?;
        let (loss, digits) = self.programs.predict.call((&learner.mlp, batch))?;
        Ok((loss.item(), digits.to_vec().into_iter().map(|digit| digit as u8).collect()))
    }
}

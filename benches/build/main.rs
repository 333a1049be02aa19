//! A user's crate, whose build `scripts/build-cost` measures: models that are differentiated now, staged and compiled.

use deltaray::prelude::*;

/// A layer of a network.
#[derive(Tree, Clone)]
struct Layer<A: Algebra> {
    weights: Matrix<A, f64>,
    bias: Vector<A, f64>,
}

/// A network of two layers.
#[derive(Tree, Clone)]
struct Network<A: Algebra> {
    hidden: Layer<A>,
    output: Layer<A>,
}

/// A line with noise.
#[derive(Tree, Clone)]
struct Line<A: Algebra> {
    slope: Scalar<A, f64>,
    offset: Scalar<A, f64>,
    log_scale: Scalar<A, f64>,
}

/// The outputs of a layer.
#[differentiable]
fn layer(layer: &Layer, x: &Matrix<f64>) -> Matrix<f64> {
    (x.dot(&layer.weights) + &layer.bias).tanh()
}

/// The outputs of a network.
#[differentiable]
fn predict(network: &Network, x: &Matrix<f64>) -> Matrix<f64> {
    layer(&network.output, &layer(&network.hidden, x))
}

/// The mean squared error of a network.
#[differentiable]
fn network_loss((network, x, y): &(Network, Matrix<f64>, Matrix<f64>)) -> Scalar<f64> {
    (predict(network, x) - y).powi(2).mean()
}

/// The negative log-likelihood of a line.
#[differentiable]
fn line_loss((line, x, y): &(Line, Vector<f64>, Vector<f64>)) -> Scalar<f64> {
    let residual = (&line.slope * x + &line.offset - y) / line.log_scale.exp();
    0.5 * residual.powi(2).sum() + &line.log_scale * x.len() as f64
}

/// Logistic regression with a ridge penalty.
#[differentiable]
fn logistic((w, x, y): &(Vector<f64>, Matrix<f64>, Vector<f64>)) -> Scalar<f64> {
    let z = x.dot(w);
    (z.softplus() - y * &z).mean() + 1e-3 * w.powi(2).sum()
}

/// The error of a softmax classifier.
#[differentiable]
fn softmax_loss((w, x, y): &(Matrix<f64>, Matrix<f64>, Matrix<f64>)) -> Scalar<f64> {
    let z = x.dot(w);
    z.logsumexp_axis(1).mean() - (y * &z).sum_axis(1).mean()
}

/// Σ over pairs of points of a Gaussian kernel.
#[differentiable]
fn kernel_sum(x: &Vector<f64>) -> Scalar<f64> {
    let n = x.len();
    build((n, n), |(i, j)| {
        let d = x.at(&i) - x.at(&j);
        (-(&d * &d)).exp()
    })
    .sum()
}

/// A signal convolved with itself.
#[differentiable]
fn self_convolution(x: &Vector<f64>) -> Scalar<f64> {
    let n = x.len();
    build(n, |i| x.at(&i) * x.at(n - 1 - i)).sum()
}

/// The Rosenbrock function in many dimensions.
#[differentiable]
fn rosenbrock(x: &Vector<f64>) -> Scalar<f64> {
    let n = x.len();
    let (a, b) = (x.slice(0, 0..n - 1), x.slice(0, 1..n));
    (100.0 * (b - &a * &a).powi(2) + (1.0 - &a).powi(2)).sum()
}

/// The square root of the mean of squares.
#[differentiable]
fn root_mean_square(x: &Vector<f64>) -> Scalar<f64> {
    x.powi(2).mean().sqrt()
}

/// Distances of points from the nearest of some centres.
#[differentiable]
fn nearest((centres, points): &(Matrix<f64>, Matrix<f64>)) -> Scalar<f64> {
    (points.insert_axis(1) - centres).powi(2).sum_axis(2).min_axis(1).sum()
}

/// A sum weighted by running totals.
#[differentiable]
fn running((w, x): &(Vector<f64>, Vector<f64>)) -> Scalar<f64> {
    (w * x.cumsum(0).powi(2)).sum()
}

/// Elements picked by position.
#[differentiable]
fn picked((x, columns, values): &(Vector<f64>, Vector<i64>, Vector<f64>)) -> Scalar<f64> {
    build(columns.len(), |e| values.at(&e) * x.at(columns.at(&e))).sum()
}

/// Numbers between −1 and 1.
fn numbers(count: usize) -> Vector<Concrete, f64> {
    (0..count).map(|i| (i as f64 * 0.7).sin()).collect::<Vec<_>>().into()
}

/// A table of such numbers.
fn table(rows: usize, columns: usize) -> Matrix<Concrete, f64> {
    Matrix::from_elements((rows, columns), numbers(rows * columns).to_vec())
}

fn network() -> Network<Concrete> {
    Network {
        hidden: Layer { weights: table(4, 8), bias: numbers(8) },
        output: Layer { weights: table(8, 2), bias: numbers(2) },
    }
}

/// A layer after a step of descent.
fn stepped(layer: &Layer<Concrete>, gradient: &Layer<Concrete>) -> Layer<Concrete> {
    Layer { weights: &layer.weights - 0.1 * &gradient.weights, bias: &layer.bias - 0.1 * &gradient.bias }
}

/// Descends along gradients that a compiled program computes.
fn train() -> deltaray::Result<f64> {
    let (x, y) = (table(16, 4), table(16, 2));
    let mut model = network();
    let step = stage(network_loss, &(model.clone(), x.clone(), y.clone()))?.value_and_grad()?.compile(Cpu::default())?;
    let mut last = f64::INFINITY;
    for _ in 0..20 {
        let (loss, (gradient, _, _)) = step.call(&(model.clone(), x.clone(), y.clone()))?;
        model = Network { hidden: stepped(&model.hidden, &gradient.hidden), output: stepped(&model.output, &gradient.output) };
        last = loss.item();
    }
    Ok(last)
}

/// Fits a line by gradients of define-by-run.
fn fit() -> f64 {
    let (x, y) = (numbers(32), 2.0 * numbers(32) + 1.0);
    let mut line = Line { slope: scalar(0.0), offset: scalar(0.0), log_scale: scalar(0.0) };
    for _ in 0..50 {
        let (gradient, _, _) = grad(line_loss, &(line.clone(), x.clone(), y.clone()));
        line = Line {
            slope: &line.slope - 1e-3 * gradient.slope,
            offset: &line.offset - 1e-3 * gradient.offset,
            log_scale: &line.log_scale - 1e-3 * gradient.log_scale,
        };
    }
    line.slope.item()
}

/// Differentiates the classifiers.
fn classify() -> deltaray::Result<f64> {
    let (w, _, _) = grad(logistic, &(numbers(4), table(16, 4), numbers(16)));
    let staged = stage(softmax_loss, &(table(4, 3), table(16, 4), table(16, 3)))?.grad()?;
    let (v, _, _) = staged.call(&(table(4, 3), table(16, 4), table(16, 3)))?;
    Ok(w.sum().item() + v.sum().item())
}

/// Differentiates the functions of one vector, staged.
fn vectors() -> deltaray::Result<f64> {
    let x = numbers(24);
    let mut total = 0.0;
    total += stage(kernel_sum, &x)?.grad()?.call(&x)?.sum().item();
    total += stage(self_convolution, &x)?.grad()?.call(&x)?.sum().item();
    total += stage(rosenbrock, &x)?.grad()?.compile(Cpu::default())?.call(&x)?.sum().item();
    total += grad(root_mean_square, &x).sum().item();
    Ok(total)
}

/// Differentiates the functions of several arrays.
fn pairs() -> deltaray::Result<f64> {
    let (centres, _) = grad(nearest, &(table(3, 2), table(16, 2)));
    let (w, _) = stage(running, &(numbers(9), numbers(9)))?.grad()?.call(&(numbers(9), numbers(9)))?;
    let columns = Vector::from(vec![2_i64, 0, 2]);
    let (x, _, _) = grad(picked, &(numbers(4), columns, numbers(3)));
    Ok(centres.sum().item() + w.sum().item() + x.sum().item())
}

fn main() -> deltaray::Result<()> {
    println!("{:.6}", train()?);
    println!("{:.6}", fit());
    println!("{:.6}", classify()?);
    println!("{:.6}", vectors()?);
    println!("{:.6}", pairs()?);
    Ok(())
}

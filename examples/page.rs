//! A program at every stage, as a page for a browser: `cargo run --example page > page.html`.
//!
//! It is the self-convolution of the paper; `cargo run --example page -- recurrent` shows a recurrent network, and `-- chain`
//! a program of two thousand nodes.

use deltaray::export;
use deltaray::prelude::*;

/// Written element by element; staged, it runs in bulk.
fn self_convolution<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = x.len();
    build(n, |i| x.at(&i) * x.at(n - 1 - i)).sum()
}

/// The weights of a layer whose state is its input, too.
#[derive(Tree)]
struct Layer<A: Algebra> {
    input: Matrix<A, f64>,
    state: Matrix<A, f64>,
    bias: Vector<A, f64>,
}

/// The squared error of predicting each of a series from those before it.
fn recurrent<A: Algebra>((layer, series): &(Layer<A>, Matrix<A, f64>)) -> Scalar<A, f64> {
    let steps = series.shape()[0];
    let start: Vector<A, f64> = zeros(layer.bias.len());
    let (_, states): (_, Matrix<A, f64>) = scan(start, series, steps, |state: Vector<A, f64>, x: Vector<A, f64>| {
        let next = (layer.input.dot(&x) + layer.state.dot(&state) + &layer.bias).tanh();
        (next.clone(), next)
    });
    let (predicted, expected) = (states.slice(0, ..steps - 1), series.slice(0, 1..));
    (predicted - expected).powi(2).mean()
}

/// Many operations, each of which needs the one before.
fn chain<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    iterations(x, 500).sum()
}

fn iterations<A: Algebra>(x: &Vector<A, f64>, count: usize) -> Vector<A, f64> {
    (0..count).fold(x.clone(), |y, _| &y - (&y * x).sin() * x)
}

fn main() -> deltaray::Result<()> {
    let page = match std::env::args().nth(1).as_deref() {
        Some("recurrent") => {
            let layer = Layer { input: zeros((8, 8)), state: zeros((8, 8)), bias: zeros(8) };
            let series: Matrix<Concrete, f64> = zeros((20, 8));
            export::html(&stage(recurrent, (&layer, &series))?)?
        }
        Some("chain") => export::html(&stage(chain, &Vector::from(vec![0.1; 8]))?)?,
        _ => export::html(&stage(self_convolution, &Vector::from(vec![1.0, 2.0, 3.0, 4.0]))?)?,
    };
    print!("{page}");
    Ok(())
}

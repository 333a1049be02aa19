//! A logistic regression on more rows than memory holds: the loss and its gradient are summed over chunks.
//!
//! ```sh
//! cargo run --release --example out_of_core -- 50             # gigabytes of rows that are made up, in memory of 2 GiB at most
//! cargo run --release --example out_of_core -- rows.npy 3     # the rows of a file, in three steps of gradient descent
//! ```
//!
//! A row has its class, 0 or 1, and then its features. The file is NumPy's, a matrix of `float64` in rows, which is read chunk by
//! chunk. The example prints the loss before each step, and at last the most memory that it had; more than 2 GiB are a failure.

mod npy;
mod rows;
#[cfg(test)]
mod tests;

use deltaray::prelude::*;
use rows::{FEATURES, Rows};
use std::time::Instant;

/// Bytes of a chunk, and of all memory.
const CHUNK: usize = 64 << 20;
const MEMORY: usize = 2 << 30;

type Chunk = Matrix<Concrete, f64>;
type Failure = Box<dyn std::error::Error>;

/// The weights of features, and a constant.
#[derive(Tree, Clone)]
#[tree(arithmetic)]
pub struct Model<A: Algebra> {
    weights: Vector<A, f64>,
    bias: Scalar<A, f64>,
}

/// The sum of the losses of rows.
#[differentiable]
fn loss((model, rows): (Model<A>, Matrix<f64>)) -> Scalar<f64> {
    let (classes, features) = (rows.index_axis(1, 0), rows.slice(1, 1..));
    let logits = features.dot(&model.weights) + model.bias;
    (logits.softplus() - classes * logits).sum()
}

/// A chunk whose classes are 0 and 1.
fn checked(chunk: Result<Chunk, Failure>) -> Result<Chunk, Failure> {
    let chunk = chunk?;
    match chunk.index_axis(1, 0).to_vec().into_iter().find(|class| ![0.0, 1.0].contains(class)) {
        Some(class) => Err(format!("a class is {class}, not 0 or 1").into()),
        None => Ok(chunk),
    }
}

/// The model after gradient descent over all chunks, which are read anew for each step, and the mean loss before each.
fn fit<C: Iterator<Item = Result<Chunk, Failure>>>(
    chunks: impl Fn() -> Result<C, Failure>,
    (rows, features): (usize, usize),
    steps: usize,
) -> Result<(Model<Concrete>, Vec<f64>), Failure> {
    let loss = jit(loss).value_and_grad();
    let mut model = Model { weights: zeros(features), bias: scalar(0.0) };
    let mut losses = Vec::new();
    for _ in 0..steps {
        let (value, gradient): (Scalar<Concrete, f64>, Model<Concrete>) =
            loss.sum_over(&model, chunks()?.map(checked))?;
        if !value.item().is_finite() {
            return Err(format!("the loss is {}", value.item()).into());
        }
        losses.push(value.item() / rows as f64);
        model = &model - (2.0 / rows as f64) * &gradient;
    }
    Ok((model, losses))
}

/// The most memory that this process has had, in bytes; none where the system doesn't say.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<usize>().ok().map(|kilobytes| 1024 * kilobytes)
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let data = arguments.next().unwrap_or("4".into());
    if data == "--help" {
        println!("out_of_core [GIGABYTES | FILE.npy] [STEPS]: the first column of a file has the classes, 0 or 1");
        return Ok(());
    }
    let steps =
        arguments.next().map_or(Ok(1), |steps| steps.parse().map_err(|_| format!("{steps} is no number of steps")))?;
    let start = Instant::now();
    let (bytes, losses) = match data.parse::<f64>() {
        Ok(gigabytes) => {
            let row = 8 * (FEATURES + 1);
            let rows = (gigabytes * 1e9) as usize / row;
            if rows == 0 || gigabytes > 1e9 {
                return Err(format!("{data} is no number of gigabytes to make up").into());
            }
            let chunks = || Ok(Rows::new(rows, CHUNK / row).map(Ok));
            (rows * row, fit(chunks, (rows, FEATURES), steps)?.1)
        }
        Err(_) => {
            let (rows, columns) = npy::Chunks::open(&data, CHUNK)?.shape();
            let features = columns.checked_sub(1).ok_or("rows without a class")?;
            (8 * rows * columns, fit(|| npy::Chunks::open(&data, CHUNK), (rows, features), steps)?.1)
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    losses.iter().for_each(|loss| println!("loss {loss:.9}"));
    println!("{:.2} GB a step, {:.2} s a step", bytes as f64 / 1e9, seconds / steps.max(1) as f64);
    let Some(peak) = peak() else { return Ok(()) };
    println!("{:.3} GiB of memory at most", peak as f64 / (1 << 30) as f64);
    if peak > MEMORY { Err("more memory than 2 GiB".into()) } else { Ok(()) }
}

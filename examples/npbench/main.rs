//! Kernels of NPBench, written like their NumPy references: a loop there is a loop here.
//!
//! NPBench is described in "NPBench: a benchmarking suite for high-performance NumPy" (Ziogas, Ben-Nun, Schneider, Hoefler; ICS
//! 2021), and most of its kernels come from PolyBench. Run with a preset, S (the default), M, L or paper, and the names of
//! kernels:
//!
//! ```sh
//! cargo run --release --example npbench -- S cholesky seidel_2d
//! ```
//!
//! For each kernel it prints how many milliseconds the value takes, and the value with the gradient, compiled for one thread.
//! The gradient is taken of the sum of one result by all arguments. This sum follows, and the sum of the gradient's squares,
//! against which other tools are checked. With `--write FOLDER` it writes the arguments there instead, as numbers of eight
//! bytes, and prints their shapes: `scripts/compare --npbench` measures other tools on them. With `profile` tables of the
//! compiled kernels follow.

mod factorisations;
mod flows;
mod inputs;
mod networks;
mod products;
mod stencils;
#[cfg(test)]
mod tests;
#[path = "../timing/mod.rs"]
mod timing;

use deltaray::derivative::ArrayFn;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use inputs::{Preset, grid, images, positive, table, vector};
use std::path::PathBuf;

/// The sum of a result of a kernel, by its position, or of all results.
struct Total<F>(F, Option<usize>);

impl<F: ArrayFn> ArrayFn for Total<F> {
    type In = F::In;
    type Out = Scalar<Concrete, f64>;
    fn call<A: Algebra>(&self, at: &<F::In as Family>::At<A>) -> Scalar<A, f64> {
        let results = self.0.call::<A>(at);
        let Some(position) = self.1 else { return ravel::<A, f64, _>(&results).0.sum() };
        let result = results.leaves().swap_remove(position);
        TensorD::<A, f64>::from_array(result).expect("results are floats").sum()
    }
}

type Plain<F> = <F as Family>::At<Concrete>;

/// A kernel with its name, and the position of the result whose sum has the gradient.
struct Kernel<'a, F> {
    name: &'a str,
    function: F,
    result: usize,
    /// The numbers of steps, which are not arrays.
    steps: &'a [usize],
}

/// Work that is done for each kernel.
trait Visitor {
    fn kernel<F: ArrayFn>(&mut self, kernel: Kernel<'_, F>, at: impl FnOnce() -> Plain<F::In>);
}

/// Shows a visitor all kernels, and their inputs at a preset.
fn visit(visitor: &mut impl Visitor, preset: Preset) {
    let (alpha, beta) = (1.5, 1.2);
    // A kernel whose first result is summed.
    macro_rules! kernel {
        ($module:ident::$name:ident { $($field:ident),* }, $at:expr) => { kernel!($module::$name { $($field),* }, 0, &[], $at) };
        ($module:ident::$name:ident { $($field:ident),* }, $result:expr, $steps:expr, $at:expr) => {
            visitor.kernel(
                Kernel { name: stringify!($name), function: $module::$name { $($field),* }, result: $result, steps: $steps },
                || $at,
            )
        };
    }
    let [n] = preset.of([5], [[100], [300], [900], [2000]]);
    kernel!(factorisations::cholesky {}, positive(n));
    let [n] = preset.of([5], [[60], [220], [650], [2000]]);
    kernel!(factorisations::ludcmp {}, (positive(n), vector(n, 2)));
    let [n] = preset.of([5], [[2000], [5000], [14_000], [16_000]]);
    kernel!(factorisations::trisolv {}, (positive(n), vector(n, 2)));
    let [m, n] = preset.of([5, 6], [[40, 50], [120, 150], [350, 550], [1000, 1200]]);
    kernel!(factorisations::symm { alpha, beta }, (table(m, m, 1), table(m, n, 2), table(m, n, 3)));
    let [m, n] = preset.of([5, 6], [[50, 70], [150, 200], [500, 600], [1000, 1200]]);
    kernel!(factorisations::syrk { alpha, beta }, (table(n, m, 1), table(n, n, 2)));
    let [m, n] = preset.of([5, 6], [[65, 80], [200, 250], [600, 700], [1000, 1200]]);
    kernel!(factorisations::trmm { alpha }, (table(m, m, 1), table(m, n, 2)));

    let [steps, n] = preset.of([3, 9], [[800, 3200], [3000, 12_000], [8500, 34_000], [4000, 32_000]]);
    kernel!(stencils::jacobi_1d { steps }, 0, &[steps], (vector(n, 1), vector(n, 2)));
    let [steps, n] = preset.of([3, 6], [[50, 150], [80, 350], [200, 700], [1000, 2800]]);
    kernel!(stencils::jacobi_2d { steps }, 0, &[steps], (table(n, n, 1), table(n, n, 2)));
    let [steps, n] = preset.of([3, 5], [[25, 25], [50, 40], [100, 70], [500, 120]]);
    kernel!(stencils::heat_3d { steps }, 0, &[steps], (grid([n; 3], 1), grid([n; 3], 2)));
    let [steps, m, n] = preset.of([3, 5, 6], [[20, 200, 220], [60, 400, 450], [150, 800, 900], [500, 1000, 1200]]);
    kernel!(stencils::fdtd_2d {}, 2, &[], (table(m, n, 1), table(m, n, 2), table(m, n, 3), vector(steps, 4)));
    let [steps, n] = preset.of([3, 6], [[8, 50], [15, 100], [40, 200], [100, 400]]);
    kernel!(stencils::seidel_2d { steps }, 0, &[steps], table(n, n, 1));
    let [steps, n] = preset.of([3, 6], [[5, 100], [20, 200], [50, 500], [100, 200]]);
    kernel!(stencils::adi { steps }, 0, &[steps], table(n, n, 1));
    let [w, h] = preset.of([6, 7], [[400, 200], [1500, 1000], [6000, 3000], [7680, 4320]]);
    kernel!(stencils::deriche {}, (table(w, h, 1), scalar(0.25)));

    let [m, n] = preset.of([5, 6], [[4000, 5000], [10_000, 12_500], [20_000, 25_000], [18_000, 22_000]]);
    kernel!(products::atax {}, (table(m, n, 1), vector(n, 2)));
    kernel!(products::bicg {}, 1, &[], (table(m, n, 1), vector(n, 2), vector(m, 3)));
    let [i, j, k] =
        preset.of([4, 5, 6], [[1000, 1100, 1200], [2500, 2750, 3000], [7000, 7500, 8000], [2000, 2300, 2600]]);
    kernel!(products::gemm { alpha, beta }, (table(i, k, 1), table(k, j, 2), table(i, j, 3)));
    let [n] = preset.of([5], [[1000], [3000], [10_000], [8000]]);
    let four = |seed: u64| (vector(n, seed), vector(n, seed + 1), vector(n, seed + 2), vector(n, seed + 3));
    kernel!(products::gemver { alpha, beta }, 1, &[], (table(n, n, 1), four(2), four(6)));
    let [n] = preset.of([5], [[2000], [4000], [14_000], [11_200]]);
    kernel!(products::gesummv { alpha, beta }, (table(n, n, 1), table(n, n, 2), vector(n, 3)));
    let [i, j, k, l] = preset.of(
        [4, 5, 6, 3],
        [[800, 850, 900, 950], [2000, 2250, 2500, 2750], [6000, 6500, 7000, 7500], [3200, 3600, 4400, 4800]],
    );
    kernel!(products::k2mm { alpha, beta }, (table(i, k, 1), table(k, j, 2), table(j, l, 3), table(i, l, 4)));
    let [i, j, k, l, m] = preset.of(
        [4, 5, 6, 3, 2],
        [
            [800, 850, 900, 950, 1000],
            [2000, 2200, 2400, 2600, 2800],
            [5500, 6000, 6500, 7000, 7500],
            [3200, 3600, 4000, 4400, 4800],
        ],
    );
    kernel!(products::k3mm {}, (table(i, k, 1), table(k, j, 2), table(j, m, 3), table(m, l, 4)));
    let [r, q, p] = preset.of([3, 4, 5], [[60, 60, 128], [110, 125, 256], [220, 250, 512], [220, 250, 270]]);
    kernel!(products::doitgen {}, (grid([r, q, p], 1), table(p, p, 2)));
    let [m, n] = preset.of([5, 8], [[500, 600], [1400, 1800], [3200, 4000], [1200, 1400]]);
    kernel!(products::correlation {}, table(n, m, 1));
    kernel!(products::covariance {}, table(n, m, 1));
    let [n] = preset.of([5], [[200], [400], [850], [2800]]);
    kernel!(products::floyd_warshall {}, table(n, n, 1).powi(2) * 10.0);
    let [n, h, s] = preset.of([2, 3, 4], [[16, 16, 128], [32, 8, 256], [64, 16, 448], [64, 16, 512]]);
    kernel!(products::softmax {}, images([n, h, s, s], 1));
    let layer = |rows: usize, columns: usize| (table(rows, columns, 1), vector(columns, 2));
    let [n, inner, first, second] = preset.of(
        [4, 3, 5, 6],
        [[8, 3, 30_000, 2000], [8, 3, 30_000, 10_000], [8, 3, 30_000, 30_000], [8, 3, 30_000, 10_000]],
    );
    let [third] = preset.of([3], [[2000], [10_000], [30_000], [1000]]);
    kernel!(products::mlp {}, (table(n, inner, 1), layer(inner, first), layer(first, second), layer(second, third)));

    let [n, rows, size, channels] =
        preset.of([2, 6, 3, 4], [[8, 32, 2, 16], [8, 64, 5, 8], [8, 128, 10, 8], [8, 256, 20, 16]]);
    let filters = images([size, size, 3, channels], 2);
    kernel!(networks::conv2d_bias {}, (images([n, rows, rows, 3], 1), filters, vector(channels, 3)));
    let [n, rows] = preset.of([2, 16], [[4, 28], [8, 56], [8, 176], [16, 256]]);
    let left = ((rows - 4) / 2 - 4) / 2;
    let convolutions = || ((images([5, 5, 1, 6], 2), vector(6, 4)), (images([5, 5, 6, 16], 3), vector(16, 5)));
    kernel!(
        networks::lenet {},
        (images([n, rows, rows, 1], 1), convolutions(), layer(16 * left * left, 120), layer(120, 84), layer(84, 10))
    );
    let [n, rows, wide, narrow] =
        preset.of([3, 4, 3, 2], [[8, 14, 32, 8], [8, 28, 64, 16], [8, 56, 128, 32], [8, 56, 256, 64]]);
    let (inner, outer) = (images([3, 3, narrow, narrow], 3), images([1, 1, narrow, wide], 4));
    kernel!(networks::resnet {}, (images([n, rows, rows, wide], 1), images([1, 1, wide, narrow], 2), inner, outer));

    let [n, steps] = preset.of([5, 3], [[25, 40], [50, 250], [100, 900], [100, 1000]]);
    kernel!(flows::nbody { steps }, 0, &[steps], (table(n, 3, 1) * 4.0, table(n, 3, 2), vector(n, 3) + 1.0));
    let [n, steps, iterations] = preset.of([6, 3, 4], [[61, 25, 5], [121, 50, 10], [201, 100, 20], [101, 700, 50]]);
    let fields = || (table(n, n, 1), table(n, n, 2), table(n, n, 3));
    kernel!(flows::cavity_flow { steps, iterations }, 1, &[steps, iterations], fields());
    let [n, iterations] = preset.of([6, 3], [[61, 5], [121, 10], [201, 20], [101, 50]]);
    // A slow flow along the channel.
    let slow = || ((table(n, n, 1) + 0.5) * 0.01, table(n, n, 2) * 0.01, table(n, n, 3) * 0.01);
    kernel!(flows::channel_flow { iterations }, 0, &[iterations], slow());
}

/// Prints how long kernels take, or writes their arguments.
struct Times {
    /// Their names; all if there are none.
    names: Vec<String>,
    folder: Option<PathBuf>,
    /// Whether tables of kernels follow.
    profile: bool,
}

impl Visitor for Times {
    fn kernel<F: ArrayFn>(&mut self, kernel: Kernel<'_, F>, at: impl FnOnce() -> Plain<F::In>) {
        let Kernel { name, function, result, steps } = kernel;
        if !self.names.is_empty() && self.names.iter().all(|wanted| wanted != name) {
            return;
        }
        let at = at();
        if let Some(folder) = &self.folder {
            write(folder, &at).expect("the folder can be written to");
            println!("{name} steps {steps:?}");
            return;
        }
        let one = || Cpu::default().threads(1).profile(self.profile);
        let value = stage(|at| function.call::<Staged>(at), &at).expect("a kernel is staged");
        let value = value.compile(one()).expect("a kernel is compiled");
        let total = Total(function, Some(result));
        let total = stage(|at| total.call::<Staged>(at), &at).expect("a kernel is staged");
        let gradient = total.value_and_grad().expect("a kernel has a gradient");
        let gradient = gradient.compile(one()).expect("a gradient is compiled");
        let ([alone, together], both) = timing::measured(&value, &gradient, &at).expect("a kernel runs");
        let (sum, slope) = (both.0.item(), ravel::<Concrete, f64, _>(&both.1).0.powi(2).sum().item());
        println!("{name:<16} {alone:>10.3} {together:>12.3} {:>6.1} {sum:>22.15e} {slope:>22.15e}", together / alone);
        if self.profile {
            println!("{}\n{}", value.program().report(), gradient.program().report());
        }
    }
}

/// Writes the arrays of a tree to files with their numbers as names, and prints their shapes.
fn write<T: Tree<Concrete>>(folder: &std::path::Path, tree: &T) -> std::io::Result<()> {
    for (position, array) in tree.leaves().into_iter().enumerate() {
        let bytes: Vec<u8> = (0..array.size()).flat_map(|at| array.element(at).to_f64().to_le_bytes()).collect();
        std::fs::write(folder.join(position.to_string()), bytes)?;
        println!("{position} {:?}", array.shape());
    }
    Ok(())
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.iter().position(|argument| argument == "--write").map(|at| {
        arguments.remove(at);
        PathBuf::from(arguments.remove(at))
    });
    let profile = arguments.iter().position(|argument| argument == "profile").map(|at| arguments.remove(at)).is_some();
    let preset = arguments.first().and_then(|name| Preset::named(name));
    if preset.is_some() {
        arguments.remove(0);
    }
    if folder.is_none() {
        println!("{:<16} {:>10} {:>12} {:>6} {:>22} {:>22}", "", "value", "and gradient", "ratio", "sum", "slope");
    }
    visit(&mut Times { names: arguments, folder, profile }, preset.unwrap_or(Preset::S));
}

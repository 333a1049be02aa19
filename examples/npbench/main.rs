//! Kernels of NPBench, written as their NumPy references are: what is a loop there is a loop here.
//!
//! NPBench is described in "NPBench: a benchmarking suite for high-performance NumPy" (Ziogas, Ben-Nun, Schneider, Hoefler; ICS
//! 2021), and most of its kernels are those of PolyBench. Run with a size, S (the default), M or L, and the names of kernels:
//!
//! ```sh
//! cargo run --release --example npbench -- S cholesky seidel_2d
//! ```
//!
//! For each kernel it prints how many milliseconds the value takes, and the value with the gradient of the sum of all results
//! by the first argument, compiled for one thread.

mod factorisations;
mod flows;
mod inputs;
mod networks;
mod products;
mod stencils;
#[cfg(test)]
mod tests;

use deltaray::derivative::ArrayFn;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use inputs::{Sizes, grid, positive, table, vector};
use std::time::Instant;

/// The least of some times, in milliseconds.
fn time(mut run: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    let begun = Instant::now();
    for _ in 0..20 {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_secs_f64());
        if begun.elapsed().as_secs_f64() > 2.0 {
            break;
        }
    }
    1e3 * least
}

/// The sum of all results of a kernel.
struct Total<F>(F);

impl<F: ArrayFn> ArrayFn for Total<F> {
    type In = F::In;
    type Out = Scalar<Concrete, f64>;
    fn call<A: Algebra>(&self, at: &<F::In as Family>::At<A>) -> Scalar<A, f64> {
        ravel::<A, f64, _>(&self.0.call::<A>(at)).0.sum()
    }
}

type Plain<F> = <F as Family>::At<Concrete>;

/// Work that is done for each kernel.
trait Visitor {
    fn kernel<F: ArrayFn>(&mut self, name: &str, kernel: F, at: Plain<F::In>);
}

/// Shows a visitor all kernels, and what they are run on at a size.
fn visit(visitor: &mut impl Visitor, sizes: &Sizes) {
    let (alpha, beta) = (1.5, 1.2);
    let n = sizes.matrix;
    visitor.kernel("cholesky", factorisations::cholesky {}, positive(n));
    visitor.kernel("ludcmp", factorisations::ludcmp {}, (positive(n), vector(n, 2)));
    visitor.kernel("trisolv", factorisations::trisolv {}, (positive(n), vector(n, 2)));
    let three = (table(n, n, 1), table(n, n, 2), table(n, n, 3));
    visitor.kernel("symm", factorisations::symm { alpha, beta }, three.clone());
    visitor.kernel("syrk", factorisations::syrk { alpha, beta }, (table(n, n, 1), table(n, n, 2)));
    visitor.kernel("trmm", factorisations::trmm { alpha }, (table(n, n, 1), table(n, n, 2)));
    let (m, cube, steps) = (sizes.grid, sizes.cube, sizes.steps);
    visitor.kernel("jacobi_1d", stencils::jacobi_1d { steps }, (vector(m * m, 1), vector(m * m, 2)));
    visitor.kernel("jacobi_2d", stencils::jacobi_2d { steps }, (table(m, m, 1), table(m, m, 2)));
    visitor.kernel("heat_3d", stencils::heat_3d { steps }, (grid(cube, 1), grid(cube, 2)));
    let fields = (table(m, m + 1, 1), table(m, m + 1, 2), table(m, m + 1, 3), vector(steps, 4));
    visitor.kernel("fdtd_2d", stencils::fdtd_2d {}, fields);
    visitor.kernel("seidel_2d", stencils::seidel_2d { steps }, table(m, m, 1));
    visitor.kernel("adi", stencils::adi { steps }, table(m, m, 1));
    visitor.kernel("deriche", stencils::deriche {}, (table(m, m + 1, 1), scalar(0.25)));
    visitor.kernel("atax", products::atax {}, (table(n, n + 1, 1), vector(n + 1, 2)));
    visitor.kernel("bicg", products::bicg {}, (table(n, n + 1, 1), vector(n + 1, 2), vector(n, 3)));
    visitor.kernel("gemm", products::gemm { alpha, beta }, three.clone());
    let vectors = |seed: u64| (vector(n, seed), vector(n, seed + 1), vector(n, seed + 2), vector(n, seed + 3));
    visitor.kernel("gemver", products::gemver { alpha, beta }, (table(n, n, 1), vectors(2), vectors(6)));
    let both = (table(n, n, 1), table(n, n, 2), vector(n, 3));
    visitor.kernel("gesummv", products::gesummv { alpha, beta }, both);
    let (a, b, c) = three;
    let four = (a, b, c, table(n, n, 4));
    visitor.kernel("k2mm", products::k2mm { alpha, beta }, four.clone());
    visitor.kernel("k3mm", products::k3mm {}, four);
    visitor.kernel("doitgen", products::doitgen {}, (grid(cube, 1), table(cube, cube, 2)));
    visitor.kernel("correlation", products::correlation {}, table(n + 3, n, 1));
    visitor.kernel("covariance", products::covariance {}, table(n + 3, n, 1));
    visitor.kernel("floyd_warshall", products::floyd_warshall {}, table(n, n, 1).powi(2) * 10.0);
    visitor.kernel("softmax", products::softmax {}, Tensor4::from_elements((2, 3, 4, n), table(24, n, 1).to_vec()));
    let layer = |rows: usize, columns: usize| (table(rows, columns, 1), vector(columns, 2));
    visitor.kernel("mlp", products::mlp {}, (table(n, m, 1), layer(m, n), layer(n, m), layer(m, 10)));
    let images = |rows: usize, channels: usize| {
        let count = 2 * rows * rows * channels;
        Tensor4::from_elements((2, rows, rows, channels), vector(count, 1).to_vec())
    };
    let filters = |size: usize, channels: usize, count: usize| {
        let shape = (size, size, channels, count);
        Tensor4::from_elements(shape, vector(size * size * channels * count, 2).to_vec())
    };
    visitor.kernel("conv2d_bias", networks::conv2d_bias {}, (images(cube, 3), filters(3, 3, 4), vector(4, 3)));
    let convolutions = ((filters(3, 1, 2), vector(2, 4)), (filters(3, 2, 3), vector(3, 5)));
    let left = ((cube + 7) / 2 - 2) / 2;
    let network = (images(cube + 9, 1), convolutions, layer(3 * left * left, 7), layer(7, 6), layer(6, 5));
    visitor.kernel("lenet", networks::lenet {}, network);
    let bodies = (table(m, 3, 1) * 4.0, table(m, 3, 2), vector(m, 3) + 1.0);
    visitor.kernel("nbody", flows::nbody { steps }, bodies);
    let cavity = (table(m, m, 1), table(m, m, 2), table(m, m, 3));
    visitor.kernel("cavity_flow", flows::cavity_flow { steps, iterations: 4 }, cavity);
}

/// Prints how long kernels take.
struct Times {
    /// Their names; all if there are none.
    names: Vec<String>,
}

impl Visitor for Times {
    fn kernel<F: ArrayFn>(&mut self, name: &str, kernel: F, at: Plain<F::In>) {
        if !self.names.is_empty() && self.names.iter().all(|wanted| wanted != name) {
            return;
        }
        let one = || Cpu::default().threads(1);
        let value = stage(|at| kernel.call::<Staged>(at), &at).expect("a kernel is staged");
        let value = value.compile(one()).expect("a kernel is compiled");
        let total = Total(kernel);
        let total = stage(|at| total.call::<Staged>(at), &at).expect("a kernel is staged");
        let gradient = total.value_and_grad().expect("a kernel has a gradient");
        let gradient = gradient.compile(one()).expect("a gradient is compiled");
        let alone = time(|| drop(value.call(&at).expect("a kernel runs")));
        let both = time(|| drop(gradient.call(&at).expect("a gradient runs")));
        println!("{name:<16} {alone:>10.3} {both:>12.3} {:>6.1}", both / alone);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let sizes = arguments.next_if(|size| Sizes::named(size).is_some());
    let sizes = Sizes::named(sizes.as_deref().unwrap_or("S")).expect("a size that is known");
    println!("{:<16} {:>10} {:>12} {:>6}", "", "value", "and gradient", "ratio");
    visit(&mut Times { names: arguments.collect() }, &sizes);
}

//! A fluid in a box whose lid slides, by the lattice Boltzmann method, and the gradient of its energy by the initial particles.
//! The program is written from the mathematics.
//!
//! The method and its collisions follow "Lattice BGK models for Navier-Stokes equation" (Qian, d'Humières, Lallemand;
//! Europhysics Letters 1992). As LBM it is a benchmark of SPEC ("Optimization and profiling of the cache performance of
//! parallel lattice Boltzmann codes", Pohl, Kowarschik, Wilke, Iglberger, Rüde; 2003) and of Parboil (Stratton and others;
//! 2012), and one of reverse-mode differentiation in "Reverse-mode automatic differentiation and optimization of GPU kernels
//! via Enzyme" (Moses and others; SC 2021) and "AD for an array language with nested parallelism" (Schenck, Rønning, Henriksen,
//! Oancea; SC 2022).
//!
//! ```sh
//! cargo run --release --example lattice -- 48 20 profile
//! ```
//!
//! The numbers are the cells along each axis and the steps. The example prints the milliseconds of the objective, those of
//! objective and gradient together, each compiled for one thread, and the ratio of the two, for four ways to store the steps:
//!
//! - `all kept` stores everything that the gradient needs of each step.
//! - `stretches` makes a checkpoint of every quarter of the steps.
//! - `every` stores the particles as often, as an option of the loop.
//! - `snapshots` stores the particles four times at most.
//!
//! With `profile` tables of the kernels follow.

mod flow;
mod inputs;
#[cfg(test)]
mod tests;
#[path = "../timing/mod.rs"]
mod timing;

use deltaray::prelude::*;

/// The share of the way to equilibrium that particles go in a collision.
const RELAXATION: f64 = 1.2;

fn main() -> deltaray::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse().ok());
    let cells: usize = numbers.next().unwrap_or(32).max(3);
    let steps: usize = numbers.next().unwrap_or(20);
    let profile = arguments.iter().any(|argument| argument == "profile");
    let start = (inputs::particles(cells), inputs::cavity(cells));
    println!("{:<10} {:>10} {:>12} {:>6} {:>22}", "", "objective", "and gradient", "ratio", "energy");
    let relaxation = RELAXATION;
    timing::measure("all kept", flow::flow { relaxation, steps }, &start, profile)?;
    let stretch = (steps / 4).max(1);
    timing::measure("stretches", flow::flow_in_stretches { relaxation, steps, stretch }, &start, profile)?;
    for (name, checkpoints) in [("every", Checkpoints::Every(stretch)), ("snapshots", Checkpoints::Snapshots(4))] {
        timing::measure(name, flow::flow_with { relaxation, steps, checkpoints }, &start, profile)?;
    }
    Ok(())
}

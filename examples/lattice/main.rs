//! A fluid in a box whose lid slides, by the lattice Boltzmann method, and the gradient of its energy by the initial particles.
//! The program is written from the mathematics.
//!
//! The method and its collisions are those of "Lattice BGK models for Navier-Stokes equation" (Qian, d'Humières, Lallemand;
//! Europhysics Letters 1992). As LBM it is a benchmark of SPEC ("Optimization and profiling of the cache performance of parallel
//! lattice Boltzmann codes", Pohl, Kowarschik, Wilke, Iglberger, Rüde; 2003) and of Parboil (Stratton and others; 2012), and one
//! of reverse-mode differentiation in "Reverse-mode automatic differentiation and optimization of GPU kernels via Enzyme" (Moses
//! and others; SC 2021) and "AD for an array language with nested parallelism" (Schenck, Rønning, Henriksen, Oancea; SC 2022).
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

use deltaray::derivative::ArrayFn;
use deltaray::prelude::*;
use flow::{Cavity, Particles};

/// The share of the way to equilibrium that particles go in a collision.
const RELAXATION: f64 = 1.2;

/// The initial particles, and the box.
type Start = (Particles<Concrete>, Cavity<Concrete>);

/// Prints the times of an objective and of its gradient by the particles.
fn measure<F>(name: &str, objective: F, (particles, cavity): &Start, profile: bool) -> deltaray::Result<()>
where
    F: ArrayFn<In = Start, Out = Scalar<Concrete, f64>>,
{
    let one = || Cpu::default().threads(1).profile(profile);
    let at = (particles, cavity);
    let staged = stage(objective.closure(), at)?;
    let value = staged.compile(one())?;
    let gradient = staged.value_and_grad()?.compile(one())?;
    let ([alone, together], both) = timing::measured(&value, &gradient, at)?;
    println!("{name:<10} {alone:>10.3} {together:>12.3} {:>6.2} {:>22.15e}", together / alone, both.0.item());
    if profile {
        println!("{}\n{}", value.program().report(), gradient.program().report());
    }
    Ok(())
}

fn main() -> deltaray::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse().ok());
    let cells: usize = numbers.next().unwrap_or(32).max(3);
    let steps: usize = numbers.next().unwrap_or(20);
    let profile = arguments.iter().any(|argument| argument == "profile");
    let start = (inputs::particles(cells), inputs::cavity(cells));
    println!("{:<10} {:>10} {:>12} {:>6} {:>22}", "", "objective", "and gradient", "ratio", "energy");
    let relaxation = RELAXATION;
    measure("all kept", flow::flow { relaxation, steps }, &start, profile)?;
    let stretch = (steps / 4).max(1);
    measure("stretches", flow::flow_in_stretches { relaxation, steps, stretch }, &start, profile)?;
    for (name, checkpoints) in [("every", Checkpoints::Every(stretch)), ("snapshots", Checkpoints::Snapshots(4))] {
        measure(name, flow::flow_with { relaxation, steps, checkpoints }, &start, profile)?;
    }
    Ok(())
}

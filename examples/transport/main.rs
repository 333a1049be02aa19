//! Macroscopic cross sections of neutrons, the innermost loop of Monte Carlo simulations of reactors, in the two forms of
//! the proxy applications XSBench and RSBench: by interpolation in tables, which is bound by memory, and from the poles of
//! resonances, which is bound by arithmetic. Programs are written from the mathematics.
//!
//! XSBench is described in "XSBench: the development and verification of a performance abstraction for Monte Carlo reactor
//! analysis" (Tramm, Siegel, Islam, Schulz; PHYSOR 2014), RSBench in "Performance analysis of a reduced data movement
//! algorithm for neutron cross section data in Monte Carlo simulations" (Tramm, Siegel, Forget, Josey; EASC 2014). Both are
//! benchmarks of reverse-mode differentiation in "Reverse-mode automatic differentiation and optimization of GPU kernels via
//! Enzyme" (Moses and others; SC 2021) and "AD for an array language with nested parallelism" (Schenck, Rønning, Henriksen,
//! Oancea; SC 2022).
//!
//! ```sh
//! cargo run --release --example transport -- xsbench 20000
//! cargo run --release --example transport -- rsbench 2000 profile
//! ```
//!
//! The arguments are an application (both, if none is named) and a number of neutrons. The objective is the sum of all cross
//! sections, which RSBench's has weights for. The example prints the milliseconds of the objective, those of objective and
//! gradient together, each compiled for one thread, and the ratio of the two. With `profile` tables of their kernels follow.

mod complex;
mod inputs;
mod materials;
mod rsbench;
#[cfg(test)]
mod tests;
#[path = "../timing/mod.rs"]
mod timing;
mod xsbench;

use inputs::Sizes;

fn main() -> deltaray::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let neutrons = arguments.iter().find_map(|argument| argument.parse().ok());
    let both = !has("xsbench") && !has("rsbench");
    println!("{:<10} {:>10} {:>12} {:>6} {:>22}", "", "objective", "and gradient", "ratio", "sum");
    if both || has("xsbench") {
        let at = inputs::tables(&Sizes::reactor(neutrons.unwrap_or(20_000)));
        timing::measure("xsbench", xsbench::total {}, &at, has("profile"))?;
    }
    if both || has("rsbench") {
        let at = inputs::resonances(&Sizes::reactor(neutrons.unwrap_or(2000)));
        timing::measure("rsbench", rsbench::total {}, &at, has("profile"))?;
    }
    Ok(())
}

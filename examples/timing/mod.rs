//! How long compiled functions and their gradients take.

use deltaray::derivative::{ArrayFn, Compiled};
use deltaray::prelude::*;
use deltaray::tensor::Args;
use std::time::Instant;

/// The least times of two functions, in milliseconds. The functions take turns, so that other work of the machine slows down
/// both.
fn times(mut runs: [&mut dyn FnMut(); 2]) -> [f64; 2] {
    let mut least = [f64::INFINITY; 2];
    let begun = Instant::now();
    for round in 0..20 {
        for (run, least) in runs.iter_mut().zip(&mut least) {
            let start = Instant::now();
            run();
            *least = least.min(1e3 * start.elapsed().as_secs_f64());
        }
        if round >= 2 && begun.elapsed().as_secs_f64() > 6.0 {
            break;
        }
    }
    least
}

/// The times of a function and of its gradient, in milliseconds, and the gradient's results.
pub fn measured<In: Family, Out: Family, Both: Family, X>(
    function: &Compiled<In, Out>,
    gradient: &Compiled<In, Both>,
    at: X,
) -> deltaray::Result<([f64; 2], Both::At<Concrete>)>
where
    X: Args<Concrete, Family = In> + Copy,
{
    let (mut value, mut both) = (function.call(at)?, gradient.call(at)?);
    let times = times([&mut || function.call_into(at, &mut value).expect("a function runs"), &mut || {
        gradient.call_into(at, &mut both).expect("a gradient runs")
    }]);
    Ok((times, both))
}

/// Prints the times of an objective and of its gradient by the first argument.
#[allow(dead_code, reason = "an example that prints rows of its own does without")]
pub fn measure<T, P, F>(name: &str, objective: F, at: &(T, P), profile: bool) -> deltaray::Result<()>
where
    T: Tree<Concrete>,
    P: Tree<Concrete>,
    F: ArrayFn<In = (T::Family, P::Family), Out = Scalar<Concrete, f64>>,
{
    let one = || Cpu::default().threads(1).profile(profile);
    let at = (&at.0, &at.1);
    let staged = stage(objective.closure(), at)?;
    let value = staged.compile(one())?;
    let gradient = staged.value_and_grad()?.compile(one())?;
    let ([alone, together], both) = measured(&value, &gradient, at)?;
    println!("{name:<10} {alone:>10.3} {together:>12.3} {:>6.2} {:>22.15e}", together / alone, both.0.item());
    if profile {
        println!("{}\n{}", value.program().report(), gradient.program().report());
    }
    Ok(())
}

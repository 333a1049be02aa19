//! How long compiled functions and their gradients take.

use deltaray::derivative::Compiled;
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

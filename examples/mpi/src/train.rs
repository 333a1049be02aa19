//! Training, and a test of what was learnt.

use crate::gradient::{Gradient, Times};
use crate::job::{Job, Method};
use crate::options::Options;
use deltaray_example_mpi::checkpoint::{Checkpoint, State};
use deltaray_example_mpi::failure;
use deltaray_example_mpi::sum::Sum;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use std::time::Instant;

/// Trains on all ranks, which all have the same parameters after every step.
pub fn train(options: &Options, job: &Job, mut state: State, world: &SimpleCommunicator) -> Result<(), String> {
    let rank = world.rank();
    failure::say(world, &format!("process {}", std::process::id()));
    let mut gradient = Gradient::new(job, world, options.times);
    let (first, start) = (state.steps, Instant::now());
    if rank == 0 && first > 0 {
        println!("the checkpoint is from after step {first}, of {}", options.steps);
    }
    while state.steps < options.steps {
        let loss = gradient.compute(&state.parameters).map_err(|error| error.to_string())?;
        state.steps += 1;
        if !loss.is_finite() {
            return Err(format!("the loss is {loss} at step {}: try a smaller --rate", state.steps));
        }
        step(options, job.method, &mut gradient, &mut state);
        // Before they replace a checkpoint that is good.
        if !state.parameters.iter().chain(&state.velocity).all(|number| number.is_finite()) {
            return Err(format!("a parameter is no number after step {}: try a smaller --rate", state.steps));
        }
        let is_kept = options.every.is_some_and(|every| state.steps.is_multiple_of(every));
        if is_kept && state.steps < options.steps {
            keep(options, job, &state, world)?;
        }
        if rank == 0 && (state.steps == first + 1 || state.steps == options.steps) {
            println!("the loss before step {}: {loss:.9}", state.steps);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    keep(options, job, &state, world)?;
    let score = score(job, &state.parameters, world).map_err(|error| error.to_string())?;
    if rank == 0 {
        println!("{} on {} other rows: {:.6}", job.scored, job.tested, score);
    }
    if options.times {
        report(&gradient.times, state.steps - first, seconds, world);
    }
    Ok(())
}

/// A step, which is the same on all ranks.
fn step(options: &Options, method: Method, gradient: &mut Gradient<'_>, state: &mut State) {
    let moved = state.parameters.iter_mut().zip(&mut state.velocity);
    for ((parameter, velocity), (slope, curvature)) in moved.zip(gradient.by_parameter()) {
        match method {
            Method::Descent => {
                *velocity = options.momentum * *velocity + slope;
                *parameter -= options.rate * *velocity;
            }
            // A centre that no point is nearest to stays where it is.
            Method::Newton if curvature == 0.0 => {}
            Method::Newton => *parameter -= slope / curvature,
        }
    }
}

/// Rank 0 writes the checkpoint, where one is asked for. The others go on.
fn keep(options: &Options, job: &Job, state: &State, world: &SimpleCommunicator) -> Result<(), String> {
    match options.checkpoint.as_deref().filter(|_| world.rank() == 0) {
        None => Ok(()),
        Some(path) => {
            let (settings, ranks) = (job.settings(options), world.size() as u64);
            Checkpoint { settings, ranks, state: state.clone() }.write(path)
        }
    }
}

/// Inference: the mean over the rows for testing, of which each rank has a shard.
fn score(job: &Job, parameters: &[f64], world: &SimpleCommunicator) -> deltaray::Result<f64> {
    let mut sum = Sum::new(1, world.size() as usize);
    for part in &job.score {
        sum.numbers()[0] += part.value(parameters)?;
    }
    sum.over(world);
    Ok(sum.numbers()[0] / job.tested as f64)
}

/// Prints where the time went, as means over the ranks.
fn report(times: &Times, steps: u64, seconds: f64, world: &SimpleCommunicator) {
    let mut sum = Sum::new(3, world.size() as usize);
    let parts = [times.computed, times.waited, times.communicated];
    sum.numbers().iter_mut().zip(parts).for_each(|(number, part)| *number = part.as_secs_f64());
    sum.over(world);
    if world.rank() == 0 {
        let milliseconds = 1e3 / (steps.max(1) as f64);
        let part = |at: usize, sum: &mut Sum| sum.numbers()[at] * milliseconds / f64::from(world.size());
        let [computed, waited, communicated] = [0, 1, 2].map(|at| part(at, &mut sum));
        println!(
            "a step: {:.3} ms, of which computed {computed:.3}, waited {waited:.3}, communicated {communicated:.3}",
            seconds * milliseconds
        );
    }
}

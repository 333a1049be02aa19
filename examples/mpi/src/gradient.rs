//! The gradient of the loss of all ranks.

use crate::job::{Halves, Job, Method};
use deltaray::prelude::*;
use deltaray_example_mpi::sum::Sum;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use std::time::{Duration, Instant};

/// Where the time of the steps went.
#[derive(Default)]
pub struct Times {
    pub computed: Duration,
    /// For the slowest rank; counted as communication unless it is measured, which takes a barrier.
    pub waited: Duration,
    pub communicated: Duration,
}

/// The loss and its derivatives: those of this rank, and then their sums over all ranks.
pub struct Gradient<'a> {
    world: &'a SimpleCommunicator,
    job: &'a Job,
    /// The gradient, the diagonal of the Hessian where the method needs it, and the loss: one buffer, one sum.
    sum: Sum,
    /// The gradient by the last parameters, where it is on its way before that by the others is there.
    last: Sum,
    /// The contribution of one part.
    part: Vec<f64>,
    ones: Vec<f64>,
    measures_waits: bool,
    pub times: Times,
}

impl<'a> Gradient<'a> {
    pub fn new(job: &'a Job, world: &'a SimpleCommunicator, measures_waits: bool) -> Self {
        let (count, ranks) = (job.parameters.len(), world.size() as usize);
        let first = job.halves.as_ref().map_or(count, |halves| halves.cut);
        let curvatures = if job.method == Method::Newton { count } else { 0 };
        Gradient {
            world,
            job,
            sum: Sum::new(first + curvatures + 1, ranks),
            last: Sum::new(count - first, ranks),
            part: vec![0.0; count],
            ones: vec![1.0; curvatures],
            measures_waits,
            times: Times::default(),
        }
    }

    /// Computes it at these parameters, on all ranks, and results in the loss.
    pub fn compute(&mut self, parameters: &[f64]) -> deltaray::Result<f64> {
        let start = Instant::now();
        self.sum.numbers().fill(0.0);
        self.last.numbers().fill(0.0);
        let whole = self.job.loss.len() - usize::from(self.job.halves.is_some());
        for part in 0..whole {
            self.add_part(&self.job.loss[part], parameters)?;
        }
        match &self.job.halves {
            None => self.times.computed += start.elapsed(),
            Some(halves) => self.add_halves(halves, parameters, start)?,
        }
        let start = Instant::now();
        if self.measures_waits {
            self.world.barrier();
            self.times.waited += start.elapsed();
        }
        let start = Instant::now();
        self.sum.over(self.world);
        self.times.communicated += start.elapsed();
        Ok(*self.sum.numbers().last().expect("the loss"))
    }

    /// The gradient and the diagonal of the Hessian by parameter, once they are computed.
    pub fn by_parameter(&mut self) -> impl Iterator<Item = (f64, f64)> {
        let count = self.job.parameters.len();
        let first = self.job.halves.as_ref().map_or(count, |halves| halves.cut);
        let (gradient, rest) = self.sum.numbers().split_at(first);
        let curvatures = if self.job.method == Method::Newton { &rest[..count] } else { &[] };
        let curvatures = curvatures.iter().copied().chain(std::iter::repeat(1.0));
        gradient.iter().chain(self.last.numbers().iter()).copied().zip(curvatures)
    }

    /// Adds what a part contributes.
    fn add_part(&mut self, function: &SliceFunction<f64>, parameters: &[f64]) -> deltaray::Result<()> {
        let Gradient { sum, last, part, ones, .. } = self;
        let numbers = sum.numbers();
        let loss = function.value_and_grad(parameters, part)?;
        let (first, others) = part.split_at(part.len() - last.numbers().len());
        add(numbers, first);
        add(last.numbers(), others);
        if !ones.is_empty() {
            function.hvp(parameters, ones, part)?;
            add(&mut numbers[part.len()..], part);
        }
        *numbers.last_mut().expect("the loss") += loss;
        Ok(())
    }

    /// Adds what the last part contributes: by the last parameters, and while that is on its way by the others.
    fn add_halves(&mut self, halves: &Halves, parameters: &[f64], start: Instant) -> deltaray::Result<()> {
        let Gradient { world, sum, last, part, times, .. } = self;
        let (first, others) = part.split_at_mut(halves.cut);
        (halves.by_last)(parameters, others)?;
        add(last.numbers(), others);
        times.computed += start.elapsed();
        let start = Instant::now();
        let (result, took) = last.over_while(world, || {
            let start = Instant::now();
            let result = (halves.by_first)(parameters, first);
            (result, start.elapsed())
        });
        times.computed += took;
        times.communicated += start.elapsed() - took;
        let numbers = sum.numbers();
        add(numbers, first);
        numbers[halves.cut] += result?;
        Ok(())
    }
}

/// Adds numbers to the first ones.
fn add(sums: &mut [f64], numbers: &[f64]) {
    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
}

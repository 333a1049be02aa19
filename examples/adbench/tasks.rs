//! The tasks: from an instance to a report.

use crate::arguments::Arguments;
use crate::measure::{Measured, measure};
use crate::objectives::ba::{self, Instance};
use crate::objectives::gmm::{Mixture, Wishart, log_likelihood, log_prior};
use crate::objectives::hand::{self, Hand, Scanned};
use crate::objectives::lstm::{Network, loss};
use crate::read::Numbers;
use deltaray::derivative::Compiled;
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The derivatives of a task's objective.
pub enum Jacobian {
    /// So many columns, row by row.
    Dense(usize, Vec<f64>),
    Sparse(Csr<f64>),
}

impl Jacobian {
    fn entries(&self) -> Vec<f64> {
        match self {
            Jacobian::Dense(_, entries) => entries.clone(),
            Jacobian::Sparse(matrix) => matrix.values().to_vec(),
        }
    }
}

/// A program that was run: how long it took to make, how many kernels and how much memory it has, and its outcome.
pub struct Run<T> {
    staging: f64,
    kernels: usize,
    bytes: usize,
    pub measured: Measured<T>,
}

/// The measurements for one file.
pub struct Report {
    pub objective: Run<Vec<f64>>,
    pub jacobian: Run<Jacobian>,
}

/// Makes a function and measures a call of it.
fn run<I, O, F, T>(
    cpu: &Cpu,
    make: impl FnOnce() -> deltaray::Result<Function<I, O, F>>,
    call: impl Fn(&Compiled<I, O>) -> deltaray::Result<T>,
) -> Result<Run<T>, Box<dyn Error>>
where
    I: Family,
    O: Family,
    F: Family,
{
    let start = Instant::now();
    let staged = make()?;
    let function = staged.compile(cpu.clone())?;
    let (kernels, bytes) = (function.program().kernels(), function.program().memory());
    let staging = start.elapsed().as_secs_f64();
    let measured = measure(|| call(&function))?;
    if cpu.profiles() {
        eprint!("{staged}{}", function.program().report());
    }
    Ok(Run { staging, kernels, bytes, measured })
}

impl<T> Run<T> {
    fn map<U>(self, f: impl FnOnce(T) -> U) -> Run<U> {
        Run { staging: self.staging, kernels: self.kernels, bytes: self.bytes, measured: self.measured.map(f) }
    }

    fn json(&self) -> Value {
        json!({
            "min_s": self.measured.minimum(),
            "median_s": self.measured.median(),
            "runs": self.measured.runs(),
            "staging_s": self.staging,
            "kernels": self.kernels,
            "bytes": self.bytes,
        })
    }
}

impl Report {
    pub fn line(&self, arguments: &Arguments, path: &Path) -> Result<String, serde_json::Error> {
        let (objective, entries) = (&self.objective.measured.result, self.jacobian.measured.result.entries());
        serde_json::to_string(&json!({
            "task": arguments.task,
            "file": path.file_name().map(|name| name.to_string_lossy()),
            "objective": self.objective.json(),
            "jacobian": self.jacobian.json(),
            "overhead": self.jacobian.measured.median() / self.objective.measured.median(),
            "objective_sum": objective.iter().sum::<f64>(),
            "objective_len": objective.len(),
            "jacobian_absolute_sum": entries.iter().map(|entry| entry.abs()).sum::<f64>(),
            "jacobian_len": entries.len(),
        }))
    }
}

/// As the posterior of GradBench, with the prior's sign reversed.
fn gmm_objective<A: Algebra>((mixture, points, prior): &(Mixture<A>, Matrix<A, f64>, Wishart<A>)) -> Scalar<A, f64> {
    log_likelihood(mixture, points) - log_prior(mixture, prior)
}

pub fn gmm(cpu: &Cpu, numbers: &mut Numbers) -> Result<Report, Box<dyn Error>> {
    let [d, k, n] = [numbers.next()?, numbers.next()?, numbers.next()?];
    let (alpha, means) = (numbers.vector(k)?.into(), numbers.matrix(k, d)?);
    let factors = numbers.matrix(k, d * (d + 1) / 2)?;
    let mixture = Mixture { alpha, means, log_diagonals: factors.slice(1, ..d), lower: factors.slice(1, d..) };
    let points = numbers.matrix(n, d)?;
    let prior = Wishart { gamma: scalar(numbers.next()?), m: scalar(numbers.next()?) };
    let arguments = (&mixture, &points, &prior);
    let jacobian = run(cpu, || stage(gmm_objective, arguments)?.grad(), |gradient| gradient.call(arguments))?;
    Ok(Report {
        objective: run(cpu, || stage(gmm_objective, arguments), |objective| objective.call(arguments))?
            .map(|y| vec![y.item()]),
        jacobian: jacobian.map(|gradient| {
            let factors = concatenate(1, &[gradient.log_diagonals, gradient.lower]);
            let entries = [gradient.alpha.to_vec(), gradient.means.to_vec(), factors.to_vec()].concat();
            Jacobian::Dense(entries.len(), entries)
        }),
    })
}

pub fn lstm(cpu: &Cpu, numbers: &mut Numbers) -> Result<Report, Box<dyn Error>> {
    let [layers, characters, bits] = [numbers.next()?, numbers.next()?, numbers.next()?];
    let network = Network { main: numbers.matrix(2 * layers, 4 * bits)?, extra: numbers.matrix(3, bits)? };
    let (state, text) = (numbers.matrix(2 * layers, bits)?, numbers.matrix(characters, bits)?);
    let arguments = (&network, &state, &text);
    let jacobian = run(cpu, || stage(loss, arguments)?.grad(), |gradient| gradient.call(arguments))?;
    Ok(Report {
        objective: run(cpu, || stage(loss, arguments), |objective| objective.call(arguments))?.map(|y| vec![y.item()]),
        jacobian: jacobian.map(|gradient| {
            let entries = [gradient.main.to_vec(), gradient.extra.to_vec()].concat();
            Jacobian::Dense(entries.len(), entries)
        }),
    })
}

pub fn ba(cpu: &Cpu, numbers: &mut Numbers) -> Result<Report, Box<dyn Error>> {
    let [n, m, p] = [numbers.next()?, numbers.next()?, numbers.next()?];
    let (cam, x, w, feat) = (numbers.vector(11)?, numbers.vector(3)?, numbers.next()?, numbers.vector(2)?);
    let (scene, observed) = Instance { n, m, p, cam, x, w, feat }.scene();
    let arguments = (&scene, &observed);
    let pattern = Arc::new(ba::pattern(&scene, &observed)?);
    let objective = run(cpu, || stage(ba::errors, arguments), |errors| errors.call(arguments))?;
    let jacobian =
        run(cpu, || stage(ba::jacobian, arguments), |jacobian| Csr::new(pattern.clone(), jacobian.call(arguments)?))?;
    Ok(Report {
        objective: objective.map(|errors| [errors.reprojection.to_vec(), errors.weight.to_vec()].concat()),
        jacobian: jacobian.map(Jacobian::Sparse),
    })
}

pub fn hand(cpu: &Cpu, numbers: &mut Numbers, hand: Hand<Concrete>) -> Result<Report, Box<dyn Error>> {
    let [n, parameters]: [usize; 2] = [numbers.next()?, numbers.next()?];
    let (mut correspondences, mut points) = (Vec::new(), Vec::new());
    for _ in 0..n {
        correspondences.push(numbers.next::<i64>()?);
        points.extend(numbers.vector(3)?);
    }
    let scanned = Scanned { correspondences: correspondences.into(), points: Matrix::from_elements((n, 3), points) };
    // Where points correspond to triangles, each has two coordinates of its own.
    let us = match numbers.left() > parameters {
        true => Some(numbers.matrix(n, 2)?),
        false => None,
    };
    let theta = Vector::from(numbers.vector(parameters)?);
    let (objective, jacobian) = match &us {
        None => {
            let arguments = (&theta, &hand, &scanned);
            (
                run(cpu, || stage(hand::errors, arguments), |errors| errors.call(arguments))?,
                run(cpu, || stage(hand::jacobian, arguments), |jacobian| jacobian.call(arguments))?,
            )
        }
        Some(us) => {
            let arguments = (&theta, us, &hand, &scanned);
            (
                run(cpu, || stage(hand::surface_errors, arguments), |errors| errors.call(arguments))?,
                run(cpu, || stage(hand::surface_jacobian, arguments), |jacobian| jacobian.call(arguments))?,
            )
        }
    };
    Ok(Report {
        objective: objective.map(|errors| errors.to_vec()),
        jacobian: jacobian.map(|jacobian| Jacobian::Dense(jacobian.shape()[2], jacobian.to_vec())),
    })
}

//! GradBench's protocol: messages, timings, and the programs that are kept from one message to the next.

use deltaray::Result;
use deltaray::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The output of an evaluation, or the error, for the eval.
pub type Answer = std::result::Result<Value, Box<dyn std::error::Error>>;

/// The message of an eval; the kind determines the fields.
#[derive(Deserialize)]
pub struct Message {
    pub id: u64,
    pub kind: String,
    #[serde(default)]
    pub module: String,
    #[serde(default)]
    pub function: String,
    #[serde(default)]
    pub input: Value,
}

/// How long a part of the work took.
#[derive(Serialize)]
pub struct Timing {
    name: &'static str,
    nanoseconds: u128,
}

/// How often a function is run: at least so many times, and for so long.
#[derive(Deserialize)]
struct Runs {
    #[serde(default = "once")]
    min_runs: usize,
    #[serde(default)]
    min_seconds: f64,
}

fn once() -> usize {
    1
}

/// The last program of each module's function, with the sizes that it is for. Evals go from size to size, so keeping more than
/// the last one would be useless, and a program's data may be large.
pub type Programs = HashMap<String, (String, Rc<dyn Any>)>;

/// One evaluation: the request, and the times of all its parts.
pub struct Evaluation<'a> {
    programs: &'a mut Programs,
    function: String,
    runs: Runs,
    pub timings: Vec<Timing>,
}

impl<'a> Evaluation<'a> {
    pub fn new(message: &Message, programs: &'a mut Programs) -> Evaluation<'a> {
        // The input of `hello` is a number, which does not say how often to run.
        let runs = Runs::deserialize(&message.input).unwrap_or(Runs { min_runs: 1, min_seconds: 0.0 });
        let function = format!("{} {}", message.module, message.function);
        Evaluation { programs, function, runs, timings: Vec::new() }
    }

    /// Runs a program as often as the eval wants, and returns the result of the last run. The program is made by `prepare`,
    /// once for successive evaluations of this function at inputs of these sizes; that is a timing of its own.
    pub fn measure<P: 'static, T>(
        &mut self,
        sizes: impl Debug,
        prepare: impl FnOnce() -> Result<P>,
        run: impl Fn(&P) -> Result<T>,
    ) -> Result<T> {
        let sizes = format!("{sizes:?}");
        let start = Instant::now();
        let kept = self.programs.remove(&self.function).filter(|(kept, _)| *kept == sizes);
        let program = match kept.and_then(|(_, program)| program.downcast::<P>().ok()) {
            Some(program) => program,
            None => Rc::new(prepare()?),
        };
        self.programs.insert(self.function.clone(), (sizes, program.clone()));
        self.record("prepare", start.elapsed());
        let mut spent = Duration::ZERO;
        let mut runs = 0;
        loop {
            let start = Instant::now();
            let result = run(&program)?;
            let elapsed = start.elapsed();
            self.record("evaluate", elapsed);
            spent += elapsed;
            runs += 1;
            if runs >= self.runs.min_runs && spent.as_secs_f64() >= self.runs.min_seconds {
                return Ok(result);
            }
        }
    }

    fn record(&mut self, name: &'static str, elapsed: Duration) {
        self.timings.push(Timing { name, nanoseconds: elapsed.as_nanos() });
    }
}

/// The answer to a function that a module does not have.
pub fn unknown(function: &str) -> Answer {
    Err(format!("there is no function `{function}`").into())
}

/// A matrix from its rows.
pub fn matrix(rows: Vec<Vec<f64>>) -> Matrix<Concrete, f64> {
    let shape = (rows.len(), rows.first().map_or(0, Vec::len));
    Matrix::from_elements(shape, rows.concat())
}

/// The rows of a matrix, for an output.
pub fn rows(matrix: &Matrix<Concrete, f64>) -> Value {
    let elements = matrix.to_vec();
    match matrix.shape()[1] {
        0 => json!(vec![Vec::<f64>::new(); matrix.len()]),
        width => elements.chunks(width).collect(),
    }
}

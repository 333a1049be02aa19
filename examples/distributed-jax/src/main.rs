//! Exports losses with their gradients for JAX, which trains with them on several processes and devices, and trains on this one, so
//! that both can be compared.
//!
//! ```sh
//! cargo run --manifest-path examples/distributed-jax/Cargo.toml -- FOLDER [SHARDS [STEPS]]
//! ```
//!
//! The folder gets a package for Python, `losses`, the plan `plan.json`, and for each task the data, the first parameters, and those
//! after the steps, as files of NumPy.

// What this example does not need of others, they do.
#[path = "../../digits/data.rs"]
#[allow(dead_code)]
mod data;
mod folder;
#[path = "../../objectives/gmm.rs"]
mod objective;
#[path = "../../digits/perceptron.rs"]
#[allow(dead_code)]
mod perceptron;
#[path = "../../digits/random.rs"]
#[allow(dead_code)]
mod random;
mod tasks;

use deltaray::export::{Program, PythonPackage};
use deltaray::prelude::*;
use deltaray::tensor::Family;
use folder::Folder;
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("distributed-jax: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let number = |at: usize, fallback: usize| match arguments.get(at).map(|text| (text, text.parse())) {
        None => Ok(fallback),
        Some((_, Ok(number))) if number > 0 => Ok(number),
        Some((text, _)) => Err(format!("`{text}` is no number of shards or steps")),
    };
    let (shards, steps) = (number(1, 2)?, number(2, 50)?);
    let Some(path) = arguments.first().filter(|_| arguments.len() <= 3) else {
        return Err("usage: FOLDER [SHARDS [STEPS]]".into());
    };
    let mut export =
        Export { package: PythonPackage::new("losses"), folder: Folder::new(path)?, shards, steps, tasks: Vec::new() };
    tasks::mixture(&mut export)?;
    tasks::perceptron(&mut export)?;
    let Export { package, folder, tasks, .. } = export;
    package.write(folder.path())?;
    let plan = format!("{{\"shards\": {shards}, \"steps\": {steps}, \"tasks\": {{{}}}}}\n", tasks.join(", "));
    Ok(folder.write("plan.json", plan.as_bytes())?)
}

/// What is written.
struct Export {
    package: PythonPackage,
    folder: Folder,
    /// Among how many devices the rows are divided, equally.
    shards: usize,
    steps: usize,
    /// The parts of the plan.
    tasks: Vec<String>,
}

/// A task: parameters, and rows along the first axes of all arrays of the data.
struct Task<'a, P, D> {
    name: &'a str,
    start: P,
    rows: D,
    /// The first of as many shards of the rows.
    shard: D,
    rate: f64,
}

impl Export {
    /// Adds a task, whose losses are those of a shard and of all rows. The first has the batch axes that the plan marks: the losses of
    /// all shards add up to the second.
    fn add<P, D, L>(&mut self, task: Task<P, D>, of_shard: &L, of_all: &L) -> Result<(), Box<dyn Error>>
    where
        P: Family<At<Concrete> = P> + Tree<Concrete, Family = P>,
        D: Family<At<Concrete> = D> + Tree<Concrete, Family = D>,
        L: ArrayFn<In = (P, D), Out = Scalar<Concrete, f64>>,
    {
        let Task { name, start, rows, shard, rate } = task;
        let loss = stage(of_shard.closure(), (&start, &shard))?;
        let Program { parameters: names, .. }: Program = Program::from(&loss);
        let (of_parameters, of_rows) = names.split_at(start.leaves().len());
        let split = of_rows[0].split('.').next().expect("a parameter has a name");
        self.tasks.push(format!("\"{name}\": {{\"split\": [\"{split}\"], \"rate\": {rate}}}"));
        let gradient = loss.value_and_grad()?;
        self.package = self.package.clone().function(Program::from(&gradient).with_name(name))?;
        self.folder.write_tree(&format!("{name}/start"), of_parameters, &start)?;
        self.folder.write_tree(&format!("{name}/rows"), of_rows, &rows)?;

        let function = stage(of_all.closure(), (&start, &rows))?.over_slices_with(&rows)?.with_gradient()?;
        let (parameters, unravel) = ravel::<Concrete, f64, P>(&start);
        let mut parameters = parameters.to_vec();
        let mut gradient = vec![0.0; parameters.len()];
        for step in 1..=self.steps {
            let loss = function.value_and_grad(&parameters, &mut gradient)?;
            if step == 1 || step == self.steps {
                println!("{name}: the loss before step {step} is {loss:.12}");
            }
            parameters.iter_mut().zip(&gradient).for_each(|(parameter, slope)| *parameter -= rate * slope);
        }
        let end = unravel.tree(&Vector::from(parameters));
        Ok(self.folder.write_tree(&format!("{name}/end"), of_parameters, &end)?)
    }
}

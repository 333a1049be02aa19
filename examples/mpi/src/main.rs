//! Trains models on several processes, which MPI connects: each has a shard of the data.
//!
//! ```sh
//! cargo build --release --manifest-path examples/mpi/Cargo.toml
//! mpirun -n 2 examples/mpi/target/release/deltaray-example-mpi mixture
//! ```

#[path = "../../digits/data.rs"]
#[allow(dead_code)]
mod data;
mod gradient;
mod job;
#[path = "../../objectives/gmm.rs"]
#[allow(dead_code)]
mod objective;
mod options;
#[path = "../../digits/perceptron.rs"]
#[allow(dead_code)]
mod perceptron;
#[path = "../../digits/random.rs"]
#[allow(dead_code)]
mod random;
mod tasks;
mod train;

use deltaray_example_mpi::agreement::agree;
use deltaray_example_mpi::checkpoint::{Checkpoint, State, difference, folder};
use deltaray_example_mpi::failure;
use deltaray_example_mpi::plan;
use deltaray_example_mpi::shard::Shard;
use job::Job;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use options::{HELP, Options};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        [] | ["--help"] => Ok(HELP.into()),
        ["plan", ref options @ ..] => plan::table(options),
        ["compare", first, second, most] => compare(first, second, most),
        [task, ref options @ ..] => run(task, options).map(|()| String::new()),
    };
    match result {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            if !problem.is_empty() {
                eprintln!("{problem}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Whether the parameters in two checkpoints differ by no more than this, relative to the largest.
fn compare(first: &str, second: &str, most: &str) -> Result<String, String> {
    let most: f64 = most.parse().map_err(|_| format!("`{most}` is no number"))?;
    let parameters = |path| Checkpoint::read(Path::new(path)).map(|checkpoint| checkpoint.state.parameters);
    let difference = difference(&parameters(first)?, &parameters(second)?)?;
    match difference <= most {
        true => Ok(format!("the parameters differ by {difference:.1e}\n")),
        false => Err(format!("the parameters differ by {difference:.1e}, which is more than {most:.1e}")),
    }
}

/// Trains on all ranks. An error that all of them have is printed by rank 0 alone, before any of them ends: with the first that fails
/// mpirun ends the others.
fn run(task: &str, words: &[&str]) -> Result<(), String> {
    let universe = mpi::initialize().ok_or("MPI is there already")?;
    failure::end_all_on_panic();
    let world = universe.world();
    let result = prepare(task, words, &world).and_then(|(options, job, state)| {
        match train::train(&options, &job, state, &world) {
            Ok(()) => Ok(()),
            // Others may be fine, and wait for this rank.
            Err(problem) => failure::end_all(&problem),
        }
    });
    result.map_err(|problem| {
        if world.rank() == 0 {
            eprintln!("{problem}");
        }
        world.barrier();
        String::new()
    })
}

/// Reads the options, the shard and the checkpoint, and has all ranks agree on them before the first step.
fn prepare(task: &str, words: &[&str], world: &SimpleCommunicator) -> Result<(Options, Job, State), String> {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let own = || -> Result<(Options, Job, State), String> {
        let options = Options::parse(task, words)?;
        let job = tasks::job(&options, |rows| Shard::new(rank, ranks, rows, options.part_rows))?;
        let state = start(&options, &job, rank, ranks)?;
        Ok((options, job, state))
    };
    let own = own();
    let facts = own.as_ref().map(|(options, job, _)| job.facts(options)).map_err(String::clone);
    agree(world, &facts)?;
    let (options, job, mut state) = own?;
    // Only rank 0 needs the folder of checkpoints.
    let root = world.process_at_rank(0);
    root.broadcast_into(&mut state.steps);
    root.broadcast_into(&mut state.parameters[..]);
    root.broadcast_into(&mut state.velocity[..]);
    Ok((options, job, state))
}

/// Where training starts: at a checkpoint, where there is one and rank 0 is to go on from it.
fn start(options: &Options, job: &Job, rank: usize, ranks: usize) -> Result<State, String> {
    let parameters = job.parameters.clone();
    let start = State { steps: 0, velocity: vec![0.0; parameters.len()], parameters };
    let Some(path) = options.checkpoint.as_deref().filter(|_| rank == 0) else { return Ok(start) };
    if !folder(path).is_dir() {
        return Err(format!("the checkpoint's folder {} is not there", folder(path).display()));
    }
    Checkpoint::check(path)?;
    if !options.resume || !path.exists() {
        return Ok(start);
    }
    let found = Checkpoint::read(path)?;
    let settings = job.settings(options);
    if found.settings != settings || found.state.parameters.len() != start.parameters.len() {
        return Err(format!("the checkpoint is of another training: of `{}`, not `{settings}`", found.settings));
    }
    if found.ranks != ranks as u64 {
        eprintln!("the checkpoint is of {} ranks: with {ranks} the last bits differ", found.ranks);
    }
    Ok(found.state)
}

//! The tasks of ADBench, a comparison of systems for automatic differentiation: times an objective and its Jacobian on
//! instances in ADBench's files, and prints a JSON object, on one line, for each file.
//!
//! ```text
//! cargo run --release --example adbench -- --generate gmm 10 25 1000 target/gmm.txt
//! cargo run --release --example adbench -- --task gmm target/gmm.txt
//! ```
//!
//! The differentiated functions are in `examples/objectives`.

mod arguments;
mod generate;
mod measure;
#[path = "../objectives/mod.rs"]
mod objectives;
#[allow(dead_code, reason = "the digits example shuffles, too")]
#[path = "../digits/random.rs"]
mod random;
mod read;
mod tasks;
#[cfg(test)]
mod tests;
mod write;

use arguments::{Arguments, HELP};
use deltaray::engine::cpu::Cpu;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use tasks::Report;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("adbench: {problem}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("adbench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    if let Some(([d, k, n], path)) = &arguments.generate {
        return Ok(std::fs::write(path, generate::gmm(*d, *k, *n))?);
    }
    for path in &arguments.files {
        let report = report(arguments, path).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}", report.line(arguments, path)?);
        if let Some(directory) = &arguments.write {
            std::fs::create_dir_all(directory)?;
            write::values(directory, path, &report)?;
        }
    }
    Ok(())
}

fn report(arguments: &Arguments, path: &Path) -> Result<Report, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let cpu = Cpu::default().threads(arguments.threads).profile(arguments.profile);
    let mut numbers = read::Numbers::new(&text);
    match arguments.task.as_str() {
        "gmm" => tasks::gmm(&cpu, &mut numbers),
        "ba" => tasks::ba(&cpu, &mut numbers),
        "lstm" => tasks::lstm(&cpu, &mut numbers),
        "hand" => {
            let model = arguments.model.as_ref().ok_or("hand tracking needs `--model DIR`")?;
            tasks::hand(&cpu, &mut numbers, read::hand(model)?)
        }
        task => Err(format!("there is no task `{task}`").into()),
    }
}

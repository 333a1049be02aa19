//! The arguments of the command line.

use std::path::PathBuf;

pub const HELP: &str = "\
adbench --task gmm|ba|lstm|hand [OPTIONS] FILE...
adbench --generate gmm D K N FILE

  --model DIR    where the model of a hand is: bones.txt, vertices.txt, triangles.txt
  --write DIR    write objectives and Jacobians there
  --threads N    run on so many threads; 0, as without it, stands for all of the machine
  --profile      print programs, their kernels, and how long each of these took
  --generate     write an instance of random numbers: N points in D dimensions, K Gaussians";

/// The requested work.
#[derive(Default)]
pub struct Arguments {
    pub task: String,
    pub model: Option<PathBuf>,
    pub write: Option<PathBuf>,
    pub threads: usize,
    pub profile: bool,
    /// Dimensions, Gaussians and points of an instance to be made, and where it goes.
    pub generate: Option<([usize; 3], PathBuf)>,
    pub files: Vec<PathBuf>,
}

impl Arguments {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut parsed = Arguments::default();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` wants a value"));
            match argument.as_str() {
                "--task" => parsed.task = value()?,
                "--model" => parsed.model = Some(value()?.into()),
                "--write" => parsed.write = Some(value()?.into()),
                "--threads" => parsed.threads = number(&value()?)?,
                "--profile" => parsed.profile = true,
                "--generate" => {
                    match value()?.as_str() {
                        "gmm" => {}
                        task => return Err(format!("instances of `{task}` are not generated")),
                    }
                    let sizes = [number(&value()?)?, number(&value()?)?, number(&value()?)?];
                    parsed.generate = Some((sizes, value()?.into()));
                }
                option if option.starts_with('-') => return Err(format!("there is no option `{option}`")),
                file => parsed.files.push(file.into()),
            }
        }
        if parsed.generate.is_some() {
            return Ok(parsed);
        }
        if !["gmm", "ba", "lstm", "hand"].contains(&parsed.task.as_str()) {
            return Err(format!("there is no task `{}`", parsed.task));
        }
        if parsed.files.is_empty() {
            return Err("which files?".into());
        }
        Ok(parsed)
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

//! The command line.

use crate::device::Device;
use crate::device::options::{at_least_one, unknown};
use std::path::PathBuf;

/// The text that `--help` prints.
pub const HELP: &str = "\
Trains a two-layer perceptron on images of handwritten digits.

usage: cargo run --release --example digits -- [options]

  --epochs N         times that every image is seen; 30 unless given
  --batch N          images a step; 32 unless given
  --seed N           where all randomness comes from: split, initial weights, order of images; 0 unless given
  --seeds N          trains N times, with that seed and those that follow, and prints the mean
  --data PATH        a directory with MNIST's four IDX files, gzipped or not, or another CSV file of digits
  --curve PATH       the SVG file for the learning curve; target/digits.svg unless given
  --print-gradient   prints the program that computes loss and gradient, and stops
  --device WHERE     interpreter, cpu (compiled), opencl (the first device), or opencl:NAME, which is part of a
                     device's name, or one of gpu, cpu and accelerator; cpu unless given
  --threads N        accepted and ignored: the interpreter has one thread, and what is compiled all that there are
  --help             prints this
";

/// The options, with their defaults filled in.
#[derive(Debug, PartialEq)]
pub struct Arguments {
    pub epochs: usize,
    pub batch: usize,
    pub seed: u64,
    pub seeds: usize,
    pub data: Option<PathBuf>,
    pub curve: Option<PathBuf>,
    pub device: Device,
    pub print_gradient: bool,
    pub help: bool,
}

impl Arguments {
    /// Reads the words after the program's name; an error says which word is wrong.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            epochs: 30,
            batch: 32,
            seed: 0,
            seeds: 1,
            data: None,
            curve: None,
            device: Device::Cpu,
            print_gradient: false,
            help: false,
        };
        while let Some(word) = words.next() {
            // `--name=value` is the same as `--name value`.
            let (name, given) = match word.split_once('=') {
                Some((name, value)) => (name.to_string(), Some(value.to_string())),
                None => (word, None),
            };
            let mut value = |what: &str| {
                given.clone().or_else(|| words.next()).ok_or_else(|| format!("{name} needs {what} after it"))
            };
            match name.as_str() {
                "--epochs" => arguments.epochs = at_least_one(&name, &value("a number")?)?,
                "--batch" => arguments.batch = at_least_one(&name, &value("a number")?)?,
                "--seeds" => arguments.seeds = at_least_one(&name, &value("a number")?)?,
                "--seed" => arguments.seed = number(&name, &value("a number")?)?,
                "--threads" => _ = at_least_one(&name, &value("a number")?)?,
                "--device" => arguments.device = Device::parse(&value("interpreter, cpu or opencl")?)?,
                "--data" => arguments.data = Some(value("a path")?.into()),
                "--curve" => arguments.curve = Some(value("a path")?.into()),
                "--print-gradient" | "--help" | "-h" => {
                    if let Some(value) = given {
                        return Err(format!("{name} takes no value, but `{value}` was given"));
                    }
                    match name.as_str() {
                        "--print-gradient" => arguments.print_gradient = true,
                        _ => arguments.help = true,
                    }
                }
                _ => return Err(unknown(&name)),
            }
        }
        Ok(arguments)
    }
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name} needs a whole number, but `{value}` was given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn defaults_and_values() {
        let defaults = parse("").unwrap();
        assert_eq!((defaults.epochs, defaults.batch, defaults.seed, defaults.seeds), (30, 32, 0, 1));
        let given = parse("--epochs 3 --batch=8 --seed 7 --data=a=b --print-gradient --threads 2").unwrap();
        assert_eq!((given.epochs, given.batch, given.seed, given.print_gradient), (3, 8, 7, true));
        assert_eq!(given.data, Some("a=b".into()));
        assert_eq!(parse("--device cpu").unwrap().device, Device::Cpu);
    }

    #[test]
    fn errors_name_the_word() {
        for line in [
            "--epochs",
            "--epochs 0",
            "--batch -1",
            "--seed x",
            "--nonsense",
            "--help=yes",
            "--seeds 1e9",
            "--device abacus",
        ] {
            let name = line.split([' ', '=']).next().unwrap();
            assert!(parse(line).unwrap_err().contains(name), "{line}");
        }
    }
}

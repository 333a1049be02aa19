//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

/// The text that `--help` prints.
pub const HELP: &str = "\
Trains a model on the data of all ranks, each of which has a shard of the rows, and tests it on other rows.

usage: mpirun -n RANKS deltaray-example-mpi TASK [options]     trains; without mpirun, in one process
       deltaray-example-mpi plan [options]                     what communication costs with up to 10,000 ranks
       deltaray-example-mpi compare FILE FILE MOST             fails where parameters of two checkpoints differ by more

tasks: mixture    a mixture of Gaussians with full covariances, as in ADBench
       kmeans     the centres of clusters, by Newton's method
       logistic   a logistic regression
       digits     a perceptron with one hidden layer, on images of handwritten digits

  --rows N           rows of all ranks together; 2000 unless given, and of digits all images for training
  --features N       numbers of a row; 8 unless given; of digits always 64
  --clusters N       Gaussians, or clusters; 5 unless given
  --steps N          steps in all, also of a training that is resumed; 100 unless given
  --rate X           how far a step goes along the gradient of the mean loss; 0.1 unless given
  --momentum X       how much of the last step is in the next one; 0.9 unless given
  --seed N           where the data and the first parameters come from; 0 unless given
  --part-rows N      rows that a rank computes at once, on which memory depends; 500 unless given
  --overlap          the gradient of the last part is computed in two halves, one while the other is on its way
  --checkpoint FILE  written after the last step, by rank 0
  --every N          and after every N steps
  --resume           goes on from the checkpoint, where there is one
  --data FILE        digits in another file
  --times            how long the ranks computed, waited for each other, and communicated

of plan: --rows N, --numbers N (parameters and the loss), --row X (µs), --latency X (µs), --bandwidth X (GB/s)
";

/// More rows, features and clusters than any machine trains with, whose arrays can be counted in bytes.
const MOST_ROWS: usize = 100_000_000_000;
const MOST_FEATURES: usize = 10_000;
const MOST_CLUSTERS: usize = 100_000;

/// The options, with their defaults filled in.
pub struct Options {
    pub task: String,
    pub rows: usize,
    pub features: usize,
    pub clusters: usize,
    pub steps: u64,
    pub rate: f64,
    pub momentum: f64,
    pub seed: u64,
    pub part_rows: usize,
    pub overlap: bool,
    pub checkpoint: Option<PathBuf>,
    pub every: Option<u64>,
    pub resume: bool,
    pub data: Option<PathBuf>,
    pub times: bool,
}

impl Options {
    /// Reads the words after the task; an error says which word is wrong.
    pub fn parse(task: &str, words: &[&str]) -> Result<Options, String> {
        let mut options = Options {
            task: task.into(),
            rows: 2000,
            features: 8,
            clusters: 5,
            steps: 100,
            rate: 0.1,
            momentum: 0.9,
            seed: 0,
            part_rows: 500,
            overlap: false,
            checkpoint: None,
            every: None,
            resume: false,
            data: None,
            times: false,
        };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value = || words.next().copied().ok_or_else(|| format!("{word} needs a value after it"));
            match word {
                "--rows" => options.rows = up_to(MOST_ROWS, word, value()?)?,
                "--features" => options.features = up_to(MOST_FEATURES, word, value()?)?,
                "--clusters" => options.clusters = up_to(MOST_CLUSTERS, word, value()?)?,
                "--steps" => options.steps = number(word, value()?)?,
                "--rate" => options.rate = number(word, value()?)?,
                "--momentum" => options.momentum = number(word, value()?)?,
                "--seed" => options.seed = number(word, value()?)?,
                "--part-rows" => options.part_rows = up_to(MOST_ROWS, word, value()?)?,
                "--overlap" => options.overlap = true,
                "--checkpoint" => options.checkpoint = Some(value()?.into()),
                "--every" => options.every = Some(up_to(usize::MAX, word, value()?)? as u64),
                "--resume" => options.resume = true,
                "--data" => options.data = Some(value()?.into()),
                "--times" => options.times = true,
                _ => return Err(format!("unknown argument `{word}`; --help lists those there are")),
            }
        }
        if options.checkpoint.is_none() && (options.resume || options.every.is_some()) {
            return Err("--resume and --every need a --checkpoint".into());
        }
        if options.overlap && task == "kmeans" {
            return Err("--overlap needs several arrays of parameters, and kmeans has one".into());
        }
        Ok(options)
    }
}

fn number<T: FromStr>(option: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{option} needs a number, but `{value}` was given"))
}

/// A number from 1 up to this one.
fn up_to(most: usize, option: &str, value: &str) -> Result<usize, String> {
    match number(option, value)? {
        0 => Err(format!("{option} needs a number of at least 1")),
        number if number > most => Err(format!("{option} is at most {most}, but {number} was given")),
        number => Ok(number),
    }
}

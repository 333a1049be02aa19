//! How long a function takes.

use std::time::{Duration, Instant};

/// Short runs are repeated for so long, however many they are.
const AT_LEAST: Duration = Duration::from_millis(500);
/// Long runs are repeated for so long, however few they are.
const AT_MOST: Duration = Duration::from_secs(10);
/// How many runs there are, where they take neither short nor long.
const RUNS: usize = 10;

/// The result of a function, and the time of every run of it, in ascending order.
pub struct Measured<T> {
    pub result: T,
    seconds: Vec<f64>,
}

/// Runs a function again and again, after a first time that does not count.
pub fn measure<T, E>(run: impl Fn() -> Result<T, E>) -> Result<Measured<T>, E> {
    let mut result = run()?;
    let (mut seconds, mut spent) = (Vec::new(), Duration::ZERO);
    while spent < AT_LEAST || (seconds.len() < RUNS && spent < AT_MOST) {
        let start = Instant::now();
        result = run()?;
        let elapsed = start.elapsed();
        seconds.push(elapsed.as_secs_f64());
        spent += elapsed;
    }
    seconds.sort_by(f64::total_cmp);
    Ok(Measured { result, seconds })
}

impl<T> Measured<T> {
    pub fn runs(&self) -> usize {
        self.seconds.len()
    }

    pub fn minimum(&self) -> f64 {
        self.seconds[0]
    }

    pub fn median(&self) -> f64 {
        let middle = self.seconds.len() / 2;
        match self.seconds.len() % 2 {
            0 => f64::midpoint(self.seconds[middle - 1], self.seconds[middle]),
            _ => self.seconds[middle],
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Measured<U> {
        Measured { result: f(self.result), seconds: self.seconds }
    }
}

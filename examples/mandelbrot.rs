//! How long points of the plane take to escape under `z ← z² + c`: an elementwise kernel with a loop for each of millions of
//! elements, on the processor or on a device.
//!
//! ```text
//! cargo run --release --example mandelbrot
//! cargo run --release --features opencl --example mandelbrot -- --device opencl --image mandelbrot.pgm
//! ```

#[path = "device/mod.rs"]
#[allow(dead_code)]
mod device;

use deltaray::prelude::*;
use device::Device;
use device::options::{at_least_one, unknown, value};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

const HELP: &str = "\
Counts the steps after which points of the plane escape under z <- z² + c.

usage: cargo run --release --example mandelbrot -- [options]

  --device WHERE     interpreter, cpu (compiled), opencl (the first device), or opencl:NAME, which is part of a
                     device's name, or one of gpu, cpu and accelerator; cpu unless given
  --size N           points along each side; 2000 unless given
  --steps N          steps at most; 100 unless given
  --single           numbers of single precision
  --runs N           times that the program runs, of which the shortest is printed; 3 unless given
  --image PATH       writes the counts as a PGM image
  --help             prints this
";

/// A number, in whichever precision it is computed with.
fn number<A: Algebra, E: Float>(x: f64) -> Scalar<A, E> {
    scalar(E::from_number(x))
}

/// For points with these real parts, along rows, and these imaginary parts, how many steps each makes before it escapes.
fn steps_inside<A: Algebra, E: Float>(
    (real, imaginary): &(Vector<A, E>, Vector<A, E>),
    steps: usize,
) -> Matrix<A, i32> {
    build((imaginary.len(), real.len()), |(i, j)| {
        let (x, y) = (real.at(j), imaginary.at(i));
        let start = (number(0.0), number(0.0), scalar(0));
        let step = |(re, im, count): (Scalar<A, E>, Scalar<A, E>, Scalar<A, i32>)| {
            let is_inside = (&re * &re + &im * &im).le(number(4.0));
            let (next_re, next_im) = (&re * &re - &im * &im + &x, &re * &im + &re * &im + &y);
            // Points that have escaped stay where they are.
            let (re, im) = (is_inside.select(next_re, re), is_inside.select(next_im, im));
            (re, im, count + is_inside.cast::<i32>())
        };
        iterate(start, steps, step).2
    })
}

/// Numbers at equal distances.
fn range<E: Float>(from: f64, to: f64, count: usize) -> Vector<Concrete, E> {
    let at = |i: usize| E::from_number(from + (to - from) * (i as f64 + 0.5) / count as f64);
    (0..count).map(at).collect::<Vec<E>>().into()
}

struct Options {
    device: Device,
    size: usize,
    steps: usize,
    runs: usize,
    is_single: bool,
    image: Option<PathBuf>,
}

impl Options {
    /// The options, or none where help is asked for.
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let mut options =
            Options { device: Device::Cpu, size: 2000, steps: 100, runs: 3, is_single: false, image: None };
        while let Some(word) = words.next() {
            let mut value = || value(&word, &mut words);
            let number = |text: String| at_least_one(&word, &text);
            match word.as_str() {
                "--device" => options.device = Device::parse(&value()?)?,
                "--size" => options.size = number(value()?)?,
                "--steps" => options.steps = number(value()?)?,
                "--runs" => options.runs = number(value()?)?,
                "--single" => options.is_single = true,
                "--image" => options.image = Some(value()?.into()),
                "--help" | "-h" => return Ok(None),
                _ => return Err(unknown(&word)),
            }
        }
        Ok(Some(options))
    }
}

/// Runs the program, prints the time of the fastest run, and returns the results.
fn counts<E: Float>(options: &Options) -> Result<Matrix<Concrete, i32>, Box<dyn Error>> {
    let points = (&range::<E>(-2.25, 0.75, options.size), &range::<E>(-1.5, 1.5, options.size));
    let program = stage(|points| steps_inside(points, options.steps), points)?;
    let start = Instant::now();
    let program = options.device.prepare(program, false)?;
    println!("ready after {:.3} s", start.elapsed().as_secs_f64());
    let mut shortest = f64::INFINITY;
    let mut counts = None;
    for _ in 0..options.runs {
        let start = Instant::now();
        counts = Some(program.call(points)?);
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    let counts = counts.expect("at least one run");
    let steps: f64 = counts.to_vec().into_iter().map(f64::from).sum();
    println!("run in {shortest:.4} s, results on the host: {:.1} million steps a second", steps / shortest * 1e-6);
    Ok(counts)
}

/// Grey for the counts, white for points that never escaped.
fn image(counts: &Matrix<Concrete, i32>, steps: usize) -> Vec<u8> {
    let [height, width] = counts.shape()[..] else { unreachable!("a matrix has two axes") };
    let grey = |count: i32| (255.0 * (f64::from(count) / steps as f64).sqrt()) as u8;
    let mut bytes = format!("P5\n{width} {height}\n255\n").into_bytes();
    bytes.extend(counts.to_vec().into_iter().map(grey));
    bytes
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        print!("{HELP}");
        return Ok(());
    };
    let counts = if options.is_single { counts::<f32>(&options)? } else { counts::<f64>(&options)? };
    let inside = counts.to_vec().into_iter().filter(|&count| count as usize == options.steps).count();
    let all = options.size * options.size;
    println!("{inside} of {all} points have not escaped: an area of {:.4}", 9.0 * inside as f64 / all as f64);
    if let Some(path) = &options.image {
        std::fs::write(path, image(&counts, options.steps)).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("image: {}", path.display());
    }
    Ok(())
}

//! An optimal-control problem for CasADi: its functions, with exact sparse derivatives, as C.
//!
//! ```sh
//! cargo run --release --example optimal_control -- 50 chain
//! ```
//!
//! writes the problem of 50 stages into the folder `chain`.

mod model;

use deltaray::export::CasadiOptions;
use deltaray::prelude::*;
use model::{STATE, chain, variables};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let stages = arguments.next().unwrap_or("50".into()).parse()?;
    let folder = std::path::PathBuf::from(arguments.next().unwrap_or("chain".into()));
    let start = Instant::now();
    let problem = stage(chain {}.closure(), (&zeros(variables(stages)), &zeros(STATE)))?;
    let files = CasadiOptions::default().export(&problem)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{stages} stages: {} lines, {} bytes, {seconds:.2} s", files.source.lines().count(), files.source.len());
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{}.c", files.name)), files.source)?;
    std::fs::write(folder.join(format!("{}.h", files.name)), files.header)?;
    Ok(())
}

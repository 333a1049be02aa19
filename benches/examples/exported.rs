//! Writes small functions for Python, JAX and CasADi into a folder, whose calls benches/beyond/overhead.py measures.

use deltaray::export::{CasadiOptions, PythonPackage};
use deltaray::prelude::*;

/// The mean squared distance of observations from a line.
#[differentiable]
fn loss(line: Vector<f64>, x: Vector<f64>, y: Vector<f64>) -> Scalar<f64> {
    (line[0] * x + line[1] - y).powi(2).mean()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: exported FOLDER")?;
    for count in [4, 1000, 100_000] {
        let loss = stage(loss {}.closure(), (&zeros(2), &zeros(count), &zeros(count)))?;
        let package = PythonPackage::new(format!("fit{count}")).differentiable(&loss)?;
        package.function(&loss.value_and_grad()?)?.write(&folder)?;
        let files = CasadiOptions::default().export(&loss)?;
        std::fs::write(format!("{folder}/casadi{count}.c"), files.source)?;
        std::fs::write(format!("{folder}/loss.h"), files.header)?;
    }
    Ok(())
}

//! Arrays of the host in place of a device's.

use deltaray::opencl::OpenCl;
use deltaray::prelude::*;

fn step<A: Algebra>((w, x): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
    w - x
}

fn main() -> deltaray::Result<()> {
    let (w, x) = (Vector::from(vec![0.0]), Vector::from(vec![1.0]));
    let program = stage(step, (&w, &x))?.compile(OpenCl::default())?;
    program.call_on_device((&w, &x))?;
    let mut state = program.upload(&w)?;
    program.update(&mut state, &x)?;
    Ok(())
}

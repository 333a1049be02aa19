use deltaray::export::Program;
use deltaray::prelude::*;

fn constants() {
    let two = scalar(2.0);
}

fn shapes() {
    let nothing = zeros(3);
    println!("{:?}", nothing.to_vec());
}

fn programs(x: &Vector<Concrete, f64>) -> deltaray::Result<()> {
    let staged = stage(|x| x * 2.0, x)?;
    let program = Program::from(&staged);
    Ok(())
}

fn main() {}

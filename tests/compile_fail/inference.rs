use deltaray::export::Program;
use deltaray::prelude::*;

fn constants() {
    let two = scalar(2.0);
}

fn programs(staged: Function<Vector<Concrete, f64>, Scalar<Concrete, f64>>) {
    let program = Program::from(&staged);
}

fn main() {}

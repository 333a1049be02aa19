use deltaray::prelude::*;

fn without_the_attribute(x: Vector<f64>) -> Scalar<f64> {
    x.sum()
}

fn with_another_algebra(x: &Tensor<f64, f64, R1>) {}

fn main() {}

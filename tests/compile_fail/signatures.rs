use deltaray::prelude::*;

#[differentiable]
async fn waits(x: Vector<f64>) -> Vector<f64> {
    x
}

#[differentiable]
unsafe fn dangerous(x: Vector<f64>) -> Vector<f64> {
    x
}

#[differentiable]
const fn early(x: Vector<f64>) -> Vector<f64> {
    x
}

#[differentiable]
extern "C" fn foreign(x: Vector<f64>) -> Vector<f64> {
    x
}

#[differentiable]
fn in_place(x: &mut Vector<f64>) {
    *x = x * 2.0;
}

#[differentiable]
fn unmarked(x: Vector<f64>, n: usize, rate: f64, name: &str) -> Vector<f64> {
    x * rate
}

#[differentiable]
fn without_elements(x: Vector) -> Vector<f64> {
    x
}

struct Model<A: Algebra>(Vector<A, f64>);

impl<A: Algebra> Model<A> {
    #[differentiable]
    fn method(&self, x: Vector<f64>) -> Vector<f64> {
        x * self.0
    }
}

#[differentiable]
impl Model<Concrete> {
    fn other(&self, x: Vector<f64>) -> Vector<f64> {
        x * self.0
    }
}

#[differentiable]
struct Parameters {
    w: Vector<Concrete, f64>,
}

#[differentiable(fast)]
fn with_arguments(x: Vector<f64>) -> Vector<f64> {
    x
}

fn main() {}

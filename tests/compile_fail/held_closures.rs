//! Closures of models that are held longer than the model.

use deltaray::prelude::*;

#[differentiable]
fn loss(x: Vector<f64>, #[plain] power: i32) -> Scalar<f64> {
    x.powi(power).sum()
}

struct Model {
    loss: loss,
    at: Vector<Concrete, f64>,
}

fn moved(model: Model) -> deltaray::Result<()> {
    let gradient = jit(model.loss.closure()).grad();
    let other = Model { at: zeros(3), ..model };
    gradient.call(&other.at)?;
    Ok(())
}

fn temporary(model: Model) -> deltaray::Result<()> {
    let gradient = jit(model.loss.clone().closure()).grad();
    gradient.call(&model.at)?;
    Ok(())
}

fn main() {}

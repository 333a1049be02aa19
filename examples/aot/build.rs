//! Stages the model, differentiates it, and writes the gradient as Rust.

use deltaray::prelude::*;

#[path = "model.rs"]
mod model;

fn main() -> deltaray::Result<()> {
    let (times, observed) = (zeros(model::COUNT), zeros(model::COUNT));
    let gradient = stage(model::loss {}.closure(), (&model::start(), &times, &observed))?.value_and_grad()?;
    deltaray::build::rust("loss_grad", &gradient)
}

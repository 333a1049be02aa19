//! `#[differentiable]`: functions as they are written, against the generic ones that they stand for, on plain arrays, under a
//! derivative, and staged.

#[path = "differentiable/basics.rs"]
mod basics;
#[path = "differentiable/harness.rs"]
#[allow(dead_code)]
mod harness;

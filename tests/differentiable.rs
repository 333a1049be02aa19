//! `#[differentiable]`: functions as they are written, against the generic ones that they stand for, on plain arrays, under a
//! derivative, and staged.

#[path = "differentiable/basics.rs"]
mod basics;
#[path = "differentiable/captures.rs"]
mod captures;
#[path = "differentiable/control.rs"]
mod control;
#[path = "differentiable/corners.rs"]
mod corners;
#[path = "differentiable/declarations.rs"]
mod declarations;
#[path = "differentiable/expressions.rs"]
mod expressions;
#[path = "differentiable/harness.rs"]
mod harness;
#[path = "differentiable/lifting.rs"]
mod lifting;
#[path = "differentiable/names.rs"]
mod names;
#[path = "differentiable/plain.rs"]
mod plain;
#[path = "differentiable/reuse.rs"]
mod reuse;
#[path = "differentiable/signatures.rs"]
mod signatures;
#[path = "differentiable/slices.rs"]
mod slices;
#[path = "differentiable/writes.rs"]
mod writes;

//! Guides: how things work, page by page. Their programs are tests.

#[doc = include_str!("../docs/first-gradient.md")]
pub mod first_gradient {}

#[doc = include_str!("../docs/tutorial.md")]
pub mod tutorial {}

#[doc = include_str!("../docs/attribute.md")]
pub mod attribute {}

#[doc = include_str!("../docs/loops-that-write.md")]
pub mod loops_that_write {}

#[doc = include_str!("../docs/paper.md")]
pub mod papers_programs {}

#[doc = include_str!("../docs/numpy.md")]
pub mod from_numpy {}

#[doc = include_str!("../docs/semantics.md")]
pub mod semantics {}

#[doc = include_str!("../docs/linear-algebra.md")]
pub mod linear_algebra {}

#[doc = include_str!("../docs/sparse.md")]
pub mod sparse_derivatives {}

#[doc = include_str!("../docs/one-operation.md")]
pub mod one_operation {}

#[doc = include_str!("../docs/adding-an-operation.md")]
pub mod adding_an_operation {}

#[doc = include_str!("../docs/printed-programs.md")]
pub mod printed_programs {}

#[doc = include_str!("../docs/export.md")]
pub mod exporting {}

#[doc = include_str!("../docs/python.md")]
pub mod python {}

#[doc = include_str!("../docs/casadi.md")]
pub mod casadi {}

#[cfg(feature = "json")]
#[doc = include_str!("../docs/json.md")]
pub mod json {}

#[doc = include_str!("../docs/stablehlo.md")]
pub mod stablehlo {}

#[doc = include_str!("../docs/many-machines.md")]
pub mod many_machines {}

#[doc = include_str!("../docs/pages.md")]
pub mod pages {}

#[cfg(feature = "opencl")]
#[doc = include_str!("../docs/devices.md")]
pub mod devices {}

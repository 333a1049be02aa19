//! Engines, which run loop nests.

mod arguments;
pub(crate) mod arrays;
pub mod cpu;
mod large_pages;
mod memory;
#[cfg(feature = "opencl")]
pub mod opencl;
pub(crate) mod report;

pub use report::{Kernel, Report};

use crate::array::Array;
use crate::error::Result;
use crate::term;
use std::fmt;

/// A compiler of staged functions, with its options: [`Cpu`](cpu::Cpu), or `OpenCl` with the feature `opencl`.
///
/// ```
/// use deltaray::engine::Engine;
/// use deltaray::prelude::*;
///
/// fn squares(engine: impl Engine) -> deltaray::Result<Vec<f64>> {
///     let square = stage(|x| x.powi(2), &zeros(2))?.compile(engine)?;
///     Ok(square.call(&Vector::from(vec![3.0, 4.0]))?.to_vec())
/// }
/// # fn main() -> deltaray::Result<()> {
/// assert_eq!(squares(Cpu::default())?, [9.0, 16.0]);
/// # Ok(())
/// # }
/// ```
pub trait Engine: Sized {
    /// A compiled program. `Display` prints its kernels.
    type Program: fmt::Display;

    /// Compiles a program.
    ///
    /// # Errors
    ///
    /// When the engine can't run the program.
    #[doc(hidden)]
    #[track_caller]
    fn compile(self, program: &term::Program) -> Result<Self::Program>;

    /// Runs a program on arrays of the host, of its parameters' types.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    #[doc(hidden)]
    #[track_caller]
    fn run(program: &Self::Program, arguments: &[Array]) -> Result<Vec<Array>>;
}

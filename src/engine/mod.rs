//! Engines, which run loop nests.

mod arguments;
pub(crate) mod arrays;
pub mod cpu;
mod memory;
#[cfg(feature = "opencl")]
pub mod opencl;
pub(crate) mod report;

pub use report::{Kernel, Report};

use crate::concrete::Concrete;
use crate::error::Result;
use crate::tensor::{Family, Outline};
use crate::term::Program;

/// A compiler of staged functions, with its options: [`Cpu`](cpu::Cpu), or `OpenCl` with the feature `opencl`.
pub trait Engine: Sized {
    /// A compiled function from a tree of family `In` to one of family `Out`.
    type Compiled<In: Family, Out: Family>;

    /// Compiles a program of a staged function, whose result has the structure of `output`.
    ///
    /// # Errors
    ///
    /// When the engine can't run the program.
    #[doc(hidden)]
    #[track_caller]
    fn compile<In: Family, Out: Family>(
        self,
        program: Program,
        output: Out::At<Concrete>,
        outline: Outline,
    ) -> Result<Self::Compiled<In, Out>>;
}

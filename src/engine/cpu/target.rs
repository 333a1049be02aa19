//! What programs are compiled for.

use super::native::CodeArena;
use super::vector::Instructions;

/// The instructions of kernels, and where machine code is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) isa: Instructions,
    /// `None` where no machine code is written.
    pub(super) code: Option<&'a CodeArena>,
}

impl Target<'_> {
    /// Kernels of the widest instructions of this machine, without machine code.
    pub(super) fn kernels() -> Target<'static> {
        Target { isa: Instructions::detect(), code: None }
    }
}

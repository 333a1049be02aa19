//! What programs are compiled for.

use super::vector::Instructions;

/// The instructions of kernels, and of machine code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) isa: Instructions,
    /// [`Instructions::Portable`] where no machine code is written.
    pub(super) code: Instructions,
}

impl Target {
    /// The widest instructions of this machine.
    pub(super) fn detect(machine_code: bool) -> Target {
        let isa = Instructions::detect();
        Target { isa, code: if machine_code { isa } else { Instructions::Portable } }
    }
}

//! Other systems have no machine code.

use super::code::NestCode;
use super::vector::Instructions;
use crate::kernel::Nest;
use crate::shape::Type;

/// There is none.
#[derive(Debug)]
pub(super) enum MachineCode {}

impl MachineCode {
    /// Never happens.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub(super) unsafe fn run(&self, _: *const *mut u8, _: usize, _: usize) {
        match *self {}
    }
}

/// None.
pub(super) fn compile(_: Instructions, _: &Nest, _: &[Type], _: bool) -> Option<NestCode> {
    None
}

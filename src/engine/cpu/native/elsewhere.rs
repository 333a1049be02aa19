//! Other systems have no machine code.

use super::code::NestCode;
use super::vector::Instructions;
use crate::kernel::Nest;
use crate::shape::Type;

/// There is none.
#[derive(Debug)]
pub(super) enum CodeArena {}

impl CodeArena {
    /// None.
    pub(super) fn new(_: Instructions) -> Option<CodeArena> {
        None
    }

    /// Never happens.
    pub(super) fn seal(&self) -> bool {
        match *self {}
    }
}

/// There is none.
#[derive(Clone, Debug)]
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

/// Never happens.
pub(super) fn compile(arena: &CodeArena, _: &Nest, _: &[Type], _: bool) -> Option<NestCode> {
    match *arena {}
}

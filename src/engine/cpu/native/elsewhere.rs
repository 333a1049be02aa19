//! Other systems have no machine code.

use super::code::{NestCode, Scratch};
use super::scalars::{EmbeddedNest, ScalarCode};
use super::target::Target;
use super::vector::Instructions;
use crate::kernel::{MatrixProduct, Nest};
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

    /// Never happens.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub(super) unsafe fn run_scalars(&self, _: *mut u64, _: &mut Scratch, _: &[EmbeddedNest]) {
        match *self {}
    }
}

/// None.
pub(super) fn compile(_: Target<'_>, _: &Nest, _: &[Type], _: bool) -> Option<NestCode> {
    None
}

/// None.
pub(super) fn compile_product(_: Target<'_>, _: &MatrixProduct, _: &[Type], _: bool) -> Option<NestCode> {
    None
}

/// Never happens.
pub(super) fn compile_scalars(arena: &CodeArena, _: &ScalarCode, _: usize) -> Option<MachineCode> {
    match *arena {}
}

//! Machine code for nests.
//!
//! A nest becomes [vector code](program), loops around straight lines of operations on registers, and that becomes instructions of
//! AVX2 or AVX-512. A nest that does something which has no vector code runs as instructions on tiles.

mod emit;
mod encode;
#[cfg(test)]
mod encode_tests;
mod expand;
mod opcodes;
mod order;
mod pages;
mod program;
#[cfg(test)]
mod tests;
mod traced;
mod uses;

use super::axis::Axis;
use super::code::{LoopLevel, NestCode};
use super::split::NestSplit;
use super::stretch::limits;
use super::vector::Instructions;
use crate::kernel::Nest;
use crate::shape::Type;
use pages::Pages;
use std::sync::Arc;

/// A nest's code: a function of pointers into its buffers, the number of steps of the outermost loop, and the first of them.
#[derive(Debug)]
pub(super) struct MachineCode {
    pages: Pages,
}

impl MachineCode {
    /// Runs so many steps from one on.
    ///
    /// # Safety
    ///
    /// The pointers are those that the nest has at that step, and what it reads and writes from there is inside of buffers
    /// that no other thread writes to meanwhile.
    pub(super) unsafe fn run(&self, pointers: *const *mut u8, first: usize, steps: usize) {
        // SAFETY: the pages hold such a function, for instructions that this machine has.
        let run: unsafe extern "sysv64" fn(*const *mut u8, usize, usize) =
            unsafe { std::mem::transmute(self.pages.start()) };
        // SAFETY: as the caller's.
        unsafe { run(pointers, steps, first) };
    }
}

/// A nest with machine code of these instructions; `None` where there is none for what it does.
pub(super) fn compile(isa: Instructions, nest: &Nest, types: &[Type], cut: bool) -> Option<NestCode> {
    if isa == Instructions::Portable || nest.extents.contains(&0) {
        return None;
    }
    let wide = isa == Instructions::Avx512;
    let width = if wide { 64 } else { 32 };
    let lanes = expand::lanes(nest, width)?;
    let layout = order::layout(nest, cut, lanes);
    // Loops whose bounds the nest computes are not written yet.
    if !limits(nest, &layout).is_empty() {
        return None;
    }
    let split = if cut { NestSplit::of(nest, &layout, types) } else { NestSplit::whole() };
    let partials = (0..).zip(&split.partials).map(|(position, partial)| (partial.buffer, position)).collect();
    let expanded = expand::expand(nest, &layout, partials, (lanes, width))?;
    let pages = Pages::of(&emit::emit(&expanded, wide)?)?;
    let axis = |(&extent, moves)| Axis { extent, moves, edges: Box::default() };
    let axes: Vec<Axis> = layout.extents.iter().zip(expanded.moves).map(axis).collect();
    Some(NestCode {
        vector: layout.vector,
        tile: layout.extents[layout.vector],
        levels: vec![LoopLevel::default(); axes.len() + 1],
        axes,
        slots: expanded.bases,
        constants: Vec::new(),
        registers: 0,
        split,
        machine_code: Some(Arc::new(MachineCode { pages })),
    })
}

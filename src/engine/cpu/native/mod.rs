//! Machine code for nests.
//!
//! A nest becomes [vector code](program), loops around straight lines of operations on registers, and that becomes instructions of
//! AVX2 or AVX-512. A nest that does something which has no vector code runs as instructions on tiles.

mod arena;
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
use super::layout::NestLayout;
use super::split::NestSplit;
use super::stretch::limits;
use super::vector::Instructions;
use crate::kernel::Nest;
use crate::shape::Type;
pub(super) use arena::{CodeArena, MachineCode};

/// A nest with machine code in an arena; `None` where there is none for what it does, or it is no faster than tiles.
pub(super) fn compile(arena: &CodeArena, nest: &Nest, types: &[Type], cut: bool) -> Option<NestCode> {
    let (width, lanes, layout) = laid_out(arena, nest, cut)?;
    if order::suits_tiles(nest, &layout, lanes) {
        return None;
    }
    written(arena, nest, types, cut, (width, lanes, layout))
}

/// The bytes of a register, its lanes, and the loops of a nest.
fn laid_out(arena: &CodeArena, nest: &Nest, cut: bool) -> Option<(usize, usize, NestLayout)> {
    if nest.extents.contains(&0) {
        return None;
    }
    let width = if arena.isa() == Instructions::Avx512 { 64 } else { 32 };
    let lanes = expand::lanes(nest, width)?;
    let layout = order::layout(nest, cut, lanes, width);
    // Loops whose bounds the nest computes are not written yet.
    limits(nest, &layout).is_empty().then_some((width, lanes, layout))
}

/// The code of loops in this order.
fn written(
    arena: &CodeArena,
    nest: &Nest,
    types: &[Type],
    cut: bool,
    (width, lanes, layout): (usize, usize, NestLayout),
) -> Option<NestCode> {
    let split = if cut { NestSplit::of(nest, &layout, types) } else { NestSplit::whole() };
    let partials = (0..).zip(&split.partials).map(|(position, partial)| (partial.buffer, position)).collect();
    let expanded = expand::expand(nest, &layout, partials, (lanes, width))?;
    let machine_code = arena.add(&emit::emit(&expanded, width == 64)?)?;
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
        machine_code: Some(machine_code),
    })
}

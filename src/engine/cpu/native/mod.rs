//! Machine code for nests.
//!
//! A nest becomes [vector code](program), loops around straight lines of operations on registers, and that becomes instructions of
//! AVX2 or AVX-512. A nest that does something which has no vector code runs as instructions on tiles.

mod alike;
mod arena;
mod budget;
mod emit;
mod encode;
#[cfg(test)]
mod encode_tests;
mod expand;
mod jam;
mod opcodes;
mod order;
mod pages;
mod program;
mod reindex;
mod scalars;
#[cfg(test)]
mod tests;
mod traced;
mod uses;

use super::axis::Axis;
use super::code::{Base, LoopLevel, NestCode};
use super::layout::NestLayout;
use super::prefetch::Prefetch;
use super::split::NestSplit;
use super::stretch::limits;
use super::target::Target;
use super::vector::Instructions;
use crate::engine::report::nest_name;
use crate::kernel::{COLUMN, MatrixProduct, Nest, NestValue, ROW, ValueId};
use crate::shape::{Type, size};
use alike::{AlikeNest, with_buffers};
pub(super) use arena::{CodeArena, MachineCode};
use expand::Expanded;
pub(super) use scalars::compile_scalars;

/// How many orders of loops are tried for a nest.
const ORDERS: usize = 4;
/// The cost of a register of multiplications, in simple instructions, from which on products of packed windows are faster.
const MULTIPLICATION: f64 = 12.0;
/// Lines of the other operand up to which that may be so.
const FEW_LINES: usize = 32;

/// A nest with machine code in an arena, for so many runs in one of the program; `None` where there is none for what it does, it is
/// no faster than tiles, or it gains less than it takes to write.
pub(super) fn compile(target: Target<'_>, nest: &Nest, types: &[Type], cut: bool) -> Option<NestCode> {
    code_of(target, nest, types, cut, None)
}

/// Products of windows with matrices as a nest, with machine code along neighbours in the windows; `None` where packed operands are
/// faster. Packing takes longer than the products where the matrix has few lines.
pub(super) fn compile_product(
    target: Target<'_>,
    product: &MatrixProduct,
    types: &[Type],
    cut: bool,
) -> Option<NestCode> {
    let dtype = types[product.result.buffer as usize].dtype;
    let windows = [&product.left, &product.right].into_iter().position(|operand| operand.overlaps(&product.extents))?;
    let lines = product.count(if windows == 0 { COLUMN } else { ROW });
    if !dtype.is_float() || lines > FEW_LINES {
        return None;
    }
    let registers = size(&product.all_extents()) as f64 * dtype.bytes() as f64 / register_bytes(target.code?) as f64;
    let limits = ProductLimits { cost: MULTIPLICATION * registers, windows: windows as ValueId };
    code_of(target, &product.as_nest(dtype), types, cut, Some(limits))
}

/// The most that the nest of a product may cost, and the value that is read from windows.
#[derive(Clone, Copy)]
struct ProductLimits {
    cost: f64,
    windows: ValueId,
}

/// The code of a nest that is a product within limits, or else is faster than tiles.
fn code_of(
    target: Target<'_>,
    nest: &Nest,
    types: &[Type],
    cut: bool,
    limits: Option<ProductLimits>,
) -> Option<NestCode> {
    let (arena, length) = (target.code?, budget::length(nest)?);
    let (alike, buffers) = AlikeNest::of(nest, target.prefetched, types, cut);
    let code = arena.code_of(alike, |alike| written(arena, (length, target.runs), alike, limits))?;
    Some(with_buffers(code, &buffers))
}

fn written(
    arena: &CodeArena,
    (length, runs): (f64, usize),
    AlikeNest { nest, types, cut, prefetched }: &AlikeNest,
    limits: Option<ProductLimits>,
) -> Option<NestCode> {
    let own = OrderedNest::all(arena, nest, prefetched, *cut)?;
    let reindexed = reindex::reindexed(nest);
    let other = reindexed.as_ref().and_then(|nest| OrderedNest::all(arena, nest, prefetched, *cut)).unwrap_or_default();
    let least = |code: &[OrderedNest]| code.first().map_or(f64::INFINITY, |code| code.cost);
    let is_reindexed = least(&other) < least(&own);
    // Tiles go through a guarded sum as it stands.
    if limits.is_none() && !is_reindexed && own.first()?.suits_tiles() {
        return None;
    }
    let mut code = if is_reindexed { other } else { own };
    if let Some(ProductLimits { cost, windows }) = limits {
        code.retain(|code| code.cost <= cost && code.goes_along(windows));
    }
    if !arena.budget().allows(nest, length, code.first()?.cost, runs) {
        return None;
    }
    let written = |code: &OrderedNest| {
        let split = if *cut { NestSplit::of(code.nest, &code.layout, types) } else { NestSplit::whole() };
        code.written(arena, split)
    };
    code.iter().find_map(|code| code.jammed(written).or_else(|| written(code)))
}

/// The bytes of a register.
fn register_bytes(arena: &CodeArena) -> usize {
    if arena.isa() == Instructions::Avx512 { 64 } else { 32 }
}

/// A nest with an order of its loops.
struct OrderedNest<'a> {
    nest: &'a Nest,
    layout: NestLayout,
    /// In simple instructions.
    cost: f64,
    /// The bytes of a register, and the elements that it has.
    width: usize,
    lanes: usize,
    /// What it brings into the cache.
    prefetched: &'a [Prefetch],
}

impl<'a> OrderedNest<'a> {
    /// The best orders, best first.
    fn all(arena: &CodeArena, nest: &'a Nest, prefetched: &'a [Prefetch], cut: bool) -> Option<Vec<OrderedNest<'a>>> {
        if nest.extents.contains(&0) {
            return None;
        }
        let width = register_bytes(arena);
        let lanes = expand::lanes(nest, width)?;
        let layouts = order::layouts(nest, cut, lanes, width).into_iter().take(ORDERS);
        let ordered = |(cost, layout)| OrderedNest { nest, layout, cost, width, lanes, prefetched };
        Some(layouts.map(ordered).collect())
    }

    /// Does something with a nest that runs some steps of these loops side by side, where that pays.
    fn jammed<T>(&self, then: impl Fn(&OrderedNest) -> Option<T>) -> Option<T> {
        let (nest, layout) = jam::jammed(self.nest, &self.layout, self.width == 64)?;
        then(&OrderedNest { nest: &nest, layout, ..*self })
    }

    fn suits_tiles(&self) -> bool {
        // Loops whose bounds the nest computes are not written yet.
        !limits(self.nest, &self.layout).is_empty() || order::suits_tiles(self.nest, &self.layout, self.lanes)
    }

    /// Whether the vector axis goes along neighbours among the elements that a value reads.
    fn goes_along(&self, value: ValueId) -> bool {
        let (value, _) = &self.nest.values[value as usize];
        matches!(value, NestValue::Load { at, .. } if self.layout.by_loop(at)[self.layout.vector] == 1)
    }

    /// The vector code of loops in this order, if there is some.
    fn expanded(&self, split: &NestSplit) -> Option<Expanded> {
        let partials = (0..).zip(&split.partials).map(|(position, partial)| (partial.buffer, position)).collect();
        expand::expand(
            self.nest,
            &self.layout,
            (split.chunks == 1, partials),
            (self.lanes, self.width),
            self.prefetched,
        )
    }

    /// The machine code of loops in this order, if there is some.
    fn written(&self, arena: &CodeArena, split: NestSplit) -> Option<NestCode> {
        let OrderedNest { nest, layout, width, .. } = self;
        let expanded = self.expanded(&split)?;
        let emitted = emit::emit(&expanded, *width == 64)?;
        let machine_code = arena.add(emitted.code, || nest_name(nest))?;
        let axis = |(&extent, moves)| Axis { extent, moves, edges: Box::default() };
        let axes: Vec<Axis> = layout.extents.iter().zip(expanded.moves).map(axis).collect();
        Some(NestCode {
            vector: layout.vector,
            tile: layout.extents[layout.vector],
            levels: vec![LoopLevel::default(); axes.len() + 1],
            axes,
            slots: expanded.bases.into_iter().chain([Base::Register(0)]).collect(),
            constants: Vec::new(),
            registers: emitted.frame,
            split,
            machine_code: Some(machine_code),
        })
    }
}

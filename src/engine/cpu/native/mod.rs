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
mod product;
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
use super::streaming::StreamingCode;
use super::stretch::limits;
use super::target::Target;
use crate::engine::report::nest_name;
use crate::kernel::{BufferId, Nest, NestValue, Store, StoreMode, ValueId};
use crate::shape::{DType, Type};
use alike::{AlikeNest, with_buffers};
pub(super) use arena::{CodeArena, MachineCode};
use expand::Expanded;
use product::ProductForm;
pub(super) use product::compile_product;
pub(super) use scalars::compile_scalars;

/// How many orders of loops are tried for a nest.
const ORDERS: usize = 4;

/// A nest with machine code in an arena, for so many runs in one of the program; `None` where there is none for what it does, it is
/// no faster than tiles, or it gains less than it takes to write.
pub(super) fn compile(target: Target<'_>, nest: &Nest, types: &[Type], cut: bool) -> Option<NestCode> {
    code_of(target, nest, types, cut, None)
}

/// The code of a nest that is a product of a form, or else is faster than tiles.
fn code_of(target: Target<'_>, nest: &Nest, types: &[Type], cut: bool, form: Option<ProductForm>) -> Option<NestCode> {
    let (arena, length) = (target.code?, budget::length(nest)?);
    let length = if matches!(form, Some(ProductForm::Rows(_))) { product::LONGER * length } else { length };
    let (alike, buffers) = AlikeNest::of(target, nest, form.is_some(), types, cut);
    let code = arena.code_of(alike, |alike| written(arena, (length, target.runs), alike, form))?;
    Some(with_buffers(code, &buffers))
}

fn written(
    arena: &CodeArena,
    (length, runs): (f64, usize),
    AlikeNest { nest, types, cut, prefetched, streamed, .. }: &AlikeNest,
    form: Option<ProductForm>,
) -> Option<NestCode> {
    let own = OrderedNest::all(arena, nest, prefetched, *cut)?;
    let reindexed = reindex::reindexed(nest);
    let other = reindexed.as_ref().and_then(|nest| OrderedNest::all(arena, nest, prefetched, *cut)).unwrap_or_default();
    let least = |code: &[OrderedNest]| code.first().map_or(f64::INFINITY, |code| code.cost);
    let is_reindexed = least(&other) < least(&own);
    // Tiles go through a guarded sum as it stands.
    if form.is_none() && !is_reindexed && own.first()?.suits_tiles() {
        return None;
    }
    let mut code = if is_reindexed { other } else { own };
    if let Some(form) = form {
        code.retain(|code| form.suits(code));
    }
    if !arena.budget().allows(nest, length, code.first()?.cost, runs) {
        return None;
    }
    let written = |code: &OrderedNest| {
        let split = if *cut { NestSplit::of(code.nest, &code.layout, types) } else { NestSplit::whole() };
        code.written(arena, split, streamed)
    };
    code.iter().find_map(|code| match form {
        Some(ProductForm::Rows(_)) => code.in_rows(written),
        _ => code.jammed(written).or_else(|| written(code)),
    })
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
    /// Registers of the vector axis side by side, if that is decided.
    copies: Option<usize>,
    /// Bytes that it brings into the cache.
    prefetched: &'a [Prefetch],
}

impl<'a> OrderedNest<'a> {
    /// The best orders, best first.
    fn all(arena: &CodeArena, nest: &'a Nest, prefetched: &'a [Prefetch], cut: bool) -> Option<Vec<OrderedNest<'a>>> {
        if nest.extents.contains(&0) {
            return None;
        }
        let width = arena.register_bytes();
        let lanes = expand::lanes(nest, width)?;
        let layouts = order::layouts(nest, cut, lanes, width).into_iter().take(ORDERS);
        let ordered = |(cost, layout)| OrderedNest { nest, layout, cost, width, lanes, copies: None, prefetched };
        Some(layouts.map(ordered).collect())
    }

    /// Does something with a nest that runs some steps of these loops side by side, where that pays.
    fn jammed<T>(&self, then: impl Fn(&OrderedNest) -> Option<T>) -> Option<T> {
        let (nest, layout) = jam::jammed(self.nest, &self.layout, self.width == 64)?;
        then(&OrderedNest { nest: &nest, layout, ..*self })
    }

    /// Does something with a product that takes some rows at a time, if their number is a multiple.
    fn in_rows<T>(&self, then: impl Fn(&OrderedNest) -> Option<T>) -> Option<T> {
        let (nest, layout, copies) = product::in_rows(self.nest, &self.layout, self.lanes, self.width == 64)?;
        then(&OrderedNest { nest: &nest, layout, copies: Some(copies), ..*self })
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

    /// Whether sums are taken by the loops inside of the vector axis, and the loop around it moves all but this value.
    fn goes_in_rows(&self, value: ValueId) -> bool {
        let [store] = &self.nest.stores[..] else { return false };
        let Some(around) = self.layout.vector.checked_sub(1) else { return false };
        let place = self.layout.by_loop(&store.at);
        let moves = |id: ValueId| match &self.nest.values[id as usize].0 {
            NestValue::Load { at, .. } => self.layout.by_loop(at)[around] != 0,
            _ => false,
        };
        let is_inner = place[self.layout.vector + 1..].iter().all(|&stride| stride == 0);
        is_inner && place[self.layout.vector] == 1 && place[around] != 0 && !moves(value) && moves(1 - value)
    }

    /// The vector code of loops in this order, if there is some, which writes some buffers past the cache; `whole` says that every run
    /// does all steps of the outermost.
    fn expanded(&self, split: &NestSplit, whole: bool, streamed: &[BufferId]) -> Option<Expanded> {
        let partials = (0..).zip(&split.partials).map(|(position, partial)| (partial.buffer, position)).collect();
        expand::expand(self, whole, streamed, partials)
    }

    /// Those of some buffers that are filled with whole registers, by one loop.
    fn filled(&self, buffers: &[BufferId]) -> Vec<BufferId> {
        let is_filled =
            |id: BufferId| self.nest.stores.iter().filter(|store| store.buffer == id).all(|it| self.fills(it));
        let is_alone = self.layout.extents.len() == 1;
        buffers.iter().copied().filter(|&id| is_alone && is_filled(id)).collect()
    }

    /// Whether a store writes adjacent elements along the vector axis, a register at a time.
    fn fills(&self, store: &Store) -> bool {
        let dtype = self.nest.values[store.value as usize].1;
        let is_run = self.layout.by_loop(&store.at)[self.layout.vector] == 1;
        let is_plain = store.mode == StoreMode::Write && store.index.is_none() && store.guards.is_empty();
        is_run && is_plain && dtype != DType::Bool && dtype.bytes() * self.lanes == self.width
    }

    /// Machine code that writes these buffers past the cache, in a frame of so many bytes.
    fn streaming(
        &self,
        arena: &CodeArena,
        split: &NestSplit,
        streamed: &[BufferId],
        frame: usize,
    ) -> Option<StreamingCode> {
        let expanded = self.expanded(split, false, streamed)?;
        let stores = expanded.streamed();
        let emitted = emit::emit(&expanded, self.width == 64).filter(|emitted| emitted.frame <= frame)?;
        let code = arena.add(emitted.code, || format!("{} past the cache", nest_name(self.nest)))?;
        Some(StreamingCode { code, stores, element: self.width / self.lanes, register: self.width })
    }

    /// The machine code of loops in this order, if there is some. It may write these buffers past the cache.
    fn written(&self, arena: &CodeArena, split: NestSplit, streamed: &[BufferId]) -> Option<NestCode> {
        let OrderedNest { nest, layout, width, .. } = self;
        let streamed = self.filled(streamed);
        let expanded = self.expanded(&split, split.chunks == 1 && streamed.is_empty(), &[])?;
        let emitted = emit::emit(&expanded, *width == 64)?;
        let machine_code = arena.add(emitted.code, || nest_name(nest))?;
        let streaming =
            if streamed.is_empty() { None } else { self.streaming(arena, &split, &streamed, emitted.frame) };
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
            streaming,
        })
    }
}

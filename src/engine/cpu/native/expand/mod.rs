//! From a nest to vector code: loops in the order of a layout, with one of them cut into registers.
//!
//! The vector axis goes in steps of some registers, its copies. Loops outside of it move pointers; loops inside run for each
//! step, with sums in registers. What a store combines with is kept in registers for all loops that its place does not move
//! with: in one for each copy, whose sum is taken copy by copy and then by halves.

mod access;
mod ahead;
mod stores;
mod values;

use self::ahead::SpreadPrefetch;
use super::program::{Builder, Count, Form, Kind, Position, Step, Value};
use super::{OrderedNest, order};
use crate::engine::cpu::code::Base;
use crate::engine::cpu::layout::NestLayout;
use crate::engine::cpu::slot::Slot;
use crate::engine::cpu::vector::formulas;
use crate::kernel::{Affine, BufferId, Guard, Nest, NestValue, StoreMode, ValueId};
use crate::operation::Binary;
use crate::shape::DType;
use crate::term::hash::TermMap;
use smallvec::SmallVec;

/// Registers that go along the vector axis in one step at most.
const COPIES: usize = 4;
/// About so many operations are worth a step.
const STEP: usize = 24;

/// A nest as vector code, with the pointers that it goes by.
pub(super) struct Expanded {
    pub(super) steps: Vec<Step>,
    pub(super) kinds: Vec<Kind>,
    /// Where pointers are before the first step of every loop.
    pub(super) bases: Vec<Base>,
    /// Bytes by which pointers move, by loop.
    pub(super) moves: Vec<Vec<(Slot, isize)>>,
    /// The elements of a register.
    pub(super) lanes: u32,
    /// The bytes of a register of the widest elements.
    pub(super) bytes: u32,
    /// The loop that is cut into registers.
    pub(super) vector: u32,
    /// Whether every run does all steps of the outermost loop.
    pub(super) whole: bool,
}

impl Expanded {
    /// The pointers and offsets, less than a register, of what is written past the cache.
    pub(super) fn streamed(&self) -> Vec<(usize, isize)> {
        let mut streamed: Vec<(usize, isize)> = Vec::new();
        for step in &self.steps {
            if let Step::Store { form: Form::Streamed, address, .. } = step {
                // Registers side by side are aligned if one of them is; the parts of an array that are written by one loop need not be.
                let place = (address.pointer as usize, address.offset as isize % self.bytes as isize);
                if !streamed.contains(&place) {
                    streamed.push(place);
                }
            }
        }
        streamed
    }
}

struct Expander<'a> {
    nest: &'a Nest,
    layout: &'a NestLayout,
    builder: Builder,
    /// The level of each value, one more than the innermost loop that moves it.
    levels: Vec<usize>,
    /// Whether the vector axis moves each value.
    runs: Vec<bool>,
    uses: Vec<u32>,
    /// The products that are added with one rounding.
    multiplied: Vec<bool>,
    /// For each store whose sum is in registers, the values of the innermost level that no such store before it needs.
    own: Vec<Vec<ValueId>>,
    bases: Vec<Base>,
    moves: Vec<Vec<(Slot, isize)>>,
    pointers: TermMap<(u32, SmallVec<[isize; 4]>), u32>,
    partials: TermMap<u32, u32>,
    /// Whether every run does all steps of the outermost loop, and there are no more than instructions compare with.
    whole: bool,
    lanes: usize,
    /// The integers that there are as many of in a register as lanes.
    integers: Kind,
    bytes: usize,
    positions: TermMap<(Kind, Position), Value>,
    /// Whether the vector axis is no loop, but a few registers side by side.
    written_out: bool,
    /// Registers in a whole step, and in the present one.
    copies: usize,
    present: usize,
    /// The lanes of the last register that there are elements for.
    rest: Option<Value>,
    values: TermMap<(ValueId, u32), Value>,
    /// The variables of stores.
    sums: Vec<Vec<Value>>,
    /// Lines that are brought into the cache while loops run.
    ahead: Vec<SpreadPrefetch>,
    /// The buffers that are written past the cache.
    streamed: &'a [BufferId],
}

/// The lanes of registers of so many bytes that hold the widest elements of a nest; `None` where there is no code for elements of
/// several widths.
pub(super) fn lanes(nest: &Nest, width: usize) -> Option<usize> {
    let bytes = |dtype: DType| if dtype == DType::Bool { 1 } else { dtype.bytes() };
    let widest = nest.values.iter().map(|(value, dtype)| bytes(*dtype).max(bytes_of(value, *dtype))).max()?.max(4);
    let is_widest = |dtype: DType| dtype == DType::Bool || dtype.bytes() == widest;
    (width == 64 || nest.values.iter().all(|(_, dtype)| is_widest(*dtype))).then_some(width / widest)
}

/// The vector code of a nest, runs of which do all steps of the outermost loop if it is `whole`, and which writes some buffers past
/// the cache; `None` where there is none for what the nest does.
pub(super) fn expand(
    &OrderedNest { nest, ref layout, lanes, width, copies, prefetched, .. }: &OrderedNest,
    whole: bool,
    streamed: &[BufferId],
    partials: TermMap<u32, u32>,
) -> Option<Expanded> {
    let depth = layout.extents.len();
    let mut expander = Expander {
        nest,
        layout,
        builder: Builder::new(width == 64),
        levels: Vec::new(),
        runs: Vec::new(),
        uses: nest.uses(),
        multiplied: Vec::new(),
        own: Vec::new(),
        bases: Vec::new(),
        moves: vec![Vec::new(); depth],
        pointers: TermMap::default(),
        partials,
        whole: whole && known(layout.extents[0]).is_some(),
        lanes,
        integers: if lanes * 8 <= width { Kind::I64 } else { Kind::I32 },
        bytes: width,
        positions: TermMap::default(),
        written_out: false,
        copies: 1,
        present: 1,
        rest: None,
        values: TermMap::default(),
        sums: vec![Vec::new(); nest.stores.len()],
        ahead: Vec::new(),
        streamed,
    };
    match order::written_out(nest, layout, lanes, width) {
        Some(copies) => {
            (expander.written_out, expander.copies, expander.present) = (true, copies, copies);
            expander.rank();
            expander.builder.steps.push(Step::Start);
            let rest = layout.extents[layout.vector] % lanes;
            if rest > 0 {
                expander.rest = Some(expander.builder.rest(Some(rest as u32)));
            }
        }
        None => {
            expander.rank();
            expander.copies = copies.or_else(|| expander.copies())?;
        }
    }
    expander.ahead = prefetched.iter().filter_map(|prefetch| expander.spread(prefetch)).collect();
    expander.step(0)?;
    let Expander { builder, bases, moves, whole, lanes, bytes, .. } = expander;
    let vector = layout.vector as u32;
    Some(Expanded {
        steps: builder.steps,
        kinds: builder.kinds,
        bases,
        moves,
        lanes: lanes as u32,
        bytes: bytes as u32,
        vector,
        whole,
    })
}

/// Bytes of the elements that a value is computed by.
fn bytes_of(value: &NestValue, dtype: DType) -> usize {
    match value {
        NestValue::Binary(Binary::Pow | Binary::LogAddExp, ..) if dtype == DType::F32 => 8,
        _ => 0,
    }
}

/// The bits of 1.
fn one_of(kind: Kind) -> u64 {
    match kind {
        Kind::F64 => 1.0f64.to_bits(),
        Kind::F32 => u64::from(1.0f32.to_bits()),
        _ => 1,
    }
}

/// A number of steps that instructions compare with, which has a sign there.
fn known(steps: usize) -> Option<u32> {
    i32::try_from(steps).ok().map(i32::unsigned_abs)
}

impl Expander<'_> {
    fn depth(&self) -> usize {
        self.layout.extents.len()
    }

    fn vector(&self) -> usize {
        self.layout.vector
    }

    fn level_of(&self, at: &Affine) -> usize {
        let by_loop = self.layout.by_loop(at);
        // A vector axis that is written out is no loop.
        let loops = if self.written_out { self.vector() } else { by_loop.len() };
        by_loop[..loops].iter().rposition(|&coefficient| coefficient != 0).map_or(0, |axis| axis + 1)
    }

    fn along(&self, at: &Affine) -> i64 {
        self.layout.by_loop(at)[self.vector()]
    }

    fn level_of_guards(&self, guards: &[Guard]) -> usize {
        guards.iter().map(|guard| self.level_of(&guard.position)).max().unwrap_or(0)
    }

    fn guards_run(&self, guards: &[Guard]) -> bool {
        guards.iter().any(|guard| self.along(&guard.position) != 0)
    }

    /// Finds the levels of values.
    fn rank(&mut self) {
        for (value, _) in &self.nest.values {
            let operands = value.operands();
            let level = operands.iter().map(|&id| self.levels[id as usize]).max().unwrap_or(0);
            let (own, moves) = match value {
                NestValue::Position(at) | NestValue::Gather { at, .. } => (self.level_of(at), self.along(at) != 0),
                NestValue::Load { at, guards, .. } => {
                    let moves = self.along(at) != 0 || self.guards_run(guards);
                    (self.level_of(at).max(self.level_of_guards(guards)), moves)
                }
                NestValue::Guarded(_, guards) => (self.level_of_guards(guards), self.guards_run(guards)),
                _ => (0, false),
            };
            self.levels.push(level.max(own));
            self.runs.push(moves || operands.iter().any(|&id| self.runs[id as usize]));
        }
        self.find_multiplied();
        self.find_own();
    }

    /// How many registers a step takes.
    fn copies(&self) -> Option<usize> {
        let cost = |(id, (value, _)): (usize, &(NestValue, DType))| match value {
            _ if self.levels[id] <= self.vector() => 0,
            NestValue::Unary(op, _) if formulas::is_function(*op) => STEP,
            _ => 1,
        };
        let cost: usize = self.nest.values.iter().enumerate().map(cost).sum();
        let fitting = (STEP / cost.max(1)).clamp(if cost < 3 * STEP { 2 } else { 1 }, COPIES);
        let sums = self.nest.stores.iter().filter(|store| store.mode != StoreMode::Write).count();
        let fitting = if sums * fitting > 8 { 1 } else { fitting };
        // Two registers side by side keep the processor busy where no others follow.
        let is_short = self.whole && self.layout.extents[self.vector()].div_ceil(self.lanes) == 2;
        let fitting = if is_short && sums <= 4 { 2 } else { fitting };
        (sums <= if self.bytes == 64 { 16 } else { 8 }).then_some(1 << fitting.ilog2())
    }

    /// A step of the loop around this level, or what is outside of all loops.
    fn step(&mut self, level: usize) -> Option<()> {
        self.prefetch(level);
        let is_innermost = level == self.depth();
        if is_innermost {
            // Each sum right after its values, of which registers are then free again.
            for at in 0..self.nest.stores.len() {
                for value in 0..self.own[at].len() {
                    self.copies_of(self.own[at][value])?;
                }
                if self.is_summed(at) {
                    self.stored(at, level)?;
                }
            }
        }
        for id in 0..self.nest.values.len() {
            if self.levels[id] == level && !(is_innermost && self.values.contains_key(&(id as ValueId, 0))) {
                self.copies_of(id as ValueId)?;
            }
        }
        for at in 0..self.nest.stores.len() {
            if self.is_summed(at) && self.level_of(&self.nest.stores[at].at) == level {
                self.begin_sum(at);
            }
        }
        if level < self.depth() {
            if level == self.vector() { self.along_vector()? } else { self.around(level)? }
        }
        for at in 0..self.nest.stores.len() {
            if !(is_innermost && self.is_summed(at)) {
                self.stored(at, level)?;
            }
        }
        for at in 0..self.nest.stores.len() {
            if self.is_summed(at) && self.level_of(&self.nest.stores[at].at) == level {
                self.end_sum(at)?;
            }
        }
        Some(())
    }

    /// Computes a value for the registers of the present step.
    fn copies_of(&mut self, id: ValueId) -> Option<()> {
        let copies = if self.runs[id as usize] { self.present } else { 1 };
        (0..copies).try_for_each(|copy| self.value(id, copy))
    }

    /// A loop that is not the vector axis.
    fn around(&mut self, axis: usize) -> Option<()> {
        let extent = self.layout.extents[axis];
        let count = if axis == 0 && !self.whole { Count::Asked } else { Count::Known(known(extent)?) };
        self.builder.begin(axis as u32, count);
        self.positions.clear();
        self.step(axis + 1)?;
        self.forget(axis + 1);
        self.builder.steps.push(Step::Advance { axis: axis as u32, count: 1 });
        self.builder.end(axis as u32, count);
        if axis > 0 {
            self.builder.steps.push(Step::Advance { axis: axis as u32, count: -(extent as i64) });
        }
        Some(())
    }

    /// Values of inner levels are computed anew in the next step.
    fn forget(&mut self, level: usize) {
        let levels = &self.levels;
        self.positions.clear();
        self.values.retain(|(id, _), _| levels[*id as usize] < level);
    }

    fn along_vector(&mut self) -> Option<()> {
        let axis = self.vector();
        if self.written_out {
            return self.step(axis + 1);
        }
        let (lanes, copies) = (self.lanes, self.copies);
        let whole = lanes * copies;
        self.builder.steps.push(Step::Start);
        if axis == 0 && !self.whole {
            let mut steps = vec![(copies, Count::ElementsAsked { step: whole as u32 })];
            if copies > 1 {
                steps.push((1, Count::ElementsAsked { step: lanes as u32 }));
            }
            for (copies, count) in steps {
                self.looped(copies, count)?;
            }
            self.builder.begin(axis as u32, Count::RestAsked);
            self.rest = Some(self.builder.rest(None));
            self.group(1)?;
            self.rest = None;
            self.builder.end(axis as u32, Count::RestAsked);
            return Some(());
        }
        let extent = self.layout.extents[axis];
        let end = extent / whole * whole;
        if end > 0 {
            self.looped(copies, Count::Elements { step: whole as u32, end: known(end)? })?;
        }
        if end < extent {
            let left = extent - end;
            self.builder.open();
            if !left.is_multiple_of(lanes) {
                self.rest = Some(self.builder.rest(Some((left % lanes) as u32)));
            }
            self.group(left.div_ceil(lanes))?;
            self.rest = None;
            self.builder.close();
        }
        self.builder.steps.push(Step::Advance { axis: axis as u32, count: -(end as i64) });
        Some(())
    }

    fn looped(&mut self, copies: usize, count: Count) -> Option<()> {
        let axis = self.vector() as u32;
        self.builder.begin(axis, count);
        self.group(copies)?;
        self.builder.steps.push(Step::Advance { axis, count: (copies * self.lanes) as i64 });
        self.builder.end(axis, count);
        Some(())
    }

    /// A step of the vector axis of so many registers.
    fn group(&mut self, copies: usize) -> Option<()> {
        self.present = copies;
        self.positions.clear();
        let level = self.vector() + 1;
        self.step(level)?;
        self.forget(level);
        self.present = 1;
        Some(())
    }
}

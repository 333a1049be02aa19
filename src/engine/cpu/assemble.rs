//! From a nest to the instructions that run it: the order of its loops, registers, and a kernel for every value.

mod fused;
mod reads;
mod stores;

use super::axis::{Axis, Edge};
use super::code::{Base, LoopLevel, NestCode};
use super::instruction::{Bound, Instruction, LinearFunction};
use super::layout::{NestLayout, Wrapped};
use super::native;
use super::order::layout;
use super::slot::Slot;
use super::split::NestSplit;
use super::stretch::limits;
use super::target::Target;
use super::vector::{self, Instructions, OperandForm, RowsKernel};
use crate::kernel::stretch::{Limit, within};
use crate::kernel::{Affine, Guard, Nest, NestValue, Store, StoreMode, ValueId};
use crate::shape::{DType, Type};
use crate::term::hash::TermMap;
use smallvec::SmallVec;
use std::collections::HashSet;

/// Bytes of the registers of a tile, which leave room in the first-level cache for operands and results.
const REGISTERS: usize = 20 << 10;
/// Bytes of memory that a tile may touch, and the most that each of its accesses counts for.
const CACHE: usize = 32 << 10;
const TOUCHED: usize = 256;
/// Stands for the place of a tile's register until the size of tiles is known.
const TILE_REGISTER: usize = usize::MAX;
/// The least and the most elements of a tile.
const TILES: [usize; 2] = [64, 1024];

/// A kernel for all rows of the loop around a reduction.
#[derive(Clone, Copy)]
enum OfRows {
    /// Rows each have an element of the result.
    Each(RowsKernel),
    /// Rows are combined into one run.
    Columns(RowsKernel),
}

struct Assembler<'a> {
    isa: Instructions,
    nest: &'a Nest,
    layout: NestLayout,
    /// The level of each value, one more than the innermost loop that moves it: 0 for values that no loop moves.
    levels: Vec<usize>,
    /// Whether the vector axis moves each value.
    runs: Vec<bool>,
    /// A run of consecutive elements, or a single element; `None` for values that are not computed separately.
    places: Vec<Option<Slot>>,
    slots: Vec<Base>,
    /// Bytes by which slots of buffers move, by loop.
    moves: Vec<Vec<(Slot, isize)>>,
    code: Vec<LoopLevel>,
    constants: Vec<u64>,
    constant_slots: TermMap<u64, Slot>,
    buffer_slots: TermMap<(u32, isize, SmallVec<[isize; 4]>), Slot>,
    /// The buffers that are split among chunks, and their positions.
    partials: TermMap<u32, u32>,
    /// Free registers of a tile, by level: values of an outer loop stay while inner ones run.
    free: Vec<Vec<Slot>>,
    /// Slots of tile registers by their number; offsets are known when the tile's size is.
    tile_registers: Vec<Slot>,
    /// Bytes of registers of one element.
    single: usize,
    /// The kernel that computes the last sum, or other reduction, for several rows.
    of_rows: Option<OfRows>,
    /// The last instruction that reads each value, as a count of values and stores.
    last_use: Vec<usize>,
    /// Reads whose guards say where their sums continue.
    guarded_sums: HashSet<ValueId>,
    /// Computed positions of rows, which are read one by one.
    positions: HashSet<ValueId>,
    /// Where loops begin and end.
    limits: Vec<Limit>,
}

/// The instructions of a nest, whose work threads may share where it is `cut`.
pub(super) fn assemble(target: Target<'_>, nest: &Nest, types: &[Type], cut: bool) -> NestCode {
    if let Some(code) = native::compile(target, nest, types, cut) {
        return code;
    }
    let layout = layout(nest, cut);
    let limits = limits(nest, &layout);
    let (within, limits) = match limits.is_empty() {
        true => (None, limits),
        false => {
            let (nest, limits) = within(nest, limits);
            (Some(nest), limits)
        }
    };
    let nest = within.as_ref().unwrap_or(nest);
    let split = if cut { NestSplit::of(nest, &layout, types) } else { NestSplit::whole() };
    let depth = layout.extents.len();
    let mut assembler = Assembler {
        isa: target.isa,
        nest,
        levels: Vec::new(),
        runs: Vec::new(),
        places: vec![None; nest.values.len()],
        slots: Vec::new(),
        moves: vec![Vec::new(); depth],
        code: vec![LoopLevel::default(); depth + 1],
        constants: Vec::new(),
        constant_slots: TermMap::default(),
        buffer_slots: TermMap::default(),
        partials: (0..).zip(&split.partials).map(|(position, partial)| (partial.buffer, position)).collect(),
        free: vec![Vec::new(); depth + 1],
        tile_registers: Vec::new(),
        single: 0,
        of_rows: None,
        last_use: Vec::new(),
        guarded_sums: HashSet::new(),
        positions: HashSet::new(),
        limits,
        layout,
    };
    assembler.run();
    if assembler.limits.is_empty() {
        assembler.join_rows(split.chunks);
    }
    NestCode { split, ..assembler.finish() }
}

impl Assembler<'_> {
    fn depth(&self) -> usize {
        self.layout.extents.len()
    }

    /// The coefficients of an access by loop, outermost first.
    fn by_loop(&self, at: &Affine) -> SmallVec<[i64; 4]> {
        self.layout.by_loop(at)
    }

    fn linear(&self, at: &Affine) -> LinearFunction {
        let coefficients = self.by_loop(at);
        let terms = coefficients.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0);
        LinearFunction {
            offset: at.offset,
            terms: terms.map(|(axis, &coefficient)| (axis as u8, coefficient)).collect(),
            step: coefficients[self.layout.vector],
        }
    }

    fn bounds(&self, guards: &[Guard]) -> Box<[Bound]> {
        guards.iter().map(|guard| Bound { position: self.linear(&guard.position), extent: guard.extent }).collect()
    }

    /// The level of an affine function: one more than the innermost loop that moves it.
    fn level_of(&self, at: &Affine) -> usize {
        self.by_loop(at).iter().rposition(|&coefficient| coefficient != 0).map_or(0, |axis| axis + 1)
    }

    /// How far an affine function goes with a step of the vector axis.
    fn step(&self, at: &Affine) -> i64 {
        self.by_loop(at)[self.layout.vector]
    }

    fn level_of_guards(&self, guards: &[Guard]) -> usize {
        guards.iter().map(|guard| self.level_of(&guard.position)).max().unwrap_or(0)
    }

    fn slot(&mut self, base: Base) -> Slot {
        self.slots.push(base);
        Slot::try_from(self.slots.len() - 1).expect("fewer slots than a nest may have values")
    }

    fn constant(&mut self, bits: u64) -> Slot {
        if let Some(&slot) = self.constant_slots.get(&bits) {
            return slot;
        }
        self.constants.push(bits);
        let slot = self.slot(Base::Constant((self.constants.len() - 1) * 8));
        self.constant_slots.insert(bits, slot);
        slot
    }

    /// A pointer into a buffer that follows the loops.
    fn buffer(&mut self, buffer: u32, at: &Affine, dtype: DType) -> Slot {
        let width = dtype.bytes() as isize;
        let strides: SmallVec<[isize; 4]> =
            self.by_loop(at).iter().map(|&coefficient| coefficient as isize * width).collect();
        let key = (buffer, at.offset as isize * width, strides);
        if let Some(&slot) = self.buffer_slots.get(&key) {
            return slot;
        }
        let slot = self.slot(match self.partials.get(&buffer) {
            Some(&position) => Base::Partial(position, key.1),
            None => Base::Buffer(buffer, key.1),
        });
        for (moves, &stride) in self.moves.iter_mut().zip(&key.2) {
            if stride != 0 {
                moves.push((slot, stride));
            }
        }
        self.buffer_slots.insert(key, slot);
        slot
    }

    /// A register for a value at a level: for a tile or for a single element.
    fn register(&mut self, level: usize, is_run: bool) -> Slot {
        if !is_run {
            let slot = self.slot(Base::Register(self.single));
            self.single += 8;
            return slot;
        }
        match self.free[level].pop() {
            Some(slot) => slot,
            None => {
                let slot = self.slot(Base::Register(TILE_REGISTER));
                self.tile_registers.push(slot);
                slot
            }
        }
    }

    /// How an instruction, for a tile or for a single element, sees a value.
    fn operand(&self, id: ValueId, is_run: bool) -> OperandForm {
        if is_run && !self.runs[id as usize] { OperandForm::One } else { OperandForm::Run }
    }

    fn place(&self, id: ValueId) -> Slot {
        self.places[id as usize].expect("operands come before their users")
    }

    fn run(&mut self) {
        let nest = self.nest;
        if self.layout.wrapped.is_some() {
            let read = nest.values.iter().filter_map(|(value, _)| match value {
                NestValue::Gather { index, .. } => Some(*index),
                _ => None,
            });
            let stored = nest.stores.iter().filter_map(|store| Some(store.index?.0));
            self.positions = read.chain(stored).collect();
        }
        for (id, (value, _)) in nest.values.iter().enumerate() {
            if self.broken(id as ValueId).is_some() {
                self.levels.push(self.layout.vector + 1);
                self.runs.push(true);
                continue;
            }
            let operands = value.operands().iter().map(|&id| self.levels[id as usize]).max().unwrap_or(0);
            self.levels.push(match value {
                NestValue::Constant(_) => 0,
                NestValue::Position(at) => self.level_of(at),
                NestValue::Load { at, guards, .. } => self.level_of(at).max(self.level_of_guards(guards)),
                NestValue::Gather { at, .. } => operands.max(self.level_of(at)),
                NestValue::Guarded(_, guards) => operands.max(self.level_of_guards(guards)),
                _ => operands,
            });
            let moves = |at: &Affine| self.step(at) != 0;
            let guarded = |guards: &[Guard]| guards.iter().any(|guard| moves(&guard.position));
            let own = match value {
                NestValue::Position(at) | NestValue::Gather { at, .. } => moves(at),
                NestValue::Load { at, guards, .. } => moves(at) || guarded(guards),
                NestValue::Guarded(_, guards) => guarded(guards),
                _ => false,
            };
            self.runs.push(own || value.operands().iter().any(|&id| self.runs[id as usize]));
        }
        // The operand of a store is kept until the end: stores come last. So is an operand inside a loop that is computed
        // outside: all steps of the loop run after its computation.
        self.last_use = (0..nest.values.len()).collect();
        for (at, (value, _)) in nest.values.iter().enumerate() {
            for operand in value.operands() {
                let is_inside = self.levels[at] > self.levels[operand as usize];
                let last = &mut self.last_use[operand as usize];
                *last = (*last).max(if is_inside { usize::MAX } else { at });
            }
        }
        let mut direct: TermMap<ValueId, usize> = TermMap::default();
        for (at, store) in nest.stores.iter().enumerate() {
            self.last_use[store.value as usize] = usize::MAX;
            if let Some((index, ..)) = store.index {
                self.last_use[index as usize] = usize::MAX;
            }
            if self.is_direct(store) {
                direct.entry(store.value).or_insert(at);
            }
        }
        let uses = nest.uses();
        let fused = self.fused_sums(&uses);
        let mut skipped: HashSet<ValueId> = fused.keys().copied().collect();
        for sum in fused.values() {
            self.last_use[sum.a as usize] = usize::MAX;
            self.last_use[sum.b as usize] = usize::MAX;
            skipped.extend(sum.difference);
        }
        self.guarded_sums = self.guarded_sums(&uses);
        for at in 0..nest.values.len() {
            if skipped.contains(&(at as ValueId)) {
                continue;
            }
            if self.layout.row > 1 && at as ValueId == nest.stores[0].value {
                continue;
            }
            let target = direct.get(&(at as ValueId)).map(|&store| &nest.stores[store]);
            let target = target.map(|store| (store.buffer, store.at.clone()));
            self.value(at as ValueId, target);
            self.release(at);
        }
        for (at, store) in nest.stores.iter().enumerate() {
            if self.layout.row > 1 {
                self.copy_rows(store);
            } else if direct.get(&store.value) != Some(&at) {
                self.store(store, fused.get(&store.value).copied());
            }
        }
    }

    /// Whether a value can be computed where it is stored.
    fn is_direct(&self, store: &Store) -> bool {
        let (value, _) = &self.nest.values[store.value as usize];
        let computed = !matches!(value, NestValue::Load { .. } | NestValue::Constant(_) | NestValue::Gather { .. })
            || self.broken(store.value).is_some();
        let goes_on = self.layout.broken(&store.at).is_none();
        let in_step = goes_on && self.step(&store.at) == i64::from(self.runs[store.value as usize]);
        let whole = in_step && self.level_of(&store.at) <= self.levels[store.value as usize];
        computed && store.mode == StoreMode::Write && store.guards.is_empty() && store.index.is_none() && whole
    }

    /// Gives back the registers of the operands that nothing reads after this value.
    fn release(&mut self, at: usize) {
        let mut operands = self.nest.values[at].0.operands();
        operands.push(at as ValueId);
        operands.sort_unstable();
        operands.dedup();
        let level = self.levels[at];
        for operand in operands {
            if self.last_use[operand as usize] == at
                && self.levels[operand as usize] == level
                && let Some(slot) = self.places[operand as usize]
                && matches!(self.slots[slot as usize], Base::Register(TILE_REGISTER))
            {
                self.free[level].push(slot);
            }
        }
    }

    fn emit(&mut self, level: usize, is_run: bool, instruction: Instruction) {
        let level = &mut self.code[level];
        if is_run { level.tile.push(instruction) } else { level.single.push(instruction) }
    }

    fn value(&mut self, id: ValueId, target: Option<(u32, Affine)>) {
        let nest = self.nest;
        let (value, dtype) = &nest.values[id as usize];
        let (level, is_run) = (self.levels[id as usize], self.runs[id as usize]);
        let isa = self.isa;
        let result = |this: &mut Self| match &target {
            Some((buffer, at)) => this.buffer(*buffer, at, *dtype),
            None => this.register(level, is_run),
        };
        let slot = match value {
            NestValue::Constant(value) => self.constant(value.bits()),
            NestValue::Position(at) => {
                let at = self.linear(at);
                let result = result(self);
                self.emit(level, is_run, Instruction::Ramp { run: vector::ramp(isa), result, at });
                result
            }
            NestValue::Load { buffer, at, .. } if self.guarded_sums.contains(&id) => self.buffer(*buffer, at, *dtype),
            NestValue::Load { buffer, at, .. } if let Some(strides) = self.broken(id) => {
                let result = result(self);
                self.broken_rows(level, result, (*buffer, at), strides, (*dtype, false));
                result
            }
            NestValue::Load { buffer, at, guards } => self.load((level, is_run), *buffer, at, guards, *dtype),
            NestValue::Gather { buffer, at, stride, index, extent } => {
                self.gather((level, is_run), (*buffer, at), *stride, *index, *extent, *dtype)
            }
            NestValue::Unary(op, a) => {
                let parameter = self.constant(op.parameter().unwrap_or(0) as u64);
                let (run, a) = (vector::unary(isa, *op, *dtype), self.place(*a));
                let result = result(self);
                self.emit(level, is_run, Instruction::Kernel { run, result, a, b: parameter, c: a });
                result
            }
            NestValue::Binary(op, a, b) => {
                let run = vector::binary(isa, *op, *dtype, self.operand(*a, is_run), self.operand(*b, is_run));
                let (a, b) = (self.place(*a), self.place(*b));
                let result = result(self);
                self.emit(level, is_run, Instruction::Kernel { run, result, a, b, c: b });
                result
            }
            NestValue::Compare(op, a, b) => {
                let of = nest.values[*a as usize].1;
                let run = vector::compare(isa, *op, of, self.operand(*a, is_run), self.operand(*b, is_run));
                let (a, b) = (self.place(*a), self.place(*b));
                let result = result(self);
                self.emit(level, is_run, Instruction::Kernel { run, result, a, b, c: b });
                result
            }
            NestValue::Select(mask, yes, no) => {
                let run = vector::select(isa, *dtype, self.operand(*yes, is_run), self.operand(*no, is_run));
                let mask = self.as_run(*mask, (level, is_run), DType::Bool);
                let (yes, no) = (self.place(*yes), self.place(*no));
                let result = result(self);
                self.emit(level, is_run, Instruction::Kernel { run, result, a: mask, b: yes, c: no });
                result
            }
            NestValue::Cast(_, a) => {
                let run = vector::cast(isa, nest.values[*a as usize].1, *dtype);
                let a = self.place(*a);
                let result = result(self);
                self.emit(level, is_run, Instruction::Kernel { run, result, a, b: a, c: a });
                result
            }
            NestValue::Guarded(a, guards) => {
                let run = vector::strided_copy(isa, *dtype);
                let stride = match self.operand(*a, is_run) {
                    OperandForm::Run => dtype.bytes() as isize,
                    OperandForm::One => 0,
                };
                let (a, bounds) = (self.place(*a), self.bounds(guards));
                let result = result(self);
                let width = dtype.bytes();
                self.emit(level, is_run, Instruction::Masked { run, result, a, a_stride: stride, width, bounds });
                result
            }
        };
        self.places[id as usize] = Some(slot);
    }

    /// A value in the form of a run for a tile's instruction: values that the vector axis does not move are repeated.
    fn as_run(&mut self, id: ValueId, (level, is_run): (usize, bool), dtype: DType) -> Slot {
        let a = self.place(id);
        if self.operand(id, is_run) == OperandForm::Run {
            return a;
        }
        let result = self.register(level, is_run);
        self.emit(level, is_run, Instruction::Kernel { run: vector::fill(self.isa, dtype), result, a, b: a, c: a });
        result
    }

    /// Whether each instruction goes over memory of its own, so that none profits from another's cache lines. A sum of floats
    /// has the order of its tiles.
    fn is_one_pass(&self) -> bool {
        let (depth, nest) = (self.depth(), self.nest);
        let is_exact =
            |store: &Store| store.mode == StoreMode::Write || !nest.values[store.value as usize].1.is_float();
        let is_alone = matches!(self.code[depth].tile[..], [ref one] if !matches!(one, Instruction::Rows { .. }));
        let is_copy = |store: &Store| matches!(nest.values[store.value as usize].0, NestValue::Load { .. });
        let are_copies = nest.values.len() == nest.stores.len() && nest.stores.iter().all(is_copy);
        let is_last = self.layout.vector + 1 == depth && self.code[depth].after.is_empty();
        let has_registers = !self.tile_registers.is_empty();
        (is_alone || are_copies) && is_last && !has_registers && nest.stores.iter().all(is_exact)
    }

    fn finish(mut self) -> NestCode {
        let count = self.tile_registers.len();
        let vector = self.layout.extents[self.layout.vector];
        // If loops run inside of tiles, the memory that these touch should stay in the cache too.
        let touched: usize = match self.layout.vector + 1 < self.depth() {
            true => self.moves[self.layout.vector].iter().map(|&(_, stride)| stride.unsigned_abs().min(TOUCHED)).sum(),
            false => 0,
        };
        let fitting = (REGISTERS / (8 * count.max(1))).min(CACHE / touched.max(1)) / 64 * 64;
        let most = if self.is_one_pass() { vector } else { fitting.clamp(TILES[0], TILES[1]) };
        let tile = match self.layout.wrapped {
            Some(Wrapped { row, is_whole: true, .. }) => (most.min(vector) / row).max(1) * row,
            _ => most.min(vector.next_multiple_of(8)).max(1),
        };
        let mut slots = std::mem::take(&mut self.slots);
        let first = self.single.next_multiple_of(64);
        for (number, &slot) in self.tile_registers.iter().enumerate() {
            slots[slot as usize] = Base::Register(first + number * tile * 8);
        }
        let mut axes: Vec<Axis> = Vec::with_capacity(self.layout.extents.len());
        for (&extent, moves) in self.layout.extents.iter().zip(std::mem::take(&mut self.moves)) {
            axes.push(Axis { extent, moves, edges: Box::default() });
        }
        for limit in &self.limits {
            let position = self.layout.loop_of(limit.axis, self.nest.extents[limit.axis]).expect("a loop of its own");
            let edge = Edge {
                is_upper: limit.is_upper,
                bound: self.place(limit.value),
                others: self.linear(&limit.others),
                offset: limit.offset,
            };
            let edges = &mut axes[position].edges;
            *edges = std::mem::take(edges).into_iter().chain([edge]).collect();
        }
        NestCode {
            axes,
            vector: self.layout.vector,
            tile,
            slots,
            levels: self.code,
            constants: self.constants,
            registers: first + count * tile * 8,
            split: NestSplit::default(),
            machine_code: None,
            streaming: None,
        }
    }
}

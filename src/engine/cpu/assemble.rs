//! From a nest to the instructions that run it: the order of its loops, registers, and a kernel for every value.

mod stores;

use super::code::{Axis, Base, Bound, Code, Instruction, Linear, Slot};
use super::order::{Layout, layout};
use super::scatter::gather_along;
use super::split::Split;
use super::vector::{self, Instructions, Operand};
use crate::algebra::Reduction;
use crate::kernel::{Affine, Guard, Mode, Nest, Store, Value, ValueId};
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Type};
use std::collections::{HashMap, HashSet};

/// What an operand of an instruction is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    /// A run of elements one after the other, or the one element of an outer loop.
    Slot(Slot),
    /// Not computed yet, or of no use.
    Nowhere,
}

/// Bytes of the registers of a tile, which leave room in the first-level cache for what is read and written.
const REGISTERS: usize = 20 << 10;
/// Stands for the place of a tile's register until the size of tiles is known.
const TILE_REGISTER: usize = usize::MAX;
/// The least and the most elements of a tile.
const TILES: [usize; 2] = [64, 1024];

/// A sum that is computed together with its terms: of products, or of squares of differences, of which `inner` is one.
#[derive(Clone, Copy, Debug)]
struct Fused {
    a: ValueId,
    b: ValueId,
    inner: Option<ValueId>,
}

struct Assembler<'a> {
    isa: Instructions,
    nest: &'a Nest,
    layout: Layout,
    /// The level of each value: 0 for what no loop moves.
    levels: Vec<usize>,
    places: Vec<Place>,
    slots: Vec<Base>,
    /// Bytes that slots of buffers move by, by loop.
    moves: Vec<Vec<(Slot, isize)>>,
    code: Vec<Vec<Instruction>>,
    constants: Vec<u64>,
    constant_slots: HashMap<u64, Slot>,
    buffer_slots: HashMap<(u32, isize, Vec<isize>), Slot>,
    /// Registers of a tile: free ones, and how many there are.
    free: Vec<Slot>,
    /// Slots of tile registers by their number; offsets are known when the tile's size is.
    tile_registers: Vec<Slot>,
    /// Bytes of registers of one element.
    single: usize,
    /// The last instruction that reads each value, as a count of values and stores.
    last_use: Vec<usize>,
}

/// The instructions of a nest.
pub(super) fn assemble(isa: Instructions, nest: &Nest, types: &[Type]) -> Code {
    let layout = layout(nest);
    let split = Split::of(nest, &layout, types);
    let depth = layout.extents.len();
    let mut assembler = Assembler {
        isa,
        nest,
        levels: Vec::new(),
        places: vec![Place::Nowhere; nest.values.len()],
        slots: Vec::new(),
        moves: vec![Vec::new(); depth],
        code: vec![Vec::new(); depth + 1],
        constants: Vec::new(),
        constant_slots: HashMap::new(),
        buffer_slots: HashMap::new(),
        free: Vec::new(),
        tile_registers: Vec::new(),
        single: 0,
        last_use: Vec::new(),
        layout,
    };
    assembler.run();
    Code { split, ..assembler.finish() }
}

/// The elementwise operation that a reduction repeats.
pub(super) fn combining(op: Reduction, dtype: DType) -> Binary {
    match (op, dtype) {
        (Reduction::Sum | Reduction::Max, DType::Bool) => Binary::Or,
        (Reduction::Min, DType::Bool) => Binary::And,
        (Reduction::Sum, _) => Binary::Add,
        (Reduction::Max, _) => Binary::Max,
        (Reduction::Min, _) => Binary::Min,
    }
}

impl Assembler<'_> {
    fn depth(&self) -> usize {
        self.layout.extents.len()
    }

    /// The coefficients of an access by loop, outermost first.
    fn by_loop(&self, at: &Affine) -> Vec<i64> {
        self.layout.by_loop(at)
    }

    fn linear(&self, at: &Affine) -> Linear {
        let coefficients = self.by_loop(at);
        let terms = coefficients.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0);
        Linear {
            offset: at.offset,
            terms: terms.map(|(axis, &coefficient)| (axis as u8, coefficient)).collect(),
            step: *coefficients.last().expect("there is a vector axis"),
        }
    }

    fn bounds(&self, guards: &[Guard]) -> Box<[Bound]> {
        guards.iter().map(|guard| Bound { position: self.linear(&guard.position), extent: guard.extent }).collect()
    }

    /// The level of an affine function: one more than the innermost loop that moves it.
    fn level_of(&self, at: &Affine) -> usize {
        self.by_loop(at).iter().rposition(|&coefficient| coefficient != 0).map_or(0, |axis| axis + 1)
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
        let strides: Vec<isize> = self.by_loop(at).iter().map(|&coefficient| coefficient as isize * width).collect();
        let key = (buffer, at.offset as isize * width, strides);
        if let Some(&slot) = self.buffer_slots.get(&key) {
            return slot;
        }
        let slot = self.slot(Base::Buffer(buffer, key.1));
        for (moves, &stride) in self.moves.iter_mut().zip(&key.2) {
            if stride != 0 {
                moves.push((slot, stride));
            }
        }
        self.buffer_slots.insert(key, slot);
        slot
    }

    /// A register for a value of this level: of a tile at the vector axis, of one element elsewhere.
    fn register(&mut self, level: usize) -> Slot {
        if level < self.depth() {
            let slot = self.slot(Base::Register(self.single));
            self.single += 8;
            return slot;
        }
        match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = self.slot(Base::Register(TILE_REGISTER));
                self.tile_registers.push(slot);
                slot
            }
        }
    }

    fn is_vector(&self, level: usize) -> bool {
        level == self.depth()
    }

    /// How an instruction of a level sees a value.
    fn operand(&self, id: ValueId, level: usize) -> Operand {
        if self.is_vector(level) && !self.is_vector(self.levels[id as usize]) { Operand::One } else { Operand::Run }
    }

    fn place(&self, id: ValueId) -> Slot {
        match self.places[id as usize] {
            Place::Slot(slot) => slot,
            Place::Nowhere => unreachable!("operands come before their users"),
        }
    }

    fn run(&mut self) {
        let nest = self.nest;
        for (value, _) in &nest.values {
            let operands = value.operands().iter().map(|&id| self.levels[id as usize]).max().unwrap_or(0);
            self.levels.push(match value {
                Value::Constant(_) => 0,
                Value::Position(at) => self.level_of(at),
                Value::Load { at, guards, .. } => self.level_of(at).max(self.level_of_guards(guards)),
                Value::Gather { at, .. } => operands.max(self.level_of(at)),
                Value::Guarded(_, guards) => operands.max(self.level_of_guards(guards)),
                _ => operands,
            });
        }
        // What a store reads is kept until the end: stores come last.
        self.last_use = (0..nest.values.len()).collect();
        for (at, (value, _)) in nest.values.iter().enumerate() {
            for operand in value.operands() {
                self.last_use[operand as usize] = at;
            }
        }
        let mut direct: HashMap<ValueId, usize> = HashMap::new();
        for (at, store) in nest.stores.iter().enumerate() {
            self.last_use[store.value as usize] = usize::MAX;
            if let Some((index, ..)) = store.index {
                self.last_use[index as usize] = usize::MAX;
            }
            if self.is_direct(store) {
                direct.entry(store.value).or_insert(at);
            }
        }
        let fused = self.fused_sums();
        let mut skipped: HashSet<ValueId> = fused.keys().copied().collect();
        for sum in fused.values() {
            self.last_use[sum.a as usize] = usize::MAX;
            self.last_use[sum.b as usize] = usize::MAX;
            skipped.extend(sum.inner);
        }
        for at in 0..nest.values.len() {
            if skipped.contains(&(at as ValueId)) {
                continue;
            }
            let target = direct.get(&(at as ValueId)).map(|&store| &nest.stores[store]);
            let target = target.map(|store| (store.buffer, store.at.clone()));
            self.value(at as ValueId, target);
            self.release(at);
        }
        for (at, store) in nest.stores.iter().enumerate() {
            if direct.get(&store.value) != Some(&at) {
                self.store(store, fused.get(&store.value).copied());
            }
        }
    }

    /// Products and squares of differences that are only summed, whose sum is fused with them.
    fn fused_sums(&self) -> HashMap<ValueId, Fused> {
        let mut uses = vec![0u32; self.nest.values.len()];
        for (value, _) in &self.nest.values {
            value.operands().iter().for_each(|&id| uses[id as usize] += 1);
        }
        for store in &self.nest.stores {
            uses[store.value as usize] += 1;
            if let Some((index, ..)) = store.index {
                uses[index as usize] += 1;
            }
        }
        let mut fused = HashMap::new();
        for store in &self.nest.stores {
            let id = store.value as usize;
            let (value, dtype) = &self.nest.values[id];
            let plain = store.mode == Mode::Reduce(Reduction::Sum) && store.index.is_none() && store.guards.is_empty();
            if let Value::Binary(Binary::Mul, a, b) = *value
                && plain
                && uses[id] == 1
                && dtype.is_float()
                && self.is_vector(self.levels[id])
            {
                let stride = *self.by_loop(&store.at).last().expect("there is a vector axis");
                let runs = [a, b].map(|operand| self.is_vector(self.levels[operand as usize]));
                if stride == 1 || (stride == 0 && runs == [true, true]) {
                    fused.insert(store.value, Fused { a, b, inner: None });
                }
            }
            if let Value::Unary(Unary::Powi(2), inner) = *value
                && let (Value::Binary(Binary::Sub, a, b), _) = self.nest.values[inner as usize]
                && plain
                && uses[id] == 1
                && uses[inner as usize] == 1
                && dtype.is_float()
                && [a, b].iter().all(|&operand| self.is_vector(self.levels[operand as usize]))
                && self.by_loop(&store.at).last() == Some(&0)
            {
                fused.insert(store.value, Fused { a, b, inner: Some(inner) });
            }
        }
        fused
    }

    /// Whether a value can be computed where it is stored.
    fn is_direct(&self, store: &Store) -> bool {
        let (value, _) = &self.nest.values[store.value as usize];
        let computed = !matches!(value, Value::Load { .. } | Value::Constant(_) | Value::Gather { .. });
        let vector = *self.by_loop(&store.at).last().expect("there is a vector axis");
        let level = self.levels[store.value as usize];
        let whole = if self.is_vector(level) { vector == 1 } else { self.level_of(&store.at) <= level };
        computed && store.mode == Mode::Write && store.guards.is_empty() && store.index.is_none() && whole
    }

    /// Gives back the registers of the operands that nothing reads after this value.
    fn release(&mut self, at: usize) {
        let mut operands = self.nest.values[at].0.operands();
        operands.push(at as ValueId);
        operands.sort_unstable();
        operands.dedup();
        for operand in operands {
            if self.last_use[operand as usize] == at
                && let Place::Slot(slot) = self.places[operand as usize]
                && matches!(self.slots[slot as usize], Base::Register(TILE_REGISTER))
            {
                self.free.push(slot);
            }
        }
    }

    fn emit(&mut self, level: usize, instruction: Instruction) {
        self.code[level].push(instruction);
    }

    fn value(&mut self, id: ValueId, target: Option<(u32, Affine)>) {
        let nest = self.nest;
        let (value, dtype) = &nest.values[id as usize];
        let level = self.levels[id as usize];
        let isa = self.isa;
        let result = |this: &mut Self| match &target {
            Some((buffer, at)) => this.buffer(*buffer, at, *dtype),
            None => this.register(level),
        };
        let slot = match value {
            Value::Constant(value) => self.constant(value.bits()),
            Value::Position(at) => {
                let at = self.linear(at);
                let result = result(self);
                self.emit(level, Instruction::Ramp { run: vector::ramp(isa), result, at });
                result
            }
            Value::Load { buffer, at, guards } => self.load(level, *buffer, at, guards, *dtype),
            Value::Gather { buffer, at, stride, index, extent } => {
                self.gather(level, (*buffer, at), *stride, *index, *extent, *dtype)
            }
            Value::Unary(op, a) => {
                let parameter = self.constant(op.parameter().unwrap_or(0) as u64);
                let (run, a) = (vector::unary(isa, *op, *dtype), self.place(*a));
                let result = result(self);
                self.emit(level, Instruction::Kernel { run, result, a, b: parameter, c: a });
                result
            }
            Value::Binary(op, a, b) => {
                let run = vector::binary(isa, *op, *dtype, self.operand(*a, level), self.operand(*b, level));
                let (a, b) = (self.place(*a), self.place(*b));
                let result = result(self);
                self.emit(level, Instruction::Kernel { run, result, a, b, c: b });
                result
            }
            Value::Compare(op, a, b) => {
                let of = nest.values[*a as usize].1;
                let run = vector::compare(isa, *op, of, self.operand(*a, level), self.operand(*b, level));
                let (a, b) = (self.place(*a), self.place(*b));
                let result = result(self);
                self.emit(level, Instruction::Kernel { run, result, a, b, c: b });
                result
            }
            Value::Select(mask, yes, no) => {
                let run = vector::select(isa, *dtype, self.operand(*yes, level), self.operand(*no, level));
                let mask = self.as_run(*mask, level, DType::Bool);
                let (yes, no) = (self.place(*yes), self.place(*no));
                let result = result(self);
                self.emit(level, Instruction::Kernel { run, result, a: mask, b: yes, c: no });
                result
            }
            Value::Cast(_, a) => {
                let run = vector::cast(isa, nest.values[*a as usize].1, *dtype);
                let a = self.place(*a);
                let result = result(self);
                self.emit(level, Instruction::Kernel { run, result, a, b: a, c: a });
                result
            }
            Value::Guarded(a, guards) => {
                let run = vector::strided_copy(isa, *dtype);
                let stride = match self.operand(*a, level) {
                    Operand::Run => dtype.bytes() as isize,
                    Operand::One => 0,
                };
                let (a, bounds) = (self.place(*a), self.bounds(guards));
                let result = result(self);
                let width = dtype.bytes();
                self.emit(level, Instruction::Masked { run, result, a, a_stride: stride, width, bounds });
                result
            }
        };
        self.places[id as usize] = Place::Slot(slot);
    }

    /// A value as a run at a level: what outer loops compute is repeated.
    fn as_run(&mut self, id: ValueId, level: usize, dtype: DType) -> Slot {
        let a = self.place(id);
        if self.operand(id, level) == Operand::Run {
            return a;
        }
        let result = self.register(level);
        self.emit(level, Instruction::Kernel { run: vector::fill(self.isa, dtype), result, a, b: a, c: a });
        result
    }

    fn load(&mut self, level: usize, buffer: u32, at: &Affine, guards: &[Guard], dtype: DType) -> Slot {
        let (step, width) = (*self.by_loop(at).last().expect("there is a vector axis"), dtype.bytes());
        let a = self.buffer(buffer, at, dtype);
        let stride = step as isize * width as isize;
        let run = vector::strided_copy(self.isa, dtype);
        if !guards.is_empty() {
            let (result, bounds) = (self.register(level), self.bounds(guards));
            self.emit(level, Instruction::Masked { run, result, a, a_stride: stride, width, bounds });
            return result;
        }
        if step == 1 || !self.is_vector(level) {
            return a;
        }
        let result = self.register(level);
        let width = width as isize;
        self.emit(level, Instruction::Strided { run, result, result_stride: width, a, a_stride: stride });
        result
    }

    fn gather(
        &mut self,
        level: usize,
        (buffer, at): (u32, &Affine),
        stride: i64,
        index: ValueId,
        extent: i64,
        dtype: DType,
    ) -> Slot {
        let width = dtype.bytes() as isize;
        let bytes = stride as isize * width;
        let step = *self.by_loop(at).last().expect("there is a vector axis") as isize;
        let source = self.buffer(buffer, at, dtype);
        let place = self.place(index);
        if self.is_vector(level) && self.operand(index, level) == Operand::One {
            // A row, from a computed position on.
            let result = self.register(level);
            let run = vector::strided_copy(self.isa, dtype);
            self.emit(
                level,
                Instruction::Row {
                    run,
                    result,
                    width: dtype.bytes(),
                    source,
                    source_stride: step * width,
                    stride: bytes,
                    index: place,
                    extent,
                },
            );
            return result;
        }
        let result = self.register(level);
        if step == 0 || !self.is_vector(level) {
            let run = vector::gather(self.isa, dtype);
            self.emit(level, Instruction::Gather { run, result, source, stride: bytes, index: place, extent });
            return result;
        }
        // Both the index and the place move along the vector axis: element by element.
        let run = gather_along(dtype);
        let index = (place, 8);
        self.emit(
            level,
            Instruction::Along {
                run,
                result: source,
                along: step * width,
                stride: bytes,
                index,
                extent,
                value: (result, width),
            },
        );
        result
    }

    fn finish(self) -> Code {
        let count = self.tile_registers.len();
        let vector = *self.layout.extents.last().expect("there is a vector axis");
        let fitting = REGISTERS / (8 * count.max(1)) / 64 * 64;
        let tile = fitting.clamp(TILES[0], TILES[1]).min(vector.next_multiple_of(8)).max(1);
        let mut slots = self.slots;
        let first = self.single.next_multiple_of(64);
        for (number, &slot) in self.tile_registers.iter().enumerate() {
            slots[slot as usize] = Base::Register(first + number * tile * 8);
        }
        let axes = self.layout.extents.iter().zip(self.moves);
        Code {
            axes: axes.map(|(&extent, moves)| Axis { extent, moves }).collect(),
            tile,
            slots,
            levels: self.code,
            constants: self.constants,
            registers: first + count * tile * 8,
            split: Split::default(),
        }
    }
}

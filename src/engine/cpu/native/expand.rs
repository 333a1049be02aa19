//! From a nest to vector code: loops in the order of a layout, with one of them cut into registers.
//!
//! The vector axis goes in steps of some registers, its copies. Loops outside of it move pointers; loops inside run for each
//! step, with sums in registers. What a store combines with is kept in registers for all loops that its place does not move
//! with: in one for each copy, whose sum is taken copy by copy and then by halves.

use super::order;
use super::program::{Address, Builder, Count, Form, Kind, Op, Position, Predicate, Step, Value};
use super::traced::{Traced, noted};
use crate::array::neutral_value;
use crate::engine::cpu::code::Base;
use crate::engine::cpu::layout::NestLayout;
use crate::engine::cpu::slot::Slot;
use crate::engine::cpu::vector::formulas::{self, Formula};
use crate::engine::cpu::vector::lanes::Real;
use crate::kernel::{Affine, Guard, Nest, NestValue, Store, StoreMode, ValueId};
use crate::operation::{Binary, Comparison, Reduction, Unary};
use crate::shape::DType;
use crate::term::hash::TermMap;
use smallvec::SmallVec;

/// Registers that go along the vector axis in one step at most.
const COPIES: usize = 4;
/// About so many operations are worth a step.
const STEP: usize = 24;

impl Expanded {
    /// Bytes of a register of the widest elements.
    pub(super) fn width(&self) -> u32 {
        self.bytes
    }
}

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
    bases: Vec<Base>,
    moves: Vec<Vec<(Slot, isize)>>,
    pointers: TermMap<(u32, SmallVec<[isize; 4]>), u32>,
    partials: TermMap<u32, u32>,
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
}

/// The lanes of registers of so many bytes that hold the widest elements of a nest; `None` where there is no code for elements of
/// several widths.
pub(super) fn lanes(nest: &Nest, width: usize) -> Option<usize> {
    let bytes = |dtype: DType| if dtype == DType::Bool { 1 } else { dtype.bytes() };
    let widest = nest.values.iter().map(|(value, dtype)| bytes(*dtype).max(bytes_of(value, *dtype))).max()?.max(4);
    let is_widest = |dtype: DType| dtype == DType::Bool || dtype.bytes() == widest;
    (width == 64 || nest.values.iter().all(|(_, dtype)| is_widest(*dtype))).then_some(width / widest)
}

/// The vector code of a nest; `None` where there is none for what it does.
pub(super) fn expand(
    nest: &Nest,
    layout: &NestLayout,
    partials: TermMap<u32, u32>,
    (lanes, width): (usize, usize),
) -> Option<Expanded> {
    let depth = layout.extents.len();
    let mut expander = Expander {
        nest,
        layout,
        builder: Builder::default(),
        levels: Vec::new(),
        runs: Vec::new(),
        uses: nest.uses(),
        bases: Vec::new(),
        moves: vec![Vec::new(); depth],
        pointers: TermMap::default(),
        partials,
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
            expander.copies = expander.copies()?;
        }
    }
    expander.step(0)?;
    let Expander { builder, bases, moves, lanes, bytes, .. } = expander;
    let vector = layout.vector as u32;
    Some(Expanded {
        steps: builder.steps,
        kinds: builder.kinds,
        bases,
        moves,
        lanes: lanes as u32,
        bytes: bytes as u32,
        vector,
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
        (sums <= 8).then_some(1 << fitting.ilog2())
    }

    /// A step of the loop around this level, or what is outside of all loops.
    fn step(&mut self, level: usize) -> Option<()> {
        for id in 0..self.nest.values.len() {
            if self.levels[id] == level {
                let copies = if self.runs[id] { self.present } else { 1 };
                for copy in 0..copies {
                    self.value(id as ValueId, copy)?;
                }
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
            self.stored(at, level)?;
        }
        for at in 0..self.nest.stores.len() {
            if self.is_summed(at) && self.level_of(&self.nest.stores[at].at) == level {
                self.end_sum(at)?;
            }
        }
        Some(())
    }

    /// A loop that is not the vector axis.
    fn around(&mut self, axis: usize) -> Option<()> {
        let extent = self.layout.extents[axis];
        let count = if axis == 0 { Count::Asked } else { Count::Known(u32::try_from(extent).ok()?) };
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
        if axis == 0 {
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
            self.looped(copies, Count::Elements { step: whole as u32, end: u32::try_from(end).ok()? })?;
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

    /// The lanes of a register that there are elements for, if not all.
    fn mask(&self, copy: usize) -> Option<Value> {
        self.rest.filter(|_| copy + 1 == self.present)
    }

    fn place(&mut self, id: ValueId, copy: usize) -> Value {
        let copy = if self.runs[id as usize] { copy as u32 } else { 0 };
        self.values[&(id, copy)]
    }

    /// The pointer of an access with these strides in bytes.
    fn pointer(&mut self, buffer: u32, strides: SmallVec<[isize; 4]>) -> Option<u32> {
        if let Some(&pointer) = self.pointers.get(&(buffer, strides.clone())) {
            return Some(pointer);
        }
        let pointer = self.bases.len() as u32;
        self.bases.push(match self.partials.get(&buffer) {
            Some(&position) => Base::Partial(position, 0),
            None => Base::Buffer(buffer, 0),
        });
        for (moves, &stride) in self.moves.iter_mut().zip(&strides) {
            if stride != 0 {
                moves.push((Slot::try_from(pointer).ok()?, stride));
            }
        }
        self.pointers.insert((buffer, strides), pointer);
        Some(pointer)
    }

    fn strides(&self, at: &Affine, dtype: DType) -> SmallVec<[isize; 4]> {
        let width = dtype.bytes() as i64;
        self.layout.by_loop(at).iter().map(|&coefficient| (coefficient * width) as isize).collect()
    }

    /// A place in a buffer, and how lanes go on from it.
    fn access(&mut self, buffer: u32, at: &Affine, dtype: DType, copy: usize) -> Option<(Form, Address)> {
        let (width, along) = (dtype.bytes() as i64, self.along(at));
        let strides = self.strides(at, dtype);
        let pointer = self.pointer(buffer, strides)?;
        let offset = at.offset * width + (copy * self.lanes) as i64 * along * width;
        let form = match along {
            0 => Form::One,
            1 => Form::Run,
            _ => Form::Apart(i32::try_from(along * width).ok()?),
        };
        let offset = i32::try_from(offset).ok()?;
        Some((form, Address { pointer, offset, indexed: along == 1, row: None }))
    }

    /// A place at a computed position, which is the same in all lanes.
    fn row(
        &mut self,
        (buffer, at, dtype): (u32, &Affine, DType),
        (index, stride): (Value, i64),
        copy: usize,
    ) -> Option<(Form, Address)> {
        let (form, address) = self.access(buffer, at, dtype, copy)?;
        let stride = i32::try_from(stride.checked_mul(dtype.bytes() as i64)?).ok()?;
        Some((form, Address { row: Some((index, stride)), ..address }))
    }

    /// Places at positions that are computed for each lane, as distances.
    fn scattered(
        &mut self,
        (buffer, at, dtype): (u32, &Affine, DType),
        (index, stride): (Value, i64),
        copy: usize,
    ) -> Option<(Value, Address)> {
        let (width, along) = (dtype.bytes() as i64, self.along(at));
        let mut strides = self.strides(at, dtype);
        strides[self.layout.vector] = 0;
        let pointer = self.pointer(buffer, strides)?;
        let stride = stride.checked_mul(width)?;
        // Products of AVX2 are those of numbers without sign.
        let magnitude = i64::try_from(stride.unsigned_abs()).ok()?;
        let mut distances = match (magnitude as u64).is_power_of_two() {
            true => self.builder.compute(Op::ShiftLeft(magnitude.trailing_zeros() as u8), Kind::I64, &[index]),
            false => {
                let magnitude = self.builder.constant(Kind::I64, i32::try_from(magnitude).ok()? as u64);
                self.builder.compute(Op::Mul, Kind::I64, &[index, magnitude])
            }
        };
        if stride < 0 {
            let zero = self.builder.constant(Kind::I64, 0);
            distances = self.builder.compute(Op::Sub, Kind::I64, &[zero, distances]);
        }
        if along != 0 {
            let along = along * width;
            let at = Position { offset: (copy * self.lanes) as i64 * along, terms: SmallVec::new(), along };
            let lanes = self.position(Kind::I64, at);
            distances = self.builder.compute(Op::Add, Kind::I64, &[distances, lanes]);
        }
        let offset = i32::try_from(at.offset * width).ok()?;
        Some((distances, Address { pointer, offset, indexed: false, row: None }))
    }

    fn position(&mut self, kind: Kind, at: Position) -> Value {
        if let Some(&value) = self.positions.get(&(kind, at.clone())) {
            return value;
        }
        let value = self.builder.position(kind, at.clone());
        self.positions.insert((kind, at), value);
        value
    }

    /// An affine function in the lanes of a register.
    fn affine(&mut self, kind: Kind, at: &Affine, copy: usize) -> Value {
        let along = self.along(at);
        let by_loop = self.layout.by_loop(at);
        let terms = by_loop.iter().enumerate().filter(|&(axis, &by)| axis != self.layout.vector && by != 0);
        let terms = terms.map(|(axis, &by)| (axis as u32, by)).collect();
        let offset = at.offset.wrapping_add(((copy * self.lanes) as i64).wrapping_mul(along));
        self.position(kind, Position { offset, terms, along })
    }

    /// Where guards hold, and the mask too.
    fn guarded(&mut self, guards: &[Guard], copy: usize, mask: Option<Value>) -> Option<Option<Value>> {
        let kind = self.integers;
        let mut all = mask;
        for guard in guards {
            // Positions that are not of 64 bits are of 32.
            let reach = guard.position.magnitude(&self.nest.extents)?.max(guard.extent as usize);
            if kind == Kind::I32 && i32::try_from(reach).is_err() {
                return None;
            }
            let position = self.affine(kind, &guard.position, copy);
            let extent = self.builder.constant(kind, guard.extent as u64);
            let inside = self.builder.compute(Op::Compare(Predicate::Below), kind, &[position, extent]);
            all = self.builder.both(Some(inside), all);
        }
        Some(all)
    }

    /// Where a computed position is inside.
    fn inside(&mut self, index: Value, extent: i64, mask: Option<Value>) -> Option<Value> {
        let extent = self.builder.constant(Kind::I64, extent as u64);
        let inside = self.builder.compute(Op::Compare(Predicate::Below), Kind::I64, &[index, extent]);
        self.builder.both(Some(inside), mask)
    }

    /// Computes a value for one register.
    fn value(&mut self, id: ValueId, copy: usize) -> Option<()> {
        let nest = self.nest;
        let (value, dtype) = &nest.values[id as usize];
        if self.is_multiplied(id) {
            return Some(());
        }
        let kind = Kind::of(*dtype);
        let result = match value {
            NestValue::Constant(value) => self.builder.constant(kind, value.bits()),
            NestValue::Position(at) => self.affine(kind, at, copy),
            NestValue::Load { buffer, at, guards, .. } => {
                let (form, address) = self.access(*buffer, at, *dtype, copy)?;
                // Lanes behind the end may be where a guard holds, and the place outside.
                let is_for_all = form == Form::One && !self.guards_run(guards);
                let mask = if is_for_all { None } else { self.mask(copy) };
                let mask = self.guarded(guards, copy, mask)?;
                self.builder.load(kind, form, address, mask)
            }
            NestValue::Gather { buffer, at, stride, index, extent } => {
                let position = self.place(*index, copy);
                let mask = self.inside(position, *extent, self.mask(copy));
                let access = (*buffer, at, *dtype);
                let (form, address) = match self.runs[*index as usize] {
                    true => {
                        let (distances, address) = self.scattered(access, (position, *stride), copy)?;
                        (Form::At(distances), address)
                    }
                    false => self.row(access, (position, *stride), copy)?,
                };
                self.builder.load(kind, form, address, mask)
            }
            NestValue::Guarded(a, guards) => {
                let a = self.place(*a, copy);
                let mask = self.guarded(guards, copy, None)?.expect("there are guards");
                match kind {
                    Kind::Mask => self.builder.compute(Op::And, kind, &[mask, a]),
                    _ => {
                        let zero = self.builder.constant(kind, 0);
                        self.builder.compute(Op::Select, kind, &[mask, a, zero])
                    }
                }
            }
            NestValue::Unary(op, a) => {
                let a = self.place(*a, copy);
                self.unary(*op, kind, a, copy)?
            }
            NestValue::Binary(op, a, b) => {
                let (a, b) = (self.place(*a, copy), self.place(*b, copy));
                self.binary(*op, kind, a, b, copy)?
            }
            NestValue::Compare(comparison, a, b) => {
                let of = Kind::of(nest.values[*a as usize].1);
                let (a, b) = (self.place(*a, copy), self.place(*b, copy));
                self.compare(*comparison, of, a, b)?
            }
            NestValue::Select(mask, yes, no) => {
                let operands = [*mask, *yes, *no].map(|id| self.place(id, copy));
                self.select(kind, operands)
            }
            NestValue::Cast(_, a) => {
                let (from, a) = (Kind::of(nest.values[*a as usize].1), self.place(*a, copy));
                self.cast(from, kind, a)?
            }
        };
        let copy = if self.runs[id as usize] { copy as u32 } else { 0 };
        self.values.insert((id, copy), result);
        Some(())
    }

    fn select(&mut self, kind: Kind, [mask, yes, no]: [Value; 3]) -> Value {
        if kind != Kind::Mask {
            return self.builder.compute(Op::Select, kind, &[mask, yes, no]);
        }
        let not = self.builder.compute(Op::Not, kind, &[mask]);
        let [yes, no] = [(mask, yes), (not, no)].map(|(mask, of)| self.builder.compute(Op::And, kind, &[mask, of]));
        self.builder.compute(Op::Or, kind, &[yes, no])
    }

    fn cast(&mut self, from: Kind, kind: Kind, a: Value) -> Option<Value> {
        Some(match (from, kind) {
            _ if from == kind => a,
            (Kind::F32, Kind::F64)
            | (Kind::F64, Kind::F32)
            | (Kind::I64, Kind::F64)
            | (Kind::I32, Kind::F64 | Kind::F32 | Kind::I64) => self.builder.compute(Op::Convert(from), kind, &[a]),
            (Kind::Mask, _) => {
                let one = self.builder.constant(kind, one_of(kind));
                let zero = self.builder.constant(kind, 0);
                self.builder.compute(Op::Select, kind, &[a, one, zero])
            }
            _ => return None,
        })
    }

    fn unary(&mut self, op: Unary, kind: Kind, a: Value, copy: usize) -> Option<Value> {
        match kind {
            Kind::F64 => self.formula(kind, [a, a], copy, || formulas::unary(op, Traced::<f64>::new(a))),
            Kind::F32 => self.formula(kind, [a, a], copy, || formulas::unary(op, Traced::<f32>::new(a))),
            Kind::Mask if op == Unary::Not => Some(self.builder.compute(Op::Not, kind, &[a])),
            Kind::I32 | Kind::I64 if op == Unary::Neg => {
                let zero = self.builder.constant(kind, 0);
                Some(self.builder.compute(Op::Sub, kind, &[zero, a]))
            }
            _ => None,
        }
    }

    fn binary(&mut self, op: Binary, kind: Kind, a: Value, b: Value, copy: usize) -> Option<Value> {
        let (double, single) = (Traced::<f64>::new, Traced::<f32>::new);
        match (kind, op) {
            (Kind::F64, _) => self.formula(kind, [a, b], copy, || formulas::binary(op, double(a), double(b))),
            (Kind::F32, _) => self.formula(kind, [a, b], copy, || formulas::binary(op, single(a), single(b))),
            (Kind::I32 | Kind::I64, Binary::Add) => Some(self.builder.compute(Op::Add, kind, &[a, b])),
            (Kind::I32 | Kind::I64, Binary::Sub) => Some(self.builder.compute(Op::Sub, kind, &[a, b])),
            // With AVX2 products of 64 bits are not written yet.
            (Kind::I32 | Kind::I64, Binary::Mul) if self.bytes == 64 || kind == Kind::I32 => {
                Some(self.builder.compute(Op::Mul, kind, &[a, b]))
            }
            (Kind::I32 | Kind::I64, Binary::Min | Binary::MinRight) if self.bytes == 64 || kind == Kind::I32 => {
                Some(self.builder.compute(Op::Min, kind, &[a, b]))
            }
            (Kind::I32 | Kind::I64, Binary::Max | Binary::MaxRight) if self.bytes == 64 || kind == Kind::I32 => {
                Some(self.builder.compute(Op::Max, kind, &[a, b]))
            }
            (Kind::I32 | Kind::I64, Binary::BitAnd) => Some(self.builder.compute(Op::And, kind, &[a, b])),
            (Kind::I32 | Kind::I64, Binary::BitOr) => Some(self.builder.compute(Op::Or, kind, &[a, b])),
            (Kind::I32 | Kind::I64, Binary::BitXor) => Some(self.builder.compute(Op::Xor, kind, &[a, b])),
            (Kind::Mask, Binary::And) => Some(self.builder.compute(Op::And, kind, &[a, b])),
            (Kind::Mask, Binary::Or) => Some(self.builder.compute(Op::Or, kind, &[a, b])),
            (Kind::Mask, Binary::Xor) => Some(self.builder.compute(Op::Xor, kind, &[a, b])),
            _ => None,
        }
    }

    /// A formula's result, with the operation table's where operands are out of its range.
    fn formula<T: Real>(
        &mut self,
        kind: Kind,
        operands: [Value; 2],
        copy: usize,
        formula: impl FnOnce() -> Option<Formula<Traced<T>>>,
    ) -> Option<Value> {
        let Formula { value, outside, correction } = noted(&mut self.builder, formula)?;
        let (Some(outside), Some(correction)) = (outside.value(), correction) else { return Some(value.0) };
        let mask = self.builder.both(Some(outside), self.mask(copy)).expect("there is one");
        Some(self.builder.correct(kind, value.0, operands, mask, correction))
    }

    fn compare(&mut self, comparison: Comparison, kind: Kind, a: Value, b: Value) -> Option<Value> {
        let compare = |this: &mut Self, predicate: Predicate, a: Value, b: Value| {
            this.builder.compute(Op::Compare(predicate), kind, &[a, b])
        };
        if kind == Kind::Mask {
            return None;
        }
        Some(match comparison {
            Comparison::Less => compare(self, Predicate::Less, a, b),
            Comparison::LessEqual => compare(self, Predicate::LessEqual, a, b),
            Comparison::Greater => compare(self, Predicate::Less, b, a),
            Comparison::GreaterEqual => compare(self, Predicate::LessEqual, b, a),
            Comparison::Equal => compare(self, Predicate::Equal, a, b),
            Comparison::NotEqual => {
                let equal = compare(self, Predicate::Equal, a, b);
                self.builder.compute(Op::Not, Kind::Mask, &[equal])
            }
        })
    }

    /// Whether a store's elements are combined in registers while loops run.
    fn is_summed(&self, at: usize) -> bool {
        let store = &self.nest.stores[at];
        let scope = self.level_of(&store.at);
        // Where guards hold in some steps only, the place may be outside in others.
        let is_inside = self.level_of_guards(&store.guards) <= scope;
        store.mode != StoreMode::Write && store.index.is_none() && scope < self.depth() && is_inside
    }

    /// Whether a value is a product that a sum alone takes, with one rounding for both.
    fn is_multiplied(&self, id: ValueId) -> bool {
        self.factors(id).is_some()
            && self.nest.stores.iter().any(|store| {
                let is_plain = store.index.is_none_or(|(index, ..)| !self.runs[index as usize]);
                is_plain
                    && store.value == id
                    && store.mode == StoreMode::Reduce(Reduction::Sum)
                    && self.uses[id as usize] == 1
            })
    }

    fn factors(&self, id: ValueId) -> Option<[ValueId; 2]> {
        let (value, dtype) = &self.nest.values[id as usize];
        match value {
            _ if !dtype.is_float() => None,
            NestValue::Binary(Binary::Mul, a, b) => Some([*a, *b]),
            NestValue::Unary(Unary::Powi(2), a) => Some([*a, *a]),
            _ => None,
        }
    }

    fn begin_sum(&mut self, at: usize) {
        let store = &self.nest.stores[at];
        let StoreMode::Reduce(op) = store.mode else { unreachable!("what is summed") };
        let dtype = self.nest.values[store.value as usize].1;
        let copies = if self.level_of(&store.at) > self.vector() { self.present } else { self.copies };
        let neutral = self.builder.constant(Kind::of(dtype), neutral_value(op, dtype).bits());
        self.sums[at] = (0..copies).map(|_| self.builder.variable(neutral)).collect();
    }

    fn combined(&mut self, store: &Store, sum: Value, value: Value) -> Option<Value> {
        let StoreMode::Reduce(op) = store.mode else { unreachable!("what is summed") };
        let dtype = self.nest.values[store.value as usize].1;
        self.binary(op.combining(dtype), Kind::of(dtype), sum, value, 0)
    }

    /// A sum with the value of a store added, on the lanes that there are elements for.
    fn added(&mut self, store: &Store, sum: Value, copy: usize) -> Option<Value> {
        let kind = Kind::of(self.nest.values[store.value as usize].1);
        let added = match self.factors(store.value).filter(|_| self.is_multiplied(store.value)) {
            Some(factors) => {
                let [a, b] = factors.map(|id| self.place(id, copy));
                self.builder.compute(Op::MultiplyAdd, kind, &[a, b, sum])
            }
            None => {
                let value = self.place(store.value, copy);
                self.combined(store, sum, value)?
            }
        };
        let mask = self.guarded(&store.guards, copy, self.mask(copy))?;
        Some(match mask {
            Some(mask) => self.builder.compute(Op::Select, kind, &[mask, added, sum]),
            None => added,
        })
    }

    /// The part of a store that belongs to a level.
    fn stored(&mut self, at: usize, level: usize) -> Option<()> {
        let store = &self.nest.stores[at];
        let dtype = self.nest.values[store.value as usize].1;
        let kind = Kind::of(dtype);
        if kind == Kind::Mask && store.mode != StoreMode::Write {
            return None;
        }
        if store.index.is_some_and(|(index, ..)| self.runs[index as usize]) {
            return if level == self.depth() { self.scatter(store, kind, dtype) } else { Some(()) };
        }
        if store.mode == StoreMode::Write {
            let index = store.index.map_or(0, |(index, ..)| self.levels[index as usize]);
            let guards = self.level_of_guards(&store.guards);
            if level != self.levels[store.value as usize].max(self.level_of(&store.at)).max(index).max(guards) {
                return Some(());
            }
            let moves = self.along(&store.at) != 0;
            if !moves && (self.runs[store.value as usize] || self.guards_run(&store.guards)) {
                return None;
            }
            for copy in 0..if moves { self.present } else { 1 } {
                let value = self.place(store.value, copy);
                let (form, address, mask) = self.target(store, dtype, copy)?;
                self.builder.store(value, kind, form, address, mask);
            }
            return Some(());
        }
        if level != self.depth() {
            return Some(());
        }
        if self.is_summed(at) {
            for copy in 0..self.present {
                let sum = self.sums[at][copy];
                let added = self.added(store, sum, copy)?;
                self.builder.assign(sum, added);
            }
            return Some(());
        }
        if self.along(&store.at) == 0 {
            return None;
        }
        for copy in 0..self.present {
            let (form, address, mask) = self.target(store, dtype, copy)?;
            let found = self.builder.load(kind, form, address, mask);
            let added = self.added(store, found, copy)?;
            self.builder.store(added, kind, form, address, mask);
        }
        Some(())
    }

    /// Where a store goes, and in which lanes it does.
    fn target(&mut self, store: &Store, dtype: DType, copy: usize) -> Option<(Form, Address, Option<Value>)> {
        let access = (store.buffer, &store.at, dtype);
        let mask = if self.along(&store.at) == 0 { None } else { self.mask(copy) };
        let mask = self.guarded(&store.guards, copy, mask)?;
        match store.index {
            None => {
                let (form, address) = self.access(store.buffer, &store.at, dtype, copy)?;
                Some((form, address, mask))
            }
            Some((index, stride, extent)) => {
                let position = self.place(index, copy);
                let mask = self.inside(position, extent, mask);
                let (form, address) = self.row(access, (position, stride), copy)?;
                Some((form, address, mask))
            }
        }
    }

    /// A store at positions that are computed for each lane.
    fn scatter(&mut self, store: &Store, kind: Kind, dtype: DType) -> Option<()> {
        let adds = match store.mode {
            StoreMode::Write => false,
            StoreMode::Reduce(Reduction::Sum) if kind.is_float() => true,
            StoreMode::Reduce(_) => return None,
        };
        if !matches!(kind, Kind::F32 | Kind::F64) {
            return None;
        }
        let (index, stride, extent) = store.index?;
        for copy in 0..self.present {
            let (value, position) = (self.place(store.value, copy), self.place(index, copy));
            let mask = self.guarded(&store.guards, copy, self.mask(copy))?;
            let mask = self.inside(position, extent, mask).expect("there is one");
            let access = (store.buffer, &store.at, dtype);
            let (distances, address) = self.scattered(access, (position, stride), copy)?;
            self.builder.steps.push(Step::Scatter { value, kind, address, distances, mask, adds });
        }
        Some(())
    }

    /// Combines registers with what is in memory.
    fn end_sum(&mut self, at: usize) -> Option<()> {
        let store = &self.nest.stores[at];
        let dtype = self.nest.values[store.value as usize].1;
        let kind = Kind::of(dtype);
        let mut sums = std::mem::take(&mut self.sums[at]);
        if self.along(&store.at) != 0 {
            for (copy, sum) in sums.into_iter().enumerate() {
                let (form, address, mask) = self.target(store, dtype, copy)?;
                let found = self.builder.load(kind, form, address, mask);
                let value = self.combined(store, found, sum)?;
                self.builder.store(value, kind, form, address, mask);
            }
            return Some(());
        }
        // The place may be outside where a guard holds in no lane.
        if self.guards_run(&store.guards) {
            return None;
        }
        while sums.len() > 1 {
            let half = sums.len().div_ceil(2);
            for copy in half..sums.len() {
                sums[copy - half] = self.combined(store, sums[copy - half], sums[copy])?;
            }
            sums.truncate(half);
        }
        let mut sum = sums[0];
        let mut bytes = self.lanes as u32 * kind.bytes() / 2;
        while bytes >= kind.bytes() {
            let upper = self.builder.compute(Op::Upper(bytes as u8), kind, &[sum]);
            sum = self.combined(store, sum, upper)?;
            bytes /= 2;
        }
        let (form, address, mask) = self.target(store, dtype, 0)?;
        let found = self.builder.load(kind, form, address, mask);
        let sum = self.combined(store, found, sum)?;
        self.builder.store(sum, kind, form, address, mask);
        Some(())
    }
}

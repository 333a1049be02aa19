//! Nests: loops around a graph of scalar operations.

use crate::kernel::access::{Affine, Guard, Guards};
use crate::kernel::buffer::BufferId;
use crate::operation::{Binary, Comparison, Reduction, Unary};
use crate::shape::{self, DType, Shape};
use crate::term::Op;
use crate::term::hash::{PositionTable, TermMap, term_hash};
use crate::term::visits::visit;
use smallvec::SmallVec;

/// Position of a value in its nest.
pub(crate) type ValueId = u32;

/// A scalar that a nest computes at each of its positions. Operands come before their users.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum NestValue {
    /// A known number.
    Constant(shape::Value),
    /// A function of the loops' positions, an `i64`.
    Position(Affine),
    /// The element at this place of a buffer, counted in elements; 0 where a guard does not hold.
    Load { buffer: BufferId, at: Affine, guards: Guards },
    /// The element at `at + stride · index`, counted in elements; 0 where the index is not between 0 and `extent`. The
    /// affine part is inside for every index that is.
    Gather { buffer: BufferId, at: Affine, stride: i64, index: ValueId, extent: i64 },
    /// Elementwise, one operand.
    Unary(Unary, ValueId),
    /// Elementwise, two operands.
    Binary(Binary, ValueId, ValueId),
    /// A comparison.
    Compare(Comparison, ValueId, ValueId),
    /// A choice: mask, yes, no.
    Select(ValueId, ValueId, ValueId),
    /// A conversion.
    Cast(DType, ValueId),
    /// The operand; 0 where a guard does not hold.
    Guarded(ValueId, Guards),
}

impl NestValue {
    /// The operands.
    pub(crate) fn operands(&self) -> SmallVec<[ValueId; 3]> {
        match self {
            NestValue::Constant(_) | NestValue::Position(_) | NestValue::Load { .. } => SmallVec::new(),
            NestValue::Gather { index, .. } => SmallVec::from_slice(&[*index]),
            NestValue::Unary(_, a) | NestValue::Cast(_, a) | NestValue::Guarded(a, _) => SmallVec::from_slice(&[*a]),
            NestValue::Binary(_, a, b) | NestValue::Compare(_, a, b) => SmallVec::from_slice(&[*a, *b]),
            NestValue::Select(a, b, c) => SmallVec::from_slice(&[*a, *b, *c]),
        }
    }

    /// The operation of the term that this is one element of, where it costs more than a step of any.
    pub(crate) fn operation(&self) -> Option<Op> {
        match self {
            NestValue::Unary(op, _) => Some(Op::Unary(*op)),
            NestValue::Binary(op, ..) => Some(Op::Binary(*op)),
            NestValue::Gather { .. } => Some(Op::Gather),
            _ => None,
        }
    }

    /// The same value of other operands, asked for in the order of [`NestValue::operands`].
    pub(crate) fn map(&self, mut operand: impl FnMut(ValueId) -> ValueId) -> NestValue {
        match self.clone() {
            NestValue::Gather { buffer, at, stride, index, extent } => {
                NestValue::Gather { buffer, at, stride, index: operand(index), extent }
            }
            NestValue::Unary(op, a) => NestValue::Unary(op, operand(a)),
            NestValue::Cast(dtype, a) => NestValue::Cast(dtype, operand(a)),
            NestValue::Guarded(a, guards) => NestValue::Guarded(operand(a), guards),
            NestValue::Binary(op, a, b) => NestValue::Binary(op, operand(a), operand(b)),
            NestValue::Compare(op, a, b) => NestValue::Compare(op, operand(a), operand(b)),
            NestValue::Select(a, b, c) => NestValue::Select(operand(a), operand(b), operand(c)),
            leaf => leaf,
        }
    }
}

/// The effect of a store on the element that it finds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum StoreMode {
    /// Overwrites it.
    Write,
    /// Combines with it. The buffer is filled with the reduction's neutral element first.
    Reduce(Reduction),
}

/// Where a value goes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Store {
    pub(crate) value: ValueId,
    pub(crate) buffer: BufferId,
    /// The place, counted in elements.
    pub(crate) at: Affine,
    /// Nothing is stored where one does not hold.
    pub(crate) guards: Guards,
    /// For writes at computed positions: index, the stride of its axis, and its extent, outside of which nothing is stored.
    pub(crate) index: Option<(ValueId, i64, i64)>,
    pub(crate) mode: StoreMode,
}

/// Loops around a graph of scalar operations. All may run in any order, up to the rounding of reductions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Nest {
    /// The extents of the loops.
    pub(crate) extents: Shape,
    /// The values, in topological order, with their element types.
    pub(crate) values: Vec<(NestValue, DType)>,
    /// The stores. Nothing is read after their values.
    pub(crate) stores: Vec<Store>,
}

impl Nest {
    /// The buffers that are read, as often as values read them.
    pub(crate) fn read(&self) -> impl Iterator<Item = BufferId> {
        self.values.iter().filter_map(|(value, _)| match value {
            NestValue::Load { buffer, .. } | NestValue::Gather { buffer, .. } => Some(*buffer),
            _ => None,
        })
    }

    /// All affine functions of the nest.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &Affine> {
        let values = self.values.iter().flat_map(|(value, _)| match value {
            NestValue::Position(at) | NestValue::Gather { at, .. } => vec![at],
            NestValue::Load { at, guards, .. } => {
                let mut all = of_guards(guards);
                all.push(at);
                all
            }
            NestValue::Guarded(_, guards) => of_guards(guards),
            _ => Vec::new(),
        });
        let stores = self.stores.iter().flat_map(|store| {
            let mut all = of_guards(&store.guards);
            all.push(&store.at);
            all
        });
        values.chain(stores)
    }

    /// All affine functions of the nest, to be changed.
    pub(crate) fn functions_mut(&mut self) -> Vec<&mut Affine> {
        let mut all = Vec::new();
        for (value, _) in &mut self.values {
            match value {
                NestValue::Position(at) | NestValue::Gather { at, .. } => all.push(at),
                NestValue::Load { at, guards, .. } => {
                    all.push(at);
                    all.extend(guards.iter_mut().map(|guard: &mut Guard| &mut guard.position));
                }
                NestValue::Guarded(_, guards) => all.extend(guards.iter_mut().map(|guard| &mut guard.position)),
                _ => {}
            }
        }
        for Store { at, guards, .. } in &mut self.stores {
            all.push(at);
            all.extend(guards.iter_mut().map(|guard| &mut guard.position));
        }
        all
    }

    /// The nest without values that no store needs.
    pub(crate) fn without_unused(self) -> Nest {
        self.without_unused_but(&mut [])
    }

    /// The nest without values that neither a store needs nor these are, which get their numbers in it.
    pub(crate) fn without_unused_but(mut self, needed: &mut [ValueId]) -> Nest {
        let mut used = vec![false; self.values.len()];
        needed.iter().for_each(|&id| used[id as usize] = true);
        for store in &self.stores {
            used[store.value as usize] = true;
            if let Some((index, ..)) = store.index {
                used[index as usize] = true;
            }
        }
        for at in (0..self.values.len()).rev() {
            if used[at] {
                self.values[at].0.operands().iter().for_each(|&id| used[id as usize] = true);
            }
        }
        if used.iter().all(|&used| used) {
            return self;
        }
        let mut ids = vec![ValueId::MAX; self.values.len()];
        let mut kept = Vec::with_capacity(self.values.len());
        for (at, (value, dtype)) in std::mem::take(&mut self.values).into_iter().enumerate() {
            if used[at] {
                ids[at] = kept.len() as ValueId;
                kept.push((value.map(|id| ids[id as usize]), dtype));
            }
        }
        self.values = kept;
        needed.iter_mut().for_each(|id| *id = ids[*id as usize]);
        for store in &mut self.stores {
            store.value = ids[store.value as usize];
            if let Some((index, ..)) = &mut store.index {
                *index = ids[*index as usize];
            }
        }
        self
    }

    /// How often each value is used by others and by stores.
    pub(crate) fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0u32; self.values.len()];
        for (value, _) in &self.values {
            value.operands().iter().for_each(|&id| uses[id as usize] += 1);
        }
        for store in &self.stores {
            uses[store.value as usize] += 1;
            if let Some((index, ..)) = store.index {
                uses[index as usize] += 1;
            }
        }
        uses
    }
}

fn of_guards(guards: &Guards) -> Vec<&Affine> {
    guards.iter().map(|guard| &guard.position).collect()
}

/// A nest under construction, in which no value stands twice.
#[derive(Default)]
pub(crate) struct NestBuilder {
    pub(crate) nest: Nest,
    table: PositionTable,
    /// The values written at known places everywhere, by buffer and place.
    written: TermMap<(BufferId, Affine), ValueId>,
}

impl NestBuilder {
    /// A nest without values.
    pub(crate) fn new(extents: &[usize]) -> NestBuilder {
        NestBuilder { nest: Nest { extents: Shape::from_slice(extents), ..Nest::default() }, ..NestBuilder::default() }
    }

    /// Adds a store.
    pub(crate) fn store(&mut self, store: Store) {
        if store.mode == StoreMode::Write && store.index.is_none() && store.guards.is_empty() {
            // The latest store counts.
            self.written.insert((store.buffer, store.at.clone()), store.value);
        }
        self.nest.stores.push(store);
    }

    /// The value that a store writes at this place everywhere, if one does.
    pub(crate) fn written(&self, buffer: BufferId, at: &Affine) -> Option<ValueId> {
        self.written.get(&(buffer, at.clone())).copied()
    }

    /// Forgets the values from this one on, which no store writes.
    pub(crate) fn truncate(&mut self, count: usize) {
        if count < self.nest.values.len() {
            self.nest.values.truncate(count);
            self.table = PositionTable::with_capacity(count);
            for (id, (value, _)) in self.nest.values.iter().enumerate() {
                self.table.insert(term_hash(value), id as ValueId);
            }
        }
    }

    /// The position of a value, which is added if it is new.
    pub(crate) fn add(&mut self, value: NestValue, dtype: DType) -> ValueId {
        visit();
        let value = self.position(&value, dtype).map_or(value, NestValue::Position);
        let values = &mut self.nest.values;
        let hash = term_hash(&value);
        if let Some(id) = self.table.find(hash, |id| values[id as usize].0 == value) {
            return id;
        }
        let id = values.len() as ValueId;
        values.push((value, dtype));
        self.table.insert(hash, id);
        id
    }

    /// A sum or multiple of positions as one position; `None` where a part of it overflows.
    fn position(&self, value: &NestValue, dtype: DType) -> Option<Affine> {
        let constant = |id: ValueId| match self.nest.values[id as usize].0 {
            NestValue::Constant(shape::Value::I64(number)) => Some(number),
            _ => None,
        };
        let axes = self.nest.extents.len();
        let affine = |id: ValueId| match &self.nest.values[id as usize].0 {
            NestValue::Position(at) => Some(at.clone()),
            _ => constant(id).map(|number| Affine::constant(number, axes)),
        };
        if dtype != DType::I64 {
            return None;
        }
        let at = match *value {
            NestValue::Unary(Unary::Neg, a) => Affine::constant(0, axes).plus(-1, &affine(a)?)?,
            NestValue::Binary(Binary::Add, a, b) => affine(a)?.plus(1, &affine(b)?)?,
            NestValue::Binary(Binary::Sub, a, b) => affine(a)?.plus(-1, &affine(b)?)?,
            NestValue::Binary(Binary::Mul, a, b) => {
                let (factor, other) = constant(a).map(|factor| (factor, b)).or_else(|| Some((constant(b)?, a)))?;
                Affine::constant(0, axes).plus(factor, &affine(other)?)?
            }
            _ => return None,
        };
        i64::try_from(at.magnitude(&self.nest.extents)?).ok()?;
        Some(at)
    }
}

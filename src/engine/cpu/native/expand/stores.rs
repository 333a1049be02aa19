//! Stores, and the sums that they combine with.

use super::Expander;
use crate::array::neutral_value;
use crate::engine::cpu::native::program::{Address, Form, Kind, Op, Step, Value};
use crate::kernel::{NestValue, Store, StoreMode, ValueId};
use crate::operation::{Binary, Reduction, Unary};
use crate::shape::DType;

impl Expander<'_> {
    /// Whether a store's elements are combined in registers while loops run.
    pub(super) fn is_summed(&self, at: usize) -> bool {
        let store = &self.nest.stores[at];
        let scope = self.level_of(&store.at);
        // Where guards hold in some steps only, the place may be outside in others.
        let is_inside = self.level_of_guards(&store.guards) <= scope;
        store.mode != StoreMode::Write && store.index.is_none() && scope < self.depth() && is_inside
    }

    /// The products that a sum alone takes, with one rounding for both.
    pub(super) fn find_multiplied(&mut self) {
        let mut multiplied = vec![false; self.nest.values.len()];
        for store in &self.nest.stores {
            let id = store.value as usize;
            let is_plain = store.index.is_none_or(|(index, ..)| !self.runs[index as usize]);
            let is_sum = store.mode == StoreMode::Reduce(Reduction::Sum);
            multiplied[id] |= is_plain && is_sum && self.uses[id] == 1 && self.factors(store.value).is_some();
        }
        self.multiplied = multiplied;
    }

    /// Finds the values that sums in registers need.
    pub(super) fn find_own(&mut self) {
        let mut is_found = vec![false; self.nest.values.len()];
        self.own = vec![Vec::new(); self.nest.stores.len()];
        for at in 0..self.nest.stores.len() {
            let mut open = if self.is_summed(at) { vec![self.nest.stores[at].value] } else { Vec::new() };
            while let Some(id) = open.pop() {
                let is_inner = self.levels[id as usize] == self.depth();
                if is_inner && !std::mem::replace(&mut is_found[id as usize], true) {
                    self.own[at].push(id);
                    open.extend(self.nest.values[id as usize].0.operands());
                }
            }
            self.own[at].sort_unstable();
        }
    }

    pub(super) fn factors(&self, id: ValueId) -> Option<[ValueId; 2]> {
        let (value, dtype) = &self.nest.values[id as usize];
        match value {
            _ if !dtype.is_float() => None,
            NestValue::Binary(Binary::Mul, a, b) => Some([*a, *b]),
            NestValue::Unary(Unary::Powi(2), a) => Some([*a, *a]),
            _ => None,
        }
    }

    pub(super) fn begin_sum(&mut self, at: usize) {
        let store = &self.nest.stores[at];
        let StoreMode::Reduce(op) = store.mode else { unreachable!("what is summed") };
        let dtype = self.nest.values[store.value as usize].1;
        let copies = if self.level_of(&store.at) > self.vector() { self.present } else { self.copies };
        let neutral = self.builder.constant(Kind::of(dtype), neutral_value(op, dtype).bits());
        self.sums[at] = (0..copies).map(|_| self.builder.variable(neutral)).collect();
    }

    pub(super) fn combined(&mut self, store: &Store, sum: Value, value: Value) -> Option<Value> {
        let StoreMode::Reduce(op) = store.mode else { unreachable!("what is summed") };
        let dtype = self.nest.values[store.value as usize].1;
        self.binary(op.combining(dtype), Kind::of(dtype), sum, value, 0)
    }

    /// A sum with the value of a store added, on the lanes that there are elements for.
    pub(super) fn added(&mut self, store: &Store, sum: Value, copy: usize) -> Option<Value> {
        let kind = Kind::of(self.nest.values[store.value as usize].1);
        let added = match self.factors(store.value).filter(|_| self.multiplied[store.value as usize]) {
            Some(factors) => {
                let [a, b] = factors.map(|id| self.place(id, copy));
                self.builder.compute(Op::MultiplyAdd, kind, &[a, b, sum])
            }
            None => {
                let value = self.place(store.value, copy);
                self.combined(store, sum, value)?
            }
        };
        // Lanes of sums of their own are not stored where there are no elements.
        let mask = if self.along(&store.at) == 0 { self.mask(copy) } else { None };
        let mask = self.guarded(&store.guards, copy, mask)?;
        Some(match mask {
            Some(mask) => self.builder.compute(Op::Select, kind, &[mask, added, sum]),
            None => added,
        })
    }

    /// The part of a store that belongs to a level.
    pub(super) fn stored(&mut self, at: usize, level: usize) -> Option<()> {
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
                let is_streamed = mask.is_none() && self.streamed.contains(&store.buffer);
                let form = if is_streamed { Form::Streamed } else { form };
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
    pub(super) fn target(
        &mut self,
        store: &Store,
        dtype: DType,
        copy: usize,
    ) -> Option<(Form, Address, Option<Value>)> {
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
    pub(super) fn scatter(&mut self, store: &Store, kind: Kind, dtype: DType) -> Option<()> {
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
    pub(super) fn end_sum(&mut self, at: usize) -> Option<()> {
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

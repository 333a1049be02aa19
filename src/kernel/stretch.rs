//! Stretches of loops: where a nest changes nothing before a bound, or from one on, its loop leaves those positions out.
//!
//! `sum over k of select(k < j, x[k], 0)` adds nothing from `k = j` on, and a write whose position is `select(k < j, p, -1)`
//! writes nothing there. So a loop over a triangle costs only the triangle, even if `j` is known only when the program runs.

use crate::array::neutral_value;
use crate::kernel::access::Affine;
use crate::kernel::buffer::BufferId;
use crate::kernel::nest::{Nest, NestValue, Store, StoreMode, ValueId};
use crate::kernel::roots::own_cost;
use crate::operation::{Binary, Comparison, Reduction, Unary};
use crate::shape::{self, DType};
use smallvec::{SmallVec, smallvec};
use std::collections::HashSet;

/// A bound on the positions along an axis where a nest changes something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Limit {
    pub(crate) axis: usize,
    /// Whether positions are below the bound, or at least the bound.
    pub(crate) is_upper: bool,
    /// The bound is this number, which does not move with the axis, plus an offset, minus the terms of the other axes.
    pub(crate) value: ValueId,
    pub(crate) offset: i64,
    pub(crate) others: Affine,
}

#[cfg(test)]
thread_local! {
    /// By how much loops begin and end too late: a mistake that tests must find.
    pub(crate) static LATE_BY: std::cell::Cell<[i64; 2]> = const { std::cell::Cell::new([0; 2]) };
}

/// The axes that move an affine function, as a set of bits.
pub(crate) fn axes_of(at: &Affine) -> u64 {
    let set = |bits: u64, (axis, &coefficient): (usize, &i64)| bits | u64::from(coefficient != 0) << (axis % 64);
    at.coefficients.iter().enumerate().fold(0, set)
}

/// For each value the axes that move it, as a set of bits.
pub(crate) fn moved(nest: &Nest) -> Vec<u64> {
    let mut moved: Vec<u64> = Vec::with_capacity(nest.values.len());
    for (value, _) in &nest.values {
        let own = match value {
            NestValue::Position(at) | NestValue::Gather { at, .. } => axes_of(at),
            NestValue::Load { at, guards, .. } => {
                guards.iter().fold(axes_of(at), |bits, guard| bits | axes_of(&guard.position))
            }
            NestValue::Guarded(_, guards) => guards.iter().fold(0, |bits, guard| bits | axes_of(&guard.position)),
            _ => 0,
        };
        moved.push(value.operands().iter().fold(own, |bits, &operand| bits | moved[operand as usize]));
    }
    moved
}

/// Finds limits in a nest. Each value is looked at once for each question.
struct Finder<'a> {
    nest: &'a Nest,
    /// For each value, the axes that move it, as a set of bits.
    moved: &'a [u64],
}

/// A mask, and which of its values is meant.
type Case = (ValueId, bool);

impl Finder<'_> {
    fn value(&self, id: ValueId) -> &NestValue {
        &self.nest.values[id as usize].0
    }

    /// A known number.
    fn constant(&self, id: ValueId) -> Option<i64> {
        match self.value(id) {
            NestValue::Constant(shape::Value::I64(value)) => Some(*value),
            _ => None,
        }
    }

    /// A number as an affine function of the loops' positions, which does not leave the range of numbers on the way.
    fn position(&self, mut id: ValueId) -> Option<Affine> {
        let mut offset: i64 = 0;
        loop {
            (id, offset) = match *self.value(id) {
                NestValue::Position(ref at) => {
                    let at = Affine { offset: at.offset.checked_add(offset)?, coefficients: at.coefficients.clone() };
                    let (low, high) = at.range(&self.nest.extents);
                    return (low >= i64::MIN.into() && high <= i64::MAX.into()).then_some(at);
                }
                NestValue::Binary(Binary::Add, a, b) => match (self.constant(a), self.constant(b)) {
                    (Some(added), _) => (b, offset.checked_add(added)?),
                    (None, added) => (a, offset.checked_add(added?)?),
                },
                NestValue::Binary(Binary::Sub, a, b) => (a, offset.checked_sub(self.constant(b)?)?),
                _ => return None,
            };
        }
    }

    /// The masks that are as they are meant together exactly where this one is, if it is made of others.
    fn conjuncts(&self, (mask, expected): Case) -> SmallVec<[Case; 2]> {
        match (self.value(mask), expected) {
            (&NestValue::Binary(Binary::And, a, b), true) => smallvec![(a, true), (b, true)],
            (&NestValue::Binary(Binary::Or, a, b), false) => smallvec![(a, false), (b, false)],
            (&NestValue::Unary(Unary::Not, a), expected) => smallvec![(a, !expected)],
            _ => SmallVec::new(),
        }
    }

    /// A comparison of integers that holds where a mask has the case's value.
    fn comparison(&self, (mask, expected): Case) -> Option<(Comparison, ValueId, ValueId)> {
        match *self.value(mask) {
            NestValue::Compare(comparison, a, b) if self.nest.values[a as usize].1 == DType::I64 => {
                Some((if expected { comparison } else { negated(comparison) }, a, b))
            }
            _ => None,
        }
    }

    /// The limits that a comparison is, for each axis that its left side or its right side is a position along.
    fn limits(&self, (comparison, a, b): (Comparison, ValueId, ValueId)) -> Vec<Vec<Limit>> {
        let sides = [(comparison, a, b), (comparison.mirrored(), b, a)];
        let of = |(comparison, a, b): (Comparison, ValueId, ValueId)| {
            let at = self.position(a)?;
            let axes = (0..at.coefficients.len()).filter(|&axis| at.coefficients[axis] == 1);
            let axes = axes.filter(|axis| self.moved[b as usize] >> (axis % 64) & 1 == 0);
            let limits = axes.map(|axis| {
                let mut others = at.clone();
                others.coefficients[axis] = 0;
                let limit =
                    |is_upper: bool, offset: i64| Limit { axis, is_upper, value: b, offset, others: others.clone() };
                match comparison {
                    Comparison::Less => vec![limit(true, 0)],
                    Comparison::LessEqual => vec![limit(true, 1)],
                    Comparison::Greater => vec![limit(false, 1)],
                    Comparison::GreaterEqual => vec![limit(false, 0)],
                    Comparison::Equal => vec![limit(false, 0), limit(true, 1)],
                    Comparison::NotEqual => Vec::new(),
                }
            });
            Some(limits.collect::<Vec<_>>())
        };
        sides.into_iter().filter_map(of).flatten().collect()
    }

    /// The mask by which one of two numbers is chosen, where the other does not compare so with a known number.
    fn chosen(&self, (comparison, a, b): (Comparison, ValueId, ValueId)) -> Option<Case> {
        let (&NestValue::Select(mask, yes, no), b) = (self.value(a), self.constant(b)?) else { return None };
        let fails = |id: ValueId| self.constant(id).is_some_and(|a| !holds(comparison, a, b));
        match (fails(yes), fails(no)) {
            (false, true) => Some((mask, true)),
            (true, false) => Some((mask, false)),
            _ => None,
        }
    }

    /// Adds the limits that follow where a mask has the case's value, skipping masks already seen.
    fn of_mask(&self, case: Case, seen: &mut HashSet<Case>, found: &mut Vec<Limit>) {
        let mut pending = vec![case];
        while let Some(case) = pending.pop() {
            if !seen.insert(case) {
                continue;
            }
            pending.extend(self.conjuncts(case));
            if let Some(comparison) = self.comparison(case) {
                found.extend(self.limits(comparison).into_iter().flatten());
                pending.extend(self.chosen(comparison));
            }
        }
    }

    /// For each value, whether it is false, and whether it is true, at all positions where these limits hold.
    fn decided(&self, limits: &[Limit]) -> Vec<[bool; 2]> {
        let mut decided: Vec<[bool; 2]> = Vec::with_capacity(self.nest.values.len());
        for (id, (_, dtype)) in (0..).zip(&self.nest.values) {
            let is_decided = |expected: bool| {
                let conjuncts = self.conjuncts((id, expected));
                if !conjuncts.is_empty() {
                    return conjuncts.iter().all(|&(mask, expected)| decided[mask as usize][usize::from(expected)]);
                }
                let sides = self.comparison((id, expected)).map(|comparison| self.limits(comparison));
                let holds = |own: &Vec<Limit>| !own.is_empty() && own.iter().all(|limit| limits.contains(limit));
                sides.unwrap_or_default().iter().any(holds)
            };
            let own = [false, true].map(|expected| *dtype == DType::Bool && is_decided(expected));
            decided.push(own);
        }
        decided
    }

    /// The side that is chosen where the other one `is_nothing`, and the mask that chooses it.
    fn alternative(&self, id: ValueId, is_nothing: impl Fn(ValueId) -> bool) -> Option<(Case, ValueId)> {
        match *self.value(id) {
            NestValue::Select(mask, yes, no) if is_nothing(no) => Some(((mask, true), yes)),
            NestValue::Select(mask, yes, no) if is_nothing(yes) => Some(((mask, false), no)),
            _ => None,
        }
    }

    /// The limits outside of which a store changes nothing.
    fn of_store(&self, store: &Store) -> Vec<Limit> {
        let (mut found, mut masks) = (Vec::new(), HashSet::new());
        if let StoreMode::Reduce(op) = store.mode {
            let dtype = self.nest.values[store.value as usize].1;
            let (neutral, is_sum) = (neutral_value(op, dtype).bits(), op == Reduction::Sum && dtype != DType::Bool);
            let is_neutral =
                |id: ValueId| matches!(self.value(id), NestValue::Constant(value) if value.bits() == neutral);
            let (mut pending, mut seen) = (vec![store.value], HashSet::new());
            while let Some(id) = pending.pop() {
                if !seen.insert(id) {
                    continue;
                }
                match *self.value(id) {
                    _ if let Some((case, other)) = self.alternative(id, is_neutral) => {
                        self.of_mask(case, &mut masks, &mut found);
                        pending.push(other);
                    }
                    NestValue::Binary(Binary::Mul, a, b) if is_sum => pending.extend([a, b]),
                    NestValue::Binary(Binary::KeepZero, a, _) if is_sum => pending.push(a),
                    NestValue::Unary(Unary::Neg, a) | NestValue::Guarded(a, _) if is_sum => pending.push(a),
                    _ => {}
                }
            }
        }
        // A write at a position before the first is ignored.
        let mut index = store.index.map(|(index, ..)| index);
        let is_before = |id: ValueId| self.constant(id).is_some_and(|at| at < 0);
        while let Some((case, other)) = index.and_then(|index| self.alternative(index, is_before)) {
            self.of_mask(case, &mut masks, &mut found);
            index = Some(other);
        }
        found
    }

    /// The limits outside of which no store of the nest changes anything, each once.
    fn all(&self) -> Vec<Limit> {
        let mut stores = self.nest.stores.iter().map(|store| self.of_store(store));
        let mut all: Vec<Limit> = Vec::new();
        for limit in stores.next().unwrap_or_default() {
            if !all.contains(&limit) {
                all.push(limit);
            }
        }
        while !all.is_empty()
            && let Some(own) = stores.next()
        {
            all.retain(|limit| own.contains(limit));
        }
        all
    }

    /// The axes that move a limit, as a set of bits.
    fn moves(&self, limit: &Limit) -> u64 {
        axes_of(&limit.others) | self.moved[limit.value as usize]
    }
}

/// Whether a comparison holds of two numbers.
fn holds(comparison: Comparison, a: i64, b: i64) -> bool {
    match comparison {
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
    }
}

fn negated(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::GreaterEqual,
        Comparison::LessEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessEqual,
        Comparison::GreaterEqual => Comparison::Less,
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
    }
}

/// The limits of a nest's axes, each with the axes that move it, as a set of bits: loops along those run outside of its own.
pub(crate) fn limits(nest: &Nest, moved: &[u64]) -> Vec<(Limit, u64)> {
    let finder = Finder { nest, moved };
    let with_axes = |limit: Limit| {
        let moves = finder.moves(&limit);
        (limit, moves)
    };
    finder.all().into_iter().map(with_axes).collect()
}

/// A value that costs so much, in simple operations, is not computed again in another nest.
const COSTLY: f64 = 4.0;

/// The most nests that a nest becomes.
const NESTS: usize = 8;

/// The nest, or several instead of it where its stores change something on different stretches: each goes over its own.
pub(crate) fn apart(nest: Nest) -> Vec<Nest> {
    let may_have_limits = |store: &Store| matches!(store.mode, StoreMode::Reduce(_)) || store.index.is_some();
    if nest.stores.len() < 2 || !nest.stores.iter().any(may_have_limits) {
        return vec![nest];
    }
    // A later nest must not read a buffer that was written, or write it again.
    let written: HashSet<BufferId> = nest.stores.iter().map(|store| store.buffer).collect();
    if written.len() < nest.stores.len() || nest.read().any(|buffer| written.contains(&buffer)) {
        return vec![nest];
    }
    let moved = moved(&nest);
    let finder = Finder { nest: &nest, moved: &moved };
    let mut groups: Vec<(Vec<Limit>, Vec<Store>)> = Vec::new();
    for store in &nest.stores {
        let limits = finder.of_store(store);
        let is_same = |(other, _): &&mut (Vec<Limit>, Vec<Store>)| {
            limits.iter().all(|limit| other.contains(limit)) && other.iter().all(|limit| limits.contains(limit))
        };
        match groups.iter_mut().find(is_same) {
            Some((_, stores)) => stores.push(store.clone()),
            None => groups.push((limits, vec![store.clone()])),
        }
    }
    if groups.len() == 1 || groups.len() > NESTS || shares_work(&nest, &groups) {
        return vec![nest];
    }
    let own =
        |(_, stores)| Nest { extents: nest.extents.clone(), values: nest.values.clone(), stores }.without_unused();
    groups.into_iter().map(own).collect()
}

/// Whether groups of stores need the same costly value.
fn shares_work(nest: &Nest, groups: &[(Vec<Limit>, Vec<Store>)]) -> bool {
    let mut needed_by: Vec<u32> = vec![0; nest.values.len()];
    for (group, (_, stores)) in groups.iter().enumerate() {
        for store in stores {
            let needed = [Some(store.value), store.index.map(|(index, ..)| index)];
            needed.into_iter().flatten().for_each(|id| needed_by[id as usize] |= 1 << group);
        }
    }
    for at in (0..nest.values.len()).rev() {
        let (value, groups) = (&nest.values[at].0, needed_by[at]);
        if groups.count_ones() > 1 && value.operation().is_some_and(|op| own_cost(&op) >= COSTLY) {
            return true;
        }
        value.operands().iter().for_each(|&id| needed_by[id as usize] |= groups);
    }
    false
}

/// The nest without the choices that are already made where all of these limits hold, and the limits that then apply.
pub(crate) fn within(nest: &Nest, mut limits: Vec<Limit>) -> (Nest, Vec<Limit>) {
    let moved = moved(nest);
    let finder = Finder { nest, moved: &moved };
    let decided = finder.decided(&limits);
    let mut now: Vec<ValueId> = Vec::with_capacity(nest.values.len());
    let mut values = Vec::with_capacity(nest.values.len());
    for (id, (value, dtype)) in nest.values.iter().enumerate() {
        now.push(match *value {
            NestValue::Select(mask, _, no) if decided[mask as usize][0] => now[no as usize],
            NestValue::Select(mask, yes, _) if decided[mask as usize][1] => now[yes as usize],
            _ => id as ValueId,
        });
        values.push((value.map(|id| now[id as usize]), *dtype));
    }
    let store = |store: &Store| Store {
        value: now[store.value as usize],
        index: store.index.map(|(index, stride, extent)| (now[index as usize], stride, extent)),
        ..store.clone()
    };
    let stores = nest.stores.iter().map(store).collect();
    let mut needed: Vec<ValueId> = limits.iter().map(|limit| now[limit.value as usize]).collect();
    let nest = Nest { extents: nest.extents.clone(), values, stores }.without_unused_but(&mut needed);
    limits.iter_mut().zip(needed).for_each(|(limit, value)| limit.value = value);
    #[cfg(test)]
    limits.iter_mut().for_each(|limit| limit.offset += LATE_BY.get()[usize::from(limit.is_upper)]);
    (nest, limits)
}

//! Stretches of loops: where a nest changes nothing at positions before a bound, or from one on, its loop leaves them out.
//!
//! `sum over k of select(k < j, x[k], 0)` adds nothing from `k = j` on, and a write whose position is `select(k < j, p, -1)`
//! writes nothing there. So a loop over a triangle costs the triangle, also where `j` is known only when the program runs.

use crate::algebra::Reduction;
use crate::concrete::neutral_value;
use crate::engine::cpu::order::Layout;
use crate::kernel::{Affine, Mode, Nest, Store, Value, ValueId};
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::DType;

/// How deep masks and products are looked into.
const DEPTH: usize = 16;

/// What holds at all positions along an axis where a nest changes something: a bound on these positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Limit {
    pub(super) axis: usize,
    /// Whether positions are below the bound, or at least the bound.
    pub(super) is_upper: bool,
    /// The bound is this number, which does not move with the axis, plus an offset, minus what the other axes add.
    pub(super) value: ValueId,
    pub(super) offset: i64,
    pub(super) others: Affine,
}

/// Finds limits in a nest.
struct Finder<'a> {
    nest: &'a Nest,
}

impl Finder<'_> {
    fn value(&self, id: ValueId) -> &Value {
        &self.nest.values[id as usize].0
    }

    /// A known number.
    fn constant(&self, id: ValueId) -> Option<i64> {
        match self.value(id) {
            Value::Constant(crate::shape::Value::I64(value)) => Some(*value),
            _ => None,
        }
    }

    /// A number as an affine function of the loops' positions.
    fn position(&self, id: ValueId, depth: usize) -> Option<Affine> {
        match *self.value(id) {
            Value::Position(ref at) => Some(at.clone()),
            Value::Binary(Binary::Add, a, b) if depth > 0 && self.constant(a).is_some() => {
                let mut at = self.position(b, depth - 1)?;
                at.offset = at.offset.checked_add(self.constant(a)?)?;
                Some(at)
            }
            Value::Binary(op @ (Binary::Add | Binary::Sub), a, b) if depth > 0 => {
                let (mut at, value) = (self.position(a, depth - 1)?, self.constant(b)?);
                at.offset =
                    if op == Binary::Add { at.offset.checked_add(value) } else { at.offset.checked_sub(value) }?;
                Some(at)
            }
            _ => None,
        }
    }

    /// Whether an axis moves a value.
    fn is_moved(&self, id: ValueId, axis: usize, depth: usize) -> bool {
        let value = self.value(id);
        let own = match value {
            Value::Position(at) | Value::Load { at, .. } | Value::Gather { at, .. } => at.coefficients[axis] != 0,
            _ => false,
        };
        let guarded = match value {
            Value::Load { guards, .. } | Value::Guarded(_, guards) => {
                guards.iter().any(|guard| guard.position.coefficients[axis] != 0)
            }
            _ => false,
        };
        let operands = value.operands();
        own || guarded
            || (!operands.is_empty() && (depth == 0 || operands.iter().any(|&id| self.is_moved(id, axis, depth - 1))))
    }

    /// The limits that hold wherever a mask is `expected`.
    fn of_mask(&self, mask: ValueId, expected: bool, depth: usize, found: &mut Vec<Limit>) {
        match *self.value(mask) {
            Value::Binary(Binary::And, a, b) if expected && depth > 0 => {
                self.of_mask(a, true, depth - 1, found);
                self.of_mask(b, true, depth - 1, found);
            }
            Value::Binary(Binary::Or, a, b) if !expected && depth > 0 => {
                self.of_mask(a, false, depth - 1, found);
                self.of_mask(b, false, depth - 1, found);
            }
            Value::Unary(Unary::Not, a) if depth > 0 => self.of_mask(a, !expected, depth - 1, found),
            Value::Compare(comparison, a, b) if self.nest.values[a as usize].1 == DType::I64 => {
                let comparison = if expected { comparison } else { negated(comparison) };
                // A number that is chosen, of which one does not compare so.
                if let Value::Select(chosen, yes, no) = *self.value(a)
                    && let Some(b) = self.constant(b)
                    && depth > 0
                {
                    let fails = |id: ValueId| self.constant(id).is_some_and(|a| !holds(comparison, a, b));
                    match (fails(yes), fails(no)) {
                        (false, true) => self.of_mask(chosen, true, depth - 1, found),
                        (true, false) => self.of_mask(chosen, false, depth - 1, found),
                        _ => {}
                    }
                }
                self.of_comparison(comparison, a, b, found);
                self.of_comparison(comparison.mirrored(), b, a, found);
            }
            _ => {}
        }
    }

    /// The limits of a comparison whose left side is a position.
    fn of_comparison(&self, comparison: Comparison, a: ValueId, b: ValueId, found: &mut Vec<Limit>) {
        let Some(at) = self.position(a, DEPTH) else { return };
        for axis in (0..at.coefficients.len()).filter(|&axis| at.coefficients[axis] == 1) {
            if self.is_moved(b, axis, DEPTH) {
                continue;
            }
            let mut others = at.clone();
            others.coefficients[axis] = 0;
            let limit =
                |is_upper: bool, offset: i64| Limit { axis, is_upper, value: b, offset, others: others.clone() };
            match comparison {
                Comparison::Less => found.push(limit(true, 0)),
                Comparison::LessEqual => found.push(limit(true, 1)),
                Comparison::Greater => found.push(limit(false, 1)),
                Comparison::GreaterEqual => found.push(limit(false, 0)),
                Comparison::Equal => found.extend([limit(false, 0), limit(true, 1)]),
                Comparison::NotEqual => {}
            }
        }
    }

    /// The limits that hold wherever a value is not this one.
    fn of_value(&self, id: ValueId, neutral: crate::shape::Value, is_sum: bool, depth: usize, found: &mut Vec<Limit>) {
        let is_neutral =
            |id: ValueId| matches!(self.value(id), Value::Constant(value) if value.bits() == neutral.bits());
        if depth == 0 {
            return;
        }
        match *self.value(id) {
            Value::Select(mask, yes, no) if is_neutral(no) => {
                self.of_mask(mask, true, DEPTH, found);
                self.of_value(yes, neutral, is_sum, depth - 1, found);
            }
            Value::Select(mask, yes, no) if is_neutral(yes) => {
                self.of_mask(mask, false, DEPTH, found);
                self.of_value(no, neutral, is_sum, depth - 1, found);
            }
            Value::Binary(Binary::Mul, a, b) if is_sum => {
                self.of_value(a, neutral, is_sum, depth - 1, found);
                self.of_value(b, neutral, is_sum, depth - 1, found);
            }
            Value::Unary(Unary::Neg, a) | Value::Guarded(a, _) if is_sum => {
                self.of_value(a, neutral, is_sum, depth - 1, found);
            }
            _ => {}
        }
    }

    /// The limits outside of which a store changes nothing.
    fn of_store(&self, store: &Store) -> Vec<Limit> {
        let mut found = Vec::new();
        if let Mode::Reduce(op) = store.mode {
            let dtype = self.nest.values[store.value as usize].1;
            let is_sum = op == Reduction::Sum && dtype != DType::Bool;
            self.of_value(store.value, neutral_value(op, dtype), is_sum, DEPTH, &mut found);
        }
        // A write at a position before the first is ignored.
        if let Some((index, ..)) = store.index {
            self.of_index(index, DEPTH, &mut found);
        }
        found
    }

    /// Whether a mask is `expected` at all positions where these limits hold.
    fn holds(&self, mask: ValueId, expected: bool, limits: &[Limit], depth: usize) -> bool {
        match *self.value(mask) {
            Value::Binary(Binary::And, a, b) if expected && depth > 0 => {
                self.holds(a, true, limits, depth - 1) && self.holds(b, true, limits, depth - 1)
            }
            Value::Binary(Binary::Or, a, b) if !expected && depth > 0 => {
                self.holds(a, false, limits, depth - 1) && self.holds(b, false, limits, depth - 1)
            }
            Value::Unary(Unary::Not, a) if depth > 0 => self.holds(a, !expected, limits, depth - 1),
            Value::Compare(comparison, a, b) if self.nest.values[a as usize].1 == DType::I64 => {
                let comparison = if expected { comparison } else { negated(comparison) };
                // Each side may be the position; both limits of an equality say it together.
                [(comparison, a, b), (comparison.mirrored(), b, a)].into_iter().any(|(comparison, a, b)| {
                    let mut own = Vec::new();
                    self.of_comparison(comparison, a, b, &mut own);
                    let axes = own.iter().map(|limit| limit.axis).collect::<Vec<_>>();
                    let all =
                        |axis: usize| own.iter().filter(|limit| limit.axis == axis).all(|limit| limits.contains(limit));
                    axes.into_iter().any(all)
                })
            }
            _ => false,
        }
    }

    fn of_index(&self, index: ValueId, depth: usize, found: &mut Vec<Limit>) {
        let is_outside = |id: ValueId| self.constant(id).is_some_and(|at| at < 0);
        match *self.value(index) {
            Value::Select(mask, yes, no) if is_outside(no) && depth > 0 => {
                self.of_mask(mask, true, DEPTH, found);
                self.of_index(yes, depth - 1, found);
            }
            Value::Select(mask, yes, no) if is_outside(yes) && depth > 0 => {
                self.of_mask(mask, false, DEPTH, found);
                self.of_index(no, depth - 1, found);
            }
            _ => {}
        }
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

/// The limits outside of which no store of a nest changes anything.
fn all(nest: &Nest) -> Vec<Limit> {
    let finder = Finder { nest };
    let Some((first, others)) = nest.stores.split_first() else { return Vec::new() };
    let mut found = finder.of_store(first);
    for store in others {
        if found.is_empty() {
            break;
        }
        let own = finder.of_store(store);
        found.retain(|limit| own.contains(limit));
    }
    found
}

/// The axes that have limits which other axes move: those run outside of them.
pub(super) fn inner_axes(nest: &Nest) -> Vec<usize> {
    let finder = Finder { nest };
    let is_moved = |limit: &Limit| {
        let moves = |axis: usize| limit.others.coefficients[axis] != 0 || finder.is_moved(limit.value, axis, DEPTH);
        (0..nest.extents.len()).any(|axis| axis != limit.axis && moves(axis))
    };
    all(nest).iter().filter(|limit| is_moved(limit)).map(|limit| limit.axis).collect()
}

/// The limits of a nest's loops that are known where these begin, in the order in which they run.
pub(super) fn limits(nest: &Nest, layout: &Layout) -> Vec<Limit> {
    if layout.row > 1 || layout.wrapped.is_some() {
        return Vec::new();
    }
    let mut limits: Vec<Limit> = Vec::new();
    for limit in all(nest) {
        if !limits.contains(&limit) && is_known(nest, layout, &limit) {
            limits.push(limit);
        }
    }
    limits
}

/// The nest without choices that are made where all of these limits hold, and the limits of what it is then.
pub(super) fn within(nest: &Nest, mut limits: Vec<Limit>) -> (Nest, Vec<Limit>) {
    let finder = Finder { nest };
    let mut now: Vec<ValueId> = Vec::with_capacity(nest.values.len());
    let mut values = Vec::with_capacity(nest.values.len());
    for (id, (value, dtype)) in nest.values.iter().enumerate() {
        now.push(match *value {
            Value::Select(mask, yes, _) if finder.holds(mask, true, &limits, DEPTH) => now[yes as usize],
            Value::Select(mask, _, no) if finder.holds(mask, false, &limits, DEPTH) => now[no as usize],
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
    (nest, limits)
}

/// Whether a limit is known where the loop of its axis begins, which is one of its own.
fn is_known(nest: &Nest, layout: &Layout, limit: &Limit) -> bool {
    let Some(loop_of) = layout.loop_of(limit.axis, nest.extents[limit.axis]) else { return false };
    let is_outside = |at: &Affine| {
        let coefficients = layout.by_loop(at);
        let is_still = |(position, &coefficient): (usize, &i64)| {
            coefficient == 0 || (position < loop_of && (position != layout.vector))
        };
        // An axis that runs together with others has no place of its own.
        let all_seen =
            at.coefficients.iter().filter(|&&it| it != 0).count() == coefficients.iter().filter(|&&it| it != 0).count();
        all_seen && coefficients.iter().enumerate().all(is_still)
    };
    let mut pending = vec![limit.value];
    while let Some(id) = pending.pop() {
        let value = &nest.values[id as usize].0;
        let guards = match value {
            Value::Load { guards, .. } | Value::Guarded(_, guards) => &guards[..],
            _ => &[],
        };
        let own = match value {
            Value::Position(at) | Value::Load { at, .. } | Value::Gather { at, .. } => is_outside(at),
            _ => true,
        };
        if !own || !guards.iter().all(|guard| is_outside(&guard.position)) {
            return false;
        }
        pending.extend(value.operands());
    }
    is_outside(&limit.others)
}

//! Nests split into parts, each of which is a kernel.
//!
//! A value that a nest stores at one position of its loops may be needed at the same time by items at others: a reduction
//! shares all loops that its place does not move along. So stores that reduce over the same loops form one part, and stores to
//! one buffer form several. Plain writes join any of them; later parts read the written values instead of computing them again.

use super::windows::{by_element, is_apart};
use crate::array::neutral_value;
use crate::kernel::{Affine, BufferId, Guard, Guards, Nest, NestValue, Store, StoreMode, ValueId};
use crate::operation::Reduction;
use crate::shape::{self, DType};
use crate::source::tidy::tidied;
use std::collections::{BTreeSet, HashSet};

/// Stores of a nest that are a kernel.
#[derive(Debug)]
pub(super) struct KernelPart {
    pub(super) nest: Nest,
    /// The axes that are reduced over.
    pub(super) reduced: Vec<usize>,
    /// How its reductions reach the elements.
    pub(super) manner: ReductionManner,
    /// Whether it combines partial results of others.
    pub(super) is_second: bool,
}

/// How reductions reach the elements of their buffers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ReductionManner {
    /// Each position outside of the reduction has an element of its own.
    Apart,
    /// Several positions reach one element, and exchange it atomically.
    Atomic,
    /// Several positions reach one element: they are sorted by their places, and each element combines its own.
    Sorted,
    /// Several positions reach one element: only loops along which this does not happen are shared.
    InTurn,
}

/// The axes that values depend on.
pub(super) fn axes_of_values(nest: &Nest) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<BTreeSet<usize>> = Vec::with_capacity(nest.values.len());
    for (value, _) in &nest.values {
        let mut own: BTreeSet<usize> = match value {
            NestValue::Position(at) | NestValue::Gather { at, .. } => axes(at).collect(),
            NestValue::Load { at, guards, .. } => axes(at).chain(axes_of_guards(guards)).collect(),
            NestValue::Guarded(_, guards) => axes_of_guards(guards).collect(),
            _ => BTreeSet::new(),
        };
        for operand in value.operands() {
            own.extend(&all[operand as usize]);
        }
        all.push(own);
    }
    all
}

fn axes(at: &Affine) -> impl Iterator<Item = usize> {
    at.coefficients.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0).map(|(axis, _)| axis)
}

pub(super) fn axes_of_guards(guards: &Guards) -> impl Iterator<Item = usize> {
    guards.iter().flat_map(|guard| axes(&guard.position))
}

/// Determines the part of a store: the axes that it reduces over, and how.
fn key(nest: &Nest, store: &Store, manner: ReductionManner) -> (BTreeSet<usize>, ReductionManner) {
    let mut moving: BTreeSet<usize> = axes(&store.at).chain(axes_of_guards(&store.guards)).collect();
    if let Some((index, ..)) = store.index {
        moving.extend(&axes_of_values(nest)[index as usize]);
    }
    let outer: Vec<usize> = moving.iter().copied().collect();
    let is_apart = store.index.is_none() && is_apart(store, &outer, &nest.extents);
    let manner = if is_apart { ReductionManner::Apart } else { manner };
    ((0..nest.extents.len()).filter(|axis| !moving.contains(axis)).collect(), manner)
}

/// Makes a reduction take a neutral value where guards along other axes than its place do not hold, instead of storing nothing
/// there. The other guards are guards of its elements.
fn with_guarded_reductions(nest: &mut Nest, count: impl Fn(BufferId) -> usize) {
    for at in 0..nest.stores.len() {
        let store = &nest.stores[at];
        let StoreMode::Reduce(op) = store.mode else { continue };
        let moves = |axis: usize| nest.extents[axis] == 1 || store.at.coefficients[axis] != 0;
        let (mut kept, guards): (Guards, Guards) =
            store.guards.iter().cloned().partition(|guard| axes(&guard.position).all(moves));
        if guards.is_empty() {
            continue;
        }
        // Where the guards hold nowhere along the other axes, there may be no element.
        if !is_inside(store, &nest.extents, count(store.buffer)) {
            if store.index.is_some() {
                continue;
            }
            let guard = Guard { position: store.at.clone(), extent: count(store.buffer) as i64 };
            if !kept.contains(&guard) {
                kept.push(guard);
            }
        }
        let (value, dtype) = (store.value, nest.values[store.value as usize].1);
        nest.stores[at].guards = kept;
        let mut add = |value, dtype| {
            nest.values.push((value, dtype));
            nest.values.len() as ValueId - 1
        };
        nest.stores[at].value = if op == Reduction::Sum {
            add(NestValue::Guarded(value, guards), dtype)
        } else {
            let yes = add(NestValue::Constant(shape::Value::Bool(true)), DType::Bool);
            let is_there = add(NestValue::Guarded(yes, guards), DType::Bool);
            let neutral = add(NestValue::Constant(neutral_value(op, dtype)), dtype);
            add(NestValue::Select(is_there, value, neutral), dtype)
        };
    }
}

/// Whether a store stays within so many elements at all positions, whatever its guards say.
fn is_inside(store: &Store, extents: &[usize], count: usize) -> bool {
    let (first, last) = store.at.range(extents);
    let computed = store.index.map_or(0, |(_, stride, extent)| i128::from(stride) * i128::from(extent - 1));
    first + computed.min(0) >= 0 && last + computed.max(0) < count as i128
}

/// The parts of a nest, the part that writes first, each with at most `bound` arrays; buffers have `count` elements. Elements
/// that several positions reach are exchanged atomically where `manner` says so.
pub(super) fn parts(
    nest: &Nest,
    bound: usize,
    count: impl Fn(BufferId) -> usize,
    manner: impl Fn(&Nest, DType) -> ReductionManner,
) -> Vec<KernelPart> {
    if nest.stores.is_empty() {
        return Vec::new();
    }
    if nest.extents.contains(&0) {
        return vec![KernelPart {
            nest: nest.clone(),
            reduced: Vec::new(),
            manner: ReductionManner::InTurn,
            is_second: false,
        }];
    }
    let mut nest = nest.clone();
    with_guarded_reductions(&mut nest, &count);
    let mut found: Vec<((BTreeSet<usize>, ReductionManner), Vec<Store>)> = Vec::new();
    let (writes, reductions): (Vec<Store>, Vec<Store>) =
        std::mem::take(&mut nest.stores).into_iter().partition(|store| store.mode == StoreMode::Write);
    let read = read(&nest, bound);
    let fits = |stores: &[Store], other: &Store| {
        arrays(&nest, &read, &stores.iter().chain([other]).collect::<Vec<_>>()) <= bound
    };
    let mut overlapping = Vec::new();
    for store in reductions {
        let alone = pruned(&nest, vec![store.clone()]);
        if !is_apart(&store, &axes(&store.at).collect::<Vec<_>>(), &nest.extents)
            && let Some(part) = by_element(&alone)
        {
            overlapping.push((store, part));
            continue;
        }
        let own = key(&nest, &store, manner(&alone, nest.values[store.value as usize].1));
        let is_free = |stores: &[Store]| {
            let is_alone = own.1 == ReductionManner::Atomic || stores.iter().all(|other| other.buffer != store.buffer);
            is_alone && fits(stores, &store)
        };
        match found.iter_mut().find(|(key, stores)| *key == own && own.1 != ReductionManner::Sorted && is_free(stores))
        {
            Some((_, stores)) => stores.push(store),
            None => found.push((own, vec![store])),
        }
    }
    // If nothing is reduced, a write has an item for each element. Otherwise it joins a reduction, but not one where a few
    // items go through everything, or where positions are sorted.
    for write in writes {
        let is_free = |((_, manner), stores): &&mut ((BTreeSet<usize>, ReductionManner), Vec<Store>)| {
            !matches!(manner, ReductionManner::InTurn | ReductionManner::Sorted) && fits(stores, &write)
        };
        match found.iter_mut().filter(is_free).min_by_key(|((reduced, _), _)| reduced.len()) {
            Some((_, stores)) => stores.push(write),
            None => found.push(((BTreeSet::new(), ReductionManner::Apart), vec![write])),
        }
    }
    found.sort_by_key(|(_, stores)| stores.iter().all(|store| store.mode != StoreMode::Write));
    let mut parts = Vec::new();
    for ((_, manner), stores) in found {
        let written: Vec<Store> = stores.iter().filter(|store| store.mode == StoreMode::Write).cloned().collect();
        // Parts are simpler than the whole.
        let part = tidied(&pruned(&nest, stores), &HashSet::new());
        let reduced = match part.stores.iter().find(|store| store.mode != StoreMode::Write) {
            Some(store) => key(&part, store, manner).0.into_iter().collect(),
            None => Vec::new(),
        };
        parts.push(KernelPart { nest: part, reduced, manner, is_second: false });
        for store in written {
            read_again(&mut nest, &store);
        }
    }
    for (store, part) in overlapping {
        // Written values are read, if their places are also known.
        let mut part = by_element(&pruned(&nest, vec![store])).unwrap_or(part);
        with_guarded_reductions(&mut part, &count);
        let reduced = key(&part, &part.stores[0], ReductionManner::Atomic).0.into_iter().collect();
        parts.push(KernelPart { nest: part, reduced, manner: ReductionManner::Apart, is_second: false });
    }
    parts
}

/// For each value, the buffers that it and its operands read. If there are more than `bound`, the set only shows that there are
/// more.
fn read(nest: &Nest, bound: usize) -> Vec<BTreeSet<BufferId>> {
    let mut all: Vec<BTreeSet<BufferId>> = Vec::with_capacity(nest.values.len());
    for (value, _) in &nest.values {
        let mut own = BTreeSet::new();
        if let NestValue::Load { buffer, .. } | NestValue::Gather { buffer, .. } = value {
            own.insert(*buffer);
        }
        for operand in value.operands() {
            if own.len() <= bound {
                own.extend(&all[operand as usize]);
            }
        }
        all.push(own);
    }
    all
}

/// The arrays that a kernel of these stores takes, each of which may be combined from parts.
fn arrays(nest: &Nest, read: &[BTreeSet<BufferId>], stores: &[&Store]) -> usize {
    let mut all: BTreeSet<BufferId> = stores.iter().map(|store| store.buffer).collect();
    for store in stores {
        all.extend(&read[store.value as usize]);
        if let Some((index, ..)) = store.index {
            all.extend(&read[index as usize]);
        }
    }
    debug_assert!(nest.values.len() == read.len(), "what each value reads");
    all.len() + stores.iter().filter(|store| store.mode != StoreMode::Write).count()
}

/// A value to store in memory first, if some store needs more arrays than a kernel takes. Of the values that read fewer than
/// `bound` arrays, this is the one that reads the most.
pub(super) fn first(nest: &Nest, bound: usize) -> Option<ValueId> {
    let read = read(nest, bound);
    if nest.stores.iter().all(|store| arrays(nest, &read, &[store]) <= bound) {
        return None;
    }
    let ids = (0..nest.values.len()).filter(|&id| (2..bound).contains(&read[id].len()));
    ids.max_by_key(|&id| (read[id].len(), std::cmp::Reverse(id))).map(|id| id as ValueId)
}

/// The nest that writes a value of another at all positions to a buffer; the other one reads it from there.
pub(super) fn written_first(nest: &mut Nest, value: ValueId, buffer: BufferId) -> Nest {
    let mut at = Affine::constant(0, nest.extents.len());
    let mut inner = 1i64;
    for axis in (0..nest.extents.len()).rev() {
        at.coefficients[axis] = inner;
        inner *= nest.extents[axis] as i64;
    }
    let guards = Guards::new();
    let store = Store { value, buffer, at: at.clone(), guards: guards.clone(), index: None, mode: StoreMode::Write };
    let first = pruned(nest, vec![store]);
    nest.values[value as usize].0 = NestValue::Load { buffer, at, guards };
    *nest = pruned(nest, nest.stores.clone());
    first
}

/// Reads a written value back, if that costs less than computing it again.
pub(super) fn read_again(nest: &mut Nest, store: &Store) {
    let (value, _) = &mut nest.values[store.value as usize];
    let is_computed = !matches!(value, NestValue::Constant(_) | NestValue::Position(_) | NestValue::Load { .. });
    if is_computed && store.guards.is_empty() && store.index.is_none() {
        *value = NestValue::Load { buffer: store.buffer, at: store.at.clone(), guards: Guards::new() };
    }
}

/// A nest of only these stores, and of the values that they need.
pub(super) fn pruned(nest: &Nest, stores: Vec<Store>) -> Nest {
    let mut is_needed = vec![false; nest.values.len()];
    for store in &stores {
        is_needed[store.value as usize] = true;
        if let Some((index, ..)) = store.index {
            is_needed[index as usize] = true;
        }
    }
    for id in (0..nest.values.len()).rev() {
        if is_needed[id] {
            nest.values[id].0.operands().iter().for_each(|&operand| is_needed[operand as usize] = true);
        }
    }
    let mut places: Vec<ValueId> = vec![0; nest.values.len()];
    let mut values = Vec::new();
    for (id, (value, dtype)) in nest.values.iter().enumerate() {
        if is_needed[id] {
            places[id] = values.len() as ValueId;
            values.push((value.map(|operand| places[operand as usize]), *dtype));
        }
    }
    let moved = |mut store: Store| {
        store.value = places[store.value as usize];
        if let Some((index, ..)) = &mut store.index {
            *index = places[*index as usize];
        }
        store
    };
    Nest { extents: nest.extents.clone(), values, stores: stores.into_iter().map(moved).collect() }
}

/// The nest that combines the partial results of `chunks` parts of reductions, which are the elements of `arrays` for each
/// store that reduces. Its axes are those at whose positions there are results, and then the parts; where `columns`, the parts
/// of one result are as far from each other as there are results.
pub(super) fn second(nest: &Nest, outer: &[usize], chunks: usize, columns: bool, arrays: &[BufferId]) -> KernelPart {
    let extents: Vec<usize> = outer.iter().map(|&axis| nest.extents[axis]).chain([chunks]).collect();
    let (results, rank) = (shape::steps(extents[..outer.len()].iter().copied()), extents.len());
    // Each axis goes on by as many results as its inner ones have.
    let mut coefficients = vec![0i64; rank];
    let (of_result, of_chunk) = if columns { (1, results) } else { (chunks, 1) };
    coefficients[outer.len()] = of_chunk as i64;
    let mut inner = of_result as i64;
    for axis in (0..outer.len()).rev() {
        coefficients[axis] = inner;
        inner *= extents[axis] as i64;
    }
    let at = Affine { offset: 0, coefficients: coefficients.into() };
    let moved = |of: &Affine| Affine {
        offset: of.offset,
        coefficients: outer.iter().map(|&axis| of.coefficients[axis]).chain([0]).collect(),
    };
    let mut second = Nest { extents: extents.into(), ..Nest::default() };
    let stores = nest.stores.iter().filter(|store| store.mode != StoreMode::Write);
    for (store, &buffer) in stores.zip(arrays) {
        let dtype = nest.values[store.value as usize].1;
        let value = second.values.len() as ValueId;
        second.values.push((NestValue::Load { buffer, at: at.clone(), guards: Guards::new() }, dtype));
        let mut guards = store.guards.clone();
        guards.iter_mut().for_each(|guard| guard.position = moved(&guard.position));
        second.stores.push(Store { value, at: moved(&store.at), guards, ..store.clone() });
    }
    KernelPart { reduced: vec![rank - 1], nest: second, manner: ReductionManner::Apart, is_second: true }
}

//! Sums of guarded reads, with loops over what is read.
//!
//! The sum over `k` of `x[i - k]` where that is inside goes over many positions at which it adds nothing. With a loop over
//! `j = i - k` in the place of that over `i` there is no guard: each element of `x` is added to the sums `i = j + k`. So the
//! derivative of a convolution goes through the windows once.

use crate::engine::cpu::edges::restricted;
use crate::kernel::{Affine, Guard, Nest, NestValue, Store, StoreMode};
use crate::operation::{Binary, Reduction, Unary};

/// The nest with loops over what its sum reads, without the guards that always hold then; `None` where no guard is spared.
pub(super) fn reindexed(nest: &Nest) -> Option<Nest> {
    let [store] = &nest.stores[..] else { return None };
    let is_plain = store.mode == StoreMode::Reduce(Reduction::Sum) && store.index.is_none() && store.guards.is_empty();
    if !is_plain || nest.extents.contains(&0) {
        return None;
    }
    let failing = |nest: &Nest| {
        let may_fail = |guard: &Guard| !guard.position.stays_inside(&nest.extents, guard.extent as usize);
        guards_of_sum(nest, store).into_iter().find(may_fail)
    };
    let mut guard = failing(nest)?;
    let mut nest = nest.clone();
    let mut axes: Vec<usize> = (0..nest.extents.len()).collect();
    loop {
        let (at, changed) = axes.iter().enumerate().find_map(|(at, &axis)| Some((at, along(&nest, &guard, axis)?)))?;
        nest = changed;
        // Its guard holds as long as the axis is not changed again.
        axes.remove(at);
        match failing(&nest) {
            Some(next) => guard = next,
            None => break,
        }
    }
    let all: Vec<_> = nest.extents.iter().map(|&extent| 0..extent).collect();
    Some(restricted(&nest, &all))
}

/// The guards where one of which does not hold a sum's term is 0.
fn guards_of_sum(nest: &Nest, store: &Store) -> Vec<Guard> {
    let (mut found, mut pending) = (Vec::new(), vec![store.value]);
    while let Some(id) = pending.pop() {
        match &nest.values[id as usize].0 {
            NestValue::Load { guards, .. } => found.extend(guards.iter().cloned()),
            NestValue::Guarded(a, guards) => {
                found.extend(guards.iter().cloned());
                pending.push(*a);
            }
            NestValue::Unary(Unary::Neg, a) | NestValue::Binary(Binary::KeepZero, a, _) => pending.push(*a),
            _ => {}
        }
    }
    found
}

/// The nest with a loop over a guard's position in the place of that along an axis, if the one reaches what the other does.
fn along(nest: &Nest, guard: &Guard, axis: usize) -> Option<Nest> {
    let sign = guard.position.coefficients[axis];
    if sign.abs() != 1 {
        return None;
    }
    let own = Affine::axis(axis, nest.extents.len());
    let rest = guard.position.plus(-sign, &own)?;
    // The old position by the new one, which has the axis from here on.
    let old = Affine::constant(0, nest.extents.len()).plus(sign, &own)?.plus(-sign, &rest)?;
    let mut nest = nest.clone();
    let extent = std::mem::replace(&mut nest.extents[axis], usize::try_from(guard.extent).ok()?);
    if nest.extents[axis] == 0 || !old.stays_inside(&nest.extents, extent) {
        return None;
    }
    for function in nest.functions_mut() {
        let coefficient = std::mem::take(&mut function.coefficients[axis]);
        *function = function.plus(coefficient, &old)?;
    }
    Some(nest)
}

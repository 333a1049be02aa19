//! Buffers of short rows are laid out with their long axis innermost, where instructions on long runs then cost less.

use super::order::least_cost;
use crate::kernel::{Affine, BufferId, Guards, Procedure, Source, Step, Strided, Value};
use crate::shape::Type;
use std::borrow::Cow;
use std::collections::HashSet;

/// Rows of at most so many elements are looked at: first the shortest alone, in the end all.
const SHORT: [usize; 4] = [4, 16, 64, usize::MAX];

/// The procedure with columns in place of rows in some buffers of its own, of [rows, elements of a row] each, if that is
/// estimated to cost less.
pub(super) fn transposed(procedure: &Procedure) -> Cow<'_, Procedure> {
    let mut best = Cow::Borrowed(procedure);
    let mut least = cost(procedure);
    let candidates = candidates(procedure);
    for (at, &short) in SHORT.iter().enumerate() {
        let chosen: HashSet<BufferId> =
            candidates.iter().filter(|&&(_, row)| row <= short).map(|&(id, _)| id).collect();
        let before = if at == 0 { 0 } else { SHORT[at - 1] };
        if !candidates.iter().any(|&(_, row)| (before + 1..=short).contains(&row)) {
            continue;
        }
        let other = with_columns(procedure, &chosen);
        let cost = cost(&other);
        if cost < least {
            (best, least) = (Cow::Owned(other), cost);
        }
    }
    best
}

/// What the nests of a procedure cost, as their order is chosen by.
fn cost(procedure: &Procedure) -> f64 {
    let nests = procedure.steps.iter().map(|step| match step {
        Step::Nest(nest) => least_cost(nest),
        _ => 0.0,
    });
    nests.sum()
}

/// The buffers that can be transposed, with the elements of their rows: memory of the procedure's own, all of whose accesses
/// are affine in a row and a column.
fn candidates(procedure: &Procedure) -> Vec<(BufferId, usize)> {
    let mut is_candidate: Vec<bool> = procedure
        .buffers
        .iter()
        .enumerate()
        .map(|(id, buffer)| {
            let id = id as BufferId;
            let aliased = procedure.buffers.iter().any(|other| matches!(other.source, Source::Alias(of) if of == id));
            let own = matches!(buffer.source, Source::Local) && !aliased && !procedure.results.contains(&id);
            own && matches!(buffer.ty.shape[..], [rows, row] if rows > 1 && row > 1)
        })
        .collect();
    let mut check = |id: BufferId, fits: bool| is_candidate[id as usize] &= fits;
    let splits = |id: BufferId, at: &Affine, guards: &Guards, extents: &[usize]| {
        row_of(procedure, id).is_some_and(|row| split(at, row, guards, extents).is_some())
    };
    for step in &procedure.steps {
        match step {
            Step::Nest(nest) => {
                for (value, _) in &nest.values {
                    match value {
                        Value::Load { buffer, at, guards } => {
                            check(*buffer, splits(*buffer, at, guards, &nest.extents));
                        }
                        Value::Gather { buffer, .. } => check(*buffer, false),
                        _ => {}
                    }
                }
                for store in &nest.stores {
                    let fits = store.index.is_none() && splits(store.buffer, &store.at, &store.guards, &nest.extents);
                    check(store.buffer, fits);
                }
            }
            Step::Product(product) => {
                let extents = product.all_extents();
                for operand in [&product.left, &product.right, &product.result] {
                    check(operand.buffer, splits(operand.buffer, &as_affine(operand), &Guards::new(), &extents));
                }
            }
            Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) | Step::Call(_) | Step::Blocks(_) => {
                let (read, filled) = step.touched();
                read.into_iter().chain(filled).for_each(|id| check(id, false));
            }
        }
    }
    let chosen = (0..procedure.buffers.len()).filter(|&id| is_candidate[id]);
    chosen.filter_map(|id| Some((id as BufferId, row_of(procedure, id as BufferId)?))).collect()
}

/// The elements of a row of a matrix.
fn row_of(procedure: &Procedure, id: BufferId) -> Option<usize> {
    match procedure.buffers[id as usize].ty.shape[..] {
        [_, row] => Some(row),
        _ => None,
    }
}

/// An access as a row and a column, where both are affine at all positions at which the guards may hold.
fn split(at: &Affine, row: usize, guards: &Guards, extents: &[usize]) -> Option<(Affine, Affine)> {
    // Guards on one axis alone leave a stretch of it.
    let mut stretches: Vec<(i64, i64)> = extents.iter().map(|&extent| (0, extent as i64)).collect();
    for guard in guards {
        let mut axes = guard.position.coefficients.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0);
        if let (Some((axis, 1)), None) = (axes.next(), axes.next()) {
            let (low, high) = stretches[axis];
            let offset = guard.position.offset;
            stretches[axis] = (low.max(-offset), high.min(guard.extent - offset));
        }
    }
    if stretches.iter().any(|(low, high)| low >= high) {
        return None;
    }
    let mut moved = at.clone();
    for (&coefficient, &(low, _)) in at.coefficients.iter().zip(&stretches) {
        moved.offset = moved.offset.checked_add(coefficient.checked_mul(low)?)?;
    }
    let lengths: Vec<usize> = stretches.iter().map(|(low, high)| (high - low) as usize).collect();
    let (mut quotient, mut remainder) = moved.divided(row as i64, &lengths)?;
    for part in [&mut quotient, &mut remainder] {
        for (&coefficient, &(low, _)) in part.coefficients.iter().zip(&stretches) {
            part.offset -= coefficient * low;
        }
    }
    Some((quotient, remainder))
}

/// The places of an operand of matrix products, over all axes.
fn as_affine(operand: &Strided) -> Affine {
    let strides = operand.strides.iter().flatten().map(|&stride| stride as i64);
    Affine { offset: operand.offset as i64, coefficients: strides.collect() }
}

/// The procedure with columns in place of rows in these buffers.
fn with_columns(procedure: &Procedure, chosen: &HashSet<BufferId>) -> Procedure {
    let mut other = procedure.clone();
    let place = |id: BufferId, at: &Affine, guards: &Guards, extents: &[usize]| -> Affine {
        let ([rows, row], true) = (&procedure.buffers[id as usize].ty.shape[..], chosen.contains(&id)) else {
            return at.clone();
        };
        let (quotient, remainder) = split(at, *row, guards, extents).expect("a candidate's accesses are affine");
        quotient.plus(*rows as i64, &remainder).expect("places in a buffer do not overflow")
    };
    for &id in chosen {
        let Type { dtype, shape } = &procedure.buffers[id as usize].ty;
        other.buffers[id as usize].ty = Type::new(*dtype, &[shape[1], shape[0]]);
    }
    for step in &mut other.steps {
        match step {
            Step::Nest(nest) => {
                for (value, _) in &mut nest.values {
                    if let Value::Load { buffer, at, guards } = value {
                        *at = place(*buffer, at, guards, &nest.extents);
                    }
                }
                for store in &mut nest.stores {
                    store.at = place(store.buffer, &store.at, &store.guards, &nest.extents);
                }
            }
            Step::Product(product) => {
                let extents = product.all_extents();
                for operand in [&mut product.left, &mut product.right, &mut product.result] {
                    let at = place(operand.buffer, &as_affine(operand), &Guards::new(), &extents);
                    operand.offset = at.offset as usize;
                    for (stride, &coefficient) in operand.strides.iter_mut().flatten().zip(&at.coefficients) {
                        *stride = coefficient as isize;
                    }
                }
            }
            Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) | Step::Call(_) | Step::Blocks(_) => {}
        }
    }
    other
}

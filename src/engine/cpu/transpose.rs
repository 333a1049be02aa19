//! Buffers of short rows are laid out with their long axes innermost, where instructions on long runs then cost less.

use super::order::least_cost;
use crate::kernel::{Affine, BufferId, BufferSource, Guards, NestValue, Procedure, Step, Strided};
use crate::shape::{Shape, Type, size};
use crate::term::hash::TermMap;
use std::borrow::Cow;

/// Rows of at most so many elements are looked at: first the shortest alone, in the end all.
const SHORT: [usize; 5] = [4, 16, 64, 256, usize::MAX];

/// A buffer's rows, and the elements of a row.
type MatrixSize = (usize, usize);
type Matrices = TermMap<BufferId, MatrixSize>;
/// Steps in place of those at these positions.
type ReplacedSteps = Vec<(usize, Step)>;

/// The procedure with columns in place of rows in some buffers of its own, if that is estimated to cost less. `cut` says
/// whether threads may share the work of a step.
pub(super) fn transposed(procedure: &Procedure, cut: bool) -> Cow<'_, Procedure> {
    let own = own_buffers(procedure);
    let mut tried = Matrices::default();
    let mut costs: TermMap<usize, f64> = TermMap::default();
    let mut best: Option<(f64, Matrices, ReplacedSteps)> = None;
    for short in SHORT {
        let matrix = |&id: &BufferId| Some((id, matrix_of(&procedure.buffers[id as usize].ty.shape, short)?));
        let matrices: Matrices = own.iter().filter_map(matrix).collect();
        if matrices == tried {
            continue;
        }
        let chosen = accessed_by_row(procedure, matrices.clone());
        tried = matrices;
        let changed = with_columns(procedure, &chosen);
        let before = |at: usize| cost(&procedure.steps[at], cut);
        let gains = changed.iter().map(|(at, step)| *costs.entry(*at).or_insert_with(|| before(*at)) - cost(step, cut));
        let gain: f64 = gains.sum();
        if gain > best.as_ref().map_or(0.0, |(most, ..)| *most) {
            best = Some((gain, chosen, changed));
        }
    }
    let Some((_, chosen, changed)) = best else { return Cow::Borrowed(procedure) };
    let mut other = procedure.clone();
    for (id, (rows, row)) in chosen {
        let buffer = &mut other.buffers[id as usize];
        buffer.ty = Type::new(buffer.ty.dtype, &[row, rows]);
    }
    for (at, step) in changed {
        other.steps[at] = step;
    }
    Cow::Owned(other)
}

/// The cost of a step if it is a nest, by the measure that chooses its order.
fn cost(step: &Step, cut: bool) -> f64 {
    if let Step::Nest(nest) = step { least_cost(nest, cut) } else { 0.0 }
}

/// An array as a matrix. Its rows combine as many of the inner axes as have at most so many elements.
fn matrix_of(shape: &Shape, short: usize) -> Option<MatrixSize> {
    let (all, mut row) = (size(shape), 1);
    for &extent in shape.iter().rev() {
        if row * extent > short || row * extent == all {
            break;
        }
        row *= extent;
    }
    (row > 1).then(|| (all / row, row))
}

/// The memory of the procedure's own that nothing but nests and products knows.
fn own_buffers(procedure: &Procedure) -> Vec<BufferId> {
    let mut own: Vec<bool> =
        procedure.buffers.iter().map(|buffer| matches!(buffer.source, BufferSource::Local)).collect();
    for buffer in &procedure.buffers {
        if let BufferSource::Alias(of) = buffer.source {
            own[of as usize] = false;
        }
    }
    for step in &procedure.steps {
        if !matches!(step, Step::Nest(_) | Step::Product(_)) {
            let (read, filled) = step.touched();
            read.into_iter().chain(filled).for_each(|id| own[id as usize] = false);
        }
    }
    procedure.results.iter().for_each(|&id| own[id as usize] = false);
    (0..own.len()).filter(|&id| own[id]).map(|id| id as BufferId).collect()
}

/// The matrices whose accesses are all affine in a row and a column.
fn accessed_by_row(procedure: &Procedure, mut matrices: Matrices) -> Matrices {
    let mut check = |id: BufferId, at: Option<(&Affine, &Guards)>, extents: &[usize]| {
        let is_split =
            |&(_, row): &MatrixSize| at.is_some_and(|(at, guards)| split(at, row, guards, extents).is_some());
        if !matrices.get(&id).is_none_or(is_split) {
            matrices.remove(&id);
        }
    };
    for step in &procedure.steps {
        match step {
            Step::Nest(nest) => {
                for (value, _) in &nest.values {
                    match value {
                        NestValue::Load { buffer, at, guards } => check(*buffer, Some((at, guards)), &nest.extents),
                        NestValue::Gather { buffer, .. } => check(*buffer, None, &nest.extents),
                        _ => {}
                    }
                }
                for store in &nest.stores {
                    let at = store.index.is_none().then_some((&store.at, &store.guards));
                    check(store.buffer, at, &nest.extents);
                }
            }
            Step::Product(product) => {
                let extents = product.all_extents();
                for operand in [&product.left, &product.right, &product.result] {
                    check(operand.buffer, Some((&as_affine(operand), &Guards::new())), &extents);
                }
            }
            Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) | Step::First(_) | Step::Call(_) | Step::Blocks(_) => {}
        }
    }
    matrices
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

/// The steps that touch these buffers, with columns in place of rows in them.
fn with_columns(procedure: &Procedure, chosen: &Matrices) -> ReplacedSteps {
    let place = |id: BufferId, at: &Affine, guards: &Guards, extents: &[usize]| -> Option<Affine> {
        let &(rows, row) = chosen.get(&id)?;
        let (quotient, remainder) = split(at, row, guards, extents).expect("the accesses of what is chosen are affine");
        Some(quotient.plus(rows as i64, &remainder).expect("places in a buffer do not overflow"))
    };
    let is_touched = |step: &Step| {
        let (read, filled) = step.touched();
        read.iter().chain(&filled).any(|id| chosen.contains_key(id))
    };
    let mut changed: ReplacedSteps = Vec::new();
    for (at, step) in procedure.steps.iter().enumerate().filter(|(_, step)| is_touched(step)) {
        let mut step = step.clone();
        match &mut step {
            Step::Nest(nest) => {
                let extents = &nest.extents;
                for (value, _) in &mut nest.values {
                    if let NestValue::Load { buffer, at, guards } = value
                        && let Some(moved) = place(*buffer, at, guards, extents)
                    {
                        *at = moved;
                    }
                }
                for store in &mut nest.stores {
                    if let Some(moved) = place(store.buffer, &store.at, &store.guards, extents) {
                        store.at = moved;
                    }
                }
            }
            Step::Product(product) => {
                let extents = product.all_extents();
                for operand in [&mut product.left, &mut product.right, &mut product.result] {
                    if let Some(moved) = place(operand.buffer, &as_affine(operand), &Guards::new(), &extents) {
                        operand.offset = moved.offset as usize;
                        for (stride, &coefficient) in operand.strides.iter_mut().flatten().zip(&moved.coefficients) {
                            *stride = coefficient as isize;
                        }
                    }
                }
            }
            Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) | Step::First(_) | Step::Call(_) | Step::Blocks(_) => {
                unreachable!("nests and products alone touch what is chosen")
            }
        }
        changed.push((at, step));
    }
    changed
}

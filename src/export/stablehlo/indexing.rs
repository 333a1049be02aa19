//! Reads, additions and writes at computed positions.

use super::dialect::Indexing;
use super::writer::{Handle, ModuleWriter};
use crate::error::Result;
use crate::operation::{Comparison, StableHlo};
use crate::shape::{Axes, DType, Shape, Type, size, sort_by_rank};

/// Index arrays as one, with a row of indices for each position.
fn rows(writer: &mut ModuleWriter, indices: &[&Handle]) -> Handle {
    let mut shape = indices[0].ty.shape.clone();
    shape.push(1);
    let columns: Vec<Handle> = indices.iter().map(|index| writer.reshape(index, &shape)).collect();
    writer.concatenate(&columns.iter().collect::<Vec<_>>(), shape.len() - 1)
}

/// The axes of positions, then inner ones in this order.
fn after(positions: usize, inner: impl IntoIterator<Item = usize>) -> Axes {
    (0..positions).chain(inner.into_iter().map(|axis| positions + axis)).collect()
}

/// `a[indices[0][s], .., r]`, 0 outside.
pub(super) fn gather(writer: &mut ModuleWriter, a: &Handle, indices: &[&Handle]) -> Handle {
    let axes: Axes = (0..a.ty.rank()).collect();
    gather_permuted(writer, a, &axes, indices)
}

/// As [`gather`], of an array that has these axes of `a` in the place of its own.
pub(super) fn gather_permuted(writer: &mut ModuleWriter, a: &Handle, axes: &[usize], indices: &[&Handle]) -> Handle {
    let Some(first) = indices.first() else { return writer.transpose(a, axes) };
    let places = &first.ty.shape;
    let mut shape = places.clone();
    let (indexed, whole) = axes.split_at(indices.len());
    shape.extend(whole.iter().map(|&axis| a.ty.shape[axis]));
    let ty = Type { dtype: a.ty.dtype, shape };
    if ModuleWriter::is_empty(&ty) || ModuleWriter::is_empty(&a.ty) {
        return writer.zeros(&ty);
    }
    let mut inside: Option<Handle> = None;
    for (&axis, index) in indexed.iter().zip(indices) {
        let zero = writer.zeros(&index.ty);
        let extent = writer.filled(DType::I64, places, a.ty.shape[axis] as i64);
        let above = writer.compare(Comparison::GreaterEqual, index, &zero);
        let below = writer.compare(Comparison::Less, index, &extent);
        let both = writer.elementwise("and", &[&above, &below]);
        inside = Some(match inside {
            None => both,
            Some(inside) => writer.elementwise("and", &[&inside, &both]),
        });
    }
    let indexing = Indexing { positions: places.len(), indexed: indexed.into(), whole: whole.len() };
    let rows = rows(writer, indices);
    let read = writer.gather(a, &rows, &indexing);
    let inner = whole.iter().map(|&axis| whole.iter().filter(|&&other| other < axis).count());
    let read = writer.transpose(&read, &after(places.len(), inner));
    let inside = inside.expect("there is an index");
    let axes: Vec<usize> = (0..places.len()).collect();
    let inside = writer.broadcast(&inside, &ty.shape, &axes);
    let zeros = writer.zeros(&ty);
    writer.select(&inside, &read, &zeros)
}

/// Zeros, to which updates are added at positions; those outside are ignored.
pub(super) fn scatter(
    writer: &mut ModuleWriter,
    updates: &Handle,
    indices: &[&Handle],
    extents: &[usize],
) -> Result<Handle> {
    let Some(first) = indices.first() else { return Ok(updates.clone()) };
    let places = first.ty.rank();
    let mut shape = Shape::from_slice(extents);
    shape.extend_from_slice(&updates.ty.shape[places..]);
    let axes: Axes = (0..shape.len()).collect();
    let zeros = writer.zeros(&Type { dtype: updates.ty.dtype, shape });
    scatter_add(writer, &zeros, &axes, updates, indices)
}

/// Adds updates to a target at positions, given by some arrays; positions outside are ignored. `axes` are the target's axes in
/// the order of those arrays, followed by the axes of the updates.
pub(super) fn scatter_add(
    writer: &mut ModuleWriter,
    target: &Handle,
    axes: &[usize],
    updates: &Handle,
    indices: &[&Handle],
) -> Result<Handle> {
    if ModuleWriter::is_empty(&target.ty) || ModuleWriter::is_empty(&updates.ty) {
        return Ok(target.clone());
    }
    let places = indices[0].ty.rank();
    let (indexed, whole) = axes.split_at(indices.len());
    let mut inner: Axes = (0..whole.len()).collect();
    sort_by_rank(&mut inner, |&at| whole[at] as u64);
    let updates = writer.transpose(updates, &after(places, inner));
    let indexing = Indexing { positions: places, indexed: indexed.into(), whole: whole.len() };
    let rows = rows(writer, indices);
    writer.scatter(target, &rows, &updates, &indexing, adding)
}

/// The body of a scatter that adds to elements.
pub(super) fn adding(writer: &mut ModuleWriter, operands: &[Handle]) -> Handle {
    let operation = if operands[0].ty.dtype == DType::Bool { "or" } else { "add" };
    writer.elementwise(operation, &[&operands[0], &operands[1]])
}

/// A target, into which updates are written at positions, which may be known to differ, of several at one position the last; those
/// outside are ignored.
pub(super) fn scatter_set(
    writer: &mut ModuleWriter,
    target: &Handle,
    updates: &Handle,
    indices: &[&Handle],
    differ: bool,
) -> Result<Handle> {
    let Some(first) = indices.first() else { return Ok(updates.clone()) };
    if ModuleWriter::is_empty(&target.ty) || ModuleWriter::is_empty(&updates.ty) {
        return Ok(target.clone());
    }
    let places = &first.ty.shape;
    let mut indices: Vec<Handle> = indices.iter().map(|&index| index.clone()).collect();
    if !differ && size(places) > 1 {
        // StableHLO leaves open which of several is written: all but the last go outside.
        let counted = writer.iota(&[size(places)], 0);
        let numbers = writer.reshape(&counted, places);
        let none = writer.filled(DType::I64, &target.ty.shape[..indices.len()], -1);
        let only = Indexing::outer(places.len(), indices.len(), 0);
        let positions = rows(writer, &indices.iter().collect::<Vec<_>>());
        let last = writer.scatter(&none, &positions, &numbers, &only, |writer, operands| {
            writer.elementwise("maximum", &[&operands[0], &operands[1]])
        })?;
        let last = gather(writer, &last, &indices.iter().collect::<Vec<_>>());
        let stays = writer.compare(Comparison::Equal, &last, &numbers);
        let outside = writer.filled(DType::I64, places, -1);
        indices[0] = writer.select(&stays, &indices[0], &outside);
    }
    let indices: Vec<&Handle> = indices.iter().collect();
    let whole = target.ty.rank() - indices.len();
    let indexing = Indexing::outer(places.len(), indices.len(), whole);
    let rows = rows(writer, &indices);
    writer.scatter(target, &rows, updates, &indexing, |_, operands| operands[1].clone())
}

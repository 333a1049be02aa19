//! Affine reads and their adjoints. Where every axis of the result moves along one axis of the source at most, and no two
//! along the same, they are slices, reversals, paddings, transpositions and repetitions; else a gather or scatter.

use super::dialect::Indexing;
use super::indexing::adding;
use super::problem;
use super::writer::{Handle, ModuleWriter};
use crate::affine::AffineMap;
use crate::error::Result;
use crate::operation::{Comparison, Reduction, StableHlo};
use crate::shape::{Axes, DType, Shape, Type, size, sort_by_rank, strides};

/// The read of a result axis along a source axis: positions `start + step · j` of the source for `j` from `before` to before
/// `extent − after`, and nothing elsewhere.
#[derive(Clone, Copy)]
struct AxisRead {
    /// The result axis, if there is one: else one position is read.
    column: Option<usize>,
    /// The lowest position that is read, and the highest.
    low: usize,
    high: usize,
    /// The distance of positions.
    step: usize,
    /// Whether they are read from the highest on.
    reversed: bool,
    /// The positions of the result before and after those that read inside.
    before: usize,
    after: usize,
}

/// How a map reads, axis by axis.
enum MapReads {
    /// Each source axis on its own.
    Separate(Vec<AxisRead>),
    /// Nothing inside.
    Nothing,
    /// Axes depend on each other.
    Mixed,
}

/// The result axis along which each source axis is read, or `None` where the axes depend on each other.
fn columns(map: &AffineMap) -> Option<Vec<Option<usize>>> {
    let mut taken = vec![false; map.result().len()];
    let mut columns = Vec::new();
    for row in 0..map.source().len() {
        let mut moving = (0..map.result().len()).filter(|&column| map.coefficient(row, column) != 0);
        let (column, other) = (moving.next(), moving.next());
        if other.is_some() || column.is_some_and(|column| std::mem::replace(&mut taken[column], true)) {
            return None;
        }
        columns.push(column);
    }
    // An axis with a single read position may stay, where the result has an axis of length 1 for it in this order.
    let mut next = 0;
    for column in &mut columns {
        match column {
            Some(column) => next = *column + 1,
            None => {
                let free = (next..taken.len()).take_while(|&at| !taken[at]).find(|&at| map.result()[at] == 1);
                if let Some(free) = free {
                    taken[free] = true;
                    (*column, next) = (Some(free), free + 1);
                }
            }
        }
    }
    Some(columns)
}

fn lines(map: &AffineMap) -> MapReads {
    if size(map.source()) == 0 || size(map.result()) == 0 {
        return MapReads::Nothing;
    }
    let Some(columns) = columns(map) else { return MapReads::Mixed };
    let mut lines = Vec::new();
    for (row, column) in columns.into_iter().enumerate() {
        let (offset, last) = (map.offset(row) as i128, map.source()[row] as i128 - 1);
        let extent = column.map_or(1, |column| map.result()[column]) as i128;
        let coefficient = column.map_or(0, |column| map.coefficient(row, column)) as i128;
        // An axis of length 1 is read at its offset, whatever the coefficient.
        let coefficient = if coefficient == 0 { 1 } else { coefficient };
        let (step, reversed) = (coefficient.abs(), coefficient < 0);
        // How far the reads may go from the offset before they leave the source, and when they come in.
        let (enters, leaves) = if reversed { (offset - last, offset) } else { (-offset, last - offset) };
        let first = (-(-enters).div_euclid(step)).max(0);
        let end = (leaves.div_euclid(step) + 1).min(extent);
        if first >= end {
            return MapReads::Nothing;
        }
        let (one, other) = (offset + coefficient * first, offset + coefficient * (end - 1));
        lines.push(AxisRead {
            column,
            low: one.min(other) as usize,
            high: one.max(other) as usize,
            step: step.min(i128::from(i64::MAX)) as usize,
            reversed,
            before: first as usize,
            after: (extent - end) as usize,
        });
    }
    MapReads::Separate(lines)
}

/// The source axes that become result axes, in the order of those.
fn kept(lines: &[AxisRead]) -> Vec<(usize, usize)> {
    let mut kept: Vec<(usize, usize)> =
        lines.iter().enumerate().filter_map(|(row, line)| line.column.map(|column| (column, row))).collect();
    kept.sort_unstable();
    kept
}

/// `result[j] = a[matrix · j + offset]`, and 0 outside.
pub(super) fn view(writer: &mut ModuleWriter, a: &Handle, map: &AffineMap) -> Result<Handle> {
    let ty = Type::new(a.ty.dtype, map.result());
    let lines = match lines(map) {
        MapReads::Nothing => return Ok(writer.zeros(&ty)),
        MapReads::Mixed => return gathered(writer, a, map),
        MapReads::Separate(lines) => lines,
    };
    let ranges: Vec<_> = lines.iter().map(|line| (line.low, line.high + 1, step_within(line))).collect();
    let slice = writer.slice(a, &ranges);
    let kept = kept(&lines);
    let rows: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| line.column.is_some()).map(|(row, _)| row).collect();
    let shape: Shape = rows.iter().map(|&row| slice.ty.shape[row]).collect();
    let slice = writer.reshape(&slice, &shape);
    let reversed: Axes = (0..rows.len()).filter(|&at| lines[rows[at]].reversed && shape[at] > 1).collect();
    let slice = writer.reverse(&slice, &reversed);
    let zeros: Vec<_> = rows.iter().map(|&row| (lines[row].before, lines[row].after, 0)).collect();
    let padded = writer.pad(&slice, &zeros);
    let permutation: Axes = kept.iter().filter_map(|&(_, row)| rows.iter().position(|&at| at == row)).collect();
    let turned = writer.transpose(&padded, &permutation);
    let columns: Axes = kept.iter().map(|&(column, _)| column).collect();
    Ok(writer.broadcast(&turned, map.result(), &columns))
}

/// The distance between positions; 1 if there is only one position.
fn step_within(line: &AxisRead) -> usize {
    if line.low == line.high { 1 } else { line.step }
}

/// The adjoint of [`view`].
pub(super) fn accumulate(writer: &mut ModuleWriter, a: &Handle, map: &AffineMap) -> Result<Handle> {
    let ty = Type::new(a.ty.dtype, map.source());
    let lines = match lines(map) {
        MapReads::Nothing => return Ok(writer.zeros(&ty)),
        MapReads::Mixed => return scattered(writer, a, map),
        MapReads::Separate(lines) => lines,
    };
    let block = block(writer, a, map, &lines);
    let zeros = lines.iter().zip(map.source());
    let zeros = zeros.map(|(line, extent)| (line.low, extent - 1 - line.high, step_within(line) - 1));
    Ok(writer.pad(&block, &zeros.collect::<Vec<_>>()))
}

/// A target with the result of [`accumulate`] added to it: in place, if that is one block.
pub(super) fn accumulate_onto(
    writer: &mut ModuleWriter,
    target: &Handle,
    a: &Handle,
    map: &AffineMap,
) -> Result<Handle> {
    if let MapReads::Separate(lines) = lines(map)
        && lines.iter().all(|line| step_within(line) == 1)
    {
        let block = block(writer, a, map, &lines);
        let ranges: Vec<_> = lines.iter().map(|line| (line.low, line.high + 1, 1)).collect();
        let before = writer.slice(target, &ranges);
        let sum = adding(writer, &[before, block]);
        let starts: Vec<Handle> = lines.iter().map(|line| writer.position(line.low)).collect();
        return Ok(writer.write_block(target, &sum, &starts.iter().collect::<Vec<_>>()));
    }
    let added = accumulate(writer, a, map)?;
    Ok(adding(writer, &[target.clone(), added]))
}

/// The elements that a map along separate lines puts in its source, in the order of the source.
fn block(writer: &mut ModuleWriter, a: &Handle, map: &AffineMap, lines: &[AxisRead]) -> Handle {
    let kept = kept(lines);
    let ignored: Axes =
        (0..map.result().len()).filter(|&column| kept.iter().all(|&(other, _)| other != column)).collect();
    let summed = writer.reduce(Reduction::Sum, a, &ignored);
    // The axes, which are in the order of the result, in the order of the source.
    let mut order: Vec<usize> = (0..kept.len()).collect();
    sort_by_rank(&mut order, |&at| kept[at].1 as u64);
    let turned = writer.transpose(&summed, &order);
    let moving = || lines.iter().filter(|line| line.column.is_some());
    let inside = moving().zip(&turned.ty.shape).map(|(line, extent)| (line.before, extent - line.after, 1));
    let slice = writer.slice(&turned, &inside.collect::<Vec<_>>());
    let reversed = moving().enumerate().filter(|(at, line)| line.reversed && slice.ty.shape[*at] > 1);
    let reversed: Axes = reversed.map(|(at, _)| at).collect();
    let slice = writer.reverse(&slice, &reversed);
    let mut extents = slice.ty.shape.iter().copied();
    let shape: Shape = lines.iter().map(|line| line.column.and_then(|_| extents.next()).unwrap_or(1)).collect();
    writer.reshape(&slice, &shape)
}

/// A number that depends on the position in the result.
fn affine(writer: &mut ModuleWriter, shape: &[usize], coefficients: &[i64], offset: i64) -> Handle {
    let mut sum = None;
    for (axis, &coefficient) in coefficients.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0) {
        let mut term = writer.iota(shape, axis);
        if coefficient != 1 {
            let factor = writer.filled(DType::I64, shape, coefficient);
            term = writer.elementwise("multiply", &[&term, &factor]);
        }
        sum = Some(match sum {
            None => term,
            Some(sum) => writer.elementwise("add", &[&sum, &term]),
        });
    }
    let offset = (offset != 0 || sum.is_none()).then(|| writer.filled(DType::I64, shape, offset));
    match (sum, offset) {
        (Some(sum), Some(offset)) => writer.elementwise("add", &[&sum, &offset]),
        (sum, offset) => sum.or(offset).expect("an offset stands where there is no sum"),
    }
}

/// For each element of the result, the row-major position in the source, and whether it is inside, if that is not known.
fn positions(writer: &mut ModuleWriter, operation: &str, map: &AffineMap) -> Result<(Handle, Option<Handle>)> {
    if i64::try_from(size(map.source())).is_err() {
        return Err(problem(operation, "positions beyond 64 bits"));
    }
    let shape = map.result();
    let mut inside: Option<Handle> = None;
    // Where positions in memory can't be counted outside of the source, each axis is read at 0 there.
    let mut clamped: Option<Handle> = None;
    let (mut coefficients, mut offset) = (vec![0i64; shape.len()], 0i64);
    for (row, stride) in strides(map.source()).into_iter().enumerate() {
        let (low, high) = map.range(row);
        let stays_inside = low >= 0 && high < map.source()[row] as i128;
        if map.is_linear() {
            for (sum, &coefficient) in coefficients.iter_mut().zip(map.row(row)) {
                *sum += coefficient * stride as i64;
            }
            offset += map.offset(row) * stride as i64;
            if stays_inside {
                continue;
            }
        }
        let mut position = affine(writer, shape, map.row(row), map.offset(row));
        let zero = writer.filled(DType::I64, shape, 0);
        if !stays_inside {
            let extent = writer.filled(DType::I64, shape, map.source()[row] as i64);
            let above = writer.compare(Comparison::GreaterEqual, &position, &zero);
            let below = writer.compare(Comparison::Less, &position, &extent);
            for mask in [above, below] {
                inside = Some(match inside {
                    None => mask,
                    Some(inside) => writer.elementwise("and", &[&inside, &mask]),
                });
            }
        }
        if !map.is_linear() {
            if let Some(inside) = &inside {
                position = writer.select(inside, &position, &zero);
            }
            let stride = writer.filled(DType::I64, shape, stride as i64);
            let term = writer.elementwise("multiply", &[&position, &stride]);
            clamped = Some(match clamped {
                None => term,
                Some(sum) => writer.elementwise("add", &[&sum, &term]),
            });
        }
    }
    let position = clamped.unwrap_or_else(|| affine(writer, shape, &coefficients, offset));
    Ok((position, inside))
}

/// An array's elements along one axis, read or written one by one at positions of this rank.
fn one_by_one(rank: usize) -> Indexing {
    Indexing::outer(rank, 1, 0)
}

fn gathered(writer: &mut ModuleWriter, a: &Handle, map: &AffineMap) -> Result<Handle> {
    let (position, inside) = positions(writer, "view", map)?;
    let flat = writer.reshape(a, &[a.ty.size()]);
    let read = writer.gather(&flat, &position, &one_by_one(map.result().len()));
    Ok(match inside {
        None => read,
        Some(inside) => {
            let zeros = writer.zeros(&read.ty);
            writer.select(&inside, &read, &zeros)
        }
    })
}

fn scattered(writer: &mut ModuleWriter, a: &Handle, map: &AffineMap) -> Result<Handle> {
    let (mut position, inside) = positions(writer, "accumulate", map)?;
    if let Some(inside) = inside {
        let outside = writer.filled(DType::I64, map.result(), -1);
        position = writer.select(&inside, &position, &outside);
    }
    let target = writer.zeros(&Type::new(a.ty.dtype, &[size(map.source())]));
    let sum = writer.scatter(&target, &position, a, &one_by_one(map.result().len()), adding)?;
    Ok(writer.reshape(&sum, map.source()))
}

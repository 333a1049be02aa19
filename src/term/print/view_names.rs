//! Views print by their form: each is proposed from the map's parts, and taken where it gives just that map.

use crate::affine::AffineMap;
use crate::shape::{Axes, Shape};
use smallvec::SmallVec;

/// How a view prints.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ViewName {
    /// As a function of its source: `transpose[1, 0]`.
    Applied(String),
    /// As an index in brackets after its source: `:, 3`.
    Index(String),
    /// By its map.
    General,
}

/// The plainest name of a view.
pub(super) fn recognise(map: &AffineMap) -> ViewName {
    if map.is_identity() {
        // Nothing but the map itself says that nothing changes.
        return ViewName::General;
    }
    if let Some(index) = index(map) {
        return ViewName::Index(index);
    }
    let forms = [replicate, reverse, slice, pad, transpose, stretch, diagonal];
    match forms.iter().find_map(|form| form(map)) {
        Some(head) => ViewName::Applied(head),
        None => ViewName::General,
    }
}

/// A view without a name, split into two that have one or may have: the view that reads first, and a view of its result.
///
/// Repetition goes outside, axes are first brought into order, and a window that reaches beyond its source becomes a slice with
/// zeros around it.
pub(super) fn in_two(map: &AffineMap) -> Option<(AffineMap, AffineMap)> {
    repeated(map).or_else(|| turned(map)).or_else(|| window(map))
}

/// The views that a view prints as, the first to read first: the view itself, if it has a name or can't be split.
pub(crate) fn parts(map: &AffineMap) -> Vec<AffineMap> {
    match recognise(map) {
        ViewName::General => match in_two(map) {
            Some((first, second)) => [parts(&first), parts(&second)].concat(),
            None => vec![map.clone()],
        },
        _ => vec![map.clone()],
    }
}

fn repeated(map: &AffineMap) -> Option<(AffineMap, AffineMap)> {
    let result = map.result();
    let mut ignored = map.ignored();
    ignored.retain(|column| result[*column] > 1);
    if ignored.is_empty() {
        return None;
    }
    let kept: Axes = (0..result.len()).filter(|column| !ignored.contains(column)).collect();
    let shape: Shape = kept.iter().map(|&column| result[column]).collect();
    let rows: Vec<SmallVec<[i64; 4]>> =
        (0..map.source().len()).map(|row| kept.iter().map(|&column| map.coefficient(row, column)).collect()).collect();
    let offsets: SmallVec<[i64; 4]> = (0..map.source().len()).map(|row| map.offset(row)).collect();
    let first = AffineMap::new(map.source(), &shape, &rows, &offsets);
    let repetition = AffineMap::broadcast(&shape, result, &kept);
    (!first.is_identity()).then_some((first, repetition))
}

fn turned(map: &AffineMap) -> Option<(AffineMap, AffineMap)> {
    let ranks = (map.source().len(), map.result().len());
    let mut order = Axes::new();
    for column in 0..ranks.1 {
        let mut rows = (0..ranks.0).filter(|&row| map.coefficient(row, column) != 0);
        let (row, more) = (rows.next()?, rows.next());
        if more.is_some() || order.contains(&row) {
            return None;
        }
        order.push(row);
    }
    if ranks.0 != ranks.1 || order.is_sorted() {
        return None;
    }
    let first = AffineMap::transpose(map.source(), &order);
    let part = |(column, &row): (usize, &usize)| (map.offset(row), map.coefficient(row, column), map.result()[column]);
    let parts: Vec<(i64, i64, usize)> = order.iter().enumerate().map(part).collect();
    let second = by_axis(first.result(), &parts)?;
    // Axes of extent 1 may change places without a trace.
    let is_exact = second.compose(&first).is_none_or(|both| both == *map);
    (is_exact && !first.is_identity()).then_some((first, second))
}

fn window(map: &AffineMap) -> Option<(AffineMap, AffineMap)> {
    let (mut slices, mut pads, mut shape) = (Vec::new(), Vec::new(), Shape::new());
    for (axis, (start, step, count)) in axis_parts(map)?.into_iter().enumerate() {
        let (extent, count) = (i64::try_from(map.source()[axis]).ok()?, i64::try_from(count).ok()?);
        let (low, high) = (start.max(0), start.checked_add(count)?.min(extent));
        if step != 1 || low >= high {
            return None;
        }
        slices.push((low, 1, usize::try_from(high - low).ok()?));
        pads.push((start - low, 1, usize::try_from(count).ok()?));
        shape.push(usize::try_from(high - low).ok()?);
    }
    let (slice, pad) = (by_axis(map.source(), &slices)?, by_axis(&shape, &pads)?);
    (!slice.is_identity() && !pad.is_identity()).then_some((slice, pad))
}

fn zero_row(map: &AffineMap, row: usize) -> bool {
    map.row(row).iter().all(|&coefficient| coefficient == 0)
}

/// `x[:, 3]`: some axes at one position, the others kept in order.
fn index(map: &AffineMap) -> Option<String> {
    let (source, result) = (map.source(), map.result());
    let count = source.len().checked_sub(result.len()).filter(|&count| count > 0)?;
    let fixed = |row: usize| zero_row(map, row) && map.offset(row) >= 0 && (map.offset(row) as usize) < source[row];
    // Axes of extent 1 may be picked from or kept: they fill the places that the others leave.
    let mut picked: Axes = (0..source.len()).filter(|&row| fixed(row) && source[row] != 1).collect();
    for row in (0..source.len()).filter(|&row| fixed(row) && source[row] == 1) {
        if picked.len() < count {
            picked.push(row);
        }
    }
    if picked.len() != count {
        return None;
    }
    let mut rows: Vec<SmallVec<[i64; 4]>> = Vec::new();
    let mut offset: SmallVec<[i64; 4]> = SmallVec::new();
    let mut parts = Vec::new();
    let mut column = 0;
    for row in 0..source.len() {
        let mut coefficients: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
        if picked.contains(&row) {
            offset.push(map.offset(row));
            parts.push(map.offset(row).to_string());
        } else {
            coefficients[column] = 1;
            column += 1;
            offset.push(0);
            parts.push(":".to_string());
        }
        rows.push(coefficients);
    }
    let kept_fit =
        (0..source.len()).filter(|row| !picked.contains(row)).map(|row| source[row]).eq(result.iter().copied());
    if !kept_fit || AffineMap::new(source, result, &rows, &offset) != *map {
        return None;
    }
    while parts.last().is_some_and(|part| part == ":") {
        parts.pop();
    }
    Some(parts.join(", "))
}

/// `transpose[1, 0]`.
fn transpose(map: &AffineMap) -> Option<String> {
    let (source, result) = (map.source(), map.result());
    if source.len() != result.len() {
        return None;
    }
    let mut permutation = Axes::new();
    for column in 0..result.len() {
        let read = (0..source.len()).find(|&row| map.coefficient(row, column) == 1);
        // No axis reads one of extent 1: any such source axis that is left will do.
        let row = read.or_else(|| {
            let mut left = (0..source.len()).filter(|&row| source[row] == 1 && !permutation.contains(&row));
            left.find(|&row| zero_row(map, row))
        })?;
        permutation.push(row);
    }
    let distinct = permutation.iter().enumerate().all(|(at, axis)| !permutation[..at].contains(axis));
    (distinct && AffineMap::transpose(source, &permutation) == *map).then(|| format!("transpose{:?}", &permutation[..]))
}

/// A map that treats every axis by itself, from the start, step and count of each; `None` where it would read too far.
fn by_axis(source: &[usize], parts: &[(i64, i64, usize)]) -> Option<AffineMap> {
    let result: Shape = parts.iter().map(|&(_, _, count)| count).collect();
    let mut rows: Vec<SmallVec<[i64; 4]>> = Vec::new();
    for (axis, &(_, step, _)) in parts.iter().enumerate() {
        let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, parts.len());
        row[axis] = step;
        rows.push(row);
    }
    let offset: SmallVec<[i64; 4]> = parts.iter().map(|&(start, _, _)| start).collect();
    AffineMap::checked(source, &result, &rows, &offset)
}

/// The start, step and count of each axis, if the map treats every axis by itself.
fn axis_parts(map: &AffineMap) -> Option<Vec<(i64, i64, usize)>> {
    if map.source().len() != map.result().len() {
        return None;
    }
    let parts: Vec<(i64, i64, usize)> = (0..map.source().len())
        .map(|axis| {
            let count = map.result()[axis];
            (map.offset(axis), if count == 1 { 1 } else { map.coefficient(axis, axis) }, count)
        })
        .collect();
    by_axis(map.source(), &parts).is_some_and(|own| own == *map).then_some(parts)
}

/// `reverse[0]`.
fn reverse(map: &AffineMap) -> Option<String> {
    let parts = axis_parts(map)?;
    let mut axes = Axes::new();
    for (axis, &part) in parts.iter().enumerate() {
        let extent = map.source()[axis];
        if part == (extent as i64 - 1, -1, extent) {
            axes.push(axis);
        } else if part != (0, 1, extent) {
            return None;
        }
    }
    Some(format!("reverse{:?}", &axes[..]))
}

/// `slice[0: 1..9, 1: 0..8 by 2]`: for the axes that change, from a first position to the one after the last.
fn slice(map: &AffineMap) -> Option<String> {
    let mut texts = Vec::new();
    for (axis, (start, step, count)) in axis_parts(map)?.into_iter().enumerate() {
        let extent = map.source()[axis] as i128;
        if (start, step, count as i128) == (0, 1, extent) {
            continue;
        }
        let end = if count == 0 { start as i128 } else { start as i128 + step as i128 * (count as i128 - 1) + 1 };
        if start < 0 || step < 1 || end > extent {
            return None;
        }
        let by = if step == 1 { String::new() } else { format!(" by {step}") };
        texts.push(format!("{axis}: {start}..{end}{by}"));
    }
    Some(format!("slice[{}]", texts.join(", ")))
}

/// `pad[0: 1, 1; 2: 0, 3]`: zeros before and after, of the axes that change.
fn pad(map: &AffineMap) -> Option<String> {
    let mut texts = Vec::new();
    for (axis, (start, step, count)) in axis_parts(map)?.into_iter().enumerate() {
        let extent = map.source()[axis] as i128;
        let before = -(start as i128);
        let after = count as i128 - extent - before;
        if step != 1 || before < 0 || after < 0 {
            return None;
        }
        if (before, after) != (0, 0) {
            texts.push(format!("{axis}: {before}, {after}"));
        }
    }
    Some(format!("pad[{}]", texts.join("; ")))
}

/// `replicate[3]`, new outer axes, or `replicate[1: 3]`, new axes at these positions of the result.
fn replicate(map: &AffineMap) -> Option<String> {
    let (source, result) = (map.source(), map.result());
    let mut axes = Axes::new();
    let mut new = Axes::new();
    for (column, &extent) in result.iter().enumerate() {
        let row = axes.len();
        let kept =
            row < source.len() && source[row] == extent && (source[row] == 1 || map.coefficient(row, column) == 1);
        if kept { axes.push(column) } else { new.push(column) }
    }
    if axes.len() != source.len() || new.is_empty() || AffineMap::broadcast(source, result, &axes) != *map {
        return None;
    }
    if new.iter().copied().eq(0..new.len()) {
        return Some(format!("replicate{:?}", &result[..new.len()]));
    }
    let texts: Vec<String> = new.iter().map(|&column| format!("{column}: {}", result[column])).collect();
    Some(format!("replicate[{}]", texts.join(", ")))
}

/// `stretch[0: 5]`: axes of extent 1 repeated.
fn stretch(map: &AffineMap) -> Option<String> {
    let (source, result) = (map.source(), map.result());
    let fits = source.len() == result.len() && source.iter().zip(result).all(|(&from, &to)| from == to || from == 1);
    let axes: Axes = (0..source.len()).collect();
    if !fits || AffineMap::broadcast(source, result, &axes) != *map {
        return None;
    }
    let changed = (0..source.len()).filter(|&axis| source[axis] != result[axis]);
    let texts: Vec<String> = changed.map(|axis| format!("{axis}: {}", result[axis])).collect();
    Some(format!("stretch[{}]", texts.join(", ")))
}

/// `diagonal`: `result[i, ..] = source[i, i, ..]`.
fn diagonal(map: &AffineMap) -> Option<String> {
    let (source, result) = (map.source(), map.result());
    if source.len() < 2 || source[0] != source[1] || result != &source[1..] {
        return None;
    }
    let mut rows: Vec<SmallVec<[i64; 4]>> = Vec::new();
    for row in 0..source.len() {
        let mut coefficients: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
        coefficients[row.saturating_sub(1)] = 1;
        rows.push(coefficients);
    }
    let offset: SmallVec<[i64; 4]> = SmallVec::from_elem(0, source.len());
    (AffineMap::new(source, result, &rows, &offset) == *map).then(|| "diagonal".to_string())
}

//! Views by their names, and by their maps.

use super::reader::{ParseResult, TextReader};
use super::tokens::{TextProblem, TokenKind};
use crate::affine::AffineMap;
use crate::shape::Shape;
use crate::term::print;
use smallvec::SmallVec;

/// Maps with more axes are not tried as several views.
const COMPOSED: usize = 32;

/// How many views one can print as.
const PARTS: usize = 4;

/// How a source axis is read: the result axis that moves it, how far, and the position for 0.
type ViewRow = (Option<usize>, i64, i64);

/// The coefficients and offset of a source axis.
type ViewCoefficients = (SmallVec<[i64; 4]>, i64);

/// The rows of a map. It has forgotten which source axes its result axes of extent 1 stand for; where there is one for
/// each that no other moves, `paired` gives it back to them, since a window of such an axis can be a part of a view.
fn rows(map: &AffineMap, paired: bool) -> Vec<ViewCoefficients> {
    let mut rows: Vec<ViewCoefficients> =
        (0..map.source().len()).map(|row| (map.row(row).into(), map.offset(row))).collect();
    let columns: Vec<usize> = (0..map.result().len()).filter(|&column| map.result()[column] == 1).collect();
    let still: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].0.iter().all(|&by| by == 0)).collect();
    if paired && columns.len() == still.len() {
        still.into_iter().zip(columns).for_each(|(row, column)| rows[row].0[column] = 1);
    }
    rows
}

/// The map that reads through the last of the maps first.
fn composed(maps: &[AffineMap], paired: bool) -> Option<AffineMap> {
    let (first, rest) = maps.split_first()?;
    let is_small = |map: &AffineMap| map.source().len() <= COMPOSED && map.result().len() <= COMPOSED;
    if !maps.iter().all(is_small) {
        return None;
    }
    let mut inner = rows(first, paired);
    for map in rest {
        let outer = rows(map, paired);
        let through = |(coefficients, offset): &ViewCoefficients| {
            let sum = |start: i64, factor: &dyn Fn(usize) -> i64| {
                let products = coefficients.iter().enumerate();
                let sum = products.map(|(middle, &by)| by as i128 * factor(middle) as i128);
                i64::try_from(sum.fold(start as i128, i128::saturating_add)).ok()
            };
            let row = (0..map.result().len()).map(|column| sum(0, &|middle| outer[middle].0[column]));
            Some((row.collect::<Option<_>>()?, sum(*offset, &|middle| outer[middle].1)?))
        };
        inner = inner.iter().map(through).collect::<Option<_>>()?;
    }
    let (rows, offsets): (Vec<SmallVec<[i64; 4]>>, Vec<i64>) = inner.into_iter().unzip();
    AffineMap::checked(first.source(), maps.last()?.result(), &rows, &offsets)
}

/// The views that views in each other, the one that reads first in front, are read as: one where one prints as several.
pub(super) fn joined(maps: Vec<AffineMap>) -> Vec<AffineMap> {
    let mut rest = &maps[..];
    let mut result = Vec::new();
    while !rest.is_empty() {
        let as_one = |&count: &usize| {
            let candidates = [false, true].into_iter().filter_map(|paired| composed(&rest[..count], paired));
            candidates.into_iter().find(|map| print::parts(map) == rest[..count])
        };
        let longest = (2..=PARTS.min(rest.len())).rev().find_map(|count| Some((count, as_one(&count)?)));
        let (count, map) = longest.unwrap_or_else(|| (1, rest[0].clone()));
        result.push(map);
        rest = &rest[count..];
    }
    result
}

/// Whether a word begins a view, or could, if it is not a reduction's.
pub(super) fn is_view(word: &str) -> bool {
    matches!(word, "transpose" | "reverse" | "slice" | "pad" | "replicate" | "stretch" | "diagonal" | "view")
}

/// The attributes of a view before its source is known.
pub(super) enum ViewHead {
    Transpose(SmallVec<[usize; 4]>),
    Reverse(SmallVec<[usize; 4]>),
    /// Axis, first position, step and number of positions.
    Slice(Vec<(usize, i64, i64, usize)>),
    /// Axis, and zeros before and after.
    Pad(Vec<(usize, usize, usize)>),
    /// New outer axes.
    Outer(Shape),
    /// New axes: where, and their extents.
    New(Vec<(usize, usize)>),
    Stretch(Vec<(usize, usize)>),
    Diagonal,
}

impl<'t> TextReader<'t> {
    /// The map whose rows read single axes.
    fn by_rows(
        &mut self,
        source: &[usize],
        result: &[usize],
        rows: &[ViewRow],
        place: usize,
    ) -> ParseResult<AffineMap> {
        let failed = |problem: String| TextProblem::new(problem, place);
        self.limits.coefficients(source.len(), result.len()).map_err(failed)?;
        let mut matrix: Vec<SmallVec<[i64; 4]>> = Vec::with_capacity(rows.len());
        for &(column, step, _) in rows {
            let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
            if let Some(column) = column {
                row[column] = step;
            }
            matrix.push(row);
        }
        let offsets: SmallVec<[i64; 4]> = rows.iter().map(|&(_, _, offset)| offset).collect();
        self.limits.map(source, result, &matrix, &offsets).map_err(failed)
    }

    /// `x[:, 3]`: some axes at one position.
    pub(super) fn picked(&mut self, source: &[usize], index: &[Option<i64>], place: usize) -> ParseResult<AffineMap> {
        if index.len() > source.len() {
            let problem = format!("{} indices into shape {source:?}", index.len());
            return Err(TextProblem::new(problem, place));
        }
        let (mut result, mut rows) = (Shape::new(), Vec::new());
        for (axis, &extent) in source.iter().enumerate() {
            match index.get(axis).copied().flatten() {
                Some(position) if usize::try_from(position).is_ok_and(|position| position < extent) => {
                    rows.push((None, 0, position));
                }
                Some(position) => {
                    let problem = format!("position {position} is outside of shape {source:?}, axis {axis}");
                    return Err(TextProblem::new(problem, place));
                }
                None => {
                    rows.push((Some(result.len()), 1, 0));
                    result.push(extent);
                }
            }
        }
        self.by_rows(source, &result, &rows, place)
    }

    /// `0: 5, 2: 3`.
    fn extents(&mut self) -> ParseResult<Vec<(usize, usize)>> {
        self.list("]", |reader| {
            let axis = reader.natural()?;
            reader.symbol(":")?;
            Ok((axis, reader.natural()?))
        })
    }

    /// A view's word and the attributes in brackets after it.
    pub(super) fn view_head(&mut self, word: &str) -> ParseResult<ViewHead> {
        Ok(match word {
            "transpose" => ViewHead::Transpose(self.axes()?),
            "reverse" => ViewHead::Reverse(self.axes()?),
            "diagonal" => ViewHead::Diagonal,
            "slice" => {
                self.bracket()?;
                ViewHead::Slice(self.list("]", TextReader::slice)?)
            }
            "pad" => {
                self.bracket()?;
                let mut pads = Vec::new();
                loop {
                    let axis = self.natural()?;
                    self.symbol(":")?;
                    let before = self.natural()?;
                    self.symbol(",")?;
                    pads.push((axis, before, self.natural()?));
                    if self.accept("]") {
                        break ViewHead::Pad(pads);
                    }
                    self.symbol(";")?;
                }
            }
            "stretch" => {
                self.bracket()?;
                ViewHead::Stretch(self.extents()?)
            }
            _ => {
                debug_assert_eq!(word, "replicate");
                self.bracket()?;
                let mark = self.mark();
                let is_new = self.token().kind == TokenKind::Number && {
                    self.next();
                    self.is_symbol(":")
                };
                self.go_to(mark);
                match is_new {
                    true => ViewHead::New(self.extents()?),
                    false => ViewHead::Outer(self.list("]", TextReader::natural)?.into()),
                }
            }
        })
    }

    /// `0: 1..9 by 2`.
    fn slice(&mut self) -> ParseResult<(usize, i64, i64, usize)> {
        let axis = self.natural()?;
        self.symbol(":")?;
        let place = self.place();
        let start = self.natural()?;
        self.symbol("..")?;
        let end = self.natural()?;
        let step = if self.accept_word("by") { self.natural()? } else { 1 };
        let (Some(length), true) = (end.checked_sub(start), step > 0) else {
            return Err(TextProblem::new("a slice goes upwards", place));
        };
        let (Ok(start), Ok(step_)) = (i64::try_from(start), i64::try_from(step)) else {
            return Err(TextProblem::new("positions are numbers of 64 bits", place));
        };
        Ok((axis, start, step_, length.div_ceil(step)))
    }

    /// The map of a view of a source.
    pub(super) fn map_of(&mut self, head: &ViewHead, source: &[usize], place: usize) -> ParseResult<AffineMap> {
        let failed = |problem: String| Err(TextProblem::new(problem, place));
        let axis_of = |axis: usize| match axis < source.len() {
            true => Ok(axis),
            false => Err(TextProblem::new(format!("there is no axis {axis} in shape {source:?}"), place)),
        };
        // Every axis unchanged, to begin with.
        let mut result = Shape::from_slice(source);
        let mut rows: Vec<ViewRow> = (0..source.len()).map(|axis| (Some(axis), 1, 0)).collect();
        match head {
            ViewHead::Transpose(axes) => {
                let mut seen = vec![false; source.len()];
                for &axis in axes {
                    seen[axis_of(axis)?] = true;
                }
                if axes.len() != source.len() || seen.contains(&false) {
                    return failed(format!("axes {:?} are no permutation of those of shape {source:?}", &axes[..]));
                }
                for (column, &axis) in axes.iter().enumerate() {
                    result[column] = source[axis];
                    rows[axis].0 = Some(column);
                }
            }
            ViewHead::Reverse(axes) => {
                for &axis in axes {
                    let Ok(last) = i64::try_from(source[axis_of(axis)?]).map(|extent| extent - 1) else {
                        return failed(format!("axis {axis} of shape {source:?} is too long"));
                    };
                    rows[axis] = (Some(axis), -1, last);
                }
            }
            ViewHead::Slice(slices) => {
                for &(axis, start, step, count) in slices {
                    let end = match count {
                        0 => start as i128,
                        _ => start as i128 + step as i128 * (count as i128 - 1) + 1,
                    };
                    if end > source[axis_of(axis)?] as i128 {
                        return failed(format!("the slice ends at {end}, outside of shape {source:?}, axis {axis}"));
                    }
                    result[axis] = count;
                    rows[axis] = (Some(axis), step, start);
                }
            }
            ViewHead::Pad(pads) => {
                for &(axis, before, after) in pads {
                    let extent = source[axis_of(axis)?].checked_add(before).and_then(|sum| sum.checked_add(after));
                    let (Some(extent), Ok(before)) = (extent, i64::try_from(before)) else {
                        return failed(format!("the padded axis {axis} of shape {source:?} is too long"));
                    };
                    result[axis] = extent;
                    rows[axis] = (Some(axis), 1, -before);
                }
            }
            ViewHead::Outer(extents) => {
                result = extents.clone();
                result.extend_from_slice(source);
                rows.iter_mut().enumerate().for_each(|(axis, row)| row.0 = Some(extents.len() + axis));
            }
            ViewHead::New(extents) => {
                let rank = source.len() + extents.len();
                let mut new: Vec<Option<usize>> = vec![None; rank];
                for &(axis, extent) in extents {
                    match new.get_mut(axis) {
                        Some(place) if place.is_none() => *place = Some(extent),
                        _ => return failed(format!("there is no room for a new axis {axis}")),
                    }
                }
                let kept: Vec<usize> = (0..rank).filter(|&axis| new[axis].is_none()).collect();
                for (axis, &column) in kept.iter().enumerate() {
                    new[column] = Some(source[axis]);
                    rows[axis].0 = Some(column);
                }
                result = new.into_iter().flatten().collect();
            }
            ViewHead::Stretch(extents) => {
                for &(axis, extent) in extents {
                    if source[axis_of(axis)?] != 1 {
                        return failed(format!("axis {axis} of shape {source:?} is not of extent 1"));
                    }
                    result[axis] = extent;
                    rows[axis] = (None, 0, 0);
                }
            }
            ViewHead::Diagonal => {
                if source.len() < 2 || source[0] != source[1] {
                    return failed(format!("shape {source:?} has no diagonal of its first two axes"));
                }
                result.remove(0);
                rows.iter_mut().enumerate().for_each(|(axis, row)| row.0 = Some(axis.saturating_sub(1)));
            }
        }
        self.by_rows(source, &result, &rows, place)
    }

    /// `([i, j] -> [j, 3 - i])`: the rows and offsets, for a number of columns, which the names must be.
    pub(super) fn map_rows(&mut self, columns: usize) -> ParseResult<(Vec<SmallVec<[i64; 4]>>, SmallVec<[i64; 4]>)> {
        self.symbol("(")?;
        let place = self.place();
        self.symbol("[")?;
        let names = self.list("]", |reader| Ok(reader.name()?.0))?;
        if names.len() != columns {
            let problem = format!("the map has {} positions, but the shape has {columns} axes", names.len());
            return Err(TextProblem::new(problem, place));
        }
        let column_of: std::collections::HashMap<&str, usize> =
            names.iter().enumerate().map(|(column, &name)| (name, column)).collect();
        if column_of.len() < names.len() {
            return Err(TextProblem::new("two positions have one name", place));
        }
        self.symbol("->")?;
        self.symbol("[")?;
        let mut rows = Vec::new();
        let mut offsets: SmallVec<[i64; 4]> = SmallVec::new();
        self.list("]", |reader| {
            let place = reader.place();
            let limit = reader.limits.coefficients(1, columns);
            limit.map_err(|problem| TextProblem::new(problem, place))?;
            let mut row: SmallVec<[i128; 4]> = SmallVec::from_elem(0, columns);
            let (mut offset, mut negative) = (0i128, reader.accept("-"));
            loop {
                let factor =
                    if reader.token().kind == TokenKind::Number { Some(reader.natural()? as i128) } else { None };
                let sign = if negative { -1 } else { 1 };
                let target = match factor {
                    Some(_) if !reader.accept("*") => &mut offset,
                    _ => {
                        let (name, place) = reader.name()?;
                        match column_of.get(name) {
                            Some(&column) => &mut row[column],
                            None => return Err(TextProblem::new(format!("{name} is no position of the map"), place)),
                        }
                    }
                };
                *target = target.saturating_add(sign * factor.unwrap_or(1));
                negative = reader.is_symbol("-");
                if !reader.accept("+") && !reader.accept("-") {
                    break;
                }
            }
            let number = |x: i128| {
                let problem = || TextProblem::new(format!("{x} is no number of 64 bits"), place);
                i64::try_from(x).map_err(|_| problem())
            };
            rows.push(row.into_iter().map(number).collect::<ParseResult<SmallVec<[i64; 4]>>>()?);
            offsets.push(number(offset)?);
            Ok(())
        })?;
        self.symbol(")")?;
        Ok((rows, offsets))
    }
}

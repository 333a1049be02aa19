//! How a read moves into a reshape: through the axes that the reshape keeps, and by index arithmetic through the others.

use super::Push;
use super::read::{Outside, ReadRequest};
use super::values::ReadValueId;
use crate::affine::AffineMap;
use crate::operation::Binary;
use crate::shape::{Axes, Shape, Value, size};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// Neighbouring axes of a reshape's result that together run along neighbouring axes of its operand. Axes of extent 1 are
/// in no group.
struct AxisGroup {
    result: Axes,
    source: Axes,
}

impl AxisGroup {
    /// Whether the reshape keeps this axis.
    fn is_kept(&self) -> bool {
        self.result.len() == 1 && self.source.len() == 1
    }
}

fn significant(shape: &[usize]) -> Axes {
    (0..shape.len()).filter(|&axis| shape[axis] != 1).collect()
}

/// The groups of a reshape of a non-empty array.
fn groups(result: &[usize], source: &[usize]) -> Vec<AxisGroup> {
    let (mut left, mut right) = (significant(result).into_iter(), significant(source).into_iter());
    let mut groups = Vec::new();
    while let (Some(a), Some(b)) = (left.next(), right.next()) {
        let (mut group, mut rows, mut columns) =
            (AxisGroup { result: Axes::from_slice(&[a]), source: Axes::from_slice(&[b]) }, result[a], source[b]);
        while rows != columns {
            if rows < columns {
                let axis = left.next().expect("equal sizes");
                rows *= result[axis];
                group.result.push(axis);
            } else {
                let axis = right.next().expect("equal sizes");
                columns *= source[axis];
                group.source.push(axis);
            }
        }
        groups.push(group);
    }
    groups
}

/// The view that is equal to a reshape which only inserts or removes axes of extent 1.
pub(super) fn as_view(source: &[usize], result: &[usize]) -> Option<AffineMap> {
    let (from, to) = (significant(source), significant(result));
    if from.len() != to.len() || from.iter().zip(&to).any(|(&a, &b)| source[a] != result[b]) {
        return None;
    }
    let mut rows: Vec<SmallVec<[i64; 4]>> = vec![SmallVec::from_elem(0, result.len()); source.len()];
    for (&a, &b) in from.iter().zip(&to) {
        rows[a][b] = 1;
    }
    Some(AffineMap::new(source, result, &rows, &SmallVec::<[i64; 4]>::from_elem(0, source.len())))
}

/// How a read moves into a reshape.
#[allow(clippy::large_enum_variant, reason = "short-lived")]
enum ReshapeRead {
    /// As a view of the operand, reshaped: it reads all of the axes that are not kept.
    View(AffineMap),
    /// As the same gather of the operand, whose leading axes are the same, reshaped.
    Leading,
    /// Through the position in row-major order.
    Arithmetic,
}

/// The view of the operand under which a view of a reshape is again a reshape.
fn way_of_view(map: &AffineMap, source: &[usize], groups: &[AxisGroup]) -> Option<AffineMap> {
    let columns = map.result().len();
    // New columns for each old one; a block of columns that runs along a group becomes the group's operand axes.
    let mut replaced: Vec<Option<&AxisGroup>> = vec![None; columns];
    let mut dropped = vec![false; columns];
    for group in groups.iter().filter(|group| !group.is_kept()) {
        let first = map.row(group.result[0]).iter().position(|&factor| factor != 0)?;
        for (place, &axis) in group.result.iter().enumerate() {
            let column = first + place;
            let alone = column < columns
                && map.offset(axis) == 0
                && map.result()[column] == map.source()[axis]
                && (0..columns).all(|other| map.coefficient(axis, other) == i64::from(other == column))
                && (0..map.source().len()).all(|row| row == axis || map.coefficient(row, column) == 0);
            if !alone {
                return None;
            }
            dropped[column] = true;
        }
        replaced[first] = Some(group);
    }
    let unit = |axis: usize| map.source()[axis] == 1;
    let still = |axis: usize| map.offset(axis) == 0 && map.row(axis).iter().all(|&factor| factor == 0);
    if (0..map.source().len()).any(|axis| unit(axis) && !still(axis)) {
        return None;
    }
    let mut result = Shape::new();
    let mut place_of: Vec<usize> = Vec::with_capacity(columns);
    let mut rows: Vec<Vec<(usize, i64)>> = vec![Vec::new(); source.len()];
    for column in 0..columns {
        place_of.push(result.len());
        if let Some(group) = replaced[column] {
            for &axis in &group.source {
                rows[axis].push((result.len(), 1));
                result.push(source[axis]);
            }
        } else if !dropped[column] {
            result.push(map.result()[column]);
        }
    }
    let mut offset: SmallVec<[i64; 4]> = SmallVec::from_elem(0, source.len());
    for group in groups.iter().filter(|group| group.is_kept()) {
        let (from, to) = (group.result[0], group.source[0]);
        offset[to] = map.offset(from);
        for (column, &factor) in map.row(from).iter().enumerate().filter(|(_, factor)| **factor != 0) {
            rows[to].push((place_of[column], factor));
        }
    }
    let dense = |row: &Vec<(usize, i64)>| {
        let mut coefficients: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
        row.iter().for_each(|&(column, factor)| coefficients[column] = factor);
        coefficients
    };
    let rows: Vec<SmallVec<[i64; 4]>> = rows.iter().map(dense).collect();
    AffineMap::checked(source, &result, &rows, &offset)
}

impl Push<'_> {
    fn way(&self, at: NodeId, read: &ReadRequest) -> ReshapeRead {
        let (result, source) = (self.shape(at), self.shape(self.node(at).args[0]));
        let groups = groups(result, source);
        match read {
            ReadRequest::View { map, .. } => match way_of_view(map, source, &groups) {
                Some(map) => ReshapeRead::View(map),
                None => ReshapeRead::Arithmetic,
            },
            ReadRequest::Gather { indices, .. } => {
                let count = indices.len();
                let same = |axis: usize| {
                    source.get(axis) == Some(&result[axis])
                        && (result[axis] == 1
                            || groups.iter().any(|g| g.is_kept() && g.result[0] == axis && g.source[0] == axis))
                };
                if (0..count).all(same) { ReshapeRead::Leading } else { ReshapeRead::Arithmetic }
            }
            ReadRequest::Whole => unreachable!("all of a node is not a read"),
        }
    }

    pub(super) fn admits_reshape(&self, at: NodeId, read: &ReadRequest) -> bool {
        match self.way(at, read) {
            ReshapeRead::View(_) | ReshapeRead::Leading => true,
            ReshapeRead::Arithmetic => {
                let elements = size(&self.result_shape(at, read));
                elements.saturating_mul(2) <= self.node(at).ty().size() || self.arithmetic[at as usize]
            }
        }
    }

    pub(super) fn reshape_keeps_zero(&self, at: NodeId, read: &ReadRequest) -> bool {
        !matches!(self.way(at, read), ReshapeRead::Arithmetic)
    }

    pub(super) fn through_reshape(&mut self, at: NodeId, read: &ReadRequest) -> ReadValueId {
        let source = self.node(at).args[0];
        let outside = read.outside();
        let value = match (self.way(at, read), read) {
            (ReshapeRead::View(map), _) => self.demand(source, ReadRequest::View { map, outside }),
            (ReshapeRead::Leading, read) => self.demand(source, read.clone()),
            (ReshapeRead::Arithmetic, read) => return self.by_arithmetic(at, source, read, outside),
        };
        let result = self.result_shape(at, read);
        self.values.make(Op::Reshape(result), &[value])
    }

    /// Ravels the positions of each group, and unravels them along the operand's axes.
    fn by_arithmetic(&mut self, at: NodeId, source: NodeId, read: &ReadRequest, outside: Outside) -> ReadValueId {
        let (result, operand) = (self.shape(at).clone(), self.shape(source).clone());
        let positions = self.positions(at, read);
        let shape = self.result_shape(at, read);
        let zero = self.values.full(&shape, Value::I64(0));
        let mut indices: SmallVec<[ReadValueId; 4]> = SmallVec::from_elem(zero, operand.len());
        for group in groups(&result, &operand) {
            let mut stride = 1;
            let mut terms: Vec<(i64, ReadValueId)> = Vec::new();
            for &axis in group.result.iter().rev() {
                terms.push((stride, positions[axis]));
                stride = stride.saturating_mul(result[axis] as i64);
            }
            let mut rest = self.values.combine(&shape, &terms, 0);
            for (place, &axis) in group.source.iter().enumerate().rev() {
                // The outermost quotient remains.
                if place == 0 {
                    indices[axis] = rest;
                    break;
                }
                let extent = self.values.full(&shape, Value::I64(operand[axis] as i64));
                indices[axis] = self.values.arithmetic(Binary::Rem, rest, extent);
                rest = self.values.arithmetic(Binary::Quot, rest, extent);
            }
        }
        if indices.is_empty() {
            let map = AffineMap::broadcast(&[], &shape, &[]);
            return self.demand(source, ReadRequest::View { map, outside });
        }
        self.demand(source, ReadRequest::Gather { indices, outside })
    }
}

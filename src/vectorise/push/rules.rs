//! How a read moves into an operation: a row of figure 10 each, on bulk terms.

use super::Push;
use super::read::{Outside, ReadRequest, covers, keeps_trailing, leading, remap};
use super::values::ReadValueId;
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::Binary;
use crate::shape::{Axes, Shape, Value};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// Where a read of a concatenation lies.
enum ConcatenatedRead {
    /// In one part, which starts at this position.
    One(usize, usize),
    /// In all of them, whose pieces follow each other along an axis of the result.
    All(usize),
}

fn is_zero(value: Value) -> bool {
    value.to_f64() == 0.0
}

/// Whether the operation gives 0 where the operand that is not this constant is 0, with finite partial derivatives.
fn absorbs(op: Binary, constant: Value, constant_is_left: bool) -> bool {
    let finite = constant.to_f64().is_finite();
    match op {
        Binary::Mul | Binary::And => finite,
        Binary::Div | Binary::KeepZero => finite && !constant_is_left && !is_zero(constant),
        _ => is_zero(constant) && op.keeps_zero(),
    }
}

impl Push<'_> {
    /// A node that reads its operand by a view, or could: a reshape that only inserts or removes axes of extent 1.
    pub(super) fn as_view(&self, at: NodeId) -> Option<AffineMap> {
        match &self.node(at).op {
            Op::View(map) => Some(map.clone()),
            Op::Reshape(shape) => super::reshape::as_view(self.shape(self.node(at).args[0]), shape),
            _ => None,
        }
    }

    /// Whether a read can move into a node.
    pub(super) fn admits(&self, at: NodeId, read: &ReadRequest) -> bool {
        let node = self.node(at);
        if let Some(map) = self.as_view(at) {
            return match read {
                ReadRequest::View { map: outer, .. } => outer.compose_anywhere(&map).is_some(),
                _ => true,
            };
        }
        match &node.op {
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) | Op::Mark | Op::Gather => true,
            Op::Constant(array) => array.uniform().is_some(),
            Op::Iota(_) => matches!(read, ReadRequest::Gather { .. }),
            // The neutral element of an empty reduction is not 0, and not worth a rule.
            Op::Reduce(_, axes) => axes.iter().all(|&axis| self.shape(node.args[0])[axis] > 0),
            Op::ArgReduce(_, axis) => self.shape(node.args[0])[*axis] > 0,
            Op::Contract(spec) => self.admits_contraction(at, spec, read),
            Op::Reshape(_) => self.admits_reshape(at, read),
            Op::Concatenate(axis) => self.part(at, *axis, read).is_some(),
            _ => false,
        }
    }

    /// Whether a read that falls outside along the given axes gives 0 there when it moves into the node without a guard.
    pub(super) fn keeps_zero(&self, at: NodeId, read: &ReadRequest, leaving: &[usize]) -> bool {
        let node = self.node(at);
        if let Some(map) = self.as_view(at) {
            return leaving.iter().all(|&axis| covers(&map, axis));
        }
        match &node.op {
            // A constant operand stays the same.
            Op::Unary(op) => op.keeps_zero() && self.uniform(node.args[0]).is_none(),
            Op::Cast(_) | Op::Mark => self.uniform(node.args[0]).is_none(),
            Op::Binary(op) => match (self.uniform(node.args[0]), self.uniform(node.args[1])) {
                (None, None) => op.keeps_zero(),
                (Some(constant), None) => absorbs(*op, constant, true),
                (None, Some(constant)) => absorbs(*op, constant, false),
                (Some(_), Some(_)) => false,
            },
            Op::Select => node.args[1..].iter().all(|&arg| self.uniform(arg).is_none_or(is_zero)),
            Op::Reduce(..) | Op::ArgReduce(..) => true,
            Op::Contract(spec) => self.contraction_keeps_zero(at, spec, leaving),
            Op::Constant(array) => array.uniform().is_some_and(is_zero),
            Op::Gather => {
                let outer = self.shape(node.args.get(1).copied().unwrap_or(at)).len();
                leaving.iter().all(|&axis| axis >= outer)
            }
            Op::Concatenate(axis) => !leaving.contains(axis),
            Op::Reshape(_) => self.reshape_keeps_zero(at, read),
            _ => false,
        }
    }

    /// The value of a read, as the node's operation on reads of its operands. Where the read falls outside, the value is
    /// 0 if the read says so and [`Push::keeps_zero`] holds, and anything otherwise.
    pub(super) fn through(&mut self, at: NodeId, read: &ReadRequest) -> ReadValueId {
        let node = self.node(at);
        if let Some(map) = self.as_view(at) {
            return self.through_view(node.args[0], &map, read);
        }
        match &node.op {
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) | Op::Mark => {
                let mut args: SmallVec<[ReadValueId; 3]> = SmallVec::new();
                for (place, &arg) in node.args.iter().enumerate() {
                    // Outside, the operands that are not constant are 0, and that alone makes the result 0; if both
                    // sides of a select are, its mask says nothing.
                    let free = self.uniform(arg).is_some() || (node.op == Op::Select && place == 0);
                    args.push(self.demand(arg, if free { read.relaxed() } else { read.clone() }));
                }
                self.values.make(node.op.clone(), &args)
            }
            Op::Constant(array) => {
                let value = array.uniform().expect("admitted");
                let shape = self.result_shape(at, read);
                self.values.make(Op::Constant(Array::full(&shape, value)), &[])
            }
            Op::Iota(_) => match read {
                ReadRequest::Gather { indices, .. } => indices[0],
                _ => unreachable!("not admitted"),
            },
            Op::Gather => self.through_gather(at, read),
            Op::Reduce(..) | Op::ArgReduce(..) => self.through_reduction(at, read),
            Op::Contract(spec) => self.through_contraction(at, spec, read),
            Op::Reshape(_) => self.through_reshape(at, read),
            Op::Concatenate(axis) => self.through_concatenation(at, *axis, read),
            _ => unreachable!("not admitted"),
        }
    }

    fn through_view(&mut self, source: NodeId, map: &AffineMap, read: &ReadRequest) -> ReadValueId {
        let outside = read.outside().through(map.is_inside());
        let indices = match read {
            ReadRequest::View { map: outer, .. } => {
                let map = outer.compose_anywhere(map).expect("admitted");
                return self.demand(source, ReadRequest::View { map, outside });
            }
            ReadRequest::Gather { indices, .. } => indices,
            ReadRequest::Whole => unreachable!("all of a node is not a read"),
        };
        // The axes that are not indexed stay together where the view leaves them as they are.
        let kept = map.result().len() - indices.len();
        let positions = self.values.shape(indices[0]);
        let mut result = positions.clone();
        result.extend_from_slice(&map.result()[indices.len()..]);
        let trailing = map.source().len() >= kept && keeps_trailing(map, kept);
        let (count, shape) =
            if trailing { (map.source().len() - kept, positions) } else { (map.source().len(), result.clone()) };
        if count == 0 {
            let places: Axes = (result.len() - map.source().len()..result.len()).collect();
            let map = AffineMap::broadcast(map.source(), &result, &places);
            return self.demand(source, ReadRequest::View { map, outside });
        }
        let outer = self.values.shape(indices[0]).len();
        let mut moved: SmallVec<[ReadValueId; 4]> = SmallVec::new();
        for row in 0..count {
            let mut terms: SmallVec<[(i64, ReadValueId); 4]> = SmallVec::new();
            for (column, &factor) in map.row(row).iter().enumerate().filter(|(_, factor)| **factor != 0) {
                let term = match indices.get(column) {
                    Some(&index) => {
                        let places: Axes = (0..outer).collect();
                        self.values.spread(index, &shape, &places)
                    }
                    None => {
                        let mut unit: SmallVec<[i64; 4]> = SmallVec::from_elem(0, shape.len());
                        unit[outer + column - indices.len()] = 1;
                        self.values.affine_over(&shape, &unit, 0)
                    }
                };
                terms.push((factor, term));
            }
            moved.push(self.values.combine(&shape, &terms, map.offset(row)));
        }
        self.demand(source, ReadRequest::Gather { indices: moved, outside })
    }

    /// A read of a gather is a read of its index arrays, and of the axes that it does not index.
    fn through_gather(&mut self, at: NodeId, read: &ReadRequest) -> ReadValueId {
        let node = self.node(at);
        let (array, own) = (node.args[0], &node.args[1..]);
        let Some(&first) = own.first() else { return self.demand(array, read.clone()) };
        let positions = self.shape(first).clone();
        let inside = own.iter().zip(self.shape(array)).all(|(&index, &extent)| {
            let (low, high) = self.ranges[index as usize];
            low >= 0 && (high as i128) < extent as i128
        });
        let outside = read.outside().through(inside);
        let of_index = if read.outside() == Outside::Never { Outside::Never } else { Outside::Any };
        let kept = self.shape(at).len() - positions.len();
        let mut moved: SmallVec<[ReadValueId; 4]> = SmallVec::new();
        match read {
            ReadRequest::View { map, .. } => {
                let trailing = keeps_trailing(map, kept);
                let of_positions = if trailing {
                    leading(map, kept)
                } else {
                    let columns: SmallVec<[Option<usize>; 4]> = (0..map.result().len()).map(Some).collect();
                    remap(map, 0..positions.len(), &columns, map.result())
                };
                for &index in own {
                    moved.push(self.demand(index, ReadRequest::View { map: of_positions.clone(), outside: of_index }));
                }
                if !trailing {
                    for axis in positions.len()..map.source().len() {
                        moved.push(self.values.affine_over(map.result(), map.row(axis), map.offset(axis)));
                    }
                }
            }
            ReadRequest::Gather { indices, .. } => {
                let (inner, rest) = indices.split_at(indices.len().min(positions.len()));
                for &index in own {
                    moved.push(if inner.is_empty() {
                        let shape = self.values.shape(rest[0]);
                        let map = AffineMap::broadcast(&[], &shape, &[]);
                        self.demand(index, ReadRequest::View { map, outside: Outside::Never })
                    } else {
                        self.demand(index, ReadRequest::Gather { indices: inner.into(), outside: of_index })
                    });
                }
                moved.extend_from_slice(rest);
            }
            ReadRequest::Whole => unreachable!("all of a node is not a read"),
        }
        self.demand(array, ReadRequest::Gather { indices: moved, outside })
    }

    /// A reduction of the read that has the reduced axes too.
    fn through_reduction(&mut self, at: NodeId, read: &ReadRequest) -> ReadValueId {
        let node = self.node(at);
        let source = node.args[0];
        let reduced: Axes = match &node.op {
            Op::Reduce(_, axes) => axes.clone(),
            Op::ArgReduce(_, axis) => Axes::from_slice(&[*axis]),
            _ => unreachable!("a reduction"),
        };
        let shape = self.shape(source).clone();
        let kept: Axes = (0..shape.len()).filter(|axis| !reduced.contains(axis)).collect();
        let (value, axes) = match read {
            ReadRequest::View { map, outside } => {
                let columns = map.result().len();
                let mut result = Shape::from_slice(map.result());
                result.extend(reduced.iter().map(|&axis| shape[axis]));
                let mut rows = Vec::with_capacity(shape.len());
                let mut offset: SmallVec<[i64; 4]> = SmallVec::new();
                for axis in 0..shape.len() {
                    let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
                    match reduced.iter().position(|&other| other == axis) {
                        Some(place) => {
                            row[columns + place] = 1;
                            offset.push(0);
                        }
                        None => {
                            let place = kept.iter().position(|&other| other == axis).expect("kept or reduced");
                            row[..columns].copy_from_slice(map.row(place));
                            offset.push(map.offset(place));
                        }
                    }
                    rows.push(row);
                }
                let map = AffineMap::new(&shape, &result, &rows, &offset);
                let value = self.demand(source, ReadRequest::View { map, outside: *outside });
                (value, (columns..columns + reduced.len()).collect::<Axes>())
            }
            ReadRequest::Gather { indices, outside } => {
                let indexed: Vec<(usize, ReadValueId)> = kept.iter().copied().zip(indices.iter().copied()).collect();
                let (value, order) = self.gather_axes(source, &indexed, *outside);
                let outer = self.values.shape(indices[0]).len();
                let axes = (0..order.len()).filter(|&place| reduced.contains(&order[place]));
                (value, axes.map(|place| outer + place).collect::<Axes>())
            }
            ReadRequest::Whole => unreachable!("all of a node is not a read"),
        };
        let op = match &node.op {
            Op::Reduce(reduction, _) => Op::Reduce(*reduction, axes),
            Op::ArgReduce(extreme, _) => Op::ArgReduce(*extreme, axes[0]),
            _ => unreachable!("a reduction"),
        };
        self.values.make_ranged(op, &[value], self.ranges[at as usize])
    }

    /// A gather along some axes of a node, wherever they are. Besides the value: which axes of the node follow the index
    /// arrays' axes in its result, in order.
    pub(super) fn gather_axes(
        &mut self,
        at: NodeId,
        indexed: &[(usize, ReadValueId)],
        outside: Outside,
    ) -> (ReadValueId, Axes) {
        let shape = self.shape(at).clone();
        let count = indexed.iter().map(|&(axis, _)| axis + 1).max().expect("at least one axis is indexed");
        let index_of = |axis: usize| indexed.iter().find(|&&(other, _)| other == axis).map(|&(_, index)| index);
        let between: Axes = (0..count).filter(|&axis| index_of(axis).is_none()).collect();
        let mut positions = self.values.shape(indexed[0].1);
        let outer = positions.len();
        positions.extend(between.iter().map(|&axis| shape[axis]));
        let places: Axes = (0..outer).collect();
        let mut indices: SmallVec<[ReadValueId; 4]> = SmallVec::new();
        for axis in 0..count {
            indices.push(match index_of(axis) {
                Some(index) => self.values.spread(index, &positions, &places),
                None => {
                    let place = between.iter().position(|&other| other == axis).expect("not indexed");
                    let mut unit: SmallVec<[i64; 4]> = SmallVec::from_elem(0, positions.len());
                    unit[outer + place] = 1;
                    self.values.affine_over(&positions, &unit, 0)
                }
            });
        }
        let order = between.into_iter().chain(count..shape.len()).collect();
        (self.demand(at, ReadRequest::Gather { indices, outside }), order)
    }

    /// Whether a read of a concatenation along an axis lies in one of its parts.
    pub(super) fn lies_in_one_part(&self, at: NodeId, axis: usize, read: &ReadRequest) -> bool {
        *read != ReadRequest::Whole && matches!(self.part(at, axis, read), Some(ConcatenatedRead::One(..)))
    }

    fn part(&self, at: NodeId, axis: usize, read: &ReadRequest) -> Option<ConcatenatedRead> {
        let (low, high) = match read {
            ReadRequest::View { map, .. } => {
                let row = map.row(axis);
                if let Some(column) = row.iter().position(|&factor| factor != 0) {
                    let own = row.iter().filter(|&&factor| factor != 0).count() == 1
                        && (0..map.source().len()).all(|other| other == axis || map.coefficient(other, column) == 0);
                    let all = map.offset(axis) == 0 && map.result()[column] == map.source()[axis];
                    if own && all && row[column] == 1 {
                        return Some(ConcatenatedRead::All(column));
                    }
                }
                map.range(axis)
            }
            ReadRequest::Gather { indices, .. } => match indices.get(axis) {
                Some(&index) => {
                    let (low, high) = self.values.range(index);
                    (low as i128, high as i128)
                }
                None => return Some(ConcatenatedRead::All(self.values.shape(indices[0]).len() + axis - indices.len())),
            },
            ReadRequest::Whole => unreachable!("all of a node is not a read"),
        };
        let parts = &self.node(at).args;
        let extent = |position: usize| self.shape(parts[position])[axis];
        let (position, start) = self.ends.part(at, (0..parts.len()).map(extent), usize::try_from(low).ok()?)?;
        (high < (start + extent(position)) as i128).then_some(ConcatenatedRead::One(position, start))
    }

    fn through_concatenation(&mut self, at: NodeId, axis: usize, read: &ReadRequest) -> ReadValueId {
        let node = self.node(at);
        match self.part(at, axis, read).expect("admitted") {
            ConcatenatedRead::One(position, start) => self.read_part(node.args[position], axis, start, None, read),
            ConcatenatedRead::All(column) => {
                let mut parts = Vec::with_capacity(node.args.len());
                for &part in &node.args {
                    parts.push(self.read_part(part, axis, 0, Some(column), read));
                }
                self.values.make(Op::Concatenate(column), &parts)
            }
        }
    }

    /// The part of a read that lies in one part of a concatenation; `column` runs along all of the part.
    fn read_part(
        &mut self,
        part: NodeId,
        axis: usize,
        start: usize,
        column: Option<usize>,
        read: &ReadRequest,
    ) -> ReadValueId {
        let shape = self.shape(part).clone();
        match read {
            ReadRequest::View { map, outside } => {
                let mut result = Shape::from_slice(map.result());
                if let Some(column) = column {
                    result[column] = shape[axis];
                }
                let rows: Vec<SmallVec<[i64; 4]>> =
                    (0..shape.len()).map(|row| SmallVec::from_slice(map.row(row))).collect();
                let mut offset: SmallVec<[i64; 4]> = (0..shape.len()).map(|row| map.offset(row)).collect();
                offset[axis] -= start as i64;
                let map = AffineMap::new(&shape, &result, &rows, &offset);
                self.demand(part, ReadRequest::View { map, outside: *outside })
            }
            ReadRequest::Gather { indices, outside } => {
                let mut indices = indices.clone();
                if column.is_none() {
                    let positions = self.values.shape(indices[axis]);
                    indices[axis] = self.values.combine(&positions, &[(1, indices[axis])], -(start as i64));
                }
                self.demand(part, ReadRequest::Gather { indices, outside: *outside })
            }
            ReadRequest::Whole => unreachable!("all of a node is not a read"),
        }
    }
}

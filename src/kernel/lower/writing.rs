//! The steps of writes: into the memory of the array that they change, or into a copy.

use super::{Alone, Lowering, PendingStep};
use crate::kernel::access::{Access, Affine, Guards};
use crate::kernel::buffer::{BufferId, BufferSource};
use crate::kernel::emit::{Emitter, Obstacle};
use crate::kernel::nest::{NestValue, Store, StoreMode, ValueId};
use crate::kernel::roots::{LoweringClass, domain};
use crate::kernel::writes::{surroundings, turned_scatter};
use crate::operation::{Binary, Comparison, Reduction};
use crate::shape::{DType, Shape, Type, are_few, size};
use crate::term::distinct::are_distinct;
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// The last of several updates at one position: its number, and for each update which number it has itself.
struct Latest {
    buffer: BufferId,
    number: Affine,
    by: LatestBy,
}

/// Whether the last numbers are found at the position that is written to, or at the number of an update.
#[derive(Clone, Copy)]
enum LatestBy {
    Place,
    Update,
}

impl Lowering<'_> {
    /// For each of a few updates the last one at its position: each is compared with each.
    fn latest_of_few(&mut self, id: NodeId, places: &[usize], axes: usize) -> Result<Latest, Obstacle> {
        let (body, node) = (self.body, self.body.node(id));
        let indexed = places.len();
        let pairs: Shape = places.iter().chain(places).copied().collect();
        let buffer = self.buffer(&Type::new(DType::I64, places), BufferSource::Local);
        let number = |first: usize, axes: usize| {
            let rows = (0..indexed).map(|axis| Affine::axis(first + axis, axes)).collect();
            Access { rows, guards: Guards::new() }
        };
        let linear = |access: Access, domain: &[usize]| access.linear(places, domain).ok_or(Obstacle::Read(id));
        let (own, other) = (linear(number(0, 2 * indexed), &pairs)?, linear(number(indexed, 2 * indexed), &pairs)?);
        let store = |emitter: &mut Emitter| {
            let mut same = None;
            for &arg in &node.args[2..] {
                let [a, b] = [0, indexed].map(|first| emitter.emit(arg, number(first, 2 * indexed), NodeId::MAX));
                let equal = emitter.add(NestValue::Compare(Comparison::Equal, a?, b?), DType::Bool);
                same = Some(match same {
                    None => equal,
                    Some(same) => emitter.add(NestValue::Binary(Binary::And, same, equal), DType::Bool),
                });
            }
            let same = same.expect("positions along at least one axis");
            let later = emitter.add(NestValue::Position(other.clone()), DType::I64);
            let itself = emitter.add(NestValue::Position(own.clone()), DType::I64);
            let value = emitter.add(NestValue::Select(same, later, itself), DType::I64);
            Ok((value, own.clone(), Guards::new(), None))
        };
        self.nest(&pairs, buffer, StoreMode::Reduce(Reduction::Max), &store)?;
        let number = linear(number(0, axes), &body.node(node.args[1]).ty().shape)?;
        Ok(Latest { buffer, number, by: LatestBy::Update })
    }

    /// A write into the buffer of the target, or into a copy.
    pub(super) fn writing(&mut self, id: NodeId) -> Result<(), Obstacle> {
        let (body, node) = (self.body, self.body.node(id));
        if let Some(&added) = self.writes.additions.get(&id) {
            let target = node.args[usize::from(node.args[0] == added)];
            let buffer = self.alias(id, target);
            self.procedure.continued.push(buffer);
            self.change(buffer);
            self.alone = Some(Alone { node: added, negated: node.op == Op::Binary(Binary::Sub) });
            let done = self.adding(added, buffer);
            self.alone = None;
            return done;
        }
        let (shape, target, updates) = (&node.ty().shape, node.args[0], node.args[1]);
        let buffer = if self.writes.is_in_place(id) {
            let buffer = self.alias(id, target);
            self.change(buffer);
            buffer
        } else {
            let buffer = self.local(id);
            let store = |emitter: &mut Emitter| {
                let access = Access::identity(shape.len());
                let at = access.linear(shape, shape).ok_or(Obstacle::Read(id))?;
                Ok((emitter.emit(target, access, NodeId::MAX)?, at, Guards::new(), None))
            };
            self.nest(shape, buffer, StoreMode::Write, &store)?;
            buffer
        };
        let domain = body.node(updates).ty().shape.clone();
        if size(&domain) == 0 {
            return Ok(());
        }
        let indexed = body.node(node.args[2]).ty().rank();
        let axes = domain.len();
        let outer = Access { rows: (0..indexed).map(|axis| Affine::axis(axis, axes)).collect(), guards: Guards::new() };
        let rows = (indexed..axes).map(|axis| Affine::axis(axis, axes)).collect();
        let row = &domain[indexed..];
        let at = Access { rows, guards: Guards::new() }.linear(row, &domain).ok_or(Obstacle::Read(id))?;
        let stride = size(row) as i64;
        let positions = |emitter: &mut Emitter, outer: &Access| -> Result<SmallVec<[(ValueId, i64); 3]>, Obstacle> {
            let found = node.args[2..].iter().zip(shape);
            found.map(|(&arg, &extent)| Ok((emitter.emit(arg, outer.clone(), NodeId::MAX)?, extent as i64))).collect()
        };
        // Among several updates at one position the last counts: the earlier ones are not written, so they may be in any order.
        let latest = 'latest: {
            if are_distinct(body, &node.args[2..]) {
                None
            } else {
                let extents = &shape[..node.args.len() - 2];
                let places = &domain[..indexed];
                if are_few(size(places), size(extents)) {
                    break 'latest Some(self.latest_of_few(id, places, axes)?);
                }
                let latest = self.buffer(&Type::new(DType::I64, extents), BufferSource::Local);
                let number = |axes: usize| {
                    let rows = (0..indexed).map(|axis| Affine::axis(axis, axes)).collect();
                    Access { rows, guards: Guards::new() }.linear(places, &domain[..axes]).ok_or(Obstacle::Read(id))
                };
                let own = number(indexed)?;
                let outer = Access::identity(indexed);
                let store = |emitter: &mut Emitter| {
                    let indices = positions(emitter, &outer)?;
                    let (index, extent) = emitter.joined(&indices, &Guards::new());
                    let value = emitter.add(NestValue::Position(own.clone()), DType::I64);
                    Ok((value, Affine::constant(0, indexed), Guards::new(), Some((index, 1, extent))))
                };
                self.nest(&Shape::from_slice(places), latest, StoreMode::Reduce(Reduction::Max), &store)?;
                Some(Latest { buffer: latest, number: number(axes)?, by: LatestBy::Place })
            }
        };
        let write = |emitter: &mut Emitter| {
            let indices = positions(emitter, &outer)?;
            let value = emitter.emit(updates, Access::identity(axes), NodeId::MAX)?;
            let Some(Latest { buffer, number, by }) = &latest else {
                let strides: SmallVec<[i64; 4]> = crate::shape::strides(shape).iter().map(|&n| n as i64).collect();
                let strides = &strides[..indices.len()];
                let (place, index) = emitter.located(&indices, strides, &Guards::new()).ok_or(Obstacle::Read(id))?;
                return Ok((value, at.plus(1, &place).ok_or(Obstacle::Read(id))?, index));
            };
            let (index, extent) = emitter.joined(&indices, &Guards::new());
            let first = Affine::constant(0, axes);
            let last = match by {
                LatestBy::Place => NestValue::Gather { buffer: *buffer, at: first, stride: 1, index, extent },
                LatestBy::Update => NestValue::Load { buffer: *buffer, at: number.clone(), guards: Guards::new() },
            };
            let last = emitter.add(last, DType::I64);
            let number = emitter.add(NestValue::Position(number.clone()), DType::I64);
            let stays = emitter.add(NestValue::Compare(Comparison::Equal, last, number), DType::Bool);
            let outside = emitter.integer(-1);
            let index = emitter.add(NestValue::Select(stays, index, outside), DType::I64);
            Ok((value, at.clone(), Some((index, stride, extent))))
        };
        let (place, (value, at, index)) = self.separate(&domain, buffer, (id, &node.args[1..]), &write)?;
        self.store(place, Store { value, buffer, at, guards: Guards::new(), index, mode: StoreMode::Write });
        Ok(())
    }

    /// Adds a node to a buffer that has elements.
    pub(super) fn adding(&mut self, id: NodeId, buffer: BufferId) -> Result<(), Obstacle> {
        let (body, node) = (self.body, self.body.node(id));
        let shape = &node.ty().shape;
        let own: SmallVec<[i64; 4]> = crate::shape::strides(shape).iter().map(|&stride| stride as i64).collect();
        if let (Some(scatter), Op::View(map)) = (turned_scatter(body, id), &node.op) {
            let axes = map.permutation().expect("a scatter with its axes in another order");
            let strides: SmallVec<[i64; 4]> = axes.iter().map(|&axis| own[axis]).collect();
            return self.scattering(scatter, buffer, &strides);
        }
        if matches!(node.op, Op::Scatter(_)) {
            return self.scattering(id, buffer, &own);
        }
        if size(shape) == 0 || self.class(id) == LoweringClass::Reducing && size(&domain(body, node)) == 0 {
            return Ok(());
        }
        match self.class(id) {
            LoweringClass::Reducing => return self.reducing(id, buffer),
            LoweringClass::Product => return self.product(id, Some(buffer)),
            _ => {}
        }
        let surroundings = if let Op::View(map) = &node.op { surroundings(map) } else { None };
        let (domain, rows) = surroundings.unwrap_or_else(|| (shape.clone(), Access::identity(shape.len()).rows));
        let store = |emitter: &mut Emitter| {
            let access = Access { rows: rows.clone(), guards: Guards::new() };
            let at = access.linear(shape, &domain).ok_or(Obstacle::Read(id))?;
            Ok((emitter.emit(id, access, NodeId::MAX)?, at, Guards::new(), None))
        };
        self.nest(&domain, buffer, StoreMode::Reduce(Reduction::Sum), &store)
    }

    /// The additions of a scatter to a buffer whose elements are so far apart along the scatter's axes.
    pub(super) fn scattering(&mut self, id: NodeId, buffer: BufferId, strides: &[i64]) -> Result<(), Obstacle> {
        let (body, node) = (self.body, self.body.node(id));
        let Op::Scatter(extents) = &node.op else { unreachable!("a scatter") };
        let domain = domain(body, node);
        if size(&domain) == 0 {
            return Ok(());
        }
        let (axes, indexed) = (domain.len(), body.node(node.args[1]).ty().rank());
        let outer = Access { rows: (0..indexed).map(|axis| Affine::axis(axis, axes)).collect(), guards: Guards::new() };
        let mut at = Affine::constant(0, axes);
        for (axis, &stride) in (indexed..axes).zip(&strides[extents.len()..]) {
            at.coefficients[axis] = stride;
        }
        let store = |emitter: &mut Emitter| {
            let mut indices: SmallVec<[(ValueId, i64); 3]> = SmallVec::new();
            for (&arg, &extent) in node.args[1..].iter().zip(extents) {
                indices.push((emitter.emit(arg, outer.clone(), NodeId::MAX)?, extent as i64));
            }
            let found = emitter.located(&indices, &strides[..extents.len()], &Guards::new());
            let (place, index) = found.ok_or(Obstacle::Read(id))?;
            let value = emitter.emit(node.args[0], Access::identity(axes), NodeId::MAX)?;
            Ok((value, at.plus(1, &place).ok_or(Obstacle::Read(id))?, Guards::new(), index))
        };
        self.nest(&domain, buffer, StoreMode::Reduce(Reduction::Sum), &store)
    }

    /// Writes the values of a store into memory that has elements in a nest of its own. The nest must read nothing there that
    /// it may have written: such operands are stored first.
    pub(super) fn separate<T>(
        &mut self,
        domain: &[usize],
        buffer: BufferId,
        (node, operands): (NodeId, &[NodeId]),
        write: &dyn Fn(&mut Emitter) -> Result<T, Obstacle>,
    ) -> Result<(usize, T), Obstacle> {
        loop {
            let Some(written) = self.fresh(domain, write)? else { continue };
            if size(domain) <= 1 || !self.reads(written.0, buffer) {
                return Ok(written);
            }
            self.places.pop();
            let alone = self.alone.take();
            // A node that is a whole value is stored entirely, others by their operands.
            let whole = if self.class(node) == LoweringClass::Pointwise { &[node][..] } else { operands };
            assert!(
                whole.iter().any(|&id| !self.buffers.contains(id)),
                "a write in place reads its target through others"
            );
            for &operand in whole {
                if !self.buffers.contains(operand) {
                    self.pointwise(operand)?;
                }
            }
            self.alone = alone;
        }
    }

    /// Whether the nest at a place reads the memory of a buffer.
    fn reads(&self, place: usize, buffer: BufferId) -> bool {
        let PendingStep::Nest(draft) = &self.places[place] else { unreachable!("a place of a nest") };
        draft.nest.nest.read().any(|read| self.procedure.origin(read) == self.procedure.origin(buffer))
    }
}

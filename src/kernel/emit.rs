//! Scalar code for one stored value: a demand for a node at an access, turned into values of a nest.

use crate::affine::AffineMap;
use crate::kernel::access::{Access, Affine, Guard, Guards};
use crate::kernel::buffer::{BufferId, NodeBuffers};
use crate::kernel::draft::{AccessId, Demand, NestDraft, needed_outside};
use crate::kernel::nest::{NestBuilder, NestValue, ValueId};
use crate::kernel::roots::strided_source;
use crate::operation::{Binary, Comparison};
use crate::shape::{self, DType, sort_by_rank};
use crate::term::hash::TermMap;
use crate::term::{Body, NodeId, Op};
use smallvec::SmallVec;

/// Why something can't be written into a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A node whose operand can not be read as needed: a guarded reshape, or a position that overflows.
    Read(NodeId),
    /// A node at which there are as many values as a nest may have, so that it must be stored; `NodeId::MAX` where that is no help.
    Size(NodeId),
    /// A node that is stored, but not yet where the nest runs.
    Later(NodeId),
}

/// Values of a nest: its instructions are slots in a table of 2^16.
pub(crate) const VALUES: usize = 1 << 13;

#[cfg(test)]
thread_local! {
    /// The number of values written on this thread, including those of nests that turned out to be too large.
    pub(crate) static WRITTEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The longest way from each node to one without operands.
pub(crate) fn heights(body: &Body) -> Vec<u32> {
    let mut heights: Vec<u32> = Vec::with_capacity(body.nodes.len());
    for node in &body.nodes {
        let highest = node.args.iter().map(|&arg| heights[arg as usize]).max();
        heights.push(highest.map_or(0, |height| height + 1));
    }
    heights
}

/// Writes values of a program's nodes into a nest.
pub(crate) struct Emitter<'a> {
    pub(crate) body: &'a Body,
    /// The buffers of stored nodes.
    pub(crate) buffers: &'a NodeBuffers,
    /// The heights of all nodes.
    heights: &'a [u32],
    pub(crate) draft: NestDraft,
    /// For a nest with a place among the steps already: its place, and the places that fill buffers.
    placed: Option<(usize, &'a TermMap<BufferId, usize>)>,
    /// Nodes that were begun when a nest turned out to be too large.
    unfinished: Vec<NodeId>,
    /// Nodes that can't be read as needed. A zero stands in for each, so that one pass finds them all.
    pub(crate) unreadable: Vec<NodeId>,
}

impl<'a> Emitter<'a> {
    /// An emitter that continues a nest. If the nest has a place among the steps, `placed` gives it and the steps that fill
    /// buffers.
    pub(crate) fn new(
        body: &'a Body,
        buffers: &'a NodeBuffers,
        heights: &'a [u32],
        draft: NestDraft,
        placed: Option<(usize, &'a TermMap<BufferId, usize>)>,
    ) -> Emitter<'a> {
        Emitter { body, buffers, heights, draft, placed, unfinished: Vec::new(), unreadable: Vec::new() }
    }

    fn access(&mut self, access: Access) -> AccessId {
        self.draft.access(access)
    }

    fn extents(&self) -> &[usize] {
        &self.draft.nest.nest.extents
    }

    /// Adds a value to the nest.
    pub(crate) fn add(&mut self, value: NestValue, dtype: DType) -> ValueId {
        self.draft.nest.add(value, dtype)
    }

    /// Checks that the contents of a buffer are known where the nest runs, apart from the nest's own stores.
    fn check_known(&self, id: NodeId, buffer: BufferId) -> Result<(), Obstacle> {
        match self.placed {
            Some((place, filled_at)) if filled_at.get(&buffer).is_some_and(|&filled| filled >= place) => {
                Err(Obstacle::Later(id))
            }
            _ => Ok(()),
        }
    }

    /// The value read from the buffer of a node. A value that the nest itself stores there is used directly.
    pub(crate) fn load(
        &mut self,
        id: NodeId,
        buffer: BufferId,
        at: Affine,
        guards: Guards,
        dtype: DType,
    ) -> Result<ValueId, Obstacle> {
        if let Some((place, filled_at)) = self.placed
            && filled_at.get(&buffer) == Some(&place)
            && guards.is_empty()
            && let Some(value) = self.draft.nest.written(buffer, &at)
        {
            return Ok(value);
        }
        self.check_known(id, buffer)?;
        Ok(self.add(NestValue::Load { buffer, at, guards }, dtype))
    }

    /// The value of a node at an access; `root` is computed though it has a buffer.
    pub(crate) fn emit(&mut self, node: NodeId, access: Access, root: NodeId) -> Result<ValueId, Obstacle> {
        let first: Demand = (node, self.access(access));
        let mut open: Vec<Demand> = vec![first];
        while let Some(&demand) = open.last() {
            if self.draft.values.contains_key(&demand) {
                open.pop();
                continue;
            }
            let (needed, guards) = match self.demands(demand, root) {
                Err(Obstacle::Read(id)) => {
                    self.stand_in(demand, id)?;
                    continue;
                }
                found => found?,
            };
            let before = open.len();
            open.extend(needed.iter().filter(|demand| !self.draft.values.contains_key(*demand)));
            // The highest comes first: in a long chain, the operands of each link besides the link before would otherwise be
            // written, and wait, before the first link is.
            sort_by_rank(&mut open[before..], |&(id, _)| self.height(id).into());
            if open.len() == before {
                let operands: SmallVec<[ValueId; 3]> = needed.iter().map(|demand| self.draft.values[demand]).collect();
                let value = match self.value(demand, &operands, guards, root) {
                    Err(Obstacle::Read(id)) => {
                        self.stand_in(demand, id)?;
                        continue;
                    }
                    value => value?,
                };
                #[cfg(test)]
                WRITTEN.set(WRITTEN.get() + 1);
                let is_inner = demand.0 != root && demand != first && !operands.is_empty();
                // A nest that is continued has some room left for what can't be stored instead.
                let room = if self.placed.is_some() { 2 * VALUES - VALUES / 8 } else { VALUES };
                let is_full = self.draft.len() >= room && is_inner && !self.buffers.contains(demand.0);
                if self.placed.is_some() && self.draft.len() > 2 * VALUES && !is_full {
                    return Err(Obstacle::Size(NodeId::MAX));
                }
                let id = demand.0;
                self.draft.values.insert(demand, value);
                open.pop();
                if is_full {
                    self.unfinished = open.into_iter().map(|(node, _)| node).collect();
                    return Err(Obstacle::Size(id));
                }
            }
        }
        Ok(self.draft.values[&first])
    }

    /// The height of a node above the values that are written without operands.
    fn height(&self, id: NodeId) -> u32 {
        if self.buffers.contains(id) { 0 } else { self.heights[id as usize] }
    }

    /// Lets a zero stand in for a demand that an unreadable node prevents. If the node lies in memory already this is an error,
    /// since its reader must be left to a call.
    fn stand_in(&mut self, demand: Demand, unreadable: NodeId) -> Result<(), Obstacle> {
        if self.buffers.contains(unreadable) {
            return Err(Obstacle::Read(unreadable));
        }
        self.unreadable.push(unreadable);
        let dtype = self.body.node(demand.0).ty().dtype;
        let zero = self.add(NestValue::Constant(shape::Value::from_i64(dtype, 0)), dtype);
        self.draft.values.insert(demand, zero);
        Ok(())
    }

    /// The nodes written into a nest that is too large which others need that were not written. Once these are stored, none of
    /// the written nodes is needed again.
    ///
    /// `uses` says how often each node is an operand, so that only the written nodes are looked at here.
    pub(crate) fn frontier(&self, uses: &mut [u32]) -> Vec<NodeId> {
        let mut unfinished = self.unfinished.clone();
        unfinished.sort_unstable();
        let mut inside = self.draft.nodes();
        inside.retain(|id| unfinished.binary_search(id).is_err());
        let mut frontier = needed_outside(self.body, &inside, uses);
        // A view is read from its source.
        for id in &mut frontier {
            while let Op::View(_) | Op::Reshape(_) | Op::Alias | Op::Mark = self.body.node(*id).op
                && !self.buffers.contains(*id)
            {
                *id = self.body.node(*id).args[0];
            }
        }
        let is_computed = |id: &NodeId| !matches!(self.body.node(*id).op, Op::Constant(_) | Op::Iota(_));
        frontier.retain(|id| !self.buffers.contains(*id) && is_computed(id));
        frontier.sort_unstable();
        frontier.dedup();
        frontier
    }

    fn is_buffer(&self, node: NodeId, root: NodeId) -> bool {
        node != root && self.buffers.contains(node)
    }

    /// The operands of a demand, and the guards that the node itself needs.
    fn demands(&mut self, (id, at): Demand, root: NodeId) -> Result<(SmallVec<[Demand; 3]>, Guards), Obstacle> {
        let node = self.body.node(id);
        let none = Guards::new();
        if self.is_buffer(id, root) {
            return Ok((SmallVec::new(), none));
        }
        let access = &self.draft.accesses[at as usize];
        match &node.op {
            Op::Parameter(_) | Op::Constant(_) | Op::Iota(_) => Ok((SmallVec::new(), none)),
            Op::View(map) => {
                let (inner, guards) = access.through_view(map, self.extents()).ok_or(Obstacle::Read(id))?;
                Ok((SmallVec::from_slice(&[(node.args[0], self.access(inner))]), guards))
            }
            Op::Reshape(_) => {
                let source = &self.body.node(node.args[0]).ty().shape;
                let guarded = Access { rows: access.rows.clone(), guards: Guards::new() };
                let inner =
                    guarded.through_reshape(source, &node.ty().shape, self.extents()).ok_or(Obstacle::Read(id))?;
                let inner = Access { guards: access.guards.clone(), ..inner };
                Ok((SmallVec::from_slice(&[(node.args[0], self.access(inner))]), none))
            }
            Op::Gather => {
                // The index arrays are read along the result's outer axes.
                let rank = self.body.node(node.args[1]).ty().rank();
                let outer = Access { rows: access.rows[..rank].into(), guards: access.guards.clone() };
                let outer = self.access(outer);
                Ok((node.args[1..].iter().map(|&arg| (arg, outer)).collect(), none))
            }
            Op::Contract(spec) => {
                let read = |labels: &[u8]| Access {
                    rows: labels
                        .iter()
                        .map(|label| {
                            let axis = spec.result.iter().position(|l| l == label).expect("nothing is summed");
                            access.rows[axis].clone()
                        })
                        .collect(),
                    guards: access.guards.clone(),
                };
                let (left, right) = (read(&spec.left), read(&spec.right));
                let operands = [(node.args[0], self.access(left)), (node.args[1], self.access(right))];
                Ok((SmallVec::from_slice(&operands), none))
            }
            _ => Ok((node.args.iter().map(|&arg| (arg, at)).collect(), none)),
        }
    }

    fn value(
        &mut self,
        (id, access): Demand,
        operands: &[ValueId],
        guards: Guards,
        root: NodeId,
    ) -> Result<ValueId, Obstacle> {
        let node = self.body.node(id);
        let dtype = node.ty().dtype;
        let access = &self.draft.accesses[access as usize];
        if let Op::Constant(array) = &node.op
            && let Some(value) = array.uniform()
        {
            return Ok(self.add(NestValue::Constant(value), dtype));
        }
        if self.is_buffer(id, root) {
            let extents = self.extents();
            let at = access.linear(&node.ty().shape, extents).ok_or(Obstacle::Read(id))?;
            let guards = needed(&access.guards, extents);
            return self.load(id, self.buffers[id], at, guards, dtype);
        }
        let value = match &node.op {
            Op::Iota(_) => NestValue::Position(access.rows[0].clone()),
            Op::Unary(op) => NestValue::Unary(*op, operands[0]),
            Op::Binary(op) => NestValue::Binary(*op, operands[0], operands[1]),
            Op::Compare(op) => NestValue::Compare(*op, operands[0], operands[1]),
            Op::Select => NestValue::Select(operands[0], operands[1], operands[2]),
            Op::Cast(dtype) => NestValue::Cast(*dtype, operands[0]),
            Op::Contract(_) => NestValue::Binary(Binary::Mul, operands[0], operands[1]),
            Op::Gather => return self.gather(id, &access.clone(), operands),
            Op::View(_) => {
                // A load is guarded already.
                let is_load = matches!(self.draft.nest.nest.values[operands[0] as usize].0, NestValue::Load { .. });
                if is_load || needed(&guards, self.extents()).is_empty() {
                    return Ok(operands[0]);
                }
                NestValue::Guarded(operands[0], guards)
            }
            Op::Reshape(_) | Op::Alias | Op::Mark => return Ok(operands[0]),
            _ => unreachable!("stored before it is read"),
        };
        Ok(self.add(value, dtype))
    }

    pub(crate) fn integer(&mut self, value: i64) -> ValueId {
        self.add(NestValue::Constant(shape::Value::I64(value)), DType::I64)
    }

    /// Whether an index lies between 0 and an extent.
    fn is_inside(&mut self, index: ValueId, extent: i64) -> ValueId {
        if extent == 0 {
            return self.add(NestValue::Constant(shape::Value::Bool(false)), DType::Bool);
        }
        let (zero, end) = (self.integer(0), self.integer(extent));
        let above = self.add(NestValue::Compare(Comparison::GreaterEqual, index, zero), DType::Bool);
        let below = self.add(NestValue::Compare(Comparison::Less, index, end), DType::Bool);
        self.add(NestValue::Binary(Binary::And, above, below), DType::Bool)
    }

    /// Where indices along axes of these extents are in an array, whose elements are so far apart along each: an affine place, as
    /// far as they are affine and inside, and else a computed position, with the elements from one to the next, and how many there
    /// are. Nothing is there where a guard does not hold.
    pub(crate) fn located(
        &mut self,
        indices: &[(ValueId, i64)],
        strides: &[i64],
        guards: &Guards,
    ) -> Option<(Affine, Option<(ValueId, i64, i64)>)> {
        let axes = self.extents().len();
        let mut place = Affine::constant(0, axes);
        let mut computed: SmallVec<[(ValueId, i64, i64); 3]> = SmallVec::new();
        for (&(index, extent), &stride) in indices.iter().zip(strides) {
            let known = match &self.draft.nest.nest.values[index as usize].0 {
                NestValue::Position(at) => Some(at.clone()),
                NestValue::Constant(shape::Value::I64(at)) => Some(Affine::constant(*at, axes)),
                _ => None,
            };
            match known.filter(|at| at.stays_inside(self.extents(), usize::try_from(extent).unwrap_or(0))) {
                Some(at) if guards.is_empty() => place = place.plus(stride, &at)?,
                _ => computed.push((index, stride, extent)),
            }
        }
        match computed[..] {
            [] => return Some((place, None)),
            [only] if guards.is_empty() => return Some((place, Some(only))),
            _ => {}
        }
        let is_row_major = |k: usize| Some(strides[k]) == strides[k + 1].checked_mul(indices[k + 1].1);
        if (0..strides.len() - 1).all(is_row_major) {
            let (index, extent) = self.joined(indices, guards);
            return Some((Affine::constant(0, axes), Some((index, *strides.last()?, extent))));
        }
        // Along axes in another order the elements are counted from the first one.
        let (mut first, mut end) = (0i64, 1i64);
        for &(_, stride, extent) in &computed {
            let reach = stride.checked_mul(extent.checked_sub(1)?)?;
            first = first.checked_add(reach.min(0))?;
            end = end.checked_add(reach.checked_abs()?)?;
        }
        let mut count = self.integer(first.checked_neg()?);
        let pairs: SmallVec<[(ValueId, i64); 3]> = computed.iter().map(|&(index, _, extent)| (index, extent)).collect();
        let (joined, product) = self.joined(&pairs, guards);
        let inside = self.is_inside(joined, product);
        for &(index, stride, _) in &computed {
            let stride = self.integer(stride);
            let term = self.add(NestValue::Binary(Binary::Mul, index, stride), DType::I64);
            count = self.add(NestValue::Binary(Binary::Add, count, term), DType::I64);
        }
        let outside = self.integer(-1);
        let index = self.add(NestValue::Select(inside, count, outside), DType::I64);
        place.offset = place.offset.checked_add(first)?;
        Some((place, Some((index, 1, end))))
    }

    /// Several indices of consecutive axes as one of their product, −1 where one is outside.
    pub(crate) fn joined(&mut self, indices: &[(ValueId, i64)], guards: &Guards) -> (ValueId, i64) {
        if let ([(index, extent)], true) = (indices, guards.is_empty()) {
            return (*index, *extent);
        }
        let mut inside: Option<ValueId> = None;
        let mut joined: Option<ValueId> = None;
        let mut product: i64 = 1;
        let both = |builder: &mut NestBuilder, a: Option<ValueId>, b: ValueId| match a {
            None => b,
            Some(a) => builder.add(NestValue::Binary(Binary::And, a, b), DType::Bool),
        };
        for guard in guards {
            let position = self.add(NestValue::Position(guard.position.clone()), DType::I64);
            let holds = self.is_inside(position, guard.extent);
            inside = Some(both(&mut self.draft.nest, inside, holds));
        }
        for &(index, extent) in indices {
            let holds = self.is_inside(index, extent);
            inside = Some(both(&mut self.draft.nest, inside, holds));
            joined = Some(match joined {
                None => index,
                Some(outer) => {
                    let extent = self.integer(extent);
                    let scaled = self.add(NestValue::Binary(Binary::Mul, outer, extent), DType::I64);
                    self.add(NestValue::Binary(Binary::Add, scaled, index), DType::I64)
                }
            });
            product = product.saturating_mul(extent);
        }
        let joined = joined.unwrap_or_else(|| self.integer(0));
        let outside = self.integer(-1);
        let inside = inside.expect("there is an index or a guard");
        (self.add(NestValue::Select(inside, joined, outside), DType::I64), product)
    }

    fn gather(&mut self, id: NodeId, access: &Access, operands: &[ValueId]) -> Result<ValueId, Obstacle> {
        let node = self.body.node(id);
        let viewed = node.args[0];
        let shape = self.body.node(viewed).ty().shape.clone();
        let source = strided_source(self.body, viewed, |id| self.buffers.contains(id));
        if let Op::Constant(array) = &self.body.node(source).op
            && array.uniform().is_some()
        {
            // One value everywhere, without a buffer: it is read where the indices are inside.
            return Err(Obstacle::Read(id));
        }
        let (first, strides) = self.strides(viewed, source).ok_or(Obstacle::Read(id))?;
        let indexed = operands.len();
        let rank = self.body.node(node.args[1]).ty().rank();
        let mut at = Affine::constant(first, self.extents().len());
        for (row, &stride) in access.rows[rank..].iter().zip(&strides[indexed..]) {
            at = at.plus(stride, row).ok_or(Obstacle::Read(id))?;
        }
        let indices: SmallVec<[(ValueId, i64); 3]> =
            operands.iter().zip(&shape).map(|(&index, &extent)| (index, extent as i64)).collect();
        let guards = needed(&access.guards, self.extents());
        let (place, computed) = self.located(&indices, &strides[..indexed], &guards).ok_or(Obstacle::Read(id))?;
        let at = at.plus(1, &place).ok_or(Obstacle::Read(id))?;
        let (buffer, dtype) = (self.buffers[source], node.ty().dtype);
        let Some((index, stride, extent)) = computed else { return self.load(source, buffer, at, guards, dtype) };
        self.check_known(source, buffer)?;
        Ok(self.add(NestValue::Gather { buffer, at, stride, index, extent }, dtype))
    }

    /// The first element of a view, and how far its elements are apart along each axis, in the array that it is a view of.
    fn strides(&self, viewed: NodeId, source: NodeId) -> Option<(i64, SmallVec<[i64; 4]>)> {
        let mut maps: SmallVec<[&AffineMap; 2]> = SmallVec::new();
        let mut id = viewed;
        while id != source {
            let Op::View(map) = &self.body.node(id).op else { unreachable!("views lead to their source") };
            maps.push(map);
            id = self.body.node(id).args[0];
        }
        let own = crate::shape::strides(&self.body.node(source).ty().shape);
        let mut strides: SmallVec<[i64; 4]> =
            own.iter().map(|&stride| i64::try_from(stride)).collect::<Result<_, _>>().ok()?;
        let mut first = 0i64;
        for map in maps.into_iter().rev() {
            let mut outer: SmallVec<[i64; 4]> = SmallVec::from_elem(0, map.result().len());
            for (row, &stride) in strides.iter().enumerate() {
                first = first.checked_add(stride.checked_mul(map.offset(row))?)?;
                for (sum, &coefficient) in outer.iter_mut().zip(map.row(row)) {
                    *sum = sum.checked_add(stride.checked_mul(coefficient)?)?;
                }
            }
            strides = outer;
        }
        Some((first, strides))
    }
}

/// The guards that do not hold everywhere.
pub(crate) fn needed(guards: &Guards, extents: &[usize]) -> Guards {
    let holds = |guard: &&Guard| !guard.position.stays_inside(extents, guard.extent as usize);
    guards.iter().filter(holds).cloned().collect()
}

//! Nests under construction.

use crate::kernel::access::Access;
use crate::kernel::buffer::NodeBuffers;
use crate::kernel::nest::{NestBuilder, ValueId};
use crate::term::hash::{PositionTable, TermMap, term_hash};
use crate::term::{Body, NodeId, Op};

/// Position of an access in a draft's table, which has no duplicates.
pub(super) type AccessId = u32;

/// A wanted value.
pub(super) type Demand = (NodeId, AccessId);

/// A nest under construction, and the values of nodes in it: code that continues it computes none of them again.
pub(crate) struct NestDraft {
    pub(crate) nest: NestBuilder,
    pub(super) accesses: Vec<Access>,
    access_ids: PositionTable,
    pub(super) values: TermMap<Demand, ValueId>,
}

impl NestDraft {
    /// A nest without values.
    pub(crate) fn new(extents: &[usize]) -> NestDraft {
        NestDraft {
            nest: NestBuilder::new(extents),
            accesses: Vec::new(),
            access_ids: PositionTable::default(),
            values: TermMap::default(),
        }
    }

    pub(super) fn access(&mut self, access: Access) -> AccessId {
        let accesses = &mut self.accesses;
        let hash = term_hash(&access);
        if let Some(id) = self.access_ids.find(hash, |id| accesses[id as usize] == access) {
            return id;
        }
        let id = accesses.len() as AccessId;
        accesses.push(access);
        self.access_ids.insert(hash, id);
        id
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.nest.nest.values.len()
    }

    /// Forgets the values from this one on, which no store writes.
    pub(crate) fn truncate(&mut self, count: usize) {
        if count < self.len() {
            self.nest.truncate(count);
            self.values.retain(|_, &mut value| (value as usize) < count);
        }
    }

    /// The nodes with values in it, in order.
    pub(super) fn nodes(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.values.keys().map(|&(id, _)| id).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The values of nodes that all have this nest's shape and are in it element by element; `None` where one has another
    /// shape, or is not in it so.
    pub(crate) fn whole(&self, body: &Body, ids: impl Iterator<Item = NodeId>) -> Option<Vec<(NodeId, ValueId)>> {
        let extents = &self.nest.nest.extents;
        let identity = Access::identity(extents.len());
        let access = self.access_ids.find(term_hash(&identity), |id| self.accesses[id as usize] == identity)?;
        let value = |id: NodeId| {
            let value = *self.values.get(&(id, access))?;
            (body.node(id).ty().shape == *extents).then_some((id, value))
        };
        let mut values: Vec<(NodeId, ValueId)> = ids.map(value).collect::<Option<_>>()?;
        values.sort_unstable();
        values.dedup();
        Some(values)
    }

    /// The nodes of this nest's shape that are in it element by element, and that others need which are not: a nest that comes
    /// after it reads them where they are stored, instead of computing them anew.
    pub(crate) fn left(&mut self, body: &Body, buffers: &NodeBuffers, uses: &mut [u32]) -> Vec<(NodeId, ValueId)> {
        let extents = self.nest.nest.extents.clone();
        let whole = self.access(Access::identity(extents.len()));
        let inside = self.nodes();
        let values = &self.values;
        let left = needed_outside(body, &inside, uses).into_iter().filter(|&id| {
            let node = body.node(id);
            let is_free =
                matches!(node.op, Op::Constant(_) | Op::Iota(_) | Op::View(_) | Op::Reshape(_) | Op::Alias | Op::Mark);
            !is_free && !buffers.contains(id) && node.ty().shape == extents
        });
        let mut left: Vec<(NodeId, ValueId)> = left.filter_map(|id| Some((id, *values.get(&(id, whole))?))).collect();
        left.sort_unstable();
        left
    }
}

/// The nodes among those inside that others need too. `uses` says how often each node is an operand, so that only the nodes
/// inside are looked at; its contents are restored afterwards.
pub(super) fn needed_outside(body: &Body, inside: &[NodeId], uses: &mut [u32]) -> Vec<NodeId> {
    let operands = || inside.iter().flat_map(|&id| &body.node(id).args);
    operands().for_each(|&arg| uses[arg as usize] -= 1);
    let needed = inside.iter().copied().filter(|&id| uses[id as usize] > 0).collect();
    operands().for_each(|&arg| uses[arg as usize] += 1);
    needed
}

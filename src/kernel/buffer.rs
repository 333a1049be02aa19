//! The buffers of lowered programs.

use crate::array::Array;
use crate::shape::Type;
use crate::term::NodeId;

/// Position of a buffer in its procedure.
pub(crate) type BufferId = u32;

/// Where the elements of a buffer are.
#[derive(Clone, Debug)]
pub(crate) enum BufferSource {
    /// An argument, by its position, which is only read.
    Parameter(usize),
    /// A known array.
    Constant(Array),
    /// Memory of the procedure's own.
    Local,
    /// The memory of an earlier buffer of the same size.
    Alias(BufferId),
}

/// Elements of one type, row-major.
#[derive(Clone, Debug)]
pub(crate) struct ProcedureBuffer {
    pub(crate) ty: Type,
    pub(crate) source: BufferSource,
}

/// The buffers of a program's stored nodes, indexed by node number, so that lookups need no search.
pub(crate) struct NodeBuffers(Vec<BufferId>);

/// Stands for no buffer.
const NONE: BufferId = BufferId::MAX;

impl NodeBuffers {
    /// None yet of so many nodes.
    pub(crate) fn of(nodes: usize) -> NodeBuffers {
        NodeBuffers(vec![NONE; nodes])
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<BufferId> {
        Some(self.0[id as usize]).filter(|&buffer| buffer != NONE)
    }

    pub(crate) fn contains(&self, id: NodeId) -> bool {
        self.0[id as usize] != NONE
    }

    pub(crate) fn insert(&mut self, id: NodeId, buffer: BufferId) {
        self.0[id as usize] = buffer;
    }
}

impl std::ops::Index<NodeId> for NodeBuffers {
    type Output = BufferId;

    fn index(&self, id: NodeId) -> &BufferId {
        let buffer = &self.0[id as usize];
        debug_assert_ne!(*buffer, NONE, "node {id} is stored");
        buffer
    }
}

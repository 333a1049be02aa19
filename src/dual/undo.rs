//! Carries that a step changes by writes: the backward pass takes the writes back instead of reading what every step began
//! with.
//!
//! Such a loop leaves the elements that each step wrote over. The backward loop begins with the array as it was in the end,
//! and has every step put them back, the last first: that is bit for bit the array before the step, as only elements that
//! were written are written again.

use super::extract::Held;
use crate::term::{Graph, NodeId, Op};
use std::collections::{HashMap, HashSet};

/// A carry that is changed by writes.
pub(crate) struct Undone {
    /// Its position.
    pub(crate) carry: usize,
    /// The array after each write, the first first: nodes of the body proper.
    writes: Vec<NodeId>,
}

impl Undone {
    /// A carry that becomes this node, if by writes alone, which together change less than half of it.
    pub(crate) fn of(graph: &Graph, carry: usize, result: NodeId) -> Option<Undone> {
        let (mut writes, mut id, mut changed) = (Vec::new(), result, 0usize);
        while id != carry as NodeId {
            let node = graph.node(id);
            if node.op != Op::ScatterSet || node.args.len() == 2 {
                return None;
            }
            changed = changed.saturating_add(graph.ty(node.args[1]).size());
            writes.push(id);
            id = node.args[0];
        }
        writes.reverse();
        let is_small = changed <= graph.ty(result).size() / 2;
        (is_small && !writes.is_empty()).then_some(Undone { carry, writes })
    }

    /// The array before the first write, and after each.
    pub(crate) fn versions(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.carry as NodeId).chain(self.writes.iter().copied())
    }

    /// The array in the end.
    pub(crate) fn last(&self) -> NodeId {
        *self.writes.last().expect("there is a write")
    }

    /// How many elements there are that were written over: an array of them for each write.
    pub(crate) fn count(&self) -> usize {
        self.writes.len()
    }

    /// The elements at the positions of each write before it, in a recording.
    pub(crate) fn overwritten(&self, graph: &mut Graph) -> Vec<NodeId> {
        let before: Vec<NodeId> = self.versions().take(self.writes.len()).collect();
        let of = |(&write, before): (&NodeId, NodeId)| {
            let mut args = vec![before];
            args.extend_from_slice(&graph.node(write).args[2..]);
            graph.add(Op::Gather, &args)
        };
        self.writes.iter().zip(before).map(of).collect()
    }

    /// The array before the first write, given that in the end and what was written over; and which nodes the versions in
    /// between are now.
    pub(crate) fn restored(
        &self,
        graph: &mut Graph,
        overwritten: &[NodeId],
        renamed: &mut HashMap<NodeId, NodeId>,
    ) -> NodeId {
        let before: Vec<NodeId> = self.versions().take(self.writes.len()).collect();
        let mut array = self.last();
        for ((&write, &old), before) in self.writes.iter().zip(overwritten).zip(before).rev() {
            let mut args = vec![array, old];
            args.extend_from_slice(&graph.node(write).args[2..]);
            array = graph.add(Op::ScatterSet, &args);
            renamed.insert(before, array);
        }
        array
    }

    /// Says what is at hand in the backward pass.
    pub(crate) fn hold(&self, overwritten: &[NodeId], held: &mut Held) {
        held.given.extend(self.versions().chain(overwritten.iter().copied()));
    }

    /// Whether the backward pass needs the array as it was in between.
    pub(crate) fn is_needed(&self, needed: &[NodeId]) -> bool {
        let needed: HashSet<NodeId> = needed.iter().copied().collect();
        self.versions().any(|id| needed.contains(&id))
    }
}

//! Carries that a step changes by writes: the backward pass takes the writes back instead of reading what every step began
//! with.
//!
//! Such a loop leaves the elements that each step wrote over. The backward loop begins with the array as it was in the end,
//! and has every step put them back, the last first: that is bit for bit the array before the step, as only elements that
//! were written are written again.

use super::extract::Held;
use crate::operation::Binary;
use crate::term::{Graph, NodeId, Op};
use std::collections::{HashMap, HashSet};

/// A carry that is changed by writes.
pub(crate) struct Undone {
    /// Its position.
    pub(crate) carry: usize,
    /// The first first.
    writes: Vec<Write>,
}

/// An array of which elements are set or added to: nodes of the body proper.
struct Write {
    before: NodeId,
    after: NodeId,
    positions: Vec<NodeId>,
}

impl Write {
    /// The write that a node is, and how many elements it changes.
    fn of(graph: &Graph, after: NodeId) -> Option<(Write, usize)> {
        let node = graph.node(after);
        let (before, updates, positions) = match (&node.op, &node.args[..]) {
            (Op::ScatterSet, [before, updates, positions @ ..]) => (*before, *updates, positions),
            // Additions are not undone by subtractions, which would round: their old elements are kept too.
            (Op::Binary(Binary::Add), &[first, second]) => {
                let scattered = |id: NodeId| matches!(graph.node(id).op, Op::Scatter(_));
                let (before, added) = if scattered(second) { (first, second) } else { (second, first) };
                match (&graph.node(added).op, &graph.node(added).args[..]) {
                    (Op::Scatter(_), [updates, positions @ ..]) => (before, *updates, positions),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let changed = graph.ty(updates).size();
        (!positions.is_empty()).then(|| (Write { before, after, positions: positions.to_vec() }, changed))
    }
}

impl Undone {
    /// A carry that becomes this node, if by writes alone, which together change less than half of it.
    pub(crate) fn of(graph: &Graph, carry: usize, result: NodeId) -> Option<Undone> {
        let (mut writes, mut id, mut changed) = (Vec::new(), result, 0usize);
        while id != carry as NodeId {
            let (write, count) = Write::of(graph, id)?;
            changed = changed.saturating_add(count);
            id = write.before;
            writes.push(write);
        }
        writes.reverse();
        let is_small = changed <= graph.ty(result).size() / 2;
        (is_small && !writes.is_empty()).then_some(Undone { carry, writes })
    }

    /// The array before the first write, and after each.
    pub(crate) fn versions(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.carry as NodeId).chain(self.writes.iter().map(|write| write.after))
    }

    /// The array in the end.
    pub(crate) fn last(&self) -> NodeId {
        self.writes.last().expect("there is a write").after
    }

    /// How many elements there are that were written over: an array of them for each write.
    pub(crate) fn count(&self) -> usize {
        self.writes.len()
    }

    /// The elements at the positions of each write before it, in a recording.
    pub(crate) fn overwritten(&self, graph: &mut Graph) -> Vec<NodeId> {
        let of = |write: &Write| {
            let mut args = vec![write.before];
            args.extend_from_slice(&write.positions);
            graph.add(Op::Gather, &args)
        };
        self.writes.iter().map(of).collect()
    }

    /// The array before the first write, given that in the end and what was written over; and which nodes the versions in
    /// between are now.
    pub(crate) fn restored(
        &self,
        graph: &mut Graph,
        overwritten: &[NodeId],
        renamed: &mut HashMap<NodeId, NodeId>,
    ) -> NodeId {
        let mut array = self.last();
        for (write, &old) in self.writes.iter().zip(overwritten).rev() {
            let mut args = vec![array, old];
            args.extend_from_slice(&write.positions);
            array = graph.add(Op::ScatterSet, &args);
            renamed.insert(write.before, array);
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

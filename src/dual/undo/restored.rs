//! The arrays that a backward loop restores.

use super::{Undoing, arrays_of_versions, hold};
use crate::dual::extract::{Held, Needs, is_acyclic};
use crate::term::{Graph, NodeId};
use std::collections::{HashMap, HashSet};

/// The arrays that a backward loop restores.
pub(crate) struct Restored {
    /// The values of the forward pass that the results and these arrays need.
    pub(crate) needed: Vec<NodeId>,
    /// The restored ones of the arrays that the forward loop prepared for it.
    pub(crate) arrays: Vec<usize>,
    /// The arrays before a step.
    pub(crate) nodes: Vec<NodeId>,
    /// Positions of the overwritten elements that are read, for these arrays or for themselves, among all overwritten ones, and
    /// their nodes.
    pub(crate) positions: Vec<usize>,
    pub(crate) overwritten: Vec<NodeId>,
    /// The new nodes of the arrays' versions.
    pub(crate) renamed: HashMap<NodeId, NodeId>,
}

/// Finds the nodes that results need, beside the held ones.
pub(crate) type FindNeeds<'a> = &'a dyn Fn(&Graph, &[NodeId], &Held) -> Needs;

impl Restored {
    /// The arrays that a step needs for its results, or to restore others. Arrays that transposes in the step restore `again`
    /// are taken from there, unless the transposes themselves need them.
    pub(crate) fn new(
        undoing: &Undoing,
        graph: &mut Graph,
        (held, needs): (&Held, FindNeeds<'_>),
        results: &[NodeId],
        again: &HashMap<NodeId, NodeId>,
    ) -> Restored {
        let (before, mut held) = (held, held.clone());
        let all: Vec<Vec<NodeId>> = (0..undoing.arrays.len()).map(|at| undoing.overwritten(at, graph)).collect();
        hold(&undoing.arrays, graph, all.iter().flatten().copied(), &mut held);
        let of = arrays_of_versions(&undoing.arrays);
        let mut arrays: Vec<usize> = Vec::new();
        let mut roots = results.to_vec();
        let (mut nodes, mut renamed) = (Vec::new(), HashMap::new());
        let Needs { step: needed, given, .. } = loop {
            let found = needs(graph, &roots, &held);
            let given: HashSet<usize> = found.given.iter().filter_map(|id| of.get(id).copied()).collect();
            let mut more: Vec<usize> = given.into_iter().filter(|at| !arrays.contains(at)).collect();
            // Where the array before the first write is taken from elsewhere, versions in between are not on the way to it.
            let between = found.given.iter().filter_map(|id| renamed.get(id).copied());
            let between: Vec<NodeId> = between.filter(|id| !roots.contains(id)).collect();
            if more.is_empty() && between.is_empty() {
                break found;
            }
            roots.extend(between);
            more.sort_unstable();
            for at in more {
                let node = undoing.arrays[at].restored(graph, &all[at], again, &mut renamed);
                arrays.push(at);
                nodes.push(node);
                roots.push(node);
            }
        };
        // A derivative may read overwritten elements without the array.
        let given: HashSet<NodeId> = given.into_iter().collect();
        let each = all.iter().enumerate().flat_map(|(at, nodes)| nodes.iter().map(move |&id| (at, id)));
        let is_read = |(at, id): &(usize, NodeId)| arrays.contains(at) || given.contains(id);
        let read = each.enumerate().filter(|(_, it)| is_read(it)).map(|(position, (_, id))| (position, id));
        let (positions, overwritten): (Vec<usize>, Vec<NodeId>) = read.unzip();
        let mut known: Vec<NodeId> = arrays.iter().map(|&at| undoing.arrays[at].last()).collect();
        known.extend(overwritten.iter().chain(&needed));
        if !again.is_empty() && !is_acyclic(graph, &known, &roots, &renamed) {
            return Restored::new(undoing, graph, (before, needs), results, &HashMap::new());
        }
        Restored { needed, arrays, nodes, positions, overwritten, renamed }
    }
}

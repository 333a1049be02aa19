//! Arrays that a body changes by writes: the backward pass takes the writes back instead of reading the arrays from before the
//! body, or before each step of a loop.
//!
//! Such a body leaves the elements that it wrote over. The backward pass begins with the final array, and puts them back, the
//! last first: this restores the earlier array bit for bit, since only written elements are written again. A loop or
//! conditional in the body counts as one write. It leaves the elements that it wrote over, and the values needed to know where;
//! a loop in the other direction, or a conditional on the same condition, takes it back. Where the derivative of such a loop or
//! conditional does so itself, its array is reused (see [`Recording::again`](super::loops::Recording)).

mod chain;
mod find;
mod nests;
mod restored;

use super::extract::{Held, is_read};
use crate::term::{Body, Graph, NodeId, Op};
use chain::{ChangeChain, How};
use nests::Nests;
pub(crate) use restored::Restored;
use std::collections::{HashMap, HashSet};

/// The arrays whose writes a backward pass takes back.
#[derive(Default)]
pub(crate) struct Undoing {
    pub(crate) arrays: Vec<Undone>,
    /// The loops and conditionals that leave what they wrote over, by the nodes of those that don't.
    extended: HashMap<NodeId, Op>,
    /// The outputs of those nodes, and their counterparts in the forward pass.
    pub(crate) renamed: HashMap<NodeId, NodeId>,
}

/// A parameter that becomes a result by writes.
pub(crate) struct Undone {
    /// The positions of the parameter and of the result.
    pub(crate) parameter: usize,
    pub(crate) result: usize,
    /// The first first.
    writes: Vec<Write>,
}

/// A write: nodes of the body proper.
struct Write {
    before: NodeId,
    after: NodeId,
    undo: Undo,
}

enum Undo {
    /// By a write of the old elements at these positions.
    Elements(Vec<NodeId>),
    /// By a loop or conditional.
    Nested(Nested),
}

/// A loop or conditional that changes an array, and how it is taken back.
struct Nested {
    node: NodeId,
    /// The outputs that it leaves for that.
    left: Vec<usize>,
    /// The loop or conditional on the array, then operands of the node at these positions, the values left, and more operands.
    undo: Op,
    inputs: Vec<usize>,
    captures: Vec<usize>,
}

/// Whether a loop's body changes a carry by writes and by nothing else.
pub(crate) fn is_written(body: &Body, carry: usize) -> bool {
    chain::written(body, body.results[carry]) == Some(carry)
}

impl Undoing {
    /// Chooses among the parameters that become results by writes, at accepted positions, those for which the backward pass
    /// would otherwise keep more than the writes write over. Without them it keeps the `stored` nodes.
    pub(crate) fn choose(
        graph: &mut Graph,
        results: &[NodeId],
        stored: &[NodeId],
        accepts: impl Fn(usize, usize) -> bool,
    ) -> Undoing {
        let (mut nests, mut chains) = (Nests::default(), Vec::new());
        let mut taken: HashSet<usize> = HashSet::new();
        for (result, &node) in results.iter().enumerate() {
            let fits = |chain: &ChangeChain| {
                let is_small = !chain.links.is_empty() && chain.changed <= graph.ty(node).size() / 2;
                is_small && accepts(chain.parameter, result) && taken.insert(chain.parameter)
            };
            if chain::written(graph, node).is_some() {
                chains.extend(ChangeChain::find(graph, node, &mut nests).filter(fits).map(|chain| (result, chain)));
            }
        }
        if chains.is_empty() {
            return Undoing::default();
        }
        let mut saved = read_from(graph, &chains, stored).into_iter();
        chains.retain(|(_, chain)| saved.next().is_some_and(|saved| saved > 2 * chain.changed));
        let arrays = chains.into_iter().map(|(result, chain)| chain.resolve(result, graph, &mut nests)).collect();
        Undoing { arrays, extended: nests.operations(graph), renamed: nests.renamed(graph) }
    }

    /// Prepares the forward pass: the overwritten elements of all arrays, which are held; the arrays that are restored from them are
    /// wanted.
    pub(crate) fn prepare(&self, graph: &mut Graph, held: &mut Held, wanted: &mut Vec<NodeId>) -> Vec<NodeId> {
        let mut all = Vec::new();
        for (at, array) in self.arrays.iter().enumerate() {
            let overwritten = self.overwritten(at, graph);
            wanted.push(array.restored(graph, &overwritten, &HashMap::new(), &mut HashMap::new()));
            all.extend(overwritten);
        }
        hold(&self.arrays, graph, all.iter().copied(), held);
        all
    }

    /// The overwritten elements of an array.
    pub(crate) fn overwritten(&self, at: usize, graph: &mut Graph) -> Vec<NodeId> {
        self.arrays[at].overwritten(graph, &self.extended)
    }

    /// The versions of all arrays.
    pub(crate) fn versions(&self) -> HashSet<NodeId> {
        self.arrays.iter().flat_map(Undone::versions).collect()
    }
}

/// Which array each version is one of.
fn arrays_of_versions(arrays: &[Undone]) -> HashMap<NodeId, usize> {
    arrays.iter().enumerate().flat_map(|(at, array)| array.versions().map(move |id| (id, at))).collect()
}

/// Records the nodes at hand in the backward pass, and those to be kept for that. An array is restored without using anything
/// that is read from it, or from arrays that are restored after it.
fn hold(arrays: &[Undone], graph: &Graph, overwritten: impl Iterator<Item = NodeId>, held: &mut Held) {
    held.given.extend(overwritten);
    let of = arrays_of_versions(arrays);
    held.given.extend(of.keys());
    // For each node the last array that it is computed from.
    let mut last: Vec<Option<usize>> = Vec::with_capacity(graph.len());
    for id in 0..graph.len() as NodeId {
        let before = || graph.node(id).args.iter().filter_map(|&arg| last[arg as usize]).max();
        let own = of.get(&id).copied().or_else(before);
        last.push(own);
    }
    for (at, array) in arrays.iter().enumerate() {
        for write in &array.writes {
            if let Undo::Elements(positions) = &write.undo {
                held.kept.extend(positions.iter().filter(|&&id| last[id as usize] >= Some(at)));
            }
        }
    }
}

/// For each array, how many of the stored elements belong to it or are read from it.
fn read_from(graph: &Graph, chains: &[(usize, ChangeChain)], stored: &[NodeId]) -> Vec<usize> {
    let mut from: Vec<Option<usize>> = vec![None; graph.len()];
    for (at, (_, chain)) in chains.iter().enumerate() {
        chain.versions().for_each(|id| from[id as usize] = Some(at));
    }
    for id in 0..graph.len() {
        let node = graph.node(id as NodeId);
        if from[id].is_none() && is_read(&node.op) {
            from[id] = from[node.args[0] as usize];
        }
    }
    let mut saved = vec![0usize; chains.len()];
    for &id in stored {
        if let Some(at) = from[id as usize] {
            saved[at] = saved[at].saturating_add(graph.ty(id).size());
        }
    }
    saved
}

impl Undone {
    fn new(
        chain: ChangeChain,
        result: usize,
        mut undo: impl FnMut(NodeId, usize, Vec<ChangeChain>) -> Nested,
    ) -> Undone {
        let parameter = chain.parameter;
        let writes = chain.links.into_iter().map(|link| Write {
            before: link.before,
            after: link.after,
            undo: match link.how {
                How::Elements(positions) => Undo::Elements(positions),
                How::Nested { node, output, bodies } => Undo::Nested(undo(node, output, bodies)),
            },
        });
        Undone { parameter, result, writes: writes.collect() }
    }

    /// The array before the first write, and after each.
    pub(crate) fn versions(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.parameter as NodeId).chain(self.writes.iter().map(|write| write.after))
    }

    /// The array in the end.
    pub(crate) fn last(&self) -> NodeId {
        self.writes.last().map_or(self.parameter as NodeId, |write| write.after)
    }

    /// The elements that the writes wrote over, in a recording, for each after the other; some loops and conditionals are `extended`.
    fn overwritten(&self, graph: &mut Graph, extended: &HashMap<NodeId, Op>) -> Vec<NodeId> {
        let mut all = Vec::new();
        for write in &self.writes {
            match &write.undo {
                Undo::Elements(positions) => {
                    let args = [&[write.before], &positions[..]].concat();
                    all.push(graph.add(Op::Gather, &args));
                }
                Undo::Nested(nested) => {
                    let node = match extended.get(&nested.node) {
                        Some(op) => {
                            let args = graph.node(nested.node).args.clone();
                            graph.add(op.clone(), &args)
                        }
                        None => nested.node,
                    };
                    all.extend(nested.left.iter().map(|&output| graph.add(Op::Output(output), &[node])));
                }
            }
        }
        all
    }

    /// The array before the first write, given the final array and the overwritten elements, and the new nodes of the versions
    /// in between. A version that is computed `again` already is reused.
    pub(crate) fn restored(
        &self,
        graph: &mut Graph,
        overwritten: &[NodeId],
        again: &HashMap<NodeId, NodeId>,
        renamed: &mut HashMap<NodeId, NodeId>,
    ) -> NodeId {
        let (mut array, mut rest) = (self.last(), overwritten);
        for write in self.writes.iter().rev() {
            array = match &write.undo {
                Undo::Elements(positions) => {
                    let (&old, others) = rest.split_last().expect("there is an array for each write");
                    rest = others;
                    let args = [&[array, old], &positions[..]].concat();
                    graph.add(Op::ScatterSet, &args)
                }
                Undo::Nested(nested) => {
                    let (others, left) = rest.split_at(rest.len() - nested.left.len());
                    rest = others;
                    again.get(&write.before).copied().unwrap_or_else(|| nested.undone(graph, array, left))
                }
            };
            renamed.insert(write.before, array);
        }
        array
    }
}

impl Nested {
    /// The array before, given the array after and the values left.
    fn undone(&self, graph: &mut Graph, after: NodeId, left: &[NodeId]) -> NodeId {
        let operands = graph.node(self.node).args.clone();
        let of = |positions: &[usize]| positions.iter().map(|&at| operands[at]).collect::<Vec<NodeId>>();
        let condition = match self.undo {
            Op::Branch(_) => Some(operands[0]),
            _ => None,
        };
        let mut args: Vec<NodeId> = condition.into_iter().collect();
        args.push(after);
        args.extend(of(&self.inputs));
        args.extend_from_slice(left);
        args.extend(of(&self.captures));
        let node = graph.add(self.undo.clone(), &args);
        graph.add(Op::Output(0), &[node])
    }
}

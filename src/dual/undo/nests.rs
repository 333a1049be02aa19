//! Loops and conditionals that change an array by writes: the values that they leave in addition, and the loop or conditional
//! that takes the writes back.

use super::chain::ChangeChain;
use super::{Nested, Undone, hold};
use crate::dual::extract::{BindingTime, Held, extract, extract_renamed, levels, needs_beside, zeros};
use crate::term::{Body, Branch, Graph, NodeId, Op, Scan};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// A body of a loop or conditional, and its results.
pub(super) struct NestedGraph {
    pub(super) graph: Graph,
    pub(super) results: Vec<NodeId>,
    pub(super) nests: Nests,
}

impl NestedGraph {
    fn new(body: &Body) -> NestedGraph {
        let mut graph = Graph::like(body);
        let ids = graph.append(body, 0..body.arity() as NodeId);
        let results = body.results.iter().map(|&id| ids[id as usize]).collect();
        NestedGraph { graph, results, nests: Nests::default() }
    }

    /// The body that returns all of it.
    fn extended(&mut self, body: &Arc<Body>) -> Arc<Body> {
        let renamed = self.nests.renamed(&mut self.graph);
        if renamed.is_empty() && self.results.len() == body.results.len() {
            return body.clone();
        }
        let parameters: Vec<NodeId> = (0..body.arity() as NodeId).collect();
        extract_renamed(&self.graph, &parameters, body.captures, &self.results, &renamed)
    }
}

/// The loops and conditionals of a graph.
#[derive(Default)]
pub(super) struct Nests {
    bodies: HashMap<NodeId, Vec<NestedGraph>>,
    /// The nodes of those that leave more, the last of which leaves all.
    extended: BTreeMap<NodeId, Vec<NodeId>>,
}

/// How the writes in a body are taken back.
struct Reversal {
    /// The array in the end, and in the beginning.
    last: NodeId,
    first: NodeId,
    /// The values of the body that it takes.
    kept: Vec<NodeId>,
    /// The positions of the parameters that it takes.
    parameters: BTreeSet<usize>,
}

impl Reversal {
    /// Given the parameters that are at hand, which need not be kept, and the last that differ from step to step.
    fn of(
        side: &mut NestedGraph,
        result: usize,
        chain: ChangeChain,
        at_hand: HashSet<usize>,
        varying: usize,
        arity: usize,
    ) -> Reversal {
        let (last, proper) = (side.results[result], side.graph.len());
        let undone = chain.resolve(result, &mut side.graph, &mut side.nests);
        let ops = side.nests.operations(&side.graph);
        let mut kept = undone.overwritten(&mut side.graph, &ops);
        let first = undone.restored(&mut side.graph, &kept, &HashMap::new(), &mut HashMap::new());
        let mut held = Held { inputs: at_hand.clone(), ..Held::default() };
        hold(std::slice::from_ref(&undone), &side.graph, kept.iter().copied(), &mut held);
        let given: Vec<BindingTime> =
            (0..arity).map(|at| if at < varying { BindingTime::Step } else { BindingTime::Invariant }).collect();
        let graph = &side.graph;
        let needed = needs_beside(graph, &levels(graph, &given), &[first], proper, &held).step;
        kept.extend(needed.into_iter().filter(|&id| !at_hand.contains(&(id as usize))));
        let mut known: HashSet<NodeId> = HashSet::new();
        kept.retain(|&id| known.insert(id));
        known.insert(last);
        let mut parameters = BTreeSet::new();
        let mut work: Vec<NodeId> = known.insert(first).then_some(first).into_iter().collect();
        while let Some(id) = work.pop() {
            let node = graph.node(id);
            if let Op::Parameter(position) = node.op {
                parameters.insert(position);
            }
            work.extend(node.args.iter().filter(|&&arg| known.insert(arg)));
        }
        Reversal { last, first, kept, parameters }
    }
}

impl Nests {
    /// The bodies of a loop or conditional.
    pub(super) fn bodies(&mut self, graph: &Graph, node: NodeId) -> &mut Vec<NestedGraph> {
        self.bodies.entry(node).or_insert_with(|| match &graph.node(node).op {
            Op::Scan(scan) => vec![NestedGraph::new(&scan.body)],
            Op::Branch(branch) => vec![NestedGraph::new(&branch.then), NestedGraph::new(&branch.otherwise)],
            _ => unreachable!("a loop or conditional has bodies"),
        })
    }

    /// The operations that leave more, by the nodes that they take the place of.
    pub(super) fn operations(&self, graph: &Graph) -> HashMap<NodeId, Op> {
        let last = |(&node, all): (&NodeId, &Vec<NodeId>)| (node, graph.node(all[all.len() - 1]).op.clone());
        self.extended.iter().map(last).collect()
    }

    /// Which outputs are outputs of nodes that leave more.
    pub(super) fn renamed(&self, graph: &mut Graph) -> HashMap<NodeId, NodeId> {
        let mut renamed = HashMap::new();
        for (&node, all) in &self.extended {
            let (&last, others) = all.split_last().expect("a node for each");
            for &old in std::iter::once(&node).chain(others) {
                for position in 0..graph.node(old).types.len() {
                    if let Some(output) = graph.find(&Op::Output(position), &[old]) {
                        renamed.insert(output, graph.add(Op::Output(position), &[last]));
                    }
                }
            }
        }
        renamed
    }

    /// How a loop or conditional is taken back that writes to an array in the ways that the chains say, one for each body.
    pub(super) fn undo(&mut self, graph: &mut Graph, node: NodeId, output: usize, chains: Vec<ChangeChain>) -> Nested {
        let (op, args) = (graph.node(node).op.clone(), graph.node(node).args.clone());
        let sides = self.bodies.get_mut(&node).expect("its bodies were looked at");
        let (nested, op) = match &op {
            Op::Scan(scan) => {
                let (nested, scan) = undo_loop(node, scan, &mut sides[0], output, chains);
                (nested, Op::Scan(scan))
            }
            Op::Branch(branch) => {
                let (nested, branch) = undo_branch(node, branch, sides, output, chains);
                (nested, Op::Branch(branch))
            }
            _ => unreachable!("a loop or conditional has bodies"),
        };
        let extended = graph.add(op, &args);
        let versions = self.extended.entry(node).or_default();
        if versions.last().unwrap_or(&node) != &extended {
            versions.push(extended);
        }
        if versions.is_empty() {
            self.extended.remove(&node);
        }
        nested
    }
}

fn undo_loop(
    node: NodeId,
    scan: &Arc<Scan>,
    side: &mut NestedGraph,
    output: usize,
    chains: Vec<ChangeChain>,
) -> (Nested, Arc<Scan>) {
    let chain = chains.into_iter().next().expect("a loop has one body");
    let (slices, arity) = (scan.carries + scan.inputs, scan.body.arity());
    let inputs = scan.carries..slices;
    let Reversal { last, first, kept, parameters } = Reversal::of(side, output, chain, inputs.collect(), slices, arity);
    let (inputs, captures): (Vec<usize>, Vec<usize>) = parameters.into_iter().partition(|&at| at < slices);
    let mut left = Vec::with_capacity(kept.len());
    for &id in &kept {
        let found = side.results.iter().skip(scan.carries).position(|&result| result == id);
        left.push(found.map_or(side.results.len(), |at| scan.carries + at));
        if found.is_none() {
            side.results.push(id);
        }
    }
    let id = |&at: &usize| at as NodeId;
    let mut taken = vec![last];
    taken.extend(inputs.iter().map(id));
    taken.extend(&kept);
    taken.extend(captures.iter().map(id));
    let undo = Scan {
        body: extract(&side.graph, &taken, captures.len(), &[first]),
        carries: 1,
        inputs: inputs.len() + kept.len(),
        length: scan.length,
        reverse: !scan.reverse,
    };
    let extended = Scan { body: side.extended(&scan.body), ..(**scan).clone() };
    let nested = Nested { node, left, undo: Op::Scan(Arc::new(undo)), inputs, captures };
    (nested, Arc::new(extended))
}

fn undo_branch(
    node: NodeId,
    branch: &Branch,
    sides: &mut [NestedGraph],
    output: usize,
    chains: Vec<ChangeChain>,
) -> (Nested, Arc<Branch>) {
    let arity = branch.then.arity();
    let reversals: Vec<Reversal> = sides
        .iter_mut()
        .zip(chains)
        .map(|(side, chain)| Reversal::of(side, output, chain, (0..arity).collect(), arity, arity))
        .collect();
    let captures: BTreeSet<usize> = reversals.iter().flat_map(|reversal| reversal.parameters.iter().copied()).collect();
    let captures: Vec<usize> = captures.into_iter().collect();
    let mut left: BTreeSet<usize> = BTreeSet::new();
    for (at, reversal) in reversals.iter().enumerate() {
        for &id in &reversal.kept {
            let found = sides[at].results.iter().position(|&result| result == id);
            left.insert(found.unwrap_or(sides[at].results.len()));
            if found.is_none() {
                let ty = sides[at].graph.ty(id).clone();
                sides[at].results.push(id);
                // The other side leaves something that nobody reads.
                let other = &mut sides[1 - at];
                let unread = zeros(&mut other.graph, &ty);
                other.results.push(unread);
            }
        }
    }
    let left: Vec<usize> = left.into_iter().collect();
    let body = |at: usize| {
        let (side, reversal) = (&sides[at], &reversals[at]);
        let mut taken = vec![reversal.last];
        taken.extend(captures.iter().map(|&at| at as NodeId));
        taken.extend(left.iter().map(|&output| side.results[output]));
        extract(&side.graph, &taken, taken.len(), &[reversal.first])
    };
    let undo = Branch { then: body(0), otherwise: body(1) };
    let extended = Branch { then: sides[0].extended(&branch.then), otherwise: sides[1].extended(&branch.otherwise) };
    let operands = captures.iter().map(|&at| 1 + at).collect();
    let nested = Nested { node, left, undo: Op::Branch(Arc::new(undo)), inputs: operands, captures: Vec::new() };
    (nested, Arc::new(extended))
}

impl ChangeChain {
    /// The chain that becomes this result, given how the loops and conditionals in it are taken back.
    pub(super) fn resolve(self, result: usize, graph: &mut Graph, nests: &mut Nests) -> Undone {
        Undone::new(self, result, |node, output, chains| nests.undo(graph, node, output, chains))
    }
}

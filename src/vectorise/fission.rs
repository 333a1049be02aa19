//! Loops split in two: values that do not depend on the step before are computed for all steps at once.

use crate::operation::Binary;
use crate::shape::{Type, size};
use crate::term::{Body, Build, Extension, Graph, Node, NodeId, Op, Scan};
use std::sync::Arc;

/// How much larger than all that a loop reads and writes an intermediate may be, for all steps to be kept at once.
const GROWTH: usize = 4;

/// A loop without the results that depend on no carry, or are sums over the steps of values that depend on none.
pub(super) struct LoopSplit {
    /// One step of those outputs and addends. It takes the loop's inputs and captures.
    pub(super) map: Body<Build>,
    /// The results of the loop's body, by position, that the map gives; those of carries are summed over the steps.
    pub(super) free: Vec<usize>,
    /// The rest of the loop, if it has results.
    pub(super) rest: Option<RemainingLoop>,
}

/// The rest of a loop. Its body takes the carries, the inputs, the outputs of the map that it reads, and the captures.
pub(super) struct RemainingLoop {
    pub(super) scan: Scan<Build>,
    /// The loop's carries, by position, that it has.
    pub(super) carries: Vec<usize>,
    /// The map's outputs, by position, that are further inputs.
    pub(super) read: Vec<usize>,
}

/// The elements of a node's outputs.
fn elements<X: Extension>(node: &Node<X>) -> usize {
    node.types.iter().fold(0, |sum, ty| sum.saturating_add(size(&ty.shape)))
}

/// The nodes that the results need, where those in `known` are given.
fn needed<X: Extension>(body: &Body<X>, results: &[NodeId], known: &[NodeId]) -> Vec<bool> {
    let (mut needed, mut is_known) = (vec![false; body.nodes.len()], vec![false; body.nodes.len()]);
    results.iter().for_each(|&result| needed[result as usize] = true);
    known.iter().for_each(|&id| is_known[id as usize] = true);
    for at in (0..body.nodes.len()).rev() {
        if needed[at] && !is_known[at] {
            for &arg in &body.nodes[at].args {
                needed[arg as usize] = true;
            }
        }
    }
    needed
}

/// The body of some results, whose parameters are the nodes `parameters`, and whose captures are the body's.
fn part(body: &Body<Build>, parameters: &[NodeId], results: &[NodeId]) -> Body<Build> {
    let needed = needed(body, results, parameters);
    let captures = body.parameters as NodeId..body.arity() as NodeId;
    let given: Vec<NodeId> = parameters.iter().copied().chain(captures).collect();
    let types: Vec<Type> = given.iter().map(|&id| body.node(id).ty().clone()).collect();
    let mut graph = Graph::new(&types, body.captures);
    let mut ids = vec![NodeId::MAX; body.nodes.len()];
    for (at, &id) in given.iter().enumerate() {
        ids[id as usize] = at as NodeId;
    }
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        if needed[at] && ids[at] == NodeId::MAX {
            let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
            ids[at] = graph.add(node.op.clone(), &args);
        }
    }
    let results: Vec<NodeId> = results.iter().map(|&id| ids[id as usize]).collect();
    graph.finish(&results)
}

/// The addend of a carry in every step, if the carry has no other use.
fn addend<X: Extension>(body: &Body<X>, uses: &[u32], carry: usize) -> Option<NodeId> {
    let result = body.results[carry];
    let node = body.node(result);
    let summand = match (&node.op, &node.args[..]) {
        (Op::Binary(Binary::Add), &[a, b]) if a as usize == carry => b,
        (Op::Binary(Binary::Add), &[a, b]) if b as usize == carry => a,
        _ => return None,
    };
    (uses[carry] == 1 && uses[result as usize] == 1).then_some(summand)
}

/// Splits off the results of a loop that depend on no carry, and the sums of such values. `None` where there are none, where a
/// step chooses between sides and runs just one, or where the intermediates of all steps would be much larger than everything
/// that the loop reads and writes.
///
/// An inner loop that ends by a condition, or that keeps little, runs for all steps at once only where the outer loop carries
/// nothing: that is a function mapped over slices. In other loops it stays, since it would have to go on for all steps until
/// the last of them ends.
pub(super) fn split(scan: &Scan<Build>) -> Option<LoopSplit> {
    let body = &*scan.body;
    let (free, nodes) = free(scan)?;
    let inputs: Vec<NodeId> = (scan.carries as NodeId..body.parameters as NodeId).collect();
    let map = part(body, &inputs, &nodes);
    let rest = (free.len() < body.results.len()).then(|| rest(scan, &free, &nodes));
    Some(LoopSplit { map, free, rest })
}

/// The results of a loop that depend on no carry, or sum such values, by position, and the nodes that give them; `None` in the
/// same cases as [`split`].
fn free<X: Extension>(scan: &Scan<X>) -> Option<(Vec<usize>, Vec<NodeId>)> {
    let body = &*scan.body;
    let mut carried = vec![false; body.nodes.len()];
    carried[..scan.carries].fill(true);
    for at in body.arity()..body.nodes.len() {
        carried[at] = body.nodes[at].args.iter().any(|&arg| carried[arg as usize]);
    }
    let uses = body.use_counts();
    let source = |at: usize| if at < scan.carries { addend(body, &uses, at) } else { Some(body.results[at]) };
    let candidates = (0..body.results.len()).filter_map(|at| Some((at, source(at)?)));
    let (free, nodes): (Vec<usize>, Vec<NodeId>) = candidates.filter(|&(_, id)| !carried[id as usize]).unzip();
    if free.is_empty() {
        return None;
    }
    let inputs: Vec<NodeId> = (scan.carries as NodeId..body.parameters as NodeId).collect();
    // A step does not write the addends.
    let written = free.iter().zip(&nodes).filter(|(at, _)| **at >= scan.carries).map(|(_, id)| id);
    let all = |sum: usize, id: NodeId| sum.saturating_add(elements(body.node(id)));
    let captured = (body.parameters as NodeId..body.arity() as NodeId).fold(0, all);
    let moved = inputs.iter().chain(written).copied().fold(1, all).saturating_mul(scan.length).saturating_add(captured);
    let needed = needed(body, &nodes, &[]);
    let fits = |(node, needed): (&Node<X>, &bool)| {
        let runs_in_bulk = match node.op {
            Op::Branch(_) => false,
            Op::Sweeps(_) => scan.carries == 0,
            _ => true,
        };
        !needed || runs_in_bulk && elements(node).saturating_mul(scan.length) <= moved.saturating_mul(GROWTH)
    };
    if !body.nodes[body.arity()..].iter().zip(&needed[body.arity()..]).all(fits) {
        return None;
    }
    Some((free, nodes))
}

/// The loop without these results, which come from the outputs `nodes` of the map.
fn rest(scan: &Scan<Build>, free: &[usize], nodes: &[NodeId]) -> RemainingLoop {
    let body = &*scan.body;
    let mut is_free = vec![false; body.results.len()];
    free.iter().for_each(|&at| is_free[at] = true);
    let carries: Vec<usize> = (0..scan.carries).filter(|&at| !is_free[at]).collect();
    let results: Vec<NodeId> = (0..body.results.len()).filter(|&at| !is_free[at]).map(|at| body.results[at]).collect();
    let inputs = scan.carries as NodeId..body.parameters as NodeId;
    let mut parameters: Vec<NodeId> = carries.iter().map(|&at| at as NodeId).chain(inputs).collect();
    let needed = needed(body, &results, nodes);
    let mut read = Vec::new();
    let mut is_read = vec![false; body.nodes.len()];
    for (position, &id) in nodes.iter().enumerate() {
        // An input that is passed on unchanged, or one value for two outputs, is read once.
        let is_own = needed[id as usize] && id as usize >= body.arity();
        if is_own && !std::mem::replace(&mut is_read[id as usize], true) {
            parameters.push(id);
            read.push(position);
        }
    }
    let rest = Arc::new(part(body, &parameters, &results));
    let inputs = scan.inputs + read.len();
    let scan = Scan { body: rest, carries: carries.len(), inputs, length: scan.length, reverse: scan.reverse };
    RemainingLoop { scan, carries, read }
}

/// Whether a bulk program has a loop, nested ones too, that would be split.
pub(crate) fn can_be_split(body: &Body) -> bool {
    body.nodes.iter().any(|node| match &node.op {
        Op::Scan(scan) => free(scan).is_some() || can_be_split(&scan.body),
        Op::Custom(custom) => can_be_split(&custom.value),
        Op::Branch(branch) => can_be_split(&branch.then) || can_be_split(&branch.otherwise),
        Op::Sweeps(sweeps) => sweeps.bodies().any(|body| can_be_split(body)),
        _ => false,
    })
}

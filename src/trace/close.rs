//! Closing terms into bodies.

use super::node::{StagedArray, StagedNode};
use crate::shape::Type;
use crate::term::hash::TermMap;
use crate::term::{Body, Build, Graph, NodeId};
use smallvec::SmallVec;

/// A body, and the values for its captures.
pub(crate) struct ClosedBody {
    pub(crate) body: Body<Build>,
    pub(crate) captures: Vec<StagedArray>,
}

/// Turns the term of some results into a body whose parameters are `variables`. Nodes for which `inside` is false become
/// captures, in the order in which they are met, except for those without operands, which are copied.
pub(crate) fn close(
    variables: &[StagedArray],
    results: &[StagedArray],
    inside: &dyn Fn(&StagedNode) -> bool,
) -> ClosedBody {
    // Nodes are numbered as they are met; `ids` has the body's nodes by number, once these are known.
    const UNKNOWN: NodeId = NodeId::MAX;
    let mut numbers: TermMap<u64, u32> = TermMap::default();
    let mut ids: Vec<NodeId> = Vec::new();
    for variable in variables {
        numbers.insert(variable.0.id, ids.len() as u32);
        ids.push(ids.len() as NodeId);
    }
    let mut captures: Vec<StagedArray> = Vec::new();
    let mut inner: Vec<(&StagedNode, u32)> = Vec::new();
    // The numbers of the operands of inner nodes, one after the other.
    let mut operands: Vec<u32> = Vec::new();
    // A depth-first walk with its own stack; the flag says that the operands were seen to.
    let mut stack: Vec<(&StagedArray, bool)> = results.iter().rev().map(|result| (result, false)).collect();
    while let Some((array, ready)) = stack.pop() {
        let node: &StagedNode = &array.0;
        if !ready && numbers.contains_key(&node.id) {
            continue;
        }
        let number = ids.len() as u32;
        let copied = node.args.is_empty() && node.scope == 0;
        if ready {
            operands.extend(node.args.iter().map(|arg| numbers[&arg.0.id]));
            inner.push((node, number));
            numbers.insert(node.id, number);
            ids.push(UNKNOWN);
        } else if !copied && !inside(node) {
            numbers.insert(node.id, number);
            ids.push((variables.len() + captures.len()) as NodeId);
            captures.push(array.clone());
        } else {
            stack.push((array, true));
            stack.extend(node.args.iter().rev().map(|arg| (arg, false)));
        }
    }
    let types: Vec<Type> = variables.iter().chain(&captures).map(|array| array.ty().clone()).collect();
    let mut graph = Graph::with_capacity(&types, captures.len(), types.len() + inner.len());
    let mut operands = operands.into_iter();
    for (node, number) in inner {
        let args = operands.by_ref().take(node.args.len()).map(|operand| ids[operand as usize]);
        let args: SmallVec<[NodeId; 3]> = args.collect();
        ids[number as usize] = graph.add(node.op.clone(), &args);
    }
    let results: Vec<NodeId> = results.iter().map(|result| ids[numbers[&result.0.id] as usize]).collect();
    ClosedBody { body: graph.finish(&results), captures }
}

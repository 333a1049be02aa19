//! Closing terms into bodies.

use super::node::{StagedArray, StagedNode};
use crate::shape::Type;
use crate::term::hash::TermMap;
use crate::term::{Body, Build, Graph, NodeId};
use std::sync::Arc;

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
    // The position of a node: among the inputs, or among the inner nodes.
    enum Place {
        Parameter(usize),
        Capture(usize),
        Inner(usize),
    }
    let mut places: TermMap<u64, Place> = TermMap::default();
    for (position, variable) in variables.iter().enumerate() {
        places.insert(variable.0.id, Place::Parameter(position));
    }
    let mut captures: Vec<StagedArray> = Vec::new();
    let mut inner: Vec<&StagedArray> = Vec::new();
    // A depth-first walk with its own stack; the flag says that the operands were seen to.
    let mut stack: Vec<(&StagedArray, bool)> = results.iter().rev().map(|result| (result, false)).collect();
    while let Some((array, ready)) = stack.pop() {
        let node: &Arc<StagedNode> = &array.0;
        if places.contains_key(&node.id) {
            continue;
        }
        let copied = node.args.is_empty() && node.scope == 0;
        if !copied && !inside(node) {
            places.insert(node.id, Place::Capture(captures.len()));
            captures.push(array.clone());
        } else if ready {
            places.insert(node.id, Place::Inner(inner.len()));
            inner.push(array);
        } else {
            stack.push((array, true));
            stack.extend(node.args.iter().rev().map(|arg| (arg, false)));
        }
    }
    let types: Vec<Type> = variables.iter().chain(&captures).map(|array| array.ty().clone()).collect();
    let mut graph = Graph::new(&types, captures.len());
    let mut ids: Vec<NodeId> = Vec::with_capacity(inner.len());
    let lookup = |ids: &[NodeId], array: &StagedArray| match places[&array.0.id] {
        Place::Parameter(position) => position as NodeId,
        Place::Capture(position) => (variables.len() + position) as NodeId,
        Place::Inner(position) => ids[position],
    };
    for array in &inner {
        let args: Vec<NodeId> = array.0.args.iter().map(|arg| lookup(&ids, arg)).collect();
        let id = graph.add(array.0.op.clone(), &args);
        ids.push(id);
    }
    let results: Vec<NodeId> = results.iter().map(|result| lookup(&ids, result)).collect();
    ClosedBody { body: graph.finish(&results), captures }
}

//! Cutting a recorded step and its transpose into closed bodies.

use crate::shape::Type;
use crate::simplify::simplify;
use crate::term::{Body, Graph, NodeId, Op};
use std::sync::Arc;

/// When the value of a recorded node is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Always: constants and iotas.
    Known,
    /// Before the loop: it depends on captures only.
    Invariant,
    /// In the forward pass.
    Step,
    /// In the backward pass: it depends on cotangents.
    Backward,
}

/// The level of every node, given those of the parameters.
pub(crate) fn levels(graph: &Graph, parameters: &[Level]) -> Vec<Level> {
    let mut levels = parameters.to_vec();
    for id in parameters.len()..graph.len() {
        let node = graph.node(id as NodeId);
        levels.push(match node.op {
            Op::Constant(_) | Op::Iota(_) => Level::Known,
            // A computation on constants is worth doing once.
            _ => node.args.iter().map(|&arg| levels[arg as usize]).fold(Level::Invariant, Level::max),
        });
    }
    levels
}

/// The nodes of earlier levels that the backward results need: invariant ones, and ones of the forward pass.
///
/// A rearrangement of something is not worth storing when its source is not larger: the source is needed instead. Nor is
/// what transposing added to the `proper` nodes of the body, whose identity depends on the cotangents that were present: it
/// is computed again, from what it needs.
pub(crate) fn needs(graph: &Graph, levels: &[Level], results: &[NodeId], proper: usize) -> (Vec<NodeId>, Vec<NodeId>) {
    let mut wanted = vec![false; graph.len()];
    results.iter().for_each(|&id| wanted[id as usize] = true);
    let (mut invariant, mut step) = (Vec::new(), Vec::new());
    for at in (0..graph.len()).rev().filter(|&at| levels[at] != Level::Known) {
        if !wanted[at] {
            continue;
        }
        let id = at as NodeId;
        let node = graph.node(id);
        let rearranges = matches!(node.op, Op::View(_) | Op::Reshape(_) | Op::Mark | Op::Alias)
            && graph.ty(node.args[0]).size() <= node.ty().size();
        match levels[at] {
            _ if at >= proper => node.args.iter().for_each(|&arg| wanted[arg as usize] = true),
            Level::Backward => node.args.iter().for_each(|&arg| wanted[arg as usize] = true),
            Level::Step if rearranges => wanted[node.args[0] as usize] = true,
            Level::Step => step.push(id),
            _ => invariant.push(id),
        }
    }
    invariant.reverse();
    step.reverse();
    (invariant, step)
}

/// The closed, simplified body of `results` in terms of the nodes `parameters`, of which the last are captures.
pub(crate) fn extract(graph: &Graph, parameters: &[NodeId], captures: usize, results: &[NodeId]) -> Arc<Body> {
    let types: Vec<Type> = parameters.iter().map(|&id| graph.ty(id).clone()).collect();
    let mut renumbered: Vec<Option<NodeId>> = vec![None; graph.len()];
    for (at, &id) in parameters.iter().enumerate() {
        renumbered[id as usize].get_or_insert(at as NodeId);
    }
    let mut live = vec![false; graph.len()];
    results.iter().for_each(|&id| live[id as usize] = true);
    for at in (0..graph.len()).rev() {
        if live[at] && renumbered[at].is_none() {
            graph.node(at as NodeId).args.iter().for_each(|&arg| live[arg as usize] = true);
        }
    }
    let mut extracted = Graph::new(&types, captures);
    for at in 0..graph.len() {
        if live[at] && renumbered[at].is_none() {
            let node = graph.node(at as NodeId);
            let operand = |&arg: &NodeId| renumbered[arg as usize].expect("operands come first");
            let args: Vec<NodeId> = node.args.iter().map(operand).collect();
            renumbered[at] = Some(extracted.add(node.op.clone(), &args));
        }
    }
    let results: Vec<NodeId> = results.iter().map(|&id| renumbered[id as usize].expect("results are live")).collect();
    Arc::new(simplify(&extracted.finish(&results)))
}

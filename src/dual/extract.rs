//! Cutting a recorded step and its transpose into closed bodies.

use crate::array::Array;
use crate::operation::{Binary, Unary};
use crate::shape::{Type, Value};
use crate::simplify::simplify;
use crate::term::{Body, Graph, NodeId, Op};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Zeros of a type, as a node.
pub(crate) fn zeros(graph: &mut Graph, ty: &Type) -> NodeId {
    graph.add(Op::Constant(Array::full(&ty.shape, Value::from_f64(ty.dtype, 0.0))), &[])
}

/// When the value of a recorded node is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum BindingTime {
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
pub(crate) fn levels(graph: &Graph, parameters: &[BindingTime]) -> Vec<BindingTime> {
    let mut levels = parameters.to_vec();
    for id in parameters.len()..graph.len() {
        let node = graph.node(id as NodeId);
        levels.push(match node.op {
            Op::Constant(_) | Op::Iota(_) => BindingTime::Known,
            // A computation on constants is worth doing once.
            _ => node.args.iter().map(|&arg| levels[arg as usize]).fold(BindingTime::Invariant, BindingTime::max),
        });
    }
    levels
}

/// Values of a step that a backward loop has without keeping them.
#[derive(Clone, Default)]
pub(crate) struct Held {
    /// The parameters that are at hand in the backward pass: slices of a loop's inputs, small operands of a conditional.
    pub(crate) inputs: HashSet<usize>,
    /// Nodes that it restores, or reads otherwise. Elements of them are read again.
    pub(crate) given: HashSet<NodeId>,
    /// Nodes that it needs to restore those that they are read from: they are not read again.
    pub(crate) kept: HashSet<NodeId>,
}

/// The nodes of earlier levels that backward results need.
pub(crate) struct Needs {
    /// The nodes that depend on captures only.
    pub(crate) invariant: Vec<NodeId>,
    /// The nodes of the forward pass.
    pub(crate) step: Vec<NodeId>,
    /// The given nodes.
    pub(crate) given: Vec<NodeId>,
}

/// Whether an operation reads elements of its first operand, and does nothing else.
pub(crate) fn is_read(op: &Op) -> bool {
    matches!(op, Op::View(_) | Op::Reshape(_) | Op::Mark | Op::Alias | Op::Gather)
}

/// Which nodes are positions and masks that follow from the inputs of a step: they are computed again.
fn follow(graph: &Graph, levels: &[BindingTime], inputs: &HashSet<usize>) -> Vec<bool> {
    let mut follow = vec![false; graph.len()];
    for at in 0..graph.len() {
        let node = graph.node(at as NodeId);
        let is_whole = |id: NodeId| !graph.node(id).op.is_multiple() && !graph.ty(id).dtype.is_float();
        follow[at] = match &node.op {
            _ if levels[at] < BindingTime::Step => true,
            Op::Parameter(position) => inputs.contains(position),
            Op::View(_) | Op::Reshape(_) | Op::Mark | Op::Alias => follow[node.args[0] as usize],
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) => {
                levels[at] == BindingTime::Step && node.args.iter().all(|&arg| follow[arg as usize] && is_whole(arg))
            }
            _ => false,
        };
    }
    follow
}

/// Which nodes are read again: elements of given nodes, at positions that are recomputed or smaller than the read; rows of
/// arrays from before the loop, at recomputed positions; and arrays that follow from these by sums, products and selections.
fn reads(graph: &Graph, levels: &[BindingTime], follow: &[bool], given: &HashSet<NodeId>) -> Vec<bool> {
    let mut reads = vec![false; graph.len()];
    for at in (0..graph.len()).filter(|&at| levels[at] == BindingTime::Step) {
        let node = graph.node(at as NodeId);
        let is_again = |&arg: &NodeId| reads[arg as usize] || given.contains(&arg);
        // A smaller array that is repeated is kept instead of the repetition.
        let is_repeated = |arg: NodeId| match (&graph.node(arg).op, &graph.node(arg).args[..]) {
            (Op::View(_), &[source]) => graph.ty(source).size().saturating_mul(2) <= graph.ty(arg).size(),
            _ => false,
        };
        let is_known = |arg: &NodeId| is_again(arg) || follow[*arg as usize] || is_repeated(*arg);
        reads[at] = match &node.op {
            Op::Gather if levels[node.args[0] as usize] == BindingTime::Invariant => {
                node.ty().size() > 1 && node.args[1..].iter().all(|&arg| follow[arg as usize])
            }
            op if is_read(op) && is_again(&node.args[0]) => {
                let unknown = node.args[1..].iter().filter(|&&arg| !follow[arg as usize]);
                let kept = unknown.fold(0usize, |sum, &arg| sum.saturating_add(graph.ty(arg).size()));
                kept < node.ty().size().max(1)
            }
            Op::Unary(Unary::Neg) | Op::Binary(Binary::Add | Binary::Sub | Binary::Mul) | Op::Select => {
                node.ty().size() > 1 && node.args.iter().any(is_again) && node.args.iter().all(is_known)
            }
            _ => false,
        };
    }
    reads
}

/// The nodes of earlier levels that the backward results need, beside the held ones: invariant ones, and ones of the forward
/// pass.
///
/// A rearrangement is not worth storing when its source is not larger: the source is needed instead. Nodes that transposing
/// added to the `proper` nodes of the body are not stored either, since their identity depends on the cotangents that were
/// present: they are recomputed from the nodes that they need.
pub(crate) fn needs_beside(
    graph: &Graph,
    levels: &[BindingTime],
    results: &[NodeId],
    proper: usize,
    held: &Held,
) -> Needs {
    let mut wanted = vec![false; graph.len()];
    results.iter().for_each(|&id| wanted[id as usize] = true);
    let (mut invariant, mut step, mut given) = (Vec::new(), Vec::new(), Vec::new());
    let follow = follow(graph, levels, &held.inputs);
    let reads = reads(graph, levels, &follow, &held.given);
    for at in (0..graph.len()).rev().filter(|&at| levels[at] != BindingTime::Known) {
        if !wanted[at] {
            continue;
        }
        let id = at as NodeId;
        let node = graph.node(id);
        let rearranges = matches!(node.op, Op::View(_) | Op::Reshape(_) | Op::Mark | Op::Alias)
            && graph.ty(node.args[0]).size() <= node.ty().size();
        let follows = follow[at] && !matches!(node.op, Op::Parameter(_));
        match levels[at] {
            BindingTime::Step if held.kept.contains(&id) && !follow[at] => step.push(id),
            _ if held.given.contains(&id) => given.push(id),
            _ if at >= proper => node.args.iter().for_each(|&arg| wanted[arg as usize] = true),
            BindingTime::Backward => node.args.iter().for_each(|&arg| wanted[arg as usize] = true),
            BindingTime::Step if reads[at] => node.args.iter().for_each(|&arg| wanted[arg as usize] = true),
            BindingTime::Step if rearranges => wanted[node.args[0] as usize] = true,
            BindingTime::Step if follows => node.args.iter().for_each(|&arg| wanted[arg as usize] = true),
            BindingTime::Step => step.push(id),
            _ => invariant.push(id),
        }
    }
    invariant.reverse();
    step.reverse();
    Needs { invariant, step, given }
}

/// As [`extract`], with some nodes for others wherever those are operands.
pub(crate) fn extract_renamed(
    graph: &Graph,
    parameters: &[NodeId],
    captures: usize,
    results: &[NodeId],
    renamed: &HashMap<NodeId, NodeId>,
) -> Arc<Body> {
    let types: Vec<Type> = parameters.iter().map(|&id| graph.ty(id).clone()).collect();
    let mut renumbered: Vec<Option<NodeId>> = vec![None; graph.len()];
    for (at, &id) in parameters.iter().enumerate() {
        renumbered[id as usize].get_or_insert(at as NodeId);
    }
    let resolved = |&id: &NodeId| renamed.get(&id).copied().unwrap_or(id);
    let mut extracted = Graph::new(&types, captures);
    let results: Vec<NodeId> = results.iter().map(resolved).collect();
    let mut work: Vec<NodeId> = results.iter().rev().copied().collect();
    let mut entered = vec![false; graph.len()];
    while let Some(&id) = work.last() {
        if renumbered[id as usize].is_some() {
            work.pop();
            continue;
        }
        let node = graph.node(id);
        let is_again = std::mem::replace(&mut entered[id as usize], true);
        let before = work.len();
        work.extend(node.args.iter().map(resolved).filter(|&arg| renumbered[arg as usize].is_none()));
        assert!(!is_again || work.len() == before, "a node needs itself");
        if work.len() == before {
            let operand = |arg: &NodeId| renumbered[resolved(arg) as usize].expect("operands come first");
            let args: Vec<NodeId> = node.args.iter().map(operand).collect();
            renumbered[id as usize] = Some(extracted.add(node.op.clone(), &args));
        }
    }
    let results: Vec<NodeId> = results.iter().map(|&id| renumbered[id as usize].expect("results are live")).collect();
    Arc::new(simplify(&extracted.finish(&results)))
}

/// Whether no node needs itself, with some nodes for others wherever those are operands; some are `given`.
pub(crate) fn is_acyclic(
    graph: &Graph,
    given: &[NodeId],
    results: &[NodeId],
    renamed: &HashMap<NodeId, NodeId>,
) -> bool {
    let (mut entered, mut left) = (vec![false; graph.len()], vec![false; graph.len()]);
    given.iter().for_each(|&id| left[id as usize] = true);
    let resolved = |&id: &NodeId| renamed.get(&id).copied().unwrap_or(id);
    let mut work: Vec<NodeId> = results.iter().map(resolved).collect();
    while let Some(&id) = work.last() {
        let at = id as usize;
        if left[at] || std::mem::replace(&mut entered[at], true) {
            left[at] = true;
            work.pop();
            continue;
        }
        for arg in graph.node(id).args.iter().map(resolved).filter(|&arg| !left[arg as usize]) {
            if entered[arg as usize] {
                return false;
            }
            work.push(arg);
        }
    }
    true
}

/// The closed, simplified body of `results` in terms of the nodes `parameters`, the last of which are captures.
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

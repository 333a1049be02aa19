//! Programs, node by node.

use super::writer::{Handle, ModuleWriter};
use super::{elementwise, indexing, operations, views};
use crate::error::Result;
use crate::kernel::{additions, turned_scatter};
use crate::operation::{Binary, Unary};
use crate::shape::{Axes, is_sparse, sort_by_rank};
use crate::term::distinct::are_distinct;
use crate::term::interpret::{UpdatePositions, permuted_for_parts};
use crate::term::{Body, NodeId, Op};
use std::collections::{HashMap, HashSet};

/// Which nodes the results need.
fn needed(body: &Body) -> Vec<bool> {
    let mut needed = vec![false; body.nodes.len()];
    body.results.iter().for_each(|&result| needed[result as usize] = true);
    for at in (0..body.nodes.len()).rev().filter(|&at| at >= body.arity()) {
        if needed[at] {
            body.nodes[at].args.iter().for_each(|&arg| needed[arg as usize] = true);
        }
    }
    needed
}

/// An addition to an array at some positions, whose nodes nothing else needs.
struct PositionedAddition {
    target: NodeId,
    /// The node whose operands are the updates and index arrays.
    node: NodeId,
    positions: UpdatePositions,
}

/// Sums and differences whose addend is zero except at some positions: only these positions of the target change. Also the
/// nodes that are made for these alone.
fn added(body: &Body) -> (HashMap<NodeId, PositionedAddition>, HashSet<NodeId>) {
    let uses = body.use_counts();
    let is_alone = |id: NodeId| uses[id as usize] == 1;
    let sparse = |id: NodeId| {
        let scatter = turned_scatter(body, id).filter(|&scatter| is_alone(scatter));
        let (node, positions) = match scatter {
            Some(scatter) => (scatter, UpdatePositions::Permuted(permutation(body, id))),
            None => (id, UpdatePositions::of(&body.node(id).op)?),
        };
        let operands = &body.node(node).args;
        let is_worth_it = match positions {
            UpdatePositions::Affine(_) => is_sparse(body.node(operands[0]).ty().size(), body.node(id).ty().size()),
            _ => operands.len() > 1,
        };
        is_worth_it.then_some((node, positions))
    };
    let (mut sums, mut parts) = (HashMap::new(), HashSet::new());
    for id in 0..body.nodes.len() as NodeId {
        for (target, added) in additions(body.node(id)) {
            if target != added
                && is_alone(added)
                && let Some((node, positions)) = sparse(added)
            {
                sums.insert(id, PositionedAddition { target, node, positions });
                parts.extend([added, node]);
                break;
            }
        }
    }
    (sums, parts)
}

/// The result axis of each axis of a node's operand; the node is a view that permutes the axes.
fn permutation(body: &Body, id: NodeId) -> Axes {
    match &body.node(id).op {
        Op::View(map) => map.permutation().expect("it permutes the axes"),
        _ => unreachable!("a view"),
    }
}

/// The axes of a node's operand in the order of its own.
fn permuted_axes(body: &Body, id: NodeId) -> Axes {
    let order = permutation(body, id);
    let mut axes: Axes = (0..order.len()).collect();
    sort_by_rank(&mut axes, |&axis| order[axis] as u64);
    axes
}

/// Writes a body's operations where the writer is, on these arguments, and results in its results.
pub(super) fn body(writer: &mut ModuleWriter, body: &Body, arguments: &[Handle]) -> Result<Vec<Handle>> {
    debug_assert_eq!(arguments.len(), body.arity());
    let needed = needed(body);
    let (sums, parts) = added(body);
    let is_permuted = permuted_for_parts(body);
    let is_permuted = |id: NodeId| is_permuted.get(id as usize) == Some(&true);
    // The outputs of each node: none of those that nobody needs.
    let mut values: Vec<Vec<Handle>> = arguments.iter().map(|argument| vec![argument.clone()]).collect();
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        let outputs = match &node.op {
            _ if !needed[at] => Vec::new(),
            Op::Output(position) => vec![values[node.args[0] as usize][*position].clone()],
            _ if parts.contains(&(at as NodeId)) || is_permuted(at as NodeId) => Vec::new(),
            Op::Binary(op) if let Some(added) = sums.get(&(at as NodeId)) => {
                let of = |id: NodeId| &values[id as usize][0];
                let (updates, indices) = (of(body.node(added.node).args[0]), &body.node(added.node).args[1..]);
                let indices: Vec<&Handle> = indices.iter().map(|&index| of(index)).collect();
                let updates = match op {
                    Binary::Sub => elementwise::unary(writer, Unary::Neg, updates),
                    _ => updates.clone(),
                };
                let target = of(added.target);
                let sum = match &added.positions {
                    UpdatePositions::Affine(map) => views::accumulate_onto(writer, target, &updates, map)?,
                    UpdatePositions::Computed => {
                        let axes: Axes = (0..target.ty.rank()).collect();
                        indexing::scatter_add(writer, target, &axes, &updates, &indices)?
                    }
                    UpdatePositions::Permuted(axes) => indexing::scatter_add(writer, target, axes, &updates, &indices)?,
                };
                vec![sum]
            }
            Op::Gather if is_permuted(node.args[0]) => {
                let of = |id: NodeId| &values[id as usize][0];
                let indices: Vec<&Handle> = node.args[1..].iter().map(|&index| of(index)).collect();
                let axes = permuted_axes(body, node.args[0]);
                vec![indexing::gather_permuted(writer, of(body.node(node.args[0]).args[0]), &axes, &indices)]
            }
            op => {
                let operands: Vec<&Handle> = node.args.iter().map(|&arg: &NodeId| &values[arg as usize][0]).collect();
                let differ = *op == Op::ScatterSet && are_distinct(body, &node.args[2..]);
                let outputs = operations::operation(writer, self::body, op, &operands, differ)?;
                let types = || outputs.iter().map(|output| &output.ty);
                debug_assert!(types().eq(&node.types), "{op:?}: {:?}", types().collect::<Vec<_>>());
                outputs
            }
        };
        values.push(outputs);
    }
    Ok(body.results.iter().map(|&result| values[result as usize][0].clone()).collect())
}

//! The cotangents of a loop's captures: the sums that a backward loop carries, and the work left after it.
//!
//! Such a cotangent is a sum over the steps. A direct sum would add a whole array in every step, even where a step touches one
//! element of it. So linear functions that are the same in every step move after the loop, and the summands are smaller. A
//! scatter or a product of a cotangent with a residual is not summed at all: its operands are stacked, and one scatter or
//! contraction over the stacks follows the loop. An elementwise product is as large as the cotangent, whose stack needs
//! additional memory. It is stacked where a step writes no more than it would sum, for instance where one cotangent meets
//! several residuals, and where all stacks together are no larger than those of the residuals.

use super::extract::{BindingTime, zeros};
use crate::affine::AffineMap;
use crate::operation::{Binary, Contraction, Label, Reduction, Unary};
use crate::shape::{Axes, Shape, Type};
use crate::simplify::simplify;
use crate::term::{Body, Graph, NodeId, Op};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The work for the captures' cotangents in the backward loop and in the program after it. Nodes are those of the recording.
pub(crate) struct Harvest {
    /// The variables of the partial sums that the loop carries.
    pub(crate) partial: Vec<NodeId>,
    /// The values of those sums after a step.
    pub(crate) sums: Vec<NodeId>,
    /// The nodes that the loop stacks.
    pub(crate) stacks: Vec<NodeId>,
    /// From the sums, the loop's stacks, all residual stacks and the invariants to the cotangents.
    pub(crate) epilogue: Arc<Body>,
}

/// How the sum of a node over all steps is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SumMethod {
    /// Step by step.
    Sum,
    /// By the same operation on the sums of its backward operands: it is linear and the same in every step.
    After,
    /// By one scatter of stacks.
    Scatter,
    /// By one contraction of stacks.
    Contract,
    /// By one contraction of stacks that are as large as those that they replace.
    Elementwise,
}

/// Sums over the steps of the backward nodes `totals`. The `residuals`, in ascending order, are stacked already; `restored`
/// nodes must not be.
pub(crate) fn harvest(
    graph: &mut Graph,
    levels: &[BindingTime],
    totals: &[NodeId],
    (residuals, restored): (&[NodeId], &HashSet<NodeId>),
    invariants: &[NodeId],
    length: usize,
) -> Harvest {
    let size = |ids: &[NodeId]| ids.iter().fold(0usize, |sum, &id| sum.saturating_add(graph.ty(id).size()));
    let all = |chosen: &HarvestPlan| size(&chosen.stacks).saturating_add(size(&chosen.summed));
    let mut chosen = choose(graph, levels, totals, (residuals, restored), true);
    let without = choose(graph, levels, totals, (residuals, restored), false);
    if size(&chosen.stacks) > size(residuals) || all(&chosen) > all(&without) {
        chosen = without;
    }
    let HarvestPlan { ways, wanted, summed, stacks } = chosen;
    let epilogue = epilogue(graph, levels, &ways, &wanted, totals, [&summed, &stacks, residuals, invariants], length);
    // A partial sum needs a variable of its own: a node of the right type that nothing else uses.
    let partial: Vec<NodeId> = summed.iter().map(|&id| graph.add(Op::Alias, &[id])).collect();
    let sums = summed.iter().zip(&partial).map(|(&id, &sum)| graph.add(Op::Binary(Binary::Add), &[sum, id])).collect();
    Harvest { partial, sums, stacks, epilogue }
}

/// How every sum that is wanted is found.
struct HarvestPlan {
    ways: Vec<SumMethod>,
    wanted: Vec<bool>,
    /// The nodes that are summed step by step.
    summed: Vec<NodeId>,
    /// The nodes that are stacked, without the residuals.
    stacks: Vec<NodeId>,
}

fn choose(
    graph: &Graph,
    levels: &[BindingTime],
    totals: &[NodeId],
    (residuals, restored): (&[NodeId], &HashSet<NodeId>),
    elementwise: bool,
) -> HarvestPlan {
    let mut ways: Vec<SumMethod> = Vec::with_capacity(levels.len());
    for id in 0..levels.len() {
        let way =
            if levels[id] == BindingTime::Backward { way(graph, levels, &ways, id as NodeId) } else { SumMethod::Sum };
        // Arrays that the loop restores are too large to be stacked.
        let is_restored = graph.node(id as NodeId).args.iter().any(|arg| restored.contains(arg));
        let stacks = matches!(way, SumMethod::Scatter | SumMethod::Contract | SumMethod::Elementwise);
        ways.push(if way == SumMethod::Elementwise && !elementwise || stacks && is_restored {
            SumMethod::Sum
        } else {
            way
        });
    }
    let mut wanted = vec![false; levels.len()];
    totals.iter().for_each(|&id| wanted[id as usize] = true);
    let (mut summed, mut stacks): (Vec<NodeId>, Vec<NodeId>) = Default::default();
    let mut is_stacked = vec![false; graph.len()];
    for at in (0..levels.len()).rev().filter(|&at| levels[at] == BindingTime::Backward) {
        if !wanted[at] {
            continue;
        }
        let varying = |&&arg: &&NodeId| levels[arg as usize] >= BindingTime::Step;
        let args = graph.node(at as NodeId).args.iter().filter(varying);
        // A product that is stacked itself, for one of its users, needs no stacks of its factors.
        if ways[at] == SumMethod::Elementwise && is_stacked[at] {
            ways[at] = SumMethod::Sum;
        }
        match ways[at] {
            SumMethod::Sum => summed.push(at as NodeId),
            SumMethod::After => args.for_each(|&arg| wanted[arg as usize] = true),
            _ => {
                for &arg in args.filter(|arg| residuals.binary_search(arg).is_err()) {
                    if !std::mem::replace(&mut is_stacked[arg as usize], true) {
                        stacks.push(arg);
                    }
                }
            }
        }
    }
    stacks.sort_unstable();
    // A node that is stacked for a product is not carried as well.
    summed.retain(|id| stacks.binary_search(id).is_err());
    HarvestPlan { ways, wanted, summed, stacks }
}

fn way(graph: &Graph, levels: &[BindingTime], ways: &[SumMethod], id: NodeId) -> SumMethod {
    let node = graph.node(id);
    let level = |at: usize| levels[node.args[at] as usize];
    let size = |at: usize| graph.ty(node.args[at]).size();
    let fixed = |at: usize| level(at) <= BindingTime::Invariant;
    let only_backward = |at: usize| (0..node.args.len()).all(|other| other == at || fixed(other));
    // Moved after the loop where the remaining sum is not larger.
    let after = |at: usize| {
        let moves = level(at) == BindingTime::Backward && only_backward(at) && size(at) <= node.ty().size();
        if moves { SumMethod::After } else { SumMethod::Sum }
    };
    let backward =
        || (0..2).find(|&at| level(at) == BindingTime::Backward).expect("a backward node has a backward operand");
    match &node.op {
        Op::View(_) | Op::Accumulate(_) | Op::Reshape(_) | Op::Cast(_) | Op::Mark | Op::Reduce(Reduction::Sum, _) => {
            after(0)
        }
        Op::Unary(Unary::Neg) => after(0),
        Op::Binary(Binary::Mul) if !only_backward(backward()) => {
            if node.ty().rank() < Label::MAX as usize {
                SumMethod::Elementwise
            } else {
                SumMethod::Sum
            }
        }
        Op::Binary(Binary::Mul) => after(backward()),
        Op::Binary(Binary::Add) => {
            let splits = (0..2).all(|at| level(at) == BindingTime::Backward)
                && node.args.iter().any(|&arg| ways[arg as usize] != SumMethod::Sum);
            if splits { SumMethod::After } else { SumMethod::Sum }
        }
        Op::Scatter(_) if only_backward(0) => after(0),
        Op::Scatter(_) if level(0) == BindingTime::Backward => SumMethod::Scatter,
        Op::Contract(spec) => {
            let at = backward();
            let labels = spec.left.iter().chain(&spec.right).chain(&spec.result);
            if only_backward(at) {
                after(at)
            } else if size(at) < node.ty().size() && labels.max() < Some(&Label::MAX) {
                SumMethod::Contract
            } else {
                SumMethod::Sum
            }
        }
        _ => SumMethod::Sum,
    }
}

/// The program after the loop.
fn epilogue(
    graph: &Graph,
    levels: &[BindingTime],
    ways: &[SumMethod],
    wanted: &[bool],
    totals: &[NodeId],
    [summed, stacks, residuals, invariants]: [&[NodeId]; 4],
    length: usize,
) -> Arc<Body> {
    let stacked = |&id: &NodeId| {
        let mut ty = graph.ty(id).clone();
        ty.shape.insert(0, length);
        ty
    };
    let whole = |&id: &NodeId| graph.ty(id).clone();
    let mut types: Vec<Type> = summed.iter().map(whole).collect();
    types.extend(stacks.iter().chain(residuals).map(stacked));
    types.extend(invariants.iter().map(whole));
    let mut after: Graph = Graph::new(&types, 0);

    // Sums and invariants by node, and stacks by node.
    let mut values: HashMap<NodeId, NodeId> = HashMap::new();
    let first_stack = summed.len();
    let first_invariant = first_stack + stacks.len() + residuals.len();
    values.extend(summed.iter().enumerate().map(|(at, &id)| (id, at as NodeId)));
    values.extend(invariants.iter().enumerate().map(|(at, &id)| (id, (first_invariant + at) as NodeId)));
    let series: HashMap<NodeId, NodeId> =
        stacks.iter().chain(residuals).enumerate().map(|(at, &id)| (id, (first_stack + at) as NodeId)).collect();

    for at in (0..levels.len()).filter(|&at| wanted[at] && levels[at] == BindingTime::Backward) {
        let node = graph.node(at as NodeId);
        if ways[at] == SumMethod::Sum {
            if let Some(&stack) = series.get(&(at as NodeId)) {
                let sum = after.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[0])), &[stack]);
                values.insert(at as NodeId, sum);
            }
            continue;
        }
        let mut fixed = |after: &mut Graph, id: NodeId| fixed(graph, after, &mut values, id);
        let value = match (&node.op, ways[at]) {
            (Op::Scatter(extents), SumMethod::Scatter) => {
                let mut args = vec![series[&node.args[0]]];
                for &index in &node.args[1..] {
                    args.push(match series.get(&index) {
                        Some(&series) => series,
                        None => {
                            let index = fixed(&mut after, index);
                            replicate(&mut after, index, length)
                        }
                    });
                }
                after.add(Op::Scatter(extents.clone()), &args)
            }
            (Op::Contract(spec), SumMethod::Contract) => {
                let labels = spec.left.iter().chain(&spec.right).chain(&spec.result);
                let step = labels.max().map_or(0, |label| label + 1);
                let with_step = |labels: &[Label]| [&[step], labels].concat();
                let spec = Contraction::new(&with_step(&spec.left), &with_step(&spec.right), &spec.result);
                after.add(Op::Contract(spec), &[series[&node.args[0]], series[&node.args[1]]])
            }
            (_, SumMethod::Elementwise) => {
                let labels: SmallVec<[Label; 4]> = (0..=node.ty().rank() as Label).collect();
                let spec = Contraction::new(&labels, &labels, &labels[1..]);
                after.add(Op::Contract(spec), &[series[&node.args[0]], series[&node.args[1]]])
            }
            (op, _) => {
                let args: Vec<NodeId> = node.args.iter().map(|&arg| fixed(&mut after, arg)).collect();
                after.add(op.clone(), &args)
            }
        };
        values.insert(at as NodeId, value);
    }
    let mut result = |&total: &NodeId| match values.get(&total) {
        Some(&value) => value,
        // A cotangent is linear in those that came in: one that depends on none of them is zero.
        None => {
            debug_assert!(levels[total as usize] < BindingTime::Backward);
            zeros(&mut after, graph.ty(total))
        }
    };
    let results: Vec<NodeId> = totals.iter().map(&mut result).collect();
    Arc::new(simplify(&after.finish(&results)))
}

/// The node of the epilogue for a recorded node: known already, or computed from constants and invariants that are.
fn fixed(graph: &Graph, after: &mut Graph, values: &mut HashMap<NodeId, NodeId>, id: NodeId) -> NodeId {
    let mut work = vec![id];
    while let Some(&next) = work.last() {
        let missing = |arg: &&NodeId| !values.contains_key(arg);
        let node = graph.node(next);
        let missing: Vec<NodeId> = node.args.iter().filter(missing).copied().collect();
        if values.contains_key(&next) {
            work.pop();
            continue;
        }
        if !missing.is_empty() {
            work.extend(missing);
            continue;
        }
        debug_assert!(!matches!(node.op, Op::Parameter(_)), "captures that are needed are invariants");
        let args: Vec<NodeId> = node.args.iter().map(|arg| values[arg]).collect();
        values.insert(next, after.add(node.op.clone(), &args));
        work.pop();
    }
    values[&id]
}

/// The same array in every step.
fn replicate(graph: &mut Graph, id: NodeId, length: usize) -> NodeId {
    let shape = graph.ty(id).shape.clone();
    let mut result = Shape::from_slice(&[length]);
    result.extend_from_slice(&shape);
    let axes: Axes = (1..result.len()).collect();
    graph.add(Op::View(AffineMap::broadcast(&shape, &result, &axes)), &[id])
}

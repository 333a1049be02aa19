//! The values that move in the body of a loop, and the carries that get a cotangent: fixed points over the steps, found without
//! going through the body once for each carry that turns out to.

use super::active::Active;
use super::record::{Recorded, record};
use super::{Delta, Dual, DualArray, ShareId, Tangent, TangentArray};
use crate::algebra::{Algebra, Operands};
use crate::dual::delta::DeltaMap;
use crate::shape::Type;
use crate::term::interpret::{NodeValue, evaluate};
use crate::term::{NodeId, Op};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Recorded arrays that move, or do not.
pub(super) trait Moves: Algebra {
    fn parameter(primal: NodeId, moves: bool) -> Self::Array;
    fn moves(array: &Self::Array) -> bool;
}

impl Moves for Dual<Recorded> {
    fn parameter(primal: NodeId, moves: bool) -> DualArray<Recorded> {
        DualArray { primal, delta: moves.then(Delta::input) }
    }
    fn moves(array: &DualArray<Recorded>) -> bool {
        array.delta.is_some()
    }
}

impl<const MARKED: bool> Moves for Tangent<Recorded, MARKED> {
    /// Any array of the type is a tangent here, where only whether there is one is asked.
    fn parameter(primal: NodeId, moves: bool) -> TangentArray<Recorded> {
        TangentArray { primal, tangent: moves.then_some(primal) }
    }
    fn moves(array: &TangentArray<Recorded>) -> bool {
        array.tangent.is_some()
    }
}

/// Makes those carries active that move after a step: which results move then.
///
/// A node is looked at again when one of its operands has turned out to move; loops and conditionals when nothing else is left,
/// since each look at one goes through all of its operands.
pub(super) fn spread<A: Moves>(active: &mut Active, carries: usize) -> Vec<bool> {
    let Active { body, parameters } = active;
    let types: Vec<Type> = (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); body.nodes.len()];
    for (at, node) in body.nodes.iter().enumerate() {
        node.args.iter().for_each(|&arg| users[arg as usize].push(at));
    }
    let mut carried: Vec<Vec<usize>> = vec![Vec::new(); body.nodes.len()];
    (0..carries).for_each(|carry| carried[body.results[carry] as usize].push(carry));
    let is_used: Vec<bool> = body.use_counts().into_iter().map(|count| count > 0).collect();
    let (_, moving) = record(&types, |nodes| {
        let mut values: Vec<Vec<A::Array>> =
            nodes.iter().zip(&*parameters).map(|(&node, &moves)| vec![A::parameter(node, moves)]).collect();
        let value = |values: &[Vec<A::Array>], at: usize| -> Vec<A::Array> {
            let node = body.node(at as NodeId);
            if let Op::Output(position) = node.op {
                return vec![values[node.args[0] as usize][position].clone()];
            }
            let args: Operands<A> = node.args.iter().map(|&arg| values[arg as usize][0].clone()).collect();
            match evaluate::<A>(node, args) {
                NodeValue::One(array) => vec![array],
                NodeValue::Several(outputs) => outputs.into_iter().flatten().collect(),
                NodeValue::Empty | NodeValue::Later(..) | NodeValue::Permuted(_) => unreachable!("a node has a value"),
            }
        };
        for (at, &is_used) in is_used.iter().enumerate().skip(body.arity()) {
            let own = if is_used { value(&values, at) } else { Vec::new() };
            values.push(own);
        }
        let count = |arrays: &Vec<A::Array>| arrays.iter().filter(|array| A::moves(array)).count();
        let mut next: Vec<usize> =
            (0..carries).filter(|&carry| count(&values[body.results[carry] as usize]) > 0).collect();
        let mut open: BinaryHeap<Reverse<(bool, usize)>> = BinaryHeap::new();
        let mut is_open = vec![false; values.len()];
        loop {
            let begins = if let Some(carry) = next.pop() {
                if std::mem::replace(&mut parameters[carry], true) {
                    continue;
                }
                values[carry] = vec![A::parameter(nodes[carry], true)];
                carry
            } else if let Some(Reverse((_, at))) = open.pop() {
                is_open[at] = false;
                let before = count(&values[at]);
                if before < values[at].len() {
                    values[at] = value(&values, at);
                }
                if count(&values[at]) == before {
                    continue;
                }
                at
            } else {
                break;
            };
            next.extend(&carried[begins]);
            for &user in users[begins].iter().filter(|&&user| is_used[user]) {
                if !std::mem::replace(&mut is_open[user], true) {
                    open.push(Reverse((body.nodes[user].op.is_multiple(), user)));
                }
            }
        }
        body.results.iter().map(|&result| A::moves(&values[result as usize][0])).collect()
    });
    moving
}

/// Marks the carries whose values before a step get a cotangent from those that have one. Loops and conditionals inside are
/// left to their transposes.
pub(super) fn reached(
    results: &[DualArray<Recorded>],
    inputs: &[Option<Delta<Recorded>>],
    present: &mut [bool],
    carries: usize,
) {
    let ids = inputs[..carries].iter().enumerate();
    let ids: HashMap<ShareId, usize> =
        ids.filter_map(|(carry, input)| Some((input.as_ref()?.share_id()?, carry))).collect();
    let mut seen: HashSet<ShareId> = HashSet::new();
    let given = results.iter().zip(&*present).filter(|(_, present)| **present);
    let mut open: Vec<&Delta<Recorded>> = given.filter_map(|(result, _)| result.delta.as_ref()).collect();
    while let Some(delta) = open.pop() {
        if let Some(id) = delta.share_id() {
            if !seen.insert(id) {
                continue;
            }
            if let Some(&carry) = ids.get(&id)
                && !std::mem::replace(&mut present[carry], true)
            {
                open.extend(&results[carry].delta);
            }
        }
        if !matches!(delta.node().map, DeltaMap::Rolled(_)) {
            open.extend(delta.node().operands.iter().flatten());
        }
    }
}

//! Loops whose derivatives continue where they ended.
//!
//! The derivative of a loop of one sweep has several: the first does the work of the loop, and keeps the values that the others
//! read. Where a program holds both, the steps of the first are run once, in the place of the loop, and the derivative
//! continues from there.

use crate::term::hash::term_hash;
use crate::term::{Body, Graph, Node, NodeId, Op, Steps, Sweep, Sweeps};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The loops of a program that continue from others.
#[derive(Default)]
pub(super) struct Resumed {
    by_loop: HashMap<NodeId, Resumption>,
    firsts: HashSet<NodeId>,
}

/// A loop that continues from another one.
pub(super) struct Resumption {
    /// The other one.
    pub(super) first: NodeId,
    /// The loop, whose first sweep has the other one's outputs in place of its own, which nobody reads.
    pub(super) sweeps: Arc<Sweeps>,
}

impl Resumed {
    pub(super) fn of(body: &Body) -> Resumed {
        let mut resumed = Resumed::default();
        let loops = body.nodes.iter().filter(|node| matches!(node.op, Op::Sweeps(_)));
        if loops.take(2).count() < 2 {
            return resumed;
        }
        // The results of first sweeps must be read where the earlier loops have them.
        let mut read: HashMap<NodeId, usize> = HashMap::new();
        for node in &body.nodes {
            if let Op::Output(position) = node.op {
                let least = read.entry(node.args[0]).or_insert(position);
                *least = position.min(*least);
            }
        }
        let mut singles: HashMap<u64, NodeId> = HashMap::new();
        for (id, node) in (0..).zip(&body.nodes) {
            let Op::Sweeps(sweeps) = &node.op else { continue };
            let is_single = sweeps.sweeps.len() == 1;
            if !is_single && read.get(&id).is_some_and(|&position| position < sweeps.results(0).1.end) {
                continue;
            }
            let found = signature(sweeps, &node.args);
            if is_single {
                singles.insert(found, id);
            } else if let Some(&first) = singles.get(&found)
                && let Some(sweeps) = with_outputs(body.node(first), sweeps, &node.args)
            {
                singles.remove(&found);
                resumed.firsts.insert(first);
                resumed.by_loop.insert(id, Resumption { first, sweeps: Arc::new(sweeps) });
            }
        }
        resumed
    }

    /// The loop that each loop continues from, if it does.
    pub(super) fn resumption(&self, id: NodeId) -> Option<&Resumption> {
        self.by_loop.get(&id)
    }

    /// Whether another loop continues from this one.
    pub(super) fn is_resumed(&self, id: NodeId) -> bool {
        self.firsts.contains(&id)
    }
}

/// A hash that is equal for loops whose first sweeps carry the same, whatever else they result in.
fn signature(sweeps: &Sweeps, operands: &[NodeId]) -> u64 {
    let first = &sweeps.sweeps[0];
    let (carries, inputs) = sweeps.operands(0);
    let captures = &operands[sweeps.captures()..];
    let of = |body: &Body, results: &[NodeId], inputs: &[NodeId]| -> Vec<u64> {
        let mut hashes: Vec<u64> = Vec::with_capacity(body.nodes.len());
        for (at, node) in body.nodes.iter().enumerate() {
            hashes.push(if at < carries.len() {
                term_hash(&(0, at))
            } else if at < body.arity() {
                let operand = at - carries.len();
                let capture = || captures[at - body.parameters];
                term_hash(&(1, inputs.get(operand).copied().unwrap_or_else(capture)))
            } else {
                let args: Vec<u64> = node.args.iter().map(|&arg| hashes[arg as usize]).collect();
                term_hash(&(2, (&node.op, args)))
            });
        }
        results.iter().map(|&result| hashes[result as usize]).collect()
    };
    let steps = match &sweeps.steps {
        Steps::Count(count) => vec![*count as u64],
        Steps::While(condition) => of(condition, &condition.results, &[]),
    };
    let carried = of(&first.body, &first.body.results[..carries.len()], &operands[inputs]);
    term_hash(&(&operands[carries], steps, carried, sweeps.reverse, sweeps.checkpoints))
}

/// A loop whose first sweep has the outputs of another loop, if it carries the same.
fn with_outputs(before: &Node, sweeps: &Sweeps, operands: &[NodeId]) -> Option<Sweeps> {
    let Op::Sweeps(single) = &before.op else { return None };
    let (from, own) = (&single.sweeps[0], &sweeps.sweeps[0]);
    let alike = (from.carries, single.reverse, single.checkpoints) == (own.carries, sweeps.reverse, sweeps.checkpoints);
    if !alike || before.args[..from.carries] != operands[..own.carries] {
        return None;
    }
    // Where the other loop's operands from a position on are among this one's.
    let among = |these: &[NodeId], all: &[NodeId], start: usize| -> Option<Vec<NodeId>> {
        let find = |operand: &NodeId| all.iter().position(|other| other == operand).map(|at| (start + at) as NodeId);
        these.iter().map(find).collect()
    };
    let captured = |parameters| among(&before.args[single.captures()..], &operands[sweeps.captures()..], parameters);
    match (&single.steps, &sweeps.steps) {
        (Steps::Count(one), Steps::Count(other)) if one == other => {}
        (Steps::While(one), Steps::While(other)) => {
            let mut graph = Graph::like(other);
            let all = 0..other.arity() as NodeId;
            let holds = graph.append(other, all)[other.results[0] as usize];
            let parameters = (0..other.parameters as NodeId).chain(captured(other.parameters)?);
            if graph.append(one, parameters)[one.results[0] as usize] != holds {
                return None;
            }
        }
        _ => return None,
    }
    let inputs = among(&before.args[single.operands(0).1], &operands[sweeps.operands(0).1], own.carries)?;
    let parameters = (0..own.carries as NodeId).chain(inputs).chain(captured(own.body.parameters)?);
    let mut graph = Graph::like(&own.body);
    let ids = graph.append(&own.body, 0..own.body.arity() as NodeId);
    let others = graph.append(&from.body, parameters);
    let mut results: Vec<NodeId> = own.body.results.iter().map(|&id| ids[id as usize]).collect();
    let theirs: Vec<NodeId> = from.body.results.iter().map(|&id| others[id as usize]).collect();
    if results[..own.carries] != theirs[..own.carries] {
        return None;
    }
    results.truncate(own.carries + own.keeps);
    results.extend(&theirs[from.carries..]);
    let mut changed = sweeps.clone();
    changed.sweeps[0] = Sweep { body: Arc::new(graph.finish(&results)), ..own.clone() };
    Some(changed)
}

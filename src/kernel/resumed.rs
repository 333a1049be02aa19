//! Loops whose derivatives go on where they ended.
//!
//! The derivative of a loop of one sweep has several: the first does what the loop does, and keeps what the others read. Where
//! a program holds both, the steps of the first are run once, in the place of the loop, and the derivative goes on from there.

use crate::term::hash::term_hash;
use crate::term::{Body, Graph, Node, NodeId, Op, Steps, Sweep, Sweeps};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The loops of a program that go on from others: each with that other one.
#[derive(Default)]
pub(super) struct Resumed {
    first_of: HashMap<NodeId, NodeId>,
    resumed: HashSet<NodeId>,
}

impl Resumed {
    /// Those whose first sweeps result in what the loops before do.
    pub(super) fn of(body: &Body) -> Resumed {
        let pairs = pairs(body).into_iter().filter(|pair| pair.extended.is_none());
        let first_of: HashMap<NodeId, NodeId> = pairs.map(|pair| (pair.id, pair.first)).collect();
        Resumed { resumed: first_of.values().copied().collect(), first_of }
    }

    /// The loop that another one goes on from.
    pub(super) fn first(&self, id: NodeId) -> Option<NodeId> {
        self.first_of.get(&id).copied()
    }

    /// Whether another loop goes on from this one.
    pub(super) fn is_resumed(&self, id: NodeId) -> bool {
        self.resumed.contains(&id)
    }
}

/// The program, where first sweeps of loops that can go on from others have the outputs of those.
pub(super) fn resumable(body: &Body) -> Cow<'_, Body> {
    let extended = pairs(body).into_iter().filter_map(|pair| Some((pair.id, pair.extended?)));
    let mut extended: HashMap<NodeId, Sweeps> = extended.collect();
    if extended.is_empty() {
        return Cow::Borrowed(body);
    }
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    let mut added: HashMap<NodeId, usize> = HashMap::new();
    for (id, node) in (0..).zip(&body.nodes).skip(body.arity()) {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        let op = match &node.op {
            Op::Output(position) => Op::Output(position + added.get(&node.args[0]).unwrap_or(&0)),
            Op::Sweeps(before) if let Some(sweeps) = extended.remove(&id) => {
                added.insert(id, sweeps.sweeps[0].outputs() - before.sweeps[0].outputs());
                Op::Sweeps(Arc::new(sweeps))
            }
            op => op.clone(),
        };
        ids.push(graph.add(op, &args));
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    Cow::Owned(graph.finish(&results))
}

/// A loop that can go on from another one before it.
struct Pair {
    first: NodeId,
    id: NodeId,
    /// It with that loop's outputs, if it has others.
    extended: Option<Sweeps>,
}

fn pairs(body: &Body) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let loops = body.nodes.iter().filter(|node| matches!(node.op, Op::Sweeps(_)));
    if loops.take(2).count() < 2 {
        return pairs;
    }
    // The results of first sweeps are to be read where the loops before have them.
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
            && let Some(extended) = with_outputs(body.node(first), sweeps, &node.args)
        {
            singles.remove(&found);
            pairs.push(Pair { first, id, extended: (extended != **sweeps).then_some(extended) });
        }
    }
    pairs
}

/// What loops agree in whose first sweeps carry the same, whatever else they result in.
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

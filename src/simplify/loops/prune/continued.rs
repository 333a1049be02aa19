//! Loops that add a few elements to an array in each step begin with the array that their sum is added to after them.
//!
//! The cotangent of an array that an inner loop reads by elements is such a sum: it begins with zeros, and is added to the sum
//! of the outer loop. Where the inner loop continues with that sum, nothing costs as much as the array.

use crate::operation::Binary;
use crate::shape::is_sparse;
use crate::term::{Body, Graph, Node, NodeId, Op, Steps};
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// Sums of arrays and of totals that loops accumulate from zeros.
#[derive(Default)]
pub(super) struct Continued {
    /// For each loop the carries that begin with other arrays.
    carries: HashMap<NodeId, Vec<ContinuedCarry>>,
    /// The sums, each with the loop and the carry that finally holds it.
    sums: HashMap<NodeId, (NodeId, usize)>,
}

/// A carry that begins with another array: the operand that it begins with now, and the replacement.
pub(super) struct ContinuedCarry {
    pub(super) operand: usize,
    pub(super) start: NodeId,
}

/// A carry of a loop.
struct LoopCarry<'a> {
    /// The operand that it begins with.
    operand: usize,
    body: &'a Body,
    /// Its position among the carries of the body.
    position: usize,
}

/// The carry that is an output of a loop in the end, if nothing but the loop's steps reads it.
fn carried(op: &Op, output: usize) -> Option<LoopCarry<'_>> {
    match op {
        Op::Scan(scan) if output < scan.carries => {
            Some(LoopCarry { operand: output, body: &scan.body, position: output })
        }
        Op::Sweeps(sweeps) => {
            let sweep = (0..sweeps.sweeps.len()).find(|&sweep| sweeps.results(sweep).0.contains(&output))?;
            // A condition reads the first sweep's carries.
            if sweep == 0 && matches!(sweeps.steps, Steps::While(_)) {
                return None;
            }
            let position = output - sweeps.results(sweep).0.start;
            let operand = sweeps.operands(sweep).0.start + position;
            Some(LoopCarry { operand, body: &sweeps.sweeps[sweep].body, position })
        }
        _ => None,
    }
}

impl Continued {
    pub(super) fn of(body: &Body, live: &[bool]) -> Continued {
        let mut continued = Continued::default();
        if !body.nodes.iter().any(|node| matches!(node.op, Op::Scan(_) | Op::Sweeps(_))) {
            return continued;
        }
        let uses = uses(body, |at| live[at]);
        let mut walks = Walks::default();
        for (id, node) in (0..).zip(&body.nodes).filter(|&(id, _)| live[id as usize]) {
            let [left, right] = node.args[..] else { continue };
            if !matches!(node.op, Op::Binary(Binary::Add)) {
                continue;
            }
            for (sum, start) in [(left, right), (right, left)] {
                if let Node { op: Op::Output(output), args, .. } = body.node(sum)
                    && uses[sum as usize] == 1
                    && let Some(operand) = continued.beginning(body, &mut walks, (args[0], *output), start)
                {
                    continued.carries.entry(args[0]).or_default().push(ContinuedCarry { operand, start });
                    continued.sums.insert(id, (args[0], *output));
                    break;
                }
            }
        }
        continued
    }

    /// The operand of a loop's carry, by an output, that may begin with an array instead of zeros: it is known before the loop.
    fn beginning(&self, body: &Body, walks: &mut Walks, (of, output): (NodeId, usize), start: NodeId) -> Option<usize> {
        let is_before = start < of || self.sums.get(&start).is_some_and(|&(other, _)| other < of);
        is_before.then(|| walks.added_to_zeros(body, (of, output)))?
    }

    /// The carries of a loop that begin with other arrays.
    pub(super) fn carries(&self, of: NodeId) -> &[ContinuedCarry] {
        self.carries.get(&of).map_or(&[], |carries| carries)
    }

    /// The loop and the carry that is a sum in the end.
    pub(super) fn sum(&self, id: NodeId) -> Option<(NodeId, usize)> {
        self.sums.get(&id).copied()
    }
}

/// The body with loops after the arrays that they may begin with, where these do not need the loops.
pub(super) fn ordered(body: &Body) -> Cow<'_, Body> {
    let mut after = starts_behind(body);
    if after.is_empty() {
        return Cow::Borrowed(body);
    }
    // An array that needs a loop that is put off might wait for itself.
    let mut needs_a_loop = vec![false; body.nodes.len()];
    for (id, node) in (0..).zip(&body.nodes) {
        needs_a_loop[id as usize] = after.contains_key(&id) || node.args.iter().any(|&arg| needs_a_loop[arg as usize]);
    }
    after.retain(|_, start| !needs_a_loop[*start as usize]);
    if after.is_empty() {
        return Cow::Borrowed(body);
    }
    let mut graph = Graph::like(body);
    let mut ids: Vec<Option<NodeId>> = vec![None; body.nodes.len()];
    (0..body.arity()).for_each(|position| ids[position] = Some(position as NodeId));
    let mut waiting: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for first in body.arity()..body.nodes.len() {
        let mut open = vec![first as NodeId];
        while let Some(id) = open.pop() {
            let node = body.node(id);
            let mut needed = after.get(&id).into_iter().chain(&node.args);
            if let Some(&missing) = needed.find(|&&id| ids[id as usize].is_none()) {
                waiting.entry(missing).or_default().push(id);
                continue;
            }
            let args: Vec<NodeId> = node.args.iter().filter_map(|&arg| ids[arg as usize]).collect();
            ids[id as usize] = Some(graph.add(node.op.clone(), &args));
            open.extend(waiting.remove(&id).unwrap_or_default().into_iter().rev());
        }
    }
    let results: Vec<NodeId> = body.results.iter().filter_map(|&result| ids[result as usize]).collect();
    Cow::Owned(graph.finish(&results))
}

/// The loops that add to zeros and whose sums are added to arrays after the loops, each with the last of these arrays.
fn starts_behind(body: &Body) -> HashMap<NodeId, NodeId> {
    let mut after: HashMap<NodeId, NodeId> = HashMap::new();
    if !body.nodes.iter().any(|node| matches!(node.op, Op::Scan(_) | Op::Sweeps(_))) {
        return after;
    }
    let (uses, mut walks) = (uses(body, |_| true), Walks::default());
    for node in &body.nodes {
        let (Op::Binary(Binary::Add), &[left, right]) = (&node.op, &node.args[..]) else { continue };
        for (sum, start) in [(left, right), (right, left)] {
            if let Node { op: Op::Output(output), args, .. } = body.node(sum)
                && uses[sum as usize] == 1
                && start > args[0]
                && walks.added_to_zeros(body, (args[0], *output)).is_some()
            {
                let last = after.entry(args[0]).or_insert(start);
                *last = start.max(*last);
            }
        }
    }
    after
}

/// How often each node that counts is an operand or a result.
fn uses(body: &Body, counts: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut uses = vec![0; body.nodes.len()];
    let operands = body.nodes.iter().enumerate().filter(|&(at, _)| counts(at)).flat_map(|(_, node)| &node.args);
    operands.chain(&body.results).for_each(|&id| uses[id as usize] += 1);
    uses
}

/// The uses of the nodes of bodies inside, by their addresses.
#[derive(Default)]
struct Walks {
    uses: HashMap<*const Body, Rc<Vec<u32>>>,
}

impl Walks {
    /// The operand of a loop's carry, by an output, that is zeros to which each step adds a few elements.
    fn added_to_zeros(&mut self, body: &Body, (of, output): (NodeId, usize)) -> Option<usize> {
        let node = body.node(of);
        let is_zero = |id: NodeId| match &body.node(id).op {
            Op::Constant(array) => array.uniform().is_some_and(|value| value.to_f64() == 0.0),
            _ => false,
        };
        let LoopCarry { operand, body, position } = carried(&node.op, output)?;
        let is_sum = is_zero(node.args[operand]) && self.added_to(body, position) == Some(position);
        is_sum.then_some(operand)
    }

    /// The parameter that a result is when a few elements are added to it; neither has other uses on the way.
    fn added_to(&mut self, body: &Body, result: usize) -> Option<usize> {
        let uses = self.uses.entry(body).or_insert_with(|| Rc::new(uses(body, |_| true))).clone();
        let mut at = body.results[result];
        let all = body.node(at).ty().size();
        loop {
            if uses[at as usize] != 1 {
                return None;
            }
            if (at as usize) < body.arity() {
                return Some(at as usize);
            }
            let node = body.node(at);
            let adds_few = |id: NodeId| {
                let Node { op, args, .. } = body.node(id);
                matches!(op, Op::Scatter(_) | Op::View(_)) && is_sparse(body.node(args[0]).ty().size(), all)
            };
            at = match (&node.op, &node.args[..]) {
                (Op::Binary(Binary::Add | Binary::Sub), &[sum, added]) if adds_few(added) => sum,
                (Op::Binary(Binary::Add), &[added, sum]) if adds_few(added) => sum,
                (&Op::Output(position), &[whole]) => {
                    let whole = body.node(whole);
                    let operand = match &whole.op {
                        op if let Some(LoopCarry { operand, body, position }) = carried(op, position) => {
                            self.added_to(body, position).filter(|&carry| carry == position)?;
                            operand
                        }
                        Op::Branch(branch) => {
                            let [then, otherwise] =
                                [&branch.then, &branch.otherwise].map(|side| self.added_to(side, position));
                            // The condition is the first operand.
                            1 + then.filter(|_| then == otherwise)?
                        }
                        _ => return None,
                    };
                    whole.args[operand]
                }
                _ => return None,
            };
        }
    }
}

//! Loops that add a few elements to an array in each step begin with the array that theirs is added to behind them.
//!
//! The cotangent of an array that an inner loop reads by elements is such a sum: it begins with zeros, and is added to the sum
//! of the outer loop. Where the inner loop goes on with that sum, nothing costs as much as the array.

use crate::operation::Binary;
use crate::shape::is_sparse;
use crate::term::{Body, Node, NodeId, Op};
use std::collections::HashMap;
use std::rc::Rc;

/// Sums of arrays and of what loops have added up from zeros.
#[derive(Default)]
pub(super) struct Continued {
    /// For each loop the carries that begin with other arrays.
    carries: HashMap<NodeId, Vec<Carry>>,
    /// The sums, each with the loop and the carry that has it in the end.
    sums: HashMap<NodeId, (NodeId, usize)>,
}

/// A carry, and what it begins with.
pub(super) struct Carry {
    pub(super) position: usize,
    pub(super) start: NodeId,
}

impl Continued {
    pub(super) fn of(body: &Body, live: &[bool]) -> Continued {
        let mut continued = Continued::default();
        if !body.nodes.iter().any(|node| matches!(node.op, Op::Scan(_))) {
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
                if let Node { op: Op::Output(position), args, .. } = body.node(sum)
                    && uses[sum as usize] == 1
                    && continued.can_begin(body, &mut walks, (args[0], *position), start)
                {
                    continued.carries.entry(args[0]).or_default().push(Carry { position: *position, start });
                    continued.sums.insert(id, (args[0], *position));
                    break;
                }
            }
        }
        continued
    }

    /// Whether a loop's carry may begin with an array instead of zeros: it is known before the loop.
    fn can_begin(&self, body: &Body, walks: &mut Walks, (of, carry): (NodeId, usize), start: NodeId) -> bool {
        let node = body.node(of);
        let is_before = start < of || self.sums.get(&start).is_some_and(|&(other, _)| other < of);
        let is_zero = |id: NodeId| match &body.node(id).op {
            Op::Constant(array) => array.uniform().is_some_and(|value| value.to_f64() == 0.0),
            _ => false,
        };
        match &node.op {
            Op::Scan(scan) if is_before && carry < scan.carries && is_zero(node.args[carry]) => {
                walks.added_to(&scan.body, carry) == Some(carry)
            }
            _ => false,
        }
    }

    /// The carries of a loop that begin with other arrays.
    pub(super) fn carries(&self, of: NodeId) -> &[Carry] {
        self.carries.get(&of).map_or(&[], |carries| carries)
    }

    /// The loop and the carry that is a sum in the end.
    pub(super) fn sum(&self, id: NodeId) -> Option<(NodeId, usize)> {
        self.sums.get(&id).copied()
    }
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
                        Op::Scan(scan) if position < scan.carries => {
                            self.added_to(&scan.body, position).filter(|&carry| carry == position)?
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

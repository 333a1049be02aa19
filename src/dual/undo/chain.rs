//! How an array that a body is given becomes one of its results: by writes alone, or not.

use crate::operation::Binary;
use crate::term::distinct::Terms;
use crate::term::{Never, NodeId, Op};

/// The writes between a parameter and a result.
pub(super) struct ChangeChain {
    /// The parameter's position.
    pub(super) parameter: usize,
    /// The first first.
    pub(super) links: Vec<ChangeLink>,
    /// How many elements they change at most.
    pub(super) changed: usize,
}

/// An array that becomes another one.
pub(super) struct ChangeLink {
    pub(super) before: NodeId,
    pub(super) after: NodeId,
    pub(super) how: How,
}

pub(super) enum How {
    /// Elements at these positions are set or added to.
    Elements(Vec<NodeId>),
    /// A loop or conditional does it: how, for each of its bodies, and which of its outputs it is.
    Nested { node: NodeId, output: usize, bodies: Vec<ChangeChain> },
}

/// The parameter that becomes a node by writes, if one does and there is at least one write; nothing is copied to find out.
pub(super) fn written(terms: &impl Terms<Id = NodeId, Form = Never>, result: NodeId) -> Option<usize> {
    let (parameter, is_written) = origin(terms, result)?;
    is_written.then_some(parameter)
}

/// The parameter that becomes a node by any number of writes, and whether that number is above zero.
fn origin(terms: &impl Terms<Id = NodeId, Form = Never>, mut id: NodeId) -> Option<(usize, bool)> {
    let mut is_written = false;
    loop {
        if let (Op::Parameter(position), ..) = terms.look(&id) {
            return Some((*position, is_written));
        }
        if let Some((link, _)) = elements(terms, id) {
            (id, is_written) = (link.before, true);
            continue;
        }
        let (node, output) = output(terms, id)?;
        let (op, args, _) = terms.look(&node);
        let (parameter, writes, first) = match op {
            Op::Scan(scan) if output < scan.carries && scan.length > 0 => {
                let (parameter, writes) = origin(&*scan.body, scan.body.results[output])?;
                (Some(parameter).filter(|&parameter| parameter == output)?, writes, 0)
            }
            Op::Branch(branch) => {
                let (yes, no) = (&branch.then, &branch.otherwise);
                let (parameter, writes) = origin(&**yes, yes.results[output])?;
                let (other, other_writes) = origin(&**no, no.results[output])?;
                (Some(parameter).filter(|&parameter| parameter == other)?, writes || other_writes, 1)
            }
            _ => return None,
        };
        is_written |= writes;
        id = args[first + parameter];
    }
}

/// The loop or conditional that a node is an output of, and which.
pub(super) fn output(terms: &impl Terms<Id = NodeId, Form = Never>, id: NodeId) -> Option<(NodeId, usize)> {
    match terms.look(&id) {
        (Op::Output(position), args, _) => Some((args[0], *position)),
        _ => None,
    }
}

impl ChangeChain {
    /// The array before the first write, and after each.
    pub(super) fn versions(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.parameter as NodeId).chain(self.links.iter().map(|link| link.after))
    }
}

/// The write that a node is, and how many elements it changes.
pub(super) fn elements(terms: &impl Terms<Id = NodeId, Form = Never>, after: NodeId) -> Option<(ChangeLink, usize)> {
    let (before, updates, positions) = match terms.look(&after) {
        (Op::ScatterSet, [before, updates, positions @ ..], _) => (*before, *updates, positions),
        // Additions are not undone by subtractions, which would round: their old elements are kept too.
        (Op::Binary(Binary::Add), [first, second], _) => {
            let is_scattered = |id: &NodeId| matches!(terms.look(id).0, Op::Scatter(_));
            let (before, added) = if is_scattered(second) { (first, second) } else { (second, first) };
            match terms.look(added) {
                (Op::Scatter(_), [updates, positions @ ..], _) => (*before, *updates, positions),
                _ => return None,
            }
        }
        _ => return None,
    };
    let changed = terms.look(&updates).2.size();
    let how = How::Elements(positions.to_vec());
    (!positions.is_empty()).then_some((ChangeLink { before, after, how }, changed))
}

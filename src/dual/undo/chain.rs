//! How an array that a body is given becomes one of its results: by writes alone, or not.

use super::nests::Nests;
use crate::operation::Binary;
use crate::term::{Graph, NodeId, Op};

/// The writes between a parameter and a result.
pub(super) struct Chain {
    /// The parameter's position.
    pub(super) parameter: usize,
    /// The first first.
    pub(super) links: Vec<Link>,
    /// How many elements they change at most.
    pub(super) changed: usize,
}

/// An array that becomes another one.
pub(super) struct Link {
    pub(super) before: NodeId,
    pub(super) after: NodeId,
    pub(super) how: How,
}

pub(super) enum How {
    /// Elements at these positions are set or added to.
    Elements(Vec<NodeId>),
    /// A loop or conditional does it: how, for each of its bodies, and which of its outputs it is.
    Nested { node: NodeId, output: usize, bodies: Vec<Chain> },
}

impl Chain {
    /// How this node comes about, if by writes to a parameter.
    pub(super) fn find(graph: &Graph, result: NodeId, nests: &mut Nests) -> Option<Chain> {
        let (mut links, mut id, mut changed) = (Vec::new(), result, 0usize);
        let parameter = loop {
            if let Op::Parameter(position) = graph.node(id).op {
                break position;
            }
            let (link, count) = elements(graph, id).or_else(|| nested(graph, id, nests))?;
            changed = changed.saturating_add(count);
            id = link.before;
            links.push(link);
        };
        links.reverse();
        Some(Chain { parameter, links, changed })
    }

    /// The array before the first write, and after each.
    pub(super) fn versions(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.parameter as NodeId).chain(self.links.iter().map(|link| link.after))
    }
}

/// The write that a node is, and how many elements it changes.
fn elements(graph: &Graph, after: NodeId) -> Option<(Link, usize)> {
    let node = graph.node(after);
    let (before, updates, positions) = match (&node.op, &node.args[..]) {
        (Op::ScatterSet, [before, updates, positions @ ..]) => (*before, *updates, positions),
        // Additions are not undone by subtractions, which would round: their old elements are kept too.
        (Op::Binary(Binary::Add), &[first, second]) => {
            let scattered = |id: NodeId| matches!(graph.node(id).op, Op::Scatter(_));
            let (before, added) = if scattered(second) { (first, second) } else { (second, first) };
            match (&graph.node(added).op, &graph.node(added).args[..]) {
                (Op::Scatter(_), [updates, positions @ ..]) => (before, *updates, positions),
                _ => return None,
            }
        }
        _ => return None,
    };
    let changed = graph.ty(updates).size();
    let how = How::Elements(positions.to_vec());
    (!positions.is_empty()).then_some((Link { before, after, how }, changed))
}

/// The loop or conditional that a node is an output of, if it changes that array by writes, and how many elements.
fn nested(graph: &Graph, after: NodeId, nests: &mut Nests) -> Option<(Link, usize)> {
    let (output, node) = match graph.node(after) {
        output if matches!(output.op, Op::Output(_)) => match output.op {
            Op::Output(position) => (position, output.args[0]),
            _ => return None,
        },
        _ => return None,
    };
    let operands = &graph.node(node).args;
    let (first, steps) = match &graph.node(node).op {
        Op::Scan(scan) if output < scan.carries && scan.length > 0 => (0, scan.length),
        Op::Branch(_) => (1, 1),
        _ => return None,
    };
    let is_loop = first == 0;
    let mut bodies: Vec<Chain> = Vec::new();
    for side in nests.bodies(graph, node) {
        let chain = Chain::find(&side.graph, side.results[output], &mut side.nests)?;
        let before = if is_loop { output } else { bodies.first().map_or(chain.parameter, |chain| chain.parameter) };
        if chain.parameter != before {
            return None;
        }
        bodies.push(chain);
    }
    let changed = bodies.iter().map(|chain| chain.changed).max().unwrap_or(0).saturating_mul(steps);
    let before = operands[first + bodies[0].parameter];
    let is_write = bodies.iter().any(|chain| !chain.links.is_empty());
    is_write.then_some((Link { before, after, how: How::Nested { node, output, bodies } }, changed))
}

//! Finding the writes by which a parameter becomes a result, in loops and conditionals too.

use super::chain::{ChangeChain, ChangeLink, How, elements, output};
use super::nests::Nests;
use crate::term::{Graph, NodeId, Op};

impl ChangeChain {
    /// How this node comes about, if by writes to a parameter.
    pub(super) fn find(graph: &Graph, result: NodeId, nests: &mut Nests) -> Option<ChangeChain> {
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
        Some(ChangeChain { parameter, links, changed })
    }
}

/// The loop or conditional that a node is an output of, if it changes that array by writes, and how many elements.
fn nested(graph: &Graph, after: NodeId, nests: &mut Nests) -> Option<(ChangeLink, usize)> {
    let (node, output) = output(graph, after)?;
    let operands = &graph.node(node).args;
    let (first, steps) = match &graph.node(node).op {
        Op::Scan(scan) if output < scan.carries && scan.length > 0 => (0, scan.length),
        Op::Branch(_) => (1, 1),
        _ => return None,
    };
    let is_loop = first == 0;
    let mut bodies: Vec<ChangeChain> = Vec::new();
    for side in nests.bodies(graph, node) {
        let chain = ChangeChain::find(&side.graph, side.results[output], &mut side.nests)?;
        let before = if is_loop { output } else { bodies.first().map_or(chain.parameter, |chain| chain.parameter) };
        if chain.parameter != before {
            return None;
        }
        bodies.push(chain);
    }
    let changed = bodies.iter().map(|chain| chain.changed).max().unwrap_or(0).saturating_mul(steps);
    let before = operands[first + bodies[0].parameter];
    let is_write = bodies.iter().any(|chain| !chain.links.is_empty());
    is_write.then_some((ChangeLink { before, after, how: How::Nested { node, output, bodies } }, changed))
}

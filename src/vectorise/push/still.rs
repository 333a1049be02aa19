//! Programs in which no read moves, as in most whose reads were moved once: detected without the walk.

use super::read::without_repetition;
use crate::affine::AffineMap;
use crate::term::{Body, Node, NodeId, Op};

/// Whether it is obvious that no read of a simplified program moves. Where it is not, the walk may still find that none does.
///
/// Reads do not move into operations that are not elementwise, nor into nodes that are needed as a whole too, index arithmetic
/// excepted.
pub(crate) fn is_still(body: &Body) -> bool {
    // Nested bodies may have reads of their own.
    if body.nodes.iter().any(|node| node.op.is_multiple()) {
        return false;
    }
    let mut is_whole = vec![false; body.nodes.len()];
    body.results.iter().for_each(|&result| is_whole[result as usize] = true);
    let mut read: Vec<NodeId> = Vec::new();
    for node in &body.nodes {
        let is_empty = node.types.iter().any(|ty| ty.size() == 0);
        match &node.op {
            Op::View(_) | Op::Gather if is_empty => return false,
            Op::View(map) => match repeats(map) {
                Some(true) => is_whole[node.args[0] as usize] = true,
                Some(false) => read.push(node.args[0]),
                None => return false,
            },
            Op::Gather if node.args.len() == 1 => return false,
            Op::Gather => {
                read.push(node.args[0]);
                node.args[1..].iter().for_each(|&arg| is_whole[arg as usize] = true);
            }
            _ => node.args.iter().for_each(|&arg| is_whole[arg as usize] = true),
        }
    }
    let stays = |&source: &NodeId| {
        let node = body.node(source);
        // Index arithmetic and constants move though they are needed as a whole.
        let is_shared = is_whole[source as usize] && node.ty().dtype.is_float() && !matches!(node.op, Op::Constant(_));
        node.ty().size() > 0 && (admits_nothing(node) || is_shared)
    };
    read.iter().all(stays)
}

/// Whether a map does nothing but repeat its source; `None` where it repeats part of it, which is read first.
fn repeats(map: &AffineMap) -> Option<bool> {
    match without_repetition(map) {
        None => (!map.is_identity()).then_some(false),
        Some((core, places)) => {
            let same = core.is_identity() && AffineMap::broadcast(map.source(), map.result(), &places) == *map;
            same.then_some(true)
        }
    }
}

/// Whether no read ever moves into a node.
fn admits_nothing(node: &Node) -> bool {
    match &node.op {
        Op::Constant(array) => array.uniform().is_none(),
        Op::Parameter(_) => true,
        // Its reads may all be of one part.
        Op::Matrix(op) => op.alone([0, 0]).is_none(),
        op => op.ask(|operation| !operation.admits_reads()).unwrap_or(false),
    }
}

/// The program with its nodes in the order in which the results need them, the last operand of each first: the order that
/// moving reads would produce.
pub(crate) fn in_order(body: Body) -> Body {
    const UNSEEN: NodeId = NodeId::MAX;
    let mut places = vec![UNSEEN; body.nodes.len()];
    let mut placed = body.arity() as NodeId;
    (0..placed).for_each(|parameter| places[parameter as usize] = parameter);
    let mut open: Vec<(NodeId, bool)> = Vec::new();
    for &result in &body.results {
        open.push((result, false));
        while let Some((id, is_ready)) = open.pop() {
            if places[id as usize] != UNSEEN {
                continue;
            }
            if is_ready {
                places[id as usize] = placed;
                placed += 1;
            } else {
                open.push((id, true));
                open.extend(body.node(id).args.iter().map(|&arg| (arg, false)));
            }
        }
    }
    let results = body.results.iter().map(|&result| places[result as usize]).collect();
    let mut nodes = body.nodes;
    nodes.iter_mut().flat_map(|node| &mut node.args).for_each(|arg| *arg = places[*arg as usize]);
    // Nodes that no result needs come last. Every exchange brings a node to its place.
    let unneeded = places.iter_mut().filter(|place| **place == UNSEEN);
    unneeded.zip(placed..).for_each(|(place, last)| *place = last);
    for at in 0..nodes.len() {
        while places[at] as usize != at {
            let place = places[at] as usize;
            nodes.swap(at, place);
            places.swap(at, place);
        }
    }
    nodes.truncate(placed as usize);
    Body::of(body.parameters, body.captures, nodes, results)
}

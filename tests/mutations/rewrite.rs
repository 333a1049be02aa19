//! Programs with some nodes changed, as a wrong rule of a pass would.

use deltaray::affine::AffineMap;
use deltaray::operation::Binary;
use deltaray::shape::Type;
use deltaray::term::{Body, Branch, Build, Extension, Graph, NodeId, Op, Scan, Steps, infer};
use smallvec::SmallVec;
use std::sync::Arc;

/// Another operation on other operands for a node; `None` leaves it unchanged.
pub type Rewrite<'a> = &'a dyn Fn(&Body<Build>, NodeId) -> Option<(Op<Build>, Vec<NodeId>)>;

/// Which nodes of a program are rewritten.
pub enum Place {
    /// All of them.
    Everywhere,
    /// None of them.
    Nowhere,
    /// The nodes in the bodies of builds.
    InBuilds,
    /// The nodes at these positions, and those inside of them.
    At(Vec<bool>),
}

/// The program with nodes rewritten, wherever the other operation has the same type.
pub fn rewritten(body: &Body<Build>, place: &Place, rewrite: Rewrite<'_>) -> Body<Build> {
    if matches!(place, Place::Nowhere) {
        return body.clone();
    }
    let mut nodes = body.nodes().to_vec();
    for at in body.arity()..body.nodes().len() {
        let inner = match (place, &body.nodes()[at].op) {
            (Place::At(positions), _) if !positions[at] => continue,
            (Place::At(_), _) | (Place::InBuilds, Op::Extra(_)) => &Place::Everywhere,
            _ => place,
        };
        let nested = |body: &Arc<Body<Build>>| Arc::new(rewritten(body, inner, rewrite));
        let op = match &body.nodes()[at].op {
            Op::Extra(build) => Op::Extra(Build { extents: build.extents.clone(), body: nested(&build.body) }),
            Op::Scan(scan) => Op::Scan(Arc::new(Scan { body: nested(&scan.body), ..Scan::clone(scan) })),
            Op::Branch(branch) => {
                Op::Branch(Arc::new(Branch { then: nested(&branch.then), otherwise: nested(&branch.otherwise) }))
            }
            Op::Custom(custom) => Op::Custom(Arc::new(custom.map(nested))),
            Op::Sweeps(sweeps) => Op::Sweeps(Arc::new(sweeps.map_bodies(nested))),
            op => op.clone(),
        };
        nodes[at].op = op;
        if matches!(place, Place::InBuilds) || rewrite(body, at as NodeId).is_none() {
            continue;
        }
        // The rule sees the rewritten bodies of the node.
        let mut seen = body.nodes().to_vec();
        seen[at] = nodes[at].clone();
        let seen = Body::new(body.parameters(), body.captures(), seen, body.results().to_vec());
        if let Some((op, args)) = rewrite(&seen.expect("an operation of the same type"), at as NodeId) {
            let types: Vec<&[Type]> = args.iter().map(|&arg| &nodes[arg as usize].types[..]).collect();
            if infer::outputs(&op, &types).is_ok_and(|types| types == body.nodes()[at].types) {
                (nodes[at].op, nodes[at].args) = (op, args.into());
            }
        }
    }
    // Nodes that have become equal are one.
    let mut graph: Graph<Build> = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    for node in &nodes[body.arity()..] {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids.push(graph.add(node.op.clone(), &args));
    }
    let results: Vec<NodeId> = body.results().iter().map(|&id| ids[id as usize]).collect();
    graph.finish(&results)
}

/// All operations of a program, including those of nested bodies.
pub fn operations<X: Extension>(body: &Body<X>) -> Vec<(&Op<X>, usize)> {
    let mut found = Vec::new();
    for node in &body.nodes()[body.arity()..] {
        found.push((&node.op, node.args.len()));
        match &node.op {
            Op::Scan(scan) => found.extend(operations(&scan.body)),
            Op::Sweeps(sweeps) => sweeps.bodies().for_each(|body| found.extend(operations(body))),
            Op::Branch(branch) => {
                found.extend(operations(&branch.then));
                found.extend(operations(&branch.otherwise));
            }
            Op::Custom(custom) => custom.bodies().for_each(|body| found.extend(operations(body))),
            _ => {}
        }
    }
    found
}

/// The nodes that none of the first `results` results need.
pub fn needless_for(body: &Body, results: usize) -> Vec<bool> {
    let mut needless = vec![true; body.nodes().len()];
    body.results()[..results].iter().for_each(|&id| needless[id as usize] = false);
    for at in (0..body.nodes().len()).rev() {
        if !needless[at] {
            body.nodes()[at].args.iter().for_each(|&arg| needless[arg as usize] = false);
        }
    }
    needless
}

/// Another operation on other operands; `None` leaves the node unchanged.
type Changed = Option<(Op<Build>, Vec<NodeId>)>;

fn parts(body: &Body<Build>, at: NodeId) -> (&Op<Build>, &[NodeId]) {
    let node = body.node(at);
    (&node.op, &node.args)
}

/// The index arrays of a gather in reverse order.
pub fn turn_gather(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (Op::Gather, [array, indices @ ..]) => {
            Some((Op::Gather, std::iter::once(array).chain(indices.iter().rev()).copied().collect()))
        }
        _ => None,
    }
}

/// A loop in the other direction.
pub fn turn_scan(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (Op::Scan(scan), args) => {
            Some((Op::Scan(Arc::new(Scan { reverse: !scan.reverse, ..Scan::clone(scan) })), args.to_vec()))
        }
        _ => None,
    }
}

/// A selection with its sides exchanged.
pub fn turn_select(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (Op::Select, &[mask, yes, no]) => Some((Op::Select, vec![mask, no, yes])),
        _ => None,
    }
}

/// A selection without its mask: always the first side.
pub fn drop_mask(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (Op::Select, &[_, yes, _]) => Some((Op::Alias, vec![yes])),
        _ => None,
    }
}

/// A conditional with its sides exchanged.
pub fn turn_branch(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (Op::Branch(branch), args) => Some((
            Op::Branch(Arc::new(Branch { then: branch.otherwise.clone(), otherwise: branch.then.clone() })),
            args.to_vec(),
        )),
        _ => None,
    }
}

/// A build whose first two variables, of equal extents, are taken for each other.
pub fn exchange_variables(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (Op::Extra(build), args) if build.extents.len() >= 2 && build.extents[0] == build.extents[1] => {
            let inner = &build.body;
            let (mut nodes, mut results) = (inner.nodes().to_vec(), inner.results().to_vec());
            let turn = |id: &mut NodeId| *id = if *id < 2 { 1 - *id } else { *id };
            nodes.iter_mut().flat_map(|node| node.args.iter_mut()).for_each(turn);
            results.iter_mut().for_each(turn);
            let exchanged = Body::new(inner.parameters(), inner.captures(), nodes, results).expect("equal types");
            Some((Op::Extra(Build { extents: build.extents.clone(), body: Arc::new(exchanged) }), args.to_vec()))
        }
        _ => None,
    }
}

/// The first operand of a sum.
pub fn drop_addend(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (Op::Binary(Binary::Add), args) => Some((Op::Alias, vec![args[0]])),
        _ => None,
    }
}

/// The operands of a difference or quotient exchanged.
pub fn exchange(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (op @ Op::Binary(Binary::Sub | Binary::Div | Binary::Pow), &[left, right]) => {
            Some((op.clone(), vec![right, left]))
        }
        _ => None,
    }
}

/// The next output of the same type of a loop or conditional.
pub fn next_output(body: &Body<Build>, at: NodeId) -> Changed {
    let (Op::Output(position), args) = parts(body, at) else { return None };
    let types = &body.node(args[0]).types;
    let mut others = (0..types.len()).map(|step| (position + 1 + step) % types.len());
    let other = others.find(|&other| types[other] == types[*position])?;
    Some((Op::Output(other), args.to_vec()))
}

/// The last two operands of a loop exchanged.
pub fn exchange_captures(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (op @ Op::Scan(_), args) if args.len() >= 2 => {
            let mut args = args.to_vec();
            let last = args.len() - 1;
            args.swap(last, last - 1);
            Some((op.clone(), args))
        }
        _ => None,
    }
}

/// The first two operands of a loop exchanged.
pub fn exchange_carries(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (op @ Op::Scan(_), args) if args.len() >= 2 => {
            let mut args = args.to_vec();
            args.swap(0, 1);
            Some((op.clone(), args))
        }
        _ => None,
    }
}

/// Parts of a concatenation in reverse order.
pub fn turn_parts(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (op @ Op::Concatenate(_), args) => Some((op.clone(), args.iter().rev().copied().collect())),
        _ => None,
    }
}

/// A view that reads one element further along the first axis.
pub fn shift_view(body: &Body<Build>, at: NodeId) -> Changed {
    match parts(body, at) {
        (Op::View(map), args) => Some((Op::View(shifted(map)?), args.to_vec())),
        _ => None,
    }
}

/// The map that reads one element further along the first axis.
pub fn shifted(map: &AffineMap) -> Option<AffineMap> {
    let rank = map.source().len();
    let rows: Vec<SmallVec<[i64; 4]>> = (0..rank).map(|row| map.row(row).into()).collect();
    let mut offset: Vec<i64> = (0..rank).map(|row| map.offset(row)).collect();
    *offset.first_mut()? += 1;
    Some(AffineMap::new(map.source(), map.result(), &rows, &offset))
}

/// Elementwise results written over the first operand before the last use of that: later uses see the result.
pub fn overwritten(body: &Body<Build>) -> Body<Build> {
    let (mut nodes, mut results) = (body.nodes().to_vec(), body.results().to_vec());
    for at in body.arity()..nodes.len() {
        let node = &nodes[at];
        let elementwise = matches!(node.op, Op::Unary(_) | Op::Binary(_));
        if !elementwise || nodes[node.args[0] as usize].types != node.types {
            continue;
        }
        let lost = node.args[0];
        let redirect = |id: &mut NodeId| *id = if *id == lost { at as NodeId } else { *id };
        nodes[at + 1..].iter_mut().flat_map(|node| node.args.iter_mut()).for_each(redirect);
        results.iter_mut().for_each(redirect);
    }
    Body::new(body.parameters(), body.captures(), nodes, results).expect("operands of the same types")
}

/// Whether a program has a loop with a condition, which a wrong rule might make endless.
pub fn has_condition(body: &Body<Build>) -> bool {
    body.nodes().iter().any(|node| match &node.op {
        Op::Sweeps(sweeps) => {
            matches!(sweeps.steps, Steps::While(_)) || sweeps.bodies().any(|body| has_condition(body))
        }
        Op::Scan(scan) => has_condition(&scan.body),
        Op::Branch(branch) => has_condition(&branch.then) || has_condition(&branch.otherwise),
        Op::Extra(build) => has_condition(&build.body),
        _ => false,
    })
}

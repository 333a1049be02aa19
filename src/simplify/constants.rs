//! Computes values that depend on no parameter once and for all. Only programs that are to be run get this pass: large tables
//! are hard to read, and hide their structure from the rules.

use crate::array::Array;
use crate::evaluate;
use crate::operation::{Binary, Unary};
use crate::shape::DType;
use crate::term::{Body, Graph, Node, NodeId, Op};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// How much may be stored in a program. The same limits apply to intermediate values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableLimits {
    /// Elements of one table.
    each: usize,
    /// Elements of all tables.
    all: usize,
}

impl TableLimits {
    /// The limits of a program in memory.
    pub(crate) const MEMORY: TableLimits = TableLimits { each: 1 << 22, all: 1 << 24 };
    /// The limits of a program that is written as text, which lists all elements.
    pub(crate) const TEXT: TableLimits = TableLimits { each: 1 << 12, all: 1 << 14 };
}

/// Elementwise operations on nothing but iotas, numbers and views of those are cheaper recomputed than read, from this many
/// elements on.
const READ: usize = 4096;

/// The program with its largest parts that depend on no parameter as tables, in nested bodies too.
///
/// Iotas, constants that are the same everywhere, views of constants, and positions that are sums and multiples of these stay:
/// they take no memory, and engines compute them where they are used, or derive from them which elements are read and written.
/// Loops and other operations with bodies are left alone, since they may take any time.
pub fn fold_constants(body: &Body) -> Body {
    fold_within(body, TableLimits::MEMORY).into_owned()
}

/// The same within other limits.
pub(crate) fn fold_within(body: &Body, limits: TableLimits) -> Cow<'_, Body> {
    let mut folding = Folding { each: limits.each, room: limits.all, bodies: HashMap::new() };
    folding.folded(body).map_or(Cow::Borrowed(body), Cow::Owned)
}

struct Folding {
    each: usize,
    /// How many elements of tables there may be in addition.
    room: usize,
    /// Nested bodies that were folded already: one that occurs twice has one table.
    bodies: HashMap<*const Body, Arc<Body>>,
}

/// Whether the result only rereads its operand, in no memory or in as much as the operand has.
fn is_read(op: &Op) -> bool {
    matches!(op, Op::View(_) | Op::Reshape(_))
}

fn is_leaf(op: &Op) -> bool {
    matches!(op, Op::Constant(_) | Op::Iota(_))
}

/// Facts about the nodes of a body.
struct ConstantFacts {
    /// Whether a node can be computed without parameters, within the limits.
    computable: Vec<bool>,
    /// Whether that is worth a table.
    worth: Vec<bool>,
}

impl ConstantFacts {
    fn of(body: &Body, each: usize) -> ConstantFacts {
        let mut known = ConstantFacts { computable: Vec::new(), worth: Vec::new() };
        // Iotas, constants and views of those, and sums and multiples of such positions.
        let mut plain: Vec<bool> = Vec::new();
        // Numbers.
        let mut uniform: Vec<bool> = Vec::new();
        for node in &body.nodes {
            let all = |which: &[bool]| node.args.iter().all(|&arg| which[arg as usize]);
            let single = !matches!(node.op, Op::Parameter(_) | Op::Output(_)) && !node.op.is_multiple();
            let computable = single && node.ty().size() <= each && all(&known.computable);
            let elementwise = matches!(
                node.op,
                Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) | Op::Mark | Op::Alias
            );
            let cheap = elementwise && all(&plain) && node.types.iter().all(|ty| ty.size() > READ);
            let is_number = matches!(&node.op, Op::Constant(array) if array.uniform().is_some());
            uniform.push(is_number || matches!(node.op, Op::View(_)) && all(&uniform));
            let is_affine = match node.op {
                Op::Unary(Unary::Neg) | Op::Binary(Binary::Add | Binary::Sub) => true,
                Op::Binary(Binary::Mul) => node.args.iter().any(|&arg| uniform[arg as usize]),
                _ => false,
            };
            let is_position = is_affine && node.ty().dtype == DType::I64;
            plain.push(is_leaf(&node.op) || (is_read(&node.op) || is_position) && all(&plain));
            let is_free = is_leaf(&node.op) || is_read(&node.op) || is_position && all(&plain);
            known.worth.push(computable && !cheap && !is_free);
            known.computable.push(computable);
        }
        known
    }
}

impl Folding {
    /// The body with tables; `None` where there is nothing to fold.
    fn folded(&mut self, body: &Body) -> Option<Body> {
        let tables = body.nodes.iter().filter_map(|node| match &node.op {
            Op::Constant(array) if array.uniform().is_none() => Some(array.size()),
            _ => None,
        });
        self.room = tables.fold(self.room, usize::saturating_sub);
        let known = ConstantFacts::of(body, self.each);
        // Backwards from the results: a folded node needs none of its operands any more.
        let mut needed = vec![false; body.nodes.len()];
        body.results.iter().for_each(|&id| needed[id as usize] = true);
        let mut chosen: Vec<NodeId> = Vec::new();
        for (at, node) in body.nodes.iter().enumerate().rev().filter(|(at, _)| *at >= body.arity()) {
            if !needed[at] {
                continue;
            }
            if known.worth[at] && node.ty().size() <= self.room {
                self.room -= node.ty().size();
                chosen.push(at as NodeId);
            } else {
                node.args.iter().for_each(|&arg| needed[arg as usize] = true);
            }
        }
        let tables = computed(body, &chosen);
        // Without memory for tables everything stays.
        let stays = |id: NodeId| tables.is_empty() || needed[id as usize] && !tables.contains_key(&id);
        let mut nested: HashMap<NodeId, Op> = HashMap::new();
        for (id, node) in (0..).zip(&body.nodes).filter(|(id, node)| node.op.is_multiple() && stays(*id)) {
            nested.extend(self.nested(node).map(|op| (id, op)));
        }
        if tables.is_empty() && nested.is_empty() {
            return None;
        }
        let mut graph = Graph::like(body);
        let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
        for (id, node) in (0..).zip(&body.nodes).skip(body.arity()) {
            if let Some(table) = tables.get(&id) {
                ids.push(graph.add(Op::Constant(table.clone()), &[]));
            } else if stays(id) {
                let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
                ids.push(graph.add(nested.remove(&id).unwrap_or_else(|| node.op.clone()), &args));
            } else {
                // Only tables were made of it.
                ids.push(NodeId::MAX);
            }
        }
        let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
        Some(graph.finish(&results))
    }

    /// The operation with folded bodies, if any has something to fold.
    fn nested(&mut self, node: &Node) -> Option<Op> {
        let bodies: Vec<Arc<Body>> = node.op.bodies().into_iter().cloned().collect();
        let mut changed = false;
        for body in bodies {
            let key = Arc::as_ptr(&body);
            if !self.bodies.contains_key(&key) {
                let folded = self.folded(&body).map_or_else(|| body.clone(), Arc::new);
                self.bodies.insert(key, folded);
            }
            changed |= !Arc::ptr_eq(&self.bodies[&key], &body);
        }
        changed.then(|| node.op.map_bodies(|body| self.bodies[&Arc::as_ptr(body)].clone()))
    }
}

/// The values of nodes that need no parameters; none where there is no memory for them.
fn computed(body: &Body, chosen: &[NodeId]) -> HashMap<NodeId, Array> {
    if chosen.is_empty() {
        return HashMap::new();
    }
    let mut needed = vec![false; body.nodes.len()];
    chosen.iter().for_each(|&id| needed[id as usize] = true);
    for at in (0..body.nodes.len()).rev().filter(|&at| at >= body.arity()) {
        if needed[at] {
            body.nodes[at].args.iter().for_each(|&arg| needed[arg as usize] = true);
        }
    }
    let mut graph: Graph = Graph::new(&[], 0);
    let mut ids: Vec<NodeId> = vec![NodeId::MAX; body.nodes.len()];
    for (at, node) in body.nodes.iter().enumerate().filter(|&(at, _)| needed[at]) {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids[at] = graph.add(node.op.clone(), &args);
    }
    let results: Vec<NodeId> = chosen.iter().map(|&id| ids[id as usize]).collect();
    match evaluate::run(&graph.finish(&results), Vec::new()) {
        Ok(values) => chosen.iter().copied().zip(values).collect(),
        Err(_) => HashMap::new(),
    }
}

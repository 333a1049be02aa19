//! Wrong rules of the simplifier: each is the right rule on an operation that it misreads, or with a result that is off.

use super::algebra::turned;
use super::rewrite::shifted;
use deltaray::affine::AffineMap;
use deltaray::algebra::{Contraction, Reduction};
use deltaray::operation::{Binary, Unary};
use deltaray::simplify::{Rule, Simplifier, rules};
use deltaray::term::{Body, Graph, NodeId, Op, Scan};
use smallvec::SmallVec;
use std::sync::Arc;

/// The programs in which a wrong rule is sought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum In {
    /// Vectorised programs.
    Programs,
    /// The same with redundant selections.
    Redundant,
    /// Programs of gradients.
    Gradients,
}

/// Wrong rules: the name of the right one, the mistake, the wrong rule, and where to look for it.
pub const WRONG_RULES: &[(&str, &str, Rule, In)] = &[
    ("accumulate solved", "is shifted by one", accumulate_shifted, In::Gradients),
    ("accumulate repeated", "forgets the sum's other elements", accumulate_once, In::Gradients),
    ("view of view", "forgets the inner offset", view_without_offset, In::Programs),
    ("view identity", "takes every view of one shape for it", view_unread, In::Programs),
    ("sum of a product", "sums the next axis", product_next_axis, In::Programs),
    ("operands of a contraction", "exchanges the left axes", contraction_turned, In::Programs),
    ("gather affine", "is shifted by one", gather_shifted, In::Programs),
    ("neutral element", "is the neutral element", neutral_itself, In::Programs),
    ("sum of a negation", "is the opposite difference", difference_turned, In::Gradients),
    ("decided selection", "is the other side", undecided, In::Programs),
    ("selection twice by one mask", "exchanges the sides", twice_turned, In::Redundant),
    ("selection by a negated mask", "exchanges the sides", negated_turned, In::Redundant),
    ("reduction of repetitions", "counts one repetition", one_repetition, In::Programs),
    ("sum of a concatenation", "forgets the last part", parts_forgotten, In::Programs),
    ("sum of a scatter", "is negated", scatter_sum_negated, In::Gradients),
    ("product with a scatter", "forgets the other factor", scatter_unmultiplied, In::Gradients),
    ("scan body", "runs in the other direction", scan_turned, In::Programs),
    ("branch bodies", "exchanges the sides", branch_turned, In::Programs),
    ("sweep bodies", "go in the other direction", sweeps_turned, In::Programs),
    ("custom bodies", "take the operands in reverse order", custom_turned, In::Programs),
];

/// The program with every selection made twice by its mask, and once more by the opposite mask.
pub fn redundant(body: &Body) -> Body {
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    for node in &body.nodes()[body.arity()..] {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        let mut id = graph.add(node.op.clone(), &args);
        if let (Op::Select, &[mask, _, no]) = (&node.op, &args[..]) {
            id = graph.add(Op::Select, &[mask, id, no]);
            let opposite = graph.add(Op::Unary(Unary::Not), &[mask]);
            id = graph.add(Op::Select, &[opposite, no, id]);
        }
        ids.push(id);
    }
    let results: Vec<NodeId> = body.results().iter().map(|&id| ids[id as usize]).collect();
    graph.finish(&results)
}

fn twice_turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    sides_turned("selection twice by one mask", arena, op, args)
}

fn negated_turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    sides_turned("selection by a negated mask", arena, op, args)
}

/// The right rule's selection with its sides exchanged.
fn sides_turned(name: &str, arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right(name)(arena, op, args)?;
    let node = arena.node(result).clone();
    match (&node.op, &node.args[..]) {
        (Op::Select, &[mask, yes, no]) => Some(arena.add(Op::Select, &[mask, no, yes])),
        _ => Some(result),
    }
}

fn right(name: &str) -> Rule {
    rules().find(|(other, _)| *other == name).expect("a rule of this name").1
}

/// Adds the other operation, if it has the type that the right result has.
fn instead(arena: &mut Simplifier, right: NodeId, op: Op, args: &[NodeId]) -> NodeId {
    let types: Vec<_> = args.iter().map(|&arg| arena.node(arg).types.clone()).collect();
    let types: Vec<_> = types.iter().map(|types| &types[..]).collect();
    let fits = deltaray::term::infer::outputs(&op, &types).is_ok_and(|types| types == arena.node(right).types);
    if fits { arena.add(op, args) } else { right }
}

fn accumulate_shifted(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Accumulate(map) = op else { return None };
    right("accumulate solved")(arena, &Op::Accumulate(shifted(map)?), args)
}

fn accumulate_once(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("accumulate repeated")(arena, op, args)?;
    let node = arena.node(result).clone();
    let [sum] = node.args[..] else { return Some(result) };
    let Op::Reduce(Reduction::Sum, axes) = arena.node(sum).op.clone() else { return Some(result) };
    let first = Op::Reduce(Reduction::Max, axes);
    let operands = arena.node(sum).args.clone();
    let first = arena.add(first, &operands);
    Some(arena.add(node.op, &[first]))
}

fn view_without_offset(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(outer) = op else { return None };
    let inner = arena.node(args[0]).clone();
    let Op::View(map) = &inner.op else { return None };
    let rows: Vec<SmallVec<[i64; 4]>> = (0..map.source().len()).map(|row| map.row(row).into()).collect();
    let unmoved = AffineMap::new(map.source(), map.result(), &rows, &vec![0; rows.len()]);
    Some(arena.add(Op::View(outer.compose(&unmoved)?), &inner.args))
}

fn view_unread(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    (arena.ty(args[0]).shape[..] == *map.result()).then_some(args[0])
}

fn product_next_axis(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    next_axis("sum of a product", arena, op, args)
}

/// The right rule on a sum over the next axis, where that has the same extent.
fn next_axis(name: &str, arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Reduce(Reduction::Sum, axes) = op else { return None };
    let shape = arena.ty(args[0]).shape.clone();
    let next = axes.first().map(|axis| (axis + 1) % shape.len()).filter(|_| axes.len() == 1);
    match next {
        Some(next) if shape[next] == shape[axes[0]] => {
            right(name)(arena, &Op::Reduce(Reduction::Sum, std::iter::once(next).collect()), args)
        }
        _ => right(name)(arena, op, args),
    }
}

fn contraction_turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Contract(spec) = op else { return None };
    let shape = &arena.ty(args[0]).shape;
    let fits = shape.iter().rev().eq(shape.iter());
    let turned = Contraction { left: spec.left.iter().rev().copied().collect(), ..spec.clone() };
    right("operands of a contraction")(arena, &Op::Contract(if fits { turned } else { spec.clone() }), args)
}

fn gather_shifted(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("gather affine")(arena, op, args)?;
    let node = arena.node(result).clone();
    match &node.op {
        Op::View(map) => Some(arena.add(Op::View(shifted(map)?), &node.args)),
        _ => Some(result),
    }
}

fn neutral_itself(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("neutral element")(arena, op, args)?;
    Some(if result == args[0] { args[1] } else { result })
}

fn difference_turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("sum of a negation")(arena, op, args)?;
    match (arena.node(result).op.clone(), arena.node(result).args.clone()) {
        (Op::Binary(Binary::Sub), operands) => Some(arena.add(Op::Binary(Binary::Sub), &[operands[1], operands[0]])),
        _ => Some(result),
    }
}

fn undecided(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    match (op, args) {
        (Op::Select, &[mask, yes, no]) => right("decided selection")(arena, op, &[mask, no, yes]),
        _ => None,
    }
}

fn one_repetition(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("reduction of repetitions")(arena, op, args)?;
    let node = arena.node(result).clone();
    match node.op {
        Op::Binary(Binary::Mul) => Some(instead(arena, result, Op::Alias, &node.args[..1])),
        _ => Some(result),
    }
}

fn parts_forgotten(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("sum of a concatenation")(arena, op, args)?;
    let node = arena.node(result).clone();
    match node.op {
        Op::Binary(Binary::Add) => Some(node.args[0]),
        _ => Some(result),
    }
}

fn scatter_sum_negated(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("sum of a scatter")(arena, op, args)?;
    Some(instead(arena, result, Op::Unary(Unary::Neg), &[result]))
}

fn scatter_unmultiplied(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("product with a scatter")(arena, op, args)?;
    let is_scatter = |&&arg: &&NodeId| matches!(arena.node(arg).op, Op::Scatter(_));
    Some(args.iter().find(is_scatter).copied().unwrap_or(result))
}

fn sweeps_turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("sweep bodies")(arena, op, args)?;
    let node = arena.node(result).clone();
    match &node.op {
        Op::Sweeps(sweeps) => Some(arena.add(Op::Sweeps(Arc::new(turned(sweeps))), &node.args)),
        _ => Some(result),
    }
}

fn scan_turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("scan body")(arena, op, args)?;
    let node = arena.node(result).clone();
    match &node.op {
        Op::Scan(scan) => {
            let turned = Scan { reverse: !scan.reverse, ..Scan::clone(scan) };
            Some(arena.add(Op::Scan(Arc::new(turned)), &node.args))
        }
        _ => Some(result),
    }
}

fn custom_turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("custom bodies")(arena, op, args)?;
    let node = arena.node(result).clone();
    let turned: Vec<NodeId> = node.args.iter().rev().copied().collect();
    Some(instead(arena, result, node.op, &turned))
}

fn branch_turned(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("branch bodies")(arena, op, args)?;
    let node = arena.node(result).clone();
    match &node.op {
        Op::Branch(branch) => {
            let turned = deltaray::term::Branch { then: branch.otherwise.clone(), otherwise: branch.then.clone() };
            Some(arena.add(Op::Branch(Arc::new(turned)), &node.args))
        }
        _ => Some(result),
    }
}

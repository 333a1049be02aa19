//! Wrong rules of the simplifier: each is the right rule on an operation that it misreads, or with a result that is off.

use super::rewrite::shifted;
use deltaray::affine::AffineMap;
use deltaray::algebra::Reduction;
use deltaray::operation::Binary;
use deltaray::simplify::{Rule, Simplifier, rules};
use deltaray::term::{NodeId, Op, Scan};
use smallvec::SmallVec;
use std::sync::Arc;

/// Wrong rules, with the names of those that they replace, and whether they are sought in gradients instead of values.
pub const WRONG_RULES: &[(&str, &str, Rule, bool)] = &[
    ("accumulate solved", "is shifted by one", accumulate_shifted, true),
    ("accumulate repeated", "forgets the sum's other elements", accumulate_once, true),
    ("view of view", "forgets the inner offset", view_without_offset, false),
    ("view identity", "takes every view of one shape for it", view_unread, false),
    ("reshape of reshape", "transposes squares", reshape_transposed, false),
    ("sum of a product", "sums the next axis", product_next_axis, false),
    ("gather affine", "is shifted by one", gather_shifted, false),
    ("neutral element", "is the neutral element", neutral_itself, false),
    ("sum of a negation", "is the opposite difference", difference_turned, true),
    ("constants added up", "adds one constant only", one_constant, false),
    ("decided selection", "is the other side", undecided, false),
    ("view of one side", "is of the other side", other_side, false),
    (
        "selection by a negated mask",
        "keeps the sides",
        |arena, op, args| sides_turned("selection by a negated mask", arena, op, args),
        false,
    ),
    (
        "selection twice by one mask",
        "exchanges the sides",
        |arena, op, args| sides_turned("selection twice by one mask", arena, op, args),
        true,
    ),
    (
        "selection of a selection or zero",
        "exchanges the sides",
        |arena, op, args| sides_turned("selection of a selection or zero", arena, op, args),
        true,
    ),
    (
        "operation on selections by one mask",
        "exchanges the sides",
        |arena, op, args| sides_turned("operation on selections by one mask", arena, op, args),
        true,
    ),
    (
        "sum of complementary selections",
        "exchanges the sides",
        |arena, op, args| sides_turned("sum of complementary selections", arena, op, args),
        true,
    ),
    ("reduction of repetitions", "counts one repetition", one_repetition, false),
    ("sum of a concatenation", "forgets the last part", parts_forgotten, false),
    ("scan body", "runs in the other direction", scan_turned, false),
    ("branch bodies", "exchanges the sides", branch_turned, false),
];

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

fn reshape_transposed(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("reshape of reshape")(arena, op, args)?;
    let shape = arena.ty(result).shape.clone();
    let axes: Vec<usize> = (0..shape.len()).rev().collect();
    Some(instead(arena, result, Op::View(AffineMap::transpose(&shape, &axes)), &[result]))
}

fn product_next_axis(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("sum of a product")(arena, op, args)?;
    let Op::Reduce(Reduction::Sum, axes) = op else { return Some(result) };
    let shape = arena.ty(args[0]).shape.clone();
    let next: SmallVec<[usize; 4]> = axes.iter().map(|axis| (axis + 1) % shape.len()).collect();
    let same = axes.len() == 1 && shape[axes[0]] == shape[next[0]];
    if same {
        right("sum of a product")(arena, &Op::Reduce(Reduction::Sum, next.into_iter().collect()), args)
    } else {
        Some(result)
    }
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

fn one_constant(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    right("constants added up")(arena, op, args)?;
    Some(args[0])
}

fn undecided(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    match (op, args) {
        (Op::Select, &[mask, yes, no]) => right("decided selection")(arena, op, &[mask, no, yes]),
        _ => None,
    }
}

fn other_side(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let result = right("view of one side")(arena, op, args)?;
    let select = arena.node(args[0]).clone();
    match (&select.op, &select.args[..]) {
        (Op::Select, &[mask, yes, no]) => {
            let turned = arena.add(Op::Select, &[mask, no, yes]);
            Some(arena.add(op.clone(), &[turned]))
        }
        _ => Some(result),
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

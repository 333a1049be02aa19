//! Operations that are others in disguise, spelled out before they are lowered.

use crate::affine::AffineMap;
use crate::array::{Array, neutral_value};
use crate::operation::{Binary, Comparison, Extreme, Label, Labels, Reduction, Unary};
use crate::shape::{Axes, DType, Shape, Type, Value, is_sparse, size};
use crate::structural;
use crate::term::hash::TermMap;
use crate::term::{Body, Graph, Node, NodeId, Op};
use std::borrow::Cow;
use std::collections::hash_map::Entry;

/// The program in terms of operations that nests can do:
/// - The position of an extreme becomes the least position of an element that equals it or is NaN: NaN equals nothing, and the
///   first NaN counts.
/// - Updates that are concatenated only to be scattered are scattered separately.
/// - A reduction of outer axes and of a short inner run becomes two: whole rows are combined before the elements of a row.
/// - A read, sum or write at positions along no axis becomes its result.
/// - A view whose positions in memory overflow reads at computed positions.
/// - A contraction that an earlier one is, but for the order of axes, becomes a view of that.
/// - Functions of symmetric matrices, determinants and cofactors become the programs that they are.
/// - Rows that are concatenated to be added to an array that may be changed `in_place` are added one by one.
pub(super) fn desugared(body: &Body, in_place: bool) -> Cow<'_, Body> {
    match with_programs(body) {
        Some(body) => Cow::Owned(spelled_out(&body, in_place).into_owned()),
        None => spelled_out(body, in_place),
    }
}

/// The program with those of operations on matrices in their places, if there are any.
fn with_programs(body: &Body) -> Option<Body> {
    let program = |op: &Op| if let Op::Matrix(op) = op { Some(*op).filter(|op| op.is_program()) } else { None };
    body.nodes.iter().find(|node| program(&node.op).is_some())?;
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    for node in &body.nodes[body.arity()..] {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids.push(match program(&node.op) {
            Some(op) => {
                let types: Vec<Type> = args.iter().map(|&arg| graph.ty(arg).clone()).collect();
                let program = structural::written_out(op, &types);
                let inner = graph.append(&program, args);
                inner[program.results[0] as usize]
            }
            None => graph.add(node.op.clone(), &args),
        });
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    Some(graph.finish(&results))
}

/// As [`desugared`], but for operations on matrices.
fn spelled_out(body: &Body, in_place: bool) -> Cow<'_, Body> {
    let has_parts = in_place && body.nodes.iter().any(|node| matches!(node.op, Op::Concatenate(0)));
    let uses = if has_parts { body.use_counts() } else { Vec::new() };
    let turned = turned(body);
    let is_sugar = |node: &Node| {
        matches!(node.op, Op::ArgReduce(..))
            || is_without_positions(node)
            || has_parts && apart(body, &uses, node).is_some()
            || pieces(body, node).is_some()
            || outer_reduction(body, node).is_some()
            || matches!(&node.op, Op::View(map) | Op::Accumulate(map) if !map.is_linear())
    };
    if turned.is_empty() && !body.nodes.iter().any(is_sugar) {
        return Cow::Borrowed(body);
    }
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    for node in &body.nodes[body.arity()..] {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids.push(match &node.op {
            Op::ArgReduce(extreme, axis) if body.node(node.args[0]).ty().shape[*axis] > 0 => {
                position(&mut graph, *extreme, args[0], *axis)
            }
            Op::Reduce(op, axes) if let Some(outer) = outer_reduction(body, node) => {
                let inner = axes.iter().filter(|axis| !outer.contains(axis));
                // Outer axes that are gone stand before all of the inner ones.
                let inner: Axes = inner.map(|axis| axis - outer.len()).collect();
                let rows = graph.add(Op::Reduce(*op, outer), &[args[0]]);
                graph.add(Op::Reduce(*op, inner), &[rows])
            }
            // The updates follow the target of a write.
            _ if is_without_positions(node) => args[args.len() - 1],
            Op::Scatter(extents) if let Some(updates) = pieces(body, node) => {
                let updates: Vec<NodeId> = updates.iter().map(|&piece| ids[piece as usize]).collect();
                scatters(&mut graph, extents, &updates, &args[1..])
            }
            Op::Binary(op) if has_parts && let Some(Apart { target, scatter }) = apart(body, &uses, node) => {
                let Op::Scatter(extents) = &body.node(scatter).op else { unreachable!("a scatter is added") };
                let of = |&id: &NodeId| ids[id as usize];
                let (updates, indices) = (body.node(scatter).args[0], &body.node(scatter).args[1..]);
                let updates: Vec<NodeId> = body.node(updates).args.iter().map(of).collect();
                let indices: Vec<NodeId> = indices.iter().map(of).collect();
                let parts = scattered(&mut graph, extents, &updates, &indices);
                parts.into_iter().fold(ids[target as usize], |sum, part| graph.add(Op::Binary(*op), &[sum, part]))
            }
            Op::Contract(_) if let Some((earlier, map)) = turned.get(&(ids.len() as NodeId)) => {
                let earlier = ids[*earlier as usize];
                if map.is_identity() { earlier } else { graph.add(Op::View(map.clone()), &[earlier]) }
            }
            Op::View(map) if !map.is_linear() => {
                let operands = with_positions(&mut graph, args[0], map);
                graph.add(Op::Gather, &operands)
            }
            Op::Accumulate(map) if !map.is_linear() => {
                let operands = with_positions(&mut graph, args[0], map);
                graph.add(Op::Scatter(map.source().into()), &operands)
            }
            op => graph.add(op.clone(), &args),
        });
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    Cow::Owned(graph.finish(&results))
}

/// The contractions with sums that are earlier ones with their axes in another order, as views of these.
fn turned(body: &Body) -> TermMap<NodeId, (NodeId, AffineMap)> {
    let mut known: TermMap<([NodeId; 2], [Labels; 2]), (NodeId, Labels)> = TermMap::default();
    let mut turned: TermMap<NodeId, (NodeId, AffineMap)> = TermMap::default();
    for (id, node) in (0..).zip(&body.nodes) {
        let Op::Contract(spec) = &node.op else { continue };
        let mut operands = [(node.args[0], &spec.left), (node.args[1], &spec.right)];
        if operands[1].0 < operands[0].0 {
            operands.swap(0, 1);
        }
        // Labels by where they come first.
        let mut order = Labels::new();
        for &label in operands[0].1.iter().chain(operands[1].1) {
            if !order.contains(&label) {
                order.push(label);
            }
        }
        let named = |labels: &Labels| -> Labels {
            let position = |label: &Label| order.iter().position(|other| other == label).expect("a label");
            labels.iter().map(|label| position(label) as Label).collect()
        };
        let own = named(&spec.result);
        if own.len() == order.len() {
            continue;
        }
        match known.entry((operands.map(|(id, _)| id), operands.map(|(_, labels)| named(labels)))) {
            Entry::Occupied(entry) => {
                let (earlier, labels) = entry.get();
                let axis = |label: &Label| labels.iter().position(|other| other == label);
                if let Some(axes) = own.iter().map(axis).collect::<Option<Axes>>()
                    && axes.len() == labels.len()
                {
                    turned.insert(id, (*earlier, AffineMap::transpose(&body.node(*earlier).ty().shape, &axes)));
                }
            }
            Entry::Vacant(entry) => {
                entry.insert((id, own));
            }
        }
    }
    turned
}

/// A run of reduced inner axes is short with fewer elements: an instruction costs more than they do.
const SHORT: usize = 64;

/// The outer ones of reduced axes, where a short inner run is reduced too, and axes between them are kept.
fn outer_reduction(body: &Body, node: &Node) -> Option<Axes> {
    let Op::Reduce(_, axes) = &node.op else { return None };
    let shape = &body.node(node.args[0]).ty().shape;
    let run = (0..shape.len()).rev().take_while(|axis| axes.contains(axis)).count();
    let start = shape.len() - run;
    let outer: Axes = axes.iter().copied().filter(|&axis| axis < start).collect();
    let kept = (0..start).filter(|axis| !outer.contains(axis)).map(|axis| shape[axis]);
    let (steps, row) = (outer.iter().map(|&axis| shape[axis]).product::<usize>(), size(&shape[start..]));
    let is_short = (2..SHORT).contains(&row) && kept.product::<usize>().saturating_mul(row) >= SHORT;
    (is_short && steps >= 4).then_some(outer)
}

/// Whether a read, an addition or a write at computed positions has none of these.
fn is_without_positions(node: &Node) -> bool {
    match node.op {
        Op::Gather | Op::Scatter(_) => node.args.len() == 1,
        Op::ScatterSet => node.args.len() == 2,
        _ => false,
    }
}

/// The updates of a scatter that are concatenated along its first axis, if they have more elements than its result.
fn pieces<'a>(body: &'a Body, node: &'a Node) -> Option<&'a [NodeId]> {
    let (Op::Scatter(_), Op::Concatenate(0)) = (&node.op, &body.node(*node.args.first()?).op) else { return None };
    let updates = body.node(node.args[0]);
    // With one position for all updates, the first axis belongs to the added rows.
    let has_axis = node.args.get(1).is_some_and(|&index| body.node(index).ty().rank() > 0);
    (has_axis && size(&node.ty().shape) < size(&updates.ty().shape)).then_some(&updates.args[..])
}

/// A scatter of a few updates that is added to a target, part by part.
struct Apart {
    target: NodeId,
    scatter: NodeId,
}

/// The most parts that are added one by one.
const PARTS: usize = 4;

/// The additions of a sum that is done part by part: updates that are concatenated for it alone, and are few compared with the
/// target's elements.
fn apart(body: &Body, uses: &[u32], node: &Node) -> Option<Apart> {
    let is_apart = |&scatter: &NodeId| {
        let (own, alone) = (body.node(scatter), |id: NodeId| uses[id as usize] == 1);
        let (Op::Scatter(_), [updates, index, ..]) = (&own.op, &own.args[..]) else { return false };
        let parts = body.node(*updates);
        matches!(parts.op, Op::Concatenate(0))
            && parts.args.len() <= PARTS
            && body.node(*index).ty().rank() > 0
            && alone(scatter)
            && alone(*updates)
            && is_sparse(size(&parts.ty().shape), size(&own.ty().shape))
    };
    let (a, b) = match (&node.op, &node.args[..]) {
        (Op::Binary(Binary::Add), &[a, b]) => (a, b),
        (Op::Binary(Binary::Sub), &[a, b]) if a != b => return is_apart(&b).then_some(Apart { target: a, scatter: b }),
        _ => return None,
    };
    let scatter = [b, a].into_iter().find(|id| is_apart(id))?;
    Some(Apart { target: if scatter == b { a } else { b }, scatter })
}

/// The sum of the scatters of some updates, each with its part of the indices.
fn scatters(graph: &mut Graph, extents: &Shape, updates: &[NodeId], indices: &[NodeId]) -> NodeId {
    let parts = scattered(graph, extents, updates, indices);
    let combining = Op::Binary(Reduction::Sum.combining(graph.ty(parts[0]).dtype));
    parts.into_iter().reduce(|sum, part| graph.add(combining.clone(), &[sum, part])).expect("a concatenation has parts")
}

/// The scatters of some updates, each with its part of the indices.
fn scattered(graph: &mut Graph, extents: &Shape, updates: &[NodeId], indices: &[NodeId]) -> Vec<NodeId> {
    let (mut start, mut parts) = (0, Vec::new());
    for &update in updates {
        let count = graph.ty(update).shape[0];
        let mut args = vec![update];
        for &index in indices {
            let part = AffineMap::along(&graph.ty(index).shape, 0, start as i64, 1, count);
            args.push(graph.add(Op::View(part), &[index]));
        }
        parts.push(graph.add(Op::Scatter(extents.clone()), &args));
        start += count;
    }
    parts
}

/// An operand, and the positions along each source axis that a map reads for each position of its result.
fn with_positions(graph: &mut Graph, operand: NodeId, map: &AffineMap) -> Vec<NodeId> {
    let shape = map.result();
    let mut operands = vec![operand];
    for row in 0..map.source().len() {
        let full = |graph: &mut Graph, value: i64| graph.add(Op::Constant(Array::full(shape, Value::I64(value))), &[]);
        let mut position = full(graph, map.offset(row));
        for (column, &coefficient) in map.row(row).iter().enumerate().filter(|(_, coefficient)| **coefficient != 0) {
            let along = graph.add(Op::Iota(shape[column]), &[]);
            let along = graph.add(Op::View(AffineMap::broadcast(&[shape[column]], shape, &[column])), &[along]);
            let coefficient = full(graph, coefficient);
            let term = graph.add(Op::Binary(Binary::Mul), &[along, coefficient]);
            position = graph.add(Op::Binary(Binary::Add), &[position, term]);
        }
        operands.push(position);
    }
    operands
}

fn position(graph: &mut Graph, extreme: Extreme, a: NodeId, axis: usize) -> NodeId {
    let ty = graph.ty(a).clone();
    let extent = ty.shape[axis];
    let reduction = match extreme {
        Extreme::Max => Reduction::Max,
        Extreme::Min => Reduction::Min,
    };
    let axes: Axes = Axes::from_slice(&[axis]);
    let extremes = graph.add(Op::Reduce(reduction, axes.clone()), &[a]);
    // Where a mask hides elements, only the others are looked at.
    let neutral = neutral_value(reduction, ty.dtype);
    let masked = unmasked(graph, a, neutral);
    let element = masked.map_or(a, |(_, element)| element);
    let kept: Axes = (0..ty.rank()).filter(|&other| other != axis).collect();
    let shape: Shape = kept.iter().map(|&other| ty.shape[other]).collect();
    let best = graph.add(Op::View(AffineMap::broadcast(&shape, &ty.shape, &kept)), &[extremes]);
    let same = graph.add(Op::Compare(Comparison::Equal), &[element, best]);
    let mut hit = if ty.dtype.is_float() {
        let not_a_number = graph.add(Op::Compare(Comparison::NotEqual), &[element, element]);
        graph.add(Op::Binary(Binary::Or), &[same, not_a_number])
    } else {
        same
    };
    let positions = graph.add(Op::Iota(extent), &[]);
    let positions = graph.add(Op::View(AffineMap::broadcast(&[extent], &ty.shape, &[axis])), &[positions]);
    let beyond = neutral_value(Reduction::Min, DType::I64);
    let beyond = graph.add(Op::Constant(Array::full(&ty.shape, beyond)), &[]);
    if let Some((mask, _)) = masked {
        hit = graph.add(Op::Binary(Binary::And), &[mask, hit]);
    }
    let candidates = graph.add(Op::Select, &[hit, positions, beyond]);
    let first = graph.add(Op::Reduce(Reduction::Min, axes), &[candidates]);
    if masked.is_none() {
        return first;
    }
    // Where no element is better than the value that hides the others, the first element of all is as good.
    let full = |graph: &mut Graph, value: Value| graph.add(Op::Constant(Array::full(&shape, value)), &[]);
    let (nothing, outermost) = (full(graph, neutral), full(graph, Value::I64(0)));
    let is_hidden = graph.add(Op::Compare(Comparison::Equal), &[extremes, nothing]);
    graph.add(Op::Select, &[is_hidden, outermost, first])
}

/// The mask of an array that has a fixed value where the mask does not hold, and the array where it holds.
fn unmasked(graph: &mut Graph, array: NodeId, value: Value) -> Option<(NodeId, NodeId)> {
    let (Op::Select, &[mask, yes, no]) = (&graph.node(array).op, &graph.node(array).args[..]) else { return None };
    let is_value = |id: NodeId| matches!(&graph.node(id).op, Op::Constant(a) if a.uniform().is_some_and(|x| x.bits() == value.bits()));
    match (is_value(yes), is_value(no)) {
        (_, true) => Some((mask, yes)),
        (true, false) => Some((graph.add(Op::Unary(Unary::Not), &[mask]), no)),
        (false, false) => None,
    }
}

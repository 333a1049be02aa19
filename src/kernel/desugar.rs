//! Operations that are others in disguise, spelled out before they are lowered.

use crate::affine::AffineMap;
use crate::algebra::{Extreme, Reduction};
use crate::concrete::Array;
use crate::operation::{Binary, Comparison};
use crate::shape::{Axes, Shape, Value};
use crate::term::{Body, Graph, NodeId, Op};
use std::borrow::Cow;

/// The program in terms of what nests can do: the position of an extreme is the least position of an element that is it, or
/// that is NaN, since of NaNs, which no element equals, the first counts.
pub(super) fn desugared(body: &Body) -> Cow<'_, Body> {
    let is_sugar = |op: &Op| matches!(op, Op::ArgReduce(..));
    if !body.nodes.iter().any(|node| is_sugar(&node.op)) {
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
            op => graph.add(op.clone(), &args),
        });
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    Cow::Owned(graph.finish(&results))
}

fn position(graph: &mut Graph, extreme: Extreme, a: NodeId, axis: usize) -> NodeId {
    let ty = graph.ty(a).clone();
    let extent = ty.shape[axis];
    let reduction = match extreme {
        Extreme::Max => Reduction::Max,
        Extreme::Min => Reduction::Min,
    };
    let axes: Axes = Axes::from_slice(&[axis]);
    let best = graph.add(Op::Reduce(reduction, axes.clone()), &[a]);
    let kept: Axes = (0..ty.rank()).filter(|&other| other != axis).collect();
    let shape: Shape = kept.iter().map(|&other| ty.shape[other]).collect();
    let best = graph.add(Op::View(AffineMap::broadcast(&shape, &ty.shape, &kept)), &[best]);
    let same = graph.add(Op::Compare(Comparison::Equal), &[a, best]);
    let hit = if ty.dtype.is_float() {
        let not_a_number = graph.add(Op::Compare(Comparison::NotEqual), &[a, a]);
        graph.add(Op::Binary(Binary::Or), &[same, not_a_number])
    } else {
        same
    };
    let positions = graph.add(Op::Iota(extent), &[]);
    let positions = graph.add(Op::View(AffineMap::broadcast(&[extent], &ty.shape, &[axis])), &[positions]);
    let beyond = graph.add(Op::Constant(Array::full(&ty.shape, Value::I64(extent as i64))), &[]);
    let candidates = graph.add(Op::Select, &[hit, positions, beyond]);
    graph.add(Op::Reduce(Reduction::Min, axes), &[candidates])
}

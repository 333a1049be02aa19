//! Programs that are as long as one likes: each step stands on the one before.

use deltaray::affine::AffineMap;
use deltaray::algebra::{Order, Reduction};
use deltaray::export::Program;
use deltaray::operation::{Binary, Unary};
use deltaray::shape::{DType, Type};
use deltaray::term::{Branch, Graph, NodeId, Op, Scan};
use std::sync::Arc;

/// Elements of the array that goes through a chain.
pub const WIDTH: usize = 5;

/// The builder of one step of a chain: from the input, and the two values before.
pub type Step = fn(&mut Graph, NodeId, NodeId, NodeId) -> NodeId;

fn scaled(graph: &mut Graph, id: NodeId, factor: NodeId) -> NodeId {
    graph.add(Op::Binary(Binary::Mul), &[id, factor])
}

/// Work on single elements, which becomes one kernel or few.
fn elementwise(graph: &mut Graph, x: NodeId, before: NodeId, now: NodeId) -> NodeId {
    let scaled = scaled(graph, now, x);
    let difference = graph.add(Op::Binary(Binary::Sub), &[scaled, before]);
    graph.add(Op::Unary(Unary::Tanh), &[difference])
}

/// Sums of all elements, each with a kernel of its own.
fn reductions(graph: &mut Graph, x: NodeId, _: NodeId, now: NodeId) -> NodeId {
    let sum = graph.add(Op::Reduce(Reduction::Sum, [0].into_iter().collect()), &[now]);
    let sine = graph.add(Op::Unary(Unary::Sin), &[sum]);
    let all = graph.add(Op::View(AffineMap::broadcast(&[], &[WIDTH], &[])), &[sine]);
    graph.add(Op::Binary(Binary::Mul), &[all, x])
}

/// Sorts, which are calls.
fn sorts(graph: &mut Graph, x: NodeId, _: NodeId, now: NodeId) -> NodeId {
    let order = graph.add(Op::ArgSort(Order::Descending, 0), &[now]);
    let read = graph.add(Op::Gather, &[x, order]);
    let sum = graph.add(Op::Binary(Binary::Sub), &[read, now]);
    graph.add(Op::Unary(Unary::Cos), &[sum])
}

/// Loops and conditionals, which have bodies.
fn bodies(graph: &mut Graph, x: NodeId, _: NodeId, now: NodeId) -> NodeId {
    let ty = graph.ty(now).clone();
    let body = |op: Unary, captures: usize| {
        let mut inner: Graph = Graph::new(&[ty.clone(), ty.clone()], captures);
        let one = inner.add(Op::Unary(op), &[0]);
        let two = inner.add(Op::Binary(Binary::Mul), &[one, 1]);
        Arc::new(inner.finish(&[two]))
    };
    let scan = Scan { body: body(Unary::Sin, 1), carries: 1, inputs: 0, length: 3, reverse: false };
    let looped = graph.add(Op::Scan(Arc::new(scan)), &[now, x]);
    let looped = graph.add(Op::Output(0), &[looped]);
    let sum = graph.add(Op::Reduce(Reduction::Sum, [0].into_iter().collect()), &[looped]);
    let condition = graph.add(Op::Cast(DType::Bool), &[sum]);
    let branch = Branch { then: body(Unary::Cos, 2), otherwise: body(Unary::Tanh, 2) };
    let chosen = graph.add(Op::Branch(Arc::new(branch)), &[condition, looped, x]);
    graph.add(Op::Output(0), &[chosen])
}

/// The kinds of chains.
pub const KINDS: [(&str, Step); 4] =
    [("elementwise", elementwise), ("reductions", reductions), ("sorts", sorts), ("bodies", bodies)];

/// A chain of so many nodes at least.
pub fn chain(name: &str, step: Step, nodes: usize) -> Program {
    let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[WIDTH])], 0);
    let (mut before, mut now) = (0, graph.add(Op::Unary(Unary::Sin), &[0]));
    while graph.len() < nodes {
        (before, now) = (now, step(&mut graph, 0, before, now));
    }
    Program::new(name, graph.finish(&[now]))
}

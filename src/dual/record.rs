//! The algebra of bulk programs under construction: running a program here writes it down again, with the nodes that the
//! derivative rules add. The derivative of a loop's body is made here.

use crate::algebra::{Algebra, CustomFunction, Operands, Pullback};
use crate::array::Array;
use crate::shape::{DType, Shape, Type};
use crate::term::distinct::are_distinct;
use crate::term::{Body, Branch, Graph, NodeId, Op, Scan, Sweeps};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Arrays are nodes of the innermost graph that is being recorded on this thread.
#[derive(Clone, Debug)]
pub(crate) struct Recorded;

/// A graph, and which nodes of it later ones restore.
struct OpenGraph {
    graph: Graph,
    restored: HashMap<NodeId, NodeId>,
}

thread_local! {
    static GRAPHS: RefCell<Vec<OpenGraph>> = const { RefCell::new(Vec::new()) };
}

/// Drops the innermost graph when a panic leaves the recording early.
struct Restore(usize);

impl Drop for Restore {
    fn drop(&mut self) {
        GRAPHS.with_borrow_mut(|graphs| graphs.truncate(self.0));
    }
}

/// Records the operations of `f` on parameters of the given types, in a graph of its own.
pub(crate) fn record<R>(parameters: &[Type], f: impl FnOnce(Vec<NodeId>) -> R) -> (Graph, R) {
    let restore = Restore(GRAPHS.with_borrow(Vec::len));
    let open = OpenGraph { graph: Graph::new(parameters, 0), restored: HashMap::new() };
    GRAPHS.with_borrow_mut(|graphs| graphs.push(open));
    let result = f((0..parameters.len() as NodeId).collect());
    let open = GRAPHS.with_borrow_mut(Vec::pop).expect("recordings are nested");
    drop(restore);
    (open.graph, result)
}

/// The graph that is being recorded.
fn graph<R>(read: impl FnOnce(&Graph) -> R) -> R {
    GRAPHS.with_borrow(|graphs| read(&graphs.last().expect("something is being recorded").graph))
}

/// Number of nodes recorded so far.
pub(crate) fn recorded() -> usize {
    graph(Graph::len)
}

fn open<R>(change: impl FnOnce(&mut OpenGraph) -> R) -> R {
    GRAPHS.with_borrow_mut(|graphs| change(graphs.last_mut().expect("something is being recorded")))
}

fn add(op: Op, args: &[NodeId]) -> NodeId {
    open(|open| open.graph.add(op, args))
}

/// Says that a transpose has an array of the body proper again, if both are nodes of a recording.
pub(crate) fn restored(array: Option<NodeId>, again: Option<NodeId>) {
    if let (Some(array), Some(again)) = (array, again) {
        open(|open| open.restored.insert(array, again));
    }
}

/// The arrays that transposes have again, and where.
pub(crate) fn restorations() -> HashMap<NodeId, NodeId> {
    open(|open| std::mem::take(&mut open.restored))
}

fn with(first: NodeId, others: Vec<NodeId>) -> Vec<NodeId> {
    std::iter::once(first).chain(others).collect()
}

fn outputs(op: Op, args: &[NodeId]) -> Vec<NodeId> {
    let node = add(op, args);
    let count = graph(|graph| graph.node(node).types.len());
    (0..count).map(|position| add(Op::Output(position), &[node])).collect()
}

impl Algebra for Recorded {
    type Array = NodeId;
    type Nested = Recorded;
    type Forward = Recorded;

    fn dtype(a: &NodeId) -> DType {
        Self::type_of(a).dtype
    }
    fn shape(a: &NodeId) -> Shape {
        Self::type_of(a).shape
    }
    fn type_of(a: &NodeId) -> Type {
        graph(|graph| graph.ty(*a).clone())
    }
    fn constant(value: Array) -> NodeId {
        add(Op::Constant(value), &[])
    }
    fn bind(op: &Op, operands: Operands<Recorded>) -> NodeId {
        add(op.clone(), &operands)
    }
    fn are_distinct(positions: &[NodeId]) -> bool {
        graph(|graph| are_distinct(graph, positions))
    }
    fn scan(scan: &Arc<Scan>, carries: Vec<NodeId>, inputs: Vec<NodeId>, captures: Vec<NodeId>) -> Vec<NodeId> {
        let operands = [carries, inputs, captures].concat();
        outputs(Op::Scan(scan.clone()), &operands)
    }
    fn branch(condition: NodeId, then: &Arc<Body>, otherwise: &Arc<Body>, captures: Vec<NodeId>) -> Vec<NodeId> {
        let branch = Branch { then: then.clone(), otherwise: otherwise.clone() };
        outputs(Op::Branch(Arc::new(branch)), &with(condition, captures))
    }
    fn custom<F: CustomFunction>(function: &F, inputs: Vec<NodeId>) -> Vec<NodeId> {
        match function.bulk() {
            Some(custom) => outputs(Op::Custom(custom.clone()), &inputs),
            None => unreachable!("functions in bulk programs are bodies"),
        }
    }

    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<NodeId>) -> Vec<NodeId> {
        outputs(Op::Sweeps(sweeps.clone()), &operands)
    }
    fn recorded(a: &NodeId) -> Option<NodeId> {
        Some(*a)
    }
    fn lift(a: NodeId) -> NodeId {
        a
    }
    fn lift_forward(a: NodeId) -> NodeId {
        a
    }
    fn vjp(_: &dyn Fn(Vec<NodeId>) -> Vec<NodeId>, _: Vec<NodeId>) -> (Vec<NodeId>, Pullback<Self>) {
        unreachable!("bulk programs contain no derivatives")
    }
    fn jvp(
        _: &dyn Fn(Vec<NodeId>) -> Vec<NodeId>,
        _: Vec<NodeId>,
        _: Vec<Option<NodeId>>,
    ) -> (Vec<NodeId>, Vec<Option<NodeId>>) {
        unreachable!("bulk programs contain no derivatives")
    }
}

//! Programs that are nested as deep as one likes, by each operation that has bodies, node by node and as users write them.

use deltaray::algebra::Reduction;
use deltaray::concrete::Array;
use deltaray::operation::{Binary, Comparison, Unary};
use deltaray::shape::{DType, Type, Value};
use deltaray::term::{
    Body, Branch, Build, Checkpoints, Custom, Extension, Graph, NodeId, Op, Scan, Steps, Sweep, Sweeps,
};
use std::sync::Arc;

/// How one body stands in another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Then,
    Otherwise,
    Both,
    Scan,
    While,
    Condition,
    Checkpointed,
    Value,
    Vjp,
    Jvp,
}

pub const KINDS: [Kind; 10] = [
    Kind::Then,
    Kind::Otherwise,
    Kind::Both,
    Kind::Scan,
    Kind::While,
    Kind::Condition,
    Kind::Checkpointed,
    Kind::Value,
    Kind::Vjp,
    Kind::Jvp,
];

fn float() -> Type {
    Type::scalar(DType::F64)
}

fn number<X: Extension>(graph: &mut Graph<X>, x: f64) -> NodeId {
    graph.add(Op::Constant(Array::full(&[], Value::F64(x))), &[])
}

fn is_below<X: Extension>(graph: &mut Graph<X>, x: NodeId, bound: f64) -> NodeId {
    let bound = number(graph, bound);
    graph.add(Op::Compare(Comparison::Less), &[x, bound])
}

/// A body of one number, as a parameter or a capture.
fn body<X: Extension>(captures: usize, write: impl FnOnce(&mut Graph<X>) -> NodeId) -> Body<X> {
    let mut graph = Graph::new(&[float()], captures);
    let result = write(&mut graph);
    graph.finish(&[result])
}

fn sine<X: Extension>(graph: &mut Graph<X>) -> NodeId {
    graph.add(Op::Unary(Unary::Sin), &[0])
}

/// A body whose parameter becomes a capture, or stays a parameter.
fn with_captures<X: Extension>(inner: &Body<X>, captures: usize) -> Arc<Body<X>> {
    Arc::new(Body::new(1 - captures, captures, inner.nodes().to_vec(), inner.results().to_vec()).unwrap())
}

/// A loop of one sweep over one number.
fn sweeps<X: Extension>(steps: Steps<X>, step: Arc<Body<X>>, checkpoints: Checkpoints) -> Op<X> {
    let sweep = Sweep { body: step, carries: 1, inputs: 0, reads: Vec::new(), keeps: 0 };
    Op::Sweeps(Arc::new(Sweeps { steps, sweeps: vec![sweep], reverse: false, checkpoints }))
}

/// The operation with the body in it.
pub fn operation<X: Extension>(kind: Kind, inner: &Body<X>, length: usize) -> Op<X> {
    let rule = |directions: usize, inner: Option<&Body<X>>| {
        let mut graph = Graph::new(&vec![float(); 2 + directions], 0);
        let slope = match inner {
            Some(inner) => *graph.append(inner, [0]).get(inner.results()[0] as usize).unwrap(),
            None => graph.add(Op::Unary(Unary::Cos), &[0]),
        };
        let result = graph.add(Op::Binary(Binary::Mul), &[slope, 2]);
        Arc::new(graph.finish(&[result]))
    };
    let leaf = || Arc::new(body(1, sine));
    let branch = |then, otherwise| Op::Branch(Arc::new(Branch { then, otherwise }));
    let custom = |value, vjp, jvp| Op::Custom(Arc::new(Custom { value, vjp, jvp }));
    match kind {
        Kind::Then => branch(with_captures(inner, 1), leaf()),
        Kind::Otherwise => branch(leaf(), with_captures(inner, 1)),
        Kind::Both => {
            let side = with_captures(inner, 1);
            branch(side.clone(), side)
        }
        Kind::Scan => {
            let body = with_captures(inner, 0);
            Op::Scan(Arc::new(Scan { body, carries: 1, inputs: 0, length, reverse: false }))
        }
        Kind::While => {
            let mut graph = Graph::new(&[float()], 0);
            let condition = is_below(&mut graph, 0, 0.9);
            sweeps(Steps::While(Arc::new(graph.finish(&[condition]))), with_captures(inner, 0), Checkpoints::All)
        }
        Kind::Condition => {
            let mut graph = Graph::new(&[float()], 0);
            let ids = graph.append(inner, [0]);
            let condition = is_below(&mut graph, ids[inner.results()[0] as usize], 0.5);
            let step = Arc::new(body(0, |graph| {
                let one = number(graph, 1.0);
                graph.add(Op::Binary(Binary::Add), &[0, one])
            }));
            sweeps(Steps::While(Arc::new(graph.finish(&[condition]))), step, Checkpoints::All)
        }
        Kind::Checkpointed => sweeps(Steps::Count(length), with_captures(inner, 0), Checkpoints::Every(1)),
        Kind::Value => custom(with_captures(inner, 0), Some(rule(1, None)), None),
        Kind::Vjp => custom(with_captures(&body(0, sine), 0), Some(rule(1, Some(inner))), None),
        Kind::Jvp => custom(with_captures(&body(0, sine), 0), None, Some(rule(1, Some(inner)))),
    }
}

/// A program of one more level: the operation on a number.
pub fn around<X: Extension>(kind: Kind, inner: &Body<X>, length: usize) -> Body<X> {
    body(0, |graph| {
        let op = operation(kind, inner, length);
        let x = graph.add(Op::Unary(Unary::Cos), &[0]);
        let args = match kind {
            Kind::Then | Kind::Otherwise | Kind::Both => {
                let condition = is_below(graph, x, 0.3 + 0.001 * inner.nesting() as f64);
                vec![condition, x]
            }
            _ => vec![x],
        };
        let outputs = graph.add(op, &args);
        let y = graph.add(Op::Output(0), &[outputs]);
        let one = number(graph, 0.9);
        graph.add(Op::Binary(Binary::Add), &[y, one])
    })
}

/// A program of so many levels.
pub fn nested<X: Extension>(kind: Kind, levels: usize, length: usize) -> Body<X> {
    (0..levels).fold(body(0, sine), |inner, _| around(kind, &inner, length))
}

/// A build of so many levels, each of so many elements that are added.
pub fn builds(levels: usize, length: usize) -> Body<Build> {
    (0..levels).fold(body(0, sine), |inner, _| {
        let mut graph = Graph::new(&[Type::scalar(DType::I64), float()], 1);
        let position = graph.add(Op::Cast(DType::F64), &[0]);
        let sum = graph.add(Op::Binary(Binary::Add), &[position, 1]);
        let ids = graph.append(&inner, [sum]);
        let element = Arc::new(graph.finish(&[ids[inner.results()[0] as usize]]));
        body(0, |graph| {
            let extents = [length].into_iter().collect();
            let array = graph.add(Op::Extra(Build { extents, body: element }), &[0]);
            graph.add(Op::Reduce(Reduction::Sum, [0].into_iter().collect()), &[array])
        })
    })
}

//! False statements in bodies are detected, in the program and in nested bodies, and at every entry on which memory safety
//! depends.

use super::*;
use crate::engine::cpu::{Cpu, Program};
use crate::operation::{Binary, Comparison, Contraction, Extreme, Reduction, Unary};
use crate::shape::{DType, Type};
use crate::term::{Branch, Build, Checkpoints, Custom, Graph, Scan, Steps, Sweep, Sweeps};
use smallvec::smallvec;
use std::sync::Arc;

fn floats(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

/// A program with an operation of every kind that has bodies, whose step is a chain of two nodes.
fn program() -> Body {
    let (x, n, mask) = (floats(&[4]), Type::new(DType::I64, &[4]), Type::scalar(DType::Bool));
    let mut step: Graph = Graph::new(&[x.clone(), floats(&[]), x.clone()], 1);
    let wide = step.add(Op::View(crate::affine::AffineMap::broadcast(&[], &[4], &[])), &[1]);
    let product = step.add(Op::Binary(Binary::Mul), &[0, wide]);
    let sum = step.add(Op::Binary(Binary::Add), &[product, 2]);
    let step = Arc::new(step.finish(&[sum, 1]));
    let mut side: Graph = Graph::new(std::slice::from_ref(&x), 1);
    let sine = side.add(Op::Unary(Unary::Sin), &[0]);
    let side = Arc::new(side.finish(&[sine]));
    let mut condition: Graph = Graph::new(std::slice::from_ref(&x), 0);
    let largest = condition.add(Op::Reduce(Reduction::Max, smallvec![0]), &[0]);
    let half = condition.add(Op::Constant(crate::array::Array::full(&[], crate::shape::Value::F64(0.5))), &[]);
    let goes_on = condition.add(Op::Compare(Comparison::Less), &[largest, half]);
    let condition = Arc::new(condition.finish(&[goes_on]));
    let mut doubled: Graph = Graph::new(std::slice::from_ref(&x), 0);
    let double = doubled.add(Op::Binary(Binary::Add), &[0, 0]);
    let doubled = Arc::new(doubled.finish(&[double]));
    let mut rule: Graph = Graph::new(&[x.clone(), x.clone(), x.clone()], 0);
    let twice = rule.add(Op::Binary(Binary::Add), &[2, 2]);
    let rule = Arc::new(rule.finish(&[twice]));

    let mut graph: Graph = Graph::new(&[x.clone(), n, mask], 0);
    let scan = Scan { body: step, carries: 1, inputs: 1, length: 4, reverse: false };
    let scan = graph.add(Op::Scan(Arc::new(scan)), &[0, 0, 0]);
    let scan = graph.add(Op::Output(0), &[scan]);
    let branch = graph.add(Op::Branch(Arc::new(Branch { then: side.clone(), otherwise: side })), &[2, scan]);
    let branch = graph.add(Op::Output(0), &[branch]);
    let sweep = Sweep { body: doubled.clone(), carries: 1, inputs: 0, reads: vec![], keeps: 0 };
    let sweeps =
        Sweeps { steps: Steps::While(condition), sweeps: vec![sweep], reverse: false, checkpoints: Checkpoints::All };
    let sweeps = graph.add(Op::Sweeps(Arc::new(sweeps)), &[branch]);
    let sweeps = graph.add(Op::Output(0), &[sweeps]);
    let custom = graph.add(Op::Custom(Arc::new(Custom { value: doubled, vjp: Some(rule), jvp: None })), &[sweeps]);
    let custom = graph.add(Op::Output(0), &[custom]);
    let read = graph.add(Op::Gather, &[custom, 1]);
    let written = graph.add(Op::Scatter(smallvec![4]), &[read, 1]);
    let product = graph.add(Op::Contract(Contraction::new(&[0], &[0], &[])), &[written, custom]);
    let largest = graph.add(Op::ArgReduce(Extreme::Max, 0), &[written]);
    graph.finish(&[product, written, largest])
}

/// The node of the program with this operation, to be changed.
fn node(body: &mut Body, is: fn(&Op) -> bool) -> &mut Node {
    body.nodes.iter_mut().find(|node| is(&node.op)).expect("the program has it")
}

/// Functions that give the program's operations of one kind with bodies, to be changed.
macro_rules! parts {
    ($($name:ident: $kind:ident;)*) => {
        $(fn $name(body: &mut Body) -> &mut $kind {
            match &mut node(body, |op| matches!(op, Op::$kind(_))).op {
                Op::$kind(part) => Arc::make_mut(part),
                _ => unreachable!("as looked for"),
            }
        })*
    };
}

parts! { scan: Scan; branch: Branch; sweeps: Sweeps; custom: Custom; }

/// Changes to one body whose last node takes earlier nodes of its type.
const LIES: [fn(&mut Body); 12] = [
    |body| body.nodes.last_mut().unwrap().types[0] = floats(&[1 << 20]),
    |body| body.nodes.last_mut().unwrap().types[0].dtype = DType::I32,
    |body| body.nodes.last_mut().unwrap().types.clear(),
    |body| body.nodes.last_mut().unwrap().args[0] = NodeId::MAX,
    |body| body.nodes.last_mut().unwrap().args[0] = body.nodes.len() as NodeId - 1,
    |body| body.nodes.last_mut().unwrap().args.clear(),
    |body| body.nodes.last_mut().unwrap().op = Op::Parameter(0),
    |body| body.nodes.last_mut().unwrap().op = Op::Output(0),
    |body| body.nodes[0].types[0] = Type::scalar(DType::Bool),
    |body| body.nodes[0].types.clear(),
    |body| body.parameters = usize::MAX,
    |body| body.results[0] = body.nodes.len() as NodeId,
];

/// Changes to the context of bodies.
const COUNTS: [fn(&mut Body); 32] = [
    |body| scan(body).carries = 2,
    |body| scan(body).carries = usize::MAX,
    |body| (scan(body).carries, scan(body).inputs) = (usize::MAX, 3),
    |body| scan(body).inputs = 0,
    |body| scan(body).length = 5,
    |body| scan(body).length = usize::MAX,
    |body| branch(body).then = custom(body).value.clone(),
    |body| branch(body).otherwise = scan(body).body.clone(),
    |body| sweeps(body).sweeps.clear(),
    |body| sweeps(body).sweeps[0].carries = 0,
    |body| sweeps(body).sweeps[0].carries = usize::MAX,
    |body| sweeps(body).sweeps[0].inputs = usize::MAX,
    |body| sweeps(body).sweeps[0].keeps = 1,
    |body| sweeps(body).sweeps[0].keeps = usize::MAX,
    |body| sweeps(body).sweeps[0].reads.push((0, 0)),
    |body| sweeps(body).sweeps[0].reads.push((usize::MAX, usize::MAX)),
    |body| sweeps(body).steps = Steps::While(custom(body).value.clone()),
    |body| custom(body).vjp = None,
    |body| custom(body).vjp = Some(custom(body).value.clone()),
    |body| custom(body).value = branch(body).then.clone(),
    |body| node(body, |op| matches!(op, Op::Gather)).args[1] = 0,
    |body| node(body, |op| matches!(op, Op::Gather)).args[0] = 2,
    |body| node(body, |op| matches!(op, Op::Scatter(_))).op = Op::Scatter(smallvec![5]),
    |body| node(body, |op| matches!(op, Op::Scatter(_))).op = Op::Scatter(smallvec![]),
    |body| node(body, |op| matches!(op, Op::Scatter(_))).op = Op::Scatter(smallvec![usize::MAX, usize::MAX]),
    |body| node(body, |op| matches!(op, Op::ArgReduce(..))).op = Op::ArgReduce(Extreme::Max, 1),
    |body| node(body, |op| matches!(op, Op::ArgReduce(..))).op = Op::Concatenate(usize::MAX),
    |body| {
        let labels = Contraction { left: smallvec![0], right: smallvec![1], result: smallvec![0, 0] };
        node(body, |op| matches!(op, Op::Contract(_))).op = Op::Contract(labels);
    },
    // One output, picked twice; one that is not there; a loop as an array, as an operand and as a result.
    |body| {
        let again = node(body, |op| matches!(op, Op::Output(0))).clone();
        *body.nodes.last_mut().unwrap() = again;
        body.results[2] = body.results[1];
    },
    |body| node(body, |op| matches!(op, Op::Output(0))).op = Op::Output(7),
    |body| node(body, |op| matches!(op, Op::Branch(_))).args[1] = 3,
    |body| body.results[0] = 3,
];

#[test]
fn lies_about_bodies_are_told_wherever_they_stand() {
    assert_eq!(program().validate(), Ok(()));
    let nested: [fn(&mut Body) -> &mut Arc<Body>; 6] = [
        |body| &mut scan(body).body,
        |body| &mut branch(body).then,
        |body| &mut branch(body).otherwise,
        |body| &mut sweeps(body).sweeps[0].body,
        |body| &mut custom(body).value,
        |body| custom(body).vjp.as_mut().expect("a rule"),
    ];
    let mut told = 0;
    let mut check = |what: String, lie: &dyn Fn(&mut Body)| {
        let mut body = program();
        lie(&mut body);
        assert!(body.validate().is_err(), "{what}");
        let engine = Program::new(&body, &Cpu::default()).map(|_| ()).expect_err(&what).to_string();
        assert!(engine.starts_with("the program is ill-formed: ") && engine.contains("validate/tests.rs"), "{engine}");
        let exporters: [fn(Body) -> Result<()>; 3] = [
            |body| crate::export::c(crate::term::Program::new("f", body)).map(|_| ()),
            |body| crate::export::rust(crate::term::Program::new("f", body)).map(|_| ()),
            |body| crate::export::opencl(crate::term::Program::new("f", body)).map(|_| ()),
        ];
        for export in exporters {
            let problem = export(body.clone()).expect_err(&what).to_string();
            assert!(problem.contains("ill-formed"), "{what}: {problem}");
        }
        told += 1;
    };
    for (at, lie) in LIES.iter().enumerate() {
        check(format!("lie {at}"), lie);
        for (inner, place) in nested.iter().enumerate() {
            check(format!("lie {at} in body {inner}"), &|body| lie(Arc::make_mut(place(body))));
        }
    }
    for (at, lie) in COUNTS.iter().enumerate() {
        check(format!("count {at}"), lie);
    }
    assert!(told >= 50, "{told} lies");
}

#[test]
fn a_body_that_many_share_is_checked_once() {
    // Each loop contains the loop before it twice: 2^18 bodies, only 19 of them distinct.
    let x = floats(&[]);
    let mut graph: Graph<Build> = Graph::new(std::slice::from_ref(&x), 0);
    let sine = graph.add(Op::Unary(Unary::Sin), &[0]);
    let mut inner = Arc::new(graph.finish(&[sine]));
    for _ in 0..18 {
        let mut graph: Graph<Build> = Graph::new(std::slice::from_ref(&x), 0);
        let mut last = 0;
        for length in [2, 3] {
            let scan = Scan { body: inner.clone(), carries: 1, inputs: 0, length, reverse: false };
            let scan = graph.add(Op::Scan(Arc::new(scan)), &[last]);
            last = graph.add(Op::Output(0), &[scan]);
        }
        inner = Arc::new(graph.finish(&[last]));
    }
    assert_eq!(inner.validate(), Ok(()));
    let checked = std::cell::Cell::new(0);
    let count = |_: &Body<Build>| {
        checked.set(checked.get() + 1);
        Ok(())
    };
    assert_eq!((inner.each(count), checked.get()), (Ok(()), 19));
}

use super::*;
use crate::array::Array;
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Value};
use crate::term::{Build, Scan};
use smallvec::smallvec;
use std::sync::Arc;

fn floats(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

fn number(x: f64) -> Op {
    Op::Constant(Array::full(&[], Value::F64(x)))
}

#[test]
fn equal_operations_on_equal_operands_are_one_node() {
    let mut graph: Graph = Graph::new(&[floats(&[]), floats(&[])], 0);
    assert_eq!(graph.len(), 2);
    let sum = graph.add(Op::Binary(Binary::Add), &[0, 1]);
    assert_eq!(graph.add(Op::Binary(Binary::Add), &[0, 1]), sum);
    let others = [
        graph.add(Op::Binary(Binary::Add), &[1, 0]),
        graph.add(Op::Binary(Binary::Sub), &[0, 1]),
        graph.add(Op::Unary(Unary::Powi(2)), &[0]),
        graph.add(Op::Unary(Unary::Powi(3)), &[0]),
    ];
    assert_eq!(others, [sum + 1, sum + 2, sum + 3, sum + 4]);
    assert_eq!(graph.len(), 7);
    assert_eq!(graph.ty(sum), &floats(&[]));
    assert_eq!(graph.node(sum).args[..], [0, 1]);
    assert!(!graph.is_empty() && Graph::<crate::term::Never>::new(&[], 0).is_empty());
}

#[test]
fn constants_are_compared_by_their_bits() {
    let mut graph: Graph = Graph::new(&[], 0);
    let zero = graph.add(number(0.0), &[]);
    assert_ne!(graph.add(number(-0.0), &[]), zero);
    let nan = graph.add(number(f64::NAN), &[]);
    assert_eq!(graph.add(number(f64::NAN), &[]), nan);
    // Nor are constants of different types equal, or of different shapes.
    assert_ne!(graph.add(Op::Constant(Array::full(&[], Value::F32(0.0))), &[]), zero);
    assert_ne!(graph.add(Op::Constant(Array::full(&[1], Value::F64(0.0))), &[]), zero);
    // Small ones are equal by their elements, large ones only if they share them.
    let list = || Array::from_vec(&[3], vec![1.0, 2.0, 3.0]);
    let small = graph.add(Op::Constant(list()), &[]);
    assert_eq!(graph.add(Op::Constant(list()), &[]), small);
    let long = || Array::from_vec(&[1000], (0..1000).map(f64::from).collect());
    let array = long();
    let large = graph.add(Op::Constant(array.clone()), &[]);
    assert_eq!(graph.add(Op::Constant(array), &[]), large);
    assert_ne!(graph.add(Op::Constant(long()), &[]), large);
}

#[test]
fn nested_bodies_are_compared_by_what_they_say() {
    let scan = || {
        let mut graph: Graph = Graph::new(&[floats(&[])], 0);
        let exp = graph.add(Op::Unary(Unary::Exp), &[0]);
        let body = Arc::new(graph.finish(&[exp, exp]));
        Op::Scan(Arc::new(Scan { body, carries: 1, inputs: 0, length: 3, reverse: false }))
    };
    let mut graph: Graph = Graph::new(&[floats(&[])], 0);
    let run = graph.add(scan(), &[0]);
    assert_eq!(graph.add(scan(), &[0]), run);
    assert_eq!(graph.node(run).types[..], [floats(&[]), floats(&[3])]);
    let stacked = graph.add(Op::Output(1), &[run]);
    let body = graph.finish(&[stacked, 0]);
    assert_eq!(body.node_count(), 3 + 2);
    assert_eq!(body.result_types().cloned().collect::<Vec<_>>(), [floats(&[3]), floats(&[])]);
    assert_eq!(body.use_counts(), [2, 1, 1]);
}

#[test]
fn what_the_results_do_not_need_goes_and_parameters_stay() {
    let mut graph: Graph = Graph::new(&[floats(&[]), floats(&[2]), floats(&[])], 1);
    let dead = graph.add(Op::Unary(Unary::Exp), &[1]);
    graph.add(Op::Unary(Unary::Neg), &[dead]);
    let sine = graph.add(Op::Unary(Unary::Sin), &[0]);
    let product = graph.add(Op::Binary(Binary::Mul), &[sine, 2]);
    let body = graph.finish(&[product, 0, product]);
    assert!(body.is_well_formed());
    assert_eq!((body.parameters, body.captures, body.arity()), (2, 1, 3));
    assert_eq!(body.nodes.len(), 5);
    assert_eq!(body.node(4).args[..], [3, 2]);
    assert_eq!(body.results, [4, 0, 4]);
    assert_eq!(body.parameter_type(1), &floats(&[2]));
    // The same program, however it came to be.
    let mut again: Graph = Graph::like(&body);
    let sine = again.add(Op::Unary(Unary::Sin), &[0]);
    let product = again.add(Op::Binary(Binary::Mul), &[sine, 2]);
    assert_eq!(again.finish(&[product, 0, product]), body);
}

#[test]
fn malformed_bodies_are_told() {
    let body = || {
        let mut graph: Graph = Graph::new(&[floats(&[])], 0);
        let exp = graph.add(Op::Unary(Unary::Exp), &[0]);
        let square = graph.add(Op::Binary(Binary::Mul), &[exp, exp]);
        graph.finish(&[square])
    };
    assert!(body().is_well_formed());
    let broken: [fn(&mut Body); 6] = [
        |body| body.nodes[1].args[0] = 2,
        |body| body.nodes[2].types[0] = floats(&[1]),
        |body| body.nodes[0].op = Op::Parameter(1),
        |body| body.results[0] = 3,
        |body| body.parameters = 2,
        |body| body.nodes[2].args = smallvec![1],
    ];
    for (at, fault) in broken.iter().enumerate() {
        let mut body = body();
        fault(&mut body);
        assert!(!body.is_well_formed(), "{at}");
    }
}

#[test]
fn a_long_chain_is_built_and_pruned_without_recursion() {
    const LENGTH: u32 = 100_000;
    let mut graph: Graph<Build> = Graph::new(&[floats(&[])], 0);
    let last = (0..LENGTH).fold(0, |node, _| {
        graph.add(Op::Unary(Unary::Neg), &[node]);
        graph.add(Op::Unary(Unary::Sin), &[node])
    });
    assert_eq!(graph.len(), 2 * LENGTH as usize + 1);
    let body = graph.finish(&[last]);
    assert_eq!(body.nodes.len(), LENGTH as usize + 1);
    assert_eq!(body.results, [LENGTH]);
}

#[test]
#[should_panic(expected = "a pass built an ill-typed node")]
fn operands_that_do_not_fit_are_a_mistake_of_a_pass() {
    let mut graph: Graph = Graph::new(&[floats(&[2]), floats(&[3])], 0);
    graph.add(Op::Binary(Binary::Add), &[0, 1]);
}

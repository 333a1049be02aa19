//! Which kernels are cut for several threads, and loops as they are written.

use super::{Cpu, Program};
use crate::concrete::Array;
use crate::operation::Unary;
use crate::shape::{DType, Shape, Type};
use crate::term::{Graph, Op, Scan};
use std::sync::Arc;

/// Whether a scatter of so many rows of this width into so many is cut.
fn is_cut(rows: usize, width: &[usize], extent: usize) -> bool {
    let updates: Shape = std::iter::once(&rows).chain(width).copied().collect();
    let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &updates), Type::new(DType::I64, &[rows])], 0);
    let sums = graph.add(Op::Scatter(Shape::from_slice(&[extent])), &[0, 1]);
    let program = Program::new(&graph.finish(&[sums]), &Cpu::default()).expect("there is memory");
    program.machine.is_parallel()
}

#[test]
fn scatters_are_cut_where_the_result_is_small_beside_the_updates() {
    assert!(is_cut(1 << 18, &[], 64));
    assert!(is_cut(1 << 15, &[35], 5));
    assert!(!is_cut(1 << 18, &[], 1 << 18));
    assert!(!is_cut(1 << 6, &[], 4));
}

#[test]
fn a_loop_of_no_steps_ends_with_what_it_begins_with() {
    let (row, none) = (Type::new(DType::F64, &[3]), Type::new(DType::F64, &[0]));
    // A step that reads nothing but its capture has fewer pointers than arguments and results.
    let mut step: Graph = Graph::new(&[row.clone(), Type::new(DType::F64, &[]), row.clone()], 1);
    let sine = step.add(Op::Unary(Unary::Sin), &[2]);
    let body = Arc::new(step.finish(&[sine]));
    let mut graph: Graph = Graph::new(&[row, none], 0);
    let scan = Scan { body, carries: 1, inputs: 1, length: 0, reverse: true };
    let repeated = graph.add(Op::Scan(Arc::new(scan)), &[0, 1, 0]);
    let last = graph.add(Op::Output(0), &[repeated]);
    let program = Program::new(&graph.finish(&[last]), &Cpu::default()).expect("there is memory");
    let first = Array::from_vec(&[3], vec![1.0, 2.0, 3.0]);
    let found = program.run(&[first.clone(), Array::from_vec(&[0], Vec::<f64>::new())]).expect("it runs");
    assert_eq!(found, [first]);
}

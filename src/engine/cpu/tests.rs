//! Which kernels are cut for several threads.

use super::{Cpu, Program};
use crate::shape::{DType, Shape, Type};
use crate::term::{Graph, Op};

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

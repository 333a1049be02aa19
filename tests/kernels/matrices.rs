//! Operations on large matrices, which several threads share: they change no bit.

use super::{bits, numbers};
use deltaray::concrete::Array;
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::operation::{MatrixOperation, Triangle};
use deltaray::shape::{DType, Type};
use deltaray::term::{Graph, NodeId, Op};

/// So many rows are enough for every operation to be cut, and no multiple of what parts are cut into.
const ROWS: usize = 220;

/// Matrices with a large diagonal, so that they have factors of all kinds.
fn matrices(shape: [usize; 3]) -> Array {
    let [count, rows, columns] = shape;
    let mut elements = numbers(count * rows * columns);
    for matrix in elements.chunks_exact_mut(rows * columns) {
        matrix.iter_mut().step_by(columns + 1).for_each(|x| *x += (rows as f64).sqrt());
    }
    Array::from_vec(&shape, elements)
}

/// Checks that all results are the same on several threads.
fn agree(shapes: &[[usize; 3]], add: impl Fn(&mut Graph) -> Vec<NodeId>) {
    let arguments: Vec<Array> = shapes.iter().map(|&shape| matrices(shape)).collect();
    let types: Vec<Type> = shapes.iter().map(|shape| Type::new(DType::F64, shape)).collect();
    let mut graph: Graph = Graph::new(&types, 0);
    let results = add(&mut graph);
    let body = graph.finish(&results);
    let on = |threads: usize| -> Vec<Vec<u64>> {
        let results = Program::new(&body, &Cpu::default().threads(threads)).unwrap().run(&arguments).unwrap();
        results.iter().map(|result| bits(&result.to_vec::<f64>().unwrap())).collect()
    };
    let alone = on(1);
    assert!(alone.iter().flatten().all(|&x| f64::from_bits(x).is_finite()));
    for threads in [2, 5] {
        for (number, (found, expected)) in on(threads).iter().zip(&alone).enumerate() {
            assert!(found == expected, "result {number} on {threads} threads");
        }
    }
}

#[test]
fn large_matrices_are_the_same_bits_on_any_number_of_threads() {
    let shapes = [[1, ROWS, ROWS], [1, ROWS, 70], [1, ROWS, 1]];
    agree(&shapes, |graph| {
        let [a, wide, one] = [0, 1, 2];
        let cholesky = graph.add(Op::Matrix(MatrixOperation::Cholesky), &[a]);
        let lu = graph.add(Op::Matrix(MatrixOperation::Lu), &[a]);
        let mut results = vec![cholesky, lu];
        let mut add = |op, arguments: &[_]| results.push(graph.add(Op::Matrix(op), arguments));
        add(MatrixOperation::CholeskyForward, &[cholesky, a]);
        add(MatrixOperation::CholeskyAdjoint, &[cholesky, a]);
        add(MatrixOperation::InversePositive, &[a, cholesky]);
        for right in [wide, one] {
            add(MatrixOperation::SolvePositive, &[a, cholesky, right]);
            add(MatrixOperation::SolveGeneral, &[a, lu, right]);
            add(MatrixOperation::SolveGeneralTransposed, &[a, lu, right]);
            add(MatrixOperation::Solve(Triangle::LOWER), &[cholesky, right]);
            add(MatrixOperation::Solve(Triangle::LOWER.transposed()), &[cholesky, right]);
        }
        results
    });
}

#[test]
fn reflections_and_rotations_are_the_same_bits_on_any_number_of_threads() {
    agree(&[[1, 150, 150], [1, 110, 110]], |graph| {
        let qr = graph.add(Op::Matrix(MatrixOperation::Qr), &[0]);
        let eigh = graph.add(Op::Matrix(MatrixOperation::Eigh), &[1]);
        let r = graph.add(Op::Matrix(MatrixOperation::QrTriangle), &[0]);
        vec![qr, r, eigh, graph.add(Op::Matrix(MatrixOperation::Svd), &[1])]
    });
}

/// Threads share matrices, or each of them.
#[test]
fn a_few_large_matrices_are_the_same_bits_on_any_number_of_threads() {
    for count in [2, 3] {
        agree(&[[count, ROWS, ROWS]], |graph| vec![graph.add(Op::Matrix(MatrixOperation::Cholesky), &[0])]);
    }
}

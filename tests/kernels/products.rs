//! Products whose results are read in another order than they have, against the same programs on plain arrays.

use super::{close, numbers};
use deltaray::affine::AffineMap;
use deltaray::algebra::Contraction;
use deltaray::concrete::Array;
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::prelude::*;
use deltaray::shape::{DType, Type};
use deltaray::term::interpret::interpret;
use deltaray::term::{Body, Graph, Op};
use smallvec::SmallVec;

/// Checks that a compiled program gives the same as on plain arrays.
fn agrees(body: &Body) {
    let arguments: Vec<Array> = (0..body.arity())
        .map(|at| {
            let ty = body.parameter_type(at);
            Array::from_vec(&ty.shape, numbers(ty.size() + at).split_off(at))
        })
        .collect();
    let program = Program::new(body, &Cpu::default()).unwrap();
    let (found, expected) = (program.run(&arguments).unwrap(), interpret::<Concrete>(body, arguments));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.shape(), expected.shape());
        close(&found.to_vec::<f64>().unwrap(), &expected.to_vec::<f64>().unwrap());
    }
}

fn graph(shapes: &[&[usize]]) -> Graph {
    let types: Vec<Type> = shapes.iter().map(|shape| Type::new(DType::F64, shape)).collect();
    Graph::new(&types, 0)
}

fn read(source: &[usize], result: &[usize], rows: &[&[i64]], offsets: &[i64]) -> Op {
    let rows: Vec<SmallVec<[i64; 4]>> = rows.iter().map(|row| SmallVec::from_slice(row)).collect();
    Op::View(AffineMap::new(source, result, &rows, offsets))
}

/// Windows of a product, with zeros around it and channels innermost, are the operand of another one. All axes have the same
/// extent, so that nothing but the elements tells one from the other.
#[test]
fn a_product_reads_windows_of_a_product_whose_axes_change_places() {
    let mut graph = graph(&[&[16, 16], &[16, 16], &[5, 16, 4]]);
    let inner = graph.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[0, 1]);
    let windows = read(&[16, 16], &[16, 5, 16], &[&[0, 0, 1], &[1, 1, 0]], &[0, -2]);
    let windows = graph.add(windows, &[inner]);
    let outer = graph.add(Op::Contract(Contraction::new(&[0, 1, 2], &[1, 2, 3], &[0, 3])), &[windows, 2]);
    agrees(&graph.finish(&[outer]));
}

/// An axis of one position stays where the reader looks for it.
#[test]
fn a_product_with_axes_of_one_position_is_read_in_another_order() {
    for at in 0..3 {
        let (mut shape, mut labels) = (vec![16, 17], vec![1, 3]);
        shape.insert(at, 1);
        labels.insert(at, 0);
        let mut graph = graph(&[&[1, 16, 18], &[18, 1, 17]]);
        let product = graph.add(Op::Contract(Contraction::new(&[0, 1, 2], &[2, 0, 3], &labels)), &[0, 1]);
        let mut rows: Vec<&[i64]> = vec![&[0, -1], &[1, 0]];
        rows.insert(at, &[0, 0]);
        let mut offsets = vec![15, 0];
        offsets.insert(at, 0);
        let view = graph.add(read(&shape, &[17, 16], &rows, &offsets), &[product]);
        agrees(&graph.finish(&[view]));
    }
}

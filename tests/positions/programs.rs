//! Programs full of maps, whose numbers are changed.

use deltaray::affine::AffineMap;
use deltaray::algebra::{Contraction, Extreme, Order, Reduction};
use deltaray::concrete::Array;
use deltaray::export::Program;
use deltaray::operation::{Binary, Unary};
use deltaray::shape::{Axes, DType, Shape, Type, Value};
use deltaray::term::{Graph, NodeId, Op, Scan};
use smallvec::SmallVec;
use std::sync::Arc;

/// The map of these rows and offsets.
fn map(source: &[usize], result: &[usize], rows: &[&[i64]], offsets: &[i64]) -> AffineMap {
    let rows: Vec<SmallVec<[i64; 4]>> = rows.iter().map(|&row| row.into()).collect();
    AffineMap::new(source, result, &rows, offsets)
}

fn view(source: &[usize], result: &[usize], rows: &[&[i64]], offsets: &[i64]) -> Op {
    Op::View(map(source, result, rows, offsets))
}

fn program(parameters: &[&[usize]], write: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Program {
    let types: Vec<Type> = parameters.iter().map(|shape| Type::new(DType::F64, shape)).collect();
    let mut graph = Graph::new(&types, 0);
    let results = write(&mut graph);
    Program::new("far", graph.finish(&results))
}

/// A loop whose outputs, five rows of three, are read by a map.
fn scan() -> Program {
    program(&[&[3], &[5, 3]], |graph| {
        let row = Type::new(DType::F64, &[3]);
        let mut step: Graph = Graph::new(&[row.clone(), row], 0);
        let sum = step.add(Op::Binary(Binary::Add), &[0, 1]);
        let turned = step.add(view(&[3], &[3], &[&[-1]], &[2]), &[sum]);
        let body = Arc::new(step.finish(&[turned, sum]));
        let scan = Scan { body, carries: 1, inputs: 1, length: 5, reverse: false };
        let outputs = graph.add(Op::Scan(Arc::new(scan)), &[0, 1]);
        let (last, rows) = (graph.add(Op::Output(0), &[outputs]), graph.add(Op::Output(1), &[outputs]));
        let read = graph.add(view(&[5, 3], &[4], &[&[1], &[-1]], &[0, 3]), &[rows]);
        vec![graph.add(view(&[3], &[2], &[&[2]], &[-1]), &[last]), graph.add(Op::Unary(Unary::Sin), &[read])]
    })
}

/// A loop that reads no slices, so that it may have any number of steps.
fn counted() -> Program {
    program(&[&[3]], |graph| {
        let mut step: Graph = Graph::new(&[Type::new(DType::F64, &[3])], 0);
        let sine = step.add(Op::Unary(Unary::Sin), &[0]);
        let body = Arc::new(step.finish(&[sine]));
        let scan = Scan { body, carries: 1, inputs: 0, length: 5, reverse: true };
        let outputs = graph.add(Op::Scan(Arc::new(scan)), &[0]);
        let last = graph.add(Op::Output(0), &[outputs]);
        vec![graph.add(view(&[3], &[4], &[&[-1]], &[2]), &[last])]
    })
}

/// Arrays of no elements, whose other extents may be any.
fn empty() -> Program {
    program(&[&[0, 7]], |graph| {
        let largest = graph.add(Op::ArgReduce(Extreme::Max, 1), &[0]);
        let order = graph.add(Op::ArgSort(Order::Ascending, 1), &[0]);
        let flat = graph.add(Op::Reshape(Shape::from_slice(&[7, 0])), &[order]);
        let turned = graph.add(view(&[7, 0], &[0, 7], &[&[0, 1], &[1, 0]], &[0, 0]), &[flat]);
        let sum = graph.add(Op::Reduce(Reduction::Sum, all_axes(2)), &[0]);
        let read = graph.add(view(&[0, 7], &[3], &[&[1], &[1]], &[0, 2]), &[0]);
        let joined = graph.add(Op::Concatenate(1), &[0, 0]);
        vec![largest, turned, sum, read, joined]
    })
}

/// Reads and additions of no elements, at positions some of which would be far outside.
fn nothing_far() -> Program {
    program(&[&[17, 0], &[17, 17, 0]], |graph| {
        let added = graph.add(Op::Accumulate(map(&[3], &[17, 0], &[&[1 << 57, 0]], &[0])), &[0]);
        let crossed = [&[-1, -4294967295, 0][..], &[(1 << 57) + 1, 2, 1]];
        let crossed = graph.add(Op::Accumulate(map(&[1, 0], &[17, 17, 0], &crossed, &[2, 2])), &[1]);
        let read = graph.add(view(&[3], &[17, 0], &[&[1 << 57, 0]], &[0]), &[added]);
        let sine = graph.add(Op::Unary(Unary::Sin), &[added]);
        vec![sine, crossed, graph.add(Op::Reduce(Reduction::Max, all_axes(2)), &[read])]
    })
}

/// Empty arrays whose other extent is so large that nobody makes a list of its positions.
fn long_and_empty() -> Program {
    const LONG: usize = 1 << 57;
    program(&[&[LONG, 0], &[0, LONG]], |graph| {
        let sine = graph.add(Op::Unary(Unary::Sin), &[0]);
        let turned = graph.add(view(&[LONG, 0], &[0, LONG], &[&[0, 1], &[1, 0]], &[0, 0]), &[sine]);
        let joined = graph.add(Op::Concatenate(1), &[turned, 1]);
        let sum = graph.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[0])), &[sine]);
        let product = graph.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[turned, sine]);
        let number = graph.add(Op::Contract(Contraction::new(&[0, 1], &[1, 0], &[])), &[sine, 1]);
        vec![joined, sum, product, number]
    })
}

/// Gathers and scatters at positions that come again and again, of arrays that are counted and never made.
fn periodic() -> Program {
    program(&[&[5]], |graph| {
        let read = |graph: &mut Graph, op: Binary, by: i64| {
            let counting = graph.add(Op::Iota(17), &[]);
            let by = graph.add(Op::Constant(Array::full(&[17], Value::I64(by))), &[]);
            let positions = graph.add(Op::Binary(op), &[counting, by]);
            let read = graph.add(Op::Gather, &[0, positions]);
            let added = graph.add(Op::Scatter(Shape::from_slice(&[13])), &[read, positions]);
            [read, added].map(|many| graph.add(Op::Reduce(Reduction::Sum, all_axes(1)), &[many]))
        };
        [read(graph, Binary::Rem, 4), read(graph, Binary::Quot, 4)].concat()
    })
}

fn all_axes(rank: usize) -> Axes {
    (0..rank).collect()
}

/// The programs.
pub fn all() -> Vec<Program> {
    vec![
        program(&[&[4, 3]], |graph| {
            let read = graph.add(view(&[4, 3], &[2], &[&[1], &[1]], &[0, 0]), &[0]);
            vec![graph.add(Op::Unary(Unary::Sin), &[read])]
        }),
        // Reads of reads, each partly outside.
        program(&[&[4, 3]], |graph| {
            let read = graph.add(view(&[4, 3], &[3, 4], &[&[1, 1], &[0, -1]], &[-1, 2]), &[0]);
            let again = graph.add(view(&[3, 4], &[5], &[&[1], &[-1]], &[-1, 4]), &[read]);
            let flat = graph.add(Op::Reshape(Shape::from_slice(&[12])), &[read]);
            let part = graph.add(view(&[12], &[2, 3], &[&[5, 2]], &[-1]), &[flat]);
            vec![again, graph.add(Op::Unary(Unary::Exp), &[part])]
        }),
        // Additions at positions, and reads of these.
        program(&[&[2, 3]], |graph| {
            let sum = graph.add(Op::Accumulate(map(&[4, 2], &[2, 3], &[&[1, 1], &[1, -1]], &[0, 1])), &[0]);
            let read = graph.add(view(&[4, 2], &[3], &[&[-1], &[1]], &[3, 0]), &[sum]);
            let shifted = graph.add(Op::Accumulate(map(&[5], &[2, 3], &[&[3, 1]], &[-1])), &[0]);
            vec![read, graph.add(Op::Unary(Unary::Cos), &[shifted])]
        }),
        // A sum of neighbours beyond the ends, and of slices.
        program(&[&[6]], |graph| {
            let before = graph.add(view(&[6], &[6], &[&[1]], &[-1]), &[0]);
            let after = graph.add(view(&[6], &[6], &[&[1]], &[1]), &[0]);
            let every = graph.add(view(&[6], &[3], &[&[2]], &[1]), &[0]);
            let spread = graph.add(Op::Accumulate(map(&[6], &[3], &[&[2]], &[0])), &[every]);
            let sum = graph.add(Op::Binary(Binary::Add), &[before, after]);
            let sum = graph.add(Op::Binary(Binary::Add), &[sum, spread]);
            vec![graph.add(Op::Concatenate(0), &[sum, every])]
        }),
        // Windows of a product, and a product of windows that is large enough to be one of matrices.
        program(&[&[20], &[16, 16]], |graph| {
            let windows = graph.add(view(&[20], &[16, 16], &[&[1, 1]], &[-3]), &[0]);
            let product = graph.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[windows, 1]);
            let band = graph.add(view(&[16, 16], &[16, 3], &[&[1, 0], &[1, 1]], &[0, -1]), &[product]);
            vec![graph.add(Op::Reduce(Reduction::Sum, all_axes(1)), &[band])]
        }),
        program(&[&[3, 4], &[4, 2]], |graph| {
            let product = graph.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[0, 1]);
            let slanted = graph.add(view(&[3, 2], &[4, 3], &[&[1, -1], &[0, 1]], &[0, -1]), &[product]);
            let maximum = graph.add(Op::Reduce(Reduction::Max, all_axes(1)), &[slanted]);
            vec![graph.add(Op::Reduce(Reduction::Sum, all_axes(2)), &[slanted]), maximum]
        }),
        // Computed positions: of maps of counting, and added at.
        program(&[&[7]], |graph| {
            let counting = graph.add(Op::Iota(9), &[]);
            let positions = graph.add(view(&[9], &[3, 2], &[&[3, -1]], &[1]), &[counting]);
            let read = graph.add(Op::Gather, &[0, positions]);
            let written = graph.add(Op::Scatter(Shape::from_slice(&[8])), &[read, positions]);
            let numbers = graph.add(Op::Cast(DType::F64), &[positions]);
            let sum = graph.add(Op::Binary(Binary::Mul), &[read, numbers]);
            vec![written, sum]
        }),
        scan(),
        counted(),
        empty(),
        nothing_far(),
        long_and_empty(),
        periodic(),
    ]
}

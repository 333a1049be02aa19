//! Short rows: the number of instructions that run for them, and results that equal those of plain arrays, bit for bit.

use super::{DTYPES, contents, executions_of, some};
use crate::affine::AffineMap;
use crate::engine::cpu::order::layout;
use crate::engine::cpu::{Cpu, Program};
use crate::evaluate::run;
use crate::kernel::{Step, lower};
use crate::operation::{Binary, Comparison, Contraction, Reduction, Unary};
use crate::shape::{DType, Type};
use crate::term::{Body, Graph, Op, Scan};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// The most instructions for so many elements: a few for each tile.
fn most(elements: usize) -> usize {
    4 * elements.div_ceil(512) + 4
}

/// Views of this shape: the source, the coefficients, and the offset.
fn views(rows: usize, columns: usize) -> Vec<AffineMap> {
    let shape = [rows, columns];
    let (last_row, last_column) = (rows as i64 - 1, columns as i64 - 1);
    let of = |source: &[usize], matrix: &[SmallVec<[i64; 4]>], offset: &[i64]| {
        AffineMap::new(source, &shape, matrix, offset)
    };
    vec![
        of(&[columns], &[smallvec![0, 1]], &[0]),
        of(&[columns], &[smallvec![0, -1]], &[last_column]),
        of(&[rows], &[smallvec![1, 0]], &[0]),
        of(&[rows], &[smallvec![-1, 0]], &[last_row]),
        of(&shape, &[smallvec![-1, 0], smallvec![0, 1]], &[last_row, 0]),
        of(&shape, &[smallvec![1, 0], smallvec![0, -1]], &[0, last_column]),
        of(&[2 * rows, columns], &[smallvec![2, 0], smallvec![0, 1]], &[1, 0]),
        of(&[rows, columns + 1], &[smallvec![1, 0], smallvec![0, 1]], &[0, 1]),
        of(&[rows, 2 * columns], &[smallvec![1, 0], smallvec![0, 2]], &[0, 1]),
    ]
}

#[test]
fn rows_that_begin_elsewhere_are_read_tile_by_tile() {
    for dtype in DTYPES {
        for [rows, columns] in [[1000, 3], [334, 10], [100, 31], [20, 7]] {
            for map in views(rows, columns) {
                let source = some(dtype, map.source());
                let mut graph: Graph = Graph::new(&[source.ty()], 0);
                let view = graph.add(Op::View(map.clone()), &[0]);
                let count = executions_of(&graph.finish(&[view]), std::slice::from_ref(&source));
                assert!(
                    count <= most(rows * columns),
                    "{count} instructions for {dtype:?} {rows} × {columns}: {map:?}"
                );
                // Values computed with them in the same nest, and in place.
                let x = some(dtype, &[rows, columns]);
                let mut graph: Graph = Graph::new(&[source.ty(), x.ty()], 0);
                let view = graph.add(Op::View(map.clone()), &[0]);
                let less = graph.add(Op::Compare(Comparison::Less), &[1, view]);
                let chosen = graph.add(Op::Select, &[less, view, 1]);
                let count = executions_of(&graph.finish(&[less, chosen]), &[source, x]);
                assert!(count <= 2 * most(rows * columns), "{count} for {dtype:?} {rows} × {columns}: {map:?}");
            }
        }
    }
}

#[test]
fn rows_that_begin_elsewhere_are_written_tile_by_tile() {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
        for [rows, columns] in [[334, 10], [100, 31]] {
            let x = some(dtype, &[rows, columns]);
            let mut graph: Graph = Graph::new(&[x.ty(), x.ty()], 0);
            let sum = graph.add(Op::Binary(Binary::Add), &[0, 1]);
            let negative = graph.add(Op::Unary(Unary::Neg), &[1]);
            let both = graph.add(Op::Concatenate(1), &[sum, negative, 0]);
            let count = executions_of(&graph.finish(&[both]), &[x.clone(), x]);
            assert!(count <= 3 * most(rows * columns), "{count} instructions for {dtype:?} {rows} × {columns}");
        }
    }
}

/// A loop over rows whose step makes the next row of the row before and of an input's; it results in the last row and in all
/// rows.
fn repeated(
    dtype: DType,
    [length, width]: [usize; 2],
    reverse: bool,
    step: impl FnOnce(&mut Graph) -> Vec<u32>,
) -> Body {
    let (row, rows) = (Type::new(dtype, &[width]), Type::new(dtype, &[length, width]));
    let mut graph: Graph = Graph::new(&[row.clone(), row.clone()], 0);
    let results = step(&mut graph);
    let outputs = results.len();
    let body = Arc::new(graph.finish(&results));
    let mut graph: Graph = Graph::new(&[row, rows], 0);
    let scan = Scan { body, carries: 1, inputs: 1, length, reverse };
    let all = graph.add(Op::Scan(Arc::new(scan)), &[0, 1]);
    let outputs: Vec<u32> = (0..outputs).map(|output| graph.add(Op::Output(output), &[all])).collect();
    graph.finish(&outputs)
}

#[test]
fn running_totals_of_rows_are_one_instruction_for_many() {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
        for op in [Binary::Add, Binary::Mul, Binary::Max, Binary::Min] {
            for [length, width] in [[700, 2], [700, 3], [200, 8], [201, 10], [41, 60], [3, 64], [0, 3], [1, 7]] {
                for reverse in [false, true] {
                    let arguments = [some(dtype, &[width]), some(dtype, &[length, width])];
                    let total = |graph: &mut Graph| {
                        let next = graph.add(Op::Binary(op), &[0, 1]);
                        vec![next, next]
                    };
                    let body = repeated(dtype, [length, width], reverse, total);
                    let count = executions_of(&body, &arguments);
                    let blocks = length.div_ceil(512 / width);
                    assert!(count <= blocks, "{count} instructions for {dtype:?} {length} × {width}");
                    let program = Program::new(&body, &Cpu::default()).expect("there is memory");
                    assert!(program.machine.scalars().is_empty(), "an instruction for each number");
                }
            }
        }
    }
}

#[test]
fn recurrences_of_rows_are_those_of_plain_arrays() {
    for dtype in [DType::F32, DType::F64, DType::I64] {
        for [length, width] in [[300, 3], [60, 20]] {
            for reverse in [false, true] {
                // The state before the step, one in between, and values computed of both and of only the input.
                let step = |graph: &mut Graph| {
                    let twice = graph.add(Op::Binary(Binary::Add), &[1, 1]);
                    let least = graph.add(Op::Binary(Binary::Min), &[0, twice]);
                    let next = graph.add(Op::Binary(Binary::Max), &[least, 1]);
                    let difference = graph.add(Op::Binary(Binary::Sub), &[next, 0]);
                    vec![next, 0, least, difference, twice, 1]
                };
                let arguments = [some(dtype, &[width]), some(dtype, &[length, width])];
                let body = repeated(dtype, [length, width], reverse, step);
                let count = executions_of(&body, &arguments);
                assert!(count <= 3 * length.div_ceil(512 / width), "{count} instructions for {length} × {width}");
            }
        }
    }
    // A step that is more than that of a recurrence.
    let step = |graph: &mut Graph| {
        let square = graph.add(Op::Binary(Binary::Mul), &[0, 0]);
        let next = graph.add(Op::Binary(Binary::Sub), &[1, square]);
        vec![next, next]
    };
    let arguments = [some(DType::I64, &[20]), some(DType::I64, &[9, 20])];
    let body = repeated(DType::I64, [9, 20], false, step);
    let program = Program::new(&body, &Cpu::default()).expect("there is memory");
    let found = program.run(&arguments).expect("there is memory");
    assert!(contents(&found) == contents(&run(&body, arguments.to_vec()).expect("there is memory")));
}

#[test]
fn rows_that_chunks_share_are_one_instruction_for_a_chunk() {
    for dtype in [DType::F32, DType::F64, DType::I64] {
        // A prime number of rows is cut into parts; the last is smaller.
        for [rows, columns] in [[30_000, 40], [26_669, 41], [40_000, 33], [257, 5000]] {
            let a = some(dtype, &[rows, columns]);
            for axis in [0, 1] {
                let mut graph: Graph = Graph::new(&[a.ty()], 0);
                let sums = graph.add(Op::Reduce(Reduction::Max, smallvec![axis]), &[0]);
                let body = graph.finish(&[sums]);
                let count = executions_of(&body, std::slice::from_ref(&a));
                assert!(count <= 256, "{count} instructions for {dtype:?} {rows} × {columns} along {axis}");
                let all = Program::new(&body, &Cpu::default().threads(3)).expect("there is memory");
                let found = all.run(std::slice::from_ref(&a)).expect("there is memory");
                assert!(contents(&found) == contents(&run(&body, vec![a.clone()]).expect("there is memory")));
            }
        }
    }
}

#[test]
fn short_rows_of_what_is_computed_are_reduced_tile_by_tile() {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
        for op in [Reduction::Sum, Reduction::Max, Reduction::Min] {
            for shape in [[100, 8, 16], [7, 90, 30], [300, 2, 33], [1001, 3, 20], [200, 50, 9]] {
                let arguments = [some(dtype, &shape), some(dtype, &shape[2..])];
                for axes in [&[1][..], &[2], &[0, 1], &[0, 2]] {
                    let mut graph: Graph = Graph::new(&[arguments[0].ty(), arguments[1].ty()], 0);
                    let size = graph.add(Op::Unary(Unary::Abs), &[0]);
                    let factor = graph.add(Op::View(AffineMap::broadcast(&shape[2..], &shape, &[2])), &[1]);
                    let least = graph.add(Op::Binary(Binary::Min), &[size, factor]);
                    let reduced = graph.add(Op::Reduce(op, axes.into()), &[least]);
                    let body = graph.finish(&[reduced]);
                    let count = executions_of(&body, &arguments);
                    let elements: usize = shape.iter().product();
                    assert!(
                        count <= 5 * elements.div_ceil(64),
                        "{count} instructions for {op:?} of {dtype:?} {shape:?} along {axes:?}"
                    );
                    let all = Program::new(&body, &Cpu::default().threads(3)).expect("there is memory");
                    let found = all.run(&arguments).expect("there is memory");
                    assert!(contents(&found) == contents(&run(&body, arguments.to_vec()).expect("there is memory")));
                }
            }
        }
    }
}

/// Sums over the rows of products: of two matrices, and of a vector and a matrix.
#[test]
fn products_of_rows_are_summed_in_one_instruction_for_many() {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
        for [rows, columns] in [[8000, 2], [8000, 5], [999, 16], [333, 31], [100, 64], [50, 700], [3001, 513]] {
            let (matrix, vector) = (some(dtype, &[rows, columns]), some(dtype, &[rows]));
            for (left, labels) in [(&matrix, &[0, 1][..]), (&vector, &[0])] {
                let mut graph: Graph = Graph::new(&[left.ty(), matrix.ty()], 0);
                graph.add(Op::Contract(Contraction::new(labels, &[0, 1], &[1])), &[0, 1]);
                let body = graph.finish(&[2]);
                let arguments = [left.clone(), matrix.clone()];
                let count = executions_of(&body, &arguments);
                assert!(count <= 64, "{count} instructions for {dtype:?} {rows} × {columns} by {labels:?}");
                let all = Program::new(&body, &Cpu::default().threads(3)).expect("there is memory");
                let alone = Program::new(&body, &Cpu::default().threads(1)).expect("there is memory");
                let [all, alone] = [all, alone].map(|program| program.run(&arguments).expect("there is memory"));
                assert!(contents(&all) == contents(&alone), "threads change the sums of {rows} × {columns}");
            }
        }
    }
}

/// Threads share rows that are combined, and not pieces of the columns, each of which would span all rows.
#[test]
fn combined_rows_are_read_in_their_order() {
    for [rows, columns] in [[3000, 513], [1000, 5000], [100, 30_000]] {
        let matrix = Type::new(DType::F32, &[rows, columns]);
        let mut graph: Graph = Graph::new(&[matrix.clone(), matrix], 0);
        let sum = graph.add(Op::Binary(Binary::Add), &[0, 1]);
        let total = graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[sum]);
        let procedure = lower(&graph.finish(&[total]));
        let Step::Nest(nest) = &procedure.steps[0] else { panic!("no nest") };
        let layout = layout(nest, true);
        assert_eq!((&layout.extents[..], layout.vector), (&[rows, columns][..], 1));
    }
}

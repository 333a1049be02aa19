//! Short rows: how many instructions run for them, and that results are those of plain arrays, bit for bit.

use super::{contents, executions_of, some};
use crate::concrete::run;
use crate::engine::cpu::{Cpu, Program};
use crate::operation::Binary;
use crate::shape::{DType, Type};
use crate::term::{Body, Graph, Op, Scan};
use std::sync::Arc;

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
                // The state before the step, one in between, and what is computed of both and of nothing but the input.
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

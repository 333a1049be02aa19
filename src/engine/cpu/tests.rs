//! How many instructions run, which kernels are cut for several threads, and loops as they are written.

mod edges;
mod rows;
mod stretch;

use super::assemble::assemble;
use super::code::Base;
use super::order::layout;
use super::split::NestSplit;
use super::target::Target;
use super::transpose::transposed;
use super::{Cpu, Program};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::evaluate::{run, run_counted};
use crate::kernel::{BufferSource, Step, lower};
use crate::operation::{Binary, Comparison, Contraction, Reduction, Unary};
use crate::shape::{DType, Shape, Type, Value};
use crate::term::schedule::Counts;
use crate::term::{Body, Checkpoints, Graph, Op, Scan, Steps, Sweep, Sweeps};
use smallvec::smallvec;
use std::collections::HashSet;
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

/// Each pointer of a chunk states which part of which sum it belongs to: many sums need no lookup.
#[test]
fn pointers_to_the_parts_of_sums_name_them() {
    let (length, sums) = (1 << 17, 40);
    let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[length])], 0);
    let results: Vec<_> = (0..sums)
        .map(|at| {
            let factor = graph.add(Op::Constant(Array::full(&[length], Value::F64(f64::from(at)))), &[]);
            let product = graph.add(Op::Binary(Binary::Mul), &[0, factor]);
            graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[product])
        })
        .collect();
    let body = graph.finish(&results);
    let procedure = lower(&body);
    let Step::Nest(nest) = &procedure.steps[0] else { panic!("no nest") };
    let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
    let code = assemble(Target::kernels(), nest, &types, true);
    assert!(code.split.chunks > 1 && code.split.partials.len() == sums as usize);
    let partials: HashSet<u32> = code
        .slots
        .iter()
        .filter_map(|slot| match slot {
            Base::Partial(position, _) => Some(*position),
            _ => None,
        })
        .collect();
    assert_eq!(partials.len(), sums as usize);
    let is_sum = |id: u32| code.split.partials.iter().any(|partial| partial.buffer == id);
    assert!(code.slots.iter().all(|slot| !matches!(slot, Base::Buffer(id, _) if is_sum(*id))));
    let elements = Array::from_vec(&[length], (0..length).map(|k| k as f64 / length as f64).collect());
    let program = Program::new(&body, &Cpu::default()).expect("there is memory");
    let found = program.run(&[elements]).expect("there is memory");
    let sum = (length as f64 - 1.0) / 2.0;
    assert!(found.iter().zip(0..).all(|(found, at)| (found.element(0).to_f64() - f64::from(at) * sum).abs() < 1e-6));
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

/// Arrays that are too large for instructions on registers: the carries of a loop. One array is an output as it was before the
/// step, one twice, and one is both the other's next value and an output.
#[test]
fn carries_that_are_outputs_are_those_before_each_step() {
    let n = 3000;
    let row = Type::new(DType::F64, &[n]);
    for (length, reverse) in (1..5).flat_map(|length| [(length, false), (length, true)]) {
        let mut step: Graph = Graph::new(&[row.clone(), row.clone(), row.clone()], 0);
        let half = step.add(Op::Constant(Array::full(&[n], Value::F64(0.5))), &[]);
        let product = step.add(Op::Binary(Binary::Mul), &[0, half]);
        let sum = step.add(Op::Binary(Binary::Add), &[product, 2]);
        // The second carry gets the old value of the first.
        let body = Arc::new(step.finish(&[sum, 0, 0, 1, 0]));
        let inputs = Type::new(DType::F64, &[length, n]);
        let mut graph: Graph = Graph::new(&[row.clone(), row.clone(), inputs], 0);
        let scan = graph.add(Op::Scan(Arc::new(Scan { body, carries: 2, inputs: 1, length, reverse })), &[0, 1, 2]);
        let outputs: Vec<_> = (0..5).map(|position| graph.add(Op::Output(position), &[scan])).collect();
        let body = graph.finish(&outputs);
        let arguments = [some(DType::F64, &[n]), some(DType::F64, &[n]), some(DType::F64, &[length, n])];
        let expected = run(&body, arguments.to_vec()).expect("there is memory");
        let program = Program::new(&body, &Cpu::default()).expect("there is memory");
        for _ in 0..2 {
            let found = program.run(&arguments).expect("there is memory");
            for (result, ((_, found), (_, expected))) in contents(&found).iter().zip(contents(&expected)).enumerate() {
                let differs = (0..expected.len()).find(|&at| found[at] != expected[at]);
                assert_eq!(differs, None, "result {result} of {length} steps, {reverse}: {found:?}");
            }
        }
    }
}

#[test]
fn small_matrices_are_laid_out_with_their_batch_innermost() {
    // Powers of 100 matrices of four rows and columns, and of one, which stays the same.
    let layout = |batch: usize| {
        let matrices = Type::new(DType::F64, &[batch, 4, 4]);
        let mut graph: Graph = Graph::new(&[matrices], 0);
        let product = Op::Contract(Contraction::new(&[0, 1, 2], &[0, 2, 3], &[0, 1, 3]));
        let square = graph.add(product.clone(), &[0, 0]);
        let fourth = graph.add(product.clone(), &[square, square]);
        let eighth = graph.add(product, &[fourth, fourth]);
        let procedure = lower(&graph.finish(&[eighth]));
        let laid_out = transposed(&procedure, true);
        let own = laid_out.buffers.iter().filter(|buffer| matches!(buffer.source, BufferSource::Local));
        own.map(|buffer| buffer.ty.shape.to_vec()).collect::<Vec<Vec<usize>>>()
    };
    // Results are those of the program.
    assert_eq!(layout(100), [vec![16, 100], vec![16, 100], vec![100, 4, 4]]);
    assert_eq!(layout(1), [[1, 4, 4]; 3]);
}

/// `x ← sin x`, which keeps `x`, and with it the transpose `y ← y cos x`, while x > 0.05.
fn sines(checkpoints: Checkpoints) -> Sweeps {
    let number = || Type::scalar(DType::F64);
    let mut forward: Graph = Graph::new(&[number()], 0);
    let sine = forward.add(Op::Unary(Unary::Sin), &[0]);
    let mut backward: Graph = Graph::new(&[number(), number()], 0);
    let cosine = backward.add(Op::Unary(Unary::Cos), &[1]);
    let product = backward.add(Op::Binary(Binary::Mul), &[0, cosine]);
    let mut condition: Graph = Graph::new(&[number()], 0);
    let bound = condition.add(Op::Constant(Array::full(&[], Value::F64(0.05))), &[]);
    let holds = condition.add(Op::Compare(Comparison::Greater), &[0, bound]);
    // The sine is kept too, and never read.
    let forward = Arc::new(forward.finish(&[sine, sine, 0]));
    let sweeps = vec![
        Sweep { body: forward, carries: 1, inputs: 0, reads: vec![], keeps: 2 },
        Sweep { body: Arc::new(backward.finish(&[product])), carries: 1, inputs: 0, reads: vec![(0, 1)], keeps: 0 },
    ];
    Sweeps { steps: Steps::While(Arc::new(condition.finish(&[holds]))), sweeps, reverse: false, checkpoints }
}

/// The results and counts of a compiled loop, in two runs.
fn go(sweeps: &Sweeps, starts: &[Array]) -> [(Vec<Array>, Counts); 2] {
    let types: Vec<Type> = starts.iter().map(Array::ty).collect();
    let mut graph: Graph = Graph::new(&types, 0);
    let whole = graph.add(Op::Sweeps(Arc::new(sweeps.clone())), &[0, 1]);
    let outputs: Vec<_> = (0..2).map(|position| graph.add(Op::Output(position), &[whole])).collect();
    let program = Program::new(&graph.finish(&outputs), &Cpu::default()).expect("there is memory");
    [(); 2].map(|()| {
        let results = program.run(starts).expect("there is memory");
        let state = program.idle.lock().expect("no panics").pop().expect("the memory of the run");
        let counts = state.counts();
        program.idle.lock().expect("no panics").push(state);
        (results, counts)
    })
}

#[test]
fn loops_run_the_steps_that_plain_arrays_run() {
    let start = |x| Array::full(&[], Value::F64(x));
    // Until the condition holds no more.
    let starts = |x| [start(x), start(1.0)];
    for x in [0.9, 0.0501, 0.01] {
        for checkpoints in [
            Checkpoints::All,
            Checkpoints::Every(1),
            Checkpoints::Every(10),
            Checkpoints::Every(1000),
            Checkpoints::Snapshots(5),
            Checkpoints::Snapshots(40),
            Checkpoints::Bytes(1 << 30),
        ] {
            let sweeps = sines(checkpoints);
            let (expected, counts) = run_counted(run, &sweeps, starts(x).to_vec()).expect("there is memory");
            for (found, done) in go(&sweeps, &starts(x)) {
                for (found, expected) in found.iter().zip(&expected) {
                    let [found, expected] = [found, expected].map(|array| array.element(0).to_f64());
                    assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{checkpoints:?}: {found} {expected}");
                }
                assert_eq!(done, counts, "{checkpoints:?}");
            }
        }
    }
}

/// As [`go`], where the second sweep begins with the last state of a loop over the first one's steps, which is a result too.
fn go_on(sweeps: &Sweeps, start: &Array) -> (Vec<Array>, Counts) {
    let first = &sweeps.sweeps[0];
    let alone = Sweep {
        body: Arc::new(Body { results: first.body.results[..1].to_vec(), ..Body::clone(&first.body) }),
        keeps: 0,
        ..first.clone()
    };
    let alone = Sweeps { sweeps: vec![alone], ..sweeps.clone() };
    let mut graph: Graph = Graph::new(&[start.ty()], 0);
    let before = graph.add(Op::Sweeps(Arc::new(alone)), &[0]);
    let last = graph.add(Op::Output(0), &[before]);
    let whole = graph.add(Op::Sweeps(Arc::new(sweeps.clone())), &[0, last]);
    let result = graph.add(Op::Output(1), &[whole]);
    let program = Program::new(&graph.finish(&[last, result]), &Cpu::default()).expect("there is memory");
    let results = program.run(std::slice::from_ref(start)).expect("there is memory");
    let state = program.idle.lock().expect("no panics").pop().expect("the memory of the run");
    assert_eq!(program.machine.loops(), 1, "the steps of the loop before are run by the other");
    (results, state.counts())
}

#[test]
fn first_sweeps_are_run_once() {
    for checkpoints in [
        Checkpoints::All,
        Checkpoints::Every(10),
        Checkpoints::Snapshots(5),
        Checkpoints::Bytes(1 << 30),
        Checkpoints::Bytes(100),
    ] {
        let (sweeps, start) = (sines(checkpoints), Array::full(&[], Value::F64(0.9)));
        let [(expected, counts), _] = go(&sweeps, &[start.clone(), start.clone()]);
        let last = expected[0].element(0).to_f64();
        let (found, done) = go_on(&sweeps, &start);
        assert_eq!(done, counts, "{checkpoints:?}");
        // The transpose is linear: it was begun with 0.9, not with the last value.
        let [found, scaled] = [found[1].element(0).to_f64(), expected[1].element(0).to_f64() * last / 0.9];
        assert!((found - scaled).abs() <= 1e-12 * scaled.abs(), "{checkpoints:?}: {found} {scaled}");
    }
}

#[test]
fn bytes_are_those_that_are_kept() {
    let starts = [Array::full(&[], Value::F64(0.9)), Array::full(&[], Value::F64(1.0))];
    let [(expected, all), _] = go(&sines(Checkpoints::All), &starts);
    // One number of eight bytes a step.
    let bytes = 8 * all.steps;
    let [(results, counts), again] = go(&sines(Checkpoints::Bytes(bytes)), &starts);
    assert_eq!((&results, counts), (&expected, all));
    assert_eq!(again, (results, counts));
    let [(results, counts), _] = go(&sines(Checkpoints::Bytes(bytes - 1)), &starts);
    assert_eq!(results, expected);
    // The steps up to the bound in vain, those that count the steps, those in advance, and those that keep everything.
    assert!(counts.steps > 3 * all.steps && counts.steps <= 4 * all.steps, "{} of {}", counts.steps, all.steps);
}

const DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];

/// Some elements of a type, small numbers of both signs.
fn some(dtype: DType, shape: &[usize]) -> Array {
    let count = shape.iter().product::<usize>() as i64;
    let numbers: Vec<i64> = (0..count).map(|at| at * 37 % 101 - 50).collect();
    let mut graph: Graph = Graph::new(&[Type::new(DType::I64, shape)], 0);
    let cast = graph.add(Op::Cast(dtype), &[0]);
    let body = graph.finish(&[cast]);
    run(&body, vec![Array::from_vec(shape, numbers)]).expect("there is memory").remove(0)
}

/// Shapes and elements of arrays, whatever their storage.
fn contents(arrays: &[Array]) -> Vec<(Type, Vec<Value>)> {
    let of = |array: &Array| (array.ty(), (0..array.size()).map(|at| array.element(at)).collect());
    arrays.iter().map(of).collect()
}

/// How many instructions the program of one operation runs. Results must equal those of plain arrays.
fn executions(op: Op, arguments: &[Array]) -> usize {
    let types: Vec<Type> = arguments.iter().map(Array::ty).collect();
    let mut graph: Graph = Graph::new(&types, 0);
    let args: Vec<u32> = (0..arguments.len() as u32).collect();
    let result = graph.add(op.clone(), &args);
    let body = graph.finish(&[result]);
    executions_of(&body, arguments)
}

#[test]
fn rows_at_computed_positions_are_copied_whole() {
    // Outside too, on both sides.
    let positions: Vec<i64> = (0..640).map(|at| at * 7 % 34 - 2).collect();
    for dtype in DTYPES {
        for width in [&[2][..], &[3], &[10], &[3, 5], &[33], &[70]] {
            let shape: Shape = std::iter::once(&30).chain(width).copied().collect();
            let index = Array::from_vec(&[640], positions.clone());
            let count = executions(Op::Gather, &[some(dtype, &shape), index]);
            assert!(count <= 10, "{count} instructions for rows of {width:?}");
        }
    }
    // Positions of two axes, and one for all rows.
    let index = Array::from_vec(&[4, 8], positions[..32].to_vec());
    assert!(executions(Op::Gather, &[some(DType::F64, &[30, 6]), index]) <= 10);
    let index = Array::full(&[], Value::I64(3));
    assert!(executions(Op::Gather, &[some(DType::F64, &[30, 6]), index]) <= 10);
    assert!(executions(Op::Gather, &[some(DType::F64, &[30, 6]), some(DType::I64, &[0])]) <= 1);
}

/// How many instructions a program runs. Results must equal those of plain arrays.
fn executions_of(body: &Body, arguments: &[Array]) -> usize {
    let program = Program::new(body, &Cpu::default().threads(1).machine_code(false)).expect("there is memory");
    let found = program.run(arguments).expect("there is memory");
    let expected = run(body, arguments.to_vec()).expect("there is memory");
    assert!(contents(&found) == contents(&expected), "{body}");
    program.machine.executions()
}

/// Positions of rows among 30, some of them outside on both sides.
fn places(shape: &[usize]) -> Array {
    let count: usize = shape.iter().product();
    Array::from_vec(shape, (0..count as i64).map(|at| at * 7 % 34 - 2).collect())
}

#[test]
fn short_rows_at_computed_positions_are_read_and_added_to_whole() {
    for dtype in [DType::F32, DType::F64, DType::I64] {
        for width in [&[3][..], &[10], &[3, 5], &[33]] {
            for indexed in [&[640][..], &[20, 32]] {
                let rows: Shape = std::iter::once(&30).chain(width).copied().collect();
                let read: Shape = indexed.iter().chain(width).copied().collect();
                let elements = read.iter().product::<usize>();
                let arguments = [some(dtype, &rows), some(dtype, &read), places(indexed)];
                let types = arguments.each_ref().map(Array::ty);
                // Rows that are computed with in the same nest.
                let mut graph: Graph = Graph::new(&types, 0);
                let found = graph.add(Op::Gather, &[0, 2]);
                let product = graph.add(Op::Binary(Binary::Mul), &[found, 1]);
                let count = executions_of(&graph.finish(&[product]), &arguments);
                assert!(count <= 2 * elements.div_ceil(512) + 4, "{count} instructions for {dtype:?} {read:?}");
                // Sums into rows, of values that are read and of values that are computed.
                for is_computed in [false, true] {
                    let mut graph: Graph = Graph::new(&types, 0);
                    let updates = if is_computed { graph.add(Op::Unary(Unary::Neg), &[1]) } else { 1 };
                    let sums = graph.add(Op::Scatter(Shape::from_slice(&[30])), &[updates, 2]);
                    let count = executions_of(&graph.finish(&[sums]), &arguments);
                    assert!(count <= 2 * elements.div_ceil(512) + 4, "{count} for sums of {dtype:?} {read:?}");
                }
            }
        }
    }
}

#[test]
fn rows_that_chunks_share_are_added_to_as_by_one_thread() {
    let (updates, index) = (some(DType::F64, &[1 << 15, 7]), places(&[1 << 15]));
    let mut graph: Graph = Graph::new(&[updates.ty(), index.ty()], 0);
    let negative = graph.add(Op::Unary(Unary::Neg), &[0]);
    let sums = graph.add(Op::Scatter(Shape::from_slice(&[30])), &[negative, 1]);
    let body = graph.finish(&[sums]);
    let arguments = [updates, index];
    let expected = run(&body, arguments.to_vec()).expect("there is memory");
    let program = Program::new(&body, &Cpu::default()).expect("there is memory");
    assert!(program.machine.is_parallel());
    // Each chunk adds to memory of its own, since a race need not show.
    let procedure = lower(&body);
    let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
    let [Step::Nest(nest)] = &procedure.steps[..] else { panic!("one nest") };
    let layout = layout(nest, true);
    let split = NestSplit::of(nest, &layout, &types);
    assert!(layout.wrapped.is_some() && split.chunks > 1 && split.partials.len() == 1, "{layout:?}");
    // Of whole numbers, so that their order does not matter.
    assert!(contents(&program.run(&arguments).expect("there is memory")) == contents(&expected));
}

#[test]
fn an_instruction_that_is_alone_goes_over_all_elements() {
    for dtype in DTYPES {
        let a = some(dtype, &[10_003]);
        assert_eq!(executions(Op::Concatenate(0), &[a.clone(), a.clone()]), 2, "{dtype:?}");
        if dtype != DType::Bool {
            assert_eq!(executions(Op::Binary(Binary::Add), &[a.clone(), a.clone()]), 1, "{dtype:?}");
        }
        if !dtype.is_float() {
            assert_eq!(executions(Op::Reduce(Reduction::Max, smallvec![0]), &[a]), 1, "{dtype:?}");
        }
    }
}

#[test]
fn reductions_of_many_rows_and_columns_are_one_instruction() {
    for dtype in DTYPES {
        for op in [Reduction::Sum, Reduction::Max, Reduction::Min] {
            if dtype == DType::Bool && op == Reduction::Sum {
                continue;
            }
            for [rows, columns] in [[100, 100], [3, 70], [101, 67]] {
                let a = some(dtype, &[rows, columns]);
                for axis in [0, 1] {
                    let count = executions(Op::Reduce(op, smallvec![axis]), std::slice::from_ref(&a));
                    assert_eq!(count, 1, "{op:?} of {dtype:?} {rows} × {columns} along {axis}");
                }
            }
        }
    }
}

#[test]
fn products_of_integers_are_packed_as_those_of_floats_are() {
    // Rows of no other multiple than one stay with packed operands.
    let lines = |dtype: DType| {
        let types = [Type::new(dtype, &[61, 50]), Type::new(dtype, &[50, 40])];
        let mut graph: Graph = Graph::new(&types, 0);
        let product = graph.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[0, 1]);
        let program = Program::new(&graph.finish(&[product]), &Cpu::default()).expect("there is memory");
        program.machine.packing_lines().own
    };
    assert!(lines(DType::F64) > 0);
    assert_eq!(lines(DType::I64), lines(DType::F64));
    assert_eq!(lines(DType::I32), lines(DType::F32));
}

#[test]
fn results_of_one_element_are_written_out_only_where_there_is_memory() {
    let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[3])], 0);
    let map = AffineMap::new(&[3], &[1 << 10, 9], &[smallvec![0, 0]], &[2]);
    let repeated = graph.add(Op::View(map), &[0]);
    let sevens = graph.add(Op::Constant(Array::full(&[5], Value::I32(7))), &[]);
    let sine = graph.add(Op::Unary(Unary::Sin), &[0]);
    let body = graph.finish(&[repeated, sevens, sine]);
    let program = Program::new(&body, &Cpu::default()).expect("there is memory");
    let written = |ty: &Type| ty.size();
    let all: usize =
        program.procedure.results.iter().map(|&id| written(&program.procedure.buffers[id as usize].ty)).sum();
    assert_eq!(all, 1 + 1 + 3);
    let argument = Array::from_vec(&[3], vec![1.0, 2.0, 5.0]);
    let expected = run(&body, vec![argument.clone()]).expect("there is memory");
    let found = program.run(std::slice::from_ref(&argument)).expect("there is memory");
    assert!(contents(&found) == contents(&expected));
    assert_eq!(found[0].uniform(), Some(Value::F64(5.0)));
    // Into arrays with memory of their own, which they keep.
    let mut results = vec![
        Array::from_vec(&[1 << 10, 9], vec![0.0; 9 << 10]),
        Array::from_vec(&[5], vec![0i32; 5]),
        Array::zeros(&Type::new(DType::F64, &[3])),
    ];
    for _ in 0..2 {
        let mut run = program.begin();
        run.argument(&argument);
        results.iter_mut().for_each(|result| run.result(result));
        run.finish().expect("there is memory");
        assert!(contents(&results) == contents(&expected));
        assert_eq!(results[0].uniform(), None);
    }
}

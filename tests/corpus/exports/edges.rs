//! Small programs that are rare in the corpus: every operation of the table at special numbers, for every element type, and
//! affine reads, contractions, reductions, sorts, and reads and adds at positions of all kinds.

use crate::corpus::check::{Scale, compare};
use crate::corpus::prelude::*;
use crate::exported::Case;
use crate::random::chance::Random;
use crate::random::pipelines::kernels;
use deltaray::affine::AffineMap;
use deltaray::algebra::{Contraction, Extreme, Label, Order, Reduction};
use deltaray::concrete::Array;
use deltaray::export::Program;
use deltaray::operation::{BINARY_ROWS, Binary, COMPARISON_ROWS, UNARY_ROWS, Unary};
use deltaray::shape::{Axes, DType, Shape, Type, Value};
use deltaray::term::{Graph, NodeId, Op};
use smallvec::{SmallVec, smallvec};
use std::sync::OnceLock;

const DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];

/// Numbers at which operations have something to decide.
const FLOATS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    2.0,
    3.0,
    -3.0,
    -3.7,
    7.25,
    20.0,
    -20.0,
    1e-20,
    3e9,
    -1e19,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];
const INTEGERS: [i64; 17] =
    [0, 1, -1, 2, -2, 3, -3, 7, -7, 31, 32, 63, 64, i32::MAX as i64, i32::MIN as i64, i64::MAX, i64::MIN];

/// Special elements of a type, as an array of one axis.
fn special(dtype: DType) -> Array {
    match dtype {
        DType::F32 => Array::from_vec(&[FLOATS.len()], FLOATS.map(|x| x as f32).to_vec()),
        DType::F64 => Array::from_vec(&[FLOATS.len()], FLOATS.to_vec()),
        DType::I32 => Array::from_vec(&[INTEGERS.len()], INTEGERS.map(|x| x as i32).to_vec()),
        DType::I64 => Array::from_vec(&[INTEGERS.len()], INTEGERS.to_vec()),
        DType::Bool => Array::from_vec(&[2], vec![false, true]),
    }
}

/// An array of a type, of small whole numbers, with some NaNs among floats if asked for.
fn whole(random: &mut Random, ty: &Type, nans: bool) -> Array {
    let size = ty.size();
    let mut elements = (0..size).map(|_| random.whole(-3, 3)).collect::<Vec<i64>>().into_iter();
    let mut next = || elements.next().unwrap_or_default();
    let float = |x: i64| if nans && x == 2 { f64::NAN } else { x as f64 };
    match ty.dtype {
        DType::F32 => Array::from_vec(&ty.shape, (0..size).map(|_| float(next()) as f32).collect()),
        DType::F64 => Array::from_vec(&ty.shape, (0..size).map(|_| float(next())).collect()),
        DType::I32 => Array::from_vec(&ty.shape, (0..size).map(|_| next() as i32).collect()),
        DType::I64 => Array::from_vec(&ty.shape, (0..size).map(|_| next()).collect()),
        DType::Bool => Array::from_vec(&ty.shape, (0..size).map(|_| next() > 0).collect()),
    }
}

/// The program of these operations on these arrays.
fn case(name: String, inputs: Vec<Array>, build: impl FnOnce(&mut Graph, &[NodeId]) -> Vec<NodeId>) -> Case {
    let types: Vec<Type> = inputs.iter().map(Array::ty).collect();
    let mut graph: Graph = Graph::new(&types, 0);
    let parameters: Vec<NodeId> = (0..inputs.len() as NodeId).collect();
    let results = build(&mut graph, &parameters);
    from_program(name, Program::new("edge", graph.finish(&results)), inputs)
}

/// A program at a point.
fn from_program(name: String, program: Program, inputs: Vec<Array>) -> Case {
    Case::new(format!("edge: {name}"), None, program, inputs, true)
}

/// All pairs of special elements.
fn pairs(graph: &mut Graph, parameter: NodeId) -> (NodeId, NodeId) {
    let n = graph.ty(parameter).shape[0];
    let along = |axis| Op::View(AffineMap::broadcast(&[n], &[n, n], &[axis]));
    (graph.add(along(0), &[parameter]), graph.add(along(1), &[parameter]))
}

fn elementwise() -> Vec<Case> {
    let mut cases = Vec::new();
    for dtype in DTYPES {
        let powers = [-70, -2, -1, 0, 1, 2, 3, 70, i32::MIN].map(Unary::Powi);
        let orders = [0, 1, 2, 3, 7].map(Unary::Polygamma);
        for op in UNARY_ROWS.iter().copied().chain(powers).chain(orders).filter(|op| op.domain().accepts(dtype)) {
            let parameter = op.parameter().map_or(String::new(), |parameter| format!(" {parameter}"));
            cases.push(case(format!("{}{parameter} of {dtype}", op.name()), vec![special(dtype)], |graph, ids| {
                vec![graph.add(Op::Unary(op), ids)]
            }));
        }
        for &op in BINARY_ROWS.iter().filter(|op: &&Binary| op.domain().accepts(dtype)) {
            cases.push(case(format!("{} of {dtype}", op.name()), vec![special(dtype)], |graph, ids| {
                let (a, b) = pairs(graph, ids[0]);
                vec![graph.add(Op::Binary(op), &[a, b])]
            }));
        }
        cases.push(case(format!("comparisons of {dtype}"), vec![special(dtype)], |graph, ids| {
            let (a, b) = pairs(graph, ids[0]);
            COMPARISON_ROWS.iter().map(|&op| graph.add(Op::Compare(op), &[a, b])).collect()
        }));
        cases.push(case(format!("casts of {dtype}"), vec![special(dtype)], |graph, ids| {
            DTYPES.iter().map(|&to| graph.add(Op::Cast(to), ids)).collect()
        }));
    }
    cases
}

fn shape(random: &mut Random, rank: usize) -> Shape {
    (0..rank).map(|_| random.weighted(&[(1, 0), (3, 1), (4, 2), (6, 3), (6, 4), (4, 5)])).collect()
}

fn reads(random: &mut Random) -> Vec<Case> {
    let read = |number: usize| {
        let (source_rank, result_rank) = (random.below(4), random.below(4));
        let (source, result) = (shape(random, source_rank), shape(random, result_rank));
        // Half of the maps move along each axis of the source with one of the result.
        let separate = random.chance(0.5);
        let mut free: Vec<usize> = (0..result.len()).collect();
        random.shuffle(&mut free);
        let (mut rows, mut offsets) = (Vec::new(), Vec::new());
        for _ in 0..source.len() {
            let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
            let coefficients = [(6, 1), (3, -1), (2, 2), (2, -2), (1, 3), (1, 0)];
            if separate {
                if let Some(column) = free.pop() {
                    row[column] = random.weighted(&coefficients);
                }
            } else {
                row.iter_mut().for_each(|c| *c = random.weighted(&[(6, 0), (4, 1), (2, -1), (1, 2)]));
            }
            let down = row.iter().any(|&c| c < 0);
            rows.push(row);
            offsets.push(if down { random.whole(0, 6) } else { random.whole(-2, 2) });
        }
        let map = AffineMap::new(&source, &result, &rows, &offsets);
        let dtype = random.pick(&DTYPES);
        let inputs =
            vec![whole(random, &Type::new(dtype, &source), false), whole(random, &Type::new(dtype, &result), false)];
        case(format!("read {number}, {map:?} of {dtype}"), inputs, |graph, ids| {
            vec![graph.add(Op::View(map.clone()), &[ids[0]]), graph.add(Op::Accumulate(map.clone()), &[ids[1]])]
        })
    };
    let mut cases: Vec<Case> = (0..150).map(read).collect();
    // A diagonal that begins above a matrix of one column: each position is outside by a row or by the column.
    let outside = AffineMap::new(&[2, 1], &[2], &[smallvec![-1], smallvec![1]], &[0, -1]);
    let inputs = vec![Array::from_vec(&[2, 1], vec![1.0, 2.0]), Array::from_vec(&[2], vec![3.0, 4.0])];
    cases.extend(far_reads(random));
    cases.push(case("a read of nothing, at a place that is known".into(), inputs, |graph, ids| {
        let read = graph.add(Op::View(outside.clone()), &[ids[0]]);
        let sine = graph.add(Op::Unary(Unary::Sin), &[read]);
        vec![sine, graph.add(Op::Accumulate(outside), &[ids[1]])]
    }));
    cases
}

/// The source and the result of a map, its rows, and offsets.
type Rows<'a> = (&'a [usize], &'a [usize], &'a [&'a [i64]], &'a [i64]);

/// Reads and additions whose positions outside are as far away as they may be: row-major ones can be counted of some only.
fn far_reads(random: &mut Random) -> Vec<Case> {
    const REACH: i64 = AffineMap::REACH;
    let (row, column): (&[usize], &[usize]) = (&[4, 3], &[4]);
    let maps: [Rows<'_>; 10] = [
        (row, &[2], &[&[REACH], &[1]], &[0, 0]),
        (row, &[2], &[&[-REACH], &[1]], &[0, 0]),
        (row, &[2], &[&[REACH / 4], &[1]], &[0, 0]),
        (row, &[2, 2], &[&[1, 0], &[REACH / 2, REACH / 2]], &[0, 0]),
        (row, &[3, 3], &[&[REACH / 8, -REACH / 8], &[1, 0]], &[1, 0]),
        (row, &[2], &[&[REACH - 3], &[2 - REACH]], &[3, 2]),
        (row, &[2], &[&[-1], &[1 - REACH / 3]], &[2, REACH / 3 - 1]),
        (column, &[2], &[&[REACH]], &[0]),
        (column, &[2, 3], &[&[REACH / 2, -REACH / 8]], &[3]),
        (column, &[5], &[&[-REACH / 16]], &[REACH / 8]),
    ];
    let far = |(number, (source, result, rows, offsets)): (usize, Rows<'_>)| {
        let rows: Vec<SmallVec<[i64; 4]>> = rows.iter().map(|&row| row.into()).collect();
        let map = AffineMap::new(source, result, &rows, offsets);
        let of = |shape: &[usize], random: &mut Random| whole(random, &Type::new(DType::F64, shape), false);
        let inputs = vec![of(source, random), of(result, random)];
        case(format!("far read {number}, {map:?}"), inputs, |graph, ids| {
            let read = graph.add(Op::View(map.clone()), &[ids[0]]);
            let added = graph.add(Op::Accumulate(map.clone()), &[ids[1]]);
            // Through the read outside, again.
            let again = graph.add(Op::View(map.clone()), &[added]);
            vec![graph.add(Op::Unary(Unary::Sin), &[read]), added, graph.add(Op::Unary(Unary::Cos), &[again])]
        })
    };
    maps.into_iter().enumerate().map(far).collect()
}

/// Programs in single precision that need memory of positions, and of floats too or not.
fn memories(random: &mut Random) -> Vec<Case> {
    let memory = |floats: bool| {
        let numbers = (0..300).map(|_| random.between(-1.0, 1.0) as f32).collect();
        let name = format!("single precision, memory of positions {}", if floats { "and floats" } else { "alone" });
        case(name, vec![Array::from_vec(&[300], numbers)], |graph, ids| {
            let keys = if floats { graph.add(Op::Unary(Unary::Sin), ids) } else { ids[0] };
            let order = graph.add(Op::ArgSort(Order::Ascending, 0), &[keys]);
            vec![graph.add(Op::Gather, &[ids[0], order])]
        })
    };
    [false, true].map(memory).into()
}

fn contractions(random: &mut Random) -> Vec<Case> {
    let contraction = |number: usize| {
        let (mut left, mut right, mut result): (Vec<Label>, Vec<Label>, Vec<Label>) = Default::default();
        for label in 0..random.below(5) as Label {
            match random.below(4) {
                0 => (left.push(label), right.push(label), result.push(label)),
                1 => (left.push(label), right.push(label), ()),
                2 => (left.push(label), result.push(label), ()),
                _ => (right.push(label), result.push(label), ()),
            };
        }
        [&mut left, &mut right, &mut result].into_iter().for_each(|labels| random.shuffle(labels));
        let extents = shape(random, 5);
        let of = |labels: &[Label]| labels.iter().map(|&label| extents[label as usize]).collect::<Shape>();
        let dtype = random.pick(&DTYPES[..4]);
        let types = [&left, &right].map(|labels| Type::new(dtype, &of(labels)));
        let inputs = types.iter().map(|ty| whole(random, ty, false)).collect();
        let spec = Contraction::new(&left, &right, &result);
        let name = format!("contraction {number}, {left:?} {right:?} to {result:?} of {dtype}");
        case(name, inputs, |graph, ids| vec![graph.add(Op::Contract(spec), ids)])
    };
    let mut cases: Vec<Case> = (0..60).map(contraction).collect();
    // Matrix products that are no multiple of any tile, in the orders of axes that operands may have.
    for (left, right, result) in
        [([0, 1], [1, 2], [0, 2]), ([1, 0], [1, 2], [0, 2]), ([0, 1], [2, 1], [0, 2]), ([0, 1], [1, 2], [2, 0])]
    {
        for dtype in [DType::F32, DType::F64, DType::I64] {
            let extents = [13, 37, 35];
            let of = |labels: &[Label]| labels.iter().map(|&label| extents[label as usize]).collect::<Shape>();
            let inputs = [&left, &right].map(|labels| whole(random, &Type::new(dtype, &of(labels)), false));
            let spec = Contraction::new(&left, &right, &result);
            let name = format!("product, {left:?} {right:?} to {result:?} of {dtype}");
            cases.push(case(name, inputs.to_vec(), |graph, ids| vec![graph.add(Op::Contract(spec), ids)]));
        }
        let batched = |labels: [Label; 2]| [3, labels[0], labels[1]];
        let extents = [9, 21, 18, 2];
        let of = |labels: [Label; 3]| labels.map(|label| extents[label as usize]);
        let inputs = [left, right].map(|labels| whole(random, &Type::new(DType::F64, &of(batched(labels))), false));
        let spec = Contraction::new(&batched(left), &batched(right), &batched(result));
        let name = format!("batched product, {left:?} {right:?} to {result:?}");
        cases.push(case(name, inputs.to_vec(), |graph, ids| vec![graph.add(Op::Contract(spec), ids)]));
    }
    cases
}

fn along_axes(random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    for number in 0..60 {
        let rank = 1 + random.below(3);
        let dtype = random.pick(&DTYPES);
        let ty = Type::new(dtype, &shape(random, rank));
        let axis = random.below(rank);
        let axes: Axes = (0..rank).filter(|&at| at == axis || random.chance(0.4)).collect();
        let input = whole(random, &ty, number % 2 == 0);
        cases.push(case(format!("along axes {number}, {axes:?} of {ty}"), vec![input], |graph, ids| {
            let operations = [
                Op::Reduce(Reduction::Sum, axes.clone()),
                Op::Reduce(Reduction::Max, axes.clone()),
                Op::Reduce(Reduction::Min, axes),
                Op::ArgReduce(Extreme::Max, axis),
                Op::ArgReduce(Extreme::Min, axis),
                Op::ArgSort(Order::Ascending, axis),
                Op::ArgSort(Order::Descending, axis),
            ];
            operations.map(|operation| graph.add(operation, ids)).to_vec()
        }));
    }
    cases
}

fn positions(random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    for number in 0..60 {
        let (indexed, whole_axes, rank) = (random.below(3), random.below(3), random.below(3));
        let (extents, row, places) = (shape(random, indexed), shape(random, whole_axes), shape(random, rank));
        let dtype = random.pick(&DTYPES);
        let size = places.iter().product();
        let far = [(20, 0), (1, i64::MIN), (1, i64::MAX), (1, 1 << 32)];
        let mut inputs = vec![whole(random, &Type::new(dtype, &[&extents[..], &row].concat()), false)];
        let updates = if indexed == 0 { row.to_vec() } else { [&places[..], &row].concat() };
        inputs.push(whole(random, &Type::new(dtype, &updates), false));
        for _ in 0..indexed {
            let index = (0..size).map(|_| random.whole(-1, 5).saturating_add(random.weighted(&far)));
            inputs.push(Array::from_vec(&places, index.collect()));
        }
        let name = format!("positions {number}, {:?} in {:?} of {dtype}", &places[..], &extents[..]);
        cases.push(case(name, inputs, |graph, ids| {
            let (gathered, scattered) = ([&[ids[0]], &ids[2..]].concat(), &ids[1..]);
            vec![graph.add(Op::Gather, &gathered), graph.add(Op::Scatter(extents.clone()), scattered)]
        }));
    }
    cases
}

/// So many steps of a recurrence whose number of steps is found when it runs.
fn damped<A: Algebra>(checkpoints: Checkpoints, steps: i64, x: &Scalar<A, f64>) -> Scalar<A, f64> {
    let x = x.clone();
    let step = move |(n, y): (Scalar<A, i64>, Scalar<A, f64>)| (n + 1, (y * 0.9 + &x).sin());
    checkpoints.while_loop((scalar(0i64), scalar(0.3)), move |(n, _)| n.lt(steps), step).1
}

/// Derivatives of loops of many steps.
fn loops() -> Vec<Case> {
    let choices = [
        ("everything", Checkpoints::All),
        ("two snapshots", Checkpoints::Snapshots(2)),
        ("five snapshots", Checkpoints::Snapshots(5)),
        ("few bytes", Checkpoints::Bytes(100)),
    ];
    let mut cases = Vec::new();
    for (kept, checkpoints) in choices {
        for steps in [0, 1, 2, 3, 63, 64, 65, 128, 129, 300] {
            let function = stage(move |x: &Scalar<_, f64>| damped(checkpoints, steps, x), &s(0.4));
            let gradient = function.and_then(|function| function.value_and_grad()).expect("the loop has a derivative");
            let name = format!("gradient of a loop of {steps} steps with {kept}");
            cases.push(from_program(name, Program::from(&gradient), vec![Array::from_vec(&[], vec![0.4])]));
        }
        for steps in [0, 1, 3, 40] {
            let derivative = move |x: &Scalar<_, f64>| grad(move |x: &Scalar<_, f64>| damped(checkpoints, steps, x), x);
            let gradient = stage(derivative, &s(0.4)).and_then(|function| function.value_and_grad());
            let gradient = gradient.expect("the derivative has a derivative");
            let name = format!("second derivative of a loop of {steps} steps with {kept}");
            cases.push(from_program(name, Program::from(&gradient), vec![Array::from_vec(&[], vec![0.4])]));
        }
    }
    cases
}

/// Negative numbers that stand before methods, and names that mean something elsewhere.
fn texts() -> Vec<Case> {
    let mut cases = Vec::new();
    for op in [Binary::Pow, Binary::Hypot, Binary::Atan2, Binary::Max] {
        let x = Array::from_vec(&[4], vec![2.0, 3.0, 0.5, 1.0]);
        cases.push(case(format!("{} of -2 and numbers", op.name()), vec![x], |graph, ids| {
            let known = graph.add(Op::Constant(Array::full(&[4], Value::F64(-2.0))), &[]);
            vec![graph.add(Op::Binary(op), &[known, ids[0]])]
        }));
    }
    let inputs = vec![Array::from_vec(&[3], vec![1i64, 2, 3]), Array::from_vec(&[3], vec![true, false, true])];
    cases.push(case("what is compared with itself".into(), inputs, |graph, ids| {
        let mut same: Vec<NodeId> =
            COMPARISON_ROWS.iter().map(|&op| graph.add(Op::Compare(op), &[ids[0]; 2])).collect();
        same.push(graph.add(Op::Binary(Binary::Xor), &[ids[1]; 2]));
        same
    }));
    let names = ["Self", "k", "tanh", "NULL", "i0", "step1", "sigmoid_f64", "None", "new", "row"];
    let inputs = names.map(|_| Array::from_vec(&[2], vec![0.5, -1.5]));
    let mut named = case("arrays with names of other things".into(), inputs.to_vec(), |graph, ids| {
        let logistic: Vec<NodeId> = ids.iter().map(|&id| graph.add(Op::Unary(Unary::Sigmoid), &[id])).collect();
        let sum = logistic.into_iter().reduce(|a, b| graph.add(Op::Binary(Binary::Add), &[a, b]));
        let sum = sum.expect("there are arrays");
        let order = graph.add(Op::ArgSort(Order::Ascending, 0), &[sum]);
        vec![graph.add(Op::Unary(Unary::Tanh), &[sum]), order]
    });
    named.program = named.program.with_name("MAP_loss").with_parameters(names).with_results(["self", "MAP_loss_run"]);
    cases.push(named);
    cases
}

/// All of them.
fn edges() -> Vec<Case> {
    let mut random = Random::new(2024);
    let mut cases = elementwise();
    cases.extend(loops());
    cases.extend(texts());
    cases.extend(reads(&mut random));
    cases.extend(contractions(&mut random));
    cases.extend(along_axes(&mut random));
    cases.extend(positions(&mut random));
    cases.extend(memories(&mut random));
    cases
}

/// All of them.
pub fn all() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(edges)
}

#[test]
fn compiled_programs_compute_what_the_interpreter_does() {
    let mut findings = Vec::new();
    for case in all() {
        let found = kernels(&case.program.body, &case.inputs);
        // Exponentials below the numbers of full precision are 0 in compiled programs, and vector functions are exact to 2 ulp.
        let scale = Scale { relative: if case.is_single() { 1e-4 } else { 1e-12 }, largest: 1.0 };
        if let Err(problem) = compare(&case.expected, &found, &scale) {
            findings.push(format!("{}: {problem}", case.name));
        }
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

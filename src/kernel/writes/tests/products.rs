//! Products that are added to an array: they go where it is.

use super::{steps_of, written};
use crate::array::Array;
use crate::concrete::Concrete;
use crate::engine::cpu::{Cpu, Program};
use crate::kernel::{Procedure, Step, lower_in_place};
use crate::operation::{Binary, Contraction, Unary};
use crate::shape::{DType, Type};
use crate::term::interpret::interpret;
use crate::term::{Body, Graph, NodeId, Op, Scan};
use std::sync::Arc;

const STEPS: usize = 3;

/// A loop that carries some arrays, given their next values by these, slices of others, and captures of so many, which are last.
fn looped<const N: usize>(types: &[Type], captures: usize, step: impl FnOnce(&mut Graph) -> [NodeId; N]) -> Body {
    let mut body = Graph::new(types, captures);
    let next = step(&mut body);
    let inputs = types.len() - N - captures;
    let scan = Scan { body: Arc::new(body.finish(&next)), carries: N, inputs, length: STEPS, reverse: false };
    let mut outside = types.to_vec();
    outside[N..N + inputs].iter_mut().for_each(|ty| ty.shape.insert(0, STEPS));
    let mut graph = Graph::new(&outside, 0);
    let operands: Vec<NodeId> = (0..types.len() as NodeId).collect();
    let scan = graph.add(Op::Scan(Arc::new(scan)), &operands);
    let results: Vec<NodeId> = (0..N).map(|position| graph.add(Op::Output(position), &[scan])).collect();
    graph.finish(&results)
}

/// A loop that carries one array, given its next value by the array and slices of two others.
fn carried(types: [Type; 3], step: impl FnOnce(&mut Graph) -> NodeId) -> Body {
    looped(&types, 0, |graph| [step(graph)])
}

/// Checks that a compiled function gives the interpreter's results. Gives its procedure.
fn checked(body: &Body) -> Procedure {
    let argument = |at: usize| {
        let ty = body.parameter_type(at);
        let numbers = (0..ty.size()).map(|k| ((k * (at + 2)) as f64 * 0.7).sin());
        match ty.dtype {
            DType::F64 => Array::from_vec(&ty.shape, numbers.collect()),
            _ => Array::from_vec(&ty.shape, numbers.map(|x| (9.0 * x) as i64).collect()),
        }
    };
    let arguments: Vec<Array> = (0..body.parameters).map(argument).collect();
    let expected = interpret::<Concrete>(body, arguments.clone());
    for machine_code in [true, false] {
        let program = Program::new(body, &Cpu::default().machine_code(machine_code)).expect("a program");
        let found = program.run(&arguments).expect("a run");
        for (found, expected) in found.iter().zip(&expected) {
            let difference = |at: usize| (found.element(at).to_f64() - expected.element(at).to_f64()).abs();
            assert!((0..found.size()).all(|at| difference(at) < 1e-11), "{body}");
        }
    }
    lower_in_place(body)
}

/// Whether the products of a step are added to elements that are there, for each of them.
fn continues(step: &Procedure) -> Vec<bool> {
    let products = step.steps.iter().filter_map(|step| match step {
        Step::Product(product) => Some(product.continues),
        _ => None,
    });
    products.collect()
}

#[test]
fn products_are_added_to_what_a_loop_carries() {
    let types = |shapes: [&[usize]; 3]| shapes.map(|shape| Type::new(DType::F64, shape));
    let contracted = |shapes: [&[usize]; 3], spec: Contraction, op: Binary| {
        carried(types(shapes), |step| {
            let product = step.add(Op::Contract(spec), &[1, 2]);
            step.add(Op::Binary(op), &[0, product])
        })
    };
    // A sum over samples, as of the gradient of weights; and transposed.
    for (result, shape) in [([1, 2], [48, 40]), ([2, 1], [40, 48])] {
        let spec = Contraction::new(&[0, 1], &[0, 2], &result);
        let procedure = checked(&contracted([&shape, &[60, 48], &[60, 40]], spec, Binary::Add));
        let step = steps_of(&procedure);
        assert!(step.changes(0) && continues(step) == [true] && written(step) == 0);
    }
    // Rows of the larger operand are in another order than the result's: products are put in order as they are added.
    let spec = Contraction::new(&[0, 1, 2], &[0, 3], &[2, 3, 1]);
    let procedure = checked(&contracted([&[8, 32, 8], &[70, 8, 8], &[70, 32]], spec, Binary::Add));
    let step = steps_of(&procedure);
    assert!(step.changes(0) && continues(step) == [false] && written(step) == 8 * 32 * 8);
    // A difference is no sum.
    let spec = Contraction::new(&[0, 1], &[0, 2], &[1, 2]);
    let procedure = checked(&contracted([&[48, 40], &[60, 48], &[60, 40]], spec, Binary::Sub));
    assert_eq!(continues(steps_of(&procedure)), [false]);
}

#[test]
fn products_of_what_a_loop_carries_are_added_when_they_are_done() {
    let types = [[40, 40]; 3].map(|shape| Type::new(DType::F64, &shape));
    let spec = || Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2]));
    let of_itself = carried(types.clone(), |step| {
        let product = step.add(spec(), &[0, 1]);
        step.add(Op::Binary(Binary::Add), &[0, product])
    });
    assert_eq!(continues(steps_of(&checked(&of_itself))), [false]);
    let of_columns = carried(types.clone(), |step| {
        let turned = step.add(Op::View(crate::affine::AffineMap::transpose(&[40, 40], &[1, 0])), &[0]);
        let product = step.add(spec(), &[turned, 1]);
        step.add(Op::Binary(Binary::Add), &[0, product])
    });
    assert_eq!(continues(steps_of(&checked(&of_columns))), [false]);
    // By a view that repeats it, so that it sums over more than the result has.
    let shapes: [&[usize]; 3] = [&[40, 40], &[], &[2, 40, 40]];
    let of_repeated = carried(shapes.map(|shape| Type::new(DType::F64, shape)), |step| {
        let map = crate::affine::AffineMap::broadcast(&[40, 40], &[2, 40, 40], &[1, 2]);
        let twice = step.add(Op::View(map), &[0]);
        let spec = Contraction::new(&[0, 1, 2], &[0, 1, 3], &[2, 3]);
        let product = step.add(Op::Contract(spec), &[twice, 2]);
        step.add(Op::Binary(Binary::Add), &[0, product])
    });
    let procedure = checked(&of_repeated);
    assert!(steps_of(&procedure).changes(0) && continues(steps_of(&procedure)) == [false]);
    // It is read afterwards, by another product.
    let of_both = carried(types, |step| {
        let first = step.add(spec(), &[1, 2]);
        let sum = step.add(Op::Binary(Binary::Add), &[0, first]);
        let second = step.add(spec(), &[0, 1]);
        step.add(Op::Binary(Binary::Add), &[sum, second])
    });
    checked(&of_both);
}

#[test]
fn products_read_a_slice_as_it_was_before_its_array_changed() {
    // Two arrays are carried: the second has products of a slice of the first, as it was before the step.
    let shapes: [&[usize]; 5] = [&[64, 64], &[32, 48], &[64, 70], &[70, 64], &[64, 48]];
    let types = shapes.map(|shape| Type::new(DType::F64, shape));
    let spec = || Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2]));
    let first_rows = || Op::View(crate::affine::AffineMap::along(&[64, 64], 0, 0, 1, 32));
    // By a product that is first, and by one that needs the changed array too.
    for is_first in [true, false] {
        let procedure = checked(&looped(&types, 0, |step| {
            let slice = step.add(first_rows(), &[0]);
            let early = step.add(spec(), &[slice, 4]);
            let product = step.add(spec(), &[2, 3]);
            let first = step.add(Op::Binary(Binary::Add), &[0, product]);
            let columns = step.add(Op::View(crate::affine::AffineMap::along(&[64, 64], 1, 0, 1, 48)), &[first]);
            let factor = step.add(Op::Binary(Binary::Mul), &[4, columns]);
            let late = step.add(spec(), &[slice, factor]);
            let product = if is_first { early } else { late };
            [first, step.add(Op::Binary(Binary::Add), &[1, product])]
        }));
        assert!((0..2).all(|carry| steps_of(&procedure).changes(carry)));
    }
}

#[test]
fn parts_are_put_together_as_they_were_before_their_array_changed() {
    // A loop reads the transposed array, so that it is in memory.
    let matrix = |shape: [usize; 2]| Type::new(DType::F64, &shape);
    let types = [matrix([64, 40]), matrix([80, 64]), Type::new(DType::F64, &[64]), matrix([64, 40])];
    let body = looped(&types, 0, |step| {
        let transposed = || Op::View(crate::affine::AffineMap::transpose(&[64, 40], &[1, 0]));
        let before = step.add(transposed(), &[0]);
        let row = Type::new(DType::F64, &[64]);
        let mut inner = Graph::new(&[row.clone(), row], 0);
        let sum = inner.add(Op::Binary(Binary::Add), &[0, 1]);
        let sine = inner.add(Op::Unary(Unary::Sin), &[sum]);
        let scan = Scan { body: Arc::new(inner.finish(&[sine])), carries: 1, inputs: 1, length: 40, reverse: false };
        let scan = step.add(Op::Scan(Arc::new(scan)), &[2, before]);
        let sines = step.add(Op::Output(0), &[scan]);
        let added = step.add(Op::Unary(Unary::Sin), &[3]);
        let changed = step.add(Op::Binary(Binary::Add), &[0, added]);
        let after = step.add(transposed(), &[changed]);
        [changed, step.add(Op::Concatenate(0), &[before, after]), sines]
    });
    assert!(steps_of(&checked(&body)).changes(0));
}

#[test]
fn products_along_rows_are_not_added_where_these_are() {
    let along_rows = |captures: usize, shapes: [&[usize]; 3], spec: Contraction| {
        let types = shapes.map(|shape| Type::new(DType::F64, shape));
        let body = looped(&types, captures, |step| {
            let product = step.add(Op::Contract(spec), &[1, 2]);
            [step.add(Op::Binary(Binary::Add), &[0, product])]
        });
        continues(steps_of(&checked(&body)))
    };
    let spec = || Contraction::new(&[0, 1], &[1, 2], &[0, 2]);
    // Rows of the array are those of an operand, or of each of some batches; or an operand is the same in all steps.
    assert_eq!(along_rows(0, [&[100, 40], &[100, 60], &[60, 40]], spec()), [false]);
    let batches = Contraction::new(&[0, 1, 2], &[0, 1, 3], &[0, 2, 3]);
    assert_eq!(along_rows(0, [&[7, 16, 16], &[7, 40, 16], &[7, 40, 16]], batches), [false]);
    let shapes: [&[usize]; 3] = [&[50, 40], &[50, 60], &[60, 40]];
    assert_eq!([0, 1].map(|captures| along_rows(captures, shapes, spec())), [[true], [false]]);
}

#[test]
fn products_of_whole_numbers_are_added_to_what_a_loop_carries() {
    let types = [[40, 40], [40, 50], [50, 40]].map(|shape| Type::new(DType::I64, &shape));
    let body = carried(types, |step| {
        let product = step.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[1, 2]);
        step.add(Op::Binary(Binary::Add), &[product, 0])
    });
    assert_eq!(continues(steps_of(&checked(&body))), [true]);
}

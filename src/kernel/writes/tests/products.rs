//! Products that are added to an array: they go where it is.

use super::{steps_of, written};
use crate::array::Array;
use crate::concrete::Concrete;
use crate::engine::cpu::{Cpu, Program};
use crate::kernel::{Procedure, Step, lower_in_place};
use crate::operation::{Binary, Contraction};
use crate::shape::{DType, Type};
use crate::term::interpret::interpret;
use crate::term::{Body, Graph, NodeId, Op, Scan};
use std::sync::Arc;

const STEPS: usize = 3;

/// A loop that carries an array, given its next value by the array and slices of two others.
fn carried(types: [Type; 3], step: impl FnOnce(&mut Graph) -> NodeId) -> Body {
    let mut body = Graph::new(&types, 0);
    let next = step(&mut body);
    let scan = Scan { body: Arc::new(body.finish(&[next])), carries: 1, inputs: 2, length: STEPS, reverse: false };
    let [carry, inputs @ ..] = types;
    let stacked = inputs.map(|ty| Type { dtype: ty.dtype, shape: [&[STEPS], &ty.shape[..]].concat().into() });
    let mut graph = Graph::new(&[&[carry], &stacked[..]].concat(), 0);
    let scan = graph.add(Op::Scan(Arc::new(scan)), &[0, 1, 2]);
    let result = graph.add(Op::Output(0), &[scan]);
    graph.finish(&[result])
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
        let difference = |at: usize| (found[0].element(at).to_f64() - expected[0].element(at).to_f64()).abs();
        assert!((0..found[0].size()).all(|at| difference(at) < 1e-11), "{body}");
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
        let procedure = checked(&contracted([&shape, &[30, 48], &[30, 40]], spec, Binary::Add));
        let step = steps_of(&procedure);
        assert!(step.changes(0) && continues(step) == [true] && written(step) == 0);
    }
    // For each of some batches, which are in the middle of the result: products are put in order as they are added.
    let spec = Contraction::new(&[0, 1, 2], &[0, 1, 3], &[2, 0, 3]);
    let procedure = checked(&contracted([&[33, 5, 34], &[5, 30, 33], &[5, 30, 34]], spec, Binary::Add));
    assert!(steps_of(&procedure).changes(0));
    // A difference is no sum.
    let spec = Contraction::new(&[0, 1], &[0, 2], &[1, 2]);
    let procedure = checked(&contracted([&[48, 40], &[30, 48], &[30, 40]], spec, Binary::Sub));
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
fn products_of_whole_numbers_are_added_to_what_a_loop_carries() {
    let types = [[40, 40]; 3].map(|shape| Type::new(DType::I64, &shape));
    let body = carried(types, |step| {
        let product = step.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[1, 2]);
        step.add(Op::Binary(Binary::Add), &[product, 0])
    });
    assert_eq!(continues(steps_of(&checked(&body))), [true]);
}

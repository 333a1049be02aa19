//! Writes in place, tested by counting the elements that a program writes.

mod additions;
mod branches;
mod many;
mod mistakes;
mod products;
mod readers;

use crate::affine::AffineMap;
use crate::array::Array;
use crate::engine::cpu::Cpu;
use crate::kernel::{Procedure, Step, lower_in_place};
use crate::operation::{Binary, Comparison, Unary};
use crate::prelude::*;
use crate::shape::{DType, Type, Value, size};
use crate::term::{Body, Branch, Checkpoints, Graph, NodeId, Op, Scan, Steps, Sweep, Sweeps};
use std::sync::Arc;

/// The number of elements that steps write, counting every step of loops, and the copies that loops make before the first step.
fn written(procedure: &Procedure) -> usize {
    let of = |step: &Step| match step {
        Step::Nest(nest) => size(&nest.extents) * nest.stores.len(),
        Step::Loop(repeated) => {
            let kept: usize = (0..repeated.scan.carries)
                .filter(|&carry| {
                    let [argument, result] = [repeated.arguments[carry], repeated.results[carry]];
                    procedure.origin(argument) != procedure.origin(result)
                })
                .map(|carry| procedure.buffers[repeated.arguments[carry] as usize].ty.size())
                .sum();
            kept + repeated.scan.length * written(&repeated.step)
        }
        Step::Branch(branch) => written(&branch.then).max(written(&branch.otherwise)),
        _ => 0,
    };
    procedure.steps.iter().map(of).sum()
}

fn vector(n: usize) -> Type {
    Type::new(DType::F64, &[n])
}

/// A loop over positions that carries an array, given its next value in a step.
fn over_positions(n: usize, step: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Body {
    carrying(1, n, step)
}

/// A loop over positions that carries so many arrays, which begin as one, given their next values in a step.
fn carrying(carries: usize, n: usize, step: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Body {
    let mut types = vec![vector(n); carries];
    types.push(Type::scalar(DType::I64));
    let mut body = Graph::new(&types, 0);
    let results = step(&mut body);
    let scan = Scan { body: Arc::new(body.finish(&results)), carries, inputs: 1, length: n, reverse: false };
    let mut graph = Graph::new(&[vector(n)], 0);
    let positions = graph.add(Op::Iota(n), &[]);
    let mut arguments = vec![0; carries];
    arguments.push(positions);
    let scan = graph.add(Op::Scan(Arc::new(scan)), &arguments);
    let results: Vec<NodeId> = (0..results.len()).map(|position| graph.add(Op::Output(position), &[scan])).collect();
    graph.finish(&results)
}

fn steps_of(procedure: &Procedure) -> &Procedure {
    let step = procedure.steps.iter().find_map(|step| match step {
        Step::Loop(repeated) => Some(&repeated.step),
        _ => None,
    });
    step.expect("a loop")
}

/// The next element as a function of this one.
fn next_element(graph: &mut Graph) -> NodeId {
    let read = graph.add(Op::Gather, &[0, 1]);
    let sine = graph.add(Op::Unary(Unary::Sin), &[read]);
    graph.add(Op::ScatterSet, &[0, sine, 1])
}

#[test]
fn a_loop_that_writes_an_element_writes_an_element() {
    let count = |n: usize| written(&lower_in_place(&over_positions(n, |graph| vec![next_element(graph)])));
    assert!(steps_of(&lower_in_place(&over_positions(40, |graph| vec![next_element(graph)]))).changes(0));
    assert!(count(400) <= 5 * 400 && count(800) == 2 * count(400), "{} {}", count(400), count(800));
}

#[test]
fn what_must_stay_is_copied() {
    // The array is an output too, as it was before the step.
    let kept = over_positions(40, |graph| vec![next_element(graph), 0]);
    assert!(!steps_of(&lower_in_place(&kept)).changes(0));
    // It is needed as a whole, after it was written to.
    let read = over_positions(40, |graph| {
        let written = next_element(graph);
        let difference = graph.add(Op::Binary(Binary::Sub), &[written, 0]);
        let sum = graph.add(Op::Reduce(crate::operation::Reduction::Sum, [0].as_slice().into()), &[difference]);
        vec![written, sum]
    });
    assert!(!steps_of(&lower_in_place(&read)).changes(0));
    // An argument of the program is the caller's.
    let mut graph = Graph::new(&[vector(40), Type::scalar(DType::I64)], 0);
    let result = next_element(&mut graph);
    let procedure = lower_in_place(&graph.finish(&[result]));
    assert!(!procedure.changes(0) && written(&procedure) >= 40);
}

#[test]
fn gradients_of_loops_that_write_an_element_write_some() {
    let count = |n: usize| {
        let body = over_positions(n, |graph| vec![next_element(graph)]);
        let gradient = crate::derivative::program::vjp(&body, 1).expect("one active argument");
        written(&lower_in_place(&gradient))
    };
    assert!(count(400) <= 20 * 400 && count(800) == 2 * count(400), "{} {}", count(400), count(800));
}

#[test]
fn what_a_product_needs_is_restored() {
    // Each step multiplies the whole array by something: the gradient keeps the elements that were written over.
    let stored = |n: usize| {
        let body = over_positions(n, |graph| {
            let squares = graph.add(Op::Binary(Binary::Mul), &[0, 0]);
            let sum = graph.add(Op::Reduce(crate::operation::Reduction::Sum, [0].as_slice().into()), &[squares]);
            let sine = graph.add(Op::Unary(Unary::Sin), &[sum]);
            vec![graph.add(Op::ScatterSet, &[0, sine, 1])]
        });
        let gradient = crate::derivative::program::vjp(&body, 1).expect("one active argument");
        gradient.nodes.iter().flat_map(|node| &node.types).map(Type::size).max()
    };
    assert_eq!((stored(40), stored(80)), (Some(40), Some(80)));
}

#[test]
fn what_is_added_everywhere_is_added_where_it_is() {
    // An outer product of a slice, from all of an array, into which a column is written.
    let n = 40;
    let matrix = Type::new(DType::F64, &[n, n]);
    let mut body = Graph::new(&[matrix.clone(), vector(n), Type::scalar(DType::I64)], 0);
    let outer = crate::operation::Contraction::new(&[0], &[1], &[0, 1]);
    let product = body.add(Op::Contract(outer), &[1, 1]);
    let changed = body.add(Op::Binary(Binary::Sub), &[0, product]);
    let rows = body.add(Op::Iota(n), &[]);
    let column = body.add(Op::View(crate::affine::AffineMap::broadcast(&[], &[n], &[])), &[2]);
    let changed = body.add(Op::ScatterSet, &[changed, 1, rows, column]);
    let scan = Scan { body: Arc::new(body.finish(&[changed])), carries: 1, inputs: 2, length: n, reverse: false };
    let mut graph = Graph::new(&[matrix.clone(), matrix], 0);
    let positions = graph.add(Op::Iota(n), &[]);
    let scan = graph.add(Op::Scan(Arc::new(scan)), &[0, 1, positions]);
    let result = graph.add(Op::Output(0), &[scan]);
    let body = graph.finish(&[result]);
    let procedure = lower_in_place(&body);
    let step = steps_of(&procedure);
    assert!(step.changes(0) && written(step) == n * n + n);
    let numbers = |first: f64| {
        let elements: Vec<f64> = (0..n * n).map(|k| (first * k as f64).sin()).collect();
        crate::array::Array::from_vec(&[n, n], elements)
    };
    let arguments = vec![numbers(0.7), numbers(1.3)];
    let expected = crate::term::interpret::interpret::<crate::concrete::Concrete>(&body, arguments.clone());
    let program = crate::engine::cpu::Program::new(&body, &crate::engine::cpu::Cpu::default()).expect("a program");
    let found = program.run(&arguments).expect("a run");
    // Sums of products are rounded once where the processor can.
    let difference = |k: usize| (found[0].element(k).to_f64() - expected[0].element(k).to_f64()).abs();
    assert!((0..n * n).all(|k| difference(k) < 1e-12));
}

/// A loop that changes an element where the one before is positive, and another one where it is not.
fn guarded(
    n: usize,
    otherwise: impl FnOnce(&mut Graph) -> NodeId,
    afterwards: impl FnOnce(&mut Graph, NodeId) -> NodeId,
) -> Body {
    let types = [vector(n), Type::scalar(DType::I64)];
    over_positions(n, |graph| {
        let mut then = Graph::new(&types, 2);
        let next = next_element(&mut then);
        let then = Arc::new(then.finish(&[next]));
        let mut other = Graph::new(&types, 2);
        let last = otherwise(&mut other);
        let branch = Branch { then, otherwise: Arc::new(other.finish(&[last])) };
        let one = graph.add(Op::Constant(Array::full(&[], Value::I64(1))), &[]);
        let before = graph.add(Op::Binary(Binary::Sub), &[1, one]);
        let read = graph.add(Op::Gather, &[0, before]);
        let zero = graph.add(Op::Constant(Array::full(&[], Value::F64(0.0))), &[]);
        let holds = graph.add(Op::Compare(Comparison::Less), &[zero, read]);
        let branch = graph.add(Op::Branch(Arc::new(branch)), &[holds, 0, 1]);
        let next = graph.add(Op::Output(0), &[branch]);
        vec![afterwards(graph, next)]
    })
}

/// Checks that a compiled function of a vector gives the interpreter's results.
fn assert_computed(body: &Body, n: usize) {
    let elements: Vec<f64> = (0..n).map(|k| (k as f64 * 0.9).cos()).collect();
    let arguments = vec![Array::from_vec(&[n], elements)];
    let expected = crate::term::interpret::interpret::<crate::concrete::Concrete>(body, arguments.clone());
    let program = crate::engine::cpu::Program::new(body, &crate::engine::cpu::Cpu::default()).expect("a program");
    let found = program.run(&arguments).expect("a run");
    let difference = |k: usize| (found[0].element(k).to_f64() - expected[0].element(k).to_f64()).abs();
    assert!((0..n).all(|k| difference(k) < 1e-12), "{n}: {body}");
}

#[test]
fn one_side_of_a_conditional_writes_an_element() {
    // Few elements are in registers, some in memory that instructions write to, many are left to kernels.
    for n in [5, 100, 3000] {
        let same = guarded(n, |_| 0, |_, next| next);
        let half = |graph: &mut Graph| {
            let half = graph.add(Op::Constant(Array::full(&[], Value::F64(0.5))), &[]);
            graph.add(Op::ScatterSet, &[0, half, 1])
        };
        let other = guarded(n, half, |_, next| next);
        for body in [same, other] {
            let procedure = lower_in_place(&body);
            let step = steps_of(&procedure);
            assert!(step.changes(0), "{body}");
            assert!(written(step) <= 6, "{}", written(step));
            assert_computed(&body, n);
        }
    }
}

#[test]
fn sides_that_keep_what_was_there_write_to_another_place() {
    let sine = |graph: &mut Graph| {
        let sine = graph.add(Op::Unary(Unary::Sin), &[0]);
        graph.add(Op::Binary(Binary::Mul), &[sine, 0])
    };
    for n in [5, 100, 3000] {
        let body = guarded(n, sine, |_, next| next);
        assert!(!steps_of(&lower_in_place(&body)).changes(0));
        assert_computed(&body, n);
    }
}

#[test]
fn sides_change_a_copy_of_what_is_read_afterwards() {
    for n in [5, 100, 3000] {
        let body = guarded(n, |_| 0, |graph, next| graph.add(Op::Binary(Binary::Mul), &[next, 0]));
        assert!(!steps_of(&lower_in_place(&body)).changes(0));
        assert_computed(&body, n);
    }
}

#[test]
fn a_loop_with_a_condition_writes_an_element() {
    let n = 1000;
    let types = [vector(n), Type::scalar(DType::I64)];
    let mut condition = Graph::new(&types, 0);
    let end = condition.add(Op::Constant(Array::full(&[], Value::I64(n as i64))), &[]);
    let goes_on = condition.add(Op::Compare(Comparison::Less), &[1, end]);
    let mut step = Graph::new(&types, 0);
    let next = next_element(&mut step);
    let one = step.add(Op::Constant(Array::full(&[], Value::I64(1))), &[]);
    let position = step.add(Op::Binary(Binary::Add), &[1, one]);
    let sweep =
        Sweep { body: Arc::new(step.finish(&[next, position])), carries: 2, inputs: 0, reads: Vec::new(), keeps: 0 };
    let sweeps = Sweeps {
        steps: Steps::While(Arc::new(condition.finish(&[goes_on]))),
        sweeps: vec![sweep],
        reverse: false,
        checkpoints: Checkpoints::All,
    };
    let mut graph = Graph::new(&[vector(n)], 0);
    let positions = graph.add(Op::Iota(n), &[]);
    let half = graph.add(Op::Constant(Array::full(&[], Value::F64(0.5))), &[]);
    let begin = graph.add(Op::Constant(Array::full(&[], Value::I64(0))), &[]);
    let halves = graph.add(Op::ScatterSet, &[0, half, begin]);
    let turned = graph.add(Op::Scatter([n].as_slice().into()), &[halves, positions]);
    let sweeps = graph.add(Op::Sweeps(Arc::new(sweeps)), &[turned, begin]);
    let last = graph.add(Op::Output(0), &[sweeps]);
    let body = graph.finish(&[last]);
    assert_computed(&body, n);
    let procedure = lower_in_place(&body);
    let sweeps = procedure.steps.iter().find_map(|step| match step {
        Step::Sweeps(sweeps) => Some(sweeps),
        _ => None,
    });
    let sweeps = sweeps.expect("a loop with a condition");
    let step = &sweeps.bodies[0];
    assert!(step.changes(0));
    // The first array is made for the loop alone, and becomes the last one.
    assert_eq!(procedure.origin(sweeps.arguments[0]), procedure.origin(sweeps.results[0]));
    assert!(written(step) <= 3, "{}", written(step));
}

/// Reads an element of an array, and writes its sine to another array.
fn sine_of(graph: &mut Graph, read: NodeId, target: NodeId, position: NodeId) -> NodeId {
    let read = graph.add(Op::Gather, &[read, position]);
    let sine = graph.add(Op::Unary(Unary::Sin), &[read]);
    graph.add(Op::ScatterSet, &[target, sine, position])
}

#[test]
fn a_read_after_a_write_that_does_not_need_it_runs_before() {
    // The first array is read once more after it was written to, for the second one.
    let two = |n: usize| {
        carrying(2, n, |graph| {
            let first = sine_of(graph, 0, 0, 2);
            vec![first, sine_of(graph, 0, 1, 2)]
        })
    };
    // It is an output of each step.
    let output = |n: usize| {
        over_positions(n, |graph| {
            let next = next_element(graph);
            let zero = graph.add(Op::Constant(Array::full(&[], Value::I64(0))), &[]);
            let read = graph.add(Op::Gather, &[0, zero]);
            vec![next, graph.add(Op::Unary(Unary::Cos), &[read])]
        })
    };
    for n in [5, 100, 3000] {
        for (body, carries) in [(two(n), 2), (output(n), 1)] {
            let procedure = lower_in_place(&body);
            let step = steps_of(&procedure);
            assert!((0..carries).all(|carry| step.changes(carry)), "{body}");
            assert!(written(step) <= 4, "{}", written(step));
            assert_computed(&body, n);
        }
    }
}

#[test]
fn of_writes_that_wait_for_each_other_one_copies() {
    // From each array an element is read whose position is in the other one's next value.
    for n in [5, 100, 3000] {
        let body = carrying(4, n, |graph| {
            let half = graph.add(Op::Constant(Array::full(&[], Value::F64(0.5))), &[]);
            let [first, second] = [0, 1].map(|carry| graph.add(Op::ScatterSet, &[carry, half, 4]));
            let mut crossed = |own: NodeId, other: NodeId, target: NodeId| {
                let read = graph.add(Op::Gather, &[other, 4]);
                let position = graph.add(Op::Cast(DType::I64), &[read]);
                sine_of(graph, own, target, position)
            };
            let third = crossed(0, second, 2);
            let fourth = crossed(1, first, 3);
            vec![first, second, third, fourth]
        });
        let procedure = lower_in_place(&body);
        let step = steps_of(&procedure);
        assert_eq!((0..4).filter(|&carry| step.changes(carry)).count(), 3, "{body}");
        assert_computed(&body, n);
    }
}

#[test]
fn gradients_of_steps_that_write_twice_write_some_elements() {
    let twice = |set: bool| {
        move |graph: &mut Graph| {
            let read = graph.add(Op::Gather, &[0, 1]);
            let sine = graph.add(Op::Unary(Unary::Sin), &[read]);
            let one = graph.add(Op::Constant(Array::full(&[], Value::I64(1))), &[]);
            let next = graph.add(Op::Binary(Binary::Add), &[1, one]);
            let first = match set {
                true => graph.add(Op::ScatterSet, &[0, sine, next]),
                false => {
                    let shape = graph.ty(0).shape.clone();
                    let added = graph.add(Op::Scatter(shape), &[sine, next]);
                    graph.add(Op::Binary(Binary::Add), &[0, added])
                }
            };
            let read = graph.add(Op::Gather, &[first, next]);
            let cosine = graph.add(Op::Unary(Unary::Cos), &[read]);
            vec![graph.add(Op::ScatterSet, &[first, cosine, 1])]
        }
    };
    for set in [true, false] {
        let programs = |n: usize| {
            let body = over_positions(n, twice(set));
            let gradient = crate::derivative::program::vjp(&body, 1).expect("one active argument");
            [body, gradient].map(|body| written(&lower_in_place(&crate::vectorise::push_gathers(&body))))
        };
        let ([value, gradient], [more, most]) = (programs(400), programs(800));
        assert!(value <= 8 * 400 && gradient <= 30 * 400, "{set}: {value} {gradient}");
        assert_eq!((2 * value, 2 * gradient), (more, most), "{set}");
    }
}

#[test]
fn rows_that_are_put_together_are_added_one_by_one() {
    let n = 40;
    // Adds to an element, and then adds rows to two rows; one of the added rows is computed from that element.
    let table = Type::new(DType::F64, &[n, n]);
    let mut step: Graph = Graph::new(&[table.clone(), Type::scalar(DType::I64), vector(n)], 1);
    let one = step.add(Op::Constant(Array::full(&[], Value::F64(1.0))), &[]);
    let zero = step.add(Op::Constant(Array::full(&[], Value::I64(0))), &[]);
    let added = step.add(Op::Scatter([n, n].as_slice().into()), &[one, 1, zero]);
    let sum = step.add(Op::Binary(Binary::Add), &[0, added]);
    let element = step.add(Op::Gather, &[sum, 1, zero]);
    let repeated = step.add(Op::View(AffineMap::broadcast(&[], &[n], &[])), &[element]);
    let row = step.add(Op::Binary(Binary::Mul), &[repeated, 2]);
    let as_table = |graph: &mut Graph, id| graph.add(Op::View(AffineMap::broadcast(&[n], &[1, n], &[1])), &[id]);
    let parts = [as_table(&mut step, row), as_table(&mut step, 2)];
    let rows = step.add(Op::Concatenate(0), &parts);
    let as_vector = |graph: &mut Graph, id| graph.add(Op::View(AffineMap::broadcast(&[], &[1], &[])), &[id]);
    let parts = [as_vector(&mut step, 1), as_vector(&mut step, zero)];
    let positions = step.add(Op::Concatenate(0), &parts);
    let scattered = step.add(Op::Scatter([n].as_slice().into()), &[rows, positions]);
    let result = step.add(Op::Binary(Binary::Add), &[sum, scattered]);
    let scan = Scan { body: Arc::new(step.finish(&[result])), carries: 1, inputs: 1, length: n, reverse: false };
    let mut graph = Graph::new(&[table, vector(n)], 0);
    let steps = graph.add(Op::Iota(n), &[]);
    let scan = graph.add(Op::Scan(Arc::new(scan)), &[0, steps, 1]);
    let result = graph.add(Op::Output(0), &[scan]);
    let body = graph.finish(&[result]);
    let procedure = lower_in_place(&body);
    assert!(steps_of(&procedure).changes(0));
    // Neither of the rows is stored before it is added.
    assert!(written(&procedure) <= n * n + n * (2 * n + 8), "{}", written(&procedure));
    let arguments = || {
        let numbers = |count: usize| (0..count).map(|k| (k % 7) as f64).collect();
        vec![Array::from_vec(&[n, n], numbers(n * n)), Array::from_vec(&[n], numbers(n))]
    };
    let expected = crate::term::interpret::interpret::<Concrete>(&body, arguments());
    let program = crate::engine::cpu::Program::new(&body, &Cpu::default().threads(1)).unwrap();
    let found = program.run(&arguments()).unwrap();
    (0..n * n).for_each(|at| assert_eq!(found[0].element(at), expected[0].element(at), "element {at}"));
}

#[test]
fn stretches_that_are_written_in_turns_are_written_where_they_are() {
    const STEPS: usize = 10;
    fn in_turns<A: Algebra>((a, b): &(Vector<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
        let n = a.len();
        let mean = |x: &Vector<A, f64>| (x.slice(0, ..n - 2) + x.slice(0, 1..n - 1) + x.slice(0, 2..)) * 0.3;
        let (a, b) = iterate((a.clone(), b.clone()), STEPS, |(a, b)| {
            let b = b.with(1..n - 1, mean(&a));
            (a.with(1..n - 1, mean(&b)), b)
        });
        (a * b).sum()
    }
    let n = 3000;
    let at = (Vector::from(vec![0.5; n]), Vector::from(vec![0.25; n]));
    let staged = stage(in_turns, &at).unwrap();
    let count = written(&lower_in_place(staged.program()));
    assert!(count <= 2 * n + STEPS * 2 * n + n, "{count}");
    let count = written(&lower_in_place(staged.grad().unwrap().program()));
    assert!(count <= 7 * n + STEPS * 10 * n, "{count}");
}

#[test]
fn conditionals_that_write_into_many_elements_run_one_side() {
    use crate::prelude::*;
    // The elements that are written, of a value and of its gradient.
    let of = |n: usize, steps: usize| {
        let start = Vector::from((0..n).map(|k| (k as f64 * 0.37).sin()).collect::<Vec<f64>>());
        let staged = stage(
            |start: &Vector<_, f64>| {
                fold(start.clone(), &iota(steps), |x: Vector<_, f64>, k| {
                    let (here, next) = (x.at(&k), x.at(&k + 1));
                    let (sine, cosine) = (here.sin() * &next, next.cos());
                    cond(here.gt(0.0), || x.scatter_set(&k + 1, &sine), || x.scatter_add(&k, &cosine))
                })
            },
            &start,
        );
        let staged = staged.expect("a program");
        let gradient = staged.vjp().expect("a gradient");
        [staged.program(), gradient.program()]
            .map(|body| written(&lower_in_place(&crate::vectorise::push_gathers(body))))
    };
    // As many more as the loop has arrays to begin with.
    let ([value, gradient], [more, most]) = (of(100, 50), of(1100, 50));
    assert!(more - value <= 3000 && most - gradient <= 6000, "{value} {gradient} {more} {most}");
}

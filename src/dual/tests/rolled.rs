//! Loops and conditionals.

use super::super::record::{Recorded, record};
use super::*;
use crate::affine::AffineMap;
use crate::operation::{Comparison, Contraction, Reduction};
use crate::term::{Branch, Scan};
use smallvec::smallvec;
use std::sync::Arc;

fn scan(body: Body, carries: usize, inputs: usize, length: usize, reverse: bool) -> Op {
    Op::Scan(Arc::new(Scan { body: Arc::new(body), carries, inputs, length, reverse }))
}

/// A loop as a whole program: parameters are the carries, the inputs and the captures.
fn looped(body: Body, carries: usize, inputs: usize, length: usize, reverse: bool) -> Body {
    let mut types: Vec<Type> = (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect();
    types[carries..carries + inputs].iter_mut().for_each(|ty| ty.shape.insert(0, length));
    program(&types, 0, |b, x| b.outputs(scan(body, carries, inputs, length, reverse), x))
}

#[track_caller]
fn check_loop(body: Body, carries: usize, inputs: usize) {
    for (length, reverse) in [(4, false), (3, true), (1, false), (0, false)] {
        check_within((-1.0, 1.0), &looped(body.clone(), carries, inputs, length, reverse));
    }
}

fn matrix_vector() -> Op {
    Op::Contract(Contraction::new(&[0, 1], &[1], &[0]))
}

#[test]
fn a_recurrent_network() {
    let types = [f64s(&[3]), f64s(&[2]), f64s(&[3, 3]), f64s(&[3, 2]), f64s(&[3])];
    let body = program(&types, 3, |b, x| {
        let hidden = b.op(matrix_vector(), &[x[2], x[0]]);
        let input = b.op(matrix_vector(), &[x[3], x[1]]);
        let sum = b.add(hidden, input);
        let sum = b.add(sum, x[4]);
        let next = b.unary(Unary::Tanh, sum);
        let output = b.mul(next, x[0]);
        vec![next, output]
    });
    check_loop(body, 1, 1);
}

#[test]
fn carries_that_move_only_after_some_steps() {
    // a ← b·x, b ← c, c ← tanh(k): activity needs several rounds; an integer counts along.
    let types = [f64s(&[]), f64s(&[]), f64s(&[]), Type::scalar(DType::I64), f64s(&[]), f64s(&[])];
    let body = program(&types, 1, |b, x| {
        let product = b.mul(x[1], x[4]);
        let bent = b.unary(Unary::Tanh, x[5]);
        let one = b.op(Op::Constant(Array::full(&[], Value::I64(1))), &[]);
        let count = b.add(x[3], one);
        let number = b.op(Op::Cast(DType::F64), &[x[3]]);
        let scaled = b.mul(number, x[0]);
        vec![product, x[2], bent, count, scaled, x[0], x[4]]
    });
    check_loop(body.clone(), 4, 1);
    // The same with carries that start as constants.
    let whole = program(&[f64s(&[5]), f64s(&[])], 0, |b, x| {
        let zero = b.number(&[], 0.0);
        let count = b.op(Op::Constant(Array::full(&[], Value::I64(0))), &[]);
        b.outputs(scan(body, 4, 1, 5, false), &[zero, zero, zero, count, x[0], x[1]])
    });
    check_within((-1.0, 1.0), &whole);
}

#[test]
fn captures_are_read_at_computed_and_fixed_positions() {
    let types = [f64s(&[]), Type::scalar(DType::I64), f64s(&[6]), f64s(&[2, 3])];
    let body = program(&types, 2, |b, x| {
        let read = b.op(Op::Gather, &[x[2], x[1]]);
        let fixed = b.op(Op::View(AffineMap::pick(&[6], 0, 2)), &[x[2]]);
        let product = b.mul(read, fixed);
        let row = b.op(Op::View(AffineMap::pick(&[2, 3], 0, 1)), &[x[3]]);
        let total = b.op(Op::Reduce(Reduction::Sum, smallvec![0]), &[row]);
        let scaled = b.mul(total, x[0]);
        let bent = b.unary(Unary::Sin, scaled);
        let one = b.op(Op::Constant(Array::full(&[], Value::I64(1))), &[]);
        let next = b.add(x[1], one);
        let carry = b.add(bent, product);
        vec![carry, next, read]
    });
    check_loop(body, 2, 0);
}

#[test]
fn what_depends_on_captures_only_is_computed_before_the_loop() {
    let types = [f64s(&[3]), f64s(&[3]), f64s(&[3])];
    let body = program(&types, 1, |b, x| {
        let weight = b.unary(Unary::Exp, x[2]);
        let product = b.mul(weight, x[0]);
        let next = b.add(product, x[1]);
        let output = b.mul(x[1], weight);
        vec![next, output]
    });
    check_loop(body, 1, 1);
}

#[test]
fn loops_in_loops() {
    let inner = program(&[f64s(&[]), f64s(&[]), f64s(&[3])], 1, |b, x| {
        let weight = b.op(Op::View(AffineMap::pick(&[3], 0, 1)), &[x[2]]);
        let product = b.mul(x[0], x[1]);
        let sum = b.add(product, weight);
        let next = b.unary(Unary::Sin, sum);
        vec![next, product]
    });
    let body = program(&[f64s(&[]), f64s(&[3]), f64s(&[3])], 1, |b, x| {
        let outputs = b.outputs(scan(inner, 1, 1, 3, true), &[x[0], x[1], x[2]]);
        let dot = b.op(Op::Contract(Contraction::new(&[0], &[0], &[])), &[outputs[1], x[2]]);
        let next = b.unary(Unary::Tanh, dot);
        vec![next, outputs[0], outputs[1]]
    });
    check_loop(body, 1, 1);
}

fn conditional(bound: f64) -> Body {
    let types = [f64s(&[3]), f64s(&[3]), f64s(&[])];
    let then = program(&types, 3, |b, x| {
        let product = b.mul(x[0], x[1]);
        let bent = b.unary(Unary::Exp, product);
        vec![bent, x[0]]
    });
    let otherwise = program(&types, 3, |b, x| {
        let spread = b.op(Op::View(AffineMap::broadcast(&[], &[3], &[])), &[x[2]]);
        let product = b.mul(x[1], spread);
        let bent = b.unary(Unary::Sin, product);
        let fixed = b.number(&[3], 0.5);
        let double = b.mul(bent, product);
        vec![double, fixed]
    });
    program(&types, 0, |b, x| {
        let bound = b.number(&[], bound);
        let condition = b.op(Op::Compare(Comparison::Less), &[x[2], bound]);
        let branch = Branch { then: Arc::new(then), otherwise: Arc::new(otherwise) };
        b.outputs(Op::Branch(Arc::new(branch)), &[condition, x[0], x[1], x[2]])
    })
}

#[test]
fn conditionals() {
    for bound in [5.0, -5.0] {
        check_within((-1.0, 1.0), &conditional(bound));
    }
}

#[test]
fn conditionals_in_loops() {
    let side = |op: Unary| {
        program(&[f64s(&[]), f64s(&[])], 2, |b, x| {
            let product = b.mul(x[0], x[1]);
            vec![b.unary(op, product)]
        })
    };
    let body = program(&[f64s(&[]), f64s(&[]), f64s(&[])], 1, |b, x| {
        let zero = b.number(&[], 0.0);
        let condition = b.op(Op::Compare(Comparison::Less), &[x[1], zero]);
        let branch = Branch { then: Arc::new(side(Unary::Sin)), otherwise: Arc::new(side(Unary::Exp)) };
        let chosen = b.outputs(Op::Branch(Arc::new(branch)), &[condition, x[0], x[2]]);
        let next = b.mul(chosen[0], x[1]);
        vec![next]
    });
    check_loop(body, 1, 1);
}

#[test]
fn a_missing_cotangent_does_not_harm() {
    // The last carry is unused; its derivative would be infinite.
    let body = program(&[f64s(&[]), f64s(&[])], 0, |b, x| {
        let next = b.unary(Unary::Sqrt, x[1]);
        let output = b.mul(x[1], x[1]);
        vec![next, output]
    });
    let whole = looped(body, 1, 1, 2, false);
    let at = vec![Array::full(&[], Value::F64(1.0)), Array::from_vec(&[2], vec![3.0, 0.0])];
    let (_, pullback) = super::super::vjp::<Concrete>(&|x| run::<Dual<Concrete>>(&whole, x), at);
    let gradient = pullback(vec![None, Some(Array::full(&[2], Value::F64(1.0)))]);
    assert_eq!(gradient[1].to_vec::<f64>(), Some(vec![6.0, 0.0]));
    assert_eq!(gradient[0].element(0).to_f64(), 0.0);
}

#[test]
fn a_side_not_taken_around_a_loop_does_not_harm() {
    let body = program(&[f64s(&[])], 0, |b, x| vec![b.unary(Unary::Sqrt, x[0])]);
    let whole = program(&[f64s(&[])], 0, |b, x| {
        let zero = b.number(&[], 0.0);
        let mask = b.op(Op::Compare(Comparison::Greater), &[x[0], zero]);
        let roots = b.outputs(scan(body, 1, 0, 2, false), &[x[0]]);
        vec![b.op(Op::Select, &[mask, roots[0], x[0]])]
    });
    let gradient =
        pull::<Concrete>(&whole, vec![Array::full(&[], Value::F64(0.0))], &[Array::full(&[], Value::F64(1.0))]);
    assert_eq!(gradient[0].element(0).to_f64(), 1.0);
}

/// The gradient of a loop, written down as a program: its operations outside of loops, and its loops.
fn gradient_program(body: Body, carries: usize, inputs: usize, length: usize) -> (Vec<Op>, Vec<Arc<Scan>>, usize) {
    let whole = looped(body, carries, inputs, length, false);
    let types: Vec<Type> = (0..whole.arity()).map(|at| whole.parameter_type(at).clone()).collect();
    let cotangents: Vec<Type> = whole.result_types().cloned().collect();
    let (graph, gradient) = record(&[&types[..], &cotangents].concat(), |nodes| {
        let (at, cotangents) = nodes.split_at(types.len());
        pull::<Recorded>(&whole, at.to_vec(), cotangents)
    });
    let program = graph.finish(&gradient);
    let ops = program.nodes.iter().map(|node| node.op.clone()).collect::<Vec<Op>>();
    let scans = ops.iter().filter_map(|op| if let Op::Scan(scan) = op { Some(scan.clone()) } else { None }).collect();
    (ops, scans, program.node_count())
}

#[test]
fn products_of_captures_are_contracted_after_the_loop() {
    let types = [f64s(&[3]), f64s(&[2]), f64s(&[3, 3]), f64s(&[3, 2])];
    let network = || {
        program(&types, 2, |b, x| {
            let hidden = b.op(matrix_vector(), &[x[2], x[0]]);
            let input = b.op(matrix_vector(), &[x[3], x[1]]);
            let sum = b.add(hidden, input);
            vec![b.unary(Unary::Tanh, sum)]
        })
    };
    let (ops, scans, count) = gradient_program(network(), 1, 1, 10);
    assert_eq!(ops.iter().filter(|op| matches!(op, Op::Contract(_))).count(), 2);
    assert_eq!(scans.len(), 2);
    let backward = &scans[1];
    assert!(backward.reverse);
    // One cotangent is carried, and no array of a weight's shape is summed.
    assert_eq!(backward.carries, 1);
    // Neither the length nor, for rolled loops, anything else makes the program grow.
    assert_eq!(gradient_program(network(), 1, 1, 10_000).2, count);
}

#[test]
fn reads_of_captures_are_scattered_after_the_loop() {
    let body = program(&[f64s(&[]), Type::scalar(DType::I64), f64s(&[6])], 1, |b, x| {
        let read = b.op(Op::Gather, &[x[2], x[1]]);
        let fixed = b.op(Op::View(AffineMap::pick(&[6], 0, 2)), &[x[2]]);
        let sum = b.mul(read, fixed);
        vec![b.mul(x[0], sum)]
    });
    let (ops, scans, _) = gradient_program(body, 1, 1, 10);
    assert_eq!(ops.iter().filter(|op| matches!(op, Op::Scatter(_))).count(), 1);
    assert!(ops.iter().any(|op| matches!(op, Op::Accumulate(_) | Op::View(_))));
    let sums: Vec<&Type> = (0..scans[1].carries).map(|at| scans[1].body.parameter_type(at)).collect();
    assert!(sums.iter().all(|ty| ty.rank() == 0), "{sums:?}");
}

#[test]
fn products_of_one_cotangent_are_contracted_after_the_loop() {
    // h' = tanh(h · w + e · v + b): one stack of cotangents instead of three sums.
    let types = [f64s(&[3]), f64s(&[3]), f64s(&[3]), f64s(&[3]), f64s(&[3])];
    let body = program(&types, 3, |b, x| {
        let (recurrent, input) = (b.mul(x[0], x[2]), b.mul(x[1], x[3]));
        let sum = b.binary(Binary::Add, recurrent, input);
        let sum = b.binary(Binary::Add, sum, x[4]);
        let next = b.unary(Unary::Tanh, sum);
        vec![next, next]
    });
    let (ops, scans, _) = gradient_program(body.clone(), 1, 1, 4);
    let backward = scans.iter().find(|scan| scan.reverse).expect("a backward loop");
    assert_eq!(backward.carries, 1);
    assert_eq!(ops.iter().filter(|op| matches!(op, Op::Contract(_))).count(), 2);
    check_loop(body, 1, 1);
    // One product of each cotangent: its sum is no more to write than its stack, and several stacks for one sum are.
    let body = program(&[f64s(&[3]), f64s(&[3]), f64s(&[3])], 1, |b, x| {
        let square = b.mul(x[1], x[1]);
        let (left, right) = (b.mul(x[0], x[2]), b.mul(square, x[2]));
        let (sine, root) = (b.unary(Unary::Sin, left), b.unary(Unary::Sigmoid, right));
        let next = b.mul(sine, root);
        vec![next]
    });
    let (_, scans, _) = gradient_program(body.clone(), 1, 1, 4);
    let backward = scans.iter().find(|scan| scan.reverse).expect("a backward loop");
    assert_eq!(backward.carries, 2);
    check_loop(body, 1, 1);
}

#[test]
fn cotangents_are_marked_only_where_a_factor_may_be_infinite() {
    let marked = |op: Unary| {
        let body = program(&[f64s(&[]), f64s(&[])], 0, |b, x| {
            let product = b.mul(x[0], x[1]);
            let next = b.unary(op, product);
            vec![next, x[0]]
        });
        let whole = looped(body, 1, 1, 3, false);
        let types: Vec<Type> = (0..whole.arity()).map(|at| whole.parameter_type(at).clone()).collect();
        let (graph, gradient) = record(&[&types[..], &[f64s(&[3])]].concat(), |nodes| {
            let (at, cotangent) = nodes.split_at(types.len());
            let run = |x| run::<Dual<Recorded>>(&whole, x);
            let (_, pullback) = super::super::vjp::<Recorded>(&run, at.to_vec());
            pullback(vec![None, Some(cotangent[0])])
        });
        let program = graph.finish(&gradient);
        let bodies = program.nodes.iter().flat_map(|node| node.op.bodies());
        bodies.flat_map(|body| &body.nodes).any(|node| node.op == Op::Binary(Binary::KeepZero))
    };
    assert!(!marked(Unary::Tanh));
    assert!(!marked(Unary::Sigmoid));
    assert!(marked(Unary::Exp));
    assert!(marked(Unary::Ln));
}

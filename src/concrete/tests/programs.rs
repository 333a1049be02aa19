//! Contractions, loops and conditionals.

use super::*;
use crate::operation::{Binary, Contraction, Unary};
use crate::term::{Body, Node, Op, Scan};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// The contraction by its definition, on labels `0..4` of given extents.
fn naive(spec: &Contraction, a: &Array, b: &Array) -> Vec<f64> {
    let labels: Vec<u8> = (0..6).filter(|l| spec.left.contains(l) || spec.right.contains(l)).collect();
    let extents: Shape = labels.iter().map(|&l| spec.extent(l, a.shape(), b.shape())).collect();
    let shape = spec.shape(a.shape(), b.shape());
    let mut out = vec![0.0; size(&shape)];
    for at in positions(&extents) {
        let place = |list: &[u8]| -> Shape {
            list.iter().map(|l| at[labels.iter().position(|m| m == l).expect("listed")]).collect()
        };
        out[flat(&shape, &place(&spec.result))] +=
            read(a, Some(&place(&spec.left))) * read(b, Some(&place(&spec.right)));
    }
    out
}

fn shuffled(random: &mut Random, mut labels: Vec<u8>) -> Vec<u8> {
    (1..labels.len()).for_each(|at| labels.swap(at, random.below(at + 1)));
    labels
}

#[test]
fn contractions_of_any_label_order() {
    let mut random = Random(5);
    for round in 0..6000 {
        let dtype = DTYPES[round % 4];
        let (mut left, mut right, mut result) = (vec![], vec![], vec![]);
        for label in 0..random.below(6) as u8 {
            let kind = random.below(4);
            [kind != 0, kind != 1, kind != 2].iter().zip([&mut left, &mut right, &mut result]).for_each(
                |(&yes, list)| {
                    if yes {
                        list.push(label);
                    }
                },
            );
        }
        let (left, right, result) =
            (shuffled(&mut random, left), shuffled(&mut random, right), shuffled(&mut random, result));
        let spec = Contraction::new(&left, &right, &result);
        let extents: Vec<usize> = (0..6).map(|_| [1, 2, 3, 4, 5, 3, 2, 9, 4, 2, 3, 0][random.below(12)]).collect();
        let shape = |list: &[u8]| -> Shape { list.iter().map(|&l| extents[l as usize]).collect() };
        let a = random.array(dtype, &shape(&left));
        let b = random.array(dtype, &shape(&right));
        assert_elements(&Concrete::contract(&spec, a.clone(), b.clone()), &naive(&spec, &a, &b));
    }
}

#[test]
fn large_products_in_every_layout() {
    let mut random = Random(6);
    for left in [[0, 1], [1, 0]] {
        for right in [[1, 2], [2, 1]] {
            for result in [[0, 2], [2, 0]] {
                for dtype in [DType::F32, DType::F64, DType::I32] {
                    let spec = Contraction::new(&left, &right, &result);
                    let extents = [19usize, 33, 21];
                    let shape = |list: &[u8]| -> Shape { list.iter().map(|&l| extents[l as usize]).collect() };
                    let a = random.array(dtype, &shape(&left));
                    let b = random.array(dtype, &shape(&right));
                    assert_elements(&Concrete::contract(&spec, a.clone(), b.clone()), &naive(&spec, &a, &b));
                }
            }
        }
    }
}

/// A body from its nodes and results, types inferred.
fn body(parameters: &[Type], captures: usize, nodes: Vec<(Op, SmallVec<[u32; 3]>)>, results: &[u32]) -> Arc<Body> {
    let mut arena: Vec<Node> = parameters
        .iter()
        .enumerate()
        .map(|(at, ty)| Node { op: Op::Parameter(at), args: smallvec![], types: smallvec![ty.clone()] })
        .collect();
    for (op, args) in nodes {
        let operands: Vec<&[Type]> = args.iter().map(|&arg| &arena[arg as usize].types[..]).collect();
        let types = crate::term::infer::outputs(&op, &operands).expect("operands fit");
        arena.push(Node { op, args, types });
    }
    let body = Body::of(parameters.len() - captures, captures, arena, results.to_vec());
    assert!(body.is_well_formed());
    Arc::new(body)
}

#[test]
fn loops() {
    let scalar = Type::scalar(DType::F64);
    // A step adds the product of a slice with a capture to the carry, and returns the sum before it, and the slice.
    let step = body(
        &[scalar.clone(), scalar.clone(), scalar],
        1,
        vec![(Op::Binary(Binary::Mul), smallvec![1, 2]), (Op::Binary(Binary::Add), smallvec![0, 3])],
        &[4, 0, 1],
    );
    let run = |length: usize, reverse: bool| {
        let scan = Arc::new(Scan { body: step.clone(), carries: 1, inputs: 1, length, reverse });
        let input = Array::from_vec(&[length], (1..=length).map(|i| i as f64).collect());
        let outputs = Concrete::scan(
            &scan,
            vec![Array::full(&[], Value::F64(1.0))],
            vec![input],
            vec![Array::full(&[], Value::F64(10.0))],
        );
        outputs.iter().map(numbers).collect::<Vec<_>>()
    };
    assert_eq!(run(3, false), [vec![61.0], vec![1.0, 11.0, 31.0], vec![1.0, 2.0, 3.0]]);
    assert_eq!(run(3, true), [vec![61.0], vec![51.0, 31.0, 1.0], vec![1.0, 2.0, 3.0]]);
    assert_eq!(run(0, false), [vec![1.0], vec![], vec![]]);
}

#[test]
fn loops_over_rows() {
    let row = Type::new(DType::I64, &[2]);
    let step = body(&[row.clone(), row], 0, vec![(Op::Binary(Binary::Add), smallvec![0, 1])], &[2, 2]);
    let scan = Arc::new(Scan { body: step, carries: 1, inputs: 1, length: 3, reverse: false });
    let input = Array::from_vec(&[3, 2], vec![1i64, 2, 3, 4, 5, 6]);
    let outputs = Concrete::scan(&scan, vec![Array::full(&[2], Value::I64(0))], vec![input], vec![]);
    assert_eq!(outputs[0].to_vec::<i64>(), Some(vec![9, 12]));
    assert_eq!(outputs[1].to_vec::<i64>(), Some(vec![1, 2, 4, 6, 9, 12]));
}

#[test]
fn conditionals() {
    let scalar = Type::scalar(DType::F64);
    let then = body(std::slice::from_ref(&scalar), 1, vec![(Op::Unary(Unary::Neg), smallvec![0])], &[1]);
    let otherwise = body(&[scalar], 1, vec![], &[0]);
    for (condition, expected) in [(true, -2.0), (false, 2.0)] {
        let condition = Array::full(&[], Value::Bool(condition));
        let outputs = Concrete::branch(condition, &then, &otherwise, vec![Array::full(&[], Value::F64(2.0))]);
        assert_eq!(Concrete::known(&outputs[0]).map(|array| array.element(0)), Some(Value::F64(expected)));
    }
}

use super::*;
use crate::affine::AffineMap;
use crate::evaluate::run::run_step_by_step;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{Shape, Type};
use crate::term::{Graph, NodeId, Op};
use std::sync::Arc;

/// A loop over inputs of these element types with a capture of rank 0, and its operands.
struct Case {
    scan: Scan,
    carries: Vec<Array>,
    inputs: Vec<Array>,
    captures: Vec<Array>,
}

/// Numbers without a pattern, exact in every type, and few enough that many are equal.
fn some(ty: &Type, seed: u64) -> Array {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % 9
    };
    let numbers: Vec<i64> = (0..ty.size()).map(|_| next() as i64 - 4).collect();
    match ty.dtype {
        DType::F32 => Array::from_vec(&ty.shape, numbers.iter().map(|&x| x as f32 / 4.0).collect()),
        DType::F64 => Array::from_vec(&ty.shape, numbers.iter().map(|&x| x as f64 / 4.0).collect()),
        DType::I32 => Array::from_vec(&ty.shape, numbers.iter().map(|&x| x as i32).collect()),
        DType::I64 => Array::from_vec(&ty.shape, numbers),
        DType::Bool => Array::from_vec(&ty.shape, numbers.iter().map(|&x| x > 0).collect()),
    }
}

type Step = fn(&mut Graph, &[NodeId]) -> Vec<NodeId>;

impl Case {
    fn new(shape: &[usize], types: (&[DType], &[DType]), (length, reverse): (usize, bool), step: Step) -> Case {
        let (carries, inputs) = types;
        let mut parameters: Vec<Type> = carries.iter().chain(inputs).map(|&dtype| Type::new(dtype, shape)).collect();
        let captures = [Type::new(carries[0], shape), Type::scalar(carries[0])];
        parameters.extend_from_slice(&captures);
        let mut graph = Graph::new(&parameters, 2);
        let operands: Vec<NodeId> = (0..parameters.len() as NodeId).collect();
        let results = step(&mut graph, &operands);
        let body = Arc::new(graph.finish(&results));
        let stacked: Shape = std::iter::once(length).chain(shape.iter().copied()).collect();
        Case {
            scan: Scan { body, carries: carries.len(), inputs: inputs.len(), length, reverse },
            carries: carries.iter().map(|&dtype| some(&Type::new(dtype, shape), 1)).collect(),
            inputs: (2..).zip(inputs).map(|(seed, &dtype)| some(&Type::new(dtype, &stacked), seed)).collect(),
            captures: (7..).zip(&captures).map(|(seed, ty)| some(ty, seed)).collect(),
        }
    }

    /// Checks that both ways give the same bits, if there are both.
    #[track_caller]
    fn agrees(&self) -> bool {
        let Some(found) = run_recurrence(&self.scan, &self.carries, &self.inputs, &self.captures) else { return false };
        let expected = run_step_by_step(&self.scan, self.carries.clone(), &self.inputs, &self.captures).unwrap();
        for (expected, found) in expected.iter().zip(found.unwrap()) {
            assert_eq!(expected.ty(), found.ty());
            for at in 0..expected.size() {
                assert_eq!(expected.element(at), found.element(at), "at {at} of {:?}", self.scan);
            }
        }
        true
    }
}

fn binary(graph: &mut Graph, op: Binary, a: NodeId, b: NodeId) -> NodeId {
    graph.add(Op::Binary(op), &[a, b])
}

const SIZES: [(&[usize], usize); 7] =
    [(&[], 1), (&[], 2), (&[], 2100), (&[1], 3), (&[3], 700), (&[2, 5], 7), (&[3000], 3)];

/// Every operation of two numbers, on either side of the carry, whose old values are written too.
#[test]
fn running_totals_are_those_of_single_steps() {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool] {
        for &op in crate::operation::BINARY_ROWS.iter().filter(|op| op.domain().accepts(dtype)) {
            // Blocks are the same whatever the operation is.
            let sizes = if op.name() == "sub" { &SIZES[..] } else { &[(&[] as &[usize], 9), (&[3], 4)] };
            for (&(shape, length), reverse) in sizes.iter().flat_map(|size| [(size, false), (size, true)]) {
                let op = Op::Binary(op);
                let case = |swapped: bool| {
                    let mut graph = Graph::new(&vec![Type::new(dtype, shape); 2], 0);
                    let operands = if swapped { [1, 0] } else { [0, 1] };
                    let next = graph.add(op.clone(), &operands);
                    let body = Arc::new(graph.finish(&[next, next, 0, 1]));
                    let stacked: Shape = std::iter::once(length).chain(shape.iter().copied()).collect();
                    Case {
                        scan: Scan { body, carries: 1, inputs: 1, length, reverse },
                        carries: vec![some(&Type::new(dtype, shape), 1)],
                        inputs: vec![some(&Type::new(dtype, &stacked), 2)],
                        captures: Vec::new(),
                    }
                };
                assert!(case(false).agrees() && case(true).agrees());
            }
        }
    }
}

/// Steps of several operations, with their names.
fn steps() -> Vec<(&'static str, Step, usize, Vec<DType>)> {
    use Binary::{Add, KeepZero, Max, Mul, Sub};
    vec![
        // Operands: carries, inputs, a capture, and one of rank 0.
        (
            "affine",
            |g, p| {
                let product = binary(g, Mul, p[0], p[1]);
                let next = binary(g, Add, product, p[2]);
                vec![next, p[0], next]
            },
            1,
            vec![DType::F64; 2],
        ),
        (
            "backwards of a product",
            |g, p| {
                let sum = binary(g, Add, p[0], p[1]);
                let (next, out) = (binary(g, KeepZero, sum, p[2]), binary(g, KeepZero, sum, p[3]));
                vec![next, out]
            },
            1,
            vec![DType::F64; 3],
        ),
        (
            "backwards of a maximum",
            |g, p| {
                let zero = g.add(Op::Constant(Array::full(&g.ty(0).shape.clone(), Value::F64(0.0))), &[]);
                let sum = binary(g, Add, p[0], p[1]);
                let (a, b) = (g.add(Op::Select, &[p[2], sum, zero]), g.add(Op::Select, &[p[3], sum, zero]));
                vec![a, b]
            },
            1,
            vec![DType::F64, DType::Bool, DType::Bool],
        ),
        (
            "a maximum and who attains it",
            |g, p| {
                let next = binary(g, Max, p[0], p[1]);
                let left = g.add(Op::Compare(Comparison::GreaterEqual), &[p[0], p[1]]);
                vec![next, left, p[0], next]
            },
            1,
            vec![DType::F64],
        ),
        (
            "a product and its tangent",
            |g, p| {
                let (a, b) = (binary(g, Mul, p[1], p[2]), binary(g, Mul, p[0], p[3]));
                let (next, tangent) = (binary(g, Mul, p[0], p[2]), binary(g, Add, a, b));
                vec![next, tangent, tangent]
            },
            2,
            vec![DType::F64; 2],
        ),
        (
            "captures",
            |g, p| {
                let map = AffineMap::broadcast(&[], &g.ty(0).shape.clone(), &[]);
                let repeated = if map.is_identity() { p[4] } else { g.add(Op::View(map), &[p[4]]) };
                let scaled = binary(g, Mul, p[1], repeated);
                let sum = binary(g, Add, p[0], scaled);
                let next = binary(g, Sub, sum, p[3]);
                vec![next, scaled, next]
            },
            1,
            vec![DType::F64; 2],
        ),
        ("carries that change places", |g, p| vec![p[1], binary(g, Sub, p[0], p[2]), p[0]], 2, vec![DType::F64]),
        ("a carry that stays", |g, p| vec![p[0], binary(g, Add, p[1], p[0]), p[2]], 2, vec![DType::F64]),
        ("a carry that is an input", |g, p| vec![p[1], binary(g, Sub, p[1], p[0])], 1, vec![DType::F64]),
        ("two sums", |g, p| vec![binary(g, Add, p[0], p[2]), binary(g, Add, p[3], p[1]), p[1]], 2, vec![DType::F64; 2]),
        (
            "a choice by what is carried",
            |g, p| {
                let smaller = g.add(Op::Compare(Comparison::Less), &[p[0], p[1]]);
                let (sine, sum) = (g.add(Op::Unary(Unary::Sin), &[p[0]]), binary(g, Add, p[0], p[1]));
                vec![g.add(Op::Select, &[smaller, sum, sine]), smaller]
            },
            1,
            vec![DType::F64],
        ),
        (
            "what follows is of another type",
            |g, p| {
                let next = binary(g, Add, p[0], p[1]);
                let cast = g.add(Op::Cast(DType::I32), &[next]);
                vec![next, cast]
            },
            1,
            vec![DType::F64],
        ),
    ]
}

#[test]
fn recurrences_are_those_of_single_steps() {
    for (name, step, carries, inputs) in steps() {
        for ((shape, length), reverse) in SIZES.into_iter().flat_map(|size| [(size, false), (size, true)]) {
            let case = Case::new(shape, (&vec![DType::F64; carries], &inputs), (length, reverse), step);
            assert!(case.agrees() || size(shape) > PLACES, "{name} at {shape:?}");
        }
    }
}

#[test]
fn captures_that_nothing_reads_have_any_shape() {
    for unread in [&[2, 0][..], &[7][..]] {
        let types = [Type::new(DType::F64, &[3]), Type::new(DType::I64, unread)];
        let body = Arc::new(Graph::new(&types, 1).finish(&[0, 0]));
        let scan = Scan { body, carries: 1, inputs: 0, length: 5, reverse: false };
        let case =
            Case { scan, carries: vec![some(&types[0], 1)], inputs: Vec::new(), captures: vec![some(&types[1], 2)] };
        assert!(case.agrees());
    }
}

/// Loops that are run with an array for every step.
#[test]
fn other_loops_are_left() {
    let run = |step: Step, carries: &[DType], inputs: &[DType], length: usize| {
        Case::new(&[3], (carries, inputs), (length, false), step).agrees()
    };
    let sum: Step = |g, p| vec![binary(g, Binary::Add, p[0], p[1])];
    assert!(run(sum, &[DType::F64], &[DType::F64], 3));
    assert!(!run(sum, &[DType::F64], &[DType::F64], 0));
    let rotated: Step = |g, p| vec![g.add(Op::View(AffineMap::along(&[3], 0, 2, -1, 3)), &[p[0]])];
    assert!(!run(rotated, &[DType::F64], &[], 3));
    let mixed: Step = |g, p| vec![p[0], binary(g, Binary::Add, p[1], p[1])];
    assert!(!run(mixed, &[DType::F64, DType::I64], &[], 3));
}

//! Every row of the operation table, and every structural operation.

use super::*;
use crate::affine::AffineMap;
use crate::operation::{BINARY_ROWS, Comparison, Contraction, Domain, Extreme, Reduction, UNARY_ROWS};
use smallvec::smallvec;

/// A result that is nonlinear in its operand, so that second derivatives occur.
fn bent(b: &mut Builder, y: NodeId) -> NodeId {
    let bend = b.unary(Unary::Tanh, y);
    b.mul(bend, y)
}

#[test]
fn unary_rows() {
    let powers = [-2, 0, 1, 2, 3].map(Unary::Powi);
    for &op in UNARY_ROWS.iter().chain(&powers).filter(|&&op| op != Unary::StopGradient) {
        if matches!(op.domain(), Domain::Float | Domain::Number) {
            let body = program(&[f64s(&[7])], 0, |b, x| vec![b.unary(op, x[0])]);
            check_within(op.test_interval(), &body);
        }
    }
}

#[test]
fn binary_rows() {
    for &op in BINARY_ROWS.iter().filter(|op| matches!(op.domain(), Domain::Float | Domain::Number)) {
        let types = [f64s(&[7]), f64s(&[7])];
        check_within(op.test_interval(), &program(&types, 0, |b, x| vec![b.binary(op, x[0], x[1])]));
        // One operand that does not move, and both the same.
        let left = |b: &mut Builder, x: &[NodeId]| {
            let fixed = b.number(&[7], 1.25);
            vec![b.binary(op, x[0], fixed), b.binary(op, fixed, x[0])]
        };
        check_within(op.test_interval(), &program(&types[..1], 0, left));
    }
}

#[test]
fn integers_and_booleans_do_not_move() {
    let types = [f64s(&[3]), Type::new(DType::I64, &[3]), Type::new(DType::Bool, &[3])];
    check(&types, |b, x| {
        let truncated = b.op(Op::Cast(DType::I64), &[x[0]]);
        let sum = b.add(truncated, x[1]);
        let back = b.op(Op::Cast(DType::F64), &[sum]);
        let less = b.op(Op::Compare(Comparison::Less), &[x[0], back]);
        let chosen = b.op(Op::Select, &[x[2], x[0], back]);
        let squared = b.mul(x[0], x[0]);
        vec![squared, sum, less, chosen, back]
    });
}

#[test]
fn casts() {
    let body = program(&[Type::new(DType::F32, &[4])], 0, |b, x| {
        let wide = b.op(Op::Cast(DType::F64), &[x[0]]);
        let same = b.op(Op::Cast(DType::F64), &[wide]);
        let square = b.mul(wide, same);
        vec![b.op(Op::Cast(DType::F32), &[square])]
    });
    let x = Array::from_vec(&[4], vec![1f32, 2.0, 3.0, 4.0]);
    let ones = Array::full(&[4], Value::F32(1.0));
    let gradient = pull::<Concrete>(&body, vec![x], &[ones]);
    assert_eq!(gradient[0].to_vec::<f32>(), Some(vec![2.0, 4.0, 6.0, 8.0]));
}

#[test]
fn selection() {
    check(&[f64s(&[6]), f64s(&[6])], |b, x| {
        let mask = b.op(Op::Compare(Comparison::Greater), &[x[0], x[1]]);
        let (yes, no) = (bent(b, x[0]), bent(b, x[1]));
        let zero = b.number(&[6], 0.0);
        let marked = b.op(Op::Mark, &[yes]);
        let both = b.op(Op::Select, &[mask, marked, no]);
        let one = b.op(Op::Select, &[mask, zero, no]);
        vec![both, one]
    });
}

#[test]
fn views() {
    let maps = [
        AffineMap::transpose(&[3, 4], &[1, 0]),
        AffineMap::broadcast(&[3, 4], &[3, 2, 4], &[0, 2]),
        AffineMap::along(&[3, 4], 1, -2, 1, 9),
        AffineMap::along(&[3, 4], 0, 2, -1, 3),
        AffineMap::pick(&[3, 4], 0, 2),
        AffineMap::pick(&[3, 4], 0, 5),
        AffineMap::new(&[3, 4], &[5], &[smallvec![1], smallvec![1]], &[0, -1]),
        AffineMap::new(&[3, 4], &[2, 3], &[smallvec![1, 1], smallvec![0, 1]], &[0, 0]),
        AffineMap::along(&[3, 4], 0, 0, 1, 0),
    ];
    for map in maps {
        check(&[f64s(&[3, 4])], |b, x| {
            let y = b.op(Op::View(map.clone()), &[x[0]]);
            vec![bent(b, y)]
        });
        check(&[f64s(map.result())], |b, x| {
            let y = b.op(Op::Accumulate(map.clone()), &[x[0]]);
            vec![bent(b, y)]
        });
    }
}

#[test]
fn shapes_and_parts() {
    check(&[f64s(&[3, 2]), f64s(&[1, 2]), f64s(&[0, 2])], |b, x| {
        let nothing = b.number(&[2, 2], 0.5);
        let whole = b.op(Op::Concatenate(0), &[x[0], nothing, x[1], x[2], x[0]]);
        let flat = b.op(Op::Reshape(shape(&[3, 1, 6])), &[whole]);
        vec![bent(b, flat)]
    });
}

#[test]
fn reads_and_writes_at_computed_positions() {
    check(&[f64s(&[4, 3, 2]), f64s(&[2, 3, 2])], |b, x| {
        let rows = b.integers(&[2, 3], &[0, 3, -1, 3, 4, 3]);
        let columns = b.integers(&[2, 3], &[0, 1, 1, 1, 2, 1]);
        let read = b.op(Op::Gather, &[x[0], rows, columns]);
        let written = b.op(Op::Scatter(shape(&[4, 3])), &[x[1], rows, columns]);
        let whole = b.op(Op::Gather, &[x[0]]);
        let again = b.op(Op::Scatter(shape(&[])), &[whole]);
        vec![bent(b, read), bent(b, written), bent(b, again)]
    });
    // An axis of length 0 has nothing to read.
    check(&[f64s(&[0, 2]), f64s(&[2, 2])], |b, x| {
        let rows = b.integers(&[2], &[0, 1]);
        let read = b.op(Op::Gather, &[x[0], rows]);
        let sum = b.add(read, x[1]);
        vec![bent(b, sum)]
    });
}

#[test]
fn reductions() {
    for op in [Reduction::Sum, Reduction::Max, Reduction::Min] {
        for axes in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2], &[]] {
            check(&[f64s(&[3, 2, 4])], |b, x| {
                let y = b.op(Op::Reduce(op, axes.into()), &[x[0]]);
                vec![bent(b, y)]
            });
        }
        check(&[f64s(&[])], |b, x| {
            let y = b.op(Op::Reduce(op, smallvec![]), &[x[0]]);
            vec![bent(b, y)]
        });
    }
    check(&[f64s(&[3, 5])], |b, x| {
        let position = b.op(Op::ArgReduce(Extreme::Max, 1), &[x[0]]);
        let rows = b.op(Op::Iota(3), &[]);
        let read = b.op(Op::Gather, &[x[0], rows, position]);
        vec![bent(b, read), position]
    });
}

#[test]
fn extremes_move_with_the_first_element() {
    let x = Array::from_vec(&[2, 3], vec![1.0, 5.0, 5.0, 5.0, 0.0, 5.0]);
    for (axes, expected) in [
        (&[0, 1][..], vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        (&[1], vec![0.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        (&[0], vec![0.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
    ] {
        let body = program(&[f64s(&[2, 3])], 0, |b, x| vec![b.op(Op::Reduce(Reduction::Max, axes.into()), &[x[0]])]);
        let ones = body.result_types().map(|ty| Array::full(&ty.shape, Value::F64(1.0))).collect::<Vec<_>>();
        let gradient = pull::<Concrete>(&body, vec![x.clone()], &ones);
        assert_eq!(gradient[0].to_vec::<f64>(), Some(expected));
    }
    // Of nothing there is no extreme, and no derivative.
    for axes in [&[0][..], &[0, 1]] {
        let body = program(&[f64s(&[0, 3])], 0, |b, x| vec![b.op(Op::Reduce(Reduction::Min, axes.into()), &[x[0]])]);
        let ones = body.result_types().map(|ty| Array::full(&ty.shape, Value::F64(1.0))).collect::<Vec<_>>();
        let gradient = pull::<Concrete>(&body, vec![Array::full(&[0, 3], Value::F64(0.0))], &ones);
        assert_eq!(gradient[0].shape(), [0, 3]);
    }
}

#[test]
fn contractions() {
    type Case<'a> = (&'a [usize], &'a [usize], [&'a [u8]; 3]);
    let specs: [Case; 5] = [
        (&[3, 4], &[4, 2], [&[0, 1], &[1, 2], &[0, 2]]),
        (&[2, 3, 4], &[4, 2], [&[0, 1, 2], &[2, 0], &[1, 0]]),
        (&[3], &[4], [&[0], &[1], &[1, 0]]),
        (&[3], &[3], [&[0], &[0], &[]]),
        (&[3, 0], &[0, 2], [&[0, 1], &[1, 2], &[0, 2]]),
    ];
    for (left, right, [a, b_labels, result]) in specs {
        let spec = Contraction::new(a, b_labels, result);
        check(&[f64s(left), f64s(right)], |b, x| {
            let y = b.op(Op::Contract(spec.clone()), &[x[0], x[1]]);
            vec![bent(b, y)]
        });
    }
    let square = Contraction::new(&[0, 1], &[1, 2], &[0, 2]);
    check(&[f64s(&[3, 3])], |b, x| {
        let y = b.op(Op::Contract(square), &[x[0], x[0]]);
        vec![bent(b, y)]
    });
}

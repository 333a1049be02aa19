use crate::affine::AffineMap;
use crate::operation::{Binary, Extreme, Reduction};
use crate::shape::{DType, Shape, Type, Value};
use crate::simplify::testing::{RuleProgram, simplified};
use crate::term::{NodeId, Op};

fn reduce(p: &mut RuleProgram, op: Reduction, a: NodeId, axes: &[usize]) -> NodeId {
    p.graph.add(Op::Reduce(op, axes.into()), &[a])
}

fn view(p: &mut RuleProgram, map: AffineMap, a: NodeId) -> NodeId {
    p.graph.add(Op::View(map), &[a])
}

const ALL: [Reduction; 3] = [Reduction::Sum, Reduction::Max, Reduction::Min];

fn matrix() -> [Type; 1] {
    [Type::new(DType::F64, &[3, 4])]
}

#[test]
fn reductions_of_reductions_merge() {
    let merged = |op: Reduction, dtype: DType, first: usize| {
        simplified(&[Type::new(dtype, &[2, 3, 4])], |p, ids| {
            let inner = reduce(p, op, ids[0], &[first]);
            let same = reduce(p, op, inner, &[]);
            reduce(p, op, same, &[0, 1])
        })
    };
    for op in ALL {
        let expected = format!("{op:?}[0, 1, 2](a)").to_lowercase();
        assert_eq!(merged(op, DType::I64, 1), expected);
        assert_eq!(merged(op, DType::F64, 2), expected);
    }
    assert_eq!(merged(Reduction::Sum, DType::F64, 1), "sum[0, 1, 2](a)");
    // Of equal floats another one would come first, and get the derivative.
    assert_eq!(merged(Reduction::Max, DType::F64, 1), "max[0, 1](max[1](a))");
    let other = simplified(&matrix(), |p, ids| {
        let inner = reduce(p, Reduction::Max, ids[0], &[1]);
        reduce(p, Reduction::Sum, inner, &[0])
    });
    assert_eq!(other, "sum[0](max[1](a))");
}

#[test]
fn constants_and_empty_arrays() {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool] {
        for op in ALL {
            let constant = simplified(&[], |p, _| {
                let a = p.constant(&[3, 4], Value::from_f64(dtype, 2.0));
                reduce(p, op, a, &[1])
            });
            let sum = op == Reduction::Sum && dtype != DType::Bool;
            let element = if dtype == DType::Bool { "1" } else { "2" };
            assert_eq!(constant, if sum { "8" } else { element });
            let empty = simplified(&[Type::new(dtype, &[0, 2])], |p, ids| reduce(p, op, ids[0], &[0]));
            assert!(!empty.contains('a') || empty.contains("inf"), "{empty}");
        }
    }
}

#[test]
fn repetitions_are_counted() {
    let form = simplified(&matrix(), |p, ids| {
        let a = p.spread(ids[0], &[3, 5, 4, 2], &[0, 2]);
        p.sum(a, &[1, 2])
    });
    assert_eq!(form, "view{[i, j] -> [i]}(mul(sum[1](a), 5))");
    let form = simplified(&matrix(), |p, ids| {
        let a = p.spread(ids[0], &[3, 5, 4, 2], &[0, 2]);
        reduce(p, Reduction::Max, a, &[1, 2])
    });
    assert_eq!(form, "view{[i, j] -> [i]}(max[1](a))");
    let form = simplified(&[Type::new(DType::F64, &[3, 1, 4])], |p, ids| p.sum(ids[0], &[1, 2]));
    assert_eq!(form, "view{[i] -> [i, 0]}(sum[2](a))");
}

#[test]
fn rearrangements() {
    let transposed = simplified(&matrix(), |p, ids| {
        let a = p.transpose(ids[0], &[1, 0]);
        p.sum(a, &[0])
    });
    assert_eq!(transposed, "sum[1](a)");
    let of_three = simplified(&[Type::new(DType::F64, &[2, 3, 4])], |p, ids| {
        let a = p.transpose(ids[0], &[2, 0, 1]);
        reduce(p, Reduction::Max, a, &[1])
    });
    assert_eq!(of_three, "view{[i, j] -> [j, i]}(max[0](a))");
    let reversed = |op: Reduction, dtype: DType| {
        simplified(&[Type::new(dtype, &[3, 4])], |p, ids| {
            let a = view(p, AffineMap::along(&[3, 4], 1, 3, -1, 4), ids[0]);
            reduce(p, op, a, &[1])
        })
    };
    assert_eq!(reversed(Reduction::Sum, DType::F64), "sum[1](a)");
    assert_eq!(reversed(Reduction::Min, DType::I64), "min[1](a)");
    // Of equal floats another one would come first, and get the derivative.
    assert_eq!(reversed(Reduction::Min, DType::F64), "min[1](view{[i, j] -> [i, 3 - j]}(a))");
    let turned = simplified(&matrix(), |p, ids| {
        let a = p.transpose(ids[0], &[1, 0]);
        reduce(p, Reduction::Max, a, &[0, 1])
    });
    assert_eq!(turned, "max[0, 1](view{[i, j] -> [j, i]}(a))");
    let padded = simplified(&matrix(), |p, ids| {
        let a = view(p, AffineMap::along(&[3, 4], 1, -2, 1, 9), ids[0]);
        p.sum(a, &[1])
    });
    assert_eq!(padded, "sum[1](a)");
    // The zeros around count for an extreme, and the other axis may be padded too.
    let extreme = simplified(&matrix(), |p, ids| {
        let a = view(p, AffineMap::along(&[3, 4], 1, -2, 1, 9), ids[0]);
        reduce(p, Reduction::Max, a, &[1])
    });
    assert_eq!(extreme, "max[1](view{[i, j] -> [i, j - 2]}(a))");
    let other_axis = simplified(&matrix(), |p, ids| {
        let a = view(p, AffineMap::along(&[3, 4], 0, -1, 1, 6), ids[0]);
        p.sum(a, &[1])
    });
    assert_eq!(other_axis, "view{[i] -> [i - 1]}(sum[1](a))");
    let cut = simplified(&matrix(), |p, ids| {
        let a = view(p, AffineMap::along(&[3, 4], 1, 1, 1, 9), ids[0]);
        p.sum(a, &[1])
    });
    assert_eq!(cut, "sum[1](view{[i, j] -> [i, j + 1]}(a))");
    let diagonal = simplified(&[Type::new(DType::F64, &[3, 3])], |p, ids| {
        let map = AffineMap::new(&[3, 3], &[3], &[[1].as_slice().into(), [1].as_slice().into()], &[0, 0]);
        let a = view(p, map, ids[0]);
        p.sum(a, &[0])
    });
    assert_eq!(diagonal, "sum[0](view{[i] -> [i, i]}(a))");
}

#[test]
fn reshapes() {
    let shaped = |from: &[usize], to: &[usize], axes: &[usize]| {
        simplified(&[Type::new(DType::F64, from)], |p, ids| {
            let a = p.graph.add(Op::Reshape(Shape::from_slice(to)), ids);
            p.sum(a, axes)
        })
    };
    assert_eq!(shaped(&[3, 4], &[12], &[0]), "sum[0, 1](a)");
    assert_eq!(shaped(&[2, 3, 4], &[6, 4], &[0]), "sum[0, 1](a)");
    assert_eq!(shaped(&[2, 12], &[2, 3, 4], &[1, 2]), "sum[1](a)");
    assert_eq!(shaped(&[2, 12], &[2, 3, 4], &[0]), "Reshape([3, 4])(sum[0](a))");
    assert_eq!(shaped(&[4, 3], &[2, 6], &[1]), "sum[1](Reshape([2, 6])(a))");
    assert!(shaped(&[1, 6], &[6, 1], &[0]).contains("sum[1](a)"));
    assert!(!shaped(&[], &[1, 1], &[0, 1]).contains("sum"));
}

#[test]
fn positions_of_extremes() {
    let form = simplified(&[Type::new(DType::F64, &[3, 1])], |p, ids| p.graph.add(Op::ArgReduce(Extreme::Max, 1), ids));
    assert_eq!(form, "0");
}

#[test]
fn sums_of_indices_are_known() {
    let sum = |dtype: DType, factor: i64, offset: i64, axes: &'static [usize]| {
        simplified(&[], move |p, _| {
            let iota = p.graph.add(Op::Iota(5), &[]);
            let (factor, offset) = (p.constant(&[5], Value::I64(factor)), p.constant(&[5], Value::I64(offset)));
            let index = p.mul(iota, factor);
            let index = p.binary(Binary::Add, index, offset);
            let wide = p.spread(index, &[5, 3], &[0]);
            let cast = p.graph.add(Op::Cast(dtype), &[wide]);
            reduce(p, Reduction::Sum, cast, axes)
        })
    };
    for dtype in [DType::F32, DType::F64, DType::I64] {
        assert_eq!(sum(dtype, 1, 0, &[0, 1]), "30");
        assert_eq!(sum(dtype, -3, 2, &[0]), "-20");
        assert!(sum(dtype, 1, 1, &[1]).contains("iota"));
    }
    // 2^24 is the last whole number before which all are exact in 32 bits.
    assert!(sum(DType::F32, 1, 1 << 24, &[0]).contains("iota"));
    assert!(!sum(DType::F64, 1, 1 << 24, &[0]).contains("iota"));
}

#[test]
fn sums_of_concatenations_are_sums_of_sums() {
    let types = [Type::new(DType::F64, &[3, 4]), Type::new(DType::F64, &[2, 4])];
    let sum = |axes: &'static [usize]| {
        simplified(&types, move |p, ids| {
            let whole = p.graph.add(Op::Concatenate(0), ids);
            reduce(p, Reduction::Sum, whole, axes)
        })
    };
    assert_eq!(sum(&[0]), "add(sum[0](a), sum[0](b))");
    assert_eq!(sum(&[0, 1]), "add(sum[0, 1](a), sum[0, 1](b))");
    assert!(sum(&[1]).contains("Concatenate"));
}

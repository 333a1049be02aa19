//! Elementwise operations, reductions, casts and conversions.

use super::*;
use crate::affine::AffineMap;
use crate::operation::{BINARY_ROWS, Binary, COMPARISON_ROWS, Comparison, Extreme, Reduction, UNARY_ROWS, Unary};
use std::collections::HashMap;

#[test]
fn reductions() {
    let mut random = Random(4);
    for round in 0..3000 {
        let dtype = DTYPES[round % 5];
        let rank = random.below(5);
        let mut shape = random.shape(rank);
        if rank > 0 && round % 7 == 0 {
            shape[rank - 1] = 29;
        }
        let a = random.array(dtype, &shape);
        let axes: Vec<usize> = (0..rank).filter(|_| random.below(2) == 0).collect();
        let kept: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
        let result: Shape = kept.iter().map(|&axis| shape[axis]).collect();
        let mut groups: HashMap<Shape, Vec<f64>> = HashMap::new();
        for from in positions(&shape) {
            groups.entry(kept.iter().map(|&axis| from[axis]).collect()).or_default().push(read(&a, Some(&from)));
        }
        let group = |at: &Shape| groups.get(at).cloned().unwrap_or_default();
        for op in [Reduction::Sum, Reduction::Max, Reduction::Min] {
            let expected: Vec<f64> = positions(&result)
                .iter()
                .map(|at| match op {
                    Reduction::Sum => group(at).iter().sum(),
                    Reduction::Max => group(at).into_iter().fold(f64::NEG_INFINITY, f64::max),
                    Reduction::Min => group(at).into_iter().fold(f64::INFINITY, f64::min),
                })
                .map(|x| if dtype == DType::Bool { f64::from(x > 0.0) } else { x })
                .collect();
            assert_elements(&Concrete::reduce(op, a.clone(), &axes), &expected);
        }
        if rank > 0 {
            let axis = random.below(rank);
            let mut result = shape.clone();
            let length = result.remove(axis);
            for (op, sign) in [(Extreme::Max, 1.0), (Extreme::Min, -1.0)] {
                let expected: Vec<f64> = positions(&result)
                    .iter()
                    .map(|at| {
                        let element = |i: usize| {
                            let mut from = at.clone();
                            from.insert(axis, i);
                            sign * read(&a, Some(&from))
                        };
                        (1..length).fold(0, |best, i| if element(i) > element(best) { i } else { best }) as f64
                    })
                    .collect();
                assert_elements(&Concrete::arg_reduce(op, a.clone(), axis), &expected);
            }
        }
    }
}

#[test]
fn not_a_number_wins() {
    for length in [3, 40] {
        for place in [0, 1, length - 1] {
            let mut elements: Vec<f64> = (0..length).map(|i| i as f64).collect();
            elements[place] = f64::NAN;
            for (shape, axis) in [([length, 1], 0), ([1, length], 1)] {
                let a = Array::from_vec(&shape, elements.clone());
                for op in [Reduction::Max, Reduction::Min] {
                    assert!(Concrete::reduce(op, a.clone(), &[axis]).element(0).to_f64().is_nan());
                }
                for op in [Extreme::Max, Extreme::Min] {
                    assert_eq!(Concrete::arg_reduce(op, a.clone(), axis).element(0), Value::I64(place as i64));
                }
            }
        }
    }
}

#[test]
fn every_elementwise_operation_on_buffers_and_uniform_operands() {
    for dtype in DTYPES {
        let (x, y) = (Value::from_i64(dtype, 2), Value::from_i64(dtype, 3));
        let uniform = |v: Value| Array::full(&[3], v);
        let dense = |v: Value| {
            let full = Array::full(&[3], v);
            for_data!(&full, data => Array::from_vec(&[3], data.clone().into_vec().unwrap()))
        };
        let same = |arrays: &[Array]| {
            for array in arrays {
                assert_eq!(array.shape(), [3]);
                (0..3).for_each(|at| assert_eq!(array.element(at), arrays[0].element(0)));
            }
        };
        for &op in UNARY_ROWS.iter().chain(&[Unary::Powi(2), Unary::Powi(3), Unary::Powi(-1), Unary::Powi(5)]) {
            if op.domain().accepts(dtype) {
                let shared = dense(x);
                same(&[
                    Concrete::unary(op, uniform(x)),
                    Concrete::unary(op, dense(x)),
                    Concrete::unary(op, shared.clone()),
                ]);
                assert_eq!(shared.element(1), x);
            }
        }
        for &op in BINARY_ROWS {
            if op.domain().accepts(dtype) {
                let (left, right) = (dense(x), dense(y));
                same(&[
                    Concrete::binary(op, uniform(x), uniform(y)),
                    Concrete::binary(op, dense(x), uniform(y)),
                    Concrete::binary(op, uniform(x), dense(y)),
                    Concrete::binary(op, dense(x), dense(y)),
                    Concrete::binary(op, left.clone(), dense(y)),
                    Concrete::binary(op, left.clone(), right.clone()),
                ]);
                assert_eq!((left.element(1), right.element(1)), (x, y));
            }
        }
        for &op in COMPARISON_ROWS {
            same(&[
                Concrete::compare(op, uniform(x), uniform(y)),
                Concrete::compare(op, dense(x), uniform(y)),
                Concrete::compare(op, uniform(x), dense(y)),
                Concrete::compare(op, dense(x), dense(y)),
            ]);
        }
        let mask = Array::from_vec(&[3], vec![true, false, true]);
        for yes in [uniform(x), dense(x)] {
            for no in [uniform(y), dense(y)] {
                let unique = for_data!(&yes, data => Array::from_vec(&[3], data.clone().into_vec().unwrap()));
                for yes in [yes.clone(), unique] {
                    let chosen = Concrete::select(mask.clone(), yes, no.clone());
                    assert_eq!([0, 1, 2].map(|at| chosen.element(at)), [x, y, x]);
                }
            }
        }
    }
    let empty = Array::from_vec::<f64>(&[0, 2], vec![]);
    let more = Concrete::binary(Binary::Add, empty.clone(), Array::full(&[0, 2], Value::F64(1.0)));
    assert_eq!(more.shape(), [0, 2]);
    assert_eq!(Concrete::compare(Comparison::Less, empty.clone(), empty).shape(), [0, 2]);
}

#[test]
fn a_buffer_that_nobody_else_holds_is_written_in_place() {
    let a = Array::from_vec(&[4], vec![1.0, 2.0, 3.0, 4.0]);
    let address = a.buffer();
    let a = Concrete::unary(Unary::Exp, a);
    let a = Concrete::binary(Binary::Mul, Array::full(&[4], Value::F64(2.0)), a);
    let a = Concrete::binary(Binary::Sub, Array::from_vec(&[4], vec![0.5; 4]).clone(), a.clone());
    assert_ne!(a.buffer(), address);
    let address = a.buffer();
    let a = Concrete::scatter_onto(a, Array::full(&[], Value::F64(1.0)), vec![Array::full(&[], Value::I64(2))]);
    let a = Concrete::accumulate_onto(a, Array::full(&[], Value::F64(1.0)), &AffineMap::pick(&[4], 0, 1));
    let a = Concrete::reshape(a, &[2, 2]);
    let a = Concrete::select(Array::from_vec(&[2, 2], vec![true; 4]), a, Array::full(&[2, 2], Value::F64(0.0)));
    assert_eq!(a.buffer(), address);
}

#[test]
fn casts() {
    let a = Array::from_vec(&[6], vec![1.9, -1.9, f64::NAN, f64::INFINITY, -1e300, 0.0]);
    let as_i32 = Concrete::cast(a.clone(), DType::I32);
    assert_eq!(as_i32.to_vec::<i32>(), Some(vec![1, -1, 0, i32::MAX, i32::MIN, 0]));
    let as_bool = Concrete::cast(a.clone(), DType::Bool);
    assert_eq!(as_bool.to_vec::<bool>(), Some(vec![true, true, true, true, true, false]));
    assert_eq!(Concrete::cast(as_bool, DType::F32).to_vec::<f32>(), Some(vec![1.0, 1.0, 1.0, 1.0, 1.0, 0.0]));
    for from in DTYPES {
        for to in DTYPES {
            let x = Value::from_i64(from, 3);
            let cast = Concrete::cast(Array::full(&[], x), to);
            assert_eq!(cast.element(0), Value::from_f64(to, x.to_f64()));
        }
    }
}

#[test]
fn conversions_from_and_to_ndarray() {
    let matrix = ndarray::Array2::from_shape_fn((2, 3), |(i, j)| (3 * i + j) as f32);
    let expected: Vec<f32> = matrix.iter().copied().collect();
    assert_eq!(Array::from(matrix.view()).to_vec::<f32>(), Some(expected.clone()));
    let address = matrix.as_ptr() as usize;
    let kept = Array::from(matrix.clone().into_shared());
    assert_eq!(kept.to_ndarray::<f32>(), Some(matrix.clone().into_dyn()));
    assert_eq!(kept.to_ndarray::<f64>(), None);
    assert_eq!(Array::from(matrix.t()).to_vec::<f32>(), Some(vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    let turned = Array::from(matrix.clone().reversed_axes());
    assert_eq!((turned.shape(), turned.to_vec::<f32>()), (&[3, 2][..], Some(vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0])));
    let moved = Array::from(matrix);
    assert_eq!(moved.buffer(), Some(address));
    let scalar = Array::from(ndarray::arr0(true));
    assert_eq!((scalar.uniform(), scalar.shape()), (Some(Value::Bool(true)), &[][..]));
    assert_eq!(scalar.to_ndarray::<bool>(), Some(ndarray::arr0(true).into_dyn()));
    // A part of a buffer is an array like any other, also when it is written.
    let part = ndarray::Array1::from_iter(0..6i64).into_shared().slice_move(ndarray::s![2..5]);
    let negated = Concrete::unary(Unary::Neg, Array::from(part));
    assert_eq!(negated.to_vec::<i64>(), Some(vec![-2, -3, -4]));
    let empty = Array::from(ndarray::Array2::<f64>::zeros((0, 3)).reversed_axes());
    assert_eq!((empty.shape(), empty.to_vec::<f64>()), (&[3, 0][..], Some(vec![])));
}

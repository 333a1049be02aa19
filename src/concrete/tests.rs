//! The operations against references that go element by element.

use super::*;
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Contraction, Extreme, Reduction};
use crate::operation::{BINARY_ROWS, Binary, COMPARISON_ROWS, Comparison, UNARY_ROWS, Unary};
use crate::shape::strides;
use crate::term::{Body, Node, Op, Scan};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// A small generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn shape(&mut self, rank: usize) -> Shape {
        (0..rank).map(|_| [1, 2, 3, 5, 4, 0, 2, 3][self.below(8)]).collect()
    }

    /// An array whose elements are small whole numbers, so that sums are exact; sometimes uniform.
    fn array(&mut self, dtype: DType, shape: &[usize]) -> Array {
        if self.below(4) == 0 {
            return Array::full(shape, Value::from_i64(dtype, self.below(5) as i64 - 2));
        }
        let numbers: Vec<i64> = (0..size(shape)).map(|_| self.below(9) as i64 - 4).collect();
        Concrete::cast(Array::from_vec(shape, numbers), dtype)
    }
}

const DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];

/// All positions of a shape, row-major.
fn positions(shape: &[usize]) -> Vec<Shape> {
    (0..size(shape)).map(|at| strides(shape).iter().zip(shape).map(|(&s, &n)| at / s % n).collect()).collect()
}

fn flat(shape: &[usize], at: &[usize]) -> usize {
    strides(shape).iter().zip(at).map(|(s, i)| s * i).sum()
}

fn numbers(a: &Array) -> Vec<f64> {
    (0..a.size()).map(|at| a.element(at).to_f64()).collect()
}

fn read(a: &Array, at: Option<&[usize]>) -> f64 {
    at.map_or(0.0, |at| a.element(flat(a.shape(), at)).to_f64())
}

/// The elements of `expected` as the type holds them: truth values are 0 or 1.
fn assert_elements(a: &Array, expected: &[f64]) {
    let held: Vec<f64> = expected.iter().map(|&x| Value::from_f64(a.dtype(), x).to_f64()).collect();
    assert_eq!(numbers(a), held, "{a:?}");
    for_data!(a, data => assert!(data.is_valid()));
}

/// The inner product; of booleans it says whether any two meet.
fn inner(a: &Array, b: &Array) -> f64 {
    let sum: f64 = numbers(a).iter().zip(numbers(b)).map(|(a, b)| a * b).sum();
    if a.dtype() == DType::Bool { f64::from(sum > 0.0) } else { sum }
}

fn random_map(random: &mut Random) -> AffineMap {
    let (rows, columns) = (random.below(4), random.below(4));
    let (source, result) = (random.shape(rows), random.shape(columns));
    match random.below(6) {
        0 => {
            let mut axes: Vec<usize> = (0..rows).collect();
            (1..rows).for_each(|at| axes.swap(at, random.below(at + 1)));
            AffineMap::transpose(&source, &axes)
        }
        1 if rows > 0 => {
            let axis = random.below(rows);
            let step = random.below(5) as i64 - 2;
            AffineMap::along(&source, axis, random.below(7) as i64 - 2, step, random.below(6))
        }
        2 => {
            let mut result = source.clone();
            let at = random.below(rows + 1);
            result.insert(at, random.below(4));
            let axes: Vec<usize> = (0..rows).map(|axis| axis + usize::from(axis >= at)).collect();
            AffineMap::broadcast(&source, &result, &axes)
        }
        3 if rows > 0 && source[0] > 0 => AffineMap::pick(&source, 0, random.below(source[0]) as i64),
        _ => {
            let coefficients: Vec<SmallVec<[i64; 4]>> =
                (0..rows).map(|_| (0..columns).map(|_| [0, 0, 1, 1, -1, 2][random.below(6)]).collect()).collect();
            let offset: Vec<i64> = (0..rows).map(|_| random.below(6) as i64 - 2).collect();
            AffineMap::new(&source, &result, &coefficients, &offset)
        }
    }
}

#[test]
fn views_and_their_adjoints() {
    let mut random = Random(1);
    for round in 0..4000 {
        let map = random_map(&mut random);
        let dtype = DTYPES[round % 5];
        let a = random.array(dtype, map.source());
        let viewed = Concrete::view(a.clone(), &map);
        let expected: Vec<f64> =
            positions(map.result()).iter().map(|at| read(&a, map.position(at).as_deref())).collect();
        assert_elements(&viewed, &expected);
        let b = random.array(dtype, map.result());
        let back = Concrete::accumulate(b.clone(), &map);
        let mut sums = vec![0.0; size(map.source())];
        for (at, x) in positions(map.result()).iter().zip(numbers(&b)) {
            if let Some(to) = map.position(at) {
                sums[flat(map.source(), &to)] += x;
            }
        }
        assert_elements(&back, &sums);
        assert_eq!(inner(&viewed, &b), inner(&a, &back));
        let onto = Concrete::accumulate_onto(a.clone(), b, &map);
        let sums: Vec<f64> =
            sums.iter().zip(numbers(&a)).map(|(s, a)| Value::from_f64(dtype, *s).to_f64() + a).collect();
        assert_elements(&onto, &sums);
    }
}

#[test]
fn large_transposes_go_by_tiles() {
    let mut random = Random(2);
    for shape in [[37, 50, 3], [3, 40, 33], [1, 64, 17]] {
        let a = Array::from_vec(&shape, (0..size(&shape) as i64).collect());
        for axes in [[0, 2, 1], [2, 1, 0], [1, 0, 2], [2, 0, 1], [1, 2, 0]] {
            let map = AffineMap::transpose(&shape, &axes);
            let expected: Vec<f64> =
                positions(map.result()).iter().map(|at| read(&a, map.position(at).as_deref())).collect();
            assert_elements(&Concrete::view(a.clone(), &map), &expected);
        }
        assert_eq!(random.below(1), 0);
    }
}

#[test]
fn extreme_coefficients_do_not_overflow() {
    let a = Array::from_vec(&[3], vec![1i64, 2, 3]);
    for coefficient in [i64::MAX, i64::MIN] {
        let map = AffineMap::new(&[3], &[4], &[SmallVec::from_slice(&[coefficient])], &[1]);
        assert_elements(&Concrete::view(a.clone(), &map), &[2.0, 0.0, 0.0, 0.0]);
    }
}

#[test]
fn reads_and_writes_at_computed_positions() {
    let mut random = Random(3);
    for round in 0..3000 {
        let dtype = DTYPES[round % 5];
        let rank = random.below(4);
        let shape = random.shape(rank);
        let count = random.below(rank + 1);
        let s = match count {
            0 => Shape::new(),
            _ => {
                let rank = random.below(3);
                random.shape(rank)
            }
        };
        let a = random.array(dtype, &shape);
        let indices: Vec<Array> = (0..count).map(|_| random.array(DType::I64, &s)).collect();
        let read_at = |at: &[usize]| -> Option<Shape> {
            let (from, rest) = at.split_at(s.len());
            let mut to = Shape::new();
            for (axis, index) in indices.iter().enumerate() {
                let i = index.element(flat(&s, from)).to_integer()?;
                to.push(usize::try_from(i).ok().filter(|&i| i < shape[axis])?);
            }
            to.extend_from_slice(rest);
            Some(to)
        };
        let gathered = Concrete::gather(a.clone(), indices.clone());
        let mut result = s.clone();
        result.extend_from_slice(&shape[count..]);
        let expected: Vec<f64> = positions(&result).iter().map(|at| read(&a, read_at(at).as_deref())).collect();
        assert_elements(&gathered, &expected);
        let updates = random.array(dtype, &result);
        let scattered = Concrete::scatter(updates.clone(), indices.clone(), &shape[..count]);
        let mut sums = vec![0.0; size(&shape)];
        for (at, x) in positions(&result).iter().zip(numbers(&updates)) {
            if let Some(to) = read_at(at) {
                sums[flat(&shape, &to)] += x;
            }
        }
        assert_elements(&scattered, &sums);
        assert_eq!(inner(&gathered, &updates), inner(&a, &scattered));
        let onto = Concrete::scatter_onto(a.clone(), updates, indices);
        let sums: Vec<f64> =
            sums.iter().zip(numbers(&a)).map(|(s, a)| Value::from_f64(dtype, *s).to_f64() + a).collect();
        assert_elements(&onto, &sums);
    }
}

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
        let group = |at: &Shape| -> Vec<f64> {
            let within = |from: &Shape| kept.iter().zip(at).all(|(&axis, &i)| from[axis] == i);
            positions(&shape).iter().filter(|from| within(from)).map(|from| read(&a, Some(from))).collect()
        };
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

#[test]
fn every_elementwise_operation_on_buffers_and_uniform_operands() {
    for dtype in DTYPES {
        let (x, y) = (Value::from_i64(dtype, 2), Value::from_i64(dtype, 3));
        let uniform = |v: Value| Array::full(&[3], v);
        let dense = |v: Value| {
            let full = Array::full(&[3], v);
            for_data!(&full, data => Array::from_vec(&[3], data.clone().into_vec()))
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
                let unique = for_data!(&yes, data => Array::from_vec(&[3], data.clone().into_vec()));
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
fn concatenation() {
    let mut random = Random(8);
    for round in 0..500 {
        let dtype = DTYPES[round % 5];
        let rank = 1 + random.below(3);
        let shape = random.shape(rank);
        let axis = random.below(rank);
        let parts: Vec<Array> = (0..1 + random.below(4))
            .map(|_| {
                let mut shape = shape.clone();
                shape[axis] = random.below(4);
                random.array(dtype, &shape)
            })
            .collect();
        let joined = Concrete::concatenate(axis, parts.clone());
        let mut start = 0;
        for part in parts {
            let count = part.shape()[axis];
            let map = AffineMap::along(joined.shape(), axis, start, 1, count);
            assert_eq!(numbers(&Concrete::view(joined.clone(), &map)), numbers(&part));
            start += count as i64;
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
    assert_eq!(moved.buffer(), address);
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
    let body = Body { parameters: parameters.len() - captures, captures, nodes: arena, results: results.to_vec() };
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
        assert_eq!(Concrete::known(&outputs[0]), Some(Value::F64(expected)));
    }
}

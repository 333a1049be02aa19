//! Matrices, strided reads, broadcasts, several element types, and random programs.

use super::*;

const EXTENTS: [usize; 11] = [1, 2, 3, 7, 8, 9, 14, 16, 17, 33, 35];

#[test]
fn sums_along_axes_are_those_of_the_kernels() {
    for (dtype, m, n) in FLOATS.into_iter().flat_map(|dtype| EXTENTS.map(|m| EXTENTS.map(|n| (dtype, m, n))).concat()) {
        let ty = Type::new(dtype, &[m, n]);
        for axis in 0..2 {
            let sums = body(std::slice::from_ref(&ty), |graph| {
                let square = one(graph, Unary::Powi(2), 0);
                vec![graph.add(Op::Reduce(Reduction::Sum, smallvec![axis]), &[square])]
            });
            let arguments = vec![Random((m * n) as u64).plain(&ty)];
            all_written(check(&sums, arguments, Allowed::AnyNan), (dtype, m, n, axis));
        }
    }
}

#[test]
fn strided_reads_and_broadcasts_are_those_of_the_kernels() {
    for (dtype, m, n) in
        FLOATS.into_iter().flat_map(|dtype| EXTENTS.map(|m| [1, 7, 9, 35].map(|n| (dtype, m, n))).concat())
    {
        let of = |shape: &[usize]| Type::new(dtype, shape);
        let types = [of(&[m, n]), of(&[n, m]), of(&[3 * m, n]), of(&[m, 2 * n]), of(&[n]), of(&[m])];
        let all = body(&types, |graph| {
            let mut view = |map: AffineMap, of: NodeId| graph.add(Op::View(map), &[of]);
            let views = [
                view(AffineMap::transpose(&[n, m], &[1, 0]), 1),
                view(AffineMap::along(&[3 * m, n], 0, 1, 3, m), 2),
                view(AffineMap::along(&[m, 2 * n], 1, 2 * n as i64 - 1, -2, n), 3),
                view(AffineMap::along(&[m, n], 0, m as i64 - 1, -1, m), 0),
                view(AffineMap::broadcast(&[n], &[m, n], &[1]), 4),
                view(AffineMap::broadcast(&[m], &[m, n], &[0]), 5),
            ];
            let sums = views.map(|id| two(graph, Binary::Add, 0, id));
            let total = two(graph, Binary::Mul, sums[0], sums[4]);
            sums.into_iter().chain([total]).collect()
        });
        let arguments = types.iter().zip(1..).map(|(ty, seed)| Random(seed).special(ty)).collect();
        all_written(check(&all, arguments, Allowed::AnyNan), (dtype, m, n));
    }
}

#[test]
fn casts_between_floats_have_the_bits_of_the_kernels() {
    for n in (1..40).chain([67]) {
        let types = [Type::new(DType::F32, &[n]), Type::new(DType::F64, &[n])];
        let all = body(&types, |graph| {
            let (wide, narrow) = (graph.add(Op::Cast(DType::F64), &[0]), graph.add(Op::Cast(DType::F32), &[1]));
            let (a, b) = (two(graph, Binary::Mul, wide, 1), two(graph, Binary::Add, narrow, 0));
            let (c, d) = (one(graph, Unary::Sqrt, b), graph.add(Op::Cast(DType::F32), &[a]));
            let e = two(graph, Binary::Max, c, d);
            vec![a, b, e, graph.add(Op::Cast(DType::F64), &[e])]
        });
        let arguments = vec![Random(1).special(&types[0]), Random(2).special(&types[1])];
        let missing = check(&all, arguments, Allowed::AnyNan);
        assert!(!missing.contains(&Instructions::Avx512), "{n}");
    }
}

/// Rows and columns are summed at once: some sums are complete at each step of a loop inside of the vector loop.
#[test]
fn sums_inside_of_the_vector_loop_are_those_of_the_kernels() {
    for (dtype, n) in FLOATS.into_iter().flat_map(|dtype| (2..66).map(move |n| (dtype, n))) {
        let (rows, depth) = (20, 2);
        let extents = [n, rows, depth];
        let at = |coefficients: [i64; 3]| Affine { offset: 0, coefficients: SmallVec::from_slice(&coefficients) };
        let load = |buffer, coefficients| NestValue::Load { buffer, at: at(coefficients), guards: Guards::new() };
        let along = [1, n as i64, (n * rows) as i64];
        let values = vec![
            load(0, [1, 0, 0]),
            load(1, [1, 0, 0]),
            NestValue::Binary(Binary::Xlogy, 0, 1),
            load(2, along),
            NestValue::Binary(Binary::Mul, 2, 3),
        ];
        let store = |buffer, coefficients| {
            let (at, mode) = (at(coefficients), StoreMode::Reduce(Reduction::Sum));
            Store { value: 4, buffer, at, guards: Guards::new(), index: None, mode }
        };
        let nest = Nest {
            extents: SmallVec::from_slice(&extents),
            values: values.into_iter().map(|value| (value, dtype)).collect(),
            stores: vec![store(3, [1, 0, 0]), store(4, [0, 1, 0])],
        };
        let of = |shape: &[usize]| Type::new(dtype, shape);
        let types = [of(&[n]), of(&[n]), of(&[depth, rows, n]), of(&[n]), of(&[rows])];
        let positive = |values: Vec<Value>| values.into_iter().map(|x| Value::from_f64(dtype, x.to_f64().abs() + 0.1));
        let mut buffers: Vec<Vec<u8>> =
            types.iter().zip(1..).map(|(ty, seed)| bytes(dtype, positive(Random(seed).plain(ty)))).collect();
        fill(&nest, &types, &mut buffers);
        let missing = check_nest(&nest, &types, &mut [buffers], &SIDES, Allowed::AnyNan);
        // With AVX2 the sums of all copies may leave no register.
        assert!(!missing.contains(&Instructions::Avx512), "{dtype:?}, {n}");
    }
}

/// A random program of arithmetic on views of arrays, whose results are small.
fn random_body(random: &mut Random) -> (Body, Vec<Type>) {
    let rank = 1 + random.below(3);
    let shape: Vec<usize> = (0..rank).map(|_| random.pick(&[1, 2, 3, 5, 8, 9, 17, 20])).collect();
    let dtype = random.pick(&FLOATS);
    let turned: Vec<usize> = (0..rank).rev().collect();
    let axis = random.below(rank);
    let mut wide = shape.clone();
    wide[axis] *= 2;
    let reversed: Vec<usize> = turned.iter().map(|&axis| shape[axis]).collect();
    let shapes = [shape.clone(), shape.clone(), reversed.clone(), wide.clone(), vec![shape[axis]], vec![]];
    let types: Vec<Type> = shapes.iter().map(|shape| Type::new(dtype, shape)).collect();
    let body = body(&types, |graph| {
        let by = random.pick(&[2, -2]);
        let start = if by > 0 { 1 } else { wide[axis] as i64 - 1 };
        let maps = [
            AffineMap::transpose(&reversed, &turned),
            AffineMap::along(&wide, axis, start, by, shape[axis]),
            AffineMap::broadcast(&[shape[axis]], &shape, &[axis]),
            AffineMap::broadcast(&[], &shape, &[]),
        ];
        let mut values: Vec<NodeId> = vec![0, 1];
        values.extend(maps.into_iter().zip(2..).map(|(map, of)| graph.add(Op::View(map), &[of])));
        let bounds = [-8.0, 8.0].map(|x| graph.add(Op::Constant(Array::full(&shape, Value::from_f64(dtype, x))), &[]));
        for _ in 0..2 + random.below(20) {
            let [a, b, c] = [(); 3].map(|()| values[random.below(values.len())]);
            let made = match random.below(8) {
                0..4 => {
                    two(graph, random.pick(&[Binary::Add, Binary::Sub, Binary::Mul, Binary::Max, Binary::Min]), a, b)
                }
                4 | 5 => {
                    one(graph, random.pick(&[Unary::Neg, Unary::Abs, Unary::Powi(2), Unary::Floor, Unary::Relu]), a)
                }
                6 => {
                    let mask = graph.add(Op::Compare(random.pick(COMPARISON_ROWS)), &[a, b]);
                    graph.add(Op::Select, &[mask, b, c])
                }
                _ => {
                    let (other, cast) = (if dtype == DType::F64 { DType::F32 } else { DType::F64 }, random.below(2));
                    let there = if cast == 0 { graph.add(Op::Cast(other), &[a]) } else { a };
                    if cast == 0 { graph.add(Op::Cast(dtype), &[there]) } else { one(graph, Unary::Sign, there) }
                }
            };
            let low = two(graph, Binary::Max, made, bounds[0]);
            values.push(two(graph, Binary::Min, low, bounds[1]));
        }
        let last = *values.last().expect("there are some");
        let mut results = vec![last, values[values.len() - 2]];
        for _ in 0..1 + random.below(2) {
            let op = random.pick(&[Reduction::Sum, Reduction::Sum, Reduction::Max, Reduction::Min]);
            let mut axes: SmallVec<[usize; 4]> = (0..rank).filter(|_| random.below(2) == 0).collect();
            if axes.is_empty() {
                axes.push(axis);
            }
            let of = values[values.len() - 1 - random.below(2)];
            results.push(graph.add(Op::Reduce(op, axes), &[of]));
        }
        results
    });
    (body, types)
}

#[test]
fn random_nests_are_those_of_the_kernels() {
    let count = if cfg!(debug_assertions) { 200 } else { 3000 };
    let mut written = 0;
    for seed in 0..count {
        let random = &mut Random(seed * 0x9e37_79b9 + 1);
        let (body, types) = random_body(random);
        let arguments = types.iter().map(|ty| random.plain(ty)).collect();
        let missing = check_some(&body, &[arguments], &SIDES, Allowed::AnyNan);
        written += u64::from(missing.is_some_and(|missing| missing.is_empty()));
    }
    assert!(written > count / 2, "{written} of {count}");
}

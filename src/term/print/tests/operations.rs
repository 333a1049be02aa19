//! How operations, literals and views print.

use super::*;

#[test]
fn every_operation_of_the_table_prints() {
    let mut seen = HashSet::new();
    let dtype = |domain: Domain| match domain {
        Domain::Integer => DType::I32,
        Domain::Bool => DType::Bool,
        _ => DType::F64,
    };
    for &op in UNARY_ROWS.iter().chain(&[Unary::Powi(3)]) {
        let ty = Type::new(dtype(op.domain()), &[3]);
        let expected = match op {
            Unary::Neg => "-p0".to_string(),
            Unary::Powi(_) => "powi[3] p0".to_string(),
            _ => format!("{} p0", op.name()),
        };
        assert_eq!(printed(Op::Unary(op), &[ty]), expected);
        assert!(seen.insert(expected));
    }
    for &op in BINARY_ROWS {
        let ty = Type::new(dtype(op.domain()), &[3]);
        let expected = match op {
            Binary::Add => "p0 + p1".to_string(),
            Binary::Sub => "p0 - p1".to_string(),
            Binary::Mul => "p0 * p1".to_string(),
            Binary::Div => "p0 / p1".to_string(),
            _ => format!("{}(p0, p1)", op.name()),
        };
        assert_eq!(printed(Op::Binary(op), &[ty.clone(), ty]), expected);
        assert!(seen.insert(expected));
    }
    for (&op, symbol) in COMPARISON_ROWS.iter().zip(["<", "<=", ">", ">=", "==", "!="]) {
        let expected = format!("p0 {symbol} p1");
        assert_eq!(printed(Op::Compare(op), &[floats(&[3]), floats(&[3])]), expected);
    }
}

#[test]
fn every_other_operation_prints() {
    let x = || floats(&[3, 4]);
    assert_eq!(printed(Op::Iota(10), &[]), "iota 10");
    let mask = Type::new(DType::Bool, &[3, 4]);
    assert_eq!(printed(Op::Select, &[mask, x(), x()]), "select(p0, p1, p2)");
    assert_eq!(printed(Op::Cast(DType::F32), &[x()]), "cast f32 p0");
    assert_eq!(printed(Op::Reshape(smallvec![2, 6]), &[x()]), "reshape [2, 6] p0");
    assert_eq!(printed(Op::Reshape(smallvec![]), &[floats(&[1])]), "reshape [] p0");
    assert_eq!(printed(Op::Concatenate(1), &[x(), x(), x()]), "concatenate[1] p0 p1 p2");
    let index = || integers(&[5]);
    assert_eq!(printed(Op::Gather, &[x(), index(), index()]), "gather p0 [p1, p2]");
    assert_eq!(printed(Op::Gather, &[x(), integers(&[])]), "p0[p1]");
    assert_eq!(printed(Op::Gather, &[x()]), "gather p0 []");
    assert_eq!(printed(Op::Scatter(smallvec![28]), &[floats(&[5]), index()]), "scatter [28] p0 [p1]");
    assert_eq!(printed(Op::Reduce(Reduction::Sum, smallvec![0, 1]), &[x()]), "sum[0, 1] p0");
    assert_eq!(printed(Op::Reduce(Reduction::Max, smallvec![1]), &[x()]), "max[1] p0");
    assert_eq!(printed(Op::Reduce(Reduction::Min, smallvec![]), &[x()]), "min[] p0");
    assert_eq!(printed(Op::ArgReduce(Extreme::Max, 0), &[x()]), "argmax[0] p0");
    assert_eq!(printed(Op::ArgReduce(Extreme::Min, 1), &[x()]), "argmin[1] p0");
    let product = Contraction::new(&[7, 2], &[2, 9], &[7, 9]);
    assert_eq!(printed(Op::Contract(product), &[x(), floats(&[4, 5])]), "contract \"ij,jk->ik\" p0 p1");
    assert_eq!(printed(Op::Alias, &[x()]), "alias p0");
    assert_eq!(printed(Op::Mark, &[x()]), "mark p0");
}

#[test]
fn constants_print_by_size_and_type() {
    assert_eq!(printed(number(&[], 2.0), &[]), "2.0");
    assert_eq!(printed(number(&[3, 4], -0.5), &[]), "full (-0.5) [3, 4]");
    assert_eq!(printed(number(&[], f64::NEG_INFINITY), &[]), "-inf");
    assert_eq!(printed(number(&[2], f64::NAN), &[]), "full NaN [2]");
    assert_eq!(printed(number(&[], 1e-7), &[]), "1e-7");
    assert_eq!(printed(Op::Constant(Array::full(&[], Value::F32(1.5))), &[]), "1.5_f32");
    assert_eq!(printed(Op::Constant(Array::full(&[], Value::I32(-3))), &[]), "-3_i32");
    assert_eq!(printed(integer(i64::MIN), &[]), "-9223372036854775808");
    assert_eq!(printed(Op::Constant(Array::full(&[2], Value::Bool(true))), &[]), "full true [2]");
    assert_eq!(printed(Op::Constant(dense(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])), &[]), "[[1.0, 2.0], [3.0, 4.0]]");
    assert_eq!(printed(Op::Constant(dense(&[0, 2], vec![])), &[]), "full 0.0 [0, 2]");
    let large = dense(&[100], (0..100).map(f64::from).collect());
    let other = dense(&[100], (1..101).map(f64::from).collect());
    let body: Body = program(&[floats(&[100])], |graph| {
        let constants = [&large, &other].map(|array| graph.add(Op::Constant(array.clone()), &[]));
        let sum = graph.add(Op::Binary(Binary::Add), &[constants[1], constants[0]]);
        let product = graph.add(Op::Binary(Binary::Mul), &[sum, constants[0]]);
        graph.add(Op::Binary(Binary::Pow), &[product, 0])
    });
    let expected = "    let m1: f64[100] = constant f64[100]#1\n    pow((constant f64[100]#2 + m1) * m1, p0)";
    assert_eq!(text(&body), expected);
}

#[test]
fn literals_take_their_type_from_what_stands_beside_them() {
    let binary = |op: Binary, dtype: DType| {
        let ty = Type::new(dtype, &[3]);
        text(&program::<Never>(&[ty], |graph| {
            let two = graph.add(Op::Constant(Array::full(&[3], Value::from_i64(dtype, 2))), &[]);
            let left = graph.add(Op::Binary(op), &[two, 0]);
            graph.add(Op::Binary(op), &[left, two])
        }))
    };
    assert_eq!(binary(Binary::Sub, DType::F32), "    2.0 - p0 - 2.0");
    assert_eq!(binary(Binary::Max, DType::I32), "    max(max(2, p0), 2)");
    // Constants only: the first tells the shape.
    let constants = text(&program::<Never>(&[], |graph| {
        let two = graph.add(number(&[3], 2.0), &[]);
        graph.add(Op::Binary(Binary::Add), &[two, two])
    }));
    assert_eq!(constants, "    full 2.0 [3] + 2.0");
    // A mask tells the shape, but not the element type.
    let select = |dtype: DType| {
        text(&program::<Never>(&[Type::new(DType::Bool, &[3])], |graph| {
            let one = graph.add(Op::Constant(Array::full(&[3], Value::from_i64(dtype, 1))), &[]);
            let zero = graph.add(Op::Constant(Array::full(&[3], Value::from_i64(dtype, 0))), &[]);
            graph.add(Op::Select, &[0, one, zero])
        }))
    };
    assert_eq!(select(DType::F64), "    select(p0, 1.0, 0.0)");
    assert_eq!(select(DType::F32), "    select(p0, 1.0_f32, 0.0_f32)");
    // Elsewhere a constant says all by itself.
    let exp = text(&program::<Never>(&[], |graph| {
        let two = graph.add(number(&[3], 2.0), &[]);
        graph.add(Op::Unary(Unary::Exp), &[two])
    }));
    assert_eq!(exp, "    exp (full 2.0 [3])");
}

#[test]
fn parentheses_are_few_and_keep_the_tree() {
    let scalar = || vec![floats(&[]), floats(&[]), floats(&[])];
    let nested = |build: &dyn Fn(&mut Graph) -> NodeId| text(&program(&scalar(), build)).trim_start().to_string();
    let add = |g: &mut Graph, a, b| g.add(Op::Binary(Binary::Add), &[a, b]);
    let sub = |g: &mut Graph, a, b| g.add(Op::Binary(Binary::Sub), &[a, b]);
    let mul = |g: &mut Graph, a, b| g.add(Op::Binary(Binary::Mul), &[a, b]);
    let div = |g: &mut Graph, a, b| g.add(Op::Binary(Binary::Div), &[a, b]);
    let neg = |g: &mut Graph, a| g.add(Op::Unary(Unary::Neg), &[a]);
    let exp = |g: &mut Graph, a| g.add(Op::Unary(Unary::Exp), &[a]);
    let less = |g: &mut Graph, a, b| g.add(Op::Compare(Comparison::Less), &[a, b]);
    assert_eq!(
        nested(&|g| {
            let a = sub(g, 0, 1);
            sub(g, a, 2)
        }),
        "p0 - p1 - p2"
    );
    assert_eq!(
        nested(&|g| {
            let a = sub(g, 1, 2);
            sub(g, 0, a)
        }),
        "p0 - (p1 - p2)"
    );
    assert_eq!(
        nested(&|g| {
            let a = add(g, 1, 2);
            mul(g, 0, a)
        }),
        "p0 * (p1 + p2)"
    );
    assert_eq!(
        nested(&|g| {
            let a = mul(g, 1, 2);
            add(g, 0, a)
        }),
        "p0 + p1 * p2"
    );
    assert_eq!(
        nested(&|g| {
            let a = div(g, 1, 2);
            div(g, 0, a)
        }),
        "p0 / (p1 / p2)"
    );
    assert_eq!(
        nested(&|g| {
            let a = neg(g, 0);
            mul(g, a, 1)
        }),
        "-p0 * p1"
    );
    assert_eq!(
        nested(&|g| {
            let a = neg(g, 1);
            sub(g, 0, a)
        }),
        "p0 - -p1"
    );
    assert_eq!(
        nested(&|g| {
            let a = mul(g, 0, 1);
            neg(g, a)
        }),
        "-(p0 * p1)"
    );
    assert_eq!(
        nested(&|g| {
            let a = neg(g, 0);
            neg(g, a)
        }),
        "-(-p0)"
    );
    assert_eq!(
        nested(&|g| {
            let a = exp(g, 0);
            neg(g, a)
        }),
        "-exp p0"
    );
    assert_eq!(
        nested(&|g| {
            let a = neg(g, 0);
            exp(g, a)
        }),
        "exp (-p0)"
    );
    assert_eq!(
        nested(&|g| {
            let a = exp(g, 0);
            mul(g, a, 1)
        }),
        "exp p0 * p1"
    );
    assert_eq!(
        nested(&|g| {
            let a = add(g, 0, 1);
            less(g, a, 2)
        }),
        "p0 + p1 < p2"
    );
    let masks = |g: &mut Graph| {
        let (a, b) = (less(g, 0, 1), less(g, 1, 2));
        g.add(Op::Compare(Comparison::Equal), &[a, b])
    };
    assert_eq!(nested(&masks), "(p0 < p1) == (p1 < p2)");
    assert_eq!(
        nested(&|g| {
            let two = g.add(number(&[], 2.0), &[]);
            neg(g, two)
        }),
        "-(2.0)"
    );
    assert_eq!(
        nested(&|g| {
            let two = g.add(number(&[], -2.0), &[]);
            mul(g, 0, two)
        }),
        "p0 * -2.0"
    );
    assert_eq!(
        nested(&|g| {
            let two = g.add(number(&[], -2.0), &[]);
            exp(g, two)
        }),
        "exp (-2.0)"
    );
    assert_eq!(
        nested(&|g| {
            let two = g.add(number(&[], -2.0), &[]);
            neg(g, two)
        }),
        "-(-2.0)"
    );
}

#[test]
fn views_print_by_what_they_are() {
    let view = |map: AffineMap| printed(Op::View(map.clone()), &[floats(map.source())]);
    let along = |extent: usize, start, step, count| view(AffineMap::along(&[extent], 0, start, step, count));
    assert_eq!(view(AffineMap::transpose(&[3, 4], &[1, 0])), "transpose[1, 0] p0");
    assert_eq!(view(AffineMap::transpose(&[3, 1, 4], &[2, 0, 1])), "transpose[2, 0, 1] p0");
    assert_eq!(along(10, 9, -1, 10), "reverse[0] p0");
    assert_eq!(along(10, 1, 1, 8), "slice[0: 1..9] p0");
    assert_eq!(along(10, 1, 2, 4), "slice[0: 1..8 by 2] p0");
    assert_eq!(along(10, 4, 1, 1), "slice[0: 4..5] p0");
    assert_eq!(along(10, 0, 1, 0), "slice[0: 0..0] p0");
    assert_eq!(along(10, -1, 1, 12), "pad[0: 1, 1] p0");
    assert_eq!(along(10, -2, 1, 10), "pad[0: 2, 0] (slice[0: 0..8] p0)");
    assert_eq!(along(10, -2, 2, 10), "view [10] p0 ([i] -> [2*i - 2])");
    assert_eq!(view(AffineMap::new(&[4], &[3], &[smallvec![0]], &[2])), "replicate[3] p0[2]");
    let first = AffineMap::along(&[3, 4], 0, 0, 1, 5);
    assert_eq!(view(AffineMap::along(&[3, 4], 1, -1, 1, 5)), "pad[1: 1, 0] p0");
    assert_eq!(view(first), "pad[0: 0, 2] p0");
    let slice = AffineMap::along(&[3, 4], 0, 0, 1, 2);
    let both = AffineMap::along(&[2, 4], 1, 1, 2, 2).compose(&slice).unwrap();
    assert_eq!(view(both), "slice[0: 0..2, 1: 1..4 by 2] p0");
    assert_eq!(view(AffineMap::broadcast(&[4], &[3, 4], &[1])), "replicate[3] p0");
    assert_eq!(view(AffineMap::broadcast(&[4], &[2, 3, 4], &[2])), "replicate[2, 3] p0");
    assert_eq!(view(AffineMap::broadcast(&[4], &[4, 3], &[0])), "replicate[1: 3] p0");
    assert_eq!(view(AffineMap::broadcast(&[4], &[2, 4, 3], &[1])), "replicate[0: 2, 2: 3] p0");
    assert_eq!(view(AffineMap::broadcast(&[], &[3], &[])), "replicate[3] p0");
    assert_eq!(view(AffineMap::broadcast(&[3], &[1, 3], &[1])), "replicate[1] p0");
    assert_eq!(view(AffineMap::broadcast(&[3], &[3, 1], &[0])), "replicate[1: 1] p0");
    assert_eq!(view(AffineMap::broadcast(&[1, 4], &[3, 4], &[0, 1])), "stretch[0: 3] p0");
    let diagonal = |n: usize| AffineMap::new(&[n, n], &[n], &[smallvec![1], smallvec![1]], &[0, 0]);
    assert_eq!(view(diagonal(3)), "diagonal p0");
    assert_eq!(view(AffineMap::pick(&[3, 4], 0, 2)), "p0[2]");
    assert_eq!(view(AffineMap::pick(&[3, 4], 1, 2)), "p0[:, 2]");
    assert_eq!(view(AffineMap::pick(&[1, 4, 1], 1, 2)), "p0[:, 2]");
    assert_eq!(view(AffineMap::pick(&[3], 0, 2)), "p0[2]");
    assert_eq!(view(AffineMap::pick(&[3], 0, 3)), "view [] p0 ([] -> [3])");
    let turned = AffineMap::new(&[4, 3], &[3, 4], &[smallvec![0, 1], smallvec![-1, 0]], &[0, 2]);
    assert_eq!(view(turned.clone()), "reverse[0] (transpose[1, 0] p0)");
    assert_eq!(view(AffineMap::identity(&[3])), "view [3] p0 ([i] -> [i])");
    assert_eq!(printed(Op::Accumulate(turned), &[floats(&[3, 4])]), "accumulate [4, 3] p0 ([i, j] -> [j, 2 - i])");
}

#[test]
fn a_recognised_view_names_just_one_map() {
    // All small maps with one column or two: those that print alike, by source and result, are equal.
    let mut seen = std::collections::HashMap::new();
    let mut count = 0;
    for source in [[1usize, 1], [1, 2], [2, 2], [2, 3], [0, 2]] {
        for result in [vec![], vec![1], vec![2], vec![1, 2], vec![2, 2], vec![2, 3], vec![3, 1, 2]] {
            let columns = result.len() as u32;
            for code in 0..3i64.pow(2 * columns) * 9 {
                let digit = |at: u32| code / 3i64.pow(at) % 3 - 1;
                let row = |r: u32| (0..columns).map(|c| digit(2 + r * columns + c)).collect();
                let map = AffineMap::new(&source, &result, &[row(0), row(1)], &[digit(0), digit(1)]);
                let text = match view_names::recognise(&map) {
                    view_names::ViewName::General => continue,
                    named => format!("{named:?} of {source:?}"),
                };
                count += 1;
                let other = seen.entry(text.clone()).or_insert_with(|| map.clone());
                assert_eq!(*other, map, "{text}");
            }
        }
    }
    assert!(count > 100);
}

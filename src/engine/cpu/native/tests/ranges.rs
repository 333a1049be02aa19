//! Programs of many values, operands out of range, places of buffers, and chunks.

use super::*;

#[test]
fn buffers_may_begin_at_any_element() {
    for dtype in FLOATS {
        let ty = Type::new(dtype, &[37]);
        let all = body(&[ty.clone(), ty.clone()], |graph| {
            let (product, function) = (two(graph, Binary::Mul, 0, 1), one(graph, Unary::Exp, 0));
            vec![product, function, sum(graph, product)]
        });
        let sides: Vec<Side> = (0..64 / dtype.bytes()).map(|at| Side::Start(at * dtype.bytes())).collect();
        let arguments = vec![Random(3).plain(&ty), Random(4).plain(&ty)];
        let missing = check_some(&all, &[arguments], &sides, Allowed::Rounding(None));
        all_written(missing.expect("all steps are nests"), dtype);
    }
}

/// One operand at a position is one that a formula is not for; everything else that is computed beside it stays as it is.
#[test]
fn operands_out_of_range_have_the_results_of_the_kernels() {
    let n = 37;
    for dtype in FLOATS {
        let ty = Type::new(dtype, &[n]);
        let functions = body(&[ty.clone(), ty.clone()], |graph| {
            let product = two(graph, Binary::Mul, 0, 1);
            let all = [Unary::Sin, Unary::Cos, Unary::Tan, Unary::Exp].map(|op| one(graph, op, 0));
            let mixed = two(graph, Binary::Mul, all[1], product);
            let sums = [sum(graph, 1), sum(graph, mixed)];
            all.into_iter().chain([product, mixed]).chain(sums).collect()
        });
        let powers = body(&[ty.clone(), ty.clone()], |graph| {
            let power = two(graph, Binary::Pow, 0, 1);
            vec![power, two(graph, Binary::Sub, 0, 1), sum(graph, 1)]
        });
        for at in 0..n {
            let plain = Random(at as u64).plain(&ty);
            let with = |of: &[Value], x| {
                let mut all = of.to_vec();
                all[at] = Value::from_f64(dtype, x);
                all
            };
            let large = [1e10, -1e30, 1e300, f64::INFINITY, f64::NAN];
            let sets: Vec<_> = large.iter().map(|&x| vec![with(&plain, x), plain.clone()]).collect();
            // Sums of the functions are no numbers, or large: the kernels' have to be so too.
            let missing = check_some(&functions, &sets, &[Side::End], Allowed::Rounding(Some(at)));
            all_written(missing.expect("all steps are nests"), (dtype, at));
            let bases = with(&plain, 1.0).iter().map(|x| Value::from_f64(dtype, x.to_f64().abs())).collect::<Vec<_>>();
            let pairs = [(-2.0, 3.0), (-2.0, 0.5), (-0.0, -1.0), (f64::INFINITY, -2.0), (1e-310, 1.5), (f64::NAN, 0.0)];
            let sets: Vec<_> = pairs.iter().map(|&(a, b)| vec![with(&bases, a), with(&plain, b)]).collect();
            let missing = check_some(&powers, &sets, &[Side::End], Allowed::Rounding(Some(at)));
            // A power of f32 is computed in f64, for which AVX2 has no lanes beside those of f32.
            let missing = missing.expect("all steps are nests");
            assert!(missing.iter().all(|&isa| dtype == DType::F32 && isa == Instructions::Avx2), "{missing:?}");
        }
    }
}

/// More sums than registers have no machine code, and still the same results.
#[test]
fn many_sums_of_one_nest_are_those_of_the_kernels() {
    for (dtype, n) in FLOATS.into_iter().flat_map(|dtype| [5, 67].map(|n| (dtype, n))) {
        for sums in [2, 3, 5, 8, 40] {
            let types = vec![Type::new(dtype, &[n]); sums + 1];
            let all = body(&types, |graph| {
                (1..=sums as u32)
                    .map(|at| {
                        let product = two(graph, Binary::Mul, 0, at);
                        sum(graph, product)
                    })
                    .collect()
            });
            let arguments = types.iter().zip(0..).map(|(ty, seed)| Random(seed).plain(ty)).collect();
            let missing = check(&all, arguments, Allowed::AnyNan);
            assert!(missing.is_empty() || sums > 8, "{dtype:?}, {n}, {sums}: {missing:?}");
        }
    }
}

/// Values that are all there before the first is read again, by more pointers than there are registers.
#[test]
fn values_that_no_register_is_left_for_keep_their_bits() {
    for (dtype, inputs) in FLOATS.into_iter().flat_map(|dtype| [30, 60].map(|inputs| (dtype, inputs))) {
        for n in [1, 7, 16, 41] {
            let types = vec![Type::new(dtype, &[n]); inputs];
            let all = body(&types, |graph| {
                let products: Vec<NodeId> = (1..inputs as u32).map(|at| two(graph, Binary::Mul, 0, at)).collect();
                let masks: Vec<NodeId> =
                    products.iter().map(|&id| graph.add(Op::Compare(Comparison::Less), &[id, 0])).collect();
                // Forwards and backwards: the last value that is computed is read first.
                let mut ends = [products[0]; 3];
                for at in 0..products.len() {
                    let back = products.len() - 1 - at;
                    ends[0] = two(graph, Binary::Add, ends[0], products[at]);
                    ends[1] = two(graph, Binary::Sub, ends[1], products[back]);
                    ends[2] = graph.add(Op::Select, &[masks[back], ends[2], products[at]]);
                }
                let function = one(graph, Unary::Sin, ends[1]);
                vec![ends[0], ends[1], ends[2], function, sum(graph, products[inputs / 2])]
            });
            let arguments = types.iter().zip(0..).map(|(ty, seed)| Random(seed).plain(ty)).collect();
            let missing = check(&all, arguments, Allowed::Rounding(None));
            all_written(missing, (dtype, inputs, n));
        }
    }
}

/// A program of two matrices.
fn check_chunks(shape: &[usize], build: Build) {
    let ty = Type::new(DType::F64, shape);
    let all = body(&[ty.clone(), ty.clone()], build);
    let procedure = lower(&all);
    let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
    for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
        let chunks = |step: &Step| match step {
            Step::Nest(nest) => compiled(isa, nest, &types, Cut::ByWork).map_or(0, |code| code.split.chunks),
            _ => 0,
        };
        assert!(procedure.steps.iter().map(chunks).all(|chunks| chunks > 1), "{isa:?}, {shape:?}");
    }
    let argument = |seed| {
        let elements = Random(seed).plain(&ty).iter().map(|x| x.to_f64()).collect();
        Array::from_vec(shape, elements)
    };
    let arguments = [argument(5), argument(6)];
    let run = |cpu: Cpu| Program::new(&all, &cpu).expect("there is memory").run(&arguments).expect("there is memory");
    let [several, single] = [3, 1].map(|threads| run(Cpu::default().threads(threads)));
    let kernels = run(Cpu::default().machine_code(false));
    for (result, single) in single.iter().enumerate() {
        for at in 0..single.size() {
            let [several, single, kernels] =
                [&several[result], single, &kernels[result]].map(|array| array.element(at));
            assert_eq!(several.bits(), single.bits(), "{shape:?}: result {result}[{at}]");
            let difference = (single.to_f64() - kernels.to_f64()).abs();
            assert!(difference <= 1e-13 * 8.0 * ty.size() as f64, "{shape:?}: result {result}[{at}]");
        }
    }
}

#[test]
fn chunks_make_up_the_whole() {
    for shape in [[1 << 17, 3], [7, 50_021], [409, 801]] {
        check_chunks(&shape, |graph| {
            let product = two(graph, Binary::Mul, 0, 1);
            let third = two(graph, Binary::Max, product, 1);
            vec![two(graph, Binary::Sub, third, 0)]
        });
        check_chunks(&shape, |graph| {
            let product = two(graph, Binary::Mul, 0, 1);
            let third = two(graph, Binary::Mul, product, 1);
            vec![graph.add(Op::Reduce(Reduction::Sum, smallvec![0, 1]), &[third])]
        });
    }
    let along: [Build; 2] = [|graph| rows(graph, 0), |graph| rows(graph, 1)];
    for build in along {
        check_chunks(&[7, 50_021], build);
        check_chunks(&[409, 801], build);
    }
}

/// Sums along an axis.
fn rows(graph: &mut Graph, axis: usize) -> Vec<NodeId> {
    let third = two(graph, Binary::Max, 0, 1);
    let fourth = two(graph, Binary::Add, third, 0);
    vec![graph.add(Op::Reduce(Reduction::Sum, smallvec![axis]), &[fourth])]
}

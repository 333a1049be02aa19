//! Booleans in memory, casts, integers, and positions in chunks of large nests.

use super::positions::*;
use super::*;

/// Answers of all kinds: read, computed, chosen between and written.
#[test]
fn booleans_have_the_bits_of_the_kernels() {
    for (dtype, n) in [DType::F32, DType::I64].into_iter().flat_map(|dtype| lengths().map(move |n| (dtype, n))) {
        // Rows of 16 end where registers do.
        for (extents, is_whole) in [(vec![n], false), (vec![n, 16], true), (vec![3, n], false)] {
            let draft = &mut Draft::new(&extents);
            let rank = extents.len();
            // Rows are apart in the inputs, so that loops do not run together.
            let strides: Vec<i64> = [100, 1][2 - rank..].to_vec();
            let inputs = [dtype, dtype, DType::Bool, DType::Bool].map(|dtype| draft.input(dtype, 100 * n + 100));
            let [x, y, a, b] = inputs.map(|input| draft.load(input, at(0, &strides), Guards::new()));
            let one = draft.load(inputs[2], at(3, &vec![0; rank]), Guards::new());
            let bool = DType::Bool;
            let less = draft.add(NestValue::Compare(Comparison::Less, x, y), bool);
            let yes = draft.add(NestValue::Constant(Value::Bool(true)), bool);
            let no = draft.add(NestValue::Constant(Value::Bool(false)), bool);
            let all = [
                NestValue::Binary(Binary::And, a, less),
                NestValue::Binary(Binary::Or, b, less),
                NestValue::Binary(Binary::Xor, a, b),
                NestValue::Unary(Unary::Not, a),
                NestValue::Select(a, less, b),
                NestValue::Select(less, yes, a),
                NestValue::Select(b, no, one),
                NestValue::Select(one, less, yes),
            ];
            let mut answers = all.map(|value| draft.add(value, bool)).to_vec();
            answers.extend([less, yes, no, one, a]);
            let chosen = draft.add(NestValue::Select(answers[2], x, y), dtype);
            answers.into_iter().for_each(|answer| draft.write(answer));
            draft.write(chosen);
            // Under masks AVX2 has no booleans in memory.
            // Short columns are cut into registers across rows, where booleans would be apart.
            let missing = draft.check();
            let is_known = |&isa: &Instructions| n == 0 || (rank == 2 && n < 16) || (isa == AVX2 && !is_whole);
            assert!(missing.iter().all(is_known), "{missing:?} of {:?}", draft.nest);
            // Guards on reads are such masks.
            let draft = &mut Draft::new(&[n]);
            let input = draft.input(DType::Bool, n);
            let place = at(-3, &[1]);
            let read = draft.load(input, place.clone(), vec![guard(place.clone(), n)]);
            let all = draft.load(input, at(0, &[1]), Guards::new());
            let guarded = draft.add(NestValue::Guarded(all, vec![guard(place, 9)]), DType::Bool);
            draft.write(read);
            draft.write(guarded);
            draft.check_written(false);
            // So are guards on reads of one for all lanes.
            let draft = &mut Draft::new(&[n]);
            let input = draft.input(DType::Bool, n);
            let [x, y] = [dtype, dtype]
                .map(|dtype| draft.input(dtype, n))
                .map(|input| draft.load(input, at(0, &[1]), Guards::new()));
            let repeated = draft.load(input, at(n as i64 / 2, &[0]), vec![guard(at(-3, &[1]), n)]);
            let chosen = draft.add(NestValue::Select(repeated, x, y), dtype);
            draft.write(chosen);
            draft.check_written(true);
        }
    }
}

#[test]
fn casts_have_the_bits_of_the_kernels() {
    let pairs = [
        (DType::I32, DType::F32, true),
        (DType::I32, DType::F64, false),
        (DType::I32, DType::I64, false),
        (DType::I64, DType::F64, false),
        (DType::F32, DType::F64, false),
        (DType::F64, DType::F32, false),
        (DType::Bool, DType::F32, false),
        (DType::Bool, DType::F64, false),
        (DType::Bool, DType::I32, false),
        (DType::Bool, DType::I64, false),
    ];
    for ((from, to, with_avx2), n) in pairs.into_iter().flat_map(|pair| lengths().map(move |n| (pair, n))) {
        let draft = &mut Draft::new(&[n]);
        let input = draft.input(from, n);
        let value = draft.load(input, at(0, &[1]), Guards::new());
        let cast = draft.add(NestValue::Cast(to, value), to);
        draft.write(cast);
        draft.check_written(with_avx2);
    }
    // Of answers that are computed, and of positions.
    for (dtype, n) in NUMBERS.into_iter().flat_map(|dtype| lengths().map(move |n| (dtype, n))) {
        let draft = &mut Draft::new(&[3, n]);
        let input = draft.input(dtype, 50 * 3 + n);
        let value = draft.load(input, at(0, &[50, 1]), Guards::new());
        let zero = draft.add(NestValue::Constant(Value::from_f64(dtype, 0.0)), dtype);
        let mask = draft.add(NestValue::Compare(Comparison::LessEqual, value, zero), DType::Bool);
        let cast = draft.add(NestValue::Cast(dtype, mask), dtype);
        draft.write(cast);
        draft.check_written(true);
        let draft = &mut Draft::new(&[3, n]);
        let position = draft.add(NestValue::Position(at(-7, &[1000, -3])), DType::I64);
        let cast = draft.add(NestValue::Cast(DType::F64, position), DType::F64);
        draft.write(position);
        draft.write(cast);
        draft.check_written(false);
        let draft = &mut Draft::new(&[3, n]);
        let position = draft.add(NestValue::Position(at(-7, &[1000, -3])), DType::I64);
        draft.write(position);
        draft.check_written(n > 3);
    }
}

#[test]
fn integers_have_the_bits_of_the_kernels() {
    let simple = [Binary::Add, Binary::Sub, Binary::BitAnd, Binary::BitOr, Binary::BitXor];
    let more = [Binary::Mul, Binary::Min, Binary::Max, Binary::MinRight, Binary::MaxRight];
    for (dtype, n) in [DType::I32, DType::I64].into_iter().flat_map(|dtype| lengths().map(move |n| (dtype, n))) {
        for op in simple.into_iter().chain(more) {
            let draft = &mut Draft::new(&[n]);
            let inputs = [0, 1].map(|by| draft.input(dtype, n + by));
            let [a, b] = inputs.map(|input| draft.load(input, at(0, &[1]), Guards::new()));
            let value = draft.add(NestValue::Binary(op, a, b), dtype);
            let negative = draft.add(NestValue::Unary(Unary::Neg, value), dtype);
            draft.write(value);
            draft.write(negative);
            // With AVX2 there are neither products nor extremes of 64 bits.
            draft.check_written(dtype == DType::I32 || simple.contains(&op));
        }
        for &row in COMPARISON_ROWS {
            let draft = &mut Draft::new(&[n]);
            let inputs = [0, 1].map(|by| draft.input(dtype, n + by));
            let [a, b] = inputs.map(|input| draft.load(input, at(0, &[1]), Guards::new()));
            let mask = draft.add(NestValue::Compare(row, a, b), DType::Bool);
            let value = draft.add(NestValue::Select(mask, a, b), dtype);
            draft.write(value);
            draft.check_written(true);
        }
        for op in [Reduction::Sum, Reduction::Max, Reduction::Min] {
            let draft = &mut Draft::new(&[n]);
            let input = draft.input(dtype, n + 2);
            let place = at(-2, &[1]);
            let guards = vec![guard(place.clone(), n + 2)];
            let value = draft.load(input, place, guards);
            draft.store(value, 1, at(0, &[0]), StoreMode::Reduce(op));
            draft.check_written(dtype == DType::I32 || op == Reduction::Sum);
        }
    }
}

/// Positions count from the first step, in whichever chunk it is.
#[test]
fn positions_in_chunks_are_those_of_the_whole() {
    const N: usize = 400_003;
    let of = |dtype, n| Type::new(dtype, &[n]);
    let types = [of(DType::F64, N), of(DType::I64, N), of(DType::F64, 64)];
    let window = |result: &[usize], row: &[i64], offset| AffineMap::new(&[N], result, &[row.into()], &[offset]);
    let whole_numbers = |by: usize, below: usize| (0..N).map(move |at| (at * by % below) as f64);
    let arguments = [
        Array::from_vec(&[N], whole_numbers(7, 31).collect::<Vec<_>>()),
        Array::from_vec(&[N], whole_numbers(40_503, 70).map(|at| at as i64 - 3).collect::<Vec<_>>()),
        Array::from_vec(&[64], whole_numbers(3, 64).take(64).collect::<Vec<_>>()),
    ];
    let builds: [&dyn Fn(&mut Graph) -> NodeId; 7] = [
        &|graph| graph.add(Op::Gather, &[2, 1]),
        &|graph| graph.add(Op::Scatter(SmallVec::from_slice(&[64])), &[0, 1]),
        &|graph| {
            let windows = [-40, -47].map(|by| graph.add(Op::View(window(&[N + 90], &[1], by)), &[0]));
            two(graph, Binary::Add, windows[0], windows[1])
        },
        &|graph| {
            let turned = graph.add(Op::View(window(&[N], &[-1], N as i64 + 39)), &[0]);
            two(graph, Binary::Add, turned, 0)
        },
        &|graph| {
            let windows = graph.add(Op::View(window(&[N, 5], &[1, 1], -2)), &[0]);
            graph.add(Op::Reduce(Reduction::Sum, smallvec![1]), &[windows])
        },
        &|graph| {
            let places = graph.add(Op::Iota(N), &[]);
            let bound = graph.add(Op::Constant(Array::full(&[N], Value::I64(250_003))), &[]);
            let mask = graph.add(Op::Compare(Comparison::Less), &[places, bound]);
            let negative = one(graph, Unary::Neg, 0);
            graph.add(Op::Select, &[mask, 0, negative])
        },
        &|graph| {
            let places = graph.add(Op::Iota(N), &[]);
            let there = two(graph, Binary::Add, places, 1);
            let found = graph.add(Op::Gather, &[0, there]);
            two(graph, Binary::Mul, found, 0)
        },
    ];
    for (which, build) in builds.into_iter().enumerate() {
        let all = body(&types, |graph| vec![build(graph)]);
        let procedure = lower(&all);
        let buffers: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
        for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
            for step in &procedure.steps {
                let Step::Nest(nest) = step else { panic!("{which}: {step:?}") };
                let code = compiled(isa, nest, &buffers, Cut::ByWork);
                assert!(code.is_some_and(|code| code.split.chunks > 1), "{isa:?}, {which}: {nest:?}");
            }
        }
        let run = |cpu: Cpu| {
            Program::new(&all, &cpu).expect("there is memory").run(&arguments).expect("there is memory").remove(0)
        };
        let kernels = run(Cpu::default().machine_code(false));
        for threads in [1, 3] {
            let found = run(Cpu::default().threads(threads));
            for at in 0..found.size() {
                let (found, expected) = (found.element(at), kernels.element(at));
                assert_eq!(found.bits(), expected.bits(), "{which}, {threads} threads, [{at}]");
            }
        }
    }
}

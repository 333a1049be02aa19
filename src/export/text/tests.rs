//! Reading beyond the programs of the corpus: hand-written texts, wrong ones, and those that exceed limits.

mod problems;

use crate::affine::AffineMap;
use crate::array::{Array, ElementType};
use crate::error::Error;
use crate::export::{Program, parse, parse_source, text, text_source};
use crate::operation::{Binary, Reduction, Unary};
use crate::shape::{DType, Type, Value};
use crate::term::{Body, Branch, Graph, Node, NodeId, Op, Scan};
use smallvec::smallvec;
use std::sync::Arc;

fn floats(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

fn program(parameters: &[Type], build: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Program {
    let mut graph = Graph::new(parameters, 0);
    let results = build(&mut graph);
    Program::new("f", graph.finish(&results))
}

/// The program that is read from a program's text, which prints as the same.
fn round(program: &Program) -> Program {
    let written = text(program);
    let read = parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(text(&read), written);
    read
}

/// The problem of a text, after where it is.
fn problem(text: &str) -> String {
    match parse(text) {
        Err(error @ Error::Parse { .. }) => error.to_string(),
        other => panic!("{other:?} of\n{text}"),
    }
}

/// The elements of a program without parameters.
fn elements(text: &str) -> Vec<Value> {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let results = program.interpret(&[]).unwrap();
    results.iter().flat_map(|array| (0..array.size()).map(|at| array.element(at))).collect()
}

#[test]
fn every_number_is_read_to_the_last_bit() {
    let doubles = [0.1, -0.0, 5e-324, f64::MAX, f64::MIN_POSITIVE, 1e16, 1.0 / 3.0, f64::INFINITY, f64::NEG_INFINITY];
    let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001), f64::from_bits(0xffff_ffff_ffff_ffff)];
    let mut values: Vec<Value> = doubles.into_iter().chain(nans).map(Value::F64).collect();
    let singles =
        [0.1, -0.0, 1e-45, f32::MAX, 16_777_216.0, f32::INFINITY, f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)];
    values.extend(singles.into_iter().map(Value::F32));
    values.extend([i64::MIN, i64::MAX, -1, 0, (1 << 53) + 1].map(Value::I64));
    values.extend([i32::MIN, i32::MAX].map(Value::I32));
    values.extend([true, false].map(Value::Bool));
    for &value in &values {
        // Alone, as all elements, beside an array that tells its type, and in lists of some and of many.
        let alone = Array::full(&[], value);
        let full = Array::full(&[2, 3], value);
        let other = Value::from_i64(value.dtype(), 1);
        fn list<T: ElementType>(value: Value, other: Value, count: usize) -> Array {
            let element = |at: usize| if at.is_multiple_of(3) { value } else { other };
            Array::from_vec(&[count], (0..count).map(|at| T::from_value(element(at)).unwrap()).collect())
        }
        let list = |count: usize| match value.dtype() {
            DType::F32 => list::<f32>(value, other, count),
            DType::F64 => list::<f64>(value, other, count),
            DType::I32 => list::<i32>(value, other, count),
            DType::I64 => list::<i64>(value, other, count),
            DType::Bool => list::<bool>(value, other, count),
        };
        let arrays = [alone, full.clone(), list(5), list(40)];
        let written = program(&[full.ty()], |graph| {
            let mut results: Vec<NodeId> =
                arrays.iter().map(|array| graph.add(Op::Constant(array.clone()), &[])).collect();
            results.push(graph.add(Op::Compare(crate::operation::Comparison::Equal), &[0, results[1]]));
            results
        });
        let read = round(&written);
        let results = read.interpret(&[full]).unwrap();
        for (found, expected) in results.iter().zip(&arrays) {
            assert_eq!(found.ty(), expected.ty());
            let same = (0..found.size()).all(|at| found.element(at) == expected.element(at));
            assert!(same, "{found:?} instead of {expected:?}");
        }
    }
}

#[test]
fn literals_take_the_type_of_what_stands_beside_them() {
    let values =
        elements("program f() -> (f32[2], f64, i32, bool):\n    (full 1_f32 [2] + 0.1, 1.0 + 0.5, -3_i32, 1 < 2)\n");
    let expected = [Value::F32(1.1), Value::F32(1.1), Value::F64(1.5), Value::I32(-3), Value::Bool(true)];
    assert_eq!(values, expected);
}

#[test]
fn constants_are_numbered_in_the_order_of_the_text_and_shared() {
    let many = |first: f64| Array::from_vec(&[100], (0..100).map(|at| first + at as f64).collect());
    let (a, b) = (many(0.5), many(7.5));
    // The one that is used last comes first in the arena; a body has the other one again.
    let mut step: Graph = Graph::new(&[floats(&[100])], 0);
    let inner = step.add(Op::Constant(a.clone()), &[]);
    let next = step.add(Op::Binary(Binary::Add), &[0, inner]);
    let scan = Scan { body: Arc::new(step.finish(&[next])), carries: 1, inputs: 0, length: 2, reverse: false };
    let written = program(&[floats(&[100])], |graph| {
        let last = graph.add(Op::Constant(b), &[]);
        let first = graph.add(Op::Constant(a), &[]);
        let sum = graph.add(Op::Binary(Binary::Sub), &[first, last]);
        let scan = graph.add(Op::Scan(Arc::new(scan)), &[sum]);
        vec![graph.add(Op::Output(0), &[scan])]
    });
    let displayed = "    let m1: f64[100] = scan[2] from (constant f64[100]#1 - constant f64[100]#2) λ(s1: f64[100]).
        s1 + constant f64[100]#1
    m1\n";
    assert!(written.to_string().ends_with(displayed), "{written}");
    let read = round(&written);
    let constants = |body: &Body| -> Vec<Array> {
        let constant = |node: &Node| if let Op::Constant(array) = &node.op { Some(array.clone()) } else { None };
        body.nodes.iter().filter_map(constant).collect()
    };
    let outer = constants(&read.body);
    let Some(Op::Scan(scan)) = read.body.nodes.iter().map(|node| &node.op).find(|op| op.is_multiple()) else {
        panic!()
    };
    assert_eq!((outer.len(), constants(&scan.body)), (2, vec![outer[0].clone()]), "equal is what is in one place");
    // Without its elements a constant is none.
    let cut = text(&written).split("constants:").next().unwrap().to_string();
    let expected = "line 2, column 47: the elements of constant #1 are missing below the program";
    assert_eq!(problem(&cut), expected);
}

#[test]
fn bodies_may_capture_what_they_do_not_use() {
    // One of the captures is for nothing, another one comes twice.
    let mut side: Graph = Graph::new(&[floats(&[]), floats(&[]), floats(&[])], 3);
    let exps = [0, 2].map(|at| side.add(Op::Unary(Unary::Exp), &[at]));
    let product = side.add(Op::Binary(Binary::Mul), &exps);
    let side = Arc::new(side.finish(&[product]));
    let written = program(&[floats(&[]), Type::scalar(DType::Bool)], |graph| {
        let sin = graph.add(Op::Unary(Unary::Sin), &[0]);
        let unused = graph.add(Op::Unary(Unary::Cos), &[sin]);
        let branch = Branch { then: side.clone(), otherwise: side };
        let branch = graph.add(Op::Branch(Arc::new(branch)), &[1, sin, unused, sin]);
        let output = graph.add(Op::Output(0), &[branch]);
        vec![output, graph.add(Op::Unary(Unary::Neg), &[unused])]
    });
    let read = round(&written);
    assert!(text(&read).contains("    (m2, -cos m1)\n"), "{read}");
    let arguments = [Array::full(&[], Value::F64(0.3)), Array::full(&[], Value::Bool(true))];
    assert_eq!(read.interpret(&arguments).unwrap(), written.interpret(&arguments).unwrap());
}

#[test]
fn the_order_of_the_arena_does_not_show() {
    // Operands stand in the arena in all orders, and lets are wanted by operations inside of later lines.
    let mut orders = vec![vec![]];
    for _ in 0..4 {
        let longer = |order: &Vec<usize>| {
            let left: Vec<usize> = (0..4).filter(|at| !order.contains(at)).collect();
            left.into_iter().map(|at| [&order[..], &[at]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    assert_eq!(orders.len(), 24);
    for order in orders {
        let written = program(&[floats(&[1000, 1000])], |graph| {
            let mut parts = [0; 4];
            for &at in &order {
                // Long enough that not all fit on a line.
                let mut node = 0;
                for _ in 0..12 + at {
                    node = graph.add(Op::Unary(Unary::Sin), &[node]);
                    let other = graph.add(Op::Unary(if at % 2 == 0 { Unary::Cos } else { Unary::Tanh }), &[node]);
                    node = graph.add(Op::Binary(Binary::Max), &[other, 0]);
                }
                parts[at] = node;
            }
            let left = graph.add(Op::Binary(Binary::Pow), &[parts[0], parts[1]]);
            let right = graph.add(Op::Binary(Binary::Pow), &[parts[3], parts[2]]);
            let shared = graph.add(Op::Binary(Binary::Add), &[left, 0]);
            vec![graph.add(Op::Binary(Binary::Mul), &[right, shared]), shared]
        });
        round(&written);
    }
}

#[test]
fn views_that_print_as_several_are_read_as_one() {
    let maps = [
        AffineMap::broadcast(&[3], &[2, 3], &[1]),
        // A column of zeros beside a row that stands upright.
        AffineMap::new(&[3, 1], &[2, 3], &[smallvec![0, 1], smallvec![1, 0]], &[0, 0]),
        AffineMap::new(&[4, 5], &[5, 6], &[smallvec![0, 1], smallvec![1, 0]], &[-1, 2]),
        AffineMap::new(&[4, 5], &[7, 5, 6], &[smallvec![0, 0, 1], smallvec![0, 1, 0]], &[-1, 2]),
        AffineMap::new(&[4], &[3, 2], &[smallvec![0, 0]], &[2]),
        AffineMap::new(&[4], &[9], &[smallvec![2]], &[-3]),
        AffineMap::new(
            &[1, 1, 4],
            &[2, 2, 2],
            &[smallvec![0, 1, 0], smallvec![1, 0, 0], smallvec![0, 0, 1]],
            &[0, 0, 1],
        ),
    ];
    for map in maps {
        let written = program(&[floats(map.source())], |graph| vec![graph.add(Op::View(map.clone()), &[0])]);
        let read = round(&written);
        assert_eq!(read.body, written.body, "{written}");
    }
    // Two that print as one do are one: they read the same.
    let maps = [AffineMap::transpose(&[4, 5], &[1, 0]), AffineMap::broadcast(&[5, 4], &[7, 5, 4], &[1, 2])];
    let written = program(&[floats(&[4, 5])], |graph| {
        let first = graph.add(Op::View(maps[0].clone()), &[0]);
        vec![graph.add(Op::View(maps[1].clone()), &[first])]
    });
    assert_eq!(round(&written).body.nodes.len(), 2);
}

#[test]
fn names_of_many_axes_are_no_words() {
    // The names of positions would be `i32` and `i64`.
    let columns = 70usize;
    let map = AffineMap::new(&[9], &vec![2; columns], &[smallvec![1; columns]], &[-1]);
    let map_at = |graph: &mut Graph| vec![graph.add(Op::View(map.clone()), &[0])];
    let mut graph: Graph = Graph::new(&[Type::new(DType::Bool, &[9])], 0);
    let results = map_at(&mut graph);
    let nodes = (0..2).map(|at| graph.node(at).clone()).collect();
    let body = Body::of(1, 0, nodes, results);
    // Such an array would be too large: only the map is read.
    let written = text(Program::new("f", body));
    assert!(["i31, i_32,", "i33", "+ i_32", "+ i_64"].iter().all(|part| written.contains(part)), "{written}");
    assert!(problem(&written).contains("too large for any memory"));
    let distinct: Vec<String> = (0..40).map(|at| format!("build [1] λ[a{at}]. ")).collect();
    let read =
        parse_source(&format!("program f() -> f64[{}]:\n    {}1.0\n", vec!["1"; 40].join(", "), distinct.concat()));
    let written = text_source(read.unwrap());
    assert_eq!(text_source(parse_source(&written).unwrap()), written);
}

#[test]
fn names_are_kept() {
    let mut written = program(&[floats(&[]), floats(&[]), floats(&[])], |graph| {
        let sum = graph.add(Op::Binary(Binary::Add), &[0, 1]);
        vec![graph.add(Op::Binary(Binary::Add), &[sum, 2]), sum]
    });
    written.name = "a.b".into();
    written.parameters = ["inf_f32", "params.0.w", "NaN"].map(String::from).to_vec();
    written.results = ["", "m1"].map(String::from).to_vec();
    let read = round(&written);
    assert_eq!(
        (&read.name[..], &read.parameters[..]),
        ("a.b", &["inf_f32_", "params.0.w", "NaN_"].map(String::from)[..])
    );
    assert_eq!(read.results, ["", "m1"]);
    let mut unnamed = program(&[floats(&[])], |_| vec![0]);
    unnamed.results = vec![String::new()];
    assert!(round(&unnamed).results.is_empty());
}

#[test]
fn captures_of_a_program_stay_captures() {
    let mut graph: Graph = Graph::new(&[floats(&[]), floats(&[2])], 1);
    let sum = graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[1]);
    let body = graph.finish(&[sum]);
    let read = round(&Program::new("f", body.clone()));
    assert_eq!(*read.body, body);
    assert!(text(&read).starts_with("program f(p0: f64; c0: f64[2]) -> f64:\n"));
}

#[test]
fn lets_with_lines_of_their_own_stay_where_they_are() {
    // A name that is used once, but in a later line.
    let text = "\
program f(x: f64[3]) -> f64[3]:
    let m1: f64[3] = build [3] λ[i].
        let m2: f64[3] = exp (replicate[3] x[i])
        m2[0] + m2[1]
    let m3: f64[3] = sin x
    let m4: f64[3] = m1 + x
    m3 * m3 * (m4 * m4)
";
    let read = parse_source(text).unwrap();
    assert_eq!(text_source(&read), text);
}

#[test]
fn builds_are_read_as_source_programs_only() {
    let written = "\
program f(x: f64[3], y: f64[4]) -> f64[3, 4]:
    let m1: f64[3] = exp x
    let m2: f64[3, 4] = build [3] λ[i].
        let m3: f64[4] = build [4] λ[j].
            let m4: f64 = sin m1[i]
            m4 * m4 * y[j]
        m3
    -m2 + (build [3, 4] λ[i, j]. x[i])
";
    let read = parse_source(written).unwrap();
    assert_eq!(text_source(&read), written);
    let expected = "line 3, column 25: a bulk program has no `build`: this one is read as a source program";
    assert_eq!(problem(written), expected);
    assert_eq!(
        parse_source("program f() -> f64[2]:\n    build [2] λ[i]. cast f64 j\n").unwrap_err().to_string(),
        "line 2, column 30: nothing has the name j"
    );
}

#[test]
fn long_programs_are_read_in_linear_time() {
    let written = program(&[floats(&[3])], |graph| {
        let mut node = 0;
        for _ in 0..50_000 {
            let sine = graph.add(Op::Unary(Unary::Sin), &[node]);
            node = graph.add(Op::Binary(Binary::Mul), &[sine, node]);
        }
        vec![node]
    });
    let read = round(&written);
    assert_eq!(read.body.nodes.len(), 100_001);
    let sum = format!("program f(x: f64) -> f64:\n    {}\n", vec!["x"; 100_000].join(" + "));
    assert_eq!(parse(&sum).unwrap().body.nodes.len(), 100_000);
}

//! Reading beyond the programs of the corpus: hand-written texts, wrong ones, and those that exceed limits.

use crate::affine::AffineMap;
use crate::array::{Array, Scalar};
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

/// The problem of an expression of `x: f64[3]`, `m: f64[3, 3]`, `n: i64` and `b: bool`, from its column.
fn problem_of(expression: &str) -> String {
    let problem =
        problem(&format!("program f(x: f64[3], m: f64[3, 3], n: i64, b: bool) -> f64[3]:\n    {expression}\n"));
    problem.strip_prefix("line 2, column ").map(str::to_string).unwrap_or(problem)
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
        fn list<T: Scalar>(value: Value, other: Value, count: usize) -> Array {
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
fn what_does_not_fit_is_said_where_it_is() {
    let cases = [
        ("x + y", "9: nothing has the name y"),
        ("x + m", "7: add: shapes [3] and [3, 3] differ"),
        ("x + n", "7: add: shapes [3] and [] differ"),
        ("x +", "8: expected an expression, found the end of the line"),
        ("x + 1_f32", "7: add: element types f64 and f32 differ"),
        ("n + 1.5", "9: `1.5` is no i64"),
        ("x * (x + 1.0", "9: the bracket is not closed"),
        ("x]", "6: ] closes nothing"),
        ("(x]", "7: ] does not close ("),
        ("x ? x", "7: the language has no '?'"),
        ("exp", "8: expected an expression, found the end of the line"),
        ("exp x y", "11: expected an operator or the end of the line, found `y`"),
        ("foo(x)", "5: nothing has the name foo"),
        ("then x", "5: expected an expression, found `then`"),
        ("max(x)", "5: max takes 2 operands, not 1"),
        ("select(b, x, x)", "5: select: shapes [] and [3] differ"),
        ("x[3]", "6: position 3 is outside of shape [3], axis 0"),
        ("x[0, 0]", "6: 2 indices into shape [3]"),
        ("m[:, n]", "6: `:` stands beside literal positions only"),
        ("x[x]", "6: a position of type f64[3]: arrays of positions are for `gather`"),
        ("transpose[0, 0] m", "5: axes [0, 0] are no permutation of those of shape [3, 3]"),
        ("reverse[2] m", "5: there is no axis 2 in shape [3, 3]"),
        ("slice[0: 2..5] x", "5: the slice ends at 5, outside of shape [3], axis 0"),
        ("slice[0: 2..1] x", "14: a slice goes upwards"),
        ("stretch[0: 5] x", "5: axis 0 of shape [3] is not of extent 1"),
        ("diagonal x", "5: shape [3] has no diagonal of its first two axes"),
        ("replicate[3: 2] x", "5: there is no room for a new axis 3"),
        ("view [3] x ([i, j] -> [i])", "17: the map has 2 positions, but the shape has 1 axes"),
        ("view [3] x ([i] -> [k])", "25: k is no position of the map"),
        ("view [3] x ([i] -> [])", "5: the map has 0 rows and 0 offsets, but reads shape [3]"),
        ("view [3] x ([i] -> [9223372036854775807*i])", "5: the map reads further than 2^58 outside of shape [3]"),
        ("reshape [4] x", "5: reshape: sizes of shapes [3] and [4] differ"),
        ("sum[1, 0] m", "5: sum: axes [1, 0] are not ascending"),
        (
            "contract \"ij,jk->i\" m m",
            "14: a label stands in at least two of the three lists, and in each of them once",
        ),
        ("contract \"ij\" m m", "14: labels are written as in \"ij,jk->ik\""),
        ("contract \"ij,jk->ik m m", "14: the labels have no end: expected \""),
        ("full x [3]", "10: expected a number, which is what all elements are"),
        ("[1.0, [2.0]]", "11: expected a number, found `[`"),
        ("[[1.0, 2.0], [3.0]]", "22: a list of 1 beside lists of 2"),
        ("[1.0, true]", "11: `true` is no f64"),
        ("[]", "6: expected a number, found `]`"),
        ("x + 1e999", "9: `1e999` is no f64"),
        ("NaN#12", "5: `NaN` is no f64"),
        ("1.0.0", "8: expected an operator or the end of the line, found `.`"),
        ("99999999999999999999", "5: `99999999999999999999` is no i64"),
        ("iota 99999999999999999999", "10: 99999999999999999999 is too large"),
        (
            "full 1.0 [10000000000, 10000000000]",
            "10: constant: an array of type f64[10000000000, 10000000000] is too large for any memory: 800000000000000000000 bytes",
        ),
        ("powi[3000000000] x", "10: there is no powi of 3000000000"),
        ("powi [3] x", "10: expected `[` without a space before it, found `[`"),
        ("build [3] λ[i]. x[i]", "5: a bulk program has no `build`: this one is read as a source program"),
        ("scan[2] from (x) λ(s: f64[3]). s", "5: expected an expression, found `scan`"),
        ("m", "line 1, column 56: this result is f64[3, 3], not f64[3]"),
        ("(x, x)", "line 1, column 56: 1 types for 2 results"),
        ("let y: f64[4] = x\n    y", "9: y is f64[3] by its definition, not f64[4]"),
        ("let x: f64[3] = x\n    x", "9: the name x is taken"),
        ("let sum: f64[3] = x\n    x", "9: expected a name, which is no word of the language, found `sum`"),
        ("let (a: f64, b: f64) = n\n    x", "28: 2 names for 1 arrays"),
        ("let y: f64[3] = scan[2] from (x) λ(s: f64[3], t: f64). s\n    y", "38: 2 parameters for 1 values"),
        (
            "let y: f64[3] = scan[2] from (x) λ(s: f64[4]). s\n    y",
            "21: scan: the loop's body takes f64[4] at position 0, not f64[3]",
        ),
        (
            "let y: f64[3] = sweeps[2, every 0]\n        forwards from (x) λ(s: f64[3]). s\n    y",
            "21: sweeps: a loop has at least one checkpoint",
        ),
        (
            "let y: f64[3] = sweeps[2]\n        backwards from (x) λ(s: f64[3]). s\n    y",
            "line 3, column 9: expected `forwards`, found `backwards`",
        ),
        (
            "let y: f64[3] = sweeps[2]\n        forwards from (x) keep 18446744073709551615 λ(s: f64[3]). s\n    y",
            "21: sweeps: there are not so many values of a step that are kept",
        ),
        ("let y: f64[3] = custom (x) λ(s: f64[3]). s\n    y", "21: custom: has no derivative rule"),
        (
            "let y: f64[3] = custom (x) λ(s: f64[3]). s + x\n    y",
            "50: x is no parameter: functions with derivative rules refer to those only",
        ),
        ("let y: f64[3] = branch n then x else x\n    y", "21: branch: the condition is a rank-0 bool, not i64"),
    ];
    for (expression, expected) in cases {
        let found = problem_of(expression);
        assert_eq!(found, expected, "{expression}");
    }
    for (text, expected) in [
        ("", "line 1, column 1: expected `program`, found the end of the text"),
        ("program", "line 1, column 8: expected a name, found the end of the line"),
        ("program f() -> f64:\n", "line 2, column 1: expected a line further to the right, found the end of the text"),
        ("program f() -> f64:\n    1.0\n  2.0\n", "line 3, column 3: the line begins where no other line does"),
        ("program f() -> f64:\n\t1.0\n", "line 2, column 1: a tab: lines begin with spaces"),
        (
            "program f() -> f64:\n    1.0\nprogram g() -> f64:\n    1.0\n",
            "line 3, column 1: expected `constants`, or the end of the text, found `program`",
        ),
        (
            "program f(x: f16) -> f64:\n    1.0\n",
            "line 1, column 14: expected an element type: f32, f64, i32, i64 or bool, found `f16`",
        ),
    ] {
        assert_eq!(problem(text), expected);
    }
}

#[test]
fn nesting_is_bounded_and_what_is_allowed_fits_the_stack() {
    let brackets = |count: usize| format!("{}x{}", "(".repeat(count), ")".repeat(count));
    let whole = |expression: &str| format!("program f(x: f64) -> f64:\n    {expression}\n");
    assert!(parse(&whole(&brackets(64))).is_ok());
    assert_eq!(problem(&whole(&brackets(65))), "line 2, column 69: brackets are nested more than 64 deep");
    for bracket in ["(", "[", "x[", "exp (", "(-", "build [3] λ["] {
        assert!(problem(&whole(&bracket.repeat(100_000))).ends_with("nested more than 64 deep"), "{bracket}");
    }
    let lines: String =
        (1..100_000).map(|at| format!("{}let y: f64 = branch b then\n", " ".repeat(at % 200))).collect();
    assert!(parse(&lines).is_err());
    // Lines, brackets and builds in each other, as deep as they may be.
    let nested = |lines: usize, depth: usize, builds: usize| {
        let mut text = "program f(x: f64, b: bool) -> f64:\n".to_string();
        for at in 1..lines {
            text.push_str(&format!("{}let y{at}: f64 = branch b then\n", " ".repeat(at)));
        }
        let opened = |at: usize| format!("{}build [1] λ[j{at}]. ", if at < depth { "(" } else { "" });
        let opened: String = (0..builds).map(opened).collect();
        let index = if builds > 0 { format!("[{}]", vec!["0"; builds].join(", ")) } else { String::new() };
        text.push_str(&format!("{}({opened}x{}){index}\n", " ".repeat(lines), ")".repeat(depth)));
        for at in (1..lines).rev() {
            let margin = " ".repeat(at);
            text.push_str(&format!("{margin}else\n{margin} x\n{margin}y{at}\n"));
        }
        text
    };
    for (lines, depth, builds) in [(64, 0, 0), (1, 62, 63), (32, 31, 32), (63, 1, 1)] {
        let read = parse_source(&nested(lines, depth, builds)).unwrap_or_else(|error| panic!("{lines}: {error}"));
        let again = parse_source(&text_source(&read)).unwrap();
        assert_eq!(text_source(&again), text_source(&read));
    }
    for (lines, depth, builds) in [(65, 0, 0), (1, 63, 63), (1, 0, 64), (32, 0, 33)] {
        let problem = parse_source(&nested(lines, depth, builds)).unwrap_err().to_string();
        assert!(problem.ends_with("nested more than 64 deep"), "{problem}");
    }
}

#[test]
fn many_axes_are_bounded_by_the_length_of_the_text() {
    let extents = vec!["1"; 50_000].join(", ");
    let text = format!("program f(x: f64[{extents}]) -> f64[{extents}]:\n    view [{extents}] x ([i] -> [i])\n");
    assert!(problem(&text).contains("positions"));
    let text = format!("program f(x: f64[{extents}]) -> f64[{extents}]:\n    reverse[0] x\n");
    assert!(problem(&text).ends_with("the program's types and maps have too many axes for its length"));
    // Every body around a name has a parameter of its type.
    let bodies: String = (0..60).map(|at| format!("build [1] λ[i{at}_]. ")).collect();
    let bodies = vec![format!("{bodies}x"); 8].join(", ");
    let text = format!("program f(x: f64[{extents}]) -> f64:\n    ({bodies})\n");
    let problem_of_bodies = parse_source(&text).unwrap_err().to_string();
    assert!(problem_of_bodies.ends_with("too many axes for its length"));
    let sum = vec!["x"; 2000].join(" + ");
    let text = format!("program f(x: f64[{extents}]) -> f64[{extents}]:\n    {sum}\n");
    assert!(problem(&text).ends_with("the program's types and maps have too many axes for its length"));
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

#[test]
fn every_prefix_of_a_program_is_an_error() {
    let written = "\
program f(x: f64, b: bool) -> (f64, value: f64[2]):
    let (m1: f64, m2: f64[2]) = scan[2, reverse] from (x) over ([1.0, -2.5]) λ(s1: f64, e1: f64).
        let m3: f64 = s1 * e1 + x
        (m3, exp m3)
    let m4: f64 = branch b then m1 else -x
    (m4, view [2] m2 ([i] -> [1 - i]))
";
    let end = written.trim_end().len();
    assert!(parse(&written[..end]).is_ok(), "a line end is not needed at the end");
    for cut in (0..end).filter(|&cut| written.is_char_boundary(cut)) {
        assert!(parse(&written[..cut]).is_err(), "{}", &written[..cut]);
    }
    // With the line ends of other systems, blank lines, and more room.
    let other = written.replace('\n', "\r\n").replace("    let m4", "\r\n    \r\n    let m4").replace(" + ", "  +   ");
    let printed = text(parse(written).unwrap());
    assert_eq!(text(parse(&other).unwrap()), printed);
}

use super::names::{is_keyword, sanitised};
use super::*;
use crate::affine::AffineMap;
use crate::algebra::{Contraction, Extreme, Reduction};
use crate::concrete::{Array, Data};
use crate::operation::{BINARY_ROWS, Binary, COMPARISON_ROWS, Comparison, Domain, UNARY_ROWS, Unary};
use crate::shape::{DType, Value};
use crate::term::op::{Branch, Build, Never, Op, Scan};
use crate::term::{Graph, NodeId};
use ndarray::{ArcArray, IxDyn};
use smallvec::smallvec;
use std::collections::HashSet;
use std::sync::Arc;

/// The page with the grammar, whose examples are those of these tests.
const PAGE: &str = include_str!("../../../docs/printed-programs.md");

fn floats(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

fn integers(shape: &[usize]) -> Type {
    Type::new(DType::I64, shape)
}

fn number(shape: &[usize], x: f64) -> Op {
    Op::Constant(Array::full(shape, Value::F64(x)))
}

fn integer<X: Extension>(x: i64) -> Op<X> {
    Op::Constant(Array::full(&[], Value::I64(x)))
}

fn dense(shape: &[usize], elements: Vec<f64>) -> Array {
    Array::F64(Data::Dense(ArcArray::from_shape_vec(IxDyn(shape), elements).unwrap()))
}

/// A program whose result is what the closure adds to the graph.
fn program<X: Extension>(parameters: &[Type], build: impl FnOnce(&mut Graph<X>) -> NodeId) -> Body<X> {
    let mut graph = Graph::new(parameters, 0);
    let result = build(&mut graph);
    graph.finish(&[result])
}

/// The text below a program's first line, after a check of its tokens.
fn text<X: Extension>(body: &Body<X>) -> String {
    let text = body.to_string();
    check_tokens(&text);
    let (_, rest) = text.split_once('\n').unwrap();
    rest.strip_suffix('\n').unwrap().to_string()
}

/// How one operation on parameters of these types prints.
fn printed(op: Op, parameters: &[Type]) -> String {
    let args: Vec<NodeId> = (0..parameters.len() as NodeId).collect();
    text(&program(parameters, |graph| graph.add(op, &args))).trim_start().to_string()
}

/// The tokens of a program; a character that no token of the grammar begins with panics.
fn tokens(text: &str) -> Vec<&str> {
    const SYMBOLS: [&str; 23] = [
        "->", "..", "<=", ">=", "==", "!=", "(", ")", "[", "]", ",", ":", ";", ".", "=", "+", "-", "*", "/", "<", ">",
        "#", "λ",
    ];
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            let length = rest[1..].find('"').expect("a string ends") + 2;
            assert!(rest[1..length - 1].chars().all(|c| c.is_alphabetic() || ",->".contains(c)), "{}", &rest[..length]);
            length
        } else if first.is_ascii_digit() {
            // Digits, fraction, exponent, element type; `1..9` is a range.
            let bytes = rest.as_bytes();
            let belongs = |at: usize| {
                let fraction = bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
                let exponent = bytes[at] == b'-' && bytes[at - 1] == b'e';
                bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' || fraction || exponent
            };
            (0..bytes.len()).find(|&at| !belongs(at)).unwrap_or(bytes.len())
        } else if is_word(rest) {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else {
            let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
            symbol.unwrap_or_else(|| panic!("no token of the grammar: {rest:?}")).len()
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token);
        rest = behind.trim_start();
    }
    tokens
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() && c != 'λ')
}

/// Checks that a program has tokens of the grammar only, that its brackets match, that its layout is regular, and that
/// every name is bound before it is used.
fn check_tokens(text: &str) {
    let tokens = tokens(text);
    let mut bound: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    // Whether names stand in a build's index list or an affine map, which bind by naming.
    let mut binding = false;
    for (at, &token) in tokens.iter().enumerate() {
        let previous = if at == 0 { "" } else { tokens[at - 1] };
        let next = tokens.get(at + 1).copied().unwrap_or_default();
        match token {
            "(" => open.push(")"),
            "[" => {
                open.push("]");
                let in_map =
                    previous == "(" && tokens[at..].iter().skip_while(|&&token| token != "]").nth(1) == Some(&"->");
                binding |= previous == "λ" || in_map;
            }
            ")" | "]" => {
                assert_eq!(open.pop(), Some(token), "{text}");
                binding &= token == "]" && next != ".";
            }
            _ if is_word(token) && !is_keyword(token) => {
                if next == ":" || previous == "program" || binding {
                    bound.insert(token);
                }
                let ending = token.starts_with("inf_") || token.starts_with("NaN_");
                assert!(ending || bound.contains(token), "nothing binds {token} in\n{text}");
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{text}");
    let regular = |line: &str| (line.len() - line.trim_start().len()).is_multiple_of(4) && !line.ends_with(' ');
    assert!(text.lines().all(regular), "{text}");
}

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

/// `build [n] (λi. x[i] · x[n − 1 − i])`.
fn convolution_body(n: usize) -> Body<Build> {
    let mut graph = Graph::new(&[integers(&[]), floats(&[n])], 1);
    let left = graph.add(Op::Gather, &[1, 0]);
    let last = graph.add(integer(n as i64 - 1), &[]);
    let mirrored = graph.add(Op::Binary(Binary::Sub), &[last, 0]);
    let right = graph.add(Op::Gather, &[1, mirrored]);
    let product = graph.add(Op::Binary(Binary::Mul), &[left, right]);
    graph.finish(&[product])
}

#[test]
fn a_build_prints_on_one_line_where_it_fits() {
    let build = Op::Extra(Build { extents: smallvec![10], body: Arc::new(convolution_body(10)) });
    let body = program(&[floats(&[10])], |graph| {
        let built = graph.add(build, &[0]);
        graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[built])
    });
    let text = Printer::new(&body).program("self_convolution").parameters(["x"]).to_string();
    check_tokens(&text);
    let expected = "\
program self_convolution(x: f64[10]) -> f64:
    sum[0] (build [10] λ[i]. x[i] * x[9 - i])
";
    assert_eq!(text, expected);
    assert!(PAGE.contains(expected));
}

#[test]
fn nested_builds_have_indices_of_their_own_and_lets_inside() {
    // build [3] λ[i]. build [4] λ[j]. (let s = sin x[i]; s · s) · y[j], the inner one capturing the outer index.
    let mut inner: Graph<Build> = Graph::new(&[integers(&[]), integers(&[]), floats(&[3]), floats(&[4])], 3);
    let x = inner.add(Op::Gather, &[2, 1]);
    let sine = inner.add(Op::Unary(Unary::Sin), &[x]);
    let square = inner.add(Op::Binary(Binary::Mul), &[sine, sine]);
    let y = inner.add(Op::Gather, &[3, 0]);
    let product = inner.add(Op::Binary(Binary::Mul), &[square, y]);
    let inner = Build { extents: smallvec![4], body: Arc::new(inner.finish(&[product])) };
    let mut outer: Graph<Build> = Graph::new(&[integers(&[]), floats(&[3]), floats(&[4])], 2);
    let row = outer.add(Op::Extra(inner), &[0, 1, 2]);
    let outer = Build { extents: smallvec![3], body: Arc::new(outer.finish(&[row])) };
    let body = program(&[floats(&[3]), floats(&[4])], |graph| {
        let exp = graph.add(Op::Unary(Unary::Exp), &[0]);
        let built = graph.add(Op::Extra(outer), &[exp, 1]);
        graph.add(Op::Unary(Unary::Neg), &[built])
    });
    let expected = "    let m1: f64[3] = exp p0
    let m2: f64[3, 4] = build [3] λ[i].
        let m3: f64[4] = build [4] λ[j].
            let m4: f64 = sin m1[i]
            m4 * m4 * p1[j]
        m3
    -m2";
    assert_eq!(text(&body), expected);
}

fn scan(reverse: bool) -> Scan {
    // carry, input, capture: s ↦ s · e + c, and the output exp of the new carry.
    let mut graph: Graph = Graph::new(&[floats(&[]), floats(&[]), floats(&[])], 1);
    let product = graph.add(Op::Binary(Binary::Mul), &[0, 1]);
    let sum = graph.add(Op::Binary(Binary::Add), &[product, 2]);
    let exp = graph.add(Op::Unary(Unary::Exp), &[sum]);
    let body = graph.finish(&[sum, exp]);
    Scan { body: Arc::new(body), carries: 1, inputs: 1, length: 10, reverse }
}

#[test]
fn loops_bind_all_their_outputs() {
    let mut graph: Graph = Graph::new(&[floats(&[10]), floats(&[])], 0);
    let zero = graph.add(number(&[], 0.0), &[]);
    let sine = graph.add(Op::Unary(Unary::Sin), &[0]);
    let run = graph.add(Op::Scan(Arc::new(scan(true))), &[zero, sine, 1]);
    let last = graph.add(Op::Output(0), &[run]);
    let all = graph.add(Op::Output(1), &[run]);
    let body = graph.finish(&[last, all]);
    let text = Printer::new(&body).program("run").parameters(["xs", "bias"]).results(["last", "all"]).to_string();
    check_tokens(&text);
    let expected = "\
program run(xs: f64[10], bias: f64) -> (last: f64, all: f64[10]):
    let (m1: f64, m2: f64[10]) = scan[10, reverse] from (0.0) over (sin xs) λ(s1: f64, e1: f64).
        let m3: f64 = s1 * e1 + bias
        (m3, exp m3)
    (m1, m2)
";
    assert_eq!(text, expected);
    assert!(PAGE.contains(expected));
}

#[test]
fn conditionals_print_both_sides() {
    let side = |op: Unary, twice: bool| {
        let mut graph: Graph = Graph::new(&[floats(&[3])], 1);
        let mut result = graph.add(Op::Unary(op), &[0]);
        if twice {
            result = graph.add(Op::Binary(Binary::Mul), &[result, result]);
        }
        Arc::new(graph.finish(&[result]))
    };
    let body = |twice: bool| -> Body {
        program(&[floats(&[3]), floats(&[])], |graph| {
            let zero = graph.add(number(&[], 0.0), &[]);
            let positive = graph.add(Op::Compare(Comparison::Greater), &[1, zero]);
            let branch = Branch { then: side(Unary::Exp, twice), otherwise: side(Unary::Sin, false) };
            let run = graph.add(Op::Branch(Arc::new(branch)), &[positive, 0]);
            graph.add(Op::Output(0), &[run])
        })
    };
    assert_eq!(text(&body(false)), "    let m1: f64[3] = branch (p1 > 0.0) then exp p0 else sin p0\n    m1");
    let expected = "    let m1: f64[3] = branch (p1 > 0.0) then
        let m2: f64[3] = exp p0
        m2 * m2
    else
        sin p0
    m1";
    assert_eq!(text(&body(true)), expected);
}

#[test]
fn captured_constants_get_a_name() {
    let mut graph: Graph = Graph::new(&[floats(&[10])], 0);
    let zero = graph.add(number(&[], 0.0), &[]);
    let run = graph.add(Op::Scan(Arc::new(scan(false))), &[zero, 0, zero]);
    let last = graph.add(Op::Output(0), &[run]);
    let sum = graph.add(Op::Binary(Binary::Add), &[last, zero]);
    let body = graph.finish(&[sum]);
    let expected = "    let m1: f64 = 0.0
    let (m2: f64, m3: f64[10]) = scan[10] from (0.0) over (p0) λ(s1: f64, e1: f64).
        let m4: f64 = s1 * e1 + m1
        (m4, exp m4)
    m2 + 0.0";
    assert_eq!(text(&body), expected);
}

#[test]
fn the_grammar_has_every_keyword() {
    for word in names::KEYWORDS {
        let listed = PAGE.contains(&format!("\"{word}\""));
        assert!(listed, "{word}");
    }
}

#[test]
fn names_are_legal_and_unique() {
    assert_eq!(sanitised("params.w1"), "params.w1");
    assert_eq!(sanitised("batch.0"), "batch.0");
    assert_eq!(sanitised("a b"), "a_b");
    assert_eq!(sanitised("..a..b."), "a.b");
    assert_eq!(sanitised("sum"), "sum_");
    assert_eq!(sanitised("λ"), "v__");
    assert_eq!(sanitised(""), "v_");
    let parameters = vec![floats(&[]); 5];
    let mut graph: Graph = Graph::new(&parameters, 1);
    let exp = graph.add(Op::Unary(Unary::Exp), &[0]);
    let square = graph.add(Op::Binary(Binary::Mul), &[exp, exp]);
    let body = graph.finish(&[square, 4]);
    let printer = Printer::new(&body).program("loss").parameters(["m1", "x", "x", ""]);
    let expected = "\
program loss(m1: f64, x: f64, x_2: f64, p3: f64; c0: f64) -> (f64, f64):
    let m2: f64 = exp m1
    (m2 * m2, c0)
";
    assert_eq!(printer.to_string(), expected);
}

#[test]
fn empty_programs_and_many_parameters_print() {
    let none: Body = Graph::new(&[], 0).finish(&[]);
    assert_eq!(none.to_string(), "program f() -> ():\n    ()\n");
    let body: Body = Graph::new(&vec![floats(&[100, 100]); 20], 0).finish(&(0..20).collect::<Vec<_>>());
    let text = body.to_string();
    check_tokens(&text);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn wide_expressions_get_lets_and_lines_stay_narrow() {
    let body: Body = program(&[floats(&[10, 20])], |graph| {
        let mut level: Vec<NodeId> = UNARY_ROWS
            .iter()
            .filter(|op| op.domain().accepts(DType::F64))
            .map(|&op| graph.add(Op::Unary(op), &[0]))
            .collect();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| match *pair {
                    [a, b] => graph.add(Op::Binary(Binary::Atan2), &[a, b]),
                    _ => pair[0],
                })
                .collect();
        }
        let parts: Vec<NodeId> = (0..60).map(|n| graph.add(Op::Unary(Unary::Powi(n)), &[0])).collect();
        let joined = graph.add(Op::Concatenate(1), &parts);
        let sum = graph.add(Op::Reduce(Reduction::Sum, smallvec![1]), &[joined]);
        let other = graph.add(Op::Reduce(Reduction::Max, smallvec![1]), &[level[0]]);
        graph.add(Op::Binary(Binary::Max), &[sum, other])
    });
    let text = body.to_string();
    check_tokens(&text);
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
    // A concatenation of sixty parts has no comma to break at.
    assert!(wide.len() == 1 && wide[0].contains("concatenate[1]"), "{text}");
    assert_eq!(text, body.to_string());
}

#[test]
fn a_long_chain_prints_in_linear_time() {
    const LENGTH: usize = 100_000;
    let ops = [Unary::Sin, Unary::Exp, Unary::Neg, Unary::Tanh];
    let body: Body = program(&[floats(&[])], |graph| {
        (0..LENGTH).fold(0, |node, at| {
            let node = graph.add(Op::Unary(ops[at % 4]), &[node]);
            if at % 3 == 0 { graph.add(Op::Binary(Binary::Add), &[node, 0]) } else { node }
        })
    });
    let text = body.to_string();
    assert!(text.len() < 30 * LENGTH);
    assert!(text.lines().all(|line| line.chars().count() <= 100));
    assert_eq!(text.matches("sin").count(), LENGTH / 4);
}

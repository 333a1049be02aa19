//! How bodies, names and long programs print.

use super::*;

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
fn sweeps_print_one_after_the_other() {
    let condition = program(&[floats(&[]), floats(&[])], |graph| {
        let bound = graph.add(number(&[], 10.0), &[]);
        graph.add(Op::Compare(Comparison::Less), &[0, bound])
    });
    let condition = Body { parameters: 1, captures: 1, ..condition };
    let mut forwards: Graph = Graph::new(&[floats(&[]), floats(&[])], 1);
    let product = forwards.add(Op::Binary(Binary::Mul), &[0, 1]);
    let mut backwards: Graph = Graph::new(&[floats(&[]), floats(&[]), floats(&[]), floats(&[])], 1);
    let passed = backwards.add(Op::Binary(Binary::Mul), &[0, 3]);
    let part = backwards.add(Op::Binary(Binary::Mul), &[0, 2]);
    let sum = backwards.add(Op::Binary(Binary::Add), &[1, part]);
    let sweep = |body: Body, carries, reads, keeps| Sweep { body: Arc::new(body), carries, inputs: 0, reads, keeps };
    let sweeps = Sweeps {
        steps: Steps::While(Arc::new(condition)),
        sweeps: vec![
            sweep(forwards.finish(&[product, 0]), 1, vec![], 1),
            sweep(backwards.finish(&[passed, sum]), 2, vec![(0, 0)], 0),
        ],
        reverse: false,
        checkpoints: Checkpoints::Bytes(1000),
    };
    let mut graph: Graph = Graph::new(&[floats(&[])], 0);
    let (one, zero) = (graph.add(number(&[], 1.0), &[]), graph.add(number(&[], 0.0), &[]));
    let run = graph.add(Op::Sweeps(Arc::new(sweeps)), &[0, one, zero, 0]);
    let (first, second) = (graph.add(Op::Output(1), &[run]), graph.add(Op::Output(2), &[run]));
    let sum = graph.add(Op::Binary(Binary::Add), &[first, second]);
    let text = Printer::new(&graph.finish(&[sum])).program("gradient").parameters(["x"]).to_string();
    check_tokens(&text);
    let page: String = PAGE.split("```text\n").filter(|part| part.starts_with("program gradient")).collect();
    assert_eq!(text, page.split("```").next().unwrap());
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

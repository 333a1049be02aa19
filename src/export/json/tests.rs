//! Reading JSON beyond the programs of the corpus: documents that are no programs, and elements of all kinds.

use super::{from_json, from_json_source, json};
use crate::concrete::{Array, ElementType};
use crate::error::Error;
use crate::export::{Program, parse};
use crate::shape::{DType, Value};
use crate::term::{Graph, NodeId, Op};

const PAGE: &str = include_str!("../../../docs/json.md");

/// A document of `x: f64[3]` with these nodes and results.
fn document(nodes: &str, results: &str) -> String {
    format!(
        r#"{{"format":"deltaray program","version":1,"name":"f","parameters":["x"],"results":[],"constants":[],
        "body":{{"parameters":[{{"dtype":"f64","shape":[3]}}],"captures":[],"nodes":[{nodes}],"results":[{results}]}}}}"#
    )
}

fn node(op: &str, operands: &str, shape: &str) -> String {
    format!(r#"{{"op":{op},"operands":[{operands}],"types":[{{"dtype":"f64","shape":{shape}}}]}}"#)
}

fn problem(text: &str) -> String {
    match from_json(text) {
        Err(error @ (Error::Schema { .. } | Error::Parse { .. })) => error.to_string(),
        other => panic!("{other:?} of {text}"),
    }
}

#[test]
fn elements_come_back_to_the_last_bit() {
    let doubles = [0.1, -0.0, 5e-324, f64::MAX, 1.0 / 3.0, 123456789012345680.0, f64::INFINITY, f64::NEG_INFINITY];
    let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)];
    let mut values: Vec<Value> = doubles.into_iter().chain(nans).map(Value::F64).collect();
    let singles = [0.1, -0.0, 1e-45, f32::MAX, f32::NEG_INFINITY, f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)];
    values.extend(singles.map(Value::F32));
    values.extend([i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1, -1].map(Value::I64));
    values.extend([i32::MIN, i32::MAX].map(Value::I32));
    values.extend([true, false].map(Value::Bool));
    fn list<T: ElementType>(value: Value) -> Array {
        let element =
            |at: i64| T::from_value(if at == 0 { value } else { Value::from_i64(value.dtype(), at) }).unwrap();
        Array::from_vec(&[2, 2], (0..4).map(element).collect())
    }
    let constants = values.iter().flat_map(|&value| {
        let list = match value.dtype() {
            DType::F32 => list::<f32>(value),
            DType::F64 => list::<f64>(value),
            DType::I32 => list::<i32>(value),
            DType::I64 => list::<i64>(value),
            DType::Bool => list::<bool>(value),
        };
        [Array::full(&[], value), Array::full(&[1_000_000, 1_000_000], value), list]
    });
    let mut graph: Graph = Graph::new(&[], 0);
    let results: Vec<NodeId> = constants.map(|array| graph.add(Op::Constant(array), &[])).collect();
    let program = Program::new("f", graph.finish(&results));
    let written = json(&program);
    let read = from_json(&written).unwrap();
    assert_eq!(read, program);
    assert_eq!(json(&read), written);
}

#[test]
fn the_example_of_the_page_is_a_program() {
    let example = PAGE.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let program = from_json(example).unwrap();
    let squares = program.interpret(&[Array::from_vec(&[2], vec![3.0, 4.0])]).unwrap();
    assert_eq!(squares[0].to_vec(), Some(vec![41.0]));
}

#[test]
fn names_are_kept_as_they_are() {
    let mut program = parse("program f(x: f64, y: f64) -> (f64, f64):\n    (x, y)\n").unwrap();
    program.name = "λ \"x\"\n".into();
    program.parameters = vec![String::new()];
    program.results = vec!["a".into()];
    assert_eq!(from_json(&json(&program)).unwrap(), program);
    // Names of nothing are left out.
    program.results = vec!["a".into(); 5];
    assert_eq!(from_json(&json(&program)).unwrap().results.len(), 2);
}

#[test]
fn what_does_not_fit_is_said_with_the_way_to_it() {
    let scan = |carries: &str, inputs: &str| {
        let body = r#"{"parameters":[{"dtype":"f64","shape":[3]}],"captures":[],"nodes":[],"results":[0]}"#;
        let op =
            format!(r#"{{"scan":{{"length":2,"reverse":false,"carries":{carries},"inputs":{inputs},"body":{body}}}}}"#);
        node(&op, "0", "[3]")
    };
    let output = node(r#"{"output":0}"#, "1", "[3]");
    let view = |matrix: &str, offset: &str| {
        let op = format!(r#"{{"view":{{"source":[3],"result":[2],"matrix":{matrix},"offset":{offset}}}}}"#);
        node(&op, "0", "[2]")
    };
    let cases = [
        (node(r#""alias""#, "1", "[3]"), "1", "body.nodes[0].operands[0]: there is no node 1 before this one"),
        (
            node(r#""alias""#, "0", "[4]"),
            "1",
            "body.nodes[0].types: [f64[4]] is stated, but the operation results in [f64[3]]",
        ),
        (node(r#""alias""#, "0", "[3]"), "2", "body.results[0]: 2 is no array"),
        (node(r#""alias""#, "0,0", "[3]"), "1", "body.nodes[0].op: alias: takes 1 operands, not 2"),
        (
            node(r#"{"unary":{"name":"foo"}}"#, "0", "[3]"),
            "1",
            "body.nodes[0].op.unary: there is no operation \"foo\" with parameter None",
        ),
        (
            node(r#"{"unary":{"name":"powi","parameter":4294967296}}"#, "0", "[3]"),
            "1",
            "body.nodes[0].op.unary: there is no operation \"powi\" with parameter Some(4294967296)",
        ),
        (node(r#"{"full":"x"}"#, "", "[3]"), "1", "body.nodes[0].op.full: \"x\" is no f64"),
        (node(r#"{"full":9007199254740993}"#, "", "[3]"), "1", "body.nodes[0].op.full: 9007199254740993 is no f64"),
        (node(r#"{"constant":0}"#, "", "[3]"), "1", "body.nodes[0].op.constant: there is no constant 0"),
        (
            node(r#"{"full":1.0}"#, "", "[10000000000,10000000000]"),
            "1",
            "body.nodes[0].types: an array of type f64[10000000000, 10000000000] is too large for any memory: 800000000000000000000 bytes",
        ),
        (scan("1", "0"), "1", "body.results[0]: 1 is no array"),
        (
            scan("1", "0") + "," + &node(r#""alias""#, "1", "[3]"),
            "2",
            "body.nodes[1].operands[0]: node 1 is no array: `output` picks one of it",
        ),
        (scan("1", "0") + "," + &output + "," + &output, "2", "body.nodes[2].op: output 0 of node 1 is picked already"),
        (node(r#"{"output":0}"#, "0", "[3]"), "1", "body.nodes[0].operands[0]: node 0 has no outputs: it is an array"),
        (scan("18446744073709551615", "1"), "1", "body.nodes[0].op: scan: there are not so many carries and inputs"),
        (scan("0", "1"), "1", "body.nodes[0].op: scan: an input of shape [3] in a loop of 2 steps"),
        (view("[[1]]", "[0,0]"), "1", "body.nodes[0].op.view: the map has 1 rows and 2 offsets, but reads shape [3]"),
        (
            view("[[1,0]]", "[0]"),
            "1",
            "body.nodes[0].op.view: a row of the map has 2 coefficients, but the shape is [2]",
        ),
        (
            view("[[9223372036854775807]]", "[1]"),
            "1",
            "body.nodes[0].op.view: the map reads further than 2^58 outside of shape [3]",
        ),
        (
            node(r#"{"view":{"source":[9223372036854775808],"result":[2],"matrix":[[1]],"offset":[0]}}"#, "0", "[2]"),
            "1",
            "body.nodes[0].op.view: the map reads an axis of length 9223372036854775808, which no array has",
        ),
        (
            node(r#"{"contract":{"left":[0],"right":[1],"result":[]}}"#, "0,0", "[]"),
            "1",
            "body.nodes[0].op.contract: a label stands in at least two of the three lists, and in each of them once",
        ),
    ];
    for (nodes, results, expected) in cases {
        assert_eq!(problem(&document(&nodes, results)), expected);
    }
    let good = document(&node(r#""alias""#, "0", "[3]"), "1");
    assert!(from_json(&good).is_ok());
    for (from, to, expected) in [
        ("\"version\":1", "\"version\":2", "version: 2, but this library reads version 1"),
        ("deltaray program", "other", "format: \"other\" instead of \"deltaray program\""),
        ("[\"x\"]", "[\"x\",\"y\"]", "parameters: more names than parameters"),
        ("\"results\":[],", "\"results\":[\"a\",\"b\"],", "results: more names than results"),
        ("\"captures\":[],", "", "line 2, column 151: missing field `captures`"),
        (
            "\"name\"",
            "\"nom\"",
            "line 1, column 46: unknown field `nom`, expected one of `format`, `version`, `name`, `parameters`, `results`, `constants`, `body`",
        ),
    ] {
        assert_eq!(problem(&good.replacen(from, to, 1)), expected);
    }
    let constants = |ty: &str, bytes: &str| {
        good.replacen("\"constants\":[]", &format!(r#""constants":[{{"type":{ty},"bytes":"{bytes}"}}]"#), 1)
    };
    for (ty, bytes, expected) in [
        (
            r#"{"dtype":"f64","shape":[1000000000]}"#,
            "AAAA",
            "constants[0].bytes: 3 bytes are not the elements of an array of type f64[1000000000]",
        ),
        (r#"{"dtype":"bool","shape":[3]}"#, "AAEC", "constants[0].bytes: a bool is a byte 0 or 1"),
        (r#"{"dtype":"bool","shape":[3]}"#, "AAE", "constants[0].bytes: the elements are not in base64"),
        (
            r#"{"dtype":"bool","shape":[]}"#,
            "AA==",
            "constants[0].bytes: a constant of type bool has no bytes: its elements are equal",
        ),
        (
            r#"{"dtype":"bool","shape":[0]}"#,
            "",
            "constants[0].bytes: a constant of type bool[0] has no bytes: its elements are equal",
        ),
    ] {
        assert_eq!(problem(&constants(ty, bytes)), expected);
    }
}

#[test]
fn every_prefix_of_a_document_is_an_error() {
    let text = document(&node(r#""alias""#, "0", "[3]"), "1");
    for cut in 0..text.len() {
        assert!(matches!(from_json(&text[..cut]), Err(Error::Parse { .. })), "{}", &text[..cut]);
    }
}

#[test]
fn nesting_is_bounded_and_what_is_allowed_fits_the_stack() {
    let nested = |depth: usize| {
        let mut lines: Vec<String> = vec!["program f(x: f64) -> f64:".into()];
        for at in 0..depth {
            let before = if at == 0 { "x".to_string() } else { format!("s{at}") };
            let margin = "    ".repeat(at + 1);
            lines.push(format!("{margin}let y{at}: f64 = scan[1] from ({before}) λ(s{}: f64).", at + 1));
        }
        lines.push(format!("{}exp s{depth}", "    ".repeat(depth + 1)));
        for at in (0..depth).rev() {
            lines.push(format!("{}y{at}", "    ".repeat(at + 1)));
        }
        json(parse(&(lines.join("\n") + "\n")).unwrap())
    };
    assert!(from_json(&nested(21)).is_ok());
    assert!(problem(&nested(40)).contains("recursion limit exceeded"));
    for hostile in
        ["[".repeat(1_000_000), "{\"a\":".repeat(1_000_000), format!("{{\"format\":{}", "[".repeat(1_000_000))]
    {
        assert!(matches!(from_json(&hostile), Err(Error::Parse { .. })));
        assert!(matches!(from_json_source(&hostile), Err(Error::Parse { .. })));
    }
}

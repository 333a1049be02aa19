//! Printed programs: the common part of the tests.

mod operations;
mod programs;

use super::names::{is_keyword, sanitised};
use super::*;
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{
    BINARY_ROWS, Binary, COMPARISON_ROWS, Comparison, Contraction, Domain, Extreme, Reduction, UNARY_ROWS, Unary,
};
use crate::shape::{DType, Value};
use crate::term::op::{Branch, Build, Never, Op, Scan};
use crate::term::{Checkpoints, Graph, NodeId, Steps, Sweep, Sweeps};
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
    Array::from_vec(shape, elements)
}

/// A program whose result is the node that the closure adds to the graph.
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

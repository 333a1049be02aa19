//! Stages of a program as lines.

use super::seen::Seen;
use crate::array::Array;
use crate::export::Program;
use crate::term::print::{Printer, TextPiece};
use crate::term::{Body, Build, Op};
use std::collections::HashMap;

/// Bodies of loops and builds are shown in programs of no more nodes than this.
const UNFOLDED: usize = 20_000;

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineKind {
    /// A node of the program.
    Node,
    /// A node of a body. Its cost is for one run, and a part of the cost of the enclosing operation.
    Inner,
    /// A Delta.
    Delta,
    /// A given buffer.
    Buffer,
    /// A kernel.
    Kernel,
    /// A kernel in a loop or conditional.
    InnerKernel,
    /// The results.
    Result,
    /// A heading for the line before.
    Heading,
}

/// A line of a stage.
#[derive(Clone, Debug)]
pub(super) struct StageLine {
    pub(super) kind: LineKind,
    pub(super) depth: usize,
    pub(super) name: String,
    /// The types of its results.
    pub(super) types: String,
    pub(super) pieces: Vec<TextPiece>,
    /// The lines of operands that are constants.
    pub(super) constants: Vec<usize>,
    /// Operations on floats.
    pub(super) operations: Option<f64>,
    /// For a node, the bytes of its results; for a kernel, the bytes that it reads and writes.
    pub(super) bytes: Option<f64>,
    /// More text.
    pub(super) detail: String,
    /// Lines of the next stage that compute the same.
    pub(super) links: Vec<usize>,
}

impl StageLine {
    /// A line that costs nothing.
    pub(super) fn plain(kind: LineKind, depth: usize, pieces: Vec<TextPiece>) -> StageLine {
        StageLine {
            kind,
            depth,
            name: String::new(),
            types: String::new(),
            pieces,
            constants: Vec::new(),
            operations: None,
            bytes: None,
            detail: String::new(),
            links: Vec::new(),
        }
    }
}

/// A stage of a program.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) lines: Vec<StageLine>,
    /// Nodes, including those of bodies.
    pub(super) nodes: Option<usize>,
    /// Kernels; those of loops count once.
    pub(super) kernels: Option<usize>,
    /// Operations on floats.
    pub(super) operations: f64,
    /// The sum of the bytes of all lines.
    pub(super) bytes: f64,
}

/// A program as a stage, under the names of another one, and the facts about its lines at a point.
pub(super) fn program(
    title: &'static str,
    about: &'static str,
    names: &Program<Build>,
    body: &Body<Build>,
    inputs: &Option<Vec<Array>>,
) -> (Stage, Seen) {
    let count = body.node_count();
    let printer = Printer::new(body).parameters(&names.parameters[..]).results(&names.results[..]);
    let listing = printer.listing(count <= UNFOLDED);
    let mut lines = Vec::with_capacity(listing.len());
    for listed in &listing {
        let Some((of, id)) = listed.node else {
            let is_result = listed.owner.is_none();
            let kind = if is_result { LineKind::Result } else { LineKind::Heading };
            lines.push(StageLine::plain(kind, listed.depth, listed.pieces.clone()));
            continue;
        };
        let node = of.node(id);
        let kind = if listed.owner.is_none() { LineKind::Node } else { LineKind::Inner };
        let types: Vec<String> = node.types.iter().map(|ty| ty.to_string()).collect();
        let types = if types.len() == 1 { types.concat() } else { format!("({})", types.join(", ")) };
        let bytes = node.types.iter().map(|ty| ty.size() as f64 * ty.dtype.bytes() as f64).sum();
        // An output is a part of a value that was counted before.
        let bytes = if matches!(node.op, Op::Output(_)) { 0.0 } else { bytes };
        lines.push(StageLine {
            name: listed.name.clone(),
            constants: listed.constants.clone(),
            types,
            operations: Some(of.node_cost(node).float_operations as f64),
            bytes: Some(bytes),
            ..StageLine::plain(kind, listed.depth, listed.pieces.clone())
        });
    }
    let sum = |number: fn(&StageLine) -> Option<f64>| {
        lines.iter().filter(|line| line.kind == LineKind::Node).filter_map(number).sum::<f64>()
    };
    let (operations, bytes) = (sum(|line| line.operations), sum(|line| line.bytes));
    let stage = Stage { title, about, nodes: Some(count), kernels: None, operations, bytes, lines };
    let seen = Seen::of(body, &listing, inputs);
    (stage, seen)
}

/// Adds the Delta of the first result, given as text, to the stage that computes its operands: `values` results, and then `a0`,
/// `a1`, ..
pub(super) fn delta(stage: &mut Stage, body: &Body<Build>, text: &str, values: usize, parameters: &[String]) {
    let heading = "The Delta of the first result:".to_string();
    stage.lines.push(StageLine::plain(LineKind::Heading, 0, vec![TextPiece::Text(heading)]));
    let first = stage.lines.len();
    // Lines of nodes outside of bodies are in the order of the nodes.
    let nodes: Vec<usize> = (0..first).filter(|&at| stage.lines[at].kind == LineKind::Node).collect();
    let array = |number: usize| Some(nodes[*body.results.get(values + number)? as usize]);
    let mut names: HashMap<&str, usize> = HashMap::new();
    for line in text.lines() {
        let (name, term) = line.split_once(" = ").unwrap_or(("", line));
        let mut pieces: Vec<TextPiece> = Vec::new();
        let mut before = String::new();
        for word in words(term) {
            let target = if before == "Input" {
                parameters.iter().position(|name| name == word)
            } else {
                let numbered = |letter: char| word.strip_prefix(letter).and_then(|digits| digits.parse::<usize>().ok());
                let delta = names.get(word).copied();
                delta.or_else(|| numbered('a').and_then(array))
            };
            match target {
                Some(target) => pieces.push(TextPiece::Name(word.to_string(), target)),
                None => match pieces.last_mut() {
                    Some(TextPiece::Text(text)) => text.push_str(word),
                    _ => pieces.push(TextPiece::Text(word.to_string())),
                },
            }
            if !word.trim().is_empty() {
                before = word.to_string();
            }
        }
        names.insert(name, stage.lines.len());
        stage.lines.push(StageLine { name: name.to_string(), ..StageLine::plain(LineKind::Delta, 0, pieces) });
    }
}

/// Splits a text into words of letters, digits and the characters that join them, and the text between the words.
fn words(text: &str) -> Vec<&str> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == '.';
    let mut words = Vec::new();
    let mut start = 0;
    let mut inside = None;
    for (at, character) in text.char_indices() {
        let part = is_part(character);
        if inside.is_some_and(|inside| inside != part) {
            words.push(&text[start..at]);
            start = at;
        }
        inside = Some(part);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

//! Programs with a line for every node, for tools that display them: the printed language, except that every node is bound by a
//! let.

use super::Printer;
use super::expression::{PrintedOperand, operation};
use super::literal::{self, Constants};
use super::names::{Name, Names, sanitised};
use super::text::{Precedence, PrintedExpression};
use super::writer::{own_operands, sweeps::checkpoints};
use crate::term::op::{Build, Op};
use crate::term::{Body, NodeId, Steps, Sweeps};

/// A part of a line's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TextPiece {
    /// Text of the language.
    Text(String),
    /// A name, and the line that gives it.
    Name(String, usize),
}

/// A line of a listing.
pub(crate) struct ListingLine<'a> {
    /// How many bodies are around it.
    pub(crate) depth: usize,
    /// The line of the operation whose body it is of, if it is of one.
    pub(crate) owner: Option<usize>,
    /// The node, and the body that it is of; headings and results are no nodes.
    pub(crate) node: Option<(&'a Body<Build>, NodeId)>,
    /// The node's name.
    pub(crate) name: String,
    /// The node's text, after its name and type; empty for a parameter.
    pub(crate) pieces: Vec<TextPiece>,
    /// The lines of operands that are constants: in the text they may be literals instead of names.
    pub(crate) constants: Vec<usize>,
}

impl<'a> Printer<'a, Build> {
    /// The program with a line for each of its nodes, and one for its results. Of nested bodies the parameters stand behind
    /// the `λ` of their operation, so that they have no lines. Bodies are left out where `unfold` is false: their operation
    /// says how many nodes they have.
    pub(crate) fn listing(&self, unfold: bool) -> Vec<ListingLine<'a>> {
        let mut names = Names::default();
        let parameters = self.reserve(&mut names);
        let mut lister = Lister { names, constants: Constants::new(self.spelling), lines: Vec::new(), unfold };
        let bound = parameters.into_iter().enumerate().map(|(line, name)| NamedLine { name, line });
        let bound: Vec<NamedLine> = bound.collect();
        for (at, own) in bound.iter().enumerate() {
            let node = Some((self.body, at as NodeId));
            lister.push(LinePosition::default(), node, own.name.to_string(), String::new());
        }
        lister.body(self.body, bound, LinePosition::default(), &self.results);
        lister.finish()
    }
}

/// A name, and the line that gives it.
#[derive(Clone)]
struct NamedLine {
    name: Name,
    line: usize,
}

/// Where a name stands in a text under construction: its line, then the name, between characters that no program has.
const OPEN: char = '\u{E010}';
const BETWEEN: char = '\u{E011}';
const CLOSE: char = '\u{E012}';

impl NamedLine {
    fn marked(&self) -> String {
        format!("{OPEN}{}{BETWEEN}{}{CLOSE}", self.line, self.name)
    }
}

/// The pieces of a text.
fn pieces(text: &str) -> Vec<TextPiece> {
    let mut pieces = Vec::new();
    let mut parts = text.split(OPEN);
    let plain = |text: &str, pieces: &mut Vec<TextPiece>| {
        if !text.is_empty() {
            pieces.push(TextPiece::Text(text.to_string()));
        }
    };
    plain(parts.next().unwrap_or_default(), &mut pieces);
    for part in parts {
        let (name, rest) = part.split_once(CLOSE).unwrap_or((part, ""));
        if let Some((line, name)) = name.split_once(BETWEEN)
            && let Ok(line) = line.parse()
        {
            pieces.push(TextPiece::Name(name.to_string(), line));
        }
        plain(rest, &mut pieces);
    }
    pieces
}

/// Where a line stands.
#[derive(Clone, Copy, Default)]
struct LinePosition {
    depth: usize,
    owner: Option<usize>,
}

/// A line without its text.
struct LineDraft<'a> {
    place: LinePosition,
    node: Option<(&'a Body<Build>, NodeId)>,
    name: String,
    constants: Vec<usize>,
}

struct Lister<'a> {
    names: Names,
    constants: Constants,
    lines: Vec<(LineDraft<'a>, String)>,
    unfold: bool,
}

impl<'a> Lister<'a> {
    fn push(
        &mut self,
        place: LinePosition,
        node: Option<(&'a Body<Build>, NodeId)>,
        name: String,
        text: String,
    ) -> usize {
        self.lines.push((LineDraft { place, node, name, constants: Vec::new() }, text));
        self.lines.len() - 1
    }

    fn finish(self) -> Vec<ListingLine<'a>> {
        let (drafts, mut texts): (Vec<LineDraft>, Vec<String>) = self.lines.into_iter().unzip();
        self.constants.number(&mut texts);
        let line = |(draft, text): (LineDraft<'a>, String)| ListingLine {
            depth: draft.place.depth,
            owner: draft.place.owner,
            node: draft.node,
            name: draft.name,
            pieces: pieces(&text),
            constants: draft.constants,
        };
        drafts.into_iter().zip(texts).map(line).collect()
    }

    fn operand(&mut self, body: &'a Body<Build>, bound: &[NamedLine], arg: NodeId) -> PrintedOperand<'a> {
        let node = body.node(arg);
        let constant = match &node.op {
            Op::Constant(array) => literal::uniform(array).map(|value| (array, value)),
            _ => None,
        };
        let expression = match constant {
            Some((array, _)) => self.constants.expression(array),
            None => PrintedExpression::new(bound[arg as usize].marked(), Precedence::Atom, 0),
        };
        let uniform = constant.map(|(_, value)| value);
        PrintedOperand { expression, uniform, spelling: self.constants.spelling, ty: &node.types[0] }
    }

    fn listed(&mut self, body: &'a Body<Build>, bound: &[NamedLine], args: &[NodeId]) -> String {
        let texts: Vec<String> = args.iter().map(|&arg| self.operand(body, bound, arg).expression.text).collect();
        texts.join(", ")
    }

    /// Names of so many carries and so many slices, on a line that is next, with their types behind a `λ`.
    fn parameters(&mut self, body: &Body<Build>, carries: usize, line: usize) -> (Vec<NamedLine>, String) {
        let name =
            |at: usize| NamedLine { name: if at < carries { self.names.carry() } else { self.names.slice() }, line };
        let bound: Vec<NamedLine> = (0..body.parameters).map(name).collect();
        let typed = bound.iter().enumerate();
        let typed: Vec<String> = typed.map(|(at, own)| format!("{}: {}", own.name, body.parameter_type(at))).collect();
        (bound, format!("λ({}).", typed.join(", ")))
    }

    /// The nodes after the parameters, and the results. The recursion is as deep as bodies are nested.
    fn body(&mut self, body: &'a Body<Build>, mut bound: Vec<NamedLine>, place: LinePosition, results: &[String]) {
        debug_assert_eq!(bound.len(), body.arity());
        for at in body.arity()..body.nodes.len() {
            let name = self.names.binder();
            let line = self.lines.len();
            bound.push(NamedLine { name: name.clone(), line });
            self.push(place, Some((body, at as NodeId)), name.to_string(), String::new());
            let inner = LinePosition { depth: place.depth + 1, owner: Some(line) };
            let text = self.node(body, &bound, at as NodeId, inner);
            self.lines[line].1 = text;
            let constants = body.nodes[at].args.iter().filter(|&&arg| matches!(body.node(arg).op, Op::Constant(_)));
            self.lines[line].0.constants = constants.map(|&arg| bound[arg as usize].line).collect();
        }
        let operands = self.results(body, &bound, results);
        let text = match &operands[..] {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        };
        self.push(place, None, String::new(), text);
    }

    fn results(&mut self, body: &'a Body<Build>, bound: &[NamedLine], names: &[String]) -> Vec<String> {
        let mut texts = Vec::with_capacity(body.results.len());
        for (at, &result) in body.results.iter().enumerate() {
            let text = self.operand(body, bound, result).expression.text;
            texts.push(match names.get(at) {
                Some(name) if !name.is_empty() => format!("{}: {text}", sanitised(name)),
                _ => text,
            });
        }
        texts
    }

    /// A body below its operation, if it is to be shown.
    fn nested(&mut self, body: &'a Body<Build>, bound: Vec<NamedLine>, place: LinePosition) {
        if self.unfold {
            self.body(body, bound, place, &[]);
        } else {
            self.push(place, None, String::new(), format!(".. {} nodes", body.node_count()));
        }
    }

    /// The text of a node after its name and type; its bodies follow.
    fn node(&mut self, body: &'a Body<Build>, bound: &[NamedLine], at: NodeId, inner: LinePosition) -> String {
        let node = body.node(at);
        let line = self.lines.len() - 1;
        let (own, captured) = node.args.split_at(own_operands(&node.op).min(node.args.len()));
        let captures = || captured.iter().map(|&arg| bound[arg as usize].clone());
        match &node.op {
            Op::Constant(array) => self.constants.expression(array).text,
            Op::Output(position) => format!("output[{position}] {}", bound[node.args[0] as usize].marked()),
            Op::Scan(scan) => {
                let (carries, inputs) = own.split_at(scan.carries);
                let direction = if scan.reverse { ", reverse" } else { "" };
                let mut text = format!("scan[{}{direction}] from ({})", scan.length, self.listed(body, bound, carries));
                if !inputs.is_empty() {
                    text.push_str(&format!(" over ({})", self.listed(body, bound, inputs)));
                }
                let (mut parameters, typed) = self.parameters(&scan.body, scan.carries, line);
                parameters.extend(captures());
                self.nested(&scan.body, parameters, inner);
                format!("{text} {typed}")
            }
            Op::Branch(branch) => {
                let condition = self.operand(body, bound, own[0]).expression.at(Precedence::Atom);
                let head = LinePosition { depth: inner.depth - 1, ..inner };
                self.nested(&branch.then, captures().collect(), inner);
                self.push(head, None, String::new(), "else".into());
                self.nested(&branch.otherwise, captures().collect(), inner);
                format!("branch {condition} then")
            }
            Op::Custom(custom) => {
                let operands = self.listed(body, bound, own);
                let head = LinePosition { depth: inner.depth - 1, ..inner };
                let (parameters, typed) = self.parameters(&custom.value, own.len(), line);
                self.nested(&custom.value, parameters, inner);
                for (word, rule) in [("vjp", &custom.vjp), ("jvp", &custom.jvp)] {
                    let Some(rule) = rule else { continue };
                    let (parameters, typed) = self.parameters(rule, own.len(), self.lines.len());
                    self.push(head, None, String::new(), format!("{word} {typed}"));
                    self.nested(rule, parameters, inner);
                }
                format!("custom ({operands}) {typed}")
            }
            Op::Sweeps(sweeps) => self.sweeps(body, bound, at, sweeps, inner),
            Op::Extra(build) => {
                let open = self.names.open_indices();
                let indices: Vec<Name> = build.extents.iter().map(|_| self.names.index()).collect();
                let text = format!("build {:?} λ[{}].", &build.extents[..], indices.join(", "));
                let indices = indices.into_iter().map(|name| NamedLine { name, line });
                self.nested(&build.body, indices.chain(captures()).collect(), inner);
                self.names.close_indices(open);
                text
            }
            op => {
                let operands: Vec<PrintedOperand> = own.iter().map(|&arg| self.operand(body, bound, arg)).collect();
                operation(op, &operands, &mut self.constants).text
            }
        }
    }

    /// `sweeps[10]`; the condition, if there is one, and the sweeps follow.
    fn sweeps(
        &mut self,
        body: &'a Body<Build>,
        bound: &[NamedLine],
        at: NodeId,
        sweeps: &'a Sweeps<Build>,
        inner: LinePosition,
    ) -> String {
        let args = &body.node(at).args;
        let captures: Vec<NamedLine> =
            args[sweeps.captures()..].iter().map(|&arg| bound[arg as usize].clone()).collect();
        let steps = match &sweeps.steps {
            Steps::Count(count) => count.to_string(),
            Steps::While(condition) => {
                let (mut parameters, typed) = self.parameters(condition, condition.parameters, self.lines.len());
                self.push(inner, None, String::new(), format!("while {typed}"));
                parameters.extend(captures.iter().cloned());
                self.nested(condition, parameters, LinePosition { depth: inner.depth + 1, ..inner });
                "while".to_string()
            }
        };
        for (number, sweep) in sweeps.sweeps.iter().enumerate() {
            let (carries, inputs) = sweeps.operands(number);
            let direction = if number.is_multiple_of(2) { "forwards" } else { "backwards" };
            let mut head = format!("{direction} from ({})", self.listed(body, bound, &args[carries]));
            if sweep.inputs > 0 {
                head.push_str(&format!(" over ({})", self.listed(body, bound, &args[inputs])));
            }
            if !sweep.reads.is_empty() {
                let reads: Vec<String> = sweep.reads.iter().map(|(from, kept)| format!("{from}.{kept}")).collect();
                head.push_str(&format!(" read ({})", reads.join(", ")));
            }
            if sweep.keeps > 0 {
                head.push_str(&format!(" keep {}", sweep.keeps));
            }
            let (mut parameters, typed) = self.parameters(&sweep.body, sweep.carries, self.lines.len());
            self.push(inner, None, String::new(), format!("{head} {typed}"));
            parameters.extend(captures.iter().cloned());
            self.nested(&sweep.body, parameters, LinePosition { depth: inner.depth + 1, ..inner });
        }
        let reverse = if sweeps.reverse { ", reverse" } else { "" };
        format!("sweeps[{steps}{reverse}{}]", checkpoints(sweeps.checkpoints))
    }
}

#[cfg(test)]
mod tests {
    use super::TextPiece;
    use crate::prelude::*;
    use crate::term::print::Printer;

    fn text(pieces: &[TextPiece]) -> String {
        let text = |piece: &TextPiece| match piece {
            TextPiece::Text(text) => text.clone(),
            TextPiece::Name(name, line) => format!("{name}@{line}"),
        };
        pieces.iter().map(text).collect()
    }

    fn lines<In: Family, Out: Family, First: Family>(function: &Function<In, Out, First>, unfold: bool) -> Vec<String> {
        let listing = Printer::new(function.source()).parameters(["x"]).results(["value"]).listing(unfold);
        let line =
            |line: &super::ListingLine| format!("{}{} = {}", "  ".repeat(line.depth), line.name, text(&line.pieces));
        listing.iter().map(line).collect()
    }

    #[test]
    fn every_node_has_a_line() -> crate::Result<()> {
        let convolution = |x: &Vector<_, f64>| build(x.len(), |i| x.at(&i) * x.at(x.len() - 1 - i)).sum();
        let function = stage(convolution, &Vector::from(vec![1.0, 2.0, 3.0]))?;
        let expected = [
            "x = ",
            "m1 = build [3] λ[i].",
            "  m2 = x@0[i@1]",
            "  m3 = 2",
            "  m4 = 2 - i@1",
            "  m5 = x@0[m4@4]",
            "  m6 = m2@2 * m5@5",
            "   = m6@6",
            "m7 = sum[0] m1@1",
            " = value: m7@8",
        ];
        assert_eq!(lines(&function, true), expected);
        Ok(())
    }

    #[test]
    fn bodies_are_unfolded_or_counted() -> crate::Result<()> {
        let function = stage(|x: &Scalar<_, f64>| iterate(x.clone(), 3, |y| y.sin() * x), &Scalar::from(0.5))?;
        let head = ["x = ", "m1 = scan[3] from (x@0) λ(s1: f64)."];
        let body = ["  m2 = sin s1@1", "  m3 = m2@2 * x@0", "   = m3@3"];
        let rest = ["m4 = output[0] m1@1", " = value: m4@5"];
        assert_eq!(lines(&function, true), [&head[..], &body, &rest].concat());
        let folded = lines(&function, false);
        assert_eq!(folded, [&head[..], &["   = .. 4 nodes", "m2 = output[0] m1@1", " = value: m2@3"]].concat());
        Ok(())
    }
}

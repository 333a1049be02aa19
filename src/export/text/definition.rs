//! Operations that have bodies.

use super::expression::ParsedTerm;
use super::frame::{Captures, NamedParameter, OpenBody};
use super::reader::{ParseResult, TextReader};
use super::tokens::{TextProblem, TokenKind};
use crate::shape::{DType, Shape, Type};
use crate::term::{Branch, Build, Checkpoints, Custom, NodeId, Op, Scan, Steps, Sweep, Sweeps};
use std::sync::Arc;

/// A sweep whose body is not finished.
struct Started {
    carries: usize,
    inputs: usize,
    reads: Vec<(usize, usize)>,
    keeps: usize,
}

impl<'t> TextReader<'t> {
    /// The operation of several outputs that a let defines, up to the end of its last line, if it is one.
    pub(super) fn definition(&mut self) -> ParseResult<Option<NodeId>> {
        if self.token().kind != TokenKind::Word {
            return Ok(None);
        }
        Ok(Some(match self.peek() {
            "scan" => self.scan()?,
            "branch" => self.branch()?,
            "sweeps" => self.sweeps()?,
            "custom" => self.custom()?,
            _ => return Ok(None),
        }))
    }

    /// `λ(s1: f64, e1: f64).`
    fn lambda(&mut self) -> ParseResult<Vec<NamedParameter<'t>>> {
        self.symbol("λ")?;
        self.symbol("(")?;
        let parameters = self.list(")", TextReader::typed_name)?;
        self.symbol(".")?;
        Ok(parameters)
    }

    /// Parameters, so many as there are values for them, and a body to the end of its last line.
    fn step(&mut self, count: usize, captures: Captures, closed: bool) -> ParseResult<OpenBody<'t>> {
        let place = self.place();
        let parameters = self.lambda()?;
        if parameters.len() != count {
            let problem = format!("{} parameters for {count} values", parameters.len());
            return Err(TextProblem::new(problem, place));
        }
        self.body(parameters, captures, closed, TextReader::block_or_line)
    }

    /// `build [3, 4] λ[i, j].`
    fn build_head(&mut self) -> ParseResult<(Shape, Vec<NamedParameter<'t>>, usize)> {
        let place = self.next().place();
        if !self.has_build {
            let problem = "a bulk program has no `build`: this one is read as a source program";
            return Err(TextProblem::new(problem, place));
        }
        let extents = self.shape()?;
        self.symbol("λ")?;
        self.bracket()?;
        let index = |reader: &mut TextReader<'t>| {
            let (name, place) = reader.name()?;
            Ok((name, Type::scalar(DType::I64), place))
        };
        let parameters = self.list("]", index)?;
        self.symbol(".")?;
        if parameters.len() != extents.len() {
            let problem = format!("{} indices for {} axes", parameters.len(), extents.len());
            return Err(TextProblem::new(problem, place));
        }
        Ok((extents, parameters, place))
    }

    fn built(&mut self, extents: Shape, mut open: OpenBody<'t>, place: usize) -> ParseResult<NodeId> {
        let captures = TextReader::captures(&mut open);
        let body = self.close(vec![open], &captures).remove(0);
        self.add(Op::Extra(Build { extents, body }), captures.nodes(), place)
    }

    /// A build inside of an expression, or to its end.
    pub(super) fn build_on_one_line(&mut self) -> ParseResult<ParsedTerm<'t>> {
        let (extents, parameters, place) = self.build_head()?;
        let open = self.body(parameters, Captures::default(), false, |reader| Ok(vec![reader.operand()?]))?;
        Ok(ParsedTerm::Node(self.built(extents, open, place)?))
    }

    /// A build that a let defines, to the end of its last line.
    pub(super) fn build_of_a_let(&mut self) -> ParseResult<NodeId> {
        let (extents, parameters, place) = self.build_head()?;
        let on_lines = self.token().kind == TokenKind::Newline;
        let read = |reader: &mut TextReader<'t>| match on_lines {
            true => reader.block(),
            false => {
                let node = reader.operand()?;
                reader.kind(TokenKind::Newline, "an operator or the end of the line")?;
                Ok(vec![node])
            }
        };
        let open = self.body(parameters, Captures::default(), false, read)?;
        let node = self.built(extents, open, place)?;
        if on_lines {
            self.stays(node);
        }
        Ok(node)
    }

    fn from(&mut self) -> ParseResult<(Vec<NodeId>, Vec<NodeId>)> {
        self.word("from")?;
        let carries = self.operands()?;
        let inputs = if self.accept_word("over") { self.operands()? } else { Vec::new() };
        Ok((carries, inputs))
    }

    fn scan(&mut self) -> ParseResult<NodeId> {
        let place = self.next().place();
        self.bracket()?;
        let length = self.natural()?;
        let reverse = self.accept(",");
        if reverse {
            self.word("reverse")?;
        }
        self.symbol("]")?;
        let (carries, inputs) = self.from()?;
        let counts = (carries.len(), inputs.len());
        let mut open = self.step(counts.0 + counts.1, Captures::default(), false)?;
        let captures = TextReader::captures(&mut open);
        let body = self.close(vec![open], &captures).remove(0);
        let scan = Scan { body, carries: counts.0, inputs: counts.1, length, reverse };
        let args = [&carries[..], &inputs, captures.nodes()].concat();
        self.add(Op::Scan(Arc::new(scan)), &args, place)
    }

    fn branch(&mut self) -> ParseResult<NodeId> {
        let place = self.next().place();
        let condition = self.atom()?;
        let condition = self.node(condition)?;
        self.word("then")?;
        let on_lines = self.token().kind == TokenKind::Newline;
        let first = |reader: &mut TextReader<'t>| if on_lines { reader.block() } else { reader.value() };
        let mut then = self.body(Vec::new(), Captures::default(), false, first)?;
        let captures = TextReader::captures(&mut then);
        self.word("else")?;
        if !on_lines && self.token().kind == TokenKind::Newline {
            return self.expected("the other side on the same line");
        }
        let mut otherwise = self.body(Vec::new(), captures, false, TextReader::block_or_line)?;
        let captures = TextReader::captures(&mut otherwise);
        let mut bodies = self.close(vec![then, otherwise], &captures);
        let otherwise = bodies.pop().expect("two sides");
        let then = bodies.pop().expect("two sides");
        let args = [&[condition], captures.nodes()].concat();
        self.add(Op::Branch(Arc::new(Branch { then, otherwise })), &args, place)
    }

    fn custom(&mut self) -> ParseResult<NodeId> {
        let place = self.next().place();
        let operands = self.operands()?;
        let value = self.step(operands.len(), Captures::default(), true)?;
        let value = self.close(vec![value], &Captures::default()).remove(0);
        let results = value.results.len();
        let (mut vjp, mut jvp) = (None, None);
        for (word, directions, rule) in [("vjp", results, &mut vjp), ("jvp", operands.len(), &mut jvp)] {
            if self.accept_word(word) {
                let open = self.step(operands.len() + results + directions, Captures::default(), true)?;
                *rule = Some(self.close(vec![open], &Captures::default()).remove(0));
            }
        }
        self.add(Op::Custom(Arc::new(Custom { value, vjp, jvp })), &operands, place)
    }

    fn checkpoints(&mut self) -> ParseResult<Checkpoints> {
        let kind: fn(usize) -> Checkpoints = match self.peek() {
            "every" => Checkpoints::Every,
            "snapshots" => Checkpoints::Snapshots,
            "bytes" => Checkpoints::Bytes,
            _ => return self.expected("`reverse`, `every`, `snapshots` or `bytes`"),
        };
        self.next();
        Ok(kind(self.natural()?))
    }

    fn sweeps(&mut self) -> ParseResult<NodeId> {
        let place = self.next().place();
        self.bracket()?;
        let count = if self.accept_word("while") { None } else { Some(self.natural()?) };
        let (mut reverse, mut checkpoints) = (false, Checkpoints::All);
        if self.accept(",") {
            reverse = self.accept_word("reverse");
            if !reverse || self.accept(",") {
                checkpoints = self.checkpoints()?;
            }
        }
        self.symbol("]")?;
        self.kind(TokenKind::Newline, "the end of the line")?;
        self.kind(TokenKind::Indent, "a line further to the right")?;
        let mut captures = Captures::default();
        let mut bodies = Vec::new();
        if count.is_none() {
            // Its parameters are the first sweep's carries, whose types are not known yet.
            self.word("while")?;
            let parameters = self.lambda()?;
            let mut open = self.body(parameters, captures, false, TextReader::block_or_line)?;
            captures = TextReader::captures(&mut open);
            bodies.push(open);
        }
        let mut started: Vec<Started> = Vec::new();
        let mut args = Vec::new();
        while self.token().kind != TokenKind::Dedent {
            self.word(if started.len().is_multiple_of(2) { "forwards" } else { "backwards" })?;
            let (carries, inputs) = self.from()?;
            let mut reads = Vec::new();
            if self.accept_word("read") {
                self.symbol("(")?;
                reads = self.list(")", TextReader::kept)?;
            }
            let keeps = if self.accept_word("keep") { self.natural()? } else { 0 };
            let sweep = Started { carries: carries.len(), inputs: inputs.len(), reads, keeps };
            args.extend(carries.into_iter().chain(inputs));
            let mut open = self.step(sweep.carries + sweep.inputs + sweep.reads.len(), captures, false)?;
            captures = TextReader::captures(&mut open);
            bodies.push(open);
            started.push(sweep);
        }
        self.kind(TokenKind::Dedent, "a line further to the left")?;
        let mut bodies = self.close(bodies, &captures).into_iter();
        let steps = match count {
            Some(count) => Steps::Count(count),
            None => Steps::While(bodies.next().expect("the condition comes first")),
        };
        let sweep = |(sweep, body): (Started, _)| {
            let Started { carries, inputs, reads, keeps } = sweep;
            Sweep { body, carries, inputs, reads, keeps }
        };
        let sweeps = started.into_iter().zip(bodies).map(sweep).collect();
        args.extend_from_slice(captures.nodes());
        self.add(Op::Sweeps(Arc::new(Sweeps { steps, sweeps, reverse, checkpoints })), &args, place)
    }

    /// `0.1`: a value that sweep 0 keeps.
    fn kept(&mut self) -> ParseResult<(usize, usize)> {
        let kept = self.peek().split_once('.').filter(|_| self.token().kind == TokenKind::Number);
        match kept.and_then(|(sweep, kept)| Some((sweep.parse().ok()?, kept.parse().ok()?))) {
            Some(kept) => {
                self.next();
                Ok(kept)
            }
            None => self.expected("a sweep and a number of what it keeps, as in 0.1"),
        }
    }
}

//! Expressions: operations on operands, written in each other.

use super::literal::NumberLiteral;
use super::reader::{ParseResult, TextReader};
use super::tokens::{TextProblem, TokenKind};
use super::view::{self, is_view};
use crate::affine::AffineMap;
use crate::algebra::{Contraction, Label};
use crate::concrete::Array;
use crate::operation::{Binary, Comparison, MatrixOperation, SparseKind, Unary};
use crate::shape::{DType, Shape};
use crate::structural;
use crate::term::{Build, NodeId, Op};
use smallvec::SmallVec;
use std::ops::Range;

/// An expression before it becomes an operand: its context may still affect it.
pub(super) enum ParsedTerm<'t> {
    /// A bare literal, which takes the shape and perhaps the element type of the operand beside it.
    Literal(NumberLiteral<'t>),
    /// A node of the body.
    Node(NodeId),
    /// Views of a node, the one that reads first in front.
    Views(NodeId, Vec<AffineMap>),
}

fn unary(word: &str) -> Option<Unary> {
    Unary::named(word, None).filter(|&op| op != Unary::Neg)
}

/// The elementwise operation of two operands that is written `name(a, b)`.
fn binary(word: &str) -> Option<Binary> {
    let is_operator = |op: Binary| matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div);
    Binary::named(word).filter(|&op| !is_operator(op))
}

impl<'t> TextReader<'t> {
    /// An expression as an operand.
    pub(super) fn operand(&mut self) -> ParseResult<NodeId> {
        let term = self.expression()?;
        self.node(term)
    }

    /// The node of a term: a literal is of rank 0.
    pub(super) fn node(&mut self, term: ParsedTerm<'t>) -> ParseResult<NodeId> {
        match term {
            ParsedTerm::Node(node) => Ok(node),
            ParsedTerm::Literal(literal) => {
                let value = literal.value(None)?;
                self.constant(Array::full(&[], value), literal.place)
            }
            ParsedTerm::Views(mut node, maps) => {
                let place = self.place();
                for map in view::joined(maps) {
                    node = self.add(Op::View(map), &[node], place)?;
                }
                Ok(node)
            }
        }
    }

    /// `(a, b)`, of expressions as operands.
    pub(super) fn operands(&mut self) -> ParseResult<Vec<NodeId>> {
        self.symbol("(")?;
        self.list(")", TextReader::operand)
    }

    /// An elementwise operation; the operands in `alike` have one element type.
    fn elementwise(
        &mut self,
        op: Op<Build>,
        terms: Vec<ParsedTerm<'t>>,
        alike: Range<usize>,
        place: usize,
    ) -> ParseResult<ParsedTerm<'t>> {
        let mut nodes: SmallVec<[Option<NodeId>; 3]> = SmallVec::new();
        let mut literals: SmallVec<[Option<NumberLiteral<'t>>; 3]> = SmallVec::new();
        for term in terms {
            match term {
                ParsedTerm::Literal(literal) => {
                    nodes.push(None);
                    literals.push(Some(literal));
                }
                term => {
                    nodes.push(Some(self.node(term)?));
                    literals.push(None);
                }
            }
        }
        let told = nodes.iter().copied().flatten().next();
        let shape: Shape = told.map_or(Shape::new(), |node| self.type_of(node).shape.clone());
        let dtype: Option<DType> = nodes[alike.clone()].iter().flatten().next().map(|&node| self.type_of(node).dtype);
        let mut args: SmallVec<[NodeId; 3]> = SmallVec::new();
        for (at, (node, literal)) in nodes.into_iter().zip(literals).enumerate() {
            args.push(match (node, literal) {
                (Some(node), _) => node,
                (None, Some(literal)) => {
                    let value = literal.value(dtype.filter(|_| alike.contains(&at)))?;
                    self.constant(Array::full(&shape, value), literal.place)?
                }
                (None, None) => unreachable!("a term is a literal or a node"),
            });
        }
        Ok(ParsedTerm::Node(self.add(op, &args, place)?))
    }

    /// An expression of any kind.
    pub(super) fn expression(&mut self) -> ParseResult<ParsedTerm<'t>> {
        match self.is_word("build") {
            true => self.build_on_one_line(),
            false => self.comparison(),
        }
    }

    fn comparison(&mut self) -> ParseResult<ParsedTerm<'t>> {
        let left = self.sum()?;
        let op = match self.peek() {
            "<" => Comparison::Less,
            "<=" => Comparison::LessEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterEqual,
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            _ => return Ok(left),
        };
        let place = self.next().place();
        let right = self.sum()?;
        self.elementwise(Op::Compare(op), vec![left, right], 0..2, place)
    }

    fn sum(&mut self) -> ParseResult<ParsedTerm<'t>> {
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                "+" => Binary::Add,
                "-" => Binary::Sub,
                _ => return Ok(left),
            };
            let place = self.next().place();
            let right = self.product()?;
            left = self.elementwise(Op::Binary(op), vec![left, right], 0..2, place)?;
        }
    }

    fn product(&mut self) -> ParseResult<ParsedTerm<'t>> {
        let mut left = self.negation()?;
        loop {
            let op = match self.peek() {
                "*" => Binary::Mul,
                "/" => Binary::Div,
                _ => return Ok(left),
            };
            let place = self.next().place();
            let right = self.negation()?;
            left = self.elementwise(Op::Binary(op), vec![left, right], 0..2, place)?;
        }
    }

    fn negation(&mut self) -> ParseResult<ParsedTerm<'t>> {
        if !self.is_symbol("-") {
            return self.application();
        }
        let mark = self.mark();
        let place = self.next().place();
        if self.is_number() {
            self.go_to(mark);
            return Ok(ParsedTerm::Literal(self.number()?));
        }
        let term = self.application()?;
        self.apply(Op::Unary(Unary::Neg), term, place)
    }

    fn apply(&mut self, op: Op<Build>, term: ParsedTerm<'t>, place: usize) -> ParseResult<ParsedTerm<'t>> {
        let node = self.node(term)?;
        Ok(ParsedTerm::Node(self.add(op, &[node], place)?))
    }

    /// A word that is applied, and the atoms after it, or an atom.
    fn application(&mut self) -> ParseResult<ParsedTerm<'t>> {
        let token = self.token();
        if token.kind != TokenKind::Word || self.is_name() || self.is_number() || self.is_call() {
            return self.atom();
        }
        let (word, place) = (self.text_of(token), token.place());
        if word == "build" {
            return self.fail("a build that is part of an expression stands in parentheses");
        }
        self.next();
        if is_view(word) {
            return self.view(word, place);
        }
        let op = match word {
            "iota" => {
                let op = Op::Iota(self.natural()?);
                return Ok(ParsedTerm::Node(self.add(op, &[], place)?));
            }
            "full" | "constant" => {
                let place = self.place();
                let array = if word == "full" { self.full()? } else { self.large_constant()? };
                return Ok(ParsedTerm::Node(self.constant(array, place)?));
            }
            "gather" | "scatter" | "scatter_set" => return self.positions(word, place),
            "accumulate" => return self.accumulate(place),
            "contract" => return self.contract(place),
            "concatenate" => return self.concatenate(place),
            word if Unary::takes_parameter(word) => self.unary_of_a_number(word)?,
            word if let Some(op) = MatrixOperation::named(word) => return self.matrix(op, place),
            word if let Some(kind) = SparseKind::named(word) => return self.sparse(kind, place),
            _ => match (structural::read(word, self), unary(word)) {
                (Some(op), _) => op?,
                (None, Some(op)) => Op::Unary(op),
                (None, None) => return Err(TextProblem::new(format!("expected an expression, found `{word}`"), place)),
            },
        };
        let term = self.atom()?;
        self.apply(op, term, place)
    }

    fn unary_of_a_number(&mut self, word: &str) -> ParseResult<Op<Build>> {
        self.bracket()?;
        let place = self.place();
        let number = self.integer()?;
        self.symbol("]")?;
        match Unary::named(word, Some(number)) {
            Some(op) => Ok(Op::Unary(op)),
            None => Err(TextProblem::new(format!("there is no {word} of {number}"), place)),
        }
    }

    pub(super) fn full(&mut self) -> ParseResult<Array> {
        let place = self.place();
        let ParsedTerm::Literal(literal) = self.atom()? else {
            return Err(TextProblem::new("expected a number, which is what all elements are", place));
        };
        let shape = self.shape()?;
        Ok(Array::full(&shape, literal.value(None)?))
    }

    /// `constant f64[1000]#1`, whose elements stand below the program.
    pub(super) fn large_constant(&mut self) -> ParseResult<Array> {
        let place = self.place();
        let ty = self.ty()?;
        self.symbol("#")?;
        let number = self.natural()?;
        let Some(array) = self.constants.get(&number).cloned() else {
            let problem = format!("the elements of constant #{number} are missing below the program");
            return Err(TextProblem::new(problem, place));
        };
        if array.ty() != ty {
            return Err(TextProblem::new(format!("constant #{number} is {}, not {ty}", array.ty()), place));
        }
        Ok(array)
    }

    /// `gather a [i, j]`, `scatter [28] a [i]` and `scatter_set a b [i]`.
    fn positions(&mut self, word: &str, place: usize) -> ParseResult<ParsedTerm<'t>> {
        let op = match word {
            "gather" => Op::Gather,
            "scatter" => Op::Scatter(self.shape()?),
            _ => Op::ScatterSet,
        };
        let mut args = Vec::new();
        for _ in 0..if op == Op::ScatterSet { 2 } else { 1 } {
            let term = self.atom()?;
            args.push(self.node(term)?);
        }
        self.symbol("[")?;
        args.extend(self.list("]", TextReader::operand)?);
        Ok(ParsedTerm::Node(self.add(op, &args, place)?))
    }

    fn accumulate(&mut self, place: usize) -> ParseResult<ParsedTerm<'t>> {
        let source = self.shape()?;
        let term = self.atom()?;
        let node = self.node(term)?;
        let result = self.type_of(node).shape.clone();
        let (rows, offsets) = self.map_rows(result.len())?;
        let map = self.limits.map(&source, &result, &rows, &offsets);
        let map = map.map_err(|problem| TextProblem::new(problem, place))?;
        Ok(ParsedTerm::Node(self.add(Op::Accumulate(map), &[node], place)?))
    }

    /// A view, by its name or its map.
    fn view(&mut self, word: &str, place: usize) -> ParseResult<ParsedTerm<'t>> {
        if word == "view" {
            let result = self.shape()?;
            let (node, mut maps) = self.atom_for_view()?;
            let (rows, offsets) = self.map_rows(result.len())?;
            let source = self.viewed(node, &maps);
            let map = self.limits.map(&source, &result, &rows, &offsets);
            maps.push(map.map_err(|problem| TextProblem::new(problem, place))?);
            return Ok(ParsedTerm::Views(node, maps));
        }
        let head = self.view_head(word)?;
        let (node, mut maps) = self.atom_for_view()?;
        let source = self.viewed(node, &maps);
        maps.push(self.map_of(&head, &source, place)?);
        Ok(ParsedTerm::Views(node, maps))
    }

    fn atom_for_view(&mut self) -> ParseResult<(NodeId, Vec<AffineMap>)> {
        let term = self.atom()?;
        self.views_of(term)
    }

    /// A term as views of a node, possibly without any views.
    fn views_of(&mut self, term: ParsedTerm<'t>) -> ParseResult<(NodeId, Vec<AffineMap>)> {
        match term {
            ParsedTerm::Views(node, maps) => Ok((node, maps)),
            term => Ok((self.node(term)?, Vec::new())),
        }
    }

    /// The shape of views of a node.
    fn viewed(&self, node: NodeId, maps: &[AffineMap]) -> Shape {
        match maps.last() {
            Some(map) => Shape::from_slice(map.result()),
            None => self.type_of(node).shape.clone(),
        }
    }

    fn contract(&mut self, place: usize) -> ParseResult<ParsedTerm<'t>> {
        let token = self.kind(TokenKind::Labels, "labels such as \"ij,jk->ik\"")?;
        let spec = match contraction(self.text_of(token).trim_matches('"')) {
            Some(spec) if spec.is_valid() => spec,
            Some(_) => {
                let problem = "a label stands in at least two of the three lists, and in each of them once";
                return Err(TextProblem::new(problem, token.place()));
            }
            None => return Err(TextProblem::new("labels are written as in \"ij,jk->ik\"", token.place())),
        };
        let mut args = [0; 2];
        for arg in &mut args {
            let term = self.atom()?;
            *arg = self.node(term)?;
        }
        Ok(ParsedTerm::Node(self.add(Op::Contract(spec), &args, place)?))
    }

    fn matrix(&mut self, op: MatrixOperation, place: usize) -> ParseResult<ParsedTerm<'t>> {
        let mut args = Vec::new();
        for _ in 0..op.operands() {
            let term = self.atom()?;
            args.push(self.node(term)?);
        }
        Ok(ParsedTerm::Node(self.add(Op::Matrix(op), &args, place)?))
    }

    fn concatenate(&mut self, place: usize) -> ParseResult<ParsedTerm<'t>> {
        let op = Op::Concatenate(self.axis()?);
        let args = self.atoms()?;
        Ok(ParsedTerm::Node(self.add(op, &args, place)?))
    }

    /// As many operands as there are, and at least one.
    pub(super) fn atoms(&mut self) -> ParseResult<Vec<NodeId>> {
        let mut args = Vec::new();
        while args.is_empty() || self.is_name() || self.is_number() || self.is_call() || self.opens() {
            let term = self.atom()?;
            args.push(self.node(term)?);
        }
        Ok(args)
    }

    fn opens(&self) -> bool {
        self.is_symbol("(") || self.is_symbol("[")
    }

    /// Whether `name(` is next, of an operation of several operands.
    fn is_call(&self) -> bool {
        let word = self.peek();
        let is_operation = self.token().kind == TokenKind::Word && (word == "select" || binary(word).is_some());
        is_operation && self.tokens().get(self.mark() + 1).is_some_and(|&next| self.text_of(next) == "(")
    }

    /// A name, a number, a list, a call or parentheses, and positions in brackets after it.
    pub(super) fn atom(&mut self) -> ParseResult<ParsedTerm<'t>> {
        let mut term = self.atom_without_positions()?;
        while self.token().kind == TokenKind::At {
            term = self.indexed(term)?;
        }
        Ok(term)
    }

    fn atom_without_positions(&mut self) -> ParseResult<ParsedTerm<'t>> {
        let place = self.place();
        if self.is_number() {
            return Ok(ParsedTerm::Literal(self.number()?));
        }
        if self.is_name() {
            let (name, place) = self.name()?;
            return Ok(ParsedTerm::Node(self.look_up(name, place)?));
        }
        if self.is_call() {
            let token = self.next();
            self.symbol("(")?;
            let terms = self.list(")", TextReader::expression)?;
            let word = self.text_of(token);
            let (op, count, alike) = match binary(word) {
                Some(op) => (Op::Binary(op), 2, 0..2),
                None => (Op::Select, 3, 1..3),
            };
            if terms.len() != count {
                return Err(TextProblem::new(format!("{word} takes {count} operands, not {}", terms.len()), place));
            }
            return self.elementwise(op, terms, alike, place);
        }
        if self.is_symbol("[") {
            let array = self.listed()?;
            return Ok(ParsedTerm::Node(self.constant(array, place)?));
        }
        if self.accept("(") {
            let term = self.expression()?;
            self.symbol(")")?;
            return Ok(term);
        }
        self.expected("an expression")
    }

    /// `a[:, 3]`, a view, or `a[i, j]`, a read at positions of which one at least is computed.
    fn indexed(&mut self, term: ParsedTerm<'t>) -> ParseResult<ParsedTerm<'t>> {
        let place = self.place();
        let (node, mut maps) = self.views_of(term)?;
        self.bracket()?;
        let index = self.list("]", |reader| match reader.accept(":") {
            true => Ok(None),
            false => Ok(Some(reader.expression()?)),
        })?;
        let is_literal = |part: &Option<ParsedTerm<'t>>| match part {
            None => true,
            Some(ParsedTerm::Literal(literal)) => literal.is_integer(),
            Some(_) => false,
        };
        if index.iter().all(is_literal) && !index.is_empty() {
            let mut positions: Vec<Option<i64>> = Vec::new();
            for part in index {
                positions.push(match part {
                    Some(ParsedTerm::Literal(literal)) => literal.value(Some(DType::I64))?.to_integer(),
                    _ => None,
                });
            }
            let source = self.viewed(node, &maps);
            maps.push(self.picked(&source, &positions, place)?);
            return Ok(ParsedTerm::Views(node, maps));
        }
        let mut args = vec![self.node(ParsedTerm::Views(node, maps))?];
        for part in index {
            match part {
                Some(term) => args.push(self.node(term)?),
                None => return Err(TextProblem::new("`:` stands beside literal positions only", place)),
            }
        }
        if let Some(&array) = args[1..].iter().find(|&&index| self.type_of(index).rank() > 0) {
            let problem = format!("a position of type {}: arrays of positions are for `gather`", self.type_of(array));
            return Err(TextProblem::new(problem, place));
        }
        Ok(ParsedTerm::Node(self.add(Op::Gather, &args, place)?))
    }
}

/// The contraction of `ij,jk->ik`: letters become labels in order of appearance.
fn contraction(text: &str) -> Option<Contraction> {
    let (operands, result) = text.split_once("->")?;
    let (left, right) = operands.split_once(',')?;
    let mut seen: Vec<char> = Vec::new();
    let mut labels = |letters: &str| -> Option<SmallVec<[Label; 4]>> {
        let mut label = |letter: char| {
            let position = seen.iter().position(|&other| other == letter).unwrap_or_else(|| {
                seen.push(letter);
                seen.len() - 1
            });
            Label::try_from(position).ok().filter(|_| letter.is_alphabetic())
        };
        letters.chars().map(&mut label).collect()
    };
    Some(Contraction { left: labels(left)?, right: labels(right)?, result: labels(result)? })
}

//! Lets, and the results of a body.

use super::reader::{ParseResult, TextReader};
use super::tokens::{TextProblem, TokenKind};
use crate::term::{NodeId, Op};

impl<'t> TextReader<'t> {
    /// Lets, each followed by the expression that uses it, on lines of their own.
    pub(super) fn block(&mut self) -> ParseResult<Vec<NodeId>> {
        self.kind(TokenKind::Newline, "the end of the line")?;
        self.kind(TokenKind::Indent, "a line further to the right")?;
        while self.is_word("let") {
            self.binding()?;
        }
        let results = self.value()?;
        self.kind(TokenKind::Newline, "an operator or the end of the line")?;
        self.kind(TokenKind::Dedent, "no further line here, behind the result")?;
        Ok(results)
    }

    /// A block, or a value and the end of its line.
    pub(super) fn block_or_line(&mut self) -> ParseResult<Vec<NodeId>> {
        if self.token().kind == TokenKind::Newline {
            return self.block();
        }
        let results = self.value()?;
        self.kind(TokenKind::Newline, "an operator or the end of the line")?;
        Ok(results)
    }

    /// One result, or several in parentheses.
    pub(super) fn value(&mut self) -> ParseResult<Vec<NodeId>> {
        match self.is_symbol("(") && self.token().several {
            true => self.operands(),
            false => Ok(vec![self.operand()?]),
        }
    }

    /// `let m1: f64 = ..` and `let (m1: f64, m2: f64) = ..`
    fn binding(&mut self) -> ParseResult<()> {
        self.word("let")?;
        let names = match self.accept("(") {
            true => self.list(")", TextReader::typed_name)?,
            false => vec![self.typed_name()?],
        };
        self.symbol("=")?;
        let place = self.place();
        let (node, nodes) = match self.definition()? {
            Some(node) => {
                let count = self.types(node).len();
                let mut nodes = Vec::new();
                for output in 0..count {
                    nodes.push(self.add(Op::Output(output), &[node], place)?);
                }
                (node, nodes)
            }
            None if self.is_word("build") => {
                let node = self.build_of_a_let()?;
                (node, vec![node])
            }
            None => {
                let node = self.operand()?;
                self.kind(TokenKind::Newline, "an operator or the end of the line")?;
                (node, vec![node])
            }
        };
        if names.len() != nodes.len() {
            let problem = format!("{} names for {} arrays", names.len(), nodes.len());
            return Err(TextProblem::new(problem, place));
        }
        for (&(name, ref ty, place), &node) in names.iter().zip(&nodes) {
            let found = self.type_of(node);
            if found != ty {
                return Err(TextProblem::new(format!("{name} is {found} by its definition, not {ty}"), place));
            }
            self.bind(name, node, place)?;
        }
        self.note_let(std::iter::once(node).chain(nodes));
        Ok(())
    }
}

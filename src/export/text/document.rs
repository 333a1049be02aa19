//! A program from its first line to its constants.

use super::reader::{ParseResult, TextReader};
use super::tokens::{TextProblem, TokenKind};
use crate::export::Program;
use crate::shape::Type;
use crate::term::Build;
use std::sync::Arc;

impl<'t> TextReader<'t> {
    /// The program that the text is.
    pub(super) fn document(mut self) -> ParseResult<Program<Build>> {
        let below = self.constants_below();
        if let Some(mark) = below {
            self.go_to(mark);
            self.large_constants()?;
            self.go_to(0);
        }
        let program = self.program()?;
        match below == Some(self.mark()) || self.token().kind == TokenKind::End {
            true => Ok(program),
            false => self.expected("`constants`, or the end of the text"),
        }
    }

    /// Where the line `constants:` is.
    fn constants_below(&self) -> Option<usize> {
        let tokens = self.tokens();
        (1..tokens.len()).find(|&at| {
            let begins = matches!(tokens[at - 1].kind, TokenKind::Newline | TokenKind::Dedent);
            begins && tokens[at].kind == TokenKind::Word && self.text_of(tokens[at]) == "constants"
        })
    }

    /// The elements of constants that are referred to by numbers.
    fn large_constants(&mut self) -> ParseResult<()> {
        self.word("constants")?;
        self.symbol(":")?;
        self.kind(TokenKind::Newline, "the end of the line")?;
        self.kind(TokenKind::Indent, "a line further to the right")?;
        while !self.accept_kind(TokenKind::Dedent) {
            self.symbol("#")?;
            let place = self.place();
            let number = self.natural()?;
            self.symbol(":")?;
            let ty = self.ty()?;
            self.symbol("=")?;
            let array = self.listed_as(&ty)?;
            if self.constants.insert(number, array).is_some() {
                return Err(TextProblem::new(format!("there is a constant #{number} already"), place));
            }
            self.kind(TokenKind::Newline, "the end of the line")?;
        }
        match self.token().kind {
            TokenKind::End => Ok(()),
            _ => self.expected("the end of the text"),
        }
    }

    fn program(&mut self) -> ParseResult<Program<Build>> {
        self.word("program")?;
        let (name, _) = self.name()?;
        self.symbol("(")?;
        let mut parameters = Vec::new();
        let mut captures = None;
        while !self.accept(")") {
            let begins = parameters.is_empty() || captures == Some(parameters.len());
            if captures.is_none() && self.accept(";") {
                captures = Some(parameters.len());
            } else if !begins {
                self.symbol(",")?;
            }
            parameters.push(self.typed_name()?);
        }
        let captures = captures.map_or(0, |proper| parameters.len() - proper);
        self.symbol("->")?;
        let results = match self.accept("(") {
            true => self.list(")", TextReader::result)?,
            false => vec![self.result()?],
        };
        self.symbol(":")?;
        let names = parameters.iter().map(|&(name, ..)| name.to_string()).collect();
        let open = self.body(parameters, Default::default(), false, TextReader::block)?;
        let body = self.finish(open, captures);
        if body.results.len() != results.len() {
            let place = results.first().map_or(0, |&(_, _, place)| place);
            let problem = format!("{} types for {} results", results.len(), body.results.len());
            return Err(TextProblem::new(problem, place));
        }
        for ((_, ty, place), found) in results.iter().zip(body.result_types()) {
            if found != ty {
                return Err(TextProblem::new(format!("this result is {found}, not {ty}"), *place));
            }
        }
        let mut result_names: Vec<String> = results.iter().map(|&(name, ..)| name.to_string()).collect();
        while result_names.last().is_some_and(|name| name.is_empty()) {
            result_names.pop();
        }
        Ok(Program { name: name.to_string(), parameters: names, results: result_names, body: Arc::new(body) })
    }

    /// The name of a result, if it has one, its type, and where that stands.
    fn result(&mut self) -> ParseResult<(&'t str, Type, usize)> {
        let name = match self.is_name() {
            true => {
                let (name, _) = self.name()?;
                self.symbol(":")?;
                name
            }
            false => "",
        };
        let place = self.place();
        Ok((name, self.ty()?, place))
    }
}

//! The state of reading: the position in the text, the open bodies, and the names known there.

use super::frame::BodyFrame;
use super::tokens::{TextProblem, Token, TokenKind};
use crate::array::Array;
use crate::export::limits::InputLimits;
use crate::shape::{Axes, DType, Shape, Type};
use crate::structural::Attributes;
use crate::term::print::{DTYPES, is_keyword};
use smallvec::SmallVec;
use std::collections::HashMap;

/// A result, or a problem of the text with its position.
pub(super) type ParseResult<T> = Result<T, TextProblem>;

/// A text that is being read, token by token.
pub(super) struct TextReader<'t> {
    text: &'t str,
    tokens: &'t [Token],
    at: usize,
    /// The bodies that are open, the innermost last.
    pub(super) frames: Vec<BodyFrame<'t>>,
    /// The large constants, by number.
    pub(super) constants: HashMap<usize, Array>,
    pub(super) limits: InputLimits,
    /// Whether it is a source program, which may contain `build`.
    pub(super) has_build: bool,
}

impl<'t> TextReader<'t> {
    pub(super) fn new(text: &'t str, tokens: &'t [Token], has_build: bool) -> TextReader<'t> {
        let limits = InputLimits::of(text.len());
        TextReader { text, tokens, at: 0, frames: Vec::new(), constants: HashMap::new(), limits, has_build }
    }

    /// The next token; there always is one, since nothing goes beyond the last.
    pub(super) fn token(&self) -> Token {
        self.tokens[self.at]
    }

    /// The position of the next token in the list of tokens, to be given to [`TextReader::go_to`].
    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn go_to(&mut self, mark: usize) {
        self.at = mark;
    }

    /// All tokens.
    pub(super) fn tokens(&self) -> &'t [Token] {
        self.tokens
    }

    /// The byte at which the next token begins.
    pub(super) fn place(&self) -> usize {
        self.token().place()
    }

    pub(super) fn text_of(&self, token: Token) -> &'t str {
        &self.text[token.range()]
    }

    /// The text of the next token.
    pub(super) fn peek(&self) -> &'t str {
        self.text_of(self.token())
    }

    /// Whether the next token is of this kind and text.
    pub(super) fn is(&self, kind: TokenKind, text: &str) -> bool {
        self.token().kind == kind && self.peek() == text
    }

    pub(super) fn is_symbol(&self, text: &str) -> bool {
        self.is(TokenKind::Symbol, text)
    }

    pub(super) fn is_word(&self, text: &str) -> bool {
        self.is(TokenKind::Word, text)
    }

    /// Goes beyond the next token, and returns it.
    pub(super) fn next(&mut self) -> Token {
        let token = self.token();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Goes beyond the next token if it is this symbol.
    pub(super) fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn accept_kind(&mut self, kind: TokenKind) -> bool {
        let found = self.token().kind == kind;
        if found {
            self.next();
        }
        found
    }

    /// The error that something else was expected than the next token.
    pub(super) fn expected<T>(&self, what: &str) -> ParseResult<T> {
        Err(self.unexpected(what))
    }

    fn unexpected(&self, what: &str) -> TextProblem {
        let token = self.token();
        let found = match token.kind {
            TokenKind::Newline => "the end of the line".to_string(),
            TokenKind::Indent => "a line further to the right".to_string(),
            TokenKind::Dedent => "a line further to the left".to_string(),
            TokenKind::End => "the end of the text".to_string(),
            TokenKind::At => "[ without a space before it".to_string(),
            _ => {
                let text: String = self.text_of(token).chars().take(40).collect();
                format!("`{text}`")
            }
        };
        TextProblem::new(format!("expected {what}, found {found}"), token.place())
    }

    pub(super) fn symbol(&mut self, symbol: &str) -> ParseResult<()> {
        if self.accept(symbol) { Ok(()) } else { self.expected(&format!("`{symbol}`")) }
    }

    pub(super) fn word(&mut self, word: &str) -> ParseResult<()> {
        if self.accept_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    pub(super) fn kind(&mut self, kind: TokenKind, what: &str) -> ParseResult<Token> {
        if self.token().kind == kind { Ok(self.next()) } else { self.expected(what) }
    }

    /// A `[` directly after the last token.
    pub(super) fn bracket(&mut self) -> ParseResult<()> {
        match self.accept_kind(TokenKind::At) {
            true => Ok(()),
            false => self.expected("`[` without a space before it"),
        }
    }

    /// Whether the next token is a name.
    pub(super) fn is_name(&self) -> bool {
        self.token().kind == TokenKind::Word && !is_keyword(self.peek())
    }

    /// A name, and where it stands.
    pub(super) fn name(&mut self) -> ParseResult<(&'t str, usize)> {
        match self.is_name() {
            true => {
                let token = self.next();
                Ok((self.text_of(token), token.place()))
            }
            false if self.token().kind == TokenKind::Word => self.expected("a name, which is no word of the language"),
            false => self.expected("a name"),
        }
    }

    /// A number without a sign, fraction and ending.
    pub(super) fn natural(&mut self) -> ParseResult<usize> {
        let text = self.peek();
        match text.parse() {
            Ok(number) if self.token().kind == TokenKind::Number => {
                self.next();
                Ok(number)
            }
            _ if self.token().kind == TokenKind::Number && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.fail(format!("{text} is too large"))
            }
            _ => self.expected("a number such as 0 or 3"),
        }
    }

    /// A number with or without a minus sign.
    pub(super) fn integer(&mut self) -> ParseResult<i128> {
        let negative = self.accept("-");
        let number = self.natural()? as i128;
        Ok(if negative { -number } else { number })
    }

    /// An error at the next token.
    pub(super) fn fail<T>(&self, problem: impl Into<String>) -> ParseResult<T> {
        Err(TextProblem::new(problem, self.place()))
    }

    /// Things with commas between them, up to a closing bracket.
    pub(super) fn list<T>(
        &mut self,
        closing: &str,
        mut one: impl FnMut(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<Vec<T>> {
        let mut list = Vec::new();
        if self.accept(closing) {
            return Ok(list);
        }
        loop {
            list.push(one(self)?);
            if self.accept(closing) {
                return Ok(list);
            }
            if !self.accept(",") {
                return self.expected(&format!("`,` or `{closing}`"));
            }
        }
    }

    /// `[3, 4]`.
    pub(super) fn shape(&mut self) -> ParseResult<Shape> {
        self.symbol("[")?;
        Ok(self.list("]", |reader| reader.natural())?.into())
    }

    /// `[0, 1]`, directly after a word.
    pub(super) fn axes(&mut self) -> ParseResult<SmallVec<[usize; 4]>> {
        self.bracket()?;
        Ok(self.list("]", |reader| reader.natural())?.into())
    }

    /// `[0]`, directly after a word.
    pub(super) fn axis(&mut self) -> ParseResult<usize> {
        self.bracket()?;
        let axis = self.natural()?;
        self.symbol("]")?;
        Ok(axis)
    }

    pub(super) fn dtype(&mut self) -> ParseResult<DType> {
        let word = self.peek();
        match DTYPES.iter().find(|dtype| dtype.name() == word) {
            Some(&dtype) => {
                self.next();
                Ok(dtype)
            }
            None => self.expected("an element type: f32, f64, i32, i64 or bool"),
        }
    }

    /// `f64[3, 4]`.
    pub(super) fn ty(&mut self) -> ParseResult<Type> {
        let place = self.place();
        let dtype = self.dtype()?;
        let shape: Shape = if self.token().kind == TokenKind::At { self.axes()? } else { Shape::new() };
        let ty = Type { dtype, shape };
        self.limits.ty(&ty).map_err(|problem| TextProblem::new(problem, place))?;
        Ok(ty)
    }

    /// `x: f64[3]`, and where the name stands.
    pub(super) fn typed_name(&mut self) -> ParseResult<(&'t str, Type, usize)> {
        let (name, place) = self.name()?;
        self.symbol(":")?;
        Ok((name, self.ty()?, place))
    }
}

impl Attributes for TextReader<'_> {
    type Problem = TextProblem;
    fn axis(&mut self) -> ParseResult<usize> {
        TextReader::axis(self)
    }
    fn axes(&mut self) -> ParseResult<Axes> {
        TextReader::axes(self)
    }
    fn shape(&mut self) -> ParseResult<Shape> {
        TextReader::shape(self)
    }
    fn dtype(&mut self) -> ParseResult<DType> {
        TextReader::dtype(self)
    }
}

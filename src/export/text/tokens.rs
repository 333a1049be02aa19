//! Words, numbers and symbols of a text, and its layout.

use crate::error::Error;
use crate::export::limits::NESTING;
use std::ops::Range;

/// A problem of a text, at a byte of it.
#[derive(Debug)]
pub(super) struct TextProblem {
    pub(super) text: String,
    pub(super) at: usize,
}

impl TextProblem {
    pub(super) fn new(text: impl Into<String>, at: usize) -> TextProblem {
        TextProblem { text: text.into(), at }
    }

    /// The error, with line and column.
    pub(super) fn error(self, text: &str) -> Error {
        let before = text.get(..self.at).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
        Error::Parse { problem: self.text, line, column }
    }
}

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// A name or a word of the language.
    Word,
    /// Digits, with the characters that belong to them.
    Number,
    /// `"ij,jk->ik"`, with the quotes.
    Labels,
    /// A bracket, an operator or another sign; λ too.
    Symbol,
    /// A `[` directly after a word, λ or a closing bracket.
    At,
    /// The end of a line outside of brackets.
    Newline,
    /// Lines begin further to the right.
    Indent,
    /// Lines begin further to the left.
    Dedent,
    /// The end of the text.
    End,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    start: u32,
    end: u32,
    /// For an opening bracket, whether it holds several items: a comma stands directly in it, or it is empty.
    pub(super) several: bool,
}

impl Token {
    fn new(kind: TokenKind, start: usize, end: usize) -> Token {
        // Texts are not longer than that.
        Token { kind, start: start as u32, end: end as u32, several: false }
    }

    /// The bytes of the text that it is.
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The byte at which it begins.
    pub(super) fn place(self) -> usize {
        self.start as usize
    }
}

const SYMBOLS: [&str; 23] = [
    "->", "..", "<=", ">=", "==", "!=", "(", ")", "[", "]", ",", ":", ";", ".", "=", "+", "-", "*", "/", "<", ">", "#",
    "λ",
];

fn begins_word(character: char) -> bool {
    character.is_alphabetic() && character != 'λ'
}

fn continues_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric() && character != 'λ'
}

/// The bytes of a name: parts that are joined by dots.
fn word(rest: &str) -> usize {
    let mut end = 0;
    loop {
        let part = rest[end..].find(|character| !continues_word(character)).unwrap_or(rest.len() - end);
        end += part;
        let joined = rest[end..].strip_prefix('.').is_some_and(|next| next.starts_with(continues_word));
        if !joined {
            return end;
        }
        end += 1;
    }
}

/// The bytes of a number: digits, fraction, exponent and element type; of `1..9` the first digit.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end += 1 + digits(end + 1);
    }
    if bytes.get(end) == Some(&b'e') {
        let sign = usize::from(bytes.get(end + 1) == Some(&b'-'));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    // An ending, or characters that don't belong to a number, which are reported with it.
    end + rest[end..].find(|character| !continues_word(character)).unwrap_or(rest.len() - end)
}

/// The tokens of a text, the last of which is its end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, TextProblem> {
    let mut tokens: Vec<Token> = Vec::new();
    // Positions of the brackets that are open, among the tokens.
    let mut open: Vec<usize> = Vec::new();
    let mut indents: Vec<usize> = vec![0];
    let mut at = 0;
    let mut begins_line = true;
    if u32::try_from(text.len()).is_err() {
        return Err(TextProblem::new("the text is longer than 4 GiB", 0));
    }
    loop {
        let blank = text[at..].find(|character| character != ' ').unwrap_or(text.len() - at);
        at += blank;
        let Some(first) = text[at..].chars().next() else { break };
        if first == '\n' || text[at..].starts_with("\r\n") {
            if open.is_empty() && !begins_line {
                tokens.push(Token::new(TokenKind::Newline, at, at));
                begins_line = true;
            }
            at += if first == '\n' { 1 } else { 2 };
            continue;
        }
        if begins_line {
            layout(&mut tokens, &mut indents, text, at)?;
            begins_line = false;
        }
        let rest = &text[at..];
        let (kind, length) = if first == '"' {
            let Some(length) = rest[1..].find(['"', '\n']).filter(|&end| rest.as_bytes()[end + 1] == b'"') else {
                return Err(TextProblem::new("the labels have no end: expected \"", at));
            };
            (TokenKind::Labels, length + 2)
        } else if first.is_ascii_digit() {
            (TokenKind::Number, number(rest))
        } else if begins_word(first) {
            (TokenKind::Word, word(rest))
        } else {
            let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) else {
                let problem = match first {
                    '\t' => "a tab: lines begin with spaces".to_string(),
                    other => format!("the language has no {other:?}"),
                };
                return Err(TextProblem::new(problem, at));
            };
            let behind = tokens.last().filter(|last| last.end as usize == at).is_some_and(|last| match last.kind {
                TokenKind::Word => true,
                _ => matches!(&text[last.range()], "λ" | ")" | "]"),
            });
            (if *symbol == "[" && behind { TokenKind::At } else { TokenKind::Symbol }, symbol.len())
        };
        let position = tokens.len();
        tokens.push(Token::new(kind, at, at + length));
        match &rest[..length] {
            "(" | "[" => {
                if open.len() == NESTING {
                    return Err(TextProblem::new(format!("brackets are nested more than {NESTING} deep"), at));
                }
                open.push(position);
            }
            closing @ (")" | "]") => {
                let opened = open.pop().map(|bracket| (bracket, &text[tokens[bracket].range()]));
                match (opened, closing) {
                    (Some((bracket, "(")), ")") | (Some((bracket, "[")), "]") => {
                        tokens[bracket].several |= bracket + 1 == position;
                    }
                    (Some((_, opening)), _) => {
                        return Err(TextProblem::new(format!("{closing} does not close {opening}"), at));
                    }
                    (None, _) => return Err(TextProblem::new(format!("{closing} closes nothing"), at)),
                }
            }
            "," => {
                if let Some(&bracket) = open.last() {
                    tokens[bracket].several = true;
                }
            }
            _ => {}
        }
        at += length;
    }
    if let Some(&bracket) = open.last() {
        return Err(TextProblem::new("the bracket is not closed", tokens[bracket].place()));
    }
    if !begins_line {
        tokens.push(Token::new(TokenKind::Newline, at, at));
    }
    tokens.extend(indents[1..].iter().map(|_| Token::new(TokenKind::Dedent, at, at)));
    tokens.push(Token::new(TokenKind::End, at, at));
    Ok(tokens)
}

/// The tokens that follow from the column of the first character in a line.
fn layout(tokens: &mut Vec<Token>, indents: &mut Vec<usize>, text: &str, at: usize) -> Result<(), TextProblem> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let indent = at - start;
    let token = |kind| Token::new(kind, at, at);
    if indent > indents[indents.len() - 1] {
        // The bodies of a loop with several sweeps are indented by two.
        if indents.len() > 2 * NESTING {
            return Err(TextProblem::new(format!("bodies are nested more than {NESTING} deep"), at));
        }
        indents.push(indent);
        tokens.push(token(TokenKind::Indent));
        return Ok(());
    }
    while indent < indents[indents.len() - 1] {
        indents.pop();
        tokens.push(token(TokenKind::Dedent));
    }
    match indent == indents[indents.len() - 1] {
        true => Ok(()),
        false => Err(TextProblem::new("the line begins where no other line does", at)),
    }
}

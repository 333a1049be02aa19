//! Lines of text, of a width that the program allows.

use super::names::DTYPES;
use super::text::{PrintedExpression, columns};
use std::mem;

/// Lines are kept to this many columns where the program allows it.
pub(super) const WIDTH: usize = 100;
/// Columns by which a body is indented.
pub(super) const STEP: usize = 4;

/// A body as text: indented lines of lets, and the result, without indentation.
pub(super) struct TextBlock {
    pub(super) lines: Vec<String>,
    pub(super) result: PrintedExpression,
}

impl TextBlock {
    pub(super) fn into_lines(mut self, indent: usize) -> Vec<String> {
        self.lines.extend(wrap(self.result.text, indent));
        self.lines
    }
}

/// Breaks a line that is too wide where brackets are open, after a comma, but not inside of a type.
pub(super) fn wrap(text: String, indent: usize) -> Vec<String> {
    let margin = " ".repeat(indent);
    let mut lines = Vec::new();
    let mut line = margin.clone();
    let mut used = indent;
    let mut open = 0usize;
    if columns(&text) + indent <= WIDTH {
        line.push_str(&text);
        return vec![line];
    }
    // Pieces end after a comma where a break is allowed, with no type's bracket open.
    let mut pieces: Vec<&str> = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, character) in text.char_indices() {
        match character {
            '[' => inside = DTYPES.iter().any(|dtype| text[..at].ends_with(dtype.name())),
            ']' => inside = false,
            ' ' if !inside && text[..at].ends_with(',') => {
                pieces.push(&text[start..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    for piece in pieces {
        let width = columns(piece.trim_end());
        if used + width > WIDTH && open > 0 && used > indent + 2 * STEP {
            let full = mem::replace(&mut line, format!("{margin}{}", " ".repeat(2 * STEP)));
            lines.push(full.trim_end().to_string());
            used = indent + 2 * STEP;
        }
        line.push_str(piece);
        used += columns(piece);
        for character in piece.chars() {
            match character {
                '(' | '[' => open += 1,
                ')' | ']' => open = open.saturating_sub(1),
                _ => {}
            }
        }
    }
    lines.push(line);
    lines
}

/// Whether a result fits on the line of what comes before it.
pub(super) fn fits(head: &str, result: &PrintedExpression, indent: usize) -> bool {
    indent + columns(head) + 1 + result.width <= WIDTH
}

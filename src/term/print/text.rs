//! Texts of expressions, with what binds their parts.

/// How tightly an expression holds together; an operand of a lower level than its place asks for gets parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Precedence {
    /// `build`, which reaches as far to the right as it can.
    Any,
    /// `a < b`; does not associate.
    Comparison,
    /// `a + b`; associates to the left.
    Sum,
    /// `a * b`; associates to the left.
    Product,
    /// `-a`, and negative literals.
    Unary,
    /// `exp a`.
    Application,
    /// Names, literals, calls, lists, `a[3]`, and everything in parentheses.
    Atom,
}

/// The text of an expression.
#[derive(Clone, Debug)]
pub(super) struct PrintedExpression {
    /// The text, without parentheses around it.
    pub(super) text: String,
    /// Its width in columns.
    pub(super) width: usize,
    /// How tightly it holds together.
    pub(super) level: Precedence,
    /// How deep brackets nest in it.
    pub(super) depth: usize,
}

impl PrintedExpression {
    /// An expression from its parts.
    pub(super) fn new(text: String, level: Precedence, depth: usize) -> PrintedExpression {
        PrintedExpression { width: columns(&text), text, level, depth }
    }

    /// The text for a place that asks for a level.
    pub(super) fn at(&self, level: Precedence) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text.clone() }
    }

    /// How deep brackets nest at a place that asks for a level.
    pub(super) fn depth_at(&self, level: Precedence) -> usize {
        self.depth + usize::from(self.level < level)
    }
}

/// Columns of a text, in which the number of a constant takes none, so that lines break where they do whatever it will be.
pub(super) fn columns(text: &str) -> usize {
    text.chars().filter(|&character| provisional_digit(character).is_none()).count()
}

/// Where the digits of numbers of constants are while a program is being written: the numbers follow the order of the text,
/// which is known at its end.
const DIGITS: u32 = 0xE000;

pub(super) fn provisional_digit(character: char) -> Option<usize> {
    let digit = (character as u32).checked_sub(DIGITS).filter(|&digit| digit < 10)?;
    Some(digit as usize)
}

pub(super) fn provisional(number: usize) -> String {
    let digit = |digit: char| char::from_u32(DIGITS + digit as u32 - '0' as u32).expect("of the private use area");
    number.to_string().chars().map(digit).collect()
}

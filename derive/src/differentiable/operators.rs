//! Operators: arithmetic, comparisons, and `&&` and `||`; and literals beside them.

use super::body::{Position, Rewriter, is_double_constant, is_literal, kept, parse};
use super::effects::{assigns, is_pure_expression};
use super::uses::Uses;
use proc_macro2::Ident;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Lit};

/// Whether `let` is among the conditions of an `if` or `while`.
pub fn contains_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => contains_let(&binary.left) || contains_let(&binary.right),
        Expr::Paren(inner) => contains_let(&inner.expr),
        _ => false,
    }
}

/// Whether an expression is a float literal without a type.
pub fn is_float(literal: &Expr) -> bool {
    match literal {
        Expr::Path(path) => is_double_constant(&path.path),
        Expr::Lit(literal) => matches!(&literal.lit, Lit::Float(number) if number.suffix().is_empty()),
        Expr::Unary(unary) => is_float(&unary.expr),
        Expr::Paren(inner) => is_float(&inner.expr),
        Expr::Group(inner) => is_float(&inner.expr),
        _ => false,
    }
}

/// Whether an expression is an integer literal without a type.
fn is_integer(literal: &Expr) -> bool {
    match literal {
        Expr::Lit(literal) => matches!(&literal.lit, Lit::Int(number) if number.suffix().is_empty()),
        Expr::Paren(inner) => is_integer(&inner.expr),
        Expr::Group(inner) => is_integer(&inner.expr),
        _ => false,
    }
}

impl Rewriter<'_> {
    /// A float literal beside an operand that may be generic over the element type.
    pub fn literal(&self, literal: &mut Expr) {
        if self.floats && is_float(literal) {
            let span = literal.span();
            *literal = parse(quote_spanned!(span=> ::deltaray::tensor::attribute::Literal(#literal)));
        }
    }

    /// A literal beside an expression that is none.
    fn beside(&self, left: &mut Expr, right: &mut Expr) {
        match (is_literal(left), is_literal(right)) {
            (true, false) => self.literal(left),
            (false, true) => self.literal(right),
            _ => {}
        }
    }

    /// Whether an expression is computed from a position, or is an element of a parameter.
    fn is_position(&self, expression: &Expr) -> bool {
        let is_element = matches!(expression, Expr::Index(index) if self.refers(&index.expr));
        is_element || self.scopes.moves(expression)
    }

    pub fn binary(&mut self, expression: &mut Expr) {
        let Expr::Binary(binary) = expression else { return };
        if assigns(&binary.op) {
            return self.operator_assignment(expression);
        }
        let (method, mirrored) = match binary.op {
            BinOp::Lt(_) => ("less", "greater"),
            BinOp::Le(_) => ("less_equal", "greater_equal"),
            BinOp::Gt(_) => ("greater", "less"),
            BinOp::Ge(_) => ("greater_equal", "less_equal"),
            BinOp::Eq(_) => ("equal", "equal"),
            BinOp::Ne(_) => ("not_equal", "not_equal"),
            BinOp::And(_) => return self.logical(expression, "and"),
            BinOp::Or(_) => return self.logical(expression, "or"),
            _ => {
                // With a literal at the left of a position or an element, its type and the result's would be open.
                let commutes = matches!(binary.op, BinOp::Add(_) | BinOp::Mul(_));
                if commutes && is_integer(&binary.left) && self.is_position(&binary.right) {
                    std::mem::swap(&mut binary.left, &mut binary.right);
                }
                self.beside(&mut binary.left, &mut binary.right);
                // The left operand may be borrowed while the right one is computed.
                let left = Uses::beside(&binary.left, [&*binary.right]);
                let right = Uses::beside(&binary.right, [&*binary.left]);
                for (operand, other) in [(&mut binary.left, right), (&mut binary.right, left)] {
                    self.scopes.push_later(Some(other));
                    self.rewrite(operand, Position::Operand);
                    self.scopes.pop_later();
                }
                return;
            }
        };
        if is_literal(&binary.left) && is_literal(&binary.right) {
            return;
        }
        // The span of all goes through all of it, which in a chain of sums would be done for each.
        let (span, op) = (binary.span(), binary.op.span());
        self.rewrite(&mut binary.left, Position::Reference);
        self.rewrite(&mut binary.right, Position::Reference);
        // A literal on the right takes its type from the other side.
        let swapped = is_literal(&binary.left);
        self.beside(&mut binary.left, &mut binary.right);
        let (left, right) = if swapped { (&binary.right, &binary.left) } else { (&binary.left, &binary.right) };
        let method = Ident::new(if swapped { mirrored } else { method }, op);
        let (left_span, right_span) = (left.span(), right.span());
        let left = quote_spanned!(left_span=> &(#left));
        let right = quote_spanned!(right_span=> &(#right));
        let compared = quote_spanned!(span=> ::deltaray::tensor::attribute::Compared(#left, #right));
        *expression = parse(quote_spanned!(op=> #compared.#method()));
    }

    /// `&&` and `||`.
    fn logical(&mut self, expression: &mut Expr, method: &str) {
        let plain = contains_let(expression);
        let Expr::Binary(binary) = expression else { return };
        let plain = plain || !is_pure_expression(&binary.right, &self.scopes);
        let op = binary.op.span();
        self.rewrite(&mut binary.left, Position::Argument);
        self.rewrite(&mut binary.right, Position::Argument);
        if plain {
            return;
        }
        let (span, method) = (binary.left.span(), Ident::new(method, op));
        let (left, right) = (kept(&binary.left), kept(&binary.right));
        let left = quote_spanned!(span=> ::deltaray::tensor::attribute::Truth(#left));
        *expression = parse(quote_spanned!(op=> #left.#method(|| #right)));
    }
}

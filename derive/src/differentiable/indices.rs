//! Indices: of arrays they read, of anything else they are Rust's.

use super::body::{Position, Rewriter, is_literal, is_place, parse};
use super::scopes::variable;
use proc_macro2::Ident;
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprIndex, Lit, UnOp};

/// The place of an element that is assigned.
pub fn element(place: &mut Expr) {
    if let Expr::Index(index) = place {
        element(&mut index.expr);
        let span = index.bracket_token.span.open();
        let (base, position) = (&index.expr, &index.index);
        *place = parse(quote_spanned!(span=> (*#base.place_at(#position))));
    }
}

impl Rewriter<'_> {
    pub fn index(&mut self, expression: &mut Expr, position: Position) {
        let Expr::Index(ExprIndex { expr, index, bracket_token, .. }) = expression else { return };
        if position == Position::Place {
            self.rewrite(expr, Position::Place);
            self.rewrite(index, Position::Value);
            return;
        }
        let name = variable(expr).map_or("x".to_owned(), Ident::to_string);
        self.check_position(index, &name);
        self.rewrite(expr, Position::Receiver);
        self.subscript(index);
        let span = bracket_token.span.open();
        let read = quote_spanned!(span=> #expr.index_at(#index));
        *expression = parse(match position {
            Position::Value | Position::Argument => quote_spanned!(span=> #read.value()),
            Position::Operand | Position::Receiver => quote_spanned!(span=> #read.receiver()),
            Position::Bound => quote_spanned!(span=> #read.bound()),
            Position::Reference | Position::Place => quote_spanned!(span=> (*#read)),
        });
    }

    /// What stands between brackets: another handle on a variable, since the index takes it.
    fn subscript(&mut self, index: &mut Expr) {
        match index {
            Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(|part| self.subscript(part)),
            Expr::Lit(literal) => {
                // So that nothing is left open: all that is indexed by literals takes `usize`.
                if let Lit::Int(number) = &literal.lit
                    && number.suffix().is_empty()
                {
                    let text = format!("{}usize", number.base10_digits());
                    literal.lit = Lit::Int(syn::LitInt::new(&text, number.span()));
                }
            }
            _ if is_place(index) => {
                self.rewrite(index, Position::Argument);
                let span = index.span();
                *index = parse(quote_spanned!(span=> ::core::clone::Clone::clone(&#index)));
            }
            _ => self.rewrite(index, Position::Argument),
        }
    }

    /// There is no position before the first: what is read there is 0, which nobody means by `x[-1]`.
    fn check_position(&mut self, index: &Expr, name: &str) {
        match index {
            Expr::Paren(inner) => self.check_position(&inner.expr, name),
            Expr::Group(inner) => self.check_position(&inner.expr, name),
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|part| self.check_position(part, name)),
            Expr::Array(array) => array.elems.iter().for_each(|part| self.check_position(part, name)),
            Expr::Range(range) => {
                [&range.start, &range.end].into_iter().flatten().for_each(|end| self.check_position(end, name));
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) && is_literal(&unary.expr) => {
                let back = unary.expr.to_token_stream();
                let message = format!(
                    "positions count from 0, and none is negative: from the end write `{name}.len() - {back}`, along an inner \
                     axis `{name}.shape()[axis] - {back}`"
                );
                self.errors.push(Error::new_spanned(unary, message));
            }
            _ => {}
        }
    }
}

//! Assignments: to parts of arrays by position, to everything else as in Rust.

use super::body::{Position, Rewriter, is_literal, is_place, kept, parse};
use super::effects::{is_pure_expression, method};
use super::indices::Subscript;
use super::names::{root, uses, variable};
use super::operators::is_float;
use super::scopes::Declared;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprIndex};

/// The index that a place ends with.
fn index(place: &mut Expr) -> Option<&mut ExprIndex> {
    match place {
        Expr::Index(index) => Some(index),
        Expr::Paren(inner) => index(&mut inner.expr),
        Expr::Group(inner) => index(&mut inner.expr),
        _ => None,
    }
}

/// Whether a place, or one of a tuple of them, ends with an index.
fn has_index(place: &Expr) -> bool {
    match place {
        Expr::Index(_) => true,
        Expr::Paren(inner) => has_index(&inner.expr),
        Expr::Group(inner) => has_index(&inner.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().any(has_index),
        _ => false,
    }
}

/// Whether a place is reached by an index.
fn is_indexed(place: &Expr) -> bool {
    match place {
        Expr::Index(_) => true,
        Expr::Field(field) => is_indexed(&field.base),
        Expr::Paren(inner) => is_indexed(&inner.expr),
        Expr::Group(inner) => is_indexed(&inner.expr),
        Expr::Unary(unary) => is_indexed(&unary.expr),
        _ => false,
    }
}

/// The place that an assigned part is in, whose own indices are Rust's.
fn element(place: &mut Expr) {
    if let Expr::Index(index) = place {
        element(&mut index.expr);
        let span = index.bracket_token.span.open();
        let (base, position) = (&index.expr, &index.index);
        *place = parse(quote_spanned!(span=> (*#base.place_at(#position))));
    }
}

/// A value that is assigned to a part, in both forms: for arrays and for other indexed values.
struct Assigned {
    /// In the form for arrays.
    array: TokenStream,
    /// A closure that gives the form for Rust.
    plain: TokenStream,
}

impl Assigned {
    /// A value that is the same for both.
    fn same(value: TokenStream) -> Assigned {
        let written = Span::mixed_site();
        Assigned { array: value, plain: quote_spanned!(written=> |__value| __value) }
    }
}

impl Rewriter<'_> {
    /// `place = value`
    pub fn assignment(&mut self, expression: &mut Expr) {
        let span = expression.span();
        let Expr::Assign(assign) = expression else { return };
        if let Expr::Tuple(_) = &*assign.left
            && has_index(&assign.left)
        {
            self.rewrite(&mut assign.right, Position::Value);
            let (mut count, mut assignments, value) = (0, Vec::new(), &assign.right);
            let pattern = self.taken_apart(&mut assign.left, &mut count, &mut assignments);
            *expression = parse(quote_spanned!(span=> { let #pattern = #value; #(#assignments)* }));
            return;
        }
        if has_index(&assign.left) {
            let (left, right) = (&mut *assign.left, &mut *assign.right);
            *expression = parse(self.assigned_part("assign_at", left, right, Position::Value, span));
            return;
        }
        self.rewrite(&mut assign.left, Position::Place);
        self.rewrite(&mut assign.right, Position::Value);
        if self.is_number(&assign.left) && matches!(&*assign.right, Expr::Binary(_)) {
            let (value, span) = (&assign.right, assign.right.span());
            *assign.right = parse(quote_spanned!(span=> ::deltaray::tensor::attribute::TakenByNumber::taken(#value)));
        }
    }

    /// `place += value` and its like.
    pub fn operator_assignment(&mut self, expression: &mut Expr) {
        let span = expression.span();
        let Expr::Binary(binary) = expression else { return };
        if let Some(method) = method(&binary.op)
            && has_index(&binary.left)
        {
            let (left, right) = (&mut *binary.left, &mut *binary.right);
            *expression = parse(self.assigned_part(method, left, right, Position::Operand, span));
            return;
        }
        // `t[i].x += t[j].x`: the right side is read before the place is borrowed.
        if is_indexed(&binary.left) && root(&binary.left).is_some_and(|name| uses(&binary.right, name)) {
            self.rewrite(&mut binary.right, Position::Value);
            self.rewrite(&mut binary.left, Position::Place);
            let (place, op, value) = (&binary.left, &binary.op, &binary.right);
            let name = Ident::new("__value", Span::mixed_site());
            *expression = parse(quote_spanned!(span=> { let #name = #value; #place #op #name; }));
            return;
        }
        // `y *= y`: another handle, since the variable is lent.
        let is_same =
            is_place(&binary.right) && root(&binary.left).is_some() && root(&binary.left) == root(&binary.right);
        self.rewrite(&mut binary.left, Position::Place);
        if is_same {
            *binary.right = parse(kept(&binary.right));
            return;
        }
        self.literal(&mut binary.right);
        self.rewrite(&mut binary.right, Position::Operand);
        if self.is_number(&binary.left) && !is_literal(&binary.right) {
            let (value, span) = (&binary.right, binary.right.span());
            *binary.right = parse(quote_spanned!(span=> ::deltaray::tensor::attribute::TakenByNumber::taken(#value)));
        }
    }

    /// The pattern that a tuple of places becomes, and their assignments.
    fn taken_apart(&mut self, place: &mut Expr, count: &mut usize, assignments: &mut Vec<TokenStream>) -> TokenStream {
        if let Expr::Tuple(tuple) = place {
            let parts = tuple.elems.iter_mut().map(|part| self.taken_apart(part, count, assignments));
            let parts: Vec<TokenStream> = parts.collect();
            return quote!((#(#parts,)*));
        }
        if let Expr::Infer(_) | Expr::Range(_) = place {
            return place.to_token_stream();
        }
        let (name, span) = (format_ident!("__part_{count}", span = Span::mixed_site()), place.span());
        *count += 1;
        assignments.push(match has_index(place) {
            true => {
                let call = self.assigned_to("assign_at", place, Assigned::same(name.to_token_stream()), span);
                quote!(#call;)
            }
            false => {
                self.rewrite(place, Position::Place);
                quote_spanned!(span=> #place = #name;)
            }
        });
        name.to_token_stream()
    }

    /// An assignment to a part of an indexed value.
    fn assigned_part(
        &mut self,
        method: &str,
        place: &mut Expr,
        value: &mut Expr,
        as_: Position,
        span: Span,
    ) -> TokenStream {
        if is_literal(value) {
            let plain = value.to_token_stream();
            let assigned = match self.floats && is_float(value) {
                false => Assigned::same(plain),
                true => {
                    self.literal(value);
                    let written = Span::mixed_site().located_at(span);
                    Assigned { array: value.to_token_stream(), plain: quote_spanned!(written=> |_| #plain) }
                }
            };
            return self.assigned_to(method, place, assigned, span);
        }
        // An operand may refer to the variable, a place other than a plain variable is borrowed before the value is computed,
        // and a value may change the array that the index reads: then the value comes first, as in Rust.
        let inner = index(place).is_none_or(|index| variable(&index.expr).is_none());
        let refers = (inner || as_ == Position::Operand) && root(place).is_some_and(|name| uses(value, name));
        let first = refers || !is_pure_expression(value, &self.scopes);
        self.rewrite(value, if first { Position::Value } else { as_ });
        if !first {
            return self.assigned_to(method, place, Assigned::same(value.to_token_stream()), span);
        }
        let name = Ident::new("__value", Span::mixed_site());
        let call = self.assigned_to(method, place, Assigned::same(name.to_token_stream()), span);
        quote_spanned!(span=> { let #name = #value; #call; })
    }

    fn assigned_to(&mut self, method: &str, place: &mut Expr, value: Assigned, span: Span) -> TokenStream {
        let declared = root(place).and_then(|name| self.scopes.find(name).map(|declared| (name.clone(), declared)));
        if let Some((name, Declared::ByValue | Declared::ByReference)) = declared
            && name != "self"
        {
            let message = format!(
                "`{name}` is a parameter, which is assigned where it is taken by value as `mut {name}`: the caller's array stays \
                 as it is, and the new one is returned"
            );
            self.error(name.span(), message);
        }
        let Some(ExprIndex { expr, index, bracket_token, .. }) = index(place) else { return TokenStream::new() };
        self.rewrite(expr, Position::Place);
        element(expr);
        let (mut literals, mut count) = (false, 0);
        let Subscript { array, pattern, plain } = self.subscript(index, &mut literals, &mut count);
        let method = Ident::new(method, bracket_token.span.open());
        let Assigned { array: assigned, plain: plain_value } = value;
        // Not by the user's tokens, so that lints do not take it for theirs.
        let written = Span::mixed_site().located_at(span);
        let plain_index = quote_spanned!(written=> |#pattern| #plain);
        quote_spanned!(span=> #expr.#method(#array, #plain_index, #assigned, #plain_value))
    }
}

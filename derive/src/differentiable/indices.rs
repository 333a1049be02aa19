//! Indices: of arrays they read, of anything else they are Rust's.

use super::body::{Position, Rewriter, is_literal, kept, parse};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprIndex, ExprRange, Lit, UnOp};

/// The text between brackets, in both forms: for arrays and for other indexed values.
pub struct Subscript {
    /// In the form for arrays: a literal is a `usize`.
    pub array: TokenStream,
    /// A pattern that takes the form for arrays apart.
    pub pattern: TokenStream,
    /// In the form for Rust: a literal has the type that the index needs.
    pub plain: TokenStream,
}

/// The part of an array that was found, as a value, operand or reference: by where the index stands.
fn read(span: Span, position: Position, found: &TokenStream) -> Expr {
    parse(match position {
        Position::Value | Position::Argument => quote_spanned!(span=> #found.value()),
        Position::Operand | Position::Receiver => quote_spanned!(span=> #found.receiver()),
        Position::Bound => quote_spanned!(span=> #found.bound()),
        Position::Reference | Position::Place => quote_spanned!(span=> (*#found)),
    })
}

/// A literal position before the first.
fn is_negative(position: &Expr) -> bool {
    match position {
        Expr::Paren(inner) => is_negative(&inner.expr),
        Expr::Group(inner) => is_negative(&inner.expr),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && is_literal(&unary.expr),
        _ => false,
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
        self.rewrite(expr, Position::Receiver);
        let span = bracket_token.span.open();
        if self.has_moving_range(index) {
            let index = self.moving_subscript(index);
            *expression = read(span, position, &quote_spanned!(span=> #expr.index_moving(#index)));
            return;
        }
        let (mut literals, mut count) = (false, 0);
        let Subscript { array, pattern, plain } = self.subscript(index, &mut literals, &mut count);
        let found = match literals {
            true => {
                // Not by the user's tokens, so that lints do not take it for theirs.
                let written = Span::mixed_site().located_at(span);
                let plain = quote_spanned!(written=> |#pattern| #plain);
                quote_spanned!(span=> #expr.index_at_literals(#array, #plain))
            }
            false => quote_spanned!(span=> #expr.index_at(#array)),
        };
        *expression = read(span, position, &found);
    }

    /// Whether an end of a range is computed from a position.
    fn is_moving(&self, range: &ExprRange) -> bool {
        [&range.start, &range.end].into_iter().flatten().any(|end| self.scopes.moves(end))
    }

    /// Whether such a range stands between brackets.
    fn has_moving_range(&self, index: &Expr) -> bool {
        match index {
            Expr::Paren(inner) => self.has_moving_range(&inner.expr),
            Expr::Group(inner) => self.has_moving_range(&inner.expr),
            Expr::Tuple(tuple) => tuple.elems.iter().any(|part| self.has_moving_range(part)),
            Expr::Range(range) => self.is_moving(range),
            _ => false,
        }
    }

    /// The tokens between brackets, where a range moves.
    fn moving_subscript(&mut self, index: &mut Expr) -> TokenStream {
        let span = index.span();
        match index {
            Expr::Paren(inner) => self.moving_subscript(&mut inner.expr),
            Expr::Group(inner) => self.moving_subscript(&mut inner.expr),
            Expr::Tuple(tuple) => {
                let parts: Vec<TokenStream> = tuple.elems.iter_mut().map(|part| self.moving_subscript(part)).collect();
                quote_spanned!(span=> (#(#parts,)*))
            }
            Expr::Range(range) if self.is_moving(range) => {
                let ends = [&mut range.start, &mut range.end];
                ends.into_iter().flatten().for_each(|end| self.rewrite(end, Position::Argument));
                range.start.get_or_insert_with(|| Box::new(parse(quote_spanned!(span=> 0usize))));
                // No array is longer.
                range.end.get_or_insert_with(|| Box::new(parse(quote_spanned!(span=> i64::MAX as usize))));
                by_its_ends(index);
                index.to_token_stream()
            }
            other => self.subscript(other, &mut false, &mut 0).array,
        }
    }

    /// Rewrites the text between brackets, and notes whether it has literals.
    pub fn subscript(&mut self, index: &mut Expr, literals: &mut bool, count: &mut usize) -> Subscript {
        let span = index.span();
        match index {
            Expr::Paren(inner) => return self.subscript(&mut inner.expr, literals, count),
            Expr::Group(inner) => return self.subscript(&mut inner.expr, literals, count),
            Expr::Tuple(tuple) => {
                let parts: Vec<Subscript> =
                    tuple.elems.iter_mut().map(|part| self.subscript(part, literals, count)).collect();
                let array = parts.iter().map(|part| &part.array);
                let pattern = parts.iter().map(|part| &part.pattern);
                let plain = parts.iter().map(|part| &part.plain);
                return Subscript {
                    array: quote_spanned!(span=> (#(#array,)*)),
                    pattern: quote_spanned!(span=> (#(#pattern,)*)),
                    plain: quote_spanned!(span=> (#(#plain,)*)),
                };
            }
            Expr::Lit(literal) => {
                if let Lit::Int(number) = &literal.lit
                    && number.suffix().is_empty()
                {
                    *literals = true;
                    let array = syn::LitInt::new(&format!("{}usize", number.base10_digits()), number.span());
                    return Subscript {
                        array: array.to_token_stream(),
                        pattern: quote_spanned!(span=> _),
                        plain: number.to_token_stream(),
                    };
                }
            }
            _ if is_negative(index) => {
                *literals = true;
                return Subscript {
                    array: quote_spanned!(span=> ::deltaray::tensor::attribute::FromTheEnd(())),
                    pattern: quote_spanned!(span=> _),
                    plain: index.to_token_stream(),
                };
            }
            Expr::Range(range) if [&range.start, &range.end].into_iter().flatten().any(|end| is_negative(end)) => {
                let limits = range.limits;
                let [start, end] = [&mut range.start, &mut range.end]
                    .map(|end| end.as_mut().map(|end| self.subscript(end, literals, count)));
                let plain = |part: &Option<Subscript>| part.as_ref().map(|part| part.plain.clone());
                let (first, last) = (plain(&start), plain(&end));
                return Self::from_the_end(span, [start, end].into_iter().flatten(), quote!(#first #limits #last));
            }
            Expr::Array(array) if array.elems.iter().any(is_negative) => {
                let parts: Vec<Subscript> =
                    array.elems.iter_mut().map(|part| self.subscript(part, literals, count)).collect();
                let plain = parts.iter().map(|part| part.plain.clone());
                let plain = quote_spanned!(span=> [#(#plain),*]);
                return Self::from_the_end(span, parts.into_iter(), plain);
            }
            _ => {}
        }
        self.rewrite(index, Position::Argument);
        // Another handle on a variable, since the index takes it.
        let array = kept(index);
        let name = format_ident!("__position_{count}", span = Span::mixed_site());
        *count += 1;
        Subscript { array, pattern: name.to_token_stream(), plain: name.to_token_stream() }
    }

    /// A range or list with a literal before the first position, which no array takes.
    fn from_the_end(span: Span, parts: impl Iterator<Item = Subscript>, plain: TokenStream) -> Subscript {
        let (array, pattern): (Vec<_>, Vec<_>) = parts.map(|part| (part.array, part.pattern)).unzip();
        Subscript {
            array: quote_spanned!(span=> ::deltaray::tensor::attribute::FromTheEnd((#(#array,)*))),
            pattern: quote_spanned!(span=> ::deltaray::tensor::attribute::FromTheEnd((#(#pattern,)*))),
            plain,
        }
    }
}

/// Makes a call of a range with two ends, which may be arrays, and of one that is read from its end.
pub fn by_its_ends(expression: &mut Expr) {
    match expression {
        Expr::Paren(inner) => by_its_ends(&mut inner.expr),
        Expr::MethodCall(call) if call.method == "rev" && call.args.is_empty() => by_its_ends(&mut call.receiver),
        Expr::Range(range) => {
            let (Some(start), Some(end)) = (&range.start, &range.end) else { return };
            let (span, start_span) = (range.limits.span(), start.span());
            let method = match range.limits {
                syn::RangeLimits::HalfOpen(_) => Ident::new("to", span),
                syn::RangeLimits::Closed(_) => Ident::new("through", span),
            };
            let path = quote_spanned!(start_span=> ::deltaray::tensor::attribute::Ends);
            *expression = parse(quote_spanned!(span=> #path::#method(&(#start), &(#end))));
        }
        _ => {}
    }
}

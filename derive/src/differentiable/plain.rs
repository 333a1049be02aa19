//! Where Rust wants plain values, and an array may stand: `as`, `match` by literals, and `for`.

use super::body::{Position, Rewriter, parse};
use super::names::variable;
use super::patterns::{is_of_literals, refers_mutably};
use super::scopes::Declared;
use proc_macro2::Span;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Type};

/// Types of numbers, to which `as` casts.
const NUMBERS: [&str; 14] =
    ["f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];

impl Rewriter<'_> {
    /// Whether an expression may be an array, by its syntax: its type is known before that of its context, and its spelling
    /// rules out an enum.
    fn may_be_array(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Paren(inner) => self.may_be_array(&inner.expr),
            Expr::Group(inner) => self.may_be_array(&inner.expr),
            Expr::Path(_) => {
                let declared = variable(expression).and_then(|name| self.scopes.find(name));
                declared.is_some_and(|declared| declared != Declared::Open)
            }
            Expr::Field(field) => self.may_be_array(&field.base),
            Expr::Index(index) => self.may_be_array(&index.expr),
            Expr::Unary(unary) => self.may_be_array(&unary.expr),
            Expr::Cast(cast) => self.may_be_array(&cast.expr) || self.has_result(&cast.expr),
            Expr::Reference(reference) => reference.mutability.is_none() && self.may_be_array(&reference.expr),
            Expr::Binary(binary) => match binary.op {
                BinOp::Shl(_) | BinOp::Shr(_) => self.may_be_array(&binary.left),
                _ => self.may_be_array(&binary.left) || self.may_be_array(&binary.right),
            },
            _ => false,
        }
    }

    /// Whether an expression is the result of a function or method, whose type is known where it is cast. A closure in a
    /// variable is excepted, since later code may decide its type.
    fn is_result(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Paren(inner) => self.is_result(&inner.expr),
            Expr::Group(inner) => self.is_result(&inner.expr),
            Expr::MethodCall(_) => true,
            Expr::Call(call) => match &*call.func {
                Expr::Path(_) => variable(&call.func).is_none_or(|function| self.scopes.find(function).is_none()),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether arithmetic has such a result in it.
    fn has_result(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Paren(inner) => self.has_result(&inner.expr),
            Expr::Group(inner) => self.has_result(&inner.expr),
            Expr::Unary(unary) => self.has_result(&unary.expr),
            Expr::Binary(binary) => self.has_result(&binary.left) || self.has_result(&binary.right),
            _ => self.is_result(expression),
        }
    }

    /// `as` to a number.
    pub fn cast(&mut self, expression: &mut Expr) {
        let Expr::Cast(cast) = expression else { return };
        let number = matches!(&*cast.ty, Type::Path(path)
            if path.path.get_ident().is_some_and(|name| NUMBERS.contains(&&name.to_string()[..])));
        let result = self.is_result(&cast.expr);
        if !number || !(self.has_result(&cast.expr) || self.may_be_array(&cast.expr)) {
            return self.rewrite(&mut cast.expr, Position::Argument);
        }
        self.rewrite(&mut cast.expr, if result { Position::Argument } else { Position::Reference });
        let (value, ty, span) = (&cast.expr, &cast.ty, cast.as_token.span);
        // Not by the user's tokens, so that lints do not take it for theirs.
        let written = Span::mixed_site().located_at(span);
        let converted = quote_spanned!(written=> |__value| __value as #ty);
        // A result is moved, which need not be `Copy`.
        let cast = match result {
            true => quote_spanned!(span=> ::deltaray::tensor::attribute::CastValue(#value)),
            false => quote_spanned!(span=> ::deltaray::tensor::attribute::Cast(&(#value))),
        };
        *expression = parse(quote_spanned!(span=> #cast.converted(#converted)));
    }

    /// The iterated expression of a `for`.
    pub fn iterated(&mut self, iterated: &mut Expr) {
        let array = self.may_be_array(iterated);
        self.rewrite(iterated, Position::Argument);
        if array {
            let span = iterated.span();
            *iterated = parse(quote_spanned!(span=> ::deltaray::tensor::attribute::Iterated(#iterated).values()));
        }
    }

    /// `match`
    pub fn matching(&mut self, found: &mut syn::ExprMatch) {
        // A value that a pattern changes is a place.
        let place = found.arms.iter().any(|arm| refers_mutably(&arm.pat));
        let literals = found.arms.iter().any(|arm| is_of_literals(&arm.pat));
        let array = literals && !place && self.may_be_array(&found.expr);
        let refers = self.refers(&found.expr);
        self.rewrite(&mut found.expr, if place { Position::Place } else { Position::Reference });
        if array {
            // Values that literals match are `Copy`.
            let (matched, span) = (&found.expr, found.expr.span());
            *found.expr = parse(quote_spanned!(span=> *::deltaray::tensor::attribute::Matched(&#matched).value()));
        }
        for arm in &mut found.arms {
            self.scopes.enter();
            self.scopes.declare_pattern(&arm.pat, Declared::by_pattern(refers));
            if let Some((_, guard)) = &mut arm.guard {
                self.rewrite(guard, Position::Argument);
            }
            self.rewrite(&mut arm.body, Position::Value);
            self.scopes.leave();
        }
    }
}

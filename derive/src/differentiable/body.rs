//! Bodies: each expression is rewritten to one with the same meaning for arrays and for plain values.
//!
//! The result depends on the position of an expression, as with Rust's places and values: an index is a read where a value is
//! needed, and stays an index where something is assigned.

use super::names::variable;
use super::scopes::{Declared, Scopes};
use super::types::Retyping;
use super::uses::{Uses, field_of};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use std::collections::HashSet;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Expr, Lit, Member, Token, UnOp};

/// The use of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// Its value is kept: in a variable, or as the result of a block.
    Value,
    /// Its value is given to a function or method.
    Argument,
    /// Its value is an operand, which may be a reference.
    Operand,
    /// The receiver of a method, a field or an index.
    Receiver,
    /// `&` is before it.
    Reference,
    /// `&` is before it, and a variable will refer to it.
    Bound,
    /// It is assigned, or `&mut` is before it.
    Place,
}

pub struct Rewriter<'a> {
    pub scopes: Scopes,
    /// The algebra here.
    pub algebra: TokenStream,
    /// The parameter for the algebra of the function.
    pub parameter: &'a Ident,
    pub generics: &'a HashSet<String>,
    /// The names of trees in the signature.
    pub trees: &'a HashSet<String>,
    /// Whether float literals take the type of the other operand.
    pub floats: bool,
    pub errors: Vec<Error>,
}

/// An expression from tokens that this crate wrote.
pub fn parse(tokens: TokenStream) -> Expr {
    match syn::parse2(tokens) {
        Ok(expression) => expression,
        Err(error) => Expr::Verbatim(error.to_compile_error()),
    }
}

/// Whether an expression is a literal, a constant of a float type such as `f64::INFINITY`, or one with a minus sign.
pub fn is_literal(expression: &Expr) -> bool {
    match expression {
        Expr::Path(path) if path.qself.is_none() => float_of_constant(&path.path).is_some(),
        Expr::Lit(literal) => matches!(literal.lit, Lit::Int(_) | Lit::Float(_) | Lit::Bool(_)),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && is_literal(&unary.expr),
        Expr::Paren(inner) => is_literal(&inner.expr),
        Expr::Group(inner) => is_literal(&inner.expr),
        _ => false,
    }
}

/// The float type whose constant a path names: of `f64::EPSILON` and `std::f64::consts::PI` it is `f64`.
fn float_of_constant(path: &syn::Path) -> Option<String> {
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let is_constant = |name: &str| name.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_');
    let ty = match &names[..] {
        [.., ty, consts, name] if consts == "consts" && is_constant(name) => ty,
        [.., ty, name] if is_constant(name) => ty,
        _ => return None,
    };
    ["f32", "f64"].contains(&&ty[..]).then(|| ty.clone())
}

/// Whether a path names a constant of `f64`.
pub fn is_double_constant(path: &syn::Path) -> bool {
    float_of_constant(path).is_some_and(|ty| ty == "f64")
}

/// Whether an expression is a place, which an operator would move from.
pub fn is_place(expression: &Expr) -> bool {
    match expression {
        Expr::Path(_) | Expr::Field(_) => true,
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)),
        Expr::Paren(inner) => is_place(&inner.expr),
        Expr::Group(inner) => is_place(&inner.expr),
        _ => false,
    }
}

/// An expression that is taken; a place is left where it is, and another handle on it is taken.
pub fn kept(expression: &Expr) -> TokenStream {
    let span = expression.span();
    match is_place(expression) {
        true => quote_spanned!(span=> ::core::clone::Clone::clone(&#expression)),
        false => expression.to_token_stream(),
    }
}

/// A place as an operand, which is left where it is.
fn used(place: &Expr) -> Expr {
    let span = place.span();
    parse(quote_spanned!(span=> (&&&::deltaray::tensor::attribute::Used(&#place)).operand()))
}

impl Rewriter<'_> {
    pub fn error(&mut self, span: Span, message: impl std::fmt::Display) {
        self.errors.push(Error::new(span, message));
    }

    pub fn rewrite(&mut self, expression: &mut Expr, position: Position) {
        match expression {
            Expr::Paren(inner) => self.rewrite(&mut inner.expr, position),
            Expr::Group(inner) => self.rewrite(&mut inner.expr, position),
            Expr::Path(_) => self.path(expression, position),
            Expr::Field(field) => {
                let inner = if position == Position::Place { Position::Place } else { Position::Receiver };
                let is_kept = position == Position::Value && self.is_field_kept(field);
                self.rewrite(&mut field.base, inner);
                self.part(expression, position, is_kept);
            }
            Expr::Index(_) => self.index(expression, position),
            Expr::Unary(unary) => match unary.op {
                UnOp::Deref(_) => {
                    self.rewrite(&mut unary.expr, Position::Receiver);
                    self.part(expression, position, false);
                }
                _ if is_literal(&unary.expr) => {}
                // By value, since the compiler needs the type of an operand, but not the type behind a reference.
                _ if self.is_open(&unary.expr) => {}
                _ => self.rewrite(&mut unary.expr, Position::Operand),
            },
            Expr::Binary(_) => self.binary(expression),
            Expr::Assign(_) => self.assignment(expression),
            Expr::Reference(reference) => {
                let inner = match (reference.mutability, position) {
                    (Some(_), _) => Position::Place,
                    (None, Position::Bound) => Position::Bound,
                    (None, _) => Position::Reference,
                };
                self.rewrite(&mut reference.expr, inner);
            }
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Call(_) => self.call(expression),
            Expr::Closure(closure) => self.closure(closure, Declared::Otherwise, false),
            Expr::Tuple(tuple) if position == Position::Place => {
                tuple.elems.iter_mut().for_each(|element| self.rewrite(element, Position::Place));
            }
            Expr::Tuple(tuple) => self.elements(&mut tuple.elems),
            Expr::Array(array) => self.elements(&mut array.elems),
            Expr::Repeat(repeat) => self.rewrite(&mut repeat.expr, Position::Value),
            Expr::Struct(value) => self.structure(value),
            Expr::Range(range) => {
                let ends = [&mut range.start, &mut range.end];
                ends.into_iter().flatten().for_each(|end| self.rewrite(end, Position::Argument));
            }
            Expr::Cast(_) => self.cast(expression),
            Expr::Try(inner) => self.rewrite(&mut inner.expr, Position::Argument),
            Expr::Let(condition) => {
                let place = super::patterns::refers_mutably(&condition.pat);
                let refers = self.refers(&condition.expr);
                self.rewrite(&mut condition.expr, if place { Position::Place } else { Position::Reference });
                self.scopes.declare_pattern(&condition.pat, Declared::by_pattern(refers));
            }
            Expr::If(_) => self.choice(expression),
            Expr::ForLoop(_) => self.for_loop(expression),
            Expr::While(_) => self.while_loop(expression),
            Expr::Loop(found) => self.endless_loop(found),
            Expr::Return(syn::ExprReturn { expr: Some(value), .. })
            | Expr::Break(syn::ExprBreak { expr: Some(value), .. }) => {
                // Nothing comes after it.
                let later = self.scopes.take_later();
                self.rewrite(value, Position::Value);
                self.scopes.restore_later(later);
            }
            Expr::Match(found) => self.matching(found),
            Expr::Macro(found) => self.macro_call(&mut found.mac),
            Expr::Async(found) => {
                let message = "`async` is not differentiable: wait for what is computed elsewhere before, and take it as an \
                               argument";
                self.error(found.async_token.span, message);
            }
            Expr::Await(found) => {
                let message =
                    "`await` is not differentiable: wait before the function, and take what comes as an argument";
                self.error(found.await_token.span, message);
            }
            Expr::Unsafe(found) => {
                let message =
                    "`unsafe` is not differentiable: do what is unsafe in a function of its own, on plain values";
                self.error(found.unsafe_token.span, message);
            }
            Expr::Yield(found) => {
                self.error(
                    found.yield_token.span,
                    "`yield` is not differentiable: return the values, in a `Vec` or a tuple",
                );
            }
            Expr::TryBlock(found) => {
                self.error(
                    found.try_token.span,
                    "a `try` block is not differentiable: write a function that returns `Result`",
                );
            }
            Expr::Lit(_) | Expr::Const(_) => {}
            _ => visit_mut::visit_expr_mut(self, expression),
        }
    }

    /// Retypes the types mentioned in a body; the compiler infers their algebra.
    fn retyping(&mut self, retype: impl FnOnce(&Retyping) -> syn::Result<()>) {
        let any = quote::quote!(_);
        let retyping =
            Retyping { algebra: &any, parameter: self.parameter, parameters: self.generics, trees: Some(self.trees) };
        if let Err(error) = retype(&retyping) {
            self.errors.push(error);
        }
    }

    /// Whether a place is a variable that began as a number.
    pub fn is_number(&self, place: &Expr) -> bool {
        variable(place).and_then(|name| self.scopes.find(name)) == Some(Declared::Number)
    }

    /// Whether an expression is a variable whose type may not be known yet.
    fn is_open(&self, expression: &Expr) -> bool {
        variable(expression).and_then(|name| self.scopes.find(name)) == Some(Declared::Open)
    }

    /// A variable, or another path.
    fn path(&mut self, expression: &mut Expr, position: Position) {
        if let Expr::Path(path) = expression {
            visit_mut::visit_expr_path_mut(self, path);
        }
        let declared = variable(expression).and_then(|name| self.scopes.find(name));
        let span = expression.span();
        match position {
            Position::Operand if declared == Some(Declared::Open) => {
                *expression = parse(quote_spanned!(span=> &#expression));
            }
            Position::Operand => *expression = used(expression),
            Position::Value if declared == Some(Declared::ByValue) => {
                // A method finds the tree whether the variable is a reference or, in a closure that it was lifted for, a value.
                *expression = parse(quote_spanned!(span=> #expression.owned_tree()));
            }
            Position::Value => {
                let copy = variable(expression).zip(declared).and_then(|(name, it)| self.copied_for_later(name, it));
                if let Some(copy) = copy {
                    *expression = copy;
                }
            }
            _ => {}
        }
    }

    /// A variable that is kept while it is used later: another handle on its arrays.
    fn copied_for_later(&self, name: &Ident, declared: Declared) -> Option<Expr> {
        let kept = matches!(declared, Declared::Mutable | Declared::Number | Declared::Element | Declared::Otherwise);
        if name == "self" || !kept || !self.scopes.is_used_later(name) {
            return None;
        }
        let span = name.span();
        Some(parse(quote_spanned!(span=> (&&::deltaray::tensor::attribute::Owned(&#name)).owned())))
    }

    /// A field, or a dereferenced value.
    fn part(&mut self, expression: &mut Expr, position: Position, is_kept: bool) {
        let span = expression.span();
        match position {
            Position::Operand => *expression = used(expression),
            Position::Value if is_kept => {
                *expression =
                    parse(quote_spanned!(span=> (&&::deltaray::tensor::attribute::Owned(&#expression)).owned()));
            }
            _ => {}
        }
    }

    /// Whether a field must stay in place: a field behind a reference, which can't be moved out, or one that is used later.
    fn is_field_kept(&self, field: &syn::ExprField) -> bool {
        let Some((name, member)) = field_of(field) else { return self.refers(&field.base) };
        match self.scopes.find(name) {
            Some(Declared::ByValue | Declared::ByReference | Declared::Element) => true,
            Some(Declared::Mutable | Declared::Otherwise) => self.scopes.is_field_used_later(name, member),
            _ => false,
        }
    }

    /// Whether an expression is a reference, or part of a referenced value: a part of a parameter, `&x`, `list.iter()`, or an
    /// element.
    pub fn refers(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Path(_) => variable(expression).and_then(|name| self.scopes.find(name)).is_some_and(|declared| {
                matches!(declared, Declared::ByValue | Declared::ByReference | Declared::Element)
            }),
            Expr::Reference(reference) => reference.mutability.is_none(),
            Expr::Index(_) => true,
            Expr::Field(field) => self.refers(&field.base),
            Expr::MethodCall(call) => match &call.method.to_string()[..] {
                "iter" => true,
                "enumerate" | "rev" | "skip" | "take" | "zip" | "filter" | "first" | "last" | "unwrap" | "expect" => {
                    self.refers(&call.receiver)
                }
                _ => false,
            },
            Expr::Paren(inner) => self.refers(&inner.expr),
            Expr::Group(inner) => self.refers(&inner.expr),
            _ => false,
        }
    }

    /// The arguments of a differentiated or staged function: a tuple of arguments is a tuple of references.
    pub fn arguments(&mut self, argument: &mut Expr) {
        match argument {
            Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(|element| self.rewrite(element, Position::Argument)),
            argument => self.rewrite(argument, Position::Argument),
        }
    }

    /// Values side by side: a variable that is one of them, and is used in a later one, is copied.
    pub fn elements(&mut self, elements: &mut Punctuated<Expr, Token![,]>) {
        self.copy_repeated(elements, &mut HashSet::new());
        self.each_before_others(elements.iter_mut().map(|element| (element, Position::Value)).collect());
    }

    /// Rewrites expressions that are evaluated one after the other.
    pub fn each_before_others(&mut self, expressions: Vec<(&mut Expr, Position)>) {
        let later = Uses::after_each(expressions.iter().map(|(expression, _)| &**expression));
        for ((expression, position), later) in expressions.into_iter().zip(later) {
            self.scopes.push_later(Some(later));
            self.rewrite(expression, position);
            self.scopes.pop_later();
        }
    }

    /// Copies the variables that later elements use, among elements and among the elements of tuples in them.
    fn copy_repeated(&self, elements: &mut Punctuated<Expr, Token![,]>, later: &mut HashSet<Ident>) {
        for element in elements.iter_mut().rev() {
            match element {
                Expr::Tuple(tuple) => self.copy_repeated(&mut tuple.elems, later),
                Expr::Array(array) => self.copy_repeated(&mut array.elems, later),
                _ => {
                    let repeated = variable(element).filter(|name| {
                        let declared = self.scopes.find(name);
                        later.contains(name) && declared.is_some() && declared != Some(Declared::ByValue)
                    });
                    let copy = repeated.map(|name| {
                        let span = name.span();
                        parse(quote_spanned!(span=> ::core::clone::Clone::clone(&#name)))
                    });
                    later.extend(super::names::used(element));
                    if let Some(copy) = copy {
                        *element = copy;
                    }
                }
            }
        }
    }

    fn structure(&mut self, value: &mut syn::ExprStruct) {
        visit_mut::visit_path_mut(self, &mut value.path);
        let fields = value.fields.iter_mut().map(|field| (&mut field.expr, Position::Value));
        let rest = value.rest.iter_mut().map(|rest| (&mut **rest, Position::Value));
        self.each_before_others(fields.chain(rest).collect());
        for field in &mut value.fields {
            // A shorthand whose value is written out.
            let same = matches!((&field.member, variable(&field.expr)), (Member::Named(name), Some(variable)) if name == variable);
            if field.colon_token.is_none() && !same {
                field.colon_token = Some(Default::default());
            }
        }
    }

    /// A tail: the value of a function or closure, which may refer to an element.
    pub fn tail(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Reference(reference)
                if reference.mutability.is_none() && matches!(&*reference.expr, Expr::Index(_)) =>
            {
                self.rewrite(&mut reference.expr, Position::Place);
            }
            _ => self.rewrite(expression, Position::Value),
        }
    }

    pub fn finish(self) -> Option<Error> {
        self.errors.into_iter().reduce(|mut all, error| {
            all.combine(error);
            all
        })
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        self.rewrite(expression, Position::Value);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.block(block);
    }

    fn visit_type_mut(&mut self, ty: &mut syn::Type) {
        self.retyping(|retyping| retyping.retype(ty).map(|_| ()));
    }

    fn visit_path_segment_mut(&mut self, segment: &mut syn::PathSegment) {
        visit_mut::visit_path_segment_mut(self, segment);
        self.retyping(|retyping| retyping.array(segment));
    }

    fn visit_item_mut(&mut self, item: &mut syn::Item) {
        self.item(item);
    }
}

//! Blocks, choices and macros.

use super::body::{Position, Rewriter, is_literal, kept, parse};
use super::effects::{assigned, is_pure, is_rolled_over, only_assigns};
use super::names::bindings;
use super::operators::contains_let;
use super::scopes::Declared;
use super::uses::Uses;
use crate::missing::ARRAYS;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, ExprIf, Item, Local, Macro, Pat, Stmt, Token, Type};

/// Macros of Rust whose arguments are expressions.
const OF_EXPRESSIONS: [&str; 18] = [
    "vec",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "print",
    "println",
    "eprint",
    "eprintln",
    "format",
    "panic",
    "unreachable",
    "unimplemented",
    "todo",
    "dbg",
    "write",
];

/// The literal that a block ends with, if it has nothing else.
fn literal(block: &Block) -> Option<&Expr> {
    match &block.stmts[..] {
        [Stmt::Expr(tail, None)] if is_literal(tail) => Some(tail),
        _ => None,
    }
}

/// The elements of the tuple that a block ends with.
fn tuple(block: &mut Block) -> Option<&mut Punctuated<Expr, Token![,]>> {
    match block.stmts.last_mut() {
        Some(Stmt::Expr(Expr::Tuple(tuple), None)) => Some(&mut tuple.elems),
        _ => None,
    }
}

/// The block after `else`.
fn else_block(expression: &Expr) -> Block {
    match expression {
        Expr::Block(block) if block.label.is_none() && block.attrs.is_empty() => block.block.clone(),
        other => Block { brace_token: Default::default(), stmts: vec![Stmt::Expr(other.clone(), None)] },
    }
}

/// Makes arrays of the literals that the variables of a pattern begin as, alone or in tuples, where a rolled loop carries
/// them; says whether there were any.
fn lift_carried(pattern: &Pat, value: &mut Expr, carried: &dyn Fn(&Ident) -> bool) -> bool {
    /// Makes arrays of the literals in a value.
    fn lift(value: &mut Expr) -> bool {
        match value {
            Expr::Tuple(tuple) => tuple.elems.iter_mut().fold(false, |found, element| lift(element) | found),
            Expr::Paren(inner) => lift(&mut inner.expr),
            literal if is_literal(literal) => {
                let span = literal.span();
                *literal = parse(quote_spanned!(span=> ::deltaray::tensor::scalar(#literal)));
                true
            }
            _ => false,
        }
    }
    match (pattern, value) {
        (Pat::Type(typed), value) => lift_annotated(&typed.pat, &typed.ty, value, carried),
        (Pat::Ident(name), value) => name.mutability.is_some() && carried(&name.ident) && lift(value),
        (Pat::Tuple(patterns), Expr::Tuple(values)) if patterns.elems.len() == values.elems.len() => {
            let parts = patterns.elems.iter().zip(&mut values.elems);
            parts.fold(false, |found, (pattern, value)| lift_carried(pattern, value, carried) | found)
        }
        _ => false,
    }
}

/// The same where types are written: a literal of an array's type becomes an array.
fn lift_annotated(pattern: &Pat, ty: &Type, value: &mut Expr, carried: &dyn Fn(&Ident) -> bool) -> bool {
    match (pattern, ty, value) {
        (pattern, ty, Expr::Paren(inner)) => lift_annotated(pattern, ty, &mut inner.expr, carried),
        (Pat::Tuple(patterns), Type::Tuple(types), Expr::Tuple(values))
            if patterns.elems.len() == values.elems.len() && types.elems.len() == values.elems.len() =>
        {
            let parts = patterns.elems.iter().zip(&types.elems).zip(&mut values.elems);
            parts.fold(false, |found, ((pattern, ty), value)| lift_annotated(pattern, ty, value, carried) | found)
        }
        (Pat::Ident(name), ty, value) if name.mutability.is_some() && carried(&name.ident) => lift_as(ty, value),
        _ => false,
    }
}

/// Makes arrays of the literals in a value, where its type says that they are.
fn lift_as(ty: &Type, value: &mut Expr) -> bool {
    match (ty, value) {
        (ty, Expr::Paren(inner)) => lift_as(ty, &mut inner.expr),
        (Type::Tuple(types), Expr::Tuple(values)) if types.elems.len() == values.elems.len() => {
            let parts = types.elems.iter().zip(&mut values.elems);
            parts.fold(false, |found, (ty, value)| lift_as(ty, value) | found)
        }
        (Type::Path(path), literal) if is_literal(literal) => {
            let last = path.path.segments.last();
            let array = last.is_some_and(|last| ARRAYS.iter().any(|(array, _)| last.ident == array));
            if array {
                let span = literal.span();
                *literal = parse(quote_spanned!(span=> ::deltaray::tensor::scalar(#literal)));
            }
            array
        }
        _ => false,
    }
}

impl Rewriter<'_> {
    pub fn block(&mut self, block: &mut Block) {
        self.scopes.enter();
        self.statements(&mut block.stmts);
        self.scopes.leave();
    }

    /// The body of a function, whose parameters are in scope.
    pub fn statements(&mut self, statements: &mut [Stmt]) {
        let count = statements.len();
        let uses = Uses::from_each(statements);
        self.scopes.note_functions(statements);
        for position in 0..count {
            let mut names = uses[position + 1].clone();
            if let Stmt::Local(local) = &statements[position] {
                bindings(&local.pat).iter().for_each(|(name, _)| {
                    names.remove(name);
                });
            }
            self.scopes.push_later(Some(names));
            self.scopes.enter_statement(&statements[position]);
            let (statement, later) = match statements[position..].split_first_mut() {
                Some((statement, later)) => (statement, later),
                None => return,
            };
            match statement {
                Stmt::Local(local) => self.local(local, later),
                Stmt::Item(item) => self.item(item),
                Stmt::Expr(expression, None) if position + 1 == count => self.tail(expression),
                Stmt::Expr(expression, semicolon) => {
                    let before = std::mem::discriminant(expression);
                    self.rewrite(expression, Position::Argument);
                    if before != std::mem::discriminant(expression) {
                        // No block any more, which needed none.
                        semicolon.get_or_insert_with(Default::default);
                    }
                }
                Stmt::Macro(found) => self.macro_call(&mut found.mac),
            }
            self.scopes.leave_statement();
            self.scopes.pop_later();
        }
    }

    fn local(&mut self, local: &mut Local, later: &[Stmt]) {
        if let Pat::Type(typed) = &mut local.pat {
            self.visit_type_mut(&mut typed.ty);
        }
        let (mut number, mut moves) = (false, false);
        if let Some(init) = &mut local.init {
            moves = matches!(&local.pat, Pat::Ident(_)) && self.scopes.moves(&init.expr);
            number = is_literal(&init.expr) && matches!(&local.pat, Pat::Ident(name) if name.mutability.is_some());
            let carried = |name: &Ident| is_rolled_over(name, later);
            number &= !lift_carried(&local.pat, &mut init.expr, &carried);
            match &mut *init.expr {
                Expr::Closure(closure) => self.closure(closure, Declared::Open, false),
                Expr::Reference(_) => self.rewrite(&mut init.expr, Position::Bound),
                // A pattern that refers takes no other handle.
                _ if super::patterns::refers_mutably(&local.pat) => self.rewrite(&mut init.expr, Position::Place),
                _ if super::patterns::refers(&local.pat) => self.rewrite(&mut init.expr, Position::Reference),
                _ => self.rewrite(&mut init.expr, Position::Value),
            }
            if let Some((_, diverge)) = &mut init.diverge {
                self.rewrite(diverge, Position::Value);
            }
        }
        let refers = local.init.as_ref().is_some_and(|init| self.refers(&init.expr));
        self.scopes.declare_pattern(&local.pat, Declared::by_pattern(refers));
        if let Pat::Ident(name) = &local.pat
            && number
        {
            self.scopes.declare(&name.ident, Declared::Number);
        }
        if moves {
            self.scopes.declare_positions(&local.pat);
        }
        // A variable without a value can't be given to a block that assigns it.
        if local.init.is_none() {
            bindings(&local.pat).iter().for_each(|(name, _)| self.scopes.declare(name, Declared::Otherwise));
        }
    }

    pub fn item(&mut self, item: &mut Item) {
        let Item::Fn(function) = item else { return };
        if function.attrs.iter().any(|attribute| attribute.path().is_ident("differentiable")) {
            return;
        }
        // A function of arrays inside is generic like the one around it; any other is left as it is.
        if super::is_of_arrays(&function.sig) {
            match super::function(function.clone()) {
                Ok(tokens) => *item = Item::Verbatim(tokens),
                Err(error) => self.errors.push(error),
            }
        }
    }

    /// A literal at the end of one block takes the form of the other block's end, also inside of tuples.
    fn sides(&self, yes: &mut Expr, no: &mut Expr) {
        match (is_literal(yes), is_literal(no)) {
            (true, false) => *yes = parse(self.literal_beside(yes.clone())),
            (false, true) => *no = parse(self.literal_beside(no.clone())),
            _ => {
                if let (Expr::Tuple(yes), Expr::Tuple(no)) = (yes, no)
                    && yes.elems.len() == no.elems.len()
                {
                    yes.elems.iter_mut().zip(&mut no.elems).for_each(|(yes, no)| self.sides(yes, no));
                }
            }
        }
    }

    /// A literal in the form of its neighbour: an array, or a plain number.
    fn literal_beside(&self, mut literal: Expr) -> TokenStream {
        self.literal(&mut literal);
        let span = literal.span();
        quote_spanned!(span=> ::deltaray::tensor::attribute::FromLiteral::from_literal(#literal))
    }

    /// A condition that chooses between values: a variable is left where it is.
    fn condition(&mut self, condition: &mut Expr) -> TokenStream {
        self.rewrite(condition, Position::Argument);
        let (span, kept) = (condition.span(), kept(condition));
        quote_spanned!(span=> ::deltaray::tensor::attribute::Condition(#kept))
    }

    /// `if`: a choice by a condition of either kind, where the blocks are values; Rust's own elsewhere.
    pub fn choice(&mut self, expression: &mut Expr) {
        let span = expression.span();
        let Expr::If(ExprIf { cond, then_branch, else_branch, .. }) = expression else { return };
        let pattern = matches!(&**cond, Expr::Let(_)) || contains_let(cond);
        let other = else_branch.as_ref().map(|(_, other)| else_block(other));
        let pure = |block: &Block| is_pure(block, &self.scopes);
        if !pattern && let Some(carries) = self.assigned_by_sides(then_branch, other.as_ref()) {
            return self.assigning_choice(expression, &carries);
        }
        let other = other.filter(|other| !pattern && pure(then_branch) && pure(other));
        let Some(mut other) = other else {
            self.scopes.enter();
            self.rewrite(cond, Position::Argument);
            if !pattern {
                let span = cond.span();
                **cond = parse(quote_spanned!(span=> ::deltaray::tensor::attribute::PlainCondition::holds(#cond)));
            }
            self.block(then_branch);
            self.scopes.leave();
            if let Some((_, other)) = else_branch {
                self.rewrite(other, Position::Value);
            }
            return;
        };
        let literals = (literal(then_branch).cloned(), literal(&other).cloned());
        let (condition_span, condition) = (cond.span(), self.condition(cond));
        if let (Some(yes), Some(no)) = literals {
            *expression = parse(quote_spanned!(condition_span=> #condition.choose_literal(#yes, #no)));
            return;
        }
        if let (Some(yes), Some(no)) = (tuple(then_branch), tuple(&mut other))
            && yes.len() == no.len()
        {
            yes.iter_mut().zip(no).for_each(|(yes, no)| self.sides(yes, no));
        }
        self.block(then_branch);
        self.block(&mut other);
        let lifted = |literal: Option<syn::Expr>, block: &Block| match literal {
            Some(literal) => {
                let literal = self.literal_beside(literal);
                quote!({ #literal })
            }
            None => block.to_token_stream(),
        };
        let (yes, no) = (lifted(literals.0, then_branch), lifted(literals.1, &other));
        // Not by the user's tokens, so that lints do not take it for theirs.
        let written = proc_macro2::Span::mixed_site().located_at(span);
        let sides = quote_spanned!(written=> |__side: bool| if __side #yes else #no);
        *expression = parse(quote_spanned!(condition_span=> #condition.choose(#sides)));
    }

    /// The variables that the blocks of an `if` assign, where that is all they do.
    fn assigned_by_sides(&self, then: &Block, otherwise: Option<&Block>) -> Option<Vec<Ident>> {
        let sides = || std::iter::once(then).chain(otherwise);
        let mut names = Vec::new();
        for name in sides().flat_map(assigned) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        // Nothing can be moved out of a closure's captures.
        let mutable = |name: &Ident| {
            name != "self" && self.scopes.find(name).is_some_and(Declared::is_mutable) && !self.scopes.is_captured(name)
        };
        (!names.is_empty() && names.iter().all(mutable) && sides().all(only_assigns)).then_some(names)
    }

    /// An `if` whose blocks assign: the assigned variables go into both blocks, and come out of the one taken.
    fn assigning_choice(&mut self, expression: &mut Expr, carries: &[Ident]) {
        let span = expression.span();
        let Expr::If(ExprIf { cond, then_branch, else_branch, .. }) = expression else { return };
        let (condition_span, condition) = (cond.span(), self.condition(cond));
        let mut other = match else_branch {
            Some((_, other)) => else_block(other),
            None => Block { brace_token: Default::default(), stmts: Vec::new() },
        };
        for block in [&mut *then_branch, &mut other] {
            self.scopes.enter();
            carries.iter().for_each(|name| self.scopes.declare(name, Declared::Mutable));
            // The variables that it assigns are used when the block ends.
            self.scopes.push_later(Some(Uses::of_all(carries.iter().cloned())));
            self.block(block);
            self.scopes.pop_later();
            self.scopes.leave();
        }
        let carried = quote!((#(#carries,)*));
        // Not by the user's tokens, so that lints do not take it for theirs.
        let written = proc_macro2::Span::mixed_site().located_at(span);
        let sides = quote_spanned!(written=> |__side: bool, (#(mut #carries,)*)| {
            if __side #then_branch else #other;
            #carried
        });
        *expression = parse(quote_spanned!(condition_span=> {
            let __after = #condition.choose_assigned(#carried, #sides);
            #[allow(unused_assignments)]
            { #carried = __after; }
        }));
    }

    /// A macro of Rust's: its arguments are rewritten where they are expressions.
    pub fn macro_call(&mut self, found: &mut Macro) {
        let known =
            found.path.segments.last().is_some_and(|last| OF_EXPRESSIONS.contains(&&last.ident.to_string()[..]));
        if !known {
            return;
        }
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(mut arguments) = parser.parse2(found.tokens.clone()) {
            if found.path.segments.last().is_some_and(|last| last.ident == "vec") {
                self.elements(&mut arguments);
            } else {
                for argument in &mut arguments {
                    match argument {
                        // `name = value` of a format.
                        Expr::Assign(assign) => self.rewrite(&mut assign.right, Position::Argument),
                        argument => self.rewrite(argument, Position::Reference),
                    }
                }
            }
            found.tokens = arguments.to_token_stream();
            return;
        }
        // `vec![value; count]`
        let repeated = |input: syn::parse::ParseStream| -> syn::Result<(Expr, Token![;], Expr)> {
            Ok((input.parse()?, input.parse()?, input.parse()?))
        };
        if let Ok((mut value, semicolon, mut count)) = repeated.parse2(found.tokens.clone()) {
            self.rewrite(&mut value, Position::Value);
            self.rewrite(&mut count, Position::Argument);
            found.tokens = quote!(#value #semicolon #count);
        }
    }
}

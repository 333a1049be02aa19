//! Loops: Rust's own, and those that are rolled.

use super::body::{Position, Rewriter, parse};
use super::effects::{Manner, assigned, changes_of_loop, exit, rolled_range};
use super::indices::by_its_ends;
use super::names::variable;
use super::operators::contains_let;
use super::scopes::Declared;
use super::uses::Uses;
use proc_macro2::Ident;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprForLoop};

impl Rewriter<'_> {
    pub fn for_loop(&mut self, expression: &mut Expr) {
        let Expr::ForLoop(found) = expression else { return };
        if rolled_range(&found.expr).is_some() {
            return self.rolled(expression);
        }
        if let Expr::Range(range) = &*found.expr
            && let Some(end) = [&range.start, &range.end].into_iter().flatten().find(|end| self.scopes.moves(end))
        {
            let message = "this end is an array, computed from the position of a rolled loop or of `build`: write `rolled(..)` \
                           around the range";
            self.error(end.span(), message);
        }
        // A parameter by value is a reference already.
        if let Expr::Reference(reference) = &*found.expr
            && reference.mutability.is_none()
            && variable(&reference.expr).and_then(|name| self.scopes.find(name)) == Some(Declared::ByValue)
        {
            found.expr = reference.expr.clone();
        }
        let refers = self.refers(&found.expr);
        self.iterated(&mut found.expr);
        self.scopes.push_later(Some(Uses::of_block(&found.body)));
        self.scopes.enter();
        self.scopes.declare_pattern(&found.pat, Declared::by_pattern(refers));
        self.block(&mut found.body);
        self.scopes.leave();
        self.scopes.pop_later();
    }

    /// `for t in rolled(range)`
    fn rolled(&mut self, expression: &mut Expr) {
        let Expr::ForLoop(ExprForLoop { for_token, expr, pat, body, label, .. }) = expression else { return };
        let Expr::Call(call) = &mut **expr else { return };
        let span = call.func.span();
        if let Some(label) = label {
            self.error(label.span(), "a rolled loop has no label: nothing breaks out of it");
        }
        if call.args.len() != 1 {
            self.error(span, "`rolled` takes one range: `for t in rolled(0..n)`");
        }
        match exit(body) {
            Some((span, "continue")) => self.error(
                span,
                "`continue` can not end a step of a rolled loop, whose body is run for all steps: write the rest of the body in an \
                 `if` of the opposite condition",
            ),
            Some((span, word)) => {
                let message = format!(
                    "`{word}` can not leave a rolled loop, whose body is run for all steps: `while_loop` ends by a condition, and \
                     a loop without `rolled` is Rust's own"
                );
                self.error(span, message);
            }
            None => {}
        }
        let mutable = |name: &Ident| self.scopes.find(name).is_some_and(Declared::is_mutable);
        let (carries, others): (Vec<_>, Vec<_>) = assigned(body).into_iter().partition(mutable);
        if carries.is_empty() {
            match others.iter().find_map(|name| Some((name, self.scopes.find(name)?))) {
                // For a parameter that is an array another error explains how to assign to it.
                Some((_, Declared::ByValue | Declared::ByReference)) => {}
                Some((name, _)) => {
                    self.error(name.span(), format!("`{name}` is assigned in a rolled loop: declare it `let mut {name}`"));
                }
                None => self.error(
                    span,
                    "this rolled loop assigns no `let mut` from outside, so that nothing would be left of it: assign what it \
                     carries from step to step, or collect values by `build` or `scan`",
                ),
            }
        }
        for change in changes_of_loop(body, &carries, &self.scopes) {
            let instead = match change.manner {
                Manner::Lent => "write an assignment, as `(a, b) = (b, a);` for a swap",
                _ => {
                    "what each step gives is stacked by `scan` or `build`; a loop that is written out, `for t in 0..n`, may \
                     collect"
                }
            };
            let message = format!(
                "a rolled loop changes nothing outside but what it assigns, and `{}` is changed in place: {instead}",
                change.name
            );
            self.error(change.name.span(), message);
        }
        let Some(range) = call.args.first_mut() else { return };
        self.rewrite(range, Position::Argument);
        by_its_ends(range);
        self.scopes.push_later(None);
        self.scopes.enter();
        self.scopes.declare_pattern(pat, Declared::Otherwise);
        self.scopes.declare_positions(pat);
        carries.iter().for_each(|name| self.scopes.declare(name, Declared::Mutable));
        // The carried variables are used when the body ends.
        self.scopes.push_later(Some(Uses::of_all(carries.iter().cloned())));
        self.block(body);
        self.scopes.pop_later();
        self.scopes.leave();
        self.scopes.pop_later();
        let carried = quote!((#(#carries,)*));
        let call = quote_spanned!(span=> ::deltaray::tensor::attribute::rolled(#range, #carried, |(#(mut #carries,)*), #pat| {
            #body
            #carried
        }));
        let span = for_token.span;
        // Variables that only the next step reads are assigned here as well.
        *expression = parse(quote_spanned!(span=> {
            let __after = #call;
            #[allow(unused_assignments)]
            { #carried = __after; }
        }));
    }

    pub fn while_loop(&mut self, expression: &mut Expr) {
        let Expr::While(found) = expression else { return };
        let pattern = contains_let(&found.cond);
        let mut again = Uses::of_block(&found.body);
        again.add(&Uses::of_expression(&found.cond));
        self.scopes.push_later(Some(again));
        self.scopes.enter();
        self.rewrite(&mut found.cond, Position::Argument);
        if !pattern {
            let (condition, span) = (&found.cond, found.cond.span());
            *found.cond =
                parse(quote_spanned!(span=> ::deltaray::tensor::attribute::PlainLoopCondition::holds(#condition)));
        }
        self.block(&mut found.body);
        self.scopes.leave();
        self.scopes.pop_later();
    }

    /// `loop`
    pub fn endless_loop(&mut self, found: &mut syn::ExprLoop) {
        self.scopes.push_later(Some(Uses::of_block(&found.body)));
        self.block(&mut found.body);
        self.scopes.pop_later();
    }
}

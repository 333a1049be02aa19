//! Methods: the roles of their arguments, by the methods' names.

use super::body::{Position, Rewriter, is_literal, is_place, parse};
use super::closures::of_checkpoints;
use super::names::variable;
use super::operators::is_float;
use super::scopes::Declared;
use super::uses::Uses;
use quote::quote_spanned;
use syn::Expr;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;

/// Methods of Rust's collections that change them: an element that one is called on stays a place.
const CHANGING: [&str; 38] = [
    "push",
    "push_back",
    "push_front",
    "push_str",
    "pop",
    "pop_back",
    "pop_front",
    "insert",
    "remove",
    "swap_remove",
    "extend",
    "extend_from_slice",
    "clear",
    "truncate",
    "resize",
    "reserve",
    "retain",
    "drain",
    "sort",
    "sort_by",
    "sort_by_key",
    "sort_unstable",
    "sort_unstable_by",
    "dedup",
    "swap",
    "rotate_left",
    "rotate_right",
    "fill",
    "copy_from_slice",
    "clone_from_slice",
    "clone_from",
    "iter_mut",
    "get_mut",
    "first_mut",
    "last_mut",
    "as_mut",
    "as_mut_slice",
    "entry",
];

/// Methods of Rust's collections and iterators that keep their arguments.
const KEEPING: [&str; 7] = ["push", "push_back", "push_front", "insert", "fold", "unwrap_or", "replace"];

/// Methods that take literals as operands, and that plain numbers don't have.
const OF_OPERANDS: [&str; 10] = ["pow", "xlogy", "logaddexp", "select", "lt", "le", "gt", "ge", "equal", "not_equal"];

/// Methods that treat their arrays like operands of operators: a variable among them that is used again stays in place.
const BORROWING: [&str; 23] = [
    "atan2",
    "dot",
    "equal",
    "floor_div",
    "ge",
    "gt",
    "hypot",
    "keep_zero",
    "le",
    "logaddexp",
    "lt",
    "max",
    "min",
    "modulo",
    "mul_add",
    "not_equal",
    "outer",
    "pow",
    "powf",
    "select",
    "shift_left",
    "shift_right",
    "xlogy",
];

impl Rewriter<'_> {
    pub fn method_call(&mut self, call: &mut syn::ExprMethodCall) {
        let method = call.method.to_string();
        if self.floats && ["min", "max"].contains(&&method[..]) && call.args.len() == 1 && is_float(&call.args[0]) {
            return self.extreme(call);
        }
        let is_kept = of_checkpoints(&call.receiver);
        if is_kept {
            self.check_closures(&method, &call.args);
        }
        let changing = CHANGING.contains(&&method[..]);
        let place = changing && matches!(&*call.receiver, Expr::Index(_) | Expr::Field(_));
        let gives_elements = self.refers(&call.receiver);
        // The receiver may be borrowed while arguments are computed.
        let receiver = Uses::beside(&call.receiver, &call.args);
        let mut later = Uses::default();
        call.args.iter().for_each(|argument| later.add(&Uses::of_expression(argument)));
        self.scopes.push_later(Some(later));
        self.rewrite(&mut call.receiver, if place { Position::Place } else { Position::Receiver });
        self.scopes.pop_later();
        if let Some(turbofish) = &mut call.turbofish {
            self.visit_angle_bracketed_generic_arguments_mut(turbofish);
        }
        let operands = OF_OPERANDS.contains(&&method[..]);
        let keeps = KEEPING.contains(&&method[..]);
        let borrows = BORROWING.contains(&&method[..]);
        // These take references.
        let refers = ["dot", "outer"].contains(&&method[..]);
        self.scopes.push_later(Some(receiver));
        let later = Uses::after_each(call.args.iter());
        for ((position, argument), later) in call.args.iter_mut().enumerate().zip(later) {
            if is_kept && matches!(argument, Expr::Closure(_)) {
                self.kept_closure(argument);
                continue;
            }
            let is_left = borrows && is_place(argument) && (refers || self.is_used_again(argument));
            // Checkpoints hand their first argument on.
            let is_carried = is_kept && position == 0;
            let position = match (keeps || is_carried, is_left) {
                (true, _) => Position::Value,
                (false, true) => Position::Operand,
                (false, false) => Position::Argument,
            };
            self.scopes.push_later(Some(later));
            match argument {
                Expr::Closure(closure) if gives_elements => self.closure(closure, Declared::Element, false),
                argument if operands && is_literal(argument) => self.literal(argument),
                argument => self.rewrite(argument, position),
            }
            self.scopes.pop_later();
        }
        self.scopes.pop_later();
    }

    /// The larger or smaller one of with a literal, which takes the type of the receiver.
    fn extreme(&mut self, call: &mut syn::ExprMethodCall) {
        self.rewrite(&mut call.receiver, Position::Reference);
        self.literal(&mut call.args[0]);
        let (receiver, span) = (&call.receiver, call.receiver.span());
        *call.receiver = parse(quote_spanned!(span=> ::deltaray::tensor::attribute::LiteralExtreme(&(#receiver))));
    }

    /// Whether a place is a variable, or in one, that is used again, and whose type is known where it is used.
    fn is_used_again(&self, place: &Expr) -> bool {
        match place {
            Expr::Field(field) => self.is_used_again(&field.base),
            Expr::Paren(inner) => self.is_used_again(&inner.expr),
            place => variable(place)
                .is_some_and(|name| self.scopes.find(name) != Some(Declared::Open) && self.scopes.is_used_again(name)),
        }
    }
}

//! Calls and closures: the closures that the library runs, and their restrictions.

use super::body::{Position, Rewriter, parse};
use super::effects::changes_of_closure;
use super::names::{bindings, variable};
use super::scopes::Declared;
use super::uses::Uses;
use quote::quote_spanned;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Pat, Token};

/// Functions of the library that keep their first argument, and hand it on from step to step.
const CARRYING: [&str; 6] = ["scan", "scan_reverse", "fold", "fold_reverse", "iterate", "while_loop"];

/// Functions of the library that run a closure for each element or step.
const REPEATING: [&str; 19] = [
    "build",
    "scan",
    "scan_reverse",
    "fold",
    "fold_reverse",
    "iterate",
    "while_loop",
    "reduce",
    "reduce_axis",
    "reduce_by_index",
    "reduce_by_index_axis",
    "reduce_segments",
    "reduce_segments_axis",
    "associative_scan",
    "associative_scan_axis",
    "associative_scan_reverse",
    "associative_scan_reverse_axis",
    "vmap",
    "vmap_axes",
];

/// The last part of a function's path.
fn function_name(function: &Expr) -> Option<String> {
    match function {
        Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// Whether an expression is one of `Checkpoints`, whose methods run closures as the functions of their names do.
pub fn of_checkpoints(receiver: &Expr) -> bool {
    match receiver {
        Expr::Path(path) => path.path.segments.iter().any(|segment| segment.ident == "Checkpoints"),
        Expr::Call(call) => of_checkpoints(&call.func),
        Expr::Paren(inner) => of_checkpoints(&inner.expr),
        _ => false,
    }
}

/// The reason that a closure of a library function may change nothing outside of it, and the alternative.
fn reason(function: &str) -> Option<&'static str> {
    Some(match function {
        "cond" => {
            "where the function is staged both closures run; what they compute is what `cond` results in, and an `if` by \
             an array, `if c { y[0] = v; }`, chooses between what its blocks assign"
        }
        "checkpoint" => "it runs again for the derivative; what it computes is what it results in",
        _ if REPEATING.contains(&function) => {
            "where the function is staged it runs once, for all elements or steps; what it results in is stacked, by \
             `build` or `scan`, and what goes from step to step is carried, by `scan` or `for t in rolled(0..n)`"
        }
        _ if super::lifting::entrance(function).is_some() => {
            "it computes with the arrays of the derivative; an array that it changes is its own, `let mut y = y;`, and what \
             it computes beside its value is returned, by `grad_aux`, `vjp_aux` or `jvp_aux`"
        }
        _ => return None,
    })
}

/// A closure of `cond`, which may not change its captures even in ways that syntax does not show.
fn side(argument: &mut Expr) {
    let span = argument.span();
    *argument = parse(quote_spanned!(span=> ::deltaray::tensor::attribute::side(#argument)));
}

impl Rewriter<'_> {
    /// Whether a function is one of the library: by its name alone where nothing inside hides that, or by its path. Another
    /// path says that it may be another function.
    fn is_of_library(&self, function: &Expr) -> bool {
        let Expr::Path(path) = function else { return false };
        match variable(function) {
            Some(name) => self.scopes.find(name).is_none() && !self.scopes.has_function(name),
            None => {
                let first = path.path.segments.first().map(|segment| segment.ident.to_string());
                first.is_some_and(|first| ["deltaray", "tensor", "derivative", "prelude"].contains(&&first[..]))
            }
        }
    }

    /// Reports outside variables that are changed by closures which the library runs.
    pub fn check_closures(&mut self, name: &str, arguments: &Punctuated<Expr, Token![,]>) {
        let Some(reason) = reason(name) else { return };
        for argument in arguments {
            let Expr::Closure(closure) = argument else { continue };
            // A `move` closure that runs once owns its captures.
            if name == "cond" && closure.capture.is_some() {
                continue;
            }
            for change in changes_of_closure(closure, &self.scopes) {
                let message = format!(
                    "a closure of `{name}` changes nothing outside of it, and `{}` is outside: {reason}",
                    change.name
                );
                self.error(change.name.span(), message);
            }
        }
    }

    /// A closure, how its parameters are declared that have no type, and whether they are positions.
    pub fn closure(&mut self, closure: &mut syn::ExprClosure, untyped: Declared, positions: bool) {
        if let Some(token) = &closure.asyncness {
            self.error(token.span, "an `async` closure is not differentiable: wait before the function");
        }
        // It may be called again.
        self.scopes.push_later(None);
        let outer = self.scopes.enter_closure();
        for parameter in &mut closure.inputs {
            if let Pat::Type(typed) = parameter {
                self.visit_type_mut(&mut typed.ty);
            }
            self.scopes
                .declare_pattern(parameter, if untyped == Declared::Open { Declared::Otherwise } else { untyped });
            if let Pat::Ident(name) = parameter
                && name.mutability.is_none()
            {
                self.scopes.declare(&name.ident, untyped);
            }
            if positions {
                self.scopes.declare_positions(parameter);
            }
        }
        if let syn::ReturnType::Type(_, ty) = &mut closure.output {
            self.visit_type_mut(ty);
        }
        self.tail(&mut closure.body);
        self.scopes.leave_closure(outer);
        self.scopes.pop_later();
    }

    pub fn call(&mut self, expression: &mut Expr) {
        let Expr::Call(call) = expression else { return };
        let name = function_name(&call.func);
        match &mut *call.func {
            Expr::Path(path) => visit_mut::visit_expr_path_mut(self, path),
            function => self.rewrite(function, Position::Receiver),
        }
        let name = name.unwrap_or_default();
        if name == "rolled" {
            let message = "`rolled` stands after `in` only: `for t in rolled(0..n) { .. }`";
            self.error(call.func.span(), message);
        }
        let library = self.is_of_library(&call.func);
        if library {
            self.check_closures(&name, &call.args);
        }
        if let Some(entrance) = super::lifting::entrance(&name) {
            if let Some(Expr::Closure(_)) = call.args.first() {
                return self.differentiated(expression, entrance);
            }
            return call.args.iter_mut().for_each(|argument| self.arguments(argument));
        }
        // A struct or variant keeps its arguments.
        let keeps = name.starts_with(char::is_uppercase);
        let carries = CARRYING.contains(&&name[..]);
        if keeps {
            return self.elements(&mut call.args);
        }
        let later = Uses::after_each(call.args.iter());
        for ((position, argument), later) in call.args.iter_mut().enumerate().zip(later) {
            if let Expr::Closure(closure) = argument
                && library
                && name == "build"
            {
                self.closure(closure, Declared::Otherwise, true);
                continue;
            }
            if library && name == "checkpoint" && matches!(argument, Expr::Closure(_)) {
                self.kept_closure(argument);
                continue;
            }
            self.scopes.push_later(Some(later));
            self.rewrite(argument, if carries && position == 0 { Position::Value } else { Position::Argument });
            self.scopes.pop_later();
        }
        // A function of this name of the user's takes no such closures.
        let is_side = |argument: &Expr| matches!(argument, Expr::Closure(closure) if closure.inputs.is_empty());
        if library && name == "cond" && call.args.len() == 3 && call.args.iter().any(is_side) {
            call.args.iter_mut().skip(1).for_each(side);
        }
    }

    /// Declares the bindings of a pattern inside of a closure.
    pub fn bound_by(patterns: &Punctuated<Pat, Token![,]>) -> Vec<String> {
        patterns.iter().flat_map(bindings).map(|(name, _)| name.to_string()).collect()
    }
}

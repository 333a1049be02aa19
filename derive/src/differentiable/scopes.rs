//! Which variables are in scope, and how they were declared.

use super::names::{Used, bindings, identifiers, variable};
use super::uses::Uses;
use proc_macro2::Ident;
use std::collections::{HashMap, HashSet};
use syn::visit::Visit;
use syn::{Expr, Member, Pat};

/// How a variable was declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declared {
    /// As a parameter by value, which is passed by reference.
    ByValue,
    /// As a parameter that is a reference to a tree.
    ByReference,
    /// By `let mut`, as a literal.
    Number,
    /// By `let mut`, or as another pattern with `mut`.
    Mutable,
    /// As the parameter of a closure that is kept in a variable, so that its type may not be known yet.
    Open,
    /// As a reference, or by a construct that may bind one: a loop, a closure's parameters, or a pattern of `match` or
    /// `if let`.
    Element,
    /// In any other way.
    Otherwise,
}

impl Declared {
    /// By a pattern on a value that may be a reference or not.
    pub fn by_pattern(refers: bool) -> Declared {
        if refers { Declared::Element } else { Declared::Otherwise }
    }

    /// Whether it may be assigned.
    pub fn is_mutable(self) -> bool {
        matches!(self, Declared::Mutable | Declared::Number)
    }
}

/// The variables in scope, innermost last.
#[derive(Default)]
pub struct Scopes {
    stack: Vec<HashMap<String, Declared>>,
    /// The uses after the current expression, and the number of scopes to whose variables they belong.
    later: Later,
    /// Names that the current statement and those around it use more than once, with the number of scopes outside.
    repeated: Vec<(usize, HashSet<Ident>)>,
    /// The names of functions that are declared or imported inside.
    functions: HashSet<String>,
    /// The number of scopes outside of the innermost closure.
    outside: usize,
    /// Variables that are positions of loops and builds, or computed from such: by their scope and name.
    positions: HashSet<(usize, String)>,
}

/// Uses, or all that there can be, and the number of scopes whose variables they are of.
pub type Later = Vec<(usize, Option<Uses>)>;

impl Scopes {
    pub fn enter(&mut self) {
        self.stack.push(HashMap::new());
    }

    pub fn leave(&mut self) {
        self.stack.pop();
        let left = self.stack.len();
        self.positions.retain(|(depth, _)| *depth < left);
    }

    /// Enters a closure; the result is for [`Scopes::leave_closure`].
    pub fn enter_closure(&mut self) -> usize {
        let outer = std::mem::replace(&mut self.outside, self.stack.len());
        self.enter();
        outer
    }

    pub fn leave_closure(&mut self, outer: usize) {
        self.leave();
        self.outside = outer;
    }

    /// Whether a variable is from outside of the innermost closure.
    pub fn is_captured(&self, name: &Ident) -> bool {
        self.find_depth(name).is_some_and(|(depth, _)| depth < self.outside)
    }

    pub fn declare(&mut self, name: &Ident, declared: Declared) {
        if self.stack.is_empty() {
            self.enter();
        }
        if let Some(scope) = self.stack.last_mut() {
            scope.insert(name.to_string(), declared);
            self.positions.remove(&(self.stack.len() - 1, name.to_string()));
        }
    }

    /// Says that the names that a pattern binds, which were declared last, are positions of a loop or build.
    pub fn declare_positions(&mut self, pattern: &Pat) {
        let depth = self.stack.len().saturating_sub(1);
        self.positions.extend(bindings(pattern).into_iter().map(|(name, _)| (depth, name.to_string())));
    }

    /// Whether an expression is computed from a position of a loop or build, and so is an array without axes.
    pub fn moves(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Path(_) => variable(expression).is_some_and(|name| {
                let found = self.find_depth(name);
                found.is_some_and(|(depth, _)| self.positions.contains(&(depth, name.to_string())))
            }),
            Expr::Paren(inner) => self.moves(&inner.expr),
            Expr::Group(inner) => self.moves(&inner.expr),
            Expr::Reference(inner) => self.moves(&inner.expr),
            Expr::Unary(inner) => self.moves(&inner.expr),
            Expr::Cast(inner) => self.moves(&inner.expr),
            Expr::Binary(binary) => self.moves(&binary.left) || self.moves(&binary.right),
            Expr::MethodCall(call) => {
                let gives_a_position = ["min", "max", "clone"].iter().any(|name| call.method == name);
                gives_a_position
                    && (self.moves(&call.receiver) || call.args.iter().any(|argument| self.moves(argument)))
            }
            // An element of an array.
            Expr::Index(index) => self.moves(&index.index),
            Expr::Tuple(tuple) => tuple.elems.iter().any(|element| self.moves(element)),
            _ => false,
        }
    }

    /// Declares all names that a pattern binds, in this way unless they are mutable.
    pub fn declare_pattern(&mut self, pattern: &Pat, declared: Declared) {
        for (name, mutable) in bindings(pattern) {
            self.declare(&name, if mutable { Declared::Mutable } else { declared });
        }
    }

    /// Notes the functions among the items of a block, which hide those of the same name from outside.
    pub fn note_functions(&mut self, statements: &[syn::Stmt]) {
        for statement in statements {
            match statement {
                syn::Stmt::Item(syn::Item::Fn(function)) => {
                    self.functions.insert(function.sig.ident.to_string());
                }
                syn::Stmt::Item(syn::Item::Use(imported)) => {
                    let mut names = Vec::new();
                    identifiers(quote::ToTokens::to_token_stream(&imported.tree), &mut names);
                    self.functions.extend(names.iter().map(Ident::to_string));
                }
                _ => {}
            }
        }
    }

    /// Whether a function of this name is declared or imported inside.
    pub fn has_function(&self, name: &Ident) -> bool {
        self.functions.contains(&name.to_string())
    }

    pub fn find(&self, name: &Ident) -> Option<Declared> {
        self.find_depth(name).map(|(_, declared)| declared)
    }

    /// How a variable was declared, and in which of the scopes.
    fn find_depth(&self, name: &Ident) -> Option<(usize, Declared)> {
        let name = name.to_string();
        let found = self.stack.iter().enumerate().rev();
        found.into_iter().find_map(|(depth, scope)| scope.get(&name).map(|&declared| (depth, declared)))
    }

    /// From here on, variables of the scopes that there are now will be used later: these, or all.
    pub fn push_later(&mut self, uses: Option<Uses>) {
        self.later.push((self.stack.len(), uses));
    }

    /// A statement is rewritten from here on.
    pub fn enter_statement(&mut self, statement: &syn::Stmt) {
        let mut used = Used(Vec::new());
        used.visit_stmt(statement);
        let mut found = HashSet::new();
        let is_repeated = |name: &Ident| !found.insert(name.clone());
        self.repeated.push((self.stack.len(), used.0.into_iter().filter(is_repeated).collect()));
    }

    /// The statement that was entered last is done.
    pub fn leave_statement(&mut self) {
        self.repeated.pop();
    }

    /// Whether a variable is used later, or elsewhere in a statement that it was declared before.
    pub fn is_used_again(&self, name: &Ident) -> bool {
        let Some((depth, _)) = self.find_depth(name) else { return false };
        let is_repeated = |(outside, names): &(usize, HashSet<Ident>)| depth < *outside && names.contains(name);
        self.is_used_later(name) || self.repeated.iter().any(is_repeated)
    }

    /// Nothing is used later any more, until that is restored.
    pub fn take_later(&mut self) -> Later {
        std::mem::take(&mut self.later)
    }

    pub fn restore_later(&mut self, later: Later) {
        self.later = later;
    }

    pub fn pop_later(&mut self) {
        self.later.pop();
    }

    /// Whether a variable, or a field of it, is used after the current expression.
    pub fn is_used_later(&self, name: &Ident) -> bool {
        self.has_later(name, |uses| uses.has(name))
    }

    /// Whether a variable as a whole, or this field of it, is used after the current expression.
    pub fn is_field_used_later(&self, name: &Ident, member: &Member) -> bool {
        self.has_later(name, |uses| uses.has_field(name, member))
    }

    fn has_later(&self, name: &Ident, has: impl Fn(&Uses) -> bool) -> bool {
        let Some((depth, _)) = self.find_depth(name) else { return false };
        let mut later = self.later.iter().filter(|(scopes, _)| depth < *scopes);
        later.any(|(_, uses)| uses.as_ref().is_none_or(&has))
    }
}

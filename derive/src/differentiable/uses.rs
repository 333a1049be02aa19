//! Which variables code uses, as a whole or by fields.

use super::names::{bindings, formatted, identifiers};
use proc_macro2::Ident;
use quote::ToTokens;
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Member, Stmt};

/// The variables that something uses.
#[derive(Clone, Default)]
pub struct Uses {
    whole: HashSet<Ident>,
    fields: HashSet<(Ident, String)>,
}

impl Uses {
    pub fn of_expression(expression: &Expr) -> Uses {
        let mut uses = Uses::default();
        uses.visit_expr(expression);
        uses
    }

    pub fn of_block(block: &Block) -> Uses {
        let mut uses = Uses::default();
        uses.visit_block(block);
        uses
    }

    /// The uses of earlier variables by the statements from each position on.
    pub fn from_each(statements: &[Stmt]) -> Vec<Uses> {
        let mut uses = vec![Uses::default(); statements.len() + 1];
        for (position, statement) in statements.iter().enumerate().rev() {
            let mut later = uses[position + 1].clone();
            if let Stmt::Local(local) = statement {
                bindings(&local.pat).iter().for_each(|(name, _)| later.remove(name));
            }
            later.visit_stmt(statement);
            uses[position] = later;
        }
        uses
    }

    /// For each of expressions that are evaluated one after the other, the uses of those after it.
    pub fn after_each<'a>(expressions: impl Iterator<Item = &'a Expr>) -> Vec<Uses> {
        let expressions: Vec<&Expr> = expressions.collect();
        let mut uses = Uses::default();
        let mut after: Vec<Uses> = Vec::new();
        for (at, expression) in expressions.into_iter().enumerate().rev() {
            after.push(uses.clone());
            // Nothing comes before the first: calls in calls are gone through once.
            if at > 0 {
                uses.visit_expr(expression);
            }
        }
        after.reverse();
        after
    }

    /// The uses of an expression that matter while others are rewritten: none where nothing in them is moved, so that going through
    /// long chains of operators stays linear.
    pub fn beside<'a>(expression: &Expr, others: impl IntoIterator<Item = &'a Expr>) -> Uses {
        match others.into_iter().all(is_simple) {
            true => Uses::default(),
            false => Uses::of_expression(expression),
        }
    }

    /// Uses of variables as wholes.
    pub fn of_all(names: impl IntoIterator<Item = Ident>) -> Uses {
        Uses { whole: names.into_iter().collect(), fields: HashSet::new() }
    }

    pub fn add(&mut self, other: &Uses) {
        self.whole.extend(other.whole.iter().cloned());
        self.fields.extend(other.fields.iter().cloned());
    }

    pub fn remove(&mut self, name: &Ident) {
        self.whole.remove(name);
        self.fields.retain(|(variable, _)| variable != name);
    }

    /// Whether a variable is used, or a field of it.
    pub fn has(&self, name: &Ident) -> bool {
        self.whole.contains(name) || self.fields.iter().any(|(variable, _)| variable == name)
    }

    /// Whether a variable is used as a whole, or this field of it.
    pub fn has_field(&self, name: &Ident, member: &Member) -> bool {
        self.whole.contains(name) || self.fields.contains(&(name.clone(), text(member)))
    }
}

/// Whether nothing in an expression is moved: a variable, a literal, and parts, references and operators of such.
pub fn is_simple(expression: &Expr) -> bool {
    match expression {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Field(field) => is_simple(&field.base),
        Expr::Unary(unary) => is_simple(&unary.expr),
        Expr::Binary(binary) => is_simple(&binary.right) && is_simple(&binary.left),
        Expr::MethodCall(call) => call.args.is_empty() && is_simple(&call.receiver),
        Expr::Reference(reference) => is_simple(&reference.expr),
        Expr::Index(index) => is_simple(&index.expr) && is_simple(&index.index),
        Expr::Paren(inner) => is_simple(&inner.expr),
        Expr::Group(inner) => is_simple(&inner.expr),
        _ => false,
    }
}

fn text(member: &Member) -> String {
    member.to_token_stream().to_string()
}

/// The variable that a field is in, perhaps of others, and the outermost field.
pub fn field_of(field: &syn::ExprField) -> Option<(&Ident, &Member)> {
    match &*field.base {
        Expr::Field(base) => field_of(base),
        Expr::Path(path) => path.path.get_ident().map(|name| (name, &field.member)),
        _ => None,
    }
}

impl<'a> Visit<'a> for Uses {
    fn visit_expr_field(&mut self, field: &'a syn::ExprField) {
        match field_of(field) {
            Some((name, member)) => {
                self.fields.insert((name.clone(), text(member)));
            }
            None => visit::visit_expr_field(self, field),
        }
    }
    fn visit_expr_path(&mut self, path: &'a syn::ExprPath) {
        self.whole.extend(path.path.get_ident().cloned());
        visit::visit_expr_path(self, path);
    }
    fn visit_macro(&mut self, found: &'a syn::Macro) {
        let mut names = Vec::new();
        identifiers(found.tokens.clone(), &mut names);
        formatted(found.tokens.clone(), &mut names);
        self.whole.extend(names);
    }
    fn visit_item(&mut self, _: &'a syn::Item) {}
}

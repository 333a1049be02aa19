//! Which variables code uses, as a whole or by fields.

use super::scopes::{bindings, formatted, identifiers};
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

    /// The uses of statements from each position on, of what is declared before them.
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
    pub fn after_each<'a>(expressions: impl DoubleEndedIterator<Item = &'a Expr>) -> Vec<Uses> {
        let mut uses = Uses::default();
        let mut after: Vec<Uses> = Vec::new();
        for expression in expressions.rev() {
            after.push(uses.clone());
            uses.visit_expr(expression);
        }
        after.reverse();
        after
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

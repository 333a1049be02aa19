//! The names in code: which a pattern binds, and which an expression uses.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Expr, Pat};

/// The names that a pattern binds, and whether by `mut`.
pub fn bindings(pattern: &Pat) -> Vec<(Ident, bool)> {
    struct Names(Vec<(Ident, bool)>);
    impl<'a> Visit<'a> for Names {
        fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
            // Constants and variants without fields begin with a capital.
            let constant = pattern.ident.to_string().starts_with(char::is_uppercase);
            if !constant || pattern.mutability.is_some() || pattern.subpat.is_some() {
                self.0.push((pattern.ident.clone(), pattern.mutability.is_some()));
            }
            syn::visit::visit_pat_ident(self, pattern);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut names = Names(Vec::new());
    names.visit_pat(pattern);
    names.0
}

/// The variable of an expression, if it is nothing else.
pub fn variable(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        Expr::Paren(inner) => variable(&inner.expr),
        Expr::Group(inner) => variable(&inner.expr),
        _ => None,
    }
}

/// The variable that a place is a part of, by fields and indices.
pub fn root(place: &Expr) -> Option<&Ident> {
    match place {
        Expr::Field(field) => root(&field.base),
        Expr::Index(index) => root(&index.expr),
        Expr::Paren(inner) => root(&inner.expr),
        Expr::Group(inner) => root(&inner.expr),
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => root(expr),
        _ => variable(place),
    }
}

/// The identifiers among tokens, those in groups included.
pub fn identifiers(tokens: TokenStream, found: &mut Vec<Ident>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => found.push(ident),
            TokenTree::Group(group) => identifiers(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The variables that formats among tokens name inside of the text: `{x}`, `{x:?}`, `{:width$}`.
pub fn formatted(tokens: TokenStream, found: &mut Vec<Ident>) {
    for token in tokens {
        let literal = match token {
            TokenTree::Group(group) => {
                formatted(group.stream(), found);
                continue;
            }
            TokenTree::Literal(literal) => literal,
            _ => continue,
        };
        let span = literal.span();
        let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) else { continue };
        let text = text.value().replace("{{", "");
        for part in text.split('{').skip(1) {
            let Some((place, _)) = part.split_once('}') else { continue };
            let (name, format) = place.split_once(':').unwrap_or((place, ""));
            // A width or precision ends with a dollar sign. It begins after the last character that can't be in a name.
            let widths =
                format.split('$').map(|part| part.rsplit(|it: char| !it.is_alphanumeric() && it != '_').next());
            let count = format.matches('$').count();
            for name in [Some(name)].into_iter().chain(widths.take(count)).flatten() {
                if let Ok(mut name) = syn::parse_str::<Ident>(name.trim()) {
                    name.set_span(span);
                    found.push(name);
                }
            }
        }
    }
}

/// The names of paths, and any in a macro.
pub struct Used(pub Vec<Ident>);

impl<'a> Visit<'a> for Used {
    fn visit_expr_path(&mut self, path: &'a syn::ExprPath) {
        if let Some(name) = path.path.get_ident() {
            self.0.push(name.clone());
        }
        syn::visit::visit_expr_path(self, path);
    }
    fn visit_macro(&mut self, found: &'a syn::Macro) {
        identifiers(found.tokens.clone(), &mut self.0);
        formatted(found.tokens.clone(), &mut self.0);
    }
    fn visit_item(&mut self, _: &'a syn::Item) {}
}

/// The names that an expression uses.
pub fn used(expression: &Expr) -> Vec<Ident> {
    let mut used = Used(Vec::new());
    used.visit_expr(expression);
    used.0
}

/// Whether an expression uses a variable.
pub fn uses(expression: &Expr, name: &Ident) -> bool {
    used(expression).contains(name)
}

//! How patterns bind.

use syn::{Expr, Pat};

/// Whether a pattern is a literal, or several.
pub fn is_of_literals(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(_) | Pat::Range(_) => true,
        Pat::Or(cases) => cases.cases.iter().any(is_of_literals),
        Pat::Paren(inner) => is_of_literals(&inner.pat),
        _ => false,
    }
}

/// Whether a pattern binds by `ref mut`.
pub fn refers_mutably(pattern: &Pat) -> bool {
    binds_by(pattern, |name| name.by_ref.is_some() && name.mutability.is_some())
}

/// Whether a pattern binds something by reference.
pub fn refers(pattern: &Pat) -> bool {
    binds_by(pattern, |name| name.by_ref.is_some())
}

/// Whether a pattern has a name that is bound in such a way.
fn binds_by(pattern: &Pat, is_so: impl Fn(&syn::PatIdent) -> bool) -> bool {
    use syn::visit::Visit;
    struct Names<F>(F, bool);
    impl<'a, F: Fn(&syn::PatIdent) -> bool> Visit<'a> for Names<F> {
        fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
            self.1 |= (self.0)(pattern);
            syn::visit::visit_pat_ident(self, pattern);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut names = Names(is_so, false);
    names.visit_pat(pattern);
    names.1
}

//! Closures of derivatives: what they use from outside enters by `lift`.

use super::body::{Rewriter, parse};
use super::scopes::identifiers;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;

/// The way into the closure of a function of this name.
pub fn entrance(function: &str) -> Option<&'static str> {
    Some(match function {
        "grad" | "grad_aux" | "value_and_grad" | "value_and_grad_aux" | "vjp" | "vjp_aux" | "vjp_batch" | "jacrev" => {
            "Reverse"
        }
        "jvp" | "jvp_aux" | "jvp_batch" | "jacfwd" => "Forward",
        "hessian" | "hvp" => "Second",
        "linearize" => "Linear",
        _ => return None,
    })
}

/// The algebra inside.
fn inner(algebra: &TokenStream, entrance: &str) -> TokenStream {
    let of = |algebra: &TokenStream, name: &str| {
        let name = Ident::new(name, Span::call_site());
        quote!(<#algebra as ::deltaray::algebra::Algebra>::#name)
    };
    match entrance {
        "Reverse" => of(algebra, "Nested"),
        "Forward" => of(algebra, "Forward"),
        "Second" => of(&of(algebra, "Forward"), "Nested"),
        _ => of(&of(algebra, "Nested"), "Nested"),
    }
}

/// The names that an expression uses: those of paths, and any in a macro.
fn used(expression: &Expr) -> Vec<Ident> {
    struct Used(Vec<Ident>);
    impl<'a> Visit<'a> for Used {
        fn visit_expr_path(&mut self, path: &'a syn::ExprPath) {
            if let Some(name) = path.path.get_ident() {
                self.0.push(name.clone());
            }
            visit::visit_expr_path(self, path);
        }
        fn visit_macro(&mut self, found: &'a syn::Macro) {
            identifiers(found.tokens.clone(), &mut self.0);
        }
        fn visit_item(&mut self, _: &'a syn::Item) {}
    }
    let mut used = Used(Vec::new());
    used.visit_expr(expression);
    used.0
}

/// Gives `self` another name, which a variable can have.
struct Renamed;

impl VisitMut for Renamed {
    fn visit_expr_path_mut(&mut self, path: &mut syn::ExprPath) {
        if path.path.is_ident("self") {
            let name = Ident::new("__self", path.span());
            path.path = name.into();
        }
    }
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

impl Rewriter<'_> {
    /// A closure that is differentiated: what it uses from outside is lifted before it.
    pub fn differentiated(&mut self, expression: &mut Expr, entrance: &str) {
        let mut names: Vec<Ident> = Vec::new();
        {
            let Expr::Closure(closure) = &*expression else { return };
            let own = Rewriter::bound_by(&closure.inputs);
            for name in used(&closure.body) {
                let outer = self.scopes.find(&name).is_some() && !own.contains(&name.to_string());
                if outer && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let outside = self.algebra.clone();
        self.algebra = inner(&outside, entrance);
        self.rewrite(expression, super::body::Position::Argument);
        self.algebra = outside.clone();
        let Expr::Closure(closure) = expression else { return };
        if names.is_empty() {
            return;
        }
        if names.iter().any(|name| name == "self") {
            Renamed.visit_expr_mut(&mut closure.body);
        }
        let kind = format_ident!("{entrance}");
        let (mut before, mut inside) = (TokenStream::new(), TokenStream::new());
        for name in &names {
            let span = name.span();
            let inner = if name == "self" { Ident::new("__self", span) } else { name.clone() };
            before.extend(quote_spanned! {span=>
                let #inner = (&&&&&::deltaray::tensor::attribute::Lift::<#outside, ::deltaray::tensor::attribute::#kind, _>(
                    &#name,
                    ::core::marker::PhantomData,
                )).lifted();
            });
            inside.extend(quote_spanned! {span=>
                #[allow(unused_variables)]
                let #inner = #inner.inside();
            });
        }
        closure.capture = Some(Default::default());
        let (body, span) = (&closure.body, closure.body.span());
        *closure.body = parse(quote_spanned!(span=> { #inside #body }));
        *expression = parse(quote_spanned!(span=> { #before #closure }));
    }
}

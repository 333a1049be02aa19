//! Closures of derivatives: their outside variables enter by `lift`. Closures that are kept own handles on these.

use super::body::{Rewriter, parse};
use super::names::used;
use super::scopes::Declared;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned;
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
        "Kept" => algebra.clone(),
        _ => of(&of(algebra, "Nested"), "Nested"),
    }
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
    /// A call that differentiates a closure: its outside variables are lifted before, once the other arguments are there, which
    /// are of the algebra outside.
    pub fn differentiated(&mut self, expression: &mut Expr, entrance: &str) {
        let Expr::Call(call) = expression else { return };
        let mut arguments = call.args.iter_mut();
        let Some(Expr::Closure(closure)) = arguments.next() else { return };
        arguments.for_each(|argument| self.arguments(argument));
        let before = self.entering(closure, entrance, |_| true);
        if before.is_empty() {
            return;
        }
        let (function, closure) = (&call.func, &call.args[0]);
        let others: Vec<&Expr> = call.args.iter().skip(1).collect();
        let given: Vec<Ident> = (0..others.len()).map(|position| format_ident!("__argument_{position}")).collect();
        let span = function.span();
        // Temporaries among the arguments live as long as a `match` on them.
        *expression = parse(quote_spanned! {span=>
            match (#(#others,)*) { (#(#given,)*) => { #before #function(#closure, #(#given),*) } }
        });
    }

    /// A closure that the library keeps, to run it again for a derivative: it owns handles on the outside variables that it
    /// uses. Variables that a `move` closure moves are its own; parameters, which are references, are not.
    pub fn kept_closure(&mut self, expression: &mut Expr) {
        let Expr::Closure(closure) = expression else { return };
        let moves = closure.capture.is_some();
        let is_parameter = |declared: Declared| matches!(declared, Declared::ByValue | Declared::ByReference);
        let before = self.entering(closure, "Kept", |declared| !moves || is_parameter(declared));
        let span = expression.span();
        *expression = parse(quote_spanned!(span=> { #before #expression }));
    }

    /// Rewrites a closure into one that owns those variables from outside that enter, which they do this way; the tokens go before.
    fn entering(
        &mut self,
        closure: &mut syn::ExprClosure,
        entrance: &str,
        enters: impl Fn(Declared) -> bool,
    ) -> TokenStream {
        let own = Rewriter::bound_by(&closure.inputs);
        let mut names: Vec<Ident> = Vec::new();
        for name in used(&closure.body) {
            let outer = self.scopes.find(&name).is_some_and(&enters) && !own.contains(&name.to_string());
            if outer && !names.contains(&name) {
                names.push(name);
            }
        }
        let outside = self.algebra.clone();
        self.algebra = inner(&outside, entrance);
        self.closure(closure, Declared::Element, false);
        self.algebra = outside.clone();
        if names.iter().any(|name| name == "self") {
            Renamed.visit_expr_mut(&mut closure.body);
        }
        let kind = format_ident!("{entrance}");
        let (mut before, mut inside) = (TokenStream::new(), TokenStream::new());
        for name in &names {
            let span = name.span();
            let inner = if name == "self" { Ident::new("__self", span) } else { name.clone() };
            before.extend(quote_spanned! {span=>
                let #inner = (&&&&&&::deltaray::tensor::attribute::Lift::<#outside, ::deltaray::tensor::attribute::#kind, _>(
                    &#name,
                    ::core::marker::PhantomData,
                )).lifted();
            });
            inside.extend(quote_spanned! {span=>
                #[allow(unused_variables)]
                let #inner = #inner.inside();
            });
        }
        if !names.is_empty() {
            closure.capture = Some(Default::default());
            let (body, span) = (&closure.body, closure.body.span());
            *closure.body = parse(quote_spanned!(span=> { #inside #body }));
        }
        before
    }
}

//! `#[differentiable]`: plain code of arrays, made generic over the algebra.
//!
//! Tokens go one way: [`groups`] opens the arguments of macros, [`signature`] makes the function generic, [`body`],
//! [`operators`], [`indices`], [`assignments`], [`plain`], [`statements`], [`loops`], [`closures`] and [`lifting`] rewrite
//! expressions by their position, and [`value`] adds the struct that is the function as a value. Nothing here differentiates.

mod assignments;
mod body;
mod closures;
mod effects;
mod groups;
mod indices;
mod lifting;
mod loops;
mod methods;
mod names;
mod operators;
mod patterns;
mod plain;
mod scopes;
mod signature;
mod statements;
mod types;
mod uses;
mod value;

use body::Rewriter;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use signature::{Retyped, algebra, retype};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Error, ImplItem, Item, ItemFn, ItemImpl, Result, Signature};

/// Lints that code written for both kinds of values would trigger.
fn allowances() -> TokenStream {
    quote! {
        #[allow(
            unused_assignments,
            unused_parens,
            unused_braces,
            clippy::style,
            clippy::complexity,
            clippy::perf,
        )]
    }
}

/// Traits with the methods for values that are not arrays.
fn imports() -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use ::deltaray::tensor::attribute::{
            AssignByRust as _, ByClone as _, ByCopy as _, ByReference as _, CastByRust as _, CompareByRust as _, ConditionOfAnotherType as _, ExtremeOfNumber as _,
            IndexByRust as _,
            IteratedByRust as _, MatchedByRust as _, OfReference as _, OfSlice as _, OfTree as _, OwnedByClone as _, OwnedByTree as _, OwnedTree as _,
            TruthOfAnotherType as _, UsedArray as _, UsedCopy as _, UsedReference as _,
        };
    }
}

/// The rewritten body of a function with this signature.
fn rewritten(retyped: &mut Retyped, block: &Block) -> Result<TokenStream> {
    let mut rewriter = Rewriter {
        scopes: std::mem::take(&mut retyped.scopes),
        algebra: retyped.algebra.to_token_stream(),
        parameter: &retyped.algebra,
        generics: &retyped.generics,
        trees: &retyped.trees,
        floats: retyped.floats,
        errors: Vec::new(),
    };
    let mut statements = block.stmts.clone();
    rewriter.statements(&mut statements);
    if let Some(error) = rewriter.finish() {
        return Err(error);
    }
    let (imports, prelude) = (imports(), &retyped.prelude);
    Ok(quote!({ #imports #(#prelude)* #(#statements)* }))
}

/// A function, and beside it the function as a value.
fn function(item: ItemFn) -> Result<TokenStream> {
    let ItemFn { mut attrs, vis, sig, block } = item;
    // Attributes inside of the braces move before the function, where they mean the same.
    attrs.iter_mut().for_each(|attribute| attribute.style = syn::AttrStyle::Outer);
    let mut retyped = retype(sig, None)?;
    // After an error the function still exists, so that its callers have no errors.
    let (body, error) = match rewritten(&mut retyped, &block) {
        Ok(body) => (body, None),
        Err(error) => (quote!({ ::core::unreachable!() }), Some(error.to_compile_error())),
    };
    let unused = error.as_ref().map(|_| quote!(#[allow(unused_variables)]));
    let value = value::array_fn(&attrs, &vis, &retyped);
    let (signature, allowances, entered) = (&retyped.signature, allowances(), value::entered(&retyped));
    Ok(quote! {
        #(#attrs)*
        #allowances
        #unused
        #vis #signature {
            #entered
            #body
        }
        #value
        #error
    })
}

/// A block of methods.
fn block(mut item: ItemImpl) -> Result<TokenStream> {
    let over = algebra(&item.generics);
    let mut names = Vec::new();
    names::identifiers(item.self_ty.to_token_stream(), &mut names);
    if over.is_none() && names.iter().any(|name| name == "Concrete") {
        let message = format!("methods are over the algebra of their type: write `impl<A: Algebra> {}<A>`", names[0]);
        return Err(Error::new(item.self_ty.span(), message));
    }
    let generics = item.generics.clone();
    let mut errors: Option<Error> = None;
    for method in &mut item.items {
        let ImplItem::Fn(method) = method else { continue };
        // In a type without an algebra, each method of arrays has an algebra of its own.
        if over.is_none() && algebra(&method.sig.generics).is_none() && !is_of_arrays(&method.sig) {
            continue;
        }
        let result = method_of((over.as_ref(), &generics), method);
        if let Err(error) = result {
            match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            }
        }
    }
    match errors {
        Some(errors) => Err(errors),
        None => Ok(item.to_token_stream()),
    }
}

/// A method of a block, which may be over an algebra, with these generics.
fn method_of(around: (Option<&Ident>, &syn::Generics), method: &mut syn::ImplItemFn) -> Result<()> {
    let mut retyped = retype(method.sig.clone(), Some(around))?;
    let body = rewritten(&mut retyped, &method.block)?;
    method.sig = retyped.signature.clone();
    method.block = syn::parse2(body)?;
    let allowances = allowances();
    method.attrs.push(syn::parse_quote!(#allowances));
    Ok(())
}

/// Whether a signature mentions arrays without their algebra, and has none.
fn is_of_arrays(signature: &Signature) -> bool {
    struct Found(bool);
    impl<'a> Visit<'a> for Found {
        fn visit_path_segment(&mut self, segment: &'a syn::PathSegment) {
            let array = crate::missing::ARRAYS.iter().find(|(array, _)| segment.ident == array);
            let arguments = match &segment.arguments {
                syn::PathArguments::AngleBracketed(arguments) => arguments.args.len(),
                _ => 0,
            };
            self.0 |= array.is_some_and(|(_, complete)| arguments < *complete);
            visit::visit_path_segment(self, segment);
        }
    }
    let mut found = Found(false);
    found.visit_signature(signature);
    found.0 && algebra(&signature.generics).is_none()
}

/// Expands the attribute on an item.
pub fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(arguments, "`#[differentiable]` takes no arguments"));
    }
    match syn::parse2(groups::with_statements(item))? {
        Item::Fn(item) => function(item),
        Item::Impl(item) => block(item),
        other => {
            let message = "`#[differentiable]` goes on a function or a block of methods; a struct of arrays has \
                           `#[derive(Tree)]`";
            Err(Error::new(other.span(), message))
        }
    }
}

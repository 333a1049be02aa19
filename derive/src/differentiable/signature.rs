//! Signatures: generic over the algebra, arrays by reference.

use super::names::bindings;
use super::scopes::{Declared, Scopes};
use super::types::{Kind, Retyping, tree_names};
use crate::tree::bounded_by;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use std::collections::HashSet;
use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericParam, Generics, Pat, Result, ReturnType, Signature, Type, TypeParam, parse_quote};

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passing {
    /// `self`
    Receiver,
    /// A plain Rust value, as it was written.
    Plain,
    /// A tree, by reference.
    Tree,
}

/// A parameter of the function as it is called.
pub struct Parameter {
    /// As it was written.
    pub pattern: Pat,
    /// The type; for a tree, the referenced type.
    pub ty: Type,
    pub passing: Passing,
}

/// Facts about a function from its signature.
pub struct Retyped {
    pub signature: Signature,
    pub algebra: Ident,
    pub parameters: Vec<Parameter>,
    /// Whether the result is a tree.
    pub tree: bool,
    /// Statements before the body.
    pub prelude: Vec<TokenStream>,
    pub scopes: Scopes,
    /// The type parameters, and those of the enclosing block.
    pub generics: HashSet<String>,
    /// Whether an element type is a parameter, so that float literals have none of their own.
    pub floats: bool,
    /// The names of trees in the signature.
    pub trees: HashSet<String>,
}

/// The parameter that is bounded by `Algebra`.
pub fn algebra(generics: &Generics) -> Option<Ident> {
    generics.params.iter().find_map(|parameter| match parameter {
        GenericParam::Type(ty) if is_bounded(generics, ty, "Algebra") => Some(ty.ident.clone()),
        _ => None,
    })
}

/// Whether an element type is a parameter.
pub fn has_floats(generics: &Generics) -> bool {
    generics.type_params().any(|parameter| is_bounded(generics, parameter, "Float"))
}

fn is_bounded(generics: &Generics, parameter: &TypeParam, bound: &str) -> bool {
    let clauses = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let own = |predicate: &syn::WherePredicate| match predicate {
        syn::WherePredicate::Type(predicate) => {
            matches!(&predicate.bounded_ty, Type::Path(path) if path.path.is_ident(&parameter.ident))
                && bounded_by(&predicate.bounds, bound)
        }
        _ => false,
    };
    bounded_by(&parameter.bounds, bound) || clauses.into_iter().any(own)
}

/// The names of type parameters.
pub fn type_parameters(generics: &Generics) -> HashSet<String> {
    generics.type_params().map(|parameter| parameter.ident.to_string()).collect()
}

fn unsupported(signature: &Signature) -> Result<()> {
    let word = [
        signature.asyncness.map(|token| {
            (
                token.span,
                "an `async` function is not differentiable: compute in a plain `fn`, and wait for its inputs outside",
            )
        }),
        signature.unsafety.map(|token| {
            (
                token.span,
                "an `unsafe` function is not differentiable: write a safe `fn`, and do what is unsafe outside of it",
            )
        }),
        signature.constness.map(|token| {
            (token.span, "a `const fn` is not differentiable: arrays are computed when the program runs; write `fn`")
        }),
        signature.abi.as_ref().map(|abi| {
            (
                abi.span(),
                "a function with an ABI has no generic version: write a plain `fn`, and call it from the other",
            )
        }),
        signature.variadic.as_ref().map(|variadic| {
            (variadic.span(), "a differentiable function has a fixed number of parameters: take a `Vec` of arrays")
        }),
    ];
    match word.into_iter().flatten().next() {
        Some((span, message)) => Err(Error::new(span, message)),
        None => Ok(()),
    }
}

/// Removes the mark `#[plain]`, and says whether it was there.
fn take_plain(attributes: &mut Vec<syn::Attribute>) -> bool {
    let before = attributes.len();
    attributes.retain(|attribute| !attribute.path().is_ident("plain"));
    attributes.len() < before
}

/// The error for a parameter that holds no arrays.
fn unmarked(ty: &Type) -> Error {
    let text = ty.to_token_stream().to_string();
    let array = match &text[..] {
        "f32" | "f64" | "i32" | "i64" | "bool" => format!(", or take an array without axes, `Scalar<{text}>`"),
        "usize" => ", or take an array without axes, `Scalar<i64>`".to_owned(),
        _ => String::new(),
    };
    let message = format!("`{text}` is a plain Rust value and no array: mark the parameter, `#[plain]`{array}");
    Error::new_spanned(ty, message)
}

/// The signature over an algebra, taken from the enclosing block if there is one.
pub fn retype(mut signature: Signature, around: Option<(Option<&Ident>, &Generics)>) -> Result<Retyped> {
    unsupported(&signature)?;
    let mut generics = type_parameters(&signature.generics);
    let mut floats = has_floats(&signature.generics);
    if let Some((_, outer)) = around {
        generics.extend(type_parameters(outer));
        floats |= has_floats(outer);
    }
    let algebra = match (around, algebra(&signature.generics)) {
        (Some((Some(algebra), _)), _) => algebra.clone(),
        (_, Some(algebra)) => algebra,
        (_, None) => {
            let name = if generics.contains("A") { "__A" } else { "A" };
            let algebra = Ident::new(name, Span::call_site());
            let lifetimes = signature.generics.lifetimes().count();
            let parameter = parse_quote!(#algebra: ::deltaray::algebra::Algebra);
            signature.generics.params.insert(lifetimes, parameter);
            generics.insert(name.to_owned());
            algebra
        }
    };
    let tokens = algebra.to_token_stream();
    let retyping = Retyping { algebra: &tokens, parameter: &algebra, parameters: &generics, trees: None };

    let mut trees = HashSet::new();
    let mut prelude = Vec::new();
    let mut scopes = Scopes::default();
    scopes.enter();
    let mut parameters = Vec::new();
    let mut errors: Option<Error> = None;
    let mut complain = |error: Error| match &mut errors {
        Some(errors) => errors.combine(error),
        None => errors = Some(error),
    };
    for (position, argument) in signature.inputs.iter_mut().enumerate() {
        let argument = match argument {
            FnArg::Receiver(receiver) => {
                if around.is_none() {
                    let message = "a method is differentiable by the attribute of its block: write `#[differentiable]` on \
                                   `impl<A: Algebra> Model<A>`";
                    complain(Error::new(receiver.self_token.span, message));
                }
                let reference = receiver.reference.is_some() && receiver.mutability.is_none();
                let declared = if reference { Declared::ByReference } else { Declared::Otherwise };
                scopes.declare(&Ident::new("self", Span::call_site()), declared);
                parameters.push(Parameter {
                    pattern: parse_quote!(_),
                    ty: (*receiver.ty).clone(),
                    passing: Passing::Receiver,
                });
                continue;
            }
            FnArg::Typed(argument) => argument,
        };
        if take_plain(&mut argument.attrs) {
            scopes.declare_pattern(&argument.pat, Declared::Otherwise);
            let (pattern, ty) = ((*argument.pat).clone(), (*argument.ty).clone());
            parameters.push(Parameter { pattern, ty, passing: Passing::Plain });
            continue;
        }
        tree_names(&argument.ty, &mut trees);
        match retyping.retype(&mut argument.ty) {
            Ok(Kind::Tree) => {}
            Ok(Kind::Plain) => complain(unmarked(&argument.ty)),
            Err(error) => complain(error),
        }
        if let Type::Reference(reference) = &*argument.ty {
            if let Some(token) = reference.mutability {
                let message = "arrays are values, which are not changed in place: take the array by value or by `&`, and \
                               return the new one";
                complain(Error::new(token.span, message));
            }
            scopes.declare_pattern(&argument.pat, Declared::Otherwise);
            if let Pat::Ident(name) = &*argument.pat {
                scopes.declare(&name.ident, Declared::ByReference);
            }
            let (pattern, ty) = ((*argument.pat).clone(), (*reference.elem).clone());
            parameters.push(Parameter { pattern, ty, passing: Passing::Tree });
            continue;
        }
        // A value is passed by reference, as everywhere in the library: a handle that the body copies where it needs one.
        let ty = (*argument.ty).clone();
        let names = bindings(&argument.pat);
        let written = (*argument.pat).clone();
        let by_binding = match &*argument.pat {
            Pat::Ident(pattern) => pattern.by_ref.is_none(),
            _ => true,
        };
        if names.iter().any(|(_, mutable)| *mutable) || !by_binding {
            let (pattern, name) = (argument.pat.clone(), format_ident!("__argument_{position}"));
            prelude.push(quote!(let #pattern = ::deltaray::tensor::duplicate(#name);));
            scopes.declare_pattern(&pattern, Declared::Otherwise);
            *argument.pat = parse_quote!(#name);
        } else {
            names.iter().for_each(|(name, _)| scopes.declare(name, Declared::ByValue));
        }
        *argument.ty = syn::parse2(quote_spanned!(ty.span()=> &#ty))?;
        parameters.push(Parameter { pattern: written, ty, passing: Passing::Tree });
    }
    let mut tree = true;
    if let ReturnType::Type(_, ty) = &mut signature.output {
        tree_names(ty, &mut trees);
        match retyping.retype(ty) {
            Ok(kind) => tree = kind == Kind::Tree && !matches!(**ty, Type::Reference(_)),
            Err(error) => complain(error),
        }
    }
    match errors {
        Some(errors) => Err(errors),
        None => Ok(Retyped { signature, algebra, parameters, tree, prelude, scopes, generics, floats, trees }),
    }
}

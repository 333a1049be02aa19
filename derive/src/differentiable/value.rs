//! The function as a value: the braced struct of its name, which is an `ArrayFn`.

use super::signature::{Passing, Retyped};
use super::types::PLAIN;
use crate::tree::replace;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, GenericParam, Lifetime, Pat, ReturnType, Type, Visibility};

/// Whether tokens mention a name.
fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}

/// Whether tokens mention one of these lifetimes.
fn mentions_lifetime(tokens: TokenStream, lifetimes: &[&Ident]) -> bool {
    let mut tick = false;
    tokens.into_iter().any(|token| {
        let after = std::mem::replace(&mut tick, matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '\''));
        match token {
            TokenTree::Ident(ident) => after && lifetimes.contains(&&ident),
            TokenTree::Group(group) => mentions_lifetime(group.stream(), lifetimes),
            _ => false,
        }
    })
}

/// Whether a type has `Clone`, judged by its name.
fn is_clone(ty: &Type) -> bool {
    match ty {
        Type::Reference(_) => true,
        Type::Path(path) => path.path.get_ident().is_some_and(|name| PLAIN.contains(&&name.to_string()[..])),
        _ => false,
    }
}

/// A plain parameter as a field: name and type, and whether that has the struct's lifetime.
fn field(pattern: &Pat, ty: &Type) -> Option<(Ident, TokenStream, bool)> {
    /// Gives all references the struct's lifetime.
    struct Lifetimes(bool);
    impl VisitMut for Lifetimes {
        fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
            reference.lifetime.get_or_insert_with(|| Lifetime::new("'_", Span::call_site()));
            visit_mut::visit_type_reference_mut(self, reference);
        }
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            if lifetime.ident != "static" {
                *lifetime = Lifetime::new("'plain", lifetime.span());
                self.0 = true;
            }
        }
    }
    let Pat::Ident(pattern) = pattern else { return None };
    if matches!(ty, Type::ImplTrait(_)) || matches!(ty, Type::Reference(reference) if reference.mutability.is_some()) {
        return None;
    }
    let (mut ty, mut lifetimes) = (ty.clone(), Lifetimes(false));
    lifetimes.visit_type_mut(&mut ty);
    Some((pattern.ident.clone(), ty.to_token_stream(), lifetimes.0))
}

/// A statement that reports the names of the function and of its parameters to the staging; a single tuple is reported by its
/// parts.
pub fn entered(retyped: &Retyped) -> TokenStream {
    use syn::ext::IdentExt;
    let name_of = |pattern: &Pat| match pattern {
        Pat::Ident(pattern) => pattern.ident.unraw().to_string(),
        _ => String::new(),
    };
    let trees = retyped.parameters.iter().filter(|parameter| parameter.passing == Passing::Tree);
    let patterns: Vec<&Pat> = trees.map(|parameter| &parameter.pattern).collect();
    let names: Vec<String> = match patterns[..] {
        [Pat::Tuple(tuple)] => tuple.elems.iter().map(name_of).collect(),
        _ => patterns.into_iter().map(name_of).collect(),
    };
    quote! {
        {
            // Its path is the function's, wherever that stands, and this name.
            fn __inside() {}
            ::deltaray::tensor::attribute::entered(__inside, &[#(#names),*]);
        }
    }
}

/// The struct and its implementation of `ArrayFn`; nothing where the function is no function of trees to a tree, or its
/// parameters' types say more than a struct can.
pub fn array_fn(attributes: &[Attribute], visibility: &Visibility, retyped: &Retyped) -> Option<TokenStream> {
    let Retyped { signature, algebra, parameters, tree, .. } = retyped;
    let trees: Vec<&Type> =
        parameters.iter().filter(|it| it.passing == Passing::Tree).map(|parameter| &parameter.ty).collect();
    let receiver = parameters.iter().any(|parameter| parameter.passing == Passing::Receiver);
    if !tree || receiver || trees.len() > 8 {
        return None;
    }
    let concrete = quote!(::deltaray::concrete::Concrete);
    let name = &signature.ident;

    // Generic parameters without the algebra, and without lifetimes, which calls leave to the compiler.
    let generics = &signature.generics;
    let own = |parameter: &&GenericParam| match parameter {
        GenericParam::Lifetime(_) => false,
        GenericParam::Type(ty) => ty.ident != *algebra,
        GenericParam::Const(_) => true,
    };
    let own: Vec<&GenericParam> = generics.params.iter().filter(own).collect();
    let predicates: Vec<&syn::WherePredicate> = generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates)
        .filter(|predicate| !matches!(predicate, syn::WherePredicate::Lifetime(_)))
        .filter(|predicate| {
            !matches!(predicate, syn::WherePredicate::Type(predicate)
                if matches!(&predicate.bounded_ty, Type::Path(path) if path.path.is_ident(algebra)))
        })
        .collect();
    if own.iter().any(|parameter| mentions(parameter.to_token_stream(), algebra))
        || predicates.iter().any(|predicate| mentions(predicate.to_token_stream(), algebra))
    {
        return None;
    }
    let names: Vec<Ident> = own
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(ty) => Some(ty.ident.clone()),
            GenericParam::Const(constant) => Some(constant.ident.clone()),
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    let types: Vec<&Ident> = own
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(ty) => Some(&ty.ident),
            _ => None,
        })
        .collect();

    let lifetimes: Vec<&Ident> = generics.lifetimes().map(|parameter| &parameter.lifetime.ident).collect();
    let output = signature.output.to_token_stream();
    let mut mentioned = own.iter().map(|parameter| parameter.to_token_stream());
    let mut clauses = predicates.iter().map(|predicate| predicate.to_token_stream());
    let mut of_trees = trees.iter().map(|ty| ty.to_token_stream()).chain([output]);
    let outlives = |tokens: TokenStream| mentions_lifetime(tokens, &lifetimes);
    // The struct has one lifetime, and no calls to choose others.
    if mentioned.any(outlives) || clauses.any(outlives) || of_trees.any(outlives) {
        return None;
    }

    let mut clones = Vec::new();
    let mut plains = Vec::new();
    let mut fields = Vec::new();
    let mut arguments = Vec::new();
    let mut parts = Vec::new();
    let mut refers = false;
    for parameter in parameters {
        match parameter.passing {
            Passing::Receiver => return None,
            Passing::Plain => {
                let (field, ty, with_lifetime) = field(&parameter.pattern, &parameter.ty)?;
                refers |= with_lifetime;
                if !is_clone(&parameter.ty) {
                    // The lifetime lets the bound of a type that is no parameter be false.
                    clones.push(quote!(for<'__any> #ty: ::core::clone::Clone));
                }
                let doc = format!("The plain parameter `{field}`.");
                fields.push(quote!(#[doc = #doc] #visibility #field: #ty));
                arguments.push(quote!(::core::clone::Clone::clone(&self.#field)));
                plains.push(field);
            }
            Passing::Tree => {
                let part = format_ident!("__part_{}", parts.len());
                arguments.push(part.to_token_stream());
                parts.push(part);
            }
        }
    }
    let plain = !fields.is_empty();
    // A plain parameter may have that name.
    let free = |name: &&str| plains.iter().all(|field| field != name);
    let generic_in = ["types", "type_parameters"].into_iter().find(free)?;
    let generic_in = Ident::new(generic_in, Span::call_site());
    if !types.is_empty() {
        fields.push(quote! {
            #[doc = "What the function is generic in."]
            #visibility #generic_in: ::core::marker::PhantomData<fn() -> (#(#types,)*)>
        });
    }
    let family = |ty: &Type| {
        let ty = match ty {
            // A slice becomes a `Vec`.
            Type::Slice(slice) => {
                let element = &slice.elem;
                quote!(::std::vec::Vec<#element>)
            }
            ty => ty.to_token_stream(),
        };
        replace(ty, algebra, &concrete)
    };
    let families: Vec<TokenStream> = trees.iter().map(|ty| family(ty)).collect();
    let (input, pattern) = match &families[..] {
        [] => (quote!(()), quote!(())),
        [one] => (one.clone(), parts[0].to_token_stream()),
        several => (quote!((#(#several),*)), quote!((#(#parts),*))),
    };
    let output = match &signature.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => family(ty),
    };
    let lifetime = refers.then(|| quote!('plain,));
    let derives = match (plain, types.is_empty()) {
        (true, _) => quote!(),
        (false, true) => quote!(#[derive(Clone, Copy, Debug, Default)]),
        (false, false) => quote!(),
    };
    let kept = attributes.iter().filter(|it| it.path().is_ident("cfg") || it.path().is_ident("deprecated"));
    let kept: Vec<&Attribute> = kept.collect();
    let doc =
        format!("The function [`{name}()`] as a value that runs in every algebra, a `deltaray::derivative::ArrayFn`.");
    let clause = if predicates.is_empty() { quote!() } else { quote!(where #(#predicates),*) };
    let conditions: Vec<TokenStream> = predicates.iter().map(|it| it.to_token_stream()).chain(clones).collect();
    let condition = if conditions.is_empty() { quote!() } else { quote!(where #(#conditions),*) };
    let cloned = plain.then(|| {
        let marker = (!types.is_empty()).then(|| quote!(#generic_in: ::core::marker::PhantomData));
        quote! {
            #(#kept)*
            #[automatically_derived]
            impl<#lifetime #(#own),*> ::core::clone::Clone for #name<#lifetime #(#names),*> #condition {
                fn clone(&self) -> Self {
                    #name { #(#plains: ::core::clone::Clone::clone(&self.#plains),)* #marker }
                }
            }
        }
    });
    // Derived, these would ask the same of the parameters.
    let generic = (!plain && !types.is_empty()).then(|| {
        quote! {
            #(#kept)*
            impl<#(#own),*> ::core::default::Default for #name<#(#names),*> #clause {
                fn default() -> Self {
                    #name { types: ::core::marker::PhantomData }
                }
            }

            #(#kept)*
            impl<#(#own),*> ::core::clone::Clone for #name<#(#names),*> #clause {
                fn clone(&self) -> Self {
                    *self
                }
            }

            #(#kept)*
            impl<#(#own),*> ::core::marker::Copy for #name<#(#names),*> #clause {}
        }
    });
    Some(quote! {
        #generic
        #cloned

        #(#kept)*
        #[doc = #doc]
        #[allow(non_camel_case_types, dead_code)]
        #derives
        #visibility struct #name<#lifetime #(#own),*> #clause { #(#fields),* }

        #(#kept)*
        #[automatically_derived]
        impl<#lifetime #(#own),*> ::deltaray::derivative::ArrayFn for #name<#lifetime #(#names),*> #condition {
            type In = #input;
            type Out = #output;
            #[track_caller]
            fn call<__Over: ::deltaray::algebra::Algebra>(
                &self,
                #pattern: &<Self::In as ::deltaray::tensor::Family>::At<__Over>,
            ) -> <Self::Out as ::deltaray::tensor::Family>::At<__Over> {
                #name::<__Over, #(#names),*>(#(#arguments),*)
            }
        }
    })
}

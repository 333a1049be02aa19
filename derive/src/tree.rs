//! The derive of `Tree`.

use crate::missing;
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, GenericParam, Index, Member, Result, TypeParamBound};

/// The role of a generic parameter of the struct.
enum Role {
    /// The algebra.
    Algebra,
    /// A tree over the algebra.
    Tree,
    /// Anything else: an element type, a rank, a constant.
    Kept,
}

/// Whether one of the bounds is a trait whose last segment has this name.
pub fn bounded_by<'a>(bounds: impl IntoIterator<Item = &'a TypeParamBound>, name: &str) -> bool {
    bounds.into_iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().is_some_and(|segment| segment.ident == name),
        _ => false,
    })
}

/// All bounds of a type parameter, those of the where clause included.
fn bounds<'a>(input: &'a DeriveInput, parameter: &'a syn::TypeParam) -> Vec<&'a TypeParamBound> {
    let clauses = input.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let others = clauses.filter_map(|predicate| match predicate {
        syn::WherePredicate::Type(predicate) => {
            let named = matches!(&predicate.bounded_ty, syn::Type::Path(path) if path.path.is_ident(&parameter.ident));
            named.then_some(&predicate.bounds)
        }
        _ => None,
    });
    parameter.bounds.iter().chain(others.flatten()).collect()
}

/// The tokens with every occurrence of an identifier replaced.
pub fn replace(tokens: TokenStream, from: &Ident, to: &TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(ident) if ident == *from => to.clone(),
            TokenTree::Group(group) => {
                let mut replaced = Group::new(group.delimiter(), replace(group.stream(), from, to));
                replaced.set_span(group.span());
                TokenTree::Group(replaced).into()
            }
            other => other.into(),
        })
        .collect()
}

/// Whether one of the attributes is `#[tree(word)]`; another word is an error with this message.
fn is_marked(attributes: &[syn::Attribute], word: &str, message: &str) -> Result<bool> {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("tree")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident(word) {
                found = true;
                return Ok(());
            }
            Err(meta.error(message))
        })?;
    }
    Ok(found)
}

/// Whether a field is marked `#[tree(skip)]`.
fn is_skipped(field: &syn::Field) -> Result<bool> {
    is_marked(&field.attrs, "skip", "the only attribute of a field is `#[tree(skip)]`")
}

/// Whether a type is marked `#[tree(arithmetic)]`.
fn has_arithmetic(input: &DeriveInput) -> Result<bool> {
    is_marked(&input.attrs, "arithmetic", "the only attribute of a tree is `#[tree(arithmetic)]`")
}

/// The operators of a tree `own`, over `algebra`, with these generic parameters and bounds: they call `TreeArithmetic`.
fn operators(own: &TokenStream, algebra: &Ident, parameters: &[TokenStream], bounds: &TokenStream) -> TokenStream {
    let library = quote!(::deltaray::tensor);
    let arithmetic = quote!(#library::TreeArithmetic::<#algebra>);
    // An operator of `left`, a tree. The right operand, if any, has the type that its own generic parameters say.
    let operator = |left: &TokenStream,
                    name: &str,
                    own_parameters: TokenStream,
                    right: Option<&TokenStream>,
                    value: TokenStream| {
        let (name, method) = (format_ident!("{name}"), format_ident!("{}", name.to_lowercase()));
        let (argument, parameter) = match right {
            Some(right) => (quote!(<#right>), quote!(, __right: #right)),
            None => (TokenStream::new(), TokenStream::new()),
        };
        quote! {
            #[automatically_derived]
            impl<#(#parameters,)* #own_parameters> ::core::ops::#name #argument for #left #bounds {
                type Output = #own;
                #[track_caller]
                fn #method(self #parameter) -> #own {
                    #value
                }
            }
        }
    };
    let assigning = |name: &str, method: &str, own_parameters: TokenStream, right: &TokenStream, value: TokenStream| {
        let (name, method) = (format_ident!("{name}"), format_ident!("{method}"));
        quote! {
            #[automatically_derived]
            impl<#(#parameters,)* #own_parameters> ::core::ops::#name<#right> for #own #bounds {
                #[track_caller]
                fn #method(&mut self, __right: #right) {
                    *self = #value;
                }
            }
        }
    };
    let (none, reference) = (TokenStream::new(), quote!(&#own));
    let (factor, of_factor) = (quote!(__F), quote!(__F: #library::TreeFactor<#algebra>));
    // A factor that is an array stands at the right: at its left, `Tensor` has the operators of `Operand`s.
    let numbers = [quote!(f64), quote!(i32), quote!(#library::attribute::Literal)];
    let mut all = TokenStream::new();
    for (left, this) in [(own, quote!(&self)), (&reference, quote!(self))] {
        for (right, other) in [(own, quote!(&__right)), (&reference, quote!(__right))] {
            all.extend(operator(left, "Add", none.clone(), Some(right), quote!(#arithmetic::plus(#this, #other))));
            all.extend(operator(left, "Sub", none.clone(), Some(right), quote!(#arithmetic::minus(#this, #other))));
        }
        all.extend(operator(left, "Neg", none.clone(), None, quote!(#arithmetic::negated(#this))));
        all.extend(operator(
            left,
            "Mul",
            of_factor.clone(),
            Some(&factor),
            quote!(#arithmetic::scaled(#this, __right)),
        ));
        all.extend(operator(
            left,
            "Div",
            of_factor.clone(),
            Some(&factor),
            quote!(#arithmetic::divided(#this, __right)),
        ));
    }
    for (right, other) in [(own, quote!(&__right)), (&reference, quote!(__right))] {
        all.extend(assigning("AddAssign", "add_assign", none.clone(), right, quote!(#arithmetic::plus(self, #other))));
        all.extend(assigning("SubAssign", "sub_assign", none.clone(), right, quote!(#arithmetic::minus(self, #other))));
        for left in &numbers {
            all.extend(operator(left, "Mul", none.clone(), Some(right), quote!(#arithmetic::scaled(#other, self))));
        }
    }
    let (scaled, divided) = (quote!(#arithmetic::scaled(self, __right)), quote!(#arithmetic::divided(self, __right)));
    all.extend(assigning("MulAssign", "mul_assign", of_factor.clone(), &factor, scaled));
    all.extend(assigning("DivAssign", "div_assign", of_factor, &factor, divided));
    all
}

/// The implementations of `Tree` and `Family`.
pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    // The one form of a struct, or the variants of an enum.
    let name = &input.ident;
    let forms: Vec<(TokenStream, Option<String>, &Fields)> = match &input.data {
        Data::Struct(data) => vec![(name.to_token_stream(), None, &data.fields)],
        Data::Enum(data) if data.variants.is_empty() => {
            return Err(Error::new(name.span(), "an enum without variants has no values, and so is no tree"));
        }
        Data::Enum(data) => {
            let form = |variant: &'_ syn::Variant| {
                let ident = &variant.ident;
                (quote!(#name::#ident), ident.unraw().to_string())
            };
            data.variants
                .iter()
                .map(|variant| (form(variant), &variant.fields))
                .map(|((path, text), fields)| (path, Some(text), fields))
                .collect()
        }
        Data::Union(_) => {
            return Err(Error::new(name.span(), "`Tree` is derived for structs and enums: write an enum"));
        }
    };
    let mut roles = Vec::new();
    let mut algebra: Option<Ident> = None;
    for parameter in &input.generics.params {
        roles.push(match parameter {
            GenericParam::Type(ty) if bounded_by(bounds(input, ty), "Algebra") => {
                if algebra.replace(ty.ident.clone()).is_some() {
                    return Err(Error::new(ty.span(), "a tree is over one algebra"));
                }
                Role::Algebra
            }
            GenericParam::Type(ty) if bounded_by(bounds(input, ty), "Tree") => Role::Tree,
            GenericParam::Lifetime(lifetime) => {
                return Err(Error::new(lifetime.span(), "a tree owns its arrays: it has no lifetimes"));
            }
            _ => Role::Kept,
        });
    }

    let library = quote!(::deltaray);
    let concrete = quote!(#library::concrete::Concrete);
    // The parameter that stands for the algebra; a struct without arrays is a tree over any.
    let over = algebra.clone().unwrap_or_else(|| Ident::new("__A", Span::mixed_site()));
    let (first, second) = (format_ident!("__B"), format_ident!("__C"));

    // The parameters' declarations without defaults, and the struct over some algebra.
    let declaration = |parameter: &GenericParam| -> TokenStream {
        let mut parameter = parameter.clone();
        match &mut parameter {
            GenericParam::Type(ty) => {
                ty.default = None;
                ty.eq_token = None;
            }
            GenericParam::Const(constant) => {
                constant.default = None;
                constant.eq_token = None;
            }
            GenericParam::Lifetime(_) => {}
        }
        parameter.to_token_stream()
    };
    let parameter_name = |parameter: &GenericParam| -> TokenStream {
        match parameter {
            GenericParam::Type(ty) => ty.ident.to_token_stream(),
            GenericParam::Const(constant) => constant.ident.to_token_stream(),
            GenericParam::Lifetime(lifetime) => lifetime.lifetime.to_token_stream(),
        }
    };
    // The struct over algebra `to`, where its tree parameters are over `from`.
    let structure = |from: &TokenStream, to: &TokenStream| -> TokenStream {
        let arguments = input.generics.params.iter().zip(&roles).map(|(parameter, role)| {
            let name = parameter_name(parameter);
            match role {
                Role::Algebra => to.clone(),
                Role::Tree => {
                    quote!(<<#name as #library::tensor::Tree<#from>>::Family as #library::tensor::Family>::At<#to>)
                }
                Role::Kept => name,
            }
        });
        quote!(#name<#(#arguments),*>)
    };

    let mut tree_parameters: Vec<TokenStream> = input.generics.params.iter().map(declaration).collect();
    if algebra.is_none() {
        tree_parameters.push(quote!(#over: #library::algebra::Algebra));
    }
    // Over the concrete algebra the parameter for it goes, and bounds that name it name the concrete one.
    let family_parameters: Vec<TokenStream> = input
        .generics
        .params
        .iter()
        .zip(&roles)
        .filter(|(_, role)| !matches!(role, Role::Algebra))
        .map(|(parameter, _)| replace(declaration(parameter), &over, &concrete))
        .collect();
    let predicates = |with: Option<&TokenStream>| -> TokenStream {
        let clauses = input.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        let kept: Vec<TokenStream> = clauses
            .filter(|predicate| {
                // The algebra's own bound goes with its parameter.
                let of_algebra = matches!(predicate, syn::WherePredicate::Type(predicate)
                    if matches!(&predicate.bounded_ty, syn::Type::Path(path) if path.path.is_ident(&over)));
                with.is_none() || !of_algebra
            })
            .map(|predicate| match with {
                Some(with) => replace(predicate.to_token_stream(), &over, with),
                None => predicate.to_token_stream(),
            })
            .collect();
        if kept.is_empty() { TokenStream::new() } else { quote!(where #(#kept),*) }
    };
    let (tree_where, family_where) = (predicates(None), predicates(Some(&concrete)));

    let mut visits = Vec::new();
    let mut mutable_visits = Vec::new();
    let mut outlines = Vec::new();
    let mut rebuilds = Vec::new();
    for (path, variant, fields) in &forms {
        let (mut bound, mut visit, mut visit_mut, mut outline, mut values) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        if let Some(variant) = variant {
            outline.push(quote!(outline.variant(#variant);));
        }
        for (position, field) in fields.iter().enumerate() {
            let member = match &field.ident {
                Some(ident) => Member::Named(ident.clone()),
                None => Member::Unnamed(Index::from(position)),
            };
            let place = format_ident!("__field_{position}");
            bound.push(quote!(#member: #place));
            if is_skipped(field)? {
                values.push(quote!(#member: ::core::clone::Clone::clone(#place)));
                continue;
            }
            let mistake = match &algebra {
                Some(algebra) => missing::array_of_number(algebra, field),
                None => missing::algebra(input, field),
            };
            if let Some(error) = mistake {
                return Err(error);
            }
            let ty = &field.ty;
            visit.push(quote!(<#ty as #library::tensor::Tree<#over>>::visit(#place, visitor);));
            visit_mut.push(quote!(<#ty as #library::tensor::Tree<#over>>::visit_mut(#place, visitor);));
            let inside =
                |outline: TokenStream| quote!(<#ty as #library::tensor::Tree<#over>>::outline(#place, #outline));
            outline.push(match &field.ident {
                Some(ident) => {
                    let (name, inside) = (ident.unraw().to_string(), inside(quote!(inside)));
                    quote!(outline.field(#name, |inside| #inside);)
                }
                None => {
                    let inside = inside(quote!(outline));
                    quote!(#inside;)
                }
            });
            values.push(quote!(
                #member: #library::tensor::rebuild_field::<#first, #second, _>(#place, leaves)
            ));
        }
        let pattern = quote!(#path { #(#bound),* });
        visits.push(quote!(#pattern => { #(#visit)* }));
        mutable_visits.push(quote!(#pattern => { #(#visit_mut)* }));
        outlines.push(quote!(#pattern => { #(#outline)* }));
        rebuilds.push(quote!(#pattern => #path { #(#values),* }));
    }

    let over_tokens = over.to_token_stream();
    let own = {
        let arguments = input.generics.params.iter().map(parameter_name);
        quote!(#name<#(#arguments),*>)
    };
    let family = structure(&over_tokens, &concrete);
    let family_self = {
        let arguments = input.generics.params.iter().zip(&roles).map(|(parameter, role)| match role {
            Role::Algebra => concrete.clone(),
            _ => parameter_name(parameter),
        });
        quote!(#name<#(#arguments),*>)
    };
    let at = structure(&concrete, &first.to_token_stream());
    let operators = match (has_arithmetic(input)?, &algebra) {
        (false, _) => TokenStream::new(),
        (true, Some(algebra)) => operators(&own, algebra, &tree_parameters, &tree_where),
        (true, None) => return Err(Error::new(name.span(), "a tree without arrays has no arithmetic")),
    };

    Ok(quote! {
        #operators

        #[automatically_derived]
        impl<#(#tree_parameters),*> #library::tensor::Tree<#over> for #own #tree_where {
            type Family = #family;
            #[allow(unused_variables)]
            fn visit<'__a>(
                &'__a self,
                visitor: &mut dyn ::core::ops::FnMut(&'__a <#over as #library::algebra::Algebra>::Array),
            ) {
                match self { #(#visits)* }
            }
            #[allow(unused_variables)]
            fn visit_mut<'__a>(
                &'__a mut self,
                visitor: &mut dyn ::core::ops::FnMut(&'__a mut <#over as #library::algebra::Algebra>::Array),
            ) {
                match self { #(#mutable_visits)* }
            }
            #[allow(unused_variables)]
            fn outline(&self, outline: &mut #library::tensor::Outline) {
                match self { #(#outlines)* }
            }
        }

        #[automatically_derived]
        impl<#(#tree_parameters),*> #library::tensor::Stacked<#over> for #own #tree_where {
            type Stack = #library::tensor::Batch<#over, #family>;
            fn stack_from(
                &self,
                leaves: &mut dyn ::core::iter::Iterator<Item = <#over as #library::algebra::Algebra>::Array>,
            ) -> Self::Stack {
                #library::tensor::Batch::from_arrays(self, leaves)
            }
        }

        #[automatically_derived]
        impl<#(#family_parameters),*> #library::tensor::Family for #family_self #family_where {
            type At<#first: #library::algebra::Algebra> = #at;
            #[allow(unused_variables)]
            fn rebuild<#first: #library::algebra::Algebra, #second: #library::algebra::Algebra>(
                like: &Self::At<#first>,
                leaves: &mut dyn ::core::iter::Iterator<Item = <#second as #library::algebra::Algebra>::Array>,
            ) -> Self::At<#second> {
                match like { #(#rebuilds),* }
            }
        }
    })
}

//! Types of arrays, to which the algebra is added.

use crate::missing::ARRAYS;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::HashSet;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    AngleBracketedGenericArguments, Error, GenericArgument, PathArguments, PathSegment, Result, Token, Type,
    parse_quote,
};

/// Types of Rust that hold values of their type arguments.
const CONTAINERS: [&str; 8] = ["Vec", "Option", "Box", "Rc", "Arc", "Result", "HashMap", "BTreeMap"];

/// Types of Rust without arrays.
pub const PLAIN: [&str; 19] = [
    "usize", "isize", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64", "bool",
    "char", "str", "String", "Range",
];

/// The kind of a type, by its syntax.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Arrays, or a tree of them.
    Tree,
    /// A type of Rust, which holds none.
    Plain,
}

/// How types are retyped.
pub struct Retyping<'a> {
    /// The tokens for the algebra.
    pub algebra: &'a TokenStream,
    /// The parameter for it.
    pub parameter: &'a Ident,
    /// Names that are kept: type parameters.
    pub parameters: &'a HashSet<String>,
    /// The names of types that are trees, or all that are not known otherwise.
    pub trees: Option<&'a HashSet<String>>,
}

fn types(arguments: &AngleBracketedGenericArguments) -> impl Iterator<Item = &Type> {
    arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn respanned(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(span);
    token
}

/// Adds the algebra before the other types among the arguments of a name.
fn insert(segment: &mut PathSegment, algebra: &TokenStream) {
    let span = segment.ident.span();
    let algebra: TokenStream = algebra.clone().into_iter().map(|token| respanned(token, span)).collect();
    let argument: GenericArgument = parse_quote!(#algebra);
    match &mut segment.arguments {
        PathArguments::AngleBracketed(arguments) => {
            let place = arguments.args.iter().take_while(|it| matches!(it, GenericArgument::Lifetime(_))).count();
            arguments.args.insert(place, argument);
        }
        other => {
            let mut args = Punctuated::new();
            args.push(argument);
            *other = PathArguments::AngleBracketed(AngleBracketedGenericArguments {
                colon2_token: None,
                lt_token: Token![<](span),
                args,
                gt_token: Token![>](span),
            });
        }
    }
}

impl Retyping<'_> {
    /// Whether an argument names an algebra.
    fn is_algebra(&self, ty: &Type) -> bool {
        let tokens = ty.to_token_stream().to_string();
        let own = tokens == self.algebra.to_string() || *self.parameter == tokens;
        own || tokens == "_" || tokens == "Concrete" || tokens.ends_with(":: Concrete")
    }

    fn arguments(&self, segment: &mut PathSegment) -> Result<Kind> {
        let mut kind = Kind::Plain;
        if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
            for argument in &mut arguments.args {
                if let GenericArgument::Type(ty) = argument
                    && self.retype(ty)? == Kind::Tree
                {
                    kind = Kind::Tree;
                }
            }
        }
        Ok(kind)
    }

    /// Adds the algebra to the arrays and trees that a type mentions.
    pub fn retype(&self, ty: &mut Type) -> Result<Kind> {
        match ty {
            Type::Path(path) if path.qself.is_none() => {
                let alone = path.path.segments.len() == 1;
                let Some(first) = path.path.segments.first() else { return Ok(Kind::Plain) };
                let parameter = self.parameters.contains(&first.ident.to_string());
                if parameter || first.ident == "Self" {
                    return Ok(Kind::Tree);
                }
                let Some(last) = path.path.segments.last_mut() else { return Ok(Kind::Plain) };
                let name = last.ident.to_string();
                if ARRAYS.iter().any(|(array, _)| *array == name) {
                    return self.array(last).map(|()| Kind::Tree);
                }
                if CONTAINERS.contains(&&name[..]) {
                    return self.arguments(last);
                }
                if alone && PLAIN.contains(&&name[..]) {
                    return Ok(Kind::Plain);
                }
                if self.trees.is_some_and(|trees| !trees.contains(&name)) {
                    self.arguments(last)?;
                    return Ok(Kind::Plain);
                }
                self.tree(last)
            }
            Type::Reference(reference) => self.retype(&mut reference.elem),
            Type::Paren(inner) => self.retype(&mut inner.elem),
            Type::Group(inner) => self.retype(&mut inner.elem),
            Type::Array(array) => self.retype(&mut array.elem),
            Type::Slice(slice) => self.retype(&mut slice.elem),
            Type::Tuple(tuple) => {
                let mut kind = if tuple.elems.is_empty() { Kind::Tree } else { Kind::Plain };
                let mut plain = false;
                for element in &mut tuple.elems {
                    match self.retype(element)? {
                        Kind::Tree => kind = Kind::Tree,
                        Kind::Plain => plain = true,
                    }
                }
                Ok(if plain { Kind::Plain } else { kind })
            }
            _ => Ok(Kind::Plain),
        }
    }

    /// The name of an array type; other names are left.
    pub fn array(&self, segment: &mut PathSegment) -> Result<()> {
        let Some(&(_, count)) = ARRAYS.iter().find(|(array, _)| segment.ident == array) else { return Ok(()) };
        let given = match &segment.arguments {
            PathArguments::AngleBracketed(arguments) => types(arguments).count(),
            _ => 0,
        };
        if given + 1 == count {
            insert(segment, self.algebra);
        } else if given != count && self.trees.is_none() {
            let wanted = if count == 3 { "f64, R2" } else { "f64" };
            let message = format!(
                "an array type names the type of its elements: `{}<{wanted}>`; the algebra is added",
                segment.ident
            );
            return Err(Error::new(segment.span(), message));
        }
        Ok(())
    }

    /// A struct with `#[derive(Tree)]`, or another name for such or for arrays.
    fn tree(&self, segment: &mut PathSegment) -> Result<Kind> {
        let mut named = false;
        if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
            named = types(arguments).any(|ty| self.is_algebra(ty));
            if !named {
                let none = HashSet::new();
                let arrays = Retyping { trees: Some(&none), ..*self };
                for argument in &mut arguments.args {
                    if let GenericArgument::Type(ty) = argument {
                        arrays.retype(ty)?;
                    }
                }
            }
        }
        if !named {
            insert(segment, self.algebra);
        }
        Ok(Kind::Tree)
    }
}

/// The names of types that are neither arrays nor types of Rust.
pub fn tree_names(ty: &Type, names: &mut HashSet<String>) {
    use syn::visit::Visit;
    struct Names<'n>(&'n mut HashSet<String>);
    impl<'a> Visit<'a> for Names<'_> {
        fn visit_type_path(&mut self, path: &'a syn::TypePath) {
            if let Some(last) = path.path.segments.last() {
                let name = last.ident.to_string();
                let known = ARRAYS.iter().any(|(array, _)| *array == name)
                    || CONTAINERS.contains(&&name[..])
                    || PLAIN.contains(&&name[..])
                    || name == "Self";
                match known {
                    true if ARRAYS.iter().any(|(array, _)| *array == name) => {}
                    true => syn::visit::visit_type_path(self, path),
                    false => {
                        self.0.insert(name);
                    }
                }
            }
        }
    }
    Names(names).visit_type(ty);
}

//! The advice for a struct of arrays without a parameter for their algebra.

use quote::ToTokens;
use syn::{DeriveInput, Error, GenericArgument, GenericParam, Ident, PathArguments, PathSegment, Type};

/// The library's names of arrays, which all have the algebra as their first argument, and how many arguments they have.
pub const ARRAYS: [(&str, usize); 9] = [
    ("Tensor", 3),
    ("Scalar", 2),
    ("Vector", 2),
    ("Matrix", 2),
    ("Tensor3", 2),
    ("Tensor4", 2),
    ("Tensor5", 2),
    ("Tensor6", 2),
    ("TensorD", 2),
];

/// The types among the arguments of a part of a path.
fn arguments(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return Vec::new() };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

/// The first array that a type mentions, with arguments, and the number of arguments that its name takes.
fn array(ty: &Type) -> Option<(&PathSegment, usize)> {
    match ty {
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let known = ARRAYS.iter().find(|(name, _)| last.ident == name && !arguments(last).is_empty());
            match known {
                Some(&(_, count)) => Some((last, count)),
                None => arguments(last).into_iter().find_map(array),
            }
        }
        Type::Tuple(tuple) => tuple.elems.iter().find_map(array),
        Type::Array(elements) => array(&elements.elem),
        Type::Paren(inner) => array(&inner.elem),
        Type::Group(inner) => array(&inner.elem),
        _ => None,
    }
}

/// A type as it is usually written.
fn text(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(' ', "").replace(',', ", ")
}

/// The error at a field that holds arrays, of a struct none of whose parameters is bounded by `Algebra`; none at other
/// fields.
pub fn algebra(input: &DeriveInput, field: &syn::Field) -> Option<Error> {
    let (array, count) = array(&field.ty)?;
    let given = arguments(array);
    let (article, kind) = match &input.data {
        syn::Data::Enum(_) => ("an", "enum"),
        _ => ("a", "struct"),
    };
    let parameters: Vec<&Ident> = input.generics.type_params().map(|parameter| &parameter.ident).collect();
    let bound = |parameter: &&&Ident| matches!(given[0], Type::Path(path) if path.path.is_ident(**parameter));
    let advice = match parameters.iter().find(bound) {
        Some(algebra) if given.len() == count => format!("bound the parameter: `{algebra}: Algebra`"),
        _ => {
            let free = |name: &&str| parameters.iter().all(|parameter| parameter != name);
            let algebra = ["A", "B", "C", "D"].into_iter().find(free).unwrap_or("OfArrays");
            // Where the algebra is given, as `Concrete`, the parameter takes its place.
            let others = if given.len() < count { &given[..] } else { &given[1..] };
            let others: String = others.iter().map(|ty| format!(", {}", text(ty))).collect();
            let declaration = match input.generics.params.iter().any(|it| !matches!(it, GenericParam::Lifetime(_))) {
                true => format!("add `{algebra}: Algebra` to the parameters of `{}`", input.ident),
                false => format!("write `{kind} {}<{algebra}: Algebra>`", input.ident),
            };
            format!("{declaration}, and here `{}<{algebra}{others}>`", array.ident)
        }
    };
    let message = format!(
        "{article} {kind} of arrays is generic over their algebra: {advice}; an array that takes no part in derivatives is marked \
         `#[tree(skip)]`"
    );
    Some(Error::new_spanned(&field.ty, message))
}

/// The error at a field that is a number, of a tree over this algebra.
pub fn array_of_number(algebra: &Ident, field: &syn::Field) -> Option<Error> {
    let Type::Path(path) = &field.ty else { return None };
    let number = path.path.get_ident()?;
    let is_element = ["f32", "f64", "i32", "i64", "bool"].iter().any(|element| number == element);
    let message = format!(
        "a number in a tree is an array without axes: write `Scalar<{algebra}, {number}>`; one that takes no part in derivatives \
         is marked `#[tree(skip)]`"
    );
    is_element.then(|| Error::new_spanned(&field.ty, message))
}

#[cfg(test)]
mod tests {
    use crate::tree::derive;
    use quote::quote;

    /// The derive's error for a struct, without the part that is always the same.
    fn advice(input: proc_macro2::TokenStream) -> String {
        let error = derive(&syn::parse2(input).unwrap()).unwrap_err().to_string();
        let (general, advice) = error.split_once(": ").unwrap();
        assert_eq!(general, "a struct of arrays is generic over their algebra");
        advice.split_once("; ").unwrap().0.to_owned()
    }

    #[test]
    fn a_struct_of_arrays_without_an_algebra_is_told_to_add_one() {
        let lacking = "write `struct Line<A: Algebra>`, and here ";
        for (found, field) in [
            (
                advice(quote!(
                    struct Line {
                        slope: Vector<f64>,
                    }
                )),
                "`Vector<A, f64>`",
            ),
            (
                advice(quote!(
                    struct Line {
                        slope: Scalar<Concrete, f64>,
                    }
                )),
                "`Scalar<A, f64>`",
            ),
            (
                advice(quote!(
                    struct Line(u8, deltaray::tensor::Tensor<f64, R2>);
                )),
                "`Tensor<A, f64, R2>`",
            ),
            (
                advice(quote!(
                    struct Line {
                        all: Vec<(usize, [Matrix<Concrete, f32>; 2])>,
                    }
                )),
                "`Matrix<A, f32>`",
            ),
        ] {
            assert_eq!(found, format!("{lacking}{field}"));
        }
    }

    #[test]
    fn parameters_that_are_there_are_kept() {
        let added = advice(quote!(
            struct Layer<A: Element> {
                weights: Matrix<Concrete, A>,
            }
        ));
        assert_eq!(added, "add `B: Algebra` to the parameters of `Layer`, and here `Matrix<B, A>`");
        let bounded = advice(quote!(
            struct Layer<T> {
                weights: Matrix<T, f64>,
            }
        ));
        assert_eq!(bounded, "bound the parameter: `T: Algebra`");
    }

    #[test]
    fn other_fields_need_no_algebra() {
        for input in [
            quote!(
                struct Sizes {
                    #[tree(skip)]
                    width: usize,
                    #[tree(skip)]
                    table: Vector<Concrete, f64>,
                }
            ),
            quote!(
                struct Parts {
                    inner: Vec<Sizes>,
                    vector: Vector,
                }
            ),
            quote!(
                struct Line<A>
                where
                    A: deltaray::Algebra,
                {
                    slope: Vector<A, f64>,
                }
            ),
        ] {
            assert!(derive(&syn::parse2(input.clone()).unwrap()).is_ok(), "{input}");
        }
    }
}

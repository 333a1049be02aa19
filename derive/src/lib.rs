//! The procedural macros of `deltaray`.
#![warn(missing_docs)]

mod differentiable;
mod missing;
mod tree;

/// Makes a struct or an enum of trees a tree: implements `deltaray::tensor::Tree` for it, `deltaray::tensor::Family`, and
/// `deltaray::tensor::Stacked`, whose stack is a `deltaray::tensor::Batch`.
///
/// The type is generic over the algebra, `struct Mlp<A: Algebra> { weights: Matrix<A, f32>, .. }`, and its fields are
/// trees over that algebra. Further type parameters with a bound `Tree<A>` stand for trees; all others are kept as they
/// are. A field with `#[tree(skip)]` is no tree and is carried along by `Clone`; its type does not depend on the algebra. A staged
/// function keeps the value that it had then. Which variant an enum is, is a static property of it too: a function that was
/// staged for one is called with that one. A type without a parameter that is bounded by `Algebra` holds no arrays;
/// where it does, the error says what to write.
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    tree::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a function of arrays generic over their algebra, so that it can be written as plain code.
///
/// See the guide on the attribute in `deltaray`'s documentation for the rules.
#[proc_macro_attribute]
pub fn differentiable(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    differentiable::expand(arguments.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

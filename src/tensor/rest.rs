//! The arguments of a function after the first.

use crate::algebra::Algebra;
use crate::tensor::{Family, Outline, Tree};

/// The arguments that follow a first one of family `First`: `()` for none, a reference for one, a tuple of references for
/// several; for calls that hand over the first argument in another way, as
/// [`Compiled::update`](crate::derivative::Compiled::update) does.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not arguments of arrays of `{A}` after a first one",
    note = "these are `()`, a reference to a tree, or a tuple of references to trees"
)]
pub trait Rest<A: Algebra, First: Family> {
    /// The structure of the parameter of the function, over every algebra.
    type All: Family;
    /// Visits the arrays.
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array));
    /// Appends the outline of all arguments; `first` appends the outline of the first one.
    fn outline(&self, first: &dyn Fn(&mut Outline), outline: &mut Outline);
}

impl<A: Algebra, First: Family> Rest<A, First> for () {
    type All = First;
    fn visit<'a>(&'a self, _: &mut dyn FnMut(&'a A::Array)) {}
    fn outline(&self, first: &dyn Fn(&mut Outline), outline: &mut Outline) {
        first(outline);
    }
}

impl<A: Algebra, First: Family, T: Tree<A>> Rest<A, First> for &T {
    type All = (First, T::Family);
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        Tree::visit(*self, visitor);
    }
    fn outline(&self, first: &dyn Fn(&mut Outline), outline: &mut Outline) {
        outline.part(0, first);
        outline.part(1, |outline| Tree::outline(*self, outline));
    }
}

macro_rules! tuples {
    ($(($($name:ident $x:ident)*);)*) => {
        $(
            impl<A: Algebra, First: Family, $($name: Tree<A>),*> Rest<A, First> for ($(&$name,)*) {
                type All = (First, $($name::Family,)*);
                fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
                    let ($($x,)*) = self;
                    $(Tree::visit(*$x, visitor);)*
                }
                fn outline(&self, first: &dyn Fn(&mut Outline), outline: &mut Outline) {
                    let ($($x,)*) = self;
                    outline.part(0, first);
                    let mut positions = 1..usize::MAX;
                    $(outline.part(positions.next().unwrap_or_default(), |outline| Tree::outline(*$x, outline));)*
                }
            }
        )*
    };
}

tuples! {
    (T a);
    (T a U b);
    (T a U b V c);
    (T a U b V c W d);
    (T a U b V c W d X e);
    (T a U b V c W d X e Y f);
    (T a U b V c W d X e Y f Z g);
}

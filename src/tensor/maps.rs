//! Maps from names to trees, which are trees themselves, in the order of the names.

use crate::algebra::Algebra;
use crate::tensor::{Family, Outline, Tree};
use std::collections::{BTreeMap, HashMap};

impl<F: Family> Family for BTreeMap<String, F> {
    type At<A: Algebra> = BTreeMap<String, F::At<A>>;
    fn rebuild<A: Algebra, B: Algebra>(like: &Self::At<A>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B> {
        like.iter().map(|(name, part)| (name.clone(), F::rebuild::<A, B>(part, leaves))).collect()
    }
}

impl<A: Algebra, T: Tree<A>> Tree<A> for BTreeMap<String, T> {
    type Family = BTreeMap<String, T::Family>;
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        self.values().for_each(|part| part.visit(visitor));
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        self.values_mut().for_each(|part| part.visit_mut(visitor));
    }
    fn outline(&self, outline: &mut Outline) {
        outline.length(self.len());
        self.iter().for_each(|(name, part)| outline.key(name, |inside| part.outline(inside)));
    }
}

/// The entries in the order of their names, which is the same in each map.
fn sorted<T>(entries: impl Iterator<Item = (impl AsRef<str>, T)>) -> Vec<T> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|(a, _), (b, _)| a.as_ref().cmp(b.as_ref()));
    entries.into_iter().map(|(_, part)| part).collect()
}

impl<F: Family> Family for HashMap<String, F> {
    type At<A: Algebra> = HashMap<String, F::At<A>>;
    fn rebuild<A: Algebra, B: Algebra>(like: &Self::At<A>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B> {
        let entries = sorted(like.iter().map(|entry| (entry.0, entry)));
        entries.into_iter().map(|(name, part)| (name.clone(), F::rebuild::<A, B>(part, leaves))).collect()
    }
}

impl<A: Algebra, T: Tree<A>> Tree<A> for HashMap<String, T> {
    type Family = HashMap<String, T::Family>;
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        sorted(self.iter()).into_iter().for_each(|part| part.visit(visitor));
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        sorted(self.iter_mut()).into_iter().for_each(|part| part.visit_mut(visitor));
    }
    fn outline(&self, outline: &mut Outline) {
        outline.length(self.len());
        for (name, part) in sorted(self.iter().map(|entry| (entry.0, entry))) {
            outline.key(name, |inside| part.outline(inside));
        }
    }
}

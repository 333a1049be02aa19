//! Functions with derivative rules of their own, as data.

use super::op::{Body, Custom, Extension};
use std::sync::Arc;

impl<X: Extension> Custom<X> {
    /// The function and its rules.
    pub fn bodies(&self) -> impl Iterator<Item = &Arc<Body<X>>> {
        std::iter::once(&self.value).chain(&self.vjp).chain(&self.jvp)
    }

    /// The same with other bodies.
    pub fn map<Y>(&self, mut change: impl FnMut(&Arc<Body<X>>) -> Arc<Body<Y>>) -> Custom<Y> {
        Custom {
            value: change(&self.value),
            vjp: self.vjp.as_ref().map(&mut change),
            jvp: self.jvp.as_ref().map(&mut change),
        }
    }
}

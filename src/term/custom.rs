//! Functions with derivative rules of their own, as data.

use super::body::Body;
use super::op::{Extension, Never};
use std::sync::Arc;

/// A function and its derivative rules, one at least: closed bodies without captures.
///
/// The operation's operands are the function's parameters, its outputs the function's results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Custom<X = Never> {
    /// The function.
    pub value: Arc<Body<X>>,
    /// From the parameters, the results and a cotangent of each result to a cotangent of each parameter. What stands for integers and
    /// booleans is ignored.
    pub vjp: Option<Arc<Body<X>>>,
    /// From the parameters, the results and a tangent of each parameter to a tangent of each result. What stands for integers and booleans is
    /// ignored.
    pub jvp: Option<Arc<Body<X>>>,
}

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

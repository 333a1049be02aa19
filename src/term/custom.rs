//! Functions with derivative rules of their own, as data.

use super::body::Body;
use super::interpret::interpret;
use super::op::{Build, Extension, Never};
use super::source::interpret_source;
use crate::algebra::{Algebra, CustomFunction, Rule};
use std::sync::Arc;

/// A function and its derivative rules, one at least: closed bodies without captures.
///
/// The operation's operands are the function's parameters, its outputs the function's results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Custom<X = Never> {
    /// The function.
    pub value: Arc<Body<X>>,
    /// From the parameters, the results and a cotangent of each result to a cotangent of each parameter. Entries for integers
    /// and booleans are ignored.
    pub vjp: Option<Arc<Body<X>>>,
    /// From the parameters, the results and a tangent of each parameter to a tangent of each result. Entries for integers and
    /// booleans are ignored.
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

    /// The body of a rule that there is.
    fn rule(&self, rule: Rule) -> &Arc<Body<X>> {
        let body = match rule {
            Rule::Vjp => &self.vjp,
            Rule::Jvp => &self.jvp,
        };
        body.as_ref().expect("callers ask which rules there are")
    }

    fn has(&self, rule: Rule) -> bool {
        match rule {
            Rule::Vjp => self.vjp.is_some(),
            Rule::Jvp => self.jvp.is_some(),
        }
    }
}

impl CustomFunction for Arc<Custom> {
    fn value<A: Algebra>(&self, inputs: Vec<A::Array>) -> Vec<A::Array> {
        interpret::<A>(&self.value, inputs)
    }
    fn has(&self, rule: Rule) -> bool {
        Custom::has(self, rule)
    }
    fn rule<A: Algebra>(
        &self,
        rule: Rule,
        mut inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        inputs.extend(outputs);
        inputs.extend(directions);
        interpret::<A>(Custom::rule(self, rule), inputs)
    }
    fn bulk(&self) -> Option<&Arc<Custom>> {
        Some(self)
    }
}

impl CustomFunction for Arc<Custom<Build>> {
    fn value<A: Algebra>(&self, inputs: Vec<A::Array>) -> Vec<A::Array> {
        interpret_source::<A>(&self.value, inputs)
    }
    fn has(&self, rule: Rule) -> bool {
        Custom::has(self, rule)
    }
    fn rule<A: Algebra>(
        &self,
        rule: Rule,
        mut inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        inputs.extend(outputs);
        inputs.extend(directions);
        interpret_source::<A>(Custom::rule(self, rule), inputs)
    }
}

//! Functions with derivative rules of their own that are programs.

use super::{Algebra, CustomFunction, DerivativeRule};
use crate::term::interpret::interpret;
use crate::term::{Body, Build, Custom, interpret_source};
use std::sync::Arc;

/// The body of a rule, if there is one.
fn body<X>(custom: &Custom<X>, rule: DerivativeRule) -> Option<&Arc<Body<X>>> {
    match rule {
        DerivativeRule::Vjp => custom.vjp.as_ref(),
        DerivativeRule::Jvp => custom.jvp.as_ref(),
    }
}

impl CustomFunction for Arc<Custom> {
    fn value<A: Algebra>(&self, inputs: Vec<A::Array>) -> Vec<A::Array> {
        interpret::<A>(&self.value, inputs)
    }
    fn has(&self, rule: DerivativeRule) -> bool {
        body(self, rule).is_some()
    }
    fn rule<A: Algebra>(
        &self,
        rule: DerivativeRule,
        mut inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        inputs.extend(outputs);
        inputs.extend(directions);
        interpret::<A>(body(self, rule).expect("callers ask which rules there are"), inputs)
    }
    fn bulk(&self) -> Option<&Arc<Custom>> {
        Some(self)
    }
}

impl CustomFunction for Arc<Custom<Build>> {
    fn value<A: Algebra>(&self, inputs: Vec<A::Array>) -> Vec<A::Array> {
        interpret_source::<A>(&self.value, inputs)
    }
    fn has(&self, rule: DerivativeRule) -> bool {
        body(self, rule).is_some()
    }
    fn rule<A: Algebra>(
        &self,
        rule: DerivativeRule,
        mut inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        inputs.extend(outputs);
        inputs.extend(directions);
        interpret_source::<A>(body(self, rule).expect("callers ask which rules there are"), inputs)
    }
}

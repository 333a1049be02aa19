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

/// The results of a rule's body, which takes inputs, outputs and directions in one list.
fn run_rule<X, T>(
    custom: &Custom<X>,
    rule: DerivativeRule,
    (mut inputs, outputs, directions): (Vec<T>, Vec<T>, Vec<T>),
    interpret: impl FnOnce(&Body<X>, Vec<T>) -> Vec<T>,
) -> Vec<T> {
    inputs.extend(outputs);
    inputs.extend(directions);
    interpret(body(custom, rule).expect("callers ask which rules there are"), inputs)
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
        inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        run_rule(self, rule, (inputs, outputs, directions), interpret::<A>)
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
        inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        run_rule(self, rule, (inputs, outputs, directions), interpret_source::<A>)
    }
}

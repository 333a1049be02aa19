//! Functions with derivative rules of their own, run on variables.

use super::Staged;
use crate::algebra::{Algebra, CustomFunction, DerivativeRule};
use crate::error::Error;
use crate::shape::Type;
use crate::term::{Body, Build, Custom};
use crate::trace::{StagedArray, session};
use std::any::type_name;
use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

/// How deep a rule may use the function that it belongs to.
const DEPTH: usize = 8;

thread_local! {
    /// The functions whose rules are being run, outermost first.
    static OPEN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// A function whose rules are being run, until it is dropped, also by a panic in a rule.
struct EnteredFunction;

impl EnteredFunction {
    /// `None` where the function was entered too often.
    fn new(name: &'static str) -> Option<EnteredFunction> {
        OPEN.with_borrow_mut(|open| {
            let room = open.iter().filter(|&&other| other == name).count() < DEPTH;
            room.then(|| {
                open.push(name);
                EnteredFunction
            })
        })
    }
}

impl Drop for EnteredFunction {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(Vec::pop);
    }
}

/// A function and its rules as bodies: each is run once, on variables. `None`, with an error recorded, where a rule uses
/// the function that it belongs to, and so on without end.
#[track_caller]
pub(super) fn trace<F: CustomFunction>(function: &F, inputs: &[StagedArray]) -> Option<Custom<Build>> {
    let Some(_entered) = EnteredFunction::new(type_name::<F>()) else {
        let problem = format!(
            "a rule that uses the function it belongs to, {DEPTH} rules deep: staged, it has no end; write the rule with \
             the plain function"
        );
        session::record(Error::operands("custom rule", problem, Location::caller()));
        return None;
    };
    let types: Vec<Type> = inputs.iter().map(|input| input.ty().clone()).collect();
    let value = close(&types, &mut |inputs| function.value::<Staged>(inputs));
    let results: Vec<Type> = value.result_types().cloned().collect();
    let rule = |rule: DerivativeRule, directions: &[Type]| {
        function.has(rule).then(|| {
            close(&[&types[..], &results, directions].concat(), &mut |mut inputs| {
                let mut outputs = inputs.split_off(types.len());
                let directions = outputs.split_off(results.len());
                function.rule::<Staged>(rule, inputs, outputs, directions)
            })
        })
    };
    Some(Custom { vjp: rule(DerivativeRule::Vjp, &results), jvp: rule(DerivativeRule::Jvp, &types), value })
}

/// A function that captures nothing, run on variables.
#[track_caller]
fn close(parameters: &[Type], f: &mut dyn FnMut(Vec<StagedArray>) -> Vec<StagedArray>) -> Arc<Body<Build>> {
    let (body, captures) = Staged::trace_body(parameters, true, f).expect("terms are traced");
    assert!(captures.is_empty(), "a function of every algebra holds arrays of none but its arguments");
    body
}

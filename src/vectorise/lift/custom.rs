//! Builds over functions with derivative rules of their own: the function and its rules are lifted alike.

use super::{Entry, Lifted, Lifter, union};
use crate::shape::Axes;
use crate::term::{Body, Build, Custom, NodeId, Op};
use std::sync::Arc;

impl Lifter<'_> {
    /// The function for all values of the variables that an operand depends on. Every result has axes for all of them, as its
    /// derivative may depend on them where the value does not; so a rule is given cotangents element by element. Its cotangent
    /// of an operand that repeats is a sum.
    pub(super) fn custom(&mut self, custom: &Custom<Build>, args: &[Lifted]) -> Vec<Lifted> {
        let all = args.iter().fold(Axes::new(), |axes, arg| union(&axes, &arg.axes));
        let inputs: Vec<Axes> = args.iter().map(|arg| arg.axes.clone()).collect();
        let results = vec![all.clone(); custom.value.results.len()];
        let lifted = Custom {
            value: self.on_axes(&custom.value, inputs.clone(), &results),
            vjp: custom
                .vjp
                .as_ref()
                .map(|body| self.on_axes(body, [&inputs[..], &results, &results].concat(), &inputs)),
            jvp: custom
                .jvp
                .as_ref()
                .map(|body| self.on_axes(body, [&inputs[..], &results, &inputs].concat(), &results)),
        };
        let operands: Vec<NodeId> = args.iter().map(|arg| arg.node).collect();
        let node = self.graph.add(Op::Custom(Arc::new(lifted)), &operands);
        let output = |position| Lifted { node: self.graph.add(Op::Output(position), &[node]), axes: all.clone() };
        (0..results.len()).map(output).collect()
    }

    /// A body lifted for parameters on these axes, whose results are on just those.
    fn on_axes(&mut self, body: &Arc<Body<Build>>, parameters: Vec<Axes>, results: &[Axes]) -> Arc<Body> {
        let entries: Vec<Entry> = parameters.into_iter().map(|axes| Entry { axes, variable: false }).collect();
        let closed = self.closed(body, &entries, 0);
        self.with_axes(&closed, results)
    }
}

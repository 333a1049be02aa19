//! Builds over functions with derivative rules of their own: the function and its rules are lifted alike.

use super::{Entry, Lifted, Lifter, union};
use crate::algebra::Reduction;
use crate::shape::Axes;
use crate::term::{Body, Build, Custom, Graph, NodeId, Op};
use std::sync::Arc;

impl Lifter<'_> {
    /// The function for all values of the variables that an operand depends on. Every result has axes for all of them, as
    /// its derivative may depend on them where the value does not; so a rule is given cotangents element by element. What
    /// it says of an operand that repeats is a sum.
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

    /// A body lifted for parameters on these axes, whose results are on just those: repeated along axes that they lack,
    /// summed over others.
    fn on_axes(&mut self, body: &Arc<Body<Build>>, parameters: Vec<Axes>, results: &[Axes]) -> Arc<Body> {
        let entries: Vec<Entry> = parameters.into_iter().map(|axes| Entry { axes, variable: false }).collect();
        let closed = self.closed(body, &entries, 0);
        if closed.axes == results {
            return closed.body;
        }
        let mut inner =
            Lifter { graph: Graph::like(&closed.body), extents: self.extents.clone(), memo: &mut *self.memo };
        let mut ids: Vec<NodeId> = (0..closed.body.arity() as NodeId).collect();
        for node in &closed.body.nodes[closed.body.arity()..] {
            let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
            ids.push(inner.graph.add(node.op.clone(), &args));
        }
        let mut finished: Vec<NodeId> = Vec::with_capacity(results.len());
        for ((&result, axes), wanted) in closed.body.results.iter().zip(&closed.axes).zip(results) {
            let others: Axes = (0..axes.len()).filter(|&at| !wanted.contains(&axes[at])).collect();
            let kept: Axes = axes.iter().copied().filter(|axis| wanted.contains(axis)).collect();
            let mut node = ids[result as usize];
            if !others.is_empty() {
                node = inner.graph.add(Op::Reduce(Reduction::Sum, others), &[node]);
            }
            finished.push(inner.align(&Lifted { node, axes: kept }, wanted));
        }
        Arc::new(inner.graph.finish(&finished))
    }
}

//! Functions with derivative rules of their own, which are the function's derivatives: they must make no difference.

use super::loops::Leading;
use super::{LARGEST, Writer};
use deltaray::derivative::program;
use deltaray::shape::Type;
use deltaray::term::{Body, Build, Custom, Graph, NodeId, Op};
use deltaray::vectorise::vectorise;
use std::sync::Arc;

impl Writer<'_> {
    pub(super) fn custom(&mut self) {
        if !self.may_nest(1) {
            return;
        }
        let operands = self.captures(3);
        let leading = operands.iter().map(|&id| Leading { ty: self.ty(id), bound: self.bound(id), index: None });
        let leading: Vec<Leading> = leading.collect();
        let outputs = self.random.weighted(&[(4, 1), (2, 2)]);
        let (value, bounds) = self.nested(&leading, &[], 1, (1, 4), |writer| {
            let mut results = Vec::new();
            for _ in 0..outputs {
                let floats = writer.random.chance(0.9);
                let chosen = writer.choose(|ty| ty.size() <= LARGEST && (!floats || ty.dtype.is_float()));
                results.push(match chosen {
                    Some(id) => id,
                    None => {
                        let dtype = writer.style.floats[0];
                        writer.fit(&Type::scalar(dtype))
                    }
                });
            }
            results
        });
        let which = self.random.weighted(&[(2, (true, false)), (2, (false, true)), (1, (true, true))]);
        let bulk = vectorise(&value);
        let custom = Custom {
            vjp: which.0.then(|| rule(&bulk, &program::vjp(&bulk, bulk.arity()).expect("the body is well formed"))),
            jvp: which.1.then(|| rule(&bulk, &program::jvp(&bulk, bulk.arity()).expect("the body is well formed"))),
            value,
        };
        let custom = self.add(Op::Custom(Arc::new(custom)), &operands, 0.0);
        for (position, bound) in bounds.into_iter().enumerate() {
            self.add(Op::Output(position), &[custom], bound);
        }
    }
}

/// A rule from a program of values and derivatives, which does not take the values.
fn rule(body: &Body, derived: &Body) -> Arc<Body<Build>> {
    let (arity, values) = (body.arity(), body.results().len());
    let types = |range: std::ops::Range<usize>| range.map(|at| derived.parameter_type(at).clone());
    let mut parameters: Vec<Type> = types(0..arity).collect();
    parameters.extend(body.result_types().cloned());
    parameters.extend(types(arity..derived.arity()));
    let mut graph: Graph<Build> = Graph::new(&parameters, 0);
    let mut ids: Vec<NodeId> = (0..arity as NodeId).collect();
    ids.extend((arity + values..parameters.len()).map(|at| at as NodeId));
    for node in &derived.widen().nodes()[derived.arity()..] {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids.push(graph.add(node.op.clone(), &args));
    }
    let results: Vec<NodeId> = derived.results()[values..].iter().map(|&id| ids[id as usize]).collect();
    Arc::new(graph.finish(&results))
}

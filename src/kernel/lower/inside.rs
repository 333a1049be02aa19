//! Steps with procedures of their own: loops, conditionals and calls.

use super::{Lowering, LoweringManner, lowered};
use crate::kernel::buffer::{BufferId, BufferSource};
use crate::kernel::call::Call;
use crate::kernel::procedure::{Conditional, First, Loop, Procedure, Step, SweepLoop};
use crate::kernel::writes::{Becomes, WriteFacts, carried};
use crate::shape::Type;
use crate::term::{Body, Graph, Node, NodeId, Op, Steps};
use std::sync::Arc;

impl Lowering<'_> {
    /// Buffers for all outputs of a node that has several.
    pub(super) fn several(&mut self, id: NodeId) -> Vec<BufferId> {
        let node = self.body.node(id);
        let source = |this: &Self, position: usize| match this.writes.operand_of(id, position) {
            Some(operand) => BufferSource::Alias(this.procedure.origin(this.buffers[node.args[operand]])),
            None => BufferSource::Local,
        };
        let results = node.types.iter().enumerate().map(|(position, ty)| {
            let source = source(self, position);
            let changes = matches!(source, BufferSource::Alias(_));
            let buffer = self.buffer(ty, source);
            if changes {
                self.change(buffer);
            }
            buffer
        });
        let results: Vec<BufferId> = results.collect();
        self.outputs.insert(id, results.clone());
        results
    }

    /// A step that runs bodies inside, which are not lowered yet.
    pub(super) fn nested(&mut self, id: NodeId, step: impl FnOnce(Vec<BufferId>, Vec<BufferId>) -> Step) {
        let operands: Vec<BufferId> = self.body.node(id).args.iter().map(|&arg| self.buffers[arg]).collect();
        let results = self.several(id);
        self.nested.push((self.places.len(), id));
        self.fixed(step(operands, results.clone()), &results);
    }

    pub(super) fn scan(&mut self, id: NodeId) {
        let Op::Scan(scan) = &self.body.node(id).op else { unreachable!("the class of loops") };
        self.nested(id, |arguments, results| {
            Step::Loop(Box::new(Loop { scan: scan.clone(), step: Procedure::default(), arguments, results }))
        });
    }

    pub(super) fn branch(&mut self, id: NodeId) {
        self.nested(id, |mut arguments, results| {
            let condition = arguments.remove(0);
            let (then, otherwise) = (Procedure::default(), Procedure::default());
            Step::Branch(Box::new(Conditional { condition, then, otherwise, arguments, results, changed: Vec::new() }))
        });
    }

    pub(super) fn sweeps(&mut self, id: NodeId) {
        let Op::Sweeps(sweeps) = &self.body.node(id).op else { unreachable!("the class of loops with sweeps") };
        if self.resumed.is_resumed(id) {
            let arguments = self.body.node(id).args.iter().map(|&arg| self.buffers[arg]).collect();
            let results = self.several(id);
            return self.fixed(Step::First(First { arguments, results: results.clone() }), &results);
        }
        let (mut sweeps, mut first, mut outputs) = (sweeps.clone(), None, Vec::new());
        let own = sweeps.results(0).1;
        if let Some(resumption) = self.resumed.resumption(id) {
            let results = self.outputs[&resumption.first].clone();
            sweeps = resumption.sweeps.clone();
            // Sweeps that run again have these for themselves.
            for &result in &results[sweeps.sweeps[0].carries..] {
                let ty = self.procedure.buffers[result as usize].ty.clone();
                outputs.push(self.buffer(&ty, BufferSource::Local));
            }
            first = Some(results);
        }
        self.nested(id, |arguments, mut results| {
            if first.is_some() {
                results.splice(own, outputs);
            }
            let (condition, bodies) = (None, Vec::new());
            Step::Sweeps(Box::new(SweepLoop { sweeps, condition, bodies, arguments, results, first }))
        });
    }

    pub(super) fn call(&mut self, id: NodeId) {
        let node = self.body.node(id);
        let types: Vec<Type> = node.args.iter().map(|&arg| self.body.node(arg).ty().clone()).collect();
        let mut graph = Graph::new(&types, 0);
        let operands: Vec<NodeId> = (0..types.len() as NodeId).collect();
        let whole = graph.add(node.op.clone(), &operands);
        let (results, outputs) = if node.op.is_multiple() {
            let outputs: Vec<NodeId> =
                (0..node.types.len()).map(|position| graph.add(Op::Output(position), &[whole])).collect();
            (self.several(id), outputs)
        } else {
            (vec![self.local(id)], vec![whole])
        };
        let arguments = node.args.iter().map(|&arg| self.buffers[arg]).collect();
        let call = Call { body: Arc::new(graph.finish(&outputs)), arguments, results: results.clone() };
        self.fixed(Step::Call(call), &results);
    }
}

/// Lowers the bodies inside of a node, for the step that runs them.
pub(super) fn lower_inside(node: &Node, step: &mut Step, manner: LoweringManner, known: &mut WriteFacts) {
    let mut inner = |body: &Body, becomes: Becomes| lowered(body, manner, becomes, known);
    match (&node.op, step) {
        (Op::Scan(scan), Step::Loop(repeated)) => repeated.step = inner(&scan.body, carried(scan.carries)),
        (Op::Branch(bodies), Step::Branch(branch)) => {
            let becomes = if manner.in_place { known.captures(bodies).to_vec() } else { Vec::new() };
            let changed = becomes.iter().enumerate();
            branch.changed = changed.filter_map(|(argument, &result)| Some((argument, result?))).collect();
            branch.then = lowered(&bodies.then, manner, becomes.clone(), known);
            branch.otherwise = lowered(&bodies.otherwise, manner, becomes, known);
        }
        (Op::Sweeps(_), Step::Sweeps(lowered)) => {
            if let Steps::While(condition) = &lowered.sweeps.steps {
                lowered.condition = Some(inner(condition, Vec::new()));
            }
            let sweeps = lowered.sweeps.sweeps.iter();
            lowered.bodies = sweeps.map(|sweep| inner(&sweep.body, carried(sweep.carries))).collect();
        }
        (op, _) => unreachable!("no bodies inside: {op:?}"),
    }
}

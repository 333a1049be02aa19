//! A growing arena that never holds the same operation on the same operands twice.

use crate::shape::Type;
use crate::term::body::{Body, Node, NodeId};
use crate::term::hash::{TermHasher, TermMap};
use crate::term::infer;
use crate::term::op::{Extension, Never, Op};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

fn hash<X: Extension>(op: &Op<X>, args: &[NodeId]) -> u64 {
    let mut hasher = TermHasher::default();
    op.hash(&mut hasher);
    args.hash(&mut hasher);
    hasher.finish()
}

/// A hash-consing arena under construction. Passes read a [`Body`] and write a `Graph`.
pub struct Graph<X = Never> {
    nodes: Vec<Node<X>>,
    /// Nodes by the hash of operation and operands.
    table: TermMap<u64, SmallVec<[NodeId; 1]>>,
    parameters: usize,
    captures: usize,
}

impl<X: Extension> Graph<X> {
    /// An arena with parameter nodes of these types; the last `captures` of them are captures.
    pub fn new(parameters: &[Type], captures: usize) -> Self {
        debug_assert!(captures <= parameters.len());
        let mut graph =
            Graph { nodes: Vec::new(), table: TermMap::default(), parameters: parameters.len() - captures, captures };
        for (position, ty) in parameters.iter().enumerate() {
            graph.nodes.push(Node {
                op: Op::Parameter(position),
                args: SmallVec::new(),
                types: SmallVec::from_elem(ty.clone(), 1),
            });
        }
        graph
    }

    /// An arena with the parameters of a body.
    pub fn like<Y: Extension>(body: &Body<Y>) -> Self {
        let types: Vec<Type> = (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect();
        Graph::new(&types, body.captures)
    }

    /// The node for an operation on operands: an equal one that exists, or a new one.
    ///
    /// Panics when the operands don't fit, which is a mistake in a pass and not in a user's program.
    pub fn add(&mut self, op: Op<X>, args: &[NodeId]) -> NodeId {
        let hash = hash(&op, args);
        if let Some(id) = self.lookup(hash, &op, args) {
            return id;
        }
        let types = {
            let outputs: SmallVec<[&[Type]; 4]> = args.iter().map(|&arg| &self.nodes[arg as usize].types[..]).collect();
            match infer::outputs(&op, &outputs) {
                Ok(types) => types,
                Err(problem) => panic!("a pass built an ill-typed node: {op:?} on {outputs:?}: {problem}"),
            }
        };
        let id = self.nodes.len() as NodeId;
        self.nodes.push(Node { op, args: args.into(), types });
        self.table.entry(hash).or_default().push(id);
        id
    }

    /// A body's nodes, with these for its parameters and captures: where each of its nodes is now.
    pub fn append(&mut self, body: &Body<X>, parameters: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = parameters.into_iter().collect();
        debug_assert_eq!(ids.len(), body.arity());
        for node in &body.nodes[body.arity()..] {
            let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
            let id = self.add(node.op.clone(), &args);
            ids.push(id);
        }
        ids
    }

    /// The node for an operation on operands, if there is one.
    pub fn find(&self, op: &Op<X>, args: &[NodeId]) -> Option<NodeId> {
        self.lookup(hash(op, args), op, args)
    }

    fn lookup(&self, hash: u64, op: &Op<X>, args: &[NodeId]) -> Option<NodeId> {
        let candidates = self.table.get(&hash)?;
        candidates.iter().copied().find(|&id| {
            let node = &self.nodes[id as usize];
            node.args[..] == *args && node.op == *op
        })
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node<X> {
        &self.nodes[id as usize]
    }

    /// The type of a node with one output.
    pub fn ty(&self, id: NodeId) -> &Type {
        self.nodes[id as usize].ty()
    }

    /// Number of nodes so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The body with these results, without the nodes that they don't need.
    pub fn finish(self, results: &[NodeId]) -> Body<X> {
        let arity = self.parameters + self.captures;
        let mut live = vec![false; self.nodes.len()];
        live[..arity].fill(true);
        for &result in results {
            live[result as usize] = true;
        }
        for at in (0..self.nodes.len()).rev() {
            if live[at] {
                for &arg in &self.nodes[at].args {
                    live[arg as usize] = true;
                }
            }
        }
        let mut renumbered: Vec<NodeId> = vec![NodeId::MAX; self.nodes.len()];
        let mut nodes = Vec::new();
        for (at, mut node) in self.nodes.into_iter().enumerate() {
            if live[at] {
                renumbered[at] = nodes.len() as NodeId;
                for arg in &mut node.args {
                    *arg = renumbered[*arg as usize];
                }
                nodes.push(node);
            }
        }
        let body = Body {
            parameters: self.parameters,
            captures: self.captures,
            nodes,
            results: results.iter().map(|&id| renumbered[id as usize]).collect(),
        };
        debug_assert!(body.is_well_formed());
        body
    }
}

#[cfg(test)]
mod tests;

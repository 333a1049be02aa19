//! A growing arena that never holds the same operation on the same operands twice.

use crate::shape::Type;
use crate::term::content::check_made;
use crate::term::hash::{PositionTable, term_hash};
use crate::term::op::{Body, Node, NodeId};
use crate::term::op::{Extension, Never, Op};
use crate::term::print;
use crate::term::validate::infer_node;
use crate::term::visits::visit;
use smallvec::SmallVec;

/// A hash-consing arena under construction. Passes read a [`Body`] and write a `Graph`.
pub struct Graph<X = Never> {
    nodes: Vec<Node<X>>,
    /// Nodes by the hash of operation and operands.
    table: PositionTable,
    parameters: usize,
    captures: usize,
}

impl<X: Extension> Graph<X> {
    /// An arena with parameter nodes of these types; the last `captures` of them are captures.
    pub fn new(parameters: &[Type], captures: usize) -> Self {
        assert!(captures <= parameters.len(), "captures are among the parameters");
        Graph::with_capacity(parameters, captures, parameters.len())
    }

    /// As [`Graph::new`], with room for so many nodes.
    pub(crate) fn with_capacity(parameters: &[Type], captures: usize, capacity: usize) -> Self {
        let mut graph = Graph {
            nodes: Vec::with_capacity(capacity),
            table: PositionTable::with_capacity(capacity),
            parameters: parameters.len() - captures,
            captures,
        };
        for (position, ty) in parameters.iter().enumerate() {
            graph.nodes.push(Node {
                op: Op::Parameter(position),
                args: SmallVec::new(),
                types: SmallVec::from_elem(ty.clone(), 1),
            });
        }
        graph
    }

    /// An arena with the parameters of a body, and room for as many nodes.
    pub fn like<Y: Extension>(body: &Body<Y>) -> Self {
        let types: Vec<Type> = (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect();
        Graph::with_capacity(&types, body.captures, body.nodes.len())
    }

    /// The hash by which an operation on operands is found.
    pub(crate) fn hash(op: &Op<X>, args: &[NodeId]) -> u64 {
        term_hash(&(op, args))
    }

    /// The node for an operation on operands: an equal one that exists, or a new one.
    ///
    /// Panics when the operands don't fit, or bodies are nested too deep or hold too much, [`MAX_NESTING`](crate::term::MAX_NESTING)
    /// and [`MAX_NESTED_NODES`](crate::term::MAX_NESTED_NODES), which is a mistake in a pass and not in a user's program.
    pub fn add(&mut self, op: Op<X>, args: &[NodeId]) -> NodeId {
        let hash = Graph::hash(&op, args);
        self.add_hashed(hash, op, args)
    }

    /// As [`Graph::add`], given the hash.
    pub(crate) fn add_hashed(&mut self, hash: u64, op: Op<X>, args: &[NodeId]) -> NodeId {
        if let Some(id) = self.find_hashed(hash, &op, args) {
            return id;
        }
        let types = infer_node(&self.nodes, &op, args).unwrap_or_else(|problem| self.ill_typed(&op, args, &problem));
        if let Err(problem) = check_made(&op) {
            self.ill_typed(&op, args, &problem);
        }
        let id = NodeId::try_from(self.nodes.len()).expect("fewer nodes than 2^32");
        self.nodes.push(Node { op: op.with_interned_bodies(), args: args.into(), types });
        self.table.insert(hash, id);
        id
    }

    #[cold]
    fn ill_typed(&self, op: &Op<X>, args: &[NodeId], problem: &str) -> ! {
        let types: Vec<Option<&[Type]>> =
            args.iter().map(|&arg| self.nodes.get(arg as usize).map(|node| &node.types[..])).collect();
        panic!("a pass built an ill-typed node: {} on {types:?}: {problem}", print::name(op))
    }

    /// A body's nodes, with these for its parameters and captures: where each of its nodes is now.
    pub fn append(&mut self, body: &Body<X>, parameters: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = parameters.into_iter().collect();
        assert_eq!(ids.len(), body.arity(), "a node for each parameter and capture");
        for node in &body.nodes[body.arity()..] {
            let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
            let id = self.add(node.op.clone(), &args);
            ids.push(id);
        }
        ids
    }

    /// The node for an operation on operands, if there is one.
    pub fn find(&self, op: &Op<X>, args: &[NodeId]) -> Option<NodeId> {
        self.find_hashed(Graph::hash(op, args), op, args)
    }

    /// As [`Graph::find`], given the hash.
    pub(crate) fn find_hashed(&self, hash: u64, op: &Op<X>, args: &[NodeId]) -> Option<NodeId> {
        visit();
        self.table.find(hash, |id| {
            visit();
            let node = &self.nodes[id as usize];
            node.args[..] == *args && node.op == *op
        })
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node<X> {
        visit();
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
    ///
    /// Panics when a result is no array of this graph, which is a mistake in a pass and not in a user's program.
    pub fn finish(mut self, results: &[NodeId]) -> Body<X> {
        const DEAD: NodeId = NodeId::MAX;
        // Whether each node is needed, then where it will be.
        let mut places: Vec<NodeId> = vec![DEAD; self.nodes.len()];
        places[..self.parameters + self.captures].fill(0);
        for &result in results {
            assert!(!self.node(result).op.is_multiple(), "a result is one array");
            places[result as usize] = 0;
        }
        for at in (0..self.nodes.len()).rev() {
            if places[at] != DEAD {
                for &arg in &self.nodes[at].args {
                    places[arg as usize] = 0;
                }
            }
        }
        let (mut at, mut next) = (0, 0);
        self.nodes.retain_mut(|node| {
            let is_needed = places[at] != DEAD;
            if is_needed {
                places[at] = next;
                next += 1;
                for arg in &mut node.args {
                    *arg = places[*arg as usize];
                }
            }
            at += 1;
            is_needed
        });
        let results = results.iter().map(|&id| places[id as usize]).collect();
        let body = Body::of(self.parameters, self.captures, self.nodes, results);
        // Nested bodies were checked when they were made.
        debug_assert!(body.check().is_ok());
        body
    }
}

#[cfg(test)]
mod tests;
